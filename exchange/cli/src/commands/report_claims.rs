//! Locks that determine which run of this program reports the outcome of a change. Printing may block until
//! the output is read. Meanwhile, other runs may send changes, but must not report the same outcome.
//!
//! A claim is a lock on a file whose name is the number of the entry. The operating system releases the lock
//! when the process ends, and the next run then reports the outcome.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use exchange_client::outbox::EntryNumber;

/// The folder that contains the lock files.
pub(super) struct ReportClaims(PathBuf);

/// The exclusive right of this run to report one outcome. Dropping it releases the claim.
pub(super) struct ReportClaim {
    path: PathBuf,
    _locked: File,
}

impl ReportClaims {
    pub(super) fn in_folder(state: &Path) -> Self {
        Self(state.join("telling"))
    }

    /// Tries to claim an outcome. Returns `None` if another run holds the claim. If the file system does not
    /// support locks, every run gets a claim.
    pub(super) fn try_claim(&self, number: EntryNumber) -> io::Result<Option<ReportClaim>> {
        fs::create_dir_all(&self.0)?;
        let path = self.0.join(number.to_string());
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(ReportClaim { path, _locked: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }
}

impl ReportClaim {
    /// Removes the lock file. Call this after the outcome was reported and its entry was removed from the
    /// outbox.
    pub(super) fn complete(self) {
        // A lock file that is not removed has no effect.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-04: only one run reports an outcome. If that run ends without reporting it, the next run does.
    #[test]
    fn outcome_is_claimed_by_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (ReportClaims::in_folder(folder.path()), ReportClaims::in_folder(folder.path()));
        let claim = |claims: &ReportClaims, number| claims.try_claim(EntryNumber(number)).unwrap();
        let first = claim(&one, 1);
        assert!(first.is_some() && claim(&other, 1).is_none() && claim(&other, 2).is_some());
        drop(first);
        let second = claim(&other, 1).unwrap();
        assert!(claim(&one, 1).is_none());
        second.complete();
        assert_eq!(fs::read_dir(folder.path().join("telling")).unwrap().count(), 1);
    }
}
