//! Tests of idempotency keys at the gateway.

use contract_runtime::server::EncodedResponse;
use exchange_service::ids::ClientId;
use exchange_service::relay::RelayError;
use serde_json::{Value, json};

use super::harness::{ADD, GatewayHarness, MEMBER, ORG_WRITE, WRITE};
use super::stand_ins::{Script, fixture};

/// GW-10: a repetition returns the first response byte for byte, without calling the backend.
#[tokio::test]
async fn retry_is_replayed() {
    {
        let harness = GatewayHarness::new().await;
        let first = harness.send(harness.write("key-0001")).await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (200, None));
        harness.advance(86_399);
        let again = harness.send(harness.write("key-0001")).await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
        assert_eq!(first.bytes, again.bytes);
        assert_eq!(first.header("content-type"), again.header("content-type"));
        assert!(
            again.has("dpop-nonce") && again.has("ratelimit"),
            "the response has the headers of this request"
        );
        assert_ne!(first.header("x-correlation-id"), again.header("x-correlation-id"));
        assert_eq!(harness.traces().await.relayed, 1);
        harness.advance(1);
        assert!(!harness.send(harness.write("key-0001")).await.has("idempotency-replayed"));
    }
}

/// GW-10, ERR-24: a key that was used for another body or another route is rejected.
#[tokio::test]
async fn key_reused_for_another_request_is_rejected() {
    let harness = GatewayHarness::new().await;
    assert_eq!(harness.send(harness.write("key-0001")).await.status, 200);
    let other_body = harness.post(WRITE, &ADD.replace("b-1", "b-2")).header("Idempotency-Key", "key-0001");
    let spaced = harness.post(WRITE, &format!("{ADD} ")).header("Idempotency-Key", "key-0001");
    let op = r#"{"ops":[{"op":"link","externalId":"e","shipId":"s"}]}"#;
    let other_route = harness.post("/exchange/v1/me/ships/changes", op).header("Idempotency-Key", "key-0001");
    for request in [other_body, spaced, other_route] {
        let reply = harness.send(request).await;
        assert_eq!((reply.status, reply.code()), (422, "IDEMPOTENCY_KEY_REUSED"));
    }
    assert!(
        harness.send(harness.write("key-0001")).await.has("idempotency-replayed"),
        "the first response is kept"
    );
    let same = harness.post(ORG_WRITE, ADD).header("Idempotency-Key", "key-0001");
    assert_eq!(harness.send(same).await.code(), "IDEMPOTENCY_KEY_REUSED");
}

/// GW-10: a key belongs to a client and a member.
#[tokio::test]
async fn keys_are_per_client_and_member() {
    let harness = GatewayHarness::new().await;
    harness.token("anothers", |claims| claims.member = "other".into());
    assert_eq!(harness.send(harness.write("key-0001")).await.status, 200);
    let other = harness.post(WRITE, &ADD.replace("b-1", "b-2")).header("Idempotency-Key", "key-0001");
    let reply = harness.send(other.token("anothers")).await;
    assert_eq!((reply.status, reply.has("idempotency-replayed")), (200, false));
}

/// GW-09, LIM-24, ERR-23: a missing or malformed key is rejected.
#[tokio::test]
async fn malformed_keys_are_rejected() {
    let harness = GatewayHarness::new().await;
    let max_key = "k".repeat(128);
    for (key, status) in [
        ("12345678", 200),
        ("aZ09._~-", 200),
        (max_key.as_str(), 200),
        ("1234567", 400),
        (&format!("{max_key}k"), 400),
        ("key 0001", 400),
        ("key/0001", 400),
        ("\"key-0001\"", 400),
        ("schlüssel", 400),
        ("key-0001, key-0002", 400),
    ] {
        let reply = harness.send(harness.write(key)).await;
        assert_eq!(reply.status, status, "{key}");
        if status == 400 {
            assert_eq!((reply.code(), reply.pointers()), ("IDEMPOTENCY_KEY_MISSING", vec![]), "{key}");
        }
    }
    let label = harness.post("/exchange/v1/me/installation", r#"{"label":"Desk"}"#);
    assert_eq!(harness.send(label).await.status, 200, "setting a label needs no key");
}

/// GW-10, ERR-25: a key is in progress while the first request runs, and after its process ended, until its
/// lease expires.
#[tokio::test]
async fn key_of_a_running_request_is_in_progress() {
    let harness = GatewayHarness::new().await;
    harness.script(Script::Hangs);
    tokio::time::pause();
    let (first, second) = tokio::join!(harness.send(harness.write("key-0001")), async {
        harness.backend.reached.notified().await;
        harness.send(harness.write("key-0001")).await
    });
    assert_eq!((second.status, second.code()), (409, "IDEMPOTENCY_IN_PROGRESS"));
    assert_eq!((first.status, first.code()), (502, "BACKEND_RELAY_FAILED"));
    tokio::time::resume();
    // ERR-37: the backend may still be writing, so the claim is kept until its lease expires.
    harness.script(Script::Fixture);
    assert_eq!(harness.send(harness.write("key-0001")).await.code(), "IDEMPOTENCY_IN_PROGRESS");
    harness.advance(60);
    let taken_over = harness.send(harness.write("key-0001")).await;
    assert_eq!((taken_over.status, taken_over.has("idempotency-replayed")), (200, false));
    assert!(harness.send(harness.write("key-0001")).await.has("idempotency-replayed"));
    // When the slow attempt finishes, it no longer has the claim.
    let slow = harness.backend.received.lock().unwrap()[0].1.clone();
    let late = harness.store.write(move |connection| {
        exchange_service::idempotency::complete_claim(
            connection,
            &slow,
            &fixture("blueprints_write"),
            super::harness::NOW,
        )
    });
    let late: Result<_, exchange_service::store::StoreError> = late.await;
    assert_eq!(late.unwrap(), exchange_service::idempotency::Completion::Lost);
}

/// A2: a body that violates its schema is rejected again under the same key; another body is a different
/// request.
#[tokio::test]
async fn schema_rejection_is_stored() {
    let harness = GatewayHarness::new().await;
    let invalid = || harness.post(WRITE, r#"{"ops":[]}"#).header("Idempotency-Key", "key-0001");
    let first = harness.send(invalid()).await;
    assert_eq!((first.code(), first.pointers()), ("SCHEMA_INVALID", vec!["/ops"]));
    let again = harness.send(invalid()).await;
    assert_eq!((again.header("idempotency-replayed"), &again.bytes), (Some("true"), &first.bytes));
    assert_eq!(
        again.header("x-correlation-id"),
        first.header("x-correlation-id"),
        "the correlation id is the one in the body"
    );
    assert_eq!(harness.send(harness.write("key-0001")).await.code(), "IDEMPOTENCY_KEY_REUSED");
}

/// GW-11: after a response that is never stored, the key can be used for any request.
#[tokio::test]
async fn transient_responses_are_never_stored() {
    let harness = GatewayHarness::new().await;
    let too_many = format!(r#"{{"ops":[{}]}}"#, vec![r#"{"op":"add","ref":{"bt":"b"}}"#; 501].join(","));
    for (request, code) in [
        (harness.post(WRITE, "{"), "SCHEMA_INVALID"),
        (harness.post(WRITE, &too_many), "BATCH_TOO_LARGE"),
        (harness.post(WRITE, ADD).without("Content-Type"), "UNSUPPORTED_MEDIA_TYPE"),
    ] {
        let reply = harness.send(request.header("Idempotency-Key", "key-0001")).await;
        assert_eq!(reply.code(), code);
        assert_eq!(harness.traces().await.claims, 0, "{code}");
    }
    assert_eq!(harness.send(harness.write("key-0001")).await.status, 200);
}

fn problem(code: &str) -> Script {
    let code = exchange_api::codes::Code::from(code);
    let id = exchange_api::types::CorrelationId::new("c-1").unwrap();
    let mut problem = exchange_api::types::Problem::from_code(code, id, WRITE);
    if problem.code.as_str() == "MASS_CHANGE_CONFIRMATION_REQUIRED" {
        problem.confirmation_url = exchange_api::types::ConfirmationUrl::new("https://web.example/hush").ok();
    }
    let mut response = fixture("blueprints_write");
    response.status = http::StatusCode::from_u16(problem.status.unwrap().try_into().unwrap()).unwrap();
    response.headers.insert("content-type", "application/problem+json".parse().unwrap());
    response.headers.insert("x-correlation-id", "c-1".parse().unwrap());
    if response.status.as_u16() == 503 {
        response.headers.insert("retry-after", "60".parse().unwrap());
    }
    response.body = exchange_api::Contract::to_json(&problem).unwrap().to_string().into();
    Script::Answers(response)
}

/// A2, GW-11: an error response of the backend is stored only if a repetition would receive the same one.
#[tokio::test]
async fn permanent_backend_errors_are_stored() {
    for (code, is_stored) in [
        ("SCHEMA_INVALID", true),
        ("VERSION_CONFLICT", true),
        ("NOT_FOUND", true),
        ("CURSOR_EXPIRED", true),
        ("MASS_CHANGE_CONFIRMATION_REQUIRED", false),
        ("NOT_PERMITTED", false),
        ("CLIENT_REVOKED", false),
        ("PAYLOAD_TOO_LARGE", false),
        ("SERVICE_UNAVAILABLE", false),
        ("INTERNAL_ERROR", false),
    ] {
        let harness = GatewayHarness::new().await;
        harness.script(problem(code));
        let first = harness.send(harness.write("key-0001")).await;
        assert_eq!((first.code(), first.has("idempotency-replayed")), (code, false));
        harness.script(Script::Fixture);
        let again = harness.send(harness.write("key-0001")).await;
        assert_eq!(
            (again.code() == code, again.has("idempotency-replayed")),
            (is_stored, is_stored),
            "{code}"
        );
    }
}

/// LIM-22: an oversized response is not stored.
#[tokio::test]
async fn oversized_responses_are_not_stored() {
    let harness = GatewayHarness::new().await;
    let mut response = fixture("blueprints_write");
    let mut body: Value = serde_json::from_slice(&response.body).unwrap();
    body["padding"] = "x".repeat(33 << 10).into();
    response.body = body.to_string().into();
    harness.script(Script::Completes(response));
    for _ in 0..2 {
        let reply = harness.send(harness.write("key-0001")).await;
        assert_eq!((reply.status, reply.has("idempotency-replayed")), (200, false));
    }
    assert_eq!(harness.traces().await.relayed, 2);
}

/// ERR-25, ERR-37, GW-10: a backend that received the request but did not respond may have written, so the
/// claim is kept. If the request was not sent, the claim is released, and a repetition runs as the first
/// request.
#[tokio::test]
async fn claim_is_kept_if_the_backend_may_have_written() {
    for (failure, may_have_written) in
        [(RelayError::NotSent, false), (RelayError::Failed, true), (RelayError::TimedOut, true)]
    {
        let harness = GatewayHarness::new().await;
        harness.script(Script::Fails(failure));
        let reply = harness.send(harness.write("key-0001")).await;
        assert_eq!(
            (reply.status, reply.code(), reply.header("retry-after")),
            (502, "BACKEND_RELAY_FAILED", None),
            "{failure:?}"
        );
        assert_eq!(harness.traces().await.writes, 1);
        harness.script(Script::Fixture);
        let again = harness.send(harness.write("key-0001")).await;
        if may_have_written {
            assert_eq!(
                (again.status, again.code(), again.header("retry-after")),
                (409, "IDEMPOTENCY_IN_PROGRESS", Some("5")),
                "{failure:?}"
            );
        } else {
            assert_eq!((again.status, again.has("idempotency-replayed")), (200, false), "{failure:?}");
            let third = harness.send(harness.write("key-0001")).await;
            assert_eq!((third.status, third.has("idempotency-replayed")), (200, true), "{failure:?}");
        }
    }
}

/// SVC-03: if the backend does not respond, the service document lacks the id of the installation. A refusal
/// of the backend is returned instead of the document (SVC-06). Other reads fail.
#[tokio::test]
async fn service_document_needs_no_backend() {
    let harness = GatewayHarness::new().await;
    let refusal = |code: &str| {
        let body = json!({"code": code, "status": 403, "correlationId": "c-1"}).to_string();
        let mut response = fixture("service_document");
        response.status = http::StatusCode::FORBIDDEN;
        response.headers.insert("content-type", "application/problem+json".parse().unwrap());
        response.headers.insert("x-correlation-id", "c-1".parse().unwrap());
        EncodedResponse { body: body.into(), ..response }
    };
    harness.script(Script::Answers(refusal("CLIENT_SUSPENDED")));
    assert_eq!(harness.send(harness.get("/exchange/v1")).await.code(), "CLIENT_SUSPENDED");
    for failure in [RelayError::NotSent, RelayError::Failed, RelayError::TimedOut] {
        harness.script(Script::Fails(failure));
        let reply = harness.send(harness.get("/exchange/v1")).await;
        assert_eq!((reply.status, reply.has("dpop-nonce")), (200, true), "{failure:?}");
        let document = &reply.body;
        let expected = json!({
            "apiVersion": "1.0",
            "capabilities": document["capabilities"],
            "limits": {"batchMaxOps": 500},
            "deprecations": [],
            "docsUrl": document["docsUrl"],
            "minClientVersion": null,
        });
        assert_eq!(*document, expected, "{failure:?}");
        assert!(!document["capabilities"].as_array().unwrap().is_empty());
    }
    let read = harness.send(harness.get("/exchange/v1/me/blueprints")).await;
    assert_eq!(read.code(), "BACKEND_RELAY_FAILED");
}

/// The key is stored only as a hash, and another caller cannot complete a claim.
#[tokio::test]
async fn claim_is_passed_to_the_backend() {
    let harness = GatewayHarness::new().await;
    harness.send(harness.write("key-0001")).await;
    harness.send(harness.get("/exchange/v1/me/blueprints")).await;
    let received = harness.backend.received.lock().unwrap().clone();
    let claim = received[0].1.claim.clone().unwrap();
    assert_eq!(claim.key_hash.len(), 64);
    assert_eq!((received[0].1.member.as_str(), &received[0].1.client), (MEMBER, &ClientId::from("client")));
    assert_eq!(received[1].1.claim, None);
    assert_eq!(harness.count("SELECT count(*) FROM idempotency WHERE key_hash LIKE '%key-%'").await, 0);
}
