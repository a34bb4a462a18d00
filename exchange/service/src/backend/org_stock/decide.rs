//! What org-stock ops come to: plain functions over what is known.
//!
//! Each op meets the entries as those before it left them (OST-17). It asks in this order, and the first
//! answer that is no ends it (A19): may the member write to these pools, and is the entry there; whom and what
//! do references name; where; in which unit; may it be marked; is the version the current one; is anything to
//! be done at all; are the earmarks those that can be named; is there enough that nothing stands on.

mod desk;

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::reasons::Reason;
use exchange_api::types::{
    BookIn, BookOut, EntryId, EntryVersion, JobOrderShare, MarkStolen, MissionShare, MoveHolder,
    MoveLocation, MovePool, OrgStockOp, Quantity, SellStock, SetNote, UnitId,
};

use super::super::change::{Decided, OpEnd, Writer};
use super::super::warehouse::{Earmark, Earmarks, Lot, Measure, Purpose};
use super::entry::{Entry, Record};
use crate::catalogue::contents::Kind;
use crate::ids::MemberId;
use desk::{Desk, Part};

/// What the catalogue says of what an op names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// It names nothing.
    None,
    /// A place; none for one that is no location.
    Place(Option<String>),
    /// A material or an item, and a place.
    Stuff(Result<Stuff, Reason>, Option<String>),
}

/// A material or an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stuff {
    pub(crate) kind: Kind,
    pub(crate) material: String,
    pub(crate) measure: Measure,
}

/// What is known of what ops name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// Whether stock may be marked as stolen.
    pub(crate) marking: bool,
    /// The units of which the member is a direct member and Logistician (A15).
    pub(crate) mine: BTreeSet<String>,
    /// Whom references name on the rosters of these units.
    pub(crate) rosters: BTreeMap<String, BTreeMap<String, MemberId>>,
    /// Units, and holders of entries who directly belong to them.
    pub(crate) belongs: BTreeSet<(String, MemberId)>,
    /// Open job orders, and what they need.
    pub(crate) needs: BTreeSet<(String, Kind, String)>,
    /// Missions that there are.
    pub(crate) missions: BTreeSet<String>,
    /// Missions in which the member takes part.
    pub(crate) takes_part: BTreeSet<String>,
    /// The entries that ops name and those that stock may join, the oldest first.
    pub(crate) entries: Vec<Entry>,
}

/// How an op ends, unless it is refused.
type End = Result<OpEnd, Reason>;

/// Decides ops in order, each as if those before it had run (WRT-02, OST-17).
pub(crate) fn decide(
    mut known: Known,
    ops: &[OrgStockOp],
    targets: &[Target],
    writer: &Writer,
) -> Decided<Record> {
    let entries = std::mem::take(&mut known.entries);
    let mut deciding = Deciding { desk: Desk::new(entries, writer), known };
    let end = |(op, target)| deciding.one(op, target).unwrap_or_else(OpEnd::Refused);
    let ends = ops.iter().zip(targets).map(end).collect();
    deciding.desk.close(ends)
}

struct Deciding<'w> {
    known: Known,
    desk: Desk<'w>,
}

/// An op on an entry, and what it takes of it.
struct Taking<'o> {
    unit: &'o UnitId,
    entry: &'o EntryId,
    version: EntryVersion,
    quantity: &'o Quantity,
    job_orders: &'o [JobOrderShare],
    missions: &'o [MissionShare],
}

macro_rules! taking {
    ($op:ident) => {
        Taking {
            unit: &$op.unit,
            entry: &$op.entry,
            version: $op.version,
            quantity: &$op.quantity,
            job_orders: $op.from_job_orders.as_deref().unwrap_or_default(),
            missions: $op.from_missions.as_deref().unwrap_or_default(),
        }
    };
}

/// How much is asked for, with the parts of it that stand ready for something.
struct Wanted {
    amount: i64,
    shares: Vec<(Purpose, String, i64)>,
}

impl Deciding<'_> {
    fn one(&mut self, op: &OrgStockOp, target: &Target) -> End {
        match (op, target) {
            (OrgStockOp::BookIn(op), Target::Stuff(stuff, place)) => self.book_in(op, stuff, place.as_ref()),
            (OrgStockOp::BookOut(op), _) => self.book_out(op),
            (OrgStockOp::Sell(op), _) => self.sell(op),
            (OrgStockOp::MoveLocation(op), Target::Place(place)) => self.move_location(op, place.as_ref()),
            (OrgStockOp::MoveHolder(op), _) => self.move_holder(op),
            (OrgStockOp::MovePool(op), _) => self.move_pool(op),
            (OrgStockOp::Note(op), _) => self.note(op),
            (OrgStockOp::Stolen(op), _) => self.stolen(op),
            (OrgStockOp::BookIn(_), _) => Err(Reason::Unmatched),
            (OrgStockOp::MoveLocation(_), _) => Err(Reason::LocationUnknown),
        }
    }

    /// OST-31: whether the member may write to a pool.
    fn permit(&self, unit: &UnitId) -> Result<(), Reason> {
        if self.known.mine.contains(unit.as_str()) { Ok(()) } else { Err(Reason::NotPermitted) }
    }

    /// OST-31: an entry of a pool to which the member may write.
    fn entry(&self, unit: &UnitId, entry: &EntryId) -> Result<&Entry, Reason> {
        self.permit(unit)?;
        let entry = self.desk.entry(entry.as_str()).filter(|entry| entry.is_in(unit.as_str()));
        entry.ok_or(Reason::NotPermitted)
    }

    /// OST-32: whom a reference names on the roster of a unit.
    fn holder(&self, unit: &UnitId, reference: &str) -> Result<MemberId, Reason> {
        let roster = self.known.rosters.get(unit.as_str());
        roster.and_then(|roster| roster.get(reference)).cloned().ok_or(Reason::HolderUnknown)
    }

    /// OST-20
    fn book_in(&mut self, op: &BookIn, stuff: &Result<Stuff, Reason>, place: Option<&String>) -> End {
        self.permit(&op.unit)?;
        let holder = self.holder(&op.unit, op.holder.as_str())?;
        let Stuff { kind, material, measure } = stuff.clone()?;
        let location = place.ok_or(Reason::LocationUnknown)?.clone();
        let job_orders = op.job_orders.as_deref().unwrap_or_default();
        let missions = op.missions.as_deref().unwrap_or_default();
        let Wanted { amount, shares } = wanted(measure, &op.quantity, job_orders, missions)?;
        // A43
        if op.stolen && amount > 0 && !self.known.marking {
            return Err(Reason::StolenMarkingDisabled);
        }
        let quality = if kind == Kind::Item { 0 } else { op.quality.get() };
        let lot = Lot { kind, material, measure, location, quality, stolen: op.stolen };
        if is_twice(&shares) {
            return Err(Reason::EarmarkTargetInvalid);
        }
        let mut earmarks = Earmarks::default();
        for (purpose, target, amount) in shares {
            if !self.is_target(purpose, &target, &lot) {
                return Err(Reason::EarmarkTargetInvalid);
            }
            earmarks.add(purpose, &target, Earmark { amount, delivered: false });
        }
        if earmarks.reserved() > amount {
            return Err(Reason::OverAllocation);
        }
        if amount == 0 {
            return Ok(OpEnd::Unchanged);
        }
        let note = note(op.note.as_deref());
        let unit = op.unit.as_str().into();
        let joins = measure == Measure::Piece || op.merge_scu == Some(true);
        let booked_at = self.desk.now();
        let part = Part { holder, lot, unit, amount, note: note.clone(), booked_at, earmarks };
        self.desk.put(part, joins, note);
        Ok(OpEnd::Applied)
    }

    /// OST-38: whether stock of a lot can be earmarked to a target.
    fn is_target(&self, purpose: Purpose, target: &str, lot: &Lot) -> bool {
        match purpose {
            Purpose::JobOrder => {
                self.known.needs.contains(&(target.to_owned(), lot.kind, lot.material.clone()))
            }
            Purpose::Mission => lot.kind == Kind::Material && self.known.missions.contains(target),
            Purpose::Donation => false,
        }
    }

    /// OST-21
    fn book_out(&mut self, op: &BookOut) -> End {
        let Some(Taken { holder, .. }) = self.take(&taking!(op))? else { return Ok(OpEnd::Unchanged) };
        self.desk.notify(&holder, "org-stock.book-out");
        Ok(OpEnd::Applied)
    }

    /// OST-22
    fn sell(&mut self, op: &SellStock) -> End {
        let Some(Taken { holder, part, .. }) = self.take(&taking!(op))? else {
            return Ok(OpEnd::Unchanged);
        };
        let mut incomes = BTreeMap::new();
        for (purpose, mission, earmark) in part.earmarks.all() {
            if purpose == Purpose::Mission && self.known.takes_part.contains(mission) {
                let share = share_of(op.proceeds, earmark.amount, part.amount);
                incomes.extend((share > 0).then(|| (mission.to_owned(), share)));
            }
        }
        self.desk.sold(part, &op.terminal, op.proceeds, incomes);
        self.desk.notify(&holder, "org-stock.sale");
        Ok(OpEnd::Applied)
    }

    /// OST-23
    fn move_location(&mut self, op: &MoveLocation, place: Option<&String>) -> End {
        let taking = taking!(op);
        let entry = self.entry(taking.unit, taking.entry)?;
        let location = place.ok_or(Reason::LocationUnknown)?.clone();
        let wanted = taking.wanted(entry)?;
        is_at(entry, taking.version)?;
        if entry.lot.location == location {
            return Ok(OpEnd::Unchanged);
        }
        let Some(Taken { holder, part }) = self.take_wanted(taking.entry, wanted)? else {
            return Ok(OpEnd::Unchanged);
        };
        let lot = Lot { location, ..part.lot.clone() };
        self.desk.notify(&holder, "org-stock.move");
        self.put(Part { lot, ..part }, op.merge_scu);
        Ok(OpEnd::Applied)
    }

    /// OST-24
    fn move_holder(&mut self, op: &MoveHolder) -> End {
        let taking = taking!(op);
        let entry = self.entry(taking.unit, taking.entry)?;
        self.permit(&op.to_unit)?;
        let to = self.holder(&op.to_unit, op.holder.as_str())?;
        let own = to == entry.holder;
        if own && op.to_unit != op.unit {
            return Err(Reason::NotPermitted);
        }
        let wanted = taking.wanted(entry)?;
        is_at(entry, taking.version)?;
        if own {
            return Ok(OpEnd::Unchanged);
        }
        let Some(Taken { holder, part }) = self.take_wanted(taking.entry, wanted)? else {
            return Ok(OpEnd::Unchanged);
        };
        for member in [&holder, &to] {
            self.desk.notify(member, "org-stock.move");
        }
        let unit = op.to_unit.as_str().into();
        // A note is the holder's, who may keep from others what it says.
        self.put(Part { holder: to, unit, note: None, ..part }, op.merge_scu);
        Ok(OpEnd::Applied)
    }

    /// OST-25, OST-26
    fn move_pool(&mut self, op: &MovePool) -> End {
        let entry = self.entry(&op.unit, &op.entry)?;
        self.permit(&op.to_unit)?;
        let (holder, stays) = (entry.holder.clone(), op.to_unit == op.unit);
        if !stays && !self.known.belongs.contains(&(op.to_unit.as_str().to_owned(), holder.clone())) {
            return Err(Reason::HolderUnknown);
        }
        let part = part(entry, op.quantity.as_ref())?;
        is_at(entry, op.version)?;
        if stays {
            return Ok(OpEnd::Unchanged);
        }
        let unit = op.to_unit.as_str().into();
        match part {
            Some(amount) => {
                can_split(entry, amount)?;
                if amount == 0 {
                    return Ok(OpEnd::Unchanged);
                }
                let part = self.desk.take(op.entry.as_str(), amount, &[]);
                self.put_all(part.map(|part| Part { unit, ..part }), op.merge_scu);
            }
            None if entry.earmarks.sum(Purpose::Donation) > 0 => return Err(Reason::StockEarmarked),
            None => {
                let joins = entry.lot.measure == Measure::Piece || op.merge_scu == Some(true);
                self.desk.move_whole(op.entry.as_str(), unit, joins);
            }
        }
        self.desk.notify(&holder, "org-stock.move");
        Ok(OpEnd::Applied)
    }

    /// OST-27
    fn note(&mut self, op: &SetNote) -> End {
        let entry = self.entry(&op.unit, &op.entry)?;
        is_at(entry, op.version)?;
        let note = note(op.note.as_deref());
        if entry.row.note == note {
            return Ok(OpEnd::Unchanged);
        }
        self.desk.change(op.entry.as_str(), |entry| entry.row.note = note);
        Ok(OpEnd::Applied)
    }

    /// OST-28
    fn stolen(&mut self, op: &MarkStolen) -> End {
        let entry = self.entry(&op.unit, &op.entry)?;
        let part = part(entry, op.quantity.as_ref())?;
        if op.stolen && part != Some(0) && !self.known.marking {
            return Err(Reason::StolenMarkingDisabled);
        }
        is_at(entry, op.version)?;
        if entry.lot.stolen == op.stolen {
            return Ok(OpEnd::Unchanged);
        }
        let twin = entry.lot.twin();
        let Some(amount) = part else {
            self.desk.change(op.entry.as_str(), |entry| entry.lot = twin);
            return Ok(OpEnd::Applied);
        };
        can_split(entry, amount)?;
        if amount == 0 {
            return Ok(OpEnd::Unchanged);
        }
        if let Some(part) = self.desk.take(op.entry.as_str(), amount, &[]) {
            // It becomes an entry of its own, whatever it could join.
            self.desk.put(Part { lot: twin, ..part }, false, None);
        }
        Ok(OpEnd::Applied)
    }

    /// Takes out of an entry, unless there is nothing to take.
    fn take(&mut self, taking: &Taking<'_>) -> Result<Option<Taken>, Reason> {
        let entry = self.entry(taking.unit, taking.entry)?;
        let wanted = taking.wanted(entry)?;
        is_at(entry, taking.version)?;
        self.take_wanted(taking.entry, wanted)
    }

    /// The same, once the version is known to be the current one.
    fn take_wanted(&mut self, entry: &EntryId, wanted: Wanted) -> Result<Option<Taken>, Reason> {
        let Wanted { amount, shares } = wanted;
        let id = entry.as_str();
        let entry = self.desk.entry(id).ok_or(Reason::NotPermitted)?;
        if is_twice(&shares) {
            return Err(Reason::EarmarkTargetInvalid);
        }
        let mut left = entry.earmarks.clone();
        for (purpose, target, share) in &shares {
            if entry.earmarks.amount(*purpose, target) < (*share).max(1) {
                return Err(Reason::EarmarkTargetInvalid);
            }
            left.take(*purpose, target, *share);
        }
        // What stands ready for something goes with what is taken, never beyond it.
        for purpose in [Purpose::JobOrder, Purpose::Mission] {
            let of_it = |(one, _, share): &(Purpose, String, i64)| if *one == purpose { *share } else { 0 };
            if shares.iter().map(of_it).sum::<i64>() > amount {
                return Err(Reason::EarmarkTargetInvalid);
            }
        }
        if amount > entry.row.amount {
            return Err(Reason::InsufficientStock);
        }
        if left.reserved() > entry.row.amount - amount {
            return Err(Reason::StockEarmarked);
        }
        if amount == 0 {
            return Ok(None);
        }
        let holder = entry.holder.clone();
        Ok(self.desk.take(id, amount, &shares).map(|part| Taken { holder, part }))
    }

    /// Puts moved stock where it goes: counted pieces and what is to be merged to what is there.
    fn put(&mut self, part: Part, merge_scu: Option<bool>) {
        let joins = part.lot.measure == Measure::Piece || merge_scu == Some(true);
        self.desk.put(part, joins, None);
    }

    fn put_all(&mut self, parts: Option<Part>, merge_scu: Option<bool>) {
        if let Some(part) = parts {
            self.put(part, merge_scu);
        }
    }
}

/// What was taken, and from whom.
struct Taken {
    holder: MemberId,
    part: Part,
}

impl Taking<'_> {
    fn wanted(&self, entry: &Entry) -> Result<Wanted, Reason> {
        wanted(entry.lot.measure, self.quantity, self.job_orders, self.missions)
    }
}

/// Reads amounts in the lot's own unit.
fn wanted(
    measure: Measure,
    quantity: &Quantity,
    job_orders: &[JobOrderShare],
    missions: &[MissionShare],
) -> Result<Wanted, Reason> {
    let read = |quantity| measure.read(quantity).ok_or(Reason::UnitMismatch);
    let amount = read(quantity)?;
    let mut shares = Vec::with_capacity(job_orders.len() + missions.len());
    for share in job_orders {
        shares.push((Purpose::JobOrder, share.job_order.as_str().to_owned(), read(&share.quantity)?));
    }
    for share in missions {
        shares.push((Purpose::Mission, share.mission.as_str().to_owned(), read(&share.quantity)?));
    }
    Ok(Wanted { amount, shares })
}

/// OST-38: whether a target is named twice.
fn is_twice(shares: &[(Purpose, String, i64)]) -> bool {
    let targets: BTreeSet<_> = shares.iter().map(|(purpose, target, _)| (purpose, target)).collect();
    targets.len() < shares.len()
}

/// OST-33
fn is_at(entry: &Entry, version: EntryVersion) -> Result<(), Reason> {
    if entry.row.version == version.get() { Ok(()) } else { Err(Reason::VersionConflict) }
}

/// The part of an entry that an op is about; none for the whole.
fn part(entry: &Entry, quantity: Option<&Quantity>) -> Result<Option<i64>, Reason> {
    let Some(quantity) = quantity else { return Ok(None) };
    entry.lot.measure.read(quantity).map(Some).ok_or(Reason::UnitMismatch)
}

/// Whether a part can leave an entry: what stands on it stays behind, and has to be held (OST-34 to OST-36).
fn can_split(entry: &Entry, amount: i64) -> Result<(), Reason> {
    let rest = entry.row.amount - amount;
    if rest < 0 {
        return Err(Reason::InsufficientStock);
    }
    if rest < entry.earmarks.reserved() {
        return Err(Reason::StockEarmarked);
    }
    if rest < entry.offered() {
        return Err(Reason::StockOffered);
    }
    Ok(())
}

/// A note as it is kept: a blank one is none (OST-27).
fn note(note: Option<&str>) -> Option<String> {
    note.filter(|note| !note.trim().is_empty()).map(str::to_owned)
}

/// A mission's share of the proceeds, rounded down (A34).
fn share_of(proceeds: i64, earmarked: i64, sold: i64) -> i64 {
    let share = i128::from(proceeds) * i128::from(earmarked) / i128::from(sold.max(1));
    i64::try_from(share).unwrap_or(proceeds)
}
