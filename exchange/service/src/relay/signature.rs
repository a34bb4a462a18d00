//! The signature by which a remote backend recognizes requests from gateways.
//!
//! The header `Exchange-Relay` contains the caller, the method, the path with its query, the hash of the body
//! and the time, and an HMAC of all of these with a shared key. A replay within the lifetime of the signature
//! has no additional effect: reads are idempotent, the claim of a change set is already completed, and a
//! label is set to the same value.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use dpop_bound::RandomSource;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::Caller;
use crate::secrets;
use crate::store::{StoreError, ensure_key};
use crate::time::Moment;

/// The name of the signature header. The gateway does not forward a header with this name from a client.
pub const HEADER: HeaderName = HeaderName::from_static("exchange-relay");

/// The lifetime of a signature, in seconds. It must cover the transfer of the request, but not the time until
/// the response.
const LIFE_SECONDS: i64 = 30;

/// The tolerated difference between the clocks of gateway and backend, in seconds.
const LEEWAY_SECONDS: i64 = 5;

/// A label in the signed bytes, which separates this use of the key from others.
const LABEL: &[u8] = b"Exchange-Relay 1\0";

/// The key of 32 random bytes that gateways and backends share.
#[derive(Clone)]
pub struct RelayKey(hmac::Key);

impl fmt::Debug for RelayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RelayKey(…)")
    }
}

impl RelayKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Loads the key from the store that gateways and backends share. Creates the key on first use.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails or the random number generator fails.
    pub fn from_store(connection: &Connection, random: &dyn RandomSource) -> Result<Self, StoreError> {
        ensure_key(connection, random, "relay").map(Self)
    }
}

/// The reason a request is rejected because of its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The header is missing, repeated or malformed.
    #[error("the relay signature is missing or malformed")]
    Malformed,
    /// The HMAC does not match the key.
    #[error("the relay signature is invalid")]
    Signature,
    /// The signature is too old, or its time is too far in the future.
    #[error("the relay signature has expired")]
    Expired,
    /// The signature is for another request.
    #[error("the relay signature is for another request")]
    OtherRequest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedContent {
    caller: Caller,
    method: String,
    target: String,
    body: String,
    at: i64,
}

/// Creates the value of the signature header for a request.
///
/// # Errors
/// Returns a [`serde_json::Error`] if the caller cannot be serialized, which does not happen in practice.
pub fn sign_request(
    key: &RelayKey,
    caller: &Caller,
    (method, uri, body): (&Method, &Uri, &[u8]),
    now: Moment,
) -> Result<HeaderValue, serde_json::Error> {
    let content = SignedContent {
        caller: caller.clone(),
        method: method.as_str().to_owned(),
        target: request_target(uri),
        body: body_hash(body),
        at: now.as_secs(),
    };
    let content = BASE64.encode(serde_json::to_vec(&content)?);
    let mac = BASE64.encode(hmac::sign(&key.0, &signed_bytes(&content)));
    let mut value =
        HeaderValue::from_str(&format!("{content}.{mac}")).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    Ok(value)
}

/// A request whose signature is valid for its method, path and time. The body is not verified yet.
#[derive(Debug)]
pub struct VerifiedRequest {
    caller: Caller,
    body: String,
}

/// Verifies the signature, except for the body, so that the bodies of unsigned requests need not be read.
///
/// # Errors
/// See [`SignatureError`].
pub fn verify_request(
    key: &RelayKey,
    headers: &HeaderMap,
    (method, uri): (&Method, &Uri),
    now: Moment,
) -> Result<VerifiedRequest, SignatureError> {
    let mut values = headers.get_all(HEADER).iter();
    let value = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let (content, mac) = value.and_then(|value| value.split_once('.')).ok_or(SignatureError::Malformed)?;
    let mac = BASE64.decode(mac).map_err(|_| SignatureError::Malformed)?;
    // The HMAC is compared in constant time, before the content is parsed.
    hmac::verify(&key.0, &signed_bytes(content), &mac).map_err(|_| SignatureError::Signature)?;
    let content = BASE64.decode(content).map_err(|_| SignatureError::Malformed)?;
    let content: SignedContent = serde_json::from_slice(&content).map_err(|_| SignatureError::Malformed)?;
    let age = now.as_secs() - content.at;
    if !(-LEEWAY_SECONDS..=LIFE_SECONDS + LEEWAY_SECONDS).contains(&age) {
        return Err(SignatureError::Expired);
    }
    if content.method != method.as_str() || content.target != request_target(uri) {
        return Err(SignatureError::OtherRequest);
    }
    Ok(VerifiedRequest { caller: content.caller, body: content.body })
}

impl VerifiedRequest {
    /// Returns the caller if the body is the one that was signed.
    ///
    /// # Errors
    /// Returns [`SignatureError::OtherRequest`] if another body was signed.
    pub fn into_caller(self, body: &[u8]) -> Result<Caller, SignatureError> {
        if self.body == body_hash(body) { Ok(self.caller) } else { Err(SignatureError::OtherRequest) }
    }
}

fn signed_bytes(content: &str) -> Vec<u8> {
    [LABEL, content.as_bytes()].concat()
}

fn request_target(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| uri.path().to_owned(), |target| target.as_str().to_owned())
}

fn body_hash(body: &[u8]) -> String {
    BASE64.encode(secrets::sha256(body))
}
