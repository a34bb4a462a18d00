//! Writes and reads the journal of entry changes, and writes audit entries for changes.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::change::{EntryDelta, WriteContext};
use super::warehouse::STOCK;
use crate::ids::{ClientId, MemberId};
use crate::records::{self, AuditEntry};
use crate::store::{StoreError, read_setting, sql_limit};
use crate::time::Moment;

/// An entry as the journal stores it.
pub(crate) trait JournalEntry: Serialize {
    /// Returns the amount that a lot of stock holds, and 0 for entries of other areas.
    fn lot_amount(&self) -> i64 {
        0
    }
}

/// Records the changes of one change set. For each key that the change set reverts, `undoes` contains the id
/// of the first journal entry that is undone. All later entries of the key are undone as well. A later undo
/// therefore skips the entries of the key from this id up to the revert.
pub(super) fn record_changes<E: JournalEntry>(
    connection: &Connection,
    writer: &WriteContext,
    area: &str,
    touched: &[EntryDelta<E>],
    undoes: &HashMap<String, i64>,
) -> Result<(), StoreError> {
    if touched.is_empty() {
        return Ok(());
    }
    let (client, installation) = writer.author.client_installation().unzip();
    let mut insert = connection.prepare_cached(
        "INSERT INTO journal_entry (id, key, removal, override, undoes, before, after, head, tail) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let first = last_id(connection)? + 1;
    let mut id = first;
    let (mut before, mut after) = (EntryBuffer::default(), EntryBuffer::default());
    for touched in touched {
        let before = before.serialize_entry(touched.before.as_ref())?;
        let (head, after, tail) = encode_delta(before, after.serialize_entry(touched.after.as_ref())?);
        let EntryDelta { key, removal, overridden, .. } = touched;
        let undoes = undoes.get(key);
        insert.execute(params![id, key, removal, overridden, undoes, before, after, head, tail])?;
        id += 1;
    }
    let removals = touched.iter().filter(|touched| touched.removal).count();
    let mut set = connection.prepare_cached(
        "INSERT INTO journal_set (first, last, at, member, area, change_set, channel, client, installation, \
         removals) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    set.execute(params![
        first,
        id - 1,
        writer.now.as_millis(),
        writer.member,
        area,
        writer.change_set,
        writer.author.channel(),
        client,
        installation,
        sql_limit(removals),
    ])?;
    if client.is_some() && area == STOCK {
        // STK-22: the guard computes the baseline of each lot from this table.
        let lots: Vec<u8> = touched.iter().flat_map(|touched| key_prefix(&touched.key)).collect();
        let lots = std::str::from_utf8(&lots).map_err(|_| StoreError::Corrupt("invalid lot key"))?;
        let sql = "INSERT INTO journal_lots (first, lots, raised) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute(params![first, lots, encode_raised_amounts(touched)])?;
    }
    Ok(())
}

/// The first bytes of a lot's key. Two lots of the same member rarely have the same prefix.
type KeyPrefix = [u8; 6];

fn key_prefix(key: &str) -> KeyPrefix {
    let mut beginning = [b' '; 6];
    beginning.iter_mut().zip(key.bytes()).for_each(|(to, byte)| *to = byte);
    beginning
}

/// Encodes the amount by which each entry was raised, separated by spaces. Returns `None` if none was raised.
fn encode_raised_amounts<E: JournalEntry>(touched: &[EntryDelta<E>]) -> Option<String> {
    let amount = |entry: &Option<E>| entry.as_ref().map_or(0, JournalEntry::lot_amount);
    let raised = |touched: &EntryDelta<E>| (amount(&touched.after) - amount(&touched.before)).max(0);
    if touched.iter().all(|touched| raised(touched) == 0) {
        return None;
    }
    let mut text = String::with_capacity(touched.len() * 4);
    for touched in touched {
        let separator = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{separator}{}", raised(touched));
    }
    Some(text)
}

/// The part of a lot's history from which the guard computes the lot's baseline (STK-22).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LotHistory {
    /// The state of the lot before the client's first change.
    pub(super) before: Option<String>,
    /// The sum of the amounts by which the client raised the lot.
    pub(super) raised: i64,
}

/// Returns the history of each lot by the changes that a client made to it since `since`. Lots that the client
/// has not changed since then are omitted.
///
/// Reads the key prefixes of each change set until the first change of each lot is found. After that, reads
/// only the sets that raised a lot. The cost is bounded by the number of writes in one window, not by the
/// length of the journal (LIM-19).
pub(super) fn load_lot_histories<'k>(
    connection: &Connection,
    member: &MemberId,
    client: &ClientId,
    since: Moment,
    lots: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<&'k str, LotHistory>, StoreError> {
    let mut wanted: HashMap<KeyPrefix, Vec<&'k str>> = HashMap::new();
    let mut missing = 0_usize;
    for key in lots {
        wanted.entry(key_prefix(key)).or_default().push(key);
        missing += 1;
    }
    let mut sets = connection.prepare_cached(
        "SELECT first FROM journal_set INDEXED BY journal_set_of_member \
         WHERE member = ?1 AND area = 'stock' AND at > ?3 AND client = ?2 ORDER BY first",
    )?;
    let sets = sets.query_map(params![member, client, since.as_millis()], |row| row.get(0))?;
    let sets: Vec<i64> = sets.collect::<Result<_, _>>()?;
    let mut every = connection.prepare_cached("SELECT lots, raised FROM journal_lots WHERE first = ?1")?;
    let mut raising = connection
        .prepare_cached("SELECT lots, raised FROM journal_lots WHERE first = ?1 AND raised IS NOT NULL")?;
    let mut entry = connection.prepare_cached("SELECT key, before FROM journal_entry WHERE id = ?1")?;
    let mut found: HashMap<&'k str, LotHistory> = HashMap::new();
    for first in sets {
        let of_set = if missing > 0 { &mut every } else { &mut raising };
        let of_set = of_set.query_row([first], |row| {
            let prefixes = row.get_ref(0)?.as_str()?.as_bytes().as_chunks().0;
            let raised = row.get_ref(1)?.as_str_or_null()?.unwrap_or_default();
            let raised = raised.split(' ').map(|by| by.parse().unwrap_or(0)).chain(std::iter::repeat(0));
            let changes = (first..).zip(prefixes).zip(raised).map(|((id, prefix), by)| (id, *prefix, by));
            let is_relevant = |(_, prefix, by): &(i64, KeyPrefix, i64)| {
                let candidates = wanted.get(prefix);
                candidates.is_some_and(|keys| *by > 0 || keys.iter().any(|key| !found.contains_key(key)))
            };
            Ok(changes.filter(is_relevant).collect::<Vec<_>>())
        });
        for (id, prefix, by) in of_set.optional()?.unwrap_or_default() {
            let changed: Option<(String, Option<String>)> =
                entry.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((key, before)) = changed else { continue };
            let mut candidates = wanted.get(&prefix).into_iter().flatten();
            let Some(key) = candidates.find(|candidate| **candidate == key) else { continue };
            let history = found.entry(key).or_insert_with(|| {
                missing = missing.saturating_sub(1);
                LotHistory { before, raised: 0 }
            });
            history.raised = history.raised.saturating_add(by);
        }
    }
    Ok(found)
}

/// Returns the id of the last entry, or 0 if the journal is empty.
pub(super) fn last_id(connection: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(id), 0) FROM journal_entry";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Loads the JSON of an entry before and after a journaled change.
pub(super) fn load_change(
    connection: &Connection,
    id: i64,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let sql = "SELECT before, after, head, tail FROM journal_entry WHERE id = ?1";
    let mut one = connection.prepare_cached(sql)?;
    let (before, after, head, tail): (Option<String>, Option<String>, u32, u32) =
        one.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let [head, tail] = [head, tail].map(|shared| usize::try_from(shared).unwrap_or(usize::MAX));
    let after = after.map(|after| decode_delta(before.as_deref().unwrap_or_default(), head, &after, tail));
    Ok((before, after.transpose()?))
}

/// A reusable buffer for serializing entries.
#[derive(Default)]
struct EntryBuffer(Vec<u8>);

impl EntryBuffer {
    fn serialize_entry<E: Serialize>(&mut self, entry: Option<&E>) -> Result<Option<&str>, StoreError> {
        let Some(entry) = entry else { return Ok(None) };
        self.0.clear();
        let written = serde_json::to_writer(&mut self.0, entry).ok();
        let text = written.and_then(|()| std::str::from_utf8(&self.0).ok());
        text.map(Some).ok_or(StoreError::Corrupt("an entry cannot be serialized"))
    }
}

/// Encodes `after` as a difference from `before`: the length of the shared prefix, the middle part, and the
/// length of the shared suffix. Lengths are in characters. Non-ASCII strings are stored in full, because
/// their lengths in bytes and in characters differ.
fn encode_delta<'a>(before: Option<&str>, after: Option<&'a str>) -> (i64, Option<&'a str>, i64) {
    let (Some(was), Some(is)) = (before, after) else { return (0, after, 0) };
    if !was.is_ascii() || !is.is_ascii() {
        return (0, after, 0);
    }
    let shared = |(one, other): &(u8, u8)| one == other;
    let head = was.bytes().zip(is.bytes()).take_while(shared).count();
    let room = was.len().min(is.len()) - head;
    let tail = was.bytes().rev().zip(is.bytes().rev()).take(room).take_while(shared).count();
    (sql_limit(head), is.get(head..is.len() - tail), sql_limit(tail))
}

/// Decodes a difference that [`encode_delta`] returned.
fn decode_delta(before: &str, head: usize, after: &str, tail: usize) -> Result<String, StoreError> {
    let ends = before.get(..head).zip(before.len().checked_sub(tail).and_then(|from| before.get(from..)));
    let (head, tail) = ends.ok_or(StoreError::Corrupt("invalid difference of a journalled entry"))?;
    Ok([head, after, tail].concat())
}

/// Writes an audit entry for an action of the author of a write.
pub(super) fn write_audit(
    connection: &Connection,
    writer: &WriteContext,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let client = writer.author.client_installation().map(|(client, _)| client);
    let entry = AuditEntry { client, action, subject, detail };
    records::record_audit(connection, writer.now, writer.actor.as_actor(), entry)
}

/// Deletes up to `limit` entries that are older than `before`, oldest first. Returns the number of deleted
/// entries.
///
/// Entries are deleted in the order of their ids. The remaining journal is therefore complete from a certain
/// moment, the journal floor. The same transaction updates the floor. If the system clock was set back, an
/// entry with a later time can precede entries with earlier times, and then blocks their deletion.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_entries(
    connection: &Connection,
    before: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let mut first = connection.prepare_cached(
        "SELECT e.id, s.at FROM journal_entry e CROSS JOIN journal_set s \
         ON s.first = (SELECT max(first) FROM journal_set WHERE first <= e.id) ORDER BY e.id LIMIT ?1",
    )?;
    let first: Vec<(i64, i64)> = first
        .query_map([sql_limit(limit)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let old = first.iter().take_while(|(_, at)| *at < before.as_millis());
    let (Some((last, _)), Some(at)) = (old.clone().last(), old.clone().map(|(_, at)| *at).max()) else {
        return Ok(0);
    };
    let removed = connection.prepare_cached("DELETE FROM journal_entry WHERE id <= ?1")?.execute([last])?;
    for sql in [
        "DELETE FROM journal_lots WHERE first IN (SELECT first FROM journal_set WHERE last <= ?1 AND first <= ?1)",
        "DELETE FROM journal_set WHERE last <= ?1 AND first <= ?1",
    ] {
        connection.prepare_cached(sql)?.execute([last])?;
    }
    let floor = journal_floor(connection)?.map_or(at, |floor| floor.as_millis().max(at));
    connection
        .prepare_cached(
            "INSERT INTO setting (name, value) VALUES ('journal-floor', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute([floor.to_string()])?;
    Ok(removed)
}

/// Returns the moment up to which entries may have been deleted; `None` if the journal is complete.
pub(super) fn journal_floor(connection: &Connection) -> Result<Option<Moment>, StoreError> {
    let found = read_setting(connection, "journal-floor")?;
    let corrupt = |_| StoreError::Corrupt("invalid journal floor");
    found.map(|text| text.parse().map(Moment::from_millis).map_err(corrupt)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::ChangeAuthor;
    use crate::ids::InstallationId;
    use crate::records::OwnedActor;
    use crate::store::{Store, StoreLocation, StoreOptions};

    impl JournalEntry for i64 {
        fn lot_amount(&self) -> i64 {
            *self
        }
    }

    /// STK-22: the state before the client's first change of each lot within the window and the amounts by which
    /// the client raised the lot are found, even if keys have the same prefix. Pruning the journal also deletes
    /// the prefixes.
    #[tokio::test]
    async fn lot_histories_are_found() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let looked = store.write(|connection| {
            let (member, client) = (MemberId::from("m"), ClientId::from("c"));
            let set = |by: &str, time: i64, lots: &[(&str, i64)]| {
                let author =
                    ChangeAuthor::Client { client: by.into(), installation: InstallationId::from("i") };
                let (by, now) = (OwnedActor::Member(member.clone()), Moment::from_millis(time));
                let change_set = format!("s-{time}");
                let writer = WriteContext {
                    member: member.clone(),
                    author,
                    actor: by,
                    now,
                    change_set,
                    guarded_since: None,
                };
                let one = |(key, before): &(&str, i64)| EntryDelta {
                    key: (*key).to_owned(),
                    before: Some(*before),
                    after: Some(before + 1),
                    removal: false,
                    overridden: false,
                };
                let touched: Vec<_> = lots.iter().map(one).collect();
                record_changes(connection, &writer, STOCK, &touched, &HashMap::new())
            };
            set("c", 10, &[("alike-1", 1)])?;
            set("d", 11, &[("alike-1", 2)])?;
            set("c", 12, &[("b", 3), ("alike-2", 4)])?;
            set("c", 13, &[("alike-1", 5), ("b", 6)])?;
            let histories = |since: i64| {
                let since = Moment::from_millis(since);
                load_lot_histories(connection, &member, &client, since, ["alike-1", "alike-2", "b", "x"])
            };
            // Each change raises a lot by 1.
            let history = |before: &str, raised: i64| LotHistory { before: Some(before.to_owned()), raised };
            let expected =
                [("alike-1", history("5", 1)), ("alike-2", history("4", 1)), ("b", history("3", 2))];
            assert_eq!(histories(10)?, HashMap::from(expected));
            assert_eq!(histories(9)?["alike-1"], history("1", 2));
            assert_eq!(histories(13)?, HashMap::new());
            prune_entries(connection, Moment::from_millis(13), 100)?;
            assert_eq!(histories(9)?, HashMap::from([("alike-1", history("5", 1)), ("b", history("6", 1))]));
            let query = "SELECT count(*) FROM journal_lots";
            Ok::<i64, StoreError>(connection.query_row(query, [], |row| row.get(0))?)
        });
        assert_eq!(looked.await.unwrap(), 1);
    }

    /// Decoding the stored difference restores the second entry from the first.
    #[test]
    fn omitted_fields_are_restored() {
        for (before, after, middle_part) in [
            (r#"{"held":1,"note":"n"}"#, r#"{"held":25,"note":"n"}"#, "25"),
            ("aaa", "aaaaa", "aa"),
            ("aaaaa", "aaa", ""),
            ("abab", "abab", ""),
            ("", "x", "x"),
            ("x", "", ""),
            ("xä", "xä", "xä"),
            ("x", "xä", "xä"),
        ] {
            let (head, middle, tail) = encode_delta(Some(before), Some(after));
            let (head, tail) = (usize::try_from(head).unwrap(), usize::try_from(tail).unwrap());
            assert_eq!(middle, Some(middle_part), "{before} {after}");
            assert_eq!(decode_delta(before, head, middle_part, tail).unwrap(), after, "{before} {after}");
        }
        assert_eq!(encode_delta(None, Some("x")), (0, Some("x"), 0));
        assert_eq!(encode_delta(Some("x"), None), (0, None, 0));
        assert!(decode_delta("ab", 3, "", 0).is_err() && decode_delta("ab", 0, "", 3).is_err());
    }
}
