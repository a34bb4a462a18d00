//! The ES256 backend that uses AWS-LC. AWS-LC clears every key that it frees (`OPENSSL_free` overwrites the
//! memory).

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    },
};
use zeroize::Zeroizing;

use super::KeyError;
use crate::{
    key::PublicKey,
    signer::{ProofSigner, SignError, SignFuture, Signature, SyncSigner, Verifier},
};

/// A P-256 private key in memory, with its public half.
pub struct KeyPair {
    pair: EcdsaKeyPair,
    public: PublicKey,
}

impl KeyPair {
    /// Generates a key with the random generator of AWS-LC.
    ///
    /// # Errors
    /// [`KeyError::Failed`] if the library fails.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|_| KeyError::Failed)?;
        Self::new(pair).ok_or(KeyError::Failed)
    }

    /// Parses a key in PKCS#8, with or without its public half.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`] if the bytes are not such a key.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, bytes);
        pair.ok().and_then(Self::new).ok_or(KeyError::Pkcs8)
    }

    /// Exports the key as PKCS#8 version 1 with its public half: 138 bytes.
    ///
    /// # Errors
    /// [`KeyError::Failed`] if the library fails.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let document = self.pair.to_pkcs8v1().map_err(|_| KeyError::Failed)?;
        Ok(Zeroizing::new(document.as_ref().to_vec()))
    }

    /// Returns the public half of the key.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn new(pair: EcdsaKeyPair) -> Option<Self> {
        let public = PublicKey::from_point(pair.public_key().as_ref()).ok()?;
        Some(Self { pair, public })
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
        // With a fixed-length signing algorithm AWS-LC would create the same DER and convert it with two more
        // allocations.
        let der =
            self.pair.sign(&SystemRandom::new(), message).map_err(|_| SignError::new("AWS-LC refused"))?;
        Signature::from_der(der.as_ref()).map_err(SignError::new)
    }
}

/// The ES256 signature verifier of AWS-LC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Es256;

impl Verifier for Es256 {
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.point());
        key.verify(message, signature.as_bytes()).is_ok()
    }
}
