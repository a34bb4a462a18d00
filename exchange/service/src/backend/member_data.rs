//! Deletes the data of a member whose account is deleted, with tombstones of the channel `system` (TYP-14, BPR-10).
//!
//! Stock in the pools of units stays, and so does stock that is reserved for job orders, missions or donations,
//! because other members rely on it. Pools do not show the name of the holder (OST-12).

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::warehouse::{PlacedRow, RowBooking, load_rows_by_id, publish_bookings, write_bookings};
use super::{blueprints, ships};
use crate::feed::{self, ChangeAuthor, FeedStream, KeyChange};
use crate::ids::MemberId;
use crate::store::StoreError;
use crate::time::Moment;

/// The tables without a feed whose rows of a member are deleted.
const PERSONAL_TABLES: [&str; 7] =
    ["draft", "handled_request", "held_batch", "notice", "password_reset", "refinery_order", "review"];

/// The numbers of entries that were deleted with an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedData {
    /// The number of blueprints.
    pub blueprints: usize,
    /// The number of stock entries.
    pub stock: usize,
    /// The number of ships.
    pub ships: usize,
    /// The number of stock entries that were kept, because they are in a pool or reserved.
    pub stock_kept: usize,
}

/// Deletes a member's data, and records tombstones in the member's feeds. Must run within one transaction.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn delete_member_data(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<DeletedData, StoreError> {
    let (stock, stock_kept) = delete_stock(connection, member, now)?;
    let deleted = DeletedData {
        blueprints: delete_keyed(connection, member, now, blueprints::NAME, "blueprint", "product")?,
        ships: delete_ships(connection, member, now)?,
        stock,
        stock_kept,
    };
    for table in PERSONAL_TABLES {
        connection.execute(&format!("DELETE FROM {table} WHERE member = ?1"), [member])?;
    }
    Ok(deleted)
}

/// Deletes the member's rows of a table, and records a tombstone for the key of each row.
fn delete_keyed(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
    area: &str,
    table: &str,
    key: &str,
) -> Result<usize, StoreError> {
    let sql = format!("SELECT {key} FROM {table} WHERE member = ?1 ORDER BY {key}");
    let mut rows = connection.prepare(&sql)?;
    let keys: BTreeSet<String> = rows.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    connection.execute(&format!("DELETE FROM {table} WHERE member = ?1"), [member])?;
    let changes = keys.iter().map(|key| KeyChange { key, gone: true });
    feed::record_changes(
        connection,
        &FeedStream::of_member(area, member),
        &ChangeAuthor::System,
        now,
        changes,
    )?;
    Ok(keys.len())
}

/// Deletes the member's ships with their links. Missions lose the ships (SHP-10).
fn delete_ships(connection: &Connection, member: &MemberId, now: Moment) -> Result<usize, StoreError> {
    let of_member = "IN (SELECT id FROM ship WHERE member = ?1)";
    connection.execute(&format!("UPDATE mission_unit SET ship = NULL WHERE ship {of_member}"), [member])?;
    connection.execute(&format!("DELETE FROM ship_link WHERE ship {of_member}"), [member])?;
    delete_keyed(connection, member, now, ships::NAME, "ship", "id")
}

/// Deletes the member's stock that is neither in a pool nor reserved. Returns the numbers of deleted and kept
/// entries.
fn delete_stock(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<(usize, usize), StoreError> {
    let sql = "SELECT id FROM stock_row WHERE member = ?1 AND unit IS NULL \
               AND NOT EXISTS (SELECT 1 FROM stock_earmark WHERE stock_row = stock_row.id) ORDER BY number";
    let mut rows = connection.prepare(sql)?;
    let ids: Vec<String> = rows.query_map(params![member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let all = load_rows_by_id(connection, ids.iter().map(String::as_str))?;
    let bookings: Vec<RowBooking<'_>> = all
        .iter()
        .map(|(holder, lot, row)| RowBooking {
            before: Some(PlacedRow { holder, lot, key: None, row }),
            after: None,
        })
        .collect();
    write_bookings(connection, &bookings)?;
    publish_bookings(connection, &ChangeAuthor::System, now, &bookings)?;
    let kept: i64 =
        connection
            .query_row("SELECT count(*) FROM stock_row WHERE member = ?1", [member], |row| row.get(0))?;
    Ok((bookings.len(), usize::try_from(kept).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreLocation, StoreOptions};

    /// The other tables with rows of members, each with the reason why the deletion of an account does not delete
    /// these rows here.
    const OTHER_TABLES: [(&str, &str); 16] = [
        ("account", "deleted by `admin::delete_member`"),
        ("blueprint", "deleted with tombstones"),
        ("client_revocation", "needed to refuse tokens"),
        ("connection", "ended, then deleted by age"),
        ("device_login", "expires after minutes"),
        ("idempotency", "expires after a day"),
        ("installation", "revoked, needed to refuse proofs"),
        ("journal_set", "deleted by age"),
        ("kept_bytes", "the sum of `idempotency`"),
        ("membership", "ended by `admin::delete_member`"),
        ("mission_participant", "belongs to the mission"),
        ("session", "ended, then deleted by age"),
        ("ship", "deleted with tombstones"),
        ("stock_row", "deleted unless it is in a pool or reserved"),
        ("stock_sale", "belongs to the unit"),
        ("write_quota", "expires after a day"),
    ];

    /// A table with rows of members is deleted with the account, or has a reason why not.
    #[tokio::test]
    async fn every_table_with_members_is_decided() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).expect("the store opens");
        let tables = store.read(|connection| {
            let sql = "SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c ON c.name = 'member' \
                       WHERE t.type = 'table' ORDER BY t.name";
            let mut rows = connection.prepare(sql)?;
            let names = rows.query_map([], |row| row.get(0))?.collect::<Result<BTreeSet<String>, _>>()?;
            Ok::<_, StoreError>(names)
        });
        let tables = tables.await.expect("the tables can be listed");
        let others = OTHER_TABLES.iter().map(|(table, _)| *table);
        let decided: BTreeSet<String> =
            PERSONAL_TABLES.into_iter().chain(others).map(str::to_owned).collect();
        assert_eq!(tables, decided);
    }
}
