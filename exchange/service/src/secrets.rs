//! Hashes, and what is made of secrets: one room for SHA-256 and its text.
//!
//! A secret that somebody else holds is stored as its hash; what the service signs with is the store's
//! (`store::own_key`).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// SHA-256.
pub(crate) type Hash = [u8; 32];

/// The hash of a text or of bytes.
pub(crate) fn hash(bytes: impl AsRef<[u8]>) -> Hash {
    of(&digest(&SHA256, bytes.as_ref()))
}

/// The hash of some parts, one behind the other.
pub(crate) fn hash_of(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    of(&context.finish())
}

fn of(digest: &Digest) -> Hash {
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

/// The first bytes of a hash, as a name for what it is of.
pub(crate) fn head<const N: usize>(hash: &Hash) -> [u8; N] {
    const { assert!(N <= size_of::<Hash>(), "a hash has no more bytes") };
    hash.first_chunk().copied().unwrap_or([0; N])
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Whether two are the same, in a time that does not tell where they differ.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    verify_slices_are_equal(one, other).is_ok()
}

/// HMAC-SHA-256 over some parts, none of which can be shifted into the next, in base64url.
pub(crate) fn mac(key: &hmac::Key, parts: &[&str]) -> String {
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
    fn parts_do_not_shift() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        assert_ne!(mac(&key, &["ab", "c"]), mac(&key, &["a", "bc"]));
        assert_eq!(mac(&key, &["ab", "c"]), mac(&key, &["ab", "c"]));
        assert!(same(&hash("a"), &hash("a")) && !same(&hash("a"), &hash("b")));
    }

    /// FIPS 180-4, B.1.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&hash("abc")), abc);
        assert_eq!(hex(&hash_of(&[b"a", b"", b"bc"])), abc);
        assert_eq!(hex(&head::<4>(&hash("abc"))), "ba7816bf");
    }
}
