//! Verification, step 1: format and signature of a proof (RFC 9449, 4.3 (2 to 7)).
//!
//! An input that fails here is rejected immediately. An input that passes was signed by the key that it
//! contains, but its claims are unverified: check the nonce next ([`crate::nonce`]), then the claims
//! ([`crate::claims`]). The signature is verified last, so that malformed input costs no cryptography.

use std::{borrow::Cow, fmt};

use crate::{
    base64url,
    json::{self, JsonObjectError, JsonValue},
    key::{PublicKey, PublicKeyError, Thumbprint},
    signer::{Signature, Verifier},
};

/// The maximum size of a proof and the allowed sizes of its `jti`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProofLimits {
    /// The maximum length of a proof. A legitimate proof has a few hundred bytes plus its URL and its nonce.
    pub max_proof_bytes: usize,
    /// The minimum length of `jti`. The 96 random bits that RFC 9449, 4.2 requires take 16 characters in
    /// base64url, the shortest common encoding.
    pub min_jti_bytes: usize,
    /// The maximum length of `jti`.
    pub max_jti_bytes: usize,
}

/// Proofs of at most 4,096 bytes, ids of 16 to 256 bytes.
impl Default for ProofLimits {
    fn default() -> Self {
        Self { max_proof_bytes: 4096, min_jti_bytes: 16, max_jti_bytes: 256 }
    }
}

impl ProofLimits {
    pub(crate) const fn jti_byte_range(self) -> std::ops::RangeInclusive<usize> {
        self.min_jti_bytes..=self.max_jti_bytes
    }
}

/// A well-formed proof that was signed by the key in its header.
///
/// The claims are unverified. Until [`check_claims`](Self::check_claims) has verified them, only
/// [`nonce`](Self::nonce) is accessible.
#[derive(Clone)]
pub struct SignedProof {
    pub(crate) thumbprint: Thumbprint,
    pub(crate) claims: ProofClaims,
    pub(crate) limits: ProofLimits,
}

/// The value of a claim, unverified.
#[derive(Clone)]
pub(crate) enum ClaimValue<T> {
    Missing,
    /// The claim has another type.
    Malformed,
    Present(T),
}

/// The claims of a proof, parsed but unverified.
#[derive(Clone)]
pub(crate) struct ProofClaims {
    pub(crate) jti: ClaimValue<String>,
    pub(crate) htm: ClaimValue<String>,
    pub(crate) htu: ClaimValue<String>,
    pub(crate) iat: ClaimValue<u64>,
    pub(crate) ath: ClaimValue<String>,
    pub(crate) nonce: ClaimValue<String>,
}

/// The reason why an input is not a proof: `invalid_dpop_proof`, without a challenge for a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ProofFormatError {
    /// The proof is longer than [`ProofLimits::max_proof_bytes`].
    #[error("the proof is too long")]
    TooLong,
    /// The proof does not consist of three parts separated by dots (RFC 7515, 7.1): it is empty, an encrypted
    /// JWT with five parts, or two proofs in one header.
    #[error("the proof does not have three parts")]
    Parts,
    /// The header is not strict base64url without padding.
    #[error("the header is not base64url")]
    HeaderEncoding,
    /// The claims are not strict base64url without padding.
    #[error("the claims are not base64url")]
    ClaimsEncoding,
    /// The signature is not strict base64url without padding.
    #[error("the signature is not base64url")]
    SignatureEncoding,
    /// The header is not a JSON object.
    #[error("the header is not a JSON object")]
    HeaderJson,
    /// A member of the header, or of an object in it, is repeated.
    #[error("a member of the header is repeated")]
    HeaderRepeated,
    /// `typ` is missing or not a string.
    #[error("`typ` is missing")]
    TypMissing,
    /// `typ` is not exactly `dpop+jwt`: other kinds of JWT are not proofs (RFC 9449, 11.5).
    #[error("`typ` is not dpop+jwt")]
    Typ,
    /// `alg` is missing or not a string.
    #[error("`alg` is missing")]
    AlgMissing,
    /// `alg` is not exactly `ES256`, for example `none`, a symmetric algorithm or another curve.
    #[error("`alg` is not ES256")]
    Alg,
    /// `crit` lists extensions, and this crate implements none (RFC 7515, 4.1.11).
    #[error("the header has critical extensions (`crit`), which are not supported")]
    Critical,
    /// `b64` is present and not `true`, so the claims would have another encoding (RFC 7797).
    #[error("`b64` is not true")]
    Unencoded,
    /// `jwk` is missing or not an object.
    #[error("`jwk` is missing")]
    JwkMissing,
    /// `jwk` is not a public key for ES256.
    #[error("`jwk`: {0}")]
    Jwk(PublicKeyError),
    /// The signature does not have 64 bytes, for example because it is DER or of another algorithm.
    #[error("the signature does not have 64 bytes")]
    SignatureLength,
    /// The signature was not created by the key in the header.
    #[error("the signature does not match the key")]
    Signature,
    /// The claims are not a JSON object.
    #[error("the claims are not a JSON object")]
    ClaimsJson,
    /// A claim, or a member of an object in the claims, is repeated.
    #[error("a claim is repeated")]
    ClaimsRepeated,
}

impl SignedProof {
    /// Parses a proof and verifies its signature, with the default [`ProofLimits`].
    ///
    /// # Errors
    /// Returns the first error in the proof.
    pub fn verify_signature(proof: &str, verifier: &impl Verifier) -> Result<Self, ProofFormatError> {
        Self::verify_with_limits(ProofLimits::default(), proof, verifier)
    }

    /// Parses a proof and verifies its signature, with the given limits.
    ///
    /// # Errors
    /// Returns the first error in the proof.
    pub fn verify_with_limits(
        limits: ProofLimits,
        proof: &str,
        verifier: &impl Verifier,
    ) -> Result<Self, ProofFormatError> {
        if proof.len() > limits.max_proof_bytes {
            return Err(ProofFormatError::TooLong);
        }
        let (signed, [header, claims, signature]) = split_parts(proof)?;
        let header = base64url::decode(header).ok_or(ProofFormatError::HeaderEncoding)?;
        let claims = base64url::decode(claims).ok_or(ProofFormatError::ClaimsEncoding)?;
        let key = parse_header_key(&header)?;
        let claims = parse_claims(&claims)?;
        let signature = base64url::decode(signature).ok_or(ProofFormatError::SignatureEncoding)?;
        let signature = signature.try_into().map_err(|_| ProofFormatError::SignatureLength)?;
        if !verifier.verify(&key, signed.as_bytes(), &Signature::from_bytes(signature)) {
            return Err(ProofFormatError::Signature);
        }
        Ok(Self { thumbprint: key.thumbprint(), claims, limits })
    }

    /// Returns the thumbprint of the key that signed the proof.
    #[must_use]
    pub const fn thumbprint(&self) -> &Thumbprint {
        &self.thumbprint
    }

    /// Returns the nonce of the proof, or `None` if there is none or it is not a string. Pass it to
    /// [`NonceIssuer::check_nonce`](crate::NonceIssuer::check_nonce) before checking any claim.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        match &self.claims.nonce {
            ClaimValue::Present(nonce) => Some(nonce),
            ClaimValue::Missing | ClaimValue::Malformed => None,
        }
    }
}

/// Shows the thumbprint of the key.
impl fmt::Debug for SignedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SignedProof").field(&self.thumbprint).finish()
    }
}

/// Splits a proof into its signed string and its three parts.
fn split_parts(proof: &str) -> Result<(&str, [&str; 3]), ProofFormatError> {
    let (header, rest) = proof.split_once('.').ok_or(ProofFormatError::Parts)?;
    let (claims, signature) = rest.split_once('.').ok_or(ProofFormatError::Parts)?;
    if signature.contains('.') {
        return Err(ProofFormatError::Parts);
    }
    let signed = &proof[..header.len() + 1 + claims.len()];
    Ok((signed, [header, claims, signature]))
}

/// Validates a decoded header and returns its key.
fn parse_header_key(header: &[u8]) -> Result<PublicKey, ProofFormatError> {
    let header = json::parse_object(header).map_err(|error| match error {
        JsonObjectError::Malformed => ProofFormatError::HeaderJson,
        JsonObjectError::Repeated => ProofFormatError::HeaderRepeated,
    })?;
    match json::get_member(&header, "typ") {
        Some(JsonValue::String(typ)) if typ == "dpop+jwt" => {}
        Some(JsonValue::String(_)) => return Err(ProofFormatError::Typ),
        _ => return Err(ProofFormatError::TypMissing),
    }
    match json::get_member(&header, "alg") {
        Some(JsonValue::String(alg)) if alg == "ES256" => {}
        Some(JsonValue::String(_)) => return Err(ProofFormatError::Alg),
        _ => return Err(ProofFormatError::AlgMissing),
    }
    if json::get_member(&header, "crit").is_some() {
        return Err(ProofFormatError::Critical);
    }
    if json::get_member(&header, "b64").is_some_and(|value| *value != JsonValue::Bool(true)) {
        return Err(ProofFormatError::Unencoded);
    }
    match json::get_member(&header, "jwk") {
        Some(JsonValue::Object(jwk)) => PublicKey::from_members(jwk).map_err(ProofFormatError::Jwk),
        _ => Err(ProofFormatError::JwkMissing),
    }
}

/// Parses the decoded claims. Checking them is step 2.
fn parse_claims(claims: &[u8]) -> Result<ProofClaims, ProofFormatError> {
    let mut claims = json::parse_object(claims).map_err(|error| match error {
        JsonObjectError::Malformed => ProofFormatError::ClaimsJson,
        JsonObjectError::Repeated => ProofFormatError::ClaimsRepeated,
    })?;
    let mut text = |name| match json::take_member(&mut claims, name) {
        None => ClaimValue::Missing,
        Some(JsonValue::String(text)) => ClaimValue::Present(Cow::into_owned(text)),
        Some(_) => ClaimValue::Malformed,
    };
    let (jti, htm, htu) = (text("jti"), text("htm"), text("htu"));
    let (ath, nonce) = (text("ath"), text("nonce"));
    let iat = match json::take_member(&mut claims, "iat") {
        None => ClaimValue::Missing,
        Some(JsonValue::Integer(iat)) => ClaimValue::Present(iat),
        Some(_) => ClaimValue::Malformed,
    };
    Ok(ProofClaims { jti, htm, htu, iat, ath, nonce })
}
