//! A store of secrets in plain files, for machines without a secret store. Programs use it only if the member
//! chose this.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use super::{CredentialEntry, CredentialError, CredentialOwner, CredentialStore, SecretBytes, run_blocking};
use crate::{state_folder::durable, token_source::BoxFuture};

/// A store of plain files that only their owner can read. Anyone who gets a copy of the files, such as a
/// backup, can act as this installation.
///
/// A program must select it explicitly before sign-in, and only if the member requested it
/// (`--insecure-storage`). On Windows the files inherit the permissions of the folder, so the folder must be
/// in the member's profile.
#[derive(Clone, Debug)]
pub struct InsecureFileCredentials {
    folder: PathBuf,
}

/// The reason a folder cannot hold secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialFolderError {
    /// Other accounts can access the folder.
    #[error("the folder {0} is accessible to other accounts: restrict its permissions (chmod 700)")]
    ReadableByOthers(PathBuf),
    /// The path is not a directory, or it is a symbolic link.
    #[error("{0} is not a folder")]
    NotAFolder(PathBuf),
    /// The folder cannot be created or inspected.
    #[error("the folder {0} cannot be used: {1}")]
    Io(PathBuf, #[source] io::Error),
}

impl InsecureFileCredentials {
    /// Opens a folder. If the folder is missing, creates it with access for its owner only.
    ///
    /// # Errors
    /// Returns an error if other accounts can access the folder, or if it cannot be used.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, CredentialFolderError> {
        let folder = folder.into();
        let map_io_error = |error| CredentialFolderError::Io(folder.clone(), error);
        durable::create_private_folder(&folder).map_err(map_io_error)?;
        let found = fs::symlink_metadata(&folder).map_err(map_io_error)?;
        if !found.is_dir() {
            return Err(CredentialFolderError::NotAFolder(folder));
        }
        if others_can_read(&found) {
            return Err(CredentialFolderError::ReadableByOthers(folder));
        }
        Ok(Self { folder })
    }

    /// Returns true if a file for this secret exists, or if its existence cannot be determined. Performs
    /// blocking file access.
    #[must_use]
    pub fn has_entry(&self, owner: &CredentialOwner, entry: CredentialEntry) -> bool {
        self.entry_path(owner, entry).try_exists().unwrap_or(true)
    }

    fn entry_path(&self, owner: &CredentialOwner, entry: CredentialEntry) -> PathBuf {
        self.folder.join(encode_file_name(&owner.full_name(entry)))
    }
}

impl CredentialStore for InsecureFileCredentials {
    fn name(&self) -> &'static str {
        "insecure files"
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        let path = self.entry_path(owner, entry);
        Box::pin(run_blocking(move || read_secret(&path)))
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        let (path, secret) = (self.entry_path(owner, entry), secret.clone());
        Box::pin(run_blocking(move || {
            durable::replace_file(&path, &secret).map_err(|error| map_io_error(&error))
        }))
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        let path = self.entry_path(owner, entry);
        Box::pin(run_blocking(move || durable::delete_file(&path).map_err(|error| map_io_error(&error))))
    }
}

fn read_secret(path: &Path) -> Result<Option<SecretBytes>, CredentialError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(map_io_error(&error)),
        Ok(found) if !found.is_file() => {
            return Err(CredentialError::Denied("the entry is not a regular file".into()));
        }
        Ok(found) if others_can_read(&found) => {
            return Err(CredentialError::Denied("other accounts can read its file".into()));
        }
        Ok(_) => {}
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(SecretBytes::new(bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(map_io_error(&error)),
    }
}

fn map_io_error(error: &io::Error) -> CredentialError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => CredentialError::Denied(error.to_string()),
        io::ErrorKind::NotFound => CredentialError::Missing(error.to_string()),
        _ => CredentialError::Other(error.to_string()),
    }
}

/// Encodes a name as a file name without special characters. Different names have different encodings, so
/// connections never share a file or folder.
#[must_use]
pub fn encode_file_name(name: &str) -> String {
    let mut file = String::with_capacity(name.len() + 16);
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => file.push(char::from(byte)),
            // Uppercase letters are also encoded, because some file systems ignore case. Writing to a string
            // cannot fail.
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
    fn entry_names_are_valid_file_names() {
        assert_eq!(encode_file_name("a-b_1/A%"), "a-b_1%2f%41%25");
    }

    #[tokio::test]
    async fn stored_entries_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("made").join("here");
        tests::keeps(&InsecureFileCredentials::open(&inside).unwrap()).await;
        let store = InsecureFileCredentials::open(&inside).unwrap();
        let (mine, other) = (tests::owner("default"), tests::owner("second"));
        assert!(
            store.has_entry(&mine, CredentialEntry::RefreshToken)
                && !store.has_entry(&mine, CredentialEntry::DpopKey)
        );
        assert!(
            store.has_entry(&other, CredentialEntry::DpopKey)
                && !store.has_entry(&other, CredentialEntry::RefreshToken)
        );
        // Writing leaves no temporary files in the folder.
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 3);
    }

    /// IDP-18: a folder or file that other accounts can read is rejected.
    #[cfg(unix)]
    #[tokio::test]
    async fn folder_readable_by_others_is_rejected() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o755, 0o750, 0o701] {
            set(folder.path(), mode);
            assert!(
                matches!(
                    InsecureFileCredentials::open(folder.path()),
                    Err(CredentialFolderError::ReadableByOthers(_))
                ),
                "{mode:o}"
            );
        }
        set(folder.path(), 0o700);
        let store = InsecureFileCredentials::open(folder.path()).unwrap();
        let owner = tests::owner("default");
        store.write(&owner, CredentialEntry::DpopKey, &tests::secret("k")).await.unwrap();
        let path = store.entry_path(&owner, CredentialEntry::DpopKey);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        set(&path, 0o644);
        assert!(matches!(
            store.read(&owner, CredentialEntry::DpopKey).await,
            Err(CredentialError::Denied(_))
        ));
        // A write replaces the rejected file with a new one.
        store.write(&owner, CredentialEntry::DpopKey, &tests::secret("k2")).await.unwrap();
        assert_eq!(store.read(&owner, CredentialEntry::DpopKey).await, Ok(Some(tests::secret("k2"))));

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(matches!(InsecureFileCredentials::open(&link), Err(CredentialFolderError::NotAFolder(_))));
    }
}
