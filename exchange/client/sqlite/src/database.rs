//! A database file: how it is opened, brought up to date, written without loss, repaired and made to forget.
//!
//! Durability is that of `synchronous=FULL` in WAL mode: a commit is on the disk when it returns. Several processes
//! use one file; writers wait for each other.
//!
//! `secure_delete` overwrites what is deleted where it stands, and not the copies that SQLite left behind when it moved
//! rows between pages. So whoever deletes or replaces notes it in the same transaction ([`leave`]), and
//! [`Database::settle`] writes the file anew and empties the log beside it.

mod damage;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use exchange_client::{Error, ErrorKind};
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub(crate) use damage::{Damaged, delete_aside};

/// How long one waits for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// How long, in milliseconds, remnants of what changes every day may stay: to write a file anew costs as much as it
/// has bytes.
pub(crate) const REMNANTS_FOR: i64 = 86_400_000;

/// What a database is for.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What it is called in errors.
    pub(crate) what: &'static str,
    /// By which a file is known as one of ours: no other is touched.
    pub(crate) application: i32,
    /// What makes of each version the next one, from nothing on.
    pub(crate) migrations: &'static [&'static str],
    /// What happens to a file that is damaged.
    pub(crate) damaged: Damaged,
}

/// An open database. Reads do not wait for writes.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    plan: &'static Plan,
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
}

impl Database {
    /// Opens a file, or makes it, readable for this user alone.
    pub(crate) fn open(path: &Path, plan: &'static Plan) -> Result<Self, Error> {
        let _lock = lock(path, plan)?;
        let (reader, writer) = match pair(path, plan) {
            Err(Fault::Sqlite(error)) if damage::is_damage(&error) => {
                damage::remove(path, plan)?;
                pair(path, plan)
            }
            opened => opened,
        }
        .map_err(|fault| fault.told(plan))?;
        Ok(Self { path: path.to_owned(), plan, reader: Mutex::new(reader), writer: Mutex::new(writer) })
    }

    /// Reads, all of it at one moment.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let done = {
            let mut reader = locked(&self.reader);
            let transaction = reader.transaction();
            transaction.and_then(|transaction| read(&transaction))
        };
        self.told(done)
    }

    /// Writes, all of it or nothing.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let done = {
            let mut writer = locked(&self.writer);
            writer.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                let done = write(&transaction)?;
                transaction.commit()?;
                Ok(done)
            })
        };
        self.told(done)
    }

    /// Sees to it that what was deleted is in none of the files any more: the file is written anew if remnants in it
    /// are due at this time, in milliseconds since 1970, and the log is carried over and emptied.
    pub(crate) fn settle(&self, now: i64) -> Result<(), Error> {
        let (since, changes) = self.read(|connection| {
            let remnant = "SELECT since, changes FROM remnant";
            connection
                .query_row(remnant, [], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, i64>(1)?)))
        })?;
        // One of a time that is still to come was left before the clock was set back.
        if since.is_some_and(|since| since == 0 || since > now || now.saturating_sub(since) >= REMNANTS_FOR) {
            let done = write_anew(&locked(&self.writer));
            self.told(done)?;
            let gone = "UPDATE remnant SET since = NULL WHERE changes = ?1";
            self.write(|transaction| transaction.execute(gone, [changes]).map(drop))?;
        }
        let log = beside(&self.path, "-wal");
        if fs::metadata(log).map_or(0, |log| log.len()) == 0 {
            return Ok(());
        }
        let done = {
            let writer = locked(&self.writer);
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        };
        match self.told(done)? {
            0 => Ok(()),
            _ => Err(storage(self.plan, "another process still reads what was deleted")),
        }
    }

    /// An error as it is told. A file that turns out to be damaged is dealt with.
    fn told<T>(&self, done: rusqlite::Result<T>) -> Result<T, Error> {
        done.map_err(|error| {
            if damage::is_damage(&error) {
                match self.repair() {
                    Ok(true) => return storage(self.plan, "it was damaged, and begins anew"),
                    Ok(false) => {}
                    Err(other) => return other,
                }
            }
            Fault::Sqlite(error).told(self.plan)
        })
    }

    /// Opens the file anew, and another in its place if it is damaged; says whether it did. It may have been
    /// another process that did.
    fn repair(&self) -> Result<bool, Error> {
        if matches!(self.plan.damaged, Damaged::Refuse) {
            return Ok(false);
        }
        let _lock = lock(&self.path, self.plan)?;
        let mut writer = locked(&self.writer);
        let mut reader = locked(&self.reader);
        if damage::is_damaged(&self.path) {
            damage::remove(&self.path, self.plan)?;
        }
        (*reader, *writer) = pair(&self.path, self.plan).map_err(|fault| fault.told(self.plan))?;
        Ok(true)
    }
}

/// Notes that something was deleted or replaced at this time, in milliseconds since 1970; 0 when no byte of it may be
/// there any more after the next [`Database::settle`].
pub(crate) fn leave(transaction: &Transaction<'_>, at: i64) -> rusqlite::Result<()> {
    let left = "UPDATE remnant SET since = min(coalesce(since, ?1), ?1), changes = changes + 1";
    transaction.prepare_cached(left)?.execute([at]).map(drop)
}

/// Writes a file anew. Everything in it goes through temporary storage, and a full replica is larger than a program has
/// memory to spare; so that is a file for this long, which nobody finds: it goes when it is closed, and has no name
/// before on Unix.
fn write_anew(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "temp_store", "FILE")?;
    let written = connection.execute_batch("VACUUM");
    connection.pragma_update(None, "temp_store", IN_MEMORY).and(written)
}

/// Sorting and the like never spills what is kept into another file.
const IN_MEMORY: &str = "MEMORY";

/// What a thread left that panicked: a connection, whose transaction was rolled back.
fn locked(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both connections; the first brings the file up to date.
fn pair(path: &Path, plan: &Plan) -> Result<(Connection, Connection), Fault> {
    create(path)?;
    let mut writer = connection(path, plan)?;
    migrate(&mut writer, plan)?;
    Ok((connection(path, plan)?, writer))
}

fn connection(path: &Path, plan: &Plan) -> Result<Connection, Fault> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    // First of all, since what follows may change the file.
    version(&connection, plan)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "temp_store", IN_MEMORY)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// From whatever version it is to that of this program; one that is newer stays as it is.
fn migrate(connection: &mut Connection, plan: &Plan) -> Result<(), Fault> {
    let newest = plan.migrations.len();
    if version(connection, plan)? == newest {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let from = version(&transaction, plan)?;
    if from == 0 {
        transaction.execute_batch(include_str!("database/remnant.sql"))?;
    }
    for migration in plan.migrations.get(from..).unwrap_or_default() {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", plan.application)?;
    transaction.pragma_update(None, "user_version", i64::try_from(newest).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

fn version(connection: &Connection, plan: &Plan) -> Result<usize, Fault> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application != plan.application && (tables, application, version) != (0, 0, 0) {
        return Err(Fault::Foreign);
    }
    let version = usize::try_from(version).map_err(|_| Fault::Foreign)?;
    if version > plan.migrations.len() { Err(Fault::Newer) } else { Ok(version) }
}

/// Why a file cannot be used.
#[derive(Debug)]
enum Fault {
    Newer,
    Foreign,
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// In words that hold nothing of what is kept, and no path.
    fn told(self, plan: &Plan) -> Error {
        use rusqlite::ErrorCode;
        let why = match &self {
            Self::Newer => "it was written by a newer version of this program, and is left as it is",
            Self::Foreign => "the file in its place is another program's",
            Self::Io(error) => return storage(plan, &error.kind().to_string()),
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => "the disk is full",
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "it cannot be written",
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process holds it",
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "it is damaged",
                Some(ErrorCode::CannotOpen) => "it cannot be opened",
                Some(ErrorCode::SystemIoFailure) => "the disk cannot be read or written",
                code => return storage(plan, &format!("it does not work ({code:?})")),
            },
        };
        storage(plan, why)
    }
}

pub(crate) fn storage(plan: &Plan, why: &str) -> Error {
    Error::new(ErrorKind::Storage, format!("the {} cannot be used: {why}", plan.what))
}

/// Held while a file is opened or repaired, so that nobody takes away what another just made.
fn lock(path: &Path, plan: &Plan) -> Result<File, Error> {
    let told = |error| Fault::Io(error).told(plan);
    let file = private().append(true).open(beside(path, ".lock")).map_err(told)?;
    file.lock().map_err(told)?;
    Ok(file)
}

/// An empty file of this user's alone, before SQLite would make one that others can read. The log beside it gets its
/// mode.
fn create(path: &Path) -> io::Result<()> {
    private().append(true).open(path).map(drop)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file that belongs to this one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// A folder of this user's alone.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
