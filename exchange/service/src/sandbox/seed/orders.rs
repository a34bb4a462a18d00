//! The job orders of the seed: orders for materials and for items, of units with and without profit sharing.

use rusqlite::{Connection, params};
use serde::Deserialize;

use crate::store::StoreError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SeedOrder {
    id: String,
    number: i64,
    unit: String,
    state: String,
    #[serde(default)]
    counts_variants: bool,
    #[serde(default)]
    materials: Vec<SeedMaterial>,
    #[serde(default)]
    items: Vec<SeedItem>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SeedMaterial {
    material: String,
    #[serde(default)]
    good_quality: bool,
    /// The amount in thousandths of SCU, or in pieces.
    amount: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedItem {
    item: String,
    ordered: i64,
    #[serde(default)]
    delivered: i64,
}

impl SeedOrder {
    pub(super) fn plant_order(&self, connection: &Connection) -> Result<(), StoreError> {
        let Self { id, number, unit, state, counts_variants, materials, items } = self;
        connection.execute(
            "INSERT INTO job_order (id, number, unit, state, counts_variants) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, number, unit, state, counts_variants],
        )?;
        for SeedMaterial { material, good_quality, amount } in materials {
            connection.execute(
                "INSERT INTO job_order_material (job_order, material, good_quality, amount) \
                 VALUES (?1, ?2, ?3, ?4)",
                params![id, material, good_quality, amount],
            )?;
        }
        for SeedItem { item, ordered, delivered } in items {
            connection.execute(
                "INSERT INTO job_order_item (job_order, item, ordered, delivered) VALUES (?1, ?2, ?3, ?4)",
                params![id, item, ordered, delivered],
            )?;
        }
        Ok(())
    }
}
