//! Streams: numbers, the latest change of each key, and who made it.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ids::{ClientId, InstallationId, MemberId, UnitId};
use crate::secrets;
use crate::store::{StoreError, limit, list};
use crate::time::Moment;

/// The name of one ordered feed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(String);

/// What a cursor calls a stream: the first bytes of its name's SHA-256.
pub(super) type Tag = [u8; 6];

impl Stream {
    /// One member's entries of an area.
    #[must_use]
    pub fn of_member(area: &str, member: &MemberId) -> Self {
        Self(format!("member/{area}/{member}"))
    }

    /// One unit's entries of an area.
    #[must_use]
    pub fn of_unit(area: &str, unit: &UnitId) -> Self {
        Self(format!("unit/{area}/{unit}"))
    }

    /// What all members of an area share.
    #[must_use]
    pub fn shared(area: &str) -> Self {
        Self(format!("shared/{area}"))
    }

    /// What a cursor calls it.
    #[must_use]
    pub(super) fn tag(&self) -> Tag {
        secrets::head(&secrets::hash(&self.0))
    }
}

/// By which way a change came (TYP-14, TYP-15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The web application.
    Web,
    /// The platform's own mobile application (A21).
    App,
    /// A change of default grants, a clean-up, the deletion of an account.
    System,
    /// A connected client.
    Client {
        /// Which.
        client: ClientId,
        /// On which of the member's devices.
        installation: InstallationId,
    },
}

impl Author {
    /// The channel's name, in the store as on the wire.
    #[must_use]
    pub const fn channel(&self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::App => "app",
            Self::System => "system",
            Self::Client { .. } => "client",
        }
    }

    /// Client and installation, for the channel that has them.
    #[must_use]
    pub const fn connected(&self) -> Option<(&ClientId, &InstallationId)> {
        match self {
            Self::Client { client, installation } => Some((client, installation)),
            Self::Web | Self::App | Self::System => None,
        }
    }

    /// Whether a removal by this author is what the installation did itself (BPR-07).
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        match (self.connected(), other.connected()) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }

    /// From channel, client and installation, which stand in three columns from a place on.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Result<Self, StoreError>> {
        let channel: String = row.get(first)?;
        let connected = (row.get::<_, Option<_>>(first + 1)?, row.get::<_, Option<_>>(first + 2)?);
        Ok(match (channel.as_str(), connected) {
            ("web", _) => Ok(Self::Web),
            ("app", _) => Ok(Self::App),
            ("system", _) => Ok(Self::System),
            ("client", (Some(client), Some(installation))) => Ok(Self::Client { client, installation }),
            _ => Err(StoreError::Corrupt("a change of no known channel")),
        })
    }
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The key, as the area stores it.
    pub key: &'a str,
    /// Whether it is gone.
    pub gone: bool,
}

/// Where a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of its last change.
    pub(super) seq: u64,
    /// Up to which number tombstones may be missing.
    pub(super) floor: u64,
}

/// The latest change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) seq: u64,
    pub(super) gone: bool,
    pub(super) removal: Removal,
}

/// When and by whom a key was changed last, most often: removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// When.
    pub at: Moment,
    /// By whom.
    pub by: Author,
}

/// Gives each distinct key the next number of the stream. Of several changes of a key the last counts.
///
/// Belongs into the transaction of the write that it tells of.
///
/// # Errors
/// What the database says.
pub fn record<'a>(
    connection: &Connection,
    stream: &Stream,
    by: &Author,
    now: Moment,
    changes: impl IntoIterator<Item = Change<'a>>,
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
    let (id, mut seq) = numbered(connection, stream)?;
    let (client, installation) = by.connected().unzip();
    // One statement for all that stand together and are all there or all gone: a set's ops are most often alike.
    let mut put = connection.prepare_cached(
        "INSERT INTO feed_entry (stream, key, seq, gone, changed_at, channel, client, installation) \
         SELECT ?1, value, ?3 + key, ?4, ?5, ?6, ?7, ?8 FROM json_each(?2) WHERE true \
         ON CONFLICT (stream, key) DO UPDATE SET seq = excluded.seq, gone = excluded.gone, \
         changed_at = excluded.changed_at, channel = excluded.channel, client = excluded.client, \
         installation = excluded.installation",
    )?;
    for alike in latest.chunk_by(|(_, _, one), (_, _, next)| one == next) {
        let keys = list(alike.iter().map(|(_, key, _)| *key));
        let gone = alike.first().is_some_and(|(_, _, gone)| *gone);
        let (first, at) = (signed(seq + 1)?, now.millis());
        put.execute(params![id, keys, first, gone, at, by.channel(), client, installation])?;
        seq += alike.len() as u64;
    }
    let mut settle = connection.prepare_cached("UPDATE feed_head SET seq = ?2 WHERE id = ?1")?;
    settle.execute(params![id, signed(seq)?])?;
    Ok(())
}

/// The id of a stream's head, which is made where there is none, and the number of its last change.
fn numbered(connection: &Connection, stream: &Stream) -> Result<(i64, u64), StoreError> {
    let sql = "SELECT id, seq FROM feed_head WHERE stream = ?1";
    let found: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([&stream.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((id, seq)) = found {
        return Ok((id, unsigned(seq)?));
    }
    connection.prepare_cached("INSERT INTO feed_head (stream, seq) VALUES (?1, 0)")?.execute([&stream.0])?;
    Ok((connection.last_insert_rowid(), 0))
}

/// The last removals of those of these keys that are gone.
///
/// # Errors
/// What the database says.
pub fn removals<'k>(
    connection: &Connection,
    stream: &Stream,
    keys: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<String, Removal>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT e.key, e.changed_at, e.channel, e.client, e.installation \
         FROM json_each(?2) k CROSS JOIN feed_entry e \
         WHERE e.stream = (SELECT id FROM feed_head WHERE stream = ?1) AND e.key = k.value AND e.gone = 1",
    )?;
    let mut rows = rows.query(params![stream.0, list(keys)])?;
    let mut removals = HashMap::new();
    while let Some(row) = rows.next()? {
        let removal = Removal { at: Moment::from_millis(row.get(1)?), by: Author::from_row(row, 2)?? };
        removals.insert(row.get(0)?, removal);
    }
    Ok(removals)
}

/// Where the stream is; at its beginning when nothing changed yet.
pub(super) fn head(connection: &Connection, stream: &Stream) -> Result<Head, StoreError> {
    let sql = "SELECT seq, floor FROM feed_head WHERE stream = ?1";
    let found: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([&stream.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((seq, floor)) = found else { return Ok(Head::default()) };
    Ok(Head { seq: unsigned(seq)?, floor: unsigned(floor)? })
}

/// What changed after a number, in order, at most so much.
pub(super) fn after(
    connection: &Connection,
    stream: &Stream,
    seq: u64,
    most: usize,
) -> Result<Vec<Entry>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT key, seq, gone, changed_at, channel, client, installation FROM feed_entry \
         WHERE stream = (SELECT id FROM feed_head WHERE stream = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = rows.query(params![stream.0, signed(seq)?, limit(most)])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let removal = Removal { at: Moment::from_millis(row.get(3)?), by: Author::from_row(row, 4)?? };
        let seq = unsigned(row.get(1)?)?;
        entries.push(Entry { key: row.get(0)?, seq, gone: row.get(2)?, removal });
    }
    Ok(entries)
}

fn signed(seq: u64) -> Result<i64, StoreError> {
    i64::try_from(seq).map_err(|_| StoreError::Corrupt("a number beyond all numbers"))
}

fn unsigned(seq: i64) -> Result<u64, StoreError> {
    u64::try_from(seq).map_err(|_| StoreError::Corrupt("a number below zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key has the number of its last change, in the order of the changes, whether it is there or gone.
    #[test]
    fn numbers_follow_the_changes() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../store/migrations/0001.sql")).unwrap();
        let stream = Stream::shared("area");
        let check = |changes: &[(&str, bool)], expect: &[(&str, u64, bool)]| {
            let changes = changes.iter().map(|(key, gone)| Change { key, gone: *gone });
            record(&connection, &stream, &Author::Web, Moment::default(), changes).unwrap();
            let entries = after(&connection, &stream, 0, 9).unwrap();
            let told: Vec<_> = entries.iter().map(|entry| (&*entry.key, entry.seq, entry.gone)).collect();
            assert_eq!(told, expect);
        };
        check(
            &[("a", false), ("b", true), ("c", true), ("a", true), ("d\"", false)],
            &[("b", 1, true), ("c", 2, true), ("a", 3, true), ("d\"", 4, false)],
        );
        check(
            &[("c", false), ("e", false), ("b", true)],
            &[("a", 3, true), ("d\"", 4, false), ("c", 5, false), ("e", 6, false), ("b", 7, true)],
        );
        let gone = removals(&connection, &stream, ["a", "c", "x"]).unwrap();
        assert_eq!(gone.into_keys().collect::<Vec<_>>(), ["a"]);
    }
}
