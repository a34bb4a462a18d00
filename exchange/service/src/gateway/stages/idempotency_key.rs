//! Stages 12 and 13: check the media type of the body, its JSON syntax, and the idempotency key of a write
//! (GW-09 to GW-11, A38).

use contract_runtime::server::{IncomingRequest, Rejection, media};
use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::operations::OperationId;
use exchange_api::server::AnyCall;
use exchange_api::types::Problem;
use http::header;

use super::{StageFuture, limits, schema};
use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::{OpsQuotaError, RequestFacts};
use crate::gateway::ports::{GatewayPorts, KeyRequest};
use crate::idempotency::{ClaimOutcome, request_hash};
use crate::shared::SharedStateError;

/// Requires the media type `application/json` and no content coding (ERR-30). Bodies are never decompressed.
pub(super) fn decide_media(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    let headers = &facts.head.headers;
    let Some(body) = facts.operation.and_then(|operation| operation.body) else { return Ok(()) };
    let plain = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if plain && media::accepts(&body, headers) {
        Ok(())
    } else {
        Err(StageRejection::from_code(PlainCode::UnsupportedMediaType).into())
    }
}

/// Parses the request, then looks up its idempotency key and claims it if it is free.
pub(super) fn claim_key<'a>(ports: &'a GatewayPorts, facts: &'a mut RequestFacts) -> StageFuture<'a> {
    Box::pin(async move {
        let Some(operation) = facts.operation.filter(|operation| operation.idempotent) else { return };
        let Some(key) = idempotency_key(facts).map(str::to_owned) else { return };
        facts.incoming = Some(read_incoming(facts));
        if is_malformed_json(facts) {
            return;
        }
        let found = request_claim(ports, facts, operation.id, key).await;
        let replayed = matches!(found, Ok(ClaimOutcome::Answered(_)));
        facts.key_claim = Some(found);
        if replayed {
            // A replay counts against the quota like any other request (A3).
            schema::count_ops(ports, facts).await;
        }
    })
}

async fn request_claim(
    ports: &GatewayPorts,
    facts: &RequestFacts,
    operation: &str,
    key: String,
) -> Result<ClaimOutcome, SharedStateError> {
    let Some(proven) = facts.credentials() else { return Err(SharedStateError) };
    let fence = ports.environment.random_bytes().map_err(|error| SharedStateError::from_error(&error))?;
    let key_request = KeyRequest {
        client: proven.token.client.clone(),
        member: proven.token.member.clone(),
        key,
        request: request_hash(operation, &facts.body_bytes()),
        fence: i64::from_be_bytes(fence),
    };
    ports.keys.claim(key_request, ports.terms, facts.now).await
}

/// Parses the parameters and the body, and validates them according to the contract.
pub(super) fn read_incoming(facts: &RequestFacts) -> Result<AnyCall, Rejection> {
    let Some(operation) = facts.operation else { return Err(Rejection::NotFound) };
    AnyCall::from_request(&IncomingRequest::new(operation, facts.context())?)
}

pub(super) fn decide_idempotency(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    if !facts.operation.is_some_and(|operation| operation.idempotent) {
        return Ok(());
    }
    if idempotency_key(facts).is_none() {
        return Err(StageRejection::from_code(PlainCode::IdempotencyKeyMissing).into());
    }
    if let (true, Some(Err(rejection))) = (is_malformed_json(facts), &facts.incoming) {
        let id = facts.correlation_id.clone();
        return Err(
            StageRejection::from_problem(Problem::from_rejection(rejection, id, &facts.context())).into()
        );
    }
    let refused = match &facts.key_claim {
        Some(Ok(ClaimOutcome::Claimed(_))) => return Ok(()),
        Some(Ok(ClaimOutcome::Answered(response))) => match facts.ops_quota_error {
            None => return Err(EarlyResponse::Replayed(Box::new(response.clone()))),
            Some(OpsQuotaError::Exceeded) => limits::quota_exceeded(facts),
            Some(OpsQuotaError::Unavailable) => {
                StageRejection::from_timed_code(TimedCode::ServiceUnavailable, limits::QUOTA_RETRY_DELAY)
            }
        },
        Some(Ok(ClaimOutcome::Reused)) => StageRejection::from_code(PlainCode::IdempotencyKeyReused),
        Some(Ok(ClaimOutcome::InProgress)) => StageRejection::from_code(PlainCode::IdempotencyInProgress),
        Some(Ok(ClaimOutcome::BudgetExhausted(wait))) => {
            StageRejection::from_timed_code(TimedCode::ExchangeBudgetExhausted, *wait)
        }
        Some(Err(SharedStateError)) | None => StageRejection::from_code(PlainCode::ServiceUnavailable),
    };
    Err(refused.into())
}

/// Returns the idempotency key if its header occurs exactly once and is valid (GW-09, LIM-24).
fn idempotency_key(facts: &RequestFacts) -> Option<&str> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    let key = facts.single_header("idempotency-key")?;
    ((8..=128).contains(&key.len()) && key.bytes().all(letter)).then_some(key)
}

/// Returns true if the body is not JSON. Such a request is refused before the key is looked up, and the
/// rejection is never stored.
fn is_malformed_json(facts: &RequestFacts) -> bool {
    matches!(facts.incoming, Some(Err(Rejection::MalformedBody)))
}

/// Returns the number of ops of a change set and whether it is a dry run. Returns `None` for other requests.
pub(in crate::gateway) fn change_set_size(incoming: &AnyCall) -> Option<(usize, bool)> {
    let (ops, dry_run) = match incoming {
        AnyCall::BlueprintsWrite(call) => (call.body.ops.len(), call.body.dry_run),
        AnyCall::StockWrite(call) => (call.body.ops.len(), call.body.dry_run),
        AnyCall::ShipsWrite(call) => (call.body.ops.len(), call.body.dry_run),
        AnyCall::OrgStockWrite(call) => (call.body.ops.len(), call.body.dry_run),
        _ => return None,
    };
    Some((ops, dry_run.unwrap_or(false)))
}

/// Returns true if each op of the operation, and not the request, counts against the quota.
pub(super) fn counts_by_ops(facts: &RequestFacts) -> bool {
    facts.operation.and_then(OperationId::from_operation) == Some(OperationId::OrgStockWrite)
}
