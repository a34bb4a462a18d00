//! Time, sleep and randomness: everything that is not a decision. Injected, so that a seed repeats a run and
//! no test waits.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use dpop_bound::{Random, SystemRandom, UnixTime, clock::Reading, random::RandomError};

use crate::error::{Error, ErrorKind};

/// So much a clock is corrected by without a word: a time that lies further ahead was noted before it was set back.
pub(crate) const CORRECTION: Duration = Duration::from_secs(60);

/// What [`Clock::sleep`] gives.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Both local clocks, and waiting by the monotonic one.
pub trait Clock: Send + Sync {
    /// Both clocks, read at one moment.
    fn now(&self) -> Reading;

    /// Waits. Dropping the future ends it.
    fn sleep(&self, time: Duration) -> Sleep<'_>;
}

/// The surroundings of a client. Cloning shares them.
#[derive(Clone)]
pub struct Environment {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl Environment {
    /// The machine's clocks, tokio's timer and the operating system's random numbers.
    #[must_use]
    pub fn system() -> Self {
        Self::new(SystemClock { begun: Instant::now() }, SystemRandom)
    }

    /// Surroundings of your own.
    #[must_use]
    pub fn new(clock: impl Clock + 'static, random: impl Random + 'static) -> Self {
        Self { clock: Arc::new(clock), random: Arc::new(random) }
    }

    /// Both clocks.
    #[must_use]
    pub fn now(&self) -> Reading {
        self.clock.now()
    }

    /// Whether moments of the monotonic clock mean the same to both.
    pub(crate) fn has_clock_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.clock, &other.clock)
    }

    /// Waits.
    pub fn sleep(&self, time: Duration) -> Sleep<'_> {
        self.clock.sleep(time)
    }

    /// 128 random bits as 32 hexadecimal digits: a name that nobody guesses and nobody else has.
    ///
    /// # Errors
    /// `Bug` when there are no random numbers to be had.
    pub(crate) fn token(&self) -> Result<String, Error> {
        let mut bytes = [0; 16];
        let what = "this computer gives no random numbers";
        self.random.fill(&mut bytes).map_err(|error| Error::caused(ErrorKind::Bug, what, error))?;
        Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// A number from 0 to below 1, for jitter: the middle when there are no random numbers to be had, since
    /// no decision hangs on it.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let mut bytes = [0; 4];
        match self.random.fill(&mut bytes) {
            Ok(()) => f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
            Err(_) => 0.5,
        }
    }
}

impl Random for Environment {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.random.fill(bytes)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// The machine's clocks. The only place of this crate that reads them.
struct SystemClock {
    begun: Instant,
}

impl Clock for SystemClock {
    fn now(&self) -> Reading {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Reading {
            wall: UnixTime::from_millis(u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)),
            monotonic: self.begun.elapsed(),
        }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}
