//! Tests of every op of every area, with its outcome.

use std::process::Stdio;

use exchange_service::sandbox::SandboxAction;
use expect_test::expect;

use crate::test_machine::{MEMBER, TestMachine, wait_for_exit};

/// WRT-08, STK-18: after a change, the changed areas are read, and effects on offers are reported.
#[tokio::test]
async fn own_areas_are_changed() {
    let machine = TestMachine::synced().await;
    expect![[r#"
        exit 0
        out| OP       RESULT   WHY
        out| 1   add  applied
        err| a dry run: nothing was changed
    "#]]
    .assert_eq(&machine.run(&["blueprints", "add", "--dry-run", "Sandbox Knife"]).await.shown());
    expect![[r#"
        exit 8
        out| OP       RESULT     WHY
        out| 1   add  applied
        out| 2   add  unmatched  UNMATCHED: the exchange does not know this name
        err| note: 1 of the entries match nothing at the exchange
    "#]]
    .assert_eq(&machine.run(&["blueprints", "add", "Sandbox Knife", "Nothing at all"]).await.shown());
    machine.found(&["blueprints", "list"], "Sandbox Knife").await;
    expect![[r#"
        exit 0
        out| {"applied":1,"changes":[{"area":"blueprints","detachedFromMissions":0,"number":2,"offersReduced":0,"offersRemoved":0,"own":true,"replayed":false,"state":"done","warnings":[]}],"dryRun":false,"ops":[{"change":2,"next":null,"op":"remove","opId":"1","reason":null,"result":"applied"}],"unchanged":0}
    "#]].assert_eq(&machine.json(&["blueprints", "remove", "Sandbox Knife"]).await.shown());
    let set = ["stock", "set", "Sandbox Trade Goods", "--at", "Sandbox City Hangar"];
    let place = machine.found(&["stock", "list"], "Sandbox Trade Goods").await["location"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let set = [&set[..4], &[place.as_str(), "--from", "8scu", "--to", "2scu"]].concat();
    let ran = machine.run(&set).await;
    assert!(ran.code == 0 && ran.err.contains("offers"), "{}", ran.shown());
    // The expected quantity is outdated, so the change is a conflict.
    let again = machine.json(&set).await;
    assert_eq!(
        (again.code, again.json()["ops"][0]["reason"].as_str()),
        (7, Some("VERSION_CONFLICT")),
        "{}",
        again.shown()
    );
    let metal = machine.found(&["stock", "list"], "Sandbox Component").await;
    let from = metal["location"]["name"].as_str().unwrap();
    let moved = machine
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
    expect![[r#"
        exit 0
        out| OP                RESULT   WHY
        out| 1   set-quantity  applied
        out| 2   set-quantity  applied
    "#]]
    .assert_eq(&moved.shown());
    let there = machine.found(&["stock", "list"], &format!("{place}\"")).await;
    assert_eq!(there["location"]["name"], place.as_str());
    let components = machine.run(&["stock", "list", "component"]).await;
    assert!(
        components.out.contains("10 PIECE") && components.out.contains("30 PIECE"),
        "{}",
        components.shown()
    );
    // A new ship can be assigned to a unit immediately.
    let new =
        ["--external-id", "own-2", "--type", "Sandbox Miner", "--insurance", "6", "--unit", "unit-squadron"];
    let ran = machine.json(&[&["ships", "upsert"], &new[..]].concat()).await;
    assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{}", ran.shown());
    assert_eq!(machine.found(&["ships", "list"], "own-2").await["orgUnit"]["id"], "unit-squadron");
    // A ship is linked, updated and removed.
    let ship = machine.found(&["ships", "list"], "Long Haul").await;
    let id = ship["shipId"].as_str().unwrap();
    assert_eq!(machine.run(&["ships", "link", id, "--external-id", "own-1"]).await.code, 0);
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
    let ran = machine.run(&[&values[..], &["--version", &version]].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let ship = machine.found(&["ships", "list"], "Longer Haul").await;
    let version = ship["version"].as_i64().unwrap().to_string();
    let ran = machine.json(&["ships", "remove", id, "--version", &version]).await;
    assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{}", ran.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// RES-13: the entries that an ambiguous reference can mean are listed with their keys, for changes and for a dry run.
#[tokio::test]
async fn ambiguous_reference_lists_its_candidates() {
    let machine = TestMachine::connected().await;
    let set =
        ["stock", "set", "Sandbox Mettal", "--at", "Sandbox City Hangar", "--from", "0scu", "--to", "1scu"];
    expect![[r#"
        exit 1
        out| OP                RESULT     WHY
        out| 1   set-quantity  ambiguous  AMBIGUOUS: several entries match: choose one
        err| op 1 can mean:
        err|   Sandbox Metal (bt:material-sandbox-metal)
        err|   -> name one by its key, such as bt:material-sandbox-metal
    "#]]
    .assert_eq(&machine.run(&set).await.shown());
    let previewed = machine.json(&[&set[..], &["--dry-run"]].concat()).await;
    let candidates = serde_json::json!([{ "bt": "material-sandbox-metal", "name": "Sandbox Metal" }]);
    assert_eq!(previewed.json()["ops"][0]["candidates"], candidates, "{}", previewed.shown());
}

/// WRT-14: an entry that was removed elsewhere is restored only with `--override`.
#[tokio::test]
async fn restoring_a_removed_entry_requires_override() {
    let machine = TestMachine::synced().await;
    let act = SandboxAction::Blueprints { add: Vec::new(), remove: vec!["bp-sandbox-rifle".into()] };
    machine.sandbox.act(MEMBER, act).await.unwrap();
    let ran = machine.run(&["blueprints", "add", "bt:bp-sandbox-rifle"]).await;
    expect![[r#"
        exit 7
        out| OP       RESULT    WHY
        out| 1   add  rejected  REMOVED_ELSEWHERE: this was removed elsewhere: restore it anyway?
    "#]]
    .assert_eq(&ran.shown());
    let ran = machine.json(&["blueprints", "add", "bt:bp-sandbox-rifle", "--override"]).await;
    assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{}", ran.shown());
}

/// ERR-27, WRT-11, CLI-04: a change that removes too much has to be confirmed. Its link is printed only on
/// request.
#[tokio::test]
async fn mass_change_waits_for_confirmation() {
    let machine = TestMachine::synced().await;
    let act = SandboxAction::Blueprints { add: vec!["bp-sandbox-knife".into()], remove: Vec::new() };
    machine.sandbox.act(MEMBER, act).await.unwrap();
    let lots = machine.json(&["stock", "list"]).await.json();
    let ops = lots["items"].as_array().unwrap().iter().map(|lot| {
        let (unit, zero) = (&lot["quantity"]["unit"], 0);
        serde_json::json!({
            "op": "set-quantity", "material": lot["material"], "location": {"name": lot["location"]["name"]},
            "quality": lot["quality"], "stolen": lot["stolen"], "quantity": {"amount": zero, "unit": unit},
            "expectedQuantity": lot["quantity"],
        })
    });
    let file = machine.file("ops.json", &serde_json::to_string(&ops.collect::<Vec<_>>()).unwrap());
    let ran = machine.run(&["stock", "change", &file]).await;
    expect![[r#"
        exit 7
        err| note: change 1 removes so much that you have to confirm it; nothing was changed yet
        err|   -> exchange outbox confirm 1
    "#]]
    .assert_eq(&ran.shown());
    expect![[r#"
        exit 0
        out| NUMBER  AREA   OPS  STATE  CODE                               NEXT
        out|      1  stock    6  held   MASS_CHANGE_CONFIRMATION_REQUIRED  needs your confirmation: `confirm`
    "#]]
    .assert_eq(&machine.run(&["outbox", "list"]).await.shown());
    let number = machine.json(&["outbox", "list"]).await.json()["items"][0]["number"].to_string();
    let hidden = machine.json(&["outbox", "confirm", &number]).await;
    assert!(hidden.code == 7 && !hidden.err.contains("http") && hidden.out.is_empty(), "{}", hidden.shown());
    // No new link is requested either, because that would invalidate the previous one.
    let mut nowhere = machine.command(&["outbox", "confirm", &number]);
    nowhere.env("http_proxy", "http://127.0.0.1:1");
    let child = nowhere.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(wait_for_exit(child).await.code, 7);
    let link = machine.json(&["outbox", "confirm", &number, "--print-link"]).await.json();
    assert!(link["link"].as_str().unwrap().starts_with(&machine.sandbox.origin()));
    assert_eq!(machine.run(&["outbox", "drop", &number, "--force"]).await.code, 0);
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// Runs every op on org stock.
#[tokio::test]
async fn org_stock_is_changed() {
    let machine = TestMachine::synced().await;
    let roster = machine.json(&["org-stock", "members", "unit-squadron"]).await.json();
    let holder = |name: &str| {
        let mut all = roster["items"].as_array().unwrap().iter();
        all.find(|item| item["name"] == name).unwrap()["ref"].as_str().unwrap().to_owned()
    };
    let (own_ref, other_ref) = (holder("Sandbox Member"), holder("Sandbox Member 2"));
    let place = machine.found(&["stock", "list"], "Sandbox Metal").await["location"]["name"]
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
        &own_ref,
        "--at",
        &place,
        "--quantity",
        "5scu",
        "--quality",
        "321",
        "--note",
        "booked by hand",
    ];
    let ran = machine.run(&book).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    // The entries of the member's own bookings, with their units and locations.
    let entries = async || {
        let lots = machine.json(&["org-stock", "list"]).await.json();
        let lots = lots["items"].as_array().unwrap().iter().filter(|lot| lot["quality"] == 321);
        let entries = lots.flat_map(|lot| {
            let own_entries =
                lot["entries"].as_array().unwrap().iter().filter(|entry| entry["holder"]["ref"] == *own_ref);
            own_entries
                .map(|entry| (lot["unit"]["id"].clone(), lot["location"]["name"].clone(), entry.clone()))
        });
        entries.collect::<Vec<_>>()
    };
    let entry = async || {
        let all = entries().await;
        let (.., entry) = all.iter().find(|(unit, at, _)| *unit == "unit-squadron" && *at == *place).unwrap();
        (entry["id"].as_str().unwrap().to_owned(), entry["version"].as_i64().unwrap().to_string())
    };
    for op in [
        &["note", "--note", "another"][..],
        &["book-out", "--quantity", "1scu"],
        &["sell", "--quantity", "0.5scu", "--terminal", "Sandbox Terminal", "--proceeds", "1200"],
        &["stolen"],
        &["stolen", "--not"],
        &["move-holder", "--quantity", "1scu", "--to-unit", "unit-squadron", "--holder", &other_ref],
        &["book-out", "--quantity", "0.25scu"],
        &["move-location", "--quantity", "0.5scu", "--to", "Sandbox City Hangar"],
    ] {
        let (id, version) = entry().await;
        let args = [
            &["org-stock", op[0], id.as_str(), "--unit", "unit-squadron", "--version", version.as_str()],
            &op[1..],
        ]
        .concat();
        let ran = machine.json(&args).await;
        assert_eq!((ran.code, ran.json()["applied"].as_i64()), (0, Some(1)), "{op:?}: {}", ran.shown());
    }
    let there: Vec<_> =
        entries().await.iter().map(|(_, at, entry)| (at.clone(), entry["quantity"].clone())).collect();
    assert!(there.iter().any(|(at, much)| at == "Sandbox City Hangar" && much["amount"] == 0.5), "{there:?}");
    // An outdated version is a conflict.
    let (id, _) = entry().await;
    let stale = machine.json(&["org-stock", "note", &id, "--unit", "unit-squadron", "--version", "0"]).await;
    assert_eq!(
        (stale.code, stale.json()["ops"][0]["reason"].as_str()),
        (7, Some("VERSION_CONFLICT")),
        "{}",
        stale.shown()
    );
    // The entry is first moved to a pool that the member may not change, and then to one that the member may
    // change.
    let (id, version) = entry().await;
    let refused = machine
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
    let act = serde_json::json!({ "act": "role", "unit": "unit-iridium", "role": "logistician" });
    machine.sandbox.act(MEMBER, serde_json::from_value(act).unwrap()).await.unwrap();
    let moved = machine
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
            "--quantity",
            "0.25scu",
        ])
        .await;
    assert_eq!((moved.code, moved.json()["applied"].as_i64()), (0, Some(1)), "{}", moved.shown());
    let all = entries().await;
    let (.., there) = all.iter().find(|(unit, ..)| unit == "unit-iridium").unwrap();
    assert_eq!(there["quantity"]["amount"].to_string(), "0.25");
    let (id, version) = entry().await;
    // An unknown place is rejected.
    let gone = machine
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

/// An op that does not match the contract is reported with its position, and nothing is stored or sent.
#[tokio::test]
async fn invalid_op_is_not_stored() {
    let machine = TestMachine::synced().await;
    let file = machine
        .file("ops.json", r#"[{"op": "add", "ref": {"name": "Sandbox Knife"}}, {"op": "add", "ref": {}}]"#);
    let ran = machine.run(&["blueprints", "change", &file]).await;
    expect![[r#"
        exit 2
        err| error: the op does not match the contract:
        err|   /ops/1/ref: anyOf
        err|   -> see --help
    "#]]
    .assert_eq(&ran.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// CON-08, CLI-04: warnings of the exchange are printed in the text format and in JSON.
#[tokio::test]
async fn exchange_warnings_are_printed() {
    let machine = TestMachine::synced().await;
    let ops = r#"[{"op": "add", "ref": {"name": "Sandbox Knife", "locKey": "items_of_nobody"}}]"#;
    let file = machine.file("ops.json", ops);
    for args in [&["blueprints", "change", &file, "--dry-run"][..], &["blueprints", "change", &file]] {
        let ran = machine.run(args).await;
        let named = "note: /ops/0/ref/locKey: no catalogue entry has this key, so the name was used";
        assert!(ran.code == 0 && ran.err.lines().any(|line| line == named), "{}", ran.shown());
    }
    let result = machine.json(&["blueprints", "change", &file]).await;
    let warnings = serde_json::json!([{ "pointer": "/ops/0/ref/locKey", "code": "LOC_KEY_UNRESOLVED" }]);
    assert_eq!(result.json()["changes"][0]["warnings"], warnings, "{}", result.shown());
}

/// Unknown properties of ops are reported with their JSON Pointers, and nothing is stored or sent.
#[tokio::test]
async fn unknown_op_property_is_named() {
    let machine = TestMachine::synced().await;
    let ops = r#"[{"op": "add", "ref": {"name": "Sandbox Knife"}},
                  {"op": "add", "ref": {"name": "Sandbox Rifle", "nam": "x"}, "acquired": "x"}]"#;
    let file = machine.file("ops.json", ops);
    expect![[r#"
        exit 2
        err| error: unknown properties in ops:
        err|   /ops/1/acquired
        err|   /ops/1/ref/nam
        err|   -> see --help
    "#]]
    .assert_eq(&machine.run(&["blueprints", "change", &file]).await.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}

/// STK-05, STK-20: without explicit old quantities, `stock set` and `stock move` use those of the last `sync`. A lot of
/// another quality is named, and nothing is sent.
#[tokio::test]
async fn old_quantities_come_from_the_last_sync() {
    let machine = TestMachine::synced().await;
    let lot = machine.found(&["stock", "list"], "Sandbox Component").await;
    let place = lot["location"]["name"].as_str().unwrap();
    let set = machine.run(&["stock", "set", "sandbox component", "--at", place, "--to", "41pc"]).await;
    assert_eq!(set.code, 0, "{}", set.shown());
    let locations = machine.json(&["locations"]).await.json();
    let names = locations["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap());
    let other = names.into_iter().find(|name| *name != place).unwrap().to_owned();
    let go = ["stock", "move", "Sandbox Component", "--from", place, "--to", &other, "--quantity"];
    let moved = machine.run(&[&go[..], &["11pc"]].concat()).await;
    assert_eq!(moved.code, 0, "{}", moved.shown());
    assert_eq!(machine.run(&["sync"]).await.code, 0);
    let lots = machine.json(&["stock", "list", "Sandbox Component"]).await.json();
    let amount = |name: &str| {
        let lots = lots["items"].as_array().unwrap();
        let lot = lots.iter().find(|lot| lot["location"]["name"] == name);
        lot.map(|lot| lot["quantity"]["amount"].clone())
    };
    assert_eq!((amount(place), amount(&other)), (Some(30.into()), Some(11.into())), "{lots}");

    let much = machine.json(&[&go[..], &["31pc"]].concat()).await.error();
    assert_eq!(much["message"], "--quantity 31pc is more than the 30pc that you hold there", "{much}");
    assert_eq!(much["exit"], 2);
    // The member holds this material at another quality.
    let metal = machine.found(&["stock", "list"], "Sandbox Metal").await;
    let (at, quality) = (metal["location"]["name"].as_str().unwrap(), metal["quality"].as_i64().unwrap());
    assert_ne!(quality, 0);
    let error = machine.json(&["stock", "set", "Sandbox Metal", "--at", at, "--to", "1scu"]).await.error();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("you hold this at quality ") && message.contains(&quality.to_string()),
        "{error}"
    );
    assert!(error["next"].as_str().unwrap().starts_with("add --quality "), "{error}");
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], serde_json::json!([]));
}
