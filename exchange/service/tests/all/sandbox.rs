//! Tests of the whole exchange over real sockets, as a connected client uses it.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

mod bodies;
mod faults;
mod limits;

use std::time::Duration;

use exchange_service::backend::EarmarkPurpose;
use exchange_service::members::UnitRole;
use exchange_service::sandbox::{Sandbox, SandboxAction, SandboxOptions};
use exchange_service::time::Clock as _;
use serde_json::{Value, json};

use super::client::{Client, keys, open_page, sign_in_on_pages};
use super::support;

const MEMBER: &str = "sandbox-member";

/// Returns a signed-in client of the sandbox.
async fn signed_in(sandbox: &Sandbox) -> Client {
    let directory = sandbox.directory();
    let mut client = Client::new(&directory.gateway, &directory.issuer, sandbox.clock().clone());
    sign_in(sandbox, &mut client).await;
    client
}

async fn sign_in(sandbox: &Sandbox, client: &mut Client) {
    let login = client.begin().await;
    sandbox.approve(&login.user_code, MEMBER).await.unwrap();
    client.finish(&login).await;
}

/// Returns a signed-in client with scopes for these areas.
async fn signed_in_for(sandbox: &Sandbox, capabilities: &[&str]) -> Client {
    let directory = sandbox.directory();
    let mut client = Client::new(&directory.gateway, &directory.issuer, sandbox.clock().clone());
    let scopes: String = capabilities.iter().map(|one| format!(" exchange.{one}")).collect();
    let login = client.begin_for(&format!("exchange.connect offline_access{scopes}")).await;
    sandbox.approve(&login.user_code, MEMBER).await.unwrap();
    client.finish(&login).await;
    client
}

fn knife() -> Value {
    json!([{ "op": "add", "ref": { "scRecord": "bp_craft_sbxm_knife_01" } }])
}

/// IDP-15, IDP-16, DPP-13, SVC-01, SVC-11, CON-01, CON-14: a client signs in, receives a nonce, sets its
/// label, and reads the service document.
#[tokio::test]
async fn client_signs_in_and_reads_the_service_document() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let challenged = client.once("/exchange/v1", None, "").await;
    assert_eq!((challenged.status.as_u16(), challenged.code()), (401, "DPOP_INVALID"));
    let challenge = challenged.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("use_dpop_nonce"), "{challenge}");

    let document = client.call("service_document", "/exchange/v1", None, "").await;
    assert_eq!(document.status, 200);
    let may = ["exchange.blueprints.read", "exchange.blueprints.write", "exchange.connect"];
    assert_eq!(document.body["capabilities"], json!(may));
    let label = Some(json!({ "label": "Desk" }));
    let labelled = client.call("installation_label", "/exchange/v1/me/installation", label, "").await;
    assert_eq!(labelled.body["label"], "Desk");
    assert_eq!(labelled.body["installationId"], document.body["installationId"]);
}

/// BPR-05, BPR-06, FED-02, FED-04, GW-10, TYP-14, WRT-03: a write is applied once, and the feed contains it
/// and the member's changes through the web pages.
#[tokio::test]
async fn feed_contains_client_and_web_changes() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let snapshot = client.read(None).await;
    assert_eq!(
        snapshot.body["items"].as_array().unwrap().len(),
        10,
        "two own blueprints and eight default grants"
    );
    let cursor = snapshot.body["nextCursor"].as_str().unwrap().to_owned();

    let added = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!((added.status.as_u16(), &added.body["applied"]), (200, &json!(1)), "{}", added.body);
    let again = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.body, added.body);
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["items"]), ["bp-sandbox-knife"]);
    let cursor = page.body["nextCursor"].as_str().unwrap().to_owned();

    let removal = SandboxAction::Blueprints { add: vec![], remove: vec!["bp-sandbox-knife".to_owned()] };
    sandbox.act(MEMBER, removal).await.unwrap();
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["removed"]), ["bp-sandbox-knife"]);
    assert_eq!(page.body["removed"][0]["removedBy"]["channel"], "web");
    let refused = client.write(knife(), "key-of-the-second-write").await;
    assert_eq!(refused.body["results"][0]["reason"], "REMOVED_ELSEWHERE", "{}", refused.body);
}

/// CON-13, SHP-05, SHP-10, STK-04, STK-13, STK-17: a client reads and writes the seeded stock and ships
/// through the gateway: reserved stock, an offer that is lowered, a ship that leaves its mission, and changes
/// by others.
#[tokio::test]
async fn seeded_stock_and_ships_are_read_and_written() {
    let sandbox = Sandbox::start().await.unwrap();
    let areas = ["stock.read", "stock.write", "hangar.read", "hangar.write"];
    let mut client = signed_in_for(&sandbox, &areas).await;
    let (stock, ships) = ("/exchange/v1/me/stock", "/exchange/v1/me/ships");
    let lots = client.call("stock_read", stock, None, "").await;
    let held = |name: &str| {
        let matches_lot = |item: &&Value| item["material"]["name"] == name && item["stolen"] == false;
        lots.body["items"].as_array().unwrap().iter().find(matches_lot).unwrap().clone()
    };
    assert_eq!(lots.body["items"].as_array().unwrap().len(), 6);
    assert_eq!(held("Sandbox Metal")["quantity"]["amount"], 50, "personal stock and stock in a pool");
    let set = |item: &Value, amount: i64| {
        json!({
            "op": "set-quantity", "material": item["material"], "location": item["location"],
            "quality": item["quality"], "stolen": item["stolen"], "expectedQuantity": item["quantity"],
            "quantity": { "amount": amount, "unit": item["quantity"]["unit"] },
        })
    };
    let ops = json!({ "ops": [set(&held("Sandbox Metal"), 4), set(&held("Sandbox Trade Goods"), 5)] });
    let changes = "/exchange/v1/me/stock/changes";
    let changed = client.call("stock_write", changes, Some(ops), "key-of-the-stock").await;
    assert_eq!(
        changed.body["results"],
        json!([{ "index": 0, "result": "rejected", "reason": "STOCK_EARMARKED" }])
    );
    assert_eq!((&changed.body["applied"], &changed.body["offersReduced"]), (&json!(1), &json!(1)));

    let (rifle, cursor) = (held("Sandbox Rifle"), lots.body["nextCursor"].as_str().unwrap().to_owned());
    let lot = rifle["key"].as_str().unwrap().to_owned();
    sandbox
        .act(MEMBER, SandboxAction::GiveStock { lot: lot.clone(), to: "sandbox-member-2".to_owned() })
        .await
        .unwrap();
    let page = client.call("stock_read", &format!("{stock}?cursor={cursor}"), None, "").await;
    assert_eq!((page.body["items"].as_array().unwrap().len(), keys(&page.body["removed"])), (1, vec![&*lot]));

    let fleet = client.call("ships_read", ships, None, "").await;
    let hauler = &fleet.body["items"][0];
    assert_eq!((&hauler["name"], &hauler["orgUnit"]["shorthand"]), (&json!("Long Haul"), &json!("SBX")));
    let cursor = fleet.body["nextCursor"].as_str().unwrap().to_owned();
    let renaming = SandboxAction::RenameUnit {
        unit: "unit-squadron".to_owned(),
        name: "Renamed".to_owned(),
        shorthand: "REN".to_owned(),
    };
    sandbox.act("sandbox-admin", renaming).await.unwrap();
    let page = client.call("ships_read", &format!("{ships}?cursor={cursor}"), None, "").await;
    assert_eq!(page.body["items"][0]["orgUnit"]["name"], "Renamed");
    let ops =
        json!({ "ops": [{ "op": "remove", "shipId": hauler["shipId"], "version": hauler["version"] }] });
    let removed =
        client.call("ships_write", "/exchange/v1/me/ships/changes", Some(ops), "key-of-the-ships").await;
    assert_eq!((&removed.body["applied"], &removed.body["detachedFromMissions"]), (&json!(1), &json!(1)));
    let again = json!([{ "op": "remove", "shipId": "ship-2", "version": 7 }]);
    let refused = sandbox
        .act(MEMBER, SandboxAction::Ships { ops: again.as_array().unwrap().clone() })
        .await
        .unwrap_err();
    assert_eq!(refused.to_string(), "op 0 was not applied: VERSION_CONFLICT");
}

/// CON-13, CON-14, DEM-01, DEM-03, DEM-04, DEM-05: a client reads the demand of the seeded job orders through
/// the gateway: two units, materials and items, and craftable items. A changed order takes effect at the next
/// request.
#[tokio::test]
async fn seeded_demand_is_read() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in_for(&sandbox, &["demand.read"]).await;
    let demand = "/exchange/v1/me/org-demand";
    let read = client.call("demand_read", demand, None, "").await;
    let line = |line: &Value| {
        let (name, open) = (line["material"]["name"].as_str().unwrap(), &line["openQuantity"]);
        format!("{name} {} {} {}", line["minQuality"], open["amount"], line["source"].as_str().unwrap())
    };
    let lines = |body: &Value| body["materials"].as_array().unwrap().iter().map(line).collect::<Vec<_>>();
    let expected = [
        "Sandbox Component 0 24 item-order",
        "Sandbox Metal 650 35 material-order",
        "Sandbox Metal 650 6 item-order",
        "Sandbox Trade Goods 0 12 material-order",
        "Sandbox Trade Goods 0 2.5 item-order",
    ];
    assert_eq!(lines(&read.body), expected);
    assert_eq!(read.body["materials"][1]["rawRefs"], json!([{ "name": "Sandbox Ore (Raw)" }]));
    let item = |line: &Value| {
        let (name, amount) = (line["item"]["name"].as_str().unwrap(), &line["openQuantity"]["amount"]);
        format!("{name} {amount} {}", line["craftableByMe"])
    };
    let items: Vec<String> = read.body["items"].as_array().unwrap().iter().map(item).collect();
    assert_eq!(
        items,
        ["Sandbox Helmet 3 true", "Sandbox Rifle Desert 8 true"],
        "the rifle's variant is craftable"
    );
    for order in ["job-order-rifles", "job-order-helmets"] {
        let done = SandboxAction::JobOrder { order: order.to_owned(), state: "completed".to_owned() };
        sandbox.act(MEMBER, done).await.unwrap();
    }
    let read = client.call("demand_read", demand, None, "").await;
    assert_eq!((lines(&read.body).len(), &read.body["items"]), (2, &json!([])));
    let unknown = SandboxAction::JobOrder { order: "job-order-rifles".to_owned(), state: "lost".to_owned() };
    assert_eq!(sandbox.act(MEMBER, unknown).await.unwrap_err().to_string(), "unknown state of a job order");
}

/// CON-14, DRF-05, DRF-13, DRF-15, GW-07, GW-10, WEB-11: a draft counts as a write, can be repeated under its
/// key even after its link was used, and its secrets are not logged.
#[tokio::test]
async fn draft_is_staged_opened_and_replayed() {
    let log = support::log();
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in_for(&sandbox, &["drafts.blueprints", "drafts.refinery"]).await;
    let (path, body) = (
        "/exchange/v1/me/drafts/blueprints",
        json!({
            "format": "svc.blueprints", "formatVersion": "1.0",
            "items": [{ "ref": { "name": "a-name-of-this-test" } }, { "ref": { "bt": "bp-sandbox-knife" } }],
        }),
    );
    let stage = async |client: &mut Client| {
        client.call("drafts_blueprints", path, Some(body.clone()), "key-of-the-draft").await
    };
    let staged = stage(&mut client).await;
    assert_eq!((staged.status.as_u16(), &staged.body["kind"]), (200, &json!("BLUEPRINT")), "{}", staged.body);
    let url = staged.body["frontendUrl"].as_str().unwrap().to_owned();
    let link = url.strip_prefix(&sandbox.origin()).unwrap();
    let session = sign_in_on_pages(&sandbox.origin(), MEMBER, "sandbox-member-pw-do-not-use-in-prod").await;
    let opened = open_page(&sandbox.origin(), link, &session).await;
    assert_eq!(opened.status(), 303);
    let review = opened.headers()["location"].to_str().unwrap().to_owned();
    let page = open_page(&sandbox.origin(), &review, &session).await.text().await.unwrap();
    assert!(page.contains("Sandbox Knife") && page.contains("a-name-of-this-test"), "{page}");
    let again = stage(&mut client).await;
    assert_eq!((again.headers.contains_key("idempotency-replayed"), &again.body), (true, &staged.body));
    assert_eq!(
        open_page(&sandbox.origin(), link, &session).await.status(),
        404,
        "the link cannot be used again"
    );
    let fresh = client.call("drafts_blueprints", path, Some(body.clone()), "another-key-of-it").await;
    assert_ne!(fresh.body["handoffId"], staged.body["handoffId"]);
    let order = json!({ "schemaVersion": 2, "orders": [] });
    let orders = "/exchange/v1/me/drafts/refinery-orders";
    for _ in 0..2 {
        let refused = client.call("drafts_refinery", orders, Some(order.clone()), "key-of-the-order").await;
        assert_eq!(
            (refused.status.as_u16(), refused.code(), refused.body.get("errors")),
            (400, "SCHEMA_INVALID", None)
        );
    }
    let missing = client.call("drafts_refinery", orders, Some(order.clone()), "").await;
    assert_eq!(missing.code(), "IDEMPOTENCY_KEY_MISSING");
    let written = log.text();
    assert!(written.contains("operation=\"drafts_blueprints\""), "the draft itself is logged");
    for secret in
        [staged.body["handoffId"].as_str().unwrap(), "a-name-of-this-test", "key-of-the-draft", &*review]
    {
        assert!(!written.contains(secret), "a secret of {} characters", secret.len());
    }
}

/// CON-13, OST-05, OST-07, OST-09, OST-22, OST-35, WEB-07: a client reads and writes the seeded pools through
/// the gateway: entries with earmarks, a donation, and a sale with a mission's income. The feed contains all
/// changes by others.
#[tokio::test]
async fn seeded_pools_are_read_and_written() {
    let sandbox = Sandbox::start().await.unwrap();
    let scopes = ["orgstock.read", "orgstock.details", "orgstock.write"];
    let mut client = signed_in_for(&sandbox, &scopes).await;
    let (pools, changes) = ("/exchange/v1/org-stock", "/exchange/v1/org-stock/changes");
    let first = client.call("org_stock_read", pools, None, "").await.body;
    let mut units: Vec<&str> =
        first["units"].as_array().unwrap().iter().map(|unit| unit["shorthand"].as_str().unwrap()).collect();
    units.sort_unstable();
    assert_eq!((units, first["items"].as_array().unwrap().len()), (vec!["IRI", "SBX"], 4));
    let lot = |page: &Value, name: &str| {
        let lots = page["items"].as_array().unwrap();
        lots.iter()
            .find(|lot| lot["material"]["name"] == name)
            .cloned()
            .unwrap_or_else(|| panic!("{name}: {page}"))
    };
    assert_eq!(
        lot(&first, "Sandbox Trade Goods").get("entries"),
        None,
        "the member is a Logistician of the squadron only"
    );
    let metal = lot(&first, "Sandbox Metal");
    assert_eq!(
        (metal["quantity"]["amount"].clone(), metal["entries"].as_array().unwrap().len()),
        (json!(35), 2)
    );
    let own = metal["entries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["holder"]["name"] == "Sandbox Member")
        .unwrap();
    assert_eq!(
        (&own["jobOrders"][0]["number"], &own["missions"][0]["name"]),
        (&json!(1), &json!("Sandbox Convoy"))
    );

    let take = |op: &str, entry: &Value, amount: f64| {
        json!({ "op": op, "unit": "unit-squadron", "entry": entry["id"], "version": entry["version"],
                "quantity": { "amount": amount, "unit": "SCU" } })
    };
    let ore = lot(&first, "Sandbox Ore (Raw)")["entries"][0].clone();
    let mut sale = take("sell", own, 3.0);
    sale["terminal"] = json!("Sandbox Port");
    sale["proceeds"] = json!(100);
    sale["fromMissions"] =
        json!([{ "mission": "mission-convoy", "quantity": { "amount": 3, "unit": "SCU" } }]);
    let ops = json!({ "ops": [take("book-out", &ore, 7.001), take("book-out", &ore, 7.0), sale] });
    let changed = client.call("org_stock_write", changes, Some(ops), "key-of-the-pools").await.body;
    assert_eq!(
        changed["results"],
        json!([{ "index": 0, "result": "rejected", "reason": "STOCK_EARMARKED" }])
    );
    let earmarked = lot(&client.call("org_stock_read", pools, None, "").await.body, "Sandbox Metal");
    assert_eq!(earmarked["earmarked"]["missions"]["amount"], json!(0));

    let mut cursor = String::new();
    let other = "sandbox-member-2";
    let text = str::to_owned;
    let entry = ore["id"].as_str().unwrap().to_owned();
    let rebooked = take("book-out", &json!({ "id": entry, "version": 4 }), 0.5);
    for (act, expected) in [
        (None, "Sandbox Member 2 2 Sandbox Relief"),
        (Some((other, SandboxAction::RenameMember { name: text("Renamed") })), "Renamed 2 Sandbox Relief"),
        (
            Some((
                other,
                SandboxAction::RenameMission { mission: text("mission-relief"), name: text("Help") },
            )),
            "Renamed 2 Help",
        ),
        (
            Some((
                other,
                SandboxAction::EarmarkStock {
                    entry: entry.clone(),
                    purpose: EarmarkPurpose::Mission,
                    target: text("mission-relief"),
                    amount: 0,
                },
            )),
            "Renamed 2 -",
        ),
        (
            Some((
                other,
                SandboxAction::EarmarkStock {
                    entry: entry.clone(),
                    purpose: EarmarkPurpose::Donation,
                    target: text("donation-relief"),
                    amount: 0,
                },
            )),
            "Renamed 2 -",
        ),
        (Some((other, SandboxAction::WithholdName { is_withheld: true })), "- 2 -"),
        (Some((other, SandboxAction::OrgStock { ops: vec![rebooked] })), "- 1.5 -"),
        (
            Some((MEMBER, SandboxAction::Role { unit: text("unit-squadron"), role: Some(UnitRole::Member) })),
            "without entries",
        ),
        (
            Some((MEMBER, SandboxAction::Role { unit: text("unit-squadron"), role: Some(UnitRole::Leader) })),
            "- 1.5 -",
        ),
    ] {
        if let Some((account, act)) = act {
            sandbox.act(account, act).await.unwrap();
        }
        let uri = if cursor.is_empty() { pools.to_owned() } else { format!("{pools}?cursor={cursor}") };
        let page = client.call("org_stock_read", &uri, None, "").await.body;
        cursor = page["nextCursor"].as_str().unwrap().to_owned();
        let lot = lot(&page, "Sandbox Ore (Raw)");
        let entry_text = lot["entries"].get(0).map_or_else(
            || text("without entries"),
            |entry| {
                let (name, mission) = (&entry["holder"]["name"], &entry["missions"][0]["name"]);
                let (name, mission) = (name.as_str().unwrap_or("-"), mission.as_str().unwrap_or("-"));
                format!("{name} {} {mission}", entry["quantity"]["amount"])
            },
        );
        assert_eq!(entry_text, expected);
    }
    sandbox.act(MEMBER, SandboxAction::Role { unit: text("unit-squadron"), role: None }).await.unwrap();
    let page = client.call("org_stock_read", &format!("{pools}?cursor={cursor}"), None, "").await.body;
    assert_eq!((page["units"].as_array().unwrap().len(), &page["items"]), (1, &json!([])));
    let roster = format!("{pools}/members?unit=unit-squadron");
    assert_eq!(client.call("org_stock_members", &roster, None, "").await.code(), "NOT_PERMITTED");
}

/// IDP-25, LIM-07, ERR-05, ERR-12, ERR-47: a token expires, is refreshed, and is revoked when the member
/// disconnects the client.
#[tokio::test]
async fn connection_is_refreshed_until_disconnected() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    assert_eq!(client.read(None).await.status, 200);
    sandbox.advance(Duration::from_secs(301));
    assert_eq!(client.read(None).await.code(), "UNAUTHENTICATED");
    assert_eq!(client.renew().await.0, 200);
    assert_eq!(client.read(None).await.status, 200);
    sandbox.act(MEMBER, SandboxAction::Disconnect { client: "sandbox-client".to_owned() }).await.unwrap();
    let refused = client.read(None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (401, "CLIENT_REVOKED"));
    let (status, refused) = client.renew().await;
    assert_eq!((status.as_u16(), &refused["error"]), (400, &json!("invalid_grant")));
}

/// FED-08: after a reset, earlier tokens and cursors are invalid.
#[tokio::test]
async fn reset_invalidates_tokens_and_cursors() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let cursor = client.read(None).await.body["nextCursor"].as_str().unwrap().to_owned();
    assert_eq!(client.write(knife(), "key-of-the-first-write").await.status, 200);
    sandbox.reset().await.unwrap();
    assert_eq!(client.read(None).await.code(), "UNAUTHENTICATED");
    sign_in(&sandbox, &mut client).await;
    let expired = client.read(Some(&cursor)).await;
    assert_eq!((expired.status.as_u16(), expired.code()), (410, "CURSOR_EXPIRED"));
    assert_eq!(client.read(None).await.body["items"].as_array().unwrap().len(), 10);
}

/// The first line of `--json` is an interface for scripts and has stable field names.
#[tokio::test]
async fn json_directory_has_stable_field_names() {
    let sandbox = Sandbox::start().await.unwrap();
    let directory = serde_json::to_value(sandbox.directory()).unwrap();
    let origin = sandbox.origin();
    assert_eq!(directory["developerVariable"], json!({ "name": "EXCHANGE_SANDBOX", "value": origin }));
    assert_eq!(directory["issuer"], format!("{origin}/idp"));
    assert_eq!(directory["clients"], json!(["sandbox-client", "sandbox-suspended-client"]));
    let accounts = directory["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 19);
    assert_eq!(accounts[0]["password"], "sandbox-member-pw-do-not-use-in-prod");
}

/// A sandbox that restarts over its folder adds no data and hashes no passwords; its data is kept.
#[tokio::test]
async fn sandbox_in_a_folder_keeps_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        Sandbox::with_options(SandboxOptions {
            data: Some(folder.path().to_owned()),
            ..SandboxOptions::default()
        })
    };
    let hash = || {
        let database = rusqlite::Connection::open(folder.path().join("exchange.db")).unwrap();
        let sql = "SELECT password FROM account WHERE username = 'sandbox-member'";
        database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let sandbox = open().await.unwrap();
    let first = hash();
    let removal = SandboxAction::Blueprints { add: vec![], remove: vec!["bp-sandbox-rifle".to_owned()] };
    sandbox.act(MEMBER, removal).await.unwrap();
    sandbox.stop().await;
    let left = std::fs::read_dir(folder.path()).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["exchange.db"], "a copy of the single file is the complete store");
    let sandbox = open().await.unwrap();
    assert_eq!(hash(), first);
    let mut client = signed_in(&sandbox).await;
    assert_eq!(client.read(None).await.body["items"].as_array().unwrap().len(), 9);
    sandbox.reset().await.unwrap();
    assert_ne!(hash(), first, "anew");
}

/// An action without an effect succeeds. Unknown objects and contract violations are reported with their
/// position.
#[tokio::test]
async fn invalid_actions_report_their_position() {
    let sandbox = Sandbox::with_options(SandboxOptions::default()).await.unwrap();
    let text = str::to_owned;
    for _ in 0..2 {
        sandbox.act(MEMBER, SandboxAction::RenameMember { name: text("Same") }).await.unwrap();
        sandbox.act(MEMBER, SandboxAction::WithholdName { is_withheld: true }).await.unwrap();
        let mission = SandboxAction::RenameMission { mission: text("mission-relief"), name: text("Same") };
        sandbox.act(MEMBER, mission).await.unwrap();
    }
    let nowhere = SandboxAction::RenameMission { mission: text("mission-nowhere"), name: text("Same") };
    assert_eq!(
        sandbox.act(MEMBER, nowhere).await.unwrap_err().to_string(),
        "the object of the action does not exist"
    );
    // ORG-01, OST-07: the contract cannot represent these names.
    let unit = |name: &str, shorthand: &str| SandboxAction::RenameUnit {
        unit: text("unit-squadron"),
        name: text(name),
        shorthand: text(shorthand),
    };
    let long = "n".repeat(201);
    for (act, expected, limit) in [
        (unit(&long, "U"), "name", 200),
        (unit("Unit", &long[..51]), "shorthand", 50),
        (unit("", "U"), "name", 200),
        (SandboxAction::RenameMember { name: long.clone() }, "name", 200),
        (SandboxAction::RenameMission { mission: text("mission-relief"), name: long.clone() }, "name", 200),
    ] {
        let refused = sandbox.act(MEMBER, act).await.unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("{expected}: a name must have 1 to {limit} visible characters")),
            "{refused}"
        );
    }
    sandbox.act(MEMBER, unit(&long[..200], &long[..50])).await.unwrap();
    let broken = SandboxAction::Ships {
        ops: vec![serde_json::json!({ "op": "remove", "shipId": "s", "version": "1" })],
    };
    let refused = sandbox.act(MEMBER, broken).await.unwrap_err().to_string();
    assert!(refused.contains("/ops/0/version: must be an integer"), "{refused}");
}

/// FED-04, WRT-14: the member undoes a client's writes in the given areas, as a change through the web pages.
/// Entries that others have changed are reported as conflicts.
#[tokio::test]
async fn member_undoes_client_writes() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let from = sandbox.clock().now();
    let cursor = client.read(None).await.body["nextCursor"].as_str().unwrap().to_owned();
    assert_eq!(client.write(knife(), "key-of-the-first-write").await.body["applied"], 1);
    let (http, control) = (reqwest::Client::new(), sandbox.directory().control);
    let undo = async |areas: Value| {
        let act = json!({
            "account": MEMBER, "act": "undo", "client": "sandbox-client",
            "from": from.to_string(), "to": sandbox.clock().now().to_string(), "areas": areas,
        });
        let act = http
            .post(format!("{control}/act"))
            .header("content-type", "application/json")
            .body(act.to_string());
        let response = act.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let (status, response) = undo(json!(["wallet"])).await;
    assert!(
        status == 422 && response.contains("use one of blueprints, stock, ships, org-stock"),
        "{response}"
    );
    let done = |undone: usize, conflicts: usize, entries: Value| {
        let response = json!({
            "done": "undo", "client": "sandbox-client", "dryRun": false,
            "undone": undone, "conflicts": conflicts, "entries": entries,
        });
        (200, response)
    };
    let undo = async |areas: Value| {
        let (status, response) = undo(areas).await;
        (status, serde_json::from_str::<Value>(&response).unwrap())
    };
    let entry = |key: &str, name: &str, result: &str, reason: Value| {
        json!({
            "member": "member-1", "area": "blueprints", "key": key, "name": name, "result": result, "reason": reason,
        })
    };
    assert_eq!(undo(json!(["stock", "org-stock"])).await, done(0, 0, json!([])));
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["items"]), ["bp-sandbox-knife"], "of another area");
    let removed = entry("bp-sandbox-knife", "Sandbox Knife", "removed", Value::Null);
    assert_eq!(undo(json!([])).await, done(1, 0, json!([removed])));
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["removed"]), ["bp-sandbox-knife"]);
    assert_eq!(page.body["removed"][0]["removedBy"]["channel"], "web");
    let refused = client.write(knife(), "key-of-the-second-write").await;
    assert_eq!(refused.body["results"][0]["reason"], "REMOVED_ELSEWHERE", "{}", refused.body);

    let removal = json!([{ "op": "remove", "key": "bp-sandbox-rifle" }]);
    assert_eq!(client.write(removal, "key-of-the-third-write").await.body["applied"], 1);
    let restore = SandboxAction::Blueprints { add: vec!["bp-sandbox-rifle".to_owned()], remove: vec![] };
    sandbox.act(MEMBER, restore).await.unwrap();
    let why = json!({ "code": "changed-since", "text": "changed afterwards by web" });
    let stays = entry("bp-sandbox-rifle", "Sandbox Rifle", "conflict", why);
    assert_eq!(undo(json!(["blueprints"])).await, done(0, 1, json!([stays])));
}

/// An administrator's action is recorded in the audit log with the name of the account.
#[tokio::test]
async fn administrator_actions_are_audited() {
    let folder = tempfile::tempdir().unwrap();
    let options = SandboxOptions { data: Some(folder.path().to_owned()), ..SandboxOptions::default() };
    let sandbox = Sandbox::with_options(options).await.unwrap();
    let suspend = |client: &str| SandboxAction::Suspend { client: client.to_owned(), suspended: true };
    sandbox.act("sandbox-admin", suspend("sandbox-client")).await.unwrap();
    sandbox.act("sandbox-admin", SandboxAction::Switch { on: false }).await.unwrap();
    let refused = sandbox.act("sandbox-admin", suspend("nobodys")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the object of the action does not exist");
    sandbox.stop().await;
    let database = rusqlite::Connection::open(folder.path().join("exchange.db")).unwrap();
    let sql = "SELECT group_concat(actor || ' ' || action || ' ' || subject || ' ' || detail, '; ') FROM audit \
               WHERE actor LIKE 'administrator:%'";
    let audit: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    let actor = "administrator:sandbox-admin";
    assert_eq!(audit, format!("{actor} client.state sandbox-client suspended; {actor} switch exchange off"));
}

/// A sandbox rejects the store of a service, so that the sandbox's public passwords never give access to real
/// members.
#[tokio::test]
async fn sandbox_refuses_a_service_store() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        Sandbox::with_options(SandboxOptions {
            data: Some(folder.path().to_owned()),
            ..SandboxOptions::default()
        })
    };
    let database = || rusqlite::Connection::open(folder.path().join("exchange.db")).unwrap();
    open().await.unwrap().stop().await;
    // The store is the same, but without the sandbox's marker.
    database().execute("DELETE FROM setting WHERE name = 'sandbox'", []).unwrap();
    let refused = open().await.unwrap_err();
    assert!(refused.to_string().contains("not of a sandbox: pass another folder"), "{refused}");
    for table in ["account", "client_scope", "client"] {
        database().execute_batch(&format!("PRAGMA foreign_keys = OFF; DELETE FROM {table}")).unwrap();
    }
    assert!(open().await.is_err(), "a store with members is the store of a service");
}

/// The control interface reports errors and rejects requests for other host names.
#[tokio::test]
async fn control_interface_refuses_other_hosts() {
    let sandbox =
        Sandbox::with_options(SandboxOptions { seed: Some(7), ..SandboxOptions::default() }).await.unwrap();
    let (http, control) = (reqwest::Client::new(), sandbox.directory().control);
    let post = |path: &str, body: Value| {
        http.post(format!("{control}{path}"))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
    };
    let unknown = post("/approve", json!({ "userCode": "BBBB-BBBB", "account": "nobody" })).await.unwrap();
    assert_eq!(unknown.status(), 404);
    assert!(unknown.text().await.unwrap().contains("no account with this name"));
    let ill = post("/act", json!({ "account": MEMBER, "act": "dance" })).await.unwrap();
    assert!(ill.status().is_client_error());
    let before = sandbox.clock().now();
    assert_eq!(post("/clock", json!({ "advanceSeconds": 3600 })).await.unwrap().status(), 200);
    assert!(sandbox.clock().now().since(before) >= Duration::from_secs(3600));
    let elsewhere = http.get(&control).header("host", "evil.example").send().await.unwrap();
    assert_eq!(elsewhere.status(), 403);
    // A page can send these requests without a preflight request: with a form, or with a script that ignores
    // the response.
    for (name, value) in
        [("origin", "null"), ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")]
    {
        let sent = http.post(format!("{control}/reset")).header(name, value).send().await.unwrap();
        assert_eq!(sent.status(), 403, "{name}: {value}");
    }
    assert_eq!(http.post(format!("{control}/reset")).send().await.unwrap().status(), 204);
}
