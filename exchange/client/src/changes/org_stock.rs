//! Ops on the pools of units in which the member is Logistician. New stock is booked with
//! [`BookIn`](exchange_api::types::BookIn) and [`Changes::push`]; existing entries are changed through
//! [`Changes::on_entry`].

use exchange_api::types::{
    BookOut, EntryId, EntryVersion, HolderRef, JobOrderId, JobOrderShare, LocationRef, MarkStolen, MissionId,
    MissionShare, MoveHolder, MoveLocation, MovePool, OpId, OrgStockEntry, OrgStockOp, Quantity, SellStock,
    SetNote, UnitId,
};

use super::Changes;
use crate::error::Error;

/// The stock to take from an entry: from the part that is not earmarked, unless earmarks are selected
/// (OST-21).
#[derive(Clone, Debug, PartialEq)]
pub struct StockSelection {
    quantity: Quantity,
    from_job_orders: Vec<JobOrderShare>,
    from_missions: Vec<MissionShare>,
}

impl StockSelection {
    /// Selects a total quantity, which includes the earmarked parts.
    #[must_use]
    pub const fn new(quantity: Quantity) -> Self {
        Self { quantity, from_job_orders: Vec::new(), from_missions: Vec::new() }
    }

    /// Takes a part of the quantity from stock that is earmarked for a job order.
    ///
    /// # Errors
    /// Returns `Invalid` if the quantity violates the contract.
    pub fn from_job_order(mut self, order: JobOrderId, quantity: Quantity) -> Result<Self, Error> {
        self.from_job_orders.push(JobOrderShare::builder().job_order(order).quantity(quantity).build()?);
        Ok(self)
    }

    /// Takes a part of the quantity from stock that is earmarked for a mission.
    ///
    /// # Errors
    /// Returns `Invalid` if the quantity violates the contract.
    pub fn from_mission(mut self, mission: MissionId, quantity: Quantity) -> Result<Self, Error> {
        self.from_missions.push(MissionShare::builder().mission(mission).quantity(quantity).build()?);
        Ok(self)
    }
}

/// A sequence of ops on one entry. Each op is sent with the version that the previous op produces (OST-17),
/// and all ops are sent in one batch.
#[derive(Debug)]
pub struct EntryOps<'a> {
    changes: &'a mut Changes<OrgStockOp>,
    unit: UnitId,
    entry: EntryId,
    version: i64,
}

impl Changes<OrgStockOp> {
    /// Starts a sequence of ops on an entry of a unit's pool, from `entries` in the feed (OST-30).
    pub fn on_entry(&mut self, unit: UnitId, entry: &OrgStockEntry) -> EntryOps<'_> {
        EntryOps { changes: self, unit, entry: entry.id.clone(), version: entry.version.get() }
    }
}

/// Creates the builder of an op and sets unit, entry and version of these `EntryOps`; with `takes`, also the
/// fields of a [`StockSelection`].
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

impl EntryOps<'_> {
    /// Takes stock out of the pool.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`]; this also applies to the other ops.
    pub fn book_out(&mut self, take: StockSelection) -> Result<OpId, Error> {
        let op = op!(self BookOut takes take).build()?;
        self.push_op(op)
    }

    /// Takes stock out and records its sale: the terminal, and the proceeds in aUEC.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn sell(
        &mut self,
        take: StockSelection,
        terminal: impl Into<String>,
        proceeds: i64,
    ) -> Result<OpId, Error> {
        let op = op!(self SellStock takes take).terminal(terminal).proceeds(proceeds).build()?;
        self.push_op(op)
    }

    /// Moves stock to another location.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn move_to(&mut self, take: StockSelection, location: LocationRef) -> Result<OpId, Error> {
        let op = op!(self MoveLocation takes take).location(location).build()?;
        self.push_op(op)
    }

    /// Moves stock to another holder, who must be in the roster of `unit`.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn hand_to(&mut self, take: StockSelection, unit: UnitId, holder: HolderRef) -> Result<OpId, Error> {
        let op = op!(self MoveHolder takes take).to_unit(unit).holder(holder).build()?;
        self.push_op(op)
    }

    /// Moves the whole entry, or a part of its stock that is not earmarked, into another pool. The holder
    /// stays the same.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn move_into(&mut self, unit: UnitId, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MovePool).to_unit(unit).build()?;
        op.quantity = part;
        self.push_op(op)
    }

    /// Sets the note; `None` clears it.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn note(&mut self, note: Option<String>) -> Result<OpId, Error> {
        let mut op = op!(self SetNote).build()?;
        op.note = note;
        self.push_op(op)
    }

    /// Sets or clears the stolen mark of the whole entry, or of a part of it.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn mark_stolen(&mut self, stolen: bool, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MarkStolen).stolen(stolen).build()?;
        op.quantity = part;
        self.push_op(op)
    }

    /// Appends an op. The next op gets the version that this op produces, which is one higher.
    fn push_op(&mut self, op: impl Into<OrgStockOp>) -> Result<OpId, Error> {
        let id = self.changes.push(op)?;
        self.version += 1;
        Ok(id)
    }
}
