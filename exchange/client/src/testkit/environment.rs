//! Time that passes when a test says so: tokio's paused clock, with a wall clock that can be wrong.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dpop_bound::{Random, UnixTime, clock::Reading, random::RandomError};
use tokio::time::Instant;

use crate::environment::{Clock, Environment, Sleep};

/// The true time at which every [`VirtualEnvironment`] begins: 2026-09-21, a quarter past ten in the morning.
pub const START: UnixTime = UnixTime::from_secs(1_790_000_100);

/// A machine in virtual time. To be made and used in a runtime whose time is paused
/// (`#[tokio::test(start_paused = true)]`); cloning shares it.
///
/// The true time, which servers go by, is [`START`] and what has passed since. This machine's wall clock shows
/// the same until [`set_wrong_by`](Self::set_wrong_by) says otherwise.
#[derive(Clone)]
pub struct VirtualEnvironment(Arc<Inner>);

struct Inner {
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    /// The wall clock less the true time, in milliseconds.
    wrong_by: i64,
    /// How long the machine slept, while its monotonic clock stood.
    asleep: Duration,
    random: u64,
}

impl VirtualEnvironment {
    /// A machine with these random numbers. Two with one seed would make the same proof ids.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State { wrong_by: 0, asleep: Duration::ZERO, random: seed };
        Self(Arc::new(Inner { begun: Instant::now(), state: Mutex::new(state) }))
    }

    /// The same as what a client takes.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::new(self.clone(), self.clone())
    }

    /// The time that has passed, by the true clock.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.begun.elapsed() + self.state().asleep
    }

    /// The true time.
    #[must_use]
    pub fn true_time(&self) -> UnixTime {
        START.saturating_add(self.elapsed())
    }

    /// The wall clock of this machine shows so many seconds more than the true time from now on, or less.
    pub fn set_wrong_by(&self, seconds: i64) {
        self.state().wrong_by = seconds.saturating_mul(1000);
    }

    /// The machine sleeps: time passes, and its monotonic clock stands still.
    pub fn suspend(&self, time: Duration) {
        self.state().asleep += time;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualEnvironment {
    fn now(&self) -> Reading {
        let wrong_by = self.state().wrong_by;
        let off = Duration::from_millis(wrong_by.unsigned_abs());
        let time = self.true_time();
        let wall = if wrong_by < 0 { time.saturating_sub(off) } else { time.saturating_add(off) };
        Reading { wall, monotonic: self.0.begun.elapsed() }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// SplitMix64: nothing that anybody should rely on for secrets.
impl Random for VirtualEnvironment {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        let mut state = self.state();
        for chunk in bytes.chunks_mut(8) {
            state.random = state.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state.random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl fmt::Debug for VirtualEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualEnvironment").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_passes_when_it_is_waited_for() {
        let machine = VirtualEnvironment::new(1);
        let environment = machine.environment();
        assert_eq!(environment.now().wall, START);
        environment.sleep(Duration::from_secs(3600)).await;
        assert_eq!(machine.elapsed(), Duration::from_secs(3600));
        machine.set_wrong_by(-5);
        machine.suspend(Duration::from_secs(100));
        let now = environment.now();
        assert_eq!(now.wall, START.saturating_add(Duration::from_secs(3695)));
        assert_eq!(now.monotonic, Duration::from_secs(3600));
        assert_eq!(machine.true_time(), START.saturating_add(Duration::from_secs(3700)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_seed_repeats_its_numbers() {
        let numbers = |seed| {
            let mut bytes = [0; 20];
            VirtualEnvironment::new(seed).fill(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        assert_ne!(numbers(7)[..8], numbers(7)[8..16]);
    }
}
