//! The byte budgets for stored responses, per member, per client and in total (LIM-20).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::config::LimitsConfig;
use crate::ids::{ClientId, MemberId};
use crate::store::StoreError;
use crate::time::Moment;

/// The maximum `Retry-After` delay for a full budget (ERR-35).
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// The retention of claims and stored responses, and their byte budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRetention {
    /// The period for which a response is stored.
    pub window: Duration,
    /// The period after which another request may take over a claim. It is longer than any request takes.
    pub lease: Duration,
    /// The maximum size of a stored response, in bytes.
    pub max_answer_bytes: u64,
    /// The number of bytes that a claim reserves. With a smaller budget, no claim is possible.
    pub reserved_bytes: u64,
    /// The budget per client and member, in bytes.
    pub bytes_per_member: u64,
    /// The budget per client, in bytes.
    pub bytes_per_client: u64,
    /// The total budget, in bytes.
    pub total_bytes: u64,
}

impl KeyRetention {
    /// Creates the settings from the configuration.
    #[must_use]
    pub fn from_config(limits: &LimitsConfig) -> Self {
        Self {
            window: Duration::from_secs(limits.idempotency_seconds),
            // The lease is twice the backend timeout, so that the client has given up before the claim can be
            // taken over.
            lease: limits.relay_timeout().saturating_mul(2),
            max_answer_bytes: limits.kept_answer_bytes as u64,
            reserved_bytes: limits.reserved_bytes(),
            bytes_per_member: limits.kept_bytes_of_member,
            bytes_per_client: limits.kept_bytes_of_client,
            total_bytes: limits.kept_bytes,
        }
    }
}

/// Adds bytes to the counts of the member, of the client and in total. A negative number releases bytes.
pub(super) fn add_bytes(
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
        // A member without stored responses has no row.
        let sql = "DELETE FROM kept_bytes WHERE client = ?1 AND member = ?2 AND bytes <= 0";
        connection.prepare_cached(sql)?.execute(params![client, member])?;
    }
    Ok(())
}

/// Checks that the budgets have room for one more response. The inner error is the delay until enough bytes
/// are released.
pub(super) fn check_room(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    terms: &KeyRetention,
    now: Moment,
) -> Result<Result<(), Duration>, StoreError> {
    let scopes = [
        (client.as_str(), member.as_str(), terms.bytes_per_member),
        (client.as_str(), "", terms.bytes_per_client),
        ("", "", terms.total_bytes),
    ];
    let mut longest_wait = None;
    for (client, member, budget) in scopes {
        let stored: Option<i64> = connection
            .prepare_cached("SELECT bytes FROM kept_bytes WHERE client = ?1 AND member = ?2")?
            .query_row(params![client, member], |row| row.get(0))
            .optional()?;
        let stored = u64::try_from(stored.unwrap_or(0)).unwrap_or(0);
        let over = stored.saturating_add(terms.reserved_bytes).saturating_sub(budget);
        if over > 0 {
            longest_wait =
                longest_wait.max(Some(wait_for_room(connection, client, member, over, terms, now)?));
        }
    }
    Ok(longest_wait.map_or(Ok(()), Err))
}

/// Returns the delay until `over` bytes of a scope expire, at most [`MAX_WAIT`]. Reads only the rows that
/// expire within [`MAX_WAIT`].
fn wait_for_room(
    connection: &Connection,
    client: &str,
    member: &str,
    over: u64,
    terms: &KeyRetention,
    now: Moment,
) -> Result<Duration, StoreError> {
    // A claim expires with its lease. It is treated as a response that was stored one window before that
    // time.
    let sql = "SELECT lease_until - ?1 AS since, size FROM idempotency \
               WHERE status IS NULL AND lease_until <= ?1 + ?2 \
               AND (?3 = '' OR client = ?3) AND (?4 = '' OR member = ?4) \
               UNION ALL SELECT created_at, size FROM idempotency \
               WHERE status IS NOT NULL AND created_at <= ?2 \
               AND (?3 = '' OR client = ?3) AND (?4 = '' OR member = ?4) \
               ORDER BY since";
    let horizon = now.plus(MAX_WAIT).minus(terms.window);
    let window = i64::try_from(terms.window.as_millis()).unwrap_or(i64::MAX);
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query(params![window, horizon.as_millis(), client, member])?;
    let mut freed = 0_u64;
    while let Some(row) = rows.next()? {
        freed = freed.saturating_add(u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0));
        if freed >= over {
            let ends = Moment::from_millis(row.get(0)?).plus(terms.window);
            return Ok(ends.since(now).min(MAX_WAIT));
        }
    }
    Ok(MAX_WAIT)
}
