//! What of the transport can be set, for all calls and for one.

use std::time::Duration;

use crate::{
    backoff::Backoff,
    pace::{Asked, Budget},
};

/// How a client sends. `Settings::default()`, and what is to be other than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How long to wait before a request is sent again (LIM-16).
    pub backoff: Backoff,
    /// How many requests the whole client sends.
    pub budget: Budget,
    /// How long a call goes on that does not say so itself.
    pub patience: Patience,
    /// How long an answer to a read may take.
    pub read_time: Duration,
    /// How long an answer to a write may take: longer than the thirty seconds that a gateway gives its
    /// backend, since who gives up before does not know what became of it.
    pub write_time: Duration,
    /// The largest body that is read, in bytes.
    pub max_body: usize,
}

/// Thirty seconds for reads and forty for writes; 16 MiB.
impl Default for Settings {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            budget: Budget::default(),
            patience: Patience::default(),
            read_time: Duration::from_secs(30),
            write_time: Duration::from_secs(40),
            max_body: 16 << 20,
        }
    }
}

/// How long a call goes on: given to one with `.with(Patience::BACKGROUND)`.
///
/// When the next request could leave only after the time is over, the call ends at once, with what was answered
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// So many requests at the most. Those that cost no time, for a nonce, a clock, a token, are not counted.
    pub attempts: u32,
    /// No request leaves later than this after the beginning; one that has left is heard out.
    pub time: Duration,
    /// Who wants it.
    pub asked: Asked,
}

/// Four requests in two minutes: enough for a stumble of the server, not for an outage.
impl Default for Patience {
    fn default() -> Self {
        Self::new(4, Duration::from_secs(120), Asked::ByProgram)
    }
}

impl Patience {
    /// Somebody is looking at it: three requests in thirty seconds.
    pub const INTERACTIVE: Self = Self::new(3, Duration::from_secs(30), Asked::ByMember);
    /// Nobody is waiting: twelve requests in a quarter of an hour.
    pub const BACKGROUND: Self = Self::new(12, Duration::from_secs(15 * 60), Asked::ByProgram);

    /// So many requests in so much time.
    #[must_use]
    pub const fn new(attempts: u32, time: Duration, asked: Asked) -> Self {
        Self { attempts, time, asked }
    }
}
