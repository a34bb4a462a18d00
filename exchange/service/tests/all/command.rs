//! Tests of the command line: output, errors, and exit codes.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

#[cfg(unix)]
mod operation;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use exchange_service::config::Config;
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use serde_json::Value;

use super::support::{CONTRACT_VALIDATOR, command};

fn run(arguments: &[&str], values: &[(&str, &str)]) -> Output {
    command(arguments).envs(values.iter().copied()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The configuration file overrides the defaults, and the environment overrides the file. The printed
/// configuration can be read again and is equivalent.
#[test]
fn configuration_merges_defaults_file_and_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exchange.toml");
    fs::write(&file, "docs-url = 'https://docs.example/'\n[limits]\nper-member = 7\nper-client = 8\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let values = [
        ("EXCHANGE_LIMITS__PER_MEMBER", "9"),
        ("EXCHANGE_SERVE__LISTEN", "127.0.0.1:1234"),
        ("EXCHANGE_SERVE__DATA", "/some where"),
        // These variables are not part of the configuration.
        ("EXCHANGE_LOG", "debug"),
        ("EXCHANGE_SANDBOX", "http://127.0.0.1:1"),
    ];
    let printed = run(&["config", "--config", file], &values);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let config: Config = toml::from_str(&text(&printed.stdout)).unwrap();
    let mut expect = Config { docs_url: "https://docs.example/".to_owned(), ..Config::default() };
    (expect.limits.per_member, expect.limits.per_client) = (9, 8);
    expect.serve.listen = "127.0.0.1:1234".parse().unwrap();
    expect.serve.data = "/some where".into();
    assert_eq!(config, expect);
    // The environment can also name the file; without a file, the defaults apply.
    assert!(text(&run(&["config"], &[("EXCHANGE_CONFIG", file)]).stdout).contains("per-member = 7"));
    let printed = text(&run(&["config"], &[]).stdout);
    let defaults: Config = toml::from_str(&printed).unwrap();
    assert_eq!(defaults, Config::default());
    // Keys that are not set are printed too.
    for unset in ["# certificate = ", "# pages-origin = ", "# [idp.external]"] {
        assert!(printed.lines().any(|line| line.starts_with(unset)), "{unset}: {printed}");
    }
    let schema: Value = text(&run(&["config", "--schema"], &[]).stdout).parse().unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let document = |config: &Config| {
        let table = toml::Table::try_from(config).unwrap();
        serde_json::to_value(table).unwrap()
    };
    assert!(schema.is_valid(&document(&expect)));
    let mut unknown = document(&expect);
    unknown["limits"]["per-members"] = 1.into();
    assert!(!schema.is_valid(&unknown));
}

/// An invalid value causes exit code 2. One line names its location, its key, the error and the next step.
/// `serve` also rejects the value before it changes anything.
#[test]
fn invalid_configuration_names_place_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exchange.toml");
    let path = file.to_str().unwrap();
    let check = |content: &str, values: &[(&str, &str)], expect: &[&str]| {
        fs::write(&file, content).unwrap();
        for verb in ["config", "serve"] {
            let refused = run(&[verb, "--config", path], values);
            let message = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{message}");
            for part in expect {
                assert!(message.contains(part), "{part}: {message}");
            }
            assert!(message.starts_with("error: ") && message.contains("\n  -> "), "{message}");
        }
    };
    check(
        "[limits]\nper-member = 'many'",
        &[],
        &[path, "limits.per-member", "expected u32", "`exchange-service config`"],
    );
    check(
        "",
        &[("EXCHANGE_LIMITS__PER_MEMBER", "many")],
        &["limits.per-member", "EXCHANGE_LIMITS__PER_MEMBER", "u32"],
    );
    check("[limits]\nper-members = 1", &[], &[path, "per-members", "per-member"]);
    check(
        "[serve]\nrole = 'gateway'",
        &[],
        &["serve.backend", "a gateway needs its backend's address", "role"],
    );
    check("gateway-origin = 'exchange.example'", &[], &[path, "gateway-origin", "https://exchange.example"]);
    check("[idp.external]", &[], &["pages-origin", "the issuer is external"]);
    check("[log]\nlevel = 'exchange_service=loud'", &[], &[path, "log.level", "write a level such as info"]);
    check("not toml", &[], &[path]);
    check("[idp]\npassword-kib = 4", &[], &[path, "idp.password-kib", "write at least 8"]);
    check("", &[("EXCHANGE_IDP__PASSWORD_PASSES", "0")], &["EXCHANGE_IDP__PASSWORD_PASSES", "at least 1"]);
    let missing = run(&["config", "--config", "/nowhere/exchange.toml"], &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("/nowhere/exchange.toml"));
    let unknown = run(&["serve", "--confg", path], &[]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("--config"), "the error suggests the right flag");
}

/// A missing argument is reported by name; environment variables are never mentioned.
#[test]
fn usage_error_names_the_missing_argument() {
    let message_for = |values| {
        let refused = run(&["admin", "client", "suspend"], values);
        assert_eq!(refused.status.code(), Some(2));
        text(&refused.stderr)
    };
    let usual = message_for(&[]);
    assert!(usual.contains("Usage: exchange-service admin client suspend <ID>"), "{usual}");
    assert_eq!(message_for(&[("EXCHANGE_CONFIG", "exchange.toml")]), usual);
    // A flag overrides the environment, and an empty value counts as missing.
    let missing = run(&["config", "--config", "/nowhere/1.toml"], &[("EXCHANGE_CONFIG", "/nowhere/2.toml")]);
    assert!(text(&missing.stderr).contains("/nowhere/1.toml"), "{}", text(&missing.stderr));
    assert!(run(&["config"], &[("EXCHANGE_CONFIG", "")]).status.success());
}

/// A store can be backed up while it is in use, and restored. Errors cause exit code 1 with a reason.
#[test]
fn backup_and_restore() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, file, other) = (path("data"), path("backup.db"), path("other"));
    let _in_use =
        Store::open(&StoreOptions::new(StoreLocation::Folder(Path::new(&data).to_owned()))).unwrap();
    let done = run(&["backup", "--data", &data, "--to", &file], &[]);
    assert_eq!(text(&done.stdout), format!("backed up {data} to {file}\n"));
    let done = run(&["restore", "--from", &file, "--data", &other], &[]);
    assert!(text(&done.stdout).starts_with(&format!("restored {file} into {other}; earlier feed cursors")));
    for (arguments, message) in [
        (["backup", "--data", &data, "--to", &file], "exists already: pass a path that does not exist"),
        (["backup", "--data", &path("nothing"), "--to", &path("b.db")], "there is no store in"),
        (["restore", "--from", &file, "--data", &other], "exists already"),
        (["restore", "--from", &path("none.db"), "--data", &path("d")], "is not an intact store"),
    ] {
        let refused = run(&arguments, &[]);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        assert!(text(&refused.stderr).contains(message), "{}", text(&refused.stderr));
    }
}

/// Only `sandbox` opens the store of a sandbox, and an invalid log level is reported.
#[test]
fn serve_refuses_sandbox_stores_and_invalid_log_levels() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut sandbox = command(&["sandbox", "--json", "--data"]);
    let mut child = sandbox.arg(&data).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with('{'), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let data = data.to_str().unwrap();
    let values = [("EXCHANGE_SERVE__DATA", data), ("EXCHANGE_SERVE__LISTEN", "127.0.0.1:0")];
    let refused = run(&["serve"], &values);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains(&format!("serve.data: {data} contains sandbox data")) && message.contains("\n  -> "),
        "{message}"
    );
    for verb in [&["serve"][..], &["sandbox", "--port", "0"]] {
        let refused = run(verb, &[("EXCHANGE_LOG", "exchange_service=loud")]);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.starts_with("error: EXCHANGE_LOG: ") && message.contains("\n  -> "), "{message}");
    }
}

/// The help of every command describes its purpose, its flags and its exit codes.
#[test]
fn help_describes_purpose_flags_and_exit_codes() {
    let overview = text(&run(&["--help"], &[]).stdout);
    for part in [
        "sandbox",
        "serve",
        "config",
        "backup",
        "restore",
        "Exit codes: 0 success, 1",
        "exchange-service sandbox",
    ] {
        assert!(overview.contains(part), "{part}: {overview}");
    }
    for (verb, parts) in [
        ("sandbox", &["--port", "--data", "--seed", "--json", "/_sandbox", "loopback"][..]),
        ("serve", &["--config", "EXCHANGE_LIMITS__PER_MEMBER", "EXCHANGE_LOG", "role", "/readyz"]),
        ("config", &["--config", "EXCHANGE_CONFIG"]),
        ("backup", &["--data", "--to", "secrets"]),
        ("restore", &["--from", "--data", "410 CURSOR_EXPIRED", "exchange.db-wal", "sign in again"]),
    ] {
        let help = run(&[verb, "--help"], &[]);
        let help = (help.status.success(), text(&help.stdout));
        for part in parts {
            assert!(help.0 && help.1.contains(part), "{verb}: {part}: {}", help.1);
        }
    }
}

/// The README contains the real output of the sandbox, and its example requests have the responses that it
/// shows.
#[test]
fn readme_matches_the_sandbox_output() {
    let mut child = command(&["sandbox", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !printed.contains("--json '{") {
        assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "the process ended: {printed}");
    }
    let gateway = printed.lines().find_map(|line| line.strip_prefix("gateway   ")).unwrap().to_owned();
    let address = gateway.strip_prefix("http://").unwrap();
    let response = send_request(address, "GET", "/exchange/v1/schemas/quantity.schema.json", "");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let refused = send_request(address, "GET", "/exchange/v1", "");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let body: Value = refused.split_once("\r\n\r\n").unwrap().1.parse().unwrap();
    CONTRACT_VALIDATOR.exchanged(("GET", "/exchange/v1"), None, (401, &body));
    assert_eq!(body["code"], "UNAUTHENTICATED");
    let moved = send_request(address, "POST", "/_sandbox/clock", r#"{"advanceSeconds":301}"#);
    assert!(moved.starts_with("HTTP/1.1 200"), "{moved}");
    child.kill().unwrap();
    child.wait().unwrap();

    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let shown = readme
        .split("cargo xtask sandbox --port 8080\n```\n\n```text\n")
        .nth(1)
        .expect("the section about the sandbox");
    let shown = shown.split("```").next().unwrap();
    assert_eq!(
        shown,
        printed.replace(address, "127.0.0.1:8080"),
        "README.md contains the output of the sandbox"
    );
}

fn send_request(address: &str, method: &str, path: &str, body: &str) -> String {
    use std::io::Write as _;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let rest = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// `serve` runs until a signal. Then its health check fails while it still serves requests, and it exits
/// cleanly.
#[cfg(unix)]
#[test]
fn serve_shuts_down_on_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(&["serve"])
        .env("EXCHANGE_SERVE__DATA", folder.path().join("data"))
        .env("EXCHANGE_SERVE__LISTEN", "127.0.0.1:0")
        .env("EXCHANGE_SERVE__DRAIN_SECONDS", "3600")
        .env("EXCHANGE_IDP__PASSWORD_KIB", "8")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut until = |message: &str| -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(
                lines.read_line(&mut line).unwrap(),
                0,
                "the process ended before it logged {message}"
            );
            let event: Value = line.parse().unwrap_or_else(|_| panic!("every line is JSON: {line}"));
            if event["message"].as_str().unwrap_or_default().starts_with(message) {
                return event;
            }
        }
    };
    let address = until("listening")["address"].as_str().unwrap().to_owned();
    assert!(send_request(&address, "GET", "/readyz", "").starts_with("HTTP/1.1 200"));
    // GW-13: requests for unknown paths are also logged.
    let nowhere = send_request(&address, "GET", "/nothing", "").to_ascii_lowercase();
    assert!(nowhere.starts_with("http/1.1 404") && nowhere.contains("x-correlation-id: "), "{nowhere}");
    let tell = |name: &str| {
        let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(status.success());
    };
    tell("-TERM");
    until("stopping");
    assert!(
        send_request(&address, "GET", "/readyz", "").starts_with("HTTP/1.1 503"),
        "the health check fails during the shutdown"
    );
    assert!(
        send_request(&address, "GET", "/healthz", "").starts_with("HTTP/1.1 200"),
        "requests are still served"
    );
    assert!(send_request(&address, "GET", "/exchange/v1/openapi.json", "").starts_with("HTTP/1.1 200"));
    // A second signal ends the process without further waiting.
    tell("-TERM");
    until("stopped");
    assert!(child.wait().unwrap().success());
    // The store consists of a single file: the folder contains no log file of the database, only the lock files.
    let left = fs::read_dir(folder.path().join("data")).unwrap();
    let mut left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["backend.lock", "exchange.db", "gateway.lock"]);
}
