//! Streams: sequences of numbered changes. Only the latest change of each key is kept, with its author.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ids::{ClientId, InstallationId, MemberId, UnitId};
use crate::secrets;
use crate::store::{StoreError, json_list, sql_limit};
use crate::time::Moment;

/// The name of one ordered stream of changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedStream(String);

/// The id of a stream in cursors: the first bytes of the SHA-256 hash of its name.
pub(super) type StreamTag = [u8; 6];

impl FeedStream {
    /// Returns the stream of one member's entries in an area.
    #[must_use]
    pub fn of_member(area: &str, member: &MemberId) -> Self {
        Self(format!("member/{area}/{member}"))
    }

    /// Returns the stream of one unit's entries in an area.
    #[must_use]
    pub fn of_unit(area: &str, unit: &UnitId) -> Self {
        Self(format!("unit/{area}/{unit}"))
    }

    /// Returns the stream of the entries in an area that all members share.
    #[must_use]
    pub fn shared_by_area(area: &str) -> Self {
        Self(format!("shared/{area}"))
    }

    /// Returns the stream's id in cursors.
    #[must_use]
    pub(super) fn stream_tag(&self) -> StreamTag {
        secrets::hash_prefix(&secrets::sha256(&self.0))
    }
}

/// The author of a change; each variant is a channel (TYP-14, TYP-15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeAuthor {
    /// A person on the web pages.
    Web,
    /// The platform's own mobile application (A21).
    App,
    /// The service, for example when default grants change, data is cleaned up, or an account is deleted.
    System,
    /// A connected client application.
    Client {
        /// The id of the registered client application.
        client: ClientId,
        /// The installation of the client on one of the member's devices.
        installation: InstallationId,
    },
}

impl ChangeAuthor {
    /// Returns the name of the channel that the store and the contract use.
    #[must_use]
    pub const fn channel(&self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::App => "app",
            Self::System => "system",
            Self::Client { .. } => "client",
        }
    }

    /// Returns the client and the installation; `None` for channels other than `client`.
    #[must_use]
    pub const fn client_installation(&self) -> Option<(&ClientId, &InstallationId)> {
        match self {
            Self::Client { client, installation } => Some((client, installation)),
            Self::Web | Self::App | Self::System => None,
        }
    }

    /// Returns true if both authors are the same installation of the same client (BPR-07).
    #[must_use]
    pub fn is_same_installation(&self, other: &Self) -> bool {
        match (self.client_installation(), other.client_installation()) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }

    /// Reads an author from the columns for channel, client and installation, starting at column `first`.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Result<Self, StoreError>> {
        let channel: String = row.get(first)?;
        let connected = (row.get::<_, Option<_>>(first + 1)?, row.get::<_, Option<_>>(first + 2)?);
        Ok(match (channel.as_str(), connected) {
            ("web", _) => Ok(Self::Web),
            ("app", _) => Ok(Self::App),
            ("system", _) => Ok(Self::System),
            ("client", (Some(client), Some(installation))) => Ok(Self::Client { client, installation }),
            _ => Err(StoreError::Corrupt("unknown channel of a change")),
        })
    }
}

/// A change of a key to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyChange<'a> {
    /// The key as stored by the area.
    pub key: &'a str,
    /// Whether the entry was removed.
    pub gone: bool,
}

/// The numbers that describe the state of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamHead {
    /// The number of the last change.
    pub(super) seq: u64,
    /// The number up to which tombstones may have been deleted.
    pub(super) floor: u64,
}

/// The latest change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeedEntry {
    pub(super) key: String,
    pub(super) seq: u64,
    pub(super) gone: bool,
    pub(super) removal: KeyRemoval,
}

/// The time and the author of the latest change of a key, which is a removal in most uses of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRemoval {
    /// The time of the change.
    pub at: Moment,
    /// The author of the change.
    pub by: ChangeAuthor,
}

/// Records changes in a stream: each distinct key gets the next number. If a key occurs several times, its
/// last change counts. Must run in the transaction of the write.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn record_changes<'a>(
    connection: &Connection,
    stream: &FeedStream,
    author: &ChangeAuthor,
    now: Moment,
    changes: impl IntoIterator<Item = KeyChange<'a>>,
) -> Result<(), StoreError> {
    let mut latest: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (order, change) in changes.into_iter().enumerate() {
        latest.insert(change.key, (order, change.gone));
    }
    if latest.is_empty() {
        return Ok(());
    }
    let mut latest: Vec<(usize, &str, bool)> =
        latest.into_iter().map(|(key, (order, gone))| (order, key, gone)).collect();
    latest.sort_unstable();
    let (id, mut seq) = find_or_create_head(connection, stream)?;
    let (client, installation) = author.client_installation().unzip();
    // One statement records a run of keys that all exist or are all removed. Most change sets have only one
    // run.
    let mut put = connection.prepare_cached(
        "INSERT INTO feed_entry (stream, key, seq, gone, changed_at, channel, client, installation) \
         SELECT ?1, value, ?3 + key, ?4, ?5, ?6, ?7, ?8 FROM json_each(?2) WHERE true \
         ON CONFLICT (stream, key) DO UPDATE SET seq = excluded.seq, gone = excluded.gone, \
         changed_at = excluded.changed_at, channel = excluded.channel, client = excluded.client, \
         installation = excluded.installation",
    )?;
    for alike in latest.chunk_by(|(_, _, one), (_, _, next)| one == next) {
        let keys = json_list(alike.iter().map(|(_, key, _)| *key));
        let gone = alike.first().is_some_and(|(_, _, gone)| *gone);
        let (first, at) = (seq_to_i64(seq + 1)?, now.as_millis());
        put.execute(params![id, keys, first, gone, at, author.channel(), client, installation])?;
        seq += alike.len() as u64;
    }
    let mut settle = connection.prepare_cached("UPDATE feed_head SET seq = ?2 WHERE id = ?1")?;
    settle.execute(params![id, seq_to_i64(seq)?])?;
    Ok(())
}

/// Returns the id of a stream's head and the number of the last change. Creates the head if necessary.
fn find_or_create_head(connection: &Connection, stream: &FeedStream) -> Result<(i64, u64), StoreError> {
    let sql = "SELECT id, seq FROM feed_head WHERE stream = ?1";
    let found: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([&stream.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((id, seq)) = found {
        return Ok((id, seq_from_i64(seq)?));
    }
    connection.prepare_cached("INSERT INTO feed_head (stream, seq) VALUES (?1, 0)")?.execute([&stream.0])?;
    Ok((connection.last_insert_rowid(), 0))
}

/// Returns the latest removal of each given key that is currently removed.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_removals<'k>(
    connection: &Connection,
    stream: &FeedStream,
    keys: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<String, KeyRemoval>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT e.key, e.changed_at, e.channel, e.client, e.installation \
         FROM json_each(?2) k CROSS JOIN feed_entry e \
         WHERE e.stream = (SELECT id FROM feed_head WHERE stream = ?1) AND e.key = k.value AND e.gone = 1",
    )?;
    let mut rows = rows.query(params![stream.0, json_list(keys)])?;
    let mut removals = HashMap::new();
    while let Some(row) = rows.next()? {
        let removal =
            KeyRemoval { at: Moment::from_millis(row.get(1)?), by: ChangeAuthor::from_row(row, 2)?? };
        removals.insert(row.get(0)?, removal);
    }
    Ok(removals)
}

/// Returns the state of a stream. All numbers are 0 if the stream has no changes.
pub(super) fn load_head(connection: &Connection, stream: &FeedStream) -> Result<StreamHead, StoreError> {
    let sql = "SELECT seq, floor FROM feed_head WHERE stream = ?1";
    let found: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([&stream.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((seq, floor)) = found else { return Ok(StreamHead::default()) };
    Ok(StreamHead { seq: seq_from_i64(seq)?, floor: seq_from_i64(floor)? })
}

/// Loads up to `limit` changes with numbers above `seq`, in the order of the numbers.
pub(super) fn load_entries_after(
    connection: &Connection,
    stream: &FeedStream,
    seq: u64,
    limit: usize,
) -> Result<Vec<FeedEntry>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT key, seq, gone, changed_at, channel, client, installation FROM feed_entry \
         WHERE stream = (SELECT id FROM feed_head WHERE stream = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = rows.query(params![stream.0, seq_to_i64(seq)?, sql_limit(limit)])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let removal =
            KeyRemoval { at: Moment::from_millis(row.get(3)?), by: ChangeAuthor::from_row(row, 4)?? };
        let seq = seq_from_i64(row.get(1)?)?;
        entries.push(FeedEntry { key: row.get(0)?, seq, gone: row.get(2)?, removal });
    }
    Ok(entries)
}

fn seq_to_i64(seq: u64) -> Result<i64, StoreError> {
    i64::try_from(seq).map_err(|_| StoreError::Corrupt("sequence number out of range"))
}

fn seq_from_i64(seq: i64) -> Result<u64, StoreError> {
    u64::try_from(seq).map_err(|_| StoreError::Corrupt("negative sequence number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key gets the number of its last change, in the order of the changes.
    #[test]
    fn numbers_follow_the_changes() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../store/migrations/0001.sql")).unwrap();
        let stream = FeedStream::shared_by_area("area");
        let check = |changes: &[(&str, bool)], expect: &[(&str, u64, bool)]| {
            let changes = changes.iter().map(|(key, gone)| KeyChange { key, gone: *gone });
            record_changes(&connection, &stream, &ChangeAuthor::Web, Moment::default(), changes).unwrap();
            let entries = load_entries_after(&connection, &stream, 0, 9).unwrap();
            let listed: Vec<_> = entries.iter().map(|entry| (&*entry.key, entry.seq, entry.gone)).collect();
            assert_eq!(listed, expect);
        };
        check(
            &[("a", false), ("b", true), ("c", true), ("a", true), ("d\"", false)],
            &[("b", 1, true), ("c", 2, true), ("a", 3, true), ("d\"", 4, false)],
        );
        check(
            &[("c", false), ("e", false), ("b", true)],
            &[("a", 3, true), ("d\"", 4, false), ("c", 5, false), ("e", 6, false), ("b", 7, true)],
        );
        let gone = find_removals(&connection, &stream, ["a", "c", "x"]).unwrap();
        assert_eq!(gone.into_keys().collect::<Vec<_>>(), ["a"]);
    }
}
