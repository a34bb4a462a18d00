//! The two seams to cryptography: who signs proofs, and who verifies them.
//!
//! Both see ES256 as RFC 7518, 3.4 has it and nothing else of a key. A key in a platform's key store,
//! a TPM or a remote service implements [`ProofSigner`]; keys in memory come with a backend
//! ([`crate::backend`]).

use std::{error::Error, fmt, sync::Arc};

use crate::{key::PublicKey, pending::Pending};

/// Whoever holds a client's private key.
///
/// There is no "sign this" for strangers in it: [`crate::Prover`] decides what is signed
/// (RFC 9449, 11.4 and 11.5).
pub trait ProofSigner: Send + Sync {
    /// The public half: the proof's `jwk`.
    fn public_key(&self) -> &PublicKey;

    /// An ES256 signature over the SHA-256 of the message.
    ///
    /// Keys in memory answer at once ([`Pending::ready`]); others may take their time
    /// ([`Pending::later`]). Key stores that answer in DER are translated by [`Signature::from_der`].
    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a>;
}

/// A signer that never waits: a key in memory.
pub trait SignNow: ProofSigner {
    /// Signs, at once.
    ///
    /// # Errors
    /// When the key does not sign.
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError>;
}

impl<S: ProofSigner + ?Sized> ProofSigner for &S {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a> {
        (**self).sign(message)
    }
}

impl<S: ProofSigner + ?Sized> ProofSigner for Box<S> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a> {
        (**self).sign(message)
    }
}

impl<S: ProofSigner + ?Sized> ProofSigner for Arc<S> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a> {
        (**self).sign(message)
    }
}

impl<S: SignNow + ?Sized> SignNow for &S {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        (**self).sign_now(message)
    }
}

impl<S: SignNow + ?Sized> SignNow for Arc<S> {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        (**self).sign_now(message)
    }
}

/// Whoever can tell whether a key signed a message.
pub trait Verifier {
    /// Whether this is an ES256 signature by `key` over the SHA-256 of `message`: r and s between 1
    /// and n − 1. A high s is valid (RFC 7518 asks for no other), so one proof has two signatures;
    /// replay is told by `jti`, never by the text.
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool;
}

impl<V: Verifier + ?Sized> Verifier for &V {
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
        (**self).verify(key, message, signature)
    }
}

/// An ES256 signature in JWS form: r and s, 32 bytes each, the highest first (RFC 7518, 3.4).
#[derive(Clone, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// The bytes are no signature of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an ES256 signature")]
pub struct MalformedSignature;

impl Signature {
    /// r ‖ s.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Translates the form that most key stores answer in: a DER sequence of two integers (RFC 3279,
    /// 2.2.3), without any looseness of BER.
    ///
    /// # Errors
    /// When the bytes are anything else, or a number has more than 32 bytes.
    pub fn from_der(der: &[u8]) -> Result<Self, MalformedSignature> {
        let mut bytes = [0; 64];
        let (r, s) = bytes.split_at_mut(32);
        let body = match der {
            // Two numbers of 33 bytes take 70: the length is always a single byte.
            [0x30, length @ 0..=0x7f, body @ ..] if usize::from(*length) == body.len() => body,
            _ => return Err(MalformedSignature),
        };
        let rest = integer(body, r)?;
        if integer(rest, s)?.is_empty() { Ok(Self(bytes)) } else { Err(MalformedSignature) }
    }

    /// r ‖ s.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// Reads a positive integer in its shortest form; what follows it.
fn integer<'a>(der: &'a [u8], out: &mut [u8]) -> Result<&'a [u8], MalformedSignature> {
    let [2, length, body @ ..] = der else { return Err(MalformedSignature) };
    let (digits, rest) = body.split_at_checked(usize::from(*length)).ok_or(MalformedSignature)?;
    let digits = match digits {
        // A sign of its own, only where the first digit looks like one.
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

/// A signature that is there, or on its way.
pub type Signing<'a> = Pending<'a, Result<Signature, SignError>>;

/// The key did not sign: the store is locked, the token removed, the generator failed.
#[derive(Debug, thiserror::Error)]
#[error("the key did not sign: {0}")]
pub struct SignError(#[source] Box<dyn Error + Send + Sync>);

impl SignError {
    /// What the key's holder says about it.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-06: r and s as two halves of 32 bytes, whatever the key store answers.
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
