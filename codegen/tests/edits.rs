//! Tests that editing one schema changes only a few lines, in the files of its area, and that the edits of
//! two schemas do not change adjacent lines, so that two branches merge without conflicts.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{OutputFiles, Project, Sources};
use similar::{DiffTag, TextDiff};

/// Returns the names and contents of the documents of the exchange.
fn read_documents() -> Vec<(String, String)> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    let folder = fs::read_dir(base.join("exchange/v1")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.push(base.join("openapi.json"));
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Generates code after adding an optional property to each of the given schemas.
fn generate_edited(edited: &[&str]) -> OutputFiles {
    let mut documents = read_documents();
    for stem in edited {
        let ending = format!("{stem}.schema.json");
        let (_, text) = documents.iter_mut().find(|(name, _)| name.ends_with(&ending)).unwrap();
        // Patterns are one sorted list, in which two new patterns could be adjacent. Therefore only one
        // schema gets a pattern.
        let pattern = if *stem == "ship" { r#", "pattern": "^[A-Z]+$""# } else { "" };
        let property =
            format!(r#""properties": {{ "hullNumber": {{ "type": "string", "maxLength": 64{pattern} }},"#);
        let edited_text = text.replacen("\"properties\": {", &property, 1);
        assert_ne!(*text, edited_text, "{stem} has no properties to edit");
        *text = edited_text;
    }
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    let project = Project::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
    let texts: Vec<(&str, &str, &str)> =
        documents.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
    let contract = project.analyze_sources(Sources::from_texts(&texts).unwrap());
    let contract = contract.unwrap_or_else(|problems| panic!("{problems}"));
    project.generate_from(contract).unwrap_or_else(|problems| panic!("{problems}")).files
}

/// A range of replaced lines, and the lines that replace them.
struct Hunk {
    old: std::ops::Range<usize>,
    new: Vec<String>,
}

fn diff_hunks(before: &str, after: &str) -> Vec<Hunk> {
    let lines: Vec<&str> = after.split_inclusive('\n').collect();
    let diff = TextDiff::from_lines(before, after);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed
        .map(|op| Hunk {
            old: op.old_range(),
            new: lines[op.new_range()].iter().map(|&line| line.to_owned()).collect(),
        })
        .collect()
}

/// Counts the removed and added lines of each file.
fn count_changed_lines(before: &OutputFiles, after: &OutputFiles) -> BTreeMap<String, usize> {
    assert!(before.0.keys().eq(after.0.keys()), "files are added or removed");
    let mut found = BTreeMap::new();
    for ((name, old), (_, new)) in before.iter().zip(after.iter()) {
        let lines: usize = diff_hunks(old, new).iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum();
        if lines > 0 {
            found.insert(name.to_owned(), lines);
        }
    }
    found
}

/// Merges two edits like `git merge`. Panics if the edits overlap or are adjacent.
fn merge_edits(name: &str, before: &str, one: &str, other: &str) -> String {
    let mut hunks = diff_hunks(before, one);
    hunks.extend(diff_hunks(before, other));
    hunks.sort_by_key(|hunk| (hunk.old.start, hunk.old.end));
    for pair in hunks.windows(2) {
        assert!(pair[0].old.end < pair[1].old.start, "{name}: both edits change line {}", pair[1].old.start);
    }
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut out, mut position) = (String::new(), 0);
    for hunk in hunks {
        out.extend(lines[position..hunk.old.start].iter().copied());
        out.extend(hunk.new);
        position = hunk.old.end;
    }
    out.extend(lines[position..].iter().copied());
    out
}

/// A new property changes few lines. Rows must not be numbered for the whole contract: with such numbers,
/// this edit changed 230 lines in 10 files, and an edit of `blueprint`, which is earlier in the order,
/// changed 1,281 lines in 13 files.
#[test]
fn new_property_changes_few_lines_in_its_area() {
    let found = count_changed_lines(&generate_edited(&[]), &generate_edited(&["ship"]));
    let files: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(files, ["json_schemas.rs", "root.rs", "schemas.rs", "ships.rs"], "{found:?}");
    assert_eq!(found["json_schemas.rs"], 2, "only the members of one type change");
    assert_eq!(found["root.rs"], 2, "only the digest of the file changes");
    assert!(found["schemas.rs"] <= 20, "{found:?}");
    assert!(found["ships.rs"] <= 30, "{found:?}");
}

/// Edits of two schemas merge even if the schemas are adjacent in every list, such as `ship` and `stock-lot`,
/// or `blueprint` and `change-result`.
#[test]
fn edits_of_two_schemas_merge_without_conflicts() {
    let before = generate_edited(&[]);
    for (one, other) in [("ship", "stock-lot"), ("/blueprint", "change-result"), ("ship", "page")] {
        let (first, second, both) =
            (generate_edited(&[one]), generate_edited(&[other]), generate_edited(&[one, other]));
        let files = |files: &OutputFiles| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert!(
            [&first, &second, &both].iter().all(|each| files(each) == files(&before)),
            "files are added or removed"
        );
        for (name, text) in before.iter() {
            let merged = merge_edits(name, text, &first.0[name], &second.0[name]);
            assert!(
                merged == both.0[name],
                "{name}: the merge of {one} and {other} differs from the generated code"
            );
        }
    }
}
