//! A transport over any tower service, such as a hyper client, a stack of tower layers or an axum router.

use std::{
    convert::Infallible,
    error::Error as StdError,
    fmt,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;

use crate::{
    operation::Operation,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault, from_partial_body},
};

/// A transport that sends requests through a clone of a service and reads response bodies up to a limit. The
/// service can read the `&'static Operation` from the extensions of the request.
///
/// The service takes requests with a [`BufferedBody`], which an axum router and a hyper client accept like
/// any HTTP body. With a router as the service, a test can call its own server without a socket.
///
/// Bodies are buffered; streaming methods require another transport.
///
/// An error of the service is reported as [`TransportFault::Other`] and [`Delivery::Unknown`], unless it is a
/// [`TransportError`] or a classifier is set ([`with_error_classifier`](Self::with_error_classifier)).
#[derive(Clone)]
pub struct TowerTransport<S> {
    service: S,
    max_body_size: usize,
    classify_error: fn(&(dyn StdError + Send + Sync + 'static)) -> (TransportFault, Delivery),
}

/// The complete body of a request for a tower service.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BufferedBody(Bytes);

impl BufferedBody {
    /// Returns the bytes of the body.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl From<Bytes> for BufferedBody {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

/// Sends the bytes as one frame.
impl Body for BufferedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// Shows only the size, because the content may be secret.
impl fmt::Debug for BufferedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl<S> TowerTransport<S> {
    /// The default limit for the size of a response body: 64 MiB.
    pub const DEFAULT_MAX_BODY_SIZE: usize = 64 << 20;

    /// Creates a transport over a service.
    pub const fn new(service: S) -> Self {
        Self {
            service,
            max_body_size: Self::DEFAULT_MAX_BODY_SIZE,
            classify_error: |_| (TransportFault::Other, Delivery::Unknown),
        }
    }

    /// Sets the maximum size of a response body, in bytes.
    #[must_use]
    pub const fn with_max_body_size(mut self, bytes: usize) -> Self {
        self.max_body_size = bytes;
        self
    }

    /// Sets the function that classifies errors of the service. It also determines whether the request may
    /// have arrived.
    #[must_use]
    pub const fn with_error_classifier(
        mut self,
        failed: fn(&(dyn StdError + Send + Sync + 'static)) -> (TransportFault, Delivery),
    ) -> Self {
        self.classify_error = failed;
        self
    }

    fn to_transport_error(&self, error: Box<dyn StdError + Send + Sync>) -> TransportError {
        match error.downcast::<TransportError>() {
            Ok(transport_error) => *transport_error,
            Err(error) => {
                let (fault, delivery) = (self.classify_error)(&*error);
                // The message is dropped, because it may contain an address.
                TransportError::new(fault, delivery)
            }
        }
    }

    /// Reads a body. Returns the bytes that arrived, and the fault if the body is incomplete.
    async fn read_body<B>(&self, body: B) -> (Bytes, Option<TransportFault>)
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let mut body = pin!(body);
        let mut came = BytesMut::new();
        let fault = loop {
            match poll_fn(|context| body.as_mut().poll_frame(context)).await {
                None => break None,
                Some(Err(error)) => {
                    break Some(match self.to_transport_error(error.into()).fault() {
                        TransportFault::Other => TransportFault::Interrupted,
                        fault => fault,
                    });
                }
                Some(Ok(frame)) => {
                    // Frames without data are trailers.
                    let data = frame.into_data().unwrap_or_default();
                    if data.len() > self.max_body_size - came.len() {
                        break Some(TransportFault::TooLarge);
                    }
                    came.extend_from_slice(&data);
                }
            }
        };
        (came.freeze(), fault)
    }
}

impl<S> fmt::Debug for TowerTransport<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerTransport").field("max_body_size", &self.max_body_size).finish_non_exhaustive()
    }
}

impl<S, B> Transport for TowerTransport<S>
where
    S: Service<http::Request<BufferedBody>, Response = http::Response<B>> + Clone + Send + Sync,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        request.extensions_mut().insert(operation);
        let mut service = self.service.clone();
        Box::pin(async move {
            let not_sent = |error: S::Error| match self.to_transport_error(error.into()) {
                error if error.fault() == TransportFault::Other => {
                    TransportError::new(TransportFault::Connect, Delivery::NotSent)
                }
                error => error,
            };
            poll_fn(|context| service.poll_ready(context)).await.map_err(not_sent)?;
            let response = service
                .call(request.map(BufferedBody))
                .await
                .map_err(|error| self.to_transport_error(error.into()))?;
            let (parts, body) = response.into_parts();
            let (came, fault) = self.read_body(body).await;
            // The head of the response arrived, so the request was delivered, regardless of the error.
            let error = fault.map(|fault| TransportError::new(fault, Delivery::Unknown));
            from_partial_body(http::Response::from_parts(parts, came), error)
        })
    }
}
