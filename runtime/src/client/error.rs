//! Errors of calls. One enum serves all clients; it is generic over the type of the error body.

use std::{error::Error as StdError, fmt, iter::repeat};

use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode};

use super::{response::Response, retry::RetryAfter};
use crate::{transport::TransportError, violation::Violations};

/// The error of a call. `E` is the body of an error response that the contract describes.
///
/// `Display` and `Debug` do not print the body.
#[non_exhaustive]
pub enum Error<E> {
    /// No response was received.
    Transport(TransportError),
    /// The server returned an error response that the contract describes.
    ErrorResponse(Box<Response<E>>),
    /// The server returned a response that the contract does not describe, such as the error page of a proxy,
    /// a truncated body, or an undocumented status.
    UnexpectedResponse(Box<UnexpectedResponse>),
    /// The request violates the contract and was not sent.
    InvalidRequest(Violations),
}

impl<E> Error<E> {
    /// Returns the status, if a response was received.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::ErrorResponse(answer) => Some(answer.status()),
            Self::UnexpectedResponse(answer) => Some(answer.status),
            Self::Transport(_) | Self::InvalidRequest(_) => None,
        }
    }

    /// Returns the headers, if a response was received.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        match self {
            Self::ErrorResponse(answer) => Some(answer.headers()),
            Self::UnexpectedResponse(answer) => Some(&answer.headers),
            Self::Transport(_) | Self::InvalidRequest(_) => None,
        }
    }

    /// Returns the body of a documented error response.
    #[must_use]
    pub fn body(&self) -> Option<&E> {
        match self {
            Self::ErrorResponse(answer) => Some(answer.body()),
            _ => None,
        }
    }

    /// Returns the first header with that name, if a response was received and the value consists of visible
    /// ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers()?.get(name)?.to_str().ok()
    }

    /// Returns the delay that the server requests in `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        RetryAfter::from_headers(self.headers()?)
    }

    /// Converts the body of an error response. All other errors remain unchanged.
    pub fn map_body<U>(self, read: impl FnOnce(E) -> U) -> Error<U> {
        match self {
            Self::Transport(error) => Error::Transport(error),
            Self::ErrorResponse(answer) => Error::ErrorResponse(Box::new(answer.map(read))),
            Self::UnexpectedResponse(answer) => Error::UnexpectedResponse(answer),
            Self::InvalidRequest(violations) => Error::InvalidRequest(violations),
        }
    }
}

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => write!(f, "{error}"),
            Self::ErrorResponse(answer) => {
                write!(f, "the server returned {}", answer.status())?;
                answer.error_summary().map_or(Ok(()), |summary| write!(f, ": {summary}"))
            }
            Self::UnexpectedResponse(answer) => write!(f, "{answer}"),
            Self::InvalidRequest(violations) => {
                f.write_str("the request violates the contract and was not sent")?;
                for (violation, separator) in violations.iter().zip([": "].into_iter().chain(repeat("; "))) {
                    let pointer = if violation.pointer.is_empty() { "#" } else { &violation.pointer };
                    write!(f, "{separator}{pointer} {}", violation.message())?;
                }
                Ok(())
            }
        }
    }
}

/// Shows the variant and the `Display` output.
impl<E> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = match self {
            Self::Transport(_) => "Transport",
            Self::ErrorResponse(_) => "ErrorResponse",
            Self::UnexpectedResponse(_) => "UnexpectedResponse",
            Self::InvalidRequest(_) => "InvalidRequest",
        };
        write!(f, "{variant}({self})")
    }
}

impl<E> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // `Display` already includes this error, so its source comes next.
            Self::Transport(error) => error.source(),
            Self::ErrorResponse(_) | Self::UnexpectedResponse(_) | Self::InvalidRequest(_) => None,
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

/// An error that occurred before a response was received. It converts into the [`Error`] of any operation.
#[derive(Debug)]
pub enum SendError {
    /// No response was received.
    Transport(TransportError),
    /// The request violates the contract and was not sent.
    InvalidRequest(Violations),
}

impl From<TransportError> for SendError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// A response that the contract does not describe, with its undecoded body.
///
/// `Display` and `Debug` print only the status and the reason.
#[derive(Clone)]
pub struct UnexpectedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) extensions: Extensions,
    pub(super) reason: UnexpectedReason,
}

impl UnexpectedResponse {
    /// Returns the HTTP status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns all headers.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the undecoded body. It may contain anything, so do not log it.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the undecoded body.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// Returns the values that the transport attached; see [`Response::extensions`].
    #[must_use]
    pub const fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns the first difference from the contract.
    #[must_use]
    pub const fn reason(&self) -> &UnexpectedReason {
        &self.reason
    }
}

impl fmt::Display for UnexpectedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            UnexpectedReason::UndocumentedStatus => {
                write!(f, "the server returned {}, which the contract does not describe", self.status)
            }
            reason => {
                write!(
                    f,
                    "the server returned {}, but the response does not match the contract: {reason}",
                    self.status
                )
            }
        }
    }
}

impl fmt::Debug for UnexpectedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnexpectedResponse")
            .field("status", &self.status)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// The reason why a response does not match the contract.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UnexpectedReason {
    /// The contract does not list this status for the operation.
    UndocumentedStatus,
    /// The contract does not list this `Content-Type`. The body is often the error page of a proxy.
    MediaType,
    /// The body is not valid UTF-8.
    Encoding,
    /// The contract requires a body, but the response has none.
    MissingBody,
    /// The body is not JSON, or is truncated. Positions count from 1.
    Syntax {
        /// The line in the body.
        line: usize,
        /// The byte within the line.
        column: usize,
    },
    /// The body is nested deeper than [`depth::DEFAULT_DEPTH`](crate::depth::DEFAULT_DEPTH) levels.
    TooDeep,
    /// The body is JSON, but the expected type cannot represent it. Positions count from 1.
    Shape {
        /// The line in the body.
        line: usize,
        /// The byte within the line.
        column: usize,
        /// The violations of the schema. `None` if the contract has no schema, or if the body is valid but
        /// the type cannot represent it.
        violations: Option<Violations>,
    },
}

impl fmt::Display for UnexpectedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UndocumentedStatus => f.write_str("undocumented status"),
            Self::MediaType => f.write_str("unexpected content type"),
            Self::Encoding => f.write_str("the body is not UTF-8"),
            Self::MissingBody => f.write_str("there is no body"),
            Self::Syntax { line, column } => {
                write!(f, "the body is not JSON (line {line}, byte {column})")
            }
            Self::TooDeep => f.write_str("the body is nested too deeply"),
            Self::Shape { line, column, violations } => {
                write!(f, "the body does not match its type (line {line}, byte {column})")?;
                let first = violations.as_ref().and_then(|violations| violations.iter().next());
                first.map_or(Ok(()), |first| write!(f, ": {first}"))
            }
        }
    }
}
