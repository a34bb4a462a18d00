//! What goes wrong on the way, and that nothing is done twice or lost.

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

/// LIM-16: no connection: nothing was sent, and the waits are those of the back-off.
#[tokio::test(start_paused = true)]
async fn without_a_connection_it_is_tried_again_slowly() {
    let rig = Rig::new();
    for _ in 0..3 {
        rig.gateway.enqueue_reply(ScriptedReply::refused());
    }
    let effort = rig.write(KEY, LONG).await.unwrap();
    assert_eq!((effort.requests, effort.attempts), (4, 4));
    assert_gaps(&rig.gaps(), &[5.0, 10.0, 20.0]);
    assert!(effort.waited >= seconds(35));
}

/// ERR-10: what cannot be reached at all is told as that, once there is no more patience.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_reached_is_unreachable() {
    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::refused());
    let error = rig.write(KEY, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(rig.gateway.request_count(), 3);
}

/// DPP-01, GW-12: a connection that ends before the answer: reads and writes are sent again, each with a proof
/// of its own, a write under its key and carried out once; what has no key is not.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again() {
    let rig = Rig::new();
    rig.gateway.enqueue_reply_for("org_units_read", ScriptedReply::interrupted());
    rig.gateway.enqueue_reply_for("blueprints_write", ScriptedReply::interrupted());
    rig.gateway.enqueue_reply_for("blueprints_write", wrote().then_lost());
    rig.read(LONG).await.unwrap();
    rig.write(KEY, LONG).await.unwrap();
    assert_eq!(rig.gateway.applied_keys(), [KEY]);
    let requests = rig.gateway.requests();
    assert_eq!(requests.len(), 5);
    assert!(requests[2..].iter().all(|seen| seen.body == requests[2].body));

    let rig = Rig::new();
    rig.gateway.enqueue_reply(ScriptedReply::lost());
    assert_eq!(rig.check(LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(rig.gateway.request_count(), 1);
}

/// GW-13, CLI-04: whoever got no answer can name the call to those who run the exchange, and is told of a key only where
/// there is one.
#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_says_which_one_it_was() {
    let once = RetryPolicy::new(1, seconds(60), crate::rate_limiter::CallInitiator::Member);
    let silent = [
        ScriptedReply::interrupted(),
        ScriptedReply::lost(),
        ScriptedReply::stalled(),
        ScriptedReply::html(502),
    ];
    for reply in silent.into_iter().chain([ScriptedReply::problem(Code::InternalError)]) {
        let rig = || {
            let (rig, reply) = (Rig::new(), reply.clone());
            rig.gateway.set_script(move |_| reply.clone());
            rig
        };
        let (read, write, check) = (rig(), rig(), rig());
        for (rig, answer, advice) in [
            (&read, read.read(once).await, Advice::TryAgain),
            (&write, write.write(KEY, once).await, Advice::WaitForOutcome),
            (&check, check.check(once).await, Advice::TryAgain),
        ] {
            let error = answer.unwrap_err();
            assert_eq!((error.kind(), error.advice()), (ErrorKind::OutcomeUnknown, advice), "{error}");
            let sent = rig.gateway.requests()[0].correlation_id().map(str::to_owned);
            assert!(sent.is_some() && error.correlation_id() == sent.as_deref(), "{error}");
            assert_eq!(error.to_string().matches(&sent.unwrap()).count(), 1, "{error}");
        }
    }
    // A failure in no words of the exchange's comes with its status.
    for write in [false, true] {
        let rig = Rig::new();
        rig.gateway.set_script(|_| ScriptedReply::html(502));
        let failed = if write { rig.write(KEY, once).await } else { rig.read(once).await };
        assert_eq!(failed.unwrap_err().status().unwrap(), 502);
    }
    // Nor is a key spoken of where an answer came that nobody can read.
    let (read, check) = (Rig::new(), Rig::new());
    read.gateway.set_script(|_| ScriptedReply::new(200, "application/json", r#"{"a" 7}"#));
    check.gateway.set_script(|_| ScriptedReply::new(200, "application/json", "{"));
    for (rig, answer) in [(&read, read.read(once).await), (&check, check.check(once).await)] {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.advice()), (ErrorKind::OutcomeUnknown, Advice::TryAgain), "{error}");
        assert_eq!(error.correlation_id(), rig.gateway.requests()[0].correlation_id(), "{error}");
    }
    // What never arrived was given no name there.
    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::refused());
    assert_eq!(rig.read(once).await.unwrap_err().correlation_id(), None);
}

/// GW-12: the outcome of a write that cannot be learnt is unknown, whatever is answered in between.
#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_stays_one() {
    let stopped =
        [Code::ClientSuspended, Code::InstallationRevoked, Code::ScopeMissing].map(ScriptedReply::problem);
    let silent = [
        ScriptedReply::refused(),
        ScriptedReply::problem(Code::ServiceUnavailable),
        ScriptedReply::interrupted(),
        ScriptedReply::html(403),
    ];
    for then in silent.into_iter().chain(stopped) {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(ScriptedReply::interrupted());
        rig.gateway.enqueue_reply(then);
        let patience = RetryPolicy::new(2, seconds(3600), crate::rate_limiter::CallInitiator::Program);
        let error = rig.write(KEY, patience).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        assert_eq!(rig.gateway.request_count(), 2);
    }
}

/// GW-12: nor does it become known by what keeps the write from being sent again: no token in time or none at all, a
/// halt, the end of the connection.
#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_stays_one_though_nothing_more_is_sent() {
    let time = seconds(60);
    let patience = RetryPolicy::new(9, time, crate::rate_limiter::CallInitiator::Program);
    for dead in [None, Some(ErrorKind::Ended(crate::EndReason::GrantRevoked)), Some(ErrorKind::Secrets)] {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(ScriptedReply::html(502));
        rig.gateway.enqueue_reply(ScriptedReply::problem(Code::Unauthenticated));
        {
            let mut tokens = rig.tokens.state.lock().unwrap();
            (tokens.slow, tokens.dead) = (dead.is_none(), dead);
        }
        let error = rig.write(KEY, patience).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_been_applied()),
            (ErrorKind::OutcomeUnknown, true),
            "{dead:?}"
        );
        assert!(rig.gateway.request_count() == 2 && rig.machine.elapsed() <= time);
    }
    for over in [ErrorKind::Halted(crate::HaltReason::Suspended), ErrorKind::SignInNeeded, ErrorKind::Clock] {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(ScriptedReply::interrupted());
        let (write, ()) = tokio::join!(rig.write(KEY, patience), async {
            tokio::time::sleep(seconds(1)).await;
            rig.tokens.state.lock().unwrap().over = Some(over);
        });
        let error = write.unwrap_err();
        assert_eq!((error.kind(), rig.gateway.request_count()), (ErrorKind::OutcomeUnknown, 1), "{over:?}");
        assert!(std::error::Error::source(&error).is_some());
    }
    // Nothing was sent before: what keeps it from being sent is the answer.
    let rig = Rig::new();
    rig.gateway.enqueue_reply(ScriptedReply::problem(Code::Unauthenticated));
    rig.tokens.state.lock().unwrap().slow = true;
    let error = rig.write(KEY, patience).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::Busy, false));
}

/// GW-12: a refusal that is about what the write says is its outcome: under the same key the first one would have met
/// it too, or be told again.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_write_itself_is_its_outcome() {
    for (code, kind) in
        [(Code::VersionConflict, ErrorKind::Conflict), (Code::BatchTooLarge, ErrorKind::TooLarge)]
    {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(ScriptedReply::interrupted());
        rig.gateway.enqueue_reply(ScriptedReply::problem(code));
        assert_eq!(rig.write(KEY, LONG).await.unwrap_err().kind(), kind);
    }
}

/// GW-12: a write whose answers are all lost is sent four times, then the feed has to tell.
#[tokio::test(start_paused = true)]
async fn a_write_is_not_sent_for_ever() {
    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::interrupted());
    assert_eq!(rig.write(KEY, LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(rig.gateway.request_count(), 4);
}

/// CON-12: an answer that is none: a read is repeated twice, a write goes on under its key.
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_no_answer() {
    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::garbage());
    let error = rig.read(LONG).await.unwrap_err();
    assert_eq!((error.kind(), rig.gateway.request_count()), (ErrorKind::Protocol, 3));

    for bytes in [0, 1, 40] {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(wrote().truncated_to(bytes));
        rig.gateway.enqueue_reply(wrote().truncated_to(bytes));
        rig.read(LONG).await.unwrap();
        assert_eq!(rig.gateway.request_count(), 3);
        // The server has the whole answer, and gives it again.
        rig.gateway.enqueue_reply(wrote().truncated_to(bytes));
        rig.write(KEY, LONG).await.unwrap();
        assert_eq!((rig.gateway.request_count(), rig.gateway.applied_keys()), (5, vec![KEY.to_owned()]));
    }
    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::garbage());
    assert_eq!(rig.write(KEY, LONG).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!((rig.gateway.request_count(), rig.gateway.applied_keys()), (4, vec![KEY.to_owned()]));
}

/// A gateway gives its backend thirty seconds: an answer that takes 35 is waited for, 41 are too many.
#[tokio::test(start_paused = true)]
async fn writes_wait_longer_than_the_gateway_does() {
    let rig = Rig::new();
    rig.gateway.enqueue_reply(wrote().delayed_by(seconds(35)));
    rig.write(KEY, LONG).await.unwrap();
    assert_eq!(rig.gateway.request_count(), 1);
    rig.gateway.enqueue_reply(wrote().then_stalled());
    rig.write("key-87654321", LONG).await.unwrap();
    assert_gaps(&rig.gaps()[1..], &[45.0]);
    assert_eq!(rig.gateway.applied_keys(), [KEY, "key-87654321"]);

    let rig = Rig::new();
    rig.gateway.set_script(|_| ScriptedReply::stalled());
    let error = rig
        .read(RetryPolicy::new(1, seconds(60), crate::rate_limiter::CallInitiator::Member))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), rig.machine.elapsed()), (ErrorKind::OutcomeUnknown, seconds(30)));
}

/// CON-12: a page of a proxy goes by its status, and is never the exchange's word.
#[tokio::test(start_paused = true)]
async fn a_proxys_page_passes() {
    for status in [502, 503, 504, 520] {
        let rig = Rig::new();
        rig.gateway.enqueue_reply(ScriptedReply::html(status));
        rig.write(KEY, LONG).await.unwrap();
        assert_eq!(rig.gateway.request_count(), 2, "{status}");
    }
    for status in [401, 403, 404] {
        let rig = Rig::new();
        rig.gateway.set_script(move |_| ScriptedReply::html(status));
        assert_eq!(rig.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol, "{status}");
        assert_eq!((rig.gateway.request_count(), rig.tokens.told_of()), (1, vec![]));
    }
}

/// DPP-20, CLI-05: a redirection is not followed, so that no token goes elsewhere.
#[tokio::test(start_paused = true)]
async fn a_redirection_is_not_followed() {
    let rig = Rig::new();
    rig.gateway.enqueue_reply(ScriptedReply::redirect("https://far.test/exchange/v1/me/org-units"));
    assert_eq!(rig.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(rig.gateway.request_count(), 1);
}

/// DPP-20, CON-01: nothing is signed for another server.
#[tokio::test(start_paused = true)]
async fn nothing_is_signed_for_another_server() {
    let rig = Rig::new();
    for uri in ["https://far.test/exchange/v1", "http://gateway.test/exchange/v1", "/exchange/v1"] {
        let request = Request::builder().uri(uri).body(Bytes::new()).unwrap();
        let refused = rig.carrier.send(OperationId::ServiceDocument.operation(), request).await.unwrap_err();
        assert_eq!((refused.fault(), refused.delivery()), (TransportFault::Request, Delivery::NotSent));
        assert_eq!(Error::from_transport_error(refused).kind(), ErrorKind::Bug);
    }
    assert_eq!(rig.gateway.request_count(), 0);
}

/// An answer that is too large is not kept, and not asked for again.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_is_refused() {
    let rig = Rig::new();
    rig.gateway.enqueue_reply(ScriptedReply::huge((16 << 20) + 1));
    assert_eq!(rig.read(LONG).await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(rig.gateway.request_count(), 1);
}

/// CON-12: unknown fields, unknown codes: nothing breaks.
#[tokio::test(start_paused = true)]
async fn what_is_not_known_yet_breaks_nothing() {
    let rig = Rig::new();
    rig.gateway.enqueue_reply(ScriptedReply::json(200, r#"{"items": [], "later": {"more": [1]}}"#));
    rig.read(LONG).await.unwrap();
    for (status, kind) in [
        (403, ErrorKind::NotPermitted),
        (409, ErrorKind::Conflict),
        (410, ErrorKind::CursorExpired),
        (422, ErrorKind::Invalid),
    ] {
        rig.gateway.enqueue_reply(ScriptedReply::unknown_problem(status, "SOMETHING_NEW"));
        let error = rig.read(LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.code().unwrap().as_str()), (kind, "SOMETHING_NEW"));
    }
    let before = rig.gateway.request_count();
    rig.gateway.enqueue_reply(ScriptedReply::unknown_problem(503, "SOMETHING_NEW").with_retry_after("7"));
    rig.read(LONG).await.unwrap();
    assert_eq!(rig.gateway.request_count(), before + 2);
}

/// A call that is dropped at any moment leaves nothing behind: those that waited for it go on.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_holds_up_nobody() {
    for after in [0, 10, 99, 100, 101, 5_000, 5_050, 5_150, 20_000] {
        let rig = Rig::new();
        rig.gateway.require_nonce("n-1");
        rig.gateway.set_script(|seen| ok(seen).delayed_by(Duration::from_millis(100)));
        rig.gateway.enqueue_reply(ScriptedReply::refused().delayed_by(Duration::from_millis(100)));
        rig.gateway.enqueue_reply(ScriptedReply::refused().delayed_by(Duration::from_millis(100)));
        let dropped = async {
            let call = rig.write(KEY, LONG);
            let _ = tokio::time::timeout(Duration::from_millis(after), call).await;
        };
        let other = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            rig.read(LONG).await
        };
        let ((), read) = tokio::join!(dropped, other);
        read.unwrap();
        // And again, with nobody to wait for.
        rig.write(KEY, LONG).await.unwrap();
        assert_eq!(rig.gateway.applied_keys(), [KEY]);
    }
}
