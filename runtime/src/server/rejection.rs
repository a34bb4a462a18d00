//! Rejections: requests that do not reach their handler, and handlers that fail.

use std::fmt;

use http::{HeaderName, HeaderValue, header};

use super::InvalidResponse;
use crate::DocumentError;
use crate::json::{JsonError, JsonErrorKind};
use crate::parameters::{MalformedQuery, ParameterFault};
use crate::violation::{Violation, Violations, violation_message};

/// The maximum number of violations that [`Rejection::violations`] returns.
pub const MAX_REQUEST_VIOLATIONS: usize = 50;

/// The reason why a request was not served. The service's `reject` turns it into a response. It contains no
/// value of the request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// No operation has this path.
    NotFound,
    /// The path exists, but not with this method.
    MethodNotAllowed {
        /// The methods of the path, for the `Allow` header.
        allowed: Vec<&'static str>,
    },
    /// The request has no valid credentials. Created by middleware and handlers, and by the router if it
    /// verifies credentials.
    Unauthorized {
        /// The challenge for the `WWW-Authenticate` header (RFC 9110, 11.6.1): `Bearer`, `Basic realm="pets"`.
        challenge: String,
    },
    /// The credentials of the request are valid, but not sufficient for the operation.
    Forbidden {
        /// The challenge for the `WWW-Authenticate` header, which has the scopes that a token needs (RFC 6750,
        /// 3.1).
        challenge: Option<String>,
    },
    /// The operation does not accept the media type of the body or of one of its parts, or the body has none.
    UnsupportedMediaType {
        /// The accepted media types.
        expected: Vec<&'static str>,
        /// The name of the part with the unsupported media type; `None` for the whole body.
        part: Option<&'static str>,
    },
    /// The body exceeds the limit.
    PayloadTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The connection ended before the body was complete.
    IncompleteBody,
    /// The query contains a parameter without a name or an invalid percent-encoding.
    MalformedQuery(MalformedQuery),
    /// All missing or invalid parameters, in the order of the contract.
    InvalidParameters(Vec<ParameterFault>),
    /// The body is not well-formed JSON, UTF-8 text or form data, or a multipart body is malformed or exceeds
    /// a limit.
    MalformedBody,
    /// The body exceeds the nesting limit and was not parsed.
    TooDeep,
    /// The body violates its schema.
    InvalidBody(Violations),
    /// The body is valid, but its Rust type cannot hold it.
    UnrepresentableBody {
        /// JSON Pointer of the first value that does not fit, an integer of more than 64 bits; `""` for other
        /// causes.
        pointer: String,
    },
    /// The service does not implement this operation.
    NotImplemented,
    /// The handler panicked, or its result cannot be serialized.
    Internal,
    /// The response of the handler violates the contract and was not sent.
    InvalidResponse(Box<InvalidResponse>),
}

/// The location of a violation and the keyword that is violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestViolation {
    /// JSON Pointer into the body (`""` is the whole body), `/name` for a parameter, `/` for a parameter
    /// without a name.
    pub pointer: String,
    /// The violated JSON Schema keyword.
    pub keyword: &'static str,
    /// A human-readable message. It is the predicate of a sentence about the value, such as `must be at most
    /// 50`.
    pub message: String,
}

impl Rejection {
    /// Returns the violations with messages, at most [`MAX_REQUEST_VIOLATIONS`]. Empty if the content of the
    /// request is not the cause.
    #[must_use]
    pub fn violations(&self) -> Vec<RequestViolation> {
        let one = |pointer: &str, keyword| {
            let message = violation_message(keyword, None);
            vec![RequestViolation { pointer: pointer.to_owned(), keyword, message }]
        };
        match self {
            // The parameter has no name to point at.
            Self::MalformedQuery(malformed) => vec![RequestViolation {
                pointer: "/".to_owned(),
                keyword: "propertyNames",
                message: malformed.message(),
            }],
            Self::UnrepresentableBody { pointer } => one(pointer, "format"),
            Self::InvalidParameters(faults) => {
                let found = faults.iter().take(MAX_REQUEST_VIOLATIONS);
                let convert = |fault: &ParameterFault| RequestViolation {
                    pointer: fault.pointer.clone(),
                    keyword: fault.keyword,
                    message: fault.message(),
                };
                found.map(convert).collect()
            }
            Self::InvalidBody(violations) => {
                let found = violations.iter().take(MAX_REQUEST_VIOLATIONS);
                let convert = |violation: &Violation| RequestViolation {
                    pointer: violation.pointer.clone(),
                    keyword: violation.keyword,
                    message: violation.message(),
                };
                found.map(convert).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the fault of a parameter by its name, ignoring case.
    #[must_use]
    pub fn parameter_fault(&self, name: &str) -> Option<&ParameterFault> {
        match self {
            Self::InvalidParameters(faults) => faults.iter().find(|f| f.name.eq_ignore_ascii_case(name)),
            _ => None,
        }
    }

    /// Returns the status that HTTP defines for this case. Contracts often define a different one.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::Unauthorized { .. } => 401,
            Self::Forbidden { .. } => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed { .. } => 405,
            Self::UnsupportedMediaType { .. } => 415,
            Self::PayloadTooLarge { .. } => 413,
            Self::IncompleteBody
            | Self::MalformedQuery(_)
            | Self::InvalidParameters(_)
            | Self::MalformedBody
            | Self::TooDeep
            | Self::InvalidBody(_)
            | Self::UnrepresentableBody { .. } => 400,
            Self::NotImplemented => 501,
            Self::Internal | Self::InvalidResponse(_) => 500,
        }
    }
}

impl Rejection {
    /// Returns the header that belongs to the status: `WWW-Authenticate` for a missing or insufficient
    /// credential, `Allow` for an unsupported method, `Accept` for an unsupported media type of the body.
    /// `None` for other rejections, and for a challenge that is empty or not a valid header value.
    #[must_use]
    pub fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::Unauthorized { challenge } | Self::Forbidden { challenge: Some(challenge) } => {
                if challenge.is_empty() {
                    return None;
                }
                (header::WWW_AUTHENTICATE, challenge.clone())
            }
            Self::MethodNotAllowed { allowed } => (header::ALLOW, allowed.join(", ")),
            Self::UnsupportedMediaType { expected, part: None } => (header::ACCEPT, expected.join(", ")),
            _ => return None,
        };
        Some((name, HeaderValue::try_from(value).ok()?))
    }
}

impl From<DocumentError> for Rejection {
    fn from(rejected: DocumentError) -> Self {
        match rejected {
            DocumentError::NotJson(error) | DocumentError::TooDeep(error) => error.into(),
            DocumentError::Invalid(violations) => Self::InvalidBody(violations),
            DocumentError::Unrepresentable { pointer, .. } => Self::UnrepresentableBody { pointer },
        }
    }
}

impl From<JsonError> for Rejection {
    fn from(error: JsonError) -> Self {
        match error.kind {
            JsonErrorKind::TooDeep => Self::TooDeep,
            _ => Self::MalformedBody,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such path"),
            Self::MethodNotAllowed { allowed } => {
                write!(f, "method not allowed; allowed: {}", allowed.join(", "))
            }
            Self::Unauthorized { .. } => f.write_str("valid credentials are required"),
            Self::Forbidden { .. } => f.write_str("the credentials do not permit this operation"),
            Self::UnsupportedMediaType { expected, part } => {
                let expected = expected.join(" or ");
                match part {
                    Some(part) => write!(f, "the part {part} must be {expected}"),
                    None => write!(f, "the body must be {expected}"),
                }
            }
            Self::PayloadTooLarge { limit } => write!(f, "the body is larger than {limit} bytes"),
            Self::IncompleteBody => f.write_str("the body is incomplete"),
            Self::MalformedQuery(malformed) => write!(f, "{malformed}"),
            Self::InvalidParameters(faults) => {
                for (i, fault) in faults.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{} {} {}", fault.location, fault.pointer, fault.message())?;
                }
                Ok(())
            }
            Self::MalformedBody => f.write_str("the body is not well-formed"),
            Self::TooDeep => f.write_str("the body is nested too deeply"),
            Self::InvalidBody(violations) => write!(f, "the body violates its schema:\n{violations}"),
            Self::UnrepresentableBody { pointer } => {
                write!(f, "the body contains an unsupported value")?;
                if pointer.is_empty() { Ok(()) } else { write!(f, ", at {pointer}") }
            }
            Self::NotImplemented => f.write_str("the operation is not implemented"),
            Self::Internal => f.write_str("internal error"),
            Self::InvalidResponse(_) => f.write_str("the response violates the contract"),
        }
    }
}

impl std::error::Error for Rejection {}
