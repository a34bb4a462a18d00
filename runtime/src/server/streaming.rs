//! Streaming bodies: requests that handlers read while they arrive, and responses that are sent while they
//! are produced.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use axum::body::Body;
use futures_core::Stream;
use serde::Serialize;

use super::{EncodedResponse, HandlerResult, IncomingRequest, RequestContext, TypedResponse};
use crate::{
    operation::{BodyFormat, ContentSpec, ItemFormat, ItemFraming},
    stream::{
        DataEvents, FromStream, InvalidItem, ItemChecks, KeepAlive, ServerSentEvent, StreamLimits,
        StreamSource, encode_items,
    },
    transport::{ByteStream, Delivery, TransportError, TransportFault},
};

/// The body of a response that is either buffered or streamed.
#[derive(Debug)]
pub enum ResponseBody<W, S> {
    /// A body that is sent at once.
    Whole(W),
    /// A body that is sent while it is produced.
    Stream(S),
}

/// An event stream as a response body. It is dropped when the client disconnects.
///
/// After the last event of a stream of JSON events, the configured end marker (such as `[DONE]`) is sent,
/// which tells the client that the stream is complete and need not be resumed.
pub struct EventStream<T> {
    events: Pin<Box<dyn Stream<Item = ServerSentEvent<T>> + Send>>,
    has_end_marker: bool,
}

impl<T> EventStream<T> {
    /// Creates a body from a stream of events.
    pub fn new(events: impl Stream<Item = ServerSentEvent<T>> + Send + 'static) -> Self {
        Self { events: Box::pin(events), has_end_marker: true }
    }

    /// Omits the end marker: the client reconnects and receives further events on a new connection.
    #[must_use]
    pub fn without_end_marker(self) -> Self {
        Self { has_end_marker: false, ..self }
    }
}

/// A stream of documents as a response body. It is dropped when the client disconnects.
pub struct ItemStream<T>(Pin<Box<dyn Stream<Item = T> + Send>>);

impl<T> ItemStream<T> {
    /// Creates a body from a stream of documents.
    pub fn new(items: impl Stream<Item = T> + Send + 'static) -> Self {
        Self(Box::pin(items))
    }
}

impl<T> fmt::Debug for EventStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

impl<T> fmt::Debug for ItemStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ItemStream")
    }
}

/// A body that is encoded while it is sent: [`EventStream`], [`ItemStream`] or [`ByteStream`].
pub trait IntoByteStream: Send + 'static {
    /// Starts encoding, as the row of the media type in the operation's table defines.
    fn into_byte_stream(self, content: Option<&'static ContentSpec>, writing: StreamOptions) -> ByteStream;
}

/// Called for the item that ended a response.
pub type InvalidItemHook = Box<dyn Fn(&InvalidItem) + Send>;

/// Settings for encoding a streaming response.
pub struct StreamOptions {
    /// Validates each item against the contract.
    pub check_items: bool,
    /// Comments that keep an idle event stream open.
    pub keep_alive: Option<KeepAlive>,
    /// Called for the item that ends the response: one that cannot be encoded, or violates the contract while
    /// items are validated.
    pub on_invalid_item: InvalidItemHook,
}

impl fmt::Debug for StreamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writing = f.debug_struct("StreamOptions");
        writing
            .field("check", &self.check_items)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}

impl IntoByteStream for ByteStream {
    fn into_byte_stream(self, _: Option<&'static ContentSpec>, _: StreamOptions) -> ByteStream {
        self
    }
}

impl<T: Serialize + 'static> IntoByteStream for EventStream<T> {
    fn into_byte_stream(self, content: Option<&'static ContentSpec>, writing: StreamOptions) -> ByteStream {
        let StreamOptions { check_items: check, keep_alive, on_invalid_item: told } = writing;
        let validator = content.and_then(|content| content.validator).filter(|_| check);
        let items = item_format(content);
        let items = if self.has_end_marker { items } else { ItemFormat { end_markers: &[], ..items } };
        encode_items(self.events, items, validator, keep_alive, told)
    }
}

impl<T: Serialize + 'static> IntoByteStream for ItemStream<T> {
    fn into_byte_stream(self, content: Option<&'static ContentSpec>, writing: StreamOptions) -> ByteStream {
        EventStream::new(DataEvents(Box::pin(self.0))).into_byte_stream(content, writing)
    }
}

fn item_format(content: Option<&ContentSpec>) -> ItemFormat {
    match content.map(|content| content.format) {
        Some(BodyFormat::Items(items)) => items,
        _ => ItemFormat::new(ItemFraming::Lines),
    }
}

pub(super) type StreamWriter = Box<dyn FnOnce(StreamOptions) -> ByteStream + Send>;

/// The streaming bodies of a request and its response. Each can be taken once.
#[derive(Clone, Default)]
pub(super) struct BodySlots(Arc<Mutex<PendingBodies>>);

#[derive(Default)]
struct PendingBodies {
    request: Option<ByteStream>,
    response: Option<StreamWriter>,
}

impl BodySlots {
    fn with_bodies<T>(&self, take: impl FnOnce(&mut PendingBodies) -> T) -> T {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RequestContext {
    /// Takes the streaming body of the request. Returns `None` after the first call, and for operations that
    /// do not stream it.
    #[must_use]
    pub fn take_body(&self) -> Option<ByteStream> {
        self.body_slots().with_bodies(|passing| passing.request.take())
    }

    pub(super) fn set_body(&self, body: Body, limit: u64) {
        let cut = |error: axum::Error| {
            TransportError::new(TransportFault::Interrupted, Delivery::Unknown).with_source(error)
        };
        let body = ByteStream::from_body(body, cut).with_limit(limit);
        self.body_slots().with_bodies(|passing| passing.request = Some(body));
    }

    /// Takes the streaming body of the response. Returns `None` after the first call, and for a buffered
    /// body.
    #[must_use]
    pub fn take_response_body(&self, writing: StreamOptions) -> Option<ByteStream> {
        Some(self.take_writer()?(writing))
    }

    pub(super) fn take_writer(&self) -> Option<StreamWriter> {
        self.body_slots().with_bodies(|passing| passing.response.take())
    }
}

impl IncomingRequest {
    /// Returns the streaming body of the request. If the body was buffered by an earlier step, it is read
    /// from memory. It is empty if it was taken before, and for media types that are not streamed.
    pub fn read_stream<S: FromStream>(&self) -> S {
        let context = self.context();
        let content = self.content_spec().unwrap_or(&BYTES_CONTENT);
        let whole =
            || if is_streamed_content(content) { context.body().clone() } else { super::Bytes::new() };
        let body = context.take_body().unwrap_or_else(|| ByteStream::from(whole()));
        let (limits, checks) = (StreamLimits::default(), ItemChecks::Strict);
        S::from_source(StreamSource {
            body,
            content,
            limits,
            checks,
            reopener: None,
            last_event_id: String::new(),
        })
    }

    /// Encodes the head of a streaming response. The body is encoded while the handler produces it.
    ///
    /// # Errors
    /// Never fails; the return type is that of the sibling methods.
    pub fn write_stream<S: IntoByteStream>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: TypedResponse<S>,
    ) -> HandlerResult {
        let (reply, body) = reply.split_body();
        let answer = self.encode_response(status, media_type, reply, super::Bytes::new());
        let response = self.operation().response_for_status(answer.status.as_u16());
        let content = response.and_then(|response| response.content_for(media_type));
        let write: StreamWriter = Box::new(move |writing| body.into_byte_stream(content, writing));
        self.context().body_slots().with_bodies(|passing| passing.response = Some(write));
        Ok(answer)
    }
}

const BYTES_CONTENT: ContentSpec =
    ContentSpec { media_type: "", format: BodyFormat::Stream, schema: "", validator: None };

impl EncodedResponse {
    /// Converts into the response type of the router, with a streaming body. The response has
    /// `Content-Length` if the stream was created from bytes.
    #[must_use]
    pub fn into_streaming_response(self, body: ByteStream) -> super::Response {
        let mut response = self.into_response();
        *response.body_mut() = Body::new(body);
        response
    }
}

/// Returns true if an operation streams a request body of this type.
pub(super) fn reads_stream(body: &crate::operation::BodySpec, headers: &http::HeaderMap) -> bool {
    let named = headers.get(http::header::CONTENT_TYPE).and_then(|line| line.to_str().ok());
    let content = named.and_then(|line| body.content_for(line)).or(body.content.first());
    content.is_some_and(is_streamed_content)
}

const fn is_streamed_content(content: &ContentSpec) -> bool {
    matches!(content.format, BodyFormat::Stream | BodyFormat::Items(_))
}

#[cfg(test)]
mod tests;
