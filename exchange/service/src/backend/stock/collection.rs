//! The paged collection of a member's lots (STK-01 to STK-04).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::Map;
use exchange_api::types::{LotKey, MaterialKind, MaterialType, Quality, StockLot};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::{catalog_entry, location_of};
use super::super::warehouse::{LOT, Lot, read_lot};
use super::NAME;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::feed::{FeedStream, PagedCollection, StreamSource};
use crate::ids::MemberId;
use crate::store::{StoreError, json_list, sql_limit};

#[derive(Debug)]
pub(super) struct LotCollection {
    pub(super) member: MemberId,
    /// Provides the names of materials, items and locations.
    pub(super) index: Arc<CatalogueIndex>,
}

impl PagedCollection for LotCollection {
    type Item = StockLot;

    const RESOURCE: &'static str = NAME;

    fn reader(&self) -> &MemberId {
        &self.member
    }

    fn list_sources(&self, _: &Connection) -> Result<Vec<StreamSource>, StoreError> {
        Ok(vec![StreamSource { stream: FeedStream::of_member(NAME, &self.member), variant: 0 }])
    }

    fn read_snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, StockLot)>, StoreError> {
        let sql = format!(
            "SELECT lot, sum(amount), {LOT} FROM stock_row WHERE member = ?1 AND lot > ?2 \
             GROUP BY lot ORDER BY lot LIMIT ?3"
        );
        let mut rows = connection.prepare_cached(&sql)?;
        let limit = sql_limit(limit);
        let mut rows = rows.query(params![self.member, behind.unwrap_or_default(), limit])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(self.read_item(row)?);
        }
        Ok(found)
    }

    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, StockLot>, StoreError> {
        let sql = format!(
            "SELECT lot, sum(amount), {LOT} FROM json_each(?2) k CROSS JOIN stock_row \
             WHERE member = ?1 AND lot = k.value GROUP BY lot"
        );
        let mut rows = connection.prepare_cached(&sql)?;
        let mut rows = rows.query(params![self.member, json_list(keys.iter().map(String::as_str))])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            found.extend([self.read_item(row)?]);
        }
        Ok(found)
    }
}

impl LotCollection {
    /// Converts a row of one of the queries above into a lot of the contract, with its key.
    fn read_item(&self, row: &Row<'_>) -> Result<(String, StockLot), StoreError> {
        let corrupt = |_| StoreError::Corrupt("invalid stock lot");
        let (key, amount): (String, i64) = (row.get(0)?, row.get(1)?);
        let Lot { kind, material, measure, location, quality, stolen } = read_lot(row, 2)?;
        let item = StockLot {
            material: catalog_entry(&shown_key(&material), self.index.name_of(kind, &material))?,
            material_kind: (kind == EntryKind::Material).then(|| material_kind(&self.index, &material)),
            location: location_of(&self.index, &location)?,
            quality: Quality::new(quality).map_err(corrupt)?,
            stolen,
            quantity: measure.to_quantity(amount)?,
            key: LotKey::new(key.as_str()).map_err(corrupt)?,
            extensions: None,
            extra: Map::new(),
        };
        Ok((key, item))
    }
}

/// Returns the properties of a material that are in the catalogue (TYP-11).
pub(in crate::backend) fn material_kind(index: &CatalogueIndex, material: &str) -> MaterialKind {
    let facts = index.find_entry(EntryKind::Material, &shown_key(material)).map(|entry| &entry.facts);
    let fact = |name: &str| facts.and_then(|facts| facts.get(name));
    let flag = |name: &str| fact(name).and_then(serde_json::Value::as_bool);
    let type_ = fact("type").and_then(serde_json::Value::as_str);
    MaterialKind {
        type_: type_.map(MaterialType::from).filter(MaterialType::is_known).unwrap_or(MaterialType::NoRefine),
        commodity: flag("commodity").unwrap_or(false),
        mineral: flag("mineral"),
        harvestable: flag("harvestable"),
        raw: flag("raw"),
        refined: flag("refined"),
        buyable: flag("buyable"),
        sellable: flag("sellable"),
        extra: Map::new(),
    }
}
