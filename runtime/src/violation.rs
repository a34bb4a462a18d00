//! What a check reports: where a value stands and which keyword refused it.
//!
//! A violation holds a JSON Pointer, a keyword and a schema location, never a
//! value: values belong to people and end up in logs. [`Path`] is how a check
//! knows where it stands without allocating before something is wrong.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeStruct;

use crate::pointer;

/// How many violations a check collects unless told otherwise: a hostile body
/// must not buy itself an answer larger than itself. The shallower ones are kept.
pub const DEFAULT_CAP: usize = 1000;

/// One refusal: which value, by which keyword, of which schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) of the refused value, `""` for the document.
    /// A missing member is named where it would stand.
    pub pointer: String,
    /// The JSON Schema keyword that refused it, or `depth` / `effort` when the
    /// check gave up (see [`crate::schema::Limits`]), or `unwritable` for a value
    /// built in code that has no JSON text.
    pub keyword: &'static str,
    /// The schema object that holds the keyword: resource URI, `#`, JSON Pointer. One text for
    /// all that it refuses one after the other.
    pub schema: Arc<str>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{pointer}: {} ({})", self.keyword, self.schema)
    }
}

impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Violation", 3)?;
        out.serialize_field("pointer", &self.pointer)?;
        out.serialize_field("keyword", self.keyword)?;
        out.serialize_field("schema", &*self.schema)?;
        out.end()
    }
}

/// At least one [`Violation`], sorted by pointer, keyword and schema, without
/// repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Sorts and deduplicates; `None` when there is nothing to report.
    pub fn new(mut violations: Vec<Violation>) -> Option<Self> {
        // A check finds them in the order of the document, which is nearly theirs.
        violations.sort();
        violations.dedup();
        if violations.is_empty() { None } else { Some(Self(violations)) }
    }

    /// A single violation.
    pub fn one(violation: Violation) -> Self {
        Self(vec![violation])
    }

    /// `Err` with what was found, `Ok` when nothing was.
    ///
    /// # Errors
    /// When `violations` is not empty.
    pub fn check(violations: Vec<Violation>) -> Result<(), Self> {
        match Self::new(violations) {
            Some(found) => Err(found),
            None => Ok(()),
        }
    }

    /// The violations in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.0.iter()
    }

    /// The violations in order.
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }

    /// How many there are; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The violations as a plain list.
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char('\n')?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

impl Serialize for Violations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Where a check stands, as a list on the stack; text is made only when a
/// violation is recorded.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    /// The document itself.
    Root,
    /// A member of the object at the given path.
    Key(&'a Path<'a>, &'a str),
    /// An element of the array at the given path.
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The path of a member of the object here.
    pub const fn key(&'a self, name: &'a str) -> Path<'a> {
        Path::Key(self, name)
    }

    /// The path of an element of the array here.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// How many steps lead here from the document.
    #[must_use]
    pub fn depth(&self) -> usize {
        let (mut depth, mut here) = (0, self);
        while let Path::Key(parent, _) | Path::Index(parent, _) = here {
            (depth, here) = (depth + 1, parent);
        }
        depth
    }

    /// The JSON Pointer of this place (RFC 6901), `""` for the document.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut length = 0;
        let mut here = self;
        loop {
            (here, length) = match here {
                Path::Root => break,
                Path::Key(parent, name) => (parent, length + 1 + name.len()),
                // More digits are rare.
                Path::Index(parent, _) => (parent, length + 5),
            };
        }
        let mut pointer = String::with_capacity(length);
        self.push_to(&mut pointer);
        pointer
    }

    /// Whoever made the path recursed as deep, with more on the stack.
    fn push_to(&self, pointer: &mut String) {
        match self {
            Path::Root => {}
            Path::Key(parent, name) => {
                parent.push_to(pointer);
                pointer::push(pointer, name);
            }
            Path::Index(parent, index) => {
                parent.push_to(pointer);
                pointer::push_index(pointer, *index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(pointer: &str, keyword: &'static str) -> Violation {
        Violation { pointer: pointer.to_owned(), keyword, schema: "s#".into() }
    }

    #[test]
    fn pointers_escape_by_rfc_6901() {
        let root = Path::Root;
        assert_eq!(root.pointer(), "");
        let ops = root.key("ops");
        let first = ops.index(0);
        assert_eq!(first.key("a/b~c").pointer(), "/ops/0/a~1b~0c");
        assert_eq!(root.key("").pointer(), "/");
    }

    #[test]
    fn lists_are_sorted_without_repetitions_and_never_empty() {
        assert_eq!(Violations::new(Vec::new()), None);
        let found = Violations::new(vec![
            violation("/b", "type"),
            violation("/a", "type"),
            violation("/b", "type"),
            violation("/a", "const"),
        ]);
        let shown = found.map(|f| f.to_string()).unwrap_or_default();
        assert_eq!(shown, "/a: const (s#)\n/a: type (s#)\n/b: type (s#)");
    }

    #[test]
    fn a_list_serialises_as_plain_objects() {
        let found = Violations::new(vec![violation("/a", "type")]);
        let text = serde_json::to_string(&found).unwrap_or_default();
        assert_eq!(text, r#"[{"pointer":"/a","keyword":"type","schema":"s#"}]"#);
    }
}
