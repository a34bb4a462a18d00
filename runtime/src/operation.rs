//! What a contract says about its operations, as plain data, and how to find one.
//!
//! The generator writes a table of [`Operation`]s; the server dispatches by it, a client
//! describes its calls with it, and whoever stands in between (scopes, idempotency, limits)
//! decides by it. No HTTP library is needed for any of that, and no search allocates.

#[cfg(feature = "server")]
use std::borrow::Cow;
use std::fmt;

use crate::media::MediaType;
#[cfg(feature = "server")]
use crate::parameters::{Location, Mark, query::decode};
use crate::parameters::{Parameter, Scalar};
use crate::schema::Validator;
pub use crate::sequence::Framing;
use crate::template;
pub use crate::template::normal as normal_path;

mod items;
mod search;

pub use self::items::{ItemForm, Items};

/// One method of one path.
#[derive(Clone, Copy)]
pub struct Operation {
    /// `operationId`.
    pub id: &'static str,
    /// Upper case: `GET`.
    pub method: &'static str,
    /// The path template: `/pets/{id}`, in its normal form ([`normal_path`]). Pairs that the query of every request has stand behind it, as
    /// they are sent: `/pets?kind=cat`. Of webhooks and callbacks the name, which begins otherwise, or
    /// the id where an earlier one has that name and method.
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
    /// What a second sending of the same request does.
    pub repeat: Repeat,
    /// `deprecated`.
    pub deprecated: bool,
    /// Its parameters, in document order.
    pub parameters: &'static [Parameter],
    /// Its request body.
    pub body: Option<Body>,
    /// What it answers, in document order.
    pub responses: &'static [Response],
    /// Addresses of its own that take the place of the document's, variables filled in with
    /// their defaults. Empty for most.
    pub servers: &'static [&'static str],
}

/// What a second sending of the same request would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It only reads (RFC 9110, 9.2.1, or the contract's owner says so).
    Safe,
    /// It changes nothing more, by its method (RFC 9110, 9.2.2) or by what its owner says.
    Idempotent,
    /// It changes nothing more, since the request carries an idempotency key.
    Keyed,
    /// It may act a second time.
    Once,
}

impl Repeat {
    /// Whether a second sending does no more than the first.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        !matches!(self, Self::Once)
    }
}

/// One entry of an operation's answers.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Which statuses it stands for.
    pub statuses: Statuses,
    /// Whether they are what was asked for.
    pub outcome: Outcome,
    /// The media types that it may have; empty for an answer without a body.
    pub content: &'static [Content],
}

/// The statuses that an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// `200`
    Code(u16),
    /// `4XX`: the first digit.
    Class(u16),
    /// `default`: refusals that no other entry names; with [`Outcome::Success`] `2XX` too.
    Default,
}

/// Whether an answer is what was asked for. Both sides read it from the same row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is: the client's `Ok`, the server's `Ok`.
    Success,
    /// It says why not.
    Refusal,
}

impl Response {
    /// What the contract says of a media type, the more literal first.
    #[must_use]
    pub fn of(&self, media_type: &str) -> Option<&'static Content> {
        most_literal(self.content, media_type)
    }
}

/// Of several ranges that a media type is in, the more literal one.
fn most_literal(content: &'static [Content], media_type: &str) -> Option<&'static Content> {
    let media_type = MediaType::of(media_type);
    let fits = content.iter().filter(|content| MediaType::of(content.media_type).contains(&media_type));
    fits.min_by_key(|content| MediaType::of(content.media_type).openness())
}

/// What an operation reads from a request's body.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Whether a request without a body is refused.
    pub required: bool,
    /// The media types that it may have, in document order.
    pub content: &'static [Content],
}

/// One media type of a body.
#[derive(Clone, Copy)]
pub struct Content {
    /// `application/json`, or a range: `image/*`.
    pub media_type: &'static str,
    /// How its bytes are read.
    pub format: Format,
    /// URI of its schema with JSON Pointer, or empty.
    pub schema: &'static str,
    /// Checks a body.
    pub validator: Option<Validator<'static>>,
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
    /// Bytes, handed on as they come.
    Pieces,
    /// Items one after another, handed on as they come; the validator is that of each.
    Items(Items),
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
        most_literal(self.content, media_type)
    }
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
        repeat: Repeat::Once,
        deprecated: false,
        parameters: &[],
        body: None,
        responses: &[],
        servers: &[],
    };

    /// Whether it is a webhook or a callback, which is sent to an address of its receiver's: it has a
    /// name where others have a path.
    #[must_use]
    pub fn is_webhook(&self) -> bool {
        !self.path.starts_with('/')
    }

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

    /// What the contract says of a status: its own entry, that of its class, `default`.
    #[must_use]
    pub fn response(&self, status: u16) -> Option<&'static Response> {
        let of = |due: Statuses| self.responses.iter().find(|response| response.statuses == due);
        let default = || {
            of(Statuses::Default).filter(|response| match response.outcome {
                Outcome::Success => (200..=299).contains(&status) || status >= 400,
                Outcome::Refusal => status >= 400,
            })
        };
        of(Statuses::Code(status)).or_else(|| of(Statuses::Class(status / 100))).or_else(default)
    }

    /// Whether a status is what was asked for; `None` when the contract does not name it.
    #[must_use]
    pub fn outcome(&self, status: u16) -> Option<Outcome> {
        let response = self.response(status)?;
        // What stands for successes in the absence of others stands for refusals as well.
        let refusal = response.statuses == Statuses::Default && status >= 400;
        Some(if refusal { Outcome::Refusal } else { response.outcome })
    }

    /// Whether the path fits the template. Of both is compared what must be percent-encoded as that, in either case;
    /// `%61` is no `a`, and `%2F` is no `/`. A placeholder stands for at least one character and for no `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        template::matches(self.path, path)
    }

    /// Whether the query has the pairs that stand behind the path template.
    #[cfg(feature = "server")]
    fn has_pairs(&self, query: &str) -> bool {
        pairs(template::parts(self.path).1).all(|(name, value)| {
            let (name, value) = (decode(name), decode(value));
            name.is_some_and(|name| texts(query, &name).any(|text| text == value))
        })
    }

    /// Whether a request has the marks of the operation ([`Parameter::mark`]), or those that are texts.
    #[cfg(feature = "server")]
    fn has_marks<'a>(
        &self,
        texts_alone: bool,
        query: &str,
        header: &impl Fn(&str) -> Option<&'a [u8]>,
    ) -> bool {
        self.parameters.iter().all(|row| match (row.mark, row.location) {
            (None, _) => true,
            (Some(Mark::There), _) if texts_alone => true,
            (Some(Mark::There), Location::Header) => header(row.name).is_some(),
            (Some(Mark::Text(text)), Location::Header) => {
                header(row.name).is_some_and(|found| found.trim_ascii() == text.as_bytes())
            }
            (Some(Mark::There), _) => texts(query, row.name).next().is_some(),
            (Some(Mark::Text(text)), _) => {
                texts(query, row.name).any(|found| found.is_some_and(|found| found == text))
            }
        })
    }

    /// The text in the place of a placeholder, still percent-encoded. `None` when the path
    /// does not fit or there is no such placeholder.
    #[must_use]
    pub fn path_value<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        template::value(self.path, path, name)
    }
}

/// The pairs of a query, still percent-encoded.
#[cfg(feature = "server")]
fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let each = query.split('&').filter(|pair| !pair.is_empty());
    each.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// What stands behind a name in a query; `None` for what is no text.
#[cfg(feature = "server")]
fn texts<'q>(query: &'q str, name: &str) -> impl Iterator<Item = Option<Cow<'q, str>>> {
    let named = pairs(query).filter(move |(each, _)| decode(each).is_some_and(|each| each == name));
    named.map(|(_, value)| decode(value))
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

    /// The operation at a method and a path (without query), the first where there are several: a
    /// request as a whole is for [`Operations::find_asked`]. Literal segments beat
    /// placeholders from the left; the path is settled before the method is looked at.
    /// `HEAD` finds the `GET` operation unless there is one of its own (RFC 9110, 9.3.2).
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> Lookup {
        let Some(first) = search::first(self, path) else { return Lookup::Nothing };
        let allowed = Allowed { operations: *self, first };
        let by_method = |method| allowed.operations().find(|o| o.method == method);
        match by_method(method).or_else(|| (method == "HEAD").then(|| by_method("GET")).flatten()) {
            Some(operation) => Lookup::Found(operation),
            None => Lookup::WrongMethod(allowed),
        }
    }

    /// The same for a request with a query (without its `?`) and headers, by which operations of the
    /// same method and path are told apart where they are not one: by the pairs behind a path template,
    /// and by the marks of parameters. A request with the marks of none is for the first whose texts it
    /// has, else for the first of all, which then says what is missing.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn find_asked<'a>(
        &self,
        method: &str,
        path: &str,
        query: &str,
        header: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Lookup {
        let Some(first) = search::first(self, path) else { return Lookup::Nothing };
        let allowed = Allowed { operations: *self, first };
        let by_method = |method| {
            let here = || allowed.operations().filter(move |o| o.method == method && o.has_pairs(query));
            let marked = |texts_alone| here().find(|o| o.has_marks(texts_alone, query, &header));
            marked(false).or_else(|| marked(true)).or_else(|| here().next())
        };
        match by_method(method).or_else(|| (method == "HEAD").then(|| by_method("GET")).flatten()) {
            Some(operation) => Lookup::Found(operation),
            None if allowed.methods().any(|other| other == method) => Lookup::Nothing,
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
        // Operations of one method stand together.
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
        Operation { id, method, path, ..Operation::NONE }
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

    #[cfg(feature = "server")]
    #[test]
    fn operations_of_one_path_are_found_by_what_marks_them() {
        const fn action(text: &'static str) -> Parameter {
            Parameter { name: "Action", mark: Some(Mark::Text(text)), ..Parameter::QUERY }
        }
        const RUN: &[Parameter] = &[action("Run it")];
        const STOP: &[Parameter] =
            &[action("Stop"), Parameter { name: "when", mark: Some(Mark::There), ..Parameter::QUERY }];
        const TARGET: &[Parameter] =
            &[Parameter { name: "X-Target", mark: Some(Mark::There), ..Parameter::HEADER }];
        static ALL: &[Operation] = &[
            Operation { parameters: RUN, ..operation("run", "GET", "/") },
            Operation { parameters: STOP, ..operation("stop", "GET", "/") },
            Operation { parameters: TARGET, ..operation("aim", "POST", "/") },
            operation("plain", "POST", "/"),
            operation("cat", "GET", "/pets/{id}?kind=cat"),
            operation("dog", "GET", "/pets/{id}?kind=d%6Fg"),
        ];
        let table = Operations::new(ALL, &[0, 1, 2, 3, 4, 5]);
        let found = |method, target: &str, headers: &[(&str, &'static str)]| {
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let header =
                |name: &str| headers.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_bytes());
            match table.find_asked(method, path, query, header) {
                Lookup::Found(operation) => operation.id.to_owned(),
                Lookup::WrongMethod(allowed) => allowed.methods().collect::<Vec<_>>().join(", "),
                Lookup::Nothing => "-".to_owned(),
            }
        };
        for (method, target, expected) in [
            ("GET", "/?when=&Action=Stop", "stop"),
            ("GET", "/?Action=Stop", "stop"),
            ("HEAD", "/?a=1&Action=Run+it", "run"),
            ("GET", "/?%41ction=Run%20it&Action=", "run"),
            // Whoever asks for neither learns from one of them what is missing.
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
    fn a_status_is_looked_up_from_its_own_entry_to_default() {
        const fn row(statuses: Statuses, outcome: Outcome) -> Response {
            Response { statuses, outcome, content: &[] }
        }
        const ALL: &[Response] = &[
            row(Statuses::Default, Outcome::Refusal),
            row(Statuses::Class(2), Outcome::Success),
            row(Statuses::Code(302), Outcome::Refusal),
        ];
        const ALONE: &[Response] = &[row(Statuses::Default, Outcome::Success)];
        let operation = Operation { responses: ALL, ..Operation::NONE };
        let of = |status| operation.outcome(status);
        assert_eq!(of(204), Some(Outcome::Success));
        assert_eq!((of(302), of(404), of(599)), (Some(Outcome::Refusal), of(302), of(302)));
        assert_eq!((of(301), of(100)), (None, None));
        // A `default` by itself is both.
        let alone = Operation { responses: ALONE, ..Operation::NONE };
        assert_eq!(alone.outcome(200), Some(Outcome::Success));
        assert_eq!((alone.outcome(500), alone.outcome(302)), (Some(Outcome::Refusal), None));
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
