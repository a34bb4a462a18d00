//! Creation of proofs on the client: RFC 9449, section 4.2.
//!
//! A [`Prover`] holds a key and creates a new proof for every transmission, including every retry and poll.
//! It stores no clock, nonce or token; each [`ProofRequest`] contains them, so that they cannot be stale.

use std::fmt::{self, Write as _};

use crate::{
    base64url,
    grammar::is_token,
    nonce::Nonce,
    random::{RandomError, RandomSource},
    signer::{ProofSigner, SignError, Signature, SyncSigner},
    target::Htu,
    time::UnixTime,
    token::TokenHash,
};

/// The number of bytes of `jti`: 128 random bits (RFC 9449, 4.2 requires 96).
const JTI: usize = 16;
/// The capacity for the claims besides method, `htu` and nonce: names, punctuation, `jti`, `iat`, `ath`.
const CLAIMS: usize = 160;

/// The content of one proof.
#[derive(Clone, Copy, Debug)]
pub struct ProofRequest<'a> {
    /// `htm`: the method exactly as it is sent.
    pub method: &'a str,
    /// `htu`: the URL without query and fragment.
    pub htu: &'a Htu,
    /// `iat`: the current time on the server's clock ([`crate::clock`]), truncated to whole seconds.
    pub iat: UnixTime,
    /// `nonce`: the latest nonce of this server, if it issued any.
    pub nonce: Option<&'a Nonce>,
    /// `ath`: the hash of the access token that is sent with the proof. `None` at the token and revocation
    /// endpoints.
    pub token: Option<&'a TokenHash>,
}

/// A generator of proofs for one key.
pub struct Prover<S, R> {
    signer: S,
    random: R,
    /// The encoded header and the following dot, which are the same in every proof of a key.
    head: Box<str>,
}

impl<S: ProofSigner, R: RandomSource> Prover<S, R> {
    /// Creates a prover and encodes the header once.
    pub fn new(signer: S, random: R) -> Self {
        let jwk = signer.public_key().to_jwk();
        // The members are those of DPP-02.
        let header = format!(r#"{{"typ":"dpop+jwt","alg":"ES256","jwk":{jwk}}}"#);
        let head = base64url::encode(header.as_bytes()) + ".";
        Self { signer, random, head: head.into() }
    }

    /// Creates a proof.
    ///
    /// # Errors
    /// Returns an error if the method is not a token, the random number generator fails or the key does not
    /// sign.
    pub async fn prove(&self, request: &ProofRequest<'_>) -> Result<Proof, ProveError> {
        let unsigned = self.encode_unsigned(request)?;
        let signature = self.signer.sign(unsigned.as_bytes()).await?;
        Ok(Proof::new(unsigned, &signature))
    }

    /// Returns the signer of the proofs.
    pub const fn signer(&self) -> &S {
        &self.signer
    }

    /// Encodes header and claims, with capacity for the signature.
    fn encode_unsigned(&self, request: &ProofRequest<'_>) -> Result<String, ProveError> {
        let ProofRequest { method, htu, iat, nonce, token } = request;
        if !is_token(method) {
            return Err(ProveError::Method);
        }
        let mut jti = [0; JTI];
        self.random.fill(&mut jti)?;
        let nonce = nonce.map(Nonce::as_str);
        // Of the values below, only a host can contain a character that JSON escapes; base64url, tokens,
        // paths and nonces cannot.
        let mut claims =
            String::with_capacity(CLAIMS + method.len() + htu.as_str().len() + nonce.map_or(0, str::len));
        claims.push_str(r#"{"jti":""#);
        base64url::encode_into(&mut claims, &jti);
        claims.push_str(r#"","htm":""#);
        claims.push_str(method);
        claims.push_str(r#"","htu":""#);
        push_htu(&mut claims, htu.as_str());
        claims.push_str(r#"","iat":"#);
        // Writing to a `String` cannot fail.
        let _ = write!(claims, "{}", iat.as_secs());
        if let Some(token) = token {
            claims.push_str(r#","ath":""#);
            base64url::encode_into(&mut claims, token.as_bytes());
            claims.push('"');
        }
        if let Some(nonce) = nonce {
            claims.push_str(r#","nonce":""#);
            claims.push_str(nonce);
            claims.push('"');
        }
        claims.push('}');
        let length = self.head.len() + base64url::encoded_len(claims.len()) + 1 + base64url::encoded_len(64);
        let mut text = String::with_capacity(length);
        text.push_str(&self.head);
        base64url::encode_into(&mut text, claims.as_bytes());
        Ok(text)
    }
}

/// Appends `htu` as the content of a JSON string. Hosts may contain quotes; no URL contains a backslash or a
/// control character.
fn push_htu(claims: &mut String, htu: &str) {
    for (index, part) in htu.split('"').enumerate() {
        claims.push_str(if index == 0 { "" } else { "\\\"" });
        claims.push_str(part);
    }
}

impl<S: SyncSigner, R: RandomSource> Prover<S, R> {
    /// Creates a proof synchronously, for example with a key in memory.
    ///
    /// # Errors
    /// Returns the errors of [`prove`](Prover::prove).
    pub fn prove_now(&self, request: &ProofRequest<'_>) -> Result<Proof, ProveError> {
        let unsigned = self.encode_unsigned(request)?;
        let signature = self.signer.sign_now(unsigned.as_bytes())?;
        Ok(Proof::new(unsigned, &signature))
    }
}

/// Shows the public key.
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
        base64url::encode_into(&mut text, signature.as_bytes());
        Self(text)
    }

    /// Returns the header value, which is visible ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts the proof into the header value.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Shows only the length.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proof({} bytes)", self.0.len())
    }
}

/// An error from creating a proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The method is not a token (RFC 9110, 9.1).
    #[error("invalid method token")]
    Method,
    /// The random number generator failed, so no `jti` could be created.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The signer failed to sign the proof.
    #[error(transparent)]
    Sign(#[from] SignError),
}
