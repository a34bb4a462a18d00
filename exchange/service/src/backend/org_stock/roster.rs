//! Who holds stock in a unit's pool: pseudonyms of members, and the roster that ops name holders from
//! (OST-12, OST-13, OST-15).

use aws_lc_rs::hmac;
use contract_runtime::Map;
use contract_runtime::server::Context;
use dpop_bound::Random;
use exchange_api::refusals::PlainCode;
use exchange_api::server::Refusal;
use exchange_api::types::{HolderRef, OrgStockMembers, RosterMember, UnitId, UnitRef};
use rusqlite::Connection;

use super::super::Backend;
use super::super::units::{self, shown_name};
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, kept_key, own_key};

/// Where the key stands in `secret`.
const KEY: &str = "holder-ref";
/// The most members that a roster shows.
const MOST: i64 = 10_000;

/// What one client calls members: the same name for whoever reads, and no other client's. Without the key
/// nobody finds out whose it is.
#[derive(Debug)]
pub(super) struct Pseudonyms {
    key: hmac::Key,
    client: ClientId,
}

/// Makes the key, where the store has none.
pub(in crate::backend) fn prepare(connection: &Connection, random: &dyn Random) -> Result<(), StoreError> {
    own_key(connection, random, KEY).map(drop)
}

impl Pseudonyms {
    pub(super) fn of(connection: &Connection, client: &ClientId) -> Result<Self, StoreError> {
        Ok(Self { key: kept_key(connection, KEY)?, client: client.clone() })
    }

    /// What the client calls a member.
    pub(super) fn name(&self, member: &MemberId) -> String {
        secrets::mac(&self.key, &[self.client.as_str(), member.as_str()])
    }

    /// The same, as answers have it.
    pub(super) fn holder(&self, member: &MemberId) -> Result<HolderRef, StoreError> {
        HolderRef::new(self.name(member)).map_err(|_| StoreError::Corrupt("a pseudonym"))
    }
}

/// The direct members of a unit who show their names, by name.
pub(super) fn roster(connection: &Connection, unit: &str) -> Result<Vec<(MemberId, String)>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT m.id, m.name FROM membership s JOIN member m ON m.id = s.member \
         WHERE s.unit = ?1 AND NOT m.withholds_name AND m.state <> 'deleted' AND m.name <> '' \
         ORDER BY m.name, m.id LIMIT ?2",
    )?;
    let rows = rows.query_map(rusqlite::params![unit, MOST], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Backend {
    /// The roster of a unit whose Logistician the member is.
    pub(in crate::backend) async fn read_roster(
        &self,
        unit: UnitId,
        context: &Context,
    ) -> Result<OrgStockMembers, Refusal> {
        self.read(context, move |connection, admitted| {
            let mine = units::of(connection, &admitted.member.id)?;
            let mine = mine.into_iter().find(|one| one.logistician && one.unit.id == unit);
            // The same for a unit that there is not: ids tell nothing.
            let unit = mine.ok_or(PlainCode::NotPermitted)?.unit;
            let names = Pseudonyms::of(connection, &admitted.caller.client)?;
            let item = |(member, name): (MemberId, String)| {
                Ok(RosterMember { ref_: names.holder(&member)?, name: shown_name(&name), extra: Map::new() })
            };
            let members = roster(connection, unit.id.as_str())?.into_iter();
            let items = members.map(item).collect::<Result<_, StoreError>>()?;
            let unit = UnitRef { id: unit.id, name: unit.name, extra: Map::new() };
            Ok(OrgStockMembers { unit, items, extra: Map::new() })
        })
        .await
    }
}
