//! Stages 12 and 13: the body's type, whether it is JSON, and the key of a write (GW-09 to GW-11, A38).

use contract_runtime::server::{Call, Rejection, media};
use exchange_api::operations::OperationId;
use exchange_api::refusals::{PlainCode, TimedCode};
use exchange_api::server::Incoming;
use exchange_api::types::Problem;
use http::header;

use super::{Asking, limits, schema};
use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::{Facts, OverQuota};
use crate::gateway::ports::{Asked, Ports};
use crate::idempotency::{Found, request_hash};
use crate::shared::Unavailable;

/// ERR-30: a body is `application/json`, sent as it is. A coding is never undone, so nothing can unfold.
pub(super) fn decide_media(facts: &Facts, _: &Config) -> Result<(), Ending> {
    let headers = &facts.head.headers;
    let Some(body) = facts.operation.and_then(|operation| operation.body) else { return Ok(()) };
    let plain = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if plain && media::accepts(&body, headers) {
        Ok(())
    } else {
        Err(Refused::plain(PlainCode::UnsupportedMediaType).into())
    }
}

/// Reads the request, then looks for the key and claims it.
pub(super) fn ask<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        let Some(operation) = facts.operation.filter(|operation| operation.idempotent) else { return };
        let Some(key) = key(facts).map(str::to_owned) else { return };
        facts.read = Some(read(facts));
        if is_no_json(facts) {
            return;
        }
        let found = claim(ports, facts, operation.id, key).await;
        let replayed = matches!(found, Ok(Found::Answered(_)));
        facts.key = Some(found);
        if replayed {
            // A replay counts like any request (A3).
            schema::count_ops(ports, facts).await;
        }
    })
}

async fn claim(ports: &Ports, facts: &Facts, operation: &str, key: String) -> Result<Found, Unavailable> {
    let Some(proven) = facts.proven() else { return Err(Unavailable) };
    let fence = ports.environment.bytes().map_err(|error| Unavailable::because(&error))?;
    let asked = Asked {
        client: proven.token.client.clone(),
        member: proven.token.member.clone(),
        key,
        request: request_hash(operation, &facts.bytes()),
        fence: i64::from_be_bytes(fence),
    };
    ports.keys.claim(asked, ports.terms, facts.now).await
}

/// Reads parameters and body by the contract.
pub(super) fn read(facts: &Facts) -> Result<Incoming, Rejection> {
    let Some(operation) = facts.operation else { return Err(Rejection::NotFound) };
    Incoming::read(&Call::new(operation, facts.context())?)
}

pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    if !facts.operation.is_some_and(|operation| operation.idempotent) {
        return Ok(());
    }
    if key(facts).is_none() {
        return Err(Refused::plain(PlainCode::IdempotencyKeyMissing).into());
    }
    if let (true, Some(Err(rejection))) = (is_no_json(facts), &facts.read) {
        let id = facts.correlation_id.clone();
        return Err(Refused::problem(Problem::of_rejection(rejection, id, &facts.context())).into());
    }
    let refused = match &facts.key {
        Some(Ok(Found::Claimed(_))) => return Ok(()),
        Some(Ok(Found::Answered(answer))) => match facts.over_quota {
            None => return Err(Ending::Replayed(Box::new(answer.clone()))),
            Some(OverQuota::Exceeded) => limits::exceeded(facts),
            Some(OverQuota::Unknown) => Refused::timed(TimedCode::ServiceUnavailable, limits::UNCOUNTED),
        },
        Some(Ok(Found::Reused)) => Refused::plain(PlainCode::IdempotencyKeyReused),
        Some(Ok(Found::InProgress)) => Refused::plain(PlainCode::IdempotencyInProgress),
        Some(Ok(Found::NoRoom(wait))) => Refused::timed(TimedCode::ExchangeBudgetExhausted, *wait),
        Some(Err(Unavailable)) | None => Refused::plain(PlainCode::ServiceUnavailable),
    };
    Err(refused.into())
}

/// The key, when there is exactly one and it is one (GW-09, LIM-24).
fn key(facts: &Facts) -> Option<&str> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    let key = facts.only("idempotency-key")?;
    ((8..=128).contains(&key.len()) && key.bytes().all(letter)).then_some(key)
}

/// What is no JSON document is refused before the key is looked up, and never kept for it.
fn is_no_json(facts: &Facts) -> bool {
    matches!(facts.read, Some(Err(Rejection::NotJson)))
}

/// How many ops a request has, and whether it only asks what they would do; none for what is no change set.
pub(in crate::gateway) fn ops(incoming: &Incoming) -> Option<(usize, bool)> {
    let (ops, dry_run) = match incoming {
        Incoming::BlueprintsWrite(call) => (call.body.ops.len(), call.body.dry_run),
        Incoming::StockWrite(call) => (call.body.ops.len(), call.body.dry_run),
        Incoming::ShipsWrite(call) => (call.body.ops.len(), call.body.dry_run),
        Incoming::OrgStockWrite(call) => (call.body.ops.len(), call.body.dry_run),
        _ => return None,
    };
    Some((ops, dry_run.unwrap_or(false)))
}

/// Whether a request counts by its ops.
pub(super) fn counts_by_ops(facts: &Facts) -> bool {
    facts.operation.and_then(OperationId::of) == Some(OperationId::OrgStockWrite)
}
