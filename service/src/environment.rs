//! What the service takes from outside: the time, and random numbers.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dpop_bound::random::RandomError;
use dpop_bound::{Random, SystemRandom};

use crate::time::{Clock, Moment, SystemClock};

/// Clock and randomness, handed to everything that needs them.
#[derive(Clone)]
pub struct Environment {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Environment {
    /// These two.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { clock, random }
    }

    /// The system's.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRandom))
    }

    /// The moment it is.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// The clock itself.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The source of randomness itself.
    #[must_use]
    pub fn random(&self) -> &dyn Random {
        &*self.random
    }

    /// Random bytes.
    ///
    /// # Errors
    /// When there are none to be had.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], RandomError> {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Random text of `N` bytes, as base64url without padding: an opaque id of 16 bytes, a secret of 32.
    ///
    /// # Errors
    /// When there are no random numbers to be had.
    pub fn token<const N: usize>(&self) -> Result<String, RandomError> {
        Ok(URL_SAFE_NO_PAD.encode(self.bytes::<N>()?))
    }
}
