//! Tests of references to files whose names contain characters that a URI must escape, and of references to
//! files above the folder of the inputs.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use crate::{
    diagnostics::{Diagnostics, FaultPolicy},
    load::{Sources, files},
    resolve::{ResolveOptions, resolve_documents},
};

/// Creates an empty temporary folder for one test and writes the files into it.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("contract-codegen-locate-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for (file, text) in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// Resolves the contract in a file or folder. Returns its problems and the number of its schemas.
fn read(path: PathBuf, mounts: &[(String, PathBuf)]) -> (Diagnostics, usize) {
    let mut sources = Sources::from_files(&[path], mounts).unwrap();
    let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
    (problems, graph.schemas.len())
}

const USER: &str = r#"{"type": "array", "items": {"$ref": "./paths/objects@{object_id}.json#/$defs/a b"}}"#;
const PART: &str = r#"{"$defs": {"a b": {"type": "string"}}}"#;

#[test]
fn unescaped_file_names_are_resolved() {
    let root = folder("braces", &[("main.json", USER), ("paths/objects@{object_id}.json", PART)]);
    // The input is either the file alone, or the folder, which includes the other file.
    for input in [root.join("main.json"), root.clone()] {
        let (mut problems, schemas) = read(input, &[]);
        assert!(schemas >= 3, "{problems}");
        let reference = "./paths/objects@{object_id}.json#/$defs/a b";
        let address = "./paths/objects@{object_id}.json";
        let malformed =
            format!("the reference `{reference}` is malformed: `{address}` is not a URI reference");
        let messages: Vec<&str> = problems.iter().map(|each| each.message.as_str()).collect();
        assert_eq!(messages, [malformed.as_str()]);
        // The unescaped reference is a fault, so it is an error unless the fault policy is `Warn`.
        assert!(problems.has_errors());
        problems.apply_fault_policy(FaultPolicy::Warn);
        assert!(!problems.has_errors());
        let accepted = "; it is read as `./paths/objects@%7Bobject_id%7D.json#/$defs/a b`";
        assert!(problems.iter().all(|each| each.message.ends_with(accepted)), "{problems}");
    }
    fs::remove_dir_all(&root).unwrap();
    // If no file has the escaped name, the reference is unresolved and accepts any JSON.
    let root = folder("no-braces", &[("main.json", USER)]);
    let (problems, _) = read(root.join("main.json"), &[]);
    let fallbacks: Vec<_> = problems.iter().filter_map(|each| each.fallback.as_deref()).collect();
    assert_eq!(fallbacks, ["any JSON is accepted"], "{problems}");
    fs::remove_dir_all(&root).unwrap();
}

/// A file above the folder of the inputs is not loaded, and the help text contains the `[mounts]` option with
/// which it would be loaded.
#[test]
fn files_above_the_inputs_are_not_read() {
    let root = folder(
        "above",
        &[
            (
                "api/main.json",
                r#"{"type": "array", "items": {"$ref": "../common/part.json"}, "contains": {"$ref": "../one.json"}}"#,
            ),
            ("common/part.json", r#"{"type": "string"}"#),
            ("one.json", r#"{"type": "string"}"#),
        ],
    );
    let input = || root.join("api/main.json");
    let (problems, _) = read(input(), &[]);
    let messages: Vec<(&str, &str)> = problems
        .iter()
        .map(|each| (each.message.as_str(), each.help.as_deref().unwrap_or_default()))
        .collect();
    let root_path = files::display_path(&root);
    let message = |reference: &str| {
        format!("`{reference}` refers to a file above the input folder, where no files are read")
    };
    let help = |uri: &str, path: &str| {
        format!(
            "use `{root_path}` as the input, or add the mount \"{uri}\" = \"{root_path}/{path}\" in `[mounts]`"
        )
    };
    let (part, one) = (message("../common/part.json"), message("../one.json"));
    let (folder, file) = (help("file:///common/", "common"), help("file:///one.json", "one.json"));
    assert_eq!(messages, [(part.as_str(), folder.as_str()), (one.as_str(), file.as_str())]);
    // The reference is resolved with either of the two mounts that the help text suggests: the folder or the
    // single file.
    let mounts = [
        ("file:///common/".to_owned(), root.join("common")),
        ("file:///one.json".to_owned(), root.join("one.json")),
    ];
    let (problems, _) = read(input(), &mounts);
    assert_eq!(problems.len(), 0, "{problems:?}");
    let (problems, _) = read(root.clone(), &[]);
    assert_eq!(problems.len(), 0, "{problems}");
    fs::remove_dir_all(&root).unwrap();
}
