//! Calls whose answers are handed on as they come, and calls whose bodies are sent so.

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

use super::{Answer, Call, Core, Error, Reason, Request, RequestChecks, Response, error::SendError};
use crate::{
    operation::{Content, Format, Framing, Items, Operation, Outcome},
    stream::{Checks, Plain, Reopen, Reopening, Source, Streamed, is_streamed, written},
    transport::{ByteStream, Repeat, RequestBody, Transport, no_streams, whole, with_body},
};

/// A call whose success can be handed on as it comes; generated for each such operation.
pub trait StreamCall: Call {
    /// What it answers: [`Events`](crate::stream::Events), [`Items`](crate::stream::Items) or a
    /// [`ByteStream`].
    type Stream: Streamed;
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Outcomes<T, E> = Result<Answer<T>, Error<E>>;

/// A call on its way through a transport of streams: a future of its answer, whose body may still
/// be coming. Nothing is sent before it is polled.
#[must_use = "a call is sent when it is awaited"]
pub struct Opening<T, E>(State<T, E>);

enum State<T, E> {
    Ready(Box<(Core, Request)>, fn(Core, Request) -> Boxed<Outcomes<T, E>>),
    Sent(Boxed<Outcomes<T, E>>),
    Done,
}

impl<T, E> Opening<T, E> {
    /// Gives something to the transport, by its type, as [`Calling::with`](super::Calling::with).
    pub fn with<X: Clone + Send + Sync + 'static>(self, extension: X) -> Self {
        self.change(|request| request.with(extension))
    }

    /// Continues an event stream behind the event of this id: `Last-Event-ID`. An id that no
    /// header can hold is left out.
    pub fn after(self, last_event_id: &str) -> Self {
        self.change(|request| request.after(last_event_id))
    }

    fn change(self, change: impl FnOnce(Request) -> Request) -> Self {
        match self.0 {
            State::Ready(ready, run) => {
                let (core, request) = *ready;
                Self(State::Ready(Box::new((core, change(request))), run))
            }
            state => Self(state),
        }
    }
}

impl<T, E> Future for Opening<T, E> {
    type Output = Outcomes<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut sending = match std::mem::replace(&mut self.0, State::Done) {
            State::Ready(ready, run) => run(ready.0, ready.1),
            State::Sent(sending) => sending,
            // Polled after it was ready, which no future has to bear.
            State::Done => return Poll::Pending,
        };
        let answer = sending.as_mut().poll(context);
        if answer.is_pending() {
            self.0 = State::Sent(sending);
        }
        answer
    }
}

impl<T, E> fmt::Debug for Opening<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = match &self.0 {
            State::Ready(ready, _) => Some(&ready.1),
            _ => None,
        };
        f.debug_struct("Opening").field("request", &request).finish_non_exhaustive()
    }
}

impl Core {
    /// Sends the request of a call, and hands on what it answers as it comes.
    pub fn open<C: StreamCall + 'static>(&self, request: Request) -> Opening<C::Stream, C::Refusal>
    where
        C::Stream: 'static,
        C::Refusal: 'static,
    {
        let run =
            |core, request| -> Boxed<Outcomes<C::Stream, C::Refusal>> { Box::pin(open::<C>(core, request)) };
        Opening(State::Ready(Box::new((self.clone(), request)), run))
    }

    /// Sends the request of a call, whose body is in pieces, and waits for the whole answer.
    pub fn upload<C: Call + 'static>(&self, request: Request) -> Opening<C::Success, C::Refusal>
    where
        C::Success: 'static,
        C::Refusal: 'static,
    {
        let run = |core, request| -> Boxed<Outcomes<C::Success, C::Refusal>> {
            Box::pin(upload::<C>(core, request))
        };
        Opening(State::Ready(Box::new((self.clone(), request)), run))
    }

    /// Sends a request of any operation, which asks for these media types, and hands on whatever is answered as it
    /// comes. Nothing is read of it.
    #[cfg(feature = "cli")]
    pub(crate) async fn exchange(
        &self,
        mut request: Request,
        accepted: &str,
    ) -> Result<http::Response<ByteStream>, SendError> {
        if let Ok(accepted) = HeaderValue::from_str(accepted)
            && !accepted.is_empty()
        {
            request.headers.insert(ACCEPT, accepted);
        }
        let (operation, request) = request.finish_pieces(&self.base_url)?;
        connect(&self.transport, operation, request).await
    }
}

async fn open<C: StreamCall>(core: Core, request: Request) -> Outcomes<C::Stream, C::Refusal> {
    let (operation, request) = request.finish_pieces(&core.base_url)?;
    let again = again(&core, operation, &request);
    let behind = request.headers().get(LAST_EVENT_ID).map(|id| id.as_bytes().to_vec());
    let last_event_id = behind.and_then(|id| String::from_utf8(id).ok()).unwrap_or_default();
    let answer = connect(&core.transport, operation, request).await?;
    if let Some(content) = streamed(operation, &answer) {
        let (parts, body) = answer.into_parts();
        let reopen = again.map(|again| Box::new(again) as Box<dyn Reopen>);
        let (limits, checks) = (core.limits, Checks::Tolerant);
        let source = Source { body, content, limits, checks, reopen, last_event_id };
        let http::response::Parts { status, headers, extensions, .. } = parts;
        let body = C::Stream::start(source);
        return Ok(Answer { extensions, ..Answer::new(status, headers, body) });
    }
    let answer = whole(answer, core.limits.whole).await.map_err(SendError::from)?;
    let same = answer.clone();
    Err(match C::read(Response::new(answer, operation, core.shown)) {
        Err(error) => error,
        // What was asked for, and not as it was asked for: nobody waits for it here.
        Ok(_) => Error::Unreadable(Response::new(same, operation, core.shown).unreadable(Reason::MediaType)),
    })
}

async fn upload<C: Call>(core: Core, request: Request) -> Outcomes<C::Success, C::Refusal> {
    let (operation, request) = request.finish_pieces(&core.base_url)?;
    let answer = connect(&core.transport, operation, request).await?;
    let answer = whole(answer, core.limits.whole).await.map_err(SendError::from)?;
    C::read(Response::new(answer, operation, core.shown))
}

async fn connect(
    transport: &Arc<dyn Transport>,
    operation: &'static Operation,
    request: http::Request<RequestBody>,
) -> Result<http::Response<ByteStream>, SendError> {
    let streams = transport.streams().ok_or_else(no_streams)?;
    Ok(streams.open(operation, request).await?)
}

/// The row of a success that is handed on as it comes.
fn streamed(operation: &'static Operation, answer: &http::Response<ByteStream>) -> Option<&'static Content> {
    let status = answer.status().as_u16();
    if operation.outcome(status) != Some(Outcome::Success) {
        return None;
    }
    let response = operation.response(status)?;
    match answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) {
        Some(media_type) => response.of(media_type).filter(|content| is_streamed(content)),
        // RFC 9110, 8.3: without a type the reader may guess; bytes need no guess.
        None => response.content.iter().find(|content| matches!(content.format, Format::Pieces)),
    }
}

/// A request that can be sent again when its stream breaks.
struct Again {
    transport: Arc<dyn Transport>,
    operation: &'static Operation,
    request: http::Request<RequestBody>,
}

/// What was sent, if sending it once more does no harm.
fn again(core: &Core, operation: &'static Operation, request: &http::Request<RequestBody>) -> Option<Again> {
    let harmless = matches!(operation.repeat, Repeat::Safe | Repeat::Idempotent);
    let request = copy(request).filter(|_| harmless)?;
    Some(Again { transport: Arc::clone(&core.transport), operation, request })
}

fn copy(request: &http::Request<RequestBody>) -> Option<http::Request<RequestBody>> {
    request.body().again().map(|body| with_body(request, body))
}

impl Reopen for Again {
    fn reopen(&self, last_event_id: &str) -> Reopening {
        let transport = Arc::clone(&self.transport);
        let operation = self.operation;
        let mut request = copy(&self.request);
        if let Some(request) = &mut request {
            // What the first request said is over when an event said something else, or nothing.
            request.headers_mut().remove(LAST_EVENT_ID);
            if let Some(id) = last_event(last_event_id) {
                request.headers_mut().insert(LAST_EVENT_ID, id);
            }
        }
        Box::pin(async move {
            let request = request.ok_or_else(no_streams)?;
            transport.streams().ok_or_else(no_streams)?.open(operation, request).await
        })
    }

    fn continues(&self, answer: &http::Response<ByteStream>) -> bool {
        streamed(self.operation, answer).is_some()
    }
}

const LAST_EVENT_ID: &str = "last-event-id";

fn last_event(id: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(id.as_bytes()).ok().filter(|id| !id.is_empty())
}

impl Request {
    fn after(mut self, last_event_id: &str) -> Self {
        if let Some(id) = last_event(last_event_id) {
            self.headers.insert(LAST_EVENT_ID, id);
        }
        self
    }

    /// A body of the given media type that is sent as it comes, and cannot be sent again.
    pub fn pieces(self, media_type: &'static str, body: ByteStream) -> Self {
        let mut request = self.bytes(media_type, bytes::Bytes::new());
        request.pieces = Some(body);
        request
    }

    /// A body of items, each sent when it comes; each is checked by the schema that the
    /// operation's table has for it, unless checks are off. One that breaks it ends the request
    /// with [`TransportFault::Request`](crate::transport::TransportFault::Request): what went before it may have been
    /// acted on.
    pub fn items<T: Serialize + 'static>(
        self,
        media_type: &'static str,
        items: impl Stream<Item = T> + Send + 'static,
    ) -> Self {
        let content = self.content(media_type);
        let row = match content.map(|content| content.format) {
            Some(Format::Items(row)) => row,
            _ => Items::new(Framing::Lines),
        };
        let checked = self.checks == RequestChecks::On;
        let validator = content.and_then(|content| content.validator).filter(|_| checked);
        let body = written(Plain(Box::pin(items)), row, validator, None, |_| {});
        self.pieces(media_type, body)
    }

    fn finish_pieces(
        mut self,
        base_url: &str,
    ) -> Result<(&'static Operation, http::Request<RequestBody>), SendError> {
        let pieces = self.pieces.take();
        let (operation, request) = self.finish(base_url)?;
        Ok((operation, request.map(|whole| pieces.map_or(RequestBody::Whole(whole), RequestBody::Pieces))))
    }
}
