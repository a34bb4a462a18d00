//! Adds headers to responses: correlation id and date to every response, nonce and rate limit if they apply.

use std::sync::Arc;

use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderName, HeaderValue, Response};
use exchange_api::codes::Code;
use http::header;

use super::early_response::EarlyResponse;
use super::facts::{RateStatus, RequestFacts};
use super::ports::GatewayPorts;
use super::stages::{EffectFrequency, Stage};
use crate::correlation::CORRELATION_ID;
use crate::time::whole_seconds;

pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The maximum number of headers that the gateway adds to a response.
const MAX_ADDED_HEADERS: usize = 8;

/// The optional headers of a response. They depend on the last stage that the request reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseHeaders {
    nonce: bool,
    rate: bool,
}

impl ResponseHeaders {
    /// Selects the headers of a response that ends a request at a stage.
    pub(super) fn for_early_response(stage: &Stage, facts: &RequestFacts, ending: &EarlyResponse) -> Self {
        let (loud, limited) = match ending {
            EarlyResponse::Rejected(rejection) => {
                (!rejection.omits_nonce(), rejection.code() == Code::RateLimited)
            }
            EarlyResponse::Replayed(_) => (true, false),
        };
        let applies = |frequency: EffectFrequency, sometimes: bool| match frequency {
            EffectFrequency::Never => false,
            EffectFrequency::Sometimes => sometimes,
            EffectFrequency::Always => true,
        };
        Self {
            nonce: applies(stage.effects.nonce, loud),
            rate: applies(stage.effects.rate, facts.rate_status.is_some() && !limited),
        }
    }

    /// Selects the headers of a response to a request that passed a stage.
    pub(super) fn after_stage(stage: &Stage, before: Self) -> Self {
        let applies = |frequency: EffectFrequency| frequency != EffectFrequency::Never;
        Self {
            nonce: before.nonce || applies(stage.effects.nonce),
            rate: before.rate || applies(stage.effects.rate),
        }
    }
}

/// The headers that all responses within the same second share, so that they are formatted only once.
#[derive(Debug)]
pub(super) struct SecondHeaders {
    secs: i64,
    date: Option<HeaderValue>,
    nonce: HeaderValue,
}

impl SecondHeaders {
    /// Returns the headers for the current second. Nonces change only at whole seconds.
    fn current(ports: &GatewayPorts) -> Arc<Self> {
        let now = ports.environment.now();
        if let Some(second) = ports.second_headers.load_full().filter(|second| second.secs == now.as_secs()) {
            return second;
        }
        let date = HeaderValue::from_str(&now.http_date()).ok();
        let nonce = HeaderValue::from(&ports.nonces.issue(now.to_unix_time()));
        let second = Arc::new(Self { secs: now.as_secs(), date, nonce });
        ports.second_headers.store(Some(Arc::clone(&second)));
        second
    }
}

/// Adds the headers to a rejection, or to the response of a route that requires a token.
pub(super) fn finish_response(
    ports: &GatewayPorts,
    facts: &RequestFacts,
    sent: &ResponseHeaders,
    mut response: EncodedResponse,
) -> Response {
    let headers = &mut response.headers;
    headers.reserve(MAX_ADDED_HEADERS);
    if sent.nonce {
        headers.insert(NONCE, SecondHeaders::current(ports).nonce.clone());
    }
    if sent.rate
        && let Some(rate) = &facts.rate_status
    {
        insert_rate_headers(headers, rate);
    }
    if facts.body.as_ref().is_none_or(Result::is_err) {
        // The rest of the body is not read, so the connection cannot be reused.
        close_unless_empty(headers, facts);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    add_common_headers(ports, facts, response)
}

/// Adds the headers to the response of an anonymous route.
pub(super) fn finish_anonymous(
    ports: &GatewayPorts,
    facts: &RequestFacts,
    response: EncodedResponse,
) -> Response {
    add_common_headers(ports, facts, response)
}

fn add_common_headers(ports: &GatewayPorts, facts: &RequestFacts, mut response: EncodedResponse) -> Response {
    let headers = &mut response.headers;
    // A replayed problem document keeps the correlation id that is in its body.
    if !headers.contains_key(CORRELATION_ID)
        && let Ok(id) = HeaderValue::from_str(facts.correlation_id.as_str())
    {
        headers.insert(CORRELATION_ID, id);
    }
    if let Some(date) = &SecondHeaders::current(ports).date {
        headers.insert(header::DATE, date.clone());
    }
    response.into_response()
}

fn close_unless_empty(headers: &mut HeaderMap, facts: &RequestFacts) {
    let sent = &facts.head.headers;
    let has_body = sent.contains_key(header::TRANSFER_ENCODING)
        || sent.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_body {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Adds the `RateLimit` headers (GW-08).
fn insert_rate_headers(headers: &mut HeaderMap, rate: &RateStatus) {
    let RateStatus { limit, remaining, full_in } = rate;
    let reset = whole_seconds(*full_in);
    let policy = format!("{limit};w=60");
    let left = format!("limit={limit}, remaining={remaining}, reset={reset}");
    for (name, text) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, left)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
}
