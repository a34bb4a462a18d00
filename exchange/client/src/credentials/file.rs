//! Secrets in plain files, for machines that have no store of secrets and members who said that they want it so.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use super::{CredentialError, CredentialStore, Entry, Owner, SecretBytes, apart};
use crate::{lock::durable, tokens::Later};

/// Plain files that only their owner can read: whoever copies them, or a backup of them, is this installation.
///
/// Nothing chooses it but a program's own code, before the member signs in, because the member said so
/// (`--insecure-storage`). On Windows the files have the rights of their folder: take one of the member's
/// profile.
#[derive(Clone, Debug)]
pub struct InsecureFile {
    folder: PathBuf,
}

/// Why a folder cannot hold secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableFolder {
    /// Others than its owner may look into it.
    #[error("others can read the folder {0}: take their rights away (chmod 700)")]
    Open(PathBuf),
    /// It is no folder, such as a link to one.
    #[error("{0} is no folder")]
    NoFolder(PathBuf),
    /// It cannot be made or looked at.
    #[error("the folder {0} cannot be used: {1}")]
    Failed(PathBuf, #[source] io::Error),
}

impl InsecureFile {
    /// Files in this folder, which is made where there is none, for its owner alone.
    ///
    /// # Errors
    /// When others can read it, or it cannot be used.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, UnusableFolder> {
        let folder = folder.into();
        let failed = |error| UnusableFolder::Failed(folder.clone(), error);
        durable::make_private(&folder).map_err(failed)?;
        let found = fs::symlink_metadata(&folder).map_err(failed)?;
        if !found.is_dir() {
            return Err(UnusableFolder::NoFolder(folder));
        }
        if others_can_read(&found) {
            return Err(UnusableFolder::Open(folder));
        }
        Ok(Self { folder })
    }

    /// Whether there is such a secret of this owner's; where nobody can tell it is taken to be there. Waits for the disk.
    #[must_use]
    pub fn holds(&self, owner: &Owner, entry: Entry) -> bool {
        self.path(owner, entry).try_exists().unwrap_or(true)
    }

    fn path(&self, owner: &Owner, entry: Entry) -> PathBuf {
        self.folder.join(file_name(&owner.name_of(entry)))
    }
}

impl CredentialStore for InsecureFile {
    fn name(&self) -> &'static str {
        "insecure files"
    }

    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
        let path = self.path(owner, entry);
        Box::pin(apart(move || read(&path)))
    }

    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>> {
        let (path, secret) = (self.path(owner, entry), secret.clone());
        Box::pin(apart(move || durable::write(&path, &secret).map_err(|error| failed(&error))))
    }

    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>> {
        let path = self.path(owner, entry);
        Box::pin(apart(move || durable::delete(&path).map_err(|error| failed(&error))))
    }
}

fn read(path: &Path) -> Result<Option<SecretBytes>, CredentialError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
        Ok(found) if !found.is_file() => return Err(CredentialError::Denied("it is no file".into())),
        Ok(found) if others_can_read(&found) => {
            return Err(CredentialError::Denied(
                "others can read its file, which is no secret any more".into(),
            ));
        }
        Ok(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(SecretBytes::new(bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &io::Error) -> CredentialError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => CredentialError::Denied(error.to_string()),
        io::ErrorKind::NotFound => CredentialError::Missing(error.to_string()),
        _ => CredentialError::Failed(error.to_string()),
    }
}

/// A name without anything that means something to a file system, and another for each name: for folders that
/// different connections must not share.
#[must_use]
pub fn file_name(name: &str) -> String {
    let mut file = String::with_capacity(name.len() + 16);
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => file.push(char::from(byte)),
            // Capitals too: some file systems do not tell them apart. Writing to a string does not fail.
            _ => {
                let _ = write!(file, "%{byte:02x}");
            }
        }
    }
    file
}

#[cfg(unix)]
fn others_can_read(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
const fn others_can_read(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};

    #[test]
    fn names_are_those_of_files() {
        assert_eq!(file_name("a-b_1/A%"), "a-b_1%2f%41%25");
    }

    #[tokio::test]
    async fn it_keeps_what_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("made").join("here");
        tests::keeps(&InsecureFile::open(&inside).unwrap()).await;
        let store = InsecureFile::open(&inside).unwrap();
        let (mine, other) = (tests::owner("default"), tests::owner("second"));
        assert!(store.holds(&mine, Entry::RefreshToken) && !store.holds(&mine, Entry::DpopKey));
        assert!(store.holds(&other, Entry::DpopKey) && !store.holds(&other, Entry::RefreshToken));
        // Nothing else is left in it: no half-written file.
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 3);
    }

    /// IDP-18: what others can read is no place for secrets, neither a folder nor a file in it.
    #[cfg(unix)]
    #[tokio::test]
    async fn what_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o755, 0o750, 0o701] {
            set(folder.path(), mode);
            assert!(matches!(InsecureFile::open(folder.path()), Err(UnusableFolder::Open(_))), "{mode:o}");
        }
        set(folder.path(), 0o700);
        let store = InsecureFile::open(folder.path()).unwrap();
        let owner = tests::owner("default");
        store.write(&owner, Entry::DpopKey, &tests::secret("k")).await.unwrap();
        let path = store.path(&owner, Entry::DpopKey);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        set(&path, 0o644);
        assert!(matches!(store.read(&owner, Entry::DpopKey).await, Err(CredentialError::Denied(_))));
        // A new one takes its place.
        store.write(&owner, Entry::DpopKey, &tests::secret("k2")).await.unwrap();
        assert_eq!(store.read(&owner, Entry::DpopKey).await, Ok(Some(tests::secret("k2"))));

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(matches!(InsecureFile::open(&link), Err(UnusableFolder::NoFolder(_))));
    }
}
