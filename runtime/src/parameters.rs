//! Parameters of operations: how each is written on the wire, as plain data.
//!
//! One row says where a parameter stands, in which style, and what its text stands for;
//! clients write by it (feature `client`) and servers read by it (feature `server`), so that
//! what one side writes the other reads back equal. Where text cannot say something, nothing
//! is sent and the caller is told:
//!
//! * `null` has no text (RFC 6570, 2.3: undefined). It is left out as an argument and as a
//!   member, and refused as an element of a list.
//! * An empty list that is not required is left out. A required one is `name=` where the list
//!   is one text, and refused where every element has a place of its own; `[""]` is refused
//!   where it would read as the empty list. The same holds for objects without members.
//! * Headers are not percent-encoded: a text with white space at its ends is refused, and so
//!   are elements that hold the separator.
//! * Elements of `spaceDelimited` and `pipeDelimited` lists that hold the separator are refused.
//! * Of several shapes that one text fits (`oneOf` a string or a list), readers take the first
//!   that the schema accepts: plain value, list, object; of plain values number, boolean, text.
//!   So a list of one comes back as that one, and the string `7` as the number.
//! * A list that stands where anything may is read back where its name is repeated, and is refused where
//!   it would be one text; an object there is refused.
//! * Of an object whose members have places of their own, servers look for the declared ones, for other
//!   names are those of others; members beside them are refused, unless it says what they are or
//!   declares none.
//! * Integers are written as digits, whatever their JSON looks like (`5e2` as `500`).
//! * Lists and objects inside of lists and objects are JSON text, except below `deepObject`,
//!   where they take more brackets (`a[b][c]=1`) and lists of plain values repeat their name.

use std::fmt;

use crate::schema::{Types, Validator};

#[cfg(feature = "server")]
mod found;
#[cfg(feature = "server")]
pub(crate) mod query;
#[cfg(feature = "server")]
mod read;
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) mod scalar;
#[cfg(feature = "server")]
mod split;
#[cfg(feature = "client")]
pub(crate) mod write;

#[cfg(all(test, feature = "client", feature = "server"))]
mod round_trip;

#[cfg(feature = "server")]
pub use query::{MalformedQuery, Query};
#[cfg(feature = "server")]
pub use read::{Fault, Missing, Sources, read_form};

/// One parameter of an operation, or one field of a form.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its name on the wire.
    pub name: &'static str,
    /// Where it is looked for.
    pub location: Location,
    /// Whether a request without it is refused.
    pub required: bool,
    /// How a list or an object is written.
    pub style: Style,
    /// Whether every element has a place of its own (OpenAPI 3.1, 4.8.12).
    pub explode: bool,
    /// Whether reserved characters are sent as they are, as far as a query can hold them.
    pub allow_reserved: bool,
    /// Whether an empty text that its schema refuses is left out, not wrong (`allowEmptyValue` of what may be
    /// left out).
    pub allow_empty: bool,
    /// What its text stands for.
    pub shape: Shape,
    /// Checks its value.
    pub validator: Option<Validator<'static>>,
    /// By what of it requests for its operation are told from those for others of the same method
    /// and path; `None` for most, since most have both for themselves.
    pub mark: Option<Mark>,
}

impl Parameter {
    /// A text in the path, as OpenAPI has it unless told otherwise.
    pub const PATH: Self = Self::plain(Location::Path, Style::Simple, false);
    /// A text in the query, as OpenAPI has it unless told otherwise.
    pub const QUERY: Self = Self::plain(Location::Query, Style::Form, true);
    /// A text in a header, as OpenAPI has it unless told otherwise.
    pub const HEADER: Self = Self::plain(Location::Header, Style::Simple, false);
    /// A text in a cookie, as OpenAPI has it unless told otherwise.
    pub const COOKIE: Self = Self::plain(Location::Cookie, Style::Form, true);
    /// The whole query.
    pub const QUERY_STRING: Self = Self::plain(Location::QueryString, Style::Form, true);

    const fn plain(location: Location, style: Style, explode: bool) -> Self {
        Self {
            name: "",
            location,
            required: matches!(location, Location::Path),
            style,
            explode,
            allow_reserved: false,
            allow_empty: false,
            shape: Shape::Scalar(Scalar::Text),
            validator: None,
            mark: None,
        }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.location, self.name)
    }
}

/// By what of a parameter an operation is found, where its method and path are those of others too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// It is there.
    There,
    /// It is this text, and no other.
    Text(&'static str),
}

/// `in` of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A placeholder of the path.
    Path,
    /// The query string.
    Query,
    /// A request header.
    Header,
    /// A cookie.
    Cookie,
    /// The whole query, beside which there is no other parameter in it (OpenAPI 3.2, 4.12.1).
    QueryString,
}

impl Location {
    /// As OpenAPI writes it: `path`, `query`, `header`, `cookie`, `querystring`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
            Self::QueryString => "querystring",
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `style` of a parameter (OpenAPI 3.1, 4.8.12.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Comma-separated, in paths and headers.
    Simple,
    /// `.value`, in paths. Exploded lists are separated by dots, and dots inside of their
    /// elements are percent-encoded.
    Label,
    /// `;name=value`, in paths.
    Matrix,
    /// `name=value`, in queries and cookies. Exploded lists in cookies repeat the name.
    Form,
    /// `a%20b`
    SpaceDelimited,
    /// `a|b`
    PipeDelimited,
    /// `name[member]=value`
    DeepObject,
    /// `name=value` in cookies, nothing encoded: what no cookie can hold is refused (OpenAPI 3.2,
    /// 4.12.3).
    Cookie,
}

/// What a parameter's text stands for.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One value.
    Scalar(Scalar),
    /// A list.
    Array(Scalar),
    /// An object with these members. Where every member has a place of its own, these are the
    /// ones that are looked for; elsewhere others are read as text.
    Object(&'static [(&'static str, Shape)]),
    /// An object with these members and others beside them. In an exploded query those are
    /// all the names that belong to no other parameter.
    Map(&'static [(&'static str, Shape)], Scalar),
    /// One of several, tried in this order.
    OneOf(&'static [Shape]),
    /// A JSON document (a parameter with `content`).
    Json,
    /// A form: its fields, and what others are. As a whole query alone.
    Form(&'static [Parameter], Scalar),
}

/// How one piece of text becomes a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// A string, whatever it looks like.
    Text,
    /// A number; other text stays a string, so that `type` refuses it.
    Number,
    /// A whole number as digits with or without a sign, `0500` among them, but not `5e2` or
    /// `500.0`; of at most so many digits, where both its bounds say how many there can be. Other
    /// text stays a string.
    Integer(Option<u16>),
    /// `true` or `false`; other text stays a string.
    Boolean,
    /// A number, `true`, `false` or `null` where it reads as one, else a string.
    Any,
    /// One of these types where it reads as one, else a string.
    Of(Types),
    /// A JSON document: a list or an object that stands inside of another.
    Json,
}
