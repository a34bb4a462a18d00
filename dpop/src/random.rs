//! Where random numbers come from: injected, so that a seed reproduces a run.

use std::sync::Arc;

/// A generator of random numbers that nobody can predict: in production, the operating system's
/// ([`SystemRandom`]).
pub trait Random: Send + Sync {
    /// Fills the bytes.
    ///
    /// # Errors
    /// When there are no random numbers to be had; nothing is made from less.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError>;
}

impl<R: Random + ?Sized> Random for &R {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(bytes)
    }
}

impl<R: Random + ?Sized> Random for Arc<R> {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(bytes)
    }
}

/// The generator failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no random numbers to be had")]
pub struct RandomError;

/// The operating system's generator.
#[cfg(feature = "system-random")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

#[cfg(feature = "system-random")]
impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(bytes).map_err(|_| RandomError)
    }
}
