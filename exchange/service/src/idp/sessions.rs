//! Browser sessions. The secret of a session is in a cookie, and its hash in the store.

use std::fmt;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::connections::{self, EndReason};
use crate::environment::Environment;
use crate::ids::MemberId;
use crate::records::Actor;
use crate::secrets::{self, Sha256Hash};
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The period for which a session is kept in the store after it expired.
const KEPT_AFTER_END: Duration = Duration::from_secs(86_400);

/// An active browser session.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserSession {
    pub(super) hash: Sha256Hash,
    /// The member who signed in.
    pub member: MemberId,
    /// The time of the sign-in.
    pub auth_time: Moment,
    /// The time at which the session expires.
    pub expires_at: Moment,
}

/// The member is printed; the hash is omitted.
impl fmt::Debug for BrowserSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserSession").field("member", &self.member).finish_non_exhaustive()
    }
}

/// Begins a session and returns it with its secret. The secret must only be stored in the cookie.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails or the random number generator fails.
pub fn begin_session(
    connection: &Connection,
    environment: &Environment,
    member: &MemberId,
    life: Duration,
) -> Result<(String, BrowserSession), StoreError> {
    let (secret, now) = (environment.random_token::<32>()?, environment.now());
    let session = BrowserSession {
        hash: secrets::sha256(&secret),
        member: member.clone(),
        auth_time: now,
        expires_at: now.plus(life),
    };
    connection
        .prepare_cached("INSERT INTO session (hash, member, auth_time, expires_at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            session.hash,
            member,
            session.auth_time.as_millis(),
            session.expires_at.as_millis()
        ])?;
    Ok((secret, session))
}

/// Deletes at most `limit` sessions that expired at least a day ago. Returns the number of deleted sessions.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_expired(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM session WHERE hash IN (SELECT hash FROM session WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection
        .prepare_cached(sql)?
        .execute(params![now.minus(KEPT_AFTER_END).as_millis(), sql_limit(limit)])?)
}

/// Finds the active session with the secret of a cookie.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_session(
    connection: &Connection,
    secret: &str,
    now: Moment,
) -> Result<Option<BrowserSession>, StoreError> {
    find_by_hash(connection, secrets::sha256(secret), now)
}

pub(super) fn find_by_hash(
    connection: &Connection,
    hash: Sha256Hash,
    now: Moment,
) -> Result<Option<BrowserSession>, StoreError> {
    let sql = "SELECT member, auth_time, expires_at FROM session \
               WHERE hash = ?1 AND ended_at IS NULL AND expires_at > ?2";
    let session = connection
        .prepare_cached(sql)?
        .query_row(params![hash, now.as_millis()], |row| {
            Ok(BrowserSession {
                hash,
                member: row.get(0)?,
                auth_time: Moment::from_millis(row.get(1)?),
                expires_at: Moment::from_millis(row.get(2)?),
            })
        })
        .optional()?;
    Ok(session)
}

/// A session in the list of a member's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// The id of the session, which is derived from its hash. It cannot be used as a cookie.
    pub id: String,
    /// The browser, such as `Firefox on Linux`.
    pub browser: Option<String>,
    /// The time of the sign-in.
    pub auth_time: Moment,
    /// The time at which the session expires.
    pub expires_at: Moment,
    /// The number of applications that are connected until the session ends.
    pub bound_connections: i64,
}

impl BrowserSession {
    /// Returns the id of the session in [`ListedSession`].
    #[must_use]
    pub fn id(&self) -> String {
        session_id(&self.hash)
    }
}

fn session_id(hash: &Sha256Hash) -> String {
    secrets::encode_hex(&secrets::hash_prefix::<16>(&secrets::sha256(hash)))
}

/// Records the browser of a session, in words.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn record_browser(
    connection: &Connection,
    session: &BrowserSession,
    browser: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE session SET browser = ?2 WHERE hash = ?1";
    connection.prepare_cached(sql)?.execute(params![session.hash, browser])?;
    Ok(())
}

/// Lists the active sessions of a member, newest first.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn list_sessions(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<Vec<ListedSession>, StoreError> {
    let sql = "SELECT s.hash, s.browser, s.auth_time, s.expires_at, \
               (SELECT count(*) FROM connection c WHERE c.session = s.hash AND c.ended_at IS NULL) \
               FROM session s WHERE s.member = ?1 AND s.ended_at IS NULL AND s.expires_at > ?2 \
               ORDER BY s.auth_time DESC, s.hash";
    let mut rows = connection.prepare_cached(sql)?;
    let rows = rows.query_map(params![member, now.as_millis()], |row| {
        let hash: Sha256Hash = row.get(0)?;
        Ok(ListedSession {
            id: session_id(&hash),
            browser: row.get(1)?,
            auth_time: Moment::from_millis(row.get(2)?),
            expires_at: Moment::from_millis(row.get(3)?),
            bound_connections: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Ends the sessions of a member for which `is_ended` returns true, given the id of the session. Returns the
/// number of ended sessions.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn end_sessions_where(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
    is_ended: impl Fn(&str) -> bool,
) -> Result<usize, StoreError> {
    let mut count = 0;
    for hash in active_hashes(connection, member, now)? {
        if is_ended(&session_id(&hash))
            && let Some(session) = find_by_hash(connection, hash, now)?
        {
            end_session(connection, &session, Actor::Member(member), now)?;
            count += 1;
        }
    }
    Ok(count)
}

fn active_hashes(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<Vec<Sha256Hash>, StoreError> {
    let sql = "SELECT hash FROM session WHERE member = ?1 AND ended_at IS NULL AND expires_at > ?2";
    let mut rows = connection.prepare_cached(sql)?;
    let hashes = rows.query_map(params![member, now.as_millis()], |row| row.get(0))?;
    Ok(hashes.collect::<Result<_, _>>()?)
}

/// Ends a session and the connections that are bound to it (IDP-08). The audit attributes this to `actor`.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn end_session(
    connection: &Connection,
    session: &BrowserSession,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE session SET ended_at = ?2 WHERE hash = ?1 AND ended_at IS NULL")?
        .execute(params![session.hash, now.as_millis()])?;
    connections::end_for_session(connection, session.hash, EndReason::SignedOut, actor, now)
}

/// Ends all sessions of a member and the connections that are bound to them.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn end_all_sessions(
    connection: &Connection,
    member: &MemberId,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    for hash in active_hashes(connection, member, now)? {
        if let Some(session) = find_by_hash(connection, hash, now)? {
            end_session(connection, &session, actor, now)?;
        }
    }
    Ok(())
}
