//! Tests of limits and quotas.

use std::sync::Arc;

use dpop_bound::KeyPair;
use exchange_service::shared::rate::{RateBucket, RatePolicy};

use super::harness::{ADD, CLIENT, DOCUMENT, GatewayHarness, MEMBER, NOW, ORG_WRITE, Reply, RequestEffects};
use super::stand_ins::Script;
use exchange_service::ids::{ClientId, MemberId};

fn rate(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("ratelimit-policy"), reply.header("ratelimit"))
}

/// LIM-18, GW-08: every response after the check of the limit contains the number of remaining requests, also
/// error responses.
#[tokio::test]
async fn responses_report_the_remaining_requests() {
    let harness = GatewayHarness::new().await;
    let first = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!(rate(&first), (Some("120;w=60"), Some("limit=120, remaining=119, reset=1")));
    let second = harness.send(harness.get("/exchange/v1/me/blueprints?limit=0")).await;
    assert_eq!((second.status, rate(&second).1), (400, Some("limit=120, remaining=118, reset=1")));
    harness.advance(1);
    let third = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!(rate(&third).1, Some("limit=120, remaining=119, reset=1"));
}

/// LIM-18, ERR-33: the 121st request within a minute is rejected with the exact delay.
#[tokio::test]
async fn requests_per_member_are_limited() {
    let harness = GatewayHarness::with_config(|config| config.limits.per_address = 10_000).await;
    for index in 0..120 {
        assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200, "{index}");
    }
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.status, reply.code(), reply.header("retry-after")), (429, "RATE_LIMITED", Some("1")));
    assert_eq!((rate(&reply), reply.has("dpop-nonce")), ((None, None), true));
    // Another member of the same client has a separate limit.
    harness.token("anothers", |claims| claims.member = "other".into());
    assert_eq!(harness.send(harness.get(DOCUMENT).token("anothers")).await.status, 200);
    harness.advance(1);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
}

/// GW-06, LIM-18: a client's limit comes from the registry and is at most 1200.
#[tokio::test]
async fn client_limit_comes_from_the_registry() {
    for (own, reported) in [("7", "7;w=60"), ("1200", "1200;w=60"), ("5000", "1200;w=60")] {
        let harness = GatewayHarness::new().await;
        harness.sql(&format!("UPDATE client SET requests_per_minute = {own}")).await;
        let reply = harness.send(harness.get(DOCUMENT)).await;
        assert_eq!(rate(&reply).0, Some(reported));
    }
}

/// LIM-18: all members of a client together also have a limit.
#[tokio::test]
async fn requests_per_client_are_limited() {
    let harness = GatewayHarness::new().await;
    harness.exhaust(RateBucket::Client(ClientId::from(CLIENT)), RatePolicy::per_minute(1200)).await;
    harness.token("anothers", |claims| claims.member = "other".into());
    let reply = harness.send(harness.get(DOCUMENT).token("anothers")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("RATE_LIMITED", Some("1")));
}

/// LIM-04: an address may send 120 requests per minute, over all members. Rejections have neither limit
/// headers nor a nonce.
#[tokio::test]
async fn requests_per_address_are_limited() {
    let harness = GatewayHarness::new().await;
    for index in 0..120 {
        let target = if index % 2 == 0 { "/exchange/v1/openapi.json" } else { "/exchange/v1/nothing" };
        assert_ne!(harness.send(harness.get(target)).await.status, 429, "{index}");
    }
    for target in [DOCUMENT, "/exchange/v1/openapi.json"] {
        let reply = harness.send(harness.get(target)).await;
        assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")), "{target}");
        assert_eq!((rate(&reply), reply.has("dpop-nonce")), ((None, None), false));
    }
    assert_eq!(harness.send(harness.get(DOCUMENT).with_peer("192.0.2.2")).await.status, 200);
    // An IPv6 network counts as one address.
    for index in 0..121 {
        let reply = harness
            .send(harness.get("/exchange/v1/openapi.json").with_peer(&format!("2001:db8::{index:x}")))
            .await;
        assert_eq!(reply.status, if index < 120 { 200 } else { 429 }, "{index}");
    }
}

/// LIM-04, DPP-11: addresses without a recent valid proof share a limit of verifications per second. Other
/// addresses are exempt until they send forged credentials.
#[tokio::test]
async fn new_addresses_share_a_verification_limit() {
    let harness = GatewayHarness::with_config(|config| config.limits.newcomers_per_second = 2).await;
    let from = |address: &str| harness.get(DOCUMENT).with_peer(address);
    let foreign = Arc::new(KeyPair::generate().unwrap());
    let forged = |address: &str| from(address).draft(|draft| draft.signed_by(Arc::clone(&foreign)));
    assert_eq!(harness.send(from("192.0.2.1")).await.status, 200);
    assert_eq!(harness.send(forged("192.0.2.9")).await.code(), "DPOP_INVALID");
    // The limit is exhausted for new addresses, whatever they send. The token was not read, so the response
    // has no nonce.
    for request in [from("192.0.2.2"), forged("192.0.2.9")] {
        let reply = harness.send(request).await;
        assert_eq!((reply.status, reply.code()), (503, "SERVICE_UNAVAILABLE"));
        assert_eq!((reply.header("retry-after"), reply.has("dpop-nonce")), (Some("1"), false));
        assert_eq!(reply.challenge(), "-");
    }
    // A request without token and proof requires no verification.
    let mut anonymous = from("192.0.2.3");
    (anonymous.authorization, anonymous.proofs) = (Vec::new(), Some(Vec::new()));
    assert_eq!(harness.send(anonymous).await.code(), "UNAUTHENTICATED");
    // An address with a valid proof is exempt.
    for _ in 0..5 {
        assert_eq!(harness.send(from("192.0.2.1")).await.status, 200);
    }
    assert_eq!(harness.send(forged("192.0.2.1")).await.code(), "DPOP_INVALID");
    assert_eq!(harness.send(from("192.0.2.1")).await.code(), "SERVICE_UNAVAILABLE");
    harness.advance(1);
    assert_eq!(harness.send(from("192.0.2.1")).await.status, 200);
    harness.advance(600);
    assert_eq!(harness.send(from("192.0.2.4")).await.status, 200);
    assert_eq!(harness.send(from("192.0.2.5")).await.status, 200);
    assert_eq!(harness.send(from("192.0.2.1")).await.code(), "SERVICE_UNAVAILABLE");
}

/// LIM-05: ten account checks per hour are allowed. Of the other limits, they count only towards the one per
/// minute.
#[tokio::test]
async fn account_checks_are_limited_per_hour() {
    let harness = GatewayHarness::new().await;
    let check = || harness.post("/exchange/v1/me/account-check", r#"{"handle":"Some_One"}"#);
    for index in 0..10 {
        assert_eq!(harness.send(check()).await.status, 200, "{index}");
    }
    let reply = harness.send(check()).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("RATE_LIMITED", Some("360")));
    assert_eq!(rate(&reply), (None, None));
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    assert_eq!(harness.traces().await.writes, 0);
    harness.advance(360);
    assert_eq!(harness.send(check()).await.status, 200);
}

/// GW-07, LIM-19: each write counts once, also if it is rejected or repeated. Other requests do not count.
#[tokio::test]
async fn only_writes_count_towards_the_quota() {
    let harness = GatewayHarness::new().await;
    let mut counted = 0;
    let mut invalid = harness.write("key-0001");
    invalid.body = b"{}".to_vec();
    let draft = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schemas/fixtures/blueprint-draft/valid/minimal.json"
    ))
    .unwrap();
    for (name, request, writes) in [
        ("a write", harness.write("key-0002"), 1),
        ("its replay", harness.write("key-0002"), 1),
        ("without a key", harness.write("key-0003").without("Idempotency-Key"), 1),
        ("an invalid one", invalid, 1),
        (
            "a dry run",
            harness
                .post(super::harness::WRITE, &ADD.replacen('{', r#"{"dryRun":true,"#, 1))
                .header("Idempotency-Key", "key-0004"),
            1,
        ),
        (
            "a draft",
            harness.post("/exchange/v1/me/drafts/blueprints", &draft).header("Idempotency-Key", "key-0005"),
            1,
        ),
        ("a label", harness.post("/exchange/v1/me/installation", r#"{"label":"Desk"}"#), 0),
        ("an account check", harness.post("/exchange/v1/me/account-check", r#"{"handle":"Some_One"}"#), 0),
        (
            "a resolution",
            harness.post("/exchange/v1/catalog/resolve", r#"{"kind":"ITEM","refs":[{"bt":"1"}]}"#),
            0,
        ),
        ("a read", harness.get(DOCUMENT), 0),
    ] {
        let reply = harness.send(request).await;
        counted += writes;
        assert_eq!(harness.traces().await.writes, counted, "{name}: {} {}", reply.status, reply.body);
    }
}

/// ERR-34, A4: an exhausted quota lasts until midnight UTC. A client's quota comes from the registry and is
/// at most 5000.
#[tokio::test]
async fn daily_quota_resets_at_midnight_utc() {
    let harness = GatewayHarness::new().await;
    harness.sql("UPDATE client SET writes_per_day = 2").await;
    for index in 0..2 {
        assert_eq!(harness.send(harness.write(&format!("key-000{index}"))).await.status, 200);
    }
    let reply = harness.send(harness.write("key-0002")).await;
    let left = NOW.next_midnight().since(NOW).as_secs().to_string();
    assert_eq!((reply.code(), reply.header("retry-after")), ("QUOTA_EXCEEDED", Some(left.as_str())));
    assert!(reply.has("ratelimit") && reply.has("dpop-nonce"));
    assert_eq!(harness.traces().await.writes, 2);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200, "reads are still accepted");
    harness.advance(left.parse().unwrap());
    assert_eq!(harness.send(harness.write("key-0002")).await.status, 200);
    let harness = GatewayHarness::new().await;
    harness.sql("UPDATE client SET writes_per_day = 9000").await;
    let day = NOW.utc_day();
    harness.sql(&format!("INSERT INTO write_quota VALUES ('{CLIENT}', '{MEMBER}', {day}, 5000)")).await;
    assert_eq!(harness.send(harness.write("key-0001")).await.code(), "QUOTA_EXCEEDED");
}

/// A9: if the quota counter is unavailable, `Retry-After` is half a minute.
#[tokio::test]
async fn unavailable_quota_rejects_writes() {
    let harness = GatewayHarness::new().await;
    harness.quota.off();
    let reply = harness.send(harness.write("key-0001")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("30")));
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    let ops = build_org_ops(1, false);
    let reply = harness.send(harness.post(ORG_WRITE, &ops).header("Idempotency-Key", "key-0001")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("30")));
    assert_eq!(harness.traces().await.claims, 0, "the key is not claimed");
}

fn build_org_ops(ops: usize, dry_run: bool) -> String {
    let op = r#"{"op":"note","unit":"u-1","entry":"e-1","version":1}"#;
    format!(r#"{{"dryRun":{dry_run},"ops":[{}]}}"#, vec![op; ops].join(","))
}

/// OST-18, GW-07, A3: the ops of org stock count once they are known, all or none of them, and a dry run
/// counts once. A replay counts like any other request. A request that is rejected before parsing does not
/// count.
#[tokio::test]
async fn org_stock_writes_count_per_op() {
    let harness = GatewayHarness::new().await;
    harness.sql("UPDATE client SET writes_per_day = 10").await;
    let send = async |key: &str, body: &str| {
        let reply = harness.send(harness.post(ORG_WRITE, body).header("Idempotency-Key", key)).await;
        (reply.code().to_owned(), reply.has("idempotency-replayed"), harness.traces().await.writes)
    };
    let counts = |code: &str, replayed, writes| (code.to_owned(), replayed, writes);
    assert_eq!(send("key-0001", r#"{"ops":[]}"#).await, counts("SCHEMA_INVALID", false, 0));
    assert_eq!(send("key-0002", "{").await, counts("SCHEMA_INVALID", false, 0));
    assert_eq!(send("key-0003", &build_org_ops(7, true)).await, counts("", false, 1));
    assert_eq!(send("key-0004", &build_org_ops(4, false)).await, counts("", false, 5));
    assert_eq!(send("key-0004", &build_org_ops(4, false)).await, counts("", true, 9));
    assert_eq!(send("key-0005", &build_org_ops(2, false)).await, counts("QUOTA_EXCEEDED", false, 9));
    assert_eq!(send("key-0004", &build_org_ops(4, false)).await, counts("QUOTA_EXCEEDED", false, 9));
    assert_eq!(send("key-0005", &build_org_ops(1, false)).await, counts("", false, 10));
}

/// LIM-02, ERR-36: four change sets of more than 100 ops can run concurrently. A fifth is rejected without
/// counting, and can be retried.
#[tokio::test]
async fn at_most_four_large_sets_run_at_once() {
    let harness = GatewayHarness::new().await;
    let ops = |count: usize, key: &str| {
        let ops = vec![r#"{"op":"add","ref":{"bt":"b"}}"#; count].join(",");
        harness.post(super::harness::WRITE, &format!(r#"{{"ops":[{ops}]}}"#)).header("Idempotency-Key", key)
    };
    harness.script(Script::Hangs);
    let mut under_way = Vec::new();
    for index in 0..4 {
        let mut sent = Box::pin(harness.send(ops(101, &format!("key-large-{index}"))));
        tokio::select! {
            reply = &mut sent => panic!("the request is accepted: {}", reply.body),
            () = harness.backend.reached.notified() => under_way.push(sent),
        }
    }
    harness.script(Script::Fixture);
    let before = harness.traces().await;
    let reply = harness.send(ops(101, "key-0001")).await;
    assert_eq!((reply.status, reply.code(), reply.header("retry-after")), (503, "RELAY_BUSY", Some("10")));
    assert!(reply.has("dpop-nonce") && reply.has("ratelimit"));
    let after = harness.traces().await;
    let counted = |traces: RequestEffects| (traces.writes, traces.claims, traces.relayed);
    assert_eq!(counted(after), counted(before), "the rejected request has no effect");
    drop(under_way.pop());
    assert_eq!(harness.send(ops(101, "key-0001")).await.status, 200, "the same key can be used again");
    drop(under_way);
    let harness = GatewayHarness::with_config(|config| config.limits.large_sets = 0).await;
    assert_eq!(harness.send(harness.write("key-0001")).await.status, 200, "small change sets are accepted");
}

/// GW-07: a request that the backend rejects because of an exhausted budget does not count either.
#[tokio::test]
async fn exhausted_budget_does_not_count() {
    let harness = GatewayHarness::new().await;
    let problem = exchange_api::types::Problem::from_code(
        exchange_api::codes::Code::ExchangeBudgetExhausted,
        exchange_api::types::CorrelationId::new("c-1").unwrap(),
        "/x",
    );
    let mut response = super::stand_ins::fixture("blueprints_write");
    response.status = http::StatusCode::SERVICE_UNAVAILABLE;
    response.headers.insert("content-type", "application/problem+json".parse().unwrap());
    response.headers.insert("x-correlation-id", "c-1".parse().unwrap());
    response.headers.insert("retry-after", "9".parse().unwrap());
    response.body = exchange_api::Contract::to_json(&problem).unwrap().to_string().into();
    harness.script(Script::Answers(response));
    let reply = harness.send(harness.write("key-0001")).await;
    assert_eq!(reply.code(), "EXCHANGE_BUDGET_EXHAUSTED");
    let traces = harness.traces().await;
    assert_eq!((traces.writes, traces.claims), (0, 0));
    // GW-07: this also applies if the gateway rejects it.
    harness.script(Script::Fixture);
    harness.sql("UPDATE kept_bytes SET bytes = 67108864 WHERE client = ''").await;
    let reply = harness.send(harness.write("key-0002")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("EXCHANGE_BUDGET_EXHAUSTED", Some("3600")));
    assert_eq!(harness.traces().await.writes, 0);
}
/// LIM-18: the exhausted limit of another client for the same member does not affect this client.
#[tokio::test]
async fn buckets_of_other_clients_do_not_count() {
    let harness = GatewayHarness::new().await;
    let bucket = RateBucket::Member(ClientId::from("another"), MemberId::from(MEMBER));
    harness.exhaust(bucket, RatePolicy::per_minute(120)).await;
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
}
