//! Tests of accepted requests: installations, ids, and the input of the backend.

use std::sync::atomic::Ordering;

use http_body_util::BodyExt as _;

use super::harness::{ADD, DOCUMENT, GatewayHarness, NOW, TOKEN, WRITE};
use super::stand_ins::{Script, fixture};
use crate::support::{CONTRACT_VALIDATOR, log};

/// GW-05, A32, DPP-21, WEB-04: the first request of a key creates an installation and a notice for the
/// member. The id of the installation is not the thumbprint of the key.
#[tokio::test]
async fn first_call_of_a_key_creates_an_installation() {
    let harness = GatewayHarness::new().await;
    for _ in 0..3 {
        harness.send(harness.get(DOCUMENT)).await;
    }
    assert_eq!(harness.traces().await.installations, 1);
    let notice_query = "SELECT count(*) FROM notice JOIN installation ON subject = installation.id \
                WHERE kind = 'new-installation' AND notice.member = 'member'";
    assert_eq!(harness.count(notice_query).await, 1);
    let received = harness.backend.received.lock().unwrap().clone();
    let jkt = harness.key.public_key().thumbprint().to_string();
    let own = received[0].1.installation.clone().expect("the installation exists after the first call");
    assert_ne!(own.as_str(), jkt);
    assert!(
        received.iter().all(|(_, caller)| caller.installation.as_ref() == Some(&own) && caller.jkt == jkt)
    );
}

/// LIM-27: `lastSeenAt` changes at most once in five minutes and never decreases.
#[tokio::test]
async fn last_seen_changes_every_five_minutes() {
    let harness = GatewayHarness::new().await;
    let seen = async || harness.count("SELECT last_seen / 1000 FROM installation").await - NOW.as_secs();
    for (advance, expect) in [(0, 0), (299, 0), (1, 300), (100, 300), (200, 600)] {
        harness.advance(advance);
        assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
        assert_eq!(seen().await, expect);
    }
    harness.clock.step_back(std::time::Duration::from_secs(3600));
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    assert_eq!(seen().await, 600);
}

/// SVC-03: if an installation cannot be stored, the request is processed without one.
#[tokio::test]
async fn failed_installation_write_does_not_block() {
    let harness = GatewayHarness::new().await;
    harness
        .sql("CREATE TRIGGER full BEFORE INSERT ON installation BEGIN SELECT raise(ABORT, 'no room'); END")
        .await;
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    assert_eq!(harness.backend.received.lock().unwrap()[0].1.installation, None);
}

/// GW-05: each new installation beyond five in a day causes a warning with the member and the number, and
/// increases a metric.
#[test]
fn many_new_installations_cause_a_warning() {
    let (log, member) = (log(), "member-with-many-keys");
    let warned = || {
        let text = log.text();
        let ours = text.lines().filter(|line| line.contains("unusually many new installations"));
        ours.filter(|line| line.contains(member)).map(str::to_owned).collect::<Vec<_>>()
    };
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let harness = GatewayHarness::new().await;
            harness.token(TOKEN, |claims| claims.member = member.into());
            for index in 0..7_usize {
                assert_eq!(warned().len(), index.saturating_sub(5), "{index}");
                let key = dpop_bound::KeyPair::generate().unwrap();
                let (token, jkt) = (format!("token-{index}"), key.public_key().thumbprint().to_string());
                harness.token(&token, |claims| (claims.jkt, claims.member) = (Some(jkt), member.into()));
                let request = harness.get(DOCUMENT).token(&token).draft(|draft| draft.signed_with(key));
                assert_eq!(harness.send(request).await.status, 200);
            }
            harness.send(harness.get("/exchange/v1/nothing")).await;
            harness.send(harness.write("key-0001").without("Idempotency-Key")).await;
        });
    });
    let page = handle.render();
    for line in [
        "exchange_new_installations_total 8",
        "exchange_unusual_installations_total 3",
        r#"exchange_requests_total{operation="service_document",status="200",code="none"} 7"#,
        r#"exchange_requests_total{operation="none",status="404",code="NOT_FOUND"} 1"#,
        r#"exchange_requests_total{operation="blueprints_write",status="400",code="IDEMPOTENCY_KEY_MISSING"} 1"#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    assert!(!page.contains("token-") && !page.contains(member) && !page.contains("key-0001"));
    let warnings = warned();
    for (line, new) in warnings.iter().zip(6..) {
        let is_told = line.contains(" WARN ") && line.contains(&format!("new_in_24_hours={new} usual=5"));
        assert!(is_told && !line.contains("token-"), "{line}");
    }
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

/// GW-13: the client's correlation id is in the response and is passed to the backend.
#[tokio::test]
async fn client_correlation_id_is_preserved() {
    let harness = GatewayHarness::new().await;
    let reply = harness.send(harness.get(DOCUMENT).header("X-Correlation-Id", "mine-1")).await;
    assert_eq!(reply.header("x-correlation-id"), Some("mine-1"));
    assert_eq!(harness.backend.received.lock().unwrap()[0].1.correlation_id, "mine-1");
    let problem = harness.send(harness.get("/exchange/v1?=1").header("X-Correlation-Id", "mine-2")).await;
    assert_eq!(problem.body["correlationId"], "mine-2");
}

/// CON-08: undeclared properties are accepted, and the backend receives their pointers for warnings.
#[tokio::test]
async fn undeclared_properties_pass() {
    let harness = GatewayHarness::new().await;
    let request =
        harness.post(WRITE, &ADD.replacen('{', r#"{"tint":1,"#, 1)).header("Idempotency-Key", "key-0001");
    assert_eq!(harness.send(request).await.status, 200);
    // CON-09: if a warning could not name the property, the parent is rejected, also in a read with a body.
    let long = format!(r#"{{"kind":"ITEM","refs":[{{"bt":"1","{}":1}}]}}"#, "x".repeat(200));
    let reply = harness.send(harness.post("/exchange/v1/catalog/resolve", &long)).await;
    assert_eq!((reply.code(), reply.pointers()), ("SCHEMA_INVALID", vec!["/refs/0"]));
}

/// RES-01, WRT-01, ERR-32: too many references violate the schema, and too many ops are rejected as a too
/// large batch.
#[tokio::test]
async fn too_many_references_or_ops_are_rejected() {
    let harness = GatewayHarness::new().await;
    let refs = format!(r#"{{"kind":"ITEM","refs":[{}]}}"#, vec![r#"{"bt":"1"}"#; 501].join(","));
    let reply = harness.send(harness.post("/exchange/v1/catalog/resolve", &refs)).await;
    assert_eq!((reply.status, reply.code(), reply.pointers()), (400, "SCHEMA_INVALID", vec!["/refs"]));
    for (path, op) in [
        (WRITE, r#"{"op":"add","ref":{"bt":"b"}}"#),
        ("/exchange/v1/me/ships/changes", r#"{"op":"link","externalId":"e","shipId":"s"}"#),
        ("/exchange/v1/org-stock/changes", r#"{"op":"note","unit":"u","entry":"e","version":1}"#),
    ] {
        let body = format!(r#"{{"ops":[{}]}}"#, vec![op; 501].join(","));
        let reply = harness.send(harness.post(path, &body).header("Idempotency-Key", "key-0001")).await;
        assert_eq!((reply.status, reply.code()), (413, "BATCH_TOO_LARGE"), "{path}");
        let body = format!(r#"{{"ops":[{}]}}"#, vec![op; 500].join(","));
        let reply = harness.send(harness.post(path, &body).header("Idempotency-Key", "key-0002")).await;
        assert!(reply.status == 200 || reply.code() == "IDEMPOTENCY_KEY_REUSED", "{path} {}", reply.body);
    }
}

/// ERR-38: a response of the backend that violates the contract is not returned.
#[tokio::test]
async fn invalid_backend_response_is_not_sent() {
    let harness = GatewayHarness::new().await;
    let mut broken_body = fixture("service_document");
    broken_body.body = br#"{"capabilities":"hush"}"#.to_vec().into();
    harness.script(Script::Answers(broken_body.clone()));
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.status, reply.code()), (500, "INTERNAL_ERROR"));
    assert!(!String::from_utf8_lossy(&reply.bytes).contains("hush"));
    assert!(reply.has("dpop-nonce") && reply.has("ratelimit"));
    // The responses of a relay that validates them are not validated again.
    harness.backend.checks.store(true, Ordering::SeqCst);
    let response = harness.gateway.handle_request(harness.get(DOCUMENT).into_request(None)).await;
    assert_eq!(response.status(), 200);
    let sent = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(sent, broken_body.body);
    let sent = serde_json::from_slice(&sent).unwrap();
    assert!(
        !CONTRACT_VALIDATOR.would_take("service_document", 200, &sent),
        "the response violates the contract"
    );
}

/// GW-02: an error response of the backend is returned unchanged.
#[tokio::test]
async fn backend_error_is_passed_on() {
    let harness = GatewayHarness::new().await;
    let id = exchange_api::types::CorrelationId::new("c-1").unwrap();
    let problem =
        exchange_api::types::Problem::from_code(exchange_api::codes::Code::ClientSuspended, id, DOCUMENT);
    let mut response = fixture("service_document");
    response.status = http::StatusCode::FORBIDDEN;
    response.headers.insert("content-type", "application/problem+json".parse().unwrap());
    response.headers.insert("x-correlation-id", "c-1".parse().unwrap());
    response.body = exchange_api::Contract::to_json(&problem).unwrap().to_string().into();
    harness.script(Script::Answers(response.clone()));
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.status, &reply.bytes), (403, &response.body));
    assert!(reply.has("dpop-nonce") && reply.has("ratelimit"));
}

/// ERR-16: a client version below the registry's minimum is rejected.
#[tokio::test]
async fn client_version_below_minimum_is_rejected() {
    let harness = GatewayHarness::new().await;
    harness.sql("UPDATE client SET min_version = '1.4.0'").await;
    for (user_agent, status) in [("Client/1.4.0 (+https://client.example)", 200), ("Client/1.3.9", 403)] {
        let reply = harness.send(harness.get(DOCUMENT).header("User-Agent", user_agent)).await;
        assert_eq!(reply.status, status, "{user_agent}");
    }
    let twice =
        harness.get(DOCUMENT).header("User-Agent", "Client/1.4.0").header("User-Agent", "Client/1.4.0");
    assert_eq!(harness.send(twice).await.code(), "CLIENT_VERSION_UNSUPPORTED");
}

/// ERR-16, ERR-40: if the minimum version of a client cannot be parsed, all its requests are rejected; other
/// clients are not affected.
#[tokio::test]
async fn unreadable_minimum_version_rejects_the_client() {
    let harness = GatewayHarness::new().await;
    harness.sql("UPDATE client SET min_version = 'newest' WHERE id = 'client'").await;
    harness
        .sql("INSERT INTO client (id, name, state, created_at) VALUES ('other', 'Other', 'active', 0)")
        .await;
    harness
        .sql("INSERT INTO client_scope SELECT 'other', scope FROM client_scope WHERE client = 'client'")
        .await;
    harness.token("others", |claims| claims.client = "other".into());
    let reply = harness.send(harness.get(DOCUMENT).header("User-Agent", "Client/99.0.0")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("REGISTRY_UNAVAILABLE", Some("30")));
    assert_eq!(harness.send(harness.get(DOCUMENT).token("others")).await.status, 200);
}
