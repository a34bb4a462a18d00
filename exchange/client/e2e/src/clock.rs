//! The clocks of a machine whose time is that of a sandbox, which a test moves: nobody waits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use exchange_client::{
    Clock, Environment, Sleep, UnixTime,
    dpop::{SystemRandom, clock::Reading},
};
use exchange_service::{
    sandbox::Sandbox,
    time::{Clock as _, MovedClock},
};

/// How long its machine was on when its time began, in milliseconds, so that its clocks can be behind.
const ON_FOR: i64 = 1_000_000;
/// Waits of at least this long are limits of a request, which no test comes to.
const LIMIT: Duration = Duration::from_secs(15);

/// What a wait does with the time of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It lasts until somebody moved that.
    ForTheTest,
    /// A short one, between polls or before a resend, moves it; a longer one, which gives up on an answer, is as long
    /// as it is.
    MovesOn,
}

/// The clocks of one machine. Cloning shares them.
#[derive(Clone, Debug)]
pub struct SandboxClock {
    clock: MovedClock,
    begun: i64,
    waiting: Waiting,
    /// In seconds.
    wrong_by: Arc<AtomicI64>,
    ahead: Arc<AtomicI64>,
}

impl SandboxClock {
    /// With the time that the sandbox has.
    #[must_use]
    pub fn of(sandbox: &Sandbox, waiting: Waiting) -> Self {
        let clock = sandbox.clock().clone();
        let begun = clock.now().millis() - ON_FOR;
        Self { clock, begun, waiting, wrong_by: Arc::default(), ahead: Arc::default() }
    }

    /// These clocks, and the machine's random numbers.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::new(self.clone(), SystemRandom)
    }

    /// The wall clock shows so many seconds more than it should from now on, or less.
    pub fn set_wrong_by(&self, seconds: i64) {
        self.wrong_by.store(seconds, Ordering::SeqCst);
    }

    /// All clocks of this machine are so many seconds ahead of the sandbox's from now on, or behind.
    pub fn set_ahead(&self, seconds: i64) {
        self.ahead.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> Reading {
        let millis = |moment: i64| u64::try_from(moment).unwrap_or_default();
        let now = self.clock.now().millis() + 1000 * self.ahead.load(Ordering::SeqCst);
        let wall = now + 1000 * self.wrong_by.load(Ordering::SeqCst);
        Reading {
            wall: UnixTime::from_millis(millis(wall)),
            monotonic: Duration::from_millis(millis(now - self.begun)),
        }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        Box::pin(async move {
            match self.waiting {
                Waiting::MovesOn if time < LIMIT => self.clock.advance(time),
                Waiting::MovesOn => tokio::time::sleep(time).await,
                Waiting::ForTheTest => {
                    let end = self.now().monotonic + time;
                    while self.now().monotonic < end {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            }
        })
    }
}
