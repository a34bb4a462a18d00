//! Tests of the effect that each error code has on the call and on the session.

use exchange_api::codes::Code;

use super::*;
use crate::state::{EndReason, HaltReason};

const KEY: &str = "key-12345678";

/// ERR-05: after a rejected token, the token is refreshed once and the call is sent again immediately, a
/// write under its key.
#[tokio::test(start_paused = true)]
async fn rejected_token_is_renewed_once() {
    let fixture = TransportFixture::new();
    fixture.gateway.refuse_token("token-0");
    let effort = fixture.write(KEY, LONG).await.unwrap();
    assert_eq!((effort.requests, fixture.tokens.renewals()), (2, 1));
    let tokens = fixture.gateway.requests().into_iter().map(|seen| seen.token().unwrap().to_owned());
    assert_eq!(tokens.collect::<Vec<_>>(), ["token-0", "token-1"]);
    assert_eq!(fixture.gaps(), [0.0]);
    // The next call uses the new token from the start.
    fixture.read(LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), 3);
}

/// ERR-05: a rejected token is renewed only once. If the new token is rejected too, the caller gets the error
/// and the session does not change.
#[tokio::test(start_paused = true)]
async fn token_rejected_twice_is_not_renewed_again() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::problem(Code::Unauthenticated));
    let error = fixture.read(LONG).await.unwrap_err();
    assert_eq!((error.kind(), fixture.gateway.request_count()), (ErrorKind::SignInNeeded, 2));
    assert_eq!((fixture.tokens.renewals(), fixture.tokens.reported_errors()), (1, vec![]));
}

/// ERR-05: if the refresh reports that the connection ended, the caller gets this error.
#[tokio::test(start_paused = true)]
async fn rejected_refresh_ends_the_call() {
    let fixture = TransportFixture::new();
    fixture.gateway.refuse_token("token-0");
    fixture.tokens.state.lock().unwrap().dead = Some(ErrorKind::Ended(EndReason::GrantRevoked));
    let error = fixture.read(LONG).await.unwrap_err();
    assert_eq!(
        (error.kind(), fixture.gateway.request_count()),
        (ErrorKind::Ended(EndReason::GrantRevoked), 1)
    );
}

/// ERR-05: ten concurrent calls whose token is rejected renew it once.
#[tokio::test(start_paused = true)]
async fn concurrent_calls_renew_a_token_once() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|seen| ok(seen).delayed_by(Duration::from_millis(50)));
    fixture.read(LONG).await.unwrap();
    tokio::time::sleep(seconds(60)).await;
    fixture.gateway.refuse_token("token-0");
    let calls = join_all((0..10).map(|_| fixture.read(LONG))).await;
    assert!(calls.iter().all(Result::is_ok));
    assert_eq!(fixture.tokens.renewals(), 1);
}

/// ERR-06, ERR-11, ERR-21, ERR-22, ERR-26, ERR-27, ERR-28: the call is not retried, and the caller gets an
/// error of the matching kind.
#[tokio::test(start_paused = true)]
async fn errors_for_the_caller_are_not_retried() {
    for (code, kind) in [
        (Code::DpopRequired, ErrorKind::Bug),
        (Code::ScopeMissing, ErrorKind::ScopeMissing),
        (Code::NotPermitted, ErrorKind::NotPermitted),
        (Code::SchemaInvalid, ErrorKind::Invalid),
        (Code::IdempotencyKeyMissing, ErrorKind::Bug),
        (Code::IdempotencyKeyReused, ErrorKind::Bug),
        (Code::VersionConflict, ErrorKind::Conflict),
        (Code::MassChangeConfirmationRequired, ErrorKind::ConfirmationNeeded),
        (Code::CursorExpired, ErrorKind::CursorExpired),
        (Code::NotFound, ErrorKind::Bug),
        (Code::UnsupportedMediaType, ErrorKind::Bug),
        (Code::PayloadTooLarge, ErrorKind::TooLarge),
        (Code::BatchTooLarge, ErrorKind::TooLarge),
    ] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code.clone()));
        let error = fixture.write(KEY, LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (kind, Some(&code)));
        assert!(error.problem().is_some());
        assert_eq!(
            (fixture.gateway.request_count(), fixture.tokens.reported_errors()),
            (1, vec![]),
            "{code}"
        );
        // Other calls continue.
        fixture.read(LONG).await.unwrap();
    }
}

/// ERR-12, ERR-13, ERR-14, ERR-15, ERR-16, ERR-17, ERR-18, ERR-19, ERR-20: the error is reported to the
/// session before the caller gets it, and no further request is sent.
#[tokio::test(start_paused = true)]
async fn terminal_codes_stop_the_client() {
    for (code, kind) in [
        (Code::ClientRevoked, ErrorKind::Ended(EndReason::ClientDisconnected)),
        (Code::InstallationRevoked, ErrorKind::Ended(EndReason::InstallationDisconnected)),
        (Code::ClientNotAllowed, ErrorKind::Halted(HaltReason::NotAllowed)),
        (Code::ClientSuspended, ErrorKind::Halted(HaltReason::Suspended)),
        (Code::ClientVersionUnsupported, ErrorKind::Halted(HaltReason::VersionUnsupported)),
        (Code::TermsNotAccepted, ErrorKind::Halted(HaltReason::TermsNotAccepted)),
        (Code::PendingApproval, ErrorKind::Halted(HaltReason::PendingApproval)),
        (Code::NoRole, ErrorKind::Halted(HaltReason::NoRole)),
        (Code::ActingMemberRefused, ErrorKind::Halted(HaltReason::MemberRefused)),
    ] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code.clone()));
        let error = fixture.write(KEY, LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (kind, Some(&code)));
        assert_eq!(fixture.tokens.reported_errors(), [kind]);
        for _ in 0..3 {
            assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), kind);
            tokio::time::sleep(seconds(3600)).await;
        }
        assert_eq!(fixture.gateway.request_count(), 1, "{code}");
    }
}

/// ERR-15, CLI-03: calls that are waiting when the client is stopped are not sent.
#[tokio::test(start_paused = true)]
async fn waiting_calls_are_not_sent_after_a_stop() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::ClientSuspended));
    let (write, read) = tokio::join!(fixture.write(KEY, LONG), async {
        tokio::time::sleep(seconds(1)).await;
        fixture.read(LONG).await
    });
    let suspended = ErrorKind::Halted(HaltReason::Suspended);
    assert_eq!((write.unwrap_err().kind(), read.unwrap_err().kind()), (suspended, suspended));
    assert_eq!(fixture.gateway.request_count(), 2);
}

/// ERR-15, CLI-03: calls that already have a token and wait for the rate limiter are not sent either.
#[tokio::test(start_paused = true)]
async fn rate_limited_calls_are_not_sent_after_a_stop() {
    let fixture = TransportFixture::new();
    let (calls, ()) = tokio::join!(join_all((0..25).map(|_| fixture.read(LONG))), async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        fixture.tokens.state.lock().unwrap().over = Some(ErrorKind::Halted(HaltReason::Suspended));
    });
    assert_eq!((fixture.gateway.request_count(), calls.iter().filter(|call| call.is_err()).count()), (20, 5));
}
