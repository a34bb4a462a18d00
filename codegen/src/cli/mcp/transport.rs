//! Sends the requests of tool calls over HTTP.

use std::{future::poll_fn, pin::pin, time::Duration};

use axum::body::{Body, Bytes, HttpBody as _};
use contract_codegen::mcp::is_protected;
use contract_runtime::{
    media_type::MediaType,
    operation::Operation,
    transport::{
        Delivery, PartialBody, ResponseFuture, Transport, TransportError, TransportFault, UserAgent,
    },
};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use tokio::time::Instant;

use crate::cli::{
    error::CommandError,
    mock::MAX_BODY_BYTES,
    service::{HttpClient, SendError},
};

/// The maximum time for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// The time after which the events of a stream that arrived so far are returned.
const STREAM_TIME: Duration = Duration::from_secs(20);

/// A transport that sends requests only over protected connections, and follows no redirects.
#[derive(Debug)]
pub(super) struct HttpTransport {
    client: HttpClient,
    /// The size in bytes after which a stream of events ends.
    max_stream_bytes: usize,
}

impl HttpTransport {
    pub(super) fn new(max_response_bytes: usize) -> Result<Self, CommandError> {
        Ok(Self { client: HttpClient::new()?, max_stream_bytes: max_response_bytes })
    }

    async fn exchange(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let unsent = |fault, reason: &str| {
            TransportError::new(fault, Delivery::NotSent).with_source(reason.to_owned())
        };
        if !is_protected(request.uri()) {
            return Err(unsent(TransportFault::Declined, "the server is not `https:`"));
        }
        if let Some(UserAgent(agent)) = request.extensions().get::<UserAgent>().copied() {
            let headers = request.headers_mut();
            headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(agent));
        }
        // Results show bodies as they arrive.
        request.headers_mut().entry(header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        let url = request.uri().clone();
        let host = url.host().map(|host| match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        });
        let received = tokio::time::timeout(RESPONSE_TIMEOUT, self.client.send(url, &request)).await;
        let late = |_| TransportError::new(TransportFault::Timeout, Delivery::Unknown);
        let failed = |error: SendError| {
            let (fault, delivery) = match error.is_unconnected {
                true => (TransportFault::Connect, Delivery::NotSent),
                false => (TransportFault::Interrupted, Delivery::Unknown),
            };
            let error = TransportError::new(fault, delivery).with_source(error.message);
            match host {
                Some(host) => error.with_host(host),
                None => error,
            }
        };
        let response = received.map_err(late)?.map_err(failed)?;
        let (parts, body) = response.into_parts();
        let is_stream = is_endless(&parts.headers);
        let (limit, time) = match is_stream {
            true => (self.max_stream_bytes, STREAM_TIME),
            false => (MAX_BODY_BYTES, RESPONSE_TIMEOUT),
        };
        let (bytes, fault) = collect_body(body, limit, Instant::now() + time).await;
        let mut response = Response::from_parts(parts, bytes);
        match fault {
            Some(fault) if response.status().is_success() && !is_stream => {
                Err(TransportError::new(fault, Delivery::Unknown))
            }
            Some(fault) => {
                response.extensions_mut().insert(PartialBody(fault));
                Ok(response)
            }
            None => Ok(response),
        }
    }
}

impl Transport for HttpTransport {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(self.exchange(request))
    }
}

/// Returns true if a response may have no end.
fn is_endless(headers: &HeaderMap) -> bool {
    let line = headers.get(header::CONTENT_TYPE).and_then(|line| line.to_str().ok());
    let essence = line.map(|line| MediaType::parse(line).essence());
    essence.is_some_and(|essence| {
        matches!(
            essence,
            "text/event-stream" | "application/jsonl" | "application/x-ndjson" | "application/json-seq"
        )
    })
}

/// Reads a body until its end, the limit or the deadline. Returns the bytes, and the reason why they are incomplete.
async fn collect_body(body: Body, limit: usize, deadline: Instant) -> (Bytes, Option<TransportFault>) {
    let mut body = pin!(body);
    let mut collected = Vec::new();
    loop {
        let next = poll_fn(|context| body.as_mut().poll_frame(context));
        let frame = match tokio::time::timeout_at(deadline, next).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return (collected.into(), None),
            Ok(Some(Err(_))) => return (collected.into(), Some(TransportFault::Interrupted)),
            Err(_) => return (collected.into(), Some(TransportFault::Timeout)),
        };
        let Ok(data) = frame.into_data() else { continue };
        let room = limit - collected.len();
        collected.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return (collected.into(), Some(TransportFault::TooLarge));
        }
    }
}
