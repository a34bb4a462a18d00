//! References to files: names that a URI would escape, and what lies above the inputs.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use crate::{
    diagnostics::{Diagnostics, Faults},
    load::{Sources, files},
    resolve::{ResolveOptions, resolve},
};

/// A folder of its own for a test, with files.
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

/// What is wrong with the contract in a file or folder, and how many schemas it has.
fn read(path: PathBuf, mounts: &[(String, PathBuf)]) -> (Diagnostics, usize) {
    let mut sources = Sources::from_files(&[path], mounts).unwrap();
    let (graph, _, problems) = resolve(&mut sources, &ResolveOptions::default());
    (problems, graph.schemas.len())
}

const USER: &str = r#"{"type": "array", "items": {"$ref": "./paths/objects@{object_id}.json#/$defs/a b"}}"#;
const PART: &str = r#"{"$defs": {"a b": {"type": "string"}}}"#;

#[test]
fn names_that_a_uri_would_escape_lead_to_their_files() {
    let root = folder("braces", &[("main.json", USER), ("paths/objects@{object_id}.json", PART)]);
    // The file alone, and a folder in which the other one is an input too.
    for input in [root.join("main.json"), root.clone()] {
        let (mut problems, schemas) = read(input, &[]);
        assert!(schemas >= 3, "{problems}");
        let reference = "./paths/objects@{object_id}.json#/$defs/a b";
        let address = "./paths/objects@{object_id}.json";
        let refused = format!("the reference `{reference}` is malformed: `{address}` is not a URI reference");
        let words: Vec<&str> = problems.iter().map(|each| each.message.as_str()).collect();
        assert_eq!(words, [refused.as_str()]);
        // `--strict` refuses it as before.
        assert!(problems.has_errors());
        problems.settle(Faults::Warn);
        assert!(!problems.has_errors());
        let taken = "; it is read as `./paths/objects@%7Bobject_id%7D.json#/$defs/a b`";
        assert!(problems.iter().all(|each| each.message.ends_with(taken)), "{problems}");
    }
    fs::remove_dir_all(&root).unwrap();
    // A file that is not there is no reason to read the text in another way.
    let root = folder("no-braces", &[("main.json", USER)]);
    let (problems, _) = read(root.join("main.json"), &[]);
    let mends: Vec<_> = problems.iter().filter_map(|each| each.mend.as_deref()).collect();
    assert_eq!(mends, ["any JSON passes"], "{problems}");
    fs::remove_dir_all(&root).unwrap();
}

/// Nothing above the inputs is read; what to do about it is said so that it can be typed.
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
    let said: Vec<(&str, &str)> = problems
        .iter()
        .map(|each| (each.message.as_str(), each.help.as_deref().unwrap_or_default()))
        .collect();
    let all = files::typed(&root);
    let message = |reference: &str| {
        format!("`{reference}` leads to a file above the folder of the input, and nothing is read there")
    };
    let help = |uri: &str, path: &str| {
        format!(
            "give `{all}` as the input, or mount what is meant: \"{uri}\" = \"{all}/{path}\" in `[mounts]`"
        )
    };
    let (part, one) = (message("../common/part.json"), message("../one.json"));
    let (folder, file) = (help("file:///common/", "common"), help("file:///one.json", "one.json"));
    assert_eq!(said, [(part.as_str(), folder.as_str()), (one.as_str(), file.as_str())]);
    // Either does what is said of it.
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
