//! Random numbers for keys, boundaries and delays. They are unpredictable enough to be distinct, but not
//! suitable for secrets.

use std::hash::{BuildHasher, RandomState};

/// Returns a random number from the JavaScript host, because the seed of the standard library is constant in
/// WebAssembly.
#[cfg(target_arch = "wasm32")]
pub(crate) fn random_u64() -> u64 {
    getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(0))
}

/// Returns a random number from the seed of the standard library's hash maps, which differs for each call.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn random_u64() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ() {
        assert_ne!(random_u64(), random_u64());
    }
}
