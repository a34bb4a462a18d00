//! Proofs, the client's side: RFC 9449, section 4.2.
//!
//! A [`Prover`] holds a key and makes a new proof for every transmission: a resend, a
//! poll, a retry too. It knows no clock, no nonce and no token; they come with each [`ProofRequest`],
//! so that nothing here can be stale.

use std::fmt::{self, Write as _};

use crate::{
    base64url,
    grammar::is_token,
    nonce::Nonce,
    random::{Random, RandomError},
    signer::{ProofSigner, SignError, SignNow, Signature},
    target::Htu,
    time::UnixTime,
    token::TokenHash,
};

/// Bytes of `jti`: 128 random bits (RFC 9449, 4.2 asks for 96).
const JTI: usize = 16;
/// Characters of the claims besides method, `htu` and nonce: names, punctuation, `jti`, `iat`, `ath`.
const CLAIMS: usize = 160;

/// What one proof is for.
#[derive(Clone, Copy, Debug)]
pub struct ProofRequest<'a> {
    /// `htm`: the method exactly as it is sent.
    pub method: &'a str,
    /// `htu`.
    pub htu: &'a Htu,
    /// `iat`: now, on the clock of the server that is asked (`crate::clock`); its fraction is left
    /// out.
    pub iat: UnixTime,
    /// `nonce`: the latest of this server, if it gave any.
    pub nonce: Option<&'a Nonce>,
    /// `ath`: the hash of the access token that goes with the proof. `None` at the token and
    /// revocation endpoints.
    pub token: Option<&'a TokenHash>,
}

/// Makes proofs with one key.
pub struct Prover<S, R> {
    signer: S,
    random: R,
    /// The encoded header and the dot behind it: the same in every proof of a key.
    head: Box<str>,
}

impl<S: ProofSigner, R: Random> Prover<S, R> {
    /// A prover; encodes the header once.
    pub fn new(signer: S, random: R) -> Self {
        let jwk = signer.public_key().to_jwk();
        // DPP-02
        let header = format!(r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{jwk}}}"#);
        let head = base64url::encode(header.as_bytes()) + ".";
        Self { signer, random, head: head.into() }
    }

    /// A new proof.
    ///
    /// # Errors
    /// When the method is none, the generator fails or the key does not sign.
    pub async fn prove(&self, request: &ProofRequest<'_>) -> Result<Proof, ProveError> {
        let unsigned = self.unsigned(request)?;
        let signature = self.signer.sign(unsigned.as_bytes()).await?;
        Ok(Proof::new(unsigned, &signature))
    }

    /// Whose proofs these are.
    pub const fn signer(&self) -> &S {
        &self.signer
    }

    /// Header and claims, encoded, with room for the signature.
    fn unsigned(&self, request: &ProofRequest<'_>) -> Result<String, ProveError> {
        let ProofRequest { method, htu, iat, nonce, token } = request;
        if !is_token(method) {
            return Err(ProveError::Method);
        }
        let mut jti = [0; JTI];
        self.random.fill(&mut jti)?;
        let nonce = nonce.map(Nonce::as_str);
        // Nothing below but a host holds a character that JSON escapes: not base64url, not a token, not a path,
        // not a nonce.
        let mut claims =
            String::with_capacity(CLAIMS + method.len() + htu.as_str().len() + nonce.map_or(0, str::len));
        claims.push_str(r#"{"jti":""#);
        base64url::append(&mut claims, &jti);
        claims.push_str(r#"","htm":""#);
        claims.push_str(method);
        claims.push_str(r#"","htu":""#);
        push_htu(&mut claims, htu.as_str());
        claims.push_str(r#"","iat":"#);
        // Writing to a `String` cannot fail.
        let _ = write!(claims, "{}", iat.as_secs());
        if let Some(token) = token {
            claims.push_str(r#","ath":""#);
            base64url::append(&mut claims, token.as_bytes());
            claims.push('"');
        }
        if let Some(nonce) = nonce {
            claims.push_str(r#","nonce":""#);
            claims.push_str(nonce);
            claims.push('"');
        }
        claims.push('}');
        let length = self.head.len() + base64url::length(claims.len()) + 1 + base64url::length(64);
        let mut text = String::with_capacity(length);
        text.push_str(&self.head);
        base64url::append(&mut text, claims.as_bytes());
        Ok(text)
    }
}

/// The URL standard has hosts with quotes; no URL has a backslash or a control character.
fn push_htu(claims: &mut String, htu: &str) {
    for (at, part) in htu.split('"').enumerate() {
        claims.push_str(if at == 0 { "" } else { "\\\"" });
        claims.push_str(part);
    }
}

impl<S: SignNow, R: Random> Prover<S, R> {
    /// A new proof, at once: a key in memory needs no `await`.
    ///
    /// # Errors
    /// As [`prove`](Prover::prove).
    pub fn prove_now(&self, request: &ProofRequest<'_>) -> Result<Proof, ProveError> {
        let unsigned = self.unsigned(request)?;
        let signature = self.signer.sign_now(unsigned.as_bytes())?;
        Ok(Proof::new(unsigned, &signature))
    }
}

/// Shows whose proofs these are.
impl<S: ProofSigner, R> fmt::Debug for Prover<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prover").field(self.signer.public_key()).finish()
    }
}

/// A proof: the value of one `DPoP` header, for one transmission.
pub struct Proof(String);

impl Proof {
    fn new(mut text: String, signature: &Signature) -> Self {
        text.push('.');
        base64url::append(&mut text, signature.as_bytes());
        Self(text)
    }

    /// The header's value: visible ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The header's value.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Shows the length alone.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proof({} bytes)", self.0.len())
    }
}

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The method is no token (RFC 9110, 9.1).
    #[error("the method is no token")]
    Method,
    /// There are no random numbers for `jti`.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The key did not sign.
    #[error(transparent)]
    Sign(#[from] SignError),
}
