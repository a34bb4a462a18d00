//! What happens to pools elsewhere than in a connected client: on the web, by an administrator.

use exchange_api::types::{ChangeResult, OrgStockChangeSet};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::change::{ChangeError, Decided, Touched, carry_out};
use super::super::warehouse::{Earmark, Purpose, tell_pools};
use super::OrgStock;
use super::entry::{Entry, Record};
use super::table::{entries, lots};
use crate::feed::Author;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, Role};
use crate::names::{MemberName, MissionName};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;
use crate::time::Moment;

/// The lots of a holder.
const OF_HOLDER: &str =
    "SELECT DISTINCT unit, pool_lot FROM stock_row WHERE member = ?1 AND unit IS NOT NULL";
/// The lots of a unit's pool.
const OF_UNIT: &str = "SELECT DISTINCT unit, pool_lot FROM stock_row WHERE unit = ?1";
/// The lots with an entry that is earmarked to a mission.
const OF_MISSION: &str = "SELECT DISTINCT r.unit, r.pool_lot FROM stock_earmark e JOIN stock_row r \
    ON r.id = e.stock_row WHERE e.kind = 'mission' AND e.target = ?1 AND r.unit IS NOT NULL";

/// Tells all who read a unit's pool of its lots, which carry the unit's name.
pub(in crate::backend) fn tell_of_unit(
    connection: &Connection,
    unit: &UnitId,
    now: Moment,
) -> Result<(), StoreError> {
    tell_pools(connection, &Author::System, now, lots(connection, OF_UNIT, unit.as_str())?)
}

/// Tells all who read pools in which a member holds stock of these lots: their entries show the member otherwise
/// from now on.
pub(crate) fn tell_of_holder(
    connection: &Connection,
    by: &Author,
    now: Moment,
    holder: &MemberId,
) -> Result<(), StoreError> {
    tell_pools(connection, by, now, lots(connection, OF_HOLDER, holder.as_str())?)
}

impl Backend {
    /// Changes pools by another way than a connected client. Holders are named by their members' ids; nothing is
    /// answered twice.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is written then.
    pub async fn change_org_stock(
        &self,
        member: &MemberId,
        author: Author,
        body: OrgStockChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_beside::<OrgStock>(member, author, body).await
    }

    /// Earmarks so much of an entry to a target, in the place of what it was earmarked to it before; nothing is
    /// left of an earmark of 0. Says whether there is such an entry, and whether it holds that much
    /// and has room for one more target.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn earmark_stock(
        &self,
        member: &MemberId,
        author: Author,
        entry: &str,
        (purpose, target): (Purpose, &str),
        amount: i64,
    ) -> Result<bool, StoreError> {
        let (backend, member, entry, target) =
            (self.clone(), member.clone(), entry.to_owned(), target.to_owned());
        let earmark = move |connection: &Connection| {
            let Some(before) = entries(connection, [&*entry])?.remove(&entry) else { return Ok(false) };
            backend.earmark(connection, (&member, author), before, (purpose, &target), amount)
        };
        self.store.write(earmark).await
    }

    /// The same within a transaction, of an entry as it is.
    pub(in crate::backend) fn earmark(
        &self,
        connection: &Connection,
        (member, author): (&MemberId, Author),
        before: Entry,
        (purpose, target): (Purpose, &str),
        amount: i64,
    ) -> Result<bool, StoreError> {
        if before.row.keeping.unit().is_none() {
            return Ok(false);
        }
        let mut after = before.clone();
        after.earmarks.take(purpose, target, i64::MAX);
        after.earmarks.add(purpose, target, Earmark { amount, delivered: false });
        after.row.reserved = after.earmarks.reserved();
        if amount < 0 || after.row.reserved > after.row.amount || !after.earmarks.are_shown() {
            return Ok(false);
        }
        if after == before {
            return Ok(true);
        }
        after.row.version += 1;
        let writer = self.writer(member, author)?;
        let key = before.row.id.clone();
        let (before, after) = (Some(Record::Entry(before)), Some(Record::Entry(after)));
        let touched = vec![Touched { key, before, after, removal: false, overridden: false }];
        let (ends, extras, notices) = Default::default();
        let decided = Decided { ends, touched, extras, notices };
        carry_out::<OrgStock>(connection, &writer, writer.author.channel(), &decided, &self.interruption)?;
        Ok(true)
    }

    /// Gives a member another name, which the entries that they hold show (OST-07). Says whether that
    /// changed anything.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn rename_member(&self, member: &MemberId, name: MemberName) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET name = ?2 WHERE id = ?1 AND name <> ?2";
        self.change_holder(member, name, "member.rename", sql).await
    }

    /// Keeps a member's name from connected applications, or shows it again (OST-07, WEB-07). Says whether that
    /// changed anything.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn withhold_name(&self, member: &MemberId, withholds: bool) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET withholds_name = ?2 WHERE id = ?1 AND withholds_name <> ?2";
        self.change_holder(member, withholds, "member.withhold-name", sql).await
    }

    async fn change_holder(
        &self,
        member: &MemberId,
        value: impl rusqlite::ToSql + Send + 'static,
        action: &'static str,
        sql: &'static str,
    ) -> Result<bool, StoreError> {
        let (member, now) = (member.clone(), self.environment.now());
        let change = move |connection: &Connection| {
            if connection.prepare_cached(sql)?.execute(params![member, value])? == 0 {
                return Ok(false);
            }
            let detail = "as the entries that the member holds show it from now on";
            let deed = Deed { client: None, action, subject: member.as_str(), detail };
            records::audit(connection, now, Actor::Member(&member), deed)?;
            tell_of_holder(connection, &Author::Web, now, &member)?;
            Ok(true)
        };
        self.store.write(change).await
    }

    /// Gives a mission another name, which the entries that are earmarked to it show (OST-07). Says whether there is
    /// such a mission.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn rename_mission(&self, mission: &str, name: MissionName) -> Result<bool, StoreError> {
        let (mission, now) = (mission.to_owned(), self.environment.now());
        let rename = move |connection: &Connection| {
            let sql = "UPDATE mission SET name = ?2 WHERE id = ?1 AND name <> ?2";
            if connection.prepare_cached(sql)?.execute(params![mission, name])? == 0 {
                let sql = "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)";
                return Ok(connection.prepare_cached(sql)?.query_row([&mission], |row| row.get(0))?);
            }
            let detail = "as the entries that are earmarked to it show it from now on";
            let deed = Deed { client: None, action: "mission.rename", subject: &mission, detail };
            records::audit(connection, now, Actor::Service, deed)?;
            tell_pools(connection, &Author::Web, now, lots(connection, OF_MISSION, &mission)?)?;
            Ok(true)
        };
        self.store.write(rename).await
    }

    /// Makes a member one of a unit, gives them another role in it, or makes them leave it. No feed is told: the
    /// next page of the member's pools is of the units and roles of that moment (OST-05, OST-06, OST-09). Says
    /// whether there are such a member and unit, as [`members::set_role`] does.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn set_role(
        &self,
        member: &MemberId,
        unit: &UnitId,
        role: Option<Role>,
    ) -> Result<bool, StoreError> {
        let (member, unit, now) = (member.clone(), unit.clone(), self.environment.now());
        let change = move |connection: &Connection| {
            members::set_role(connection, (Actor::Service, now), &member, &unit, role)
        };
        self.store.write(change).await
    }
}
