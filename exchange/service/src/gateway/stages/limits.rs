//! Stage 11: how much the client may do for the member (GW-06, GW-07, LIM-05, LIM-18, LIM-19).

use std::time::Duration;

use exchange_api::operations::OperationId;
use exchange_api::refusals::{PlainCode, TimedCode};

use super::Asking;
use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::{Facts, Limited, Rate};
use crate::gateway::ports::Ports;
use crate::registry::{MOST_REQUESTS, MOST_WRITES};
use crate::shared::Unavailable;
use crate::shared::quota::Writes;
use crate::shared::rate::{Bucket, Policy, Taken};

/// How long to wait when writes cannot be counted (A9).
pub(super) const UNCOUNTED: Duration = Duration::from_secs(30);

pub(super) fn ask<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        let limited = match rates(ports, facts).await {
            Ok(Limited::Passes) => count(ports, facts).await,
            Ok(limited) => limited,
            Err(Unavailable) => Limited::RatesUnknown,
        };
        facts.limited = Some(limited);
    })
}

/// The member's limit, the client's, and that of account checks; each refusal leaves the later ones alone.
async fn rates(ports: &Ports, facts: &mut Facts) -> Result<Limited, Unavailable> {
    let limits = &ports.config.limits;
    let Some(proven) = facts.proven() else { return Ok(Limited::RatesUnknown) };
    let (client, member) = (proven.token.client.clone(), proven.token.member.clone());
    let own = facts.client().and_then(|client| client.requests_per_minute);
    let limit = own.map_or(limits.per_member, |own| own.min(MOST_REQUESTS)).max(1);
    let bucket = Bucket::Member(client.clone(), member.clone());
    let rate = match ports.rates.take(&bucket, Policy::per_minute(limit), facts.now).await? {
        Taken::Allowed { remaining, full_in } => Rate { limit, remaining, full_in },
        Taken::Refused { wait } => return Ok(Limited::Rate(wait)),
    };
    let mut others = vec![(Bucket::Client(client.clone()), Policy::per_minute(limits.per_client))];
    if facts.operation.and_then(OperationId::of) == Some(OperationId::AccountCheck) {
        let policy = Policy::per_hour(limits.account_checks_per_hour);
        others.push((Bucket::AccountCheck(client, member), policy));
    }
    for (bucket, policy) in others {
        if let Taken::Refused { wait } = ports.rates.take(&bucket, policy, facts.now).await? {
            return Ok(Limited::Rate(wait));
        }
    }
    facts.rate = Some(rate);
    Ok(Limited::Passes)
}

/// Counts a write; org stock counts its ops once they are known (A3).
async fn count(ports: &Ports, facts: &mut Facts) -> Limited {
    let operation = facts.operation.filter(|operation| operation.idempotent).and_then(OperationId::of);
    match operation {
        None | Some(OperationId::OrgStockWrite) => Limited::Passes,
        Some(_) => match take(ports, facts, 1).await {
            Ok(true) => Limited::Passes,
            Ok(false) => Limited::Quota,
            Err(Unavailable) => Limited::QuotaUnknown,
        },
    }
}

/// Counts so many writes against the day's quota.
pub(super) async fn take(ports: &Ports, facts: &mut Facts, count: u32) -> Result<bool, Unavailable> {
    let Some(proven) = facts.proven() else { return Err(Unavailable) };
    let own = facts.client().and_then(|client| client.writes_per_day);
    let limit = own.map_or(ports.config.limits.writes_per_day, |own| own.min(MOST_WRITES));
    let day = facts.now.day();
    let (client, member) = (&proven.token.client, &proven.token.member);
    let taken = ports.quota.take(client, member, day, Writes { count, limit }).await?;
    if taken {
        facts.counted = Some((day, count));
    }
    Ok(taken)
}

pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    let refused = match facts.limited {
        Some(Limited::Passes) => return Ok(()),
        Some(Limited::Rate(wait)) => Refused::timed(TimedCode::RateLimited, wait),
        Some(Limited::Quota) => exceeded(facts),
        Some(Limited::QuotaUnknown) => Refused::timed(TimedCode::ServiceUnavailable, UNCOUNTED),
        Some(Limited::RatesUnknown) | None => Refused::plain(PlainCode::ServiceUnavailable),
    };
    Err(refused.into())
}

/// ERR-34: until the day is over.
pub(super) fn exceeded(facts: &Facts) -> Refused {
    Refused::timed(TimedCode::QuotaExceeded, facts.now.next_midnight().since(facts.now))
}
