//! The member's lots as a collection, in pages (STK-01 to STK-04).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::Map;
use exchange_api::types::{LotKey, MaterialKind, MaterialType, Quality, StockLot};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::{location_of, shown};
use super::super::warehouse::{LOT, Lot, lot};
use super::NAME;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::{Collection, Source, Stream};
use crate::ids::MemberId;
use crate::store::{StoreError, limit, list};

/// What one member reads.
#[derive(Debug)]
pub(super) struct Mine {
    pub(super) member: MemberId,
    /// Names materials, items and locations.
    pub(super) index: Arc<Index>,
}

impl Collection for Mine {
    type Item = StockLot;

    const RESOURCE: &'static str = NAME;

    fn member(&self) -> &MemberId {
        &self.member
    }

    fn sources(&self, _: &Connection) -> Result<Vec<Source>, StoreError> {
        Ok(vec![Source { stream: Stream::of_member(NAME, &self.member), variant: 0 }])
    }

    fn snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, StockLot)>, StoreError> {
        let sql = format!(
            "SELECT lot, sum(amount), {LOT} FROM stock_row WHERE member = ?1 AND lot > ?2 \
             GROUP BY lot ORDER BY lot LIMIT ?3"
        );
        let mut rows = connection.prepare_cached(&sql)?;
        let most = limit(most);
        let mut rows = rows.query(params![self.member, behind.unwrap_or_default(), most])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(self.item(row)?);
        }
        Ok(found)
    }

    fn current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, StockLot>, StoreError> {
        let sql = format!(
            "SELECT lot, sum(amount), {LOT} FROM json_each(?2) k CROSS JOIN stock_row \
             WHERE member = ?1 AND lot = k.value GROUP BY lot"
        );
        let mut rows = connection.prepare_cached(&sql)?;
        let mut rows = rows.query(params![self.member, list(keys.iter().map(String::as_str))])?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next()? {
            found.extend([self.item(row)?]);
        }
        Ok(found)
    }
}

impl Mine {
    /// A lot by its key; the columns are those of the queries above.
    fn item(&self, row: &Row<'_>) -> Result<(String, StockLot), StoreError> {
        let corrupt = |_| StoreError::Corrupt("a stock lot");
        let (key, amount): (String, i64) = (row.get(0)?, row.get(1)?);
        let Lot { kind, material, measure, location, quality, stolen } = lot(row, 2)?;
        let item = StockLot {
            material: shown(&shown_key(&material), self.index.name_of(kind, &material))?,
            material_kind: (kind == Kind::Material).then(|| material_kind(&self.index, &material)),
            location: location_of(&self.index, &location)?,
            quality: Quality::new(quality).map_err(corrupt)?,
            stolen,
            quantity: measure.written(amount)?,
            key: LotKey::new(key.as_str()).map_err(corrupt)?,
            extensions: None,
            extra: Map::new(),
        };
        Ok((key, item))
    }
}

/// What a material is, as far as the catalogue knows it (TYP-11).
pub(in crate::backend) fn material_kind(index: &Index, material: &str) -> MaterialKind {
    let facts = index.entry(Kind::Material, &shown_key(material)).map(|entry| &entry.facts);
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
