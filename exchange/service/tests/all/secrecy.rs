//! Tests of secrecy in the whole service: planted secrets and names appear in no log, metric or error, in no
//! response to another member, and in no response to a client that has no access to them.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::path::Path;
use std::time::Duration;

use exchange_api::scopes::Scope;
use exchange_service::Environment;
use exchange_service::admin::{self, AdminContext, AdminError, NewClient};
use exchange_service::sandbox::{Sandbox, SandboxOptions};
use exchange_service::store::{StoreError, edit_store};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};

use super::client::{Client, open_page, sign_in_on_pages};
use super::support;

const MEMBER: &str = "sandbox-member";

/// Every route that returns data of a member, with its operation.
const READS: [(&str, &str); 8] = [
    ("service_document", "/exchange/v1"),
    ("blueprints_read", "/exchange/v1/me/blueprints"),
    ("stock_read", "/exchange/v1/me/stock"),
    ("ships_read", "/exchange/v1/me/ships"),
    ("org_units_read", "/exchange/v1/me/org-units"),
    ("org_stock_read", "/exchange/v1/org-stock"),
    ("org_stock_members", "/exchange/v1/org-stock/members?unit=unit-squadron"),
    ("demand_read", "/exchange/v1/me/org-demand"),
];

/// Names and strings of the first member that other clients of this member do not see (`UNSEEN`) or see
/// (`SEEN`).
const UNSEEN: [&str; 6] = [
    "Planted Label 1",
    "planted-external-id-2",
    "planted-idempotency-key-3",
    "Planted_Typed_Handle_4",
    "Planted_Own_Handle_5",
    "planted note of a row 6",
];
const SEEN: [&str; 2] = ["Planted Ship 7", "planted note of a blueprint 8"];
/// A name that other members of the same units see.
const NAME: &str = "Planted Name 9";

fn scopes() -> Vec<String> {
    Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect()
}

/// Signs a client in with all scopes. Returns the client and the user code.
async fn signed_in(sandbox: &Sandbox, id: &'static str, account: &str) -> (Client, String) {
    let directory = sandbox.directory();
    let mut client = Client::new(&directory.gateway, &directory.issuer, sandbox.clock().clone()).with_id(id);
    let login = client.begin_for(&format!("offline_access {}", scopes().join(" "))).await;
    sandbox.approve(&login.user_code, account).await.unwrap();
    client.finish(&login).await;
    (client, login.user_code)
}

fn plant_secrets(folder: &Path) {
    let planted = |store: &rusqlite::Connection| {
        let admin = AdminContext::new("root", Environment::system().now()).unwrap();
        let scopes = scopes().into_iter().collect();
        let other =
            NewClient { id: "other-client".into(), name: "Other".to_owned(), scopes, min_version: None };
        admin::add_client(store, &admin, &other)?;
        let sql = "UPDATE member SET handle = 'Planted_Own_Handle_5', name = 'Planted Name 9' WHERE id = 'member-1';
                   UPDATE stock_row SET note = 'planted note of a row 6' WHERE id = 'stock-metal';
                   UPDATE ship SET name = 'Planted Ship 7' WHERE id = 'ship-2';
                   UPDATE blueprint SET note = 'planted note of a blueprint 8' WHERE product = 'bp-sandbox-helmet'";
        Ok::<_, AdminError>(store.execute_batch(sql).map_err(StoreError::from)?)
    };
    edit_store(folder, planted).unwrap();
}

/// Returns an op that empties a lot.
fn empty_lot_op(item: &Value) -> Value {
    json!({
        "op": "set-quantity", "material": item["material"], "location": item["location"],
        "quality": item["quality"], "stolen": item["stolen"], "expectedQuantity": item["quantity"],
        "quantity": { "amount": 0, "unit": item["quantity"]["unit"] },
    })
}

/// Returns all responses that a client receives for reads.
async fn read_all(client: &mut Client) -> String {
    let mut responses = String::new();
    for (operation, path) in READS {
        let response = client.call(operation, path, None, "").await;
        assert!([200, 403].contains(&response.status.as_u16()), "{operation}: {}", response.body);
        responses.push_str(&format!("{operation} {:?} {}\n", response.headers, response.body));
    }
    responses
}

/// Returns all pages and redirects that a member's browser receives for these paths.
async fn open_all(sandbox: &Sandbox, account: &str, paths: &[&str]) -> String {
    let base = sandbox.origin();
    let session = sign_in_on_pages(&base, account, &format!("{account}-pw-do-not-use-in-prod")).await;
    let mut pages = String::new();
    for path in paths {
        let mut page = open_page(&base, path, &session).await;
        if page.status() == 303 {
            // The link of a held batch leads to its page.
            pages.push_str(&format!("303 {:?}\n", page.headers()));
            let target = page.headers()["location"].to_str().unwrap().to_owned();
            page = open_page(&base, &target, &session).await;
        }
        let (status, headers) = (page.status().as_u16(), page.headers().clone());
        assert!([200, 404].contains(&status), "{path}: {status} {headers:?}");
        pages.push_str(&format!("{status} {headers:?} {}\n", page.text().await.unwrap()));
    }
    pages
}

/// Returns the complete audit log as an administrator reads it.
fn audit(folder: &Path) -> String {
    let mut list = support::command(&["admin", "audit", "list", "--limit", "1000", "--json"]);
    let listed = list.env("EXCHANGE_SERVE__DATA", folder).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap()
}

/// Returns the log lines of the service; the test's HTTP library also logs.
fn service_log_lines(log: &str) -> String {
    log.lines().filter(|line| line.contains(" exchange_service")).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_none(place: &str, text: &str, planted: &[&str]) {
    for (number, secret) in planted.iter().enumerate() {
        assert!(secret.len() > 8, "{place}: the secret {number} is too short");
        assert!(!text.contains(secret), "{place}: the secret {number} of {} characters", secret.len());
    }
}

/// SVC-14, SHP-03, GW-13, WRT-11, DRF-08, IDP-19: more than twelve planted secrets and names of all areas are
/// not revealed.
#[tokio::test]
async fn planted_secrets_do_not_leak() {
    let log = support::log();
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = SandboxOptions { data: Some(folder.path().to_owned()), ..SandboxOptions::default() };
    let sandbox = Sandbox::with_options(options).await.unwrap();
    plant_secrets(folder.path());
    // After this time, the cached registry is refreshed.
    sandbox.advance(Duration::from_secs(6));
    let (mut one, user_code) = signed_in(&sandbox, "sandbox-client", MEMBER).await;
    let tokens = |client: &Client| [client.token.clone(), client.refresh.clone()];
    let before = tokens(&one);

    let label = Some(json!({ "label": "Planted Label 1" }));
    let labelled = one.call("installation_label", "/exchange/v1/me/installation", label, "").await;
    assert_eq!(labelled.status, 200, "{}", labelled.body);
    let handle = Some(json!({ "handle": "Planted_Typed_Handle_4" }));
    one.call("account_check", "/exchange/v1/me/account-check", handle, "").await;
    let link = json!({ "op": "link", "externalId": "planted-external-id-2", "shipId": "ship-1" });
    let (fly, key) = ("/exchange/v1/me/ships/changes", "planted-idempotency-key-3");
    let linked = one.call("ships_write", fly, Some(json!({ "ops": [link] })), key).await;
    assert_eq!(linked.body["applied"], 1, "{}", linked.body);
    let draft = json!({
        "format": "svc.blueprints", "formatVersion": "1.0",
        "items": [{ "ref": { "name": "planted unmatched 10" } }],
    });
    let drafts = "/exchange/v1/me/drafts/blueprints";
    let draft = one.call("drafts_blueprints", drafts, Some(draft), "key-of-the-draft").await;
    let handoff = draft.body["handoffId"].as_str().unwrap_or_else(|| panic!("{}", draft.body)).to_owned();
    let lots = one.call("stock_read", "/exchange/v1/me/stock", None, "").await;
    let lots = lots.body["items"].as_array().unwrap().clone();
    let free = lots.iter().filter(|lot| lot["material"]["name"] != "Sandbox Metal");
    let ops = json!({ "ops": free.map(empty_lot_op).collect::<Vec<_>>() });
    let held =
        one.call("stock_write", "/exchange/v1/me/stock/changes", Some(ops), "key-of-the-held-one").await;
    assert_eq!(held.code(), "MASS_CHANGE_CONFIRMATION_REQUIRED", "{}", held.body);
    let confirmation = held.body["confirmationUrl"].as_str().unwrap();
    let confirmation = confirmation.rsplit(['/', '=']).next().unwrap().to_owned();
    assert_eq!(one.renew().await.0, 200);

    // These requests are rejected for different reasons; each contains planted strings.
    let mut errors = String::new();
    let planted_path = "/exchange/v1/me/stock?cursor=planted-cursor-11";
    let invalid_body = json!({ "ops": [{ "op": "planted-op-12", "externalId": "planted-external-id-2" }] });
    for (path, body, key) in [
        (planted_path, None, ""),
        ("/exchange/v1/me/planted-path-13", None, ""),
        (fly, Some(invalid_body), "planted-idempotency-key-14"),
        (fly, Some(json!({ "ops": [] })), key),
        (drafts, Some(json!({ "format": "planted-format-15" })), "planted-idempotency-key-16"),
    ] {
        one.once(path, body.as_ref(), key).await;
        let refused = one.once(path, body.as_ref(), key).await;
        assert!(refused.status.is_client_error(), "{path}: {}", refused.body);
        let mut body = refused.body;
        // This member contains the path of the request, as it was sent (RFC 9457, 3.1.5).
        body.as_object_mut().unwrap().remove("instance");
        errors.push_str(&format!("{:?} {body}\n", refused.headers));
    }

    let after = tokens(&one);
    let secrets = [&*before[0], &before[1], &after[0], &after[1], &user_code, &handoff, &confirmation];
    let requests = [
        "planted-cursor-11",
        "planted-op-12",
        "planted-path-13",
        "planted-idempotency-key-14",
        "planted-format-15",
        "planted-idempotency-key-16",
        "planted unmatched 10",
    ];
    let nobodys: Vec<&str> = [&UNSEEN[..], &secrets].concat();
    let planted: Vec<&str> = [&nobodys[..], &SEEN, &[NAME], &requests].concat();
    assert!(planted.len() >= 12);

    // The member's own client receives the data, which proves that it exists.
    let own = read_all(&mut one).await;
    for seen in SEEN.iter().chain(&UNSEEN[1..2]) {
        assert!(own.contains(seen), "{seen}: {own}");
    }
    let (mut elsewhere, _) = signed_in(&sandbox, "other-client", MEMBER).await;
    assert_none("another client", &read_all(&mut elsewhere).await, &nobodys);
    let (mut other, _) = signed_in(&sandbox, "sandbox-client", "sandbox-member-2").await;
    let hidden_from_others = [&nobodys[..], &SEEN].concat();
    assert_none("another member", &read_all(&mut other).await, &hidden_from_others);

    // A browser does not reveal it either: neither the pages of another member, nor the links of the first
    // member.
    let listed = ["/applications", "/profile", "/reservations", "/refinery-orders", "/import"];
    let own = open_all(&sandbox, MEMBER, &listed).await;
    for seen in ["Planted Label 1", "Planted_Own_Handle_5"] {
        assert!(own.contains(seen), "{seen}: {own}");
    }
    let [draft, confirm] = [format!("/draft/{handoff}"), format!("/confirm/{confirmation}")];
    let pages = [&listed[..], &[&*draft, &*confirm]].concat();
    let pages = open_all(&sandbox, "sandbox-member-2", &pages).await;
    assert!(pages.contains("Sandbox Member 2") && pages.matches("404 ").count() >= 2, "{pages}");
    assert_none("another member's pages", &pages, &hidden_from_others);
    let own = open_all(&sandbox, MEMBER, &[&*confirm]).await;
    assert!(own.contains("\n200 "), "the member can open the page: {own}");
    assert_none("the member's own page", &own, &[&*confirmation]);
    let audit = audit(folder.path());
    assert!(audit.contains("approve-login") && audit.contains("member:member-1"), "{audit}");
    assert_none("the audit", &audit, &planted);

    assert_none("refusals", &errors, &planted);
    let logged = service_log_lines(&log.text());
    assert!(logged.contains("operation=\"stock_write\""), "the log contains the requests");
    assert_none("the log", &logged, &planted);
    let metrics = metrics.render();
    assert!(metrics.contains("exchange_"), "the metrics contain the requests: {metrics}");
    assert_none("metrics", &metrics, &planted);
    sandbox.stop().await;
}
