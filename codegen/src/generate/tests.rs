//! What a run says about the options themselves, with their places in codegen.toml.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use super::*;

/// A folder with a `codegen.toml` and other files.
fn folder(name: &str, options: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("contract-codegen-generate-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for (file, text) in files.iter().chain(&[("codegen.toml", options)]) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// `code line:column` of everything that is said.
fn said(root: &std::path::Path) -> Vec<String> {
    let project = Project::from_config(&root.join("codegen.toml")).unwrap();
    let problems = match project.read() {
        Ok(contract) => contract.diagnostics,
        Err(problems) => problems,
    };
    let lines = problems.json_lines();
    let each = lines.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {}:{}:{}", line["code"], line["file"], line["line"], line["column"]).replace('"', "")
    });
    each.collect()
}

#[test]
fn mounts_that_answer_nothing() {
    let one = ("one.json", r#"{"type": "object", "properties": {"a": {"$ref": "https://vendor/a"}}}"#);
    let a = ("vendor/a.json", r#"{"type": "string"}"#);
    let unused = "inputs = [\"one.json\"]\n[mounts]\n\"https://vendor/\" = \"vendor\"\n\"https://else/\" = \"vendor\"\n";
    let root = folder("unused", unused, &[one, a]);
    assert_eq!(said(&root), ["mount codegen.toml:4:1"]);
    fs::remove_dir_all(&root).unwrap();
    // Without the folder every reference into it would be lost; the mount is what is wrong.
    let missing = "inputs = [\"one.json\"]\n[mounts]\n\"https://vendor/\" = \"vendro\"\n";
    let root = folder("missing", missing, &[one, a]);
    assert_eq!(said(&root), ["mount codegen.toml:3:1"]);
    fs::remove_dir_all(&root).unwrap();
}
