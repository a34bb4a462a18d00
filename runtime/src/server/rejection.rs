//! Why a call never reached its handler, or its handler could not answer.

use std::fmt;

use super::BrokenAnswer;
use crate::Rejected;
use crate::json::{JsonError, JsonErrorKind};
use crate::parameters::{Fault, Missing};
use crate::violation::Violations;

/// How many findings [`Rejection::violations`] gives at most.
pub const FINDINGS_LIMIT: usize = 50;

/// Why a call is refused before or beside its handler. The service's `reject` turns it into
/// an answer. It never holds a value of the request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// No operation has this path.
    NotFound,
    /// The path has operations, none with this method.
    MethodNotAllowed {
        /// The methods that it has, as `Allow` wants them.
        allowed: Vec<&'static str>,
    },
    /// The body is of another media type than the operation reads, or of none.
    UnsupportedMediaType {
        /// What the operation reads.
        expected: Vec<&'static str>,
    },
    /// The body is larger than allowed.
    TooLarge {
        /// Bytes that are allowed.
        limit: usize,
    },
    /// The body ended before it was complete.
    Incomplete,
    /// The query holds a parameter without a name or a broken percent-encoding.
    MalformedQuery,
    /// Parameters that are missing or wrong, all of them, in the contract's order.
    Parameters(Vec<Fault>),
    /// The body is not a JSON document; for other bodies: not UTF-8, not a form, parts that are
    /// malformed or beyond a limit.
    NotJson,
    /// The body nests deeper than is read; nothing more is known about it.
    TooDeep,
    /// The body breaks its schema.
    Invalid(Violations),
    /// The body is valid, but its type cannot hold it.
    Unrepresentable {
        /// JSON Pointer of the first value that is beyond it, a whole number of more than 64 bits; `""` where it is
        /// for something else.
        pointer: String,
    },
    /// The service does not offer this operation.
    NotImplemented,
    /// The handler panicked, or its answer has no JSON form.
    Internal,
    /// The handler's answer broke the contract and was not sent: answers are checked, or it was a
    /// refusal with a status of successes.
    BrokenAnswer(Box<BrokenAnswer>),
}

/// Where something is wrong, and which keyword says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// JSON Pointer: into the body (`""` is the whole of it), or `/name` of a parameter, or
    /// `/` for a parameter without a name.
    pub pointer: String,
    /// JSON Schema keyword.
    pub keyword: &'static str,
}

impl Rejection {
    /// What is wrong and where, at most [`FINDINGS_LIMIT`]. Empty when the request's content
    /// is not what is wrong.
    #[must_use]
    pub fn violations(&self) -> Vec<Finding> {
        let one = |pointer: &str, keyword| vec![Finding { pointer: pointer.to_owned(), keyword }];
        match self {
            // A name is missing, so there is none to point at.
            Self::MalformedQuery => one("/", "propertyNames"),
            Self::Unrepresentable { pointer } => one(pointer, "format"),
            Self::Parameters(faults) => {
                let found = faults.iter().take(FINDINGS_LIMIT);
                found.map(|f| Finding { pointer: f.pointer.clone(), keyword: f.keyword }).collect()
            }
            Self::Invalid(violations) => {
                let found = violations.iter().take(FINDINGS_LIMIT);
                found.map(|v| Finding { pointer: v.pointer.clone(), keyword: v.keyword }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What is wrong with one parameter, by its name (any case), if that is among the reasons.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Fault> {
        match self {
            Self::Parameters(faults) => faults.iter().find(|f| f.name.eq_ignore_ascii_case(name)),
            _ => None,
        }
    }

    /// The status that HTTP itself suggests; contracts often have their own.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::MethodNotAllowed { .. } => 405,
            Self::UnsupportedMediaType { .. } => 415,
            Self::TooLarge { .. } => 413,
            Self::Incomplete
            | Self::MalformedQuery
            | Self::Parameters(_)
            | Self::NotJson
            | Self::TooDeep
            | Self::Invalid(_)
            | Self::Unrepresentable { .. } => 400,
            Self::NotImplemented => 501,
            Self::Internal | Self::BrokenAnswer(_) => 500,
        }
    }
}

impl From<Rejected> for Rejection {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::NotJson(error) | Rejected::TooDeep(error) => error.into(),
            Rejected::Invalid(violations) => Self::Invalid(violations),
            Rejected::Unrepresentable { pointer, .. } => Self::Unrepresentable { pointer },
        }
    }
}

impl From<JsonError> for Rejection {
    fn from(error: JsonError) -> Self {
        match error.kind {
            JsonErrorKind::TooDeep => Self::TooDeep,
            _ => Self::NotJson,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such path"),
            Self::MethodNotAllowed { allowed } => {
                write!(f, "no such method here, only {}", allowed.join(", "))
            }
            Self::UnsupportedMediaType { expected } => {
                write!(f, "the body must be {}", expected.join(" or "))
            }
            Self::TooLarge { limit } => write!(f, "the body is larger than {limit} bytes"),
            Self::Incomplete => f.write_str("the body ended too early"),
            Self::MalformedQuery => f.write_str("the query is malformed"),
            Self::Parameters(faults) => {
                for (i, fault) in faults.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    let what = if fault.missing == Missing::Yes { "missing" } else { "not valid" };
                    write!(f, "{comma}{} {} is {what}", fault.location, fault.name)?;
                }
                Ok(())
            }
            Self::NotJson => f.write_str("the body is not well-formed"),
            Self::TooDeep => f.write_str("the body is nested too deeply"),
            Self::Invalid(violations) => write!(f, "the body breaks its schema:\n{violations}"),
            Self::Unrepresentable { pointer } => {
                write!(f, "the body holds a value beyond what is supported")?;
                if pointer.is_empty() { Ok(()) } else { write!(f, ", at {pointer}") }
            }
            Self::NotImplemented => f.write_str("this operation is not offered"),
            Self::Internal => f.write_str("the service failed"),
            Self::BrokenAnswer(_) => f.write_str("the service's answer broke the contract"),
        }
    }
}

impl std::error::Error for Rejection {}
