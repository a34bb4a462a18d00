//! Writes generated files to disk, or compares them with the files on disk. The entry points are
//! [`apply_files`] and, for a single file, [`apply_file`].
//!
//! Only changed files are written. No file is replaced before the content of all files is in temporary files.
//! The generator owns the output folder: it removes other files, never follows links, and refuses a folder
//! with files that it did not generate.
//!
//! A test that the committed code is up to date:
//!
//! ```no_run
//! # use contract_codegen_core as contract_codegen;
//! use contract_codegen::{Project, write::{WriteMode, apply_files}};
//!
//! let generated = Project::from_config("codegen.toml".as_ref())?.generate()?;
//! let changes = apply_files(&generated.files, "src/generated".as_ref(), WriteMode::Check)?;
//! assert!(changes.is_clean(), "{}", changes.difference.unwrap_or_default());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod difference;
mod disk;
mod workspace;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use self::{difference::first_difference, disk::EntryKind};
pub use self::{disk::replace_file, workspace::CargoWorkspace};
use crate::render::{GIT_ATTRIBUTES, OutputFiles};

/// The treatment of changed files: they are written or only reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Changed files are written.
    Write,
    /// Changes are reported, and the first significant one is shown as a diff. Nothing is written.
    Check,
    /// Changes are reported without a diff. Nothing is written.
    DryRun,
}

/// The difference between a file on disk and the same file in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileChange {
    /// The file is in the output but not on disk.
    Created,
    /// The contents of the file differ.
    Updated,
    /// The file is on disk but not in the output.
    Removed,
    /// The contents of the file are equal, except for line endings.
    Same,
}

impl FileChange {
    /// Returns the lower-case name of the change, such as `created`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Same => "same",
        }
    }
}

/// The changes of all files in the output folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// The change of each file, by path below the output folder with `/` as the separator. Unchanged files
    /// are included.
    pub files: BTreeMap<String, FileChange>,
    /// The first significant difference, or else the first difference. It is a unified diff from disk to
    /// output, or a message about a file that is not part of the output. It is computed only with
    /// [`WriteMode::Check`].
    pub difference: Option<String>,
}

impl FileChanges {
    /// Returns true if the files on disk are exactly those of the output.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.files.values().all(|change| *change == FileChange::Same)
    }

    /// Returns the number of files with this change.
    #[must_use]
    pub fn count(&self, change: FileChange) -> usize {
        self.files.values().filter(|each| **each == change).count()
    }
}

/// The reason why the files could not be written or compared.
#[derive(Debug)]
pub enum WriteError {
    /// An I/O error, with the path of the file or folder.
    Io(PathBuf, io::Error),
    /// The folder contains files, but none of them shows that the folder was generated.
    ForeignFolder(PathBuf),
    /// The file exists and does not have the mark of a generated file.
    ForeignFile(PathBuf),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::ForeignFolder(folder) => write!(
                f,
                "{} contains files that were not generated; choose a new, empty or previously generated folder",
                folder.display()
            ),
            Self::ForeignFile(path) => write!(
                f,
                "{} was not generated; choose a new path or a previously generated file",
                path.display()
            ),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::ForeignFolder(_) | Self::ForeignFile(_) => None,
        }
    }
}

/// Makes `folder` contain exactly `files` or, depending on `mode`, only reports the differences.
///
/// Other files are deleted, except top-level entries whose name starts with a dot and, in a package, `target`
/// and `Cargo.lock`. A generated `.gitattributes` is treated like any other generated file. All content is
/// written to temporary files before the first file is replaced, and each file is replaced by a rename.
///
/// # Errors
/// Returns an error with the path if a file cannot be read or written, or if the folder contains files that
/// were not generated.
pub fn apply_files(files: &OutputFiles, folder: &Path, mode: WriteMode) -> Result<FileChanges, WriteError> {
    for (path, _) in files.iter().filter(|(path, _)| *path != GIT_ATTRIBUTES) {
        if path.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.contains('\\')) {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "invalid path for an output file");
            return Err(WriteError::Io(folder.join(path), error));
        }
    }
    let package = files.0.contains_key("Cargo.toml");
    let present = disk::list_folder(folder, package)?;
    // The user's own attributes stay.
    let has_own_attributes = disk::has_foreign_attributes(folder)?;
    let files_to_write = || files.iter().filter(|(path, _)| *path != GIT_ATTRIBUTES || !has_own_attributes);
    if present.keys().any(|path| !disk::is_staging_leftover(path)) && !disk::is_generated_folder(folder) {
        return Err(WriteError::ForeignFolder(folder.to_path_buf()));
    }
    let mut changes = FileChanges::default();
    let mut shown: Option<difference::FileDifference> = None;
    for (path, content) in files_to_write() {
        let before = match present.get(path) {
            Some(EntryKind::File) => Some(disk::read_file(&folder.join(path))?),
            Some(EntryKind::Other) => Some(Vec::new()),
            None => None,
        };
        let change = match &before {
            None => FileChange::Created,
            Some(bytes)
                if has_same_content(bytes, content) && present.get(path) == Some(&EntryKind::File) =>
            {
                FileChange::Same
            }
            Some(_) => FileChange::Updated,
        };
        changes.files.insert(path.to_owned(), change);
        if mode == WriteMode::Check
            && change != FileChange::Same
            && shown.as_ref().is_none_or(|shown| !shown.is_significant)
        {
            let before = before.unwrap_or_default();
            let found = first_difference(path, &String::from_utf8_lossy(&before), content);
            if found.is_significant || shown.is_none() {
                shown = Some(found);
            }
        }
    }
    changes.difference = shown.as_ref().map(|shown| shown.text.clone());
    for path in present.keys().filter(|path| !files.0.contains_key(*path)) {
        changes.files.insert(path.clone(), FileChange::Removed);
        if mode == WriteMode::Check && shown.as_ref().is_none_or(|shown| !shown.is_significant) {
            changes.difference = Some(format!("{path} exists on disk but is not part of the output\n"));
        }
    }
    if mode == WriteMode::Write && !changes.is_clean() {
        disk::replace_files(files, folder, &changes.files)?;
    }
    Ok(changes)
}

/// Makes the file at `path` contain the single file of `files` or, depending on `mode`, only reports the
/// difference.
///
/// An existing file must be empty or have the generator's mark in its first line. It is replaced by a rename
/// after all content is written. Other files in its folder are not affected.
///
/// # Errors
/// Returns an error with the path if the file cannot be read or written, was not generated before,
/// or if `files` contains more than one file.
pub fn apply_file(files: &OutputFiles, path: &Path, mode: WriteMode) -> Result<FileChanges, WriteError> {
    let invalid = |message: &str| {
        WriteError::Io(path.to_path_buf(), io::Error::new(io::ErrorKind::InvalidInput, message))
    };
    let mut all = files.iter();
    let (Some((_, content)), None) = (all.next(), all.next()) else {
        return Err(invalid("the output consists of more than one file"));
    };
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Err(invalid("the path has no file name"));
    };
    let before = match disk::entry_at(path)? {
        Some(EntryKind::File) => Some(disk::read_file(path)?),
        Some(EntryKind::Other) => return Err(invalid("the path is a folder or a link, not a file")),
        None => None,
    };
    let change = match &before {
        None => FileChange::Created,
        Some(bytes) if has_same_content(bytes, content) => FileChange::Same,
        Some(bytes) if bytes.is_empty() || disk::is_marked(bytes) => FileChange::Updated,
        Some(_) => return Err(WriteError::ForeignFile(path.to_path_buf())),
    };
    let mut changes = FileChanges::default();
    changes.files.insert(name.clone(), change);
    if mode == WriteMode::Check && change != FileChange::Same {
        let before = before.unwrap_or_default();
        changes.difference = Some(first_difference(&name, &String::from_utf8_lossy(&before), content).text);
    }
    if mode == WriteMode::Write && change != FileChange::Same {
        disk::replace_file(path, content)?;
    }
    Ok(changes)
}

/// Compares contents without regard to line endings.
fn has_same_content(bytes: &[u8], content: &str) -> bool {
    if bytes == content.as_bytes() {
        return true;
    }
    std::str::from_utf8(bytes).is_ok_and(|text| text.contains('\r') && text.replace("\r\n", "\n") == content)
}

#[cfg(test)]
mod tests;
