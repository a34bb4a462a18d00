//! File system access: finds the files of inputs, and maps URI paths to files.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{
    schema::TypeSet,
    tree::{DocumentNode, NodeValue},
};

/// The names of folders that are never searched for contracts.
const SKIPPED_FOLDERS: [&str; 3] = ["fixtures", "node_modules", "target"];

/// The extensions that a reference to a file may omit.
pub(crate) const EXTENSIONS: [&str; 5] = ["", ".json", ".schema.json", ".yaml", ".yml"];

/// A file that is an input or is in an input folder.
pub struct InputFile {
    /// The absolute path without `.` and `..`.
    pub path: PathBuf,
    /// True if the file itself is an input, and not merely part of an input folder.
    pub explicit: bool,
}

/// Returns the files of an input that may be contract documents, sorted by path: the file itself, or all JSON
/// and YAML files in the folder and its subfolders.
pub fn find_input_files(input: &Path) -> io::Result<Vec<InputFile>> {
    let input = absolute_path(input)?;
    if !fs::metadata(&input)?.is_dir() {
        return Ok(vec![InputFile { path: input, explicit: true }]);
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
            // Links to folders are not followed, because they may form cycles.
            if entry.file_type()?.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name) {
                    folders.push(path);
                }
            } else if is_document(name) && fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
                found.push(InputFile { path, explicit: false });
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

/// Returns true if the extension selects YAML. All other files are parsed as JSON.
pub fn is_yaml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
    })
}

/// Returns true if the tree is an OpenAPI document or a schema, that is, an object with keywords of JSON
/// Schema.
pub(crate) fn is_contract(tree: &DocumentNode) -> bool {
    let has = |key: &str| tree.get(key).is_some();
    let typed = tree.get("type").is_some_and(|found| match &found.value {
        NodeValue::String(name) => TypeSet::from_name(name).is_some(),
        NodeValue::Array(names) => {
            !names.is_empty()
                && names
                    .iter()
                    .all(|name| name.as_str().is_some_and(|name| TypeSet::from_name(name).is_some()))
        }
        _ => false,
    });
    let object = |key: &str| tree.get(key).is_some_and(DocumentNode::is_object);
    let list = |key: &str| tree.get(key).is_some_and(|found| !found.elements().is_empty());
    has("openapi")
        || has("swagger")
        || ["$schema", "$id"].iter().any(|key| tree.get(key).and_then(DocumentNode::as_str).is_some())
        || typed
        || ["$defs", "definitions", "properties"].iter().any(|key| object(key))
        || ["allOf", "anyOf", "oneOf"].iter().any(|key| list(key))
}

/// Makes a path absolute and removes `.` and `..` from it. Does not access the file system, so links are not
/// resolved.
pub fn absolute_path(path: &Path) -> io::Result<PathBuf> {
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

/// Returns the deepest folder that contains all of the given folders.
pub fn common_ancestor(folders: &[PathBuf]) -> Option<PathBuf> {
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

/// Returns `path` relative to the folder `root`, with `/` as the separator. Returns `None` if it is not below
/// the folder.
pub(crate) fn relative_path(root: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = rest.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// Returns the path from a folder to a file, both absolute, with `/` as the separator. Returns the absolute
/// path of the file if they have no folder in common; a common root of the file system does not count.
pub fn path_from_folder(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().count() - shared;
    let inside: PathBuf = file.components().skip(shared).collect();
    let is_relative = shared > 1 || folder.components().count() <= 1;
    let path: PathBuf = if is_relative {
        std::iter::repeat_n(Path::new(".."), up).chain([inside.as_path()]).collect()
    } else {
        file.to_path_buf()
    };
    let text = path.to_string_lossy().replace('\\', "/");
    if text.is_empty() { ".".to_owned() } else { text }
}

/// Returns the file at a path if it exists, or else the file with one of the extensions that references may
/// omit.
pub(crate) fn find_with_extension(path: &Path) -> Option<PathBuf> {
    let path = path.to_str()?;
    EXTENSIONS.iter().map(|ending| PathBuf::from(format!("{path}{ending}"))).find(|found| found.is_file())
}

/// Returns a path for messages: relative if it is below the working directory, or else absolute.
pub(crate) fn display_path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    match here.and_then(|here| relative_path(&here, path)) {
        Some(inside) if inside.is_empty() => ".".to_owned(),
        Some(inside) => inside,
        None => path.display().to_string().replace('\\', "/"),
    }
}

/// Joins a relative URI path to a folder. Returns `None` if the result would be outside the folder.
pub(crate) fn join_inside(root: &Path, path: &str) -> Option<PathBuf> {
    let inside = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    (inside && !path.contains(['\\', '\0'])).then(|| root.join(path))
}

/// Returns the file below `root` for a relative URI path, if it exists. The path may omit the extension.
///
/// Returns `None` if the path leaves the folder, even through a link.
pub(crate) fn find_inside(root: &Path, path: &str) -> Option<PathBuf> {
    join_inside(root, path)?;
    let real = fs::canonicalize(root).ok()?;
    EXTENSIONS.iter().map(|ending| root.join(format!("{path}{ending}"))).find(|candidate| {
        candidate.is_file() && fs::canonicalize(candidate).is_ok_and(|target| target.starts_with(&real))
    })
}
