//! Tests of `api`, colors, pipes, and secrets.

use std::process::Stdio;

use expect_test::expect;

use crate::{
    intercepting_proxy::InterceptingProxy,
    test_machine::{LOGIN, MEMBER, TestMachine, finish, start_login, wait_for_exit},
};

/// `api` can call any operation of the contract.
#[tokio::test]
async fn any_operation_can_be_called() {
    let machine = TestMachine::connected().await;
    expect![[r#"
        exit 0
        out| {
        out|   "items": [
        out|     {
        out|       "id": "unit-iridium",
        out|       "name": "IRIDIUM",
        out|       "shorthand": "IRI",
        out|       "kind": "ORGANISATIONSLEITUNG"
        out|     },
        out|     {
        out|       "id": "unit-squadron",
        out|       "name": "Sandbox Squadron",
        out|       "shorthand": "SBX",
        out|       "kind": "SQUADRON"
        out|     }
        out|   ]
        out| }
    "#]]
    .assert_eq(&machine.run(&["api", "org_units_read"]).await.shown());
    let page = machine.json(&["api", "stock_read", "--limit", "2"]).await.json();
    assert_eq!((page["items"].as_array().unwrap().len(), &page["hasMore"]), (2, &true.into()));
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = machine.json(&["api", "stock_read", "--limit", "2", "--cursor", cursor]).await.json();
    assert_ne!(next["items"], page["items"]);
    // An anonymous operation with a path parameter works.
    let schema = machine.json(&["api", "contract_schema", "--name", "page"]).await.json();
    assert!(schema["$id"].as_str().unwrap().ends_with("/page.schema.json"));
    // A write prints its idempotency key, with which the call can be repeated.
    let body = r#"{"ops": [{"op": "add", "ref": {"bt": "bp-sandbox-knife"}}]}"#;
    let first = machine.json(&["api", "blueprints_write", "--body", body]).await;
    let key = first.err.trim().strip_prefix("idempotency key: ").unwrap().to_owned();
    assert_eq!(first.json()["applied"], 1);
    let again = machine
        .run(&["api", "blueprints_write", "--include", "--idempotency-key", &key, "--body", body])
        .await;
    assert!(again.out.contains("idempotency-replayed: true"), "{}", again.shown());
    // With `--json`, the response head is part of the document.
    let args = ["api", "blueprints_write", "--include", "--idempotency-key", &key, "--body", body];
    let again = machine.json(&args).await.json();
    assert_eq!((&again["status"], &again["body"]["applied"]), (&200.into(), &1.into()));
    assert_eq!(again["headers"]["idempotency-replayed"], "true");
    // A request that violates the contract is not sent, and the error contains the JSON Pointer of the
    // violation.
    let wrong = machine.run(&["api", "blueprints_write", "--body", r#"{"ops": []}"#]).await;
    assert_eq!(wrong.code, 2);
    expect![[r#"
        error: the request violates the contract and was not sent: /ops must have at least 1 element
          -> correct it before sending it again"#]]
    .assert_eq(&crate::test_machine::normal(&wrong.err.lines().skip(1).collect::<Vec<_>>().join("\n")));
    // An error response of the exchange is reported with its code.
    let gone = machine.json(&["api", "stock_read", "--cursor", "none"]).await;
    assert_eq!((gone.code, gone.error()["code"].as_str()), (7, Some("CURSOR_EXPIRED")));
}

/// CLI-05, DRF-05, DRF-13, DRF-14: secret links and ids are printed only on request. If the link cannot be
/// shown, no draft is staged.
#[tokio::test]
async fn secrets_are_printed_only_on_request() {
    let machine = TestMachine::connected().await;
    let home = machine.home.path().join("blueprints.json");
    let file = home.to_str().unwrap();
    assert_eq!(machine.run(&["envelope", "write", file, "Sandbox Knife"]).await.code, 0);
    // The link cannot be opened here, so the exchange is not contacted.
    let mut nowhere = machine.command(&["--json", "draft", "blueprints", file]);
    nowhere.env("http_proxy", "http://127.0.0.1:1");
    let waits = finish(nowhere).await;
    assert_eq!(waits.code, 7, "{}", waits.shown());
    assert!(waits.err.contains("--print-link") && !waits.err.contains("http"), "{}", waits.shown());
    assert!(!waits.err.contains("staged"), "{}", waits.shown());
    let printed = machine.json(&["draft", "blueprints", file, "--print-link"]).await;
    let link = printed.json()["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&machine.sandbox.origin()) && !printed.err.contains(&link));
    let body = std::fs::read_to_string(&home).unwrap();
    let hidden = machine.json(&["api", "drafts_blueprints", "--body", &body]).await.json();
    assert_eq!((&hidden["frontendUrl"], &hidden["handoffId"]), (&"[secret]".into(), &"[secret]".into()));
    let shown = machine.json(&["api", "drafts_blueprints", "--show-secrets", "--body", &body]).await.json();
    assert!(shown["frontendUrl"].as_str().unwrap().starts_with("http"));
    // No output contains a token or a nonce.
    let status = machine.json(&["status"]).await;
    let whoami = machine.run(&["api", "service_document", "--include"]).await;
    for text in [&status.out, &status.err, &whoami.out, &whoami.err] {
        assert!(!text.contains("eyJ") && !text.to_lowercase().contains("dpop-nonce"), "{text}");
    }
}

/// DRF-13: if the browser cannot be started, the link does not count as opened.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn failed_opener_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = TestMachine::connected().await;
    let home = machine.home.path().join("blueprints.json");
    let file = home.to_str().unwrap();
    assert_eq!(machine.run(&["envelope", "write", file, "Sandbox Knife"]).await.code, 0);
    let folder = machine.home.path().join("programs");
    std::fs::create_dir(&folder).unwrap();
    let opened_by = async |script: &str| {
        let program = folder.join("xdg-open");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = machine.command(&["--json", "draft", "blueprints", file, "--open"]);
        command.env("PATH", &folder);
        finish(command).await
    };
    let ran = opened_by("#!/bin/sh\nexit 3\n").await;
    let error = ran.error();
    let message = "the draft is staged, but no browser could be started";
    assert_eq!((ran.code, &error["message"]), (1, &message.into()), "{}", ran.shown());
    let next = error["next"].as_str().unwrap();
    assert!(next.contains("uses another write") && next.contains("--print-link"), "{error}");
    let ran = opened_by("#!/bin/sh\nexit 0\n").await;
    assert_eq!((ran.code, ran.json()["opened"].as_bool()), (0, Some(true)), "{}", ran.shown());
}

/// JSON has no colors, even with `--color always`, and the text format has none in a pipe by default.
#[tokio::test]
async fn colors_are_only_for_terminals() {
    let machine = TestMachine::connected().await;
    let escape = '\u{1b}';
    assert!(!machine.run(&["whoami"]).await.out.contains(escape));
    let coloured = machine.run(&["--color", "always", "whoami"]).await;
    assert!(coloured.out.contains("\u{1b}[32m"));
    let json = machine.run(&["--color", "always", "--json", "whoami"]).await;
    assert!(!json.out.contains(escape));
}

/// A closed pipe is not an error and does not change the exit code.
#[tokio::test]
async fn closed_pipe_is_not_an_error() {
    let machine = TestMachine::connected().await;
    let mut command = machine.command(&["api", "contract_openapi"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// A login succeeds even if its events are no longer read.
#[tokio::test]
async fn closed_pipe_does_not_end_a_login() {
    let machine = TestMachine::signed_out().await;
    let mut proxy = InterceptingProxy::to(&machine.sandbox.origin(), |request| {
        request.starts_with("POST ") && request.contains("/token")
    })
    .await;
    proxy.open();
    let mut login = machine.command(&LOGIN);
    proxy.route_command(&mut login);
    let (login_event, mut child) = start_login(login).await;
    drop(child.stdout.take());
    // The third poll follows two progress events that could not be written.
    for _ in 0..3 {
        proxy.wait_for_request().await;
    }
    machine.sandbox.approve(login_event["userCode"].as_str().unwrap(), MEMBER).await.unwrap();
    let ran = wait_for_exit(child).await;
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(machine.json(&["status"]).await.json()["state"], "active");
}
