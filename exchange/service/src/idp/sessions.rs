//! Browser sessions: a secret in a cookie, its hash in the store.

use std::fmt;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::connections::{self, End};
use crate::environment::Environment;
use crate::ids::MemberId;
use crate::records::Actor;
use crate::secrets::{self, Hash};
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// How long a session is kept after its end.
const KEPT: Duration = Duration::from_secs(86_400);

/// A session that goes on.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    pub(super) hash: Hash,
    /// Who signed in.
    pub member: MemberId,
    /// When.
    pub auth_time: Moment,
    /// When it ends by itself.
    pub expires_at: Moment,
}

/// Shows whose it is.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("member", &self.member).finish_non_exhaustive()
    }
}

/// Begins a session; its secret, which goes into the cookie and nowhere else, comes with it.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn begin(
    connection: &Connection,
    environment: &Environment,
    member: &MemberId,
    life: Duration,
) -> Result<(String, Session), StoreError> {
    let (secret, now) = (environment.token::<32>()?, environment.now());
    let session = Session {
        hash: secrets::hash(&secret),
        member: member.clone(),
        auth_time: now,
        expires_at: now.plus(life),
    };
    connection
        .prepare_cached("INSERT INTO session (hash, member, auth_time, expires_at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session.hash, member, session.auth_time.millis(), session.expires_at.millis()])?;
    Ok((secret, session))
}

/// Forgets at most so many sessions that ended by themselves a day ago or before; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM session WHERE hash IN (SELECT hash FROM session WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.minus(KEPT).millis(), limit(most)])?)
}

/// The session of a cookie's secret, while it goes on.
///
/// # Errors
/// What the database says.
pub fn find(connection: &Connection, secret: &str, now: Moment) -> Result<Option<Session>, StoreError> {
    of_hash(connection, secrets::hash(secret), now)
}

pub(super) fn of_hash(
    connection: &Connection,
    hash: Hash,
    now: Moment,
) -> Result<Option<Session>, StoreError> {
    let sql = "SELECT member, auth_time, expires_at FROM session \
               WHERE hash = ?1 AND ended_at IS NULL AND expires_at > ?2";
    let session = connection
        .prepare_cached(sql)?
        .query_row(params![hash, now.millis()], |row| {
            Ok(Session {
                hash,
                member: row.get(0)?,
                auth_time: Moment::from_millis(row.get(1)?),
                expires_at: Moment::from_millis(row.get(2)?),
            })
        })
        .optional()?;
    Ok(session)
}

/// Ends a session, and the connections that were to last no longer (IDP-08); the audit has who did it.
///
/// # Errors
/// What the database says.
pub fn end(
    connection: &Connection,
    session: &Session,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE session SET ended_at = ?2 WHERE hash = ?1 AND ended_at IS NULL")?
        .execute(params![session.hash, now.millis()])?;
    connections::end_of_session(connection, session.hash, End::SignedOut, actor, now)
}

/// Ends all sessions of a member, and the connections that were to last no longer than one of them.
///
/// # Errors
/// What the database says.
pub fn end_all(
    connection: &Connection,
    member: &MemberId,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "SELECT hash FROM session WHERE member = ?1 AND ended_at IS NULL AND expires_at > ?2";
    let mut rows = connection.prepare_cached(sql)?;
    let hashes: Vec<Hash> =
        rows.query_map(params![member, now.millis()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for hash in hashes {
        if let Some(session) = of_hash(connection, hash, now)? {
            end(connection, &session, actor, now)?;
        }
    }
    Ok(())
}
