//! Changes of pools by the web pages, administrators and the system, not by a connected client.

use exchange_api::types::{ChangeResult, OrgStockChangeSet};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::change::{BatchDecision, ChangeError, EntryDelta, commit_decision};
use super::super::warehouse::{Earmark, EarmarkPurpose, publish_pools};
use super::OrgStockArea;
use super::pool_record::{PoolEntry, PoolRecord};
use super::table::{list_lots, load_entries};
use crate::feed::ChangeAuthor;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, UnitRole};
use crate::names::{MemberName, MissionName};
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use crate::time::Moment;

/// The query for the pool lots that contain stock of a holder.
const OF_HOLDER: &str =
    "SELECT DISTINCT unit, pool_lot FROM stock_row WHERE member = ?1 AND unit IS NOT NULL";
/// The query for the lots of a unit's pool.
const OF_UNIT: &str = "SELECT DISTINCT unit, pool_lot FROM stock_row WHERE unit = ?1";
/// The query for the pool lots with an entry that is earmarked to a mission.
const OF_MISSION: &str = "SELECT DISTINCT r.unit, r.pool_lot FROM stock_earmark e JOIN stock_row r \
    ON r.id = e.stock_row WHERE e.kind = 'mission' AND e.target = ?1 AND r.unit IS NOT NULL";

/// Records all lots of a unit's pool in the pool's feed, because the lots contain the unit's name.
pub(in crate::backend) fn publish_unit_change(
    connection: &Connection,
    unit: &UnitId,
    now: Moment,
) -> Result<(), StoreError> {
    publish_pools(connection, &ChangeAuthor::System, now, list_lots(connection, OF_UNIT, unit.as_str())?)
}

/// Records all pool lots that contain stock of a member in the feeds of the pools, because their entries now
/// show the member differently.
pub(crate) fn publish_holder_change(
    connection: &Connection,
    author: &ChangeAuthor,
    now: Moment,
    holder: &MemberId,
) -> Result<(), StoreError> {
    publish_pools(connection, author, now, list_lots(connection, OF_HOLDER, holder.as_str())?)
}

impl Backend {
    /// Changes pools on behalf of an author other than a connected client. The holder references in `body`
    /// are member ids. No response is stored for repetition.
    ///
    /// # Errors
    /// Returns a [`ChangeError`] if the change fails; nothing is written in that case.
    pub async fn change_org_stock(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        body: OrgStockChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_server_side::<OrgStockArea>(member, author, body).await
    }

    /// Sets the amount of an entry that is earmarked to a target; 0 removes the earmark. Returns false if
    /// there is no such pool entry, if the earmarks would exceed the amount of the entry, or if the entry
    /// would have too many targets.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn earmark_stock(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        entry: &str,
        (purpose, target): (EarmarkPurpose, &str),
        amount: i64,
    ) -> Result<bool, StoreError> {
        let (backend, member, entry, target) =
            (self.clone(), member.clone(), entry.to_owned(), target.to_owned());
        let earmark = move |connection: &Connection| {
            let Some(before) = load_entries(connection, [&*entry])?.remove(&entry) else { return Ok(false) };
            backend.set_earmark(connection, (&member, author), before, (purpose, &target), amount)
        };
        self.store.write(earmark).await
    }

    /// Sets an earmark of a loaded entry, within the caller's transaction.
    pub(in crate::backend) fn set_earmark(
        &self,
        connection: &Connection,
        (member, author): (&MemberId, ChangeAuthor),
        before: PoolEntry,
        (purpose, target): (EarmarkPurpose, &str),
        amount: i64,
    ) -> Result<bool, StoreError> {
        if before.row.keeping.pool_unit().is_none() {
            return Ok(false);
        }
        let mut after = before.clone();
        after.earmarks.take_earmark(purpose, target, i64::MAX);
        after.earmarks.add_earmark(purpose, target, Earmark { amount, delivered: false });
        after.row.reserved = after.earmarks.reserved_amount();
        if amount < 0 || after.row.reserved > after.row.amount || !after.earmarks.fits_limit() {
            return Ok(false);
        }
        if after == before {
            return Ok(true);
        }
        after.row.version += 1;
        let writer = self.write_context(member, author)?;
        let key = before.row.id.clone();
        let (before, after) = (Some(PoolRecord::Entry(before)), Some(PoolRecord::Entry(after)));
        let touched = vec![EntryDelta { key, before, after, removal: false, overridden: false }];
        let (ends, extras, notices) = Default::default();
        let decided = BatchDecision { statuses: ends, touched, extras, notices };
        commit_decision::<OrgStockArea>(
            connection,
            &writer,
            writer.author.channel(),
            &decided,
            &self.fault_injector,
        )?;
        Ok(true)
    }

    /// Changes a member's name, and records the pool lots that show the name in the feeds (OST-07). Returns
    /// false if nothing changed.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn rename_member(&self, member: &MemberId, name: MemberName) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET name = ?2 WHERE id = ?1 AND name <> ?2";
        self.change_holder(member, name, "member.rename", sql).await
    }

    /// Withholds a member's name from connected applications, or shows it again (OST-07, WEB-07). Returns
    /// false if nothing changed.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn withhold_name(&self, member: &MemberId, is_withheld: bool) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET withholds_name = ?2 WHERE id = ?1 AND withholds_name <> ?2";
        self.change_holder(member, is_withheld, "member.withhold-name", sql).await
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
            let entry = AuditEntry { client: None, action, subject: member.as_str(), detail };
            records::record_audit(connection, now, Actor::Member(&member), entry)?;
            publish_holder_change(connection, &ChangeAuthor::Web, now, &member)?;
            Ok(true)
        };
        self.store.write(change).await
    }

    /// Changes a mission's name, and records the pool lots that show the name in the feeds (OST-07). Returns
    /// false if there is no such mission.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn rename_mission(&self, mission: &str, name: MissionName) -> Result<bool, StoreError> {
        let (mission, now) = (mission.to_owned(), self.environment.now());
        let rename = move |connection: &Connection| {
            let sql = "UPDATE mission SET name = ?2 WHERE id = ?1 AND name <> ?2";
            if connection.prepare_cached(sql)?.execute(params![mission, name])? == 0 {
                let sql = "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)";
                return Ok(connection.prepare_cached(sql)?.query_row([&mission], |row| row.get(0))?);
            }
            let detail = "as the entries that are earmarked to it show it from now on";
            let entry = AuditEntry { client: None, action: "mission.rename", subject: &mission, detail };
            records::record_audit(connection, now, Actor::Service, entry)?;
            publish_pools(connection, &ChangeAuthor::Web, now, list_lots(connection, OF_MISSION, &mission)?)?;
            Ok(true)
        };
        self.store.write(rename).await
    }

    /// Adds a member to a unit or changes the member's role; `None` removes the member from the unit. Records
    /// nothing in feeds, because the next page of the member's pools uses the current units and roles
    /// (OST-05, OST-06, OST-09). Returns false if [`members::set_role`] returns false, for example for an
    /// unknown member or unit.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn set_role(
        &self,
        member: &MemberId,
        unit: &UnitId,
        role: Option<UnitRole>,
    ) -> Result<bool, StoreError> {
        let (member, unit, now) = (member.clone(), unit.clone(), self.environment.now());
        let change = move |connection: &Connection| {
            members::set_role(connection, (Actor::Service, now), &member, &unit, role)
        };
        self.store.write(change).await
    }
}
