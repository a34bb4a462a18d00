//! The headers of every answer: nonce, limit, id, date.

use std::sync::Arc;

use contract_runtime::server::{Answer, HeaderMap, HeaderName, HeaderValue, Response};
use exchange_api::codes::Code;
use http::header;

use super::ending::Ending;
use super::facts::{Facts, Rate};
use super::ports::Ports;
use super::stages::{Given, Stage};
use crate::correlation::CORRELATION_ID;
use crate::time::whole_seconds;

pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How many headers are added to an answer here and on its way out.
const MOST: usize = 8;

/// What an answer carries, by the stage that the request came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    nonce: bool,
    rate: bool,
}

impl Sent {
    /// What an ending at a stage carries.
    pub(super) fn at(stage: &Stage, facts: &Facts, ending: &Ending) -> Self {
        let (loud, limited) = match ending {
            Ending::Refused(refused) => (!refused.is_quiet(), refused.code() == Code::RateLimited),
            Ending::Replayed(_) => (true, false),
        };
        let is = |given: Given, sometimes: bool| match given {
            Given::Never => false,
            Given::Sometimes => sometimes,
            Given::Always => true,
        };
        Self {
            nonce: is(stage.effects.nonce, loud),
            rate: is(stage.effects.rate, facts.rate.is_some() && !limited),
        }
    }

    /// What an answer carries whose request passed a stage.
    pub(super) fn after(stage: &Stage, before: Self) -> Self {
        let is = |given: Given| given != Given::Never;
        Self { nonce: before.nonce || is(stage.effects.nonce), rate: before.rate || is(stage.effects.rate) }
    }
}

/// What all answers of one second carry: written once for all of them.
#[derive(Debug)]
pub(super) struct Second {
    at: i64,
    date: Option<HeaderValue>,
    nonce: HeaderValue,
}

impl Second {
    /// This one's. Nonces change with windows of whole seconds.
    fn of(ports: &Ports) -> Arc<Self> {
        let now = ports.environment.now();
        if let Some(second) = ports.second.load_full().filter(|second| second.at == now.secs()) {
            return second;
        }
        let date = HeaderValue::from_str(&now.http_date()).ok();
        let nonce = HeaderValue::from(&ports.nonces.issue(now.unix()));
        let second = Arc::new(Self { at: now.secs(), date, nonce });
        ports.second.store(Some(Arc::clone(&second)));
        second
    }
}

/// An answer of a signed-in route, or any refusal, as it is sent.
pub(super) fn finish(ports: &Ports, facts: &Facts, sent: &Sent, mut answer: Answer) -> Response {
    let headers = &mut answer.headers;
    headers.reserve(MOST);
    if sent.nonce {
        headers.insert(NONCE, Second::of(ports).nonce.clone());
    }
    if sent.rate
        && let Some(rate) = &facts.rate
    {
        rate_headers(headers, rate);
    }
    if facts.body.as_ref().is_none_or(Result::is_err) {
        // What was sent is not read any more, so nothing can follow it.
        close_unless_empty(headers, facts);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    common(ports, facts, answer)
}

/// An answer of an anonymous route.
pub(super) fn anonymous(ports: &Ports, facts: &Facts, answer: Answer) -> Response {
    common(ports, facts, answer)
}

fn common(ports: &Ports, facts: &Facts, mut answer: Answer) -> Response {
    let headers = &mut answer.headers;
    // A problem that is given again has the id that stands in it.
    if !headers.contains_key(CORRELATION_ID)
        && let Ok(id) = HeaderValue::from_str(facts.correlation_id.as_str())
    {
        headers.insert(CORRELATION_ID, id);
    }
    if let Some(date) = &Second::of(ports).date {
        headers.insert(header::DATE, date.clone());
    }
    answer.into_response()
}

fn close_unless_empty(headers: &mut HeaderMap, facts: &Facts) {
    let sent = &facts.head.headers;
    let has_body = sent.contains_key(header::TRANSFER_ENCODING)
        || sent.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_body {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// GW-08: the one formatter.
fn rate_headers(headers: &mut HeaderMap, rate: &Rate) {
    let Rate { limit, remaining, full_in } = rate;
    let reset = whole_seconds(*full_in);
    let policy = format!("{limit};w=60");
    let left = format!("limit={limit}, remaining={remaining}, reset={reset}");
    for (name, text) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, left)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
}
