//! ERR: problems, their codes, and the errors of the identity provider.

use contract_runtime::Contract;
use exchange_api::{
    codes::{Code, RetryAfter},
    oauth_errors::OauthError,
    types::Problem,
};

use super::*;

const PROBLEM: &str = r#"{"status": 409, "code": "MASS_CHANGE_CONFIRMATION_REQUIRED", "title": "t", "detail": "d",
    "instance": "/exchange/v1/me/ships/changes", "correlationId": "c", "errors": [{"pointer": "", "keyword": "type"}],
    "confirmationUrl": "https://web.example/c/hush"}"#;

/// Every code with its status, in the order of ERR-05 to ERR-40. The statuses of ERR-39 and ERR-40 are
/// decisions of the project.
const CODES: [(&str, u16); 35] = [
    ("UNAUTHENTICATED", 401),
    ("DPOP_REQUIRED", 401),
    ("DPOP_INVALID", 401),
    ("DPOP_PROOF_LIMIT", 429),
    ("SERVICE_UNAVAILABLE", 503),
    ("SCOPE_MISSING", 403),
    ("CLIENT_REVOKED", 401),
    ("INSTALLATION_REVOKED", 401),
    ("CLIENT_NOT_ALLOWED", 403),
    ("CLIENT_SUSPENDED", 403),
    ("CLIENT_VERSION_UNSUPPORTED", 403),
    ("TERMS_NOT_ACCEPTED", 403),
    ("PENDING_APPROVAL", 403),
    ("NO_ROLE", 403),
    ("ACTING_MEMBER_REFUSED", 403),
    ("NOT_PERMITTED", 403),
    ("SCHEMA_INVALID", 400),
    ("IDEMPOTENCY_KEY_MISSING", 400),
    ("IDEMPOTENCY_KEY_REUSED", 422),
    ("IDEMPOTENCY_IN_PROGRESS", 409),
    ("VERSION_CONFLICT", 409),
    ("MASS_CHANGE_CONFIRMATION_REQUIRED", 409),
    ("CURSOR_EXPIRED", 410),
    ("NOT_FOUND", 404),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
    ("PAYLOAD_TOO_LARGE", 413),
    ("BATCH_TOO_LARGE", 413),
    ("RATE_LIMITED", 429),
    ("QUOTA_EXCEEDED", 429),
    ("EXCHANGE_BUDGET_EXHAUSTED", 503),
    ("RELAY_BUSY", 503),
    ("BACKEND_RELAY_FAILED", 502),
    ("INTERNAL_ERROR", 500),
    ("EXCHANGE_DISABLED", 503),
    ("REGISTRY_UNAVAILABLE", 503),
];

/// ERR-01: a problem has a status, a code, a title, a detail and a correlation id. Every code has one English
/// title and one English detail.
#[test]
fn every_error_response_is_a_problem_with_a_code() {
    shape("ERR-01", "problem", PROBLEM, &["code", "confirmationUrl"]);
    let mut details = Vec::new();
    for (name, _) in CODES {
        let (title, detail) = (Code::from(name).title().unwrap(), Code::from(name).detail().unwrap());
        assert!(!title.is_empty() && title.is_ascii() && title.len() <= 200, "{name}: {title}");
        assert!(detail.ends_with('.') && detail.is_ascii() && detail.len() <= 2000, "{name}: {detail}");
        details.push(detail);
    }
    details.sort_unstable();
    details.dedup();
    assert_eq!(details.len(), CODES.len());
    let response = &file("openapi.json")["components"]["responses"]["Problem"]["content"];
    assert_eq!(response.as_object().unwrap().len(), 1);
    let schema = response["application/problem+json"]["schema"]["$ref"].as_str().unwrap();
    assert!(schema.ends_with("/exchange/v1/schemas/problem.schema.json"), "{schema}");
}

/// ERR-01: every operation declares this problem as its only error response.
#[test]
fn every_operation_declares_the_problem_response() {
    let mut operations = 0;
    for (path, methods) in file("openapi.json")["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let mut statuses: Vec<&str> = responses.keys().map(String::as_str).collect();
            statuses.sort_unstable();
            // The contract's own files also have a `304` response, which is not an error (CON-05).
            statuses.retain(|status| *status != "304");
            assert_eq!(statuses, ["200", "default"], "{method} {path}");
            assert_eq!(responses["default"]["$ref"], "#/components/responses/Problem", "{method} {path}");
            operations += 1;
        }
    }
    assert_eq!(operations, 20);
}

/// ERR-02, LIM-26: a problem has at most 50 errors. Each has a JSON Pointer and a keyword or a message, and
/// never contains a value.
#[test]
fn errors_are_pointers_and_never_values() {
    let problem = |errors: &str| {
        format!(
            r#"{{"status": 400, "code": "SCHEMA_INVALID", "title": "t", "detail": "d", "correlationId": "c",
            "errors": {errors}}}"#
        )
    };
    let (t, e) = ("problem", "problem--problemError");
    check(&[
        ("LIM-26", t, &problem(&many(50, r#"{"pointer": "/a~0~1b", "keyword": "type"}"#)), VALID),
        (
            "LIM-26",
            t,
            &problem(&many(51, r#"{"pointer": "", "keyword": "type"}"#)),
            &[("/errors", "maxItems")],
        ),
        ("ERR-02", e, r#"{"pointer": "/formatVersion", "message": "unsupported major version"}"#, VALID),
        ("ERR-02", e, r#"{"pointer": "/a"}"#, &[("", "anyOf")]),
        ("ERR-02", e, r#"{"keyword": "type"}"#, &[("/pointer", "required")]),
        ("ERR-02", e, r#"{"pointer": "a", "keyword": "type"}"#, &[("/pointer", "pattern")]),
        ("ERR-02", e, r#"{"pointer": "/~2", "keyword": "type"}"#, &[("/pointer", "pattern")]),
    ]);
    assert_eq!(members(e), ["keyword", "message", "pointer"]);
}

/// ERR-03, GW-07: some codes are sent with the header `Retry-After`, with a fixed or a computed number of
/// seconds. The body property for it is deprecated.
#[test]
fn retry_after_is_a_header_of_some_codes() {
    let sent = [
        ("DPOP_PROOF_LIMIT", RetryAfter::Computed, None),
        ("IDEMPOTENCY_IN_PROGRESS", RetryAfter::Always, Some(5)),
        ("SERVICE_UNAVAILABLE", RetryAfter::Always, Some(60)),
        ("RATE_LIMITED", RetryAfter::Computed, None),
        ("QUOTA_EXCEEDED", RetryAfter::Computed, None),
        ("EXCHANGE_BUDGET_EXHAUSTED", RetryAfter::Computed, None),
        ("RELAY_BUSY", RetryAfter::Always, Some(10)),
        ("EXCHANGE_DISABLED", RetryAfter::Always, Some(30)),
        ("REGISTRY_UNAVAILABLE", RetryAfter::Always, Some(30)),
    ];
    for (name, _) in CODES {
        let row = sent.iter().find(|(code, ..)| *code == name);
        let expected = row.map_or((RetryAfter::Never, None), |(_, when, seconds)| (*when, *seconds));
        let code = Code::from(name);
        assert_eq!((code.retry_after().unwrap(), code.retry_after_seconds()), expected, "ERR-03: {name}");
    }
    let header = &file("openapi.json")["components"]["responses"]["Problem"]["headers"]["Retry-After"];
    assert_eq!(header["$ref"], "#/components/headers/RetryAfter");
    assert_eq!(schema("problem")["properties"]["retryAfterSeconds"]["deprecated"], true);
}

/// ERR-04, ERR-05 to ERR-40: the registry has exactly these codes with these statuses. An unknown code is
/// preserved as a string.
#[test]
fn the_registry_has_exactly_these_codes() {
    let found: Vec<(&str, u16)> = Code::ALL
        .iter()
        .filter(|code| code.retired() == Some(false))
        .map(|code| (code.as_str(), code.status().unwrap()))
        .collect();
    assert_eq!(found, CODES);
    let names = CODES.map(|(name, _)| name);
    assert_eq!(schema("problem--problemCode")["anyOf"][0]["enum"], serde_json::json!(names.to_vec()));
    let unknown = Code::from("LATER_CODE");
    assert_eq!((unknown.as_str(), unknown.is_known(), unknown.status()), ("LATER_CODE", false, None));
    check(&[
        ("ERR-04", "problem--problemCode", r#""LATER_CODE""#, VALID),
        ("ERR-04", "problem--problemCode", r#""later""#, &[("", "pattern")]),
    ]);
}

/// ERR-07, ERR-08: `DPOP_INVALID` is the only code that comes with a challenge: for a missing nonce, or for
/// an invalid proof.
#[test]
fn dpop_invalid_is_challenged() {
    for (name, _) in CODES {
        let expected: &[&str] =
            if name == "DPOP_INVALID" { &["use_dpop_nonce", "invalid_dpop_proof"] } else { &[] };
        assert_eq!(Code::from(name).challenges(), Some(expected), "{name}");
    }
}

/// ERR-41: a retired code stays in the registry, so that it is not reused; no problem contains it.
#[test]
fn retired_code_is_reserved_and_not_sent() {
    let retired: Vec<&Code> = Code::ALL.iter().filter(|code| code.retired() != Some(false)).collect();
    assert_eq!(texts(&retired), ["LEGACY_ENDPOINT_GONE"]);
    assert_eq!(retired[0].retired(), Some(true));
    let sent = &schema("problem--problemCode")["anyOf"][0]["enum"];
    assert!(!sent.as_array().unwrap().contains(&Value::from("LEGACY_ENDPOINT_GONE")));
}

/// ERR-42, ERR-43 to ERR-50: the identity provider and its grants have their own errors. All have status 400,
/// and none is a problem code.
#[test]
fn oauth_errors_are_no_codes() {
    let names = [
        "authorization_pending",
        "slow_down",
        "access_denied",
        "expired_token",
        "invalid_grant",
        "invalid_dpop_proof",
        "invalid_request",
        "use_dpop_nonce",
        "invalid_client",
        "invalid_scope",
        "unsupported_grant_type",
        "unauthorized_client",
    ];
    assert_eq!(texts(OauthError::ALL), names);
    for name in names {
        assert_eq!(OauthError::from(name).status(), Some(400), "{name}");
        assert!(!Code::from(name).is_known(), "{name}");
        check(&[("ERR-42", "problem--problemCode", &format!("\"{name}\""), &[("", "pattern")])]);
    }
    assert!(!OauthError::from("UNAUTHENTICATED").is_known());
}

/// ERR-43 to ERR-50: each OAuth error has a client action; only `invalid_grant` ends the connection.
#[test]
fn oauth_errors_have_client_actions() {
    let actions: Vec<_> =
        OauthError::ALL.iter().map(|error| (error.as_str(), error.action().unwrap().as_str())).collect();
    assert_eq!(
        actions,
        [
            ("authorization_pending", "poll-again"),
            ("slow_down", "poll-slower"),
            ("access_denied", "stop-login"),
            ("expired_token", "restart-login"),
            ("invalid_grant", "end-connection"),
            ("invalid_dpop_proof", "fix-and-retry-once"),
            ("invalid_request", "fix-and-retry-once"),
            ("use_dpop_nonce", "retry-with-nonce"),
            ("invalid_client", "stop-client"),
            ("invalid_scope", "bug"),
            ("unsupported_grant_type", "bug"),
            ("unauthorized_client", "stop-client"),
        ]
    );
}

/// WRT-10, WRT-11, ERR-27: the problem for a held change set contains a confirmation link, which is
/// serialized but never printed.
#[test]
fn the_confirmation_link_is_never_printed() {
    let bare = PROBLEM.replace("\"confirmationUrl\": \"https://web.example/c/hush\"", "\"title2\": 1");
    check(&[("ERR-27", "problem", &bare, &[("/confirmationUrl", "required")])]);
    let problem = Problem::parse_valid(PROBLEM.as_bytes()).unwrap();
    let url = problem.confirmation_url.as_ref().unwrap();
    assert_eq!(url.expose(), "https://web.example/c/hush");
    for printed in [format!("{problem:?}"), format!("{problem:#?}"), format!("{url} {url:?}")] {
        assert!(!printed.contains("hush") && !printed.contains("web.example"), "{printed}");
    }
    assert_eq!(problem.to_json().unwrap(), Json::parse(PROBLEM.as_bytes()).unwrap());
}
