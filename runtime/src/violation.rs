//! [`Violation`]: a validation failure, with the location of the value and the keyword that rejected it.
//!
//! A violation holds a JSON Pointer, a keyword and a schema location, but never a value: values may be
//! personal data, and violations are logged. [`InstancePath`] tracks the location during validation without
//! allocating until a violation is recorded.

mod message;

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeStruct;

pub use self::message::violation_message;
use crate::pointer;

/// The default limit for collected violations, so that a hostile body cannot cause a response larger than
/// itself. Violations with shorter pointers are kept.
pub const DEFAULT_MAX_VIOLATIONS: usize = 1000;

/// One validation failure: the location of the value, the keyword, and the location of the schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) of the invalid value, `""` for the document. For a missing member: the pointer
    /// that the member would have.
    pub pointer: String,
    /// The JSON Schema keyword that rejected the value. Also `depth` or `effort` if a limit was reached (see
    /// [`crate::schema::ValidationLimits`]), `unwritable` for a value built in code that cannot be serialized
    /// as JSON, or `style` for an argument that the style of its parameter cannot express.
    pub keyword: &'static str,
    /// The location of the schema object with the keyword: resource URI, `#`, JSON Pointer. Consecutive
    /// violations of the same schema share one allocation.
    pub schema: Arc<str>,
    /// The value of the keyword in the schema as English text, such as `50` for `maximum: 50`. For a union, the
    /// name of the closest branch, whose violations are in the same list. `None` if the message needs no limit, or
    /// if the limit would be too long. Never the invalid value.
    pub limit: Option<Arc<str>>,
}

impl Violation {
    /// Creates a violation without a limit.
    #[must_use]
    pub fn new(pointer: impl Into<String>, keyword: &'static str, schema: impl Into<Arc<str>>) -> Self {
        Self { pointer: pointer.into(), keyword, schema: schema.into(), limit: None }
    }

    /// Returns a human-readable message. It is the predicate of a sentence about the value, such as `must be
    /// at most 50`, and never contains the invalid value.
    ///
    /// ```
    /// use contract_runtime::violation::Violation;
    ///
    /// let violation = Violation { limit: Some("50".into()), ..Violation::new("/limit", "maximum", "#/limit") };
    /// assert_eq!(violation.message(), "must be at most 50");
    /// ```
    #[must_use]
    pub fn message(&self) -> String {
        violation_message(self.keyword, self.limit.as_deref())
    }
}

/// Shows the location of the value and the message, such as `/limit: must be at most 50`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `/` would be the member with an empty name.
        let pointer = if self.pointer.is_empty() { "#" } else { &self.pointer };
        write!(f, "{pointer}: {}", self.message())
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

/// A non-empty list of [`Violation`]s, sorted by pointer, keyword and schema, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Sorts and deduplicates the list. Returns `None` if it is empty.
    pub fn new(mut violations: Vec<Violation>) -> Option<Self> {
        // Validation reports in document order, which is nearly sorted already.
        violations.sort();
        violations.dedup();
        if violations.is_empty() { None } else { Some(Self(violations)) }
    }

    /// Creates a list with a single violation.
    pub fn from_violation(violation: Violation) -> Self {
        Self(vec![violation])
    }

    /// Returns `Ok` if the list is empty.
    ///
    /// # Errors
    /// Returns the sorted violations otherwise.
    pub fn ensure_empty(violations: Vec<Violation>) -> Result<(), Self> {
        match Self::new(violations) {
            Some(found) => Err(found),
            None => Ok(()),
        }
    }

    /// Iterates over the violations in sorted order.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.0.iter()
    }

    /// Returns the violations as a sorted slice.
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }

    /// Returns the number of violations, which is at least 1.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Converts into a sorted vector.
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

/// The location of a value during validation, as a linked list on the stack. It is converted to a JSON
/// Pointer only when a violation is recorded.
#[derive(Debug, Clone, Copy)]
pub enum InstancePath<'a> {
    /// The root of the document.
    Root,
    /// A member of the object at the parent path.
    Key(&'a InstancePath<'a>, &'a str),
    /// An element of the array at the parent path.
    Index(&'a InstancePath<'a>, usize),
}

impl<'a> InstancePath<'a> {
    /// Returns the path of a member of the object at this path.
    pub const fn key(&'a self, name: &'a str) -> InstancePath<'a> {
        InstancePath::Key(self, name)
    }

    /// Returns the path of an element of the array at this path.
    pub const fn index(&'a self, index: usize) -> InstancePath<'a> {
        InstancePath::Index(self, index)
    }

    /// Returns the number of steps from the root to this path.
    #[must_use]
    pub fn depth(&self) -> usize {
        let (mut depth, mut here) = (0, self);
        while let InstancePath::Key(parent, _) | InstancePath::Index(parent, _) = here {
            (depth, here) = (depth + 1, parent);
        }
        depth
    }

    /// Returns the JSON Pointer of this path (RFC 6901), `""` for the root.
    #[must_use]
    pub fn to_pointer(&self) -> String {
        let mut length = 0;
        let mut here = self;
        loop {
            (here, length) = match here {
                InstancePath::Root => break,
                InstancePath::Key(parent, name) => (parent, length + 1 + name.len()),
                // More digits are rare.
                InstancePath::Index(parent, _) => (parent, length + 5),
            };
        }
        let mut pointer = String::with_capacity(length);
        self.push_to(&mut pointer);
        pointer
    }

    // The recursion is safe: validation recursed as deeply to build this path, with larger frames.
    fn push_to(&self, pointer: &mut String) {
        match self {
            InstancePath::Root => {}
            InstancePath::Key(parent, name) => {
                parent.push_to(pointer);
                pointer::push_token(pointer, name);
            }
            InstancePath::Index(parent, index) => {
                parent.push_to(pointer);
                pointer::push_index_token(pointer, *index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(pointer: &str, keyword: &'static str) -> Violation {
        Violation::new(pointer, keyword, "s#")
    }

    #[test]
    fn pointers_escape_by_rfc_6901() {
        let root = InstancePath::Root;
        assert_eq!(root.to_pointer(), "");
        let ops = root.key("ops");
        let first = ops.index(0);
        assert_eq!(first.key("a/b~c").to_pointer(), "/ops/0/a~1b~0c");
        assert_eq!(root.key("").to_pointer(), "/");
    }

    #[test]
    fn lists_are_sorted_deduplicated_and_never_empty() {
        assert_eq!(Violations::new(Vec::new()), None);
        let found = Violations::new(vec![
            violation("/b", "type"),
            violation("/a", "type"),
            violation("/b", "type"),
            violation("/a", "const"),
            violation("", "type"),
        ]);
        let shown = found.map(|f| f.to_string()).unwrap_or_default();
        let kind = "has a type that is not allowed";
        assert_eq!(shown, format!("#: {kind}\n/a: is not the required value\n/a: {kind}\n/b: {kind}"));
    }

    #[test]
    fn output_has_location_and_message() {
        let limited = Violation { limit: Some("50".into()), ..violation("/limit", "maximum") };
        assert_eq!(limited.to_string(), "/limit: must be at most 50");
        let union = Violation { limit: Some("the closest is `a`".into()), ..violation("", "oneOf") };
        assert_eq!(union.to_string(), "#: must match exactly one of the alternatives; the closest is `a`");
    }

    #[test]
    fn a_list_serializes_as_plain_objects() {
        let found = Violations::new(vec![violation("/a", "type")]);
        let text = serde_json::to_string(&found).unwrap_or_default();
        assert_eq!(text, r#"[{"pointer":"/a","keyword":"type","schema":"s#"}]"#);
    }
}
