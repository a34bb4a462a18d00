//! Tests of `--json` for every command: data is JSON, and an error is one line of JSON.

use serde_json::Value;

use crate::test_machine::{CommandResult, TestMachine, run_command};

/// The arguments for each command. These tests check only that the output is JSON.
const TYPED: [(&str, &str); 73] = [
    ("login", ""),
    ("status", ""),
    ("whoami", ""),
    ("label", "Desk"),
    ("check-handle", "Sandbox_Member"),
    ("resolve", "--kind material Ore Metal"),
    ("locations", "city"),
    ("sync", ""),
    ("completions", "fish"),
    ("man", "$HOME/man"),
    ("blueprints list", ""),
    ("blueprints show", "bp-sandbox-rifle"),
    ("blueprints add", "bt:bp-sandbox-knife"),
    ("blueprints remove", "bt:bp-sandbox-knife"),
    ("blueprints change", "$HOME/ops.json"),
    ("stock list", "rifle"),
    ("stock show", "none"),
    ("stock set", "bt:item-sandbox-rifle --at city:990001 --from 2pc --to 3pc"),
    (
        "stock move",
        "bt:item-sandbox-rifle --from city:990001 --from-lot 2pc..1pc --to station:990002 --to-lot 0pc..1pc",
    ),
    ("stock change", "$HOME/ops.json"),
    ("ships list", ""),
    ("ships show", "none"),
    ("ships upsert", "--external-id mine --type bt:ship-type-none --insurance lifetime"),
    ("ships link", "ship-none --external-id mine"),
    ("ships remove", "ship-none --version 1"),
    ("ships change", "$HOME/ops.json"),
    ("org-stock list", ""),
    ("org-stock show", "none"),
    ("org-stock members", "unit-squadron"),
    (
        "org-stock book-in",
        "bt:material-sandbox-metal --unit unit-squadron --holder none --at city:990001 --quantity 1scu --dry-run",
    ),
    ("org-stock book-out", "none --unit unit-squadron --version 1 --quantity 1scu --dry-run"),
    (
        "org-stock sell",
        "none --unit unit-squadron --version 1 --quantity 1scu --terminal Here --proceeds 1 --dry-run",
    ),
    (
        "org-stock move-location",
        "none --unit unit-squadron --version 1 --quantity 1scu --to city:990001 --dry-run",
    ),
    (
        "org-stock move-holder",
        "none --unit unit-squadron --version 1 --quantity 1scu --holder none --to-unit unit-squadron --dry-run",
    ),
    ("org-stock move-pool", "none --unit unit-squadron --version 1 --to-unit unit-squadron --dry-run"),
    ("org-stock note", "none --unit unit-squadron --version 1 --note Here --dry-run"),
    ("org-stock stolen", "none --unit unit-squadron --version 1 --dry-run"),
    ("org-stock change", "$HOME/ops.json"),
    ("org-units list", ""),
    ("org-units show", "unit-squadron"),
    ("demand list", ""),
    ("demand show", "material-sandbox-metal"),
    ("outbox list", ""),
    ("outbox show", "1"),
    ("outbox retry", ""),
    ("outbox resolve", "99 --missing"),
    ("outbox confirm", "99 --print-link"),
    ("outbox drop", "99"),
    ("envelope write", "- bt:bp-sandbox-knife"),
    ("envelope check", "$HOME/ops.json"),
    ("draft blueprints", "$HOME/envelope.json --print-link"),
    ("draft refinery", "$HOME/ops.json"),
    ("api service_document", "--include"),
    ("api installation_label", "--body {}"),
    ("api account_check", "--body {}"),
    ("api catalog_resolve", "--body {}"),
    ("api catalog_locations", "--include"),
    ("api blueprints_read", "--limit 2"),
    ("api blueprints_write", "--body {}"),
    ("api stock_read", "--cursor none"),
    ("api stock_write", "--body {}"),
    ("api ships_read", "--include"),
    ("api ships_write", "--body {}"),
    ("api org_units_read", ""),
    ("api org_stock_read", "--limit 2"),
    ("api org_stock_members", "--unit unit-squadron"),
    ("api org_stock_write", "--body {}"),
    ("api demand_read", ""),
    ("api drafts_blueprints", "--body {}"),
    ("api drafts_refinery", "--body {}"),
    ("api contract_openapi", "--include"),
    ("api contract_schema", "--name none"),
    ("logout", "--yes"),
];

/// Returns the subcommands that the help of a command lists.
fn below(help: &str) -> Vec<&str> {
    let list =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Continuation lines are indented further.
    let names = list.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Returns every command that has no subcommands, such as `stock list`.
async fn commands() -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![String::new()]);
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = run_command(&words, "").await.out;
        let below = below(&help);
        open.extend(below.iter().map(|name| format!("{command} {name}").trim().to_owned()));
        if below.is_empty() {
            found.push(command);
        }
    }
    found.sort();
    found
}

/// Asserts that data is JSON with one document per line, and that there is a JSON error if there is no data.
fn is_json(typed: &[&str], ran: &CommandResult) {
    for line in ran.out.lines() {
        let read = serde_json::from_str::<Value>(line);
        assert!(read.is_ok(), "{typed:?} prints invalid JSON: {}", ran.shown());
    }
    if ran.out.is_empty() {
        let error = ran.error();
        assert_eq!(error["exit"], ran.code, "{typed:?}: {}", ran.shown());
        let is_told = |name: &str| error[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(["code", "message", "next"].into_iter().all(is_told), "{typed:?}: {}", ran.shown());
    }
}

#[tokio::test]
async fn every_command_supports_json() {
    let mut known: Vec<_> = TYPED.map(|(command, _)| command.to_owned()).into();
    known.sort();
    assert_eq!(commands().await, known, "`TYPED` must list every command");
    let machine = TestMachine::synced().await;
    machine.file("ops.json", "[{}]");
    let home = machine.home.path().to_str().unwrap().to_owned();
    let envelope =
        machine.run(&["envelope", "write", &format!("{home}/envelope.json"), "Sandbox Knife"]).await;
    assert_eq!(envelope.code, 0, "{}", envelope.shown());
    for (command, arguments) in TYPED {
        let line = format!("--json {command} {}", arguments.replace("$HOME", &home));
        let words: Vec<&str> = line.split_whitespace().collect();
        // The login has to be approved while the command is running.
        let ran =
            if command == "login" { machine.login(&["--all"]).await } else { machine.run(&words).await };
        is_json(&words, &ran);
    }
}

/// A usage error (exit code 2) is also printed as one line of JSON.
#[tokio::test]
async fn usage_errors_are_json_too() {
    for (command, _) in TYPED {
        // A key may begin with a hyphen, but three unknown options are always an error.
        let words: Vec<&str> =
            ["--json"].into_iter().chain(command.split(' ')).chain(["--none"; 3]).collect();
        let ran = run_command(&words, "").await;
        let error = ran.error();
        assert_eq!((ran.code, error["code"].as_str()), (2, Some("usage")), "{words:?}: {}", ran.shown());
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.shown());
    }
    let set = run_command(&["--json", "stock", "set"], "").await.error();
    let missing =
        "the following required arguments were not provided: --at <PLACE> --to <QUANTITY> <MATERIAL>";
    assert_eq!(set["message"], missing);
    // After `--`, `--json` is not an option, so the output is text.
    let ran = run_command(&["resolve", "--", "--json"], "").await;
    assert!(ran.code == 2 && ran.err.starts_with("error: "), "{}", ran.shown());
    // Help was requested explicitly, so it is printed as text.
    let ran = run_command(&["--json", "stock", "--help"], "").await;
    assert!(ran.code == 0 && ran.out.contains("Usage: exchange stock"), "{}", ran.shown());
}
