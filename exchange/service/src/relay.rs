//! The connection from gateway to backend: in this process ([`LocalRelay`]), or to another one ([`HttpRelay`] as
//! client, [`BackendServer`](server::BackendServer) as server), by `serve.role`.

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

/// A request that passed every check of the gateway.
#[derive(Debug)]
pub struct RelayedRequest {
    /// The caller, which the backend's handlers also find in their context.
    pub caller: Caller,
    /// The call, with its context and body.
    pub call: IncomingRequest,
    /// The parsed request.
    pub incoming: AnyCall,
}

/// The reason the backend did not respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The backend is unreachable, or its response violates the contract.
    #[error("the backend could not be reached")]
    Unreachable,
    /// The call exceeded its timeout (LIM-03).
    #[error("the backend timed out")]
    TimedOut,
}

/// The future of a backend response.
pub type RelayFuture<'a> = Pin<Box<dyn Future<Output = Result<EncodedResponse, RelayError>> + Send + 'a>>;

/// Sends requests to a backend.
///
/// The backend completes the claim of a successful request
/// ([`idempotency::complete_claim`](crate::idempotency::complete_claim)).
pub trait Relay: Send + Sync {
    /// Sends a request, and returns the response.
    fn send_request(&self, request: RelayedRequest) -> RelayFuture<'_>;

    /// Returns true if the relay validates every response against the contract, so that the gateway need not.
    fn validates_answers(&self) -> bool {
        false
    }
}
