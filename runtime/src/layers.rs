//! Layers around a transport, each usable by itself: another attempt where that does no harm, a time
//! for each attempt, a number of calls at a time, a span for each call. [`Ready`] puts them around one
//! in their order.
//!
//! What stands outside sees what those inside do: a [`Timeout`] within a [`Retry`] is for one
//! attempt, one around it for all. Every layer passes streams on, and bounds them up to the head of
//! their answer; a body that is coming is its reader's.

mod concurrency;
mod ready;
mod retry;
#[cfg(test)]
mod tests;
mod timeout;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tracing")]
mod tracing;

pub use self::concurrency::Concurrency;
pub use self::ready::Ready;
pub use self::retry::{Attempts, Retries, Retry};
pub use self::timeout::Timeout;
#[cfg(feature = "tower")]
pub use self::tower::TowerTransport;
#[cfg(feature = "tracing")]
pub use self::tracing::Traced;
