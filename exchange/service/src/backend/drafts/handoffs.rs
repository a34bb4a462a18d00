//! Stores staged drafts, each under the hash of the one-time handoff that opens it (DRF-14, DRF-16).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::config::DraftsConfig;
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The maximum number of unexpired drafts per client and member (LIM-35).
const MAX_LIVE_DRAFTS: usize = 10;

/// A draft to stage.
#[derive(Clone, Copy)]
pub(super) struct NewDraft<'a> {
    pub(super) client: &'a ClientId,
    pub(super) member: &'a MemberId,
    /// The secret in the draft's link. Only its hash is stored.
    pub(super) handoff: &'a str,
    pub(super) content: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageOutcome {
    Stored,
    /// Nothing was written because a byte budget is exhausted. A retry after this time may succeed.
    RetryAfter(Duration),
}

/// Stages a draft. Deletes the oldest drafts of the same client and member if the limit of ten would be
/// exceeded.
pub(super) fn insert_draft(
    connection: &Connection,
    rule: &DraftsConfig,
    waiting: &NewDraft<'_>,
    now: Moment,
) -> Result<StageOutcome, StoreError> {
    let NewDraft { client, member, handoff, content } = waiting;
    let sql = "SELECT number, size FROM draft WHERE client = ?1 AND member = ?2 AND expires_at > ?3 \
               ORDER BY number";
    let live: Vec<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_map(params![client, member, now.as_millis()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let dropped = live.get(..(live.len() + 1).saturating_sub(MAX_LIVE_DRAFTS)).unwrap_or_default();
    let size = to_i64(content.len() as u64 + DraftsConfig::OVERHEAD_BYTES);
    let more = size - dropped.iter().map(|(_, size)| size).sum::<i64>();
    let budgets = [(Some(*client), rule.bytes_of_client), (None, rule.bytes)];
    let mut latest = None;
    for (client, budget) in budgets {
        let over = used_bytes(connection, client, now)? + more - to_i64(budget);
        if over > 0 {
            let wait = until_free(connection, client, dropped, over, now)?;
            latest = latest.max(Some(wait.unwrap_or(Duration::from_secs(rule.handoff_seconds))));
        }
    }
    if let Some(wait) = latest {
        return Ok(StageOutcome::RetryAfter(wait));
    }
    let mut drop_one = connection.prepare_cached("DELETE FROM draft WHERE number = ?1")?;
    for (number, _) in dropped {
        drop_one.execute([number])?;
    }
    let ends = now.plus(Duration::from_secs(rule.handoff_seconds));
    let sql = "INSERT INTO draft (handoff_hash, client, member, content, size, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(params![
        secrets::sha256(handoff),
        client,
        member,
        content,
        size,
        ends.as_millis()
    ])?;
    Ok(StageOutcome::Stored)
}

/// Sums the sizes of the unexpired drafts of a client, or of all clients if `client` is `None`.
fn used_bytes(connection: &Connection, client: Option<&ClientId>, now: Moment) -> Result<i64, StoreError> {
    let sql =
        "SELECT coalesce(sum(size), 0) FROM draft WHERE expires_at > ?1 AND (?2 IS NULL OR client = ?2)";
    Ok(connection.prepare_cached(sql)?.query_row(params![now.as_millis(), client], |row| row.get(0))?)
}

/// Returns the time until expiring drafts release at least `over` bytes. Ignores the drafts in `dropped`,
/// because the caller deletes them now.
fn until_free(
    connection: &Connection,
    client: Option<&ClientId>,
    dropped: &[(i64, i64)],
    over: i64,
    now: Moment,
) -> Result<Option<Duration>, StoreError> {
    let sql = "SELECT number, expires_at, size FROM draft \
               WHERE expires_at > ?1 AND (?2 IS NULL OR client = ?2) ORDER BY expires_at";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![now.as_millis(), client])?;
    let mut freed = 0;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        if dropped.iter().any(|(gone, _)| *gone == number) {
            continue;
        }
        freed += row.get::<_, i64>(2)?;
        if freed >= over {
            return Ok(Some(Moment::from_millis(row.get(1)?).since(now)));
        }
    }
    Ok(None)
}

fn to_i64(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

/// Deletes the draft of a handoff and returns its client and content. Returns `None` if there is no such
/// draft, if it belongs to another member, or if it has expired.
pub(super) fn take_draft(
    connection: &Connection,
    member: &MemberId,
    handoff: &str,
    now: Moment,
) -> Result<Option<(ClientId, String)>, StoreError> {
    let sql = "DELETE FROM draft WHERE handoff_hash = ?1 AND member = ?2 AND expires_at > ?3 \
               RETURNING client, content";
    let taken = connection
        .prepare_cached(sql)?
        .query_row(params![secrets::sha256(handoff), member, now.as_millis()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(taken)
}

/// Deletes up to `limit` drafts that expired before they were opened. Returns the number of deleted drafts.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_drafts(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM draft WHERE number IN (SELECT number FROM draft WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.as_millis(), sql_limit(limit)])?)
}
