//! What the gateway says of a request to a backend that is elsewhere, so that nobody else can say it.
//!
//! One header, `Exchange-Relay`: the caller, the method, the path with its query and the body's hash, when it was
//! said, and an HMAC over all of it under a key that both sides have. Sent again within its life it says the same
//! once more: a read is a read, a change set finds its claim completed, and a label is set to what it is.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use dpop_bound::Random;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::Caller;
use crate::secrets;
use crate::store::{StoreError, own_key};
use crate::time::Moment;

/// The header. Whatever a client sends under its name never gets behind the gateway.
pub const HEADER: HeaderName = HeaderName::from_static("exchange-relay");

/// How long it is believed, in seconds: for the way there, however long the gateway waits for the way back.
const LIFE: i64 = 30;

/// How far the clocks of both sides may be apart, in seconds.
const LEEWAY: i64 = 5;

/// Tells other uses of the same key apart.
const LABEL: &[u8] = b"Exchange-Relay 1\0";

/// The key that gateways and backends share: 32 bytes of a cryptographic generator.
#[derive(Clone)]
pub struct RelayKey(hmac::Key);

impl fmt::Debug for RelayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RelayKey(…)")
    }
}

impl RelayKey {
    /// These bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// That of a store, which gateways and backends share; made when it is asked for the first time.
    ///
    /// # Errors
    /// What the database says, or that there are no random numbers.
    pub fn of_store(connection: &Connection, random: &dyn Random) -> Result<Self, StoreError> {
        own_key(connection, random, "relay").map(Self)
    }
}

/// Why a request is not believed to come from a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbelieved {
    /// There is not exactly one header, or it is malformed.
    #[error("the request does not say who relays it")]
    Missing,
    /// Another key signed it, or nobody.
    #[error("the request's signature is wrong")]
    Signature,
    /// It is too old, or from the future.
    #[error("the request's time is over")]
    Time,
    /// It is for another request.
    #[error("the signature is for another request")]
    Request,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    caller: Caller,
    method: String,
    target: String,
    body: String,
    at: i64,
}

/// The header's value for a request.
///
/// # Errors
/// When the caller has no JSON form, which is never.
pub fn sign(
    key: &RelayKey,
    caller: &Caller,
    (method, uri, body): (&Method, &Uri, &[u8]),
    now: Moment,
) -> Result<HeaderValue, serde_json::Error> {
    let said = Said {
        caller: caller.clone(),
        method: method.as_str().to_owned(),
        target: target(uri),
        body: hash(body),
        at: now.secs(),
    };
    let said = BASE64.encode(serde_json::to_vec(&said)?);
    let mac = BASE64.encode(hmac::sign(&key.0, &signed(&said)));
    let mut value =
        HeaderValue::from_str(&format!("{said}.{mac}")).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    Ok(value)
}

/// What a gateway says, once it is known to say it now of this method and path.
#[derive(Debug)]
pub struct Believed {
    caller: Caller,
    body: String,
}

/// Checks everything but the body, so that nobody else's needs to be read.
///
/// # Errors
/// See [`Unbelieved`].
pub fn verify(
    key: &RelayKey,
    headers: &HeaderMap,
    (method, uri): (&Method, &Uri),
    now: Moment,
) -> Result<Believed, Unbelieved> {
    let mut values = headers.get_all(HEADER).iter();
    let value = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    let (said, mac) = value.and_then(|value| value.split_once('.')).ok_or(Unbelieved::Missing)?;
    let mac = BASE64.decode(mac).map_err(|_| Unbelieved::Missing)?;
    // In constant time, and before anything that it says is read.
    hmac::verify(&key.0, &signed(said), &mac).map_err(|_| Unbelieved::Signature)?;
    let said = BASE64.decode(said).map_err(|_| Unbelieved::Missing)?;
    let said: Said = serde_json::from_slice(&said).map_err(|_| Unbelieved::Missing)?;
    let age = now.secs() - said.at;
    if !(-LEEWAY..=LIFE + LEEWAY).contains(&age) {
        return Err(Unbelieved::Time);
    }
    if said.method != method.as_str() || said.target != target(uri) {
        return Err(Unbelieved::Request);
    }
    Ok(Believed { caller: said.caller, body: said.body })
}

impl Believed {
    /// Who calls, if this is the body.
    ///
    /// # Errors
    /// [`Unbelieved::Request`] for another one.
    pub fn of_body(self, body: &[u8]) -> Result<Caller, Unbelieved> {
        if self.body == hash(body) { Ok(self.caller) } else { Err(Unbelieved::Request) }
    }
}

fn signed(said: &str) -> Vec<u8> {
    [LABEL, said.as_bytes()].concat()
}

fn target(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| uri.path().to_owned(), |target| target.as_str().to_owned())
}

fn hash(body: &[u8]) -> String {
    BASE64.encode(secrets::hash(body))
}
