//! Stage 14: validates parameters and body against the schema, and counts the ops of org stock against the
//! quota (ERR-22, CON-09, OST-18).

use exchange_api::error_responses::TimedCode;
use exchange_api::types::Problem;

use super::{StageFuture, idempotency_key, limits};
use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::{OpsQuotaError, RequestFacts};
use crate::gateway::ports::GatewayPorts;

/// The maximum number of undeclared properties that are collected. No valid client sends this many.
const MAX_UNDECLARED: usize = 10_000;

pub(super) fn check_ops_quota<'a>(ports: &'a GatewayPorts, facts: &'a mut RequestFacts) -> StageFuture<'a> {
    Box::pin(async move {
        if facts.incoming.is_none() {
            facts.incoming = Some(idempotency_key::read_incoming(facts));
        }
        if idempotency_key::counts_by_ops(facts) && check_schema(facts).is_ok() {
            count_ops(ports, facts).await;
        }
    })
}

/// Counts the ops of an org-stock change set against the quota. Either all ops are counted or none. A dry run
/// counts as one op (OST-18).
pub(super) async fn count_ops(ports: &GatewayPorts, facts: &mut RequestFacts) {
    let counts = idempotency_key::counts_by_ops(facts);
    let ops = facts
        .incoming
        .as_ref()
        .and_then(|read| idempotency_key::change_set_size(read.as_ref().ok()?))
        .filter(|_| counts);
    let Some((ops, dry_run)) = ops else { return };
    let count = if dry_run { 1 } else { u32::try_from(ops).unwrap_or(u32::MAX) };
    facts.ops_quota_error = match limits::take_writes(ports, facts, count).await {
        Ok(true) => None,
        Ok(false) => Some(OpsQuotaError::Exceeded),
        Err(_) => Some(OpsQuotaError::Unavailable),
    };
}

pub(super) fn decide_schema(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    check_schema(facts)?;
    match facts.ops_quota_error {
        None => Ok(()),
        Some(OpsQuotaError::Exceeded) => Err(limits::quota_exceeded(facts).into()),
        Some(OpsQuotaError::Unavailable) => {
            Err(StageRejection::from_timed_code(TimedCode::ServiceUnavailable, limits::QUOTA_RETRY_DELAY)
                .into())
        }
    }
}

fn check_schema(facts: &RequestFacts) -> Result<(), EarlyResponse> {
    let id = || facts.correlation_id.clone();
    let problem = match &facts.incoming {
        Some(Ok(incoming)) => {
            Problem::from_undeclared(&incoming.undeclared_members(MAX_UNDECLARED), id(), facts.path())
        }
        Some(Err(rejection)) => Some(Problem::from_rejection(rejection, id(), &facts.context())),
        None => None,
    };
    problem.map_or(Ok(()), |problem| Err(StageRejection::from_problem(problem).into()))
}
