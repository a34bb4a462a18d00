//! One call: as a value that can be kept, and on its way.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;

use super::{Answer, Core, Error, Request, Response};
use crate::{operation::Operation, transport::Sending};

/// A call of one operation with all that it says; generated for each operation.
///
/// An outbox keeps what [`Request::store`] gives for it and sends that with [`Core::repeat`] until
/// it is answered; a session that wraps every call is written once over this trait.
pub trait Call: Sized {
    /// The operation.
    const OPERATION: &'static Operation;
    /// What it answers.
    type Success;
    /// What it refuses with.
    type Refusal;

    /// The request that it is.
    fn request(&self, core: &Core) -> Request;

    /// Reads what came back.
    ///
    /// # Errors
    /// When that is a refusal, or nothing that the contract describes.
    fn read(response: Response) -> Result<Answer<Self::Success>, Error<Self::Refusal>>;
}

/// A request as it was or will be sent, without the client's own address. Not for logs: it holds
/// whatever the caller said.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// `operationId`
    pub operation: String,
    /// `/ships?limit=100`; for webhooks the query alone.
    pub path_and_query: String,
    /// Where the caller sends it ([`Request::at`]), which webhooks cannot be sent without. `None`:
    /// to the operation's own server or the client's address, as a new call would be.
    pub address: Option<String>,
    /// Headers and cookies; what the transport adds is not among them.
    pub headers: HeaderMap,
    /// The bytes of the body.
    pub body: Bytes,
}

/// The operation and the size of the body.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, body) = (&self.operation, self.body.len());
        f.debug_struct("Stored").field("operation", operation).field("body", &body).finish_non_exhaustive()
    }
}

/// A call on its way: a future of its answer. Nothing is sent before it is polled.
#[must_use = "a call is sent when it is awaited"]
pub struct Calling<'a, C> {
    core: &'a Core,
    state: State<'a>,
    call: PhantomData<fn() -> C>,
}

enum State<'a> {
    Ready(Box<Request>),
    Sent(&'static Operation, Sending<'a>),
    Done,
}

impl<'a, C: Call> Calling<'a, C> {
    pub(super) fn new(core: &'a Core, request: Request) -> Self {
        Self { core, state: State::Ready(Box::new(request)), call: PhantomData }
    }

    /// Gives something to the transport, by its type: it finds it among the extensions of the
    /// request, and what it leaves among those of its response is in [`Answer::extensions`].
    pub fn with<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        if let State::Ready(request) = self.state {
            self.state = State::Ready(Box::new(request.with(extension)));
        }
        self
    }
}

impl<C: Call> Future for Calling<'_, C> {
    type Output = Result<Answer<C::Success>, Error<C::Refusal>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let core = self.core;
        let (operation, mut sending) = match std::mem::replace(&mut self.state, State::Done) {
            State::Sent(operation, sending) => (operation, sending),
            State::Ready(request) => match request.finish(&core.base_url) {
                Ok((operation, request)) => (operation, core.transport.send(operation, request)),
                Err(error) => return Poll::Ready(Err(error.into())),
            },
            // Polled after it was ready, which no future has to bear.
            State::Done => return Poll::Pending,
        };
        let Poll::Ready(answer) = sending.as_mut().poll(context) else {
            self.state = State::Sent(operation, sending);
            return Poll::Pending;
        };
        Poll::Ready(match answer {
            Ok(answer) => C::read(Response::new(answer, operation, core.shown)),
            Err(error) => Err(Error::Transport(error)),
        })
    }
}

impl<C> fmt::Debug for Calling<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = match &self.state {
            State::Ready(request) => Some(request),
            _ => None,
        };
        f.debug_struct("Calling").field("request", &request).finish_non_exhaustive()
    }
}
