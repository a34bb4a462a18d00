//! Stage 11: checks rate limits and the daily write quota (GW-06, GW-07, LIM-05, LIM-18, LIM-19).

use std::time::Duration;

use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::operations::OperationId;

use super::StageFuture;
use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::{LimitOutcome, RateStatus, RequestFacts};
use crate::gateway::ports::GatewayPorts;
use crate::registry::{MAX_REQUESTS_PER_MINUTE, MAX_WRITES_PER_DAY};
use crate::shared::SharedStateError;
use crate::shared::quota::WriteCount;
use crate::shared::rate::{DrawOutcome, RateBucket, RatePolicy};

/// The `Retry-After` delay if the quota counter is unavailable (A9).
pub(super) const QUOTA_RETRY_DELAY: Duration = Duration::from_secs(30);

pub(super) fn apply_limits<'a>(ports: &'a GatewayPorts, facts: &'a mut RequestFacts) -> StageFuture<'a> {
    Box::pin(async move {
        let limited = match check_rates(ports, facts).await {
            Ok(LimitOutcome::Allowed) => count_write(ports, facts).await,
            Ok(limited) => limited,
            Err(SharedStateError) => LimitOutcome::RatesUnavailable,
        };
        facts.limit_outcome = Some(limited);
    })
}

/// Checks the limits of the member, of the client and of account checks, in this order. A request that one
/// limit refuses does not count against the limits after it.
async fn check_rates(
    ports: &GatewayPorts,
    facts: &mut RequestFacts,
) -> Result<LimitOutcome, SharedStateError> {
    let limits = &ports.config.limits;
    let Some(proven) = facts.credentials() else { return Ok(LimitOutcome::RatesUnavailable) };
    let (client, member) = (proven.token.client.clone(), proven.token.member.clone());
    let client_limit = facts.client().and_then(|client| client.requests_per_minute);
    let limit = client_limit
        .map_or(limits.per_member, |client_limit| client_limit.min(MAX_REQUESTS_PER_MINUTE))
        .max(1);
    let bucket = RateBucket::Member(client.clone(), member.clone());
    let rate = match ports.rates.take_request(&bucket, RatePolicy::per_minute(limit), facts.now).await? {
        DrawOutcome::Allowed { remaining, full_in } => RateStatus { limit, remaining, full_in },
        DrawOutcome::Refused { wait } => return Ok(LimitOutcome::RateLimited(wait)),
    };
    let mut others = vec![(RateBucket::Client(client.clone()), RatePolicy::per_minute(limits.per_client))];
    if facts.operation.and_then(OperationId::from_operation) == Some(OperationId::AccountCheck) {
        let policy = RatePolicy::per_hour(limits.account_checks_per_hour);
        others.push((RateBucket::AccountCheck(client, member), policy));
    }
    for (bucket, policy) in others {
        if let DrawOutcome::Refused { wait } = ports.rates.take_request(&bucket, policy, facts.now).await? {
            return Ok(LimitOutcome::RateLimited(wait));
        }
    }
    facts.rate_status = Some(rate);
    Ok(LimitOutcome::Allowed)
}

/// Counts a write against the quota. The ops of org stock are counted in stage 14 (A3).
async fn count_write(ports: &GatewayPorts, facts: &mut RequestFacts) -> LimitOutcome {
    let operation =
        facts.operation.filter(|operation| operation.idempotent).and_then(OperationId::from_operation);
    match operation {
        None | Some(OperationId::OrgStockWrite) => LimitOutcome::Allowed,
        Some(_) => match take_writes(ports, facts, 1).await {
            Ok(true) => LimitOutcome::Allowed,
            Ok(false) => LimitOutcome::QuotaExceeded,
            Err(SharedStateError) => LimitOutcome::QuotaUnavailable,
        },
    }
}

/// Counts writes against the daily quota. Returns false and counts nothing if the quota does not allow all of
/// them.
pub(super) async fn take_writes(
    ports: &GatewayPorts,
    facts: &mut RequestFacts,
    count: u32,
) -> Result<bool, SharedStateError> {
    let Some(proven) = facts.credentials() else { return Err(SharedStateError) };
    let client_limit = facts.client().and_then(|client| client.writes_per_day);
    let limit = client_limit
        .map_or(ports.config.limits.writes_per_day, |client_limit| client_limit.min(MAX_WRITES_PER_DAY));
    let day = facts.now.utc_day();
    let (client, member) = (&proven.token.client, &proven.token.member);
    let taken = ports.quota.take_writes(client, member, day, WriteCount { count, limit }).await?;
    if taken {
        facts.counted_writes = Some((day, count));
    }
    Ok(taken)
}

pub(super) fn decide_limits(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    let refused = match facts.limit_outcome {
        Some(LimitOutcome::Allowed) => return Ok(()),
        Some(LimitOutcome::RateLimited(wait)) => {
            StageRejection::from_timed_code(TimedCode::RateLimited, wait)
        }
        Some(LimitOutcome::QuotaExceeded) => quota_exceeded(facts),
        Some(LimitOutcome::QuotaUnavailable) => {
            StageRejection::from_timed_code(TimedCode::ServiceUnavailable, QUOTA_RETRY_DELAY)
        }
        Some(LimitOutcome::RatesUnavailable) | None => {
            StageRejection::from_code(PlainCode::ServiceUnavailable)
        }
    };
    Err(refused.into())
}

/// Creates the rejection for an exhausted quota. Its `Retry-After` delay ends at the next UTC midnight
/// (ERR-34).
pub(super) fn quota_exceeded(facts: &RequestFacts) -> StageRejection {
    StageRejection::from_timed_code(TimedCode::QuotaExceeded, facts.now.next_midnight().since(facts.now))
}
