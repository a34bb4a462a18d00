//! Stage 2: how often the source asks, and how much it sends (LIM-04, LIM-23).

use std::time::Duration;

use axum::body::Body;
use exchange_api::refusals::{PlainCode, TimedCode};

use super::Asking;
use crate::config::Config;
use crate::gateway::body;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::{Facts, Unread};
use crate::gateway::ports::Ports;
use crate::shared::Unavailable;
use crate::shared::rate::{Bucket, Policy, Taken};

/// How long a refusal for want of room for bodies lasts.
const CROWDED: Duration = Duration::from_secs(5);

/// Counts the request for its source, and reads its body when it may go on.
pub(super) fn ask<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        let limits = &ports.config.limits;
        let policy = Policy::per_minute(limits.per_address);
        let taken = ports.rates.take(&Bucket::of(facts.peer), policy, facts.now).await;
        facts.address = Some(taken);
        if matches!(taken, Ok(Taken::Allowed { .. })) {
            let unread = facts.unread.get_mut().ok().and_then(Option::take).unwrap_or_else(Body::empty);
            let slowest = Duration::from_secs(limits.body_seconds);
            let read =
                body::read(unread, facts.peer.network(), limits.body_bytes, slowest, &ports.held).await;
            facts.body = Some(read.map(|(bytes, held)| {
                facts.held = held;
                bytes
            }));
        }
    })
}

pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    match facts.address {
        Some(Ok(Taken::Allowed { .. })) => {}
        Some(Ok(Taken::Refused { wait })) => return Err(Refused::timed(TimedCode::RateLimited, wait).into()),
        Some(Err(Unavailable)) | None => return Err(Refused::plain(PlainCode::ServiceUnavailable).into()),
    }
    let refused = match &facts.body {
        Some(Ok(_)) => return Ok(()),
        Some(Err(Unread::TooLarge)) => Refused::plain(PlainCode::PayloadTooLarge),
        Some(Err(Unread::NoRoom)) => Refused::timed(TimedCode::ServiceUnavailable, CROWDED),
        // It may still wait for an answer.
        Some(Err(Unread::TooSlow)) => Refused::plain(PlainCode::SchemaInvalid).because("slow body"),
        // Nobody waits for an answer any more; the code is for the log.
        Some(Err(Unread::Incomplete)) | None => Refused::plain(PlainCode::SchemaInvalid),
    };
    Err(refused.into())
}
