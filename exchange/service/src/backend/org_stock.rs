//! Org stock: the pools of the member's units, with their entries and rosters (OST rows).

mod collection;
mod decide;
mod pool_record;
mod roster;
mod server_side_changes;
mod table;
mod undo;

pub(super) use roster::prepare_key;
pub(crate) use server_side_changes::publish_holder_change;
pub(super) use server_side_changes::publish_unit_change;
pub(super) use table::load_entries;

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::calls::OrgStockReadOptions;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::scopes::Scope;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{ItemRef, LocationRef, OpId, OrgStockChangeSet, OrgStockOp, OrgStockPage};
use rusqlite::Connection;

use super::Backend;
use super::change::{BatchDecision, EntryDelta, OpBatch, WarningList, WriteArea, WriteContext};
use super::page::{PageRequest, PageResponse};
use super::stock::resolve_material;
use super::units;
use super::warehouse::{self, Measure, ORG_STOCK, RowBooking, pair_bookings};
use crate::catalogue::CatalogueIndex;
use crate::ids::MemberId;
use crate::store::StoreError;
use collection::PoolCollection;
use decide::{OpTarget, PoolState, StockItem};
use pool_record::{PoolEntry, PoolRecord, StockSale};
use roster::HolderPseudonyms;

/// The implementation of the write path for org stock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrgStockArea;

impl WriteArea for OrgStockArea {
    const NAME: &'static str = ORG_STOCK;
    const OPERATION: OperationId = OperationId::OrgStockWrite;

    type ChangeSet = OrgStockChangeSet;
    type Op = OrgStockOp;
    type Target = OpTarget;
    type State = PoolState;
    type Entry = PoolRecord;

    fn into_batch(body: OrgStockChangeSet) -> OpBatch<OrgStockOp> {
        OpBatch { ops: body.ops, dry_run: body.dry_run.unwrap_or(false), has_invalid_date: false }
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

    fn resolve_targets(
        index: &CatalogueIndex,
        ops: &[OrgStockOp],
        warnings: &mut WarningList,
    ) -> Vec<OpTarget> {
        let place =
            |location: &LocationRef| index.locations().find_location(location).map(|place| place.id.clone());
        let mut resolve_item = |position: usize, reference: &ItemRef| {
            let found = resolve_material(index, reference);
            if found.loc_key_unresolved {
                warnings.push_unresolved_loc_key(&format!("/ops/{position}/material/locKey"));
            }
            let (kind, entry) = found.entry?;
            Ok::<_, Reason>(StockItem {
                kind,
                material: entry.id.clone(),
                measure: Measure::for_item(kind, &entry.facts),
            })
        };
        let target = |(position, op): (usize, &OrgStockOp)| match op {
            OrgStockOp::BookIn(op) => {
                OpTarget::Item(resolve_item(position, &op.material), place(&op.location))
            }
            OrgStockOp::MoveLocation(op) => OpTarget::Place(place(&op.location)),
            _ => OpTarget::None,
        };
        ops.iter().enumerate().map(target).collect()
    }

    fn load_state(
        connection: &Connection,
        writer: &WriteContext,
        ops: &[OrgStockOp],
        targets: &[OpTarget],
    ) -> Result<PoolState, StoreError> {
        table::load_state(connection, writer, ops, targets)
    }

    fn decide_ops(
        state: PoolState,
        ops: &[OrgStockOp],
        targets: &[OpTarget],
        writer: &WriteContext,
    ) -> BatchDecision<PoolRecord> {
        decide::decide_ops(state, ops, targets, writer)
    }

    fn entry_name(index: &CatalogueIndex, touched: &EntryDelta<PoolRecord>) -> String {
        match touched.after.as_ref().or(touched.before.as_ref()) {
            None => touched.key.clone(),
            Some(PoolRecord::Entry(entry)) => entry.lot.display_name(index),
            Some(PoolRecord::Sale(StockSale { kind, material, terminal, .. })) => {
                format!("{}, sold at {terminal}", index.name_of(*kind, material))
            }
        }
    }

    /// Returns 0. No change of org stock counts as a removal, so the guard never applies (A16).
    fn count_entries(_: &Connection, _: &MemberId) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn apply_changes(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<PoolRecord>],
    ) -> Result<(), StoreError> {
        table::write_records(connection, writer, touched)
    }

    fn record_feed(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<PoolRecord>],
    ) -> Result<(), StoreError> {
        warehouse::publish_bookings(connection, &writer.author, writer.now, &to_bookings(touched))
    }
}

fn to_bookings(touched: &[EntryDelta<PoolRecord>]) -> Vec<RowBooking<'_>> {
    let before = touched.iter().filter_map(|touched| as_entry(touched.before.as_ref()));
    let after = touched.iter().filter_map(|touched| as_entry(touched.after.as_ref()));
    pair_bookings(before.map(PoolEntry::as_placed), after.map(PoolEntry::as_placed))
}

fn as_entry(record: Option<&PoolRecord>) -> Option<&PoolEntry> {
    record.and_then(PoolRecord::as_entry)
}

impl Backend {
    pub(super) async fn read_org_stock(
        &self,
        options: OrgStockReadOptions,
        context: &RequestContext,
    ) -> Result<OrgStockPage, ErrorResponse> {
        let OrgStockReadOptions { cursor, limit, .. } = options;
        let page =
            self.read_page_with(PageRequest { cursor, limit }, context, |connection, admitted, index| {
                // OST-08: without the scope for details, the entries are omitted and the request still
                // succeeds.
                let granted = admitted.client.granted_scopes(&admitted.caller.scopes);
                Ok(PoolCollection {
                    member: admitted.member.id.clone(),
                    units: units::direct_memberships(connection, &admitted.member.id)?,
                    details: granted.contains(&Scope::ExchangeOrgstockDetails.as_str()),
                    names: HolderPseudonyms::for_client(connection, &admitted.caller.client)?,
                    index,
                })
            });
        let (PageResponse { items, removed, next_cursor, has_more }, pools) = page.await?;
        let units = pools.units.into_iter().map(|of| of.unit).collect();
        Ok(OrgStockPage {
            items: Some(items),
            removed: Some(removed),
            next_cursor,
            has_more,
            units,
            extra: Map::new(),
        })
    }
}
