//! Verification, step 1: is it a proof at all? RFC 9449, 4.3 (2 to 7).
//!
//! What fails here is refused at once. What passes was signed by the key that it holds, and nothing in it
//! has been believed yet: the nonce comes next ([`crate::nonce`]), then the claims ([`crate::claims`]).
//! The signature is verified last, so that garbage costs no cryptography.

use std::{borrow::Cow, fmt};

use crate::{
    base64url,
    json::{self, Json, NotAnObject},
    key::{KeyRefusal, PublicKey, Thumbprint},
    signer::{Signature, Verifier},
};

/// How long a proof and what it holds may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The longest proof that is looked at. An honest one has a few hundred bytes, and as much more as its
    /// URL and its nonce.
    pub proof: usize,
    /// The shortest `jti`. The 96 random bits that RFC 9449, 4.2 asks for take 16 characters of base64url, the
    /// densest spelling in use.
    pub shortest_jti: usize,
    /// The longest `jti`.
    pub longest_jti: usize,
}

/// Proofs of 4,096 bytes, ids of 16 to 256.
impl Default for Limits {
    fn default() -> Self {
        Self { proof: 4096, shortest_jti: 16, longest_jti: 256 }
    }
}

impl Limits {
    pub(crate) const fn jti_bytes(self) -> std::ops::RangeInclusive<usize> {
        self.shortest_jti..=self.longest_jti
    }
}

/// A text that is a proof and was signed by the key in it.
///
/// Its claims are not checked yet, and only [`nonce`](Self::nonce) can be read before they are.
#[derive(Clone)]
pub struct SignedProof {
    pub(crate) thumbprint: Thumbprint,
    pub(crate) claims: Claims,
    pub(crate) limits: Limits,
}

/// A claim as it stands in a proof.
#[derive(Clone)]
pub(crate) enum Claim<T> {
    Missing,
    /// Of another type.
    Malformed,
    Is(T),
}

/// The claims that a proof has, of their types, and not checked.
#[derive(Clone)]
pub(crate) struct Claims {
    pub(crate) jti: Claim<String>,
    pub(crate) htm: Claim<String>,
    pub(crate) htu: Claim<String>,
    pub(crate) iat: Claim<u64>,
    pub(crate) ath: Claim<String>,
    pub(crate) nonce: Claim<String>,
}

/// Why a text is no proof: `invalid_dpop_proof`, without a challenge for a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FormRefusal {
    /// Longer than [`Limits::proof`].
    #[error("the proof is too long")]
    TooLong,
    /// Not three parts with two dots between them (RFC 7515, 7.1): nothing at all, five parts of an
    /// encrypted JWT, two proofs in one header.
    #[error("the proof has not three parts")]
    Parts,
    /// The header is not base64url without padding, in its one spelling.
    #[error("the header is not base64url")]
    HeaderEncoding,
    /// The claims are not base64url without padding, in its one spelling.
    #[error("the claims are not base64url")]
    ClaimsEncoding,
    /// The signature is not base64url without padding, in its one spelling.
    #[error("the signature is not base64url")]
    SignatureEncoding,
    /// The header is no JSON object.
    #[error("the header is no JSON object")]
    HeaderJson,
    /// A member of the header, or of an object in it, is repeated.
    #[error("a member of the header is repeated")]
    HeaderRepeated,
    /// `typ` is missing or no text.
    #[error("`typ` is missing")]
    TypMissing,
    /// `typ` is not exactly `dpop+jwt`: another kind of JWT is no proof (RFC 9449, 11.5).
    #[error("`typ` is not dpop+jwt")]
    Typ,
    /// `alg` is missing or no text.
    #[error("`alg` is missing")]
    AlgMissing,
    /// `alg` is not exactly `ES256`: not `none`, not symmetric, no other curve.
    #[error("`alg` is not ES256")]
    Alg,
    /// `crit` names extensions, of which none is understood here (RFC 7515, 4.1.11).
    #[error("the header has critical extensions")]
    Critical,
    /// `b64` is not `true`: the claims would have another form (RFC 7797).
    #[error("the claims are not encoded")]
    Unencoded,
    /// `jwk` is missing or no object.
    #[error("`jwk` is missing")]
    JwkMissing,
    /// `jwk` is no public key for ES256.
    #[error("`jwk`: {0}")]
    Jwk(KeyRefusal),
    /// The signature has not 64 bytes: DER, or another algorithm's.
    #[error("the signature has not 64 bytes")]
    SignatureLength,
    /// The key in the header did not sign this.
    #[error("the signature is not the key's")]
    Signature,
    /// The claims are no JSON object.
    #[error("the claims are no JSON object")]
    ClaimsJson,
    /// A claim, or a member of an object in the claims, is repeated.
    #[error("a claim is repeated")]
    ClaimsRepeated,
}

impl SignedProof {
    /// Reads a proof and verifies its signature, with the default [`Limits`].
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(proof: &str, verifier: &impl Verifier) -> Result<Self, FormRefusal> {
        Self::read_within(Limits::default(), proof, verifier)
    }

    /// The same with limits of your own.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read_within(limits: Limits, proof: &str, verifier: &impl Verifier) -> Result<Self, FormRefusal> {
        if proof.len() > limits.proof {
            return Err(FormRefusal::TooLong);
        }
        let (signed, [header, claims, signature]) = parts(proof)?;
        let header = base64url::decode(header).ok_or(FormRefusal::HeaderEncoding)?;
        let claims = base64url::decode(claims).ok_or(FormRefusal::ClaimsEncoding)?;
        let key = key(&header)?;
        let claims = read_claims(&claims)?;
        let signature = base64url::decode(signature).ok_or(FormRefusal::SignatureEncoding)?;
        let signature = signature.try_into().map_err(|_| FormRefusal::SignatureLength)?;
        if !verifier.verify(&key, signed.as_bytes(), &Signature::from_bytes(signature)) {
            return Err(FormRefusal::Signature);
        }
        Ok(Self { thumbprint: key.thumbprint(), claims, limits })
    }

    /// Whose proof it is.
    #[must_use]
    pub const fn thumbprint(&self) -> &Thumbprint {
        &self.thumbprint
    }

    /// The nonce that it carries, if it is text: what [`crate::nonce::NonceIssuer::check`] asks for
    /// before any claim is looked at.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        match &self.claims.nonce {
            Claim::Is(nonce) => Some(nonce),
            Claim::Missing | Claim::Malformed => None,
        }
    }
}

/// Shows whose it is.
impl fmt::Debug for SignedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SignedProof").field(&self.thumbprint).finish()
    }
}

/// What is signed, and the three parts.
fn parts(proof: &str) -> Result<(&str, [&str; 3]), FormRefusal> {
    let (header, rest) = proof.split_once('.').ok_or(FormRefusal::Parts)?;
    let (claims, signature) = rest.split_once('.').ok_or(FormRefusal::Parts)?;
    if signature.contains('.') {
        return Err(FormRefusal::Parts);
    }
    let signed = &proof[..header.len() + 1 + claims.len()];
    Ok((signed, [header, claims, signature]))
}

/// The key of a header that is a proof's.
fn key(header: &[u8]) -> Result<PublicKey, FormRefusal> {
    let header = json::object(header).map_err(|error| match error {
        NotAnObject::Malformed => FormRefusal::HeaderJson,
        NotAnObject::Repeated => FormRefusal::HeaderRepeated,
    })?;
    match json::member(&header, "typ") {
        Some(Json::Text(typ)) if typ == "dpop+jwt" => {}
        Some(Json::Text(_)) => return Err(FormRefusal::Typ),
        _ => return Err(FormRefusal::TypMissing),
    }
    match json::member(&header, "alg") {
        Some(Json::Text(alg)) if alg == "ES256" => {}
        Some(Json::Text(_)) => return Err(FormRefusal::Alg),
        _ => return Err(FormRefusal::AlgMissing),
    }
    if json::member(&header, "crit").is_some() {
        return Err(FormRefusal::Critical);
    }
    if json::member(&header, "b64").is_some_and(|value| *value != Json::Bool(true)) {
        return Err(FormRefusal::Unencoded);
    }
    match json::member(&header, "jwk") {
        Some(Json::Object(jwk)) => PublicKey::from_members(jwk).map_err(FormRefusal::Jwk),
        _ => Err(FormRefusal::JwkMissing),
    }
}

/// The claims as they stand there: whether they are right is the second step's.
fn read_claims(claims: &[u8]) -> Result<Claims, FormRefusal> {
    let mut claims = json::object(claims).map_err(|error| match error {
        NotAnObject::Malformed => FormRefusal::ClaimsJson,
        NotAnObject::Repeated => FormRefusal::ClaimsRepeated,
    })?;
    let mut text = |name| match json::take(&mut claims, name) {
        None => Claim::Missing,
        Some(Json::Text(text)) => Claim::Is(Cow::into_owned(text)),
        Some(_) => Claim::Malformed,
    };
    let (jti, htm, htu) = (text("jti"), text("htm"), text("htu"));
    let (ath, nonce) = (text("ath"), text("nonce"));
    let iat = match json::take(&mut claims, "iat") {
        None => Claim::Missing,
        Some(Json::Whole(iat)) => Claim::Is(iat),
        Some(_) => Claim::Malformed,
    };
    Ok(Claims { jti, htm, htu, iat, ath, nonce })
}
