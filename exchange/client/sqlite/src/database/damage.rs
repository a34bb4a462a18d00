//! What becomes of a file that is damaged.

use std::{fs, io, path::Path};

use exchange_client::Error;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Fault, Plan, beside};

/// What becomes of a damaged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damaged {
    /// It is left as it is, and cannot be used: nobody else has what it holds.
    Refuse,
    /// It is kept under another name, the last one that was; another begins.
    SetAside,
    /// It is deleted, since no copy of it may lie about; another begins.
    Delete,
}

/// Whether that is what is the matter.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Looks through the file itself.
pub(super) fn is_damaged(path: &Path) -> bool {
    let check = || {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    match check() {
        Ok(told) => told != "ok",
        Err(error) => is_damage(&error),
    }
}

/// Takes it out of the way.
pub(super) fn remove(path: &Path, plan: &Plan) -> Result<(), Error> {
    let aside = beside(path, ".damaged");
    let done = match plan.damaged {
        Damaged::Refuse => Err(Fault::Sqlite(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            None,
        ))),
        Damaged::SetAside => fs::rename(path, aside).map_err(Fault::Io),
        Damaged::Delete => fs::remove_file(path).map_err(Fault::Io),
    };
    // What belongs to no file any more would be taken for the next one's.
    let done = done.and_then(|()| {
        for suffix in ["-wal", "-shm"] {
            match fs::remove_file(beside(path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Fault::Io(error)),
                _ => {}
            }
        }
        Ok(())
    });
    done.map_err(|fault| fault.told(plan))
}

/// Deletes what was set aside.
pub(crate) fn delete_aside(path: &Path, plan: &Plan) -> Result<(), Error> {
    match fs::remove_file(beside(path, ".damaged")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::Io(error).told(plan)),
        _ => Ok(()),
    }
}
