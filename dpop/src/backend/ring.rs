//! ES256 by ring.
//!
//! ring does not clear its keys. What stands here is overwritten when it is dropped, which is as much
//! as can be done from outside: copies that ring made on the stack while it read or made the key
//! are out of reach. Whoever minds takes AWS-LC.

use std::hint::black_box;

use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    },
};
use zeroize::Zeroizing;

use super::KeyError;
use crate::{
    key::PublicKey,
    signer::{ProofSigner, SignError, SignNow, Signature, Signing, Verifier},
};

/// The key pair whose private half is 1, with which others are overwritten.
const ONE: &[u8; 138] = include_bytes!("one.pkcs8");

/// A private key in memory.
pub struct KeyPair {
    pair: Box<EcdsaKeyPair>,
    /// ring exports no key that it has read.
    pkcs8: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

impl KeyPair {
    /// A new key, by the library's own generator.
    ///
    /// # Errors
    /// [`KeyError::Failed`].
    pub fn generate() -> Result<Self, KeyError> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::from_pkcs8(made.map_err(|_| KeyError::Failed)?.as_ref())
    }

    /// Reads a key from PKCS#8. ring wants the public half in it, as all backends write it.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`].
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = read(bytes).ok_or(KeyError::Pkcs8)?;
        let public = PublicKey::from_point(pair.public_key().as_ref()).map_err(|_| KeyError::Pkcs8)?;
        Ok(Self { pair, pkcs8: Zeroizing::new(bytes.to_vec()), public })
    }

    /// The key in PKCS#8, version 1, with its public half, as it was read.
    ///
    /// # Errors
    /// None; other backends have some.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        Ok(self.pkcs8.clone())
    }

    /// The public half.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }
}

fn read(pkcs8: &[u8]) -> Option<Box<EcdsaKeyPair>> {
    let random = SystemRandom::new();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok().map(Box::new)
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        if let Some(one) = read(ONE) {
            *self.pair = *one;
            // Else nobody would read what was just written, and it need not be written at all.
            black_box(&mut self.pair);
        }
    }
}

impl ProofSigner for KeyPair {
    fn public_key(&self) -> &PublicKey {
        self.public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a> {
        Signing::ready(self.sign_now(message))
    }
}

impl SignNow for KeyPair {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        let bytes = signature.ok().and_then(|signature| signature.as_ref().try_into().ok());
        bytes.map(Signature::from_bytes).ok_or_else(|| SignError::new("ring refused"))
    }
}

/// Verifies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Es256;

impl Verifier for Es256 {
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.point());
        key.verify(message, signature.as_bytes()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else [`Drop`] would leave the key where it was.
    #[test]
    fn there_is_a_pair_to_overwrite_with() {
        let one = KeyPair::from_pkcs8(ONE).unwrap();
        assert_eq!(
            one.public_key().to_jwk(),
            r#"{"crv":"P-256","kty":"EC","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#
        );
    }
}
