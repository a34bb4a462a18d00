//! Tests of the kind, the advice and the message of every error response, written as tables.

use std::fmt::Write as _;

use exchange_api::{
    Client,
    codes::{Action, Code},
    oauth_errors::OauthError,
    types::{JsonPointer, Problem, ProblemError},
};
use expect_test::expect;

use super::*;
use crate::testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment};

/// Returns the error of a call that receives this response.
async fn refused(reply: ScriptedReply) -> Error {
    let gateway = ScriptedServer::gateway(&VirtualEnvironment::new(1)).unsigned();
    gateway.enqueue_reply(reply);
    Client::new(gateway.origin(), gateway.clone()).org_units_read().await.map(drop).unwrap_err().into()
}

/// Adds the row of one error to the table: kind, advice and message.
fn row(table: &mut String, name: &str, error: &Error) {
    let line = error.to_string();
    writeln!(table, "{name}: {:?}, {:?}\n    {line}", error.kind(), error.advice()).unwrap();
    assert!(!line.contains('\n') && line.len() < 300, "{line}");
}

/// ERR-04: every code of the registry has a kind, advice and a one-line message.
#[tokio::test(start_paused = true)]
async fn every_code_has_a_message_and_advice() {
    let mut table = String::new();
    for code in Code::ALL {
        row(&mut table, code.as_str(), &refused(ScriptedReply::problem(code.clone())).await);
    }
    expect![[r#"
        UNAUTHENTICATED: SignInNeeded, SignIn
            the server rejected the request: UNAUTHENTICATED (401): Not signed in [correlation id none]; sign in
        DPOP_REQUIRED: Bug, Report
            the server rejected the request: DPOP_REQUIRED (401): DPoP required [correlation id none]; report it to the developer of this program
        DPOP_INVALID: Proof, Report
            the server rejected the request: DPOP_INVALID (401): DPoP proof refused [correlation id none]; report it to the developer of this program
        DPOP_PROOF_LIMIT: Busy, Wait
            the server rejected the request: DPOP_PROOF_LIMIT (429): Too many live proofs [correlation id none]; wait 30 s, then try again
        SERVICE_UNAVAILABLE: Busy, Wait
            the server rejected the request: SERVICE_UNAVAILABLE (503): Service unavailable [correlation id none]; wait 60 s, then try again
        SCOPE_MISSING: ScopeMissing, SignInWithMoreScopes
            the server rejected the request: SCOPE_MISSING (403): Scope missing [correlation id none]; sign in again and allow this capability, if you want it
        CLIENT_REVOKED: Ended(ClientDisconnected), SignIn
            you disconnected this program on the web (CLIENT_REVOKED) [correlation id none]; sign in
        INSTALLATION_REVOKED: Ended(InstallationDisconnected), SignIn
            you disconnected this installation on the web (INSTALLATION_REVOKED) [correlation id none]; sign in
        CLIENT_NOT_ALLOWED: Halted(NotAllowed), ContactOperator
            this program is not admitted to the exchange (CLIENT_NOT_ALLOWED) [correlation id none]; contact the operators of the exchange
        CLIENT_SUSPENDED: Halted(Suspended), ContactOperator
            this program is suspended at the exchange (CLIENT_SUSPENDED) [correlation id none]; contact the operators of the exchange
        CLIENT_VERSION_UNSUPPORTED: Halted(VersionUnsupported), Update
            this version of the program is no longer supported (CLIENT_VERSION_UNSUPPORTED) [correlation id none]; update this program
        TERMS_NOT_ACCEPTED: Halted(TermsNotAccepted), AcceptTerms
            the current terms are not accepted yet (TERMS_NOT_ACCEPTED) [correlation id none]; accept the current terms in the web application
        PENDING_APPROVAL: Halted(PendingApproval), AwaitApproval
            your registration awaits approval (PENDING_APPROVAL) [correlation id none]; wait until your registration is approved
        NO_ROLE: Halted(NoRole), RequestRole
            you hold no role in the organisation (NO_ROLE) [correlation id none]; request a role from your organisation
        ACTING_MEMBER_REFUSED: Halted(MemberRefused), ContactOperator
            your account is unknown, disabled or deleted (ACTING_MEMBER_REFUSED) [correlation id none]; contact the operators of the exchange
        NOT_PERMITTED: NotPermitted, Continue
            the server rejected the request: NOT_PERMITTED (403): Not permitted [correlation id none]; other operations still work
        SCHEMA_INVALID: Invalid, Correct
            the server rejected the request: SCHEMA_INVALID (400): Request invalid [correlation id none]; correct it before sending it again
        IDEMPOTENCY_KEY_MISSING: Bug, Report
            the server rejected the request: IDEMPOTENCY_KEY_MISSING (400): Idempotency key missing [correlation id none]; report it to the developer of this program
        IDEMPOTENCY_KEY_REUSED: Bug, Report
            the server rejected the request: IDEMPOTENCY_KEY_REUSED (422): Idempotency key reused [correlation id none]; report it to the developer of this program
        IDEMPOTENCY_IN_PROGRESS: Busy, Wait
            the server rejected the request: IDEMPOTENCY_IN_PROGRESS (409): Request in progress [correlation id none]; wait 5 s, then try again
        VERSION_CONFLICT: Conflict, Synchronise
            the server rejected the request: VERSION_CONFLICT (409): Version conflict [correlation id none]; synchronize, then review it
        MASS_CHANGE_CONFIRMATION_REQUIRED: ConfirmationNeeded, Confirm
            the change removes so much that you have to confirm it (MASS_CHANGE_CONFIRMATION_REQUIRED) [correlation id none]; confirm or discard it in your browser
        CURSOR_EXPIRED: CursorExpired, Synchronise
            the server rejected the request: CURSOR_EXPIRED (410): Cursor expired [correlation id none]; synchronize, then review it
        NOT_FOUND: Bug, Report
            the server rejected the request: NOT_FOUND (404): Not found [correlation id none]; report it to the developer of this program
        UNSUPPORTED_MEDIA_TYPE: Bug, Report
            the server rejected the request: UNSUPPORTED_MEDIA_TYPE (415): Unsupported media type [correlation id none]; report it to the developer of this program
        PAYLOAD_TOO_LARGE: TooLarge, SendLess
            the server rejected the request: PAYLOAD_TOO_LARGE (413): Payload too large [correlation id none]; send less at once
        BATCH_TOO_LARGE: TooLarge, SendLess
            the server rejected the request: BATCH_TOO_LARGE (413): Batch too large [correlation id none]; send less at once
        RATE_LIMITED: Busy, Wait
            the server rejected the request: RATE_LIMITED (429): Too many requests [correlation id none]; wait 30 s, then try again
        QUOTA_EXCEEDED: QuotaExceeded, Wait
            the daily quota of changes is used up; reading still works (QUOTA_EXCEEDED) [correlation id none]; wait 30 s, then try again
        EXCHANGE_BUDGET_EXHAUSTED: Busy, Wait
            the server rejected the request: EXCHANGE_BUDGET_EXHAUSTED (503): Write budget exhausted [correlation id none]; wait 30 s, then try again
        RELAY_BUSY: Busy, Wait
            the server rejected the request: RELAY_BUSY (503): Busy with large change sets [correlation id none]; wait 10 s, then try again
        BACKEND_RELAY_FAILED: OutcomeUnknown, WaitForOutcome
            the server rejected the request: BACKEND_RELAY_FAILED (502): Backend unreachable [correlation id none]; try again later: a change is resent under its key and never applied twice
        INTERNAL_ERROR: OutcomeUnknown, WaitForOutcome
            the server rejected the request: INTERNAL_ERROR (500): Internal error [correlation id none]; try again later: a change is resent under its key and never applied twice
        EXCHANGE_DISABLED: Busy, Wait
            the server rejected the request: EXCHANGE_DISABLED (503): Exchange switched off [correlation id none]; wait 30 s, then try again
        REGISTRY_UNAVAILABLE: Busy, Wait
            the server rejected the request: REGISTRY_UNAVAILABLE (503): Registry unavailable [correlation id none]; wait 30 s, then try again
        LEGACY_ENDPOINT_GONE: Bug, Report
            the server rejected the request: LEGACY_ENDPOINT_GONE (410): Endpoint gone [correlation id none]; report it to the developer of this program
    "#]].assert_eq(&table);
}

/// ERR-43, ERR-44, ERR-45, ERR-46, ERR-47, ERR-48, ERR-49, ERR-50: every error of the identity provider has a
/// kind, advice and a one-line message.
#[test]
fn every_oauth_error_has_a_message_and_advice() {
    let mut table = String::new();
    for error in OauthError::ALL {
        let error = Error::from_oauth_error(error.clone(), StatusCode::BAD_REQUEST, None);
        row(&mut table, error.oauth_error().unwrap().as_str(), &error);
    }
    let unknown =
        Error::from_oauth_error("something_new".parse().unwrap(), StatusCode::SERVICE_UNAVAILABLE, None);
    row(&mut table, "something_new (503)", &unknown);
    let hidden = Error::from_oauth_error("Bearer 1234".parse().unwrap(), StatusCode::BAD_REQUEST, None);
    row(&mut table, "what is no name", &hidden);
    expect![[r#"
        authorization_pending: Busy, Wait
            the identity provider rejected the request: authorization_pending; wait, then try again
        slow_down: Busy, Wait
            the identity provider rejected the request: slow_down; wait, then try again
        access_denied: Declined, StartAgain
            the sign-in was declined (access_denied); start again when you are ready
        expired_token: CodeExpired, StartAgain
            the code of the sign-in has expired (expired_token); start again when you are ready
        invalid_grant: Ended(GrantRevoked), SignIn
            the connection has ended: disconnected, unused for 30 days, or 90 days old (invalid_grant); sign in
        invalid_dpop_proof: Proof, Report
            the identity provider rejected the request: invalid_dpop_proof; report it to the developer of this program
        invalid_request: Bug, Report
            the identity provider rejected the request: invalid_request; report it to the developer of this program
        use_dpop_nonce: Proof, Report
            the identity provider rejected the request: use_dpop_nonce; report it to the developer of this program
        invalid_client: Halted(NotRegistered), ContactOperator
            the identity provider does not know this program (invalid_client); contact the operators of the exchange
        invalid_scope: Bug, Report
            the identity provider rejected the request: invalid_scope; report it to the developer of this program
        unsupported_grant_type: Bug, Report
            the identity provider rejected the request: unsupported_grant_type; report it to the developer of this program
        unauthorized_client: Halted(NotRegistered), ContactOperator
            the identity provider does not know this program (unauthorized_client); contact the operators of the exchange
        something_new (503): Busy, Wait
            the identity provider rejected the request: something_new; wait, then try again
        what is no name: Invalid, Correct
            the identity provider rejected the request: an unnamed error; correct it before sending it again
    "#]]
    .assert_eq(&table);
}

/// CON-12: an unknown code is classified by its status.
#[tokio::test(start_paused = true)]
async fn unknown_code_is_classified_by_status() {
    let mut table = String::new();
    for status in [400, 401, 403, 404, 409, 410, 413, 418, 422, 429, 500, 503] {
        let error = refused(ScriptedReply::unknown_problem(status, "SOMETHING_NEW")).await;
        row(&mut table, &status.to_string(), &error);
    }
    for status in [200, 302, 401, 404, 429, 502] {
        row(&mut table, &format!("a page, {status}"), &refused(ScriptedReply::html(status)).await);
    }
    expect![[r#"
        400: Invalid, Correct
            the server rejected the request: SOMETHING_NEW (400) [correlation id none]; correct it before sending it again
        401: SignInNeeded, SignIn
            the server rejected the request: SOMETHING_NEW (401) [correlation id none]; sign in
        403: NotPermitted, Continue
            the server rejected the request: SOMETHING_NEW (403) [correlation id none]; other operations still work
        404: Invalid, Correct
            the server rejected the request: SOMETHING_NEW (404) [correlation id none]; correct it before sending it again
        409: Conflict, Synchronise
            the server rejected the request: SOMETHING_NEW (409) [correlation id none]; synchronize, then review it
        410: CursorExpired, Synchronise
            the server rejected the request: SOMETHING_NEW (410) [correlation id none]; synchronize, then review it
        413: TooLarge, SendLess
            the server rejected the request: SOMETHING_NEW (413) [correlation id none]; send less at once
        418: Invalid, Correct
            the server rejected the request: SOMETHING_NEW (418) [correlation id none]; correct it before sending it again
        422: Invalid, Correct
            the server rejected the request: SOMETHING_NEW (422) [correlation id none]; correct it before sending it again
        429: Busy, Wait
            the server rejected the request: SOMETHING_NEW (429) [correlation id none]; wait, then try again
        500: OutcomeUnknown, WaitForOutcome
            the server rejected the request: SOMETHING_NEW (500) [correlation id none]; try again later: a change is resent under its key and never applied twice
        503: Busy, Wait
            the server rejected the request: SOMETHING_NEW (503) [correlation id none]; wait, then try again
        a page, 200: Protocol, Reconnect
            the server returned 200 OK, but the response does not match the contract: unexpected content type; check the network, then try again
        a page, 302: Protocol, Reconnect
            the server returned 302 Found, which the contract does not describe; check the network, then try again
        a page, 401: Protocol, Reconnect
            the server returned 401 Unauthorized, but the response does not match the contract: unexpected content type; check the network, then try again
        a page, 404: Protocol, Reconnect
            the server returned 404 Not Found, but the response does not match the contract: unexpected content type; check the network, then try again
        a page, 429: Busy, Wait
            the server returned 429 Too Many Requests, but the response does not match the contract: unexpected content type; wait, then try again
        a page, 502: OutcomeUnknown, WaitForOutcome
            the server returned 502 Bad Gateway, but the response does not match the contract: unexpected content type; try again later: a change is resent under its key and never applied twice
    "#]].assert_eq(&table);
}

/// CLI-04: the message names the cause and the remedy in plain words, not only a code.
#[tokio::test(start_paused = true)]
async fn messages_name_cause_and_remedy() {
    for (code, cause, to_do) in [
        (Code::ClientSuspended, "this program is suspended", "contact the operators of the exchange"),
        (Code::NoRole, "you hold no role", "request a role from your organisation"),
        (
            Code::ActingMemberRefused,
            "your account is unknown, disabled or deleted",
            "contact the operators of the exchange",
        ),
        (Code::TermsNotAccepted, "terms are not accepted", "accept the current terms in the web application"),
        (Code::ClientVersionUnsupported, "no longer supported", "update this program"),
        (Code::MassChangeConfirmationRequired, "you have to confirm it", "confirm or discard it"),
    ] {
        let line = refused(ScriptedReply::problem(code)).await.to_string();
        assert!(line.contains(cause) && line.contains(to_do), "{line}");
    }
}

/// Every code of the registry is classified by its action, and never by its status.
#[test]
fn known_codes_are_not_classified_by_status() {
    for code in Code::ALL {
        // For this status, the classification differs from that of every code.
        let kind = error_kind_for_code(Some(code), StatusCode::IM_A_TEAPOT);
        let invalid = matches!(code, Code::SchemaInvalid);
        assert_eq!(kind == ErrorKind::Invalid, invalid, "{code}");
        assert_eq!(kind == ErrorKind::Busy, code.action() == Some(Action::WaitAndResend), "{code}");
    }
}

/// ERR-22: the message contains the location of the first violation, unless the pointer could reveal a value.
#[test]
fn first_violation_is_named() {
    let line = |pointer: &str| {
        let id = exchange_api::types::CorrelationId::new("c-1").unwrap();
        let mut problem = Problem::from_code(Code::SchemaInvalid, id, "/exchange/v1");
        let error = ProblemError::builder()
            .pointer(JsonPointer::new(pointer).unwrap())
            .keyword("type")
            .build()
            .unwrap();
        problem.errors = Some(vec![error]);
        let kind = ErrorKind::Invalid;
        Error::from_inner(ErrorInner { problem: Some(Box::new(problem)), ..ErrorInner::new(kind, "refused") })
            .to_string()
    };
    assert_eq!(
        line("/ops/3/quantity"),
        "refused, first at /ops/3/quantity; correct it before sending it again"
    );
    for hidden in ["", "/ops/a b", "/\u{e9}"] {
        assert_eq!(line(hidden), "refused; correct it before sending it again");
    }
}

/// `message` and `advice` can be shown separately, whatever characters they contain. Joined by `; `, they
/// equal the `Display` output.
#[test]
fn message_excludes_the_advice() {
    let wait =
        |kind| ErrorInner { retry_after: Some(Duration::from_secs(9)), ..ErrorInner::new(kind, "one; two") };
    let called =
        ErrorInner { correlation_id: Some("c-1".into()), ..ErrorInner::new(ErrorKind::Invalid, "one; two") };
    for (inner, message, advice) in [
        (ErrorInner::new(ErrorKind::Storage, "one; two"), "one; two", "check the disk: space, permissions"),
        (wait(ErrorKind::Busy), "one; two", "wait 9 s, then try again"),
        (called, "one; two [correlation id c-1]", "correct it before sending it again"),
    ] {
        let error = Error::from_inner(inner);
        assert_eq!((error.message().as_str(), error.to_string()), (message, format!("{message}; {advice}")));
    }
}

/// An error is one pointer in size, and keeps its source.
#[test]
fn error_is_small_and_has_a_source() {
    let error =
        Error::with_source(ErrorKind::Storage, "the folder is gone", std::io::Error::other("behind it"));
    assert_eq!(error.source().unwrap().to_string(), "behind it");
    assert_eq!(error.clone().to_string(), "the folder is gone; check the disk: space, permissions");
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    let back = Error::from_transport_error(error.clone().into_transport(false));
    assert_eq!((back.kind(), back.to_string()), (error.kind(), error.to_string()));
}

/// GW-12: an error gets the delivery state that the transport reports for this request, even if the error is
/// shared and was created for another request. The kind of the error does not change.
#[test]
fn transport_error_keeps_its_delivery() {
    let shared = Error::new(ErrorKind::Proof, "the proof was refused");
    for (maybe_sent, expect) in [(true, true), (false, false)] {
        let back = Error::from_transport_error(shared.clone().into_transport(maybe_sent));
        assert_eq!((back.kind(), back.may_have_been_applied()), (ErrorKind::Proof, expect));
        let again = Error::from_transport_error(back.into_transport(false));
        assert!(!again.may_have_been_applied() && !shared.may_have_been_applied());
    }
    let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
    assert!(Error::from_transport_error(lost).may_have_been_applied());
    let unsent = TransportError::new(TransportFault::Connect, Delivery::NotSent);
    assert!(!Error::from_transport_error(unsent).may_have_been_applied());
}

/// GW-12, CON-12: after a response that did not come from the exchange, the outcome is unknown. A response of
/// the exchange that reports that nothing was applied is trusted, unless the first request under the key is
/// still running.
#[tokio::test(start_paused = true)]
async fn error_response_indicates_possible_application() {
    let unsure = [Code::IdempotencyInProgress, Code::BackendRelayFailed, Code::InternalError];
    for code in Code::ALL {
        let error = refused(ScriptedReply::problem(code.clone())).await;
        assert_eq!(error.may_have_been_applied(), unsure.contains(code), "{code}");
    }
    for (status, expect) in [(200, true), (302, true), (404, true), (429, false), (502, true)] {
        assert_eq!(refused(ScriptedReply::html(status)).await.may_have_been_applied(), expect, "{status}");
    }
}

#[test]
fn waits_are_formatted_for_people() {
    let format_wait = |seconds: u64| WaitDisplay(Duration::from_millis(seconds * 1000 - 500)).to_string();
    assert_eq!(
        [
            format_wait(1),
            format_wait(119),
            format_wait(120),
            format_wait(3600),
            format_wait(7200),
            format_wait(90_000)
        ],
        ["1 s", "119 s", "2 min", "60 min", "2 h", "25 h"]
    );
}
