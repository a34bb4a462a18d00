//! Files that are there whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Replaces a file in one step: written beside it, brought to the disk, renamed.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    let written = write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What could not be finished is no file of anybody's.
        let _ = fs::remove_file(&beside);
        return written;
    }
    // The name itself has to reach the disk too, where folders can be opened.
    if let Some(Ok(folder)) = path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in the same folder that nobody uses: of this process, and not of another.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(hidden);
    // Left behind by a process of the same number that was killed.
    let _ = fs::remove_file(&beside);
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blueprints.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder is in the way: what was there stays, and nothing is left behind.
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("x"), "x").unwrap();
        assert!(replace(&taken, b"three").is_err());
        assert!(replace(Path::new("/"), b"x").is_err());
        assert!(replace(&folder.path().join("none/there"), b"x").is_err());
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["blueprints.json", "taken"]);
    }
}
