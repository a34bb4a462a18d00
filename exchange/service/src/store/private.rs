//! Folders and files that nobody but their owner reads: what is in a store signs tokens.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder, and those above it that are missing, for the owner alone; one that is there stays as it is.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes an empty file for the owner alone.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when something is there: nothing is overwritten, and no link is followed.
pub(super) fn file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the file when it is not there.
pub(super) fn file_at_hand(path: &Path) -> io::Result<()> {
    match file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
