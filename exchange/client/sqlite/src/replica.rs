//! The replica in two files: `replica.db` has the member's own collections, `organisation.db` what is internal data
//! of the organisation and kept for 7 days at most (OST-14, DEM-10).

mod rows;
#[cfg(test)]
mod tests;

use std::{fs, io, path::Path};

use exchange_client::{
    Area, Error, Replica, UnixTime,
    api::types::InstallationId,
    feed::{Collection, Kept},
    replica::{Commit, Document, Forgotten, Outcome, OwnerNote, Removal, ReplicaStore, Row},
};

use crate::database::{Damaged, Database, Plan, delete_aside, private_folder, storage};

/// The marker of a folder that no backup needs: <https://bford.info/cachedir/>.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # What is in this folder is a copy of what the exchange has, and is read anew when it is gone.\n";

static OWN: Plan = Plan {
    what: "replica",
    application: 0x4558_5245,
    migrations: &[include_str!("replica/0001.sql")],
    damaged: Damaged::SetAside,
};

static ORGANISATION: Plan = Plan {
    what: "replica of the organisation's data",
    application: 0x4558_4f52,
    migrations: &[include_str!("replica/0001.sql"), include_str!("replica/0002.sql")],
    damaged: Damaged::Delete,
};

/// A replica that outlives the process.
///
/// Every commit is one transaction that is on the disk when it returns. Several processes may share the folder. What
/// [`ReplicaStore::forget`] deletes is in none of the files any more when it returned. What the organisation's pages
/// take away is gone after the next [`ReplicaStore::settle`] if the member may not see it any more, and a day later, or
/// before it is 7 days old, if it just went; what a file system or a disk keeps of its own accord is beyond this.
///
/// * A file of a newer program is left as it is, and opening it fails.
/// * A damaged file is no loss, since the exchange has all of it: it is set aside as `replica.db.damaged`, or deleted
///   when it is the organisation's, and read anew.
#[derive(Debug)]
pub struct SqliteReplica {
    /// Or why it cannot be opened, which keeps nobody from forgetting what is the organisation's.
    own: Result<Database, Error>,
    organisation: Database,
    aside: std::path::PathBuf,
}

impl SqliteReplica {
    /// Opens the replica in a folder, or makes both: readable for this user alone, and marked as a cache.
    ///
    /// The folder is one for caches, neither synchronised nor roaming, nor in a backup (DEM-10): `XDG_CACHE_HOME` on
    /// Linux, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows. It holds nothing else. That choice is what keeps it
    /// out of backups; what this crate adds is a `CACHEDIR.TAG`.
    ///
    /// * Linux has no backup of its own. Those that there are heed the tag, most of them where they are told to
    ///   (`--exclude-caches` of borg, restic and tar).
    /// * macOS: Time Machine leaves `~/Library/Caches` out, and does not know the tag. A folder elsewhere is left out by an
    ///   extended attribute, for which neither the standard library nor SQLite has a call: `tmutil addexclusion` sets it.
    /// * Windows: File History keeps libraries and the desktop, and nothing of `LOCALAPPDATA`. An image of the whole disk
    ///   has everything but what an administrator names in the registry (`FilesNotToBackup`, `FilesNotToSnapshot`), which
    ///   is an installer's to do.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) when it cannot be made or opened, or was written by
    /// a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let replica = Self::open_in_parts(folder.as_ref())?;
        replica.own()?;
        Ok(replica)
    }

    /// Forgets what is of the organisation and older than 7 days, as [`Replica::expire`] does, also where the member's own
    /// copies cannot be opened (OST-14). For a program that begins, whatever it does then.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage): then it is to be called again.
    pub fn expire(folder: impl AsRef<Path>, now: UnixTime) -> Result<Vec<Forgotten>, Error> {
        let replica = Self::open_in_parts(folder.as_ref())?;
        let own = replica.own().map(drop);
        let forgotten = Replica::new(replica).expire(now);
        // What settles the member's own file fails with the reason why that cannot be opened.
        own.and(forgotten)
    }

    fn open_in_parts(folder: &Path) -> Result<Self, Error> {
        let told = |error: io::Error| storage(&OWN, &error.kind().to_string());
        private_folder(folder).map_err(told)?;
        let tag = folder.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(tag, CACHE_TAG).map_err(told)?;
        }
        let path = folder.join("replica.db");
        let organisation = Database::open(&folder.join("organisation.db"), &ORGANISATION)?;
        Ok(Self { own: Database::open(&path, &OWN), organisation, aside: path })
    }

    fn own(&self) -> Result<&Database, Error> {
        self.own.as_ref().map_err(Clone::clone)
    }

    fn of(&self, area: Area) -> Result<&Database, Error> {
        if area.is_of_organisation() { Ok(&self.organisation) } else { self.own() }
    }
}

impl ReplicaStore for SqliteReplica {
    fn kept(&self, area: Area) -> Result<Kept, Error> {
        self.of(area)?.read(|connection| rows::kept(connection, area))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome, Error> {
        self.of(commit.area)?.write(|transaction| rows::commit(transaction, commit))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<Row>, Error> {
        self.of(area)?.read(|connection| rows::entry(connection, rows::Table::Entry, area, key))
    }

    fn entries(&self, area: Area, after: Option<&str>, most: usize) -> Result<Vec<Row>, Error> {
        self.of(area)?.read(|connection| rows::entries(connection, area, after, most))
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.of(area)?.read(|connection| rows::count(connection, area))
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<Removal>, Error> {
        self.of(area)?.read(|connection| rows::removal(connection, area, key))
    }

    fn agree(&self, area: Area, entries: &[Row], gone: &[&str]) -> Result<(), Error> {
        self.of(area)?.write(|transaction| rows::agree(transaction, area, entries, gone))
    }

    fn agreed(&self, area: Area, key: &str) -> Result<Option<Row>, Error> {
        self.of(area)?.read(|connection| rows::entry(connection, rows::Table::Agreed, area, key))
    }

    fn demand(&self) -> Result<Option<Document>, Error> {
        self.organisation.read(rows::demand)
    }

    fn keep_demand(&self, demand: &Document, of: &InstallationId) -> Result<bool, Error> {
        self.organisation.write(|transaction| rows::keep_demand(transaction, demand, of))
    }

    fn demand_asked_at(&self) -> Result<Option<UnixTime>, Error> {
        self.organisation.read(rows::demand_asked_at)
    }

    fn note_demand_asked(&self, at: UnixTime) -> Result<(), Error> {
        self.organisation.write(|transaction| rows::note_demand_asked(transaction, at))
    }

    fn forget(&self, collections: &[Collection], owner: OwnerNote) -> Result<Vec<Forgotten>, Error> {
        let mut told: Vec<_> =
            collections.iter().map(|collection| Forgotten { collection: *collection, entries: 0 }).collect();
        let mut forget = |of_organisation: bool| -> Result<(), Error> {
            let concerns =
                |of: &&mut Forgotten| Collection::OF_ORGANISATION.contains(&of.collection) == of_organisation;
            for forgotten in told.iter_mut().filter(concerns) {
                forgotten.entries = match forgotten.collection {
                    Collection::Area(area) => {
                        self.of(area)?.write(|transaction| rows::forget(transaction, area, owner))?
                    }
                    _ => self.organisation.write(rows::forget_demand)?,
                };
            }
            Ok(())
        };
        // The organisation's first, and neither waits for the other's trouble (OST-14).
        let organisation = forget(true).and(self.organisation.settle(0));
        let own = match collections.iter().any(|collection| !Collection::OF_ORGANISATION.contains(collection))
        {
            true => forget(false)
                .and(delete_aside(&self.aside, &OWN))
                .and(self.own().and_then(|own| own.settle(0))),
            false => Ok(()),
        };
        organisation.and(own).map(|()| told)
    }

    fn settle(&self, now: UnixTime) -> Result<(), Error> {
        let organisation = self.organisation.settle(rows::millis(now));
        organisation.and(self.own().and_then(|own| own.settle(rows::millis(now))))
    }
}
