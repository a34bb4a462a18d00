//! What an edit of one schema changes in the output: few lines, in the files of its own area, and
//! none beside a line that an edit of another schema changes, so that two branches merge.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{OutputFiles, Project, Sources};
use similar::{DiffTag, TextDiff};

/// The documents of the exchange: name and text.
fn documents() -> Vec<(String, String)> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    let folder = fs::read_dir(base.join("exchange/v1")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.push(base.join("openapi.json"));
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// What is generated when each of these schemas has one more optional property.
fn generated(edited: &[&str]) -> OutputFiles {
    let mut documents = documents();
    for stem in edited {
        let ending = format!("{stem}.schema.json");
        let (_, text) = documents.iter_mut().find(|(name, _)| name.ends_with(&ending)).unwrap();
        // Patterns are one sorted list: two new ones can fall side by side there, so only one is new.
        let pattern = if *stem == "ship" { r#", "pattern": "^[A-Z]+$""# } else { "" };
        let property =
            format!(r#""properties": {{ "hullNumber": {{ "type": "string", "maxLength": 64{pattern} }},"#);
        let with = text.replacen("\"properties\": {", &property, 1);
        assert_ne!(*text, with, "{stem} has no properties: nothing is edited");
        *text = with;
    }
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    let project = Project::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"));
    let texts: Vec<(&str, &str, &str)> =
        documents.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
    let contract = project.analyze_sources(Sources::from_texts(&texts).unwrap());
    let contract = contract.unwrap_or_else(|problems| panic!("{problems}"));
    project.generate_from(contract).unwrap_or_else(|problems| panic!("{problems}")).files
}

/// Lines of a text that an edit replaces, and by what.
struct Hunk {
    old: std::ops::Range<usize>,
    new: Vec<String>,
}

fn hunks(before: &str, after: &str) -> Vec<Hunk> {
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

/// How many lines go and come, by file.
fn changed(before: &OutputFiles, after: &OutputFiles) -> BTreeMap<String, usize> {
    assert!(before.0.keys().eq(after.0.keys()), "files come or go");
    let mut found = BTreeMap::new();
    for ((name, old), (_, new)) in before.iter().zip(after.iter()) {
        let lines: usize = hunks(old, new).iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum();
        if lines > 0 {
            found.insert(name.to_owned(), lines);
        }
    }
    found
}

/// What `git merge` makes of two edits: a conflict where they touch or stand side by side.
fn merged(name: &str, before: &str, one: &str, other: &str) -> String {
    let mut all = hunks(before, one);
    all.extend(hunks(before, other));
    all.sort_by_key(|hunk| (hunk.old.start, hunk.old.end));
    for pair in all.windows(2) {
        assert!(pair[0].old.end < pair[1].old.start, "{name}: both edits change line {}", pair[1].old.start);
    }
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    for hunk in all {
        out.extend(lines[at..hunk.old.start].iter().copied());
        out.extend(hunk.new);
        at = hunk.old.end;
    }
    out.extend(lines[at..].iter().copied());
    out
}

/// Rows numbered through the whole contract made it 10 files and 230 lines, and 13 files and 1,281
/// lines for `blueprint`, which stands further in front.
#[test]
fn one_more_property_changes_the_files_of_its_area_and_few_lines() {
    let found = changed(&generated(&[]), &generated(&["ship"]));
    let files: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(files, ["json_schemas.rs", "root.rs", "schemas.rs", "ships.rs"], "{found:?}");
    assert_eq!(found["json_schemas.rs"], 2, "the members of the one type");
    assert_eq!(found["root.rs"], 2, "the digest of the file");
    assert!(found["schemas.rs"] <= 20, "{found:?}");
    assert!(found["ships.rs"] <= 30, "{found:?}");
}

/// `ship` and `stock-lot` are neighbours in every list, and so are `blueprint` and `change-result`.
#[test]
fn edits_of_two_schemas_merge_to_what_both_together_give() {
    let before = generated(&[]);
    for (one, other) in [("ship", "stock-lot"), ("/blueprint", "change-result"), ("ship", "page")] {
        let (first, second, both) = (generated(&[one]), generated(&[other]), generated(&[one, other]));
        let files = |files: &OutputFiles| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert!(
            [&first, &second, &both].iter().all(|each| files(each) == files(&before)),
            "files come or go"
        );
        for (name, text) in before.iter() {
            let merged = merged(name, text, &first.0[name], &second.0[name]);
            assert!(merged == both.0[name], "{name}: merged is not what is generated, {one} and {other}");
        }
    }
}
