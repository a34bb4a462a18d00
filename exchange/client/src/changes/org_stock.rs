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

/// The stock to take from an entry: from its free part, unless earmarks are named (OST-21).
#[derive(Clone, Debug, PartialEq)]
pub struct StockSelection {
    quantity: Quantity,
    from_job_orders: Vec<JobOrderShare>,
    from_missions: Vec<MissionShare>,
}

impl StockSelection {
    /// Selects a total quantity, earmarked parts included.
    #[must_use]
    pub const fn new(quantity: Quantity) -> Self {
        Self { quantity, from_job_orders: Vec::new(), from_missions: Vec::new() }
    }

    /// Takes a part of the quantity from stock earmarked for a job order.
    ///
    /// # Errors
    /// `Invalid` for an amount that breaks the contract.
    pub fn from_job_order(mut self, order: JobOrderId, quantity: Quantity) -> Result<Self, Error> {
        self.from_job_orders.push(JobOrderShare::builder().job_order(order).quantity(quantity).build()?);
        Ok(self)
    }

    /// Takes a part of the quantity from stock earmarked for a mission.
    ///
    /// # Errors
    /// `Invalid` for an amount that breaks the contract.
    pub fn from_mission(mut self, mission: MissionId, quantity: Quantity) -> Result<Self, Error> {
        self.from_missions.push(MissionShare::builder().mission(mission).quantity(quantity).build()?);
        Ok(self)
    }
}

/// Ops on one entry in sequence: each is sent with the version that the previous one produces (OST-17), and
/// all in one batch.
#[derive(Debug)]
pub struct EntryOps<'a> {
    changes: &'a mut Changes<OrgStockOp>,
    unit: UnitId,
    entry: EntryId,
    version: i64,
}

impl Changes<OrgStockOp> {
    /// Starts ops on an entry of a unit's pool, as in `entries` of the feed (OST-30).
    pub fn on_entry(&mut self, unit: UnitId, entry: &OrgStockEntry) -> EntryOps<'_> {
        EntryOps { changes: self, unit, entry: entry.id.clone(), version: entry.version.get() }
    }
}

/// Starts the builder of an op on the entry, with unit, entry and version.
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
    /// As [`Changes::push`]; the same applies to the other ops.
    pub fn book_out(&mut self, take: StockSelection) -> Result<OpId, Error> {
        let op = op!(self BookOut takes take).build()?;
        self.push_op(op)
    }

    /// Takes stock out and records its sale: the terminal, and the proceeds in aUEC.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn sell(
        &mut self,
        take: StockSelection,
        terminal: impl Into<String>,
        proceeds: i64,
    ) -> Result<OpId, Error> {
        let op = op!(self SellStock takes take).terminal(terminal).proceeds(proceeds).build()?;
        self.push_op(op)
    }

    /// Moves stock to another place.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn move_to(&mut self, take: StockSelection, location: LocationRef) -> Result<OpId, Error> {
        let op = op!(self MoveLocation takes take).location(location).build()?;
        self.push_op(op)
    }

    /// Moves stock to another holder of the roster of a unit.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn hand_to(&mut self, take: StockSelection, unit: UnitId, holder: HolderRef) -> Result<OpId, Error> {
        let op = op!(self MoveHolder takes take).to_unit(unit).holder(holder).build()?;
        self.push_op(op)
    }

    /// Moves the whole entry, or a part of its free stock, into another pool; the holder is kept.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn move_into(&mut self, unit: UnitId, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MovePool).to_unit(unit).build()?;
        op.quantity = part;
        self.push_op(op)
    }

    /// Sets the note; `None` clears it.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn note(&mut self, note: Option<String>) -> Result<OpId, Error> {
        let mut op = op!(self SetNote).build()?;
        op.note = note;
        self.push_op(op)
    }

    /// Sets or clears the stolen mark of the whole entry, or of a part of it.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn mark_stolen(&mut self, stolen: bool, part: Option<Quantity>) -> Result<OpId, Error> {
        let mut op = op!(self MarkStolen).stolen(stolen).build()?;
        op.quantity = part;
        self.push_op(op)
    }

    /// Appends an op with the version that the previous op produces, which is one more.
    fn push_op(&mut self, op: impl Into<OrgStockOp>) -> Result<OpId, Error> {
        let id = self.changes.push(op)?;
        self.version += 1;
        Ok(id)
    }
}
