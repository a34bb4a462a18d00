//! The settings of the transport, and the retry policy of a call.

use std::time::Duration;

use crate::{
    backoff::Backoff,
    rate_limiter::{CallInitiator, RateLimit},
};

/// Settings of a client's transport. To create them, change fields of `TransportSettings::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// The back-off between attempts (LIM-16).
    pub backoff: Backoff,
    /// The maximum request rate of the session.
    pub rate_limit: RateLimit,
    /// The retry policy of calls for which no other policy is set.
    pub retry_policy: RetryPolicy,
    /// The timeout for the response to a read.
    pub read_timeout: Duration,
    /// The timeout for the response to a write. Keep it above the 30 seconds that the gateway permits its
    /// backend, because the outcome is unknown after a shorter timeout.
    pub write_timeout: Duration,
    /// The maximum size of a response body, in bytes.
    pub max_body_size: usize,
}

/// The default is a read timeout of 30 seconds, a write timeout of 40 seconds, and a body size of 16 MiB.
impl Default for TransportSettings {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            rate_limit: RateLimit::default(),
            retry_policy: RetryPolicy::default(),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(40),
            max_body_size: 16 << 20,
        }
    }
}

/// The limits of a call's attempts and time. They can be set for each call with
/// `.with_extension(RetryPolicy::BACKGROUND)`.
///
/// A call ends immediately with its last response if its next request could only be sent after the time
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The maximum number of attempts. Requests that are repeated immediately because of a nonce, a clock, or
    /// a token do not count.
    pub max_attempts: u32,
    /// The time after the start of the call after which no further request is sent. A request in flight is
    /// completed.
    pub time_limit: Duration,
    /// The initiator of the call.
    pub initiator: CallInitiator,
}

/// The default is four attempts in two minutes, which is enough for a transient error, but not for an outage.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new(4, Duration::from_secs(120), CallInitiator::Program)
    }
}

impl RetryPolicy {
    /// The policy for a member who is waiting: three attempts in 30 seconds.
    pub const INTERACTIVE: Self = Self::new(3, Duration::from_secs(30), CallInitiator::Member);
    /// The policy for background work: twelve attempts in 15 minutes.
    pub const BACKGROUND: Self = Self::new(12, Duration::from_secs(15 * 60), CallInitiator::Program);

    /// Creates a policy.
    #[must_use]
    pub const fn new(attempts: u32, time: Duration, initiator: CallInitiator) -> Self {
        Self { max_attempts: attempts, time_limit: time, initiator }
    }
}
