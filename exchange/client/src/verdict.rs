//! The classification of responses and transport errors by one table for all operations (ERR-05 to ERR-41,
//! CON-12). This module has no state and no I/O.

mod completeness;

use exchange_api::{
    codes::{Action, Code},
    runtime::{
        operation::{BodyFormat, Operation, RepeatSafety},
        transport::{Delivery, TransportError, TransportFault},
    },
};
use http::StatusCode;
use serde::{Deserialize, de::IgnoredAny};

use self::completeness::looks_complete;
use crate::rate_limiter::ServerHealth;

/// The consequence of a response or transport error for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The response is final, and the caller gets it.
    Done,
    /// The token was rejected: renew it once and retry (ERR-05).
    RenewToken,
    /// The call was not applied: wait, and then retry.
    Wait,
    /// The outcome is unknown: wait, and then retry; a write keeps its key.
    Unknown,
    /// The response is unreadable: retry a few times.
    Unreadable,
}

/// The verdict on a request, and the health of the server that the outcome indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseAssessment {
    pub(crate) verdict: Verdict,
    pub(crate) health: ServerHealth,
}

const fn assessment(verdict: Verdict, health: ServerHealth) -> ResponseAssessment {
    ResponseAssessment { verdict, health }
}

/// The code in the body of an error response.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    /// The code, if the body contains a string in the form of a code.
    pub(crate) code: Option<Code>,
}

/// The maximum size of an error body, in bytes. A longer body is not an error document.
const MAX_ERROR_BODY: usize = 1 << 20;

impl ErrorBody {
    /// Parses the body of an error response. The result is empty if the body is not an error document.
    pub(crate) fn parse(status: StatusCode, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Problem {
            code: Option<String>,
        }
        let refused = status.is_client_error() || status.is_server_error();
        if !refused || body.len() > MAX_ERROR_BODY {
            return Self::default();
        }
        let code = serde_json::from_slice::<Problem>(body).ok().and_then(|problem| problem.code);
        Self { code: code.filter(|code| is_code_like(code)).map(Code::from) }
    }
}

impl ErrorBody {
    /// Returns true if this error shows that no earlier request under the same key was applied, because the
    /// exchange would then have repeated its result. Other errors are raised before the exchange checks keys
    /// (GW-01, GW-12).
    pub(crate) fn excludes_earlier_success(&self) -> bool {
        matches!(
            self.code,
            Some(
                Code::SchemaInvalid
                    | Code::PayloadTooLarge
                    | Code::BatchTooLarge
                    | Code::UnsupportedMediaType
                    | Code::IdempotencyKeyMissing
                    | Code::IdempotencyKeyReused
                    | Code::VersionConflict
                    | Code::MassChangeConfirmationRequired
                    | Code::NotFound
            )
        )
    }
}

/// Returns true if a string has the form of an error code.
fn is_code_like(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && (3..=64).contains(&text.len())
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns the verdict for an unknown outcome. It is final if the operation must not be sent twice.
pub(crate) const fn unknown_verdict(operation: &Operation) -> Verdict {
    if operation.repeat.is_harmless() { Verdict::Unknown } else { Verdict::Done }
}

/// Classifies a response.
pub(crate) fn assess_response(
    operation: &Operation,
    status: StatusCode,
    error_body: &ErrorBody,
    body: &[u8],
) -> ResponseAssessment {
    let unknown = unknown_verdict(operation);
    if status.is_success() {
        let readable = looks_complete(body)
            || !expects_json(operation, status)
            || serde_json::from_slice::<IgnoredAny>(body).is_ok();
        let verdict = match (readable, operation.repeat) {
            (true, _) => Verdict::Done,
            (false, RepeatSafety::Safe) => Verdict::Unreadable,
            (false, _) => unknown,
        };
        return assessment(verdict, ServerHealth::Up);
    }
    match (&error_body.code, error_body.code.as_ref().and_then(Code::action)) {
        (Some(code), Some(action)) => assess_action(code, action, unknown),
        (code, _) => assess_status(status, code.is_some(), unknown),
    }
}

fn assess_action(code: &Code, action: Action, unknown: Verdict) -> ResponseAssessment {
    let health = match code {
        // With these codes, the whole service fails. Other codes affect only this member or this call.
        Code::ServiceUnavailable
        | Code::ExchangeDisabled
        | Code::RegistryUnavailable
        | Code::BackendRelayFailed => ServerHealth::Down { unreachable: false },
        _ => ServerHealth::Up,
    };
    let verdict = match action {
        Action::RefreshOnce => Verdict::RenewToken,
        Action::WaitAndResend => Verdict::Wait,
        Action::OutcomeUnknown => unknown,
        Action::RetryWithNonceOrStop
        | Action::PullAndMerge
        | Action::Confirm
        | Action::ReadSnapshot
        | Action::StopArea
        | Action::StopClient
        | Action::EndConnection
        | Action::EndConnectionAndKey
        | Action::NewLoginWithScope
        | Action::Bug => Verdict::Done,
    };
    assessment(verdict, health)
}

/// Classifies a response by its status, because its code is unknown (CON-12) or it is the page of a proxy.
fn assess_status(status: StatusCode, is_problem: bool, unknown: Verdict) -> ResponseAssessment {
    match status.as_u16() {
        // A proxy may have its own authentication, so its page does not mean that the token was rejected.
        401 if is_problem => assessment(Verdict::RenewToken, ServerHealth::Up),
        408 | 425 | 429 => assessment(Verdict::Wait, ServerHealth::Up),
        503 if is_problem => assessment(Verdict::Wait, ServerHealth::Up),
        // This includes 503, which a proxy also sends if the gateway failed during the request.
        500..600 if is_problem => assessment(unknown, ServerHealth::Up),
        500..600 => assessment(unknown, ServerHealth::Down { unreachable: false }),
        _ => assessment(Verdict::Done, ServerHealth::Up),
    }
}

/// Classifies a transport error.
pub(crate) fn assess_fault(operation: &Operation, error: &TransportError) -> ResponseAssessment {
    let unreachable = error.delivery() == Delivery::NotSent;
    match (error.fault(), error.delivery()) {
        (TransportFault::Request | TransportFault::Declined, _) => {
            assessment(Verdict::Done, ServerHealth::Unsent)
        }
        (TransportFault::TooLarge, _) => assessment(Verdict::Done, ServerHealth::Up),
        (_, Delivery::NotSent) => assessment(Verdict::Wait, ServerHealth::Down { unreachable }),
        (_, Delivery::Unknown) => assessment(unknown_verdict(operation), ServerHealth::Down { unreachable }),
    }
}

fn expects_json(operation: &Operation, status: StatusCode) -> bool {
    let response = operation.response_for_status(status.as_u16());
    response.is_some_and(|response| {
        response.content.first().is_some_and(|content| matches!(content.format, BodyFormat::Json))
    })
}

#[cfg(test)]
mod tests {
    use exchange_api::operations::OperationId;

    use super::*;

    const READ: &Operation = OperationId::StockRead.operation();
    const WRITE: &Operation = OperationId::StockWrite.operation();
    const ONCE: &Operation = OperationId::AccountCheck.operation();

    fn verdict(operation: &Operation, status: u16, body: &str) -> Verdict {
        let status = StatusCode::from_u16(status).unwrap();
        assess_response(operation, status, &ErrorBody::parse(status, body.as_bytes()), body.as_bytes())
            .verdict
    }

    fn of_code(operation: &Operation, status: u16, code: &str) -> Verdict {
        verdict(operation, status, &format!(r#"{{"code": "{code}", "status": {status}}}"#))
    }

    /// CON-12: an unknown code is classified by its status, and a known code never is.
    #[test]
    fn unknown_code_is_classified_by_status() {
        for (status, expect) in [
            (400, Verdict::Done),
            (401, Verdict::RenewToken),
            (403, Verdict::Done),
            (409, Verdict::Done),
            (410, Verdict::Done),
            (429, Verdict::Wait),
            (500, Verdict::Unknown),
            (503, Verdict::Wait),
            (507, Verdict::Unknown),
        ] {
            assert_eq!(of_code(WRITE, status, "SOMETHING_NEW"), expect, "{status}");
        }
        assert_eq!(of_code(WRITE, 503, "VERSION_CONFLICT"), Verdict::Done);
        assert_eq!(of_code(WRITE, 418, "RELAY_BUSY"), Verdict::Wait);
    }

    /// The page of a proxy does not mean that the token was rejected, and is never a permanent error.
    #[test]
    fn proxy_page_is_classified_by_status() {
        let page = "<html>";
        for (status, expect) in [(401, Verdict::Done), (403, Verdict::Done), (404, Verdict::Done)] {
            assert_eq!(verdict(READ, status, page), expect, "{status}");
        }
        for (status, expect) in [(502, Verdict::Unknown), (503, Verdict::Unknown), (520, Verdict::Unknown)] {
            assert_eq!(verdict(READ, status, page), expect, "{status}");
        }
        assert_eq!(verdict(READ, 302, ""), Verdict::Done);
        assert_eq!(verdict(READ, 502, r#"{"code": "no code", "status": 502}"#), Verdict::Unknown);
    }

    #[test]
    fn possibly_applied_call_is_resent_if_idempotent() {
        for (operation, expect) in
            [(READ, Verdict::Unknown), (WRITE, Verdict::Unknown), (ONCE, Verdict::Done)]
        {
            assert_eq!(of_code(operation, 500, "INTERNAL_ERROR"), expect);
            let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
            assert_eq!(assess_fault(operation, &lost).verdict, expect);
            let unsent = TransportError::new(TransportFault::Connect, Delivery::NotSent);
            assert_eq!(assess_fault(operation, &unsent).verdict, Verdict::Wait);
            let large = TransportError::new(TransportFault::TooLarge, Delivery::Unknown);
            assert_eq!(assess_fault(operation, &large).verdict, Verdict::Done);
        }
    }

    /// Brackets in strings do not compensate for missing brackets. A complete document counts as complete
    /// even if the fast check does not recognize it.
    #[test]
    fn truncated_json_is_not_complete() {
        for cut in [r#"{"a": "}", "b": {}"#, r#"{"a": "}"#, r#"[{"a": "]}"}"#, r#"{"a": "\"}"#, "[[]"] {
            assert_eq!(verdict(READ, 200, cut), Verdict::Unreadable, "{cut}");
            assert_eq!(verdict(WRITE, 200, cut), Verdict::Unknown, "{cut}");
        }
        let pages = [r#"[{"a": "]"}]"#, r#"{"a": "\""}"#, r#"{"a": "{"}"#, "[]", r#""a""#, "7"];
        assert!(pages.iter().all(|page| verdict(READ, 200, page) == Verdict::Done));
        assert_eq!(verdict(READ, 200, "<html><style>a {}</style></html>"), Verdict::Unreadable);
        // Nothing was truncated, so the same response would be returned again, and the caller gets a parse
        // error.
        assert_eq!(verdict(READ, 200, r#"{"a" 7}"#), Verdict::Done);
    }

    #[test]
    fn unreadable_success_is_not_a_success() {
        for body in ["", "{", "\u{fffd}{{", "<html>", "{}}"] {
            assert_eq!(verdict(READ, 200, body), Verdict::Unreadable, "{body}");
            assert_eq!(verdict(WRITE, 200, body), Verdict::Unknown, "{body}");
            assert_eq!(verdict(ONCE, 200, body), Verdict::Done, "{body}");
        }
        assert_eq!(verdict(READ, 200, "{}"), Verdict::Done);
    }
}
