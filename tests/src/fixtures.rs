//! The fixtures of the contract: documents with the violations that each of them must cause.
//!
//! [`published`] reads the files in `schemas/fixtures/`. [`fixtures`] returns these and the documents with
//! long lists that [`RECIPES`] generate. Most tests use [`fixtures`]; tests of CON-04, which applies only to
//! the files, use [`published`].

mod recipes;

use std::{
    fs,
    path::{Path, PathBuf},
};

use exchange_api::Json;

use crate::schemas;

pub use recipes::{RECIPES, Recipe};

/// A fixture: a document and the violations that it must cause.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The path below `schemas/fixtures/`, such as `stock-lot--lotKey/invalid/empty.json`.
    pub name: String,
    /// The folder, such as `stock-lot--lotKey`.
    pub folder: String,
    /// The content of the document.
    pub bytes: Vec<u8>,
    /// JSON Pointer and keyword of each expected violation, sorted; `None` if the document is valid.
    pub expect: Option<Vec<(String, String)>>,
}

/// Returns every fixture: the published ones sorted by name, then those that [`RECIPES`] generate.
///
/// # Panics
/// Panics if a file cannot be read, or if an invalid fixture has no file of expected violations.
#[must_use]
pub fn fixtures() -> Vec<Fixture> {
    let mut all = published();
    all.extend(RECIPES.iter().flat_map(Recipe::make));
    all
}

/// Returns every fixture in `schemas/fixtures/`, sorted by name.
///
/// # Panics
/// Panics if a file cannot be read, or if an invalid fixture has no file of expected violations.
#[must_use]
pub fn published() -> Vec<Fixture> {
    let root = schemas().join("fixtures");
    let mut all = Vec::new();
    for folder in entries(&root) {
        for kind in ["valid", "invalid"] {
            for path in entries(&folder.join(kind)) {
                let name = text(&path.strip_prefix(&root).map(Path::to_path_buf).unwrap_or_default());
                if name.ends_with(".expect.json") || !name.ends_with(".json") {
                    continue;
                }
                let expect = (kind == "invalid").then(|| expectation(&path));
                let folder = text(Path::new(folder.file_name().unwrap_or_default()));
                all.push(Fixture { name, folder, bytes: read(&path), expect });
            }
        }
    }
    all
}

fn text(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = list.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn expectation(path: &Path) -> Vec<(String, String)> {
    let json = Json::parse(&read(&path.with_extension("expect.json")));
    let json = json.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let entry = |entry: &Json, name: &str| -> String {
        let value = entry.as_object().and_then(|o| o.get(name)).and_then(Json::as_str);
        value.unwrap_or_else(|| panic!("{}: an entry without {name}", path.display())).to_owned()
    };
    let list = json.as_array().unwrap_or_else(|| panic!("{}: no array", path.display()));
    list.iter().map(|e| (entry(e, "pointer"), entry(e, "keyword"))).collect()
}
