//! The public documentation must not contain identifiers of this repository's requirements and decisions,
//! which users of the package cannot look up.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs")
            && !["tests", "model", "properties"].contains(&&*name)
        {
            found.push(path);
        }
    }
}

/// Returns true if a word is the id of a requirement or of a decision: `DPP-18`, `A30`.
fn is_id(word: &str) -> bool {
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|it| it.is_ascii_digit());
    match word.split_once('-') {
        Some((area, number)) => {
            (2..=3).contains(&area.len()) && area.bytes().all(|it| it.is_ascii_uppercase()) && digits(number)
        }
        None => word.strip_prefix('A').is_some_and(digits),
    }
}

/// Returns the documentation lines outside of test modules.
fn documentation(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let public = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = public.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
    lines.filter(|(_, line)| line.starts_with("///") || line.starts_with("//!"))
}

/// Returns the references in these lines that a user of the package cannot look up, such as requirement ids.
fn inside<'t>(file: &Path, lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in lines {
        let words = line.split(|it: char| !(it.is_ascii_alphanumeric() || it == '-'));
        let ids = words.filter(|word| is_id(word) && *word != "UTF-8");
        found.extend(ids.map(|id| format!("{}:{at}: {id}", file.display())));
        if line.to_lowercase().contains("exchange") {
            found.push(format!("{}:{at}: exchange", file.display()));
        }
    }
    found
}

#[test]
fn public_documentation_has_no_internal_references() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&package.join("src"), &mut files);
    assert!(files.len() > 30, "{files:?}");
    let mut found = Vec::new();
    for file in &files {
        found.extend(inside(file, documentation(&fs::read_to_string(file).unwrap())));
    }
    // These files are checked completely, because the output of an example is also public.
    let mut public_files = Vec::new();
    sources(&package.join("examples"), &mut public_files);
    assert!(!public_files.is_empty());
    public_files.push(package.join("README.md"));
    for file in &public_files {
        let text = fs::read_to_string(file).unwrap();
        found.extend(inside(file, text.lines().enumerate().map(|(index, line)| (index + 1, line))));
    }
    assert_eq!(found, [""; 0]);
    assert!(is_id("DPP-18") && is_id("A7") && !is_id("RFC-9449") && !is_id("A128") && !is_id("ES256"));
}
