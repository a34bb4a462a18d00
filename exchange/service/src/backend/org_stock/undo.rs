//! Pools set back: entries stand again as they stood, with their holder, pool, place, marking, note and earmarks, and
//! sales are as if they had not been. What moved between entries of a change set, or from an entry into a sale, is set
//! back together (OST-20 to OST-28).
//!
//! The journal has an entry under the Logistician who changed it. What other Logisticians and the holder did shows in
//! that a change did not meet what the one before it left, or that the entry is not as the last one left it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::super::change::{Extras, Notice, Touched, Writer};
use super::super::undo::moves::{Side, gave_and_got};
use super::super::undo::{Change, Hindrance, Restore, SetBack};
use super::super::units;
use super::super::warehouse::{Lot, Purpose, Row};
use super::OrgStock;
use super::entry::{Entry, Record, Sale};
use super::table::{entries, sale};
use crate::catalogue::contents::Kind;
use crate::ids::{MemberId, UnitId};
use crate::records::Doer;
use crate::store::StoreError;

/// What a holder is told of.
const NOTICE: &str = "org-stock.undo";

/// All that a client did to an entry, or a sale that it made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Past {
    change: Change<Record>,
    /// As it was last while it was there.
    last: Option<Record>,
    /// Whether each change met what the one before it left.
    is_whole: bool,
}

/// What is known of entries and sales now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Present {
    records: BTreeMap<String, Record>,
    /// The units of which the member is a Logistician.
    mine: BTreeSet<String>,
    /// Units, and the holders who directly belong to them, of those that entries could come back to.
    belongs: BTreeSet<(UnitId, MemberId)>,
    /// Missions that there are and job orders that are not done, of those that entries were earmarked to.
    targets: BTreeSet<(Purpose, String)>,
}

impl Restore for OrgStock {
    type Past = Past;
    type Present = Present;

    const MOVES: bool = true;

    fn moved(changes: &[Change<Record>]) -> Vec<Vec<usize>> {
        gave_and_got(changes.iter().map(shares)).collect()
    }

    fn follow(past: Option<Past>, change: Change<Record>) -> Past {
        let last = change.after.clone().or_else(|| change.before.clone());
        match past {
            None => Past { change, last, is_whole: true },
            Some(Past { change: before, last: earlier, is_whole }) => Past {
                is_whole: is_whole && are_alike(before.after.as_ref(), change.before.as_ref()),
                change: Change { before: before.before, after: change.after },
                last: last.or(earlier),
            },
        }
    }

    fn faded(key: &str, past: &Past) -> Touched<Record> {
        touched(key, past.last.clone(), None)
    }

    fn present(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Past)],
    ) -> Result<Present, StoreError> {
        let mine = units::of(connection, member)?.into_iter().filter(|one| one.logistician);
        let mine = mine.map(|one| one.unit.id.into_string()).collect();
        let is_entry = |past: &Past| past.last.as_ref().is_some_and(|last| last.entry().is_some());
        let (of_entries, of_sales): (Vec<_>, Vec<_>) = pasts.iter().partition(|(_, past)| is_entry(past));
        let entries = entries(connection, of_entries.iter().map(|(key, _)| *key))?;
        let records = entries.into_iter().map(|(id, entry)| (id, Record::Entry(entry))).collect();
        let mut present = Present { records, mine, ..Present::default() };
        for (key, _) in of_sales {
            let sale = sale(connection, key)?.map(|sale| ((*key).to_owned(), Record::Sale(sale)));
            present.records.extend(sale);
        }
        for (_, past) in of_entries {
            if let Some(Record::Entry(before)) = &past.change.before {
                present.ask(connection, before)?;
            }
        }
        Ok(present)
    }

    fn set_back(present: &Present, pasts: &[(&str, &Past)], writer: &Writer) -> SetBack<Record> {
        let ends: Vec<_> = pasts.iter().map(|(key, past)| one(present, key, past, writer)).collect();
        let notices = notices(ends.iter().flatten().flatten(), writer);
        SetBack { ends, extras: Extras::default(), notices }
    }
}

impl Present {
    /// What it takes for an entry to be again what it was.
    fn ask(&mut self, connection: &Connection, before: &Entry) -> Result<(), StoreError> {
        let Entry { holder, row, earmarks, .. } = before;
        if let Some(unit) = row.keeping.unit() {
            let sql = "SELECT EXISTS (SELECT 1 FROM membership s JOIN member m ON m.id = s.member \
                       WHERE s.member = ?1 AND s.unit = ?2 AND m.state <> 'deleted')";
            if connection.prepare_cached(sql)?.query_row(params![holder, unit], |row| row.get(0))? {
                self.belongs.insert((unit.clone(), holder.clone()));
            }
        }
        for (purpose, target, _) in earmarks.all() {
            let sql = match purpose {
                Purpose::Mission => "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)",
                Purpose::JobOrder => {
                    "SELECT EXISTS (SELECT 1 FROM job_order WHERE id = ?1 AND state IN ('open', 'in-progress'))"
                }
                // No client takes any away, so that none comes back.
                Purpose::Donation => continue,
            };
            if connection.prepare_cached(sql)?.query_row([target], |row| row.get(0))? {
                self.targets.insert((purpose, target.to_owned()));
            }
        }
        Ok(())
    }
}

/// What a change gave away or got, by names that both sides of a move, or of a sale, have in common.
fn shares(Change { before, after }: &Change<Record>) -> Vec<(String, Side)> {
    let sold = |kind: Kind, material: &str| format!("{}:{material}", kind.as_str());
    if let (None, Some(Record::Sale(Sale { kind, material, .. }))) = (before, after) {
        return vec![(sold(*kind, material), Side::Got)];
    }
    let [before, after] = [before, after].map(|record| record.as_ref().and_then(Record::entry));
    let Some(Lot { kind, material, measure, quality, .. }) = before.or(after).map(|entry| &entry.lot) else {
        return Vec::new();
    };
    let held = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.row.amount);
    let side = match held(after) - held(before) {
        0 => return Vec::new(),
        more if more > 0 => Side::Got,
        _ => Side::Gave,
    };
    // Neither place nor pool, holder nor marking stay what they are in a move. What was sold may have been booked
    // in by the same change set.
    let moved = format!("{}:{}:{quality}:{material}", kind.as_str(), measure.as_str());
    vec![(moved, side), (sold(*kind, material), Side::Gave)]
}

/// What becomes of an entry or a sale.
fn one(
    present: &Present,
    key: &str,
    past: &Past,
    writer: &Writer,
) -> Result<Option<Touched<Record>>, Hindrance> {
    let Past { change: Change { before, after }, last, is_whole } = past;
    let now = present.records.get(key);
    if !is_whole {
        return Err(Hindrance::ChangedSince(None));
    }
    if !are_alike(now, after.as_ref()) {
        return Err(otherwise(now, after.as_ref()));
    }
    if are_alike(now, before.as_ref()) {
        return Ok(None);
    }
    // On an administrator's word it matters as little what the member is by now as on the system's own.
    let may = |record: &Record| record.unit().is_none_or(|unit| present.mine.contains(unit.as_str()));
    if matches!(writer.by, Doer::Member(_)) && !now.into_iter().chain(before).all(may) {
        return Err(Hindrance::NotPermitted);
    }
    let is = now.and_then(Record::entry);
    let offered = is.map_or(0, Entry::offered);
    let Some(Record::Entry(before)) = before else {
        return if offered > 0 {
            Err(Hindrance::Offered)
        } else {
            Ok(Some(touched(key, now.cloned(), None)))
        };
    };
    let Some(last) = is.or(last.as_ref().and_then(Record::entry)) else { return Ok(None) };
    if offered > before.row.amount {
        return Err(Hindrance::Offered);
    }
    let place = |entry: &Entry| entry.row.keeping.unit().map(|unit| (unit.clone(), entry.holder.clone()));
    let comes = place(before).filter(|place_before| is.and_then(place).as_ref() != Some(place_before));
    if comes.is_some_and(|place| !present.belongs.contains(&place)) {
        return Err(Hindrance::HolderLeft);
    }
    let has = |purpose, target: &str| is.map_or(0, |is| is.earmarks.amount(purpose, target));
    let mut gains = before.earmarks.all().filter(|(purpose, target, one)| one.amount > has(*purpose, target));
    if gains.any(|(purpose, target, _)| !present.targets.contains(&(purpose, target.to_owned()))) {
        return Err(Hindrance::TargetEnded);
    }
    let row = Row {
        version: last.row.version + 1,
        reserved: before.earmarks.reserved(),
        offer: is.and_then(|is| is.row.offer.clone()),
        ..before.row.clone()
    };
    let wanted = Record::Entry(Entry { row, ..before.clone() });
    Ok(Some(touched(key, now.cloned(), Some(wanted))))
}

/// Why something that is not as it was left stays.
fn otherwise(now: Option<&Record>, after: Option<&Record>) -> Hindrance {
    match (now, after) {
        (_, Some(Record::Sale(_))) => Hindrance::SaleChanged,
        (Some(Record::Entry(now)), Some(Record::Entry(after))) => {
            let as_marked = Entry { earmarks: after.earmarks.clone(), ..now.clone() };
            let mut marks = now.earmarks.all();
            let came =
                marks.any(|(purpose, target, one)| one.amount > after.earmarks.amount(purpose, target));
            if came && is_alike(&as_marked, after) {
                Hindrance::Reserved
            } else {
                Hindrance::ChangedSince(None)
            }
        }
        _ => Hindrance::ChangedSince(None),
    }
}

/// Whether a record is as another one, or both are not there.
fn are_alike(one: Option<&Record>, other: Option<&Record>) -> bool {
    match (one, other) {
        (Some(Record::Entry(one)), Some(Record::Entry(other))) => is_alike(one, other),
        (one, other) => one == other,
    }
}

/// Whether an entry holds the same in the same way. What is offered of it is another matter, and versions move when
/// something is set back, too.
fn is_alike(one: &Entry, other: &Entry) -> bool {
    let parts = |entry: &Entry| (entry.row.amount, entry.row.keeping.clone(), entry.row.note.clone());
    (&one.holder, &one.lot, &one.earmarks) == (&other.holder, &other.lot, &other.earmarks)
        && parts(one) == parts(other)
}

/// Whom what else concerns: those who held or hold what is more, less, or elsewhere (OST-19).
fn notices<'t>(touched: impl Iterator<Item = &'t Touched<Record>>, writer: &Writer) -> Vec<Notice> {
    let mut told = BTreeSet::new();
    for Touched { before, after, .. } in touched {
        let [before, after] = [before, after].map(|record| record.as_ref().and_then(Record::entry));
        let stands = |entry: &Entry| {
            (entry.holder.clone(), entry.lot.location.clone(), entry.row.keeping.clone(), entry.row.amount)
        };
        if before.map(stands) != after.map(stands) {
            let holders = before.into_iter().chain(after).map(|entry| entry.holder.clone());
            told.extend(holders.filter(|holder| *holder != writer.member));
        }
    }
    told.into_iter().map(|member| Notice { member, kind: NOTICE }).collect()
}

fn touched(key: &str, before: Option<Record>, after: Option<Record>) -> Touched<Record> {
    Touched { key: key.to_owned(), before, after, removal: false, overridden: false }
}
