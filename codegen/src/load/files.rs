//! Files and folders: what an input holds, what a URI stands for on disk.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{
    schema::Types,
    tree::{Tree, Value},
};

/// Folders whose files are never part of a contract.
const SKIPPED: [&str; 3] = ["fixtures", "node_modules", "target"];

/// What a URI without extension may be stored as.
pub(crate) const ENDINGS: [&str; 5] = ["", ".json", ".schema.json", ".yaml", ".yml"];

/// A file of an input.
pub(crate) struct Found {
    /// Absolute, without `.` and `..`.
    pub(crate) path: PathBuf,
    /// Named itself, not found in a folder.
    pub(crate) explicit: bool,
}

/// All candidate files of an input, in a stable order.
pub(crate) fn find(input: &Path) -> io::Result<Vec<Found>> {
    let input = absolute(input)?;
    if !fs::metadata(&input)?.is_dir() {
        return Ok(vec![Found { path: input, explicit: true }]);
    }
    let mut found = Vec::new();
    let mut folders = vec![input];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            // Links to folders are not followed: they may lead in circles.
            if entry.file_type()?.is_dir() {
                if !SKIPPED.contains(&name) {
                    folders.push(path);
                }
            } else if is_document(name) && fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
                found.push(Found { path, explicit: false });
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

fn is_document(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| {
        ["json", "yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Whether a file is read as YAML; anything else is JSON.
pub(crate) fn is_yaml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
    })
}

/// Whether a document of a folder is part of a contract: OpenAPI, or a schema by its keywords.
pub(crate) fn is_contract(tree: &Tree) -> bool {
    let has = |key: &str| tree.get(key).is_some();
    let typed = tree.get("type").is_some_and(|found| match &found.value {
        Value::String(name) => Types::named(name).is_some(),
        Value::Array(names) => {
            !names.is_empty()
                && names.iter().all(|name| name.as_str().is_some_and(|name| Types::named(name).is_some()))
        }
        _ => false,
    });
    let object = |key: &str| tree.get(key).is_some_and(Tree::is_object);
    let list = |key: &str| tree.get(key).is_some_and(|found| !found.elements().is_empty());
    has("openapi")
        || has("swagger")
        || ["$schema", "$id"].iter().any(|key| tree.get(key).and_then(Tree::as_str).is_some())
        || typed
        || ["$defs", "definitions", "properties"].iter().any(|key| object(key))
        || ["allOf", "anyOf", "oneOf"].iter().any(|key| list(key))
}

/// Absolute and without `.` and `..`, whether it exists or not.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// The deepest folder that holds all of them.
pub(crate) fn common(folders: &[PathBuf]) -> Option<PathBuf> {
    let mut folders = folders.iter();
    let mut common = folders.next()?.clone();
    for folder in folders {
        while !folder.starts_with(&common) {
            if !common.pop() {
                return None;
            }
        }
    }
    Some(common)
}

/// A path below a folder as people and URIs write it, with `/`.
pub(crate) fn relative(root: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = rest.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// The file at a path, with or without its extension.
pub(crate) fn there(path: &Path) -> Option<PathBuf> {
    let path = path.to_str()?;
    ENDINGS.iter().map(|ending| PathBuf::from(format!("{path}{ending}"))).find(|found| found.is_file())
}

/// An absolute path as people type it: from the folder that they are in, where it lies below that.
pub(crate) fn typed(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    match here.and_then(|here| relative(&here, path)) {
        Some(inside) if inside.is_empty() => ".".to_owned(),
        Some(inside) => inside,
        None => path.display().to_string().replace('\\', "/"),
    }
}

/// Where a file would be that a relative URI path names; a path that leaves the folder names nothing.
pub(crate) fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let inside = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    (inside && !path.contains(['\\', '\0'])).then(|| root.join(path))
}

/// The file below `root` that a relative URI path names, with or without its extension.
///
/// A path that leaves the folder, also through a link, names nothing.
pub(crate) fn below(root: &Path, path: &str) -> Option<PathBuf> {
    inside(root, path)?;
    let real = fs::canonicalize(root).ok()?;
    ENDINGS.iter().map(|ending| root.join(format!("{path}{ending}"))).find(|candidate| {
        candidate.is_file() && fs::canonicalize(candidate).is_ok_and(|target| target.starts_with(&real))
    })
}
