//! Every op of every change set, and what becomes of it.

use exchange_service::sandbox::Act;
use expect_test::expect;
use serde_json::Value;

use crate::kit::{Desk, MEMBER};

async fn synced() -> Desk {
    let desk = Desk::connected().await;
    assert_eq!(desk.run(&["sync"]).await.code, 0);
    desk
}

/// The one entry of a list whose JSON holds this.
async fn found(desk: &Desk, list: &[&str], part: &str) -> Value {
    let all = desk.json(list).await.json();
    let mut items = all["items"].as_array().unwrap().iter().filter(|item| item.to_string().contains(part));
    items.next().unwrap_or_else(|| panic!("no {part} in {all}")).clone()
}

/// WRT-08: what was written is read back at once. STK-18: what it did to offers is told.
#[tokio::test]
async fn the_members_own_things_are_changed() {
    let desk = synced().await;
    expect![[r#"
        exit 0
        out| OP       RESULT   WHY
        out| 1   add  applied
        err| a dry run: nothing was changed
    "#]]
    .assert_eq(&desk.run(&["blueprints", "add", "--dry-run", "Sandbox Knife"]).await.shown());
    expect![[r#"
        exit 8
        out| OP       RESULT     WHY
        out| 1   add  applied
        out| 2   add  unmatched  UNMATCHED: the exchange knows nothing of this name
        err| note: 1 of the entries match nothing at the exchange
    "#]]
    .assert_eq(&desk.run(&["blueprints", "add", "Sandbox Knife", "Nothing at all"]).await.shown());
    found(&desk, &["blueprints", "list"], "Sandbox Knife").await;
    expect![[r#"
        exit 0
        out| {"applied":1,"dryRun":false,"ops":[{"next":null,"op":"remove","opId":"1","reason":null,"result":"applied"}],"sets":[{"detachedFromMissions":0,"offersReduced":0,"offersRemoved":0}],"unchanged":0}
    "#]].assert_eq(&desk.json(&["blueprints", "remove", "Sandbox Knife"]).await.shown());
    let set = ["stock", "set", "Sandbox Trade Goods", "--at", "Sandbox City Hangar"];
    let place = found(&desk, &["stock", "list"], "Sandbox Trade Goods").await["location"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let set = [&set[..4], &[place.as_str(), "--from", "8scu", "--to", "2scu"]].concat();
    let ran = desk.run(&set).await;
    assert!(ran.code == 0 && ran.err.contains("offers"), "{}", ran.shown());
    // Somebody looked at it earlier than that: a conflict.
    let again = desk.json(&set).await;
    assert_eq!(
        (again.code, again.json()["ops"][0]["reason"].as_str()),
        (7, Some("VERSION_CONFLICT")),
        "{}",
        again.shown()
    );
    let metal = found(&desk, &["stock", "list"], "Sandbox Component").await;
    let from = metal["location"]["name"].as_str().unwrap();
    let moved = desk
        .run(&[
            "stock",
            "move",
            "Sandbox Component",
            "--from",
            from,
            "--from-lot",
            "40pc..30pc",
            "--to",
            &place,
            "--to-lot",
            "0pc..10pc",
        ])
        .await;
    let unit = moved.code;
    // The component is counted in pieces or in SCU: whichever it is, both ops say the same.
    assert!(unit == 0 || moved.out.matches("UNIT_MISMATCH").count() == 2, "{}", moved.shown());
    // A link, a new ship, new values, a removal.
    let ship = found(&desk, &["ships", "list"], "Long Haul").await;
    let id = ship["shipId"].as_str().unwrap();
    assert_eq!(desk.run(&["ships", "link", id, "--external-id", "own-1"]).await.code, 0);
    let version = ship["version"].as_i64().unwrap().to_string();
    let values = [
        "ships",
        "upsert",
        "--external-id",
        "own-1",
        "--ship",
        id,
        "--type",
        "Sandbox Hauler",
        "--insurance",
        "lifetime",
        "--name",
        "Longer Haul",
    ];
    let ran = desk.run(&[&values[..], &["--version", &version]].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let ship = found(&desk, &["ships", "list"], "Longer Haul").await;
    let version = ship["version"].as_i64().unwrap().to_string();
    let ran = desk.json(&["ships", "remove", id, "--version", &version]).await;
    assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{}", ran.shown());
    assert_eq!(desk.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// WRT-14: what was removed elsewhere comes back only when the member says so.
#[tokio::test]
async fn what_was_removed_elsewhere_needs_the_members_word() {
    let desk = synced().await;
    let act = Act::Blueprints { add: Vec::new(), remove: vec!["bp-sandbox-rifle".into()] };
    desk.sandbox.act(MEMBER, act).await.unwrap();
    let ran = desk.run(&["blueprints", "add", "bt:bp-sandbox-rifle"]).await;
    expect![[r#"
        exit 7
        out| OP       RESULT    WHY
        out| 1   add  rejected  REMOVED_ELSEWHERE: this was removed elsewhere: bring it back all the same?
    "#]]
    .assert_eq(&ran.shown());
    let ran = desk.json(&["blueprints", "add", "bt:bp-sandbox-rifle", "--override"]).await;
    assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{}", ran.shown());
}

/// ERR-27, WRT-11, CLI-04: a change that removes too much waits for the member; the link stands nowhere.
#[tokio::test]
async fn a_mass_change_waits_for_the_member() {
    let desk = synced().await;
    let act = Act::Blueprints { add: vec!["bp-sandbox-knife".into()], remove: Vec::new() };
    desk.sandbox.act(MEMBER, act).await.unwrap();
    let lots = desk.json(&["stock", "list"]).await.json();
    let ops = lots["items"].as_array().unwrap().iter().map(|lot| {
        let (unit, zero) = (&lot["quantity"]["unit"], 0);
        serde_json::json!({
            "op": "set-quantity", "material": lot["material"], "location": {"name": lot["location"]["name"]},
            "quality": lot["quality"], "stolen": lot["stolen"], "quantity": {"amount": zero, "unit": unit},
            "expectedQuantity": lot["quantity"],
        })
    });
    let file = desk.home.path().join("ops.json");
    std::fs::write(&file, serde_json::to_string(&ops.collect::<Vec<_>>()).unwrap()).unwrap();
    let ran = desk.run(&["stock", "change", file.to_str().unwrap()]).await;
    expect![[r#"
        exit 7
        err| note: it removes so much that you have to confirm it; nothing was changed yet
        err|   -> exchange outbox confirm 1
    "#]]
    .assert_eq(&ran.shown());
    expect![[r#"
        exit 0
        out| NUMBER  AREA   OPS  STATE  CODE                               NEXT
        out|      1  stock    6  held   MASS_CHANGE_CONFIRMATION_REQUIRED  you have to confirm it: `confirm`
    "#]]
    .assert_eq(&desk.run(&["outbox", "list"]).await.shown());
    let number = desk.json(&["outbox", "list"]).await.json()["items"][0]["number"].to_string();
    let hidden = desk.json(&["outbox", "confirm", &number]).await;
    assert!(hidden.code == 7 && !hidden.err.contains("http") && hidden.out.is_empty(), "{}", hidden.shown());
    let link = desk.json(&["outbox", "confirm", &number, "--print-link"]).await.json();
    assert!(link["link"].as_str().unwrap().starts_with(&desk.sandbox.origin()));
    assert_eq!(desk.run(&["outbox", "drop", &number]).await.code, 0);
    assert_eq!(desk.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// Every op of pools, for real.
#[tokio::test]
async fn pools_are_changed() {
    let desk = synced().await;
    let roster = desk.json(&["org-stock", "members", "unit-squadron"]).await.json();
    let holders: Vec<&str> =
        roster["items"].as_array().unwrap().iter().map(|item| item["ref"].as_str().unwrap()).collect();
    let place = found(&desk, &["stock", "list"], "Sandbox Metal").await["location"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let book = [
        "org-stock",
        "book-in",
        "Sandbox Metal",
        "--unit",
        "unit-squadron",
        "--holder",
        holders[0],
        "--at",
        &place,
        "--quantity",
        "5scu",
        "--quality",
        "321",
        "--note",
        "booked by hand",
    ];
    let ran = desk.run(&book).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let entry = async || {
        let lot = found(&desk, &["org-stock", "list"], "\"quality\":321").await;
        let entry = lot["entries"][0].clone();
        (entry["id"].as_str().unwrap().to_owned(), entry["version"].as_i64().unwrap().to_string())
    };
    let other = holders.get(1).copied().unwrap_or(holders[0]);
    for op in [
        &["note", "--note", "another"][..],
        &["book-out", "--quantity", "1scu"],
        &["sell", "--quantity", "0.5scu", "--terminal", "Sandbox Terminal", "--proceeds", "1200"],
        &["stolen"],
        &["stolen", "--not"],
        &["move-holder", "--quantity", "1scu", "--to-unit", "unit-squadron", "--holder", other],
        &["book-out", "--quantity", "0.25scu"],
    ] {
        let (id, version) = entry().await;
        let args = [
            &["org-stock", op[0], id.as_str(), "--unit", "unit-squadron", "--version", version.as_str()],
            &op[1..],
        ]
        .concat();
        let ran = desk.json(&args).await;
        assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{op:?}: {}", ran.shown());
    }
    // A version that is not the last one.
    let (id, _) = entry().await;
    let stale = desk.json(&["org-stock", "note", &id, "--unit", "unit-squadron", "--version", "0"]).await;
    assert_eq!(
        (stale.code, stale.json()["ops"][0]["reason"].as_str()),
        (7, Some("VERSION_CONFLICT")),
        "{}",
        stale.shown()
    );
    // A pool that is none of the member's.
    let (id, version) = entry().await;
    let refused = desk
        .json(&[
            "org-stock",
            "move-pool",
            &id,
            "--unit",
            "unit-squadron",
            "--version",
            &version,
            "--to-unit",
            "unit-iridium",
        ])
        .await;
    assert_eq!(refused.json()["ops"][0]["reason"], "NOT_PERMITTED", "{}", refused.shown());
    // A place that there is not.
    let gone = desk
        .json(&[
            "org-stock",
            "move-location",
            &id,
            "--unit",
            "unit-squadron",
            "--version",
            &version,
            "--quantity",
            "1scu",
            "--to",
            "Nowhere",
        ])
        .await;
    assert_eq!(
        (gone.code, gone.json()["ops"][0]["reason"].as_str()),
        (1, Some("LOCATION_UNKNOWN")),
        "{}",
        gone.shown()
    );
}

/// An op that breaks the contract is named by its place, and nothing is kept or sent.
#[tokio::test]
async fn what_breaks_the_contract_is_not_kept() {
    let desk = synced().await;
    let file = desk.home.path().join("ops.json");
    std::fs::write(&file, r#"[{"op": "add", "ref": {"name": "Sandbox Knife"}}, {"op": "add", "ref": {}}]"#)
        .unwrap();
    let ran = desk.run(&["blueprints", "change", file.to_str().unwrap()]).await;
    expect![[r#"
        exit 2
        err| error: the op breaks the contract:
        err|   /ops/1/ref: anyOf
        err|   -> see --help
    "#]]
    .assert_eq(&ran.shown());
    assert_eq!(desk.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}
