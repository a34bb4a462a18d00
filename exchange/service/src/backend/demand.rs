//! Computes the open demand of the member's units, summed over their job orders (DEM rows). No line of the
//! result identifies an order.
//!
//! The demand is computed for each request and is not stored.

mod decide;
mod table;

use contract_runtime::server::RequestContext;
use contract_runtime::{Json, Map};
use exchange_api::server::ErrorResponse;
use exchange_api::types::{
    CatalogKey, DemandReason, DemandSource, ItemDemand, ItemRef, KeyedItemRef, MaterialDemand, OrgDemand,
    PieceQuantity, Quality,
};
use rusqlite::Connection;

use super::Backend;
use super::connection::format_timestamp;
use super::handler_error::HandlerError;
use super::warehouse::Measure;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::ids::MemberId;
use crate::store::StoreError;
use crate::time::Moment;
use decide::{DemandOrigin, OpenDemand, QualityFloor};

/// The maximum number of lines in each of the two lists (LIM-37).
const MAX_LINES: usize = 5000;
/// The maximum number of raw ores in one line (LIM-37).
const MAX_RAW_REFS: usize = 20;

impl Backend {
    pub(super) async fn read_demand(&self, context: &RequestContext) -> Result<OrgDemand, ErrorResponse> {
        let backend = self.clone();
        self.read_admitted(context, move |connection, admitted| {
            let index = backend.catalogue.index_at(connection)?;
            load_demand(connection, &index, &admitted.member.id, backend.environment.now())
        })
        .await
    }
}

fn load_demand(
    connection: &Connection,
    index: &CatalogueIndex,
    member: &MemberId,
    now: Moment,
) -> Result<OrgDemand, HandlerError> {
    let mut response = OrgDemand {
        updated_at: format_timestamp(now)?,
        materials: Vec::new(),
        items: Vec::new(),
        reason: None,
        extra: Map::new(),
    };
    if !table::is_permitted(connection, member)? {
        response.reason = Some(DemandReason::NotPermitted);
        return Ok(response);
    }
    let orders = table::load_orders(connection, index, member)?;
    let held_blueprints = table::held_blueprints(connection, member)?;
    let open = decide::sum_open_demand(&orders, |item, matching| {
        index
            .products()
            .blueprints_for(item, matching)
            .iter()
            .any(|blueprint| held_blueprints.contains(blueprint))
    });
    response.materials = material_lines(index, &open)?;
    response.items = item_lines(index, &open)?;
    Ok(response)
}

/// Builds the material lines. They are sorted by name so that their order does not reveal the orders.
fn material_lines(index: &CatalogueIndex, open: &OpenDemand) -> Result<Vec<MaterialDemand>, StoreError> {
    let mut lines: Vec<_> = open
        .materials
        .iter()
        .map(|(line, amount)| (index.name_of(EntryKind::Material, &line.0), line, *amount))
        .collect();
    lines.sort();
    let line =
        |(name, (material, floor, source), amount): (String, &(String, QualityFloor, DemandOrigin), i64)| {
            let facts = index.find_entry(EntryKind::Material, &shown_key(material)).map(|entry| &entry.facts);
            let measure = Measure::for_item(EntryKind::Material, facts.unwrap_or(&serde_json::Value::Null));
            let min_quality = match floor {
                QualityFloor::Any => Quality::new(0),
                QualityFloor::Good => Quality::new(decide::GOOD_QUALITY),
            };
            Ok(MaterialDemand {
                material: keyed_reference(material, name)?,
                raw_refs: raw_refs(facts),
                min_quality: min_quality.map_err(|_| StoreError::Corrupt("invalid quality floor"))?,
                open_quantity: measure.to_quantity(amount)?,
                source: match source {
                    DemandOrigin::MaterialOrder => DemandSource::MaterialOrder,
                    DemandOrigin::ItemOrder => DemandSource::ItemOrder,
                },
                extra: Map::new(),
            })
        };
    lines.into_iter().take(MAX_LINES).map(line).collect()
}

fn item_lines(index: &CatalogueIndex, open: &OpenDemand) -> Result<Vec<ItemDemand>, StoreError> {
    let mut lines: Vec<_> = open
        .items
        .iter()
        .map(|(line, pieces)| (index.name_of(EntryKind::Item, &line.0), line, *pieces))
        .collect();
    lines.sort();
    let line = |(name, (item, craftable_by_me), pieces): (String, &(String, bool), i64)| {
        let open = Measure::Piece.to_quantity(pieces)?;
        Ok(ItemDemand {
            item: ItemRef::from(keyed_reference(item, name)?),
            open_quantity: PieceQuantity { amount: open.amount, unit: open.unit, extra: Map::new() },
            craftable_by_me: *craftable_by_me,
            extra: Map::<Json>::new(),
        })
    };
    lines.into_iter().take(MAX_LINES).map(line).collect()
}

fn keyed_reference(id: &str, name: String) -> Result<KeyedItemRef, StoreError> {
    let corrupt = |_| StoreError::Corrupt("invalid catalogue key or name");
    let key = CatalogKey::new(shown_key(id)).map_err(corrupt)?;
    KeyedItemRef::builder().bt(key).name(name).build().map_err(corrupt)
}

/// Returns the names of the raw ores from which a material is refined (DEM-02). The catalogue entry lists
/// them in its fact `refinedFrom`.
fn raw_refs(facts: Option<&serde_json::Value>) -> Vec<ItemRef> {
    let names = facts.and_then(|facts| facts.get("refinedFrom")).and_then(serde_json::Value::as_array);
    let names = names.into_iter().flatten().filter_map(serde_json::Value::as_str);
    names.filter_map(|name| ItemRef::by_name(name).ok()).take(MAX_RAW_REFS).collect()
}
