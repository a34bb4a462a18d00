//! The encoding of operation parameters, as plain data.
//!
//! A [`Parameter`] defines the location, the style and the type of a parameter. Clients use it for encoding
//! and servers for decoding, so that decoding returns the encoded value. Clients decode response headers in
//! the same way. A value that cannot be encoded unambiguously is rejected before the request is sent:
//!
//! * `null` has no encoding (RFC 6570, 2.3: undefined). It is omitted as an argument or as a member of an
//!   object, and rejected as an element of a list.
//! * An empty list that is not required is omitted. A required one is sent as `name=` if the style encodes
//!   the list as one string, and is rejected if the style encodes every element separately. `[""]` is
//!   rejected if it would decode as the empty list. The same rules apply to objects without members.
//! * Headers are not percent-encoded. A value with leading or trailing white space is rejected, and so are
//!   elements that contain the separator.
//! * Elements of `spaceDelimited` and `pipeDelimited` lists that contain the separator are rejected.
//! * If a string fits several shapes (`oneOf` a string or a list), decoding returns the first value that the
//!   schema accepts, in the order scalar, list, object. Scalars are tried in the order number, boolean,
//!   string. Therefore a list of one element decodes as that element, and the string `7` decodes as a number.
//! * If the schema allows any type, a list can be sent only if the style repeats the name for each element.
//!   It is rejected if the style encodes it as one string. Objects are rejected.
//! * If the members of an object are encoded separately, the server reads only the declared members, because
//!   other names belong to other parameters. Undeclared members are rejected, unless the shape defines their
//!   type or declares no member.
//! * Integers are encoded as digits, regardless of their spelling in JSON (`5e2` as `500`).
//! * Lists and objects inside lists and objects are encoded as JSON. `deepObject` parameters and parameters
//!   with a [`WireConvention`] encode them with bracketed names: `a[b][c]=1`, `a[tags][]=x`,
//!   `a[items][0][price]=1`.
//! * A member name that is empty or contains a bracket cannot be encoded inside brackets and is rejected. A
//!   list without indices is rejected if its elements cannot be distinguished, or if they would be read as
//!   one JSON value. An empty list or object is sent as `name=`, or rejected if a server could read that as
//!   another value.
//! * If two names could own a pair, the longer one does: `a[b][c]` belongs to `a[b]` and not to `a`.
//! * Servers read lists in a query or form in any notation: `tags=a`, `tags[]=a` and `tags[0]=a`.

use std::fmt;

use crate::schema::{TypeSet, Validator};

#[cfg(any(feature = "client", feature = "server"))]
mod attempt;
#[cfg(any(feature = "client", feature = "server"))]
mod bracket_reader;
#[cfg(feature = "client")]
mod bracket_writer;
#[cfg(feature = "client")]
pub(crate) mod encode;
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) mod encode_header;
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) mod query;
#[cfg(any(feature = "client", feature = "server"))]
mod reader;
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) mod scalar;
#[cfg(any(feature = "client", feature = "server"))]
mod split;
mod wire_convention;

#[cfg(any(feature = "client", feature = "server"))]
mod brackets;
#[cfg(all(test, feature = "client", feature = "server"))]
mod brackets_round_trip;
#[cfg(all(test, feature = "client", feature = "server"))]
mod round_trip;

#[cfg(any(feature = "client", feature = "server"))]
pub use query::{MalformedPart, MalformedQuery, QueryPairs};
#[cfg(any(feature = "client", feature = "server"))]
pub use reader::{ParameterFault, ParameterFaultKind, ParameterReader, read_form};
pub use wire_convention::{ArrayNotation, NestedNotation, WireConvention};

/// One parameter of an operation, or one field of a form.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// The name of the parameter in requests.
    pub name: &'static str,
    /// The part of the request that contains the parameter (`in`).
    pub location: ParameterLocation,
    /// Whether a request without the parameter is rejected.
    pub required: bool,
    /// The `style`, which determines the encoding of lists and objects.
    pub style: ParameterStyle,
    /// Whether every element is encoded separately (OpenAPI 3.1, 4.8.12).
    pub explode: bool,
    /// Whether reserved characters are sent unencoded, if a query can contain them.
    pub allow_reserved: bool,
    /// Whether an empty value that violates the schema counts as absent (`allowEmptyValue` on an optional
    /// parameter).
    pub allow_empty: bool,
    /// Whether the parameter is an idempotency key. Clients generate one if the caller passes none.
    pub idempotency_key: bool,
    /// The convention for lists and nested values in queries and forms. `None` selects the encoding that
    /// OpenAPI defines, and [`WireConvention::DEEP_OBJECT`] for the style `deepObject`.
    pub wire: Option<WireConvention>,
    /// The type into which the encoded value is converted.
    pub shape: ValueShape,
    /// Validates the converted value; `None` if the parameter has no schema.
    pub validator: Option<Validator<'static>>,
    /// The condition that selects this operation among others with the same method and path. `None` for most
    /// parameters.
    pub route_match: Option<RouteMatch>,
}

impl Parameter {
    /// A string in the path with OpenAPI's defaults.
    pub const PATH: Self = Self::with_defaults(ParameterLocation::Path, ParameterStyle::Simple, false);
    /// A string in the query with OpenAPI's defaults.
    pub const QUERY: Self = Self::with_defaults(ParameterLocation::Query, ParameterStyle::Form, true);
    /// A string in a header with OpenAPI's defaults.
    pub const HEADER: Self = Self::with_defaults(ParameterLocation::Header, ParameterStyle::Simple, false);
    /// A string in a cookie with OpenAPI's defaults.
    pub const COOKIE: Self = Self::with_defaults(ParameterLocation::Cookie, ParameterStyle::Form, true);
    /// The complete query string.
    pub const QUERY_STRING: Self =
        Self::with_defaults(ParameterLocation::QueryString, ParameterStyle::Form, true);

    const fn with_defaults(location: ParameterLocation, style: ParameterStyle, explode: bool) -> Self {
        Self {
            name: "",
            location,
            required: matches!(location, ParameterLocation::Path),
            style,
            explode,
            allow_reserved: false,
            allow_empty: false,
            idempotency_key: false,
            wire: None,
            shape: ValueShape::Scalar(ScalarType::Text),
            validator: None,
            route_match: None,
        }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.location, self.name)
    }
}

/// A condition on a parameter that selects an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteMatch {
    /// The parameter is present, with any value.
    Present,
    /// The parameter is present and has exactly this value.
    Equals(&'static str),
}

/// The part of a request that contains a parameter (`in`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParameterLocation {
    /// A placeholder of the path template.
    Path,
    /// A name and value in the query string.
    Query,
    /// A request header, whose name is case-insensitive.
    Header,
    /// One pair of the `Cookie` header.
    Cookie,
    /// The complete query string, which excludes other query parameters (OpenAPI 3.2, 4.12.1).
    QueryString,
}

impl ParameterLocation {
    /// Returns the name in OpenAPI: `path`, `query`, `header`, `cookie` or `querystring`.
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

impl fmt::Display for ParameterLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The `style` of a parameter (OpenAPI 3.1, 4.8.12.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterStyle {
    /// Values separated by commas, in paths and headers.
    Simple,
    /// `.value`, in paths. Exploded lists are separated by dots, and dots in their elements are
    /// percent-encoded.
    Label,
    /// `;name=value`, in paths. Exploded lists repeat the name.
    Matrix,
    /// `name=value`, in queries and cookies. Exploded lists in cookies repeat the name.
    Form,
    /// Values separated by spaces: `a%20b`.
    SpaceDelimited,
    /// Values separated by vertical bars: `a|b`.
    PipeDelimited,
    /// Members in brackets: `name[member]=value`.
    DeepObject,
    /// `name=value` in cookies without encoding. A value with characters that are invalid in cookies is
    /// rejected (OpenAPI 3.2, 4.12.3).
    Cookie,
}

/// The type into which the encoded value of a parameter is converted.
#[derive(Clone, Copy, Debug)]
pub enum ValueShape {
    /// A single value that is neither a list nor an object.
    Scalar(ScalarType),
    /// A list whose elements are scalars.
    Array(ScalarType),
    /// An object with these members. Undeclared members are strings, unless every member is encoded
    /// separately, in which case they are not read.
    Object(&'static [(&'static str, ValueShape)]),
    /// An object with these members and with undeclared members of a scalar type. In an exploded query, all
    /// names that belong to no other parameter are undeclared members.
    Map(&'static [(&'static str, ValueShape)], ScalarType),
    /// A list whose elements have this shape, encoded by a [`WireConvention`].
    List(&'static ValueShape),
    /// An object with these members and with undeclared members of this shape, encoded by a
    /// [`WireConvention`].
    MapOf(&'static [(&'static str, ValueShape)], &'static ValueShape),
    /// One of several shapes, which are tried in this order.
    OneOf(&'static [ValueShape]),
    /// A JSON document, for a parameter with `content`.
    Json,
    /// A form with these fields and with undeclared fields of a scalar type. Only valid for the complete
    /// query string.
    Form(&'static [Parameter], ScalarType),
}

/// The type of a scalar, which determines how a string is converted into JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// A string.
    Text,
    /// A number. Any other string remains a string, which the keyword `type` then rejects.
    Number,
    /// An integer, written as digits with an optional sign: `0500`, but not `5e2` or `500.0`. Contains the
    /// maximum number of digits if the schema bounds the value on both sides. Any other string remains a
    /// string.
    Integer(Option<u16>),
    /// `true` or `false`. Any other string remains a string.
    Boolean,
    /// A number, `true`, `false` or `null` if the string has this form, or else a string.
    Any,
    /// One of these types if the string has its form, or else a string.
    Of(TypeSet),
    /// A JSON document, for a list or an object inside another one.
    Json,
}
