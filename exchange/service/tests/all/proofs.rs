//! Creates DPoP proofs of every kind, including forged ones.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

pub(crate) mod forgeries;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dpop_bound::{KeyPair, SyncSigner as _, TokenHash};
use serde_json::{Value, json};

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn unbase64(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// An unsigned proof.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    header_text: Option<String>,
    claims_text: Option<String>,
    signer: Arc<KeyPair>,
}

impl Draft {
    /// Creates a valid unsigned proof for a request without token and nonce.
    pub(crate) fn new(key: &Arc<KeyPair>, method: &str, htu: &str, iat: i64) -> Self {
        let jwk: Value = key.public_key().to_jwk().parse().unwrap();
        Self {
            header: json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk }),
            claims: json!({
                "jti": base64(random()),
                "htm": method,
                "htu": htu,
                "iat": iat,
            }),
            header_text: None,
            claims_text: None,
            signer: Arc::clone(key),
        }
    }

    /// Adds the hash of a token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.claim("ath", TokenHash::from_token(token).to_string())
    }

    /// Adds a nonce.
    pub(crate) fn nonce(self, nonce: &str) -> Self {
        self.claim("nonce", nonce)
    }

    pub(crate) fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims[name] = value.into();
        self
    }

    pub(crate) fn without_claim(mut self, name: &str) -> Self {
        self.claims.as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header[name] = value.into();
        self
    }

    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.header.as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    pub(crate) fn jwk(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header["jwk"][name] = value.into();
        self
    }

    pub(crate) fn without_jwk(mut self, name: &str) -> Self {
        self.header["jwk"].as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    /// Edits the serialized header.
    pub(crate) fn header_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.header_text = Some(change(self.header.to_string()));
        self
    }

    /// Edits the serialized claims.
    pub(crate) fn claims_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.claims_text = Some(change(self.claims.to_string()));
        self
    }

    /// Sets the signing key, and its public half in the header.
    pub(crate) fn signed_with(mut self, key: impl Into<Arc<KeyPair>>) -> Self {
        let key = key.into();
        self.header["jwk"] = key.public_key().to_jwk().parse().unwrap();
        self.signer = key;
        self
    }

    /// Sets the signing key, but leaves the public key in the header unchanged.
    pub(crate) fn signed_by(mut self, key: impl Into<Arc<KeyPair>>) -> Self {
        self.signer = key.into();
        self
    }

    fn parts(&self) -> [String; 3] {
        let header = self.header_text.clone().unwrap_or_else(|| self.header.to_string());
        let claims = self.claims_text.clone().unwrap_or_else(|| self.claims.to_string());
        self.encoded(base64(header), base64(claims))
    }

    /// Returns the serialized proof.
    pub(crate) fn proof(&self) -> String {
        self.parts().join(".")
    }

    /// Changes the encoded header and claims before signing.
    pub(crate) fn spelt(&self, change: impl FnOnce(&mut String, &mut String)) -> String {
        let [mut header, mut claims, _] = self.parts();
        change(&mut header, &mut claims);
        self.encoded(header, claims).join(".")
    }

    /// Replaces the signature bytes.
    pub(crate) fn signature(&self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
        let [header, claims, signature] = self.parts();
        [header, claims, base64(change(unbase64(&signature)))].join(".")
    }

    fn encoded(&self, header: String, claims: String) -> [String; 3] {
        let signature = self.signer.sign_now(format!("{header}.{claims}").as_bytes()).unwrap();
        [header, claims, base64(signature.as_bytes())]
    }
}

fn random() -> [u8; 16] {
    use dpop_bound::RandomSource as _;
    let mut bytes = [0; 16];
    dpop_bound::SystemRandom.fill(&mut bytes).unwrap();
    bytes
}
