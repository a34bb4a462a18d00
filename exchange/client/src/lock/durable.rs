//! Files that are there whole or not at all, also after a loss of power, and only for their owner.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Makes a folder, and those above it, for their owner alone; one that is there stays as it is.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Puts bytes in the place of a file: beside it first, onto the disk, then renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let written = (|| {
        let mut file = private().create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, path)?;
        settle(path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Deletes a file, and what writers that were killed left beside it; one that is not there is deleted.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let start = beginning(path);
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
            settle(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens files for writing that only their owner can read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// A name that nobody else has at the moment.
fn beside(path: &Path) -> PathBuf {
    let mut name = beginning(path);
    name.push(format!("{:016x}", RandomState::new().hash_one(path)));
    path.with_file_name(name)
}

/// How the names of half-written files begin.
fn beginning(path: &Path) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new-");
    name
}

/// The change of the folder's list reaches the disk too. Windows has no such call, and needs none.
fn settle(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // What cannot be put in its place leaves nothing behind.
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("x")).unwrap();
        assert!(write(&taken, b"three").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // What a writer left that was killed goes with the file.
        fs::write(folder.path().join("a.new-0123"), b"half").unwrap();
        fs::write(folder.path().join("ab"), b"another").unwrap();
        delete(&path).unwrap();
        delete(&path).unwrap();
        assert!(!path.exists());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["ab", "taken"]);
        delete(&folder.path().join("none").join("b")).unwrap();
    }
}
