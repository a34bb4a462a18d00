//! The member's stock: lots over the warehouse's rows (STK rows).

mod book;
mod collection;
mod decide;
mod desk;
mod moves;
mod removals;
mod table;
mod undo;

pub(super) use collection::material_kind;
pub(super) use table::marking;

use std::collections::HashMap;

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::calls::StockRead;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::server::Refusal;
use exchange_api::types::{ItemRef, LocationRef, OpId, Quantity, StockChangeSet, StockOp, StockPage};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{Area, Batch, Decided, Touched, Warnings, Writer};
use super::page::{Reading, Shown};
use super::warehouse::{self, Lot, Measure, Placed, Row, bookings};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Entry, Index, Resolution, Resolved};
use crate::feed::{self, Change, Stream};
use crate::ids::MemberId;
use crate::store::StoreError;
use collection::Mine;
use decide::{Known, Wish};

/// The area's name in journal, audit and feeds.
const NAME: &str = warehouse::STOCK;

/// So many rows are sooner compared one by one than looked up: most lots have no more.
const FEW: usize = 8;

/// The area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stock;

/// What a member holds of a lot before or after a change, as the journal keeps it: in all, and row by row what the
/// change made different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Holding {
    pub(crate) lot: Lot,
    /// By all rows of the lot.
    pub(crate) held: i64,
    /// Those that are not the same on the other side of the change: what the journal keeps grows with what is
    /// changed, not with what is there.
    pub(crate) rows: Vec<Row>,
}

impl Holding {
    /// What all rows of a lot were and are; none where there are no rows.
    fn pair(lot: &Lot, [before, after]: [&[Row]; 2]) -> [Option<Self>; 2] {
        [Self::beside(lot, before, after), Self::beside(lot, after, before)]
    }

    /// Keeps of rows what is not among others.
    fn beside(lot: &Lot, rows: &[Row], others: &[Row]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let held = warehouse::held(rows);
        let differ = if others.len() <= FEW {
            rows.iter().filter(|row| !others.contains(row)).cloned().collect()
        } else {
            let others: HashMap<&str, &Row> = others.iter().map(|row| (&*row.id, row)).collect();
            rows.iter().filter(|row| others.get(&*row.id) != Some(row)).cloned().collect()
        };
        Some(Self { lot: lot.clone(), held, rows: differ })
    }
}

/// One op: what a lot should hold (STK-05).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Op {
    op_id: Option<OpId>,
    material: ItemRef,
    location: LocationRef,
    quality: i64,
    stolen: bool,
    quantity: Quantity,
    expected: Quantity,
    /// Whether the member was asked about a removal by somebody else (WRT-14).
    overrule: bool,
}

impl From<StockOp> for Op {
    fn from(op: StockOp) -> Self {
        let StockOp::SetQuantity(set) = op;
        Self {
            op_id: set.op_id,
            material: set.material,
            location: set.location,
            quality: set.quality.get(),
            stolen: set.stolen,
            quantity: set.quantity,
            expected: set.expected_quantity,
            overrule: set.override_.unwrap_or(false),
        }
    }
}

impl Area for Stock {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::StockWrite;

    type ChangeSet = StockChangeSet;
    type Op = Op;
    /// What the first three steps come to, which only the catalogue decides.
    type Target = Result<Wish, Reason>;
    type State = Known;
    type Entry = Holding;

    fn batch(body: StockChangeSet) -> Batch<Op> {
        let dry_run = body.dry_run.unwrap_or(false);
        Batch { ops: body.ops.into_iter().map(Op::from).collect(), dry_run, broken: false }
    }

    fn op_id(op: &Op) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve(index: &Index, ops: &[Op], warnings: &mut Warnings) -> Vec<Self::Target> {
        let wish = |(at, op): (usize, &Op)| {
            let found = material(index, &op.material);
            if found.loc_key_unresolved {
                warnings.loc_key(&format!("/ops/{at}/material/locKey"));
            }
            let (kind, entry) = found.entry?;
            let place = index.places().find(&op.location).ok_or(Reason::LocationUnknown)?;
            let measure = Measure::of(kind, &entry.facts);
            let read = |quantity| measure.read(quantity).ok_or(Reason::UnitMismatch);
            let (quantity, expected) = (read(&op.quantity)?, read(&op.expected)?);
            let lot = Lot {
                kind,
                material: entry.id.clone(),
                measure,
                location: place.id.clone(),
                // STK-14
                quality: if kind == Kind::Item { 0 } else { op.quality },
                stolen: op.stolen,
            };
            Ok(Wish { lot, quantity, expected, overrule: op.overrule })
        };
        ops.iter().enumerate().map(wish).collect()
    }

    fn load(
        connection: &Connection,
        writer: &Writer,
        _: &[Op],
        targets: &[Self::Target],
    ) -> Result<Known, StoreError> {
        table::known(connection, writer, targets)
    }

    fn decide(state: Known, _: &[Op], targets: &[Self::Target], writer: &Writer) -> Decided<Holding> {
        decide::decide(state, targets, writer)
    }

    fn name(index: &Index, touched: &Touched<Holding>) -> String {
        let holding = touched.after.as_ref().or(touched.before.as_ref());
        holding.map_or_else(|| touched.key.clone(), |holding| holding.lot.name(index))
    }

    fn entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count(connection, member)
    }

    fn apply(
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<Holding>],
    ) -> Result<(), StoreError> {
        warehouse::write(connection, &booked(&writer.member, touched))
    }

    fn tell(
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<Holding>],
    ) -> Result<(), StoreError> {
        warehouse::tell(connection, &writer.author, writer.now, &booked(&writer.member, touched))?;
        // What was filled and emptied at once has no rows to tell of, but its last change is this (STK-12).
        let emptied = touched.iter().filter(|touched| touched.before.is_none() && touched.after.is_none());
        let emptied = emptied.map(|touched| Change { key: &touched.key, gone: true });
        let stream = Stream::of_member(NAME, &writer.member);
        feed::record(connection, &stream, &writer.author, writer.now, emptied)
    }
}

/// What becomes of each row of the lots.
fn booked<'a>(member: &'a MemberId, touched: &'a [Touched<Holding>]) -> Vec<warehouse::Booking<'a>> {
    let placed = |key: &'a str, holding: &'a Option<Holding>| {
        let rows = move |Holding { lot, rows, .. }: &'a Holding| {
            rows.iter().map(move |row| Placed { holder: member, lot, key: Some(key), row })
        };
        holding.iter().flat_map(rows)
    };
    let before = touched.iter().flat_map(|touched| placed(&touched.key, &touched.before));
    bookings(before, touched.iter().flat_map(|touched| placed(&touched.key, &touched.after)))
}

/// What a reference finds: a material, else an item (STK-06).
pub(super) struct Found<'i> {
    pub(super) entry: Result<(Kind, &'i Entry), Reason>,
    pub(super) loc_key_unresolved: bool,
}

/// Looks a reference up among materials, then among items. Of its keys only `bt` decides for both (A25): ids of
/// materials and of items elsewhere are numbered apart, and may be the same.
pub(super) fn material<'i>(index: &'i Index, reference: &ItemRef) -> Found<'i> {
    let by_key = |kind| reference.bt.as_ref().and_then(|key| index.entry(kind, key.as_str()));
    if let (None, Some(item)) = (by_key(Kind::Material), by_key(Kind::Item)) {
        return Found { entry: Ok((Kind::Item, item)), loc_key_unresolved: false };
    }
    let Resolved { resolution, is_guess, loc_key_unresolved } = index.resolve(Kind::Material, reference);
    match resolution {
        Resolution::One(entry) => return Found { entry: Ok((Kind::Material, entry)), loc_key_unresolved },
        // What is only like a material's name may be an item's.
        Resolution::Several(_) if !is_guess => {
            return Found { entry: Err(Reason::Ambiguous), loc_key_unresolved };
        }
        Resolution::Several(_) | Resolution::Nothing => {}
    }
    let Resolved { resolution, loc_key_unresolved, .. } = index.resolve(Kind::Item, reference);
    let entry = match resolution {
        Resolution::One(entry) => Ok((Kind::Item, entry)),
        Resolution::Several(_) => Err(Reason::Ambiguous),
        Resolution::Nothing if is_guess => Err(Reason::Ambiguous),
        Resolution::Nothing => Err(Reason::Unmatched),
    };
    Found { entry, loc_key_unresolved }
}

impl Backend {
    pub(super) async fn read_stock(
        &self,
        options: StockRead,
        context: &Context,
    ) -> Result<StockPage, Refusal> {
        let StockRead { cursor, limit, .. } = options;
        let page = self.page(Reading { cursor, limit }, context, |admitted, index| Mine {
            member: admitted.member.id.clone(),
            index,
        });
        let Shown { items, removed, next_cursor, has_more } = page.await?;
        Ok(StockPage { items, removed, next_cursor, has_more, extra: Map::new() })
    }
}
