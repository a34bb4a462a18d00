//! Reverts stock. Amounts that were booked in are booked out, and rows that were booked out are restored with
//! their ownership, age and note. Ended offers are not restored (STK-17), and reserved amounts are kept
//! (STK-13). Lots between which a change set moved stock, by re-marking (STK-19) or otherwise (STK-20), are
//! reverted together.
//!
//! The journal records the changes of a lot under its holder. However, changes by Logisticians to the holder's
//! pool rows are recorded under the Logisticians. The undo therefore detects such changes by comparison: it
//! checks whether a change starts from the last known state of the row, and whether the current row equals
//! that state.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::super::change::{EntryDelta, WriteContext};
use super::super::undo::{EntryChange, RevertOutcome, UndoConflict, UndoableArea};
use super::super::warehouse::{self, Lot, StockOwnership, StockRow};
use super::decide::offer_extras;
use super::moves::find_moves;
use super::{LotHolding, StockArea};
use crate::ids::{MemberId, UnitId};
use crate::members;
use crate::store::StoreError;

/// The combined changes that a client made to one lot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LotHistory {
    /// The lot; `None` if it was filled and emptied within one batch.
    lot: Option<Lot>,
    rows: BTreeMap<String, RowTrail>,
    /// Whether each change of a row started from the state that the previous change left.
    is_whole: bool,
}

/// The first and last known states of a row.
#[derive(Clone, Debug, PartialEq)]
struct RowTrail {
    before: Option<StockRow>,
    after: Option<StockRow>,
    version: i64,
    /// The position in the order in which the client first changed the rows. Rows are restored in this order,
    /// which corresponds to their age.
    place: usize,
}

/// The current state of the lots to revert.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurrentLots {
    /// The member's rows, by lot key.
    lots: BTreeMap<String, Vec<StockRow>>,
    /// The ids of deleted rows that now exist again, in any lot.
    ids: BTreeSet<String>,
    /// The units of which the member is a direct member.
    units: BTreeSet<UnitId>,
}

/// The planned rows of a lot, before the restored rows get their versions.
struct LotDraft {
    lot: Lot,
    before: Vec<StockRow>,
    /// The existing rows that remain, with their new content.
    remaining: Vec<StockRow>,
    /// The deleted rows that are restored, with their earlier content.
    restored: Vec<StockRow>,
}

impl UndoableArea for StockArea {
    type EntryHistory = LotHistory;
    type CurrentState = CurrentLots;

    const MOVES: bool = true;

    fn linked_changes(changes: &[EntryChange<LotHolding>]) -> Vec<Vec<usize>> {
        find_moves(changes)
    }

    fn fold_change(past: Option<LotHistory>, change: EntryChange<LotHolding>) -> LotHistory {
        let EntryChange { before, after } = change;
        let lot = before.as_ref().or(after.as_ref()).map(|holding| holding.lot.clone());
        let new = || LotHistory { lot: None, rows: BTreeMap::new(), is_whole: true };
        let mut past = past.unwrap_or_else(new);
        past.lot = past.lot.or(lot);
        let mut after: BTreeMap<String, StockRow> = by_id(after.map(|holding| holding.rows));
        for was in before.into_iter().flat_map(|holding| holding.rows) {
            let (id, place) = (was.id.clone(), past.rows.len());
            let is = after.remove(&id);
            past.is_whole &=
                past.rows.get(&id).is_none_or(|trail| is_same_row(trail.after.as_ref(), Some(&was)));
            let version = is.as_ref().unwrap_or(&was).version;
            let new = || RowTrail { before: Some(was), after: None, version, place };
            let trail = past.rows.entry(id).or_insert_with(new);
            (trail.after, trail.version) = (is, version);
        }
        for (id, is) in after {
            past.is_whole &= past.rows.get(&id).is_none_or(|trail| trail.after.is_none());
            let (version, place) = (is.version, past.rows.len());
            let trail = past.rows.entry(id).or_insert(RowTrail { before: None, after: None, version, place });
            (trail.after, trail.version) = (Some(is), version);
        }
        past
    }

    fn history_delta(key: &str, past: &LotHistory) -> EntryDelta<LotHolding> {
        let holding = |lot: &Lot| LotHolding { lot: lot.clone(), total: 0, rows: Vec::new() };
        lot_delta(key, [past.lot.as_ref().map(holding), None])
    }

    fn load_current(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &LotHistory)],
    ) -> Result<CurrentLots, StoreError> {
        let units = members::list_units(connection, member)?.into_iter().collect();
        let mut present = CurrentLots { units, ..CurrentLots::default() };
        let mut known = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM stock_row WHERE id = ?1)")?;
        for (key, past) in pasts {
            let rows = warehouse::load_lot_rows(connection, member, key)?;
            present.lots.insert((*key).to_owned(), rows);
            for (id, _) in
                past.rows.iter().filter(|(_, trail)| trail.before.is_some() && trail.after.is_none())
            {
                if known.query_row([id], |row| row.get(0))? {
                    present.ids.insert(id.clone());
                }
            }
        }
        Ok(present)
    }

    fn revert_entries(
        present: &CurrentLots,
        pasts: &[(&str, &LotHistory)],
        _: &WriteContext,
    ) -> RevertOutcome<LotHolding> {
        let drafts: Vec<_> = pasts.iter().map(|(key, past)| draft_lot(present, key, past)).collect();
        // A row that leaves one lot can be restored in another lot. A row that stays in a lot cannot.
        let mut leaving: BTreeMap<&str, i64> = BTreeMap::new();
        for LotDraft { before, remaining, .. } in drafts.iter().flatten().flatten() {
            let leave = before.iter().filter(|row| remaining.iter().all(|other| other.id != row.id));
            leaving.extend(leave.map(|row| (&*row.id, row.version)));
        }
        let mut taken: BTreeSet<&str> =
            present.ids.iter().map(|id| &**id).filter(|id| !leaving.contains_key(id)).collect();
        // The version of a restored row is higher than its last one in any lot.
        let mut versions = leaving.clone();
        for (id, trail) in pasts.iter().flat_map(|(_, past)| &past.rows) {
            let version = versions.entry(id).or_insert(trail.version);
            *version = trail.version.max(*version);
        }
        let finish_draft = |LotDraft { lot, before, remaining, restored }: &LotDraft, key: &str| {
            let mut after = remaining.clone();
            for row in restored {
                let version = versions.get(&*row.id).map_or(row.version, |version| version + 1);
                after.push(StockRow { version, ..row.clone() });
            }
            lot_delta(key, LotHolding::delta_pair(lot, [before, &after]))
        };
        let mut ends = Vec::new();
        for ((key, _), draft) in pasts.iter().zip(&drafts) {
            ends.push(match draft {
                Err(conflict) => Err(conflict.clone()),
                Ok(None) => Ok(None),
                Ok(Some(draft)) if draft.restored.iter().all(|row| taken.insert(&row.id)) => {
                    Ok(Some(finish_draft(draft, key)))
                }
                Ok(Some(_)) => Err(UndoConflict::LinkedEntryKept),
            });
        }
        let booked: Vec<_> = ends.iter().flatten().flatten().collect();
        let extras = offer_extras(
            booked.iter().filter_map(|touched| touched.before.as_ref()).flat_map(|was| &was.rows),
            booked.iter().filter_map(|touched| touched.after.as_ref()).flat_map(|is| &is.rows),
        );
        RevertOutcome { results: ends, extras, notices: Vec::new() }
    }
}

/// Plans the revert of one lot. Returns `Ok(None)` if nothing changes.
fn draft_lot(present: &CurrentLots, key: &str, past: &LotHistory) -> Result<Option<LotDraft>, UndoConflict> {
    let now = present.lots.get(key).map(Vec::as_slice).unwrap_or_default();
    if !past.is_whole {
        return Err(UndoConflict::ChangedSince(None));
    }
    let mut draft = LotDraft {
        lot: match &past.lot {
            Some(lot) => lot.clone(),
            None => return Ok(None),
        },
        before: now.to_vec(),
        remaining: now.to_vec(),
        restored: Vec::new(),
    };
    let is_other =
        |RowTrail { before: was, after: is, .. }: &&RowTrail| !is_same_row(was.as_ref(), is.as_ref());
    let mut changed: Vec<_> = past.rows.iter().filter(|(_, trail)| is_other(trail)).collect();
    changed.sort_by_key(|(_, trail)| trail.place);
    let is_changed = !changed.is_empty();
    for (id, trail) in changed {
        let row = now.iter().find(|row| row.id == *id);
        if !is_same_row(trail.after.as_ref(), row) {
            return Err(UndoConflict::ChangedSince(None));
        }
        let amount = trail.before.as_ref().map_or(0, |was| was.amount);
        if row.is_some_and(|row| row.reserved > amount) {
            return Err(UndoConflict::Reserved);
        }
        let unit = trail.before.as_ref().and_then(|was| was.keeping.pool_unit());
        let is_in = trail.after.as_ref().and_then(|is| is.keeping.pool_unit());
        if unit.is_some_and(|unit| is_in != Some(unit) && !present.units.contains(unit)) {
            return Err(UndoConflict::UnitLeft);
        }
        match (&trail.before, row) {
            (Some(was), None) => {
                draft.restored.push(StockRow { reserved: 0, offer: None, ..was.clone() });
            }
            (was, Some(_)) => {
                draft.remaining.retain(|row| row.id != *id || was.is_some());
                if let (Some(was), Some(current)) =
                    (was, draft.remaining.iter_mut().find(|row| row.id == *id))
                {
                    (current.amount, current.version) = (was.amount, current.version + 1);
                    (current.keeping, current.note) = (was.keeping.clone(), was.note.clone());
                    if let Some(offer) = &mut current.offer {
                        offer.amount = offer.amount.min(current.amount);
                    }
                }
            }
            (None, None) => {}
        }
    }
    Ok(is_changed.then_some(draft))
}

/// Returns true if both rows have the same amount, ownership and note, or if both are missing. Reservations
/// and offers are handled separately, and versions also change with reverts.
fn is_same_row(one: Option<&StockRow>, other: Option<&StockRow>) -> bool {
    fn parts(row: &StockRow) -> (i64, &StockOwnership, Option<&str>) {
        (row.amount, &row.keeping, row.note.as_deref())
    }
    one.map(parts) == other.map(parts)
}

fn by_id(rows: Option<Vec<StockRow>>) -> BTreeMap<String, StockRow> {
    rows.into_iter().flatten().map(|row| (row.id.clone(), row)).collect()
}

fn lot_delta(key: &str, [before, after]: [Option<LotHolding>; 2]) -> EntryDelta<LotHolding> {
    let removal = before.is_some() && after.is_none();
    EntryDelta { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::undo::moves::{RevertCandidate, revert_groups};
    use crate::backend::undo::tests::writer;
    use crate::backend::warehouse::{Measure, StockOffer};
    use crate::catalogue::contents::EntryKind;
    use crate::time::Moment;

    fn lot(material: &str) -> Lot {
        Lot {
            kind: EntryKind::Material,
            material: material.to_owned(),
            measure: Measure::Scu,
            location: "city".to_owned(),
            quality: 0,
            stolen: false,
        }
    }

    /// Parses `id:amount@version`, followed in any order by `reserved=N`, `offer=N` and the unit of the pool.
    fn row(text: &str) -> StockRow {
        let mut parts = text.split(' ');
        let (id, rest) = parts.next().and_then(|part| part.split_once(':')).expect("the row has an id");
        let (amount, version) = rest.split_once('@').expect("the row has a version");
        let number = |text: &str| text.parse().expect("the number is valid");
        let mut row = StockRow {
            id: id.to_owned(),
            amount: number(amount),
            keeping: StockOwnership::Personal,
            version: number(version),
            note: None,
            booked_at: Moment::from_secs(1),
            reserved: 0,
            offer: None,
            number: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("reserved", amount)) => row.reserved = number(amount),
                Some((_, amount)) => {
                    row.offer = Some(StockOffer { id: "o".to_owned(), amount: number(amount) })
                }
                None => row.keeping = StockOwnership::Pool(part.into()),
            }
        }
        row
    }

    fn shown(row: &StockRow) -> String {
        let offer = row.offer.as_ref().map(|offer| format!(" offer={}", offer.amount)).unwrap_or_default();
        let unit = row.keeping.pool_unit().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("{}:{}@{}{offer}{unit}", row.id, row.amount, row.version)
    }

    /// Applies a delta to the rows of a lot and returns the new rows.
    fn booked(now: Vec<StockRow>, touched: EntryDelta<LotHolding>) -> Vec<StockRow> {
        let was = by_id(touched.before.map(|holding| holding.rows));
        let mut is = touched.after.map(|holding| holding.rows).unwrap_or_default();
        let mut left = Vec::new();
        for row in now {
            match is.iter().position(|other| other.id == row.id) {
                Some(at) => left.push(is.remove(at)),
                None if was.contains_key(&row.id) => {}
                None => left.push(row),
            }
        }
        left.into_iter().chain(is).collect()
    }

    fn rows(texts: &[&str]) -> Vec<StockRow> {
        texts.iter().map(|text| row(text)).collect()
    }

    /// Lots with their states before and after each change, their current rows, and the expected result. The
    /// state `...` stands for a change by another author.
    type Lots<'a> = &'a [(&'a [&'a [&'a str]], &'a [&'a str], &'a [&'a str])];

    fn check(lots: Lots<'_>, ids: &[&str]) {
        check_moved(lots, ids, None);
    }

    /// Checks lots that are linked by a move.
    fn check_halves(lots: Lots<'_>, ids: &[&str]) {
        check_moved(lots, ids, Some(0));
    }

    fn check_moved(lots: Lots<'_>, ids: &[&str], together_in: Option<usize>) {
        let units = ["u".into()].into();
        let mut present = CurrentLots { units, ..CurrentLots::default() };
        present.ids.extend(ids.iter().map(|id| (*id).to_owned()));
        let (mut cases, mut expect) = (Vec::new(), Vec::new());
        for (number, (states, now, becomes)) in lots.iter().enumerate() {
            let lot = lot(&format!("m{number}"));
            let change = |pair: &[&[&str]]| {
                let [before, after] = LotHolding::delta_pair(&lot, [&rows(pair[0]), &rows(pair[1])]);
                EntryChange { before, after }
            };
            let changes = states.split(|state| *state == ["..."]).flat_map(|series| series.windows(2));
            let past = changes.fold(None, |past, pair| Some(StockArea::fold_change(past, change(pair))));
            present.lots.insert(lot.key(), rows(now));
            let (key, past, group) =
                (lot.key(), past.expect("there is at least one change"), together_in.unwrap_or(number));
            cases.push(RevertCandidate { key, history: past, group, conflict: None });
            expect.push(becomes.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        }
        let RevertOutcome { results: ends, .. } = revert_groups::<StockArea>(&present, &cases, &writer("m"));
        let format_end =
            |(end, (_, now, _)): (Result<Option<EntryDelta<LotHolding>>, UndoConflict>, _)| match end {
                Err(conflict) => vec![conflict.as_str().to_owned()],
                Ok(None) => vec!["=".to_owned()],
                Ok(Some(touched)) => booked(rows(now), touched).iter().map(shown).collect(),
            };
        assert_eq!(ends.into_iter().zip(lots.iter().copied()).map(format_end).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn bookings_are_reverted() {
        // Reverts an amount that was booked in, one that was booked out, both, and changes without a net
        // effect.
        check(&[(&[&[], &["a:5@1"]], &["a:5@1"], &[])], &[]);
        check(&[(&[&["a:5@1"], &["a:5@1", "b:2@1"]], &["a:5@1", "b:2@1"], &["a:5@1"])], &[]);
        check(&[(&[&["a:5@1 u", "b:2@4"], &["a:3@2 u"]], &["a:3@2 u"], &["a:5@3 u", "b:2@5"])], &[]);
        check(&[(&[&["a:5@1"], &["a:3@2"], &[]], &[], &["a:5@3"])], &[]);
        check(&[(&[&["a:5@1"], &["a:3@2"], &["a:5@3"]], &["a:5@3"], &["="])], &[]);
        check(&[(&[&[], &["a:3@2"], &[]], &[], &["="])], &[]);
        check(&[(&[&[], &[]], &[], &["="])], &[]);
        // Versions only increase. A version that an earlier revert incremented does not count as a change.
        check(&[(&[&["a:5@1"], &["a:3@2"]], &["a:3@6"], &["a:5@7"])], &[]);
        // Unchanged rows are not in the journal, and rows of other areas are ignored.
        check(&[(&[&["a:5@1"], &["a:3@2"]], &["a:3@2", "c:0@1"], &["a:5@3", "c:0@1"])], &[]);
    }

    #[test]
    fn rows_changed_by_other_authors_are_conflicts() {
        let fall: &[&[&str]] = &[&["a:5@1"], &["a:3@2"]];
        check(&[(fall, &["a:4@3"], &["changed-since"])], &[]);
        check(&[(fall, &["a:3@2 u"], &["changed-since"])], &[]);
        check(&[(fall, &["b:3@1"], &["changed-since"])], &[]);
        check(&[(fall, &[], &["changed-since"])], &[]);
        // A new row by another author is not a conflict.
        check(&[(&[&["a:5@1"], &[]], &["b:1@1"], &["b:1@1", "a:5@2"])], &[]);
    }

    /// STK-16: a lot is not reverted if another Logistician changed a row between two changes of the client.
    #[test]
    fn interleaved_foreign_changes_are_not_reverted() {
        let stays: &[&str] = &["changed-since"];
        let between = |before: &[&str], after: &[&str]| {
            let states: &[&[&str]] = &[&["a:9@1 u", "c:1@1"], before, &["..."], after, &["a:2@5 u", "c:1@1"]];
            check(&[(states, &["a:2@5 u", "c:1@1"], stays)], &[]);
        };
        between(&["a:8@2 u", "c:1@1"], &["a:5@3 u", "c:1@1"]);
        between(&["a:8@2 u", "c:1@1"], &["a:8@3 v", "c:1@1"]);
        between(&["a:8@2 u", "c:1@1"], &["b:8@3 u", "c:1@1"]);
        between(&["c:1@1"], &["a:5@3 u", "c:1@1"]);
        // The total is equal but is in another row; then a row is replaced by another one and appears again.
        between(&["a:8@2 u", "c:1@1"], &["a:5@3 u", "c:4@2"]);
        let appears: &[&[&str]] = &[&["a:9@1"], &["a:8@2"], &["..."], &["b:8@1"], &["a:1@3", "b:8@1"]];
        check(&[(appears, &["a:1@3", "b:8@1"], stays)], &[]);
        // The change of a row that the client did not change is not a conflict.
        let beside: &[&[&str]] =
            &[&["a:9@1"], &["a:8@2"], &["..."], &["a:8@2", "b:3@1"], &["a:1@3", "b:3@1"]];
        check(&[(beside, &["a:1@3", "b:2@2"], &["a:9@4", "b:2@2"])], &[]);
        // It is not a conflict if nothing changed in between, or if the changes cancelled each other out.
        let history: &[&[&str]] =
            &[&["a:9@1 u", "c:1@1"], &["a:8@2 u", "c:1@1"], &["..."], &["a:8@4 u", "c:1@1"], &["c:1@1"]];
        check(&[(history, &["c:1@1"], &["c:1@1", "a:9@5 u"])], &[]);
    }

    /// STK-13, STK-17: reserved amounts are kept, and offers are lowered as by any other booking.
    #[test]
    fn reservations_stay_and_offers_are_lowered() {
        let rise: &[&[&str]] = &[&["a:3@1"], &["a:5@2"]];
        check(&[(rise, &["a:5@2 reserved=4"], &["reserved"])], &[]);
        check(&[(rise, &["a:5@2 reserved=3 offer=4"], &["a:3@3 offer=3"])], &[]);
        check(&[(&[&[], &["a:5@1"]], &["a:5@1 reserved=1"], &["reserved"])], &[]);
        check(&[(&[&[], &["a:5@1"]], &["a:5@1 offer=1"], &[])], &[]);
        check(&[(&[&["a:3@1 offer=2"], &[]], &[], &["a:3@2"])], &[]);
    }

    #[test]
    fn row_does_not_return_to_the_pool_of_a_left_unit() {
        check(&[(&[&["a:3@1 v"], &[]], &[], &["unit-left"])], &[]);
        check(&[(&[&["a:3@1 v"], &["a:2@2 v"]], &["a:2@2 v"], &["a:3@3 v"])], &[]);
        check(&[(&[&["a:3@1 u"], &[]], &[], &["a:3@2 u"])], &[]);
    }

    /// STK-19: a moved row is restored, and neither lot is reverted without the other.
    #[test]
    fn moved_row_returns() {
        let (from, to): (&[&[&str]], &[&[&str]]) = (&[&["a:3@1"], &[]], &[&[], &["a:3@2"]]);
        check_halves(&[(from, &[], &["a:3@3"]), (to, &["a:3@2"], &[])], &["a"]);
        check_halves(&[(to, &["a:3@2"], &[]), (from, &[], &["a:3@3"])], &["a"]);
        // A conflict of either lot prevents the revert of both.
        let left: &[&[&str]] = &[&["a:3@1 v"], &[]];
        check_halves(&[(left, &[], &["unit-left"]), (to, &["a:3@2"], &["linked-entry"])], &["a"]);
        check_halves(&[(from, &[], &["linked-entry"]), (to, &["a:4@3"], &["changed-since"])], &["a"]);
        check_halves(&[(from, &[], &["linked-entry"]), (to, &["a:3@2 reserved=1"], &["reserved"])], &["a"]);
        // A row is never restored while it exists, whatever the journal contains.
        check(&[(from, &[], &["linked-entry"])], &["a"]);
        check(&[(from, &[], &["linked-entry"]), (to, &["a:4@3"], &["changed-since"])], &["a"]);
    }

    /// STK-19: if part of a row was moved, which created a new row, the part is restored, and neither lot is
    /// reverted without the other.
    #[test]
    fn moved_part_of_a_row_returns() {
        let (from, to): (&[&[&str]], &[&[&str]]) = (&[&["a:5@1"], &["a:3@2"]], &[&[], &["b:2@1"]]);
        check_halves(&[(from, &["a:3@2"], &["a:5@3"]), (to, &["b:2@1"], &[])], &[]);
        check_halves(&[(from, &["a:3@2"], &["linked-entry"]), (to, &["b:1@2"], &["changed-since"])], &[]);
        check_halves(&[(from, &["a:4@3"], &["changed-since"]), (to, &["b:2@1"], &["linked-entry"])], &[]);
    }

    /// The versions that a moved row had in the other lot are not reused.
    #[test]
    fn row_versions_are_never_reused() {
        let to: &[&[&str]] = &[&[], &["a:3@2"], &["a:2@3"], &[]];
        check_halves(&[(&[&["a:3@1"], &[]], &[], &["a:3@4"]), (to, &[], &["="])], &[]);
        let back: &[&[&str]] = &[&[], &["a:3@7"], &[]];
        check_halves(&[(back, &[], &["="]), (&[&["a:3@1"], &[], &["a:3@8"], &[]], &[], &["a:3@9"])], &[]);
    }
}
