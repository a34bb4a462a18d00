//! One clock per origin: no server's offset is applied to another (DPP-09).

use super::{Observation, ServerClock};

/// The clocks of the servers that answered last, [`Clocks::MOST`] of them.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// The one that answered last stands last.
    known: Vec<(Box<str>, ServerClock)>,
}

impl Clocks {
    /// How many are kept: a client talks to a gateway and an identity provider, a test to a few.
    pub const MOST: usize = 16;

    /// What is known of the clock of an origin, such as `https://exchange.example`; texts are
    /// compared as they are.
    #[must_use]
    pub fn of(&self, origin: &str) -> ServerClock {
        self.known.iter().find(|(known, _)| **known == *origin).map(|(_, clock)| *clock).unwrap_or_default()
    }

    /// Takes in what an answer of an origin tells ([`ServerClock::observe`]). When there are too
    /// many, the one that has not answered for longest is forgotten.
    pub fn observe(&mut self, origin: &str, observation: &Observation) {
        let mut clock = self.of(origin);
        clock.observe(observation);
        self.known.retain(|(known, _)| **known != *origin);
        if self.known.len() == Self::MOST {
            self.known.remove(0);
        }
        self.known.push((origin.into(), clock));
    }
}
