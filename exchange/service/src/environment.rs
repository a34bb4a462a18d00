//! The injected dependencies of the service: the clock and the source of random numbers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dpop_bound::random::RandomError;
use dpop_bound::{RandomSource, SystemRandom};

use crate::time::{Clock, Moment, SystemClock};

/// The clock and the source of random numbers, which all parts of the service receive. Clones share both.
#[derive(Clone)]
pub struct Environment {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    ids: Arc<Mutex<IdPool>>,
}

/// A buffer of random bytes for ids that are not secret. It is filled with many ids at once, which saves one
/// system call per request.
struct IdPool {
    ids: [[u8; 16]; 32],
    remaining: usize,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Environment {
    /// Creates an environment from a clock and a source of random numbers.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn RandomSource>) -> Self {
        let ids = IdPool { ids: [[0; 16]; 32], remaining: 0 };
        Self { clock, random, ids: Arc::new(Mutex::new(ids)) }
    }

    /// Creates an environment with the system's clock and source of random numbers.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(SystemRandom))
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns the source of random numbers.
    #[must_use]
    pub fn random(&self) -> &dyn RandomSource {
        &*self.random
    }

    /// Returns `N` random bytes.
    ///
    /// # Errors
    /// Returns [`RandomError`] if the source fails.
    pub fn random_bytes<const N: usize>(&self) -> Result<[u8; N], RandomError> {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns random bytes for an id that is not secret.
    ///
    /// # Errors
    /// Returns [`RandomError`] if the source fails.
    pub fn random_id(&self) -> Result<[u8; 16], RandomError> {
        // A panic while the lock is held leaves the pool in a consistent state.
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.remaining == 0 {
            self.random.fill(ids.ids.as_flattened_mut())?;
            ids.remaining = ids.ids.len();
        }
        ids.remaining -= 1;
        Ok(ids.ids[ids.remaining])
    }

    /// Returns `N` random bytes in base64url without padding. 16 bytes suffice for an opaque id, 32 for a
    /// secret.
    ///
    /// # Errors
    /// Returns [`RandomError`] if the source fails.
    pub fn random_token<const N: usize>(&self) -> Result<String, RandomError> {
        Ok(URL_SAFE_NO_PAD.encode(self.random_bytes::<N>()?))
    }
}
