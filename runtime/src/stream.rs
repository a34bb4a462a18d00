//! Items that are read while they come: the reader of event streams, lines of JSON and JSON text
//! sequences that clients and servers share.
//!
//! An item that cannot be read is an error with its [`Place`], behind which the stream goes on;
//! [`StreamError::is_item`] tells such from errors that end it. Nothing waits for the end of the
//! body, and no more than one piece and one item are kept.

mod error;
mod reader;
#[cfg(test)]
mod tests;
mod write;

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

pub use self::error::{ItemFault, StreamError};
pub(crate) use self::reader::Reopen;
use self::reader::{Reader, read};
#[cfg(feature = "client")]
pub(crate) use self::reader::{Reopening, is_streamed};
pub use self::write::{BrokenItem, KeepAlive};
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use self::write::{Plain, written};
use crate::{
    operation::Content,
    read::Read,
    sequence::Place,
    transport::{ByteStream, Timer},
};

/// How large a stream and its items may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Most bytes of one item. One that has more is an error, and the next is read. Default 8 MiB.
    pub item: usize,
    /// Most bytes of all, over all connections; the stream ends behind them. By default there is
    /// no such limit, since streams need not end.
    pub total: u64,
    /// Most bytes of an answer that is no stream, most often a refusal. Default 8 MiB.
    pub whole: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { item: 8 << 20, total: u64::MAX, whole: 8 << 20 }
    }
}

/// How to connect again when a connection ends (WHATWG HTML, 9.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnection {
    /// How long to wait, unless the server's `retry` says it. Default three seconds.
    pub wait: Duration,
    /// The shortest first wait, whatever the server says: `retry: 0` would have it asked without an
    /// end. Default a tenth of a second.
    pub shortest: Duration,
    /// The longest wait. It doubles with each connection that gave nothing. Default one minute;
    /// what the server says is waited for, however long it is.
    pub longest: Duration,
    /// How many more connections in a row may give nothing, not even a comment, before the stream ends
    /// with an error: that of the last of them, or [`StreamError::Silent`]. The standard has no such bound;
    /// `u32::MAX` is none. Default ten.
    pub attempts: u32,
}

impl Default for Reconnection {
    fn default() -> Self {
        let shortest = Duration::from_millis(100);
        Self { wait: Duration::from_secs(3), shortest, longest: Duration::from_secs(60), attempts: 10 }
    }
}

/// What stands in an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<T> {
    /// What it is called; `message` when the stream does not say.
    pub event: String,
    /// Its own id.
    pub id: Option<String>,
    /// How long a reader should wait before it connects again.
    pub retry: Option<Duration>,
    /// What it holds.
    pub data: T,
}

impl<T> Event<T> {
    /// An event of no name.
    pub fn new(data: T) -> Self {
        Self { event: "message".to_owned(), id: None, retry: None, data }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(mut self, event: impl Into<String>) -> Self {
        self.event = event.into();
        self
    }

    /// The same with an id, behind which a reader can continue.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same with a wait, kept in milliseconds.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }
}

impl<T> From<T> for Event<T> {
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

/// Whether items are checked by the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "each side has its own")
)]
pub(crate) enum Checks {
    /// They are read if their type holds them, as answers are.
    Tolerant,
    /// Each is valid, as bodies of requests are.
    Strict,
}

/// A body that has begun, and what the contract says of it.
pub struct Source {
    pub(crate) body: ByteStream,
    pub(crate) content: &'static Content,
    pub(crate) limits: StreamLimits,
    pub(crate) checks: Checks,
    pub(crate) reopen: Option<Box<dyn Reopen>>,
    /// The id that an event stream was asked to continue behind; empty for none.
    pub(crate) last_event_id: String,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("content", self.content).finish_non_exhaustive()
    }
}

/// What a body in pieces is read as: [`Events`], [`Items`] or a [`ByteStream`].
pub trait Streamed: Sized {
    /// Begins to read.
    fn start(source: Source) -> Self;
}

impl Streamed for ByteStream {
    fn start(source: Source) -> Self {
        source.body.limited(source.limits.total)
    }
}

/// The events of a stream, in their order.
pub struct Events<T> {
    reader: Reader,
    read: PhantomData<fn() -> T>,
}

impl<T: for<'de> Read<'de> + Send> Events<T> {
    /// The next event; `None` behind the last.
    pub async fn next(&mut self) -> Option<Result<Event<T>, StreamError>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Event<T>, StreamError>>> {
        let item = ready!(self.reader.poll(context));
        Poll::Ready(item.map(|item| {
            let item = item?;
            let data = read(&self.reader, &item)?;
            let event = item.event.unwrap_or_else(|| "message".to_owned());
            Ok(Event { event, id: item.id, retry: item.retry.map(Duration::from_millis), data })
        }))
    }
}

impl<T> Events<T> {
    /// The same, that connects again when a connection ends without one of the ends that the
    /// contract's owner declares, and continues behind the last event id.
    ///
    /// As the standard says it: after the wait, with `Last-Event-ID`, however the connection ended; an
    /// answer that is no event stream ends it with [`StreamError::Answer`], `204` without an error.
    /// As many connections in a row as [`Reconnection::attempts`] says that give nothing end it with an
    /// error. Operations whose repetition may act a second time are never repeated
    /// ([`Repeat`](crate::operation::Repeat)): their streams end with their connection.
    #[must_use]
    pub fn reconnecting(mut self, timer: impl Timer + 'static, how: Reconnection) -> Self {
        self.reader.reconnect(Arc::new(timer), how);
        self
    }

    /// The id to continue behind, as the standard keeps it: that of the last event that had one, and
    /// before any the one that the stream was begun behind. Empty when there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.reader.last_event_id()
    }

    /// Where the last event stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.reader.place()
    }

    /// Whether the end was seen that the contract's owner declares.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }
}

impl<T> Streamed for Events<T> {
    fn start(source: Source) -> Self {
        Self { reader: Reader::new(source), read: PhantomData }
    }
}

impl<T: for<'de> Read<'de> + Send> Stream for Events<T> {
    type Item = Result<Event<T>, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl<T> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("place", &self.place()).finish_non_exhaustive()
    }
}

/// The documents of a stream, in their order.
pub struct Items<T> {
    reader: Reader,
    read: PhantomData<fn() -> T>,
}

impl<T: for<'de> Read<'de> + Send> Items<T> {
    /// The next document; `None` behind the last.
    pub async fn next(&mut self) -> Option<Result<T, StreamError>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        let item = ready!(self.reader.poll(context));
        Poll::Ready(item.map(|item| read(&self.reader, &item?)))
    }
}

impl<T> Items<T> {
    /// Where the last document stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.reader.place()
    }
}

impl<T> Streamed for Items<T> {
    fn start(source: Source) -> Self {
        Self { reader: Reader::new(source), read: PhantomData }
    }
}

impl<T: for<'de> Read<'de> + Send> Stream for Items<T> {
    type Item = Result<T, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("place", &self.place()).finish_non_exhaustive()
    }
}
