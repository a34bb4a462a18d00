//! One clock per origin: no server's offset is applied to another.

use std::num::NonZeroUsize;

use super::{Observation, Reading, SavedClock, ServerClock, Tolerance};

/// The clocks of the servers that answered last.
#[derive(Clone, Debug)]
pub struct Clocks {
    most: NonZeroUsize,
    tolerance: Tolerance,
    /// The one that answered last stands last.
    known: Vec<(Box<str>, ServerClock)>,
}

/// Sixteen: a client talks to a resource server and an authorization server, a test to a few.
impl Default for Clocks {
    fn default() -> Self {
        Self::new(NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN), Tolerance::default())
    }
}

impl Clocks {
    /// So many clocks at most, each with this tolerance.
    #[must_use]
    pub const fn new(most: NonZeroUsize, tolerance: Tolerance) -> Self {
        Self { most, tolerance, known: Vec::new() }
    }

    /// What is known of the clock of an origin, such as `https://api.example`; texts are
    /// compared as they are.
    #[must_use]
    pub fn of(&self, origin: &str) -> ServerClock {
        let known = self.known.iter().find(|(known, _)| **known == *origin);
        known.map_or(ServerClock::new(self.tolerance), |(_, clock)| *clock)
    }

    /// Takes in what an answer of an origin tells ([`ServerClock::observe`]). When there are too
    /// many, the one that has not answered for longest is forgotten.
    pub fn observe(&mut self, origin: &str, observation: &Observation) {
        let mut clock = self.of(origin);
        clock.observe(observation);
        self.known.retain(|(known, _)| **known != *origin);
        self.known.push((origin.into(), clock));
        self.drop_surplus();
    }

    /// By how much those clocks are ahead that the wall clock is corrected by, for the next process.
    #[must_use]
    pub fn save(&self, now: Reading) -> Vec<SavedClock> {
        self.known.iter().filter_map(|(origin, clock)| SavedClock::of(origin, clock, now)).collect()
    }

    /// Takes over what another process saved of servers that have not answered this one. Left out is what is
    /// older than [`Tolerance::saved_for`] or from further in the future than [`SavedClock::MAX_AHEAD`]; where
    /// the wall clock was set since, the first answer contradicts it.
    pub fn restore(&mut self, saved: impl IntoIterator<Item = SavedClock>, now: Reading) {
        let mut added: Vec<(Box<str>, ServerClock)> = Vec::new();
        for saved in saved {
            let is_known = self.known.iter().chain(&added).any(|(known, _)| **known == *saved.origin);
            let clock = saved.restored(self.tolerance, now);
            if let (false, Some(clock)) = (is_known, clock) {
                added.push((saved.origin.into(), clock));
            }
        }
        self.known.splice(..0, added);
        self.drop_surplus();
    }

    fn drop_surplus(&mut self) {
        self.known.drain(..self.known.len().saturating_sub(self.most.get()));
    }
}
