//! Documents on standard input, and URLs without `--fetch`.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use super::{CommandResult, Folder, TICKETS};

fn run_with_stdin(folder: &Folder, args: &[&str], stdin: &str) -> CommandResult {
    let mut child = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .args(args)
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    CommandResult {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A contract whose schema is in another document.
pub(super) const SPLIT: &str = r#"{
    "openapi": "3.1.0", "info": {"title": "Split", "version": "1"},
    "paths": {"/seat": {"get": {"operationId": "getSeat", "responses": {"200": {"description": "A seat",
        "content": {"application/json": {"schema": {"$ref": "parts/seat.yaml"}}}}}}}}
}"#;
pub(super) const SEAT: &str =
    "title: Seat\ntype: object\nrequired: [row]\nproperties:\n  row: { type: integer }\n";

#[test]
fn standard_input_is_an_input() {
    let folder = Folder::new("stdin");
    folder.put("parts/seat.yaml", SEAT);
    run_with_stdin(&folder, &["generate", "-", "-o", "seat.rs", "--only", "types"], SPLIT).expect_exit(0);
    let code = fs::read_to_string(folder.0.join("seat.rs")).unwrap();
    assert!(code.contains("pub struct Seat"), "references are relative to the current folder");

    run_with_stdin(&folder, &["drift", "tickets.yaml", "-"], TICKETS).expect_exit(0);
    let page = run_with_stdin(&folder, &["generate", "-", "-o", "seat.rs"], "hello").expect_exit(4);
    assert!(page.err.contains("`stdin` is not an object"), "{}", page.err);
    let invalid = run_with_stdin(&folder, &["explain", "Seat", "-"], "{").expect_exit(3);
    assert!(invalid.err.contains("stdin:1:2"), "{}", invalid.err);
    for (args, message) in [
        (&["generate", "-", "-", "-o", "x"][..], "`-` given more than once"),
        (&["drift", "-", "-"], "`-` given for both versions"),
        (&["init", "-"], "codegen.toml must list its inputs"),
    ] {
        let refused = run_with_stdin(&folder, args, TICKETS).expect_exit(2);
        assert!(refused.err.contains(message), "{}", refused.err);
    }
}

#[test]
fn url_is_refused_without_fetch() {
    let folder = Folder::new("fetch-off");
    let url = "https://a.example/openapi.json";
    for args in [&["generate", url, "-o", "x"][..], &["drift", url, "tickets.yaml"], &["init", url]] {
        let refused = folder.run(args).expect_exit(4);
        assert!(refused.err.replace("\n  │ ", " ").contains("documents are downloaded only with `--fetch`"));
    }
    assert!(!folder.0.join("codegen.lock").exists());
}
