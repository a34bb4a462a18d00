//! The telemetry of requests: one log line, one counter and one duration per request.
//!
//! All labels are bounded: operations, statuses and codes of the contract. No log line contains a token, a
//! proof, a path, a query, a header or a body.

use contract_runtime::server::Response;
use exchange_api::codes::Code;
use metrics::{counter, histogram};

use super::facts::RequestFacts;
use crate::ids::MemberId;
use crate::logging::member_label;

pub(super) fn record_request(facts: &RequestFacts, response: &Response) {
    let operation = facts.operation.map_or("none", |operation| operation.id);
    let status = response.status().as_u16();
    let (code, reason) = match &facts.rejection {
        Some((code, reason)) => (code_label(code), *reason),
        None => ("none", ""),
    };
    counter!(
        "exchange_requests_total",
        "operation" => operation, "status" => status.to_string(), "code" => code
    )
    .increment(1);
    histogram!("exchange_request_seconds", "operation" => operation)
        .record(facts.stopwatch.elapsed().as_secs_f64());
    let token = facts.credentials().map(|credentials| &credentials.token);
    let installation = facts.installation_status.as_ref().and_then(|status| status.as_ref().ok());
    let installation = installation.and_then(|status| status.installation.as_ref());
    let member = token.map(|token| member_label(&token.member));
    tracing::info!(
        correlation_id = facts.correlation_id.as_str(),
        source = %facts.peer.0.to_canonical(),
        client = token.map(|token| token.client.as_str()),
        member = member.as_deref(),
        installation = installation.map(|(id, _)| id.as_str()),
        operation,
        status,
        code,
        reason,
        micros = facts.stopwatch.elapsed_micros(),
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
        let member = member_label(member);
        tracing::warn!(
            member = &*member,
            new_in_24_hours = of_day,
            usual,
            "unusually many new installations"
        );
    }
}
