//! Layers around a transport: retries, timeouts, a concurrency limit and tracing spans. [`TransportStack`]
//! combines them in a suitable order.
//!
//! An outer layer sees the effects of the inner ones: a [`Timeout`] inside a [`Retry`] limits one attempt,
//! one around it limits all attempts. Every layer supports streams. It applies until the head of the response
//! arrives; the body is up to the reader.

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
pub use self::tower::TowerTransport;
#[cfg(feature = "tracing")]
pub use self::tracing::TracingTransport;
