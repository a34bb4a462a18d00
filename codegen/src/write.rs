//! Puts files on disk: only what changed, whole or not at all, and nothing beside it.
//!
//! The output folder belongs to the generator: what it did not write is removed, links are
//! never followed, and a folder that somebody else filled is refused untouched.
//!
//! A test that what is committed is what is generated:
//!
//! ```no_run
//! use contract_codegen::{Project, write::{Mode, apply}};
//!
//! let generated = Project::from_config("codegen.toml".as_ref())?.generate()?;
//! let changes = apply(&generated.files, "src/generated".as_ref(), Mode::Check)?;
//! assert!(changes.is_clean(), "{}", changes.difference.unwrap_or_default());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod difference;
mod disk;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use self::{difference::difference, disk::Found};
use crate::render::Files;

/// What is done with differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are written.
    Write,
    /// They are reported, the first one as a diff.
    Check,
    /// They are reported.
    DryRun,
}

/// What became of a file, or would become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It was not there.
    Created,
    /// It was there with other content.
    Updated,
    /// It was there and is not part of the output.
    Removed,
    /// Nothing, but for line endings.
    Same,
}

impl Change {
    /// The word for it: `created`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Same => "same",
        }
    }
}

/// Every file of the output and every stray beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Path below the folder, with `/`, in order.
    pub files: BTreeMap<String, Change>,
    /// The first difference that means something, as a unified diff from disk to output;
    /// [`Mode::Check`] alone.
    pub difference: Option<String>,
}

impl Changes {
    /// Whether the folder held exactly the output.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.files.values().all(|change| *change == Change::Same)
    }

    /// How many files had this change.
    #[must_use]
    pub fn count(&self, change: Change) -> usize {
        self.files.values().filter(|each| **each == change).count()
    }
}

/// Why nothing, or not everything, could be written.
#[derive(Debug)]
pub enum WriteError {
    /// Something went wrong at a path.
    Io(PathBuf, io::Error),
    /// The folder holds files, and none says that the generator wrote it.
    Foreign(PathBuf),
    /// The file is there, and does not say that the generator wrote it.
    ForeignFile(PathBuf),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Foreign(folder) => write!(
                f,
                "{} holds files that the generator did not write; give a folder that is new, empty or its own",
                folder.display()
            ),
            Self::ForeignFile(path) => write!(
                f,
                "{} is a file that the generator did not write; give a path that is new or its own",
                path.display()
            ),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Foreign(_) | Self::ForeignFile(_) => None,
        }
    }
}

/// Makes `folder` hold exactly `files`, or says what differs.
///
/// Kept beside them: names that start with a dot and, for a package, `target` and `Cargo.lock`.
/// All content is on disk before the first file is replaced, and each is replaced by a rename.
///
/// # Errors
/// When something cannot be read or written, with its path; when the folder is somebody else's.
pub fn apply(files: &Files, folder: &Path, mode: Mode) -> Result<Changes, WriteError> {
    for (path, _) in files.iter() {
        if path.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.contains('\\')) {
            let error =
                io::Error::new(io::ErrorKind::InvalidInput, "not a plain path below the output folder");
            return Err(WriteError::Io(folder.join(path), error));
        }
    }
    let package = files.0.contains_key("Cargo.toml");
    let present = disk::list(folder, package)?;
    if present.keys().any(|path| !disk::is_left(path)) && !disk::is_own(folder) {
        return Err(WriteError::Foreign(folder.to_path_buf()));
    }
    let mut changes = Changes::default();
    let mut shown: Option<difference::Difference> = None;
    for (path, content) in files.iter() {
        let before = match present.get(path) {
            Some(Found::File) => Some(disk::read(&folder.join(path))?),
            Some(Found::Other) => Some(Vec::new()),
            None => None,
        };
        let change = match &before {
            None => Change::Created,
            Some(bytes) if same(bytes, content) && present.get(path) == Some(&Found::File) => Change::Same,
            Some(_) => Change::Updated,
        };
        changes.files.insert(path.to_owned(), change);
        if mode == Mode::Check && change != Change::Same && shown.as_ref().is_none_or(|shown| !shown.means) {
            let before = before.unwrap_or_default();
            let found = difference(path, &String::from_utf8_lossy(&before), content);
            if found.means || shown.is_none() {
                shown = Some(found);
            }
        }
    }
    changes.difference = shown.as_ref().map(|shown| shown.text.clone());
    for path in present.keys().filter(|path| !files.0.contains_key(*path)) {
        changes.files.insert(path.clone(), Change::Removed);
        if mode == Mode::Check && shown.as_ref().is_none_or(|shown| !shown.means) {
            changes.difference = Some(format!("{path} is on disk and not part of the output\n"));
        }
    }
    if mode == Mode::Write && !changes.is_clean() {
        disk::replace(files, folder, &changes.files)?;
    }
    Ok(changes)
}

/// Makes the file at `path` hold exactly the one file of `files`, or says what differs.
///
/// A file that is there must say in its first line that the generator wrote it, or be empty. It
/// is replaced by a rename once all content is on disk; nothing beside it is looked at.
///
/// # Errors
/// When something cannot be read or written, with its path; when the file is somebody else's.
pub fn apply_file(files: &Files, path: &Path, mode: Mode) -> Result<Changes, WriteError> {
    let invalid = |message: &str| {
        WriteError::Io(path.to_path_buf(), io::Error::new(io::ErrorKind::InvalidInput, message))
    };
    let mut all = files.iter();
    let (Some((_, content)), None) = (all.next(), all.next()) else {
        return Err(invalid("the output is not one file"));
    };
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Err(invalid("no name for a file"));
    };
    let before = match disk::at(path)? {
        Some(Found::File) => Some(disk::read(path)?),
        Some(Found::Other) => return Err(invalid("is a folder or a link, not a file")),
        None => None,
    };
    let change = match &before {
        None => Change::Created,
        Some(bytes) if same(bytes, content) => Change::Same,
        Some(bytes) if bytes.is_empty() || disk::is_marked(bytes) => Change::Updated,
        Some(_) => return Err(WriteError::ForeignFile(path.to_path_buf())),
    };
    let mut changes = Changes::default();
    changes.files.insert(name.clone(), change);
    if mode == Mode::Check && change != Change::Same {
        let before = before.unwrap_or_default();
        changes.difference = Some(difference(&name, &String::from_utf8_lossy(&before), content).text);
    }
    if mode == Mode::Write && change != Change::Same {
        disk::replace_file(path, content)?;
    }
    Ok(changes)
}

/// The folder of the Cargo workspace that `folder` lies below and that does not exclude it: the nearest
/// one, as Cargo looks for it. A manifest that cannot be read is passed over.
#[must_use]
pub fn workspace_around(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let workspace = |root: &Path| -> Option<toml::Table> {
        let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml")).ok()?.parse().ok()?;
        manifest.get("workspace")?.as_table().cloned()
    };
    let (root, workspace) = folder.ancestors().skip(1).find_map(|root| Some((root, workspace(root)?)))?;
    let excluded = workspace.get("exclude").and_then(toml::Value::as_array);
    let mut excluded = excluded.into_iter().flatten().filter_map(toml::Value::as_str);
    (!excluded.any(|path| folder.starts_with(root.join(path)))).then(|| root.to_path_buf())
}

/// Equality that does not see how a checkout ends its lines.
fn same(bytes: &[u8], content: &str) -> bool {
    if bytes == content.as_bytes() {
        return true;
    }
    std::str::from_utf8(bytes).is_ok_and(|text| text.contains('\r') && text.replace("\r\n", "\n") == content)
}

#[cfg(test)]
mod tests;
