//! The connection from the gateway to the backend. Depending on `serve.role`, the backend runs in this
//! process ([`LocalRelay`]) or in another one ([`HttpRelay`] as the client,
//! [`BackendServer`](server::BackendServer) as the server).

mod http;
mod local;
pub mod server;
pub mod signature;

pub use self::http::{BackendClientError, HttpRelay};
pub use local::LocalRelay;

use std::future::Future;
use std::pin::Pin;

use contract_runtime::server::{EncodedResponse, IncomingRequest};
use exchange_api::server::AnyCall;

use crate::caller::Caller;

/// A request that passed all checks of the gateway.
#[derive(Debug)]
pub struct RelayedRequest {
    /// The caller, which is also in the context that the backend's handlers receive.
    pub caller: Caller,
    /// The call, with its context and body.
    pub call: IncomingRequest,
    /// The request after parsing.
    pub incoming: AnyCall,
}

/// The reason the backend did not respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// No connection to the backend was established, so the backend has not received the request.
    #[error("the backend could not be reached")]
    NotSent,
    /// The connection failed after the request was sent, or the response violates the contract.
    #[error("the backend returned no valid response")]
    Failed,
    /// The call exceeded its timeout (LIM-03).
    #[error("the backend timed out")]
    TimedOut,
}

/// The future that [`Relay::send_request`] returns.
pub type RelayFuture<'a> = Pin<Box<dyn Future<Output = Result<EncodedResponse, RelayError>> + Send + 'a>>;

/// A connection through which requests are sent to a backend.
///
/// The backend completes the claim of a successful request
/// ([`idempotency::complete_claim`](crate::idempotency::complete_claim)).
pub trait Relay: Send + Sync {
    /// Sends a request and returns the response.
    fn send_request(&self, request: RelayedRequest) -> RelayFuture<'_>;

    /// Returns true if the relay validates every response against the contract, so that the gateway need not
    /// do so.
    fn validates_answers(&self) -> bool {
        false
    }
}
