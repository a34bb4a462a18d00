//! From the gateway to the backend: in this process ([`Local`]), or in another one ([`HttpRelay`] there, and
//! [`Backends`](served::Backends) at the other end; `serve.role` says which).

mod http;
mod local;
pub mod served;
pub mod signed;

pub use self::http::{HttpRelay, UnusableBackend};
pub use local::Local;

use std::future::Future;
use std::pin::Pin;

use contract_runtime::server::{Answer, Call};
use exchange_api::server::Incoming;

use crate::caller::Caller;

/// A request that passed every check of the gateway, read once.
#[derive(Debug)]
pub struct Relayed {
    /// Who calls; the backend's handlers find the same in their context.
    pub caller: Caller,
    /// The call, with its context and its body.
    pub call: Call,
    /// What it asks.
    pub incoming: Incoming,
}

/// Why no answer came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayFailure {
    /// The backend could not be reached, or what came back is no answer of the contract.
    #[error("the backend could not be reached")]
    Unreachable,
    /// It took too long (LIM-03).
    #[error("the backend took too long")]
    TooLate,
}

/// An answer that is on its way.
pub type Relaying<'a> = Pin<Box<dyn Future<Output = Result<Answer, RelayFailure>> + Send + 'a>>;

/// What takes requests to a backend.
///
/// A success of a request with a claim has completed it ([`idempotency::complete`](crate::idempotency::complete)).
pub trait Relay: Send + Sync {
    /// Takes one there, and its answer back.
    fn relay(&self, request: Relayed) -> Relaying<'_>;

    /// Whether every answer that it brings is one of the contract, so that nobody looks again.
    fn checks(&self) -> bool {
        false
    }
}
