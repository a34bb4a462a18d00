//! Sends the contract's fixtures through the gateway: each valid body is accepted, and each invalid one is
//! rejected with the errors that its fixture lists.

use exchange_api::codes::Code;
use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::operations::TABLE;
use exchange_service::gateway::stages::STAGES;
use serde_json::{Value, json};

use super::harness::{GatewayHarness, TestRequest};
use crate::fixtures::{self, ROUTES, errors};

async fn harness() -> GatewayHarness {
    GatewayHarness::with_config(|config| {
        (config.limits.per_address, config.limits.per_member) = (100_000, 100_000);
        (config.limits.writes_per_day, config.limits.account_checks_per_hour) = (100_000, 1000);
    })
    .await
}

fn build_request(harness: &GatewayHarness, path: &str, body: &str) -> TestRequest {
    // Each request has its own key; otherwise, it would receive the stored response of another one.
    let hash = path
        .bytes()
        .chain(body.bytes())
        .fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    harness.post(path, body).header("Idempotency-Key", &format!("fixture-{hash:016x}"))
}

/// CON-02, ERR-22, ERR-02: each request is validated with one schema, and its fixtures cause the expected
/// errors, which have a pointer and a keyword, and never a value.
#[tokio::test]
async fn fixtures_get_their_expected_responses() {
    let harness = harness().await;
    let (mut valid, mut invalid) = (0, 0);
    for (path, folder) in ROUTES {
        let bodies = fixtures::valid(folder);
        for body in &bodies {
            let reply = harness.send(build_request(&harness, path, &body.text)).await;
            assert_eq!(reply.status, 200, "{}: {}", body.path.display(), reply.body);
            valid += 1;
        }
        for (body, expect) in fixtures::invalid(folder) {
            let file = body.path.display();
            let reply = harness.send(build_request(&harness, path, &body.text)).await;
            assert_eq!((reply.status, reply.code()), (400, "SCHEMA_INVALID"), "{file}: {}", reply.body);
            assert_eq!(errors(&reply.body, &expect), expect, "{file}");
            invalid += 1;
        }
        // ERR-30: bodies must be sent as JSON.
        let body = &bodies[0].text;
        let plain =
            build_request(&harness, path, body).without("Content-Type").header("Content-Type", "text/plain");
        for request in [build_request(&harness, path, body).without("Content-Type"), plain] {
            let reply = harness.send(request).await;
            assert_eq!((reply.status, reply.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{path}");
        }
    }
    assert!(valid > 30 && invalid > 90, "{valid} {invalid}");
}

/// TYP-05, LIM-30, LIM-31, LIM-32, LIM-36: the maximum value is accepted, and the next one is rejected.
#[tokio::test]
async fn body_limits_are_exact() {
    let harness = harness().await;
    let stock = |quality: Value, quantity: Value| {
        json!({ "ops": [{
            "op": "set-quantity", "material": { "name": "Ore" }, "location": { "name": "City" }, "quality": quality,
            "stolen": false, "quantity": quantity, "expectedQuantity": { "amount": 0, "unit": "SCU" },
        }] })
    };
    let scu = || json!({ "amount": 1.5, "unit": "SCU" });
    let ship = |name: usize, months: i64| {
        json!({ "ops": [{
            "op": "upsert", "externalId": "e", "shipType": { "name": "Hauler" }, "name": "n".repeat(name),
            "insurance": { "kind": "MONTHS", "months": months },
        }] })
    };
    let draft = |items: usize| {
        let mut draft: Value = fixtures::valid("blueprint-draft")[0].text.parse().unwrap();
        draft["items"] = vec![json!({ "ref": { "name": "Rifle" } }); items].into();
        draft
    };
    let refinery = |orders: usize, goods: usize, images: usize| {
        let valid_goods = json!({ "inputQuantity": 1, "rawMaterialName": "Ore", "refine": true });
        let order = json!({
            "panelType": "SETUP", "goods": vec![valid_goods; goods], "sourceImages": vec![json!({ "name": "i" }); images],
        });
        json!({ "schemaVersion": 1, "orders": vec![order; orders] })
    };
    let path = |index: usize| ROUTES[index].0;
    for (path, body, pointer) in [
        (path(4), stock(json!(1000), scu()), None),
        (path(4), stock(json!(1001), scu()), Some("/ops/0/quality")),
        (path(4), stock(json!(-1), scu()), Some("/ops/0/quality")),
        (path(4), stock(json!(0), json!({ "amount": 2, "unit": "PIECE" })), None),
        (path(4), stock(json!(0), json!({ "amount": 2.5, "unit": "PIECE" })), Some("/ops/0/quantity/amount")),
        (path(5), ship(255, 120), None),
        (path(5), ship(256, 120), Some("/ops/0/name")),
        (path(5), ship(255, 121), Some("/ops/0/insurance/months")),
        (path(7), draft(2000), None),
        (path(7), draft(2001), Some("/items")),
        (path(8), refinery(5, 100, 50), None),
        (path(8), refinery(6, 1, 1), Some("/orders")),
        (path(8), refinery(1, 101, 1), Some("/orders/0/goods")),
        (path(8), refinery(1, 1, 51), Some("/orders/0/sourceImages")),
        (path(8), refinery(1, 0, 1), Some("/orders/0/goods")),
    ] {
        let reply = harness.send(build_request(&harness, path, &body.to_string())).await;
        let expect: Vec<_> = pointer.into_iter().collect();
        let status = if expect.is_empty() { 200 } else { 400 };
        assert_eq!((reply.status, reply.pointers()), (status, expect), "{path}: {}", reply.body);
    }
}

/// ERR-02, ERR-22: an integer that the schema allows, but that does not fit into 64 bits, is rejected with
/// its pointer. A draft version of that size is rejected like any version other than 1 (DRF-11, A6).
#[tokio::test]
async fn integers_beyond_64_bits_are_rejected() {
    let harness = harness().await;
    let large: Value = "9223372036854775808".parse().unwrap();
    let ship = |version: &Value| json!({ "op": "remove", "shipId": "s", "version": version });
    let link = json!({ "ops": [ship(&json!(1)), ship(&large)] });
    let item = json!({ "name": "Ore", "uexId": large });
    let resolve = json!({ "kind": "MATERIAL", "refs": [{ "name": "Ore" }, item] });
    let valid_goods =
        json!({ "inputQuantity": 1, "rawMaterialName": "Ore", "refine": true, "rowIndex": large });
    let order = json!({ "panelType": "SETUP", "goods": [valid_goods], "sourceImages": [{ "name": "i" }] });
    let refinery = json!({ "schemaVersion": 1, "orders": [order] });
    for (path, body, pointer) in [
        (ROUTES[5].0, link, "/ops/1/version"),
        (ROUTES[2].0, resolve, "/refs/1/uexId"),
        (ROUTES[8].0, refinery, "/orders/0/goods/0/rowIndex"),
    ] {
        let reply = harness.send(build_request(&harness, path, &body.to_string())).await;
        assert_eq!((reply.status, reply.code()), (400, "SCHEMA_INVALID"), "{path}: {}", reply.body);
        assert_eq!(
            reply.body["errors"],
            json!([{ "pointer": pointer, "keyword": "format", "message": "violates format" }]),
            "{path}"
        );
    }
    for version in [&large, &"1e300".parse().unwrap()] {
        let newer = json!({ "schemaVersion": version, "orders": [] });
        let reply = harness.send(build_request(&harness, ROUTES[8].0, &newer.to_string())).await;
        assert_eq!((reply.status, reply.code(), reply.body.get("errors")), (400, "SCHEMA_INVALID", None));
    }
}

/// TYP-12, LIM-28: ten keys of a hundred characters each are accepted. One more key, or one more character,
/// is rejected with its pointer, in change sets and references.
#[tokio::test]
async fn extension_limits_are_exact() {
    let harness = harness().await;
    let key = |index: usize, length: usize| format!("{}.{index:02}", "k".repeat(length - 3));
    for (keys, length, refused) in
        [(10, 100, None), (11, 100, Some(String::new())), (1, 101, Some(format!("/{}", key(0, 101))))]
    {
        let extensions: serde_json::Map<_, _> =
            (0..keys).map(|index| (key(index, length), json!({}))).collect();
        let body = json!({
            "ops": [{ "op": "add", "ref": { "bt": "b", "extensions": extensions } }], "extensions": extensions,
        });
        let reply = harness.send(build_request(&harness, ROUTES[3].0, &body.to_string())).await;
        let expect: Vec<String> = refused
            .iter()
            .flat_map(|index| {
                ["/extensions", "/ops/0/ref/extensions"].map(|extensions| format!("{extensions}{index}"))
            })
            .collect();
        let status = if expect.is_empty() { 200 } else { 400 };
        assert_eq!((reply.status, reply.pointers()), (status, expect.iter().map(String::as_str).collect()));
    }
}

/// ERR-41: no operation sends a retired code.
#[test]
fn no_operation_sends_retired_codes() {
    let stages = STAGES.iter().flat_map(|stage| stage.codes).cloned();
    let plain = PlainCode::ALL.iter().map(|&code| Code::from(code));
    let sent = stages.chain(plain).chain(TimedCode::ALL.iter().map(|&code| Code::from(code)));
    for code in sent {
        assert_eq!(code.retired(), Some(false), "{code}");
    }
    assert_eq!(Code::from("LEGACY_ENDPOINT_GONE").retired(), Some(true));
}

/// FED-12: the service never sends requests to clients: every response is a complete document, and no
/// operation accepts a callback URL.
#[test]
fn service_never_initiates_requests() {
    for operation in TABLE.all() {
        for content in operation.responses.iter().flat_map(|response| response.content) {
            assert!(content.media_type.ends_with("json"), "{}: {}", operation.id, content.media_type);
        }
    }
    let document = fixtures::read(&fixtures::schemas().join("openapi.json"));
    assert_eq!(document.get("webhooks"), None);
    assert!(!document.to_string().contains("\"callbacks\""));
}
