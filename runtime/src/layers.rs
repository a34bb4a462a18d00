//! Layers around a transport: retries, timeouts, a concurrency limit and tracing spans. [`TransportStack`]
//! combines these in a suitable order.
//!
//! The order of layers matters. A [`Timeout`] inside a [`Retry`] limits each attempt; a `Timeout` around it
//! limits all attempts together. Every layer supports streams. For a stream, a layer applies until the head
//! of the response arrives, and not to the body.

mod concurrency_limit;
mod retry;
mod stack;
#[cfg(test)]
mod tests;
mod timeout;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tracing")]
mod tracing;

pub use self::concurrency_limit::ConcurrencyLimit;
pub use self::retry::{AttemptCount, Retry, RetryOptions};
pub use self::stack::TransportStack;
pub use self::timeout::Timeout;
#[cfg(feature = "tower")]
pub use self::tower::{BufferedBody, TowerTransport};
#[cfg(feature = "tracing")]
pub use self::tracing::TracingTransport;
