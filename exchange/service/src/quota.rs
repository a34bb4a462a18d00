//! The daily write quota, with one row per client, member and UTC day (GW-07, LIM-19).

use dpop_bound::MaybeReady;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::ids::{ClientId, MemberId};
use crate::shared::SharedStateError;
use crate::shared::quota::{QuotaCounter, WriteCount};
use crate::store::{Store, StoreError, sql_limit};

/// Counts writes if the daily limit allows all of them. Otherwise counts none of them and returns false.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn take_writes(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    day: i64,
    writes: &WriteCount,
) -> Result<bool, StoreError> {
    let after = count_used(connection, client, member, day)?.saturating_add(writes.count);
    if after > writes.limit {
        return Ok(false);
    }
    let sql = "INSERT INTO write_quota (client, member, day, used) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (client, member, day) DO UPDATE SET used = excluded.used";
    connection.prepare_cached(sql)?.execute(params![client, member, day, after])?;
    Ok(true)
}

/// Refunds writes of a day to the quota.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn give_back_writes(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    day: i64,
    count: u32,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE write_quota SET used = max(used - ?4, 0) WHERE client = ?1 AND member = ?2 AND day = ?3";
    connection.prepare_cached(sql)?.execute(params![client, member, day, count])?;
    Ok(())
}

/// Deletes at most `limit` counts of days before yesterday. Returns the number of deleted counts. Yesterday's
/// counts are kept, because a request from before midnight may still refund its writes.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_days(connection: &Connection, today: i64, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM write_quota WHERE (client, member, day) IN \
               (SELECT client, member, day FROM write_quota WHERE day < ?1 - 1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![today, sql_limit(limit)])?)
}

/// Returns the number of writes that were counted on a day.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn count_used(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    day: i64,
) -> Result<u32, StoreError> {
    let sql = "SELECT used FROM write_quota WHERE client = ?1 AND member = ?2 AND day = ?3";
    let used = connection
        .prepare_cached(sql)?
        .query_row(params![client, member, day], |row| row.get(0))
        .optional()?;
    Ok(used.unwrap_or(0))
}

impl QuotaCounter for Store {
    fn take_writes<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: WriteCount,
    ) -> MaybeReady<'a, Result<bool, SharedStateError>> {
        let (client, member) = (client.clone(), member.clone());
        MaybeReady::boxed(async move {
            // This write need not wait until it is durable, because the write of the request itself is
            // committed later and makes both durable.
            let counted = self
                .write_ahead(move |connection| take_writes(connection, &client, &member, day, &writes))
                .await;
            counted.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }

    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> MaybeReady<'a, Result<(), SharedStateError>> {
        let (client, member) = (client.clone(), member.clone());
        MaybeReady::boxed(async move {
            let outcome = self
                .write(move |connection| give_back_writes(connection, &client, &member, day, count))
                .await;
            outcome.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::quota::contract;
    use crate::store::{StoreLocation, StoreOptions};

    /// GW-07, LIM-19: the store passes the contract tests of quota counters.
    #[tokio::test]
    async fn store_passes_the_contract_tests() {
        contract::check_every_rule(async || Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap())
            .await;
    }

    /// LIM-19: the rows of past days are deleted.
    #[tokio::test]
    async fn past_days_are_deleted() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let (client, member) = (ClientId::from("c"), MemberId::from("m"));
        for day in 0..5 {
            let taken =
                QuotaCounter::take_writes(&store, &client, &member, day, WriteCount { count: 1, limit: 9 });
            assert_eq!(taken.await, Ok(true));
        }
        let left = async |maximum| {
            let days = store.write(move |connection| {
                let gone = prune_days(connection, 4, maximum)?;
                let sql = "SELECT group_concat(day) FROM write_quota";
                Ok::<(usize, String), StoreError>((gone, connection.query_row(sql, [], |row| row.get(0))?))
            });
            days.await.unwrap()
        };
        assert_eq!(left(2).await, (2, "2,3,4".to_owned()));
        assert_eq!(left(2).await, (1, "3,4".to_owned()));
    }
}
