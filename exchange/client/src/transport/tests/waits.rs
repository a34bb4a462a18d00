//! Tests of the waits of calls: their length, the calls to which they apply, and calls that end instead of
//! waiting.

use dpop_bound::{MaybeReady, PublicKey, UnixTime, signer::SignFuture};
use exchange_api::codes::Code;
use http::{HeaderMap, header::RETRY_AFTER};

use super::*;
use crate::rate_limiter::CallInitiator;

const KEY: &str = "key-12345678";

/// CLI-02, ERR-33, ERR-09, ERR-10, ERR-35, ERR-36, ERR-39, ERR-40: after `Retry-After` has passed, the same
/// call is sent again, a write under its key.
#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    for code in [
        Code::RateLimited,
        Code::DpopProofLimit,
        Code::ServiceUnavailable,
        Code::ExchangeBudgetExhausted,
        Code::RelayBusy,
        Code::ExchangeDisabled,
        Code::RegistryUnavailable,
    ] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code.clone()).with_retry_after("47"));
        let effort = fixture.write(KEY, LONG).await.unwrap();
        assert_gaps(&fixture.gaps(), &[47.0]);
        assert_eq!((effort.requests, fixture.gateway.applied_keys()), (2, vec![KEY.to_owned()]), "{code}");
        let requests = fixture.gateway.requests();
        assert_eq!(requests[0].idempotency_key(), requests[1].idempotency_key());
        assert_ne!(requests[0].proof.clone().unwrap().jti, requests[1].proof.clone().unwrap().jti);
    }
}

/// CLI-02: the `Retry-After` of an error response is respected even if the body is truncated or too large.
#[tokio::test(start_paused = true)]
async fn retry_after_is_respected_without_the_body() {
    let huge = ScriptedReply::new(503, "text/html", vec![b' '; (16 << 20) + 1]).with_retry_after("600");
    let cut = ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("600").truncated_to(20);
    for (reply, writes) in [(huge.clone(), false), (huge, true), (cut.clone(), false), (cut, true)] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(reply);
        let other = async {
            tokio::time::sleep(seconds(1)).await;
            fixture.read(LONG).await
        };
        let first = async { if writes { fixture.write(KEY, LONG).await } else { fixture.read(LONG).await } };
        let (first, other) = tokio::join!(first, other);
        assert_eq!((first.unwrap().requests, other.unwrap().requests), (2, 1));
        assert!(fixture.times()[1] >= 600.0 && fixture.times()[2] >= 600.0, "{:?}", fixture.times());
    }
}

/// CLI-02, ERR-05, DPP-14: a retry with a new token or proof is not sent before `Retry-After` has passed.
#[tokio::test(start_paused = true)]
async fn retry_with_new_token_or_proof_is_no_earlier() {
    let challenge = ScriptedReply::challenge("DPoP error=use_dpop_nonce", Some("n-1"));
    for rejection in [ScriptedReply::problem(Code::Unauthenticated), challenge] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(rejection.clone().with_retry_after("47"));
        assert_eq!(fixture.write(KEY, LONG).await.unwrap().requests, 2);
        assert_gaps(&fixture.gaps(), &[47.0]);

        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(rejection.with_retry_after("600"));
        let error = fixture.read(RetryPolicy::INTERACTIVE).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Busy, Some(seconds(600))));
        assert_eq!(fixture.gateway.request_count(), 1);
    }
}

/// CON-12, CLI-02: an error response without a readable code is classified by its status. The call is sent
/// again after `Retry-After`, unless it must not be sent twice.
#[tokio::test(start_paused = true)]
async fn truncated_error_response_is_requested_again() {
    for code in [Code::Unauthenticated, Code::VersionConflict, Code::CursorExpired, Code::ScopeMissing] {
        let fixture = TransportFixture::new();
        fixture
            .gateway
            .enqueue_reply(ScriptedReply::problem(code.clone()).with_retry_after("47").truncated_to(20));
        fixture.write(KEY, LONG).await.unwrap();
        assert_gaps(&fixture.gaps(), &[47.0]);
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code).truncated_to(20));
        assert!(fixture.check(LONG).await.is_err());
        assert_eq!(fixture.gateway.request_count(), 3);
    }
}

/// A hardware key that the member touches after this delay, or never.
struct SlowSigner(KeyPair, Option<Duration>);

impl ProofSigner for SlowSigner {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        MaybeReady::boxed(async move {
            match self.1 {
                // The whole process is suspended, and handles its first event when it continues.
                Some(time) => tokio::time::advance(time).await,
                None => std::future::pending().await,
            }
            self.0.sign(message).await
        })
    }
}

/// GW-12: after the time limit of a call, no request of it is sent, whatever the call waited for. Another
/// process relies on this when it takes an abandoned call over.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_after_the_call_timeout() {
    let patience = RetryPolicy::new(1, seconds(120), CallInitiator::Program);
    for (touched, sent) in [(Some(9), 1), (Some(121), 0), (None, 0)] {
        let key = SlowSigner(KeyPair::generate().unwrap(), touched.map(seconds));
        let fixture = TransportFixture::signed_by(key, TransportSettings::default());
        let wrote = fixture.write(KEY, patience).await;
        assert_eq!((wrote.is_ok(), fixture.gateway.request_count()), (sent == 1, sent), "{touched:?}");
        if let Err(error) = wrote {
            assert_eq!(
                (error.kind(), error.may_have_been_applied()),
                (ErrorKind::Busy, false),
                "{touched:?}"
            );
        }
    }
}

/// CLI-02: `Retry-After` may be a number of seconds or a date of the server's clock. Other values are
/// ignored.
#[tokio::test(start_paused = true)]
async fn every_form_of_retry_after_is_parsed() {
    for (retry_after, expect) in [
        ("3600", 3600.0),
        ("7", 7.0),
        // This is three minutes and twenty seconds after the start.
        ("Mon, 21 Sep 2026 14:18:20 GMT", 200.0),
        ("Mon, 21 Sep 2026 14:00:00 GMT", 5.0),
        ("0", 5.0),
        ("soon", 5.0),
        ("-3", 5.0),
        // A proxy may add another header line, before or after the line of the exchange.
        ("7\n3600", 3600.0),
        ("3600\n7", 3600.0),
        ("soon\n7", 7.0),
        ("7\nMon, 21 Sep 2026 14:18:20 GMT", 200.0),
    ] {
        let fixture = TransportFixture::new();
        // The machine's clock is an hour slow, but the date is relative to the server's clock.
        fixture.read(LONG).await.unwrap();
        fixture.machine.set_clock_offset(-3600);
        let mut lines = retry_after.lines();
        let first = ScriptedReply::problem(Code::RelayBusy).with_retry_after(lines.next().unwrap());
        fixture
            .gateway
            .enqueue_reply(lines.fold(first, |reply, line| reply.with_header("Retry-After", line)));
        fixture.write(KEY, RetryPolicy::new(9, seconds(9999), CallInitiator::Program)).await.unwrap();
        assert_gaps(&fixture.gaps()[fixture.gaps().len() - 1..], &[expect]);
    }
}

/// CLI-02: the longest of several values applies, by the server's clock, even if the response has no `Date`.
#[test]
fn longest_retry_after_counts_without_a_date() {
    let server = UnixTime::from_secs(1_790_000_000);
    for date in ["Mon, 21 Sep 2020 14:00:00 GMT", "Mon, 21 Sep 2026 14:16:40 GMT"] {
        for lines in [[date, "3600"], ["3600", date]] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(RETRY_AFTER, line.parse().unwrap());
            }
            let retry_after = super::super::parse_retry_after(&headers, || server);
            assert_eq!(retry_after, Some(seconds(3600)), "{lines:?}");
        }
    }
    assert_eq!(
        super::super::parse_retry_after(&HeaderMap::new(), || panic!("the clock is not needed")),
        None
    );
}

/// CLI-02: a date in a response without `Date` is relative to the server's clock as well, which earlier
/// responses showed.
#[tokio::test(start_paused = true)]
async fn retry_date_uses_the_learned_server_clock() {
    for wrong_by in [-3600, 3600, 0] {
        let fixture = TransportFixture::new();
        fixture.machine.set_clock_offset(wrong_by);
        fixture.read(LONG).await.unwrap();
        let before = fixture.gaps().len();
        let date = "Mon, 21 Sep 2026 14:18:20 GMT";
        fixture.gateway.enqueue_reply(
            ScriptedReply::problem(Code::RelayBusy).with_retry_after(date).without_server_headers(),
        );
        fixture.write(KEY, RetryPolicy::new(9, seconds(9999), CallInitiator::Program)).await.unwrap();
        let gap = fixture.gaps()[before + 1];
        assert!((199.0..=221.0).contains(&gap), "{gap} {wrong_by}");
    }
}

/// LIM-16: without `Retry-After`, the wait is five seconds and doubles up to five minutes.
#[tokio::test(start_paused = true)]
async fn waits_double_without_retry_after() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::problem(Code::IdempotencyInProgress));
    let error =
        fixture.write(KEY, RetryPolicy::new(9, seconds(9999), CallInitiator::Program)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_gaps(&fixture.gaps(), &[5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]);
    assert!(fixture.gaps().iter().all(|gap| *gap <= 300.002));
}

/// ERR-33, CLI-02: limits apply to the member, so no call of the client is sent before `Retry-After` has
/// passed. The nonce is kept although the error response has none.
#[tokio::test(start_paused = true)]
async fn rate_limit_delays_every_call() {
    for code in [Code::RateLimited, Code::DpopProofLimit] {
        let fixture = TransportFixture::new();
        fixture.gateway.require_nonce("n-1");
        fixture.read(LONG).await.unwrap();
        fixture
            .gateway
            .enqueue_reply(ScriptedReply::problem(code).with_retry_after("47").without_server_headers());
        let other = async {
            tokio::time::sleep(seconds(1)).await;
            fixture.write(KEY, LONG).await
        };
        let (read, write) = tokio::join!(fixture.read(LONG), other);
        assert!(read.is_ok() && write.is_ok());
        // The challenge, the first read and the limited read are sent at once, and the two other requests
        // after 47 seconds.
        let times = fixture.times();
        assert_eq!((times.len(), times[2]), (5, 0.0));
        assert!(times[3] >= 47.0 && times[4] >= 47.0, "{times:?}");
    }
}

/// ERR-36, ERR-35: a large change set that has to wait delays no other call. An exhausted budget of writes
/// delays other writes, but no reads.
#[tokio::test(start_paused = true)]
async fn write_budget_delays_only_writes() {
    for (code, writes_wait) in [(Code::RelayBusy, false), (Code::ExchangeBudgetExhausted, true)] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::problem(code).with_retry_after("100"));
        let second = async {
            tokio::time::sleep(seconds(1)).await;
            fixture.read(LONG).await.unwrap();
            fixture.write("key-87654321", LONG).await.unwrap();
        };
        let (first, ()) = tokio::join!(fixture.write(KEY, LONG), second);
        first.unwrap();
        let requests = fixture.gateway.requests();
        let at = |key| requests.iter().find(|seen| seen.idempotency_key() == key).unwrap().received_at;
        assert_eq!(at(None), seconds(1));
        assert_eq!(at(Some("key-87654321")) >= seconds(100), writes_wait);
    }
}

/// CLI-02: if `Retry-After` exceeds the time limit of a call, the call ends immediately, and the error
/// contains the wait.
#[tokio::test(start_paused = true)]
async fn too_long_wait_ends_the_call_immediately() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("600"));
    let error = fixture.read(RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, Some(&Code::ServiceUnavailable)));
    assert_eq!((error.retry_after(), fixture.machine.elapsed()), (Some(seconds(600)), Duration::ZERO));
    // The next call is not sent. Its error contains the remaining time.
    tokio::time::sleep(seconds(100)).await;
    let error = fixture.write(KEY, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, Some(&Code::ServiceUnavailable)));
    assert_eq!((error.retry_after(), fixture.gateway.request_count()), (Some(seconds(500)), 1));
    // A call with a longer time limit is sent after the wait.
    fixture.read(LONG).await.unwrap();
    assert!(fixture.times()[1] >= 600.0);
}

/// A `Retry-After` date is reported in seconds.
#[tokio::test(start_paused = true)]
async fn retry_date_is_reported_in_seconds() {
    let fixture = TransportFixture::new();
    let date = "Mon, 21 Sep 2026 14:25:00 GMT";
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after(date));
    let error = fixture.read(RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(seconds(600)));
}

/// LIM-19: when the daily quota of writes is exhausted, reads continue and other writes are not sent.
#[tokio::test(start_paused = true)]
async fn exhausted_quota_stops_only_writes() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("30000"));
    let refused = fixture.write(KEY, LONG).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry_after()), (ErrorKind::QuotaExceeded, Some(seconds(30_000))));
    let failure = fixture.write("key-87654321", LONG).await.unwrap_err();
    assert_eq!((failure.kind(), failure.code()), (ErrorKind::QuotaExceeded, Some(&Code::QuotaExceeded)));
    fixture.read(LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), 2);
}

/// ERR-33: the hourly limit of account checks does not delay other calls.
#[tokio::test(start_paused = true)]
async fn account_check_limit_delays_only_account_checks() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RateLimited).with_retry_after("3000"));
    assert_eq!(fixture.check(RetryPolicy::INTERACTIVE).await.unwrap_err().kind(), ErrorKind::Busy);
    fixture.read(RetryPolicy::INTERACTIVE).await.unwrap();
    assert_eq!(fixture.check(RetryPolicy::INTERACTIVE).await.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(fixture.gateway.request_count(), 2);
}

/// The time limit of a call also applies while it waits for a refresh, for the first response to another
/// call, or for a probe.
#[tokio::test(start_paused = true)]
async fn call_timeout_includes_waiting_for_other_calls() {
    let patience = |time| RetryPolicy::new(1, seconds(time), CallInitiator::Member);
    let fixture = TransportFixture::new();
    fixture.tokens.state.lock().unwrap().silent = true;
    let late = fixture.read(patience(60)).await.unwrap_err();
    assert_eq!(
        (late.kind(), fixture.machine.elapsed(), fixture.gateway.request_count()),
        (ErrorKind::Busy, seconds(60), 0)
    );

    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::stalled());
    let (first, second) = tokio::join!(fixture.read(patience(60)), async {
        let late = fixture.read(patience(10)).await.unwrap_err();
        (late.kind(), fixture.machine.elapsed(), fixture.gateway.request_count())
    });
    assert_eq!(first.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(second, (ErrorKind::Busy, seconds(10), 1));

    // During an outage, one call probes the server and the others wait for its result.
    let fixture = TransportFixture::new();
    fixture.read(LONG).await.unwrap();
    fixture.gateway.set_script(|_| ScriptedReply::refused());
    while fixture.read(patience(1)).await.unwrap_err().kind() != ErrorKind::Unreachable
        || fixture.gateway.request_count() < 3
    {}
    tokio::time::sleep(seconds(600)).await;
    fixture.gateway.set_script(|_| ScriptedReply::stalled());
    let before = fixture.machine.elapsed();
    let (probe, waiting) = tokio::join!(fixture.read(patience(60)), async {
        let late = fixture.read(patience(10)).await.unwrap_err();
        (late.kind(), fixture.machine.elapsed() - before)
    });
    assert_eq!(probe.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(waiting, (ErrorKind::Busy, seconds(10)));
}

/// The time limit of a call also applies while the session processes its report. Processing continues after
/// the call has ended.
#[tokio::test(start_paused = true)]
async fn slow_session_blocks_no_call() {
    let fixture = TransportFixture::new();
    fixture.tokens.state.lock().unwrap().deaf = true;
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::InstallationRevoked));
    let error = fixture.read(RetryPolicy::new(1, seconds(60), CallInitiator::Member)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ended(crate::EndReason::InstallationDisconnected));
    assert_eq!((fixture.machine.elapsed(), fixture.tokens.reported_errors().len()), (seconds(60), 1));
}

/// ERR-09: for a minute after `DPOP_PROOF_LIMIT`, the client sends at half the rate.
#[tokio::test(start_paused = true)]
async fn proof_limit_slows_the_client_down() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::DpopProofLimit).with_retry_after("10"));
    fixture.read(LONG).await.unwrap();
    let calls = join_all((0..30).map(|_| fixture.read(LONG))).await;
    assert!(calls.iter().all(Result::is_ok));
    let times = fixture.times();
    // Each call takes 1.2 s. At the full rate, 20 calls would be sent at once.
    assert!(times[31] - times[1] >= 26.0 - 10.0 / 1.2 * 1.2, "{times:?}");
    // The first call that has to wait uses tokens that accumulated before, so it waits less.
    let (gaps, waited) = (fixture.gaps(), |gap: &f64| *gap > 0.0);
    let first = gaps.iter().skip(1).position(waited).unwrap() + 1;
    assert!((9..=10).contains(&first) && gaps[first + 1..].iter().all(|gap| *gap >= 1.19), "{gaps:?}");
}
