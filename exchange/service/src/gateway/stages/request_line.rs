//! Stage 1: refuses requests that cannot be routed (A1).

use contract_runtime::parameters::QueryPairs;
use exchange_api::error_responses::PlainCode;
use exchange_api::types::Problem;
use http::Method;

use crate::config::Config;
use crate::gateway::early_response::{EarlyResponse, StageRejection};
use crate::gateway::facts::RequestFacts;

/// Refuses TRACE and CONNECT, ambiguous paths, and malformed queries.
pub(super) fn decide_request_line(facts: &RequestFacts, _: &Config) -> Result<(), EarlyResponse> {
    let head = &facts.head;
    if matches!(head.method, Method::TRACE | Method::CONNECT) || !is_routable(head.uri.path()) {
        return Err(StageRejection::from_code(PlainCode::NotFound).into());
    }
    if let Err(malformed) = QueryPairs::parse(head.uri.query().unwrap_or("")) {
        let rejection = contract_runtime::server::Rejection::MalformedQuery(malformed);
        let problem = Problem::from_rejection(&rejection, facts.correlation_id.clone(), &facts.context());
        return Err(StageRejection::from_problem(problem).into());
    }
    Ok(())
}

/// Returns true if the path has no dot segments, no encoded slashes, and no backslashes or control
/// characters, whether percent-encoded or not.
fn is_routable(path: &str) -> bool {
    let bytes = path.as_bytes();
    let plain = |byte: u8| byte != b'\\' && !byte.is_ascii_control();
    let encoded = |index: usize| {
        let hex = |offset: usize| char::from(*bytes.get(index + offset)?).to_digit(16);
        let byte = u8::try_from(hex(1)? * 16 + hex(2)?).ok()?;
        Some(byte)
    };
    let mut each = bytes.iter().enumerate();
    path.starts_with('/')
        && each.all(|(index, byte)| match byte {
            b'%' => encoded(index).is_none_or(|byte| plain(byte) && byte != b'/'),
            byte => plain(*byte),
        })
        && !path.split('/').any(is_dot_segment)
}

/// Returns true for `.` and `..`, percent-encoded or not. The URL standard treats both forms as equal.
fn is_dot_segment(segment: &str) -> bool {
    segment.len() <= 6 && {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        matches!(dots.as_str(), "." | "..")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A1: ambiguous paths are refused at this stage.
    #[test]
    fn ambiguous_paths_are_rejected() {
        for path in [
            "*",
            "",
            "exchange/v1",
            "/exchange/v1/..",
            "/exchange/./v1",
            "/exchange/%2e%2E/v1",
            "/exchange/.%2e/v1",
            "/exchange/%2e",
            "/exchange%2fv1",
            "/exchange/v1%2Fme",
            "/exchange/v1\\me",
            "/exchange/v1%5cme",
            "/exchange/v1%00",
            "/exchange/v1%0d%0aX:y",
            "/exchange/v1%7f",
        ] {
            assert!(!is_routable(path), "{path}");
        }
    }

    /// Every unambiguous path passes this stage, even if it is an unknown route: unknown routes are refused
    /// only after the token was verified.
    #[test]
    fn unambiguous_paths_are_routed() {
        for path in [
            "/",
            "//",
            "/exchange/v1",
            "/exchange/v1/",
            "/exchange/v1/...",
            "/exchange/v1/.well-known",
            "/exchange/v1/a.b",
            "/%65xchange/v1",
            "/exchange/v1/%zz",
            "/exchange/v1/%",
            "/exchange/v1/%C3%A4",
            "/exchange/v1/%2e%2e%2e",
        ] {
            assert!(is_routable(path), "{path}");
        }
    }
}
