//! The telemetry of requests: one log line, one counter and one duration per request.
//!
//! All labels are bounded: operations, statuses and codes of the contract. No log line contains a token, a
//! proof, a path, a query, a header or a body.

use contract_runtime::server::Response;
use exchange_api::codes::Code;
use metrics::{counter, histogram};

use super::facts::RequestFacts;
use crate::ids::MemberId;
use crate::time::Moment;

pub(super) fn record_request(facts: &RequestFacts, response: &Response, now: Moment) {
    let operation = facts.operation.map_or("none", |operation| operation.id);
    let status = response.status().as_u16();
    let (code, reason) = match &facts.rejection {
        Some((code, reason)) => (code_label(code), *reason),
        None => ("none", ""),
    };
    let took = now.since(facts.received_at);
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

/// Returns the name of a code of the contract. Returns `unknown` for other codes, so that no new labels can
/// be created.
fn code_label(code: &Code) -> &'static str {
    Code::ALL.iter().find(|known| *known == code).map_or("unknown", Code::as_str)
}

/// Records a new installation, and warns maintainers if the member has unusually many new installations
/// (GW-05).
pub(super) fn record_installation(member: &MemberId, of_day: u32, usual: u32) {
    counter!("exchange_new_installations_total").increment(1);
    if of_day > usual {
        counter!("exchange_unusual_installations_total").increment(1);
        tracing::warn!(%member, new_in_24_hours = of_day, usual, "unusually many new installations");
    }
}
