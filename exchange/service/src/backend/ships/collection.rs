//! The paged collection of a member's ships (SHP-01 to SHP-05).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::Map;
use exchange_api::types::{
    ExternalId, Insurance, LifetimeInsurance, MonthlyInsurance, OrgUnitVersion, Ship, ShipId, ShipName,
    ShipVersion,
};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::{catalog_entry, location_of};
use super::super::units::{UNIT, read_unit};
use super::NAME;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::feed::{FeedStream, PagedCollection, StreamSource};
use crate::ids::{InstallationId, MemberId};
use crate::store::{StoreError, sql_limit};

/// The ships of one member, as shown to one installation.
#[derive(Debug)]
pub(super) struct ShipCollection {
    pub(super) member: MemberId,
    /// The installation whose external ids are shown (SHP-03).
    pub(super) installation: Option<InstallationId>,
    /// Provides the names of ship types and locations.
    pub(super) index: Arc<CatalogueIndex>,
}

/// Builds the query for ships, with the external ids of the installation `?1` and the current names of the
/// units.
fn ships_sql(which: &str) -> String {
    format!(
        "SELECT s.id, s.ship_type, s.name, s.insured_months, s.location, s.fitted, s.unit_version, \
         s.version, l.external_id, {UNIT} FROM ship s \
         LEFT JOIN ship_link l ON l.ship = s.id AND l.installation = ?1 \
         LEFT JOIN unit u ON u.id = s.unit WHERE s.member = ?2 AND {which}"
    )
}

impl PagedCollection for ShipCollection {
    type Item = Ship;

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
    ) -> Result<Vec<(String, Ship)>, StoreError> {
        let sql = ships_sql("s.id > ?3 ORDER BY s.id LIMIT ?4");
        let mut rows = connection.prepare_cached(&sql)?;
        let limit = sql_limit(limit);
        let behind = behind.unwrap_or_default();
        let mut rows = rows.query(params![self.installation, self.member, behind, limit])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, self.read_item(row)?));
        }
        Ok(found)
    }

    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Ship>, StoreError> {
        let sql = ships_sql("s.id = ?3");
        let mut one = connection.prepare_cached(&sql)?;
        let mut found = HashMap::new();
        for key in keys {
            let mut rows = one.query(params![self.installation, self.member, key])?;
            if let Some(row) = rows.next()? {
                found.insert(key.clone(), self.read_item(row)?);
            }
        }
        Ok(found)
    }
}

impl ShipCollection {
    /// Converts a row of a query that [`ships_sql`] built into a ship of the contract.
    fn read_item(&self, row: &Row<'_>) -> Result<Ship, StoreError> {
        let corrupt = |_| StoreError::Corrupt("invalid ship");
        let (id, ship_type): (String, String) = (row.get(0)?, row.get(1)?);
        let (name, location): (Option<String>, Option<String>) = (row.get(2)?, row.get(4)?);
        let external: Option<String> = row.get(8)?;
        Ok(Ship {
            ship_id: ShipId::new(id).map_err(corrupt)?,
            external_id: external.map(ExternalId::new).transpose().map_err(corrupt)?,
            version: ShipVersion::new(row.get(7)?).map_err(corrupt)?,
            ship_type: catalog_entry(
                &shown_key(&ship_type),
                self.index.name_of(EntryKind::ShipType, &ship_type),
            )?,
            name: name.map(ShipName::new).transpose().map_err(corrupt)?,
            insurance: match row.get(3)? {
                Some(months) => Insurance::Months(MonthlyInsurance { months, extra: Map::new() }),
                None => Insurance::Lti(LifetimeInsurance { extra: Map::new() }),
            },
            location: location.map(|location| location_of(&self.index, &location)).transpose()?,
            fitted: row.get(5)?,
            // The current name of the unit is shown, even if the member has left the unit (SHP-04).
            org_unit: read_unit(row, 9)?,
            org_unit_version: OrgUnitVersion::new(row.get(6)?).map(Some).map_err(corrupt)?,
            extensions: None,
            extra: Map::new(),
        })
    }
}
