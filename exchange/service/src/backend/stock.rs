//! The member's stock. Each lot is the sum of the warehouse's rows with the same properties (STK rows).

mod booking;
mod collection;
mod decide;
mod moves;
mod removals;
mod server_side_changes;
mod table;
mod undo;

pub(super) use collection::material_kind;
pub(super) use table::is_marking_enabled;

use std::collections::HashMap;

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::calls::StockReadOptions;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{ItemRef, LocationRef, OpId, Quantity, StockChangeSet, StockOp, StockPage};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{BatchDecision, EntryChange, EntryDelta, OpBatch, WarningList, WriteArea, WriteContext};
use super::drafts::reference_label;
use super::journal::JournalEntry;
use super::page::{PageRequest, PageResponse};
use super::warehouse::{self, Lot, Measure, PlacedRow, StockRow, pair_bookings};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueEntry, CatalogueIndex, Resolution, ResolvedReference};
use crate::feed::{self, FeedStream, KeyChange};
use crate::ids::MemberId;
use crate::store::StoreError;
use collection::LotCollection;
use decide::{QuantityTarget, StockState};

/// The area's name in journal, audit and feeds.
const NAME: &str = warehouse::STOCK;

/// The maximum number of rows for which a linear search is faster than a hash map. Most lots have fewer rows.
const MAX_LINEAR_SEARCH: usize = 8;

/// The implementation of the write path for stock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StockArea;

/// A member's stock of one lot before or after a change, as stored in the journal: the total, and the rows
/// that differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LotHolding {
    pub(crate) lot: Lot,
    /// The total amount of all rows of the lot.
    #[serde(rename = "held")]
    pub(crate) total: i64,
    /// The rows that differ between before and after. The size of a journal entry therefore depends on the
    /// change, not on the number of rows.
    pub(crate) rows: Vec<StockRow>,
}

impl JournalEntry for LotHolding {
    fn lot_amount(&self) -> i64 {
        self.total
    }
}

impl LotHolding {
    /// Returns the holdings of a lot before and after a change. A holding without rows is `None`.
    fn delta_pair(lot: &Lot, [before, after]: [&[StockRow]; 2]) -> [Option<Self>; 2] {
        [Self::from_difference(lot, before, after), Self::from_difference(lot, after, before)]
    }

    /// Builds a holding with only those rows that are not in `others`.
    fn from_difference(lot: &Lot, rows: &[StockRow], others: &[StockRow]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let total = warehouse::total_amount(rows);
        let differing_rows = if others.len() <= MAX_LINEAR_SEARCH {
            rows.iter().filter(|row| !others.contains(row)).cloned().collect()
        } else {
            let others: HashMap<&str, &StockRow> = others.iter().map(|row| (&*row.id, row)).collect();
            rows.iter().filter(|row| others.get(&*row.id) != Some(row)).cloned().collect()
        };
        Some(Self { lot: lot.clone(), total, rows: differing_rows })
    }
}

/// A stock op after parsing. It sets the amount of a lot (STK-05).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedStockOp {
    op_id: Option<OpId>,
    material: ItemRef,
    location: LocationRef,
    quality: i64,
    stolen: bool,
    quantity: Quantity,
    expected: Quantity,
    /// Whether the member allowed the op despite a removal by another author (WRT-14).
    overrides_removal: bool,
}

impl From<StockOp> for ParsedStockOp {
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
            overrides_removal: set.override_.unwrap_or(false),
        }
    }
}

impl WriteArea for StockArea {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::StockWrite;

    type ChangeSet = StockChangeSet;
    type Op = ParsedStockOp;
    /// The lot and the amounts, or the reason if one of the first three checks failed. These checks depend
    /// only on the catalogue.
    type Target = Result<QuantityTarget, Reason>;
    type State = StockState;
    type Entry = LotHolding;

    fn into_batch(body: StockChangeSet) -> OpBatch<ParsedStockOp> {
        let dry_run = body.dry_run.unwrap_or(false);
        OpBatch {
            ops: body.ops.into_iter().map(ParsedStockOp::from).collect(),
            dry_run,
            has_invalid_date: false,
        }
    }

    fn op_id(op: &ParsedStockOp) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve_targets(
        index: &CatalogueIndex,
        ops: &[ParsedStockOp],
        warnings: &mut WarningList,
    ) -> Vec<Self::Target> {
        let quantity_target = |(position, op): (usize, &ParsedStockOp)| {
            let found = resolve_material(index, &op.material);
            if found.loc_key_unresolved {
                warnings.push_unresolved_loc_key(&format!("/ops/{position}/material/locKey"));
            }
            let (kind, entry) = found.entry?;
            let place = index.locations().find_location(&op.location).ok_or(Reason::LocationUnknown)?;
            let measure = Measure::for_item(kind, &entry.facts);
            let read = |quantity| measure.parse_quantity(quantity).ok_or(Reason::UnitMismatch);
            let (quantity, expected) = (read(&op.quantity)?, read(&op.expected)?);
            let lot = Lot {
                kind,
                material: entry.id.clone(),
                measure,
                location: place.id.clone(),
                // STK-14: items have no quality.
                quality: if kind == EntryKind::Item { 0 } else { op.quality },
                stolen: op.stolen,
            };
            Ok(QuantityTarget { lot, quantity, expected, overrides_removal: op.overrides_removal })
        };
        ops.iter().enumerate().map(quantity_target).collect()
    }

    fn load_state(
        connection: &Connection,
        writer: &WriteContext,
        _: &[ParsedStockOp],
        targets: &[Self::Target],
    ) -> Result<StockState, StoreError> {
        table::load_state(connection, writer, targets)
    }

    fn decide_ops(
        state: StockState,
        _: &[ParsedStockOp],
        targets: &[Self::Target],
        writer: &WriteContext,
    ) -> BatchDecision<LotHolding> {
        decide::decide_ops(state, targets, writer)
    }

    fn entry_name(index: &CatalogueIndex, touched: &EntryDelta<LotHolding>) -> String {
        let holding = touched.after.as_ref().or(touched.before.as_ref());
        holding.map_or_else(|| touched.key.clone(), |holding| holding.lot.display_name(index))
    }

    fn describe_change(index: &CatalogueIndex, touched: &EntryDelta<LotHolding>) -> EntryChange {
        let Some(holding) = touched.after.as_ref().or(touched.before.as_ref()) else {
            return EntryChange::named(touched.key.clone());
        };
        let lot = &holding.lot;
        let amount = |side: Option<&LotHolding>| {
            Some(lot.measure.format_amount(side.map_or(0, |holding| holding.total)))
        };
        EntryChange {
            name: lot.name_without_place(index),
            place: Some(lot.place_name(index)),
            before: amount(touched.before.as_ref()),
            after: amount(touched.after.as_ref()),
            removed: false,
        }
    }

    fn op_name(
        _: &Connection,
        index: &CatalogueIndex,
        _: &MemberId,
        op: &ParsedStockOp,
        target: &Self::Target,
    ) -> Result<String, StoreError> {
        Ok(target
            .as_ref()
            .map_or_else(|_| reference_label(&op.material), |target| target.lot.display_name(index)))
    }

    fn count_entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count_lots(connection, member)
    }

    fn apply_changes(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<LotHolding>],
    ) -> Result<(), StoreError> {
        warehouse::write_bookings(connection, &to_bookings(&writer.member, touched))
    }

    fn record_feed(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<LotHolding>],
    ) -> Result<(), StoreError> {
        warehouse::publish_bookings(
            connection,
            &writer.author,
            writer.now,
            &to_bookings(&writer.member, touched),
        )?;
        // A lot that was filled and emptied in one batch has no rows, but its removal is recorded (STK-12).
        let emptied = touched.iter().filter(|touched| touched.before.is_none() && touched.after.is_none());
        let emptied = emptied.map(|touched| KeyChange { key: &touched.key, gone: true });
        let stream = FeedStream::of_member(NAME, &writer.member);
        feed::record_changes(connection, &stream, &writer.author, writer.now, emptied)
    }
}

/// Pairs the rows of the changed lots before the change with those after it.
fn to_bookings<'a>(
    member: &'a MemberId,
    touched: &'a [EntryDelta<LotHolding>],
) -> Vec<warehouse::RowBooking<'a>> {
    let placed = |key: &'a str, holding: &'a Option<LotHolding>| {
        let rows = move |LotHolding { lot, rows, .. }: &'a LotHolding| {
            rows.iter().map(move |row| PlacedRow { holder: member, lot, key: Some(key), row })
        };
        holding.iter().flat_map(rows)
    };
    let before = touched.iter().flat_map(|touched| placed(&touched.key, &touched.before));
    pair_bookings(before, touched.iter().flat_map(|touched| placed(&touched.key, &touched.after)))
}

/// The catalogue entry to which a reference resolves: a material or, if there is none, an item (STK-06).
pub(super) struct ResolvedMaterial<'i> {
    pub(super) entry: Result<(EntryKind, &'i CatalogueEntry), Reason>,
    pub(super) loc_key_unresolved: bool,
}

/// Resolves a reference among the materials, then among the items. Of the keys in a reference, only `bt` is
/// unique across both (A25); the other ids are numbered separately for materials and for items.
pub(super) fn resolve_material<'i>(index: &'i CatalogueIndex, reference: &ItemRef) -> ResolvedMaterial<'i> {
    let by_key = |kind| reference.bt.as_ref().and_then(|key| index.find_entry(kind, key.as_str()));
    if let (None, Some(item)) = (by_key(EntryKind::Material), by_key(EntryKind::Item)) {
        return ResolvedMaterial { entry: Ok((EntryKind::Item, item)), loc_key_unresolved: false };
    }
    let ResolvedReference { resolution, is_guess, loc_key_unresolved } =
        index.resolve_reference(EntryKind::Material, reference);
    match resolution {
        Resolution::Unique(entry) => {
            return ResolvedMaterial { entry: Ok((EntryKind::Material, entry)), loc_key_unresolved };
        }
        // A name that is only similar to that of a material may be the exact name of an item.
        Resolution::Ambiguous(_) if !is_guess => {
            return ResolvedMaterial { entry: Err(Reason::Ambiguous), loc_key_unresolved };
        }
        Resolution::Ambiguous(_) | Resolution::Unmatched => {}
    }
    let ResolvedReference { resolution, loc_key_unresolved, .. } =
        index.resolve_reference(EntryKind::Item, reference);
    let entry = match resolution {
        Resolution::Unique(entry) => Ok((EntryKind::Item, entry)),
        Resolution::Ambiguous(_) => Err(Reason::Ambiguous),
        Resolution::Unmatched if is_guess => Err(Reason::Ambiguous),
        Resolution::Unmatched => Err(Reason::Unmatched),
    };
    ResolvedMaterial { entry, loc_key_unresolved }
}

impl Backend {
    pub(super) async fn read_stock(
        &self,
        options: StockReadOptions,
        context: &RequestContext,
    ) -> Result<StockPage, ErrorResponse> {
        let StockReadOptions { cursor, limit, .. } = options;
        let page = self.read_page(PageRequest { cursor, limit }, context, |admitted, index| LotCollection {
            member: admitted.member.id.clone(),
            index,
        });
        let PageResponse { items, removed, next_cursor, has_more } = page.await?;
        Ok(StockPage { items: Some(items), removed: Some(removed), next_cursor, has_more, extra: Map::new() })
    }
}
