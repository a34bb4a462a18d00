//! Tests of commands that are interrupted by Ctrl-C or killed during a change.

use std::process::Stdio;

use exchange_service::sandbox::SandboxAction;
use expect_test::expect;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{
    intercepting_proxy::InterceptingProxy,
    test_machine::{LOGIN, MEMBER, TestMachine, start_login, wait_for_exit},
    waiting::rifles,
};

/// If Ctrl-C interrupts sending a change, the change stays in the outbox, and the notice contains its number.
#[tokio::test]
async fn ctrl_c_names_the_stored_change() {
    let machine = TestMachine::synced().await;
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), is_change_of_stock).await;
    let mut command = machine.command(&rifles("3pc"));
    proxy.route_command(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    proxy.wait_for_request().await;
    send_signal(&child, "-INT").await;
    expect![[r#"
        exit 130
        err| change 1 is stored: `exchange outbox show 1` shows its state
    "#]]
    .assert_eq(&wait_for_exit(child).await.shown());
    // As long as the interrupted process might still be sending the change, `retry` does not send it.
    expect![[r#"
        exit 6
        err| note: change 1 is being sent, or was when its program ended: `exchange outbox retry` resumes it within two minutes
    "#]].assert_eq(&machine.run(&["outbox", "retry"]).await.shown());
    let next = machine.json(&rifles("4pc")).await;
    assert_eq!((next.code, &next.json()["changes"][0]["behind"]), (6, &json!(1)), "{}", next.shown());
}

/// With `--json`, the interruption is reported as one line of JSON, like every other error.
#[tokio::test]
async fn ctrl_c_is_reported_as_json() {
    let machine = TestMachine::synced().await;
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), is_change_of_stock).await;
    let mut command = machine.command(&[&["--json"], &rifles("3pc")[..]].concat());
    proxy.route_command(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    proxy.wait_for_request().await;
    send_signal(&child, "-INT").await;
    expect![[r#"
        exit 130
        err| {"error":{"code":"interrupted","exit":130,"message":"change 1 is stored: `exchange outbox show 1` shows its state","next":"see `outbox list`"}}
    "#]]
    .assert_eq(&wait_for_exit(child).await.shown());
    // A login that is interrupted before its approval leaves nothing behind, so the message has no details.
    let (_, child) = machine.begin_login(&[]).await;
    send_signal(&child, "-INT").await;
    let error = wait_for_exit(child).await.err;
    assert!(error.lines().any(|line| line.contains("\"message\":\"interrupted\"")), "{error}");
}

/// GW-12: the outbox does not store a write of `api`. If the write is interrupted before its response, the
/// notice contains the key for a retry.
#[tokio::test]
async fn ctrl_c_names_the_key_of_a_call() {
    let machine = TestMachine::connected().await;
    let body = r#"{"ops": [{"op": "add", "ref": {"bt": "bp-sandbox-knife"}}]}"#;
    let call = ["api", "blueprints_write", "--body", body];
    let broken_off = async |args: &[&str], awaited: fn(&str) -> bool| {
        let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), awaited).await;
        let mut command = machine.command(args);
        proxy.route_command(&mut command);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        proxy.wait_for_request().await;
        send_signal(&child, "-INT").await;
        wait_for_exit(child).await
    };
    let interrupted = broken_off(&call, is_change_of_blueprints).await;
    let key = interrupted.err.lines().next().unwrap().strip_prefix("idempotency key: ").unwrap();
    let shown = interrupted.shown().replace(key, "<key>");
    expect![[r#"
        exit 130
        err| idempotency key: <key>
        err| the call may have been carried out: repeat it unchanged within 23 hours with --idempotency-key <key>, so that it is carried out only once; after that, check first whether it was carried out
    "#]]
    .assert_eq(&shown);
    let interrupted = broken_off(&[&["--json"], &call[..]].concat(), is_change_of_blueprints).await;
    let error = interrupted.error();
    let key = error["idempotencyKey"].as_str().unwrap();
    assert_eq!((interrupted.code, &error["code"]), (130, &json!("interrupted")), "{}", interrupted.shown());
    assert!(error["message"].as_str().unwrap().starts_with("the call may have been carried out"), "{error}");
    let again = machine.json(&[&call[..], &["--idempotency-key", key]].concat()).await;
    assert_eq!((again.code, &again.json()["applied"]), (0, &json!(1)), "{}", again.shown());
    // After an interrupted read, nothing has to be reported.
    assert_eq!(broken_off(&["api", "org_units_read"], is_read_of_units).await.shown(), "exit 130\n");
}

/// A run that waits for another run reports this. If Ctrl-C interrupts it, it reports that nothing was
/// stored.
#[tokio::test]
async fn ctrl_c_while_waiting_for_the_lock_stores_nothing() {
    let machine = TestMachine::synced().await;
    let another = std::fs::File::create(machine.state().join("sending.lock")).unwrap();
    another.lock().unwrap();
    let waits = async |args: &[&str]| {
        let mut command = machine.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut notice = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut notice).await.unwrap();
        assert_eq!(notice, "waiting for another run of this program that is sending\n");
        child
    };
    let child = waits(&rifles("3pc")).await;
    send_signal(&child, "-INT").await;
    expect![[r#"
        exit 130
        err| nothing was stored or sent
    "#]]
    .assert_eq(&wait_for_exit(child).await.shown());
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
    // `drop` waits as well, because another run may be sending the change.
    let child = waits(&["outbox", "drop", "1"]).await;
    drop(another);
    assert_eq!(wait_for_exit(child).await.code, 2, "the change does not exist");
}

/// IDP-24, CLI-06: `logout --yes` works while a change is being sent, and deletes the change.
#[tokio::test]
async fn logout_works_while_a_change_is_sent() {
    let machine = TestMachine::synced().await;
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), is_change_of_stock).await;
    let mut command = machine.command(&rifles("3pc"));
    proxy.route_command(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    proxy.wait_for_request().await;
    send_signal(&child, "-KILL").await;
    let mut notice = String::new();
    child.stdout.take().unwrap().read_to_string(&mut notice).await.unwrap();
    assert_eq!((child.wait().await.unwrap().code(), notice.as_str()), (None, ""));
    assert_eq!(machine.run(&["logout"]).await.code, 7);
    expect![[r#"
        exit 0
        out| connection revoked: yes
        out| tokens deleted: yes
        out| key deleted: yes
        out| notes deleted: yes
        out| copies of blueprints, stock, ships, org stock and demand deleted: yes
        out| outbox deleted: yes
        out| names of the catalogue deleted: yes
    "#]]
    .assert_eq(&machine.run(&["logout", "--yes"]).await.shown());
    machine.login(&["--all"]).await;
    assert_eq!(machine.json(&["outbox", "list"]).await.json()["items"], json!([]));
}

/// OST-14: a login that ends before its approval changes nothing; the earlier connection and its data remain.
#[tokio::test]
async fn login_killed_before_approval_changes_nothing() {
    let machine = TestMachine::synced().await;
    for signal in ["-INT", "-KILL"] {
        let (_, child) = machine.begin_login(&[]).await;
        // Other commands work at the same time.
        assert_eq!(machine.run(&["stock", "list"]).await.code, 0);
        send_signal(&child, signal).await;
        wait_for_exit(child).await;
        assert_eq!(machine.run(&["stock", "list"]).await.code, 0);
        assert_eq!(machine.run(&["whoami"]).await.code, 0);
    }
}

/// OST-14, DEM-10: after the login of another member, no data of the earlier member is shown, even if the
/// login is killed before it removed that data.
#[tokio::test]
async fn login_killed_after_approval_hides_earlier_data() {
    let machine = TestMachine::synced().await;
    assert_eq!(machine.run(&["demand", "list"]).await.code, 0);
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), is_service_document).await;
    let mut login = machine.command(&LOGIN);
    proxy.route_command(&mut login);
    let (login_event, child) = start_login(login).await;
    machine.sandbox.approve(login_event["userCode"].as_str().unwrap(), "sandbox-member-2").await.unwrap();
    proxy.wait_for_request().await;
    send_signal(&child, "-KILL").await;
    wait_for_exit(child).await;
    expect![[r#"
        exit 1
        err| error: the local data of stock was not read for this connection
        err|   -> run `exchange sync` first
    "#]]
    .assert_eq(&machine.run(&["stock", "list"]).await.shown());
    for list in ["blueprints", "ships", "org-stock"] {
        assert_eq!(machine.run(&[list, "list"]).await.code, 1);
    }
    let status = machine.json(&["status"]).await.json();
    let stock = json!({ "asOf": null, "entries": 0, "ofAnother": true });
    assert_eq!((&status["state"], &status["areas"]["stock"]), (&json!("active"), &stock));
    // Demand that was read for the earlier member a moment ago is not reused.
    let orders = SandboxAction::JobOrder { order: "job-order-plating".into(), state: "completed".into() };
    machine.sandbox.act(MEMBER, orders).await.unwrap();
    let demand = machine.run(&["demand", "list"]).await;
    assert!(demand.code == 0 && !demand.out.contains("35 SCU"), "{}", demand.shown());
    assert!(demand.err.contains("local entries deleted: 10 of blueprints"), "{}", demand.shown());
    assert_eq!(machine.run(&["sync"]).await.code, 0);
    assert_eq!(machine.run(&["stock", "list"]).await.code, 0);
}

/// OST-14, DEM-10: data that a running command reads for the earlier member is not shown to the new member.
#[tokio::test]
async fn late_read_of_earlier_member_is_not_shown() {
    let machine = TestMachine::connected().await;
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), is_demand).await;
    let mut command = machine.command(&["demand", "list"]);
    proxy.route_command(&mut command);
    let late = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    proxy.wait_for_request().await;
    assert_eq!(machine.run(&["sync"]).await.code, 0);
    let copies = machine.home.path().join("cache");
    let (read, kept) = (copies.clone(), machine.home.path().join("kept"));
    std::fs::rename(&read, &kept).unwrap();
    machine.login_as("sandbox-member-2", &["--all"]).await;
    assert_eq!(machine.run(&["stock", "list"]).await.code, 1, "nothing was read for the new member");
    proxy.open();
    let late_run = wait_for_exit(late).await;
    assert!(late_run.code == 0 && late_run.out.contains("35 SCU"), "{}", late_run.shown());
    let orders = SandboxAction::JobOrder { order: "job-order-plating".into(), state: "completed".into() };
    machine.sandbox.act(MEMBER, orders).await.unwrap();
    let demand = machine.run(&["demand", "list"]).await;
    assert!(demand.code == 0 && !demand.out.contains("35 SCU"), "{}", demand.shown());
    // Simulate that data of the earlier member is stored after the new login.
    std::fs::remove_dir_all(&read).unwrap();
    std::fs::rename(&kept, &read).unwrap();
    for list in ["blueprints", "stock", "ships", "org-stock"] {
        let ran = machine.run(&[list, "list"]).await;
        assert!(ran.code == 1 && ran.err.contains("not read for this connection"), "{}", ran.shown());
    }
    let status = machine.run(&["status"]).await;
    let hidden = "stock              not read for this connection, and not shown before the next sync";
    assert!(status.code == 0 && status.out.contains(hidden), "{}", status.shown());
    assert_eq!(machine.run(&["sync"]).await.code, 0);
    assert_eq!(machine.run(&["stock", "list"]).await.code, 0);
}

fn is_change_of_stock(request: &str) -> bool {
    request.starts_with("POST ") && request.contains("/me/stock")
}

fn is_change_of_blueprints(request: &str) -> bool {
    request.starts_with("POST ") && request.contains("/me/blueprints")
}

fn is_read_of_units(request: &str) -> bool {
    request.starts_with("GET ") && request.contains("/me/org-units")
}

fn is_service_document(request: &str) -> bool {
    request.starts_with("GET ") && request.contains("/exchange/v1 ")
}

fn is_demand(request: &str) -> bool {
    request.starts_with("GET ") && request.contains("/org-demand")
}

async fn send_signal(child: &Child, signal: &str) {
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
}
