//! Sends bodies through the whole exchange, from a client with all scopes: the contract's fixtures, and
//! bodies for the seeded data.

use std::time::Duration;

use exchange_api::reasons::Reason;
use exchange_api::scopes::Scope;
use exchange_service::sandbox::Sandbox;
use serde_json::{Value, json};

use super::signed_in_for;
use crate::client::{Client, ClientResponse};
use crate::fixtures::{ROUTES, errors, invalid, is_staged, valid};

const STOCK: &str = "/exchange/v1/me/stock";
const FLEET: &str = "/exchange/v1/me/ships";
const POOLS: &str = "/exchange/v1/org-stock";
const BLUEPRINTS: &str = "/exchange/v1/me/blueprints";

async fn signed_in_for_all(sandbox: &Sandbox) -> Client {
    let names = Scope::ALL.iter().map(|scope| scope.as_str().strip_prefix("exchange.").unwrap());
    let names: Vec<&str> = names.filter(|name| *name != "connect").collect();
    signed_in_for(sandbox, &names).await
}

/// Advances the clock beyond the window of every limit and refreshes the expired token.
async fn wait(sandbox: &Sandbox, client: &mut Client) {
    sandbox.advance(Duration::from_secs(360));
    assert_eq!(client.renew().await.0, 200);
}

/// Asserts that a valid body was accepted, or rejected with a reason that the specification allows.
#[track_caller]
fn assert_accepted(path: &str, sent: &Value, response: &ClientResponse) {
    let (status, body) = (response.status.as_u16(), &response.body);
    if path.contains("/drafts/") && !is_staged(sent) {
        assert_eq!((status, response.code(), body.get("errors")), (400, "SCHEMA_INVALID", None), "{body}");
        return;
    }
    assert_eq!(status, 200, "{path}: {body}");
    let Some(ops) = sent["ops"].as_array() else { return };
    let count = |name: &str| body[name].as_u64().unwrap();
    assert_eq!(count("applied") + count("unchanged") + count("notApplied"), ops.len() as u64, "{body}");
    let area = path.rsplit('/').nth(1).unwrap();
    for outcome in body["results"].as_array().unwrap() {
        let Some(reason) = outcome["reason"].as_str().map(Reason::from) else {
            assert_eq!(outcome["result"], "unchanged");
            continue;
        };
        let index = usize::try_from(outcome["index"].as_u64().unwrap()).unwrap();
        let op = format!("{area}.{}", ops[index]["op"].as_str().unwrap());
        assert!(reason.ops().unwrap().contains(&&*op), "{reason:?} is not a reason of {op}: {outcome}");
        let result = reason.result().unwrap();
        assert_eq!(outcome["result"], result.as_str(), "{reason:?}");
    }
}

/// CON-02, CON-04, ERR-02, ERR-22, WRT-01, WRT-09: every fixture of every route has its expected result,
/// through gateway and backend.
#[tokio::test]
async fn fixtures_pass_through_the_whole_exchange() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in_for_all(&sandbox).await;
    let mut sent = 0;
    for (path, folder) in ROUTES {
        let (valid, invalid) = (valid(folder), invalid(folder));
        for (body, expect) in valid
            .iter()
            .map(|body| (body, None))
            .chain(invalid.iter().map(|(body, expect)| (body, Some(expect))))
        {
            // LIM-05: the limit for account checks is low; this also prevents that the other limits are
            // reached.
            if sent % 50 == 0 || path.ends_with("account-check") {
                wait(&sandbox, &mut client).await;
            }
            sent += 1;
            let file = body.path.display();
            let response = client.send_text(path, &body.text, &format!("key-of-fixture-{sent}")).await;
            match expect {
                None => assert_accepted(path, &body.text.parse().unwrap(), &response),
                Some(expect) => {
                    let got = (response.status.as_u16(), response.code());
                    assert_eq!(got, (400, "SCHEMA_INVALID"), "{file}: {}", response.body);
                    assert_eq!(errors(&response.body, expect), *expect, "{file}");
                }
            }
        }
    }
    assert!(sent > 130, "{sent}");
}

/// CON-13: bodies for the seeded data are applied completely, and reads return the new state.
#[tokio::test]
async fn bodies_for_seeded_data_are_applied() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in_for_all(&sandbox).await;
    let roster = format!("{POOLS}/members?unit=unit-squadron");
    let roster = client.call("org_stock_members", &roster, None, "").await.body;
    let named = |one: &&Value| one["name"] == "Sandbox Member 2";
    let holder = roster["items"].as_array().unwrap().iter().find(named).unwrap()["ref"].clone();
    let component = json!({ "amount": 39, "unit": "PIECE" });
    let rifle = json!({
        "format": "svc.blueprints", "formatVersion": "1.0",
        "items": [{ "ref": { "name": "SBX Rifle" } }, { "ref": { "name": "Sandbox Knife" } }],
    });
    let order = json!({
        "panelType": "SETUP", "sourceImages": [{ "name": "1.png" }],
        "goods": [{ "inputQuantity": 320, "rawMaterialName": "SANDBOX ORE (RAW)", "refine": true }],
    });
    for (number, (path, body, pointer, expect)) in [
        ("/exchange/v1/me/installation", json!({ "label": "Desk" }), "/label", json!("Desk")),
        ("/exchange/v1/me/account-check", json!({ "handle": "sandbox_member" }), "/result", json!("match")),
        (
            "/exchange/v1/catalog/resolve",
            json!({ "kind": "MATERIAL", "refs": [{ "name": "Sandbox Ore" }, { "uexId": 992_002 }] }),
            "/results/1/ref/name",
            json!("Sandbox Metal"),
        ),
        (
            "/exchange/v1/me/blueprints/changes",
            json!({ "ops": [
                { "op": "add", "ref": { "name": "Sandbox Knife" } },
                { "op": "remove", "key": "bp-sandbox-helmet" },
            ] }),
            "/applied",
            json!(2),
        ),
        (
            "/exchange/v1/me/stock/changes",
            json!({ "ops": [{
                "op": "set-quantity", "material": { "name": "Sandbox Component" },
                "location": { "name": "Sandbox Station Storage" }, "quality": 0, "stolen": false,
                "expectedQuantity": { "amount": 40, "unit": "PIECE" }, "quantity": component,
            }] }),
            "/applied",
            json!(1),
        ),
        (
            "/exchange/v1/me/ships/changes",
            json!({ "ops": [{
                "op": "upsert", "externalId": "mine-1", "shipType": { "name": "Sandbox Hauler" },
                "insurance": { "kind": "LTI" }, "name": "Second Haul",
                "location": { "uex": { "kind": "CITY", "id": 990_001 } },
            }] }),
            "/applied",
            json!(1),
        ),
        (
            "/exchange/v1/org-stock/changes",
            json!({ "ops": [{
                "op": "book-in", "unit": "unit-squadron", "holder": holder,
                "material": { "name": "Sandbox Metal" }, "location": { "name": "Sandbox City Hangar" },
                "quality": 651, "stolen": false, "quantity": { "amount": 1.5, "unit": "SCU" },
            }] }),
            "/applied",
            json!(1),
        ),
        ("/exchange/v1/me/drafts/blueprints", rifle, "/kind", json!("BLUEPRINT")),
        (
            "/exchange/v1/me/drafts/refinery-orders",
            json!({ "schemaVersion": 1, "orders": [order] }),
            "/kind",
            json!("REFINERY"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(ROUTES[number].0, path, "each route is tested once");
        let key = format!("key-of-the-body-{number}");
        let response = client.send_text(path, &body.to_string(), &key).await;
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        assert_eq!(response.body.pointer(pointer), Some(&expect), "{path}: {}", response.body);
    }
    let mut read = async |operation: &str, path: &str| client.call(operation, path, None, "").await.body;
    let held = read("blueprints_read", BLUEPRINTS).await.to_string();
    assert!(held.contains("bp-sandbox-knife") && !held.contains("bp-sandbox-helmet"), "{held}");
    let lots = read("stock_read", STOCK).await;
    let named = |lot: &&Value| lot["material"]["name"] == "Sandbox Component";
    assert_eq!(lots["items"].as_array().unwrap().iter().find(named).unwrap()["quantity"], component);
    assert!(read("ships_read", FLEET).await.to_string().contains("Second Haul"));
    let pools = read("org_stock_read", POOLS).await;
    let booked = |lot: &&Value| lot["quality"] == 651;
    let booked = pools["items"].as_array().unwrap().iter().find(booked).unwrap().clone();
    assert_eq!(booked["quantity"], json!({ "amount": 1.5, "unit": "SCU" }));
    assert_eq!(booked["entries"][0]["holder"]["name"], "Sandbox Member 2");
}
