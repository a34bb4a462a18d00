//! The traits between this crate and cryptography: signing of proofs and verification of signatures.
//!
//! Both traits use ES256 signatures in the form of RFC 7518, 3.4. Implement [`ProofSigner`] for a key in a
//! platform's key store, a TPM or a remote service. In-memory keys come with a backend ([`crate::backend`]).

use std::{error::Error, fmt, sync::Arc};

use crate::{key::PublicKey, maybe_ready::MaybeReady};

/// The holder of a client's private key.
///
/// The trait is not meant to sign arbitrary data: [`crate::Prover`] decides what is signed (RFC 9449, 11.4
/// and 11.5).
pub trait ProofSigner: Send + Sync {
    /// Returns the public half of the key: the proof's `jwk`.
    fn public_key(&self) -> &PublicKey;

    /// Creates an ES256 signature over the SHA-256 of the message.
    ///
    /// In-memory keys return [`MaybeReady::ready`], other keys [`MaybeReady::boxed`]. Convert the DER
    /// signatures of most key stores with [`Signature::from_der`].
    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a>;
}

/// A signer that signs synchronously, such as a key in memory.
pub trait SyncSigner: ProofSigner {
    /// Signs synchronously.
    ///
    /// # Errors
    /// Returns an error if the key store cannot sign.
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError>;
}

impl<S: ProofSigner + ?Sized> ProofSigner for &S {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        (**self).sign(message)
    }
}

impl<S: ProofSigner + ?Sized> ProofSigner for Box<S> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        (**self).sign(message)
    }
}

impl<S: ProofSigner + ?Sized> ProofSigner for Arc<S> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        (**self).sign(message)
    }
}

impl<S: SyncSigner + ?Sized> SyncSigner for &S {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        (**self).sign_now(message)
    }
}

impl<S: SyncSigner + ?Sized> SyncSigner for Arc<S> {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        (**self).sign_now(message)
    }
}

/// A verifier of ES256 signatures.
pub trait Verifier {
    /// Returns true if this is an ES256 signature by `key` over the SHA-256 of `message`, with r and s
    /// between 1 and n − 1. A high s is valid, since RFC 7518 does not forbid it, so every signature has a
    /// second valid form. Replay detection therefore compares `jti`, never the signed string.
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool;
}

impl<V: Verifier + ?Sized> Verifier for &V {
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
        (**self).verify(key, message, signature)
    }
}

/// An ES256 signature in JWS form: r and s, 32 bytes each, most significant byte first (RFC 7518, 3.4).
#[derive(Clone, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// The error for bytes that are not an ES256 signature in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid ES256 signature")]
pub struct MalformedSignature;

impl Signature {
    /// Creates a signature from r ‖ s.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Converts a DER signature, the output of most key stores: a sequence of two integers (RFC 3279, 2.2.3).
    /// BER encodings that are not DER are rejected.
    ///
    /// # Errors
    /// Returns an error if the bytes are not such a sequence or an integer has more than 32 bytes.
    pub fn from_der(der: &[u8]) -> Result<Self, MalformedSignature> {
        let mut bytes = [0; 64];
        let (r, s) = bytes.split_at_mut(32);
        let body = match der {
            // Two integers of 33 bytes take 70 bytes, so the length is always a single byte.
            [0x30, length @ 0..=0x7f, body @ ..] if usize::from(*length) == body.len() => body,
            _ => return Err(MalformedSignature),
        };
        let rest = parse_integer(body, r)?;
        if parse_integer(rest, s)?.is_empty() { Ok(Self(bytes)) } else { Err(MalformedSignature) }
    }

    /// Returns r ‖ s.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// Parses a positive integer in its shortest DER form and returns the remaining bytes.
fn parse_integer<'a>(der: &'a [u8], out: &mut [u8]) -> Result<&'a [u8], MalformedSignature> {
    let [2, length, body @ ..] = der else { return Err(MalformedSignature) };
    let (digits, rest) = body.split_at_checked(usize::from(*length)).ok_or(MalformedSignature)?;
    let digits = match digits {
        // A leading zero is allowed only if the first bit of the number is set.
        [0, 0x80..=0xff, ..] => &digits[1..],
        [1..=0x7f, ..] => digits,
        _ => return Err(MalformedSignature),
    };
    let start = out.len().checked_sub(digits.len()).ok_or(MalformedSignature)?;
    out[start..].copy_from_slice(digits);
    Ok(rest)
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(64 bytes)")
    }
}

/// The future that [`ProofSigner::sign`] returns.
pub type SignFuture<'a> = MaybeReady<'a, Result<Signature, SignError>>;

/// The error of a key that did not sign, for example because the store is locked, the hardware token was
/// removed or the generator failed.
#[derive(Debug, thiserror::Error)]
#[error("signing failed: {0}")]
pub struct SignError(#[source] Box<dyn Error + Send + Sync>);

impl SignError {
    /// Creates an error with the reason that the key store reports.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-06: DER signatures are converted to two halves of 32 bytes, whatever the lengths of their
    /// integers.
    #[test]
    fn signatures_from_der() {
        let number = |length: usize, first: u8| {
            let mut digits = vec![0x11; length];
            digits[0] = first;
            digits
        };
        let der = |r: &[u8], s: &[u8]| {
            let body = [&[2, r.len() as u8][..], r, &[2, s.len() as u8], s].concat();
            [&[0x30, body.len() as u8][..], &body].concat()
        };
        let padded = |digits: &[u8]| [&vec![0; 32 - digits.len()][..], digits].concat();
        for (r, s) in [(32, 32), (31, 32), (1, 30)] {
            let (r, s) = (number(r, 0x7f), number(s, 0x01));
            let signature = Signature::from_der(&der(&r, &s)).unwrap();
            assert_eq!(signature.as_bytes()[..], [padded(&r), padded(&s)].concat());
        }
        let high = number(32, 0x80);
        let sign = [&[0][..], &high].concat();
        let signature = Signature::from_der(&der(&sign, &sign)).unwrap();
        assert_eq!(signature.as_bytes()[..], [&high[..], &high].concat());

        let good = der(&number(32, 0x7f), &number(32, 0x01));
        let mut long = good.clone();
        long.splice(1..2, [0x81, good[1]]);
        let of_length = |by: i8| {
            let mut der = good.clone();
            der[1] = der[1].wrapping_add_signed(by);
            der
        };
        let refused: [(&str, Vec<u8>); 12] = [
            ("nothing", vec![]),
            ("raw", vec![0x11; 64]),
            ("cut", good[..good.len() - 1].to_vec()),
            ("more behind", [&good[..], &[0]].concat()),
            ("long length", long),
            ("a length too long", of_length(1)),
            ("a length too short", of_length(-1)),
            ("negative", der(&high, &number(1, 1))),
            ("zero", der(&[0], &number(1, 1))),
            ("no digits", der(&[], &number(1, 1))),
            ("needless zero", der(&[0, 1], &number(1, 1))),
            ("33 digits", der(&number(33, 0x01), &number(1, 1))),
        ];
        for (name, bytes) in refused {
            assert_eq!(Signature::from_der(&bytes), Err(MalformedSignature), "{name}");
        }
    }
}
