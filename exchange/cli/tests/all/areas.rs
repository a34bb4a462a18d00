//! Tests of commands that read directly from the exchange.

use std::process::Stdio;

use exchange_service::sandbox::SandboxAction;
use expect_test::expect;

use crate::test_machine::{MEMBER, TestMachine, wait_for_exit};

/// SVC-12, CLI-05: `label` sets the label that the member chooses, and rejects the name of the computer.
#[tokio::test]
async fn installation_is_labeled() {
    let machine = TestMachine::connected().await;
    expect![[r#"
        exit 0
        err| the label of this installation is now Gaming desk
    "#]]
    .assert_eq(&machine.run(&["label", "Gaming desk"]).await.shown());
    expect![[r#"
        exit 0
        out| {"label":"Desk 2"}
    "#]]
    .assert_eq(&machine.json(&["label", "Desk 2"]).await.shown());
    expect![[r#"
        exit 2
        err| error: a label must have 1 to 40 letters, digits, dots, underscores, hyphens and spaces, and must not begin with a space
        err|   -> see --help
    "#]].assert_eq(&machine.run(&["label", "a:b"]).await.shown());
    let mut command = machine.command(&["label", "ada-pc"]);
    command.env("HOSTNAME", "Ada-PC.home.test");
    expect![[r#"
        exit 2
        err| error: a label must not be the name of the computer: choose another
        err|   -> see --help
    "#]]
    .assert_eq(&crate::test_machine::finish(command).await.shown());
    // Other commands show the new label.
    assert_eq!(machine.json(&["status"]).await.json()["label"], "Desk 2");
}

/// SVC-15: each result is printed with its consequence for synchronization. No output contains the handle.
#[tokio::test]
async fn a_handle_is_checked() {
    let machine = TestMachine::connected().await;
    let check = async |handle: &str| {
        let ran = machine.run(&["check-handle", handle]).await;
        assert!(!ran.out.contains(handle) && !ran.err.contains(handle));
        ran.shown()
    };
    expect![[r#"
        exit 0
        out| match: this game account is yours
    "#]]
    .assert_eq(&check("sandbox_MEMBER").await);
    expect![[r#"
        exit 7
        out| mismatch: your profile names another game account: synchronization is paused until you check it
    "#]]
    .assert_eq(&check("Somebody_Else").await);
    machine.sandbox.act(MEMBER, SandboxAction::Handle { handle: None }).await.unwrap();
    expect![[r#"
        exit 7
        out| unknown: your profile names no game account: confirm that this one is yours, or enter it in your profile
    "#]].assert_eq(&check("Somebody_Else").await);
    expect![[r#"
        exit 2
        err| error: a handle must have 3 to 60 letters, digits, hyphens and underscores
        err|   -> correct it before sending it again
    "#]]
    .assert_eq(&check("no handle!").await);
    expect![[r#"
        exit 7
        out| {"maySync":false,"message":"your profile names no game account: confirm that this one is yours, or enter it in your profile","result":"unknown"}
    "#]].assert_eq(&machine.json(&["check-handle", "Somebody_Else"]).await.shown());
}

/// RES-13, CLI-04: `resolve` prints resolved, ambiguous and unmatched references, and warns about unmatched
/// ones.
#[tokio::test]
async fn references_are_resolved() {
    let machine = TestMachine::connected().await;
    let args = ["resolve", "--kind", "material", "Sandbox Metal", "Sandbox Mettal", "Nothing at all"];
    expect![[r#"
        exit 0
        out| REFERENCE                  STATUS     NAME           KEY
        out| {"name":"Sandbox Metal"}   resolved   Sandbox Metal  material-sandbox-metal
        out| {"name":"Sandbox Mettal"}  ambiguous  Sandbox Metal  material-sandbox-metal
        out| {"name":"Nothing at all"}  unmatched
        err| note: unmatched references: 1; they cannot be used in a change
    "#]]
    .assert_eq(&machine.run(&args).await.shown());
    expect![[r#"
        exit 0
        out| {"results":[{"entries":[{"bt":"material-sandbox-metal","name":"Sandbox Metal"}],"locKeyUnresolved":false,"reference":{"name":"Sandbox Metal"},"status":"resolved"}]}
    "#]].assert_eq(&machine.json(&args[..4]).await.shown());
    // TYP-03: the resolved key is stored for later commands.
    let kept = std::fs::read_to_string(catalogue(&machine)).unwrap();
    assert!(kept.contains("material-sandbox-metal"), "{kept}");
    expect![[r#"
        exit 0
        out| PLACE                    KIND               ID
        out| Sandbox City Hangar      CITY           990001
        out| Sandbox Station Storage  SPACE_STATION  990002
    "#]]
    .assert_eq(&machine.run(&["locations"]).await.shown());
    expect![[r#"
        exit 0
        out| {"items":[{"name":"Sandbox City Hangar","uex":{"id":990001,"kind":"CITY"}}]}
    "#]]
    .assert_eq(&machine.json(&["locations", "city"]).await.shown());
}

fn catalogue(machine: &TestMachine) -> std::path::PathBuf {
    let mut folders = vec![machine.home.path().join("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("catalogue.json") {
                return path;
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    panic!("no catalogue file was stored")
}

#[tokio::test]
async fn units_and_rosters_are_listed() {
    let machine = TestMachine::connected().await;
    expect![[r#"
        exit 0
        out| NAME              SHORT  KIND                  ID
        out| IRIDIUM           IRI    ORGANISATIONSLEITUNG  unit-iridium
        out| Sandbox Squadron  SBX    SQUADRON              unit-squadron
    "#]]
    .assert_eq(&machine.run(&["org-units", "list"]).await.shown());
    expect![[r#"
        exit 0
        out| name   Sandbox Squadron
        out| short  SBX
        out| kind   SQUADRON
        out| id     unit-squadron
    "#]]
    .assert_eq(&machine.run(&["org-units", "show", "unit-squadron"]).await.shown());
    expect![[r#"
        exit 1
        err| {"error":{"code":"failed","exit":1,"message":"you are not a member of a unit with the id none","next":"see `org-units list`"}}
    "#]].assert_eq(&machine.json(&["org-units", "show", "none"]).await.shown());
    let members = machine.json(&["org-stock", "members", "unit-squadron"]).await.json();
    assert!(members["items"].as_array().unwrap().len() >= 2, "{members}");
    // In this unit, the member is not a Logistician, so the exit code is 5 and nothing is written to the
    // standard output.
    let refused = machine.json(&["org-stock", "members", "unit-iridium"]).await;
    assert_eq!((refused.code, refused.error()["code"].as_str()), (5, Some("NOT_PERMITTED")));
}

/// DEM-07, DEM-08, DEM-11: demand is counted by items or by materials, never by both. It is requested at most
/// once every five minutes. If it is withheld, the reason is shown.
#[tokio::test]
async fn demand_is_shown_and_requested_rarely() {
    let machine = TestMachine::connected().await;
    expect![[r#"
        exit 0
        out| WANTED                   OPEN  QUALITY FROM  CRAFTABLE BY YOU  KEY
        out| Sandbox Helmet        3 PIECE                yes               item-sandbox-helmet
        out| Sandbox Rifle Desert  8 PIECE                yes               item-sandbox-rifle-desert
        out| Sandbox Metal          35 SCU           650                    material-sandbox-metal
        out| Sandbox Trade Goods    12 SCU             0                    material-sandbox-goods
        err| as of <moment>, internal to your organisation
    "#]]
    .assert_eq(&machine.run(&["demand", "list"]).await.shown());
    expect![[r#"
        exit 0
        out| WANTED                   OPEN  QUALITY FROM  CRAFTABLE BY YOU  KEY
        out| Sandbox Component    24 PIECE             0                    material-sandbox-component
        out| Sandbox Metal          35 SCU           650                    material-sandbox-metal
        out| Sandbox Metal           6 SCU           650                    material-sandbox-metal
        out| Sandbox Trade Goods    12 SCU             0                    material-sandbox-goods
        out| Sandbox Trade Goods   2.5 SCU             0                    material-sandbox-goods
        err| as of <moment>, internal to your organisation
    "#]]
    .assert_eq(&machine.run(&["demand", "list", "--by", "materials"]).await.shown());
    expect![[r#"
        exit 0
        out| material      Sandbox Metal
        out| key           material-sandbox-metal
        out| open          35 SCU
        out| quality from  650
        out| ordered as    material-order
        out| refined from  Sandbox Ore (Raw)
        out|
        out| material      Sandbox Metal
        out| key           material-sandbox-metal
        out| open          6 SCU
        out| quality from  650
        out| ordered as    item-order
        out| refined from  Sandbox Ore (Raw)
        err| as of <moment>, internal to your organisation
    "#]]
    .assert_eq(&machine.run(&["demand", "show", "sandbox metal", "--by", "materials"]).await.shown());
    expect![[r#"
        exit 0
        out| item       Sandbox Helmet
        out| key        item-sandbox-helmet
        out| open       3 PIECE
        out| craftable  by you
        err| as of <moment>, internal to your organisation
    "#]]
    .assert_eq(&machine.run(&["demand", "show", "item-sandbox-helmet"]).await.shown());
    let one = machine.json(&["demand", "show", "material-sandbox-goods"]).await.json();
    assert_eq!((one["materials"].as_array().unwrap().len(), one["items"].as_array().unwrap().len()), (1, 0));
    assert_eq!(machine.run(&["demand", "show", "nothing"]).await.code, 1);
    // Demand that changes within five minutes is not requested again.
    let before = machine.json(&["demand", "list"]).await.json();
    machine
        .sandbox
        .act(MEMBER, SandboxAction::JobOrder { order: "job-order-plating".into(), state: "completed".into() })
        .await
        .unwrap();
    assert_eq!(machine.json(&["demand", "list"]).await.json(), before);
    let other = TestMachine::connected().await;
    other
        .sandbox
        .act(MEMBER, SandboxAction::Role { unit: "unit-squadron".into(), role: None })
        .await
        .unwrap();
    expect![[r#"
        exit 0
        err| note: demand is withheld: only members of a unit that takes part in profit sharing may see it
    "#]]
    .assert_eq(&other.run(&["demand", "list"]).await.shown());
    expect![[r#"
        exit 0
        out| {"updatedAt":"<moment>","withheld":"NOT_PERMITTED"}
        err| note: demand is withheld: only members of a unit that takes part in profit sharing may see it
    "#]]
    .assert_eq(&other.json(&["demand", "list"]).await.shown());
}

/// CLI-04, ERR-15: for a suspended client, the error contains the code of the exchange and the exit code is
/// 5.
#[tokio::test]
async fn suspended_client_is_reported() {
    let machine = TestMachine::connected().await;
    let act = SandboxAction::Suspend { client: "sandbox-client".into(), suspended: true };
    machine.sandbox.act("sandbox-admin", act).await.unwrap();
    let ran = machine.json(&["locations"]).await;
    assert_eq!((ran.code, ran.error()["code"].as_str()), (5, Some("CLIENT_SUSPENDED")), "{}", ran.shown());
}

/// DRF-05, DRF-13, DRF-14: a refinery order is staged, and its link is printed only on request. If the link
/// cannot be shown, nothing is sent, because each draft counts against the daily write quota.
#[tokio::test]
async fn a_refinery_order_is_staged() {
    let machine = TestMachine::connected().await;
    let order = include_str!("../../../../schemas/fixtures/refinery-draft/valid/full.json");
    let file = machine.file("order.json", order);
    let blueprints = machine.home.path().join("blueprints.json");
    let blueprints = blueprints.to_str().unwrap();
    assert_eq!(machine.run(&["envelope", "write", blueprints, "Sandbox Knife"]).await.code, 0);
    for draft in [["draft", "refinery", file.as_str()], ["draft", "blueprints", blueprints]] {
        let mut nowhere = machine.command(&draft);
        nowhere.env("http_proxy", "http://127.0.0.1:1");
        let unsent =
            wait_for_exit(nowhere.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).await;
        assert!(
            unsent.code == 7 && unsent.out.is_empty() && unsent.err.contains("--print-link"),
            "{}",
            unsent.shown()
        );
    }
    let printed = machine.json(&["draft", "refinery", &file, "--print-link"]).await;
    assert!(
        printed.json()["link"].as_str().unwrap().starts_with(&machine.sandbox.origin()),
        "{}",
        printed.shown()
    );
    let file = machine.file("order.json", r#"{"schemaVersion": 1}"#);
    assert_eq!(machine.run(&["draft", "refinery", &file]).await.code, 2);
}
