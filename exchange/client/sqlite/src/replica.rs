//! The replica in two files: `replica.db` for the member's own collections, and `organisation.db` for
//! internal data of the organization, which may be kept for at most 7 days (OST-14, DEM-10).

mod rows;
#[cfg(test)]
mod tests;

use std::{fs, io, path::Path};

use exchange_client::{
    Area, Error, Replica, UnixTime,
    api::types::InstallationId,
    feed::{AreaState, Collection},
    replica::{
        AreaCommit, CommitOutcome, DemandDocument, ForgottenCollection, OwnerNote, RemovalRecord, ReplicaRow,
        ReplicaStore,
    },
};

use crate::database::{
    CorruptFilePolicy, Database, DatabasePlan, create_private_folder, delete_renamed_file, storage_error,
};

/// The tag of a folder that backup programs may skip: <https://bford.info/cachedir/>.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is a cache of data of the exchange and can be deleted.\n";

static MEMBER: DatabasePlan = DatabasePlan {
    name: "replica",
    application: 0x4558_5245,
    migrations: &[include_str!("replica/0001.sql")],
    corrupt_file: CorruptFilePolicy::Rename,
};

static ORGANISATION: DatabasePlan = DatabasePlan {
    name: "replica of the organisation's data",
    application: 0x4558_4f52,
    migrations: &[include_str!("replica/0001.sql"), include_str!("replica/0002.sql")],
    corrupt_file: CorruptFilePolicy::Delete,
};

/// A persistent replica store.
///
/// Each commit is one transaction, which is on the disk when the call returns. Several processes may share
/// the folder.
///
/// Deleted data can remain in the files until its bytes are erased:
///
/// * [`ReplicaStore::forget`] erases the data that it deletes.
/// * Organization data that a commit deletes because the member may no longer see it is erased by the next
///   [`ReplicaStore::purge_removed`].
/// * Other organization data that a commit deletes is erased a day later, or earlier if it would become 7
///   days old.
///
/// Copies that a file system or a disk keeps are not erased.
///
/// Newer and corrupt files are handled as follows:
///
/// * A file of a newer version is left unchanged, and opening it fails.
/// * A corrupt file is replaced, because the exchange has all of its data. It is renamed to
///   `replica.db.damaged`, or deleted if it contains organization data.
#[derive(Debug)]
pub struct SqliteReplica {
    /// The file of the member's own collections, or the error that occurred when it was opened. The store is
    /// opened in spite of such an error, because expired organization data must be deleted in any case.
    member: Result<Database, Error>,
    organisation: Database,
    member_path: std::path::PathBuf,
}

impl SqliteReplica {
    /// Opens or creates both files in a folder, with access for this user only, and marks the folder as a
    /// cache.
    ///
    /// Use a separate folder for caches that is not synchronized, not roaming and not part of a backup
    /// (DEM-10): `XDG_CACHE_HOME` on Linux, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows. This
    /// crate also writes a `CACHEDIR.TAG`, but most backup programs ignore it by default, so the location is
    /// decisive.
    ///
    /// * Linux has no standard backup program. Most backup programs respect the tag only with an option
    ///   (`--exclude-caches` of borg, restic and tar).
    /// * macOS: Time Machine excludes `~/Library/Caches` but ignores the tag. Other folders are excluded by
    ///   an extended attribute, which neither the standard library nor SQLite can set. To set it, use `tmutil
    ///   addexclusion`.
    /// * Windows: File History covers libraries and the desktop, but not `LOCALAPPDATA`. A disk image
    ///   contains all paths except those that are listed in the registry (`FilesNotToBackup`,
    ///   `FilesNotToSnapshot`). Only an administrator can add paths there, so the installer of the program
    ///   has to do this.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) if a file cannot be created or
    /// opened, or was written by a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let replica = Self::open_in_parts(folder.as_ref())?;
        replica.member_database()?;
        Ok(replica)
    }

    /// Deletes organization data that is at least 7 days old, as [`Replica::expire`] does, even if the
    /// member's own file cannot be opened (OST-14). Call this at the start of each program.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) if a file fails. The program then
    /// calls the function again later.
    pub fn expire(folder: impl AsRef<Path>, now: UnixTime) -> Result<Vec<ForgottenCollection>, Error> {
        let replica = Self::open_in_parts(folder.as_ref())?;
        let member_data = replica.member_database().map(drop);
        let forgotten = Replica::new(replica).expire(now);
        // If the member's own file could not be opened, the result is the error of opening it.
        member_data.and(forgotten)
    }

    fn open_in_parts(folder: &Path) -> Result<Self, Error> {
        let to_error = |error: io::Error| storage_error(&MEMBER, &error.kind().to_string());
        create_private_folder(folder).map_err(to_error)?;
        let tag = folder.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(tag, CACHE_TAG).map_err(to_error)?;
        }
        let path = folder.join("replica.db");
        let organisation = Database::open(&folder.join("organisation.db"), &ORGANISATION)?;
        Ok(Self { member: Database::open(&path, &MEMBER), organisation, member_path: path })
    }

    fn member_database(&self) -> Result<&Database, Error> {
        self.member.as_ref().map_err(Clone::clone)
    }

    fn database_of(&self, area: Area) -> Result<&Database, Error> {
        if area.is_organization_data() { Ok(&self.organisation) } else { self.member_database() }
    }
}

impl ReplicaStore for SqliteReplica {
    fn area_state(&self, area: Area) -> Result<AreaState, Error> {
        self.database_of(area)?.read(|connection| rows::read_area_state(connection, area))
    }

    fn commit(&self, commit: &AreaCommit) -> Result<CommitOutcome, Error> {
        self.database_of(commit.area)?.write(|transaction| rows::apply_commit(transaction, commit))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error> {
        self.database_of(area)?
            .read(|connection| rows::read_entry(connection, rows::RowTable::Entry, area, key))
    }

    fn entries(&self, area: Area, after: Option<&str>, limit: usize) -> Result<Vec<ReplicaRow>, Error> {
        self.database_of(area)?.read(|connection| rows::read_entries(connection, area, after, limit))
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.database_of(area)?.read(|connection| rows::count_entries(connection, area))
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error> {
        self.database_of(area)?.read(|connection| rows::read_removal(connection, area, key))
    }

    fn set_baseline(&self, area: Area, entries: &[ReplicaRow], gone: &[&str]) -> Result<(), Error> {
        self.database_of(area)?.write(|transaction| rows::set_baseline(transaction, area, entries, gone))
    }

    fn baseline(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error> {
        self.database_of(area)?
            .read(|connection| rows::read_entry(connection, rows::RowTable::Agreed, area, key))
    }

    fn demand(&self) -> Result<Option<DemandDocument>, Error> {
        self.organisation.read(rows::read_demand)
    }

    fn store_demand(&self, demand: &DemandDocument, reader: &InstallationId) -> Result<bool, Error> {
        self.organisation.write(|transaction| rows::store_demand(transaction, demand, reader))
    }

    fn demand_requested_at(&self) -> Result<Option<UnixTime>, Error> {
        self.organisation.read(rows::demand_requested_at)
    }

    fn note_demand_request(&self, at: UnixTime) -> Result<(), Error> {
        self.organisation.write(|transaction| rows::note_demand_request(transaction, at))
    }

    fn forget(
        &self,
        collections: &[Collection],
        owner: OwnerNote,
    ) -> Result<Vec<ForgottenCollection>, Error> {
        let mut forgotten_all: Vec<_> = collections
            .iter()
            .map(|collection| ForgottenCollection { collection: *collection, entries: 0 })
            .collect();
        let mut forget = |of_organisation: bool| -> Result<(), Error> {
            let concerns = |forgotten: &&mut ForgottenCollection| {
                Collection::ORGANIZATION.contains(&forgotten.collection) == of_organisation
            };
            for forgotten in forgotten_all.iter_mut().filter(concerns) {
                forgotten.entries = match forgotten.collection {
                    Collection::Area(area) => self
                        .database_of(area)?
                        .write(|transaction| rows::forget_area(transaction, area, owner))?,
                    _ => self.organisation.write(rows::forget_demand)?,
                };
            }
            Ok(())
        };
        // Organization data is deleted first. An error of one file does not affect the other file (OST-14).
        let organisation = forget(true).and(self.organisation.erase_remnants(0));
        let member_data =
            match collections.iter().any(|collection| !Collection::ORGANIZATION.contains(collection)) {
                true => forget(false)
                    .and(delete_renamed_file(&self.member_path, &MEMBER))
                    .and(self.member_database().and_then(|member_data| member_data.erase_remnants(0))),
                false => Ok(()),
            };
        organisation.and(member_data).map(|()| forgotten_all)
    }

    fn purge_removed(&self, now: UnixTime) -> Result<(), Error> {
        let organisation = self.organisation.erase_remnants(rows::to_millis(now));
        organisation
            .and(self.member_database().and_then(|database| database.erase_remnants(rows::to_millis(now))))
    }
}
