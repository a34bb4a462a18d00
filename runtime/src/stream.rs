//! Streams of items that are parsed as they arrive. Supports event streams, JSON lines and JSON text
//! sequences, for clients and servers.
//!
//! An item that cannot be parsed is reported as an error with its [`ItemPosition`], and the stream continues;
//! see [`StreamError::is_recoverable`]. At most one chunk and one item are in memory.

#[cfg_attr(
    not(any(feature = "client", feature = "server")),
    allow(dead_code, reason = "only clients and servers send streams")
)]
mod encode;
mod error;
mod reader;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    future::poll_fn,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

pub use futures_core::Stream;

#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use self::encode::{DataEvents, encode_items};
pub use self::encode::{InvalidItem, KeepAlive};
pub use self::error::{ItemFault, StreamError};
pub(crate) use self::reader::StreamReopener;
#[cfg(feature = "client")]
pub(crate) use self::reader::{ReopenFuture, is_streamed};
use self::reader::{StreamReader, read_item};
use crate::{
    operation::ContentSpec,
    read::ReadJson,
    sequence::ItemPosition,
    transport::{ByteStream, Timer},
};

/// The size limits of a stream and its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// The maximum size of an item in bytes. A larger item is reported as an error, and the stream continues.
    /// The default is 8 MiB.
    pub max_item_bytes: usize,
    /// The maximum number of bytes over all connections, after which the stream ends. Unlimited by default.
    pub max_total_bytes: u64,
    /// The maximum size of a response that is not a stream, usually an error response, in bytes. The default
    /// is 8 MiB.
    pub max_error_body_bytes: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { max_item_bytes: 8 << 20, max_total_bytes: u64::MAX, max_error_body_bytes: 8 << 20 }
    }
}

/// Settings for reconnecting an event stream (WHATWG HTML, 9.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconnectOptions {
    /// The delay before reconnecting, unless the server sends `retry`. The default is 3 s.
    pub default_delay: Duration,
    /// The lower bound of the first delay, for servers that send `retry: 0`. The default is 100 ms.
    pub min_delay: Duration,
    /// The upper bound of the delay, which doubles with each connection without data. The default is one
    /// minute. A longer `retry` of the server takes precedence.
    pub max_delay: Duration,
    /// The number of consecutive connections without any data (not even a comment) after which the stream
    /// ends with an error. This is the error of the last connection, or [`StreamError::IdleConnections`]. The
    /// standard has no such limit; `u32::MAX` disables it. The default is 10.
    pub max_idle_connections: u32,
}

impl Default for ReconnectOptions {
    fn default() -> Self {
        let shortest = Duration::from_millis(100);
        Self {
            default_delay: Duration::from_secs(3),
            min_delay: shortest,
            max_delay: Duration::from_secs(60),
            max_idle_connections: 10,
        }
    }
}

/// A server-sent event with deserialized data of type `T`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSentEvent<T> {
    /// The event name; `message` if the event has none.
    pub event: String,
    /// The id of this event, if it has one.
    pub id: Option<String>,
    /// The reconnection delay that this event sets.
    pub retry: Option<Duration>,
    /// The data of the event, deserialized into its type.
    pub data: T,
}

impl<T> ServerSentEvent<T> {
    /// Creates an event without a name.
    pub fn new(data: T) -> Self {
        Self { event: "message".to_owned(), id: None, retry: None, data }
    }

    /// Sets the event name, which clients use for dispatch.
    #[must_use]
    pub fn with_name(mut self, event: impl Into<String>) -> Self {
        self.event = event.into();
        self
    }

    /// Sets the id, after which a client can resume the stream.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the reconnection delay, in whole milliseconds.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }
}

impl<T> From<T> for ServerSentEvent<T> {
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

/// Whether items are validated against the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "clients and servers use different variants")
)]
pub(crate) enum ItemChecks {
    /// Items are parsed without schema validation, like response bodies.
    Tolerant,
    /// Each item is validated, like request bodies.
    Strict,
}

/// A streaming body together with its description in the contract.
pub struct StreamSource {
    pub(crate) body: ByteStream,
    pub(crate) content: &'static ContentSpec,
    pub(crate) limits: StreamLimits,
    pub(crate) checks: ItemChecks,
    pub(crate) reopener: Option<Box<dyn StreamReopener>>,
    /// The event id after which the stream was resumed; empty if it was not resumed.
    pub(crate) last_event_id: String,
}

impl fmt::Debug for StreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSource").field("content", self.content).finish_non_exhaustive()
    }
}

/// The type that a streaming body is read as: [`EventReader`], [`ItemReader`] or [`ByteStream`].
pub trait FromStream: Sized {
    /// Creates a reader of the body.
    fn from_source(source: StreamSource) -> Self;
}

impl FromStream for ByteStream {
    fn from_source(source: StreamSource) -> Self {
        source.body.with_limit(source.limits.max_total_bytes)
    }
}

/// A reader of the events of a stream, in order.
pub struct EventReader<T> {
    reader: StreamReader,
    read: PhantomData<fn() -> T>,
}

impl<T: for<'de> ReadJson<'de> + Send> EventReader<T> {
    /// Returns the next event, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<ServerSentEvent<T>, StreamError>> {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ServerSentEvent<T>, StreamError>>> {
        let item = ready!(self.reader.poll_item(context));
        Poll::Ready(item.map(|item| {
            let item = item?;
            let data = read_item(&self.reader, &item)?;
            let event = item.event.unwrap_or_else(|| "message".to_owned());
            Ok(ServerSentEvent { event, id: item.id, retry: item.retry.map(Duration::from_millis), data })
        }))
    }
}

impl<T> EventReader<T> {
    /// Reconnects if a connection ends without one of the configured end markers, and resumes after the last
    /// event id.
    ///
    /// As the standard defines, the reader waits and reconnects with `Last-Event-ID`, regardless of how the
    /// connection ended. If the response is not an event stream, the stream ends with
    /// [`StreamError::Reconnect`]. After a `204` response it ends without an error. After
    /// [`ReconnectOptions::max_idle_connections`] consecutive connections without data it ends with an error.
    /// Operations that are not safe to repeat ([`RepeatSafety`](crate::operation::RepeatSafety)) are never
    /// repeated, so their streams end with the connection.
    #[must_use]
    pub fn with_reconnection(mut self, timer: impl Timer + 'static, options: ReconnectOptions) -> Self {
        self.reader.enable_reconnection(Arc::new(timer), options);
        self
    }

    /// Returns the id after which the stream can be resumed, as the standard defines it: the id of the last
    /// event with an id, or else the id after which this stream was resumed. Empty if there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.reader.last_event_id()
    }

    /// Returns the position of the last event.
    #[must_use]
    pub const fn position(&self) -> ItemPosition {
        self.reader.position()
    }

    /// Returns true once a configured end marker was received.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }
}

impl<T> FromStream for EventReader<T> {
    fn from_source(source: StreamSource) -> Self {
        Self { reader: StreamReader::new(source), read: PhantomData }
    }
}

impl<T: for<'de> ReadJson<'de> + Send> Stream for EventReader<T> {
    type Item = Result<ServerSentEvent<T>, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(context)
    }
}

impl<T> fmt::Debug for EventReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventReader").field("position", &self.position()).finish_non_exhaustive()
    }
}

/// A reader of the documents of a stream, in order.
pub struct ItemReader<T> {
    reader: StreamReader,
    read: PhantomData<fn() -> T>,
}

impl<T: for<'de> ReadJson<'de> + Send> ItemReader<T> {
    /// Returns the next document, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<T, StreamError>> {
        poll_fn(|context| self.poll_document(context)).await
    }

    fn poll_document(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        let item = ready!(self.reader.poll_item(context));
        Poll::Ready(item.map(|item| read_item(&self.reader, &item?)))
    }
}

impl<T> ItemReader<T> {
    /// Returns the position of the last document.
    #[must_use]
    pub const fn position(&self) -> ItemPosition {
        self.reader.position()
    }
}

impl<T> FromStream for ItemReader<T> {
    fn from_source(source: StreamSource) -> Self {
        Self { reader: StreamReader::new(source), read: PhantomData }
    }
}

impl<T: for<'de> ReadJson<'de> + Send> Stream for ItemReader<T> {
    type Item = Result<T, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_document(context)
    }
}

impl<T> fmt::Debug for ItemReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemReader").field("position", &self.position()).finish_non_exhaustive()
    }
}
