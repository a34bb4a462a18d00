//! Clocks of a machine that show the time of a sandbox, which a test can advance without waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use exchange_client::{
    Clock, Environment, SleepFuture, UnixTime,
    dpop::{SystemRandom, clock::ClockReading},
};
use exchange_service::{
    sandbox::Sandbox,
    time::{Clock as _, ManualClock},
};

/// The uptime of the machine at the start, in milliseconds. It is greater than zero, so that its clocks can
/// be set back.
const ON_FOR: i64 = 1_000_000;
/// Sleeps of at least this duration are request timeouts, which no test reaches.
const LIMIT: Duration = Duration::from_secs(15);

/// The effect that a sleep has on the time of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepMode {
    /// The sleep ends when the test has advanced the time far enough.
    WaitForTest,
    /// A short sleep, such as the one between two polls or before a retry, advances the time. A long sleep,
    /// which is a request timeout, runs in real time.
    AdvanceClock,
}

/// The clocks of one machine. Clones share them.
#[derive(Clone, Debug)]
pub struct SandboxClock {
    clock: ManualClock,
    begun: i64,
    waiting: SleepMode,
    /// The offset of the wall clock in seconds.
    wrong_by: Arc<AtomicI64>,
    ahead: Arc<AtomicI64>,
}

impl SandboxClock {
    /// Creates clocks that show the time of a sandbox.
    #[must_use]
    pub fn for_sandbox(sandbox: &Sandbox, waiting: SleepMode) -> Self {
        let clock = sandbox.clock().clone();
        let begun = clock.now().as_millis() - ON_FOR;
        Self { clock, begun, waiting, wrong_by: Arc::default(), ahead: Arc::default() }
    }

    /// Returns an environment with these clocks and the operating system's random numbers.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::new(self.clone(), SystemRandom)
    }

    /// Sets the offset of the wall clock in seconds.
    pub fn set_clock_offset(&self, seconds: i64) {
        self.wrong_by.store(seconds, Ordering::SeqCst);
    }

    /// Sets the offset of all clocks from the time of the sandbox, in seconds.
    pub fn set_ahead(&self, seconds: i64) {
        self.ahead.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> ClockReading {
        let millis = |moment: i64| u64::try_from(moment).unwrap_or_default();
        let now = self.clock.now().as_millis() + 1000 * self.ahead.load(Ordering::SeqCst);
        let wall = now + 1000 * self.wrong_by.load(Ordering::SeqCst);
        ClockReading {
            wall: UnixTime::from_millis(millis(wall)),
            monotonic: Duration::from_millis(millis(now - self.begun)),
        }
    }

    fn sleep(&self, time: Duration) -> SleepFuture<'_> {
        Box::pin(async move {
            match self.waiting {
                SleepMode::AdvanceClock if time < LIMIT => self.clock.advance(time),
                SleepMode::AdvanceClock => tokio::time::sleep(time).await,
                SleepMode::WaitForTest => {
                    let end = self.now().monotonic + time;
                    while self.now().monotonic < end {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            }
        })
    }
}
