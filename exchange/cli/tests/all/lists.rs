//! Tests of `sync`, `list` and `show`.

use std::process::Stdio;

use exchange_service::sandbox::SandboxAction;
use expect_test::expect;
use serde_json::Value;

use crate::test_machine::{MEMBER, TestMachine, command_with_home, finish, wait_for_exit};

/// LIM-17: one `sync` reads all areas that the connection may read.
#[tokio::test]
async fn lists_show_synced_data() {
    let machine = TestMachine::connected().await;
    // If an area was never read, the command fails instead of printing an empty list.
    expect![[r#"
        exit 1
        err| error: stock was not read yet
        err|   -> run `exchange sync` first
    "#]]
    .assert_eq(&machine.run(&["stock", "list"]).await.shown());
    expect![[r#"
        exit 0
        out| AREA        ENTRIES  AS OF
        out| blueprints       10  <moment>  up to date
        out| stock             6  <moment>  up to date
        out| ships             2  <moment>  up to date
        out| org-stock         4  <moment>  up to date
    "#]]
    .assert_eq(&machine.run(&["sync"]).await.shown());
    let events = machine.json(&["sync"]).await;
    let last: Value = serde_json::from_str(events.out.lines().last().unwrap()).unwrap();
    assert_eq!((last["event"].as_str(), &last["areas"]["stock"]["entries"]), (Some("result"), &6.into()));
    let run = async |args: &[&str]| machine.run(args).await.shown();
    expect![[r#"
        exit 0
        out| NAME           ACQUIRED              KNOWN FROM  KEY
        out| Sandbox Rifle  <moment>  log         bp-sandbox-rifle
        err| 1 entry as of <moment>
    "#]]
    .assert_eq(&run(&["blueprints", "list", "sandbox r"]).await);
    expect![[r#"
        exit 0
        out| MATERIAL             PLACE                    QUALITY  QUANTITY  STOLEN  KEY
        out| Sandbox Component    Sandbox Station Storage        0  40 PIECE          <random>
        out| Sandbox Metal        Sandbox Station Storage      700    50 SCU          <random>
        out| Sandbox Ore (Raw)    Sandbox City Hangar          640  12.5 SCU          <random>
        out| Sandbox Rifle        Sandbox City Hangar            0   2 PIECE          <random>
        out| Sandbox Trade Goods  Sandbox City Hangar            0  1.25 SCU  yes     <random>
        out| Sandbox Trade Goods  Sandbox City Hangar            0     8 SCU          <random>
        err| 6 entries as of <moment>
    "#]]
    .assert_eq(&run(&["stock", "list"]).await);
    expect![[r#"
        exit 0
        out| TYPE            NAME       PLACE                    UNIT  FITTED  VERSION  ID
        out| Sandbox Hauler  Long Haul  Sandbox Station Storage  SBX   yes           1  ship-1
        out| Sandbox Miner              Sandbox City Hangar                          1  ship-2
        err| 2 entries as of <moment>
    "#]]
    .assert_eq(&run(&["ships", "list"]).await);
    expect![[r#"
        exit 0
        out| MATERIAL             UNIT              PLACE                    QUALITY  QUANTITY  STOLEN  KEY
        out| Sandbox Metal        Sandbox Squadron  Sandbox Station Storage      700    35 SCU          <random>
        out| Sandbox Ore (Raw)    Sandbox Squadron  Sandbox City Hangar          640     9 SCU          <random>
        out| Sandbox Rifle        Sandbox Squadron  Sandbox Station Storage        0   6 PIECE          <random>
        out| Sandbox Trade Goods  IRIDIUM           Sandbox City Hangar            0     5 SCU          <random>
        err| 4 entries as of <moment>
    "#]].assert_eq(&run(&["org-stock", "list"]).await);
    let lots = machine.json(&["org-stock", "list", "metal"]).await.json();
    let key = lots["items"][0]["key"].as_str().unwrap();
    let shown = machine.run(&["org-stock", "show", key]).await;
    expect![[r#"
        exit 0
        out| material        Sandbox Metal
        out| material key    material-sandbox-metal
        out| unit            Sandbox Squadron (unit-squadron)
        out| place           Sandbox Station Storage
        out| quality         700
        out| quantity        35 SCU
        out| for job orders  5 SCU
        out| for missions    3 SCU
        out| key             <random>
        out|
        out| ENTRY             VERSION  HOLDER                                                          QUANTITY  NOTE
        out| stock-metal-pool        1  Sandbox Member (<random>)      20 SCU  from the last run
        out| stock-metal-2           1  Sandbox Member 2 (<random>)    15 SCU  spare plates
    "#]].assert_eq(&shown.shown());
    let ships = machine.json(&["ships", "list", "miner"]).await.json();
    let ship = ships["items"][0]["shipId"].as_str().unwrap();
    expect![[r#"
        exit 0
        out| type          Sandbox Miner
        out| type key      ship-sandbox-miner
        out| place         Sandbox City Hangar
        out| insured       12 months
        out| fitted        no
        out| unit          none
        out| unit version  1
        out| version       1
        out| id            ship-2
    "#]]
    .assert_eq(&machine.run(&["ships", "show", ship]).await.shown());
    expect![[r#"
        exit 1
        err| {"error":{"code":"failed","exit":1,"message":"no local entry has the key none","next":"see `list`; `exchange sync` reads new entries"}}
    "#]].assert_eq(&machine.json(&["blueprints", "show", "none"]).await.shown());
    expect![[r#"
        exit 0
        out| state              connected
        out| identity provider  <origin>/idp
        out| gateway            <origin>
        out| profile            default
        out| secrets in         insecure files
        out| installation       <random>
        out| blueprints         10, as of <moment>
        out| stock              6, as of <moment>
        out| ships              2, as of <moment>
        out| org-stock          4, as of <moment>
        out| outbox             empty
    "#]]
    .assert_eq(&machine.run(&["status"]).await.shown());
}

/// The `list` commands, `status` and `outbox list` work without a network.
#[tokio::test]
async fn lists_need_no_network() {
    let machine = TestMachine::synced().await;
    let (origin, TestMachine { sandbox, home }) = (machine.sandbox.origin(), machine);
    sandbox.stop().await;
    let run = async |args: &[&str]| {
        let mut command = command_with_home(&home);
        command.env("EXCHANGE_SANDBOX", &origin).args(args);
        finish(command).await
    };
    for list in ["blueprints", "stock", "ships", "org-stock"] {
        let ran = run(&[list, "list"]).await;
        assert!(ran.code == 0 && ran.out.lines().count() > 2, "{}", ran.shown());
    }
    for args in [&["status"][..], &["outbox", "list"]] {
        assert_eq!(run(args).await.code, 0);
    }
}

/// The next `sync` reads changes of other clients.
#[tokio::test]
async fn remote_changes_arrive_with_the_next_sync() {
    let machine = TestMachine::connected().await;
    machine.run(&["sync"]).await;
    let act = SandboxAction::Blueprints {
        add: vec!["bp-sandbox-knife".into()],
        remove: vec!["bp-sandbox-helmet".into()],
    };
    machine.sandbox.act(MEMBER, act).await.unwrap();
    let events = machine.json(&["sync"]).await;
    assert!(
        events.out.lines().any(|line| line.contains(r#""phase":"feed""#) && line.contains(r#""removed":1"#)),
        "{}",
        events.shown()
    );
    let names = |list: Value| {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["ref"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let names = names(machine.json(&["blueprints", "list"]).await.json());
    assert!(
        names.contains(&"Sandbox Knife".to_owned()) && !names.contains(&"Sandbox Helmet".to_owned()),
        "{names:?}"
    );
}

/// CLI-06: `logout` deletes all data of the connection.
#[tokio::test]
async fn logout_deletes_all_data() {
    let machine = TestMachine::connected().await;
    machine.run(&["sync"]).await;
    assert_eq!(machine.run(&["logout", "--yes"]).await.code, 0);
    let list = machine.json(&["stock", "list"]).await;
    assert_eq!((list.code, list.error()["code"].as_str()), (1, Some("failed")));
    // No file contains data of the connection any more.
    let mut folders = vec![machine.home.path().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            for gone in ["Sandbox Metal", "material-sandbox", "refresh", "Long Haul"] {
                let found = bytes.windows(gone.len()).any(|window| window == gone.as_bytes());
                assert!(!found, "{gone} in {}", path.display());
            }
        }
    }
    assert!(files > 0);
}

/// LIM-17: `--watch` reads all areas, continues, and ends with Ctrl-C.
#[cfg(unix)]
#[tokio::test]
async fn watch_reports_events_until_ctrl_c() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let machine = TestMachine::connected().await;
    let mut command = machine.command(&["sync", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let mut printed = Vec::new();
    while printed.len() < 4 {
        printed.push(lines.next_line().await.unwrap().unwrap());
    }
    assert_eq!(
        printed,
        [
            "blueprints: 10 changed, 0 removed",
            "stock: 6 changed, 0 removed",
            "ships: 2 changed, 0 removed",
            "org-stock: 4 changed, 0 removed"
        ]
    );
    let id = child.id().unwrap().to_string();
    assert!(tokio::process::Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    // The data that was read before Ctrl-C is available.
    assert_eq!(machine.json(&["ships", "list"]).await.json()["items"].as_array().unwrap().len(), 2);
}

/// `--watch` ends when the reader of its events closes the pipe, as `| head -1` does.
#[tokio::test]
async fn watch_ends_when_its_output_is_closed() {
    let machine = TestMachine::connected().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = machine.command(&["--json", "sync", "--watch"]);
    let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let ran = wait_for_exit(child).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.shown());
}

/// `--local-time` converts the times of text output to the time zone of the computer. JSON keeps UTC.
#[tokio::test]
async fn times_are_converted_on_request() {
    let machine = TestMachine::synced().await;
    let run = async |args: &[&str]| {
        let mut command = machine.command(args);
        command.env("TZ", "<+0530>-5:30");
        finish(command).await
    };
    let show = ["blueprints", "show", "bp-sandbox-rifle"];
    let utc = run(&show).await.out;
    let local = run(&[&show[..], &["--local-time"]].concat()).await.out;
    let acquired = |shown: &str| {
        let line = shown.lines().find(|line| line.starts_with("acquired")).unwrap();
        line["acquired".len()..].trim().to_owned()
    };
    let converted: jiff::Timestamp = acquired(&local).replacen(' ', "T", 1).replace(' ', "").parse().unwrap();
    assert_eq!(converted, acquired(&utc).parse().unwrap());
    assert!(acquired(&local).ends_with(" +05:30") && acquired(&utc).ends_with('Z'), "{local}{utc}");
    let list = run(&["blueprints", "list", "--local-time"]).await;
    assert!(
        list.out.contains(&acquired(&local)) && list.err.trim_end().ends_with("+05:30"),
        "{}",
        list.shown()
    );
    let json = run(&["blueprints", "list", "--local-time", "--json"]).await.json();
    assert!(json["asOf"].as_str().unwrap().ends_with('Z'), "{json}");
}
