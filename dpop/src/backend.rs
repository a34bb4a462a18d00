//! ES256 implementations with three libraries, one feature each: [`aws_lc_rs`], [`ring`], [`p256`].
//!
//! Each module defines the same two types: a `KeyPair`, which generates, imports, exports and signs, and an
//! `Es256`, which verifies. [`KeyPair`] and [`Es256`] of this module are re-exports of the first enabled
//! backend, in that order. Without a backend the application supplies its own signer and verifier.
//!
//! AWS-LC is the default: it clears the memory of its keys and is slightly faster than the others. ring makes
//! a binary a quarter of the size and builds in two fifths of the time, but leaves copies of its keys in
//! memory. p256 clears its keys, needs no C compiler and signs deterministically (RFC 6979), at a third of
//! the speed. `BENCHMARKS.md` has the measurements.
//!
//! Private keys implement neither `Debug` nor `Serialize`. Only `to_pkcs8` exports them, into memory that is
//! cleared when it is dropped.
//!
//! ```compile_fail,E0277
//! let key = dpop_bound::KeyPair::generate().unwrap();
//! println!("{key:?}");
//! ```
//!
//! ```compile_fail,E0277
//! let key = dpop_bound::KeyPair::generate().unwrap();
//! serde_json::to_string(&key).unwrap();
//! ```

#[cfg(feature = "aws-lc-rs")]
pub mod aws_lc_rs;
#[cfg(feature = "p256")]
pub mod p256;
#[cfg(feature = "ring")]
pub mod ring;

#[cfg(feature = "aws-lc-rs")]
pub use self::aws_lc_rs::{Es256, KeyPair};
#[cfg(all(feature = "p256", not(any(feature = "aws-lc-rs", feature = "ring"))))]
pub use self::p256::{Es256, KeyPair};
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
pub use self::ring::{Es256, KeyPair};

/// An error from generating, importing or exporting a key pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The bytes are not a P-256 private key in PKCS#8 (RFC 5208, RFC 5915), or the private and the public
    /// half do not match.
    #[error("not a P-256 private key in PKCS#8")]
    Pkcs8,
    /// The library failed to generate or encode the key, for example because random numbers or memory were
    /// missing.
    #[error("key generation or encoding failed")]
    Failed,
}
