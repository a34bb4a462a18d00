//! Org units: those that a member directly belongs to, and how answers have one (ORG rows).

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::server::Refusal;
use exchange_api::types::{OrgUnit, OrgUnitKind, OrgUnitList, UnitId};
use rusqlite::{Connection, Row};

use super::Backend;
use crate::ids::MemberId;
use crate::store::StoreError;

/// The columns of a unit, of a table `u`, in the order in which [`unit`] reads them.
pub(super) const UNIT: &str = "u.id, u.name, u.shorthand, u.kind";

/// The longest name that an answer has.
const LONGEST_NAME: usize = 200;

/// The name of a unit, a member or a mission as answers have it.
pub(super) fn shown_name(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// A unit from the columns of [`UNIT`], from a place on; none where its id is null.
pub(super) fn unit(row: &Row<'_>, first: usize) -> Result<Option<OrgUnit>, StoreError> {
    let Some(id) = row.get::<_, Option<String>>(first)? else { return Ok(None) };
    let kind: String = row.get(first + 3)?;
    Ok(Some(OrgUnit {
        id: UnitId::new(id).map_err(|_| StoreError::Corrupt("a unit's id"))?,
        name: shown_name(&row.get::<_, String>(first + 1)?),
        shorthand: shown_name(&row.get::<_, String>(first + 2)?),
        kind: OrgUnitKind::from(kind.as_str()),
        extra: Map::new(),
    }))
}

/// A unit that a member directly belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Membership {
    pub(super) unit: OrgUnit,
    /// Whether this membership carries the Logistician flag or a leadership rank; that of another unit, above
    /// or below it, says nothing here (CON-16).
    pub(super) logistician: bool,
}

/// The units that the member directly belongs to, by name; no role adds any (ORG-01).
pub(super) fn of(connection: &Connection, member: &MemberId) -> Result<Vec<Membership>, StoreError> {
    let sql = format!(
        "SELECT {UNIT}, m.logistician OR m.leadership FROM membership m JOIN unit u ON u.id = m.unit \
         WHERE m.member = ?1 ORDER BY u.name, u.id"
    );
    let mut rows = connection.prepare_cached(&sql)?;
    let mut rows = rows.query([member])?;
    let mut units = Vec::new();
    while let Some(row) = rows.next()? {
        let logistician = row.get(4)?;
        units.extend(unit(row, 0)?.map(|unit| Membership { unit, logistician }));
    }
    Ok(units)
}

impl Backend {
    pub(super) async fn read_units(&self, context: &Context) -> Result<OrgUnitList, Refusal> {
        self.read(context, |connection, admitted| {
            let items = of(connection, &admitted.member.id)?.into_iter().map(|one| one.unit).collect();
            Ok(OrgUnitList { items, extra: Map::new() })
        })
        .await
    }
}
