//! The entries on their way through a change set: taken from, put to, moved, and closed at the end.
//!
//! What comes here is decided: nothing is asked any more, and nothing is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::super::change::{Decided, Extras, Made, Notice, OpEnd, Touched, Writer};
use super::super::super::warehouse::{Earmarks, Keeping, Lot, Purpose, Row};
use super::super::entry::{Entry, Record, Sale};
use crate::ids::{MemberId, UnitId};
use crate::time::Moment;

/// Stock that left one entry and is on its way to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) holder: MemberId,
    pub(super) lot: Lot,
    pub(super) unit: UnitId,
    pub(super) amount: i64,
    pub(super) note: Option<String>,
    pub(super) booked_at: Moment,
    pub(super) earmarks: Earmarks,
}

pub(super) struct Desk<'w> {
    writer: &'w Writer,
    before: BTreeMap<String, Entry>,
    now: BTreeMap<String, Entry>,
    /// The ids of a holder's entries of a lot and of its twin, in the order of their age; those that are made come
    /// behind those of one moment with them. An entry that changes where it stands changes its pool or its stolen state,
    /// so it never leaves its list.
    alike: HashMap<(MemberId, Lot), Vec<(Moment, String)>>,
    sales: Vec<(String, Sale)>,
    notices: BTreeSet<Notice>,
    made: Made<'w>,
}

impl<'w> Desk<'w> {
    /// Over entries, the oldest first.
    pub(super) fn new(entries: Vec<Entry>, writer: &'w Writer) -> Self {
        let mut alike: HashMap<_, Vec<_>> = HashMap::with_capacity(entries.len());
        for Entry { holder, lot, row, .. } in &entries {
            alike.entry(kin(holder, lot)).or_default().push((row.booked_at, row.id.clone()));
        }
        let now: BTreeMap<String, Entry> =
            entries.into_iter().map(|entry| (entry.row.id.clone(), entry)).collect();
        let (sales, notices) = Default::default();
        Self { writer, before: now.clone(), now, alike, sales, notices, made: Made::new(writer) }
    }

    pub(super) fn now(&self) -> Moment {
        self.writer.now
    }

    /// An entry as the ops so far left it.
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.now.get(id)
    }

    /// Tells a member what somebody else did with their stock (OST-19).
    pub(super) fn notify(&mut self, member: &MemberId, kind: &'static str) {
        if *member != self.writer.member {
            self.notices.insert(Notice { member: member.clone(), kind });
        }
    }

    /// Changes an entry, which has its next version then (A14).
    pub(super) fn change(&mut self, id: &str, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.now.get_mut(id) {
            change(entry);
            entry.row.reserved = entry.earmarks.reserved();
            entry.row.version += 1;
        }
    }

    /// Takes so much out of an entry, with these parts of its earmarks; the entry ends when nothing is left,
    /// and an offer that promises more than is left is lowered to that (OST-19).
    pub(super) fn take(&mut self, id: &str, amount: i64, shares: &[(Purpose, String, i64)]) -> Option<Part> {
        let unit = self.now.get(id)?.row.keeping.unit()?.clone();
        let mut part = None;
        self.change(id, |entry| {
            let mut earmarks = Earmarks::default();
            for (purpose, target, share) in shares {
                if let Some(taken) = entry.earmarks.take(*purpose, target, *share) {
                    earmarks.add(*purpose, target, taken);
                }
            }
            entry.row.amount -= amount;
            if let Some(offer) = &mut entry.row.offer {
                offer.amount = offer.amount.min(entry.row.amount);
            }
            let Entry { holder, lot, row, .. } = entry.clone();
            let Row { note, booked_at, .. } = row;
            part = Some(Part { holder, lot, unit, amount, note, booked_at, earmarks });
        });
        if self.now.get(id).is_some_and(|entry| entry.row.amount == 0) {
            self.now.remove(id);
        }
        part
    }

    /// Puts stock into a pool: to the holder's oldest entry of the same lot where it is to join one and can,
    /// else as an entry of its own. An entry that is joined keeps its note, unless another is given.
    pub(super) fn put(&mut self, part: Part, joins: bool, note: Option<String>) {
        let other = if joins { self.like(&part, None) } else { None };
        let Part { holder, lot, unit, amount, earmarks, .. } = part;
        let Some(other) = other else {
            let id = self.made.id();
            let row = Row {
                id: id.clone(),
                amount,
                keeping: Keeping::Pool(unit),
                version: 1,
                note: part.note,
                booked_at: part.booked_at,
                reserved: earmarks.reserved(),
                offer: None,
                number: None,
            };
            let alike = self.alike.entry(kin(&holder, &lot)).or_default();
            let at = alike.partition_point(|(booked_at, _)| *booked_at <= row.booked_at);
            alike.insert(at, (row.booked_at, id.clone()));
            self.now.insert(id, Entry { holder, lot, row, earmarks });
            return;
        };
        self.change(&other, |entry| {
            entry.row.amount += amount;
            for (purpose, target, earmark) in earmarks.all() {
                entry.earmarks.add(purpose, target, earmark);
            }
            if note.is_some() {
                entry.row.note = note;
            }
        });
    }

    /// Moves an entry into another pool as it is, or joins it to what its holder has there. An entry that backs
    /// an offer stays itself: the offer is of it.
    pub(super) fn move_whole(&mut self, id: &str, unit: UnitId, joins: bool) {
        let Some(Entry { holder, lot, row, earmarks }) = self.now.get(id).cloned() else { return };
        let Row { amount, note, booked_at, offer, .. } = row;
        let part = Part { holder, lot, unit: unit.clone(), amount, note, booked_at, earmarks };
        if joins && offer.is_none() && self.like(&part, Some(id)).is_some() {
            self.now.remove(id);
            self.put(part, true, None);
        } else {
            self.change(id, |entry| entry.row.keeping = Keeping::Pool(unit));
        }
    }

    /// Writes a sale down.
    pub(super) fn sold(&mut self, part: Part, terminal: &str, proceeds: i64, incomes: BTreeMap<String, i64>) {
        let Part { lot, unit, amount, .. } = part;
        let Lot { kind, material, .. } = lot;
        let terminal = terminal.to_owned();
        let id = self.made.id();
        self.sales.push((id, Sale { unit, kind, material, amount, terminal, proceeds, incomes }));
    }

    /// The oldest entry that stock can join: of the same holder, lot and pool; as large as can be said, and with
    /// earmarks that go together.
    fn like(&self, part: &Part, but: Option<&str>) -> Option<String> {
        let fits = |id: &&String| {
            let Some(entry) = self.now.get(*id).filter(|_| but != Some(id.as_str())) else { return false };
            entry.holder == part.holder
                && entry.lot == part.lot
                && entry.is_in(part.unit.as_str())
                && entry.row.amount + part.amount <= part.lot.measure.most()
                && entry.earmarks.fit(&part.earmarks)
        };
        self.alike.get(&kin(&part.holder, &part.lot))?.iter().map(|(_, id)| id).find(fits).cloned()
    }

    /// What all of it comes to.
    pub(super) fn close(self, ends: Vec<OpEnd>) -> Decided<Record> {
        let Self { before, now, sales, notices, made, .. } = self;
        let offers_unsaid = offers(&before, &now);
        let ids: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let mut changed: Vec<_> = ids.into_iter().filter(|id| before.get(*id) != now.get(*id)).collect();
        // The older ones first, and then what was made, in whose order it is written (STK-16).
        changed.sort_by_key(|id| (made.place(id), before.get(*id).map(|entry| entry.row.age())));
        let entry = |id: &String| Touched {
            key: id.clone(),
            before: before.get(id).cloned().map(Record::Entry),
            after: now.get(id).cloned().map(Record::Entry),
            // A16: no guard asks.
            removal: false,
            overridden: false,
        };
        let sale = |(key, sale): (String, Sale)| Touched {
            key,
            before: None,
            after: Some(Record::Sale(sale)),
            removal: false,
            overridden: false,
        };
        let touched = changed.into_iter().map(entry).chain(sales.into_iter().map(sale)).collect();
        let extras = Extras { offers_unsaid, ..Extras::default() };
        Decided { ends, touched, extras, notices: notices.into_iter().collect() }
    }
}

/// Whose entries of what are looked up together: a lot's and its twin's.
fn kin(holder: &MemberId, lot: &Lot) -> (MemberId, Lot) {
    (holder.clone(), Lot { stolen: false, ..lot.clone() })
}

/// How many offers promise less than before, and how many are gone.
fn offers(before: &BTreeMap<String, Entry>, now: &BTreeMap<String, Entry>) -> (i64, i64) {
    let (mut lowered, mut gone) = (0, 0);
    for (id, entry) in before {
        match now.get(id).map_or(0, Entry::offered) {
            left if left == entry.offered() => {}
            0 => gone += 1,
            _ => lowered += 1,
        }
    }
    (lowered, gone)
}
