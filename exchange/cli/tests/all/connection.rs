//! Tests of login, logout, and the state of a connection.

use std::process::Stdio;

use exchange_service::sandbox::SandboxAction;
use expect_test::expect;
use serde_json::Value;

use crate::test_machine::{MEMBER, TestMachine, wait_for_exit};

/// IDP-05, IDP-11, IDP-12, IDP-13: `login` prints the code and the plain URL in one event. Exactly the
/// requested scopes are granted.
#[tokio::test]
async fn login_shows_code_and_plain_url() {
    let machine = TestMachine::signed_out().await;
    let (login_event, child) = machine.begin_login(&["--allow", "stock.read", "--label", "Desk 1"]).await;
    assert_eq!(login_event["event"], "authorization_required");
    let address = login_event["verificationUri"].as_str().unwrap();
    let code = login_event["userCode"].as_str().unwrap();
    assert!(!address.contains(code) && !address.contains('?'), "{address}");
    assert!(login_event.as_object().unwrap().len() == 4, "{login_event}");
    machine.sandbox.approve(code, MEMBER).await.unwrap();
    let ran = wait_for_exit(child).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "result");
    assert_eq!(last["label"], "Desk 1");
    assert_eq!(last["capabilities"], serde_json::json!(["exchange.connect", "exchange.stock.read"]));
    expect![[r#"
        exit 0
        out| state              connected
        out| identity provider  <origin>/idp
        out| gateway            <origin>
        out| profile            default
        out| secrets in         insecure files
        out| installation       <random>
        out| label              Desk 1
        out| blueprints         not read yet
        out| stock              not read yet
        out| ships              not read yet
        out| org-stock          not read yet
        out| outbox             empty
    "#]]
    .assert_eq(&machine.run(&["status"]).await.shown());
    expect![[r#"
        exit 0
        out| connected        yes
        out| installation     <random>
        out| label            Desk 1
        out| may              connect, stock.read
        out| ops in a change  500
        out| documentation    https://docs.exchange.example/
    "#]]
    .assert_eq(&machine.run(&["whoami"]).await.shown());
    // An operation without the required scope is rejected before it is sent.
    expect![[r#"
        exit 4
        err| error: this command needs the scope exchange.orgunits.read, which was not granted at sign-in
        err|   -> sign in again with --allow to grant it
    "#]]
    .assert_eq(&machine.run(&["org-units", "list"]).await.shown());
    // IDP-24: every step of `logout` is reported, and the member is signed out afterwards.
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
    // The file store was removed with the connection, so `status` uses the platform's store, which does not
    // exist here.
    assert!(machine.json(&["status"]).await.error()["message"].as_str().unwrap().contains("secret store"));
}

/// SVC-12: the instructions of a login are written to the standard error, and only the result to the standard
/// output. If no label was given, the output names the command that sets one.
#[tokio::test]
async fn login_prints_instructions_on_stderr() {
    let machine = TestMachine::signed_out().await;
    let mut command = machine.command(&["login", "--insecure-storage"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = String::new();
    {
        use tokio::io::{AsyncBufReadExt as _, BufReader};
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            output += &format!("{line}\n");
            if line.starts_with("Type only") {
                break;
            }
        }
    }
    let code = output.lines().find_map(|line| line.strip_prefix("Type   ")).unwrap().to_owned();
    machine.sandbox.approve(&code, MEMBER).await.unwrap();
    let ran = wait_for_exit(child).await;
    let output = crate::test_machine::normal(&output.replace(&code, "<code>"));
    expect![[r#"
        note: anyone who can read your files can act as you: a file contains the secrets
        Open   <origin>/device
        Type   <code>
        Type only a code that you see here: no one will ever ask you for one.
    "#]]
    .assert_eq(&output);
    expect![[r#"
        exit 0
        out| connected        yes
        out| installation     <random>
        out| may              blueprints.read, connect, hangar.read, orgunits.read, stock.read
        out| ops in a change  500
        out| documentation    https://docs.exchange.example/
        err| this connection has no label yet; set one with `exchange label TEXT`
    "#]]
    .assert_eq(&ran.shown());
}

/// ERR-45, IDP-18: if the member declines or interrupts the login, nothing is stored, and the next login
/// selects the secret store anew.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn failed_login_stores_nothing() {
    let machine = TestMachine::signed_out().await;
    let (login_event, child) = machine.begin_login(&[]).await;
    machine.sandbox.decline(login_event["userCode"].as_str().unwrap(), MEMBER).await.unwrap();
    let ran = wait_for_exit(child).await;
    assert_eq!(ran.code, 3, "{}", ran.shown());
    assert_nothing_stored(&machine).await;
    let (_, child) = machine.begin_login(&[]).await;
    let id = child.id().unwrap().to_string();
    assert!(tokio::process::Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let ran = wait_for_exit(child).await;
    assert_eq!(ran.code, 130, "{}", ran.shown());
    assert_nothing_stored(&machine).await;
    // A failed login does not remove a file store that an earlier login selected, nor its session.
    machine.login(&[]).await;
    let (login_event, child) = machine.begin_login(&[]).await;
    machine.sandbox.decline(login_event["userCode"].as_str().unwrap(), MEMBER).await.unwrap();
    assert_eq!(wait_for_exit(child).await.code, 3);
    let status = machine.json(&["status"]).await;
    assert_eq!((status.code, &status.json()["secretStore"]), (0, &Value::from("insecure files")));
}

/// Asserts that there is no folder for secrets, and that `status` uses the platform's store, which is
/// missing.
#[cfg(target_os = "linux")]
async fn assert_nothing_stored(machine: &TestMachine) {
    let mut folders = vec![machine.home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.ends_with("credentials"), "{path:?}");
            folders.extend(path.is_dir().then_some(path));
        }
    }
    let status = machine.json(&["status"]).await;
    assert!(status.error()["message"].as_str().unwrap().contains("secret store"), "{}", status.shown());
}

/// IDP-05: a login with more capabilities keeps the earlier ones, unless `--only` is given.
#[tokio::test]
async fn login_with_more_capabilities_keeps_earlier_ones() {
    let machine = TestMachine::signed_out().await;
    let capabilities =
        async |machine: &TestMachine| machine.json(&["whoami"]).await.json()["capabilities"].to_string();
    machine.login(&["--allow", "stock.read", "--allow", "stock.write"]).await;
    machine.login(&["--allow", "orgunits.read"]).await;
    expect![[
        r#"["exchange.connect","exchange.orgunits.read","exchange.stock.read","exchange.stock.write"]"#
    ]]
    .assert_eq(&capabilities(&machine).await);
    machine.login(&[]).await;
    expect![[
        r#"["exchange.connect","exchange.orgunits.read","exchange.stock.read","exchange.stock.write"]"#
    ]]
    .assert_eq(&capabilities(&machine).await);
    machine.login(&["--allow", "stock.read", "--only"]).await;
    expect![[r#"["exchange.connect","exchange.stock.read"]"#]].assert_eq(&capabilities(&machine).await);
}

/// CLI-04: if a step after the sign-in fails, the output contains the sign-in, the error, and the step that
/// was not done.
#[tokio::test]
async fn login_is_reported_even_if_later_steps_fail() {
    let machine = TestMachine::signed_out().await;
    let (login_event, child) = machine.begin_login(&["--label", "Desk 1"]).await;
    machine.sandbox.act("sandbox-admin", SandboxAction::Switch { on: false }).await.unwrap();
    machine.sandbox.approve(login_event["userCode"].as_str().unwrap(), MEMBER).await.unwrap();
    let ran = wait_for_exit(child).await;
    assert_eq!(ran.code, 6, "{}", ran.shown());
    assert_eq!(ran.out.lines().last(), Some(r#"{"event":"signed_in"}"#), "{}", ran.shown());
    let lines: Vec<&str> = ran.err.lines().collect();
    let notes = [
        "note: anyone who can read your files can act as you: a file contains the secrets",
        "you are signed in: `exchange whoami` shows the permissions of this connection",
        "the label is not set yet: run exchange label \"Desk 1\"",
    ];
    assert_eq!(lines[..3], notes);
    assert!(lines[3].contains("EXCHANGE_DISABLED"), "{}", ran.shown());
    let status = machine.json(&["status"]).await;
    assert_eq!((status.code, &status.json()["state"]), (0, &Value::from("active")));
}

/// OST-14, DEM-10: a new member does not see data of the earlier member.
#[tokio::test]
async fn another_member_sees_no_earlier_data() {
    let machine = TestMachine::synced().await;
    assert_eq!(machine.run(&["demand", "list"]).await.code, 0);
    let orders = SandboxAction::JobOrder { order: "job-order-plating".into(), state: "completed".into() };
    machine.sandbox.act(MEMBER, orders).await.unwrap();
    let ran = machine.login_as("sandbox-member-2", &["--all"]).await;
    assert!(ran.err.contains("local entries deleted: 10 of blueprints"), "{}", ran.shown());
    for list in ["blueprints", "stock", "ships", "org-stock"] {
        let ran = machine.run(&[list, "list"]).await;
        assert!(ran.code == 1 && ran.err.contains("read yet"), "{}", ran.shown());
    }
    // The demand is requested again, although it was read for the other member a moment ago.
    let demand = machine.run(&["demand", "list"]).await;
    assert!(demand.code == 0 && !demand.out.contains("35 SCU"), "{}", demand.shown());
}

/// IDP-18: without the platform's store, a login fails. Files are used only if the member requests it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn secrets_are_stored_in_the_chosen_store() {
    let machine = TestMachine::signed_out().await;
    for command in ["login", "status", "locations"] {
        let ran = machine.json(&[command]).await;
        let error = ran.error();
        assert_eq!((ran.code, &error["code"]), (1, &Value::from("failed")), "{}", ran.shown());
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("the secret store (Secret Service) "), "{message}");
        assert!(error["next"].as_str().unwrap().contains("--insecure-storage"), "{error}");
    }
    assert_nothing_stored(&machine).await;
}

/// IDP-18, IDP-24, CLI-06: without the secret store, `status` shows the saved summary, `logout` deletes it,
/// and the next login can use another store.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn logout_works_without_the_secret_store() {
    let machine = TestMachine::synced().await;
    // From now on, the platform's store is used, which does not exist here.
    std::fs::remove_dir_all(machine.state().join("credentials")).unwrap();
    let status = machine.json(&["status"]).await;
    let known = status.json();
    assert_eq!((status.code, &known["state"], &known["why"]), (1, &"unknown".into(), &"secret-store".into()));
    assert!(known["message"].as_str().unwrap().starts_with("the secret store (Secret Service) "), "{known}");
    assert!(known["next"].as_str().unwrap().contains("--insecure-storage"), "{known}");
    assert_eq!(known["areas"]["stock"]["entries"], 6);
    assert!(known["installationId"].is_string() && known["scopes"].as_array().unwrap().len() > 2, "{known}");
    // It is unknown whether the platform's store contains a session, so a login with the file store is
    // rejected.
    let refused = machine.run(&["login", "--insecure-storage"]).await;
    assert_eq!(refused.code, 7, "{}", refused.shown());
    let gone = machine.json(&["logout", "--yes"]).await;
    assert_eq!(gone.code, 1, "{}", gone.shown());
    let steps = gone.json()["steps"].clone();
    let done: Vec<_> = steps.as_array().unwrap().iter().map(|step| step["done"].as_bool().unwrap()).collect();
    assert_eq!(done, [false, false, false, true, true, true, true], "{steps}");
    assert!(steps[1]["result"].as_str().unwrap().starts_with("no: the secret store "), "{steps}");
    let list = machine.run(&["stock", "list"]).await;
    assert!(list.code == 1 && list.err.contains("read yet"), "{}", list.shown());
    machine.login(&[]).await;
    assert_eq!(machine.json(&["status"]).await.json()["state"], "active");
}

/// IDP-18: anonymous operations work without a secret store.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_contract_needs_no_secret_store() {
    let machine = TestMachine::signed_out().await;
    let openapi = machine.json(&["api", "contract_openapi"]).await;
    assert_eq!((openapi.code, openapi.err.as_str()), (0, ""), "{}", openapi.shown());
    assert!(openapi.json()["openapi"].is_string());
    let refused = machine.json(&["api", "stock_read"]).await;
    assert!(
        refused.error()["message"].as_str().unwrap().starts_with("the secret store "),
        "{}",
        refused.shown()
    );
    assert_nothing_stored(&machine).await;
}

/// IDP-18: secret files that other accounts can read are rejected, and the advice is about files.
#[cfg(unix)]
#[tokio::test]
async fn file_store_advice_mentions_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = TestMachine::connected().await;
    let folder = machine.state().join("credentials");
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for entry in std::fs::read_dir(&folder).unwrap() {
        set(&entry.unwrap().path(), 0o644);
    }
    let refused = machine.json(&["whoami"]).await.error();
    for status in [refused, machine.json(&["status"]).await.json()] {
        assert!(status["message"].as_str().unwrap().contains("other accounts can read its file"), "{status}");
        let next = status["next"].as_str().unwrap();
        assert!(next.contains("chmod 600") && !next.contains("unlock"), "{next}");
    }
    set(&folder, 0o755);
    let refused = machine.json(&["status"]).await.error();
    assert!(refused["next"].as_str().unwrap().contains("chmod 700"), "{refused}");
}

/// IDP-25, CLI-03: after the member disconnects the client on the website, commands report it, exit with 4,
/// and do not start a login.
#[tokio::test]
async fn ended_connection_requires_a_login() {
    let machine = TestMachine::connected().await;
    machine
        .sandbox
        .act(MEMBER, SandboxAction::Disconnect { client: "sandbox-client".to_owned() })
        .await
        .unwrap();
    let ran = machine.json(&["locations"]).await;
    assert_eq!(ran.code, 4, "{}", ran.shown());
    assert_eq!(ran.error()["code"], "CLIENT_REVOKED");
    let status = machine.json(&["status"]).await;
    assert_eq!(status.code, 4, "{}", status.shown());
}
