//! Ops on the pools of units whose Logistician the member is. What is new is booked in with
//! [`BookIn`](exchange_api::types::BookIn) and [`Changes::push`]; what is there is changed through
//! [`Changes::on_entry`].

use exchange_api::types::{
    BookOut, EntryId, EntryVersion, HolderRef, JobOrderId, JobOrderShare, LocationRef, MarkStolen, MissionId,
    MissionShare, MoveHolder, MoveLocation, MovePool, OpId, OrgStockEntry, OrgStockOp, Quantity, SellStock,
    SetNote, UnitId,
};

use super::Changes;
use crate::error::Error;

/// What to take of an entry: of its free part, unless earmarks are named (OST-21).
#[derive(Clone, Debug, PartialEq)]
pub struct Take {
    quantity: Quantity,
    from_job_orders: Vec<JobOrderShare>,
    from_missions: Vec<MissionShare>,
}

impl Take {
    /// So much, earmarked parts included.
    #[must_use]
    pub const fn of(quantity: Quantity) -> Self {
        Self { quantity, from_job_orders: Vec::new(), from_missions: Vec::new() }
    }

    /// So much of it from what is earmarked to a job order.
    ///
    /// # Errors
    /// `Invalid` for an amount that breaks the contract.
    pub fn from_job_order(mut self, order: JobOrderId, quantity: Quantity) -> Result<Self, Error> {
        self.from_job_orders.push(JobOrderShare::builder().job_order(order).quantity(quantity).build()?);
        Ok(self)
    }

    /// So much of it from what is earmarked to a mission.
    ///
    /// # Errors
    /// `Invalid` for an amount that breaks the contract.
    pub fn from_mission(mut self, mission: MissionId, quantity: Quantity) -> Result<Self, Error> {
        self.from_missions.push(MissionShare::builder().mission(mission).quantity(quantity).build()?);
        Ok(self)
    }
}

/// Ops on one entry, one after another: each is sent with the version that the one before it leaves behind
/// (OST-17), and all of them in one batch.
#[derive(Debug)]
pub struct OnEntry<'a> {
    changes: &'a mut Changes<OrgStockOp>,
    unit: UnitId,
    entry: EntryId,
    version: i64,
}

impl Changes<OrgStockOp> {
    /// Changes an entry of a unit's pool, as `entries` of the feed has it (OST-30).
    pub fn on_entry(&mut self, unit: UnitId, entry: &OrgStockEntry) -> OnEntry<'_> {
        OnEntry { changes: self, unit, entry: entry.id.clone(), version: entry.version.get() }
    }
}

/// Starts an op on the entry: all have unit, entry and version.
macro_rules! op {
    ($self:ident $op:ident) => {
        $op::builder()
            .unit($self.unit.clone())
            .entry($self.entry.clone())
            .version(EntryVersion::new($self.version)?)
    };
    ($self:ident $op:ident takes $take:ident) => {
        op!($self $op)
            .quantity($take.quantity)
            .from_job_orders($take.from_job_orders)
            .from_missions($take.from_missions)
    };
}

impl OnEntry<'_> {
    /// Takes stock out of the pool.
    ///
    /// # Errors
    /// As [`Changes::push`]; so do all others.
    pub fn book_out(&mut self, take: Take) -> Result<OpId, Error> {
        let op = op!(self BookOut takes take).build()?;
        self.push(op)
    }

    /// Takes stock out and records its sale: where, and what it brought in aUEC.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn sell(&mut self, take: Take, terminal: impl Into<String>, proceeds: i64) -> Result<OpId, Error> {
        let op = op!(self SellStock takes take).terminal(terminal).proceeds(proceeds).build()?;
        self.push(op)
    }

    /// Moves stock to another place.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn move_to(&mut self, take: Take, location: LocationRef) -> Result<OpId, Error> {
        let op = op!(self MoveLocation takes take).location(location).build()?;
        self.push(op)
    }

    /// Moves stock to another holder of the roster of a unit.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn hand_to(&mut self, take: Take, unit: UnitId, holder: HolderRef) -> Result<OpId, Error> {
        let op = op!(self MoveHolder takes take).to_unit(unit).holder(holder).build()?;
        self.push(op)
    }

    /// Moves the whole entry, or a part of its free stock, into another pool; the holder stays.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn move_into(&mut self, unit: UnitId, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MovePool).to_unit(unit).build()?;
        op.quantity = part;
        self.push(op)
    }

    /// Sets the note; `None` clears it.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn note(&mut self, note: Option<String>) -> Result<OpId, Error> {
        let mut op = op!(self SetNote).build()?;
        op.note = note;
        self.push(op)
    }

    /// Marks the whole entry, or a part of it, as stolen, or takes the mark away.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn mark_stolen(&mut self, stolen: bool, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MarkStolen).stolen(stolen).build()?;
        op.quantity = part;
        self.push(op)
    }

    /// Any op on the entry, in the version that the last one leaves behind: the next is one more.
    fn push(&mut self, op: impl Into<OrgStockOp>) -> Result<OpId, Error> {
        let id = self.changes.push(op)?;
        self.version += 1;
        Ok(id)
    }
}
