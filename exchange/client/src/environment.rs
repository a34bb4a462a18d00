//! Time, sleep and randomness. A program can replace them, so that a seed reproduces a run and tests do not
//! wait.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use dpop_bound::{RandomSource, SystemRandom, UnixTime, clock::ClockReading, random::RandomError};

use crate::error::{Error, ErrorKind};

/// The tolerated correction of the wall clock. If a recorded timestamp is further in the future, the clock
/// was set back after it was recorded.
pub(crate) const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// The future that [`Clock::sleep`] returns.
pub type SleepFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The wall clock, the monotonic clock, and a timer.
pub trait Clock: Send + Sync {
    /// Reads both clocks at the same moment.
    fn now(&self) -> ClockReading;

    /// Returns a future that completes after this duration. Dropping the future cancels the timer.
    fn sleep(&self, time: Duration) -> SleepFuture<'_>;
}

/// The clocks, the timer, and the random source of a client. Clones share them.
#[derive(Clone)]
pub struct Environment {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
}

impl Environment {
    /// Creates an environment with the machine's clocks, tokio's timer, and the operating system's random
    /// source.
    #[must_use]
    pub fn system() -> Self {
        Self::new(SystemClock { started_at: Instant::now() }, SystemRandom)
    }

    /// Creates an environment with a custom clock and a custom random source.
    #[must_use]
    pub fn new(clock: impl Clock + 'static, random: impl RandomSource + 'static) -> Self {
        Self { clock: Arc::new(clock), random: Arc::new(random) }
    }

    /// Reads both clocks at the same moment.
    #[must_use]
    pub fn now(&self) -> ClockReading {
        self.clock.now()
    }

    /// Returns true if both environments share one clock, so that their monotonic times are comparable.
    pub(crate) fn shares_clock_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.clock, &other.clock)
    }

    /// Returns a future that completes after this duration.
    pub fn sleep(&self, time: Duration) -> SleepFuture<'_> {
        self.clock.sleep(time)
    }

    /// Returns 128 random bits as 32 hexadecimal digits: a unique token that cannot be guessed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Bug`] if the random source fails.
    pub(crate) fn random_token(&self) -> Result<String, Error> {
        let mut bytes = [0; 16];
        let what = "the random number generator of this computer failed";
        self.random.fill(&mut bytes).map_err(|error| Error::with_source(ErrorKind::Bug, what, error))?;
        Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Returns a random number in `0.0..1.0` for jitter, or 0.5 if the random source fails.
    #[must_use]
    pub fn random_fraction(&self) -> f64 {
        let mut bytes = [0; 4];
        match self.random.fill(&mut bytes) {
            Ok(()) => f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
            Err(_) => 0.5,
        }
    }
}

impl RandomSource for Environment {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.random.fill(bytes)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// The machine's clocks. No other code of this crate reads them.
struct SystemClock {
    started_at: Instant,
}

impl Clock for SystemClock {
    fn now(&self) -> ClockReading {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        ClockReading {
            wall: UnixTime::from_millis(u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)),
            monotonic: self.started_at.elapsed(),
        }
    }

    fn sleep(&self, time: Duration) -> SleepFuture<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}
