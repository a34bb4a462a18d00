//! Tests of commands that do not need the exchange: envelopes, completions, and the configuration.

use expect_test::expect;

use crate::test_machine::{command_with_home, finish, run_command};

/// DRF-01, DRF-03: `envelope write` writes a valid envelope, and `envelope check` reports private data with
/// its position.
#[tokio::test]
async fn envelopes_are_written_and_checked() {
    let written = run_command(
        &["envelope", "write", "-", "Sandbox Rifle", "bt:bp-1", "--acquired-at", "2026-01-31T12:00:00Z"],
        "",
    )
    .await;
    assert_eq!(written.code, 0, "{}", written.shown());
    let checked = run_command(&["envelope", "check", "-"], &written.out).await;
    expect![[r#"
        exit 0
        out| envelope    accepted by the web import
        out| version     1.0
        out| blueprints  2
        out| written by  exchange-cli 0.1.0
    "#]]
    .assert_eq(&checked.shown());
    let checked = run_command(&["--json", "envelope", "check", "-"], &written.out).await;
    expect![[r#"
        exit 0
        out| {"blueprints":2,"formatVersion":"1.0","undeclared":[],"valid":true}
    "#]]
    .assert_eq(&checked.shown());
    let private = r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "C:\\Users\\hush\\x"}}]}"#;
    let refused = run_command(&["envelope", "check", "-"], private).await;
    expect![[r#"
        exit 1
        err| error: file paths at /items/0/ref/name reveal details of this computer
        err|   -> remove them before you share the file
    "#]]
    .assert_eq(&refused.shown());
    let broken =
        run_command(&["envelope", "check", "-"], r#"{"format": "svc.blueprints", "items": [{"ref": {}}]}"#)
            .await;
    expect![[r#"
        exit 1
        err| error: the file is not an envelope:
        err|   /items/0/ref: anyOf
        err|   -> correct it, or write a new one with `envelope write`
    "#]]
    .assert_eq(&broken.shown());
    // DRF-02: a file with another major version is rejected.
    let later = run_command(
        &["--json", "envelope", "check", "-"],
        r#"{"format": "svc.blueprints", "formatVersion": "01.0", "items": []}"#,
    )
    .await;
    expect![[r#"
        exit 1
        err| {"error":{"code":"failed","exit":1,"message":"/formatVersion: unsupported major version; only 1.x is supported","next":"write it with a program that writes version 1"}}
    "#]].assert_eq(&later.shown());
    // CLI-05: a file path is not accepted as a product.
    let path = run_command(&["envelope", "write", "-", "/srv/hush/list.txt"], "").await;
    expect![[r#"
        exit 2
        err| error: name must not contain the path of a file
        err|   -> see --help
    "#]]
    .assert_eq(&path.shown());
}

/// The file is written, and only the standard error reports it.
#[tokio::test]
async fn an_envelope_is_written_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("blueprints.json");
    let mut command = command_with_home(&home);
    command.args(["envelope", "write"]).arg(&file).arg("Sandbox Rifle");
    let ran = finish(command).await;
    expect![[r#"
        exit 0
        err| 1 blueprint written
    "#]]
    .assert_eq(&ran.shown());
    assert!(std::fs::read_to_string(file).unwrap().contains("Sandbox Rifle"));
    // An existing file is replaced only on request.
    let write = |more: &[&str]| {
        let mut command = command_with_home(&home);
        let file = home.path().join("blueprints.json");
        command.args(["envelope", "write"]).arg(file).arg("Sandbox Knife").args(more);
        finish(command)
    };
    let kept = write(&[]).await;
    assert!(kept.code == 2 && kept.err.contains("blueprints.json exists already"), "{}", kept.shown());
    let content = || std::fs::read_to_string(home.path().join("blueprints.json")).unwrap();
    assert!(!content().contains("Sandbox Knife"));
    assert_eq!(write(&["--force"]).await.code, 0);
    assert!(content().contains("Sandbox Knife"));
    // If the file cannot be written, the error contains its name and the reason.
    let nowhere = home.path().join("nowhere").join("blueprints.json");
    let mut command = command_with_home(&home);
    command.args(["envelope", "write"]).arg(&nowhere).arg("Sandbox Rifle");
    let ran = finish(command).await;
    let named = format!("error: {}: No such file or directory", nowhere.display());
    assert!(ran.code == 1 && ran.err.starts_with(&named), "{}", ran.shown());
}

/// `completions` supports every shell.
#[tokio::test]
async fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = run_command(&["completions", shell], "").await;
        assert!(ran.code == 0 && ran.err.is_empty() && ran.out.contains("org-stock"), "{shell}");
    }
}

/// `man` writes a page for each command.
#[tokio::test]
async fn commands_have_manual_pages() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("new/man1");
    let ran = run_command(&["man", folder.to_str().unwrap()], "").await;
    assert!(ran.code == 0 && ran.err.is_empty(), "{}", ran.shown());
    for (page, text) in [("exchange.1", "exchange\\-stock(1)"), ("exchange-stock-list.1", "\\-\\-json")] {
        let page = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(page.contains(text), "{text}: {page}");
    }
}

/// IDP-03: without the environment variable of a sandbox, the configuration file selects the exchange. The
/// file has no setting for a sandbox.
#[tokio::test]
async fn exchange_is_configured() {
    expect![[r#"
        exit 2
        err| error: no exchange is configured
        err|   -> write issuer, gateway, client-id and info-url into a file, and pass its path with --config or in EXCHANGE_CONFIG
    "#]].assert_eq(&run_command(&["locations"], "").await.shown());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.toml");
    let run = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut command = command_with_home(&home);
        command.env("EXCHANGE_CONFIG", &file).args(["--json", "locations"]);
        let shown = finish(command).await.shown();
        shown.replace(&*file.display().to_string(), "<file>")
    };
    let valid_config = "issuer = \"https://id.test\"\ngateway = \"https://gateway.test\"\nclient-id = \"desk\"\ninfo-url = \"https://desk.test\"\n";
    // The configuration is valid, so the command fails only because there is no secret store.
    expect![[r#"
        exit 1
        err| {"error":{"code":"failed","exit":1,"message":"the secret store (Secret Service) is not available: zbus error: Failed to connect to address `unix:path=/nonexistent/bus`: No such file or directory (os error 2)","next":"unlock the secret store of this computer, or sign in with --insecure-storage to keep the secrets in a file"}}
    "#]]
    .assert_eq(&run(valid_config).await);
    expect![[r#"
        exit 2
        err| {"error":{"code":"usage","exit":2,"message":"<file>: unknown field `sandbox`, expected one of `issuer`, `gateway`, `client-id`, `info-url`","next":"see --help"}}
    "#]].assert_eq(&run(&format!("{valid_config}sandbox = true\n")).await);
    expect![[r#"
        exit 2
        err| {"error":{"code":"usage","exit":2,"message":"\"http://gateway.test\" is not an https URL: without TLS, requests can be modified in transit","next":"see --help"}}
    "#]].assert_eq(&run(&valid_config.replace("https://gateway", "http://gateway")).await);
    let mut command = command_with_home(&home);
    command.env("EXCHANGE_SANDBOX", "http://far.test").args(["locations"]);
    expect![[r#"
        exit 2
        err| error: EXCHANGE_SANDBOX: "http://far.test/idp" is not an https URL: without TLS, requests can be modified in transit
        err|   -> see --help
    "#]].assert_eq(&finish(command).await.shown());
}

/// An invalid command line is a usage error, and nothing is written to the standard output.
#[tokio::test]
async fn invalid_arguments_are_a_usage_error() {
    for args in
        [&["none"][..], &["stock", "set"], &["--color", "blue", "status"], &["login", "--allow", "openid"]]
    {
        let ran = run_command(args, "").await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.shown());
    }
}

/// `--config` does not select the exchange if the environment selects a sandbox, so the two together are an error.
#[tokio::test]
async fn config_contradicts_a_sandbox() {
    let home = tempfile::tempdir().unwrap();
    let mut command = command_with_home(&home);
    command.env("EXCHANGE_SANDBOX", "http://127.0.0.1:1").args(["--config", "exchange.toml", "status"]);
    let ran = finish(command).await;
    expect![[r#"
        exit 2
        err| error: --config exchange.toml and EXCHANGE_SANDBOX name different exchanges
        err|   -> omit --config, or unset EXCHANGE_SANDBOX
    "#]]
    .assert_eq(&ran.shown());
}

/// An input file that cannot be read or parsed has the same exit code in all commands, and the error names a missing
/// file.
#[tokio::test]
async fn broken_input_files_have_one_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let broken = home.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    let missing = home.path().join("missing.json");
    for (file, is_missing) in [(&broken, false), (&missing, true)] {
        let file = file.to_str().unwrap();
        for args in
            [&["stock", "change", file][..], &["draft", "refinery", file], &["draft", "blueprints", file]]
        {
            let mut command = command_with_home(&home);
            command.env("EXCHANGE_SANDBOX", "http://127.0.0.1:1").args(args);
            let ran = finish(command).await;
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.shown());
            assert!(!is_missing || ran.err.contains("missing.json"), "{args:?}: {}", ran.shown());
        }
    }
}
