//! The ES256 backend that uses RustCrypto's p256: pure Rust, RFC 6979 signatures, keys cleared when dropped.

use p256::{
    SecretKey,
    ecdsa::{
        Signature as Inner, SigningKey, VerifyingKey,
        signature::{Signer as _, Verifier as _},
    },
    elliptic_curve::Generate as _,
    pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _},
};
use zeroize::Zeroizing;

use super::KeyError;
use crate::{
    key::PublicKey,
    signer::{ProofSigner, SignError, SignFuture, Signature, SyncSigner, Verifier},
};

/// A P-256 private key in memory, with its public half.
pub struct KeyPair {
    pair: SigningKey,
    public: PublicKey,
}

impl KeyPair {
    /// Generates a key with the random generator of the operating system.
    ///
    /// # Errors
    /// [`KeyError::Failed`] if the random generator fails.
    pub fn generate() -> Result<Self, KeyError> {
        let secret = SecretKey::try_generate().map_err(|_| KeyError::Failed)?;
        Self::new(secret.into()).ok_or(KeyError::Failed)
    }

    /// Parses a key in PKCS#8, with or without its public half.
    ///
    /// # Errors
    /// [`KeyError::Pkcs8`] if the bytes are not such a key.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let secret = SecretKey::from_pkcs8_der(bytes).map_err(|_| KeyError::Pkcs8)?;
        Self::new(secret.into()).ok_or(KeyError::Pkcs8)
    }

    /// Exports the key as PKCS#8 version 1 with its public half: 138 bytes.
    ///
    /// # Errors
    /// [`KeyError::Failed`] if the encoding fails.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let document = SecretKey::from(&self.pair).to_pkcs8_der().map_err(|_| KeyError::Failed)?;
        Ok(Zeroizing::new(document.as_bytes().to_vec()))
    }

    /// Returns the public half of the key.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn new(pair: SigningKey) -> Option<Self> {
        let point = pair.verifying_key().to_sec1_point(false);
        let public = PublicKey::from_point(point.as_bytes()).ok()?;
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
        let signature: Inner = self.pair.try_sign(message).map_err(|_| SignError::new("p256 refused"))?;
        Ok(Signature::from_bytes(signature.to_bytes().into()))
    }
}

/// The ES256 signature verifier of the p256 crate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Es256;

impl Verifier for Es256 {
    fn verify(&self, key: &PublicKey, message: &[u8], signature: &Signature) -> bool {
        let key = VerifyingKey::from_sec1_bytes(key.point());
        let signature = Inner::from_slice(signature.as_bytes());
        matches!((key, signature), (Ok(key), Ok(signature)) if key.verify(message, &signature).is_ok())
    }
}
