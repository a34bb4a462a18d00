//! Tests that regenerate a small repository after each kind of edit.

use std::{fs, path::Path};

use super::*;

/// Creates a repository that has a contract with one schema, and generates its code once.
fn create_repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write_file = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write_file(
        CONFIG_FILE,
        "inputs = [\"lot.schema.json\"]\n[input]\nfaults = \"deny\"\n[output]\nlayout = \"modules\"\n",
    );
    write_file("schemas/lot.schema.json", SCHEMA);
    let outcome = regenerate(folder.path(), WriteMode::Write).unwrap();
    assert!(outcome.changes.count(FileChange::Created) > 1);
    folder
}

const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://example.com/lot.schema.json",
  "type": "object",
  "properties": { "key": { "type": "string" } },
  "required": ["key"]
}
"#;

fn check(root: &Path, mode: WriteMode, is_expected: impl Fn(&str) -> bool) {
    let text = render_report(&regenerate(root, mode).unwrap(), mode, false);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(is_expected(&text), "{text}");
}

#[test]
fn current_output_is_reported_in_one_line() {
    let folder = create_repository();
    for mode in [WriteMode::Check, WriteMode::Write] {
        check(folder.path(), mode, |text| text.starts_with("current ") && text.lines().count() == 1);
    }
    assert_eq!(run(&RegenArgs { check: true, json: false }, folder.path()), CommandOutcome::Passed);
}

#[test]
fn edited_file_is_reported_and_restored() {
    let folder = create_repository();
    let path = folder.path().join(GENERATED_FOLDER).join("types.rs");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{before}// An edit.\n")).unwrap();
    let args = RegenArgs { check: true, json: false };
    assert_eq!(run(&args, folder.path()), CommandOutcome::Failed);
    check(folder.path(), WriteMode::Check, |text| {
        text.starts_with("updated generated/src/generated/types.rs\n")
            && text.contains("-// An edit.\n")
            && text.ends_with("  -> cargo xtask regen\n")
    });
    assert_ne!(fs::read_to_string(&path).unwrap(), before, "a check must not write files");
    check(folder.path(), WriteMode::Write, |text| {
        text.starts_with("updated generated/src/generated/types.rs\n")
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn stray_file_is_removed() {
    let folder = create_repository();
    let stray = folder.path().join(GENERATED_FOLDER).join("old.rs");
    fs::write(&stray, "//! Left from a former version.\n").unwrap();
    check(folder.path(), WriteMode::Check, |text| {
        text.starts_with("removed generated/src/generated/old.rs\n")
    });
    assert!(stray.exists());
    check(folder.path(), WriteMode::Write, |text| {
        text.starts_with("removed generated/src/generated/old.rs\n")
    });
    assert!(!stray.exists());
}

#[test]
fn contract_edit_changes_the_output() {
    let folder = create_repository();
    let schema = SCHEMA.replace("\"string\"", "\"string\", \"maxLength\": 3");
    fs::write(folder.path().join("schemas/lot.schema.json"), schema).unwrap();
    let outcome = regenerate(folder.path(), WriteMode::Check).unwrap();
    assert!(!outcome.changes.is_clean());
    let json = json_lines(&outcome);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| line.parse().unwrap()).collect();
    let updated = lines.iter().filter(|line| line["change"] == "updated").count();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["clean"], &summary["updated"]), (&json!(false), &json!(updated)));
    assert!(updated > 0, "{json}");
}

#[test]
fn invalid_contract_changes_nothing() {
    let folder = create_repository();
    let schema = SCHEMA.replace("\"required\": [", "\"required\": 7, \"x-was\": [");
    fs::write(folder.path().join("schemas/lot.schema.json"), schema).unwrap();
    let before = fs::read_to_string(folder.path().join(GENERATED_FOLDER).join("types.rs")).unwrap();
    match regenerate(folder.path(), WriteMode::Write) {
        Err(RegenError::Contract(problems)) => assert!(problems.render(false).contains("lot.schema.json")),
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(folder.path().join(GENERATED_FOLDER).join("types.rs")).unwrap(), before);
    assert_eq!(run(&RegenArgs::default(), folder.path()), CommandOutcome::Failed);
}

#[test]
fn folder_without_generated_root_is_rejected() {
    let folder = create_repository();
    fs::remove_file(folder.path().join(GENERATED_FOLDER).join("root.rs")).unwrap();
    assert_eq!(run(&RegenArgs::default(), folder.path()), CommandOutcome::NotRun);
}

#[test]
fn committed_output_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let outcome = regenerate(&root, WriteMode::Check).unwrap();
    assert!(outcome.changes.is_clean(), "{}", render_report(&outcome, WriteMode::Check, false));
}
