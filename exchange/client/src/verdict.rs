//! What an answer, or none, asks of the client: pure, one table for all operations (ERR-05 to ERR-41, CON-12).

mod whole;

use exchange_api::{
    codes::{Action, Code},
    runtime::{
        operation::{Format, Operation, Repeat},
        transport::{Delivery, TransportError, TransportFault},
    },
};
use http::StatusCode;
use serde::{Deserialize, de::IgnoredAny};

use self::whole::looks_whole;
use crate::pace::Health;

/// What to do with a call after one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// What came is what the caller gets.
    Done,
    /// Another token, once, then the same again at once, or when the answer wants it (ERR-05).
    Renew,
    /// It was not carried out: wait, then the same again.
    Wait,
    /// Nobody can tell whether it was carried out: wait, then the same again, a write under its key.
    Unknown,
    /// It is no answer that can be read: the same again, a few times.
    Garbled,
}

/// A verdict, and what it says of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) health: Health,
}

const fn judged(verdict: Verdict, health: Health) -> Judged {
    Judged { verdict, health }
}

/// What a body says of the refusal that it is.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// Whatever looks like a code.
    pub(crate) code: Option<Code>,
}

/// Refusals are short; a longer body is none.
const LONGEST_REFUSAL: usize = 1 << 20;

impl Said {
    /// What the body of a refusal says; nothing, if it is none.
    pub(crate) fn of(status: StatusCode, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Problem {
            code: Option<String>,
        }
        let refused = status.is_client_error() || status.is_server_error();
        if !refused || body.len() > LONGEST_REFUSAL {
            return Self::default();
        }
        let code = serde_json::from_slice::<Problem>(body).ok().and_then(|problem| problem.code);
        Self { code: code.filter(|code| is_code(code)).map(Code::from) }
    }
}

impl Said {
    /// Whether a write that was refused so was not carried out under its key before either: then the exchange would
    /// have said again what came of that, or had refused it in the same way. All other refusals come before the
    /// exchange looks at keys (GW-01, GW-12).
    pub(crate) fn is_of_this_write(&self) -> bool {
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

/// As the contract writes codes.
fn is_code(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && (3..=64).contains(&text.len())
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Nobody can tell what became of a request. Where a second sending might do more than the first, that stays so.
pub(crate) const fn unknown(operation: &Operation) -> Verdict {
    if operation.repeat.is_harmless() { Verdict::Unknown } else { Verdict::Done }
}

/// What an answer asks for.
pub(crate) fn of_answer(operation: &Operation, status: StatusCode, said: &Said, body: &[u8]) -> Judged {
    let unknown = unknown(operation);
    if status.is_success() {
        let readable = looks_whole(body)
            || !is_json(operation, status)
            || serde_json::from_slice::<IgnoredAny>(body).is_ok();
        let verdict = match (readable, operation.repeat) {
            (true, _) => Verdict::Done,
            (false, Repeat::Safe) => Verdict::Garbled,
            (false, _) => unknown,
        };
        return judged(verdict, Health::Up);
    }
    match (&said.code, said.code.as_ref().and_then(Code::action)) {
        (Some(code), Some(action)) => of_action(code, action, unknown),
        (code, _) => of_status(status, code.is_some(), unknown),
    }
}

fn of_action(code: &Code, action: Action, unknown: Verdict) -> Judged {
    let health = match code {
        // Nothing works; the others are about this member or this call.
        Code::ServiceUnavailable
        | Code::ExchangeDisabled
        | Code::RegistryUnavailable
        | Code::BackendRelayFailed => Health::Down { unreachable: false },
        _ => Health::Up,
    };
    let verdict = match action {
        Action::RefreshOnce => Verdict::Renew,
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
    judged(verdict, health)
}

/// CON-12: a code that nobody here knows, or a page of a proxy.
fn of_status(status: StatusCode, is_problem: bool, unknown: Verdict) -> Judged {
    match status.as_u16() {
        // A proxy may have logins of its own: nothing about our token.
        401 if is_problem => judged(Verdict::Renew, Health::Up),
        408 | 425 | 429 => judged(Verdict::Wait, Health::Up),
        503 if is_problem => judged(Verdict::Wait, Health::Up),
        // Also a 503: a proxy says so of a gateway that went away in the middle, too.
        500..600 if is_problem => judged(unknown, Health::Up),
        500..600 => judged(unknown, Health::Down { unreachable: false }),
        _ => judged(Verdict::Done, Health::Up),
    }
}

/// What it means that there is no answer.
pub(crate) fn of_fault(operation: &Operation, error: &TransportError) -> Judged {
    let unreachable = error.delivery() == Delivery::NotSent;
    match (error.fault(), error.delivery()) {
        (TransportFault::Request | TransportFault::Declined, _) => judged(Verdict::Done, Health::Unsent),
        (TransportFault::TooLarge, _) => judged(Verdict::Done, Health::Up),
        (_, Delivery::NotSent) => judged(Verdict::Wait, Health::Down { unreachable }),
        (_, Delivery::Unknown) => judged(unknown(operation), Health::Down { unreachable }),
    }
}

fn is_json(operation: &Operation, status: StatusCode) -> bool {
    let response = operation.response(status.as_u16());
    response.is_some_and(|response| {
        response.content.first().is_some_and(|content| matches!(content.format, Format::Json))
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
        of_answer(operation, status, &Said::of(status, body.as_bytes()), body.as_bytes()).verdict
    }

    fn of_code(operation: &Operation, status: u16, code: &str) -> Verdict {
        verdict(operation, status, &format!(r#"{{"code": "{code}", "status": {status}}}"#))
    }

    /// CON-12: a code that nobody knows goes by its status, and one that is known never does.
    #[test]
    fn an_unknown_code_goes_by_its_status() {
        for (status, expect) in [
            (400, Verdict::Done),
            (401, Verdict::Renew),
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

    /// A page of a proxy says nothing about our token, and never that something is for good.
    #[test]
    fn a_page_of_a_proxy_goes_by_its_status() {
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
    fn what_may_have_been_done_is_sent_again_where_that_is_harmless() {
        for (operation, expect) in
            [(READ, Verdict::Unknown), (WRITE, Verdict::Unknown), (ONCE, Verdict::Done)]
        {
            assert_eq!(of_code(operation, 500, "INTERNAL_ERROR"), expect);
            let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
            assert_eq!(of_fault(operation, &lost).verdict, expect);
            let unsent = TransportError::new(TransportFault::Connect, Delivery::NotSent);
            assert_eq!(of_fault(operation, &unsent).verdict, Verdict::Wait);
            let large = TransportError::new(TransportFault::TooLarge, Delivery::Unknown);
            assert_eq!(of_fault(operation, &large).verdict, Verdict::Done);
        }
    }

    /// Also where brackets in its texts make up for those that are missing; a whole one is one, also where it does not
    /// look so.
    #[test]
    fn what_was_cut_is_not_read_as_whole() {
        for cut in [r#"{"a": "}", "b": {}"#, r#"{"a": "}"#, r#"[{"a": "]}"}"#, r#"{"a": "\"}"#, "[[]"] {
            assert_eq!(verdict(READ, 200, cut), Verdict::Garbled, "{cut}");
            assert_eq!(verdict(WRITE, 200, cut), Verdict::Unknown, "{cut}");
        }
        let pages = [r#"[{"a": "]"}]"#, r#"{"a": "\""}"#, r#"{"a": "{"}"#, "[]", r#""a""#, "7"];
        assert!(pages.iter().all(|page| verdict(READ, 200, page) == Verdict::Done));
        assert_eq!(verdict(READ, 200, "<html><style>a {}</style></html>"), Verdict::Garbled);
        // Nothing was cut off, and the same would come again: an error to who reads it.
        assert_eq!(verdict(READ, 200, r#"{"a" 7}"#), Verdict::Done);
    }

    #[test]
    fn a_success_that_cannot_be_read_is_none() {
        for body in ["", "{", "\u{fffd}{{", "<html>", "{}}"] {
            assert_eq!(verdict(READ, 200, body), Verdict::Garbled, "{body}");
            assert_eq!(verdict(WRITE, 200, body), Verdict::Unknown, "{body}");
            assert_eq!(verdict(ONCE, 200, body), Verdict::Done, "{body}");
        }
        assert_eq!(verdict(READ, 200, "{}"), Verdict::Done);
    }
}
