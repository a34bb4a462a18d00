//! A database file: opening, migration, transactions, repair, and erasure of deleted data.
//!
//! Durability is that of `synchronous=FULL` in WAL mode: a commit is on the disk when the call returns.
//! Several processes may use one file. Writers wait for each other.
//!
//! `secure_delete` overwrites deleted rows in place, but not the copies that SQLite left when it moved rows
//! between pages. Each transaction that deletes or replaces rows therefore records this ([`note_remnants`]),
//! and [`Database::erase_remnants`] rewrites the file and empties its write-ahead log.

mod corruption;
mod lock_holders;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use exchange_client::{Error, ErrorKind};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

pub(crate) use corruption::{CorruptFilePolicy, delete_renamed_file};

/// The maximum time to wait for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum time for which an erasure waits for other processes that read the file. SQLite itself does not wait
/// while another process writes its log back, as each command does when it ends.
const ERASURE_TIMEOUT: Duration = Duration::from_secs(15);
/// The pause between two attempts to erase.
const ERASURE_PAUSE: Duration = Duration::from_millis(20);

/// The time in milliseconds for which remnants of frequently changed data may stay in a file. Rewriting a
/// file more often would be too expensive, because the cost is proportional to its size.
pub(crate) const MAX_REMNANT_AGE: i64 = 86_400_000;

/// The name, application id, migrations and policy for a corrupt file of a kind of database file.
#[derive(Debug)]
pub(crate) struct DatabasePlan {
    /// The name of the file in error messages.
    pub(crate) name: &'static str,
    /// The application id of files of this kind. Files with a different id are not changed.
    pub(crate) application: i32,
    /// The migrations from each version to the next. The first one starts with an empty file.
    pub(crate) migrations: &'static [&'static str],
    pub(crate) corrupt_file: CorruptFilePolicy,
}

/// An open database. Readers do not wait for writers.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    plan: &'static DatabasePlan,
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
}

impl Database {
    /// Opens or creates a file to which only this user has access.
    ///
    /// If the disk is full or the folder is read-only, an existing file is opened for reading, and writes fail.
    pub(crate) fn open(path: &Path, plan: &'static DatabasePlan) -> Result<Self, Error> {
        let opened = match open_writable(path, plan) {
            Err(OpenFailure::Fault(fault)) if fault.is_unwritable() && path.is_file() => {
                open_read_only(path, plan).map_err(|_| OpenFailure::Fault(fault))
            }
            opened => opened,
        };
        let (reader, writer) = opened.map_err(|failure| match failure {
            OpenFailure::Fault(fault) => fault.into_error(plan),
            OpenFailure::Repair(error) => error,
        })?;
        Ok(Self { path: path.to_owned(), plan, reader: Mutex::new(reader), writer: Mutex::new(writer) })
    }

    /// Runs a read transaction, which sees one consistent state of the file.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let done = {
            let mut reader = lock_connection(&self.reader);
            let transaction = reader.transaction();
            transaction.and_then(|transaction| read(&transaction))
        };
        self.map_error(done)
    }

    /// Runs a write transaction, which is applied completely or not at all.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let done = {
            let mut writer = lock_connection(&self.writer);
            writer.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                let done = write(&transaction)?;
                transaction.commit()?;
                Ok(done)
            })
        };
        self.map_error(done)
    }

    /// Erases deleted data from all files. Rewrites the file if remnants are due at `now` (milliseconds since
    /// 1970), and checkpoints and truncates the write-ahead log.
    ///
    /// Waits a limited time for other processes that use the file.
    pub(crate) fn erase_remnants(&self, now: i64) -> Result<(), Error> {
        self.erase_remnants_within(now, ERASURE_TIMEOUT)
    }

    fn erase_remnants_within(&self, now: i64, limit: Duration) -> Result<(), Error> {
        let begun = Instant::now();
        let waits = || {
            let waits = begun.elapsed() < limit;
            if waits {
                thread::sleep(ERASURE_PAUSE);
            }
            waits
        };
        let (since, changes) = self.read(|connection| {
            let remnant = "SELECT since, changes FROM remnant";
            connection
                .query_row(remnant, [], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, i64>(1)?)))
        })?;
        // A time in the future was recorded before the clock was set back, so the remnants are treated as
        // due.
        if since
            .is_some_and(|since| since == 0 || since > now || now.saturating_sub(since) >= MAX_REMNANT_AGE)
        {
            let mut done = rewrite_file(&lock_connection(&self.writer));
            while done.as_ref().is_err_and(is_busy) && waits() {
                done = rewrite_file(&lock_connection(&self.writer));
            }
            self.map_error(done)?;
            let gone = "UPDATE remnant SET since = NULL WHERE changes = ?1";
            self.write(|transaction| transaction.execute(gone, [changes]).map(drop))?;
        }
        let log = sibling_path(&self.path, "-wal");
        if fs::metadata(log).map_or(0, |log| log.len()) == 0 {
            return Ok(());
        }
        loop {
            let done = {
                let writer = lock_connection(&self.writer);
                writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            };
            match done {
                Ok(0) => return Ok(()),
                Ok(_) if waits() => {}
                Err(error) if is_busy(&error) && waits() => {}
                Ok(_) => return Err(self.locked_error("still reads deleted data")),
                Err(error) => return self.map_error(Err(error)),
            }
        }
    }

    /// Creates the error for a file that another process uses. The error names the process if it is known.
    fn locked_error(&self, what: &str) -> Error {
        let files = [sibling_path(&self.path, "-shm"), self.path.clone()];
        let holder = files.iter().find_map(|file| lock_holders::find_lock_holder(file));
        let holder = holder.as_deref().unwrap_or("another process");
        Error::new(ErrorKind::Busy, format!("the {} cannot be used: {holder} {what}", self.plan.name))
    }

    /// Converts an error. If the error shows that the file is corrupt, also repairs the file.
    fn map_error<T>(&self, done: rusqlite::Result<T>) -> Result<T, Error> {
        done.map_err(|error| {
            if corruption::is_corruption_error(&error) {
                match self.repair() {
                    Ok(true) => return storage_error(self.plan, "it was corrupt and has been replaced"),
                    Ok(false) => {}
                    Err(other) => return other,
                }
            }
            if is_busy(&error) {
                return self.locked_error("locks it");
            }
            DatabaseFault::Sqlite(error).into_error(self.plan)
        })
    }

    /// Opens the file again, and replaces it if it is corrupt. Returns false if the plan forbids this.
    /// Another process may already have replaced the file.
    fn repair(&self) -> Result<bool, Error> {
        if matches!(self.plan.corrupt_file, CorruptFilePolicy::Refuse) {
            return Ok(false);
        }
        let _lock = lock_file(&self.path).map_err(|error| DatabaseFault::Io(error).into_error(self.plan))?;
        let mut writer = lock_connection(&self.writer);
        let mut reader = lock_connection(&self.reader);
        if corruption::is_file_corrupt(&self.path) {
            corruption::replace_corrupt_file(&self.path, self.plan)?;
        }
        (*reader, *writer) =
            open_connections(&self.path, self.plan).map_err(|fault| fault.into_error(self.plan))?;
        Ok(true)
    }
}

/// Returns true if another process prevented the statement.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

/// Records that data was deleted or replaced at this time, in milliseconds since 1970. The time 0 means that
/// the next [`Database::erase_remnants`] must erase the data.
pub(crate) fn note_remnants(transaction: &Transaction<'_>, at: i64) -> rusqlite::Result<()> {
    let left = "UPDATE remnant SET since = min(coalesce(since, ?1), ?1), changes = changes + 1";
    transaction.prepare_cached(left)?.execute([at]).map(drop)
}

/// Rewrites the file. SQLite copies all data to temporary storage. Because a full replica may exceed the
/// memory of a program, the temporary storage is a file during the rewrite. It is deleted when it is closed,
/// and has no name on Unix.
fn rewrite_file(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "temp_store", "FILE")?;
    let written = connection.execute_batch("VACUUM");
    connection.pragma_update(None, "temp_store", IN_MEMORY).and(written)
}

/// The setting that keeps temporary storage in memory, so that sorting does not write stored data to another
/// file.
const IN_MEMORY: &str = "MEMORY";

/// Locks a connection, even if a thread panicked while it held the lock. The transaction of that thread was
/// rolled back.
fn lock_connection(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reason a file could not be opened: a fault, or an error of the repair of a corrupt file.
enum OpenFailure {
    Fault(DatabaseFault),
    Repair(Error),
}

fn open_writable(path: &Path, plan: &'static DatabasePlan) -> Result<(Connection, Connection), OpenFailure> {
    let _lock = lock_file(path).map_err(|error| OpenFailure::Fault(error.into()))?;
    match open_connections(path, plan) {
        Err(DatabaseFault::Sqlite(error)) if corruption::is_corruption_error(&error) => {
            corruption::replace_corrupt_file(path, plan).map_err(OpenFailure::Repair)?;
            open_connections(path, plan)
        }
        opened => opened,
    }
    .map_err(OpenFailure::Fault)
}

/// Opens two connections that only read. Without a write-ahead log, SQLite needs no other files for this.
fn open_read_only(path: &Path, plan: &DatabasePlan) -> Result<(Connection, Connection), DatabaseFault> {
    let has_log = fs::metadata(sibling_path(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match path.to_str().filter(|_| !has_log) {
            Some(path) => {
                let encoded = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
                let uri = format!("file:{encoded}?immutable=1");
                Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
            }
            None => Connection::open_with_flags(path, flags)?,
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        match read_version(&connection, plan)? {
            version if version == plan.migrations.len() => Ok(connection),
            // The file would have to be migrated.
            _ => Err(DatabaseFault::Newer),
        }
    };
    Ok((open()?, open()?))
}

/// Opens a connection for reading and one for writing, in the order of the result. The file is created if
/// necessary, and migrated by the writing connection.
fn open_connections(path: &Path, plan: &DatabasePlan) -> Result<(Connection, Connection), DatabaseFault> {
    create_file(path)?;
    let mut writer = open_connection(path, plan)?;
    migrate(&mut writer, plan)?;
    Ok((open_connection(path, plan)?, writer))
}

fn open_connection(path: &Path, plan: &DatabasePlan) -> Result<Connection, DatabaseFault> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // The version is checked first, because the following pragmas may change the file.
    read_version(&connection, plan)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "temp_store", IN_MEMORY)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Migrates a file to the version of this program. A file of a newer version is rejected and left unchanged.
fn migrate(connection: &mut Connection, plan: &DatabasePlan) -> Result<(), DatabaseFault> {
    let newest = plan.migrations.len();
    if read_version(connection, plan)? == newest {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file since.
    let from = read_version(&transaction, plan)?;
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

fn read_version(connection: &Connection, plan: &DatabasePlan) -> Result<usize, DatabaseFault> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application != plan.application && (tables, application, version) != (0, 0, 0) {
        return Err(DatabaseFault::Foreign);
    }
    let version = usize::try_from(version).map_err(|_| DatabaseFault::Foreign)?;
    if version > plan.migrations.len() { Err(DatabaseFault::Newer) } else { Ok(version) }
}

/// The reason a file cannot be used.
#[derive(Debug)]
enum DatabaseFault {
    Newer,
    Foreign,
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<io::Error> for DatabaseFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rusqlite::Error> for DatabaseFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl DatabaseFault {
    /// Returns true if the file may be readable although it cannot be written.
    fn is_unwritable(&self) -> bool {
        use io::ErrorKind as Io;
        use rusqlite::ErrorCode;
        match self {
            Self::Io(error) => matches!(
                error.kind(),
                Io::ReadOnlyFilesystem | Io::PermissionDenied | Io::StorageFull | Io::QuotaExceeded
            ),
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::ReadOnly
                        | ErrorCode::PermissionDenied
                        | ErrorCode::CannotOpen
                )
            ),
            Self::Newer | Self::Foreign => false,
        }
    }

    /// Converts the fault into an error that contains neither stored data nor a path.
    fn into_error(self, plan: &DatabasePlan) -> Error {
        use rusqlite::ErrorCode;
        let why = match &self {
            Self::Newer => "it was written by a newer version of this program",
            Self::Foreign => "the file belongs to another program",
            Self::Io(error) => return storage_error(plan, &error.kind().to_string()),
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => "the disk is full",
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "it cannot be written",
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    let what = format!("the {} cannot be used: another process locks it", plan.name);
                    return Error::new(ErrorKind::Busy, what);
                }
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "it is corrupt",
                Some(ErrorCode::CannotOpen) => "it cannot be opened",
                Some(ErrorCode::SystemIoFailure) => "the disk cannot be read or written",
                code => return storage_error(plan, &format!("unexpected SQLite error ({code:?})")),
            },
        };
        storage_error(plan, why)
    }
}

pub(crate) fn storage_error(plan: &DatabasePlan, why: &str) -> Error {
    Error::new(ErrorKind::Storage, format!("the {} cannot be used: {why}", plan.name))
}

/// Locks a file while it is opened or repaired, so that no process deletes a file that another process has
/// just created.
fn lock_file(path: &Path) -> io::Result<File> {
    let file = private_options().append(true).open(sibling_path(path, ".lock"))?;
    file.lock()?;
    Ok(file)
}

/// Creates an empty file with restricted permissions, because SQLite would create a file that other users can
/// read. The write-ahead log gets the same permissions.
fn create_file(path: &Path) -> io::Result<()> {
    private_options().append(true).open(path).map(drop)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the path of a file in the same folder, whose name is the given one plus a suffix.
fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Creates a folder and its parents, with access for this user only.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
