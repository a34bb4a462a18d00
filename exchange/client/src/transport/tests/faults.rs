//! Tests of failures in transit: nothing is applied twice, and nothing is lost.

use bytes::Bytes;
use exchange_api::{
    codes::Code,
    operations::OperationId,
    runtime::transport::{Delivery, Transport as _, TransportFault},
};
use http::Request;

use super::*;
use crate::state::Advice;

const KEY: &str = "key-12345678";

/// LIM-16: if no connection can be made, nothing is sent, and the call waits for the back-off.
#[tokio::test(start_paused = true)]
async fn refused_connection_backs_off() {
    let fixture = TransportFixture::new();
    for _ in 0..3 {
        fixture.gateway.enqueue_reply(ScriptedReply::refused());
    }
    let effort = fixture.write(KEY, LONG).await.unwrap();
    assert_eq!((effort.requests, effort.attempts), (4, 4));
    assert_gaps(&fixture.gaps(), &[5.0, 10.0, 20.0]);
    assert!(effort.waited >= seconds(35));
}

/// ERR-10: a server that cannot be reached is reported as unreachable when the retry policy is exhausted.
#[tokio::test(start_paused = true)]
async fn unreachable_server_is_reported() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::refused());
    let error = fixture.write(KEY, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(fixture.gateway.request_count(), 3);
}

/// DPP-01, GW-12: if the connection ends before the response, reads and writes are sent again, each time with
/// a new proof. A write keeps its key and is applied once. A call without a key is not sent again.
#[tokio::test(start_paused = true)]
async fn lost_response_is_requested_again() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply_for("org_units_read", ScriptedReply::interrupted());
    fixture.gateway.enqueue_reply_for("blueprints_write", ScriptedReply::interrupted());
    fixture.gateway.enqueue_reply_for("blueprints_write", wrote().then_lost());
    fixture.read(LONG).await.unwrap();
    fixture.write(KEY, LONG).await.unwrap();
    assert_eq!(fixture.gateway.applied_keys(), [KEY]);
    let requests = fixture.gateway.requests();
    assert_eq!(requests.len(), 5);
    assert!(requests[2..].iter().all(|seen| seen.body == requests[2].body));

    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::lost());
    assert_eq!(fixture.check(LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(fixture.gateway.request_count(), 1);
}

/// GW-13, CLI-04: the error of a call without a response contains the correlation id. Its advice refers to
/// the idempotency key only if the call has one.
#[tokio::test(start_paused = true)]
async fn call_without_a_response_has_its_correlation_id() {
    let once = RetryPolicy::new(1, seconds(60), crate::rate_limiter::CallInitiator::Member);
    let silent = [
        ScriptedReply::interrupted(),
        ScriptedReply::lost(),
        ScriptedReply::stalled(),
        ScriptedReply::html(502),
    ];
    for reply in silent.into_iter().chain([ScriptedReply::problem(Code::InternalError)]) {
        let fixture = || {
            let (fixture, reply) = (TransportFixture::new(), reply.clone());
            fixture.gateway.set_script(move |_| reply.clone());
            fixture
        };
        let (read, write, check) = (fixture(), fixture(), fixture());
        for (fixture, response, advice) in [
            (&read, read.read(once).await, Advice::TryAgain),
            (&write, write.write(KEY, once).await, Advice::WaitForOutcome),
            (&check, check.check(once).await, Advice::TryAgain),
        ] {
            let error = response.unwrap_err();
            assert_eq!((error.kind(), error.advice()), (ErrorKind::OutcomeUnknown, advice), "{error}");
            let sent = fixture.gateway.requests()[0].correlation_id().map(str::to_owned);
            assert!(sent.is_some() && error.correlation_id() == sent.as_deref(), "{error}");
            assert_eq!(error.to_string().matches(&sent.unwrap()).count(), 1, "{error}");
        }
    }
    // The error of a proxy's page contains the status.
    for write in [false, true] {
        let fixture = TransportFixture::new();
        fixture.gateway.set_script(|_| ScriptedReply::html(502));
        let failed = if write { fixture.write(KEY, once).await } else { fixture.read(once).await };
        assert_eq!(failed.unwrap_err().status().unwrap(), 502);
    }
    // The same applies if the response is unreadable: the advice does not refer to a key.
    let (read, check) = (TransportFixture::new(), TransportFixture::new());
    read.gateway.set_script(|_| ScriptedReply::new(200, "application/json", r#"{"a" 7}"#));
    check.gateway.set_script(|_| ScriptedReply::new(200, "application/json", "{"));
    for (fixture, response) in [(&read, read.read(once).await), (&check, check.check(once).await)] {
        let error = response.unwrap_err();
        assert_eq!((error.kind(), error.advice()), (ErrorKind::OutcomeUnknown, Advice::TryAgain), "{error}");
        assert_eq!(error.correlation_id(), fixture.gateway.requests()[0].correlation_id(), "{error}");
    }
    // If the request never arrived, the error contains no correlation id.
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::refused());
    assert_eq!(fixture.read(once).await.unwrap_err().correlation_id(), None);
}

/// GW-12: the outcome of a write stays unknown, whatever later responses report.
#[tokio::test(start_paused = true)]
async fn unknown_outcome_stays_unknown() {
    let stopped =
        [Code::ClientSuspended, Code::InstallationRevoked, Code::ScopeMissing].map(ScriptedReply::problem);
    let silent = [
        ScriptedReply::refused(),
        ScriptedReply::problem(Code::ServiceUnavailable),
        ScriptedReply::interrupted(),
        ScriptedReply::html(403),
    ];
    for then in silent.into_iter().chain(stopped) {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
        fixture.gateway.enqueue_reply(then);
        let patience = RetryPolicy::new(2, seconds(3600), crate::rate_limiter::CallInitiator::Program);
        let error = fixture.write(KEY, patience).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        assert_eq!(fixture.gateway.request_count(), 2);
    }
}

/// GW-12: the outcome also stays unknown if the write is not sent again. Possible reasons are a missing or
/// late token, a halt, and the end of the connection.
#[tokio::test(start_paused = true)]
async fn unknown_outcome_stays_unknown_without_a_resend() {
    let time = seconds(60);
    let patience = RetryPolicy::new(9, time, crate::rate_limiter::CallInitiator::Program);
    for dead in [None, Some(ErrorKind::Ended(crate::EndReason::GrantRevoked)), Some(ErrorKind::Secrets)] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::html(502));
        fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::Unauthenticated));
        {
            let mut tokens = fixture.tokens.state.lock().unwrap();
            (tokens.slow, tokens.dead) = (dead.is_none(), dead);
        }
        let error = fixture.write(KEY, patience).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_been_applied()),
            (ErrorKind::OutcomeUnknown, true),
            "{dead:?}"
        );
        assert!(fixture.gateway.request_count() == 2 && fixture.machine.elapsed() <= time);
    }
    for over in [ErrorKind::Halted(crate::HaltReason::Suspended), ErrorKind::SignInNeeded, ErrorKind::Clock] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
        let (write, ()) = tokio::join!(fixture.write(KEY, patience), async {
            tokio::time::sleep(seconds(1)).await;
            fixture.tokens.state.lock().unwrap().over = Some(over);
        });
        let error = write.unwrap_err();
        assert_eq!(
            (error.kind(), fixture.gateway.request_count()),
            (ErrorKind::OutcomeUnknown, 1),
            "{over:?}"
        );
        assert!(std::error::Error::source(&error).is_some());
    }
    // If no earlier request may have been applied, the error is the reason that prevents the write from being
    // sent.
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::Unauthenticated));
    fixture.tokens.state.lock().unwrap().slow = true;
    let error = fixture.write(KEY, patience).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::Busy, false));
}

/// GW-12: a rejection because of the write's content is the outcome of the write: under the same key, the
/// exchange would have rejected an earlier request as well, or repeated its result.
#[tokio::test(start_paused = true)]
async fn rejection_of_the_write_is_its_outcome() {
    for (code, kind) in
        [(Code::VersionConflict, ErrorKind::Conflict), (Code::BatchTooLarge, ErrorKind::TooLarge)]
    {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code));
        assert_eq!(fixture.write(KEY, LONG).await.unwrap_err().kind(), kind);
    }
}

/// GW-12: a write whose responses are all lost is sent four times. After that, the feed has to show the
/// outcome.
#[tokio::test(start_paused = true)]
async fn write_attempts_are_limited() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::interrupted());
    assert_eq!(fixture.write(KEY, LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(fixture.gateway.request_count(), 4);
}

/// CON-12: after an unreadable response, a read is sent again twice, and a write is sent again under its key.
#[tokio::test(start_paused = true)]
async fn unreadable_response_is_retried() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::garbage());
    let error = fixture.read(LONG).await.unwrap_err();
    assert_eq!((error.kind(), fixture.gateway.request_count()), (ErrorKind::Protocol, 3));

    for bytes in [0, 1, 40] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(wrote().truncated_to(bytes));
        fixture.gateway.enqueue_reply(wrote().truncated_to(bytes));
        fixture.read(LONG).await.unwrap();
        assert_eq!(fixture.gateway.request_count(), 3);
        // The server has stored the complete response and returns it again.
        fixture.gateway.enqueue_reply(wrote().truncated_to(bytes));
        fixture.write(KEY, LONG).await.unwrap();
        assert_eq!(
            (fixture.gateway.request_count(), fixture.gateway.applied_keys()),
            (5, vec![KEY.to_owned()])
        );
    }
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::garbage());
    assert_eq!(fixture.write(KEY, LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!((fixture.gateway.request_count(), fixture.gateway.applied_keys()), (4, vec![KEY.to_owned()]));
}

/// The gateway waits up to thirty seconds for its backend, so the client waits for a response to a write for
/// 40 seconds: a delay of 35 seconds is accepted.
#[tokio::test(start_paused = true)]
async fn writes_wait_longer_than_the_gateway() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(wrote().delayed_by(seconds(35)));
    fixture.write(KEY, LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), 1);
    fixture.gateway.enqueue_reply(wrote().then_stalled());
    fixture.write("key-87654321", LONG).await.unwrap();
    assert_gaps(&fixture.gaps()[1..], &[45.0]);
    assert_eq!(fixture.gateway.applied_keys(), [KEY, "key-87654321"]);

    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::stalled());
    let error = fixture
        .read(RetryPolicy::new(1, seconds(60), crate::rate_limiter::CallInitiator::Member))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), fixture.machine.elapsed()), (ErrorKind::OutcomeUnknown, seconds(30)));
}

/// CON-12: the page of a proxy is classified by its status, and does not affect the session.
#[tokio::test(start_paused = true)]
async fn proxy_page_is_transient() {
    for status in [502, 503, 504, 520] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::html(status));
        fixture.write(KEY, LONG).await.unwrap();
        assert_eq!(fixture.gateway.request_count(), 2, "{status}");
    }
    for status in [401, 403, 404] {
        let fixture = TransportFixture::new();
        fixture.gateway.set_script(move |_| ScriptedReply::html(status));
        assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol, "{status}");
        assert_eq!((fixture.gateway.request_count(), fixture.tokens.reported_errors()), (1, vec![]));
    }
}

/// DPP-20, CLI-05: a redirect is not followed, so that no token is sent to another server.
#[tokio::test(start_paused = true)]
async fn redirect_is_not_followed() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::redirect("https://far.test/exchange/v1/me/org-units"));
    assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(fixture.gateway.request_count(), 1);
}

/// DPP-20, CON-01: no request to another server is signed.
#[tokio::test(start_paused = true)]
async fn nothing_is_signed_for_another_server() {
    let fixture = TransportFixture::new();
    for uri in ["https://far.test/exchange/v1", "http://gateway.test/exchange/v1", "/exchange/v1"] {
        let request = Request::builder().uri(uri).body(Bytes::new()).unwrap();
        let refused =
            fixture.carrier.send(OperationId::ServiceDocument.operation(), request).await.unwrap_err();
        assert_eq!((refused.fault(), refused.delivery()), (TransportFault::Request, Delivery::NotSent));
        assert_eq!(Error::from_transport_error(refused).kind(), ErrorKind::Bug);
    }
    assert_eq!(fixture.gateway.request_count(), 0);
}

/// An oversized response is neither stored nor requested again.
#[tokio::test(start_paused = true)]
async fn oversized_response_is_rejected() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::huge((16 << 20) + 1));
    assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(fixture.gateway.request_count(), 1);
}

/// CON-12: unknown fields and unknown codes are tolerated.
#[tokio::test(start_paused = true)]
async fn unknown_fields_and_codes_are_tolerated() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::json(200, r#"{"items": [], "later": {"more": [1]}}"#));
    fixture.read(LONG).await.unwrap();
    for (status, kind) in [
        (403, ErrorKind::NotPermitted),
        (409, ErrorKind::Conflict),
        (410, ErrorKind::CursorExpired),
        (422, ErrorKind::Invalid),
    ] {
        fixture.gateway.enqueue_reply(ScriptedReply::unknown_problem(status, "SOMETHING_NEW"));
        let error = fixture.read(LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.code().unwrap().as_str()), (kind, "SOMETHING_NEW"));
    }
    let before = fixture.gateway.request_count();
    fixture.gateway.enqueue_reply(ScriptedReply::unknown_problem(503, "SOMETHING_NEW").with_retry_after("7"));
    fixture.read(LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), before + 2);
}

/// If a call is dropped at any moment, calls that waited for it continue.
#[tokio::test(start_paused = true)]
async fn dropped_call_blocks_no_others() {
    for after in [0, 10, 99, 100, 101, 5_000, 5_050, 5_150, 20_000] {
        let fixture = TransportFixture::new();
        fixture.gateway.require_nonce("n-1");
        fixture.gateway.set_script(|seen| ok(seen).delayed_by(Duration::from_millis(100)));
        fixture.gateway.enqueue_reply(ScriptedReply::refused().delayed_by(Duration::from_millis(100)));
        fixture.gateway.enqueue_reply(ScriptedReply::refused().delayed_by(Duration::from_millis(100)));
        let dropped = async {
            let call = fixture.write(KEY, LONG);
            let _ = tokio::time::timeout(Duration::from_millis(after), call).await;
        };
        let other = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            fixture.read(LONG).await
        };
        let ((), read) = tokio::join!(dropped, other);
        read.unwrap();
        // A later call succeeds as well.
        fixture.write(KEY, LONG).await.unwrap();
        assert_eq!(fixture.gateway.applied_keys(), [KEY]);
    }
}
