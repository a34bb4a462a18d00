//! The interface between generated clients and the code that sends their requests.
//!
//! A generated client builds the request of an operation. A [`Transport`] delivers it: it signs requests,
//! responds to authentication challenges, waits and retries. A transport accepts a complete request and
//! returns a complete response, so it is also responsible for repeating interrupted transfers. Failures reach
//! the caller as a [`TransportError`]. An error response is returned even if its body is incomplete
//! ([`PartialBody`]), because its head determines the kind of error and the `Retry-After` delay.

use std::{error::Error as StdError, fmt, future::Future, iter::successors, pin::Pin, sync::Arc};

use bytes::Bytes;

use crate::operation::Operation;

#[cfg(feature = "stream")]
mod byte_stream;
pub(crate) mod timer;

pub use crate::operation::RepeatSafety;
#[cfg(feature = "stream")]
pub use byte_stream::{ByteStream, RequestBody, StreamResponseFuture, StreamTransport};
#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
pub use timer::HostTimer;
#[cfg(feature = "tokio")]
pub use timer::TokioTimer;
pub use timer::{SleepFuture, Timer};

/// The future that [`Transport::send`] returns.
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, TransportError>> + Send + 'a>>;

/// The `User-Agent` of a generated client, name and version of its package, as an extension of each request.
///
/// `ReqwestTransport` sends it if the request has no header `User-Agent`, unless the transport was created from a
/// configured client. Other transports may do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserAgent(pub &'static str);

/// A sender of requests. Implemented by sessions, plain HTTP clients and tests.
pub trait Transport: Send + Sync {
    /// Sends a request and waits for the complete response, regardless of its status.
    ///
    /// The request has an absolute URI, `Accept`, and `Content-Type` if it has a body. The transport adds the
    /// headers that the contract leaves to it (signatures, tokens), again for each attempt. Dropping the
    /// future cancels the request.
    ///
    /// # Errors
    /// Returns an error if no response was received. The [`TransportError`] contains the reason, and whether
    /// the request may have arrived. Also returns an error if the body of a success response is truncated or
    /// too large. An error response is returned with the bytes that arrived, and with [`PartialBody`] among
    /// its extensions.
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>)
    -> ResponseFuture<'a>;

    /// Returns the transport for streaming requests and responses, or `None` if streams are not supported. A
    /// transport that wraps another one must wrap the streams of that transport as well.
    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        None
    }
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        (**self).send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        (**self).stream_transport()
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        (**self).send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        (**self).stream_transport()
    }
}

/// Copies the head of a request and combines it with another body.
#[cfg(any(all(feature = "client", feature = "stream"), feature = "credentials", feature = "layers"))]
pub(crate) fn copy_with_body<A, B>(request: &http::Request<A>, body: B) -> http::Request<B> {
    let mut copy = http::Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    copy
}

/// Combines a response with the error that ended its body. For a success response, returns the error. Adds
/// [`PartialBody`] to any other response.
#[cfg(any(feature = "reqwest", feature = "tower", all(feature = "client", feature = "stream")))]
pub(crate) fn from_partial_body(
    mut answer: http::Response<Bytes>,
    error: Option<TransportError>,
) -> Result<http::Response<Bytes>, TransportError> {
    match error {
        Some(error) if answer.status().is_success() => Err(error),
        Some(error) => {
            answer.extensions_mut().insert(PartialBody(error.fault()));
            Ok(answer)
        }
        None => Ok(answer),
    }
}

/// Reads a streaming response of at most `limit` bytes.
#[cfg(all(feature = "client", feature = "stream"))]
pub(crate) async fn collect_response(
    answer: http::Response<ByteStream>,
    limit: usize,
) -> Result<http::Response<Bytes>, TransportError> {
    let (parts, body) = answer.into_parts();
    let (came, error) = body.collect_partial(limit).await;
    from_partial_body(http::Response::from_parts(parts, came), error)
}

/// Returns the error of a transport that does not support streams.
#[cfg(all(feature = "client", feature = "stream"))]
pub(crate) fn streams_unsupported() -> TransportError {
    TransportError::new(TransportFault::Declined, Delivery::NotSent)
        .with_source("this transport does not support streams (`Transport::stream_transport`)")
}

/// The reason why no complete response was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportFault {
    /// The request cannot be encoded, for example because of an invalid address or header.
    Request,
    /// The connection failed, for example during name resolution, routing or the TLS handshake.
    Connect,
    /// A timeout expired.
    Timeout,
    /// The connection ended before the response was complete.
    Interrupted,
    /// The body of a success response, or the head of any response, exceeds the limit.
    TooLarge,
    /// The transport did not send the request, for example because it is signed out, suspended or shut down.
    Declined,
    /// There is another reason, which the source of the error explains.
    Other,
}

/// Marks an error response whose body is incomplete, among the extensions of the response. Status and
/// headers, including `Retry-After`, are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialBody(pub TransportFault);

/// The delivery state of a request without a response, which determines whether it may have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// No byte was sent. Repeating the request is always safe.
    NotSent,
    /// The request may have arrived.
    Unknown,
}

/// The error if no complete response was received. Of the request, it contains only the host.
#[derive(Debug)]
pub struct TransportError {
    fault: TransportFault,
    delivery: Delivery,
    attempts: Option<u32>,
    host: Option<Box<str>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// Creates an error without a source.
    #[must_use]
    pub const fn new(fault: TransportFault, delivery: Delivery) -> Self {
        Self { fault, delivery, attempts: None, host: None, source: None }
    }

    /// Records the number of attempts, for transports that retry.
    #[must_use]
    pub const fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Records the host to which the connection failed, with its port if it is not the default one.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<Box<str>>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Adds the underlying error. It must not contain secrets, because `Display` and `Debug` show it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the reason of the failure.
    #[must_use]
    pub const fn fault(&self) -> TransportFault {
        self.fault
    }

    /// Returns whether the request may have arrived.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns the number of attempts, if a transport recorded it.
    #[must_use]
    pub const fn attempts(&self) -> Option<u32> {
        self.attempts
    }

    /// Returns the host to which the connection failed, if the transport recorded it.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Returns the underlying error if it has a known type: `error.downcast_source::<SessionError>()`.
    #[must_use]
    pub fn downcast_source<T: StdError + 'static>(&self) -> Option<&T> {
        self.source.as_deref()?.downcast_ref()
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            TransportFault::Request => "the request cannot be sent",
            TransportFault::Connect => "cannot connect to the server",
            TransportFault::Timeout => "the request timed out",
            TransportFault::Interrupted => "the connection ended before the response was complete",
            TransportFault::TooLarge => "the response is too large",
            TransportFault::Declined => "the request was not sent",
            TransportFault::Other => "no response",
        };
        match &self.host {
            Some(host) if self.fault == TransportFault::Connect => write!(f, "cannot connect to {host}")?,
            _ => f.write_str(what)?,
        }
        match &self.source {
            Some(source) if self.fault == TransportFault::Connect => {
                write!(f, ": {}", innermost_error(source.as_ref()))
            }
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

/// Returns the last error of a chain of sources, which is the most specific one, such as `Connection refused`.
fn innermost_error<'e>(error: &'e (dyn StdError + 'static)) -> &'e (dyn StdError + 'static) {
    successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapped(std::io::Error);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("error sending request")
        }
    }

    impl StdError for Wrapped {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    /// HTTP clients wrap the reason of a failed connection in errors without information.
    #[test]
    fn failed_connections_name_host_and_cause() {
        let cause = || Wrapped(std::io::Error::other("connection refused"));
        let error = |fault| TransportError::new(fault, Delivery::NotSent).with_source(cause()).to_string();
        assert_eq!(error(TransportFault::Connect), "cannot connect to the server: connection refused");
        assert_eq!(error(TransportFault::Declined), "the request was not sent: error sending request");
        let error = TransportError::new(TransportFault::Connect, Delivery::NotSent).with_source(cause());
        assert_eq!(
            error.with_host("shop.example:8443").to_string(),
            "cannot connect to shop.example:8443: connection refused"
        );
    }
}
