//! The member's ships as a collection, in pages (SHP-01 to SHP-05).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::Map;
use exchange_api::types::{
    ExternalId, Insurance, LifetimeInsurance, MonthlyInsurance, OrgUnitVersion, Ship, ShipId, ShipName,
    ShipVersion,
};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::{location_of, shown};
use super::super::units::{UNIT, unit};
use super::NAME;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::{Collection, Source, Stream};
use crate::ids::{InstallationId, MemberId};
use crate::store::{StoreError, limit};

/// What one member reads on one installation.
#[derive(Debug)]
pub(super) struct Mine {
    pub(super) member: MemberId,
    /// Whose ids are shown (SHP-03).
    pub(super) installation: Option<InstallationId>,
    /// Names types and locations.
    pub(super) index: Arc<Index>,
}

/// Ships with the installation's ids, ?1, and with their units as these are now.
fn ships(which: &str) -> String {
    format!(
        "SELECT s.id, s.ship_type, s.name, s.insured_months, s.location, s.fitted, s.unit_version, \
         s.version, l.external_id, {UNIT} FROM ship s \
         LEFT JOIN ship_link l ON l.ship = s.id AND l.installation = ?1 \
         LEFT JOIN unit u ON u.id = s.unit WHERE s.member = ?2 AND {which}"
    )
}

impl Collection for Mine {
    type Item = Ship;

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
    ) -> Result<Vec<(String, Ship)>, StoreError> {
        let sql = ships("s.id > ?3 ORDER BY s.id LIMIT ?4");
        let mut rows = connection.prepare_cached(&sql)?;
        let most = limit(most);
        let behind = behind.unwrap_or_default();
        let mut rows = rows.query(params![self.installation, self.member, behind, most])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, self.item(row)?));
        }
        Ok(found)
    }

    fn current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Ship>, StoreError> {
        let sql = ships("s.id = ?3");
        let mut one = connection.prepare_cached(&sql)?;
        let mut found = HashMap::new();
        for key in keys {
            let mut rows = one.query(params![self.installation, self.member, key])?;
            if let Some(row) = rows.next()? {
                found.insert(key.clone(), self.item(row)?);
            }
        }
        Ok(found)
    }
}

impl Mine {
    /// A row as answers have it; its columns are those of [`ships`].
    fn item(&self, row: &Row<'_>) -> Result<Ship, StoreError> {
        let corrupt = |_| StoreError::Corrupt("a ship");
        let (id, ship_type): (String, String) = (row.get(0)?, row.get(1)?);
        let (name, location): (Option<String>, Option<String>) = (row.get(2)?, row.get(4)?);
        let external: Option<String> = row.get(8)?;
        Ok(Ship {
            ship_id: ShipId::new(id).map_err(corrupt)?,
            external_id: external.map(ExternalId::new).transpose().map_err(corrupt)?,
            version: ShipVersion::new(row.get(7)?).map_err(corrupt)?,
            ship_type: shown(&shown_key(&ship_type), self.index.name_of(Kind::ShipType, &ship_type))?,
            name: name.map(ShipName::new).transpose().map_err(corrupt)?,
            insurance: match row.get(3)? {
                Some(months) => Insurance::Months(MonthlyInsurance { months, extra: Map::new() }),
                None => Insurance::Lti(LifetimeInsurance { extra: Map::new() }),
            },
            location: location.map(|location| location_of(&self.index, &location)).transpose()?,
            fitted: row.get(5)?,
            // As it is now, whether the member still belongs to it or not (SHP-04).
            org_unit: unit(row, 9)?,
            org_unit_version: OrgUnitVersion::new(row.get(6)?).map_err(corrupt)?,
            extensions: None,
            extra: Map::new(),
        })
    }
}
