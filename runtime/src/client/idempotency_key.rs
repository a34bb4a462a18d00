//! Generates idempotency keys for requests if the caller passed none.

use std::{fmt, sync::Arc};

use crate::random::random_u64;

/// A source of random numbers.
#[derive(Clone)]
pub(super) struct RandomSource(Arc<dyn Fn() -> u64 + Send + Sync>);

impl RandomSource {
    pub(super) fn new(random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(random))
    }

    /// Returns a random UUID (RFC 9562, version 4), the usual form of idempotency keys.
    pub(super) fn idempotency_key(&self) -> String {
        let bits = (u128::from((self.0)()) << 64) | u128::from((self.0)());
        let bits = (bits & !(0xf << 76) & !(0b11 << 62)) | (4 << 76) | (0b10 << 62);
        let text = format!("{bits:032x}");
        let mut key = String::with_capacity(36);
        for (at, digit) in text.chars().enumerate() {
            if matches!(at, 8 | 12 | 16 | 20) {
                key.push('-');
            }
            key.push(digit);
        }
        key
    }
}

impl Default for RandomSource {
    fn default() -> Self {
        Self::new(random_u64)
    }
}

impl fmt::Debug for RandomSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomSource").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_uuids() {
        let key = |bits: u64| RandomSource::new(move || bits).idempotency_key();
        assert_eq!(key(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(key(u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(key(0x0123_4567_89ab_cdef), "01234567-89ab-4def-8123-456789abcdef");
        let random = RandomSource::default();
        assert_ne!(random.idempotency_key(), random.idempotency_key());
    }
}
