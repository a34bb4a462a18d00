//! Stage 2: checks the rate limit of the source address and reads the body within its size limit (LIM-04,
//! LIM-23).

use std::time::Duration;

use axum::body::Body;
use exchange_api::error_responses::{PlainCode, TimedCode};

use super::StageFuture;
use crate::config::Config;
use crate::gateway::body;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::{BodyReadError, RequestFacts};
use crate::gateway::ports::GatewayPorts;
use crate::shared::SharedStateError;
use crate::shared::rate::{DrawOutcome, RateBucket, RatePolicy};

/// The `Retry-After` delay if the body budget is exhausted.
const OVERLOAD_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Counts the request for its source address, then reads the body if the request is allowed.
pub(super) fn read_source<'a>(ports: &'a GatewayPorts, facts: &'a mut RequestFacts) -> StageFuture<'a> {
    Box::pin(async move {
        let limits = &ports.config.limits;
        let policy = RatePolicy::per_minute(limits.per_address);
        let taken = ports.rates.take_request(&RateBucket::for_peer(facts.peer), policy, facts.now).await;
        facts.address_limit = Some(taken);
        if matches!(taken, Ok(DrawOutcome::Allowed { .. })) {
            let unread = facts.unread_body.get_mut().ok().and_then(Option::take).unwrap_or_else(Body::empty);
            let max_duration = Duration::from_secs(limits.body_seconds);
            let read = body::read_body(
                unread,
                facts.peer.network(),
                limits.body_bytes,
                max_duration,
                &ports.body_budget,
            )
            .await;
            facts.body = Some(read.map(|(bytes, permit)| {
                facts.body_permit = permit;
                bytes
            }));
        }
    })
}

pub(super) fn decide_source(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    match facts.address_limit {
        Some(Ok(DrawOutcome::Allowed { .. })) => {}
        Some(Ok(DrawOutcome::Refused { wait })) => {
            return Err(StageRejection::from_timed_code(TimedCode::RateLimited, wait).into());
        }
        Some(Err(SharedStateError)) | None => {
            return Err(StageRejection::from_code(PlainCode::ServiceUnavailable).into());
        }
    }
    let refused = match &facts.body {
        Some(Ok(_)) => return Ok(()),
        Some(Err(BodyReadError::TooLarge)) => StageRejection::from_code(PlainCode::PayloadTooLarge),
        Some(Err(BodyReadError::Overloaded)) => {
            StageRejection::from_timed_code(TimedCode::ServiceUnavailable, OVERLOAD_RETRY_DELAY)
        }
        // The client may still be waiting for a response.
        Some(Err(BodyReadError::TooSlow)) => {
            StageRejection::from_code(PlainCode::SchemaInvalid).with_reason("body-timeout")
        }
        // The client has closed the connection, so the code is only logged.
        Some(Err(BodyReadError::Incomplete)) | None => StageRejection::from_code(PlainCode::SchemaInvalid),
    };
    Err(refused.into())
}
