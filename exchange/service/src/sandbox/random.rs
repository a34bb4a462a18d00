//! Random numbers that a seed repeats, for runs that have to come out the same.

use std::sync::atomic::{AtomicU64, Ordering};

use dpop_bound::Random;
use dpop_bound::random::RandomError;

use crate::secrets;

/// SHA-256 over a seed and a count: the same seed gives the same numbers, in the order of the calls.
///
/// Whoever knows the seed knows all secrets made of it: for the sandbox alone.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    count: AtomicU64,
}

impl SeededRandom {
    /// Begins where every run of this seed begins.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, count: AtomicU64::new(0) }
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        for chunk in bytes.chunks_mut(32) {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let hash = secrets::hash_of(&[&self.seed.to_be_bytes(), &count.to_be_bytes()]);
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
            random.fill(&mut bytes).expect("numbers");
            bytes
        })
    }

    #[test]
    fn a_seed_repeats_its_numbers() {
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        let [first, second] = numbers(7);
        assert_ne!(first, second);
    }
}
