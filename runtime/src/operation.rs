//! What a contract says about its operations, as plain data, and how to find one.
//!
//! The generator writes a table of [`Operation`]s; the server dispatches by it, a client
//! describes its calls with it, and whoever stands in between (scopes, idempotency, limits)
//! decides by it. No HTTP library is needed for any of that, and no search allocates.

use std::fmt;

use crate::parameters::{Parameter, Scalar};
use crate::schema::Validator;

mod template;

/// One method of one path.
#[derive(Clone, Copy)]
pub struct Operation {
    /// `operationId`.
    pub id: &'static str,
    /// Upper case: `GET`.
    pub method: &'static str,
    /// The path template: `/pets/{id}`.
    pub path: &'static str,
    /// `tags`, as the contract orders them.
    pub tags: &'static [&'static str],
    /// `summary`, or empty.
    pub summary: &'static str,
    /// Whether a caller need not sign in.
    pub anonymous: bool,
    /// Alternatives of scopes: all scopes of any one of them suffice. Empty when no scope
    /// is asked for.
    pub scopes: &'static [&'static [&'static str]],
    /// Whether it requires the header that makes a repetition harmless.
    pub idempotent: bool,
    /// `deprecated`.
    pub deprecated: bool,
    /// Its parameters, in document order.
    pub parameters: &'static [Parameter],
    /// Its request body.
    pub body: Option<Body>,
    /// Every declared status below 400, ascending.
    pub success: &'static [u16],
    /// Addresses of its own that take the place of the document's, variables filled in with
    /// their defaults. Empty for most.
    pub servers: &'static [&'static str],
}

/// What an operation reads from a request's body.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Whether a request without a body is refused.
    pub required: bool,
    /// The media types that it may have, in document order.
    pub content: &'static [Content],
}

/// One media type of a request's body.
#[derive(Clone, Copy)]
pub struct Content {
    /// `application/json`, or a range: `image/*`.
    pub media_type: &'static str,
    /// How its bytes are read.
    pub format: Format,
    /// URI of its schema with JSON Pointer, or empty.
    pub schema: &'static str,
    /// Checks a body.
    pub validator: Option<fn() -> Validator>,
}

/// Bytes whose media type the contract leaves open.
#[cfg(any(feature = "client", feature = "server"))]
#[derive(Clone, PartialEq, Eq)]
pub struct Typed {
    /// `image/png`
    pub media_type: String,
    /// The bytes.
    pub bytes: bytes::Bytes,
}

#[cfg(any(feature = "client", feature = "server"))]
impl Typed {
    /// Bytes of a media type.
    pub fn new(media_type: impl Into<String>, bytes: impl Into<bytes::Bytes>) -> Self {
        Self { media_type: media_type.into(), bytes: bytes.into() }
    }
}

/// Size and media type: what they hold is nobody's to log.
#[cfg(any(feature = "client", feature = "server"))]
impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.bytes.len(), self.media_type)
    }
}

/// How the bytes of a body are read and written.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// A JSON document.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes, taken as they are.
    Bytes,
    /// `application/x-www-form-urlencoded`: the fields that the contract declares, and how
    /// others are read.
    Form(&'static [Parameter], Scalar),
    /// `multipart/form-data`, with the parts that the contract declares.
    Multipart(&'static [Part]),
}

/// How a member of a multipart body becomes parts.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What each part stands for.
    pub form: PartForm,
    /// How many there are.
    pub parts: Parts,
    /// `Content-Type` of each part, unless the file has its own; empty for none.
    pub media_type: &'static str,
}

/// What a part of a body stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartForm {
    /// Bytes.
    Binary,
    /// UTF-8 text of one value.
    Text(Scalar),
    /// A JSON document.
    Json,
}

/// How many parts a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// One.
    One,
    /// One for each element of a list.
    Each,
    /// One value or a list; a single part is one value.
    OneOrEach,
}

impl Body {
    /// What the contract says of a media type, the more literal first: `image/png`, then
    /// `image/*`, then `*/*`. Parameters do not matter.
    #[must_use]
    pub fn of(&self, media_type: &str) -> Option<&'static Content> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let fits = self.content.iter().filter(|content| in_range(content.media_type, essence));
        fits.min_by_key(|content| content.media_type.matches('*').count())
    }
}

/// Whether a media type is in a range: `image/png` in `image/*`.
pub(crate) fn in_range(range: &str, essence: &str) -> bool {
    let range = range.split(';').next().unwrap_or_default().trim();
    let (Some((kind, subtype)), Some((kind2, subtype2))) = (range.split_once('/'), essence.split_once('/'))
    else {
        return false;
    };
    let fits = |range: &str, actual: &str| range == "*" || range.eq_ignore_ascii_case(actual);
    !subtype2.is_empty() && fits(kind, kind2) && fits(subtype, subtype2)
}

/// Whether a media type is JSON (RFC 6839, 3.1).
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json")
}

impl Operation {
    /// An operation of which nothing is said.
    pub const NONE: Self = Self {
        id: "",
        method: "GET",
        path: "/",
        tags: &[],
        summary: "",
        anonymous: false,
        scopes: &[],
        idempotent: false,
        deprecated: false,
        parameters: &[],
        body: None,
        success: &[],
        servers: &[],
    };

    /// The first tag: the area that the operation belongs to. Empty without tags.
    #[must_use]
    pub fn area(&self) -> &'static str {
        self.tags.first().copied().unwrap_or("")
    }

    /// Whether what was granted suffices: all scopes of one alternative. An operation that
    /// asks for no scope is satisfied by any caller.
    pub fn permits(&self, granted: impl Fn(&str) -> bool) -> bool {
        self.scopes.is_empty() || self.scopes.iter().any(|all| all.iter().all(|s| granted(s)))
    }

    /// Whether the path fits the template. Both are compared as written, without decoding;
    /// a placeholder stands for at least one character and for no `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        template::matches(self.path, path)
    }

    /// The text in the place of a placeholder, still percent-encoded. `None` when the path
    /// does not fit or there is no such placeholder.
    #[must_use]
    pub fn path_value<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        template::value(self.path, path, name)
    }
}

/// Two descriptions of the same method and path of a contract are equal.
impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.method, self.path) == (other.id, other.method, other.path)
    }
}

impl Eq for Operation {}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.id, self.method, self.path)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.media_type, self.schema)
    }
}

/// All operations of a contract, searchable.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    all: &'static [Operation],
    order: &'static [u16],
}

/// What stands at a method and path.
#[derive(Clone, Copy, Debug)]
pub enum Lookup {
    /// This operation.
    Found(&'static Operation),
    /// The path exists, the method does not.
    WrongMethod(Allowed),
    /// No such path.
    Nothing,
}

/// The methods that a path has.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    operations: Operations,
    first: usize,
}

impl Operations {
    /// A table. `order` lists the indices of `all` so that of two templates that match the
    /// same path the more literal comes first, and equal templates stand together; the
    /// generator works it out.
    #[must_use]
    pub const fn new(all: &'static [Operation], order: &'static [u16]) -> Self {
        Self { all, order }
    }

    /// Every operation, in document order.
    #[must_use]
    pub const fn all(&self) -> &'static [Operation] {
        self.all
    }

    /// The operation with this `operationId`.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<&'static Operation> {
        self.all.iter().find(|operation| operation.id == id)
    }

    /// The operation at a method and a path (without query). Literal segments beat
    /// placeholders from the left; the path is settled before the method is looked at.
    /// `HEAD` finds the `GET` operation unless there is one of its own (RFC 9110, 9.3.2).
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> Lookup {
        let Some(first) =
            (0..self.order.len()).find(|&at| self.at(at).is_some_and(|operation| operation.matches(path)))
        else {
            return Lookup::Nothing;
        };
        let allowed = Allowed { operations: *self, first };
        let by_method = |method| allowed.operations().find(|o| o.method == method);
        match by_method(method).or_else(|| (method == "HEAD").then(|| by_method("GET")).flatten()) {
            Some(operation) => Lookup::Found(operation),
            None => Lookup::WrongMethod(allowed),
        }
    }

    fn at(&self, position: usize) -> Option<&'static Operation> {
        self.all.get(usize::from(*self.order.get(position)?))
    }
}

impl Allowed {
    /// The path's methods, `HEAD` included where there is `GET`.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + use<> {
        let has_head = self.operations().any(|operation| operation.method == "HEAD");
        self.operations().flat_map(move |operation| {
            let head = operation.method == "GET" && !has_head;
            std::iter::once(operation.method).chain(head.then_some("HEAD"))
        })
    }

    fn operations(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        let Self { operations, first } = *self;
        let template = operations.at(first).map_or("", |operation| operation.path);
        (first..operations.order.len())
            .map_while(move |at| operations.at(at))
            .take_while(move |operation| template::same_shape(template, operation.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn operation(id: &'static str, method: &'static str, path: &'static str) -> Operation {
        Operation {
            id,
            method,
            path,
            tags: &[],
            summary: "",
            anonymous: false,
            scopes: &[],
            idempotent: false,
            deprecated: false,
            parameters: &[],
            body: None,
            success: &[200],
            ..Operation::NONE
        }
    }

    static ALL: &[Operation] = &[
        operation("pet", "GET", "/pets/{id}"),
        operation("mine", "GET", "/pets/mine"),
        operation("drop", "DELETE", "/pets/{petId}"),
        operation("file", "GET", "/files/{name}.json"),
    ];
    const TABLE: Operations = Operations::new(ALL, &[3, 1, 0, 2]);

    fn found(method: &str, path: &str) -> String {
        match TABLE.find(method, path) {
            Lookup::Found(operation) => operation.id.to_owned(),
            Lookup::WrongMethod(allowed) => allowed.methods().collect::<Vec<_>>().join(", "),
            Lookup::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn literals_beat_placeholders_and_the_path_comes_before_the_method() {
        assert_eq!(found("GET", "/pets/7"), "pet");
        assert_eq!(found("GET", "/pets/mine"), "mine");
        assert_eq!(found("HEAD", "/pets/mine"), "mine");
        assert_eq!(found("DELETE", "/pets/7"), "drop");
        assert_eq!(found("DELETE", "/pets/mine"), "GET, HEAD");
        assert_eq!(found("PUT", "/pets/7"), "GET, HEAD, DELETE");
        assert_eq!(found("GET", "/files/a.json"), "file");
        for nothing in ["/pets", "/pets/", "/pets/7/", "/files/.json", "/files/a.xml", "", "/"] {
            assert_eq!(found("GET", nothing), "-", "{nothing}");
        }
    }

    #[test]
    fn scopes_are_alternatives_of_sets() {
        let mut operation = operation("x", "GET", "/");
        assert!(operation.permits(|_| false));
        operation.scopes = &[&["a", "b"], &["c"]];
        assert!(operation.permits(|s| s == "c"));
        assert!(operation.permits(|s| s != "c"));
        assert!(!operation.permits(|s| s == "a"));
    }
}
