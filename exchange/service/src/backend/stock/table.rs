//! Loads the state of lots from the store, including the state that the mass-change guard needs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use exchange_api::reasons::Reason;
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::super::change::WriteContext;
use super::super::journal::{LotHistory, load_lot_histories};
use super::super::warehouse::{Lot, load_rows_by_lot};
use super::NAME;
use super::decide::{LotState, QuantityTarget, StockState};
use crate::feed::{self, FeedStream};
use crate::ids::MemberId;
use crate::store::{self, StoreError};

/// Loads the state of the lots to which ops refer.
pub(super) fn load_state(
    connection: &Connection,
    writer: &WriteContext,
    targets: &[Result<QuantityTarget, Reason>],
) -> Result<StockState, StoreError> {
    let mut state =
        StockState { is_marking_enabled: is_marking_enabled(connection)?, ..StockState::default() };
    let stream = FeedStream::of_member(NAME, &writer.member);
    let mut keys: BTreeMap<&Lot, String> = BTreeMap::new();
    for goal in targets.iter().flatten() {
        keys.entry(&goal.lot).or_insert_with(|| goal.lot.key());
    }
    let mut rows = load_rows_by_lot(connection, &writer.member, keys.values().map(String::as_str))?;
    let empty = keys.values().map(String::as_str).filter(|key| !rows.contains_key(*key));
    let mut gone = feed::find_removals(connection, &stream, empty)?;
    for (lot, key) in &keys {
        let (rows, gone) = (rows.remove(key).unwrap_or_default(), gone.remove(key));
        let lot_state = LotState { key: Some(key.clone()), rows, last_removal: gone, ..LotState::default() };
        state.lots.insert((*lot).clone(), lot_state);
    }
    load_guard_state(connection, writer, targets, &keys, &mut state.lots)?;
    Ok(state)
}

/// Returns true if stock may be marked as stolen, which is the default.
pub(in crate::backend) fn is_marking_enabled(connection: &Connection) -> Result<bool, StoreError> {
    Ok(store::read_setting(connection, "stolen-marking")?.as_deref() != Some("off"))
}

/// Loads the state that the guard needs for each lot whose amount an op reduces (STK-22): the lot's baseline by
/// the client's changes within the window. Also loads all removals by the client, at most one for each lot.
/// Other changes of the window are not read.
fn load_guard_state(
    connection: &Connection,
    writer: &WriteContext,
    targets: &[Result<QuantityTarget, Reason>],
    keys: &BTreeMap<&Lot, String>,
    lots: &mut BTreeMap<Lot, LotState>,
) -> Result<(), StoreError> {
    let (Some((client, _)), Some(since)) = (writer.author.client_installation(), writer.guarded_since) else {
        return Ok(());
    };
    let lowered: BTreeSet<&Lot> =
        targets.iter().flatten().filter(|goal| goal.quantity < goal.expected).map(|goal| &goal.lot).collect();
    let fallen: Vec<(&str, &mut LotState)> = lots
        .iter_mut()
        .filter(|(lot, lot_state)| lowered.contains(lot) && !lot_state.rows.is_empty())
        .filter_map(|(lot, lot_state)| Some((keys.get(lot)?.as_str(), lot_state)))
        .collect();
    if fallen.is_empty() {
        return Ok(());
    }
    let mut removals = connection.prepare_cached(
        "SELECT e.key FROM journal_set s INDEXED BY journal_set_of_guard \
         CROSS JOIN journal_entry e ON e.id BETWEEN s.first AND s.last AND e.removal = 1 \
         WHERE s.member = ?1 AND s.area = 'stock' AND s.client = ?2 AND s.at > ?3 AND s.removals > 0",
    )?;
    let removed = removals.query_map(params![writer.member, client, since.as_millis()], |row| row.get(0))?;
    let removed: HashSet<String> = removed.collect::<Result<_, _>>()?;
    let keys = fallen.iter().map(|(key, _)| *key);
    let histories = load_lot_histories(connection, &writer.member, client, since, keys)?;
    for (key, lot_state) in fallen {
        lot_state.base = histories.get(key).map(compute_baseline).transpose()?;
        lot_state.is_counted = removed.contains(key);
    }
    Ok(())
}

/// Returns the baseline of a lot: its amount before the client's first change, and all amounts by which the
/// client raised it.
fn compute_baseline(history: &LotHistory) -> Result<i64, StoreError> {
    let before = history.before.as_deref().map_or(Ok(0), parse_held_amount)?;
    Ok(before.saturating_add(history.raised))
}

/// Parses the total amount of a journaled holding.
fn parse_held_amount(holding: &str) -> Result<i64, StoreError> {
    /// The part of a journaled holding that the guard needs.
    #[derive(Deserialize)]
    struct HoldingAmount {
        held: i64,
    }
    let HoldingAmount { held } =
        serde_json::from_str(holding).map_err(|_| StoreError::Corrupt("invalid journalled lot"))?;
    Ok(held)
}

pub(super) fn count_lots(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(DISTINCT lot) FROM stock_row WHERE member = ?1";
    store::query_count(connection, sql, [member])
}
