//! Calls with streaming responses or streaming request bodies.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
#[cfg(feature = "cli")]
use http::header::ACCEPT;
use http::{HeaderValue, header::CONTENT_TYPE};
use serde::Serialize;

#[cfg(feature = "blocking")]
use super::blocking::{BackgroundRuntime, BlockingIter};
use super::{
    ApiClient, Call, Error, NoHeaders, RawResponse, RequestBuilder, RequestChecks, Response,
    UnexpectedReason, error::SendError,
};
use crate::{
    operation::{BodyFormat, ContentSpec, ItemFormat, ItemFraming, Operation, ResponseKind},
    stream::{
        DataEvents, FromStream, ItemChecks, ReopenFuture, StreamReopener, StreamSource, encode_items,
        is_streamed,
    },
    transport::{
        ByteStream, RepeatSafety, RequestBody, Transport, collect_response, copy_with_body,
        streams_unsupported,
    },
};

/// A call whose successful response can be streamed. Generated for each such operation.
pub trait StreamCall: Call {
    /// The type of the response body: [`EventReader`](crate::stream::EventReader),
    /// [`ItemReader`](crate::stream::ItemReader) or [`ByteStream`].
    type Stream: FromStream;
}

type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type CallResult<T, E, H> = Result<Response<T, H>, Error<E>>;
type SendCall<T, E, H> = fn(ApiClient, RequestBuilder) -> BoxedFuture<CallResult<T, E, H>>;

/// A future that sends a call through a streaming transport. It resolves as soon as the head of the response
/// arrives, or for an upload with the complete response. Nothing is sent before the first poll.
#[must_use = "a call is sent when it is awaited"]
pub struct PendingStreamCall<T, E, H = NoHeaders>(PendingStreamState<T, E, H>);

enum PendingStreamState<T, E, H> {
    Unsent(Box<(ApiClient, RequestBuilder)>, SendCall<T, E, H>),
    Sending(BoxedFuture<CallResult<T, E, H>>),
    Done,
}

impl<T, E, H> PendingStreamCall<T, E, H> {
    /// Attaches a value for the transport; see
    /// [`PendingCall::with_extension`](super::PendingCall::with_extension).
    pub fn with_extension<X: Clone + Send + Sync + 'static>(self, extension: X) -> Self {
        self.map_request(|request| request.with_extension(extension))
    }

    /// Resumes an event stream after the event with this id, which is sent as `Last-Event-ID`. An id that is
    /// not a valid header value is ignored.
    pub fn after_event(self, last_event_id: &str) -> Self {
        self.map_request(|request| request.after_event(last_event_id))
    }

    /// Sends the call and blocks the thread until the head of the response arrives. The body of the response is
    /// an iterator, which blocks until the next item arrives. No async runtime is required.
    ///
    /// # Errors
    /// See [`PendingCall::send_blocking`](super::PendingCall::send_blocking).
    #[cfg(feature = "blocking")]
    pub fn open_blocking(self) -> CallResult<BlockingIter<T>, E, H>
    where
        T: FromStream,
    {
        let (call, runtime) = self.into_background();
        let response = runtime.block_on(call)?;
        Ok(response.map(|stream| BlockingIter::new(stream, runtime)))
    }

    /// Sends an upload and blocks the thread until the complete response arrives. For a streaming response, use
    /// [`open_blocking`](Self::open_blocking).
    ///
    /// # Errors
    /// See [`open_blocking`](Self::open_blocking).
    #[cfg(feature = "blocking")]
    pub fn send_blocking(self) -> CallResult<T, E, H> {
        let (call, runtime) = self.into_background();
        runtime.block_on(call)
    }

    /// Returns the call with a transport that runs on the thread of blocking calls, and that thread. A call that
    /// was already polled continues to use its transport.
    #[cfg(feature = "blocking")]
    fn into_background(self) -> (Self, BackgroundRuntime) {
        match self.0 {
            PendingStreamState::Unsent(ready, run) => {
                let runtime = ready.0.background.clone();
                let ready = Box::new((ready.0.to_background(), ready.1));
                (Self(PendingStreamState::Unsent(ready, run)), runtime)
            }
            state => (Self(state), BackgroundRuntime::default()),
        }
    }

    fn map_request(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        match self.0 {
            PendingStreamState::Unsent(ready, run) => {
                let (core, request) = *ready;
                Self(PendingStreamState::Unsent(Box::new((core, change(request))), run))
            }
            state => Self(state),
        }
    }
}

impl<T, E, H> Future for PendingStreamCall<T, E, H> {
    type Output = CallResult<T, E, H>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut sending = match std::mem::replace(&mut self.0, PendingStreamState::Done) {
            PendingStreamState::Unsent(ready, run) => run(ready.0, ready.1),
            PendingStreamState::Sending(sending) => sending,
            // The future was polled again after completion.
            PendingStreamState::Done => return Poll::Pending,
        };
        let response = sending.as_mut().poll(context);
        if response.is_pending() {
            self.0 = PendingStreamState::Sending(sending);
        }
        response
    }
}

impl<T, E, H> fmt::Debug for PendingStreamCall<T, E, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = match &self.0 {
            PendingStreamState::Unsent(ready, _) => Some(&ready.1),
            _ => None,
        };
        f.debug_struct("PendingStreamCall").field("request", &request).finish_non_exhaustive()
    }
}

impl ApiClient {
    /// Sends the request of a call and resolves to the streaming response.
    pub fn open_stream<C: StreamCall + 'static>(
        &self,
        request: RequestBuilder,
    ) -> PendingStreamCall<C::Stream, C::ErrorBody, C::Headers>
    where
        C::Stream: 'static,
        C::ErrorBody: 'static,
    {
        let run = |core, request| -> BoxedFuture<CallResult<C::Stream, C::ErrorBody, C::Headers>> {
            Box::pin(open_stream_call::<C>(core, request))
        };
        PendingStreamCall(PendingStreamState::Unsent(Box::new((self.clone(), request)), run))
    }

    /// Sends a request with a streaming body and waits for the complete response.
    pub fn upload_stream<C: Call + 'static>(
        &self,
        request: RequestBuilder,
    ) -> PendingStreamCall<C::Success, C::ErrorBody, C::Headers>
    where
        C::Success: 'static,
        C::ErrorBody: 'static,
    {
        let run = |core, request| -> BoxedFuture<CallResult<C::Success, C::ErrorBody, C::Headers>> {
            Box::pin(send_upload::<C>(core, request))
        };
        PendingStreamCall(PendingStreamState::Unsent(Box::new((self.clone(), request)), run))
    }

    /// Sends a request of any operation with this `Accept` header, and returns the response unparsed.
    #[cfg(feature = "cli")]
    pub(crate) async fn send_untyped(
        &self,
        mut request: RequestBuilder,
        accepted: &str,
    ) -> Result<http::Response<ByteStream>, SendError> {
        if let Ok(accepted) = HeaderValue::from_str(accepted)
            && !accepted.is_empty()
        {
            request.headers.insert(ACCEPT, accepted);
        }
        let (operation, request) = request.into_streaming_http(&self.base_url)?;
        open_response(&self.transport, operation, request).await
    }
}

async fn open_stream_call<C: StreamCall>(
    core: ApiClient,
    request: RequestBuilder,
) -> CallResult<C::Stream, C::ErrorBody, C::Headers> {
    let (operation, request) = request.into_streaming_http(&core.base_url)?;
    let again = into_replayable(&core, operation, &request);
    let behind = request.headers().get(LAST_EVENT_ID).map(|id| id.as_bytes().to_vec());
    let last_event_id = behind.and_then(|id| String::from_utf8(id).ok()).unwrap_or_default();
    let response = open_response(&core.transport, operation, request).await?;
    if let Some(content) = find_stream_content(operation, &response) {
        let (parts, body) = response.into_parts();
        let reopen = again.map(|again| Box::new(again) as Box<dyn StreamReopener>);
        let (limits, checks) = (core.stream_limits, ItemChecks::Tolerant);
        let source = StreamSource { body, content, limits, checks, reopener: reopen, last_event_id };
        return Ok(Response::from_parts(parts, C::Stream::from_source(source)).with_header_type());
    }
    let response =
        collect_response(response, core.stream_limits.max_error_body_bytes).await.map_err(SendError::from)?;
    let same = response.clone();
    Err(match C::parse_response(RawResponse::new(response, operation, core.shown_fields)) {
        Err(error) => error,
        // The success response has another media type than the streaming one that the request accepted.
        Ok(_) => Error::UnexpectedResponse(
            RawResponse::new(same, operation, core.shown_fields).into_unexpected(UnexpectedReason::MediaType),
        ),
    })
}

async fn send_upload<C: Call>(
    core: ApiClient,
    request: RequestBuilder,
) -> CallResult<C::Success, C::ErrorBody, C::Headers> {
    let (operation, request) = request.into_streaming_http(&core.base_url)?;
    let response = open_response(&core.transport, operation, request).await?;
    let response =
        collect_response(response, core.stream_limits.max_error_body_bytes).await.map_err(SendError::from)?;
    C::parse_response(RawResponse::new(response, operation, core.shown_fields))
        .map(Response::with_header_type)
}

async fn open_response(
    transport: &Arc<dyn Transport>,
    operation: &'static Operation,
    request: http::Request<RequestBody>,
) -> Result<http::Response<ByteStream>, SendError> {
    let streams = transport.stream_transport().ok_or_else(streams_unsupported)?;
    Ok(streams.open_stream(operation, request).await?)
}

/// Returns the entry of a successful response that can be streamed.
fn find_stream_content(
    operation: &'static Operation,
    answer: &http::Response<ByteStream>,
) -> Option<&'static ContentSpec> {
    let status = answer.status().as_u16();
    if operation.response_kind(status) != Some(ResponseKind::Success) {
        return None;
    }
    let response = operation.response_for_status(status)?;
    match answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) {
        Some(media_type) => response.content_for(media_type).filter(|content| is_streamed(content)),
        // Without `Content-Type` the recipient may guess the media type (RFC 9110, 8.3). Only plain bytes
        // require no guess.
        None => response.content.iter().find(|content| matches!(content.format, BodyFormat::Stream)),
    }
}

/// A request that can be sent again when its stream is interrupted.
struct ReplayableRequest {
    transport: Arc<dyn Transport>,
    operation: &'static Operation,
    request: http::Request<RequestBody>,
}

/// Copies a request that can be repeated safely.
fn into_replayable(
    core: &ApiClient,
    operation: &'static Operation,
    request: &http::Request<RequestBody>,
) -> Option<ReplayableRequest> {
    let harmless = matches!(operation.repeat, RepeatSafety::Safe | RepeatSafety::Idempotent);
    let request = copy_request(request).filter(|_| harmless)?;
    Some(ReplayableRequest { transport: Arc::clone(&core.transport), operation, request })
}

fn copy_request(request: &http::Request<RequestBody>) -> Option<http::Request<RequestBody>> {
    request.body().try_clone().map(|body| copy_with_body(request, body))
}

impl StreamReopener for ReplayableRequest {
    fn reopen(&self, last_event_id: &str) -> ReopenFuture {
        let transport = Arc::clone(&self.transport);
        let operation = self.operation;
        let mut request = copy_request(&self.request);
        if let Some(request) = &mut request {
            // The latest event id replaces the id of the first request, even if it is empty.
            request.headers_mut().remove(LAST_EVENT_ID);
            if let Some(id) = event_id_header(last_event_id) {
                request.headers_mut().insert(LAST_EVENT_ID, id);
            }
        }
        Box::pin(async move {
            let request = request.ok_or_else(streams_unsupported)?;
            transport
                .stream_transport()
                .ok_or_else(streams_unsupported)?
                .open_stream(operation, request)
                .await
        })
    }

    fn is_continuation(&self, response: &http::Response<ByteStream>) -> bool {
        find_stream_content(self.operation, response).is_some()
    }
}

const LAST_EVENT_ID: &str = "last-event-id";

fn event_id_header(id: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(id.as_bytes()).ok().filter(|id| !id.is_empty())
}

impl RequestBuilder {
    fn after_event(mut self, last_event_id: &str) -> Self {
        if let Some(id) = event_id_header(last_event_id) {
            self.headers.insert(LAST_EVENT_ID, id);
        }
        self
    }

    /// Sets a streaming body of the given media type. It can be sent only once.
    pub fn byte_stream(self, media_type: &'static str, body: ByteStream) -> Self {
        let mut request = self.bytes(media_type, bytes::Bytes::new());
        request.body_stream = Some(body);
        request
    }

    /// Sets a body of items that are encoded and sent as they become available.
    ///
    /// Each item is validated against the schema in the operation table unless checks are off. An invalid
    /// item ends the request with [`TransportFault::Request`](crate::transport::TransportFault::Request); the
    /// server may already have processed the items before it.
    pub fn item_stream<T: Serialize + 'static>(
        self,
        media_type: &'static str,
        items: impl Stream<Item = T> + Send + 'static,
    ) -> Self {
        let content = self.content_spec(media_type);
        let row = match content.map(|content| content.format) {
            Some(BodyFormat::Items(row)) => row,
            _ => ItemFormat::new(ItemFraming::Lines),
        };
        let checked = self.checks == RequestChecks::On;
        let validator = content.and_then(|content| content.validator).filter(|_| checked);
        let body = encode_items(DataEvents(Box::pin(items)), row, validator, None, |_| {});
        self.byte_stream(media_type, body)
    }

    fn into_streaming_http(
        mut self,
        base_url: &str,
    ) -> Result<(&'static Operation, http::Request<RequestBody>), SendError> {
        let pieces = self.body_stream.take();
        let (operation, request) = self.into_http(base_url)?;
        Ok((
            operation,
            request.map(|whole| pieces.map_or(RequestBody::Buffered(whole), RequestBody::Streaming)),
        ))
    }
}
