//! Org stock: the pools of the member's units, their entries and rosters (OST rows).

mod collection;
mod decide;
mod desk;
mod entry;
mod roster;
mod table;
mod undo;

pub(crate) use desk::tell_of_holder;
pub(super) use desk::tell_of_unit;
pub(super) use roster::prepare;
pub(super) use table::entries;

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::calls::OrgStockRead;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::scopes::Scope;
use exchange_api::server::Refusal;
use exchange_api::types::{ItemRef, LocationRef, OpId, OrgStockChangeSet, OrgStockOp, OrgStockPage};
use rusqlite::Connection;

use super::Backend;
use super::change::{Area, Batch, Decided, Touched, Warnings, Writer};
use super::page::{Reading, Shown};
use super::stock::material;
use super::units;
use super::warehouse::{self, Booking, Measure, ORG_STOCK, bookings};
use crate::catalogue::Index;
use crate::ids::MemberId;
use crate::store::StoreError;
use collection::Pools;
use decide::{Known, Stuff, Target};
use entry::{Entry, Record, Sale};
use roster::Pseudonyms;

/// The area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrgStock;

impl Area for OrgStock {
    const NAME: &'static str = ORG_STOCK;
    const OPERATION: OperationId = OperationId::OrgStockWrite;

    type ChangeSet = OrgStockChangeSet;
    type Op = OrgStockOp;
    type Target = Target;
    type State = Known;
    type Entry = Record;

    fn batch(body: OrgStockChangeSet) -> Batch<OrgStockOp> {
        Batch { ops: body.ops, dry_run: body.dry_run.unwrap_or(false), broken: false }
    }

    fn op_id(op: &OrgStockOp) -> Option<&OpId> {
        match op {
            OrgStockOp::BookIn(op) => op.op_id.as_ref(),
            OrgStockOp::BookOut(op) => op.op_id.as_ref(),
            OrgStockOp::Sell(op) => op.op_id.as_ref(),
            OrgStockOp::MoveLocation(op) => op.op_id.as_ref(),
            OrgStockOp::MoveHolder(op) => op.op_id.as_ref(),
            OrgStockOp::MovePool(op) => op.op_id.as_ref(),
            OrgStockOp::Note(op) => op.op_id.as_ref(),
            OrgStockOp::Stolen(op) => op.op_id.as_ref(),
        }
    }

    fn resolve(index: &Index, ops: &[OrgStockOp], warnings: &mut Warnings) -> Vec<Target> {
        let place = |location: &LocationRef| index.places().find(location).map(|place| place.id.clone());
        let mut stuff = |at: usize, reference: &ItemRef| {
            let found = material(index, reference);
            if found.loc_key_unresolved {
                warnings.loc_key(&format!("/ops/{at}/material/locKey"));
            }
            let (kind, entry) = found.entry?;
            Ok::<_, Reason>(Stuff {
                kind,
                material: entry.id.clone(),
                measure: Measure::of(kind, &entry.facts),
            })
        };
        let target = |(at, op): (usize, &OrgStockOp)| match op {
            OrgStockOp::BookIn(op) => Target::Stuff(stuff(at, &op.material), place(&op.location)),
            OrgStockOp::MoveLocation(op) => Target::Place(place(&op.location)),
            _ => Target::None,
        };
        ops.iter().enumerate().map(target).collect()
    }

    fn load(
        connection: &Connection,
        writer: &Writer,
        ops: &[OrgStockOp],
        targets: &[Target],
    ) -> Result<Known, StoreError> {
        table::known(connection, writer, ops, targets)
    }

    fn decide(state: Known, ops: &[OrgStockOp], targets: &[Target], writer: &Writer) -> Decided<Record> {
        decide::decide(state, ops, targets, writer)
    }

    fn name(index: &Index, touched: &Touched<Record>) -> String {
        match touched.after.as_ref().or(touched.before.as_ref()) {
            None => touched.key.clone(),
            Some(Record::Entry(entry)) => entry.lot.name(index),
            Some(Record::Sale(Sale { kind, material, terminal, .. })) => {
                format!("{}, sold at {terminal}", index.name_of(*kind, material))
            }
        }
    }

    /// A16: nothing here counts as a removal, so that no guard asks for it.
    fn entries(_: &Connection, _: &MemberId) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn apply(
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<Record>],
    ) -> Result<(), StoreError> {
        table::apply(connection, writer, touched)
    }

    fn tell(connection: &Connection, writer: &Writer, touched: &[Touched<Record>]) -> Result<(), StoreError> {
        warehouse::tell(connection, &writer.author, writer.now, &booked(touched))
    }
}

/// What becomes of each row.
fn booked(touched: &[Touched<Record>]) -> Vec<Booking<'_>> {
    let before = touched.iter().filter_map(|touched| entry(touched.before.as_ref()));
    let after = touched.iter().filter_map(|touched| entry(touched.after.as_ref()));
    bookings(before.map(Entry::placed), after.map(Entry::placed))
}

fn entry(record: Option<&Record>) -> Option<&Entry> {
    record.and_then(Record::entry)
}

impl Backend {
    pub(super) async fn read_org_stock(
        &self,
        options: OrgStockRead,
        context: &Context,
    ) -> Result<OrgStockPage, Refusal> {
        let OrgStockRead { cursor, limit, .. } = options;
        let page = self.page_of(Reading { cursor, limit }, context, |connection, admitted, index| {
            // OST-08: without the scope there are no entries, and nothing is refused.
            let granted = admitted.client.granted(&admitted.caller.scopes);
            Ok(Pools {
                member: admitted.member.id.clone(),
                units: units::of(connection, &admitted.member.id)?,
                details: granted.contains(&Scope::ExchangeOrgstockDetails.as_str()),
                names: Pseudonyms::of(connection, &admitted.caller.client)?,
                index,
            })
        });
        let (Shown { items, removed, next_cursor, has_more }, pools) = page.await?;
        let units = pools.units.into_iter().map(|of| of.unit).collect();
        Ok(OrgStockPage { items, removed, next_cursor, has_more, units, extra: Map::new() })
    }
}
