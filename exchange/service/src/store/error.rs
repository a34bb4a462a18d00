//! The errors of opening, reading and writing a store.

use std::path::PathBuf;

/// The reason a read or a write failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The queue is full. A later retry may succeed.
    #[error("the store is busy: its queue is full")]
    Busy,
    /// The disk is full, so that writes fail. Reads continue.
    #[error("the disk is full")]
    Full,
    /// The store is closing or closed.
    #[error("the store is closed")]
    Closed,
    /// SQLite reported an error other than a full disk.
    #[error("the database failed: {0}")]
    Database(rusqlite::Error),
    /// The database contains a value that this version cannot read.
    #[error("corrupt database: {0}")]
    Corrupt(&'static str),
    /// SQLite rolled back the whole transaction because of another write in the same transaction.
    #[error("the database rolled the transaction back")]
    RolledBack,
    /// The closure panicked. Its changes are rolled back.
    #[error("a read or write of the store panicked")]
    Panicked,
    /// The random number generator failed.
    #[error("the random number generator failed")]
    Random,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(error),
        }
    }
}

impl StoreError {
    /// Returns the kind of error as a label of metrics.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Full => "disk-full",
            Self::Closed => "closed",
            Self::Database(_) => "database",
            Self::Corrupt(_) => "corrupt",
            Self::RolledBack => "rolled-back",
            Self::Panicked => "panicked",
            Self::Random => "random",
        }
    }

    /// Returns an equivalent error for the other writes of a failed transaction.
    pub(super) fn duplicate(&self) -> Self {
        match self {
            Self::Busy => Self::Busy,
            Self::Full => Self::Full,
            Self::Closed => Self::Closed,
            Self::Corrupt(what) => Self::Corrupt(what),
            Self::Panicked => Self::Panicked,
            Self::Random => Self::Random,
            Self::Database(rusqlite::Error::SqliteFailure(code, text)) => {
                Self::Database(rusqlite::Error::SqliteFailure(*code, text.clone()))
            }
            Self::RolledBack | Self::Database(_) => Self::RolledBack,
        }
    }
}

impl From<dpop_bound::random::RandomError> for StoreError {
    fn from(_: dpop_bound::random::RandomError) -> Self {
        Self::Random
    }
}

/// The reason a store could not be opened or migrated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be created or written.
    #[error("cannot use the folder {path}: {error}")]
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// A newer version of the service wrote the database.
    #[error(
        "the store has version {found}, but this service supports versions up to {known}: start the service \
         version that wrote the store, or a newer one"
    )]
    Newer {
        /// The version of the store.
        found: u32,
        /// The newest version that this service supports.
        known: u32,
    },
    /// An older version of the service wrote the database, and the operation does not migrate it.
    #[error(
        "the store has version {found}, but this command requires version {known}: use the build that serves the \
         store, or start the service of this build"
    )]
    Older {
        /// The version of the store.
        found: u32,
        /// The version that this service requires.
        known: u32,
    },
    /// A migration in the store differs from the one with the same number in this service.
    #[error(
        "migration {number} of the store differs from this service's: another build wrote the store; use that build, \
         or start with an empty folder"
    )]
    Altered {
        /// The number of the migration.
        number: u32,
    },
    /// SQLite reported an error for a file.
    #[error("cannot open the database {path}: {error}")]
    File {
        /// The path of the database.
        path: PathBuf,
        /// The error of SQLite.
        error: rusqlite::Error,
    },
    /// SQLite reported an error.
    #[error("the database cannot be opened: {0}")]
    Database(#[from] rusqlite::Error),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The random number generator failed.
    #[error("the random number generator failed")]
    Random(#[from] dpop_bound::random::RandomError),
}
