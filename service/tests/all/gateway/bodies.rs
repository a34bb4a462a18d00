//! The contract's own fixtures through the gateway: each valid body is taken, each invalid one refused as its fixture
//! says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use exchange_api::codes::Code;
use exchange_api::operations::TABLE;
use exchange_api::refusals::{PlainCode, TimedCode};
use exchange_service::gateway::stages::STAGES;
use serde_json::{Value, json};

use super::world::{Asking, Reply, World};

fn fixtures(folder: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../schemas/fixtures").join(folder)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every route with a body, and the folder of its schema's fixtures.
const ROUTES: [(&str, &str); 9] = [
    ("/exchange/v1/me/installation", "installation--labelledInstallation"),
    ("/exchange/v1/me/account-check", "account-check-request"),
    ("/exchange/v1/catalog/resolve", "resolve-request"),
    ("/exchange/v1/me/blueprints/changes", "change-set--blueprintChangeSet"),
    ("/exchange/v1/me/stock/changes", "change-set--stockChangeSet"),
    ("/exchange/v1/me/ships/changes", "change-set--shipChangeSet"),
    ("/exchange/v1/org-stock/changes", "change-set--orgStockChangeSet"),
    ("/exchange/v1/me/drafts/blueprints", "blueprint-draft"),
    ("/exchange/v1/me/drafts/refinery-orders", "refinery-draft"),
];

async fn world() -> World {
    World::with(|config| {
        (config.limits.per_address, config.limits.per_member) = (100_000, 100_000);
        (config.limits.writes_per_day, config.limits.account_checks_per_hour) = (100_000, 1000);
    })
    .await
}

fn asking(world: &World, path: &str, body: &str) -> Asking {
    // A key of the request's own, so that none is answered for another.
    let hash = path
        .bytes()
        .chain(body.bytes())
        .fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    world.post(path, body).header("Idempotency-Key", &format!("fixture-{hash:016x}"))
}

/// Pointer and keyword of each error; where a message stands in the keyword's place (ERR-02, DRF-06), the keyword that
/// is expected there.
fn errors(reply: &Reply, expect: &BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    let errors = reply.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |error: &Value| {
        let pointer = error["pointer"].as_str().unwrap().to_owned();
        let keyword = match (error["keyword"].as_str(), error["message"].as_str()) {
            (Some(keyword), _) => keyword.to_owned(),
            (None, Some(_)) => {
                let told = expect.iter().find(|(expected, _)| *expected == pointer);
                told.map(|(_, keyword)| keyword.clone()).unwrap_or_default()
            }
            (None, None) => panic!("neither keyword nor message: {error}"),
        };
        (pointer, keyword)
    };
    errors.iter().map(one).collect()
}

/// CON-02, ERR-22, ERR-02: every request is described by one schema, and its fixtures come to what they say: with
/// pointer and keyword, and never a value.
#[tokio::test]
async fn fixtures_come_to_what_they_say() {
    let world = world().await;
    let with_a_body = TABLE.all().iter().filter(|operation| operation.body.is_some());
    let paths: BTreeSet<&str> = with_a_body.map(|operation| operation.path).collect();
    assert_eq!(paths, ROUTES.map(|(path, _)| path).into());
    let (mut valid, mut invalid) = (0, 0);
    for (path, folder) in ROUTES {
        for file in fs::read_dir(fixtures(folder).join("valid")).unwrap() {
            let file = file.unwrap().path();
            let reply = world.send(asking(&world, path, &json(&file).to_string())).await;
            assert_eq!(reply.status, 200, "{}: {}", file.display(), reply.body);
            valid += 1;
        }
        for file in fs::read_dir(fixtures(folder).join("invalid")).unwrap() {
            let file = file.unwrap().path();
            let Some(stem) = file.to_str().unwrap().strip_suffix(".expect.json").map(str::to_owned) else {
                continue;
            };
            let expect = json(&file);
            let text = |error: &Value, name: &str| error[name].as_str().unwrap().to_owned();
            let expect: BTreeSet<_> = expect
                .as_array()
                .unwrap()
                .iter()
                .map(|error| (text(error, "pointer"), text(error, "keyword")))
                .collect();
            let body = fs::read_to_string(format!("{stem}.json")).unwrap();
            let reply = world.send(asking(&world, path, &body)).await;
            assert_eq!((reply.status, reply.code()), (400, "SCHEMA_INVALID"), "{stem}: {}", reply.body);
            assert_eq!(errors(&reply, &expect), expect, "{stem}");
            invalid += 1;
        }
        // ERR-30: and it is sent as JSON.
        let body = fs::read_dir(fixtures(folder).join("valid")).unwrap().next().unwrap().unwrap().path();
        let body = json(&body).to_string();
        let plain = asking(&world, path, &body).without("Content-Type").header("Content-Type", "text/plain");
        for asking in [asking(&world, path, &body).without("Content-Type"), plain] {
            let reply = world.send(asking).await;
            assert_eq!((reply.status, reply.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{path}");
        }
    }
    assert!(valid > 30 && invalid > 90, "{valid} {invalid}");
}

/// TYP-05, LIM-30, LIM-31, LIM-32, LIM-36: the last value that is taken, and the first that is not.
#[tokio::test]
async fn bounds_of_bodies() {
    let world = world().await;
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
        let mut draft = json(&fixtures("blueprint-draft/valid").join(first("blueprint-draft/valid")));
        draft["items"] = vec![json!({ "ref": { "name": "Rifle" } }); items].into();
        draft
    };
    let refinery = |orders: usize, goods: usize, images: usize| {
        let good = json!({ "inputQuantity": 1, "rawMaterialName": "Ore", "refine": true });
        let order = json!({
            "panelType": "SETUP", "goods": vec![good; goods], "sourceImages": vec![json!({ "name": "i" }); images],
        });
        json!({ "schemaVersion": 1, "orders": vec![order; orders] })
    };
    let path = |at: usize| ROUTES[at].0;
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
        let reply = world.send(asking(&world, path, &body.to_string())).await;
        let expect: Vec<_> = pointer.into_iter().collect();
        let status = if expect.is_empty() { 200 } else { 400 };
        assert_eq!((reply.status, reply.pointers()), (status, expect), "{path}: {}", reply.body);
    }
}

fn first(folder: &str) -> String {
    let mut names: Vec<_> =
        fs::read_dir(fixtures(folder)).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    names[0].to_str().unwrap().to_owned()
}

/// ERR-41: what is retired is sent by nothing.
#[test]
fn retired_codes_are_sent_by_nothing() {
    let stages = STAGES.iter().flat_map(|stage| stage.codes).cloned();
    let plain = PlainCode::ALL.iter().map(|&code| Code::from(code));
    let sent = stages.chain(plain).chain(TimedCode::ALL.iter().map(|&code| Code::from(code)));
    for code in sent {
        assert_eq!(code.retired(), Some(false), "{code}");
    }
    assert_eq!(Code::from("LEGACY_ENDPOINT_GONE").retired(), Some(true));
}

/// FED-12: the service sends nothing by itself: every answer is a document that ends, and nobody leaves an address.
#[test]
fn changes_are_pulled() {
    for operation in TABLE.all() {
        for content in operation.responses.iter().flat_map(|response| response.content) {
            assert!(content.media_type.ends_with("json"), "{}: {}", operation.id, content.media_type);
        }
    }
    let document = json(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../schemas/openapi.json"));
    assert_eq!(document.get("webhooks"), None);
    assert!(!document.to_string().contains("\"callbacks\""));
}
