//! The open demand of the member's units, summed over their job orders and without anything that names one
//! (DEM rows). It is computed for each request, and nothing of it is kept.

mod decide;
mod table;

use contract_runtime::server::Context;
use contract_runtime::{Json, Map};
use exchange_api::server::Refusal;
use exchange_api::types::{
    CatalogKey, DemandReason, DemandSource, ItemDemand, ItemRef, KeyedItemRef, MaterialDemand, OrgDemand,
    PieceQuantity, Quality,
};
use rusqlite::Connection;

use super::Backend;
use super::connection::timestamp;
use super::refusal::Failure;
use super::warehouse::Measure;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::ids::MemberId;
use crate::store::StoreError;
use crate::time::Moment;
use decide::{Floor, Open, Source};

/// Lines of either list (LIM-37).
const LINES: usize = 5000;
/// Raw ores of one line (LIM-37).
const RAW_REFS: usize = 20;

impl Backend {
    pub(super) async fn read_demand(&self, context: &Context) -> Result<OrgDemand, Refusal> {
        let backend = self.clone();
        self.read(context, move |connection, admitted| {
            let index = backend.catalogue.at(connection)?;
            demand(connection, &index, &admitted.member.id, backend.environment.now())
        })
        .await
    }
}

fn demand(
    connection: &Connection,
    index: &Index,
    member: &MemberId,
    now: Moment,
) -> Result<OrgDemand, Failure> {
    let mut answer = OrgDemand {
        updated_at: timestamp(now)?,
        materials: Vec::new(),
        items: Vec::new(),
        reason: None,
        extra: Map::new(),
    };
    if !table::is_permitted(connection, member)? {
        answer.reason = Some(DemandReason::NotPermitted);
        return Ok(answer);
    }
    let orders = table::orders(connection, index, member)?;
    let held = table::blueprints(connection, member)?;
    let open = decide::open(&orders, |item, matching| {
        index.products().blueprints(item, matching).iter().any(|blueprint| held.contains(blueprint))
    });
    answer.materials = materials(index, &open)?;
    answer.items = items(index, &open)?;
    Ok(answer)
}

/// By name, so that the order of lines says nothing of orders.
fn materials(index: &Index, open: &Open) -> Result<Vec<MaterialDemand>, StoreError> {
    let mut lines: Vec<_> = open
        .materials
        .iter()
        .map(|(line, amount)| (index.name_of(Kind::Material, &line.0), line, *amount))
        .collect();
    lines.sort();
    let line = |(name, (material, floor, source), amount): (String, &(String, Floor, Source), i64)| {
        let facts = index.entry(Kind::Material, &shown_key(material)).map(|entry| &entry.facts);
        let measure = Measure::of(Kind::Material, facts.unwrap_or(&serde_json::Value::Null));
        let min_quality = match floor {
            Floor::Any => Quality::new(0),
            Floor::Good => Quality::new(decide::GOOD),
        };
        Ok(MaterialDemand {
            material: keyed(material, name)?,
            raw_refs: raw_refs(facts),
            min_quality: min_quality.map_err(|_| StoreError::Corrupt("a floor that is no quality"))?,
            open_quantity: measure.written(amount)?,
            source: match source {
                Source::MaterialOrder => DemandSource::MaterialOrder,
                Source::ItemOrder => DemandSource::ItemOrder,
            },
            extra: Map::new(),
        })
    };
    lines.into_iter().take(LINES).map(line).collect()
}

fn items(index: &Index, open: &Open) -> Result<Vec<ItemDemand>, StoreError> {
    let mut lines: Vec<_> =
        open.items.iter().map(|(line, pieces)| (index.name_of(Kind::Item, &line.0), line, *pieces)).collect();
    lines.sort();
    let line = |(name, (item, craftable_by_me), pieces): (String, &(String, bool), i64)| {
        let open = Measure::Piece.written(pieces)?;
        Ok(ItemDemand {
            item: ItemRef::from(keyed(item, name)?),
            open_quantity: PieceQuantity { amount: open.amount, unit: open.unit, extra: Map::new() },
            craftable_by_me: *craftable_by_me,
            extra: Map::<Json>::new(),
        })
    };
    lines.into_iter().take(LINES).map(line).collect()
}

fn keyed(id: &str, name: String) -> Result<KeyedItemRef, StoreError> {
    let corrupt = |_| StoreError::Corrupt("a key or a name of the catalogue");
    let key = CatalogKey::new(shown_key(id)).map_err(corrupt)?;
    KeyedItemRef::builder().bt(key).name(name).build().map_err(corrupt)
}

/// The raw ores that refine into a material, by name (DEM-02): its fact `refinedFrom`.
fn raw_refs(facts: Option<&serde_json::Value>) -> Vec<ItemRef> {
    let names = facts.and_then(|facts| facts.get("refinedFrom")).and_then(serde_json::Value::as_array);
    let names = names.into_iter().flatten().filter_map(serde_json::Value::as_str);
    names.filter_map(|name| ItemRef::by_name(name).ok()).take(RAW_REFS).collect()
}
