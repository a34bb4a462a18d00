//! The ES256 backend that uses ring.
//!
//! ring does not clear its keys. This module overwrites the key pair when it is dropped, but it cannot reach
//! the copies that ring made on the stack while it parsed or generated the key. If these copies matter, use
//! the AWS-LC backend.

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
    signer::{ProofSigner, SignError, SignFuture, Signature, SyncSigner, Verifier},
};

/// A key pair with the private key 1, used to overwrite dropped keys.
const ONE: &[u8; 138] = include_bytes!("one.pkcs8");

/// A private key in memory.
pub struct KeyPair {
    pair: Box<EcdsaKeyPair>,
    /// The key in PKCS#8, kept because ring cannot export a key that it parsed.
    pkcs8: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

impl KeyPair {
    /// Generates a key with the random generator of ring.
    ///
    /// # Errors
    /// [`KeyError::Failed`] if ring fails.
    pub fn generate() -> Result<Self, KeyError> {
        let generated = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Self::from_pkcs8(generated.map_err(|_| KeyError::Failed)?.as_ref())
    }

    /// Parses a key in PKCS#8. ring requires the public half, which all backends write.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`] if the bytes are not such a key.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = parse_pkcs8(bytes).ok_or(KeyError::Pkcs8)?;
        let public = PublicKey::from_point(pair.public_key().as_ref()).map_err(|_| KeyError::Pkcs8)?;
        Ok(Self { pair, pkcs8: Zeroizing::new(bytes.to_vec()), public })
    }

    /// Exports the key as the PKCS#8 bytes from which it was created, with its public half.
    ///
    /// # Errors
    /// Never returns an error. The `Result` exists because the other backends can fail.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        Ok(self.pkcs8.clone())
    }

    /// Returns the public half of the key.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }
}

fn parse_pkcs8(pkcs8: &[u8]) -> Option<Box<EcdsaKeyPair>> {
    let random = SystemRandom::new();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok().map(Box::new)
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        if let Some(one) = parse_pkcs8(ONE) {
            *self.pair = *one;
            // Without `black_box` the compiler could remove the write, because nothing reads the value
            // afterwards.
            black_box(&mut self.pair);
        }
    }
}

impl ProofSigner for KeyPair {
    fn public_key(&self) -> &PublicKey {
        self.public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        SignFuture::ready(self.sign_now(message))
    }
}

impl SyncSigner for KeyPair {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        let bytes = signature.ok().and_then(|signature| signature.as_ref().try_into().ok());
        bytes.map(Signature::from_bytes).ok_or_else(|| SignError::new("ring refused"))
    }
}

/// The ES256 signature verifier of ring.
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

    /// The constant that [`Drop`] writes over the private key is a valid key pair; otherwise nothing would be
    /// overwritten.
    #[test]
    fn overwrite_key_pair_parses() {
        let one = KeyPair::from_pkcs8(ONE).unwrap();
        assert_eq!(
            one.public_key().to_jwk(),
            r#"{"crv":"P-256","kty":"EC","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#
        );
    }
}
