//! Tests of the gateway's log: it has one line per request, with its id and without its content.

use crate::support;

use super::harness::{ADD, DOCUMENT, GatewayHarness, TOKEN, WRITE};

/// GW-13, SVC-14: one line reports each outcome, and no line contains a token, proof, key, cursor, handle or
/// body.
#[tokio::test]
async fn gateway_logs_no_secrets() {
    let log = support::log();
    let harness = GatewayHarness::new().await;
    let (key, cursor, handle) =
        ("idempotency-key-of-this-test", "cursor-of-this-test", "Handle_Of_This_Test");
    let body = ADD.replace("b-1", "blueprint-of-this-test");
    let read = harness.get(&format!("/exchange/v1/me/blueprints?cursor={cursor}"));
    let write = harness.post(WRITE, &body).header("Idempotency-Key", key);
    let check = harness.post("/exchange/v1/me/account-check", &format!(r#"{{"handle":"{handle}"}}"#));
    let broken_body =
        harness.post(WRITE, &body.replace("add", "undo-of-this-test")).header("Idempotency-Key", "key-0002");
    let refused = harness.get(DOCUMENT).token("another-token-of-this-test");
    let mut proofs = Vec::new();
    for (index, request) in [read, write.clone(), check, broken_body, refused, write].into_iter().enumerate()
    {
        let proof = request.draft.proof();
        proofs.push(proof.rsplit_once('.').unwrap().1.to_owned());
        let request = request.proof(proof).header("X-Correlation-Id", &format!("id-of-this-test-{index}"));
        harness.send(request).await;
    }
    let written = log.text();
    let line = |index: usize| {
        let id = format!("id-of-this-test-{index}");
        let mut lines = written
            .lines()
            .filter(|line| line.contains(&id) && line.contains("micros=") && line.contains("source="));
        let line = lines.next().unwrap_or_else(|| panic!("no line of {id}"));
        assert_eq!(lines.next(), None, "each request has one line");
        line
    };
    for (index, parts) in [
        (0, ["operation=\"blueprints_read\"", "status=200", "code=\"none\""]),
        (1, ["operation=\"blueprints_write\"", "status=200", "code=\"none\""]),
        (2, ["operation=\"account_check\"", "status=200", "code=\"none\""]),
        (3, ["operation=\"blueprints_write\"", "status=400", "code=\"SCHEMA_INVALID\""]),
        (4, ["operation=\"service_document\"", "status=401", "reason=\"token-malformed\""]),
        (5, ["operation=\"blueprints_write\"", "status=401", "code=\"DPOP_INVALID\""]),
    ] {
        for part in parts {
            assert!(line(index).contains(part), "{part}: {}", line(index));
        }
    }
    let jkt = harness.key.public_key().thumbprint().to_string();
    let secrets = [TOKEN, "another-token-of-this-test", key, cursor, handle, "blueprint-of-this-test", &jkt];
    for secret in secrets.into_iter().chain(proofs.iter().map(String::as_str)) {
        assert!(!written.contains(secret), "a secret of {} characters", secret.len());
    }
    assert!(!written.contains("undo-of-this-test"));
}
