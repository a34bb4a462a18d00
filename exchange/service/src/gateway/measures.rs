//! What is told of a request to whoever runs the service: a line in the log, a count, a duration.
//!
//! Labels are bounded: operations, statuses and codes of the contract. No line holds a token, a proof, a
//! path, a query, a header or a body.

use contract_runtime::server::Response;
use exchange_api::codes::Code;
use metrics::{counter, histogram};

use super::facts::Facts;
use crate::ids::MemberId;
use crate::time::Moment;

/// Says how a request ended.
pub(super) fn tell(facts: &Facts, response: &Response, now: Moment) {
    let operation = facts.operation.map_or("none", |operation| operation.id);
    let status = response.status().as_u16();
    let (code, reason) = match &facts.ended {
        Some((code, reason)) => (known(code), *reason),
        None => ("none", ""),
    };
    let took = now.since(facts.came);
    counter!(
        "exchange_requests_total",
        "operation" => operation, "status" => status.to_string(), "code" => code
    )
    .increment(1);
    histogram!("exchange_request_seconds", "operation" => operation).record(took.as_secs_f64());
    tracing::info!(
        correlation_id = facts.correlation_id.as_str(),
        operation,
        status,
        code,
        reason,
        millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "request",
    );
}

/// A code of the registry, so that nobody can make up labels.
fn known(code: &Code) -> &'static str {
    Code::ALL.iter().find(|own| *own == code).map_or("unknown", Code::as_str)
}

/// Says that a key called for the first time; maintainers are warned of a member with unusually many (GW-05).
pub(super) fn installation(member: &MemberId, of_day: u32, usual: u32) {
    counter!("exchange_new_installations_total").increment(1);
    if of_day > usual {
        counter!("exchange_unusual_installations_total").increment(1);
        tracing::warn!(%member, new_in_24_hours = of_day, usual, "unusually many new installations");
    }
}
