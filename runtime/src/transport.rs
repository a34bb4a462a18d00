//! The seam between generated clients and whatever carries their requests.
//!
//! A generated client knows which request an operation is; a [`Transport`] knows how to get
//! it there: signing, challenges, waiting, retrying. The two share only what stands here.
//! A transport takes a whole request and gives a whole answer, so that a connection cut in
//! the middle of a body is its own to repeat, and what goes wrong on the way reaches the
//! caller as a [`TransportError`], never disguised as an answer. A refusal alone is one without
//! its body too ([`Partial`]): its head says what it is, and how long to wait.

use std::{error::Error as StdError, fmt, future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;

use crate::operation::Operation;

#[cfg(feature = "stream")]
mod pieces;
pub(crate) mod timer;

pub use crate::operation::Repeat;
#[cfg(feature = "stream")]
pub use pieces::{ByteStream, Opening, RequestBody, StreamTransport};
#[cfg(feature = "tokio")]
pub use timer::TokioTimer;
pub use timer::{Sleeping, Timer};

/// What [`Transport::send`] gives.
pub type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, TransportError>> + Send + 'a>>;

/// Carries requests. Implemented by a session, by a plain HTTP client, by tests.
pub trait Transport: Send + Sync {
    /// Sends a request and waits for the whole answer, whatever its status.
    ///
    /// The request has an absolute URI, `Accept`, and with a body `Content-Type`. What the
    /// contract leaves to the transport (signatures, tokens) is added here, anew for each
    /// sending. Dropping the future gives the request up.
    ///
    /// # Errors
    /// When there is no answer: [`TransportError`] says why and whether the request may
    /// have arrived. Also when the body of a success is cut or too large; an answer that is no
    /// success is given with what came of its body, and [`Partial`] among its extensions.
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a>;

    /// The same for answers and requests in pieces; `None` for a transport that has whole ones
    /// alone. One that wraps another passes it on, with its own part around it.
    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn StreamTransport> {
        None
    }
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        (**self).send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn StreamTransport> {
        (**self).streams()
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        (**self).send(operation, request)
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn StreamTransport> {
        (**self).streams()
    }
}

/// The same request with a body, for another sending.
#[cfg(any(feature = "stream", feature = "credentials", feature = "layers"))]
pub(crate) fn with_body<A, B>(request: &http::Request<A>, body: B) -> http::Request<B> {
    let mut copy = http::Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    copy
}

/// An answer of what came of its body: one that is no success is one without the rest, too.
#[cfg(any(feature = "reqwest", feature = "tower", all(feature = "client", feature = "stream")))]
pub(crate) fn of_what_came(
    mut answer: http::Response<Bytes>,
    error: Option<TransportError>,
) -> Result<http::Response<Bytes>, TransportError> {
    match error {
        Some(error) if answer.status().is_success() => Err(error),
        Some(error) => {
            answer.extensions_mut().insert(Partial(error.fault()));
            Ok(answer)
        }
        None => Ok(answer),
    }
}

/// A whole answer of one in pieces, up to so many bytes.
#[cfg(all(feature = "client", feature = "stream"))]
pub(crate) async fn whole(
    answer: http::Response<ByteStream>,
    limit: usize,
) -> Result<http::Response<Bytes>, TransportError> {
    let (parts, body) = answer.into_parts();
    let (came, error) = body.gather(limit).await;
    of_what_came(http::Response::from_parts(parts, came), error)
}

/// A transport that has whole answers alone.
#[cfg(feature = "stream")]
pub(crate) fn no_streams() -> TransportError {
    TransportError::new(TransportFault::Declined, Delivery::NotSent)
        .with_source("this transport has no streams (`Transport::streams`)")
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportFault {
    /// The request cannot be put on the wire: a wrong address, a header that is none.
    Request,
    /// No connection: name, route, handshake, certificate.
    Connect,
    /// The time allowed is over.
    Timeout,
    /// The connection ended before the answer did.
    Interrupted,
    /// The answer is a success, and larger than this side accepts; or the head of one of any kind is.
    TooLarge,
    /// This side does not send: signed out, halted, shut down.
    Declined,
    /// Anything else; the source says what.
    Other,
}

/// Among the extensions of an answer that is no success: its body did not come whole, and why.
/// Status and headers did, `Retry-After` among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial(pub TransportFault);

/// Whether a request that got no answer may have been acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// No byte of it left: sending it anew is always right.
    NotSent,
    /// It may have arrived.
    Unknown,
}

/// There is no answer. Prints no address, header or body.
#[derive(Debug)]
pub struct TransportError {
    fault: TransportFault,
    delivery: Delivery,
    attempts: Option<u32>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// An error without a source.
    #[must_use]
    pub const fn new(fault: TransportFault, delivery: Delivery) -> Self {
        Self { fault, delivery, attempts: None, source: None }
    }

    /// Says how often the request was sent, for a transport that sends it again.
    #[must_use]
    pub const fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Adds what lies behind it. It must not print secrets: `Display` and `Debug` of an
    /// error show its source.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Why.
    #[must_use]
    pub const fn fault(&self) -> TransportFault {
        self.fault
    }

    /// Whether the request may have arrived.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// How often the request was sent, where a transport counted that.
    #[must_use]
    pub const fn attempts(&self) -> Option<u32> {
        self.attempts
    }

    /// What lies behind it, for a transport's own users: `error.cause::<SessionError>()`.
    #[must_use]
    pub fn cause<T: StdError + 'static>(&self) -> Option<&T> {
        self.source.as_deref()?.downcast_ref()
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            TransportFault::Request => "the request cannot be sent",
            TransportFault::Connect => "no connection",
            TransportFault::Timeout => "no answer in time",
            TransportFault::Interrupted => "the connection ended before the answer did",
            TransportFault::TooLarge => "the answer is too large",
            TransportFault::Declined => "the request was not sent",
            TransportFault::Other => "no answer",
        };
        f.write_str(what)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
