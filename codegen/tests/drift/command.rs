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
    assert_eq!((code, out.contains("complete list")), (0, true), "{out}");
}
