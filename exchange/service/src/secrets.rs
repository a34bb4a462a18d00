//! SHA-256 hashes, HMACs and constant-time comparison.
//!
//! Secrets of clients and browsers are stored only as hashes. Keys of the service itself are in the table
//! `secret` (`store::ensure_key`).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) type Sha256Hash = [u8; 32];

/// Returns the SHA-256 hash of a string or of bytes.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> Sha256Hash {
    digest_bytes(&digest(&SHA256, bytes.as_ref()))
}

/// Returns the SHA-256 hash of the concatenated parts.
pub(crate) fn sha256_parts(parts: &[&[u8]]) -> Sha256Hash {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    digest_bytes(&context.finish())
}

fn digest_bytes(digest: &Digest) -> Sha256Hash {
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

/// Returns the first `N` bytes of a hash, for use as a short identifier.
pub(crate) fn hash_prefix<const N: usize>(hash: &Sha256Hash) -> [u8; N] {
    const { assert!(N <= size_of::<Sha256Hash>(), "N must not exceed the length of a hash") };
    hash.first_chunk().copied().unwrap_or([0; N])
}

pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Compares two byte strings in constant time.
pub(crate) fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    verify_slices_are_equal(one, other).is_ok()
}

/// Computes an HMAC-SHA-256 of parts, each prefixed with its length, and encodes it in base64url.
pub(crate) fn hmac_base64(key: &hmac::Key, parts: &[&str]) -> String {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(context.sign())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_separates_its_parts() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        assert_ne!(hmac_base64(&key, &["ab", "c"]), hmac_base64(&key, &["a", "bc"]));
        assert_eq!(hmac_base64(&key, &["ab", "c"]), hmac_base64(&key, &["ab", "c"]));
        assert!(
            constant_time_eq(&sha256("a"), &sha256("a")) && !constant_time_eq(&sha256("a"), &sha256("b"))
        );
    }

    /// The hashes equal those of FIPS 180-4, example B.1.
    #[test]
    fn hashes_match_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(encode_hex(&sha256("abc")), abc);
        assert_eq!(encode_hex(&sha256_parts(&[b"a", b"", b"bc"])), abc);
        assert_eq!(encode_hex(&hash_prefix::<4>(&sha256("abc"))), "ba7816bf");
    }
}
