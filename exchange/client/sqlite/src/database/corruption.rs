//! Detection and handling of corrupt files.

use std::{fs, io, path::Path};

use exchange_client::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{DatabaseFault, DatabasePlan, sibling_path};

/// The handling of a corrupt file, which depends on whether its contents also exist elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorruptFilePolicy {
    /// Keep the file and fail, because there is no other copy of its contents.
    Refuse,
    /// Rename the file, replacing an earlier renamed one, and start a new file.
    Rename,
    /// Delete the file, because no copy may remain, and start a new file.
    Delete,
}

/// Returns true if the error means that the file is corrupt.
pub(super) fn is_corruption_error(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Checks the file for corruption with `PRAGMA quick_check`.
pub(super) fn is_file_corrupt(path: &Path) -> bool {
    let check = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    match check() {
        Ok(report) => report != "ok",
        Err(error) => is_corruption_error(&error),
    }
}

/// Renames or deletes a corrupt file as its plan requires, so that a new file can be started.
pub(super) fn replace_corrupt_file(path: &Path, plan: &DatabasePlan) -> Result<(), Error> {
    let renamed = sibling_path(path, ".damaged");
    let done = match plan.corrupt_file {
        CorruptFilePolicy::Refuse => Err(DatabaseFault::Sqlite(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            None,
        ))),
        CorruptFilePolicy::Rename => fs::rename(path, renamed).map_err(DatabaseFault::Io),
        CorruptFilePolicy::Delete => fs::remove_file(path).map_err(DatabaseFault::Io),
    };
    // SQLite would apply logs that are left to the next file.
    let done = done.and_then(|()| {
        for suffix in ["-wal", "-shm"] {
            match fs::remove_file(sibling_path(path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(DatabaseFault::Io(error));
                }
                _ => {}
            }
        }
        Ok(())
    });
    done.map_err(|fault| fault.into_error(plan))
}

/// Deletes the corrupt file that was renamed.
pub(crate) fn delete_renamed_file(path: &Path, plan: &DatabasePlan) -> Result<(), Error> {
    match fs::remove_file(sibling_path(path, ".damaged")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DatabaseFault::Io(error).into_error(plan))
        }
        _ => Ok(()),
    }
}
