//! The generated operation table as plain data, and lookups in it.
//!
//! The generator writes a table of [`Operation`]s. The server uses it to route requests, the client to encode
//! them, and middleware to check scopes, idempotency keys and limits. The table needs no HTTP library, and
//! lookups do not allocate.

#[cfg(feature = "server")]
use std::borrow::Cow;
use std::fmt;

use crate::media_type::MediaType;
use crate::parameters::{Parameter, ScalarType};
#[cfg(feature = "server")]
use crate::parameters::{ParameterLocation, RouteMatch, query::decode_query};
use crate::path_template;
pub use crate::path_template::normalize_template as normalize_path;
use crate::schema::Validator;
pub use crate::sequence::ItemFraming;

mod item_format;
mod search;

pub use self::item_format::{ItemEncoding, ItemFormat};

/// An operation, that is, a method of a path.
#[derive(Clone, Copy)]
pub struct Operation {
    /// The `operationId`, unique in its document.
    pub id: &'static str,
    /// The HTTP method in upper case, such as `GET`.
    pub method: &'static str,
    /// The path template in its normal form ([`normalize_path`]), such as `/pets/{id}`. Query pairs that
    /// every request has follow it in encoded form: `/pets?kind=cat`. For webhooks and callbacks, this field
    /// contains the name, which does not begin with `/`. If an earlier webhook or callback has the same name
    /// and method, it contains the id instead.
    pub path: &'static str,
    /// The `tags`, in the order of the contract.
    pub tags: &'static [&'static str],
    /// The `summary` of the operation; empty if it has none.
    pub summary: &'static str,
    /// Whether the operation can be called without authentication.
    pub anonymous: bool,
    /// Alternative sets of scopes. All scopes of one set are required together. Empty if no scope is
    /// required.
    pub scopes: &'static [&'static [&'static str]],
    /// Whether the operation requires an idempotency key in a header.
    pub idempotent: bool,
    /// Whether a request may be repeated.
    pub repeat: RepeatSafety,
    /// Whether the contract marks the operation as `deprecated`.
    pub deprecated: bool,
    /// The parameters, in document order.
    pub parameters: &'static [Parameter],
    /// The request body, if the operation has one.
    pub body: Option<BodySpec>,
    /// The responses, in document order.
    pub responses: &'static [ResponseSpec],
    /// The server URLs of the operation, which replace those of the document. Variables are replaced by their
    /// defaults. Empty for most operations.
    pub servers: &'static [&'static str],
}

/// The effect of repeating a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatSafety {
    /// The operation is read-only (RFC 9110, 9.2.1), or configured as such.
    Safe,
    /// Repetition has no further effect, according to the method (RFC 9110, 9.2.2) or the configuration.
    Idempotent,
    /// Repetition has no further effect, because the request carries an idempotency key.
    Keyed,
    /// Repetition may have a further effect, so the request must not be repeated automatically.
    NonIdempotent,
}

impl RepeatSafety {
    /// Returns true if repetition has no further effect.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        !matches!(self, Self::NonIdempotent)
    }
}

/// One entry of the `responses` of an operation.
#[derive(Clone, Copy, Debug)]
pub struct ResponseSpec {
    /// The statuses that the entry describes.
    pub statuses: StatusRange,
    /// Whether the response is a success or an error.
    pub kind: ResponseKind,
    /// The media types of the body; empty for a response without a body.
    pub content: &'static [ContentSpec],
}

/// The statuses that a response entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRange {
    /// One status, such as `200`.
    Code(u16),
    /// A class of statuses, identified by the first digit, such as `4XX`.
    Class(u16),
    /// `default`: all error statuses without a separate entry. If the entry is a [`ResponseKind::Success`],
    /// all `2XX` statuses as well.
    Default,
}

/// The kind of a response: success or error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// A success response, which client and server represent as `Ok`.
    Success,
    /// An error response, which client and server represent as `Err`.
    Error,
}

impl ResponseSpec {
    /// Returns the entry for a media type. If several ranges match, returns the most specific one.
    #[must_use]
    pub fn content_for(&self, media_type: &str) -> Option<&'static ContentSpec> {
        most_specific(self.content, media_type)
    }
}

/// Returns the most specific entry whose media type matches.
fn most_specific(content: &'static [ContentSpec], media_type: &str) -> Option<&'static ContentSpec> {
    let media_type = MediaType::parse(media_type);
    let fits = content.iter().filter(|content| MediaType::parse(content.media_type).contains(&media_type));
    fits.min_by_key(|content| MediaType::parse(content.media_type).wildcard_rank())
}

/// The `requestBody` of an operation, with its media types.
#[derive(Clone, Copy, Debug)]
pub struct BodySpec {
    /// Whether a request without a body is rejected.
    pub required: bool,
    /// The accepted media types, in document order.
    pub content: &'static [ContentSpec],
}

/// One media type of a request or response body.
#[derive(Clone, Copy)]
pub struct ContentSpec {
    /// The media type or media range, such as `application/json` or `image/*`.
    pub media_type: &'static str,
    /// The encoding of bodies with this media type.
    pub format: BodyFormat,
    /// The URI of the schema with a JSON Pointer, or empty.
    pub schema: &'static str,
    /// The validator of the body, or of each item of a stream.
    pub validator: Option<Validator<'static>>,
}

/// Bytes with their media type, for a media type range in the contract.
#[cfg(any(feature = "client", feature = "server"))]
#[derive(Clone, PartialEq, Eq)]
pub struct TypedBytes {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The content.
    pub bytes: bytes::Bytes,
}

#[cfg(any(feature = "client", feature = "server"))]
impl TypedBytes {
    /// Creates a body of this media type.
    pub fn new(media_type: impl Into<String>, bytes: impl Into<bytes::Bytes>) -> Self {
        Self { media_type: media_type.into(), bytes: bytes.into() }
    }
}

/// Shows only the size and the media type, because the content may be secret.
#[cfg(any(feature = "client", feature = "server"))]
impl fmt::Debug for TypedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.bytes.len(), self.media_type)
    }
}

/// The encoding of a request or response body.
#[derive(Clone, Copy, Debug)]
pub enum BodyFormat {
    /// One JSON document, which is validated as a whole.
    Json,
    /// Plain text, which must be valid UTF-8.
    Text,
    /// Bytes that are not decoded.
    Bytes,
    /// `application/x-www-form-urlencoded` with the declared fields and the type of undeclared ones.
    Form(&'static [Parameter], ScalarType),
    /// `multipart/form-data` with the declared parts.
    Multipart(&'static [PartSpec]),
    /// Bytes that are streamed as they arrive.
    Stream,
    /// A stream of items; the validator applies to each item.
    Items(ItemFormat),
}

/// The multipart parts for one property of a body.
#[derive(Clone, Copy, Debug)]
pub struct PartSpec {
    /// The name of the property and of its parts.
    pub name: &'static str,
    /// The encoding of each part.
    pub encoding: PartEncoding,
    /// The number of parts.
    pub count: PartCount,
    /// The `Content-Type` of each part, unless a file has a separate one; empty if the contract declares none.
    pub media_type: &'static str,
    /// The media types and ranges that a part may have; empty for any.
    pub accepted: &'static [&'static str],
}

/// The encoding of a multipart part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartEncoding {
    /// Bytes that are not decoded.
    Binary,
    /// One value as a UTF-8 string.
    Text(ScalarType),
    /// A JSON document.
    Json,
}

/// The number of multipart parts for a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartCount {
    /// Exactly one part. A second one is an error.
    Single,
    /// One part for each element of a list.
    PerElement,
    /// One part for a value, or one part for each element of a list. A single part is read as one value.
    SingleOrPerElement,
}

impl BodySpec {
    /// Returns the entry for a media type. If several ranges match, returns the most specific one:
    /// `image/png`, then `image/*`, then `*/*`. Parameters of the media type are ignored.
    #[must_use]
    pub fn content_for(&self, media_type: &str) -> Option<&'static ContentSpec> {
        most_specific(self.content, media_type)
    }
}

impl Operation {
    /// An operation without any details, for struct update syntax.
    pub const EMPTY: Self = Self {
        id: "",
        method: "GET",
        path: "/",
        tags: &[],
        summary: "",
        anonymous: false,
        scopes: &[],
        idempotent: false,
        repeat: RepeatSafety::NonIdempotent,
        deprecated: false,
        parameters: &[],
        body: None,
        responses: &[],
        servers: &[],
    };

    /// Returns true for webhooks and callbacks, whose address the receiver chooses.
    #[must_use]
    pub fn is_webhook(&self) -> bool {
        !self.path.starts_with('/')
    }

    /// Returns the first tag, which is used to group operations; empty without tags.
    #[must_use]
    pub fn first_tag(&self) -> &'static str {
        self.tags.first().copied().unwrap_or("")
    }

    /// Returns true if the granted scopes include all scopes of one alternative set, or if no scope is
    /// required.
    pub fn permits(&self, granted: impl Fn(&str) -> bool) -> bool {
        self.scopes.is_empty() || self.scopes.iter().any(|all| all.iter().all(|s| granted(s)))
    }

    /// Returns the entry for a status: the entry of the status itself, of its class, or `default`.
    #[must_use]
    pub fn response_for_status(&self, status: u16) -> Option<&'static ResponseSpec> {
        let of = |due: StatusRange| self.responses.iter().find(|response| response.statuses == due);
        let default = || {
            of(StatusRange::Default).filter(|response| match response.kind {
                ResponseKind::Success => (200..=299).contains(&status) || status >= 400,
                ResponseKind::Error => status >= 400,
            })
        };
        of(StatusRange::Code(status)).or_else(|| of(StatusRange::Class(status / 100))).or_else(default)
    }

    /// Returns whether a status is a success or an error. Returns `None` if the contract does not list the
    /// status.
    #[must_use]
    pub fn response_kind(&self, status: u16) -> Option<ResponseKind> {
        let response = self.response_for_status(status)?;
        // If a `default` entry describes success responses because there are no others, it describes errors
        // as well.
        let is_default_error = response.statuses == StatusRange::Default && status >= 400;
        Some(if is_default_error { ResponseKind::Error } else { response.kind })
    }

    /// Returns true if the path matches the template. Characters that must be percent-encoded are compared in
    /// encoded form, with hexadecimal digits in either case. `%61` does not match `a`, and `%2F` does not
    /// match `/`. A placeholder matches one or more characters other than `/`.
    #[must_use]
    pub fn matches_path(&self, path: &str) -> bool {
        path_template::matches_path(self.path, path)
    }

    /// Returns true if the query contains the query pairs of the path template.
    #[cfg(feature = "server")]
    fn has_pairs(&self, query: &str) -> bool {
        split_query(path_template::split_query(self.path).1).all(|(name, value)| {
            let (name, value) = (decode_query(name), decode_query(value));
            name.is_some_and(|name| decoded_values(query, &name).any(|text| text == value))
        })
    }

    /// Returns true if a request satisfies all conditions that select the operation
    /// ([`Parameter::route_match`]). With `texts_alone`, only conditions with a constant value are checked.
    #[cfg(feature = "server")]
    fn has_marks<'a>(
        &self,
        texts_alone: bool,
        query: &str,
        header: &impl Fn(&str) -> Option<&'a [u8]>,
    ) -> bool {
        self.parameters.iter().all(|row| match (row.route_match, row.location) {
            (None, _) => true,
            (Some(RouteMatch::Present), _) if texts_alone => true,
            (Some(RouteMatch::Present), ParameterLocation::Header) => header(row.name).is_some(),
            (Some(RouteMatch::Equals(text)), ParameterLocation::Header) => {
                header(row.name).is_some_and(|found| found.trim_ascii() == text.as_bytes())
            }
            (Some(RouteMatch::Present), _) => decoded_values(query, row.name).next().is_some(),
            (Some(RouteMatch::Equals(text)), _) => {
                decoded_values(query, row.name).any(|found| found.is_some_and(|found| found == text))
            }
        })
    }

    /// Returns the value of a placeholder, still percent-encoded. Returns `None` if the path does not match
    /// or the placeholder does not exist.
    #[must_use]
    pub fn path_value<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        path_template::placeholder_value(self.path, path, name)
    }
}

/// Splits a query into pairs, still percent-encoded.
#[cfg(feature = "server")]
fn split_query(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let each = query.split('&').filter(|pair| !pair.is_empty());
    each.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Returns the values of a name in a query, with `None` for each value that cannot be decoded.
#[cfg(feature = "server")]
fn decoded_values<'q>(query: &'q str, name: &str) -> impl Iterator<Item = Option<Cow<'q, str>>> {
    let named =
        split_query(query).filter(move |(each, _)| decode_query(each).is_some_and(|each| each == name));
    named.map(|(_, value)| decode_query(value))
}

/// Compares only id, method and path.
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

impl fmt::Debug for ContentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.media_type, self.schema)
    }
}

/// A searchable table of all operations.
#[derive(Clone, Copy, Debug)]
pub struct OperationTable {
    all: &'static [Operation],
    order: &'static [u16],
}

/// The result of a lookup by method and path.
#[derive(Clone, Copy, Debug)]
pub enum OperationLookup {
    /// The operation that serves the request.
    Found(&'static Operation),
    /// Operations have this path, but none has this method.
    MethodNotAllowed(AllowedMethods),
    /// No operation has this path.
    NotFound,
}

/// The methods of a path.
#[derive(Clone, Copy, Debug)]
pub struct AllowedMethods {
    operations: OperationTable,
    first: usize,
}

impl OperationTable {
    /// Creates a table. `order` contains the indices of `all` in the order in which they are searched: if two
    /// templates match the same path, the more literal one comes first, and equal templates are adjacent. The
    /// generator computes this order.
    #[must_use]
    pub const fn new(all: &'static [Operation], order: &'static [u16]) -> Self {
        Self { all, order }
    }

    /// Returns all operations of the table, in document order.
    #[must_use]
    pub const fn all(&self) -> &'static [Operation] {
        self.all
    }

    /// Finds an operation by its `operationId`, which is compared exactly.
    #[must_use]
    pub fn find_by_id(&self, id: &str) -> Option<&'static Operation> {
        self.all.iter().find(|operation| operation.id == id)
    }

    /// Finds the operation for a method and a path without query. Returns the first one if there are several.
    /// To find the operation for a complete request, use [`OperationTable::find_request`].
    ///
    /// Literal segments take precedence over placeholders from left to right. The path is matched before the
    /// method. `HEAD` returns the `GET` operation unless there is a `HEAD` operation (RFC 9110, 9.3.2).
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> OperationLookup {
        let Some(first) = search::find_first_match(self, path) else { return OperationLookup::NotFound };
        let allowed = AllowedMethods { operations: *self, first };
        let by_method = |method| allowed.operations().find(|o| o.method == method);
        match by_method(method).or_else(|| (method == "HEAD").then(|| by_method("GET")).flatten()) {
            Some(operation) => OperationLookup::Found(operation),
            None => OperationLookup::MethodNotAllowed(allowed),
        }
    }

    /// Finds the operation for a request. `query` does not include the `?`.
    ///
    /// Operations with the same method and path are distinguished by the query pairs of their templates and
    /// by parameters with a [`RouteMatch`]. If a request satisfies the conditions of none of them, the first
    /// operation whose constant values match is returned, or else the first one of all. The parameter check
    /// of this operation then reports the missing parameters.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn find_request<'a>(
        &self,
        method: &str,
        path: &str,
        query: &str,
        header: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> OperationLookup {
        let Some(first) = search::find_first_match(self, path) else { return OperationLookup::NotFound };
        let allowed = AllowedMethods { operations: *self, first };
        let by_method = |method| {
            let here = || allowed.operations().filter(move |o| o.method == method && o.has_pairs(query));
            let marked = |texts_alone| here().find(|o| o.has_marks(texts_alone, query, &header));
            marked(false).or_else(|| marked(true)).or_else(|| here().next())
        };
        match by_method(method).or_else(|| (method == "HEAD").then(|| by_method("GET")).flatten()) {
            Some(operation) => OperationLookup::Found(operation),
            None if allowed.methods().any(|other| other == method) => OperationLookup::NotFound,
            None => OperationLookup::MethodNotAllowed(allowed),
        }
    }

    fn operation_at(&self, position: usize) -> Option<&'static Operation> {
        self.all.get(usize::from(*self.order.get(position)?))
    }
}

impl AllowedMethods {
    /// Returns the methods of the path, including `HEAD` if it has `GET`.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + use<> {
        let has_head = self.operations().any(|operation| operation.method == "HEAD");
        // Operations with the same method are adjacent.
        let mut last = "";
        let first =
            move |operation: &&Operation| std::mem::replace(&mut last, operation.method) != operation.method;
        self.operations().filter(first).flat_map(move |operation| {
            let head = operation.method == "GET" && !has_head;
            std::iter::once(operation.method).chain(head.then_some("HEAD"))
        })
    }

    fn operations(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        let Self { operations, first } = *self;
        let template = operations.operation_at(first).map_or("", |operation| operation.path);
        (first..operations.order.len())
            .map_while(move |at| operations.operation_at(at))
            .take_while(move |operation| path_template::same_shape(template, operation.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn operation(id: &'static str, method: &'static str, path: &'static str) -> Operation {
        Operation { id, method, path, ..Operation::EMPTY }
    }

    static ALL: &[Operation] = &[
        operation("pet", "GET", "/pets/{id}"),
        operation("mine", "GET", "/pets/mine"),
        operation("drop", "DELETE", "/pets/{petId}"),
        operation("file", "GET", "/files/{name}.json"),
    ];
    const TABLE: OperationTable = OperationTable::new(ALL, &[3, 1, 0, 2]);

    fn found(method: &str, path: &str) -> String {
        match TABLE.find(method, path) {
            OperationLookup::Found(operation) => operation.id.to_owned(),
            OperationLookup::MethodNotAllowed(allowed) => allowed.methods().collect::<Vec<_>>().join(", "),
            OperationLookup::NotFound => "-".to_owned(),
        }
    }

    #[test]
    fn literals_precede_placeholders_and_path_precedes_method() {
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

    #[cfg(feature = "server")]
    #[test]
    fn operations_of_one_path_are_matched_by_parameters() {
        const fn action(text: &'static str) -> Parameter {
            Parameter { name: "Action", route_match: Some(RouteMatch::Equals(text)), ..Parameter::QUERY }
        }
        const RUN: &[Parameter] = &[action("Run it")];
        const STOP: &[Parameter] = &[
            action("Stop"),
            Parameter { name: "when", route_match: Some(RouteMatch::Present), ..Parameter::QUERY },
        ];
        const TARGET: &[Parameter] =
            &[Parameter { name: "X-Target", route_match: Some(RouteMatch::Present), ..Parameter::HEADER }];
        static ALL: &[Operation] = &[
            Operation { parameters: RUN, ..operation("run", "GET", "/") },
            Operation { parameters: STOP, ..operation("stop", "GET", "/") },
            Operation { parameters: TARGET, ..operation("aim", "POST", "/") },
            operation("plain", "POST", "/"),
            operation("cat", "GET", "/pets/{id}?kind=cat"),
            operation("dog", "GET", "/pets/{id}?kind=d%6Fg"),
        ];
        let table = OperationTable::new(ALL, &[0, 1, 2, 3, 4, 5]);
        let found = |method, target: &str, headers: &[(&str, &'static str)]| {
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let header = |name: &str| {
                headers
                    .iter()
                    .find(|(header_name, _)| *header_name == name)
                    .map(|(_, value)| value.as_bytes())
            };
            match table.find_request(method, path, query, header) {
                OperationLookup::Found(operation) => operation.id.to_owned(),
                OperationLookup::MethodNotAllowed(allowed) => {
                    allowed.methods().collect::<Vec<_>>().join(", ")
                }
                OperationLookup::NotFound => "-".to_owned(),
            }
        };
        for (method, target, expected) in [
            ("GET", "/?when=&Action=Stop", "stop"),
            ("GET", "/?Action=Stop", "stop"),
            ("HEAD", "/?a=1&Action=Run+it", "run"),
            ("GET", "/?%41ction=Run%20it&Action=", "run"),
            // A request that matches neither action must not report errors about the parameters of one of
            // them.
            ("GET", "/?Action=Else", "run"),
            ("POST", "/", "plain"),
            ("PUT", "/", "GET, HEAD, POST"),
            ("GET", "/pets/7?kind=cat", "cat"),
            ("GET", "/pets/7?a&kind=dog", "dog"),
            ("GET", "/pets/7?kind=", "-"),
            ("GET", "/pets/7", "-"),
            ("PUT", "/pets/7", "GET, HEAD"),
        ] {
            assert_eq!(found(method, target, &[]), expected, "{method} {target}");
        }
        assert_eq!(found("POST", "/", &[("X-Target", "x")]), "aim");
    }

    #[test]
    fn status_lookup_falls_back_to_default() {
        const fn row(statuses: StatusRange, outcome: ResponseKind) -> ResponseSpec {
            ResponseSpec { statuses, kind: outcome, content: &[] }
        }
        const ALL: &[ResponseSpec] = &[
            row(StatusRange::Default, ResponseKind::Error),
            row(StatusRange::Class(2), ResponseKind::Success),
            row(StatusRange::Code(302), ResponseKind::Error),
        ];
        const ALONE: &[ResponseSpec] = &[row(StatusRange::Default, ResponseKind::Success)];
        let operation = Operation { responses: ALL, ..Operation::EMPTY };
        let of = |status| operation.response_kind(status);
        assert_eq!(of(204), Some(ResponseKind::Success));
        assert_eq!((of(302), of(404), of(599)), (Some(ResponseKind::Error), of(302), of(302)));
        assert_eq!((of(301), of(100)), (None, None));
        // If `default` is the only response, it describes success and error responses.
        let alone = Operation { responses: ALONE, ..Operation::EMPTY };
        assert_eq!(alone.response_kind(200), Some(ResponseKind::Success));
        assert_eq!((alone.response_kind(500), alone.response_kind(302)), (Some(ResponseKind::Error), None));
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
