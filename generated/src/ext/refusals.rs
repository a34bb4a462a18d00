//! From a code of the registry to what a server answers: the problem, its status, its headers.
//!
//! Which codes need what is a matter of types. [`PlainCode`] are those that can be refused as they
//! are; [`TimedCode`] those whose `Retry-After` somebody has to work out; a held batch needs its
//! link. So no code can be sent without what the registry says it comes with (ERR-03, ERR-27).

use std::time::Duration;

use contract_runtime::{
    Contract,
    server::{Context, HeaderMap, HeaderName, HeaderValue, Refused, Rejection, Response, StatusCode},
};

use super::problems::pointer_of;
use crate::{
    codes::Code,
    server::Refusal,
    types::{ConfirmationUrl, CorrelationId, Problem, ProblemError},
};

/// An enumeration of some codes of the registry.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($code:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "each is documented on `Code`")]
        pub enum $name { $($code,)* }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$code,)*];
        }

        impl From<$name> for Code {
            fn from(code: $name) -> Self {
                match code { $($name::$code => Self::$code,)* }
            }
        }
    };
}

codes! {
    /// The codes whose `Retry-After` the registry fixes, or that have none.
    PlainCode {
        Unauthenticated,
        DpopRequired,
        DpopInvalid,
        ServiceUnavailable,
        ScopeMissing,
        ClientRevoked,
        InstallationRevoked,
        ClientNotAllowed,
        ClientSuspended,
        ClientVersionUnsupported,
        TermsNotAccepted,
        PendingApproval,
        NoRole,
        ActingMemberRefused,
        NotPermitted,
        SchemaInvalid,
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
        IdempotencyInProgress,
        VersionConflict,
        CursorExpired,
        NotFound,
        UnsupportedMediaType,
        PayloadTooLarge,
        BatchTooLarge,
        RelayBusy,
        BackendRelayFailed,
        InternalError,
        ExchangeDisabled,
        RegistryUnavailable,
    }
}

codes! {
    /// The codes whose `Retry-After` is worked out for each answer; `SERVICE_UNAVAILABLE` is here as
    /// well, since it has several waits (A9).
    TimedCode {
        DpopProofLimit,
        ServiceUnavailable,
        RateLimited,
        QuotaExceeded,
        ExchangeBudgetExhausted,
    }
}

impl Problem {
    /// As the answer of a handler, with the `Retry-After` that the registry fixes for the code
    /// (ERR-36, ERR-39, ERR-40).
    #[must_use]
    pub fn refuse(code: PlainCode, correlation_id: CorrelationId, path: &str) -> Refusal {
        refusal(Self::new(code, correlation_id, path))
    }

    /// As the answer of a handler, with a `Retry-After` of so many whole seconds, rounded up, and at
    /// least 1 (ERR-09).
    #[must_use]
    pub fn refuse_for(code: TimedCode, wait: Duration, correlation_id: CorrelationId, path: &str) -> Refusal {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
        refusal(Self::new(code, correlation_id, path)).with_header(RETRY_AFTER, seconds.into())
    }

    /// As the answer to a batch that is held until the member confirms it (ERR-27, WRT-10).
    #[must_use]
    pub fn refuse_until_confirmed(
        confirmation_url: ConfirmationUrl,
        correlation_id: CorrelationId,
        path: &str,
    ) -> Refusal {
        let mut problem = Self::new(Code::MassChangeConfirmationRequired, correlation_id, path);
        problem.confirmation_url = Some(confirmation_url);
        refusal(problem)
    }

    /// The problem for a call that never reached its handler: pointers and keywords, never a
    /// value (ERR-02, ERR-22). All of its codes are plain.
    #[must_use]
    pub fn of_rejection(rejection: &Rejection, correlation_id: CorrelationId, context: &Context) -> Self {
        let path = context.uri().path();
        if let Rejection::Invalid(violations) = rejection {
            return Self::of_violations(violations, correlation_id, path);
        }
        let code = code_of(rejection);
        let errors = if code == PlainCode::SchemaInvalid { errors_of(rejection) } else { Vec::new() };
        Self::new(code, correlation_id, path).with_errors(errors)
    }

    /// The answer for a call that never reached its handler, ready to be sent.
    #[must_use]
    pub fn reject(rejection: &Rejection, correlation_id: CorrelationId, context: &Context) -> Response {
        response(refusal(Self::of_rejection(rejection, correlation_id, context)))
    }
}

/// A refusal as a response, for layers that answer beside the router.
///
/// One that only passes a rejection on to the service's `reject` has no problem to write; it is
/// answered as a `500` without a body.
#[must_use]
pub fn response(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Refused(refused) => {
            let Refused { status, mut headers, body } = *refused;
            let body = body.to_json().map(|json| json.to_string()).unwrap_or_default();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
            written(status, headers, body)
        }
        Refusal::Written(answer) => answer.into_response(),
        Refusal::Rejected(_) => written(StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new(), String::new()),
    }
}

const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const RETRY_AFTER: HeaderName = HeaderName::from_static("retry-after");

fn written(status: StatusCode, headers: HeaderMap, body: String) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// With the headers that every problem has: its id (GW-13), and the wait that the registry fixes.
fn refusal(problem: Problem) -> Refusal {
    let status = u16::try_from(problem.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let id = HeaderValue::from_str(problem.correlation_id.as_str());
    let seconds = problem.code.retry_after_seconds();
    let mut refusal = Refusal::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), problem);
    if let Ok(id) = id {
        refusal = refusal.with_header(CORRELATION_ID, id);
    }
    match seconds {
        Some(seconds) => refusal.with_header(RETRY_AFTER, seconds.into()),
        None => refusal,
    }
}

/// The code that the exchange gives for what failed before a handler.
fn code_of(rejection: &Rejection) -> PlainCode {
    match rejection {
        // A known path with a method that it does not serve is no different (GW-03).
        Rejection::NotFound | Rejection::MethodNotAllowed { .. } => PlainCode::NotFound,
        Rejection::UnsupportedMediaType { .. } => PlainCode::UnsupportedMediaType,
        Rejection::TooLarge { .. } => PlainCode::PayloadTooLarge,
        // The header is not a matter of the body's schema (GW-09). It comes after all that is wrong
        // with the query (GW-01).
        Rejection::Parameters(faults) => {
            let only = |names: &[&str]| faults.iter().all(|fault| names.contains(&fault.name));
            match rejection.parameter("Idempotency-Key") {
                _ if only(&[CURSOR]) => PlainCode::CursorExpired,
                Some(key) if only(&[CURSOR, key.name]) => PlainCode::IdempotencyKeyMissing,
                _ => PlainCode::SchemaInvalid,
            }
        }
        Rejection::NotImplemented | Rejection::Internal | Rejection::BrokenAnswer(_) => {
            PlainCode::InternalError
        }
        _ => PlainCode::SchemaInvalid,
    }
}

/// Any text is a cursor, so what cannot be read as one was not issued either (FED-08).
const CURSOR: &str = "cursor";

/// What is wrong, where that is a matter of schemas.
fn errors_of(rejection: &Rejection) -> Vec<ProblemError> {
    let unread = match rejection {
        Rejection::NotJson => Some("not a JSON document"),
        Rejection::TooDeep => Some("nested deeper than is read"),
        _ => None,
    };
    if let Some(message) = unread {
        // One error at the whole document (ERR-22).
        let whole = pointer_of("")
            .and_then(|pointer| ProblemError::builder().pointer(pointer).message(message).build().ok());
        return whole.into_iter().collect();
    }
    // Any whole number is a version by its schema, one that no type holds too: it is refused for what it says (DRF-11, A6).
    let not_schema = |pointer: &str| matches!(pointer, "/cursor" | "/Idempotency-Key" | "/schemaVersion");
    let findings = rejection.violations().into_iter().filter(|found| !not_schema(&found.pointer));
    let error = |pointer: &str, keyword| {
        ProblemError::builder().pointer(pointer_of(pointer)?).keyword(keyword).build().ok()
    };
    findings.filter_map(|found| error(&found.pointer, found.keyword)).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use contract_runtime::parameters::{Fault, Location, Missing};

    use super::*;
    use crate::{codes::RetryAfter, types::ShipChangeSet};

    const PATH: &str = "/exchange/v1/me/ships/changes";

    fn id() -> CorrelationId {
        CorrelationId::new("c-1").unwrap()
    }

    fn sent(refusal: Refusal) -> Refused<Problem> {
        refusal.refused().unwrap().clone()
    }

    fn fault(name: &'static str, keyword: &'static str) -> Fault {
        let (location, missing) = (Location::Query, Missing::No);
        Fault { location, name, pointer: format!("/{name}"), keyword, missing }
    }

    fn context(body: &str) -> Context {
        let (parts, ()) = http::Request::post(PATH).body(()).unwrap().into_parts();
        Context::new(Arc::new(parts), None, body.to_owned().into())
    }

    fn problem(rejection: Rejection) -> Problem {
        let problem = Problem::of_rejection(&rejection, id(), &context(""));
        assert!(problem.is_valid(), "{problem}");
        assert_eq!(problem.instance.as_deref(), Some(PATH));
        problem
    }

    fn pointers(problem: &Problem) -> Vec<&str> {
        problem.errors.iter().flatten().map(|error| error.pointer.as_str()).collect()
    }

    /// ERR-03, ERR-27: every code that is sent is refused in exactly one way, by what it comes with;
    /// only the code with several waits has two.
    #[test]
    fn every_code_is_refused_with_what_it_needs() {
        let plain: BTreeSet<Code> = PlainCode::ALL.iter().map(|&code| code.into()).collect();
        let timed: BTreeSet<Code> = TimedCode::ALL.iter().map(|&code| code.into()).collect();
        for code in Code::ALL {
            let wait = code.retry_after();
            let held = *code == Code::MassChangeConfirmationRequired;
            let sent = code.retired() == Some(false);
            let settled = sent && !held && wait != Some(RetryAfter::Computed);
            assert_eq!(plain.contains(code), settled, "{code}");
            let computed = wait == Some(RetryAfter::Computed) || *code == Code::ServiceUnavailable;
            assert_eq!(timed.contains(code), sent && computed, "{code}");
        }
    }

    /// ERR-01, ERR-36, GW-13: the registry says status, title, detail and the fixed wait.
    #[test]
    fn a_refusal_is_what_the_registry_says() {
        let reply = sent(Problem::refuse(PlainCode::RelayBusy, id(), PATH));
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(
            (&reply.headers["retry-after"], &reply.headers["x-correlation-id"]),
            (&10.into(), &"c-1".parse().unwrap())
        );
        assert_eq!((reply.body.status, reply.body.code.as_str()), (503, "RELAY_BUSY"));
        assert!(reply.body.is_valid());
        let reply = sent(Problem::refuse(PlainCode::NotPermitted, id(), PATH));
        assert!(!reply.headers.contains_key("retry-after"));
    }

    /// ERR-09: whole seconds, rounded up, at least 1; A9: a wait of its own replaces the default.
    #[test]
    fn waits_are_whole_seconds() {
        for (code, millis, seconds) in [
            (TimedCode::RateLimited, 0, 1),
            (TimedCode::RateLimited, 1, 1),
            (TimedCode::DpopProofLimit, 1000, 1),
            (TimedCode::QuotaExceeded, 86_399_001, 86_400),
            (TimedCode::ServiceUnavailable, 5000, 5),
        ] {
            let refusal = Problem::refuse_for(code, Duration::from_millis(millis), id(), PATH);
            let reply = sent(refusal);
            assert_eq!(reply.headers.get_all("retry-after").iter().count(), 1);
            assert_eq!(reply.headers["retry-after"], HeaderValue::from(seconds), "{code:?} {millis}");
        }
    }

    /// ERR-27, WRT-11: a held batch has its link, in the body and nowhere else.
    #[test]
    fn a_held_batch_has_its_link() {
        let url = ConfirmationUrl::new("https://web.example/c/hush").unwrap();
        let reply = sent(Problem::refuse_until_confirmed(url, id(), PATH));
        assert_eq!(reply.status, StatusCode::CONFLICT);
        assert!(reply.body.is_valid());
        assert!(!format!("{:?} {}", reply.headers, reply.body).contains("hush"));
    }

    /// ERR-22: a body that is not a JSON document, or too deep to tell, gives one error at the empty
    /// pointer.
    #[test]
    fn what_cannot_be_read_is_one_error_at_the_whole() {
        for (body, rejection) in [("{", Rejection::NotJson), (&*"[".repeat(100_000), Rejection::TooDeep)] {
            let found: Rejection = ShipChangeSet::parse_valid(body.as_bytes()).unwrap_err().into();
            assert_eq!(found, rejection);
            let problem = problem(rejection);
            assert_eq!(problem.code, Code::SchemaInvalid);
            assert_eq!(pointers(&problem), [""]);
        }
    }

    /// WRT-01, ERR-32, A5: more than 500 ops are too large a batch, also when so much is wrong with
    /// them that nobody gets to count them; 500 are not.
    #[test]
    fn too_many_ops_are_a_batch_too_large_whatever_they_hold() {
        for (ops, op, code) in [
            (501, r#"{"op": "link"}"#, "BATCH_TOO_LARGE"),
            (501, r#"{"op": "link", "shipId": "s"}"#, "BATCH_TOO_LARGE"),
            (500, r#"{"op": "link"}"#, "SCHEMA_INVALID"),
        ] {
            let body = format!(r#"{{"ops": [{}]}}"#, vec![op; ops].join(","));
            let rejection = ShipChangeSet::parse_valid(body.as_bytes()).unwrap_err().into();
            let problem = Problem::of_rejection(&rejection, id(), &context(&body));
            assert_eq!(problem.code.as_str(), code, "{ops} {op}");
            assert!(problem.is_valid());
        }
    }

    /// GW-03, ERR-29: an unknown method is an unknown route.
    #[test]
    fn an_unknown_method_is_not_found() {
        let rejection = Rejection::MethodNotAllowed { allowed: vec!["GET"] };
        assert_eq!(problem(rejection).code, Code::NotFound);
    }

    /// FED-08, GW-09, GW-01: a cursor that cannot be read has expired; a limit is a matter of
    /// schemas, and comes first; a key is one of its own, and comes last.
    #[test]
    fn parameters_have_codes_of_their_own() {
        let (cursor, limit) = (fault("cursor", "type"), fault("limit", "maximum"));
        let key = fault("Idempotency-Key", "required");
        for (faults, code, expected) in [
            (vec![cursor.clone()], "CURSOR_EXPIRED", &[][..]),
            (vec![limit.clone()], "SCHEMA_INVALID", &["/limit"]),
            (vec![cursor, limit.clone()], "SCHEMA_INVALID", &["/limit"]),
            (vec![key.clone()], "IDEMPOTENCY_KEY_MISSING", &[]),
            (vec![limit, key], "SCHEMA_INVALID", &["/limit"]),
        ] {
            let problem = problem(Rejection::Parameters(faults));
            assert_eq!(problem.code.as_str(), code);
            assert_eq!(pointers(&problem), expected, "{code}");
        }
        assert_eq!(pointers(&problem(Rejection::MalformedQuery)), ["/"]);
    }

    /// ERR-01: a problem as bytes, with the media type of the contract.
    #[test]
    fn a_refusal_becomes_a_response() {
        let response = response(Problem::refuse(PlainCode::ExchangeDisabled, id(), PATH));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["retry-after"], "30");
        let response = Problem::reject(&Rejection::TooLarge { limit: 1 }, id(), &context(""));
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
