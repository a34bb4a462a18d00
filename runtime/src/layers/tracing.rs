//! A tracing span for each call, with the field names of OpenTelemetry's conventions for HTTP clients.

use bytes::Bytes;
use tracing::{Instrument, Span, field::Empty};

use super::AttemptCount;
use crate::{
    operation::Operation,
    transport::{ResponseFuture, Transport, TransportError, TransportFault},
};

/// A transport that opens a span `http.client` for each call, or for each attempt if it is inside a
/// [`Retry`](super::Retry).
///
/// | field | content |
/// |---|---|
/// | `operation` | `operationId` |
/// | `http.request.method`, `url.template` | method and path template, not the address |
/// | `server.address`, `server.port` | host and port of the request |
/// | `http.response.status_code` | status of the response |
/// | `http.request.resend_count` | number of the attempt, or of all attempts, minus one |
/// | `error.type` | a status from 400 on, or the kind of transport error |
///
/// Addresses, headers and bodies are not recorded, because they may contain secrets.
#[derive(Clone, Copy, Debug)]
pub struct TracingTransport<T>(T);

impl<T> TracingTransport<T> {
    /// Creates a transport that records a span for each call.
    pub const fn new(transport: T) -> Self {
        Self(transport)
    }
}

fn call_span<B>(operation: &Operation, request: &http::Request<B>) -> Span {
    let span = tracing::info_span!(
        "http.client",
        operation = operation.id,
        http.request.method = operation.method,
        url.template = operation.path,
        server.address = request.uri().host(),
        server.port = request.uri().port_u16(),
        http.response.status_code = Empty,
        http.request.resend_count = Empty,
        error.r#type = Empty,
    );
    record_resend_count(&span, attempt_count(request.extensions()));
    span
}

fn attempt_count(extensions: &http::Extensions) -> Option<u32> {
    extensions.get().map(|AttemptCount(attempts)| *attempts)
}

fn record_resend_count(span: &Span, attempts: Option<u32>) {
    if let Some(attempts @ 2..) = attempts {
        span.record("http.request.resend_count", attempts - 1);
    }
}

fn record_result<B>(span: &Span, came: &Result<http::Response<B>, TransportError>) {
    match came {
        Ok(answer) => {
            let status = answer.status().as_u16();
            span.record("http.response.status_code", status);
            record_resend_count(span, attempt_count(answer.extensions()));
            if status >= 400 {
                span.record("error.type", status.to_string());
            }
        }
        Err(error) => {
            record_resend_count(span, error.attempts());
            span.record(
                "error.type",
                match error.fault() {
                    TransportFault::Request => "request",
                    TransportFault::Connect => "connect",
                    TransportFault::Timeout => "timeout",
                    TransportFault::Interrupted => "interrupted",
                    TransportFault::TooLarge => "too_large",
                    TransportFault::Declined => "declined",
                    TransportFault::Other => "_OTHER",
                },
            );
        }
    }
}

impl<T: Transport> Transport for TracingTransport<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        let span = call_span(operation, &request);
        Box::pin(async move {
            let came = self.0.send(operation, request).instrument(span.clone()).await;
            record_result(&span, &came);
            came
        })
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.0.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for TracingTransport<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        let span = call_span(operation, &request);
        Box::pin(async move {
            let streams = self.0.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            let came = streams.open_stream(operation, request).instrument(span.clone()).await;
            record_result(&span, &came);
            came
        })
    }
}
