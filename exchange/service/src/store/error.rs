//! What can go wrong between the service and its data.

use std::path::PathBuf;

/// Why a read or a write did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// More is waiting than the queue takes; ask again later.
    #[error("the store has more to do than it can take on")]
    Busy,
    /// There is no room to write; reads go on.
    #[error("the disk is full")]
    Full,
    /// The store is being closed.
    #[error("the store is closed")]
    Closed,
    /// The database says so.
    #[error("the database failed: {0}")]
    Database(rusqlite::Error),
    /// Somebody wrote what this version cannot read.
    #[error("the database holds what cannot be: {0}")]
    Corrupt(&'static str),
    /// What ran in the same transaction made the database undo all of it.
    #[error("the database undid the transaction")]
    Undone,
    /// The closure panicked; what it did is undone.
    #[error("a read or write of the store panicked")]
    Panicked,
    /// There are no random numbers to be had.
    #[error("no random numbers")]
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
    /// The same once more, for everybody whom it hit.
    pub(super) fn again(&self) -> Self {
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
            Self::Undone | Self::Database(_) => Self::Undone,
        }
    }
}

impl From<dpop_bound::random::RandomError> for StoreError {
    fn from(_: dpop_bound::random::RandomError) -> Self {
        Self::Random
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be made or written.
    #[error("cannot use the folder {path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The database was written by a newer version.
    #[error(
        "the store has version {found}, this service knows up to {known}: start a service at least as new"
    )]
    Newer {
        /// The version of the store.
        found: u32,
        /// The newest that this service knows.
        known: u32,
    },
    /// The database was written by an older version, and is not migrated here.
    #[error(
        "the store has version {found}, this command {known}: use the build that serves it, or start the \
         service of this one"
    )]
    Older {
        /// The version of the store.
        found: u32,
        /// The one of this service.
        known: u32,
    },
    /// A migration that ran here is not the one that this service has.
    #[error(
        "migration {number} of the store differs from this service's: it was written by another build; use that \
         one, or begin with an empty folder"
    )]
    Altered {
        /// The migration.
        number: u32,
    },
    /// The database says so.
    #[error("the database cannot be opened: {0}")]
    Database(#[from] rusqlite::Error),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// There are no random numbers to be had.
    #[error("no random numbers")]
    Random(#[from] dpop_bound::random::RandomError),
}
