//! What the service takes from outside: the time, and random numbers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
    ids: Arc<Mutex<Ids>>,
}

/// Random bytes for ids that are no secret, drawn for many of them at once: each request has one, and asking the system
/// for it would cost more than writing it.
struct Ids {
    drawn: [[u8; 16]; 32],
    /// How many of them are left.
    left: usize,
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
        let ids = Ids { drawn: [[0; 16]; 32], left: 0 };
        Self { clock, random, ids: Arc::new(Mutex::new(ids)) }
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

    /// Random bytes for an id that is no secret and opens nothing.
    ///
    /// # Errors
    /// When there are none to be had.
    pub fn id(&self) -> Result<[u8; 16], RandomError> {
        // Whoever failed while it was locked has left it as it was.
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.left == 0 {
            self.random.fill(ids.drawn.as_flattened_mut())?;
            ids.left = ids.drawn.len();
        }
        ids.left -= 1;
        Ok(ids.drawn[ids.left])
    }

    /// Random text of `N` bytes, as base64url without padding: an opaque id of 16 bytes, a secret of 32.
    ///
    /// # Errors
    /// When there are no random numbers to be had.
    pub fn token<const N: usize>(&self) -> Result<String, RandomError> {
        Ok(URL_SAFE_NO_PAD.encode(self.bytes::<N>()?))
    }
}
