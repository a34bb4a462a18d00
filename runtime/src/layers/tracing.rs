//! A span for each call, with the fields that OpenTelemetry's conventions for HTTP clients name.

use bytes::Bytes;
use tracing::{Instrument, Span, field::Empty};

use super::Attempts;
use crate::{
    operation::Operation,
    transport::{Sending, Transport, TransportError, TransportFault},
};

/// Opens a span `http.client` for each call, around its attempts or within them as it stands around
/// or within a [`Retry`](super::Retry).
///
/// | field | holds |
/// |---|---|
/// | `operation` | `operationId` |
/// | `http.request.method`, `url.template` | method and path template, which is no address |
/// | `server.address`, `server.port` | where it is sent |
/// | `http.response.status_code` | the status of the answer |
/// | `http.request.resend_count` | which attempt it is, or how many there were, less one |
/// | `error.type` | a status from 400 on, or a word for why there is no answer |
///
/// Addresses, headers and bodies are no fields: they may hold secrets.
#[derive(Clone, Copy, Debug)]
pub struct Traced<T>(T);

impl<T> Traced<T> {
    /// Traces calls of this transport.
    pub const fn new(transport: T) -> Self {
        Self(transport)
    }
}

fn span<B>(operation: &Operation, request: &http::Request<B>) -> Span {
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
    resent(&span, attempts(request.extensions()));
    span
}

fn attempts(extensions: &http::Extensions) -> Option<u32> {
    extensions.get().map(|Attempts(attempts)| *attempts)
}

fn resent(span: &Span, attempts: Option<u32>) {
    if let Some(attempts @ 2..) = attempts {
        span.record("http.request.resend_count", attempts - 1);
    }
}

fn ended<B>(span: &Span, came: &Result<http::Response<B>, TransportError>) {
    match came {
        Ok(answer) => {
            let status = answer.status().as_u16();
            span.record("http.response.status_code", status);
            resent(span, attempts(answer.extensions()));
            if status >= 400 {
                span.record("error.type", status.to_string());
            }
        }
        Err(error) => {
            resent(span, error.attempts());
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

impl<T: Transport> Transport for Traced<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        let span = span(operation, &request);
        Box::pin(async move {
            let came = self.0.send(operation, request).instrument(span.clone()).await;
            ended(&span, &came);
            came
        })
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.0.streams().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Traced<T> {
    fn open<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::Opening<'a> {
        let span = span(operation, &request);
        Box::pin(async move {
            let streams = self.0.streams().ok_or_else(crate::transport::no_streams)?;
            let came = streams.open(operation, request).instrument(span.clone()).await;
            ended(&span, &came);
            came
        })
    }
}
