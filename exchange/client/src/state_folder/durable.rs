//! Atomic and durable replacement of files with owner-only permissions.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Creates a folder and its parents with access for the owner only. An existing folder is left unchanged.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Replaces a file atomically: writes and syncs a temporary file in the same folder, then renames it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = temporary_path(path);
    let written = (|| {
        let mut file = private_options().create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, path)?;
        sync_parent(path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Deletes a file, and the temporary files of writers that were killed. A missing file is not an error.
pub(crate) fn delete_file(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let start = temporary_prefix(path);
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name();
                let left = name.as_encoded_bytes().starts_with(start.as_encoded_bytes());
                if entry.path() == path || left {
                    match fs::remove_file(entry.path()) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
            }
            sync_parent(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns options for writing files that only the owner can read.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Returns a unique name for a temporary file in the same folder.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = temporary_prefix(path);
    name.push(format!("{:016x}", RandomState::new().hash_one(path)));
    path.with_file_name(name)
}

/// Returns the common prefix of the temporary names of a file.
fn temporary_prefix(path: &Path) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new-");
    name
}

/// Syncs the parent folder, so that the rename survives a power loss. Windows has no such call and needs
/// none.
fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A failed replacement leaves no temporary file.
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("x")).unwrap();
        assert!(replace_file(&taken, b"three").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // The temporary file of a killed writer is deleted with the file.
        fs::write(folder.path().join("a.new-0123"), b"half").unwrap();
        fs::write(folder.path().join("ab"), b"another").unwrap();
        delete_file(&path).unwrap();
        delete_file(&path).unwrap();
        assert!(!path.exists());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["ab", "taken"]);
        delete_file(&folder.path().join("none").join("b")).unwrap();
    }
}
