//! A client of the exchange: everything between a program and the generated API.

mod backoff;
pub mod changes;
mod environment;
mod error;
mod identity;
mod place;
mod state;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod tokens;

pub use backoff::Backoff;
pub use changes::{BlueprintChanges, Lane, OrgStockChanges, ShipChanges, StockChanges};
pub use environment::{Clock, Environment, Sleep};
pub use error::{Advice, Error, ErrorKind, kind_of};
pub use exchange_api as api;
pub use identity::{Identity, UnusableIdentity};
pub use place::{Place, SANDBOX_VARIABLE, UnusablePlace};
pub use state::{End, Halt, SessionState};
