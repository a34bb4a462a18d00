//! Calls as values that can be stored, and the future that sends a call.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;

use super::{ApiClient, Error, RawResponse, RequestBuilder, Response};
use crate::{operation::Operation, transport::ResponseFuture};

/// The arguments of one call of an operation. Generated for each operation that clients can call.
///
/// An outbox stores the result of [`RequestBuilder::into_stored`] and sends it with
/// [`ApiClient::send_stored`] until a response arrives. Code that applies to every call of a client can be
/// written once, generic over this trait.
pub trait Call: Sized {
    /// The entry of the operation in the generated table.
    const OPERATION: &'static Operation;
    /// The type of the body of a successful response.
    type Success;
    /// The type of the body of an error response.
    type ErrorBody;
    /// The type of the declared headers of a successful response, or [`NoHeaders`](super::NoHeaders).
    type Headers: 'static;

    /// Builds the HTTP request from the arguments.
    fn build_request(&self, core: &ApiClient) -> RequestBuilder;

    /// Parses a response by its status and media type.
    ///
    /// # Errors
    /// [`Error::ErrorResponse`] for a documented error, [`Error::UnexpectedResponse`] for a response that
    /// the contract does not describe.
    fn parse_response(response: RawResponse) -> Result<Response<Self::Success>, Error<Self::ErrorBody>>;
}

/// A serialized request without the base URL of the client. It contains all arguments, so do not log it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredRequest {
    /// The `operationId`.
    pub operation: String,
    /// The path and query, such as `/ships?limit=100`; for webhooks only the query.
    pub path_and_query: String,
    /// The address set by [`RequestBuilder::with_address`]. Required for webhooks. `None` sends the request
    /// to the operation's own server or to the base URL, as for a new call.
    pub address: Option<String>,
    /// Headers and cookies, without those that the transport adds.
    pub headers: HeaderMap,
    /// The encoded body.
    pub body: Bytes,
}

/// Shows the operation and the size of the body.
impl fmt::Debug for StoredRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, body) = (&self.operation, self.body.len());
        f.debug_struct("StoredRequest")
            .field("operation", operation)
            .field("body", &body)
            .finish_non_exhaustive()
    }
}

/// A future that sends a call and resolves to its parsed response. Nothing is sent before the first poll.
#[must_use = "a call is sent when it is awaited"]
pub struct PendingCall<'a, C> {
    client: &'a ApiClient,
    state: PendingCallState<'a>,
    call: PhantomData<fn() -> C>,
}

enum PendingCallState<'a> {
    Unsent(Box<RequestBuilder>),
    Sending(&'static Operation, ResponseFuture<'a>),
    Done,
}

impl<'a, C: Call> PendingCall<'a, C> {
    pub(super) fn new(core: &'a ApiClient, request: RequestBuilder) -> Self {
        Self { client: core, state: PendingCallState::Unsent(Box::new(request)), call: PhantomData }
    }

    /// Attaches a value for the transport, keyed by its type. The transport finds it among the extensions of
    /// the request; values that the transport returns are in [`Response::extensions`].
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        if let PendingCallState::Unsent(request) = self.state {
            self.state = PendingCallState::Unsent(Box::new(request.with_extension(extension)));
        }
        self
    }

    /// Sends the call and blocks the thread until the response arrives.
    ///
    /// No async runtime is required. In async code, `await` the call instead, because this method blocks all
    /// tasks of the thread.
    ///
    /// # Errors
    /// The same errors as the future. Additionally, [`Error::Transport`] with
    /// [`TransportFault::Declined`](crate::transport::TransportFault::Declined) if the operating system cannot
    /// start the thread of the client.
    #[cfg(feature = "blocking")]
    #[allow(clippy::type_complexity, reason = "the output of the future")]
    pub fn send_blocking(self) -> Result<Response<C::Success, C::Headers>, Error<C::ErrorBody>> {
        let client = self.client.to_background();
        client.background.block_on(PendingCall { client: &client, ..self })
    }
}

impl<C: Call> Future for PendingCall<'_, C> {
    type Output = Result<Response<C::Success, C::Headers>, Error<C::ErrorBody>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let core = self.client;
        let (operation, mut sending) = match std::mem::replace(&mut self.state, PendingCallState::Done) {
            PendingCallState::Sending(operation, sending) => (operation, sending),
            PendingCallState::Unsent(request) => match request.into_http(&core.base_url) {
                Ok((operation, request)) => (operation, core.transport.send(operation, request)),
                Err(error) => return Poll::Ready(Err(error.into())),
            },
            // The future was polled again after completion.
            PendingCallState::Done => return Poll::Pending,
        };
        let Poll::Ready(response) = sending.as_mut().poll(context) else {
            self.state = PendingCallState::Sending(operation, sending);
            return Poll::Pending;
        };
        Poll::Ready(match response {
            Ok(response) => C::parse_response(RawResponse::new(response, operation, core.shown_fields))
                .map(Response::with_header_type),
            Err(error) => Err(Error::Transport(error)),
        })
    }
}

impl<C> fmt::Debug for PendingCall<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = match &self.state {
            PendingCallState::Unsent(request) => Some(request),
            _ => None,
        };
        f.debug_struct("PendingCall").field("request", &request).finish_non_exhaustive()
    }
}
