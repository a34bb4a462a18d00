//! A seeded random number generator, for reproducible runs.

use std::sync::atomic::{AtomicU64, Ordering};

use dpop_bound::RandomSource;
use dpop_bound::random::RandomError;

use crate::secrets;

/// A generator that hashes a seed and a counter with SHA-256. The same seed and the same sequence of calls
/// produce the same numbers.
///
/// Only for the sandbox, because all secrets can be derived from the seed.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    count: AtomicU64,
}

impl SeededRandom {
    /// Creates a generator at the start of the sequence for a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, count: AtomicU64::new(0) }
    }
}

impl RandomSource for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        for chunk in bytes.chunks_mut(32) {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let hash = secrets::sha256_parts(&[&self.seed.to_be_bytes(), &count.to_be_bytes()]);
            chunk.copy_from_slice(&hash[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u64) -> [[u8; 40]; 2] {
        let random = SeededRandom::new(seed);
        [(); 2].map(|()| {
            let mut bytes = [0; 40];
            random.fill(&mut bytes).expect("the generator never fails");
            bytes
        })
    }

    #[test]
    fn seed_repeats_its_numbers() {
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        let [first, second] = numbers(7);
        assert_ne!(first, second);
    }
}
