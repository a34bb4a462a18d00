//! Virtual time: tokio's paused clock, with a wall clock that can be wrong.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dpop_bound::{RandomSource, UnixTime, clock::ClockReading, random::RandomError};
use tokio::time::Instant;

use crate::environment::{Clock, Environment, SleepFuture};

/// The true time at the start of every [`VirtualEnvironment`]: 2026-09-21T14:15:00Z.
pub const START_TIME: UnixTime = UnixTime::from_secs(1_790_000_100);

/// A simulated machine in virtual time. Create and use it in a runtime with paused time
/// (`#[tokio::test(start_paused = true)]`). Clones share the machine.
///
/// Servers use the true time, which is [`START_TIME`] plus the elapsed time. The wall clock of the machine
/// shows the same time until [`set_clock_offset`](Self::set_clock_offset) changes it.
#[derive(Clone)]
pub struct VirtualEnvironment(Arc<VirtualInner>);

struct VirtualInner {
    begun: Instant,
    state: Mutex<VirtualState>,
}

struct VirtualState {
    /// The wall clock minus the true time, in milliseconds.
    clock_offset: i64,
    /// The total time for which the machine was suspended. Its monotonic clock stopped meanwhile.
    asleep: Duration,
    random: u64,
}

impl VirtualEnvironment {
    /// Creates a machine with a seed. Two machines with the same seed generate the same proof ids.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = VirtualState { clock_offset: 0, asleep: Duration::ZERO, random: seed };
        Self(Arc::new(VirtualInner { begun: Instant::now(), state: Mutex::new(state) }))
    }

    /// Returns the environment of this machine for a client.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::new(self.clone(), self.clone())
    }

    /// Returns the elapsed true time, which includes suspends.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.begun.elapsed() + self.state().asleep
    }

    /// Returns the simulated time, without the offset of the machine's wall clock.
    #[must_use]
    pub fn true_time(&self) -> UnixTime {
        START_TIME.saturating_add(self.elapsed())
    }

    /// Sets the wall clock ahead of the true time by this number of seconds, or behind it if the number is
    /// negative.
    pub fn set_clock_offset(&self, seconds: i64) {
        self.state().clock_offset = seconds.saturating_mul(1000);
    }

    /// Suspends the machine for this duration: true time passes, and the monotonic clock stops.
    pub fn suspend(&self, time: Duration) {
        self.state().asleep += time;
    }

    fn state(&self) -> MutexGuard<'_, VirtualState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualEnvironment {
    fn now(&self) -> ClockReading {
        let clock_offset = self.state().clock_offset;
        let off = Duration::from_millis(clock_offset.unsigned_abs());
        let time = self.true_time();
        let wall = if clock_offset < 0 { time.saturating_sub(off) } else { time.saturating_add(off) };
        ClockReading { wall, monotonic: self.0.begun.elapsed() }
    }

    fn sleep(&self, time: Duration) -> SleepFuture<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// SplitMix64, a deterministic generator that is not suitable for secrets.
impl RandomSource for VirtualEnvironment {
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
    async fn virtual_time_advances_while_waiting() {
        let machine = VirtualEnvironment::new(1);
        let environment = machine.environment();
        assert_eq!(environment.now().wall, START_TIME);
        environment.sleep(Duration::from_secs(3600)).await;
        assert_eq!(machine.elapsed(), Duration::from_secs(3600));
        machine.set_clock_offset(-5);
        machine.suspend(Duration::from_secs(100));
        let now = environment.now();
        assert_eq!(now.wall, START_TIME.saturating_add(Duration::from_secs(3695)));
        assert_eq!(now.monotonic, Duration::from_secs(3600));
        assert_eq!(machine.true_time(), START_TIME.saturating_add(Duration::from_secs(3700)));
    }

    #[tokio::test(start_paused = true)]
    async fn seed_repeats_its_numbers() {
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
