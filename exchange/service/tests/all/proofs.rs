//! Builds DPoP proofs of every kind, including forged ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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

/// A proof before it is signed.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    header_text: Option<String>,
    claims_text: Option<String>,
    signer: Arc<KeyPair>,
}

impl Draft {
    /// Creates a valid draft for a request, without token and nonce.
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

    /// Binds it to a token.
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

    /// Edits the header's JSON as text.
    pub(crate) fn header_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.header_text = Some(change(self.header.to_string()));
        self
    }

    /// Edits the claims' JSON as text.
    pub(crate) fn claims_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.claims_text = Some(change(self.claims.to_string()));
        self
    }

    /// Signs it with a key, which the header contains, too.
    pub(crate) fn of(mut self, key: impl Into<Arc<KeyPair>>) -> Self {
        let key = key.into();
        self.header["jwk"] = key.public_key().to_jwk().parse().unwrap();
        self.signer = key;
        self
    }

    /// Signs it with a key, regardless of the header.
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

    /// Re-encodes the parts, and signs the result.
    pub(crate) fn spelt(&self, change: impl FnOnce(&mut String, &mut String)) -> String {
        let [mut header, mut claims, _] = self.parts();
        change(&mut header, &mut claims);
        self.encoded(header, claims).join(".")
    }

    /// Replaces the signature by a function of its bytes.
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
