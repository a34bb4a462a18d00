//! How a call fails: one type per client, generic over what the contract says refusals hold.

use std::{error::Error as StdError, fmt};

use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode};

use super::{answer::Answer, retry::RetryAfter};
use crate::{transport::TransportError, violation::Violations};

/// A call without a result. `E` is the body of a refusal as the contract describes it.
/// Never prints a body.
#[non_exhaustive]
pub enum Error<E> {
    /// There is no answer.
    Transport(TransportError),
    /// The other side refused, in the way the contract describes.
    Answer(Box<Answer<E>>),
    /// There is an answer, but not one that the contract describes: a proxy's page, a body
    /// cut short, a status that the contract does not name.
    Unreadable(Box<Unreadable>),
    /// The request breaks the contract; it was not sent.
    InvalidRequest(Violations),
}

impl<E> Error<E> {
    /// The status, when there was an answer.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Answer(answer) => Some(answer.status),
            Self::Unreadable(answer) => Some(answer.status),
            Self::Transport(_) | Self::InvalidRequest(_) => None,
        }
    }

    /// The headers, when there was an answer.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        match self {
            Self::Answer(answer) => Some(&answer.headers),
            Self::Unreadable(answer) => Some(&answer.headers),
            Self::Transport(_) | Self::InvalidRequest(_) => None,
        }
    }

    /// The refusal's body, when the contract describes it.
    #[must_use]
    pub fn body(&self) -> Option<&E> {
        match self {
            Self::Answer(answer) => Some(&answer.body),
            _ => None,
        }
    }

    /// The first header of that name, if there is one and it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers()?.get(name)?.to_str().ok()
    }

    /// What the answer says of when to ask again.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        RetryAfter::of(self.headers()?)
    }

    /// The same error with another body.
    pub fn map<U>(self, read: impl FnOnce(E) -> U) -> Error<U> {
        match self {
            Self::Transport(error) => Error::Transport(error),
            Self::Answer(answer) => Error::Answer(Box::new(answer.map(read))),
            Self::Unreadable(answer) => Error::Unreadable(answer),
            Self::InvalidRequest(violations) => Error::InvalidRequest(violations),
        }
    }
}

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => write!(f, "{error}"),
            Self::Answer(answer) => {
                write!(f, "the server answered {}", answer.status)?;
                answer.said.as_deref().map_or(Ok(()), |said| write!(f, ": {said}"))
            }
            Self::Unreadable(answer) => write!(f, "{answer}"),
            Self::InvalidRequest(violations) => {
                write!(f, "the request breaks the contract and was not sent: {violations}")
            }
        }
    }
}

/// The variant and the text of `Display`.
impl<E> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = match self {
            Self::Transport(_) => "Transport",
            Self::Answer(_) => "Answer",
            Self::Unreadable(_) => "Unreadable",
            Self::InvalidRequest(_) => "InvalidRequest",
        };
        write!(f, "{variant}({self})")
    }
}

impl<E> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // Its text is this error's text already.
            Self::Transport(error) => error.source(),
            Self::Answer(_) | Self::Unreadable(_) | Self::InvalidRequest(_) => None,
        }
    }
}

impl<E> From<SendError> for Error<E> {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Transport(error) => Self::Transport(error),
            SendError::InvalidRequest(violations) => Self::InvalidRequest(violations),
        }
    }
}

/// What goes wrong before there is an answer; becomes an [`Error`] of any operation.
#[derive(Debug)]
pub enum SendError {
    /// There is no answer.
    Transport(TransportError),
    /// The request breaks the contract; it was not sent.
    InvalidRequest(Violations),
}

impl From<TransportError> for SendError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// An answer that the contract does not describe, kept whole. Prints status and reason.
#[derive(Clone)]
#[non_exhaustive]
pub struct Unreadable {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body as it came. Not for logs: it may hold anything.
    pub body: Bytes,
    /// What the transport left behind, by its type, as with an [`Answer`].
    pub extensions: Extensions,
    /// What is wrong with it.
    pub reason: Reason,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered {} that cannot be read: {}", self.status, self.reason)
    }
}

impl fmt::Debug for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unreadable")
            .field("status", &self.status)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// Why an answer cannot be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The contract has no such status for the operation.
    Status,
    /// `Content-Type` is not what the contract says: most often a page of a proxy.
    MediaType,
    /// The body is not UTF-8.
    Encoding,
    /// A body was due and there is none.
    Missing,
    /// The body is not JSON, or ends too early; counted from 1.
    Syntax {
        /// Line of the body.
        line: usize,
        /// Byte of the line.
        column: usize,
    },
    /// The body is nested deeper than is read ([`depth::DEFAULT`](crate::depth::DEFAULT)).
    TooDeep,
    /// The body is JSON of another shape; counted from 1.
    Shape {
        /// Line of the body.
        line: usize,
        /// Byte of the line.
        column: usize,
        /// What the contract's schema says of it; none where only the type cannot hold it, or
        /// where the contract gives no schema.
        violations: Option<Violations>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("the contract does not name this status"),
            Self::MediaType => f.write_str("the body is of another content type"),
            Self::Encoding => f.write_str("the body is not UTF-8"),
            Self::Missing => f.write_str("there is no body"),
            Self::Syntax { line, column } => {
                write!(f, "the body is not JSON (line {line}, byte {column})")
            }
            Self::TooDeep => f.write_str("the body is nested too deeply"),
            Self::Shape { line, column, violations } => {
                write!(f, "the body has another shape (line {line}, byte {column})")?;
                let first = violations.as_ref().and_then(|violations| violations.iter().next());
                first.map_or(Ok(()), |first| write!(f, ": `{}` at {:?}", first.keyword, first.pointer))
            }
        }
    }
}
