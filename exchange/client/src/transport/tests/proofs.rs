//! Tests of proofs, nonces and clocks from the gateway's view.

use std::collections::HashSet;

use dpop_bound::{Htu, session};
use exchange_api::{
    calls::StockReadOptions, codes::Code, operations::OperationId, runtime::transport::Transport,
};

use super::*;
use crate::{rate_limiter::CallInitiator, testkit::START_TIME};

/// DPP-01, DPP-02, DPP-03, DPP-04, DPP-06, DPP-20: every request, including retries, has one `Authorization`
/// header and one proof with a unique id, signed by the key for this method, URL, time and token. The
/// scripted gateway checks every request and rejects none.
#[tokio::test(start_paused = true)]
async fn every_request_has_its_own_proof() {
    let fixture = TransportFixture::new();
    fixture.gateway.pin_key(&fixture.tokens.proofs.thumbprint());
    fixture.gateway.require_nonce("n-1");
    fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    fixture.write("key-12345678", LONG).await.unwrap();
    fixture.gateway.refuse_token("token-0");
    fixture.read(LONG).await.unwrap();
    let requests = fixture.gateway.requests();
    // The write gets a challenge, a lost response, `RELAY_BUSY` and a success. The read gets a rejected token
    // and a success.
    assert_eq!(requests.len(), 6);
    let ids: HashSet<_> = requests.iter().map(|seen| seen.proof.clone().unwrap().jti).collect();
    assert_eq!(ids.len(), 6);
    assert!(ids.iter().all(|id| id.len() >= 16));
    for seen in &requests {
        let token = AccessToken::new(seen.token().unwrap()).unwrap();
        let proof = seen.proof.clone().unwrap();
        assert_eq!(proof.ath, Some(token.hash().to_string()));
        assert_eq!(proof.iat, START_TIME.as_secs() + seen.received_at.as_secs());
    }
}

/// DPP-05, DPP-12: a request contains the latest nonce, which is kept if a response has none.
#[tokio::test(start_paused = true)]
async fn latest_nonce_is_kept() {
    let fixture = TransportFixture::new();
    let list = |nonce: &str| ScriptedReply::json(200, r#"{"items": []}"#).with_header("DPoP-Nonce", nonce);
    fixture.gateway.enqueue_reply(list("n-1"));
    fixture.gateway.enqueue_reply(ScriptedReply::json(200, r#"{"items": []}"#).without_server_headers());
    fixture.gateway.enqueue_reply(list("n-2"));
    fixture
        .gateway
        .enqueue_reply(ScriptedReply::problem(Code::NotPermitted).with_header("DPoP-Nonce", "n-3"));
    for _ in 0..5 {
        let _ = fixture.read(LONG).await;
    }
    let nonces = fixture.gateway.requests().into_iter().map(|seen| seen.proof.unwrap().nonce);
    let some = |nonce: &str| Some(nonce.to_owned());
    assert_eq!(nonces.collect::<Vec<_>>(), [None, some("n-1"), some("n-1"), some("n-2"), some("n-3")]);
}

/// DPP-14, ERR-07, GW-12: a challenge costs one request, which is sent immediately. A write keeps its key and
/// body.
#[tokio::test(start_paused = true)]
async fn challenge_in_every_form_is_retried_once() {
    for challenge in [
        r#"DPoP algs="ES256", error="use_dpop_nonce""#,
        "DPoP algs=ES256, error=use_dpop_nonce",
        r#"dpop ERROR="use_dpop_nonce""#,
        r#"Basic realm="x", DPoP error="use_dpop_nonce", Negotiate"#,
    ] {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(ScriptedReply::challenge(challenge, Some("n-1")));
        let effort = fixture.write("key-12345678", LONG).await.unwrap();
        assert_eq!((effort.requests, effort.attempts), (2, 1), "{challenge}");
        let requests = fixture.gateway.requests();
        assert_eq!(fixture.gaps(), [0.0]);
        assert_eq!(requests[1].proof.clone().unwrap().nonce.as_deref(), Some("n-1"));
        assert_eq!(requests[0].idempotency_key(), requests[1].idempotency_key());
        assert_eq!(requests[0].body, requests[1].body);
        assert_eq!(requests[0].correlation_id(), requests[1].correlation_id());
    }
}

/// DPP-14, ERR-07: a repeated challenge is not retried again.
#[tokio::test(start_paused = true)]
async fn repeated_challenge_is_an_error() {
    for again in ["n-2", "n-1"] {
        let fixture = TransportFixture::new();
        for nonce in ["n-1", again] {
            fixture.gateway.enqueue_reply(ScriptedReply::challenge("DPoP error=use_dpop_nonce", Some(nonce)));
        }
        let error = fixture.read(LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Proof, Some(&Code::DpopInvalid)));
        assert_eq!(fixture.gateway.request_count(), 2);
    }
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::challenge("DPoP error=use_dpop_nonce", None));
    assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), ErrorKind::Proof);
    assert_eq!(fixture.gateway.request_count(), 1);
}

/// DPP-05: a nonce in the response to a retried request is used by the next call.
#[tokio::test(start_paused = true)]
async fn nonce_of_the_retried_response_is_kept() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::challenge("DPoP error=use_dpop_nonce", Some("n-1")));
    fixture
        .gateway
        .enqueue_reply(ScriptedReply::json(200, r#"{"items": []}"#).with_header("DPoP-Nonce", "n-2"));
    fixture.read(LONG).await.unwrap();
    fixture.read(LONG).await.unwrap();
    let last = fixture.gateway.requests().pop().unwrap();
    assert_eq!(last.proof.unwrap().nonce.as_deref(), Some("n-2"));
    assert_eq!(fixture.gateway.request_count(), 3);
}

/// DPP-05, DPP-14: twenty concurrent calls after a cold start cause only one challenge.
#[tokio::test(start_paused = true)]
async fn cold_start_costs_one_challenge() {
    let fixture = TransportFixture::new();
    fixture.gateway.require_nonce("n-1");
    fixture.gateway.set_script(|seen| ok(seen).delayed_by(Duration::from_millis(50)));
    let calls = join_all((0..20).map(|_| fixture.read(LONG))).await;
    assert!(calls.iter().all(Result::is_ok));
    assert_eq!(fixture.gateway.request_count(), 21);
    fixture.read(LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), 22);
}

/// DPP-12, DPP-14: after a restart, the gateway challenges each call once, and no call fails.
#[tokio::test(start_paused = true)]
async fn restarted_gateway_challenges_each_call_once() {
    let fixture = TransportFixture::new();
    fixture.gateway.require_nonce("n-1");
    fixture.gateway.set_script(|seen| ok(seen).delayed_by(Duration::from_millis(50)));
    fixture.write("key-before-it", LONG).await.unwrap();
    tokio::time::sleep(seconds(60)).await;
    let keys = (0..20).map(|number| format!("key-{number:08}")).collect::<Vec<_>>();
    fixture.gateway.require_nonce("n-2");
    let calls = join_all(keys.iter().map(|key| fixture.write(key, LONG))).await;
    assert!(calls.iter().all(Result::is_ok));
    assert!(
        (2 + 21..=2 + 40).contains(&fixture.gateway.request_count()),
        "{}",
        fixture.gateway.request_count()
    );
    let mut carried_out = fixture.gateway.applied_keys();
    carried_out.sort();
    assert_eq!(carried_out[..20], keys[..]);
}

/// DPP-17: the gateway's nonce is never sent to the identity provider.
#[tokio::test(start_paused = true)]
async fn nonce_belongs_to_one_server() {
    let fixture = TransportFixture::new();
    fixture.gateway.require_nonce("n-1");
    fixture.read(LONG).await.unwrap();
    let prepare = async |url: &str| {
        let call = session::DpopRequest::new("POST", Htu::from_url(url).unwrap());
        let now = fixture.machine.environment().now();
        match fixture.tokens.proofs.prepare_request(&call, now).await.unwrap() {
            session::PrepareOutcome::Send(transmission) => {
                transmission.nonce().map(|nonce| nonce.as_str().to_owned())
            }
            session::PrepareOutcome::Wait(_) => panic!("no request is in flight"),
        }
    };
    assert_eq!(prepare("https://identity.test/token").await, None);
    assert_eq!(prepare("https://gateway.test/exchange/v1").await.as_deref(), Some("n-1"));
}

/// DPP-09, DPP-10, ERR-08: a wrong clock costs one request.
#[tokio::test(start_paused = true)]
async fn wrong_clock_costs_one_request() {
    for wrong_by in [-3600, -60, -31, -25, 25, 31, 60, 3600, 86_400] {
        let fixture = TransportFixture::new();
        fixture.machine.set_clock_offset(wrong_by);
        fixture.write("key-12345678", LONG).await.unwrap();
        let first = fixture.gateway.request_count();
        assert!(first <= 2, "{wrong_by}: {first}");
        tokio::time::sleep(seconds(60)).await;
        fixture.read(LONG).await.unwrap();
        assert_eq!(fixture.gateway.request_count(), first + 1, "{wrong_by}");
        let (last, now) = (fixture.gateway.requests().pop().unwrap(), fixture.machine.true_time().as_secs());
        assert!(last.proof.unwrap().iat.abs_diff(now) <= 26, "{wrong_by}");
    }
}

/// DPP-10, ERR-08, CLI-04: if no server time is known, the member has to set the clock.
#[tokio::test(start_paused = true)]
async fn uncorrectable_clock_is_reported_to_the_member() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| {
        ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None).without_server_headers()
    });
    let error = fixture.read(LONG).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Clock);
    assert!(error.to_string().contains("synchronize the clock of this computer with the network"), "{error}");
    assert_eq!(fixture.gateway.request_count(), 1);

    let fixture = TransportFixture::new();
    fixture.machine.set_clock_offset(-3600);
    fixture.gateway.set_script(|_| ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None));
    assert_eq!(fixture.read(LONG).await.unwrap_err().kind(), ErrorKind::Clock);
    assert_eq!(fixture.gateway.request_count(), 2);
}

/// ERR-08: a proof that is rejected for a reason other than its nonce or time is not sent again.
#[tokio::test(start_paused = true)]
async fn otherwise_rejected_proof_is_not_resent() {
    let fixture = TransportFixture::new();
    fixture.gateway.set_script(|_| ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None));
    let error = fixture.read(LONG).await.unwrap_err();
    assert_eq!((error.kind(), fixture.gateway.request_count()), (ErrorKind::Proof, 1));
}

/// DPP-18, GW-12: a write whose proof was rejected may have been applied, because a network may duplicate a
/// message, and the second copy is rejected as a replay. It is not sent again (DPP-15, ERR-08). If the
/// rejection precedes the replay check, or if the request never reached the exchange, the write was not
/// applied.
#[tokio::test(start_paused = true)]
async fn write_with_rejected_proof_may_have_been_applied() {
    let invalid = || ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None);
    for (reply, kind) in
        [(invalid(), ErrorKind::Proof), (invalid().without_server_headers(), ErrorKind::Clock)]
    {
        let fixture = TransportFixture::new();
        fixture.gateway.enqueue_reply(reply.clone());
        let error = fixture.write("key-12345678", LONG).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_been_applied(), fixture.gateway.request_count()),
            (kind, true, 1)
        );
        fixture.gateway.enqueue_reply(reply);
        let error = fixture.read(LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_been_applied()), (kind, false));
    }
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(invalid());
    let error = fixture.write("key-12345678", LONG).await.unwrap_err();
    assert_eq!(error.code(), Some(&Code::DpopInvalid));
    assert!(error.to_string().contains("it was carried out"), "{error}");

    let fixture = TransportFixture::new();
    for nonce in ["n-1", "n-2"] {
        fixture.gateway.enqueue_reply(ScriptedReply::challenge("DPoP error=use_dpop_nonce", Some(nonce)));
    }
    let error = fixture.write("key-12345678", LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::Proof, false));

    // The identity provider rejected the proof of a token refresh.
    let fixture = TransportFixture::new();
    fixture.tokens.state.lock().unwrap().over = Some(ErrorKind::Proof);
    let error = fixture.write("key-12345678", LONG).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_been_applied(), fixture.gateway.request_count()),
        (ErrorKind::Proof, false, 0)
    );

    // The outcome of an earlier request is unknown.
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::interrupted());
    fixture.gateway.enqueue_reply(invalid());
    let error = fixture.write("key-12345678", LONG).await.unwrap_err();
    assert_eq!((error.kind(), fixture.gateway.request_count()), (ErrorKind::OutcomeUnknown, 2));
}

/// DPP-10, DPP-18, GW-12: a small clock offset is corrected. The rejected proof may still have been valid,
/// because the rejected message may have been the second copy of a duplicate whose first copy was applied.
/// Later responses about other checks do not resolve the outcome of the write. If the time of the proof was
/// wrong, no copy of it can have been accepted.
#[tokio::test(start_paused = true)]
async fn clock_correction_does_not_hide_a_duplicate() {
    let once = RetryPolicy::new(1, seconds(120), CallInitiator::Program);
    for (wrong_by, is_hidden) in [(10, true), (-10, true), (29, true), (3600, false), (-3600, false)] {
        let fixture = TransportFixture::new();
        fixture.machine.set_clock_offset(wrong_by);
        if is_hidden {
            fixture.gateway.enqueue_reply(ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None));
        }
        fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::RateLimited));
        let error = fixture.write("key-12345678", once).await.unwrap_err();
        let kind = if is_hidden { ErrorKind::OutcomeUnknown } else { ErrorKind::Busy };
        assert_eq!((error.kind(), error.may_have_been_applied()), (kind, is_hidden), "{wrong_by}");
        assert_eq!(fixture.gateway.request_count(), 2, "{wrong_by}");
    }
}

/// After a suspend, the time of proofs follows the wall clock, so that no additional request is needed.
#[tokio::test(start_paused = true)]
async fn suspend_costs_no_additional_request() {
    let fixture = TransportFixture::new();
    fixture.read(LONG).await.unwrap();
    fixture.machine.suspend(seconds(8 * 3600));
    fixture.read(LONG).await.unwrap();
    assert_eq!(fixture.gateway.request_count(), 2);
}

/// DPP-08, CON-01, CON-07: `htu` is the URL without its query, the path is the contract's path below the
/// gateway's origin, and a cursor is sent back unchanged.
#[tokio::test(start_paused = true)]
async fn request_urls_match_the_contract() {
    let fixture = TransportFixture::new();
    let cursor = "v1.b:9-Z_x/+ =%?&\u{e9}";
    let _ = fixture.api.stock_read(StockReadOptions::new().cursor(cursor).limit(500)).await;
    let seen = fixture.gateway.requests().remove(0);
    assert_eq!(seen.uri.to_string().split('?').next(), Some("https://gateway.test/exchange/v1/me/stock"));
    assert_eq!(seen.query("cursor"), Some("v1.b%3A9-Z_x%2F%2B%20%3D%25%3F%26%C3%A9"));
    // The scripted gateway would have recorded a violation for a proof for the URL with its query.
    assert!(seen.proof.is_some());
}

/// CLI-01: every request identifies the client, including retries and requests without a token.
#[tokio::test(start_paused = true)]
async fn every_request_identifies_the_client() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::InternalError));
    fixture.read(LONG).await.unwrap();
    let _ = fixture.api.contract_openapi(exchange_api::calls::ContractOpenapiOptions::default()).await;
    let requests = fixture.gateway.requests();
    assert_eq!(requests.len(), 3);
    for seen in &requests {
        assert_eq!(seen.header("User-Agent"), Some("Desk/1.0.0 (+https://desk.example)"));
    }
    assert_eq!(requests[2].token(), None);
}

/// GW-13: all requests of a call have one correlation id, which is the caller's id if the caller set one.
#[tokio::test(start_paused = true)]
async fn call_has_a_correlation_id() {
    let fixture = TransportFixture::new();
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::InternalError));
    fixture.gateway.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
    let error = fixture.read(LONG).await.unwrap_err();
    fixture.read(LONG).await.unwrap();
    let requests = fixture.gateway.requests();
    let ids = requests.iter().map(|seen| seen.correlation_id().unwrap()).collect::<Vec<_>>();
    assert_eq!((ids[0], error.correlation_id()), (ids[1], Some(ids[1])));
    assert_ne!(ids[1], ids[2]);
    assert!(ids.iter().all(|id| id.len() == 32));
    let request = http::Request::builder()
        .uri("https://gateway.test/exchange/v1/me/org-units")
        .header("X-Correlation-Id", "mine");
    let request = request.body(bytes::Bytes::new()).unwrap();
    fixture.carrier.send(OperationId::OrgUnitsRead.operation(), request).await.unwrap();
    assert_eq!(fixture.gateway.requests()[3].correlation_id(), Some("mine"));
}
