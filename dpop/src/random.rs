//! Random number generators. They are passed as arguments, so that tests can use fixed numbers.

use std::sync::Arc;

/// A cryptographically secure random number generator, in production that of the operating system
/// ([`SystemRandom`]).
pub trait RandomSource: Send + Sync {
    /// Fills the buffer with random bytes.
    ///
    /// # Errors
    /// Returns an error if the generator cannot fill the buffer; the caller must not use the bytes then.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError>;
}

impl<R: RandomSource + ?Sized> RandomSource for &R {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(bytes)
    }
}

impl<R: RandomSource + ?Sized> RandomSource for Arc<R> {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(bytes)
    }
}

/// The error of a random number generator that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the random number generator failed")]
pub struct RandomError;

/// The random number generator of the operating system.
#[cfg(feature = "system-random")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

#[cfg(feature = "system-random")]
impl RandomSource for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(bytes).map_err(|_| RandomError)
    }
}
