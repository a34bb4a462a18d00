//! The journal of what changed, and the audit of who did what.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::change::{Touched, Writer};
use super::warehouse::STOCK;
use crate::ids::{ClientId, MemberId};
use crate::records::{self, Deed};
use crate::store::{StoreError, limit, setting};
use crate::time::Moment;

/// Writes down what became of each entry; of what is set back, from which entry of the journal on its key is again as
/// it was before, so that nobody undoes it twice.
pub(super) fn record<E: Serialize>(
    connection: &Connection,
    writer: &Writer,
    area: &str,
    touched: &[Touched<E>],
    undoes: &HashMap<String, i64>,
) -> Result<(), StoreError> {
    if touched.is_empty() {
        return Ok(());
    }
    let (client, installation) = writer.author.connected().unzip();
    let mut insert = connection.prepare_cached(
        "INSERT INTO journal_entry (id, key, removal, override, undoes, before, after, head, tail) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let first = last(connection)? + 1;
    let mut id = first;
    let (mut before, mut after) = (Text::default(), Text::default());
    for touched in touched {
        let before = before.of(touched.before.as_ref())?;
        let (head, after, tail) = apart(before, after.of(touched.after.as_ref())?);
        let Touched { key, removal, overridden, .. } = touched;
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
        writer.now.millis(),
        writer.member,
        area,
        writer.change_set,
        writer.author.channel(),
        client,
        installation,
        limit(removals),
    ])?;
    if client.is_some() && area == STOCK {
        // STK-22: the guard asks for a client's first change of a lot.
        let lots: Vec<u8> = touched.iter().flat_map(|touched| beginning(&touched.key)).collect();
        let lots = std::str::from_utf8(&lots).map_err(|_| StoreError::Corrupt("a lot's key"))?;
        let mut put = connection.prepare_cached("INSERT INTO journal_lots (first, lots) VALUES (?1, ?2)")?;
        put.execute(params![first, lots])?;
    }
    Ok(())
}

/// What tells a lot's key from most others: hardly any two lots of a member share it.
type Beginning = [u8; 6];

fn beginning(key: &str) -> Beginning {
    let mut beginning = [b' '; 6];
    beginning.iter_mut().zip(key.bytes()).for_each(|(to, byte)| *to = byte);
    beginning
}

/// What each of these lots was before its first change by a client within a window; lots that it did not change there
/// are left out. Of each set within the window as much is read as says which lots it was about, and no set behind the
/// one in which the last of them is found: however long the journal is, that is a window's writes at most (LIM-19).
pub(super) fn before_first_changes<'k>(
    connection: &Connection,
    member: &MemberId,
    client: &ClientId,
    since: Moment,
    lots: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<&'k str, Option<String>>, StoreError> {
    let mut left: HashMap<Beginning, Vec<&'k str>> = HashMap::new();
    for key in lots {
        left.entry(beginning(key)).or_default().push(key);
    }
    let mut sets = connection.prepare_cached(
        "SELECT first FROM journal_set INDEXED BY journal_set_of_member \
         WHERE member = ?1 AND area = 'stock' AND at > ?3 AND client = ?2 ORDER BY first",
    )?;
    let sets = sets.query_map(params![member, client, since.millis()], |row| row.get(0))?;
    let sets: Vec<i64> = sets.collect::<Result<_, _>>()?;
    let mut lots = connection.prepare_cached("SELECT lots FROM journal_lots WHERE first = ?1")?;
    let mut entry = connection.prepare_cached("SELECT key, before FROM journal_entry WHERE id = ?1")?;
    let mut found = HashMap::new();
    for first in sets {
        if left.is_empty() {
            break;
        }
        let of_set = lots.query_row([first], |row| {
            let beginnings = row.get_ref(0)?.as_str()?.as_bytes().as_chunks().0;
            let known = |(_, one): &(i64, &Beginning)| left.contains_key(*one);
            Ok((first..).zip(beginnings).filter(known).map(|(id, one)| (id, *one)).collect::<Vec<_>>())
        });
        for (id, one) in of_set.optional()?.unwrap_or_default() {
            let changed: Option<(String, Option<String>)> =
                entry.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((key, before)) = changed else { continue };
            let Some(alike) = left.get_mut(&one) else { continue };
            let Some(place) = alike.iter().position(|own| *own == key) else { continue };
            found.insert(alike.swap_remove(place), before);
            if alike.is_empty() {
                left.remove(&one);
            }
        }
    }
    Ok(found)
}

/// The number of the last entry; 0 when there is none.
pub(super) fn last(connection: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(id), 0) FROM journal_entry";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// What an entry was and became, by the entry's number in the journal.
pub(super) fn change(
    connection: &Connection,
    id: i64,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let sql = "SELECT before, after, head, tail FROM journal_entry WHERE id = ?1";
    let mut one = connection.prepare_cached(sql)?;
    let (before, after, head, tail): (Option<String>, Option<String>, u32, u32) =
        one.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let [head, tail] = [head, tail].map(|shared| usize::try_from(shared).unwrap_or(usize::MAX));
    let after = after.map(|after| whole(before.as_deref().unwrap_or_default(), head, &after, tail));
    Ok((before, after.transpose()?))
}

/// A buffer for entries, one after the other.
#[derive(Default)]
struct Text(Vec<u8>);

impl Text {
    fn of<E: Serialize>(&mut self, entry: Option<&E>) -> Result<Option<&str>, StoreError> {
        let Some(entry) = entry else { return Ok(None) };
        self.0.clear();
        let written = serde_json::to_writer(&mut self.0, entry).ok();
        let text = written.and_then(|()| std::str::from_utf8(&self.0).ok());
        text.map(Some).ok_or(StoreError::Corrupt("an entry that cannot be written"))
    }
}

/// What an entry became without what it shares with what it was, and how many characters that are at both ends. Bytes
/// are characters there: of text that is not of ASCII nothing is left out.
fn apart<'a>(before: Option<&str>, after: Option<&'a str>) -> (i64, Option<&'a str>, i64) {
    let (Some(was), Some(is)) = (before, after) else { return (0, after, 0) };
    if !was.is_ascii() || !is.is_ascii() {
        return (0, after, 0);
    }
    let shared = |(one, other): &(u8, u8)| one == other;
    let head = was.bytes().zip(is.bytes()).take_while(shared).count();
    let room = was.len().min(is.len()) - head;
    let tail = was.bytes().rev().zip(is.bytes().rev()).take(room).take_while(shared).count();
    (limit(head), is.get(head..is.len() - tail), limit(tail))
}

/// The reverse of [`apart`].
fn whole(before: &str, head: usize, after: &str, tail: usize) -> Result<String, StoreError> {
    let ends = before.get(..head).zip(before.len().checked_sub(tail).and_then(|from| before.get(from..)));
    let (head, tail) = ends.ok_or(StoreError::Corrupt("a journalled entry of no parts"))?;
    Ok([head, after, tail].concat())
}

/// Writes down who did what, through which client.
pub(super) fn audit(
    connection: &Connection,
    writer: &Writer,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let client = writer.author.connected().map(|(client, _)| client);
    let deed = Deed { client, action, subject, detail };
    records::audit(connection, writer.now, writer.by.actor(), deed)
}

/// Removes at most so many entries that are older than a moment, from the oldest on; says how many.
///
/// They go in the order in which they came, so that what is left is whole from some moment on: the floor, which
/// rises in the same transaction. An entry that is not old holds up those behind it, whose time was told by a
/// clock that had stepped back.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, before: Moment, most: usize) -> Result<usize, StoreError> {
    let mut first = connection.prepare_cached(
        "SELECT e.id, s.at FROM journal_entry e CROSS JOIN journal_set s \
         ON s.first = (SELECT max(first) FROM journal_set WHERE first <= e.id) ORDER BY e.id LIMIT ?1",
    )?;
    let first: Vec<(i64, i64)> =
        first.query_map([limit(most)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let old = first.iter().take_while(|(_, at)| *at < before.millis());
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
    let floor = floor(connection)?.map_or(at, |floor| floor.millis().max(at));
    connection
        .prepare_cached(
            "INSERT INTO setting (name, value) VALUES ('journal-floor', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute([floor.to_string()])?;
    Ok(removed)
}

/// The moment up to which entries may be gone; none as long as all are there.
pub(super) fn floor(connection: &Connection) -> Result<Option<Moment>, StoreError> {
    let found = setting(connection, "journal-floor")?;
    let corrupt = |_| StoreError::Corrupt("a floor of the journal that is no time");
    found.map(|text| text.parse().map(Moment::from_millis).map_err(corrupt)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Author;
    use crate::ids::InstallationId;
    use crate::records::Doer;
    use crate::store::{Options, Place, Store};

    /// STK-22: of each lot the first change by the client within the window, though keys may begin alike; what goes
    /// with the journal's oldest sets is all that is kept of them.
    #[tokio::test]
    async fn first_changes_are_found() {
        let store = Store::open(&Options::new(Place::Memory)).unwrap();
        let looked = store.write(|connection| {
            let (member, client) = (MemberId::from("m"), ClientId::from("c"));
            let set = |by: &str, at: i64, lots: &[(&str, i64)]| {
                let author = Author::Client { client: by.into(), installation: InstallationId::from("i") };
                let (by, now) = (Doer::Member(member.clone()), Moment::from_millis(at));
                let change_set = format!("s-{at}");
                let writer =
                    Writer { member: member.clone(), author, by, now, change_set, guarded_since: None };
                let one = |(key, before): &(&str, i64)| Touched {
                    key: (*key).to_owned(),
                    before: Some(*before),
                    after: Some(before + 1),
                    removal: false,
                    overridden: false,
                };
                let touched: Vec<_> = lots.iter().map(one).collect();
                record(connection, &writer, STOCK, &touched, &HashMap::new())
            };
            set("c", 10, &[("alike-1", 1)])?;
            set("d", 11, &[("alike-1", 2)])?;
            set("c", 12, &[("b", 3), ("alike-2", 4)])?;
            set("c", 13, &[("alike-1", 5), ("b", 6)])?;
            let first = |since: i64| {
                let since = Moment::from_millis(since);
                before_first_changes(connection, &member, &client, since, ["alike-1", "alike-2", "b", "x"])
            };
            let text = |before: &str| Some(before.to_owned());
            let expected = [("alike-1", text("5")), ("alike-2", text("4")), ("b", text("3"))];
            assert_eq!(first(10)?, HashMap::from(expected));
            assert_eq!(first(9)?["alike-1"], text("1"));
            assert_eq!(first(13)?, HashMap::new());
            prune(connection, Moment::from_millis(13), 100)?;
            assert_eq!(first(9)?, HashMap::from([("alike-1", text("5")), ("b", text("6"))]));
            let kept = "SELECT count(*) FROM journal_lots";
            Ok::<i64, StoreError>(connection.query_row(kept, [], |row| row.get(0))?)
        });
        assert_eq!(looked.await.unwrap(), 1);
    }

    /// Whatever two entries share, the second is had from the first and what is kept of it.
    #[test]
    fn what_is_left_out_is_put_back() {
        for (before, after, kept) in [
            (r#"{"held":1,"note":"n"}"#, r#"{"held":25,"note":"n"}"#, "25"),
            ("aaa", "aaaaa", "aa"),
            ("aaaaa", "aaa", ""),
            ("abab", "abab", ""),
            ("", "x", "x"),
            ("x", "", ""),
            ("xä", "xä", "xä"),
            ("x", "xä", "xä"),
        ] {
            let (head, middle, tail) = apart(Some(before), Some(after));
            let (head, tail) = (usize::try_from(head).unwrap(), usize::try_from(tail).unwrap());
            assert_eq!(middle, Some(kept), "{before} {after}");
            assert_eq!(whole(before, head, kept, tail).unwrap(), after, "{before} {after}");
        }
        assert_eq!(apart(None, Some("x")), (0, Some("x"), 0));
        assert_eq!(apart(Some("x"), None), (0, None, 0));
        assert!(whole("ab", 3, "", 0).is_err() && whole("ab", 0, "", 3).is_err());
    }
}
