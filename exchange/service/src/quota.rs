//! The daily write quota: one row per client, member and UTC day (GW-07, LIM-19).

use dpop_bound::Pending;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::ids::{ClientId, MemberId};
use crate::shared::Unavailable;
use crate::shared::quota::{QuotaCounter, Writes};
use crate::store::{Store, StoreError, limit};

/// Counts writes when the day's limit allows it, all of them or none.
///
/// # Errors
/// What the database says.
pub fn take(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    day: i64,
    writes: &Writes,
) -> Result<bool, StoreError> {
    let after = used(connection, client, member, day)?.saturating_add(writes.count);
    if after > writes.limit {
        return Ok(false);
    }
    let sql = "INSERT INTO write_quota (client, member, day, used) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (client, member, day) DO UPDATE SET used = excluded.used";
    connection.prepare_cached(sql)?.execute(params![client, member, day, after])?;
    Ok(true)
}

/// Gives writes of a day back.
///
/// # Errors
/// What the database says.
pub fn give_back(
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

/// Forgets at most so many counts of days before yesterday, which may still be given back to by a request from
/// before midnight; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, today: i64, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM write_quota WHERE (client, member, day) IN \
               (SELECT client, member, day FROM write_quota WHERE day < ?1 - 1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![today, limit(most)])?)
}

/// How many writes of a day are counted.
///
/// # Errors
/// What the database says.
pub fn used(
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
    fn take<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: Writes,
    ) -> Pending<'a, Result<bool, Unavailable>> {
        let (client, member) = (client.clone(), member.clone());
        Pending::later(async move {
            // What it is counted for is written after it, and waited for.
            let counted =
                self.write_ahead(move |connection| take(connection, &client, &member, day, &writes)).await;
            counted.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }

    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> Pending<'a, Result<(), Unavailable>> {
        let (client, member) = (client.clone(), member.clone());
        Pending::later(async move {
            let given =
                self.write(move |connection| give_back(connection, &client, &member, day, count)).await;
            given.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::quota::contract;
    use crate::store::{Options, Place};

    /// GW-07, LIM-19
    #[tokio::test]
    async fn the_store_keeps_the_rules() {
        contract::every_rule(async || Store::open(&Options::new(Place::Memory)).unwrap()).await;
    }

    /// LIM-19: old days leave no rows behind.
    #[tokio::test]
    async fn days_gone_by_are_forgotten() {
        let store = Store::open(&Options::new(Place::Memory)).unwrap();
        let (client, member) = (ClientId::from("c"), MemberId::from("m"));
        for day in 0..5 {
            let taken = QuotaCounter::take(&store, &client, &member, day, Writes { count: 1, limit: 9 });
            assert_eq!(taken.await, Ok(true));
        }
        let left = async |most| {
            let days = store.write(move |connection| {
                let gone = prune(connection, 4, most)?;
                let sql = "SELECT group_concat(day) FROM write_quota";
                Ok::<(usize, String), StoreError>((gone, connection.query_row(sql, [], |row| row.get(0))?))
            });
            days.await.unwrap()
        };
        assert_eq!(left(2).await, (2, "2,3,4".to_owned()));
        assert_eq!(left(2).await, (1, "3,4".to_owned()));
    }
}
