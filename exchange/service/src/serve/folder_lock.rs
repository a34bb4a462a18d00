//! The lock of a data folder: it prevents that two processes serve one folder by accident.
//!
//! Two processes with the same role would each count rate limits and used proofs for themselves, so that a proof
//! could be used once in each process. A gateway and a backend share a folder by design, and have a lock each.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::config::ProcessRole;
use crate::store::create_folder;

/// Whether other processes with the same role may serve the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderSharing {
    /// No other process.
    Exclusive,
    /// All processes that also share the folder.
    Shared,
}

/// A lock of a data folder, which ends with this value or the process.
#[derive(Debug)]
pub struct FolderLock {
    _files: Vec<File>,
}

/// The reason a folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum FolderLockError {
    /// Another process serves the folder.
    #[error(
        "another process serves {folder} already{holder}\n  -> stop it first; processes that share a folder on \
         purpose must all be started with --shared-folder"
    )]
    Served {
        /// The data folder.
        folder: PathBuf,
        /// The process id of the other process, as a part of the message; empty if it is unknown.
        holder: String,
    },
    /// The folder or a lock file in it cannot be created or locked.
    #[error("cannot lock {path}: {error}")]
    Io {
        /// The path of the folder or the lock file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// Returns the names of the lock files of a role.
const fn lock_files(role: ProcessRole) -> &'static [&'static str] {
    match role {
        ProcessRole::All => &["gateway.lock", "backend.lock"],
        ProcessRole::Gateway => &["gateway.lock"],
        ProcessRole::Backend => &["backend.lock"],
    }
}

impl FolderLock {
    /// Locks a folder for a process with a role. Creates the folder, accessible only to its owner, if it does not
    /// exist.
    ///
    /// # Errors
    /// See [`FolderLockError`].
    pub fn acquire(
        folder: &Path,
        role: ProcessRole,
        sharing: FolderSharing,
    ) -> Result<Self, FolderLockError> {
        let io_error = |error| FolderLockError::Io { path: folder.to_owned(), error };
        create_folder(folder).map_err(io_error)?;
        let lock = |name: &&str| {
            let path = folder.join(name);
            lock_file(&path, sharing).map_err(|error| match error {
                TryLockError::WouldBlock => {
                    FolderLockError::Served { folder: folder.to_owned(), holder: describe_holder(&path) }
                }
                TryLockError::Error(error) => FolderLockError::Io { path, error },
            })
        };
        Ok(Self { _files: lock_files(role).iter().map(lock).collect::<Result<_, _>>()? })
    }
}

fn lock_file(path: &Path, sharing: FolderSharing) -> Result<File, TryLockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(TryLockError::Error)?;
    match sharing {
        FolderSharing::Exclusive => file.try_lock()?,
        FolderSharing::Shared => file.try_lock_shared()?,
    }
    // The content only explains the refusal of another process, so an error is not important.
    let _ =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
    Ok(file)
}

fn describe_holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(20).read_to_string(&mut text));
    match text.parse::<u32>() {
        Ok(id) if read.is_ok() => format!(" (process {id})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder has one process of each role, unless all processes share it.
    #[test]
    fn folder_is_served_once_per_role() {
        use FolderSharing::{Exclusive, Shared};
        use ProcessRole::{All, Backend, Gateway};
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new");
        let acquire = |role, sharing| FolderLock::acquire(&folder, role, sharing);
        let all = acquire(All, Exclusive).unwrap();
        for role in [All, Gateway, Backend] {
            for sharing in [Exclusive, Shared] {
                let refused = acquire(role, sharing).unwrap_err().to_string();
                let holder = format!("(process {})", std::process::id());
                let folder = folder.display().to_string();
                for part in [&*folder, &holder, "--shared-folder"] {
                    assert!(refused.contains(part), "{refused}");
                }
            }
        }
        drop(all);
        let _gateway = acquire(Gateway, Exclusive).unwrap();
        let backend = acquire(Backend, Exclusive).unwrap();
        assert!(acquire(Backend, Shared).is_err() && acquire(All, Exclusive).is_err());
        drop(backend);
        let _shared = (acquire(Backend, Shared).unwrap(), acquire(Backend, Shared).unwrap());
        assert!(acquire(Backend, Exclusive).is_err());
    }
}
