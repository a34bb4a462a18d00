//! The journal of the sandbox: the last requests of clients, and why they were refused.
//!
//! It contains no token and no proof, only claims of them. Requests for pages are not recorded, because their
//! addresses can contain secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use dpop_bound::ProofWindow;
use http::header::AUTHORIZATION;
use http::request::Parts as Head;
use http::{HeaderMap, Response};
use serde::Serialize;
use serde_json::Value;

use super::faults::SandboxFault;
use crate::gateway::{REPLAYED, RejectedBy, is_gateway_path};
use crate::secrets::sha256;
use crate::time::Moment;

/// The number of requests that the journal keeps.
const MAX_ENTRIES: usize = 1000;

/// A request of a client, with the decision about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The number of the request, from 1.
    pub number: u64,
    /// The time of the request by the sandbox's clock.
    pub at: String,
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The fault that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<SandboxFault>,
    /// The status of the response; `None` if the connection was closed before the request was handled.
    pub status: Option<u16>,
    /// Whether the client received the response.
    pub is_answered: bool,
    /// The code of the problem document, or the error of OAuth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The part of the exchange that refused the request: a stage of the gateway, `backend`, or `identity provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// A keyword for the reason, such as `htu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The explanation in the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What the exchange expected, and what it received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<Mismatch>,
    /// The idempotency key of a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Whether the response is the stored one of an earlier attempt.
    pub is_replayed: bool,
    /// The correlation id of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

/// A part of a refused request that differs from what the exchange expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// The claim, header or JSON Pointer.
    pub what: String,
    /// What the exchange expects.
    pub expected: String,
    /// What the client sent; `None` for parts of a body, which the journal does not contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
}

/// The last requests of clients.
#[derive(Debug, Default)]
pub(super) struct RequestJournal(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    count: u64,
    last: VecDeque<JournalEntry>,
}

impl RequestJournal {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry and numbers it.
    pub(super) fn push(&self, mut entry: JournalEntry) {
        let mut entries = self.lock();
        entries.count += 1;
        entry.number = entries.count;
        if entries.last.len() == MAX_ENTRIES {
            entries.last.pop_front();
        }
        entries.last.push_back(entry);
    }

    /// Returns the entries with greater numbers.
    pub(super) fn after(&self, number: u64) -> Vec<JournalEntry> {
        self.lock().last.iter().filter(|entry| entry.number > number).cloned().collect()
    }

    pub(super) fn clear(&self) {
        self.lock().last.clear();
    }
}

/// Returns true for requests that the journal records and to which faults apply: those of clients.
pub(super) fn is_client_request(path: &str) -> bool {
    is_gateway_path(path) || path.starts_with("/idp/")
}

/// What the exchange expects of the proof of a request.
pub(super) struct ProofExpectation<'a> {
    /// The time at which the request was handled.
    pub(super) now: Moment,
    /// The origin of `htu`.
    pub(super) origin: &'a str,
    /// The accepted difference between `iat` and `now`, which differs between gateway and provider.
    pub(super) window: ProofWindow,
}

/// Creates the entry of a request. The response is `None` if the connection was closed before the request was
/// handled.
pub(super) fn describe_request(
    head: &Head,
    expected: &ProofExpectation<'_>,
    fault: Option<SandboxFault>,
    response: Option<&Response<Bytes>>,
) -> JournalEntry {
    let text = |headers: &HeaderMap, name: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let mut entry = JournalEntry {
        number: 0,
        at: expected.now.to_string(),
        method: head.method.to_string(),
        target,
        is_answered: response.is_some() && fault != Some(SandboxFault::LoseResponse {}),
        fault,
        status: response.map(|response| response.status().as_u16()),
        code: None,
        stage: None,
        reason: None,
        detail: None,
        mismatches: Vec::new(),
        idempotency_key: text(&head.headers, "idempotency-key"),
        is_replayed: response.is_some_and(|response| response.headers().contains_key(REPLAYED)),
        correlation_id: response.and_then(|response| text(response.headers(), "x-correlation-id")),
    };
    if let Some(response) = response.filter(|response| !response.status().is_success()) {
        explain_refusal(&mut entry, head, expected, response);
    }
    entry
}

fn explain_refusal(
    entry: &mut JournalEntry,
    head: &Head,
    expected: &ProofExpectation<'_>,
    response: &Response<Bytes>,
) {
    let problem: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let text = |name: &str| problem[name].as_str().map(str::to_owned);
    entry.code = text("code").or_else(|| text("error"));
    entry.detail = text("detail").or_else(|| text("error_description"));
    let is_gateway = is_gateway_path(head.uri.path());
    entry.stage = match response.extensions().get::<RejectedBy>() {
        _ if matches!(entry.fault, Some(SandboxFault::Refuse { .. })) => {
            Some("fault of the sandbox".to_owned())
        }
        Some(rejected) => Some(rejected.stage.to_owned()),
        None if entry.code.is_none() => None,
        None => Some(if is_gateway { "backend" } else { "identity provider" }.to_owned()),
    };
    let reason = response.extensions().get::<RejectedBy>().map(|rejected| rejected.reason);
    entry.reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
    let errors = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    entry.mismatches = errors.iter().filter_map(mismatch_of_error).collect();
    // The provider can report a late proof as `invalid_request`.
    let is_about_proof = entry.code.as_deref().is_some_and(|code| {
        matches!(code, "UNAUTHENTICATED" | "invalid_dpop_proof" | "invalid_request" | "use_dpop_nonce")
            || code.starts_with("DPOP_")
    });
    if is_about_proof {
        entry.mismatches.extend(proof_mismatches(head, expected));
    }
}

/// Converts an entry of a problem's `errors`.
fn mismatch_of_error(error: &Value) -> Option<Mismatch> {
    let what = error["pointer"].as_str()?;
    let expected = error["message"].as_str().or_else(|| error["keyword"].as_str()).unwrap_or_default();
    Some(Mismatch { what: what.to_owned(), expected: expected.to_owned(), received: None })
}

/// Compares the claims of the proof with the request. Signatures, nonces and used proofs are checked by the exchange
/// alone.
fn proof_mismatches(head: &Head, expectation: &ProofExpectation<'_>) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let mut differs = |what: &str, expected: String, received: String| {
        if expected != received {
            found.push(Mismatch { what: what.to_owned(), expected, received: Some(received) });
        }
    };
    let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = authorization.and_then(|value| value.split_once(' ')).map(|(scheme, token)| {
        differs("authorization scheme", "DPoP".to_owned(), scheme.to_owned());
        token.trim()
    });
    let is_gateway = is_gateway_path(head.uri.path());
    if is_gateway && token.is_none() {
        differs("authorization", "DPoP and an access token".to_owned(), "nothing".to_owned());
    }
    let proofs: Vec<_> = head.headers.get_all("dpop").iter().collect();
    differs("number of DPoP headers", "1".to_owned(), proofs.len().to_string());
    let Some((header, claims)) = proofs.first().and_then(|proof| decode_jwt(proof.to_str().ok()?)) else {
        return found;
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    differs("typ", "dpop+jwt".to_owned(), text(&header["typ"]));
    differs("alg", "ES256".to_owned(), text(&header["alg"]));
    differs("htm", head.method.to_string(), text(&claims["htm"]));
    differs("htu", format!("{}{}", expectation.origin, head.uri.path()), text(&claims["htu"]));
    let now = expectation.now.as_secs();
    let (past, future) = (expectation.window.past.as_secs(), expectation.window.future.as_secs());
    let (earliest, latest) = (now.saturating_sub_unsigned(past), now.saturating_add_unsigned(future));
    if !claims["iat"].as_i64().is_some_and(|iat| (earliest..=latest).contains(&iat)) {
        differs("iat", format!("{earliest} to {latest}"), claims["iat"].to_string());
    }
    if claims["nonce"].is_null() {
        differs("nonce", "the last DPoP-Nonce".to_owned(), "nothing".to_owned());
    }
    if let Some(token) = token.filter(|_| is_gateway) {
        let hash = URL_SAFE_NO_PAD.encode(sha256(token));
        differs("ath", hash, text(&claims["ath"]));
        if let Some((_, claims)) = decode_jwt(token)
            && let Some(exp) = claims["exp"].as_i64()
            && exp <= now
        {
            differs("exp of the access token", format!("later than {now}"), exp.to_string());
        }
    }
    found
}

/// Decodes header and claims of a JWT without its signature.
fn decode_jwt(jwt: &str) -> Option<(Value, Value)> {
    let mut parts = jwt.split('.');
    let mut decode = || serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts.next()?).ok()?).ok();
    Some((decode()?, decode()?))
}
