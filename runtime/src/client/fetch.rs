//! The reqwest transport in WebAssembly, where reqwest uses the function `fetch` of the JavaScript host.
//!
//! Futures and streams of `fetch` are not `Send`, because they contain JavaScript values. WebAssembly has one
//! thread, so [`SendWrapper`], which checks the thread, makes them `Send`.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream as _;
use send_wrapper::SendWrapper;

use crate::{
    operation::Operation,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault, from_partial_body},
};

/// A transport that sends each request once. It limits the size of response bodies.
///
/// The JavaScript host follows redirects, stores cookies, and omits headers that programs may not set, such as
/// `User-Agent` in browsers. It limits the duration of calls only if
/// [`with_call_timeout`](Self::with_call_timeout) is set.
///
/// A response with an error status is returned even if its body is truncated or too large. It then contains
/// the bytes that arrived, and [`PartialBody`](crate::transport::PartialBody) among its extensions.
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    client: reqwest::Client,
    max_body_size: usize,
    call_timeout: Option<Duration>,
}

impl ReqwestTransport {
    /// The default limit for the size of a response body: 64 MiB.
    pub const DEFAULT_MAX_BODY_SIZE: usize = 64 << 20;

    /// Creates a transport without a timeout.
    ///
    /// # Errors
    /// None in WebAssembly. On other platforms, TLS may be unavailable.
    pub fn new() -> Result<Self, TransportError> {
        Ok(Self::from_client(reqwest::Client::new()))
    }

    /// Creates a transport from a configured client.
    #[must_use]
    pub const fn from_client(client: reqwest::Client) -> Self {
        Self { client, max_body_size: Self::DEFAULT_MAX_BODY_SIZE, call_timeout: None }
    }

    /// Ends a call whose response is not complete after this time. Does not apply to streams.
    #[must_use]
    pub const fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Sets the maximum size of a response body, in bytes.
    #[must_use]
    pub const fn with_max_body_size(mut self, bytes: usize) -> Self {
        self.max_body_size = bytes;
        self
    }

    async fn send_request(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut response = self.send_for_head(request, self.call_timeout).await?;
        let mut head = http::Response::new(Bytes::new());
        *head.status_mut() = response.status();
        *head.headers_mut() = std::mem::take(response.headers_mut());
        let mut body = BytesMut::new();
        let read = self.read_body(response, &mut body).await;
        from_partial_body(head.map(|_| body.freeze()), read.err())
    }

    /// Reads a body to its end or to the first error.
    async fn read_body(
        &self,
        response: reqwest::Response,
        body: &mut BytesMut,
    ) -> Result<(), TransportError> {
        let mut pieces = std::pin::pin!(response.bytes_stream());
        while let Some(piece) = std::future::poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            let piece = piece.map_err(classify_body_error)?;
            if piece.len() > self.max_body_size - body.len() {
                return Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown));
            }
            body.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Sends a request and returns when the head of the response arrives.
    async fn send_for_head(
        &self,
        request: http::Request<Bytes>,
        timeout: Option<Duration>,
    ) -> Result<reqwest::Response, TransportError> {
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| to_transport_error(error, TransportFault::Request, Delivery::NotSent))?;
        *request.timeout_mut() = timeout;
        self.client.execute(request).await.map_err(classify_send_error)
    }
}

impl Transport for ReqwestTransport {
    fn send<'a>(
        &'a self,
        _operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(SendWrapper::new(self.send_request(request)))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        Some(self)
    }
}

#[cfg(feature = "stream")]
mod streaming {
    //! Streaming responses. Streaming request bodies are collected, because `fetch` sends only complete bodies
    //! in most hosts.

    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use futures_core::Stream;

    use super::*;
    use crate::transport::{ByteStream, RequestBody, StreamResponseFuture, StreamTransport};

    impl ReqwestTransport {
        async fn send_streaming(
            &self,
            request: http::Request<RequestBody>,
        ) -> Result<http::Response<ByteStream>, TransportError> {
            let (parts, body) = request.into_parts();
            let body = match body {
                RequestBody::Buffered(bytes) => bytes,
                RequestBody::Streaming(pieces) => pieces.collect(usize::MAX).await?,
            };
            let request = http::Request::from_parts(parts, body);
            let mut response = self.send_for_head(request, None).await?;
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            let pieces = BodyPieces(SendWrapper::new(Box::pin(response.bytes_stream())));
            let mut response = http::Response::new(ByteStream::new(pieces));
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Ok(response)
        }
    }

    type FetchStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>>>>;

    /// The chunks of a response body.
    struct BodyPieces(SendWrapper<FetchStream>);

    impl Stream for BodyPieces {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let piece = self.0.as_mut().poll_next(context);
            piece.map(|piece| piece.map(|piece| piece.map_err(classify_body_error)))
        }
    }

    impl StreamTransport for ReqwestTransport {
        fn open_stream<'a>(
            &'a self,
            _operation: &'static Operation,
            request: http::Request<RequestBody>,
        ) -> StreamResponseFuture<'a> {
            Box::pin(SendWrapper::new(self.send_streaming(request)))
        }
    }
}

/// Classifies an error that occurred before the head of a response arrived. `fetch` does not report whether a
/// connection was established.
fn classify_send_error(error: reqwest::Error) -> TransportError {
    if error.is_builder() {
        to_transport_error(error, TransportFault::Request, Delivery::NotSent)
    } else {
        classify_body_error(error)
    }
}

/// Classifies an error that occurred while the body of a response was read.
fn classify_body_error(error: reqwest::Error) -> TransportError {
    let fault = if error.is_timeout() { TransportFault::Timeout } else { TransportFault::Interrupted };
    to_transport_error(error, fault, Delivery::Unknown)
}

/// Removes the URL from the error, because the query may contain secrets.
fn to_transport_error(error: reqwest::Error, fault: TransportFault, delivery: Delivery) -> TransportError {
    TransportError::new(fault, delivery).with_source(error.without_url())
}
