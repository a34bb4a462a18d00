//! Creates error responses from codes, each with its problem, status and headers.
//!
//! The types ensure that a code is sent together with the headers and links that the registry requires
//! (ERR-03, ERR-27): a [`PlainCode`] needs none, a [`TimedCode`] needs a `Retry-After` that the caller
//! computes, and a held batch needs its confirmation link.

use std::time::Duration;

use contract_runtime::{
    Contract,
    server::{
        HeaderMap, HeaderName, HeaderValue, Rejection, RequestContext, Response, StatusCode, TypedError,
    },
};

use super::problems::{keyword_error, truncate_pointer};
use crate::{
    codes::Code,
    server::ErrorResponse,
    types::{ConfirmationUrl, CorrelationId, Problem, ProblemError},
};

/// A macro that defines an enum with some of the codes of the registry.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($code:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "`Code` documents each variant")]
        pub enum $name { $($code,)* }

        impl $name {
            /// All codes of this enum.
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
    /// The codes that have no `Retry-After` or a fixed one.
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
    /// The codes whose `Retry-After` is computed for each response. `SERVICE_UNAVAILABLE` is also in this
    /// enum, because its delay varies (A9).
    TimedCode {
        DpopProofLimit,
        ServiceUnavailable,
        RateLimited,
        QuotaExceeded,
        ExchangeBudgetExhausted,
    }
}

impl Problem {
    /// Creates the error response of a code, with its fixed `Retry-After` if it has one (ERR-36, ERR-39,
    /// ERR-40).
    #[must_use]
    pub fn error_response(code: PlainCode, correlation_id: CorrelationId, path: &str) -> ErrorResponse {
        with_standard_headers(Self::from_code(code, correlation_id, path))
    }

    /// Creates the error response of a code with a `Retry-After` in whole seconds, which is rounded up and is
    /// at least 1 (ERR-09).
    #[must_use]
    pub fn error_response_after(
        code: TimedCode,
        wait: Duration,
        correlation_id: CorrelationId,
        path: &str,
    ) -> ErrorResponse {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
        with_standard_headers(Self::from_code(code, correlation_id, path))
            .with_header(RETRY_AFTER, seconds.into())
    }

    /// Creates the error response for a batch that is held until the member confirms it (ERR-27, WRT-10).
    #[must_use]
    pub fn confirmation_required(
        confirmation_url: ConfirmationUrl,
        correlation_id: CorrelationId,
        path: &str,
    ) -> ErrorResponse {
        let mut problem = Self::from_code(Code::MassChangeConfirmationRequired, correlation_id, path);
        problem.confirmation_url = Some(confirmation_url);
        with_standard_headers(problem)
    }

    /// Creates the problem of a rejection. It contains pointers and keywords, but never a value (ERR-02,
    /// ERR-22). All codes of rejections are plain.
    #[must_use]
    pub fn from_rejection(
        rejection: &Rejection,
        correlation_id: CorrelationId,
        context: &RequestContext,
    ) -> Self {
        let path = context.uri().path();
        if let Rejection::InvalidBody(violations) = rejection {
            return Self::from_violations(violations, correlation_id, path);
        }
        let code = code_for_rejection(rejection);
        let errors = if code == PlainCode::SchemaInvalid { rejection_errors(rejection) } else { Vec::new() };
        Self::from_code(code, correlation_id, path).with_errors(errors)
    }

    /// Creates the complete response to a rejection.
    #[must_use]
    pub fn rejection_response(
        rejection: &Rejection,
        correlation_id: CorrelationId,
        context: &RequestContext,
    ) -> Response {
        let mut response = with_standard_headers(Self::from_rejection(rejection, correlation_id, context));
        if let (Rejection::Unauthorized { .. }, Some((name, value))) = (rejection, rejection.header()) {
            response = response.with_header(name, value);
        }
        encode_response(response)
    }
}

/// Encodes an error response for layers outside of the router.
///
/// An error response that contains only a rejection, to be passed to the service's `reject`, has no problem
/// to encode; it becomes a `500` without a body.
#[must_use]
pub fn encode_response(error_response: ErrorResponse) -> Response {
    match error_response {
        ErrorResponse::Typed(refused) => {
            let TypedError { status, mut headers, body } = *refused;
            let body = body.to_json().map(|json| json.to_string()).unwrap_or_default();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
            build_response(status, headers, body)
        }
        ErrorResponse::Encoded(response) => response.into_response(),
        ErrorResponse::Rejected(_) => {
            build_response(StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new(), String::new())
        }
    }
}

const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const RETRY_AFTER: HeaderName = HeaderName::from_static("retry-after");

fn build_response(status: StatusCode, headers: HeaderMap, body: String) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Adds the headers of every problem: its correlation id (GW-13) and the fixed `Retry-After`.
fn with_standard_headers(problem: Problem) -> ErrorResponse {
    let status = problem.status.and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let id = problem.correlation_id.as_ref().and_then(|id| HeaderValue::from_str(id.as_str()).ok());
    let seconds = problem.code.retry_after_seconds();
    let mut error_response = ErrorResponse::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), problem);
    if let Some(id) = id {
        error_response = error_response.with_header(CORRELATION_ID, id);
    }
    match seconds {
        Some(seconds) => error_response.with_header(RETRY_AFTER, seconds.into()),
        None => error_response,
    }
}

/// Returns the code of a rejection.
fn code_for_rejection(rejection: &Rejection) -> PlainCode {
    match rejection {
        // A known path with another method is treated as an unknown path (GW-03).
        Rejection::NotFound | Rejection::MethodNotAllowed { .. } => PlainCode::NotFound,
        Rejection::Unauthorized { .. } => PlainCode::Unauthenticated,
        Rejection::UnsupportedMediaType { .. } => PlainCode::UnsupportedMediaType,
        Rejection::PayloadTooLarge { .. } => PlainCode::PayloadTooLarge,
        // The schema of the body does not contain the idempotency key (GW-09). A missing key is reported only
        // if the query has no violations (GW-01).
        Rejection::InvalidParameters(faults) => {
            let only = |names: &[&str]| faults.iter().all(|fault| names.contains(&fault.name));
            match rejection.parameter_fault("Idempotency-Key") {
                _ if only(&[CURSOR]) => PlainCode::CursorExpired,
                Some(key) if only(&[CURSOR, key.name]) => PlainCode::IdempotencyKeyMissing,
                _ => PlainCode::SchemaInvalid,
            }
        }
        Rejection::NotImplemented | Rejection::Internal | Rejection::InvalidResponse(_) => {
            PlainCode::InternalError
        }
        _ => PlainCode::SchemaInvalid,
    }
}

/// By the schema, any string is a cursor. A cursor that cannot be parsed was not issued by the exchange, like
/// an expired one (FED-08).
const CURSOR: &str = "cursor";

/// Returns the violations of schemas as errors.
fn rejection_errors(rejection: &Rejection) -> Vec<ProblemError> {
    let unread = match rejection {
        Rejection::MalformedBody => Some("not a JSON document"),
        Rejection::TooDeep => Some("nested deeper than is read"),
        _ => None,
    };
    if let Some(message) = unread {
        // The whole document has a single error (ERR-22).
        let whole = truncate_pointer("")
            .and_then(|pointer| ProblemError::builder().pointer(pointer).message(message).build().ok());
        return whole.into_iter().collect();
    }
    // By its schema, any integer is a version, even one that exceeds 64 bits. It is rejected because of its
    // value (DRF-11, A6).
    let not_schema = |pointer: &str| matches!(pointer, "/cursor" | "/Idempotency-Key" | "/schemaVersion");
    let findings = rejection.violations().into_iter().filter(|found| !not_schema(&found.pointer));
    findings.filter_map(|found| keyword_error(&found.pointer, found.keyword)).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use contract_runtime::parameters::{ParameterFault, ParameterFaultKind, ParameterLocation, QueryPairs};

    use super::*;
    use crate::{codes::RetryAfter, types::ShipChangeSet};

    const PATH: &str = "/exchange/v1/me/ships/changes";

    fn id() -> CorrelationId {
        CorrelationId::new("c-1").unwrap()
    }

    fn sent(error_response: ErrorResponse) -> TypedError<Problem> {
        error_response.as_typed().unwrap().clone()
    }

    fn fault(name: &'static str, keyword: &'static str) -> ParameterFault {
        let (location, missing) = (ParameterLocation::Query, ParameterFaultKind::Invalid);
        ParameterFault { location, name, pointer: format!("/{name}"), keyword, kind: missing, limit: None }
    }

    fn context(body: &str) -> RequestContext {
        let (parts, ()) = http::Request::post(PATH).body(()).unwrap().into_parts();
        RequestContext::new(Arc::new(parts), None, body.to_owned().into())
    }

    fn problem(rejection: Rejection) -> Problem {
        let problem = Problem::from_rejection(&rejection, id(), &context(""));
        assert!(problem.is_valid(), "{problem}");
        assert_eq!(problem.instance.as_deref(), Some(PATH));
        problem
    }

    fn pointers(problem: &Problem) -> Vec<&str> {
        problem.errors.iter().flatten().map(|error| error.pointer.as_str()).collect()
    }

    /// ERR-03, ERR-27: every code that is sent is either plain or timed, depending on the headers that it
    /// requires; only the code with a varying delay is both.
    #[test]
    fn every_code_is_plain_or_timed() {
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

    /// ERR-01, ERR-36, GW-13: the status, the title, the detail and the fixed delay come from the registry.
    #[test]
    fn error_response_matches_the_registry() {
        let reply = sent(Problem::error_response(PlainCode::RelayBusy, id(), PATH));
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(
            (&reply.headers["retry-after"], &reply.headers["x-correlation-id"]),
            (&10.into(), &"c-1".parse().unwrap())
        );
        assert_eq!((reply.body.status, reply.body.code.as_str()), (Some(503), "RELAY_BUSY"));
        assert!(reply.body.is_valid());
        let reply = sent(Problem::error_response(PlainCode::NotPermitted, id(), PATH));
        assert!(!reply.headers.contains_key("retry-after"));
    }

    /// ERR-09: delays are whole seconds, rounded up, and at least 1. A9: a computed delay replaces the
    /// default.
    #[test]
    fn waits_are_whole_seconds() {
        for (code, millis, seconds) in [
            (TimedCode::RateLimited, 0, 1),
            (TimedCode::RateLimited, 1, 1),
            (TimedCode::DpopProofLimit, 1000, 1),
            (TimedCode::QuotaExceeded, 86_399_001, 86_400),
            (TimedCode::ServiceUnavailable, 5000, 5),
        ] {
            let error_response =
                Problem::error_response_after(code, Duration::from_millis(millis), id(), PATH);
            let reply = sent(error_response);
            assert_eq!(reply.headers.get_all("retry-after").iter().count(), 1);
            assert_eq!(reply.headers["retry-after"], HeaderValue::from(seconds), "{code:?} {millis}");
        }
    }

    /// ERR-27, WRT-11: the response of a held batch contains its link only in the body.
    #[test]
    fn held_batch_contains_its_link() {
        let url = ConfirmationUrl::new("https://web.example/c/hush").unwrap();
        let reply = sent(Problem::confirmation_required(url, id(), PATH));
        assert_eq!(reply.status, StatusCode::CONFLICT);
        assert!(reply.body.is_valid());
        assert!(!format!("{:?} {}", reply.headers, reply.body).contains("hush"));
    }

    /// ERR-22: a body that is not JSON, or is nested too deeply to be parsed, causes one error at the empty
    /// pointer.
    #[test]
    fn unparsable_body_is_one_error_at_the_root() {
        for (body, rejection) in
            [("{", Rejection::MalformedBody), (&*"[".repeat(100_000), Rejection::TooDeep)]
        {
            let found: Rejection = ShipChangeSet::parse_valid(body.as_bytes()).unwrap_err().into();
            assert_eq!(found, rejection);
            let problem = problem(rejection);
            assert_eq!(problem.code, Code::SchemaInvalid);
            assert_eq!(pointers(&problem), [""]);
        }
    }

    /// WRT-01, ERR-32, A5: more than 500 ops cause `BATCH_TOO_LARGE`, even if there are more violations than
    /// the validator reports, and 500 ops do not.
    #[test]
    fn too_many_ops_are_a_batch_too_large() {
        for (ops, op, code) in [
            (501, r#"{"op": "link"}"#, "BATCH_TOO_LARGE"),
            (501, r#"{"op": "link", "shipId": "s"}"#, "BATCH_TOO_LARGE"),
            (500, r#"{"op": "link"}"#, "SCHEMA_INVALID"),
        ] {
            let body = format!(r#"{{"ops": [{}]}}"#, vec![op; ops].join(","));
            let rejection = ShipChangeSet::parse_valid(body.as_bytes()).unwrap_err().into();
            let problem = Problem::from_rejection(&rejection, id(), &context(&body));
            assert_eq!(problem.code.as_str(), code, "{ops} {op}");
            assert!(problem.is_valid());
        }
    }

    /// GW-03, ERR-29: an unknown method is reported like an unknown route.
    #[test]
    fn unknown_method_is_not_found() {
        let rejection = Rejection::MethodNotAllowed { allowed: vec!["GET"] };
        assert_eq!(problem(rejection).code, Code::NotFound);
    }

    /// FED-08, GW-09, GW-01: a cursor that cannot be parsed is reported as expired. An invalid limit violates
    /// the schema and takes precedence. A missing key has its own code and the lowest precedence.
    #[test]
    fn invalid_parameters_have_their_own_codes() {
        let (cursor, limit) = (fault("cursor", "type"), fault("limit", "maximum"));
        let key = fault("Idempotency-Key", "required");
        for (faults, code, expected) in [
            (vec![cursor.clone()], "CURSOR_EXPIRED", &[][..]),
            (vec![limit.clone()], "SCHEMA_INVALID", &["/limit"]),
            (vec![cursor, limit.clone()], "SCHEMA_INVALID", &["/limit"]),
            (vec![key.clone()], "IDEMPOTENCY_KEY_MISSING", &[]),
            (vec![limit, key], "SCHEMA_INVALID", &["/limit"]),
        ] {
            let problem = problem(Rejection::InvalidParameters(faults));
            assert_eq!(problem.code.as_str(), code);
            assert_eq!(pointers(&problem), expected, "{code}");
        }
        let malformed = QueryPairs::parse("=1").unwrap_err();
        assert_eq!(pointers(&problem(Rejection::MalformedQuery(malformed))), ["/"]);
    }

    /// ERR-01: an encoded problem has the media type of the contract.
    #[test]
    fn error_response_is_encoded() {
        let response = encode_response(Problem::error_response(PlainCode::ExchangeDisabled, id(), PATH));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["retry-after"], "30");
        let response =
            Problem::rejection_response(&Rejection::PayloadTooLarge { limit: 1 }, id(), &context(""));
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }

    /// A request without a valid credential gets the challenge that the middleware chose (RFC 9110, 15.5.2).
    #[test]
    fn missing_credentials_are_challenged() {
        let unauthorized = Rejection::Unauthorized { challenge: "Bearer".to_owned() };
        let response = Problem::rejection_response(&unauthorized, id(), &context(""));
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
}
