//! ES256 by AWS-LC. It clears every key that it frees (`OPENSSL_free` overwrites).

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
    signer::{ProofSigner, SignError, SignNow, Signature, Signing, Verifier},
};

/// A private key in memory.
pub struct KeyPair {
    pair: EcdsaKeyPair,
    public: PublicKey,
}

impl KeyPair {
    /// A new key, by the library's own generator.
    ///
    /// # Errors
    /// [`KeyError::Failed`].
    pub fn generate() -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|_| KeyError::Failed)?;
        Self::new(pair).ok_or(KeyError::Failed)
    }

    /// Reads a key from PKCS#8, with or without its public half.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`].
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, bytes);
        pair.ok().and_then(Self::new).ok_or(KeyError::Pkcs8)
    }

    /// The key in PKCS#8, version 1, with its public half: 138 bytes.
    ///
    /// # Errors
    /// [`KeyError::Failed`].
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let document = self.pair.to_pkcs8v1().map_err(|_| KeyError::Failed)?;
        Ok(Zeroizing::new(document.as_ref().to_vec()))
    }

    /// The public half.
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

    fn sign<'a>(&'a self, message: &'a [u8]) -> Signing<'a> {
        Signing::ready(self.sign_now(message))
    }
}

impl SignNow for KeyPair {
    fn sign_now(&self, message: &[u8]) -> Result<Signature, SignError> {
        // Asked for r ‖ s, the library makes the same DER and takes it apart with two more allocations.
        let der =
            self.pair.sign(&SystemRandom::new(), message).map_err(|_| SignError::new("AWS-LC refused"))?;
        Signature::from_der(der.as_ref()).map_err(SignError::new)
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
