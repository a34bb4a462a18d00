//! What a scripted server saw.

use std::time::Duration;

use bytes::Bytes;
use dpop_bound::{Thumbprint, claims::CheckedProof};
use http::{HeaderMap, Method, Uri};
use serde_json::Value;

/// A request, as it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// `operationId`; empty for what is none of the contract's.
    pub operation: &'static str,
    /// Its method.
    pub method: Method,
    /// Its address.
    pub uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// When it came, in time that had passed.
    pub at: Duration,
    /// What its proof says, if it has one that can be read.
    pub proof: Option<SeenProof>,
    /// Whether the server heard it.
    pub heard: bool,
}

/// The claims of a proof.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeenProof {
    /// `jti`
    pub jti: String,
    /// `iat`
    pub iat: u64,
    /// `nonce`
    pub nonce: Option<String>,
    /// `ath`
    pub ath: Option<String>,
    /// The key that signed it.
    pub key: Thumbprint,
}

impl Seen {
    /// A header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The access token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.header("Authorization")?.strip_prefix("DPoP ")
    }

    /// `Idempotency-Key`
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.header("Idempotency-Key")
    }

    /// `X-Correlation-Id`
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.header("X-Correlation-Id")
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// A parameter of the query, as it was written.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.uri.query()?.split('&');
        pairs.find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name)).map(|(_, value)| value)
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

impl SeenProof {
    /// What a proof says that was checked.
    pub(super) fn of(proof: &str, checked: &CheckedProof) -> Option<Self> {
        let claims: Value = serde_json::from_slice(&base64url(proof.split('.').nth(1)?)?).ok()?;
        let text = |name: &str| claims[name].as_str().map(str::to_owned);
        Some(Self {
            jti: checked.jti().to_owned(),
            iat: checked.iat(),
            nonce: text("nonce"),
            ath: text("ath"),
            key: *checked.thumbprint(),
        })
    }
}

/// The `jti` of a proof, of whatever worth it is otherwise; nothing when it has none that can be read.
#[must_use]
pub fn proof_id(proof: &str) -> Option<String> {
    Some(claims(proof)?["jti"].as_str()?.to_owned())
}

/// The `iat` of a proof, in seconds since 1970, of whatever worth it is otherwise; nothing when it has none.
#[must_use]
pub fn proof_time(proof: &str) -> Option<u64> {
    claims(proof)?["iat"].as_u64()
}

fn claims(proof: &str) -> Option<Value> {
    serde_json::from_slice(&base64url(proof.split('.').nth(1)?)?).ok()
}

/// Decodes, and is strict about nothing but the letters.
fn base64url(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::with_capacity(text.len());
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.bytes() {
        let digit = DIGITS.iter().position(|known| *known == byte)?;
        held = (held << 6 | u32::try_from(digit).ok()?) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}
