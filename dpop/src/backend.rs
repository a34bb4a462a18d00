//! ES256 by three libraries, one feature each: [`aws_lc_rs`], [`ring`], [`p256`].
//!
//! Each module has the same two types: a `KeyPair`, which generates, imports, exports and signs, and an
//! `Es256`, which verifies. [`KeyPair`] and [`Es256`] here are those of the first that is
//! enabled, in this order; with none of them, keys and verifiers are the caller's own.
//!
//! AWS-LC is the default: it clears the memory of its keys, and it is the fastest of the three, by a little.
//! ring makes a program a quarter as large and builds in two fifths of the time, but leaves copies of its keys behind. p256
//! clears its keys, needs no C compiler and signs deterministically (RFC 6979), at a third of the speed.
//! `BENCHMARKS.md` has the figures.
//!
//! Private keys have neither `Debug` nor `Serialize`. They leave by `to_pkcs8` alone, into memory
//! that is cleared when it is dropped.
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

/// Why there is no key pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The bytes are no private key for P-256 in PKCS#8 (RFC 5208, RFC 5915), or its two halves do not
    /// belong together.
    #[error("not a P-256 private key in PKCS#8")]
    Pkcs8,
    /// The library could not make or write a key, for want of random numbers or memory.
    #[error("the key could not be made")]
    Failed,
}
