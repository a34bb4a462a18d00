//! Decides org-stock ops with pure functions over the loaded state.
//!
//! Each op sees the effects of the ops before it (OST-17). The checks run in the following order, and the
//! first check that fails determines the reason (A19): permission for the pools and existence of the entry,
//! references to holder and material, location, unit of measure, stolen marking, version, whether the op
//! changes anything, earmarks, and the free amount.

mod pool_ledger;

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::reasons::Reason;
use exchange_api::types::{
    BookIn, BookOut, EntryId, EntryVersion, JobOrderShare, MarkStolen, MissionShare, MoveHolder,
    MoveLocation, MovePool, OrgStockOp, Quantity, SellStock, SetNote, UnitId,
};

use super::super::change::{BatchDecision, OpStatus, WriteContext};
use super::super::warehouse::{Earmark, EarmarkPurpose, EarmarkSet, Lot, Measure};
use super::pool_record::{PoolEntry, PoolRecord};
use crate::catalogue::contents::EntryKind;
use crate::ids::MemberId;
use pool_ledger::{PoolLedger, StockPart};

/// The catalogue keys to which an op's references resolve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OpTarget {
    /// The op has no reference to the catalogue.
    None,
    /// The key of a location; `None` if the location is unknown.
    Place(Option<String>),
    /// A material or an item, and the key of a location.
    Item(Result<StockItem, Reason>, Option<String>),
}

/// A material or an item, with its measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StockItem {
    pub(crate) kind: EntryKind,
    pub(crate) material: String,
    pub(crate) measure: Measure,
}

/// The stored state that the ops depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PoolState {
    /// Whether stock may be marked as stolen on this exchange.
    pub(crate) is_marking_enabled: bool,
    /// The units of which the member is a direct member and Logistician (A15).
    pub(crate) logistician_units: BTreeSet<String>,
    /// The rosters of the units in `logistician_units`: the members by holder reference.
    pub(crate) rosters: BTreeMap<String, BTreeMap<String, MemberId>>,
    /// The pairs of unit and holder in which the holder of an entry is a direct member of the unit.
    pub(crate) memberships: BTreeSet<(String, MemberId)>,
    /// The needs of open job orders: the id of the order, and the kind and id of the material or item.
    pub(crate) needs: BTreeSet<(String, EntryKind, String)>,
    /// The missions that exist, among those to which ops refer.
    pub(crate) missions: BTreeSet<String>,
    /// The missions in which the member takes part.
    pub(crate) joined_missions: BTreeSet<String>,
    /// The entries to which ops refer or with which stock may be merged, oldest first.
    pub(crate) entries: Vec<PoolEntry>,
}

/// The status of an op, or the reason for refusing it.
type PoolOpResult = Result<OpStatus, Reason>;

/// Decides the ops in order; each op sees the effects of the ops before it (WRT-02, OST-17).
pub(crate) fn decide_ops(
    mut loaded: PoolState,
    ops: &[OrgStockOp],
    targets: &[OpTarget],
    writer: &WriteContext,
) -> BatchDecision<PoolRecord> {
    let entries = std::mem::take(&mut loaded.entries);
    let mut deciding = OpProcessor { ledger: PoolLedger::new(entries, writer), state: loaded };
    let end = |(op, target)| deciding.decide_op(op, target).unwrap_or_else(OpStatus::Refused);
    let ends = ops.iter().zip(targets).map(end).collect();
    deciding.ledger.into_decision(ends)
}

struct OpProcessor<'w> {
    state: PoolState,
    ledger: PoolLedger<'w>,
}

/// The entry and the amounts of an op that takes stock.
struct TakeRequest<'o> {
    unit: &'o UnitId,
    entry: &'o EntryId,
    version: EntryVersion,
    quantity: &'o Quantity,
    job_orders: &'o [JobOrderShare],
    missions: &'o [MissionShare],
}

macro_rules! taking {
    ($op:ident) => {
        TakeRequest {
            unit: &$op.unit,
            entry: &$op.entry,
            version: $op.version,
            quantity: &$op.quantity,
            job_orders: $op.from_job_orders.as_deref().unwrap_or_default(),
            missions: $op.from_missions.as_deref().unwrap_or_default(),
        }
    };
}

/// The parsed amount of an op, and its earmarked shares.
struct TakeAmounts {
    amount: i64,
    shares: Vec<(EarmarkPurpose, String, i64)>,
}

impl OpProcessor<'_> {
    fn decide_op(&mut self, op: &OrgStockOp, target: &OpTarget) -> PoolOpResult {
        match (op, target) {
            (OrgStockOp::BookIn(op), OpTarget::Item(item, place)) => self.book_in(op, item, place.as_ref()),
            (OrgStockOp::BookOut(op), _) => self.book_out(op),
            (OrgStockOp::Sell(op), _) => self.sell_stock(op),
            (OrgStockOp::MoveLocation(op), OpTarget::Place(place)) => self.move_location(op, place.as_ref()),
            (OrgStockOp::MoveHolder(op), _) => self.move_holder(op),
            (OrgStockOp::MovePool(op), _) => self.move_pool(op),
            (OrgStockOp::Note(op), _) => self.set_note(op),
            (OrgStockOp::Stolen(op), _) => self.mark_stolen(op),
            (OrgStockOp::BookIn(_), _) => Err(Reason::Unmatched),
            (OrgStockOp::MoveLocation(_), _) => Err(Reason::LocationUnknown),
        }
    }

    /// Checks that the member may write to a pool (OST-31).
    fn check_permission(&self, unit: &UnitId) -> Result<(), Reason> {
        if self.state.logistician_units.contains(unit.as_str()) { Ok(()) } else { Err(Reason::NotPermitted) }
    }

    /// Finds an entry of a pool to which the member may write (OST-31).
    fn find_entry(&self, unit: &UnitId, entry: &EntryId) -> Result<&PoolEntry, Reason> {
        self.check_permission(unit)?;
        let entry = self.ledger.entry(entry.as_str()).filter(|entry| entry.is_in(unit.as_str()));
        entry.ok_or(Reason::NotPermitted)
    }

    /// Returns the member to whom a holder reference on a unit's roster refers (OST-32).
    fn find_holder(&self, unit: &UnitId, reference: &str) -> Result<MemberId, Reason> {
        let roster = self.state.rosters.get(unit.as_str());
        roster.and_then(|roster| roster.get(reference)).cloned().ok_or(Reason::HolderUnknown)
    }

    /// Books stock into a pool (OST-20).
    fn book_in(
        &mut self,
        op: &BookIn,
        item: &Result<StockItem, Reason>,
        place: Option<&String>,
    ) -> PoolOpResult {
        self.check_permission(&op.unit)?;
        let holder = self.find_holder(&op.unit, op.holder.as_str())?;
        let StockItem { kind, material, measure } = item.clone()?;
        let location = place.ok_or(Reason::LocationUnknown)?.clone();
        let job_orders = op.job_orders.as_deref().unwrap_or_default();
        let missions = op.missions.as_deref().unwrap_or_default();
        let TakeAmounts { amount, shares } = parse_shares(measure, &op.quantity, job_orders, missions)?;
        // A43: an op with the amount 0 marks nothing as stolen.
        if op.stolen && amount > 0 && !self.state.is_marking_enabled {
            return Err(Reason::StolenMarkingDisabled);
        }
        let quality = if kind == EntryKind::Item { 0 } else { op.quality.get() };
        let lot = Lot { kind, material, measure, location, quality, stolen: op.stolen };
        if has_duplicate_target(&shares) {
            return Err(Reason::EarmarkTargetInvalid);
        }
        let mut earmarks = EarmarkSet::default();
        for (purpose, target, amount) in shares {
            if !self.is_target(purpose, &target, &lot) {
                return Err(Reason::EarmarkTargetInvalid);
            }
            earmarks.add_earmark(purpose, &target, Earmark { amount, delivered: false });
        }
        if earmarks.reserved_amount() > amount {
            return Err(Reason::OverAllocation);
        }
        if amount == 0 {
            return Ok(OpStatus::Unchanged);
        }
        let note = normalize_note(op.note.as_deref());
        let unit = op.unit.as_str().into();
        let joins = measure == Measure::Piece || op.merge_scu == Some(true);
        let booked_at = self.ledger.now();
        let part = StockPart { holder, lot, unit, amount, note: note.clone(), booked_at, earmarks };
        self.ledger.put_stock(part, joins, note);
        Ok(OpStatus::Applied)
    }

    /// Returns true if stock of a lot can be earmarked to a target (OST-38).
    fn is_target(&self, purpose: EarmarkPurpose, target: &str, lot: &Lot) -> bool {
        match purpose {
            EarmarkPurpose::JobOrder => {
                self.state.needs.contains(&(target.to_owned(), lot.kind, lot.material.clone()))
            }
            EarmarkPurpose::Mission => {
                lot.kind == EntryKind::Material && self.state.missions.contains(target)
            }
            EarmarkPurpose::Donation => false,
        }
    }

    /// Removes stock from an entry (OST-21).
    fn book_out(&mut self, op: &BookOut) -> PoolOpResult {
        let Some(TakenPart { holder, .. }) = self.take_part(&taking!(op))? else {
            return Ok(OpStatus::Unchanged);
        };
        self.ledger.notify_member(&holder, "org-stock.book-out");
        Ok(OpStatus::Applied)
    }

    /// Sells stock of an entry, and assigns shares of the proceeds to missions (OST-22).
    fn sell_stock(&mut self, op: &SellStock) -> PoolOpResult {
        let Some(TakenPart { holder, part, .. }) = self.take_part(&taking!(op))? else {
            return Ok(OpStatus::Unchanged);
        };
        let mut incomes = BTreeMap::new();
        for (purpose, mission, earmark) in part.earmarks.iter() {
            if purpose == EarmarkPurpose::Mission && self.state.joined_missions.contains(mission) {
                let share = share_of(op.proceeds, earmark.amount, part.amount);
                incomes.extend((share > 0).then(|| (mission.to_owned(), share)));
            }
        }
        self.ledger.record_sale(part, &op.terminal, op.proceeds, incomes);
        self.ledger.notify_member(&holder, "org-stock.sale");
        Ok(OpStatus::Applied)
    }

    /// Moves stock to another location (OST-23).
    fn move_location(&mut self, op: &MoveLocation, place: Option<&String>) -> PoolOpResult {
        let taking = taking!(op);
        let entry = self.find_entry(taking.unit, taking.entry)?;
        let location = place.ok_or(Reason::LocationUnknown)?.clone();
        let requested = taking.parse_amounts(entry)?;
        check_version(entry, taking.version)?;
        if entry.lot.location == location {
            return Ok(OpStatus::Unchanged);
        }
        let Some(TakenPart { holder, part }) = self.take_amounts(taking.entry, requested)? else {
            return Ok(OpStatus::Unchanged);
        };
        let lot = Lot { location, ..part.lot.clone() };
        self.ledger.notify_member(&holder, "org-stock.move");
        self.put_part(StockPart { lot, ..part }, op.merge_scu);
        Ok(OpStatus::Applied)
    }

    /// Moves stock to another holder (OST-24).
    fn move_holder(&mut self, op: &MoveHolder) -> PoolOpResult {
        let taking = taking!(op);
        let entry = self.find_entry(taking.unit, taking.entry)?;
        self.check_permission(&op.to_unit)?;
        let to = self.find_holder(&op.to_unit, op.holder.as_str())?;
        let same_holder = to == entry.holder;
        if same_holder && op.to_unit != op.unit {
            return Err(Reason::NotPermitted);
        }
        let requested = taking.parse_amounts(entry)?;
        check_version(entry, taking.version)?;
        if same_holder {
            return Ok(OpStatus::Unchanged);
        }
        let Some(TakenPart { holder, part }) = self.take_amounts(taking.entry, requested)? else {
            return Ok(OpStatus::Unchanged);
        };
        for member in [&holder, &to] {
            self.ledger.notify_member(member, "org-stock.move");
        }
        let unit = op.to_unit.as_str().into();
        // The note is removed, because the previous holder may not want to share it.
        self.put_part(StockPart { holder: to, unit, note: None, ..part }, op.merge_scu);
        Ok(OpStatus::Applied)
    }

    /// Moves stock to the pool of another unit (OST-25, OST-26).
    fn move_pool(&mut self, op: &MovePool) -> PoolOpResult {
        let entry = self.find_entry(&op.unit, &op.entry)?;
        self.check_permission(&op.to_unit)?;
        let (holder, stays) = (entry.holder.clone(), op.to_unit == op.unit);
        if !stays && !self.state.memberships.contains(&(op.to_unit.as_str().to_owned(), holder.clone())) {
            return Err(Reason::HolderUnknown);
        }
        let part = parse_part(entry, op.quantity.as_ref())?;
        check_version(entry, op.version)?;
        if stays {
            return Ok(OpStatus::Unchanged);
        }
        let unit = op.to_unit.as_str().into();
        match part {
            Some(amount) => {
                check_split(entry, amount)?;
                if amount == 0 {
                    return Ok(OpStatus::Unchanged);
                }
                let part = self.ledger.take_stock(op.entry.as_str(), amount, &[]);
                self.put_optional_part(part.map(|part| StockPart { unit, ..part }), op.merge_scu);
            }
            None if entry.earmarks.purpose_total(EarmarkPurpose::Donation) > 0 => {
                return Err(Reason::StockEarmarked);
            }
            None => {
                let joins = entry.lot.measure == Measure::Piece || op.merge_scu == Some(true);
                self.ledger.move_whole(op.entry.as_str(), unit, joins);
            }
        }
        self.ledger.notify_member(&holder, "org-stock.move");
        Ok(OpStatus::Applied)
    }

    /// Sets or removes an entry's note (OST-27).
    fn set_note(&mut self, op: &SetNote) -> PoolOpResult {
        let entry = self.find_entry(&op.unit, &op.entry)?;
        check_version(entry, op.version)?;
        let note = normalize_note(op.note.as_deref());
        if entry.row.note == note {
            return Ok(OpStatus::Unchanged);
        }
        self.ledger.update_entry(op.entry.as_str(), |entry| entry.row.note = note);
        Ok(OpStatus::Applied)
    }

    /// Changes the stolen flag of an entry, or of a part of it (OST-28).
    fn mark_stolen(&mut self, op: &MarkStolen) -> PoolOpResult {
        let entry = self.find_entry(&op.unit, &op.entry)?;
        let part = parse_part(entry, op.quantity.as_ref())?;
        if op.stolen && part != Some(0) && !self.state.is_marking_enabled {
            return Err(Reason::StolenMarkingDisabled);
        }
        check_version(entry, op.version)?;
        if entry.lot.stolen == op.stolen {
            return Ok(OpStatus::Unchanged);
        }
        let twin = entry.lot.stolen_twin();
        let Some(amount) = part else {
            self.ledger.update_entry(op.entry.as_str(), |entry| entry.lot = twin);
            return Ok(OpStatus::Applied);
        };
        check_split(entry, amount)?;
        if amount == 0 {
            return Ok(OpStatus::Unchanged);
        }
        if let Some(part) = self.ledger.take_stock(op.entry.as_str(), amount, &[]) {
            // The part becomes a new entry. It is never merged with another entry.
            self.ledger.put_stock(StockPart { lot: twin, ..part }, false, None);
        }
        Ok(OpStatus::Applied)
    }

    /// Takes stock out of an entry. Returns `Ok(None)` if the amount is 0.
    fn take_part(&mut self, taking: &TakeRequest<'_>) -> Result<Option<TakenPart>, Reason> {
        let entry = self.find_entry(taking.unit, taking.entry)?;
        let requested = taking.parse_amounts(entry)?;
        check_version(entry, taking.version)?;
        self.take_amounts(taking.entry, requested)
    }

    /// Takes stock out of an entry whose version has been checked.
    fn take_amounts(&mut self, entry: &EntryId, requested: TakeAmounts) -> Result<Option<TakenPart>, Reason> {
        let TakeAmounts { amount, shares } = requested;
        let id = entry.as_str();
        let entry = self.ledger.entry(id).ok_or(Reason::NotPermitted)?;
        if has_duplicate_target(&shares) {
            return Err(Reason::EarmarkTargetInvalid);
        }
        let mut left = entry.earmarks.clone();
        for (purpose, target, share) in &shares {
            if entry.earmarks.target_amount(*purpose, target) < (*share).max(1) {
                return Err(Reason::EarmarkTargetInvalid);
            }
            left.take_earmark(*purpose, target, *share);
        }
        // The earmarked shares are parts of the amount, so their sum must not exceed it.
        for purpose in [EarmarkPurpose::JobOrder, EarmarkPurpose::Mission] {
            let of_it =
                |(one, _, share): &(EarmarkPurpose, String, i64)| if *one == purpose { *share } else { 0 };
            if shares.iter().map(of_it).sum::<i64>() > amount {
                return Err(Reason::EarmarkTargetInvalid);
            }
        }
        if amount > entry.row.amount {
            return Err(Reason::InsufficientStock);
        }
        if left.reserved_amount() > entry.row.amount - amount {
            return Err(Reason::StockEarmarked);
        }
        if amount == 0 {
            return Ok(None);
        }
        let holder = entry.holder.clone();
        Ok(self.ledger.take_stock(id, amount, &shares).map(|part| TakenPart { holder, part }))
    }

    /// Adds moved stock at its destination. Stock in pieces is merged with an existing entry. Stock in SCU is
    /// merged only if `merge_scu` is `Some(true)`.
    fn put_part(&mut self, part: StockPart, merge_scu: Option<bool>) {
        let joins = part.lot.measure == Measure::Piece || merge_scu == Some(true);
        self.ledger.put_stock(part, joins, None);
    }

    fn put_optional_part(&mut self, parts: Option<StockPart>, merge_scu: Option<bool>) {
        if let Some(part) = parts {
            self.put_part(part, merge_scu);
        }
    }
}

/// Stock that was taken from an entry, with the previous holder.
struct TakenPart {
    holder: MemberId,
    part: StockPart,
}

impl TakeRequest<'_> {
    fn parse_amounts(&self, entry: &PoolEntry) -> Result<TakeAmounts, Reason> {
        parse_shares(entry.lot.measure, self.quantity, self.job_orders, self.missions)
    }
}

/// Parses the amounts of an op in the measure of the lot.
fn parse_shares(
    measure: Measure,
    quantity: &Quantity,
    job_orders: &[JobOrderShare],
    missions: &[MissionShare],
) -> Result<TakeAmounts, Reason> {
    let read = |quantity| measure.parse_quantity(quantity).ok_or(Reason::UnitMismatch);
    let amount = read(quantity)?;
    let mut shares = Vec::with_capacity(job_orders.len() + missions.len());
    for share in job_orders {
        shares.push((EarmarkPurpose::JobOrder, share.job_order.as_str().to_owned(), read(&share.quantity)?));
    }
    for share in missions {
        shares.push((EarmarkPurpose::Mission, share.mission.as_str().to_owned(), read(&share.quantity)?));
    }
    Ok(TakeAmounts { amount, shares })
}

/// Returns true if a target occurs twice (OST-38).
fn has_duplicate_target(shares: &[(EarmarkPurpose, String, i64)]) -> bool {
    let targets: BTreeSet<_> = shares.iter().map(|(purpose, target, _)| (purpose, target)).collect();
    targets.len() < shares.len()
}

/// Checks the version of an entry (OST-33).
fn check_version(entry: &PoolEntry, version: EntryVersion) -> Result<(), Reason> {
    if entry.row.version == version.get() { Ok(()) } else { Err(Reason::VersionConflict) }
}

/// Parses the amount of an op on a part of an entry. Returns `Ok(None)` if the op applies to the whole entry.
fn parse_part(entry: &PoolEntry, quantity: Option<&Quantity>) -> Result<Option<i64>, Reason> {
    let Some(quantity) = quantity else { return Ok(None) };
    entry.lot.measure.parse_quantity(quantity).map(Some).ok_or(Reason::UnitMismatch)
}

/// Checks that a part of an entry can be taken out. The rest must cover the reservations and the offer
/// (OST-34 to OST-36).
fn check_split(entry: &PoolEntry, amount: i64) -> Result<(), Reason> {
    let rest = entry.row.amount - amount;
    if rest < 0 {
        return Err(Reason::InsufficientStock);
    }
    if rest < entry.earmarks.reserved_amount() {
        return Err(Reason::StockEarmarked);
    }
    if rest < entry.offered_amount() {
        return Err(Reason::StockOffered);
    }
    Ok(())
}

/// Normalizes a note. A blank note becomes `None` (OST-27).
fn normalize_note(note: Option<&str>) -> Option<String> {
    note.filter(|note| !note.trim().is_empty()).map(str::to_owned)
}

/// Computes a mission's share of the proceeds, rounded down (A34).
fn share_of(proceeds: i64, earmarked: i64, sold: i64) -> i64 {
    let share = i128::from(proceeds) * i128::from(earmarked) / i128::from(sold.max(1));
    i64::try_from(share).unwrap_or(proceeds)
}
