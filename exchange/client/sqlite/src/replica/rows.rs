//! The SQL statements of the replica.

use std::collections::BTreeSet;

use exchange_client::{
    Area, UnixTime,
    api::{Contract, Json, types::InstallationId},
    feed::{AreaState, FeedPosition, FeedReader},
    replica::{
        AreaCommit, CURSOR_LIFETIME, CommitOutcome, CommitTally, DemandDocument, MAX_ORGANISATION_AGE,
        OwnerNote, RemovalRecord, ReplicaRow,
    },
};
use rusqlite::{Connection, OptionalExtension, Result, Transaction, named_params, params};

use crate::database::{MAX_REMNANT_AGE, note_remnants};

/// The maximum interval in milliseconds between checks for remnants.
const CHECK_INTERVAL: i64 = 3_600_000;

#[derive(Clone, Copy)]
pub(super) enum RowTable {
    Entry,
    Agreed,
}

/// Returns the number that stands for an area in files. These numbers never change.
const fn area_number(area: Area) -> i64 {
    match area {
        Area::Blueprints => 1,
        Area::Stock => 2,
        Area::Ships => 3,
        Area::OrgStock => 4,
        _ => 0,
    }
}

/// Parses a stored string of the contract without validating it.
fn parse_unvalidated<T: Contract>(text: String) -> Result<T> {
    T::parse(Json::String(text).to_string().as_bytes())
        .map_err(|_| rusqlite::Error::InvalidColumnName("text".to_owned()))
}

pub(super) fn to_millis(time: UnixTime) -> i64 {
    i64::try_from(time.since_epoch().as_millis()).unwrap_or(i64::MAX)
}

fn from_millis(millis: i64) -> UnixTime {
    UnixTime::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(super) fn read_area_state(connection: &Connection, area: Area) -> Result<AreaState> {
    let mut read = connection.prepare_cached(
        "SELECT sequence, generation, position, cursor, installation, version, details, as_of, read_at, since
         FROM area WHERE area = ?1",
    )?;
    let area_state = read.query_row([area_number(area)], |row| {
        let cursor = row.get::<_, Option<String>>("cursor")?.map(parse_unvalidated).transpose()?;
        let mut reader = FeedReader::default();
        reader.installation =
            row.get::<_, Option<String>>("installation")?.map(parse_unvalidated).transpose()?;
        reader.version = row.get::<_, Option<Box<str>>>("version")?;
        reader.details = row.get("details")?;
        let mut area_state = AreaState::default();
        area_state.sequence = row.get::<_, i64>("sequence")?.cast_unsigned();
        area_state.generation = row.get::<_, i64>("generation")?.cast_unsigned();
        area_state.position = match (row.get("position")?, cursor) {
            (1, Some(cursor)) => FeedPosition::Snapshot(cursor),
            (2, Some(cursor)) => FeedPosition::Feed(cursor),
            _ => FeedPosition::Start,
        };
        area_state.reader = reader;
        area_state.as_of = row.get::<_, Option<i64>>("as_of")?.map(from_millis);
        area_state.read_at = row.get::<_, Option<i64>>("read_at")?.map(from_millis);
        area_state.since = row.get::<_, Option<i64>>("since")?.map(from_millis);
        Ok(area_state)
    });
    Ok(area_state.optional()?.unwrap_or_default())
}

fn write_area_state(transaction: &Transaction<'_>, area: Area, area_state: &AreaState) -> Result<()> {
    let position = match area_state.position {
        FeedPosition::Start => 0,
        FeedPosition::Snapshot(_) => 1,
        FeedPosition::Feed(_) => 2,
    };
    let mut write = transaction.prepare_cached(
        "INSERT OR REPLACE INTO area
         (area, sequence, generation, position, cursor, installation, version, details, as_of, read_at, since)
         VALUES (:area, :sequence, :generation, :position, :cursor, :installation, :version, :details, :as_of,
                 :read_at, :since)",
    )?;
    write.execute(named_params! {
        ":area": area_number(area),
        ":sequence": area_state.sequence.cast_signed(),
        ":generation": area_state.generation.cast_signed(),
        ":position": position,
        ":cursor": area_state.position.cursor().map(|cursor| cursor.as_str()),
        ":installation": area_state.reader.installation.as_ref().map(|id| id.as_str()),
        ":version": area_state.reader.version,
        ":details": area_state.reader.details,
        ":as_of": area_state.as_of.map(to_millis),
        ":read_at": area_state.read_at.map(to_millis),
        ":since": area_state.since.map(to_millis),
    })?;
    Ok(())
}

pub(super) fn apply_commit(transaction: &Transaction<'_>, commit: &AreaCommit) -> Result<CommitOutcome> {
    let before = read_area_state(transaction, commit.area)?;
    if before.sequence != commit.expected_sequence {
        return Ok(CommitOutcome::Superseded(before));
    }
    let (area, generation) = (area_number(commit.area), commit.area_state.generation.cast_signed());
    let (mut gone, mut stripped) = (BTreeSet::new(), Vec::new());
    if commit.clear {
        gone.extend(query_keys(
            transaction,
            "DELETE FROM entry WHERE area = ?1 RETURNING key",
            params![area],
        )?);
        transaction.execute("DELETE FROM removal WHERE area = ?1", [area])?;
        transaction.execute("DELETE FROM agreed WHERE area = ?1", [area])?;
    }
    if commit.strip {
        let strip = "UPDATE entry SET details = NULL WHERE area = ?1 AND details IS NOT NULL RETURNING key";
        stripped = query_keys(transaction, strip, params![area])?;
        stripped.sort_unstable();
    }
    upsert_rows(transaction, commit)?;
    for row in &commit.upserts {
        gone.remove(&row.key);
    }
    remove_rows(transaction, commit)?;
    if let Some(units) = &commit.units {
        let there = "SELECT DISTINCT unit FROM entry WHERE area = ?1 AND unit IS NOT NULL";
        for unit in query_keys(transaction, there, params![area])?.iter().filter(|unit| !units.contains(unit))
        {
            let left = "DELETE FROM entry WHERE area = ?1 AND unit = ?2 RETURNING key";
            gone.extend(query_keys(transaction, left, params![area, unit])?);
        }
    }
    if commit.sweep {
        let unseen = "DELETE FROM entry WHERE area = ?1 AND generation < ?2 RETURNING key";
        gone.extend(query_keys(transaction, unseen, params![area, generation])?);
    }
    write_area_state(transaction, commit.area, &commit.area_state)?;
    if commit.area.is_organization_data() {
        // Data that the member may no longer see is erased at once. For other data, each commit may leave
        // copies, because SQLite moves rows between pages of the file.
        if !gone.is_empty() || !stripped.is_empty() {
            note_remnants(transaction, 0)?;
        } else if !commit.upserts.is_empty() || !commit.removals.is_empty() {
            note_replaced(transaction, before.since, commit.area_state.read_at.unwrap_or_default())?;
        }
    }
    Ok(CommitOutcome::Done(CommitTally::new(gone.into_iter().collect(), stripped)))
}

/// Records that data that was read at `read` was replaced at `now`. Its remnants may stay for a day, or less
/// if they would become seven days old before that (OST-14, LIM-38).
fn note_replaced(transaction: &Transaction<'_>, read: Option<UnixTime>, now: UnixTime) -> Result<()> {
    let last = read
        .map_or(i64::MAX, |read| to_millis(read + MAX_ORGANISATION_AGE) - MAX_REMNANT_AGE - CHECK_INTERVAL);
    note_remnants(transaction, to_millis(now).min(last))
}

fn upsert_rows(transaction: &Transaction<'_>, commit: &AreaCommit) -> Result<()> {
    let (area, generation) = (area_number(commit.area), commit.area_state.generation.cast_signed());
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

fn remove_rows(transaction: &Transaction<'_>, commit: &AreaCommit) -> Result<()> {
    let (area, now) = (area_number(commit.area), commit.area_state.read_at.unwrap_or_default());
    let mut remove = transaction.prepare_cached("DELETE FROM entry WHERE area = ?1 AND key = ?2")?;
    let mut note = transaction
        .prepare_cached("INSERT OR REPLACE INTO removal (area, key, own, at) VALUES (?1, ?2, ?3, ?4)")?;
    for removal in &commit.removals {
        remove.execute(params![area, removal.key])?;
        note.execute(params![area, removal.key, removal.is_own, to_millis(now)])?;
    }
    let old = now.saturating_sub(CURSOR_LIFETIME);
    let mut forget = transaction.prepare_cached("DELETE FROM removal WHERE area = ?1 AND at <= ?2")?;
    forget.execute(params![area, to_millis(old)])?;
    Ok(())
}

fn query_keys(
    transaction: &Transaction<'_>,
    statement: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Box<str>>> {
    transaction.prepare_cached(statement)?.query_map(values, |row| row.get(0))?.collect()
}

fn parse_row(row: &rusqlite::Row<'_>) -> Result<ReplicaRow> {
    let body = row.get::<_, Vec<u8>>("body")?.into();
    let details = row.get::<_, Option<Vec<u8>>>("details")?.map(Into::into);
    Ok(ReplicaRow { key: row.get("key")?, unit: row.get("unit")?, body, details })
}

pub(super) fn read_entry(
    connection: &Connection,
    table: RowTable,
    area: Area,
    key: &str,
) -> Result<Option<ReplicaRow>> {
    let read = match table {
        RowTable::Entry => "SELECT key, unit, body, details FROM entry WHERE area = ?1 AND key = ?2",
        RowTable::Agreed => "SELECT key, unit, body, details FROM agreed WHERE area = ?1 AND key = ?2",
    };
    connection.prepare_cached(read)?.query_row(params![area_number(area), key], parse_row).optional()
}

pub(super) fn read_entries(
    connection: &Connection,
    area: Area,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<ReplicaRow>> {
    let mut read = connection.prepare_cached(
        "SELECT key, unit, body, details FROM entry WHERE area = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // Keys are never empty, so the empty string precedes all keys.
    read.query_map(params![area_number(area), after.unwrap_or_default(), limit], parse_row)?.collect()
}

pub(super) fn count_entries(connection: &Connection, area: Area) -> Result<u64> {
    let mut read = connection.prepare_cached("SELECT count(*) FROM entry WHERE area = ?1")?;
    read.query_row([area_number(area)], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

pub(super) fn read_removal(connection: &Connection, area: Area, key: &str) -> Result<Option<RemovalRecord>> {
    let mut read = connection.prepare_cached("SELECT own FROM removal WHERE area = ?1 AND key = ?2")?;
    let is_own = read.query_row(params![area_number(area), key], |row| row.get(0)).optional()?;
    Ok(is_own.map(|is_own| RemovalRecord { key: key.into(), is_own }))
}

pub(super) fn set_baseline(
    transaction: &Transaction<'_>,
    area: Area,
    entries: &[ReplicaRow],
    gone: &[&str],
) -> Result<()> {
    let mut drop = transaction.prepare_cached("DELETE FROM agreed WHERE area = ?1 AND key = ?2")?;
    for key in gone {
        drop.execute(params![area_number(area), key])?;
    }
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO agreed (area, key, unit, body, details) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in entries {
        put.execute(params![area_number(area), row.key, row.unit, row.body, row.details])?;
    }
    Ok(())
}

pub(super) fn read_demand(connection: &Connection) -> Result<Option<DemandDocument>> {
    let mut read = connection.prepare_cached("SELECT at, body FROM demand")?;
    let document = read.query_row([], |row| {
        Ok(DemandDocument { at: from_millis(row.get("at")?), body: row.get::<_, Vec<u8>>("body")?.into() })
    });
    document.optional()
}

pub(super) fn store_demand(
    transaction: &Transaction<'_>,
    demand: &DemandDocument,
    reader: &InstallationId,
) -> Result<bool> {
    if read_area_state(transaction, Area::OrgStock)?.reader.installation.as_ref() != Some(reader) {
        return Ok(false);
    }
    let read = "SELECT at FROM demand";
    let before = transaction.query_row(read, [], |row| row.get(0)).optional()?.map(from_millis);
    let put = "INSERT OR REPLACE INTO demand (one, at, body) VALUES (1, ?1, ?2)";
    transaction.execute(put, params![to_millis(demand.at), demand.body])?;
    note_replaced(transaction, before, demand.at)?;
    Ok(true)
}

pub(super) fn demand_requested_at(connection: &Connection) -> Result<Option<UnixTime>> {
    let mut read = connection.prepare_cached("SELECT at FROM demand_asked")?;
    Ok(read.query_row([], |row| row.get(0)).optional()?.map(from_millis))
}

pub(super) fn note_demand_request(transaction: &Transaction<'_>, at: UnixTime) -> Result<()> {
    let put = "INSERT OR REPLACE INTO demand_asked (one, at) VALUES (1, ?1)";
    transaction.execute(put, [to_millis(at)]).map(drop)
}

pub(super) fn forget_demand(transaction: &Transaction<'_>) -> Result<u64> {
    transaction.execute("DELETE FROM demand_asked", [])?;
    note_remnants(transaction, 0)?;
    Ok(transaction.execute("DELETE FROM demand", [])? as u64)
}

pub(super) fn forget_area(transaction: &Transaction<'_>, area: Area, owner: OwnerNote) -> Result<u64> {
    let entries = transaction.execute("DELETE FROM entry WHERE area = ?1", [area_number(area)])?;
    transaction.execute("DELETE FROM removal WHERE area = ?1", [area_number(area)])?;
    transaction.execute("DELETE FROM agreed WHERE area = ?1", [area_number(area)])?;
    let before = read_area_state(transaction, area)?;
    write_area_state(transaction, area, &before.after_forgetting(owner))?;
    note_remnants(transaction, 0)?;
    Ok(entries as u64)
}
