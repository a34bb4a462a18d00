//! Bodies in pieces: what a handler reads while it comes, and what it answers while it makes it.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use axum::body::Body;
use futures_core::Stream;
use serde::Serialize;

use super::{Answer, Call, Context, Outcome, Reply};
use crate::{
    operation::{Content, Format, Framing, Items},
    stream::{BrokenItem, Checks, Event, KeepAlive, Plain, Source, StreamLimits, Streamed, written},
    transport::{ByteStream, Delivery, TransportError, TransportFault},
};

/// What a handler answers when it has the choice: a body that is whole, or one that is made while
/// it is sent.
#[derive(Debug)]
pub enum Either<W, S> {
    /// All of it.
    Whole(W),
    /// One after another.
    Stream(S),
}

/// Events that a handler sends one after another. Dropped when the caller is gone.
///
/// Behind the last of them stands the end that the contract's owner declares (`[DONE]`), where events
/// are JSON, so that a reader knows that none is missing and does not connect again.
pub struct EventStream<T> {
    events: Pin<Box<dyn Stream<Item = Event<T>> + Send>>,
    is_ended: bool,
}

impl<T> EventStream<T> {
    /// Whatever gives events.
    pub fn new(events: impl Stream<Item = Event<T>> + Send + 'static) -> Self {
        Self { events: Box::pin(events), is_ended: true }
    }

    /// The same without the end: more events come over another connection, and a reader that connects
    /// again asks for them.
    #[must_use]
    pub fn to_be_continued(self) -> Self {
        Self { is_ended: false, ..self }
    }
}

/// Documents that a handler sends one after another. Dropped when the caller is gone.
pub struct ItemStream<T>(Pin<Box<dyn Stream<Item = T> + Send>>);

impl<T> ItemStream<T> {
    /// Whatever gives documents.
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

/// What becomes the body of an answer; see [`EventStream`], [`ItemStream`] and [`ByteStream`].
pub trait Streaming: Send + 'static {
    /// Begins to write it as the contract says.
    fn pieces(self, content: Option<&'static Content>, writing: Writing) -> ByteStream;
}

/// Told of the item that ended an answer.
pub type BrokenItems = Box<dyn Fn(&BrokenItem) + Send>;

/// How an answer in pieces is written.
pub struct Writing {
    /// Whether each item is checked by the contract.
    pub check: bool,
    /// What an event stream says while there is no event.
    pub keep_alive: Option<KeepAlive>,
    /// Told of the item that ends it: one that cannot be written, or breaks the contract and is
    /// checked.
    pub told: BrokenItems,
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writing = f.debug_struct("Writing");
        writing.field("check", &self.check).field("keep_alive", &self.keep_alive).finish_non_exhaustive()
    }
}

impl Streaming for ByteStream {
    fn pieces(self, _: Option<&'static Content>, _: Writing) -> ByteStream {
        self
    }
}

impl<T: Serialize + 'static> Streaming for EventStream<T> {
    fn pieces(self, content: Option<&'static Content>, writing: Writing) -> ByteStream {
        let Writing { check, keep_alive, told } = writing;
        let validator = content.and_then(|content| content.validator).filter(|_| check);
        let items = items(content);
        let items = if self.is_ended { items } else { Items { ends: &[], ..items } };
        written(self.events, items, validator, keep_alive, told)
    }
}

impl<T: Serialize + 'static> Streaming for ItemStream<T> {
    fn pieces(self, content: Option<&'static Content>, writing: Writing) -> ByteStream {
        EventStream::new(Plain(Box::pin(self.0))).pieces(content, writing)
    }
}

fn items(content: Option<&Content>) -> Items {
    match content.map(|content| content.format) {
        Some(Format::Items(items)) => items,
        _ => Items::new(Framing::Lines),
    }
}

pub(super) type Write = Box<dyn FnOnce(Writing) -> ByteStream + Send>;

/// What of a call does not fit in memory: it passes beside the call's bytes, once.
#[derive(Clone, Default)]
pub(super) struct Beside(Arc<Mutex<Passing>>);

#[derive(Default)]
struct Passing {
    request: Option<ByteStream>,
    answer: Option<Write>,
}

impl Beside {
    fn with<T>(&self, take: impl FnOnce(&mut Passing) -> T) -> T {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Context {
    /// The body of a request that the operation reads in pieces, once: what a handler of such an
    /// operation is given, for whoever calls the steps by themselves.
    #[must_use]
    pub fn take_body(&self) -> Option<ByteStream> {
        self.beside().with(|passing| passing.request.take())
    }

    pub(super) fn pass_body(&self, body: Body, limit: u64) {
        let cut = |error: axum::Error| {
            TransportError::new(TransportFault::Interrupted, Delivery::Unknown).with_source(error)
        };
        let body = ByteStream::of_body(body, cut).limited(limit);
        self.beside().with(|passing| passing.request = Some(body));
    }

    /// The body of an answer in pieces, once; `None` for one that is whole.
    #[must_use]
    pub fn take_answer(&self, writing: Writing) -> Option<ByteStream> {
        Some(self.take_write()?(writing))
    }

    pub(super) fn take_write(&self) -> Option<Write> {
        self.beside().with(|passing| passing.answer.take())
    }
}

impl Call {
    /// The body, read while it comes; one that was read already, by whoever calls the steps by
    /// themselves, from memory. What was taken before is empty, as one of a media type that is read
    /// whole.
    pub fn pieces<S: Streamed>(&self) -> S {
        let context = self.context();
        let content = self.content().unwrap_or(&NOTHING);
        let whole = || if in_pieces(content) { context.body().clone() } else { super::Bytes::new() };
        let body = context.take_body().unwrap_or_else(|| ByteStream::from(whole()));
        let (limits, checks) = (StreamLimits::default(), Checks::Strict);
        S::start(Source { body, content, limits, checks, reopen: None, last_event_id: String::new() })
    }

    /// Writes an answer in pieces: its head now, its body while the handler makes it.
    ///
    /// # Errors
    /// Never; it reads like the others.
    pub fn answer_pieces<S: Streaming>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<S>,
    ) -> Outcome {
        let (reply, body) = reply.split();
        let answer = self.answer(status, media_type, reply, super::Bytes::new());
        let response = self.operation().response(answer.status.as_u16());
        let content = response.and_then(|response| response.of(media_type));
        let write: Write = Box::new(move |writing| body.pieces(content, writing));
        self.context().beside().with(|passing| passing.answer = Some(write));
        Ok(answer)
    }
}

const NOTHING: Content = Content { media_type: "", format: Format::Pieces, schema: "", validator: None };

impl Answer {
    /// As the router sends it when its body is in pieces.
    #[must_use]
    pub fn into_response_of(self, body: ByteStream) -> super::Response {
        let mut response = self.into_response();
        *response.body_mut() = Body::from_stream(body);
        response
    }
}

/// Whether an operation reads a body of this type in pieces.
pub(super) fn reads_pieces(body: &crate::operation::Body, headers: &http::HeaderMap) -> bool {
    let named = headers.get(http::header::CONTENT_TYPE).and_then(|line| line.to_str().ok());
    let content = named.and_then(|line| body.of(line)).or(body.content.first());
    content.is_some_and(in_pieces)
}

const fn in_pieces(content: &Content) -> bool {
    matches!(content.format, Format::Pieces | Format::Items(_))
}

#[cfg(test)]
mod tests;
