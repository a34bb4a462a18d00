//! Tests of changes that have to wait for another change, the member or the exchange, and of outcomes, each
//! of which is reported once.

use std::{process::Stdio, time::Duration};

use exchange_client::{
    Lane,
    outbox::{EntryRow, NewEntryRow, OutboxStore as _},
};
use exchange_client_sqlite::SqliteOutbox;
use exchange_service::sandbox::SandboxAction;
use expect_test::expect;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::test_machine::{CommandResult, TestMachine, command_with_home, finish, wait_for_exit};

/// Returns the arguments that change the number of rifles from 2 to this number.
pub(crate) fn rifles(to: &'static str) -> [&'static str; 9] {
    ["stock", "set", "Sandbox Rifle", "--at", "Sandbox City Hangar", "--from", "2pc", "--to", to]
}

/// Sends a change of stock that the exchange holds until the member confirms it.
async fn held(machine: &TestMachine) {
    let file = everything_removed(machine).await;
    assert_eq!(machine.run(&["stock", "change", &file]).await.code, 7);
}

/// Writes the file `all.json` with ops that set every lot of the member to zero. Returns its path.
pub(crate) async fn everything_removed(machine: &TestMachine) -> String {
    let lots = machine.json(&["stock", "list"]).await.json();
    let op = |lot: &Value| {
        json!({
            "op": "set-quantity", "material": lot["material"], "location": {"name": lot["location"]["name"]},
            "quality": lot["quality"], "stolen": lot["stolen"], "expectedQuantity": lot["quantity"],
            "quantity": {"amount": 0, "unit": lot["quantity"]["unit"]},
        })
    };
    let ops: Vec<Value> = lots["items"].as_array().unwrap().iter().map(op).collect();
    machine.file("all.json", &json!(ops).to_string())
}

/// CLI-04: a change that waits for another change of its area is reported as waiting, in text and in JSON.
#[tokio::test]
async fn change_behind_a_held_one_is_reported() {
    let machine = TestMachine::synced().await;
    held(&machine).await;
    expect![[r#"
        exit 7
        err| note: change 2 waits behind change 1 (held)
        err|   -> exchange outbox show 1
    "#]]
    .assert_eq(&machine.run(&rifles("3pc")).await.shown());
    expect![[r#"
        exit 7
        out| {"applied":0,"changes":[{"area":"stock","behind":1,"code":null,"next":"it is sent with the next change of its area, or with `retry`","number":3,"own":true,"state":"pending"}],"dryRun":false,"ops":[],"unchanged":0}
        err| note: change 3 waits behind change 1 (held)
        err|   -> exchange outbox show 1
    "#]].assert_eq(&machine.json(&rifles("4pc")).await.shown());
    expect![[r#"
        exit 7
        err| note: change 2 waits behind change 1 (held)
        err|   -> exchange outbox show 1
        err| note: change 3 waits behind change 1 (held)
        err|   -> exchange outbox show 1
    "#]]
    .assert_eq(&machine.run(&["outbox", "retry"]).await.shown());
    // Changes of other areas are sent.
    assert_eq!(machine.run(&["blueprints", "add", "Sandbox Knife"]).await.code, 0);
    // After the held change was dropped, a command for another area also sends the waiting changes and
    // reports their outcomes.
    assert_eq!(machine.run(&["outbox", "drop", "1", "--force"]).await.code, 0);
    expect![[r#"
        exit 0
        out| CHANGE  OP                RESULT    WHY
        out|      2  1   set-quantity  applied
        out|      3  1   set-quantity  rejected  VERSION_CONFLICT: this was changed in the meantime: synchronize, then review it
        out|      5  1   remove        applied
        err| change 2, stored earlier, is decided: this is its outcome
        err| change 3, stored earlier, is decided: this is its outcome
    "#]].assert_eq(&machine.run(&["blueprints", "remove", "Sandbox Knife"]).await.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// CLI-04: the JSON document also contains held changes.
#[tokio::test]
async fn held_change_is_listed_in_json() {
    let machine = TestMachine::synced().await;
    held(&machine).await;
    // `resolve` without exactly one result is a usage error.
    for found in [&[][..], &["--applied", "--missing"]] {
        let ran = machine.json(&[&["outbox", "resolve", "1"], found].concat()).await;
        assert_eq!((ran.code, &ran.error()["code"]), (2, &json!("usage")), "{found:?}");
    }
    expect![[r#"
        exit 7
        out| {"applied":0,"changes":[{"area":"stock","behind":null,"code":"MASS_CHANGE_CONFIRMATION_REQUIRED","next":"needs your confirmation: `confirm`","number":1,"own":true,"state":"held"}],"dryRun":false,"ops":[],"unchanged":0}
        err| note: change 1 removes so much that you have to confirm it; nothing was changed yet
        err|   -> exchange outbox confirm 1
    "#]].assert_eq(&machine.json(&["outbox", "resolve", "1", "--missing"]).await.shown());
    let shown = machine.run(&["outbox", "show", "1"]).await;
    expect![[r#"
        change      1
        area        stock
        state       held
        code        MASS_CHANGE_CONFIRMATION_REQUIRED
        next        needs your confirmation: `confirm`
        kept since  <moment>

        OP  ASKS FOR"#]]
    .assert_eq(&crate::test_machine::normal(&shown.out.lines().take(8).collect::<Vec<_>>().join("\n")));
    assert_eq!(shown.out.lines().count(), 8 + 6);
    let shown = machine.json(&["outbox", "show", "1"]).await.json();
    assert_eq!(shown["ops"].as_array().unwrap().len(), 6);
    assert_eq!(
        (&shown["ops"][0]["asks"]["op"], &shown["ops"][0]["result"]),
        (&json!("set-quantity"), &Value::Null)
    );
    // The member states that the change was applied.
    expect![[r#"
        exit 0
        err| change 1 is decided: the exchange has the requested state
    "#]]
    .assert_eq(&machine.run(&["outbox", "resolve", "1", "--applied"]).await.shown());
    for args in [&["resolve", "1", "--applied"][..], &["show", "1"], &["confirm", "99"], &["retry", "1"]] {
        assert_eq!(machine.run(&[&["outbox"], args].concat()).await.code, 2, "{args:?}");
    }
    // The advice is to list the outbox, and not to correct the change.
    for args in [&["resolve", "1", "--applied"][..], &["show", "1"], &["confirm", "99"], &["drop", "1"]] {
        let error = machine.json(&[&["outbox"], args].concat()).await.error();
        assert_eq!(error["next"], "see `outbox list`", "{args:?} {error}");
    }
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// CLI-04, WRT-13: dropping a change warns only if it may have been applied or can still be confirmed.
#[tokio::test]
async fn dropping_warns_if_the_change_may_be_applied() {
    let machine = TestMachine::synced().await;
    held(&machine).await;
    // Nobody can answer a prompt here.
    let error = machine.json(&["outbox", "drop", "1"]).await.error();
    assert_eq!((&error["exit"], &error["next"]), (&json!(2), &json!("drop it with --force")), "{error}");
    expect![[r#"
        exit 0
        out| {"dropped":1,"mayBeApplied":false,"state":"held"}
        err| note: the exchange still holds change 1, because `drop` cannot withdraw it: discard it with its link, or let it expire
    "#]]
    .assert_eq(&machine.json(&["outbox", "drop", "1", "--force"]).await.shown());
    machine.sandbox.act("sandbox-admin", SandboxAction::Switch { on: false }).await.unwrap();
    assert_eq!(machine.run(&rifles("3pc")).await.code, 6);
    expect![[r#"
        exit 0
        err| change 2 is dropped
    "#]]
    .assert_eq(&machine.run(&["outbox", "drop", "2", "--force"]).await.shown());
    // Simulate that the first response for the next change was lost.
    machine.pass(30);
    assert_eq!(machine.run(&rifles("3pc")).await.code, 6);
    let lost = |row: &mut EntryRow| {
        let mut head: Value = serde_json::from_str(&row.head).unwrap();
        head["uncertain"] = true.into();
        row.head = head.to_string();
    };
    left(&machine, lost).await;
    expect![[r#"
        exit 0
        err| change 3 is dropped
        err| note: the exchange may have carried out change 3 before you dropped it: run `exchange sync`, and check its entries
    "#]]
    .assert_eq(&machine.run(&["outbox", "drop", "3", "--force"]).await.shown());
}

/// CLI-04: applied changes are reported even if other changes of the command have to wait.
#[tokio::test]
async fn applied_changes_are_reported_while_others_wait() {
    let machine = TestMachine::with(|config| config.limits.writes_per_day = 1).await;
    machine.login(&["--all"]).await;
    let op = |quality: u32| {
        json!({
            "op": "set-quantity", "material": {"name": "Sandbox Metal"}, "location": {"name": "Sandbox City Hangar"},
            "quality": quality, "stolen": false, "expectedQuantity": {"amount": 0, "unit": "SCU"},
            "quantity": {"amount": 1, "unit": "SCU"},
        })
    };
    let ops: Vec<Value> = (0..600).map(op).collect();
    let file = machine.file("ops.json", &json!(ops).to_string());
    let ran = machine.json(&["stock", "change", &file]).await;
    assert_eq!(ran.code, 8, "{}", ran.shown());
    let document = ran.json();
    assert_eq!((&document["applied"], document["ops"].as_array().unwrap().len()), (&json!(500), 500));
    let states: Vec<_> =
        document["changes"].as_array().unwrap().iter().map(|change| &change["state"]).collect();
    assert_eq!(states, ["done", "pending"]);
    assert_eq!(document["changes"][1]["error"]["code"], "QUOTA_EXCEEDED");
    assert!(ran.err.contains("QUOTA_EXCEEDED"), "{}", ran.err);
    // The reported outcome is deleted, and the waiting change is still stored.
    let waiting = machine.json(&["outbox", "list"]).await.json();
    assert_eq!(
        (waiting["items"].as_array().unwrap().len(), &waiting["items"][0]["opCount"]),
        (1, &json!(100))
    );
    // CLI-02: no command sends the change before the time that the exchange requested.
    let again = machine.json(&["outbox", "retry"]).await;
    assert_eq!(
        (again.code, &again.json()["changes"][0]["state"]),
        (6, &json!("pending")),
        "{}",
        again.shown()
    );
    // Writes of other areas also have to wait, in a run that did not receive the response itself.
    let kept = machine.json(&["blueprints", "add", "Sandbox Knife"]).await;
    let document = kept.json();
    let own = document["changes"].as_array().unwrap().iter().find(|change| change["own"] == true).unwrap();
    assert_eq!((kept.code, &own["state"]), (6, &json!("pending")), "{}", kept.shown());
    assert_eq!(own["error"]["code"], "QUOTA_EXCEEDED");
    let message = own["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the exchange requires a wait that is longer"), "{message}");
}

/// CLI-04: an outcome that was not read is reported by the next command that sends changes.
#[tokio::test]
async fn unread_outcome_is_reported_by_the_next_command() {
    let machine = TestMachine::synced().await;
    let unread = async |args: &[&str]| {
        let mut command = machine.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        child.wait().await.unwrap().code()
    };
    assert_eq!(unread(&rifles("3pc")).await, Some(0));
    expect![[r#"
        exit 0
        out| NUMBER  AREA   OPS  STATE  CODE  NEXT
        out|      1  stock    1  done         `show` prints its outcome
    "#]]
    .assert_eq(&machine.run(&["outbox", "list"]).await.shown());
    let shown = machine.run(&["outbox", "show", "1"]).await;
    assert!(shown.out.contains("done") && shown.out.contains("applied"), "{}", shown.shown());
    let status = machine.json(&["status"]).await.json();
    assert_eq!((&status["outbox"], &status["untold"]), (&json!(0), &json!(1)));
    let status = machine.run(&["status"]).await.out;
    assert!(
        status.contains("outbox             1 decided, whose outcome `exchange outbox retry` prints"),
        "{status}"
    );
    expect![[r#"
        exit 0
        out| CHANGE  OP                RESULT   WHY
        out|      1  1   set-quantity  applied
        out|      2  1   add           applied
        err| change 1, stored earlier, is decided: this is its outcome
    "#]]
    .assert_eq(&machine.run(&["blueprints", "add", "Sandbox Knife"]).await.shown());
    // The outcome is also reported if the change is selected by its number.
    assert_eq!(unread(&["blueprints", "remove", "Sandbox Knife"]).await, Some(0));
    expect![[r#"
        exit 0
        out| OP          RESULT   WHY
        out| 1   remove  applied
    "#]]
    .assert_eq(&machine.run(&["outbox", "retry", "3"]).await.shown());
    // The outcome is also reported by a command that finds nothing to send. The exit code of the first
    // command reflects its outcome.
    assert_eq!(unread(&rifles("5pc")).await, Some(7));
    expect![[r#"
        exit 0
        out| OP                RESULT    WHY
        out| 1   set-quantity  rejected  VERSION_CONFLICT: this was changed in the meantime: synchronize, then review it
        err| change 4, stored earlier, is decided: this is its outcome
        err| no stored change can be sent now
    "#]].assert_eq(&machine.run(&["outbox", "retry"]).await.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// Modifies the first row of the outbox, as another program or an earlier version would have left it.
async fn left(machine: &TestMachine, change: impl FnOnce(&mut EntryRow)) {
    let store = SqliteOutbox::open(machine.state()).unwrap();
    let owner = store.owners().await.unwrap().remove(0);
    let mut row = store.list_rows(&owner).await.unwrap().remove(0);
    change(&mut row);
    assert!(store.replace(row).await.unwrap());
}

/// CLI-04, OST-14: an unread outcome is kept until it is reported. Only outcomes of org stock are deleted
/// after seven days.
#[tokio::test]
async fn unread_outcomes_are_retained_except_org_stock() {
    let machine = TestMachine::synced().await;
    let unread = async |args: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = machine.command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(wait_for_exit(child).await.code, 0);
    };
    let age = |row: &mut EntryRow| {
        let mut head: Value = serde_json::from_str(&row.head).unwrap();
        head["decided_at"] = (head["decided_at"].as_u64().unwrap() - 8 * 86_400_000).into();
        row.head = head.to_string();
    };
    unread(&rifles("3pc")).await;
    left(&machine, age).await;
    expect![[r#"
        exit 0
        out| CHANGE  OP                RESULT   WHY
        out|      1  1   set-quantity  applied
        out|      2  1   add           applied
        err| change 1, stored earlier, is decided: this is its outcome
    "#]]
    .assert_eq(&machine.run(&["blueprints", "add", "Sandbox Knife"]).await.shown());
    let lots = machine.json(&["org-stock", "list", "metal"]).await.json();
    let entry = &lots["items"][0]["entries"][0];
    let (id, version) = (entry["id"].as_str().unwrap(), entry["version"].to_string());
    unread(&["org-stock", "note", id, "--unit", "unit-squadron", "--version", &version, "--note", "hush"])
        .await;
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"].as_array().unwrap().len(), 1);
    left(&machine, age).await;
    // Any command deletes the outcome and reports the deletion, even `list`.
    let result = machine.run(&["stock", "list", "rifle"]).await;
    assert_eq!(result.code, 0);
    let gone = "note: change 3 of org-stock was decided seven days ago, and its outcome was never shown; it has been \
                deleted";
    assert_eq!(result.err.lines().next(), Some(gone));
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// CLI-04: an unreadable change does not prevent the report of others. It is listed and can be dropped.
#[tokio::test]
async fn unreadable_change_hides_no_others() {
    let machine = TestMachine::synced().await;
    let of_ships = NewEntryRow {
        owner: machine.json(&["status"]).await.json()["installationId"].as_str().unwrap().to_owned(),
        lane: Lane::Ships,
        head: r#"{"state": "of-a-later-version"}"#.to_owned(),
        body: "{}".into(),
    };
    SqliteOutbox::open(machine.state()).unwrap().append(vec![of_ships]).await.unwrap();
    expect![[r#"
        exit 0
        out| OP                RESULT   WHY
        out| 1   set-quantity  applied
        err| note: change 1 cannot be read here: other changes of its area wait for it
        err|   -> exchange outbox drop 1, unless a newer version of this program stored it
    "#]]
    .assert_eq(&machine.run(&rifles("3pc")).await.shown());
    let result = machine.json(&["blueprints", "add", "Sandbox Knife"]).await;
    let unreadable = json!({
        "number": 1, "area": "ships", "own": false, "state": "unreadable",
        "next": "`drop` it, unless a newer version of this program stored it",
    });
    assert!(result.json()["changes"].as_array().unwrap().contains(&unreadable), "{}", result.shown());
    assert_eq!((result.code, &result.json()["applied"]), (0, &json!(1)));
    expect![[r#"
        exit 0
        out| NUMBER  AREA   OPS  STATE       CODE  NEXT
        out|      1  ships       unreadable        `drop` it, unless a newer version of this program stored it
    "#]]
    .assert_eq(&machine.run(&["outbox", "list"]).await.shown());
    let status = machine.json(&["status"]).await.json();
    assert_eq!((&status["outbox"], &status["unreadable"]), (&json!(0), &json!(1)));
    assert_eq!(machine.run(&["outbox", "retry"]).await.code, 7);
    assert_eq!(machine.run(&["outbox", "drop", "1", "--force"]).await.code, 0);
    assert_eq!(machine.run(&["outbox", "retry"]).await.code, 0);
}

/// ERR-13, CLI-04: changes of an earlier installation are never sent, but their number is reported.
#[tokio::test]
async fn changes_of_earlier_connections_are_listed() {
    let machine = TestMachine::synced().await;
    assert_eq!(machine.json(&["status"]).await.json()["ofEarlierConnections"], 0);
    let left = NewEntryRow {
        owner: "an-installation-that-is-gone".to_owned(),
        lane: Lane::Stock,
        head: "{}".to_owned(),
        body: "{}".into(),
    };
    let state = machine.state();
    SqliteOutbox::open(&state).unwrap().append(vec![left]).await.unwrap();
    expect![[r#"
        exit 0
        err| note: changes of an earlier connection are stored here and will not be sent (1): `exchange logout` deletes them with everything else
    "#]]
    .assert_eq(&machine.run(&["outbox", "list"]).await.shown());
    let list = machine.json(&["outbox", "list"]).await.json();
    assert_eq!((&list["items"], &list["ofEarlierConnections"]), (&json!([]), &json!(1)));
    let status = machine.json(&["status"]).await;
    assert_eq!(
        (&status.json()["outbox"], &status.json()["ofEarlierConnections"]),
        (&json!(0), &json!(1)),
        "{}",
        status.shown()
    );
    assert!(status.err.contains("an earlier connection"), "{}", status.shown());
    // Changes of this connection are counted separately.
    held(&machine).await;
    let list = machine.json(&["outbox", "list"]).await.json();
    assert_eq!((list["items"].as_array().unwrap().len(), &list["ofEarlierConnections"]), (1, &json!(1)));
    assert_eq!(machine.run(&["logout", "--yes"]).await.code, 0);
    assert!(SqliteOutbox::open(&state).unwrap().owners().await.unwrap().is_empty());
}

/// CLI-04: if an outcome cannot be reported, the output states that the change is stored, so that the user
/// does not send it again.
#[tokio::test]
async fn unreportable_outcome_is_retained() {
    let machine = TestMachine::synced().await;
    let telling = machine.state().join("telling");
    std::fs::write(&telling, "").unwrap();
    let ran = machine.run(&rifles("3pc")).await;
    let kept = "change 1 is stored: `exchange outbox show 1` shows its state";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().next()), (1, "", Some(kept)), "{}", ran.shown());
    std::fs::remove_file(&telling).unwrap();
    let result = machine.run(&["outbox", "retry", "1"]).await;
    assert!(result.code == 0 && result.out.contains("applied"), "{}", result.shown());
}

/// A change stays in the outbox while the exchange is switched off, and `retry` sends it later.
#[tokio::test]
async fn change_is_stored_until_the_exchange_accepts_it() {
    let machine = TestMachine::synced().await;
    machine.sandbox.act("sandbox-admin", SandboxAction::Switch { on: false }).await.unwrap();
    let ran = machine.json(&rifles("3pc")).await;
    let document = ran.json();
    assert_eq!((ran.code, &document["changes"][0]["state"]), (6, &json!("pending")), "{}", ran.shown());
    assert_eq!(document["changes"][0]["error"]["code"], "EXCHANGE_DISABLED");
    // CLI-02: later runs respect the `Retry-After` time of this response, unless it has expired.
    machine.pass(30);
    // A dry run fails as well, and its ops are not stored.
    assert_ne!(machine.run(&[&rifles("4pc")[..], &["--dry-run"]].concat()).await.code, 0);
    machine.pass(30);
    assert_ne!(machine.run(&["outbox", "retry"]).await.code, 0);
    machine.pass(30);
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"].as_array().unwrap().len(), 1);
    machine.sandbox.act("sandbox-admin", SandboxAction::Switch { on: true }).await.unwrap();
    expect![[r#"
        exit 0
        out| OP                RESULT   WHY
        out| 1   set-quantity  applied
    "#]]
    .assert_eq(&machine.run(&["outbox", "retry"]).await.shown());
    expect![[r#"
        exit 0
        err| no stored change can be sent now
    "#]]
    .assert_eq(&machine.run(&["outbox", "retry"]).await.shown());
}

/// A change stays in the outbox while there is no network. A change without the required scope is not stored.
#[tokio::test]
async fn change_is_stored_without_a_network() {
    let machine = TestMachine::signed_out().await;
    machine.login(&["--allow", "stock.read", "--allow", "stock.write"]).await;
    let (origin, TestMachine { sandbox, home }) = (machine.sandbox.origin(), machine);
    sandbox.stop().await;
    let run = async |args: &[&str]| {
        let mut command = command_with_home(&home);
        command.env("EXCHANGE_SANDBOX", &origin).args(args);
        finish(command).await
    };
    let ran: CommandResult = run(&rifles("3pc")).await;
    assert_eq!(ran.code, 6, "{}", ran.shown());
    assert!(ran.err.contains("change 1 is stored") && ran.err.contains("check the network"), "{}", ran.err);
    // The error names host and cause.
    let refused = format!("cannot connect to {}: Connection refused", origin.trim_start_matches("http://"));
    assert!(cfg!(not(unix)) || ran.err.contains(&refused), "{}", ran.err);
    assert_eq!(run(&["blueprints", "add", "Sandbox Knife"]).await.code, 4);
    expect![[r#"
        exit 0
        out| NUMBER  AREA   OPS  STATE    CODE  NEXT
        out|      1  stock    1  pending        it is sent with the next change of its area, or with `retry`
    "#]]
    .assert_eq(&run(&["outbox", "list"]).await.shown());
    assert_eq!(run(&["outbox", "drop", "1", "--force"]).await.code, 0);
}

/// CLI-04: a run whose output is not read, for example in a pager, does not block other runs, and other runs
/// do not report its outcomes.
#[tokio::test]
async fn unread_output_does_not_block_other_runs() {
    let machine = TestMachine::synced().await;
    let op = |quality: u32| {
        json!({
            "op": "set-quantity", "material": {"name": "Sandbox Metal"}, "location": {"name": "Sandbox City Hangar"},
            "quality": quality, "stolen": false, "expectedQuantity": {"amount": 0, "unit": "SCU"},
            "quantity": {"amount": 1, "unit": "SCU"},
        })
    };
    // The output is larger than the buffer of a pipe.
    let ops: Vec<Value> = (0..1000).map(op).collect();
    let file = machine.file("ops.json", &json!(ops).to_string());
    let mut command = machine.command(&["--json", "stock", "change", &file]);
    let mut read = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    read.stdout.as_mut().unwrap().read_exact(&mut first).await.unwrap();
    // The command is now printing and cannot finish.
    let other = tokio::time::timeout(Duration::from_secs(60), machine.json(&rifles("3pc"))).await.unwrap();
    let document = other.json();
    assert_eq!((other.code, document["changes"].as_array().unwrap().len()), (0, 1), "{}", other.shown());
    assert_eq!((&document["changes"][0]["own"], &document["applied"]), (&json!(true), &json!(1)));
    let rest = wait_for_exit(read).await;
    let document: Value = serde_json::from_str(&format!("{{{}", rest.out)).unwrap();
    assert_eq!((rest.code, &document["applied"]), (0, &json!(1000)));
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// CLI-04: if several commands run concurrently, each reports the outcome of its own change.
#[tokio::test]
async fn concurrent_commands_report_their_own_outcome() {
    let machine = TestMachine::synced().await;
    let qualities = ["1", "2", "3", "4", "5", "6"];
    let place = ["--at", "Sandbox City Hangar", "--from", "0scu", "--to", "1scu"];
    let begin = |quality: &str| {
        let args = [&["--json", "stock", "set", "Sandbox Metal", "--quality", quality], &place[..]].concat();
        let mut command = machine.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = qualities.iter().map(|quality| begin(quality)).collect();
    for child in children {
        let ran = wait_for_exit(child).await;
        let document = ran.json();
        let changes = document["changes"].as_array().unwrap();
        assert_eq!((ran.code, &document["applied"], changes.len()), (0, &json!(1), 1), "{}", ran.shown());
    }
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}
