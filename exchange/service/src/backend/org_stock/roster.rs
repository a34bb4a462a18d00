//! The pseudonyms of holders, and the rosters that contain the holder references for ops (OST-12, OST-13,
//! OST-15).

use aws_lc_rs::hmac;
use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use dpop_bound::RandomSource;
use exchange_api::error_responses::PlainCode;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{HolderRef, OrgStockMembers, RosterMember, UnitId, UnitRef};
use rusqlite::Connection;

use super::super::Backend;
use super::super::units::{self, shown_name};
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, ensure_key, load_key};

/// The name of the key in the table `secret`.
const KEY: &str = "holder-ref";
/// The maximum number of members on a roster.
const MAX_MEMBERS: i64 = 10_000;

/// The pseudonyms that one client sees for members. A client sees the same pseudonyms in the data of every
/// reader; different clients see different ones. A pseudonym cannot be mapped to a member without the key.
#[derive(Debug)]
pub(super) struct HolderPseudonyms {
    key: hmac::Key,
    client: ClientId,
}

/// Creates the key for pseudonyms if the store does not have one.
pub(in crate::backend) fn prepare_key(
    connection: &Connection,
    random: &dyn RandomSource,
) -> Result<(), StoreError> {
    ensure_key(connection, random, KEY).map(drop)
}

impl HolderPseudonyms {
    pub(super) fn for_client(connection: &Connection, client: &ClientId) -> Result<Self, StoreError> {
        Ok(Self { key: load_key(connection, KEY)?, client: client.clone() })
    }

    /// Returns the client's pseudonym for a member.
    pub(super) fn pseudonym(&self, member: &MemberId) -> String {
        secrets::hmac_base64(&self.key, &[self.client.as_str(), member.as_str()])
    }

    /// Returns the pseudonym of a member as the contract's type.
    pub(super) fn holder_ref(&self, member: &MemberId) -> Result<HolderRef, StoreError> {
        HolderRef::new(self.pseudonym(member)).map_err(|_| StoreError::Corrupt("invalid pseudonym"))
    }
}

/// Loads the direct members of a unit whose names are not withheld, sorted by name.
pub(super) fn load_roster(
    connection: &Connection,
    unit: &str,
) -> Result<Vec<(MemberId, String)>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT m.id, m.name FROM membership s JOIN member m ON m.id = s.member \
         WHERE s.unit = ?1 AND NOT m.withholds_name AND m.state <> 'deleted' AND m.name <> '' \
         ORDER BY m.name, m.id LIMIT ?2",
    )?;
    let rows = rows.query_map(rusqlite::params![unit, MAX_MEMBERS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Backend {
    /// Returns the roster of a unit of which the member is a Logistician.
    pub(in crate::backend) async fn read_roster(
        &self,
        unit: UnitId,
        context: &RequestContext,
    ) -> Result<OrgStockMembers, ErrorResponse> {
        self.read_admitted(context, move |connection, admitted| {
            let mine = units::direct_memberships(connection, &admitted.member.id)?;
            let mine = mine.into_iter().find(|one| one.is_logistician && one.unit.id == unit);
            // A unit that does not exist causes the same error, so that the response does not reveal which
            // ids exist.
            let unit = mine.ok_or(PlainCode::NotPermitted)?.unit;
            let names = HolderPseudonyms::for_client(connection, &admitted.caller.client)?;
            let item = |(member, name): (MemberId, String)| {
                Ok(RosterMember {
                    ref_: names.holder_ref(&member)?,
                    name: shown_name(&name),
                    extra: Map::new(),
                })
            };
            let members = load_roster(connection, unit.id.as_str())?.into_iter();
            let items = members.map(item).collect::<Result<_, StoreError>>()?;
            let unit = UnitRef { id: unit.id, name: unit.name, extra: Map::new() };
            Ok(OrgStockMembers { unit, items: Some(items), extra: Map::new() })
        })
        .await
    }
}
