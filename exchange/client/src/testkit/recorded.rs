//! Requests that a scripted server recorded.

use std::time::Duration;

use bytes::Bytes;
use dpop_bound::{Thumbprint, claims::CheckedProof};
use http::{HeaderMap, Method, Uri};
use serde_json::Value;

/// A request in the form in which the server received it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The `operationId`; empty if the request is not an operation of the contract.
    pub operation: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The full URI.
    pub uri: Uri,
    /// The request headers.
    pub headers: HeaderMap,
    /// The request body.
    pub body: Bytes,
    /// The elapsed true time when the request arrived.
    pub received_at: Duration,
    /// The claims of the proof, if the request has a valid one.
    pub proof: Option<RecordedProof>,
    /// True if the server received the request completely.
    pub was_received: bool,
}

/// The claims of a proof.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedProof {
    /// `jti`: the unique id.
    pub jti: String,
    /// `iat`: the time of signing, in seconds since 1970.
    pub iat: u64,
    /// `nonce`: the server's nonce.
    pub nonce: Option<String>,
    /// `ath`: the hash of the access token.
    pub ath: Option<String>,
    /// The thumbprint of the signing key.
    pub key: Thumbprint,
}

impl RecordedRequest {
    /// Returns the value of a header; `None` if it is missing or not a visible ASCII string.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the access token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.header("Authorization")?.strip_prefix("DPoP ")
    }

    /// Returns the `Idempotency-Key` header.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.header("Idempotency-Key")
    }

    /// Returns the `X-Correlation-Id` header.
    #[must_use]
    pub fn correlation_id(&self) -> Option<&str> {
        self.header("X-Correlation-Id")
    }

    /// Returns the path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// Returns a query parameter without decoding it.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.uri.query()?.split('&');
        pairs.find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name)).map(|(_, value)| value)
    }

    /// Returns the body as JSON, or null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

impl RecordedProof {
    /// Returns the claims of a validated proof.
    pub(super) fn from_checked(proof: &str, checked: &CheckedProof) -> Option<Self> {
        let claims: Value = serde_json::from_slice(&decode_base64url(proof.split('.').nth(1)?)?).ok()?;
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

/// Returns the `jti` of a proof without validating it; `None` if it cannot be read.
#[must_use]
pub fn proof_id(proof: &str) -> Option<String> {
    Some(parse_claims(proof)?["jti"].as_str()?.to_owned())
}

/// Returns the `iat` of a proof, in seconds since 1970, without validating it; `None` if it cannot be read.
#[must_use]
pub fn proof_time(proof: &str) -> Option<u64> {
    parse_claims(proof)?["iat"].as_u64()
}

fn parse_claims(proof: &str) -> Option<Value> {
    serde_json::from_slice(&decode_base64url(proof.split('.').nth(1)?)?).ok()
}

/// Decodes base64url. Ignores surplus bits at the end of the input.
fn decode_base64url(text: &str) -> Option<Vec<u8>> {
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
