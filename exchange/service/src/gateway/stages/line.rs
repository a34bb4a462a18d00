//! Stage 1: what cannot be routed at all (A1).

use contract_runtime::parameters::Query;
use exchange_api::refusals::PlainCode;
use exchange_api::types::Problem;
use http::Method;

use crate::config::Config;
use crate::gateway::ending::{Ending, Refused};
use crate::gateway::facts::Facts;

/// Refuses TRACE and CONNECT, paths that two readers could read differently, and malformed queries.
pub(super) fn decide(facts: &Facts, _: &Config) -> Result<(), Ending> {
    let head = &facts.head;
    if matches!(head.method, Method::TRACE | Method::CONNECT) || !is_routable(head.uri.path()) {
        return Err(Refused::plain(PlainCode::NotFound).into());
    }
    if Query::parse(head.uri.query().unwrap_or("")).is_err() {
        let rejection = contract_runtime::server::Rejection::MalformedQuery;
        let problem = Problem::of_rejection(&rejection, facts.correlation_id.clone(), &facts.context());
        return Err(Refused::problem(problem).into());
    }
    Ok(())
}

/// No dot segments, encoded slashes, backslashes or control characters, in any spelling.
fn is_routable(path: &str) -> bool {
    let bytes = path.as_bytes();
    let plain = |byte: u8| byte != b'\\' && !byte.is_ascii_control();
    let encoded = |at: usize| {
        let hex = |offset: usize| char::from(*bytes.get(at + offset)?).to_digit(16);
        let byte = u8::try_from(hex(1)? * 16 + hex(2)?).ok()?;
        Some(byte)
    };
    let mut each = bytes.iter().enumerate();
    path.starts_with('/')
        && each.all(|(at, byte)| match byte {
            b'%' => encoded(at).is_none_or(|byte| plain(byte) && byte != b'/'),
            byte => plain(*byte),
        })
        && !path.split('/').any(is_dots)
}

/// `.` or `..`, with dots encoded or not (the URL standard reads all of them alike).
fn is_dots(segment: &str) -> bool {
    segment.len() <= 6 && {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        matches!(dots.as_str(), "." | "..")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A1: refused at once, whatever stands behind it.
    #[test]
    fn what_cannot_be_routed() {
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

    /// These are unknown routes at worst, and answered as such after the token.
    #[test]
    fn what_can_be_routed() {
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
