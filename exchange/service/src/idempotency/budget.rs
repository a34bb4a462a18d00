//! How many bytes of answers are kept, for whom (LIM-20).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::config::Limits;
use crate::ids::{ClientId, MemberId};
use crate::store::StoreError;
use crate::time::Moment;

/// The longest wait that a client is told (ERR-35).
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How long and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long an answer is kept.
    pub window: Duration,
    /// How long a claim holds before it may be taken over: longer than the request can take.
    pub lease: Duration,
    /// The largest answer that is kept.
    pub answer: u64,
    /// What a claim reserves: a budget that is smaller takes none.
    pub reserve: u64,
    /// Bytes per client and member.
    pub of_member: u64,
    /// Bytes per client.
    pub of_client: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Terms {
    /// As they are configured.
    #[must_use]
    pub fn of(limits: &Limits) -> Self {
        Self {
            window: Duration::from_secs(limits.idempotency_seconds),
            // Twice the wait for the backend: whoever waited in vain has given up long before.
            lease: limits.relay_wait().saturating_mul(2),
            answer: limits.kept_answer_bytes as u64,
            reserve: limits.reserved_bytes(),
            of_member: limits.kept_bytes_of_member,
            of_client: limits.kept_bytes_of_client,
            total: limits.kept_bytes,
        }
    }
}

/// Adds to what is kept for a client and member, their client and all.
pub(super) fn add(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    bytes: i64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO kept_bytes (client, member, bytes) VALUES (?1, ?2, ?3) \
               ON CONFLICT (client, member) DO UPDATE SET bytes = bytes + excluded.bytes";
    let mut statement = connection.prepare_cached(sql)?;
    for (client, member) in [(client.as_str(), member.as_str()), (client.as_str(), ""), ("", "")] {
        statement.execute(params![client, member, bytes])?;
    }
    if bytes < 0 {
        // Whoever keeps nothing leaves no row.
        let sql = "DELETE FROM kept_bytes WHERE client = ?1 AND member = ?2 AND bytes <= 0";
        connection.prepare_cached(sql)?.execute(params![client, member])?;
    }
    Ok(())
}

/// Whether there is room for one more answer; if not, how long until enough of it is free again.
pub(super) fn room(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    terms: &Terms,
    now: Moment,
) -> Result<Result<(), Duration>, StoreError> {
    let scopes = [
        (client.as_str(), member.as_str(), terms.of_member),
        (client.as_str(), "", terms.of_client),
        ("", "", terms.total),
    ];
    let mut longest = None;
    for (client, member, budget) in scopes {
        let kept: Option<i64> = connection
            .prepare_cached("SELECT bytes FROM kept_bytes WHERE client = ?1 AND member = ?2")?
            .query_row(params![client, member], |row| row.get(0))
            .optional()?;
        let kept = u64::try_from(kept.unwrap_or(0)).unwrap_or(0);
        let over = kept.saturating_add(terms.reserve).saturating_sub(budget);
        if over > 0 {
            longest = longest.max(Some(wait(connection, client, member, over, terms, now)?));
        }
    }
    Ok(longest.map_or(Ok(()), Err))
}

/// How long until so many bytes of a scope are free again, at most [`LONGEST_WAIT`]; only what expires by then
/// is looked at.
fn wait(
    connection: &Connection,
    client: &str,
    member: &str,
    over: u64,
    terms: &Terms,
    now: Moment,
) -> Result<Duration, StoreError> {
    // A claim ends with its lease: as an answer would that had been given a window before.
    let sql = "SELECT lease_until - ?1 AS since, size FROM idempotency \
               WHERE status IS NULL AND lease_until <= ?1 + ?2 \
               AND (?3 = '' OR client = ?3) AND (?4 = '' OR member = ?4) \
               UNION ALL SELECT created_at, size FROM idempotency \
               WHERE status IS NOT NULL AND created_at <= ?2 \
               AND (?3 = '' OR client = ?3) AND (?4 = '' OR member = ?4) \
               ORDER BY since";
    let horizon = now.plus(LONGEST_WAIT).minus(terms.window);
    let window = i64::try_from(terms.window.as_millis()).unwrap_or(i64::MAX);
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query(params![window, horizon.millis(), client, member])?;
    let mut freed = 0_u64;
    while let Some(row) = rows.next()? {
        freed = freed.saturating_add(u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0));
        if freed >= over {
            let ends = Moment::from_millis(row.get(0)?).plus(terms.window);
            return Ok(ends.since(now).min(LONGEST_WAIT));
        }
    }
    Ok(LONGEST_WAIT)
}
