//! The clocks of a machine that follow the time of a sandbox, which a test advances without waiting.

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

/// Uptime of the machine at the start in milliseconds, so that its clocks can be set back.
const ON_FOR: i64 = 1_000_000;
/// Sleeps of at least this long are request timeouts, which no test reaches.
const LIMIT: Duration = Duration::from_secs(15);

/// The effect of a sleep on the time of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepMode {
    /// The sleep lasts until the test advances the time.
    WaitForTest,
    /// A short sleep, such as between polls or before a resend, advances the time. A long one, which is a
    /// request timeout, runs in real time.
    AdvanceClock,
}

/// The clocks of one machine. Cloning shares them.
#[derive(Clone, Debug)]
pub struct SandboxClock {
    clock: ManualClock,
    begun: i64,
    waiting: SleepMode,
    /// Offset in seconds.
    wrong_by: Arc<AtomicI64>,
    ahead: Arc<AtomicI64>,
}

impl SandboxClock {
    /// Creates clocks with the time of a sandbox.
    #[must_use]
    pub fn for_sandbox(sandbox: &Sandbox, waiting: SleepMode) -> Self {
        let clock = sandbox.clock().clone();
        let begun = clock.now().as_millis() - ON_FOR;
        Self { clock, begun, waiting, wrong_by: Arc::default(), ahead: Arc::default() }
    }

    /// Returns an environment with these clocks and the random numbers of the system.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::new(self.clone(), SystemRandom)
    }

    /// Sets the offset of the wall clock in seconds.
    pub fn set_clock_offset(&self, seconds: i64) {
        self.wrong_by.store(seconds, Ordering::SeqCst);
    }

    /// Sets the offset of all clocks from the sandbox in seconds.
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
