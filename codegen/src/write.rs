//! Puts files on disk: only what changed, whole or not at all, and nothing beside it.
//!
//! The output folder belongs to the generator: what it did not write is removed, links are
//! never followed, and a folder that somebody else filled is refused untouched.

mod disk;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use self::disk::Found;
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
    /// The first difference as a unified diff from disk to output; [`Mode::Check`] alone.
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
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Foreign(_) => None,
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
    if !present.is_empty() && !disk::is_own(folder) {
        return Err(WriteError::Foreign(folder.to_path_buf()));
    }
    let mut changes = Changes::default();
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
        if mode == Mode::Check && change != Change::Same && changes.difference.is_none() {
            let before = before.unwrap_or_default();
            changes.difference = Some(difference(path, &String::from_utf8_lossy(&before), content));
        }
    }
    for path in present.keys().filter(|path| !files.0.contains_key(*path)) {
        changes.files.insert(path.clone(), Change::Removed);
        if mode == Mode::Check && changes.difference.is_none() {
            changes.difference = Some(format!("{path} is on disk and not part of the output\n"));
        }
    }
    if mode == Mode::Write && !changes.is_clean() {
        disk::replace(files, folder, &changes.files)?;
    }
    Ok(changes)
}

/// Equality that does not see how a checkout ends its lines.
fn same(bytes: &[u8], content: &str) -> bool {
    if bytes == content.as_bytes() {
        return true;
    }
    std::str::from_utf8(bytes).is_ok_and(|text| text.contains('\r') && text.replace("\r\n", "\n") == content)
}

/// The first hunk of a unified diff.
fn difference(path: &str, before: &str, after: &str) -> String {
    /// Lines of a hunk that are shown.
    const LINES: usize = 24;
    let before = before.replace("\r\n", "\n");
    let diff = similar::TextDiff::from_lines(before.as_str(), after);
    let mut out = format!("--- {path} (on disk)\n+++ {path} (generated)\n");
    let mut diff = diff.unified_diff();
    if let Some(hunk) = diff.context_radius(3).iter_hunks().next() {
        let text = hunk.to_string();
        for line in text.lines().take(LINES) {
            out.push_str(line);
            out.push('\n');
        }
        let more = text.lines().count().saturating_sub(LINES);
        if more > 0 {
            out.push_str(&format!("… {more} more lines\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
