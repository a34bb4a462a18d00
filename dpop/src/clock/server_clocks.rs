//! A collection of clocks, one per origin: an offset is never applied to another server.

use std::num::NonZeroUsize;

use super::{ClockObservation, ClockReading, ClockTolerance, SavedClock, ServerClock};

/// The clocks of the servers that responded most recently.
#[derive(Clone, Debug)]
pub struct ServerClocks {
    max_origins: NonZeroUsize,
    tolerance: ClockTolerance,
    /// Invariant: sorted by last response, the most recent last.
    known: Vec<(Box<str>, ServerClock)>,
}

/// 16 clocks: a client uses one resource server and one authorization server, and tests use a few more.
impl Default for ServerClocks {
    fn default() -> Self {
        Self::new(NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN), ClockTolerance::default())
    }
}

impl ServerClocks {
    /// Creates a collection of at most `max_servers` clocks with the given tolerance.
    #[must_use]
    pub const fn new(max_servers: NonZeroUsize, tolerance: ClockTolerance) -> Self {
        Self { max_origins: max_servers, tolerance, known: Vec::new() }
    }

    /// Returns the clock of an origin, such as `https://api.example`, or an empty one. Origins are compared
    /// byte by byte.
    #[must_use]
    pub fn for_origin(&self, origin: &str) -> ServerClock {
        let known = self.known.iter().find(|(known, _)| **known == *origin);
        known.map_or(ServerClock::new(self.tolerance), |(_, clock)| *clock)
    }

    /// Adds the measurement of a response from this origin ([`ServerClock::observe`]). If there are too many
    /// clocks, drops the one that was least recently observed.
    pub fn observe(&mut self, origin: &str, observation: &ClockObservation) {
        let mut clock = self.for_origin(origin);
        clock.observe(observation);
        self.known.retain(|(known, _)| **known != *origin);
        self.known.push((origin.into(), clock));
        self.drop_surplus();
    }

    /// Exports the clocks that differ from the wall clock by more than the tolerance, for the next process.
    #[must_use]
    pub fn save(&self, now: ClockReading) -> Vec<SavedClock> {
        self.known.iter().filter_map(|(origin, clock)| SavedClock::from_clock(origin, clock, now)).collect()
    }

    /// Imports clocks that another process saved, for servers without a measurement. Skips clocks that are
    /// older than [`ClockTolerance::saved_for`] or further ahead than [`SavedClock::MAX_AHEAD`]. If the wall
    /// clock was set in the meantime, the first response contradicts the imported clock.
    pub fn restore(&mut self, saved: impl IntoIterator<Item = SavedClock>, now: ClockReading) {
        let mut added: Vec<(Box<str>, ServerClock)> = Vec::new();
        for saved in saved {
            let is_known = self.known.iter().chain(&added).any(|(known, _)| **known == *saved.origin);
            let clock = saved.to_server_clock(self.tolerance, now);
            if let (false, Some(clock)) = (is_known, clock) {
                added.push((saved.origin.into(), clock));
            }
        }
        self.known.splice(..0, added);
        self.drop_surplus();
    }

    fn drop_surplus(&mut self) {
        self.known.drain(..self.known.len().saturating_sub(self.max_origins.get()));
    }
}
