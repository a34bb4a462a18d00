//! Tests of the `admin` commands on the store of a running service.

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use exchange_service::Environment;
use exchange_service::time::ManualClock;
use serde_json::{Value, json};

use super::super::support::command;
use super::harness::{Browser, Device, ProviderHarness, SCOPES, location};

/// Runs an `admin` command on a folder with this standard input.
fn admin(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = command(&["admin", "--as", "root"])
        .args(args)
        .env("EXCHANGE_SERVE__DATA", folder)
        .env("EXCHANGE_IDP__PASSWORD_KIB", "8")
        .env("EXCHANGE_IDP__PASSWORD_PASSES", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads no password may already have closed its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
pub(super) fn run_json(folder: &Path, args: &[&str], input: &str) -> Value {
    let output = admin(folder, &[&["--json"], args].concat(), input);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{args:?}: {error}");
    assert_eq!(out.lines().count(), 1, "{out}");
    serde_json::from_str(&out).unwrap()
}

#[track_caller]
pub(super) fn run_failing(folder: &Path, args: &[&str], input: &str, code: i32, message: &str) {
    let output = admin(folder, args, input);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.starts_with("error: ") && error.contains(message), "{args:?}: {error}");
    assert!(output.stdout.is_empty());
}

pub(super) async fn harness(folder: &Path) -> ProviderHarness {
    // The harness's clock equals the system clock, which the commands use.
    ProviderHarness::in_folder(folder, ManualClock::fixed_at(Environment::system().now())).await
}

/// Returns the administrator's entries in the audit log, oldest first.
pub(super) async fn read_audit(harness: &ProviderHarness) -> Vec<String> {
    let work = |database: &rusqlite::Connection| {
        let sql = "SELECT action || ' ' || subject || ' ' || detail FROM audit \
                   WHERE actor = 'administrator:root' ORDER BY id";
        let mut rows = database.prepare(sql)?;
        let rows = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok::<Vec<String>, exchange_service::store::StoreError>(rows)
    };
    harness.store.read(work).await.unwrap()
}

/// IDP-04, GW-05: commands register, limit, suspend and remove a client, and a running service applies the
/// changes.
#[tokio::test]
async fn clients_are_managed_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let begin = async |scope: &str| {
        harness.form("device_authorization", &[("client_id", "fresh"), ("scope", scope)], &[]).await
    };
    begin("exchange.connect").await.expect_error(400, "invalid_client");
    let add = ["client", "add", "fresh", "--name", "Fresh & new", "--scope", "exchange.connect"];
    let done = run_json(folder, &add, "");
    assert_eq!(done, json!({ "done": "client.add", "client": "fresh", "scopes": ["exchange.connect"] }));
    begin("exchange.connect").await.expect(200);
    begin("exchange.stock.read").await.expect_error(400, "invalid_scope");
    run_json(
        folder,
        &["client", "scopes", "fresh", "--scope", "exchange.connect", "--scope", "exchange.stock.read"],
        "",
    );
    begin("exchange.stock.read").await.expect(200);
    let limits = ["client", "limits", "fresh", "--requests-per-minute", "300", "--min-version", "2.1.0"];
    run_json(folder, &limits, "");
    run_json(folder, &["client", "limits", "fresh", "--writes-per-day", "7"], "");
    run_json(folder, &["client", "limits", "fresh", "--writes-per-day", "default"], "");
    run_json(folder, &["client", "suspend", "fresh"], "");
    let listed = run_json(folder, &["client", "list"], "");
    let fresh = listed["clients"].as_array().unwrap().iter().find(|client| client["id"] == "fresh").unwrap();
    let expect = json!({
        "id": "fresh", "name": "Fresh & new", "state": "suspended",
        "scopes": ["exchange.connect", "exchange.stock.read"],
        "requestsPerMinute": 300, "writesPerDay": null, "minVersion": "2.1.0",
    });
    assert_eq!(*fresh, expect);
    run_json(folder, &["client", "resume", "fresh"], "");
    run_json(folder, &["client", "remove", "fresh"], "");
    begin("exchange.connect").await.expect_error(400, "invalid_client");
    let audit = read_audit(&harness).await;
    assert_eq!(audit[0], "client.add fresh Fresh & new: exchange.connect");
    assert_eq!(audit[2], "client.limits fresh requests per minute 300, oldest version 2.1.0");
    assert_eq!(audit[4], "client.limits fresh writes per day by default");
    assert_eq!(audit.len(), 8);

    run_failing(folder, &add, "", 1, "a client `fresh` already exists");
    run_failing(folder, &["client", "suspend", "nobody"], "", 1, "unknown client `nobody`");
    run_failing(
        folder,
        &["client", "scopes", "fresh", "--scope", "exchange.x"],
        "",
        2,
        "the known ones are exchange.connect",
    );
    run_failing(folder, &["client", "limits", "fresh"], "", 2, "at least one limit");
    let above_limit = ["client", "limits", "fresh", "--requests-per-minute", "1201"];
    run_failing(folder, &above_limit, "", 2, "1 to 1200");
    run_failing(folder, &["client", "limits", "fresh", "--min-version", "2"], "", 2, "`2` is not a version");
    let unseen = ["x\u{202e}y", "x\u{200b}", "\u{feff}x", "x\u{2066}y"].map(|name| ("fine", name));
    let ill = [("a b", "x"), ("", "x"), ("fine", " x"), ("fine", "x\ny")];
    for (id, name) in ill.into_iter().chain(unseen) {
        let add = ["client", "add", id, "--name", name, "--scope", "exchange.connect"];
        run_failing(folder, &add, "", 2, "must have 1 to");
    }
    assert_eq!(read_audit(&harness).await.len(), 8, "a rejected command changes nothing");
}

/// A member's account gets a password that is not passed as an argument. A new password ends the sessions of
/// the old one.
#[tokio::test]
async fn members_get_accounts_and_passwords() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    run_json(folder, &["member", "add", "m-7", "--name", "Seven"], "");
    let sign_in = async |password: &str| {
        let mut browser = Browser::default();
        browser.open(&harness, "/sign-in").await.expect(200);
        let fields = [("username", "\u{e9}lise"), ("password", password)];
        (browser.submit(&harness, "/sign-in", &fields).await.status, browser)
    };
    let (first_password, second_password) = ("correct horse battery", "another one, quite long");
    let set = ["member", "password", "m-7", "--username", "\u{c9}lise"];
    assert_eq!(
        run_json(folder, &set, &format!("{first_password}\n")),
        json!({ "done": "member.password", "member": "m-7" })
    );
    let (status, mut browser) = sign_in(first_password).await;
    assert_eq!(status, 303);
    browser.open(&harness, "/device").await.expect(200);
    run_json(folder, &["member", "password", "m-7"], second_password);
    assert!(location(&browser.open(&harness, "/device").await).starts_with("/sign-in"));
    assert_eq!((sign_in(first_password).await.0, sign_in(second_password).await.0), (422, 303));
    run_json(folder, &["member", "state", "m-7", "disabled"], "");
    assert_eq!(sign_in(second_password).await.0, 422);
    let listed = run_json(folder, &["member", "list"], "");
    let seven = listed["members"].as_array().unwrap().iter().find(|member| member["id"] == "m-7").unwrap();
    let expect = json!({
        "id": "m-7", "name": "Seven", "state": "disabled", "hasRole": true, "username": "\u{e9}lise",
        "administers": false,
    });
    assert_eq!(*seven, expect);
    let audit = read_audit(&harness).await;
    let expect = [
        "member.add m-7 active",
        "member.password m-7 ",
        "member.password m-7 ",
        "member.state m-7 disabled",
    ];
    assert_eq!(audit, expect, "the audit log contains no password and no account name");

    run_failing(folder, &["member", "add", "m-7", "--name", "Again"], "", 1, "a member `m-7` already exists");
    run_failing(folder, &["member", "password", "m-9"], first_password, 1, "unknown member `m-9`");
    run_failing(
        folder,
        &["member", "password", "m-7", "--username", "ADA"],
        first_password,
        1,
        "an account `ADA` already exists",
    );
    for password in ["", "short", "eleven chars\nand a second line", &"x".repeat(1025)] {
        run_failing(
            folder,
            &["member", "password", "m-7"],
            password,
            2,
            "one line of at least 12 characters",
        );
    }
    run_json(folder, &["member", "add", "m-8", "--name", "Eight", "--pending"], "");
    run_failing(folder, &["member", "password", "m-8"], first_password, 2, "with --username");
}

/// WEB-06: connections can be listed and ended; the client receives an error at its next refresh.
#[tokio::test]
async fn connections_are_listed_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let devices = [Device::new(), Device::new()];
    let first = harness.connect(&devices[0], SCOPES).await;
    let second = harness.connect(&devices[1], SCOPES).await;
    let installed = format!(
        "INSERT INTO installation (id, client, member, jkt, label, first_seen, last_seen) \
         VALUES ('i-1', 'tool', 'm-ada', '{}', 'Desk', 0, 1000)",
        devices[0].thumbprint()
    );
    let work = move |database: &rusqlite::Connection| {
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch(&installed)?)
    };
    harness.store.write(work).await.unwrap();
    let list = |extra_arguments: &[&str]| {
        let listed = run_json(folder, &[&["connections", "list"], extra_arguments].concat(), "");
        listed["connections"].as_array().unwrap().clone()
    };
    let listed = list(&[]);
    assert_eq!(listed.len(), 2);
    let first_installation = listed.iter().find(|each| each["installation"] == "i-1").unwrap();
    let expect = json!({
        "member": "m-ada", "client": "tool", "installation": "i-1", "label": "Desk",
        "since": "1970-01-01T00:00:00Z", "last": "1970-01-01T00:00:01Z", "connected": true, "disconnected": false,
    });
    assert_eq!(*first_installation, expect);
    assert_eq!((list(&["--member", "m-bob"]).len(), list(&["--client", "tool"]).len()), (0, 2));
    run_json(folder, &["connections", "end", "--installation", "i-1"], "");
    harness.refresh(&first.refresh, &devices[0]).await.expect_error(400, "invalid_grant");
    let second = super::harness::Tokens::from_reply(&harness.refresh(&second.refresh, &devices[1]).await);
    run_json(folder, &["connections", "end", "--client", "tool", "--member", "m-ada"], "");
    harness.refresh(&second.refresh, &devices[1]).await.expect_error(400, "invalid_grant");
    assert_eq!(list(&[])[0]["disconnected"], true);
    let ended = "disconnect-installation i-1 ";
    assert!(read_audit(&harness).await.iter().any(|entry| entry == ended));
    run_failing(
        folder,
        &["connections", "end", "--installation", "i-2"],
        "",
        1,
        "unknown installation `i-2`",
    );
    run_failing(
        folder,
        &["connections", "end", "--client", "x", "--member", "m-ada"],
        "",
        1,
        "unknown client `x`",
    );
}

/// IDP-08: a new password ends the connections that are bound to a session, in the administrator's name.
/// Other connections are kept.
#[tokio::test]
async fn new_password_ends_session_bound_connections() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let devices = [Device::new(), Device::new()];
    let bound = harness.connect(&devices[0], "exchange.connect").await;
    let offline = harness.connect(&devices[1], SCOPES).await;
    run_json(folder, &["member", "password", "m-ada"], "correct horse battery");
    harness.refresh(&bound.refresh, &devices[0]).await.expect_error(400, "invalid_grant");
    harness.refresh(&offline.refresh, &devices[1]).await.expect(200);
    let audit = read_audit(&harness).await;
    assert_eq!(audit.len(), 2, "{audit:?}");
    assert!(audit[0].starts_with("end-connection ") && audit[0].ends_with(" signed-out"), "{audit:?}");
    assert_eq!(audit[1], "member.password m-ada ");
}

/// With an external identity provider, the command cannot know which connections are active.
#[tokio::test]
async fn connections_of_an_external_provider_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let harness = harness(folder.path()).await;
    let sql = "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) \
               VALUES ('i-1', 'tool', 'm-ada', 'jkt', 0, 0)";
    let work = |database: &rusqlite::Connection| {
        Ok::<_, exchange_service::store::StoreError>(database.execute(sql, [])?)
    };
    harness.store.write(work).await.unwrap();
    let list = |json: &[&str]| {
        let mut listing = command(&[&["admin", "connections", "list"], json].concat());
        listing.env("EXCHANGE_SERVE__DATA", folder.path()).env("EXCHANGE_PAGES_ORIGIN", "https://me.example");
        let output = listing.env("EXCHANGE_IDP__EXTERNAL__WAIT_SECONDS", "5").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Value = list(&["--json"]).parse().unwrap();
    assert_eq!(listed["connections"][0]["connected"], json!(null));
    let row = list(&[]).lines().nth(1).unwrap().to_owned();
    assert_eq!(row.split_whitespace().nth(4), Some("-"), "{row}");
}

/// ERR-39, IDP-01: the exchange can be switched off and on, and signing keys can be rotated. The old key
/// stays published.
#[tokio::test]
async fn exchange_switch_and_key_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run_failing(folder, &["switch", "on"], "", 1, "`exchange-service serve` creates one");
    let harness = harness(folder).await;
    assert_eq!(run_json(folder, &["switch"], ""), json!({ "exchange": "on" }));
    assert_eq!(run_json(folder, &["switch", "off"], ""), json!({ "exchange": "off" }));
    let query = "SELECT count(*) FROM setting WHERE name = 'exchange' AND value = 'off'";
    assert_eq!(harness.count(query).await, 1);
    let published = async || {
        let keys = harness.get("/idp/jwks").await.expect(200).json()["keys"].clone();
        keys.as_array().unwrap().len()
    };
    assert_eq!(published().await, 1);
    run_json(folder, &["keys", "rotate"], "");
    harness.advance(6);
    assert_eq!(published().await, 2);
    harness.connect(&Device::new(), SCOPES).await;
    assert_eq!(read_audit(&harness).await, ["switch exchange off", "keys.rotate access tokens "]);
    let text = admin(folder, &["client", "list"], "");
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("client  state"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("hold    suspended  On hold")), "{text}");
}

/// The audit log is listed newest first, filtered by actor, client, subject and time, in pages of any size.
/// Listing does not add entries.
#[tokio::test]
async fn audit_is_filtered_and_paged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let now = Environment::system().now().as_millis();
    let rows = format!(
        "DELETE FROM audit;
         INSERT INTO audit (id, at, actor, client, action, subject, detail)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7)
         SELECT i, {now} - (10 - i) * 86400000,
         CASE WHEN i % 2 THEN 'member:m-1' ELSE 'service' END,
         CASE WHEN i > 4 THEN 'tool' END, 'stock.write', 's-' || i, 'line' || char(10) || i FROM n"
    );
    let work = move |database: &rusqlite::Connection| {
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch(&rows)?)
    };
    harness.store.write(work).await.unwrap();
    let list = |extra_arguments: &[&str]| {
        let listed = run_json(folder, &[&["audit", "list"], extra_arguments].concat(), "");
        let entries = listed["entries"].as_array().unwrap();
        let numbers: Vec<i64> = entries.iter().map(|entry| entry["number"].as_i64().unwrap()).collect();
        (numbers, listed["next"].as_i64())
    };
    assert_eq!(list(&[]), (vec![7, 6, 5, 4, 3, 2, 1], None));
    assert_eq!(list(&["--limit", "3"]), (vec![7, 6, 5], Some(5)));
    assert_eq!(list(&["--limit", "3", "--behind", "5"]), (vec![4, 3, 2], Some(2)));
    assert_eq!(list(&["--limit", "3", "--behind", "4"]), (vec![3, 2, 1], None));
    assert_eq!(list(&["--actor", "member:m-1"]).0, [7, 5, 3, 1]);
    assert_eq!(list(&["--client", "tool", "--actor", "service"]).0, [6]);
    assert_eq!(list(&["--subject", "s-2"]).0, [2]);
    let since = exchange_service::time::Moment::from_millis(now - 5 * 86_400_000).to_string();
    assert_eq!(list(&["--since", &since]).0, [7, 6, 5]);
    let one = &run_json(folder, &["audit", "list", "--limit", "1"], "")["entries"][0];
    let time = exchange_service::time::Moment::from_millis(now - 3 * 86_400_000).to_string();
    let expect = json!({
        "number": 7, "at": time, "actor": "member:m-1", "client": "tool", "action": "stock.write",
        "subject": "s-7", "detail": "line\n7", "source": null,
    });
    assert_eq!(*one, expect);
    let printed = admin(folder, &["audit", "list", "--limit", "2"], "").stdout;
    let printed = String::from_utf8(printed).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 4, "a line break in a value does not start a new line: {printed}");
    assert!(lines[1].ends_with("line\u{fffd}7") && lines[3] == "more entries: --behind 6", "{printed}");
    for (arguments, message) in [
        (["--since", "yesterday"], "a day such as"),
        (["--limit", "0"], "1..=1000"),
        (["--limit", "1001"], "1..=1000"),
    ] {
        run_failing(folder, &[&["audit", "list"], &arguments[..]].concat(), "", 2, message);
    }
}

/// SVC-13: invalid handles and names of administrators are rejected. An unknown member or client is an error,
/// not an empty list.
#[tokio::test]
async fn invalid_names_and_unknown_ids_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let add = ["member", "add", "m-9", "--name", "Nine", "--handle"];
    for handle in ["Ada Lovelace (no handle)", "ab", "", &"a".repeat(61)] {
        run_failing(
            folder,
            &[&add[..], &[handle]].concat(),
            "",
            2,
            "a handle must have 3 to 60 letters, digits, `_` or `-`",
        );
    }
    run_json(folder, &[&add[..], &["Ada_Lovelace-1"]].concat(), "");
    assert_eq!(harness.count("SELECT count(*) FROM member WHERE handle = 'Ada_Lovelace-1'").await, 1);
    for (flag, kind) in [("--member", "member"), ("--client", "client")] {
        let message = format!("unknown {kind} `nobody`");
        run_failing(folder, &["connections", "list", flag, "nobody"], "", 1, &message);
    }
    let before = harness.count("SELECT count(*) FROM audit").await;
    for name in ["", " ", "ro\u{200b}ot"] {
        let mut nameless = command(&["admin", "--as", name, "switch", "on"]);
        let output = nameless.env("EXCHANGE_SERVE__DATA", folder).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains("an administrator's name must have 1 to 128 visible characters"),
            "{message}"
        );
    }
    assert_eq!(harness.count("SELECT count(*) FROM audit").await, before);
}

/// With `--json`, an error is one line of JSON on standard error.
#[tokio::test]
async fn json_errors_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _running = harness(folder).await;
    let nowhere = folder.join("nowhere.toml");
    let nowhere = nowhere.to_str().unwrap();
    for (arguments, code, message) in [
        (&["client", "suspend", "nobody"][..], 1, "unknown client `nobody`"),
        (&["client", "limits", "tool"], 2, "at least one limit"),
        (&["client", "list", "--config", nowhere], 2, nowhere),
        (&["member", "password", "m-ada"], 2, "a password must be one line"),
        // These are errors of the command line itself.
        (&["client", "suspend"], 2, "the following required arguments were not provided"),
        (&["member", "state", "m-ada", "gone"], 2, "invalid value 'gone' for '<STATE>'"),
        (&["clients", "list"], 2, "unrecognized subcommand 'clients'"),
        (&["undo", "--client", "tool", "--from", "soon", "--all-members"], 2, "'--from <TIME>'"),
    ] {
        let output = admin(folder, &[&["--json"], arguments].concat(), "short");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), errors.lines().count()),
            (Some(code), 1),
            "{arguments:?}: {errors}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let errors: Value = errors.parse().unwrap();
        assert_eq!(errors["error"]["exit"], code, "{errors}");
        assert!(errors["error"]["message"].as_str().unwrap().contains(message), "{arguments:?}: {errors}");
    }
    // After `--`, `--json` is a value and not an option.
    let output = admin(folder, &["client", "suspend", "tool", "--", "--json"], "");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && errors.starts_with("error: unexpected argument '--json'"),
        "{errors}"
    );
    // IDP-04: if the administrator's name is missing, the error names the option that sets it.
    let output = command(&["admin", "--as", "", "client", "list"]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("set your name with --as"), "{errors}");
}

/// An administrator can undo a client's writes for one member or for all, in given areas, after a dry run.
#[tokio::test]
async fn client_writes_are_undone_by_administrators() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let now = Environment::system().now().as_millis() - 60_000;
    let rows = format!(
        "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) VALUES
         ('i-1', 'tool', 'm-ada', 'j', 0, 0), ('i-2', 'tool', 'm-bob', 'j', 0, 0);
         INSERT INTO journal_set (first, last, at, member, area, change_set, channel, client, installation)
         VALUES (1, 2, {now}, 'm-ada', 'blueprints', 's', 'client', 'tool', 'i-1'),
         (3, 4, {now}, 'm-bob', 'blueprints', 't', 'client', 'tool', 'i-2');
         INSERT INTO journal_entry (id, key, after)
         SELECT column1, column2, json_object('acquired_at', NULL, 'source', 'log', 'note', NULL)
         FROM (VALUES (1, 'one'), (2, 'two'), (3, 'one'), (4, 'two'));
         INSERT INTO blueprint (member, product, source) SELECT member, key, 'log' FROM journal;
         UPDATE blueprint SET source = 'manual' WHERE member = 'm-bob' AND product = 'two'"
    );
    let work = move |database: &rusqlite::Connection| {
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch(&rows)?)
    };
    harness.store.write(work).await.unwrap();
    let from = exchange_service::time::Moment::from_millis(now).to_string();
    let undo = |extra_arguments: &[&str]| {
        run_json(folder, &[&["undo", "--client", "tool", "--from", &from], extra_arguments].concat(), "")
    };
    let dry = undo(&["--all-members", "--dry-run"]);
    assert_eq!((&dry["dryRun"], &dry["undone"], &dry["conflicts"]), (&json!(true), &json!(3), &json!(1)));
    assert_eq!(harness.count("SELECT count(*) FROM blueprint").await, 4);
    assert_eq!(undo(&["--all-members", "--area", "stock", "--area", "ships"])["undone"], 0);
    let ada = undo(&["--member", "m-ada", "--area", "blueprints"]);
    assert_eq!((&ada["undone"], &ada["conflicts"]), (&json!(2), &json!(0)));
    let printed = admin(folder, &["undo", "--client", "tool", "--from", &from, "--all-members"], "");
    let printed = String::from_utf8(printed.stdout).unwrap();
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let expect: [&[&str]; 4] = [
        &["member", "area", "becomes", "entry"],
        &["m-bob", "blueprints", "unchanged:", "changed", "afterwards", "two"],
        &["m-bob", "blueprints", "removed", "one"],
        &["1", "undone,", "1", "unchanged"],
    ];
    assert_eq!(lines, expect, "{printed}");
    let again = undo(&["--all-members"]);
    let entry = json!({
        "member": "m-bob", "area": "blueprints", "key": "two", "name": "two", "result": "conflict",
        "reason": { "code": "changed-since", "text": "changed afterwards" },
    });
    assert_eq!((&again["undone"], &again["entries"]), (&json!(0), &json!([entry])));
    assert_eq!(read_audit(&harness).await.len(), 2);
    for (arguments, code, message) in [
        (&["--client", "tool", "--from", &*from][..], 2, "--member <ID>"),
        (&["--client", "nobody", "--from", &from, "--all-members"], 1, "unknown client `nobody`"),
        (&["--client", "tool", "--from", &from, "--member", "m-9"], 1, "unknown member `m-9`"),
        (
            &["--client", "tool", "--from", &from, "--all-members", "--area", "demand"],
            2,
            "unknown area: use one of blueprints, stock, ships, org-stock",
        ),
        (&["--client", "tool", "--from", &from, "--all-members", "--to", "2020-01-01"], 2, "is after --to"),
    ] {
        run_failing(folder, &[&["undo"], arguments].concat(), "", code, message);
    }
}
