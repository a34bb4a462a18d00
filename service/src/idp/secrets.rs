//! Secrets that clients and browsers hold: made here, stored as hashes.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, params};

use crate::environment::Environment;
use crate::store::StoreError;

/// SHA-256 of a secret, as it is stored.
pub(crate) type Hash = [u8; 32];

/// The hash of a secret.
pub(crate) fn hash(secret: &str) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
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

/// A key of the service's own, made when it is asked for the first time.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub(super) fn key(
    connection: &Connection,
    environment: &Environment,
    name: &str,
) -> Result<hmac::Key, StoreError> {
    let made: [u8; 32] = environment.bytes()?;
    connection.execute(
        "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
        params![name, made],
    )?;
    let kept: Vec<u8> =
        connection.query_row("SELECT value FROM secret WHERE name = ?1", [name], |row| row.get(0))?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &kept))
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
}
