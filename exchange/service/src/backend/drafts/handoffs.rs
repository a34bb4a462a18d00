//! Staged drafts, each under the hash of the handoff that opens it once (DRF-14, DRF-16).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::config::Drafts;
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Live drafts of one client and member (LIM-35).
const LIVE: usize = 10;

/// A draft that is to wait for its member.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) client: &'a ClientId,
    pub(super) member: &'a MemberId,
    /// Never stored.
    pub(super) handoff: &'a str,
    pub(super) content: &'a str,
}

/// Whether there was room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It waits.
    Taken,
    /// Nothing was written; there is room after so long, if nobody else takes it.
    After(Duration),
}

/// Stages a draft; the oldest ones of the same client and member make room for an eleventh.
pub(super) fn stage(
    connection: &Connection,
    rule: &Drafts,
    waiting: &Waiting<'_>,
    now: Moment,
) -> Result<Room, StoreError> {
    let Waiting { client, member, handoff, content } = waiting;
    let sql = "SELECT number, size FROM draft WHERE client = ?1 AND member = ?2 AND expires_at > ?3 \
               ORDER BY number";
    let live: Vec<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_map(params![client, member, now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let dropped = live.get(..(live.len() + 1).saturating_sub(LIVE)).unwrap_or_default();
    let size = signed(content.len() as u64 + Drafts::OVERHEAD);
    let more = size - dropped.iter().map(|(_, size)| size).sum::<i64>();
    let budgets = [(Some(*client), rule.bytes_of_client), (None, rule.bytes)];
    let mut longest = None;
    for (client, budget) in budgets {
        let over = used(connection, client, now)? + more - signed(budget);
        if over > 0 {
            let wait = until_free(connection, client, dropped, over, now)?;
            longest = longest.max(Some(wait.unwrap_or(Duration::from_secs(rule.handoff_seconds))));
        }
    }
    if let Some(wait) = longest {
        return Ok(Room::After(wait));
    }
    let mut drop_one = connection.prepare_cached("DELETE FROM draft WHERE number = ?1")?;
    for (number, _) in dropped {
        drop_one.execute([number])?;
    }
    let ends = now.plus(Duration::from_secs(rule.handoff_seconds));
    let sql = "INSERT INTO draft (handoff_hash, client, member, content, size, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(params![
        secrets::hash(handoff),
        client,
        member,
        content,
        size,
        ends.millis()
    ])?;
    Ok(Room::Taken)
}

/// Bytes of the live drafts of a client, or of all.
fn used(connection: &Connection, client: Option<&ClientId>, now: Moment) -> Result<i64, StoreError> {
    let sql =
        "SELECT coalesce(sum(size), 0) FROM draft WHERE expires_at > ?1 AND (?2 IS NULL OR client = ?2)";
    Ok(connection.prepare_cached(sql)?.query_row(params![now.millis(), client], |row| row.get(0))?)
}

/// How long until so many bytes of theirs have ended, beside those that are dropped now.
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
    let mut rows = statement.query(params![now.millis(), client])?;
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

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

/// Takes the draft of a handoff, when it is this member's and alive: whose it is, and what it holds.
pub(super) fn take(
    connection: &Connection,
    member: &MemberId,
    handoff: &str,
    now: Moment,
) -> Result<Option<(ClientId, String)>, StoreError> {
    let sql = "DELETE FROM draft WHERE handoff_hash = ?1 AND member = ?2 AND expires_at > ?3 \
               RETURNING client, content";
    let taken = connection
        .prepare_cached(sql)?
        .query_row(params![secrets::hash(handoff), member, now.millis()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(taken)
}

/// Drops at most so many drafts that nobody opened in time; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM draft WHERE number IN (SELECT number FROM draft WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.millis(), limit(most)])?)
}
