//! The units of the organization: the member's direct memberships, and their conversion into the contract's
//! type (ORG rows).

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{OrgUnit, OrgUnitKind, OrgUnitList, UnitId};
use rusqlite::{Connection, Row};

use super::Backend;
use crate::ids::MemberId;
use crate::store::StoreError;

/// The columns of the table `u` with units, in the order in which [`read_unit`] reads them.
pub(super) const UNIT: &str = "u.id, u.name, u.shorthand, u.kind";

/// The maximum length of a name in a response, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Truncates the name of a unit, a member or a mission to the length that a response allows.
pub(super) fn shown_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Reads a unit from the columns of [`UNIT`], starting at column `first`. Returns `None` if the id is null.
pub(super) fn read_unit(row: &Row<'_>, first: usize) -> Result<Option<OrgUnit>, StoreError> {
    let Some(id) = row.get::<_, Option<String>>(first)? else { return Ok(None) };
    let kind: String = row.get(first + 3)?;
    Ok(Some(OrgUnit {
        id: UnitId::new(id).map_err(|_| StoreError::Corrupt("invalid unit id"))?,
        name: shown_name(&row.get::<_, String>(first + 1)?),
        shorthand: shown_name(&row.get::<_, String>(first + 2)?),
        kind: OrgUnitKind::from(kind.as_str()),
        extra: Map::new(),
    }))
}

/// A unit of which the member is a direct member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitMembership {
    pub(super) unit: OrgUnit,
    /// Whether the membership has the Logistician flag or a leadership rank. Memberships in units above or
    /// below this unit have no effect (CON-16).
    pub(super) is_logistician: bool,
}

/// Returns the units of which the member is a direct member, sorted by name. Roles do not add units (ORG-01).
pub(super) fn direct_memberships(
    connection: &Connection,
    member: &MemberId,
) -> Result<Vec<UnitMembership>, StoreError> {
    let sql = format!(
        "SELECT {UNIT}, m.logistician OR m.leadership FROM membership m JOIN unit u ON u.id = m.unit \
         WHERE m.member = ?1 ORDER BY u.name, u.id"
    );
    let mut rows = connection.prepare_cached(&sql)?;
    let mut rows = rows.query([member])?;
    let mut units = Vec::new();
    while let Some(row) = rows.next()? {
        let logistician = row.get(4)?;
        units.extend(read_unit(row, 0)?.map(|unit| UnitMembership { unit, is_logistician: logistician }));
    }
    Ok(units)
}

impl Backend {
    pub(super) async fn read_units(&self, context: &RequestContext) -> Result<OrgUnitList, ErrorResponse> {
        self.read_admitted(context, |connection, admitted| {
            let items = direct_memberships(connection, &admitted.member.id)?
                .into_iter()
                .map(|one| one.unit)
                .collect();
            Ok(OrgUnitList { items: Some(items), extra: Map::new() })
        })
        .await
    }
}
