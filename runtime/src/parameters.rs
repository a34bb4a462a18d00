//! Parameters of operations: how each is written on the wire, as plain data.
//!
//! Reading them needs feature `server`: [`Query`], [`Sources`] and
//! [`read`](Sources::read).

use std::fmt;

use crate::schema::Validator;

#[cfg(feature = "server")]
mod query;
#[cfg(feature = "server")]
mod read;
#[cfg(feature = "server")]
mod split;

#[cfg(feature = "server")]
pub use query::{MalformedQuery, Query};
#[cfg(feature = "server")]
pub use read::{Fault, Missing, Sources, read_form};

/// One parameter of an operation.
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
    /// What its text stands for.
    pub shape: Shape,
    /// Checks its value.
    pub validator: Option<fn() -> Validator>,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.location, self.name)
    }
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
}

impl Location {
    /// As OpenAPI writes it: `path`, `query`, `header`, `cookie`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `style` of a parameter (OpenAPI 3.1, 4.8.12.2.1), as far as it is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Comma-separated, in paths and headers.
    Simple,
    /// `name=value`, in queries and cookies.
    Form,
    /// `a%20b`
    SpaceDelimited,
    /// `a|b`
    PipeDelimited,
    /// `name[member]=value`
    DeepObject,
}

/// What a parameter's text stands for.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One value.
    Scalar(Scalar),
    /// A list.
    Array(Scalar),
    /// An object with these members; others are read as text.
    Object(&'static [(&'static str, Scalar)]),
    /// A JSON document (a parameter with `content`).
    Json,
}

/// How one piece of text becomes a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// A string, whatever it looks like.
    Text,
    /// A number; other text stays a string, so that `type` refuses it.
    Number,
    /// `true` or `false`; other text stays a string.
    Boolean,
    /// A number, `true`, `false` or `null` where it reads as one, else a string.
    Any,
}
