//! Which run of this program tells an outcome. Printing lasts for as long as somebody reads it: meanwhile others may
//! send, and none of them tells the same.
//!
//! A claim is a lock on a file of the entry's number. It goes with the process, however that ends, and then the outcome
//! is the next one's to tell.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use exchange_client::outbox::EntryNumber;

/// Where claims are made.
pub(super) struct Claims(PathBuf);

/// One outcome is this run's to tell, until it is dropped.
pub(super) struct Claim {
    path: PathBuf,
    _locked: File,
}

impl Claims {
    pub(super) fn in_folder(state: &Path) -> Self {
        Self(state.join("telling"))
    }

    /// Nothing when another run is telling it. Where files cannot be locked whoever comes tells it.
    pub(super) fn make(&self, number: EntryNumber) -> io::Result<Option<Claim>> {
        fs::create_dir_all(&self.0)?;
        let path = self.0.join(number.to_string());
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Claim { path, _locked: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }
}

impl Claim {
    /// It is told, and no entry has this number any more.
    pub(super) fn told(self) {
        // A file that stays says nothing.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-04: one run tells an outcome, and the next one when that ended without having told it.
    #[test]
    fn an_outcome_is_one_runs_to_tell() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Claims::in_folder(folder.path()), Claims::in_folder(folder.path()));
        let claim = |claims: &Claims, number| claims.make(EntryNumber(number)).unwrap();
        let first = claim(&one, 1);
        assert!(first.is_some() && claim(&other, 1).is_none() && claim(&other, 2).is_some());
        drop(first);
        let second = claim(&other, 1).unwrap();
        assert!(claim(&one, 1).is_none());
        second.told();
        assert_eq!(fs::read_dir(folder.path().join("telling")).unwrap().count(), 1);
    }
}
