//! The statements.

use std::collections::BTreeSet;

use exchange_client::{
    Area, UnixTime,
    api::{Contract, Json, types::InstallationId},
    feed::{Kept, Position, Reader},
    replica::{CURSOR_FOR, Commit, Document, ORGANISATION_FOR, Outcome, OwnerNote, Removal, Row, Tally},
};
use rusqlite::{Connection, OptionalExtension, Result, Transaction, named_params, params};

use crate::database::{REMNANTS_FOR, leave};

/// What looks for remnants does so at least this often, in milliseconds.
const LOOK: i64 = 3_600_000;

/// A table of rows.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Entry,
    Agreed,
}

/// As files have it: never another number for the same area.
const fn number(area: Area) -> i64 {
    match area {
        Area::Blueprints => 1,
        Area::Stock => 2,
        Area::Ships => 3,
        Area::OrgStock => 4,
        _ => 0,
    }
}

/// A text of the exchange as it came, whatever rules it breaks.
fn opaque<T: Contract>(text: String) -> Result<T> {
    T::parse(Json::String(text).to_string().as_bytes())
        .map_err(|_| rusqlite::Error::InvalidColumnName("text".to_owned()))
}

pub(super) fn millis(time: UnixTime) -> i64 {
    i64::try_from(time.since_epoch().as_millis()).unwrap_or(i64::MAX)
}

fn time(millis: i64) -> UnixTime {
    UnixTime::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(super) fn kept(connection: &Connection, area: Area) -> Result<Kept> {
    let mut read = connection.prepare_cached(
        "SELECT sequence, generation, position, cursor, installation, version, details, as_of, read_at, since
         FROM area WHERE area = ?1",
    )?;
    let kept = read.query_row([number(area)], |row| {
        let cursor = row.get::<_, Option<String>>("cursor")?.map(opaque).transpose()?;
        let mut reader = Reader::default();
        reader.installation = row.get::<_, Option<String>>("installation")?.map(opaque).transpose()?;
        reader.version = row.get::<_, Option<Box<str>>>("version")?;
        reader.details = row.get("details")?;
        let mut kept = Kept::default();
        kept.sequence = row.get::<_, i64>("sequence")?.cast_unsigned();
        kept.generation = row.get::<_, i64>("generation")?.cast_unsigned();
        kept.position = match (row.get("position")?, cursor) {
            (1, Some(cursor)) => Position::Snapshot(cursor),
            (2, Some(cursor)) => Position::Feed(cursor),
            _ => Position::Start,
        };
        kept.reader = reader;
        kept.as_of = row.get::<_, Option<i64>>("as_of")?.map(time);
        kept.read_at = row.get::<_, Option<i64>>("read_at")?.map(time);
        kept.since = row.get::<_, Option<i64>>("since")?.map(time);
        Ok(kept)
    });
    Ok(kept.optional()?.unwrap_or_default())
}

fn keep(transaction: &Transaction<'_>, area: Area, kept: &Kept) -> Result<()> {
    let position = match kept.position {
        Position::Start => 0,
        Position::Snapshot(_) => 1,
        Position::Feed(_) => 2,
    };
    let mut write = transaction.prepare_cached(
        "INSERT OR REPLACE INTO area
         (area, sequence, generation, position, cursor, installation, version, details, as_of, read_at, since)
         VALUES (:area, :sequence, :generation, :position, :cursor, :installation, :version, :details, :as_of,
                 :read_at, :since)",
    )?;
    write.execute(named_params! {
        ":area": number(area),
        ":sequence": kept.sequence.cast_signed(),
        ":generation": kept.generation.cast_signed(),
        ":position": position,
        ":cursor": kept.position.cursor().map(|cursor| cursor.as_str()),
        ":installation": kept.reader.installation.as_ref().map(|id| id.as_str()),
        ":version": kept.reader.version,
        ":details": kept.reader.details,
        ":as_of": kept.as_of.map(millis),
        ":read_at": kept.read_at.map(millis),
        ":since": kept.since.map(millis),
    })?;
    Ok(())
}

pub(super) fn commit(transaction: &Transaction<'_>, commit: &Commit) -> Result<Outcome> {
    let before = kept(transaction, commit.area)?;
    if before.sequence != commit.expects {
        return Ok(Outcome::Superseded(before));
    }
    let (area, generation) = (number(commit.area), commit.kept.generation.cast_signed());
    let (mut gone, mut stripped) = (BTreeSet::new(), Vec::new());
    if commit.clear {
        gone.extend(keys(transaction, "DELETE FROM entry WHERE area = ?1 RETURNING key", params![area])?);
        transaction.execute("DELETE FROM removal WHERE area = ?1", [area])?;
        transaction.execute("DELETE FROM agreed WHERE area = ?1", [area])?;
    }
    if commit.strip {
        let strip = "UPDATE entry SET details = NULL WHERE area = ?1 AND details IS NOT NULL RETURNING key";
        stripped = keys(transaction, strip, params![area])?;
        stripped.sort_unstable();
    }
    upsert(transaction, commit)?;
    for row in &commit.upserts {
        gone.remove(&row.key);
    }
    remove(transaction, commit)?;
    if let Some(units) = &commit.units {
        let there = "SELECT DISTINCT unit FROM entry WHERE area = ?1 AND unit IS NOT NULL";
        for unit in keys(transaction, there, params![area])?.iter().filter(|unit| !units.contains(unit)) {
            let left = "DELETE FROM entry WHERE area = ?1 AND unit = ?2 RETURNING key";
            gone.extend(keys(transaction, left, params![area, unit])?);
        }
    }
    if commit.sweep {
        let unseen = "DELETE FROM entry WHERE area = ?1 AND generation < ?2 RETURNING key";
        gone.extend(keys(transaction, unseen, params![area, generation])?);
    }
    keep(transaction, commit.area, &commit.kept)?;
    if commit.area.is_of_organisation() {
        // What the member may not see any more goes at once; every page moves rows about.
        if !gone.is_empty() || !stripped.is_empty() {
            leave(transaction, 0)?;
        } else if !commit.upserts.is_empty() || !commit.removals.is_empty() {
            leave_behind(transaction, before.since, commit.kept.read_at.unwrap_or_default())?;
        }
    }
    Ok(Outcome::Done(Tally::new(gone.into_iter().collect(), stripped)))
}

/// Notes that what was read then was replaced now. It may lie in the file for a day, and for less where it would be seven
/// days old before that is over (OST-14, LIM-38).
fn leave_behind(transaction: &Transaction<'_>, read: Option<UnixTime>, now: UnixTime) -> Result<()> {
    let last = read.map_or(i64::MAX, |read| millis(read + ORGANISATION_FOR) - REMNANTS_FOR - LOOK);
    leave(transaction, millis(now).min(last))
}

fn upsert(transaction: &Transaction<'_>, commit: &Commit) -> Result<()> {
    let (area, generation) = (number(commit.area), commit.kept.generation.cast_signed());
    let mut put = transaction.prepare_cached(
        "INSERT INTO entry (area, key, generation, unit, body, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (area, key) DO UPDATE SET generation = excluded.generation, unit = excluded.unit,
                                               body = excluded.body, details = excluded.details",
    )?;
    for row in &commit.upserts {
        put.execute(params![area, row.key, generation, row.unit, row.body, row.details])?;
    }
    let known = "SELECT EXISTS (SELECT 1 FROM removal WHERE area = ?1)";
    if transaction.prepare_cached(known)?.query_row([area], |row| row.get(0))? {
        let mut back = transaction.prepare_cached("DELETE FROM removal WHERE area = ?1 AND key = ?2")?;
        for row in &commit.upserts {
            back.execute(params![area, row.key])?;
        }
    }
    Ok(())
}

fn remove(transaction: &Transaction<'_>, commit: &Commit) -> Result<()> {
    let (area, now) = (number(commit.area), commit.kept.read_at.unwrap_or_default());
    let mut remove = transaction.prepare_cached("DELETE FROM entry WHERE area = ?1 AND key = ?2")?;
    let mut note = transaction
        .prepare_cached("INSERT OR REPLACE INTO removal (area, key, own, at) VALUES (?1, ?2, ?3, ?4)")?;
    for removal in &commit.removals {
        remove.execute(params![area, removal.key])?;
        note.execute(params![area, removal.key, removal.own, millis(now)])?;
    }
    let old = now.saturating_sub(CURSOR_FOR);
    let mut forget = transaction.prepare_cached("DELETE FROM removal WHERE area = ?1 AND at <= ?2")?;
    forget.execute(params![area, millis(old)])?;
    Ok(())
}

fn keys(
    transaction: &Transaction<'_>,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Box<str>>> {
    transaction.prepare_cached(statement)?.query_map(values, |row| row.get(0))?.collect()
}

fn row(row: &rusqlite::Row<'_>) -> Result<Row> {
    let body = row.get::<_, Vec<u8>>("body")?.into();
    let details = row.get::<_, Option<Vec<u8>>>("details")?.map(Into::into);
    Ok(Row { key: row.get("key")?, unit: row.get("unit")?, body, details })
}

pub(super) fn entry(connection: &Connection, table: Table, area: Area, key: &str) -> Result<Option<Row>> {
    let read = match table {
        Table::Entry => "SELECT key, unit, body, details FROM entry WHERE area = ?1 AND key = ?2",
        Table::Agreed => "SELECT key, unit, body, details FROM agreed WHERE area = ?1 AND key = ?2",
    };
    connection.prepare_cached(read)?.query_row(params![number(area), key], row).optional()
}

pub(super) fn entries(
    connection: &Connection,
    area: Area,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<Row>> {
    let mut read = connection.prepare_cached(
        "SELECT key, unit, body, details FROM entry WHERE area = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    // No key is empty.
    read.query_map(params![number(area), after.unwrap_or_default(), most], row)?.collect()
}

pub(super) fn count(connection: &Connection, area: Area) -> Result<u64> {
    let mut read = connection.prepare_cached("SELECT count(*) FROM entry WHERE area = ?1")?;
    read.query_row([number(area)], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

pub(super) fn removal(connection: &Connection, area: Area, key: &str) -> Result<Option<Removal>> {
    let mut read = connection.prepare_cached("SELECT own FROM removal WHERE area = ?1 AND key = ?2")?;
    let own = read.query_row(params![number(area), key], |row| row.get(0)).optional()?;
    Ok(own.map(|own| Removal { key: key.into(), own }))
}

pub(super) fn agree(transaction: &Transaction<'_>, area: Area, entries: &[Row], gone: &[&str]) -> Result<()> {
    let mut drop = transaction.prepare_cached("DELETE FROM agreed WHERE area = ?1 AND key = ?2")?;
    for key in gone {
        drop.execute(params![number(area), key])?;
    }
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO agreed (area, key, unit, body, details) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in entries {
        put.execute(params![number(area), row.key, row.unit, row.body, row.details])?;
    }
    Ok(())
}

pub(super) fn demand(connection: &Connection) -> Result<Option<Document>> {
    let mut read = connection.prepare_cached("SELECT at, body FROM demand")?;
    let document = read.query_row([], |row| {
        Ok(Document { at: time(row.get("at")?), body: row.get::<_, Vec<u8>>("body")?.into() })
    });
    document.optional()
}

pub(super) fn keep_demand(
    transaction: &Transaction<'_>,
    demand: &Document,
    of: &InstallationId,
) -> Result<bool> {
    if kept(transaction, Area::OrgStock)?.reader.installation.as_ref() != Some(of) {
        return Ok(false);
    }
    let read = "SELECT at FROM demand";
    let before = transaction.query_row(read, [], |row| row.get(0)).optional()?.map(time);
    let put = "INSERT OR REPLACE INTO demand (one, at, body) VALUES (1, ?1, ?2)";
    transaction.execute(put, params![millis(demand.at), demand.body])?;
    leave_behind(transaction, before, demand.at)?;
    Ok(true)
}

pub(super) fn demand_asked_at(connection: &Connection) -> Result<Option<UnixTime>> {
    let mut read = connection.prepare_cached("SELECT at FROM demand_asked")?;
    Ok(read.query_row([], |row| row.get(0)).optional()?.map(time))
}

pub(super) fn note_demand_asked(transaction: &Transaction<'_>, at: UnixTime) -> Result<()> {
    let put = "INSERT OR REPLACE INTO demand_asked (one, at) VALUES (1, ?1)";
    transaction.execute(put, [millis(at)]).map(drop)
}

pub(super) fn forget_demand(transaction: &Transaction<'_>) -> Result<u64> {
    transaction.execute("DELETE FROM demand_asked", [])?;
    leave(transaction, 0)?;
    Ok(transaction.execute("DELETE FROM demand", [])? as u64)
}

pub(super) fn forget(transaction: &Transaction<'_>, area: Area, owner: OwnerNote) -> Result<u64> {
    let entries = transaction.execute("DELETE FROM entry WHERE area = ?1", [number(area)])?;
    transaction.execute("DELETE FROM removal WHERE area = ?1", [number(area)])?;
    transaction.execute("DELETE FROM agreed WHERE area = ?1", [number(area)])?;
    let before = kept(transaction, area)?;
    keep(transaction, area, &before.forgotten(owner))?;
    leave(transaction, 0)?;
    Ok(entries as u64)
}
