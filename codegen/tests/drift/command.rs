//! Tests that run `contract-codegen drift` with files, folders and configuration files, and check the exit
//! codes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Creates a separate folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drift-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .arg("drift")
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const OLD: &str = r#"{"type":"object","properties":{"a":{"type":"string","maxLength":5}}}"#;

#[test]
fn breaking_changes_exit_with_1_and_show_a_witness() {
    let folder = folder("files");
    put(&folder, "old.json", OLD);
    put(&folder, "new.yaml", "type: object\nproperties:\n  a: {type: string, maxLength: 4}\n");
    put(&folder, "more.json", &OLD.replace("\"a\"", "\"b\":true,\"a\""));
    let (code, out, err) = run(&folder, &["old.json", "new.yaml"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("length-narrowed") && out.contains("(new.yaml:3)"), "{out}");
    assert!(out.contains("proven: only one version accepts \"aaaaa\""), "{out}");
    // A shorter `maxLength` does not break readers, and an added optional property breaks no client.
    assert_eq!(run(&folder, &["old.json", "new.yaml", "--readers-only"]).0, 0);
    assert_eq!(run(&folder, &["old.json", "more.json"]).0, 0);
    let (code, out, _) = run(&folder, &["old.json", "old.json"]);
    assert_eq!((code, out.starts_with("No difference")), (0, true), "{out}");
}

#[test]
fn json_output_ends_with_one_summary() {
    let folder = folder("json");
    put(&folder, "old.json", OLD);
    put(&folder, "new.json", &OLD.replace('5', "4"));
    let (code, out, _) = run(&folder, &["old.json", "new.json", "--json"]);
    let line: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    let drift = &line["summary"]["drift"];
    assert_eq!(
        (code, drift["result"].as_str(), drift["bump"].as_str()),
        (1, Some("breaking"), Some("major"))
    );
    assert_eq!(drift["changes"][0]["proven"], true);
    let (_, out, _) = run(&folder, &["old.json", "new.json", "--markdown"]);
    assert!(out.contains("Proven: only one version accepts"), "{out}");
}

#[test]
fn configurations_set_inputs_and_mounts() {
    let folder = folder("configurations");
    for (version, limit) in [("v1", "5"), ("v2", "6")] {
        let root = r#"{"$id":"https://x.example/root","type":"object","properties":{"p":{"$ref":"https://shared.example/part.json"}}}"#;
        put(&folder, &format!("{version}/api/root.json"), root);
        put(&folder, &format!("{version}/shared/part.json"), &OLD.replace('5', limit));
        let config = "inputs = [\"api\"]\n[mounts]\n\"https://shared.example/\" = \"shared\"\n";
        put(&folder, &format!("{version}/codegen.toml"), config);
    }
    let (code, out, err) = run(&folder, &["v1/codegen.toml", "v2"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("length-widened") && !out.contains("id-"), "{out}");
}

#[test]
fn invalid_inputs_are_reported() {
    let folder = folder("problems");
    put(&folder, "old.json", OLD);
    put(&folder, "broken.json", r#"{"type":"string""#);
    assert_eq!(run(&folder, &["old.json", "gone.json"]).0, 4);
    let (code, _, err) = run(&folder, &["old.json", "broken.json"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("broken.json:1"), "{err}");
    assert_eq!(run(&folder, &["old.json"]).0, 2);
    let (code, out, _) = run(&folder, &["--explain", "enum-value-added"]);
    assert_eq!((code, out.contains("Readers expect only the values")), (0, true), "{out}");
}

const NEW: &str = r#"{"type":"object","properties":{"a":{"type":"string","maxLength":4}}}"#;

/// `--accept` writes an entry beside the contract. After that, the same comparison succeeds until the entry
/// expires. An entry that covers no change is an error.
#[test]
fn accepted_changes_do_not_fail_until_they_expire() {
    let folder = folder("accepted");
    put(&folder, "old.json", OLD);
    put(&folder, "api/new.json", NEW);
    let versions = ["old.json", "api/new.json"];
    let run_with = |more: &[&str]| run(&folder, &[&versions, more].concat());
    let accept = ["--accept", "--reason", "No client sends 5.", "--by", "Ann", "--expires", "2026-03-31"];
    let (code, out, err) = run_with(&[&accept[..], &["--today", "2026-01-01"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("accepted 1 breaking change in api/drift.toml"), "{err}");
    assert!(out.contains("  accepted length-narrowed") && out.contains("0 breaking, 1 accepted"), "{out}");
    assert!(out.contains("accepted by Ann until 2026-03-31: No client sends 5."), "{out}");
    let text = fs::read_to_string(folder.join("api/drift.toml")).unwrap();
    assert!(text.contains("place = \"old.json /a\""), "{text}");
    let names: Vec<_> = fs::read_dir(folder.join("api")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no temporary file may be left: {names:?}");
    // Accepting again changes nothing.
    let (code, _, err) = run_with(&[&accept[..], &["--today", "2026-03-31"]].concat());
    assert_eq!((code, err.contains("no breaking change to accept")), (0, true), "{err}");
    assert_eq!(fs::read_to_string(folder.join("api/drift.toml")).unwrap(), text);
    let (code, out, _) = run_with(&["--today", "2026-04-01"]);
    assert_eq!(code, 1);
    assert!(out.contains("expired on 2026-03-31 (api/drift.toml:1)"), "{out}");
    assert!(out.contains("breaking length-narrowed"), "{out}");
    // A file beside the contract has precedence over one in the current folder.
    put(&folder, "drift.toml", "");
    assert_eq!(run_with(&["--today", "2026-01-01"]).0, 0);
    assert_eq!(run_with(&["--today", "2026-01-01", "--accepted", "drift.toml"]).0, 1);
    fs::rename(folder.join("api/drift.toml"), folder.join("drift.toml")).unwrap();
    assert_eq!(run_with(&["--today", "2026-01-01"]).0, 0, "the current folder is searched, too");
    let (code, out, _) = run(&folder, &["old.json", "old.json", "--today", "2026-01-01"]);
    assert_eq!(code, 1);
    assert!(out.contains("(drift.toml:1)\n  help: remove the entry"), "{out}");
}

#[test]
fn accept_needs_a_reason_and_a_breaking_change() {
    let folder = folder("accept");
    put(&folder, "old.json", OLD);
    put(&folder, "new.json", NEW);
    assert_eq!(run(&folder, &["old.json", "new.json", "--accept"]).0, 2);
    assert_eq!(run(&folder, &["old.json", "new.json", "--accept", "--reason", " "]).0, 2);
    let past = ["--accept", "--reason", "x", "--expires", "2025-12-31", "--today", "2026-01-01"];
    let (code, _, err) = run(&folder, &[&["old.json", "new.json"], &past[..]].concat());
    assert_eq!((code, err.contains("is in the past: today is 2026-01-01")), (2, true), "{err}");
    assert_eq!(run(&folder, &["new.json", "old.json", "--writers-only", "--accept", "--reason", "x"]).0, 0);
    assert!(!folder.join("drift.toml").exists());
    let (code, _, err) = run(&folder, &["old.json", "new.json", "--today", "2026-02-30"]);
    assert_eq!((code, err.contains("`--today`: `2026-02-30` is not a date")), (2, true), "{err}");
    let missing = ["old.json", "new.json", "--accepted", "gone.toml"];
    assert_eq!(run(&folder, &missing).0, 4);
    put(&folder, "drift.toml", "[[accepted]]\nrule = \"length-narrowed\"\nplace = \"x\"\nwhy = \"y\"\n");
    let (code, _, err) = run(&folder, &["old.json", "new.json"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("unknown key `why`") && err.contains("drift.toml:4:1"), "{err}");
}

/// All formats show accepted changes with their reason, and outdated entries with their location.
#[test]
fn every_format_shows_accepted_changes_and_outdated_entries() {
    let folder = folder("formats");
    put(&folder, "old.json", OLD);
    put(&folder, "new.json", NEW);
    let entry = |rule: &str| {
        format!(
            "[[accepted]]\nrule = \"{rule}\"\nplace = \"old.json /a\"\nreason = \"a|b <c>\"\nby = \"Ann\"\n"
        )
    };
    put(&folder, "drift.toml", &format!("{}{}", entry("length-narrowed"), entry("pattern-added")));
    let print = |format: &str| {
        let (code, out, err) = run(&folder, &["old.json", "new.json", "--today", "2026-01-01", format]);
        assert_eq!(code, 1, "{format}\n{out}{err}");
        out
    };
    let markdown = print("--markdown");
    assert!(markdown.contains("| breaking, accepted | `length-narrowed`"), "{markdown}");
    assert!(markdown.contains("**Accepted by Ann:** a\\|b &lt;c>"), "{markdown}");
    assert!(markdown.contains("at `old.json /a` (drift.toml:6)"), "{markdown}");
    let annotations = print("--annotations");
    assert!(annotations.contains("::notice file=new.json,line=1,title=length-narrowed::"), "{annotations}");
    assert!(annotations.contains("Accepted by Ann: a|b <c>"), "{annotations}");
    assert!(annotations.contains("::error file=drift.toml,line=6,title=outdated-"), "{annotations}");
    let sarif: Value = serde_json::from_str(&print("--sarif")).unwrap();
    let run = &sarif["runs"][0];
    let suppression = &run["results"][0]["suppressions"][0];
    assert_eq!((&suppression["kind"], &suppression["status"]), (&"external".into(), &"accepted".into()));
    assert_eq!(suppression["justification"], "a|b <c>");
    let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
    let location = &notification["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "drift.toml");
    assert_eq!((&notification["level"], &location["region"]["startLine"]), (&"error".into(), &6.into()));
    let json: Value = serde_json::from_str(print("--json").lines().last().unwrap()).unwrap();
    let drift = &json["summary"]["drift"];
    assert_eq!((drift["result"].as_str(), drift["bump"].as_str()), (Some("additive"), Some("minor")));
    assert_eq!(drift["changes"][0]["accepted"]["reason"], "a|b <c>");
    assert_eq!(drift["changes"][0]["writers"], "breaking");
    assert_eq!(drift["outdatedEntries"][0]["line"], 6);
}

/// `--html` writes a page in addition to the report on standard output.
#[test]
fn html_report_is_written_to_a_file() {
    let folder = folder("html");
    put(&folder, "old.json", OLD);
    put(&folder, "new.json", NEW);
    let (code, out, err) = run(&folder, &["old.json", "new.json", "--html", "pages/drift.html"]);
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("length-narrowed"), "{out}");
    let page = fs::read_to_string(folder.join("pages/drift.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("&quot;maxLength&quot;:5"), "{page}");
    assert!(page.contains("new.json:1"), "{page}");
}

/// `--today` decides whether the sunset of a removed operation has passed.
#[test]
fn sunset_is_compared_with_the_given_date() {
    let folder = folder("sunset");
    let operation =
        "  /a:\n    get: {deprecated: true, x-sunset: 2026-03-31, responses: {'204': {description: x}}}\n";
    let document =
        |paths: &str| format!("openapi: 3.1.0\ninfo: {{title: T, version: 1.0.0}}\npaths:\n{paths}");
    let kept = "  /b:\n    get: {responses: {'204': {description: x}}}\n";
    put(&folder, "old.yaml", &document(&format!("{operation}{kept}")));
    put(&folder, "new.yaml", &document(kept));
    let (code, out, err) = run(&folder, &["old.yaml", "new.yaml", "--today", "2026-04-01"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("additive operation-removed") && out.contains("2026-03-31 has passed"), "{out}");
    assert_eq!(run(&folder, &["old.yaml", "new.yaml", "--today", "2026-03-31"]).0, 1);
}

/// A reason with several lines is printed in one line of the text report.
#[test]
fn reasons_are_printed_in_one_line() {
    let folder = folder("reason");
    put(&folder, "old.json", OLD);
    put(&folder, "new.json", NEW);
    let accept = ["old.json", "new.json", "--accept", "--reason", "One.\n  Two."];
    let (code, out, err) = run(&folder, &accept);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("accepted: One. Two.\n"), "{out}");
    let (code, out, _) = run(&folder, &["old.json", "new.json", "--markdown"]);
    assert!(code == 0 && out.contains("**Accepted:** One.   Two. |"), "{out}");
}
