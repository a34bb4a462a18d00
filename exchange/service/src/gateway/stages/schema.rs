//! Stage 14: parameters and body by their schema, and the ops of org stock (ERR-22, CON-09, OST-18).

use exchange_api::refusals::TimedCode;
use exchange_api::types::Problem;

use super::{Asking, key, limits};
use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::{Facts, OverQuota};
use crate::gateway::ports::Ports;

/// How many undeclared members are looked at: more than a client ever sends.
const UNDECLARED: usize = 10_000;

pub(super) fn ask<'a>(ports: &'a Ports, facts: &'a mut Facts) -> Asking<'a> {
    Box::pin(async move {
        if facts.read.is_none() {
            facts.read = Some(key::read(facts));
        }
        if key::counts_by_ops(facts) && by_schema(facts).is_ok() {
            count_ops(ports, facts).await;
        }
    })
}

/// Counts the ops of an org-stock set, a dry run once; all of them or none (OST-18).
pub(super) async fn count_ops(ports: &Ports, facts: &mut Facts) {
    let counts = key::counts_by_ops(facts);
    let ops = facts.read.as_ref().and_then(|read| key::ops(read.as_ref().ok()?)).filter(|_| counts);
    let Some((ops, dry_run)) = ops else { return };
    let count = if dry_run { 1 } else { u32::try_from(ops).unwrap_or(u32::MAX) };
    facts.over_quota = match limits::take(ports, facts, count).await {
        Ok(true) => None,
        Ok(false) => Some(OverQuota::Exceeded),
        Err(_) => Some(OverQuota::Unknown),
    };
}

pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    by_schema(facts)?;
    match facts.over_quota {
        None => Ok(()),
        Some(OverQuota::Exceeded) => Err(limits::exceeded(facts).into()),
        Some(OverQuota::Unknown) => {
            Err(Refused::timed(TimedCode::ServiceUnavailable, limits::UNCOUNTED).into())
        }
    }
}

fn by_schema(facts: &Facts) -> Result<(), Ending> {
    let id = || facts.correlation_id.clone();
    let problem = match &facts.read {
        Some(Ok(incoming)) => Problem::of_undeclared(&incoming.undeclared(UNDECLARED), id(), facts.path()),
        Some(Err(rejection)) => Some(Problem::of_rejection(rejection, id(), &facts.context())),
        None => None,
    };
    problem.map_or(Ok(()), |problem| Err(Refused::problem(problem).into()))
}
