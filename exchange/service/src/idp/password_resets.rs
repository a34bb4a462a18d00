//! Links with which members who forgot their password set a new one. An administrator creates a link, and it
//! works once.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{accounts, sessions};
use crate::environment::Environment;
use crate::ids::MemberId;
use crate::records::{self, Actor, AuditEntry};
use crate::secrets;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The path of the page that a link opens, below the origin of the members' web pages.
pub const PATH: &str = "/reset/";

/// The period in which a link works.
pub const LIFETIME: Duration = Duration::from_secs(86_400);

/// Creates a link for a member, which replaces an earlier one. Returns its secret, of which only the hash is
/// stored, and the time at which it expires.
///
/// # Errors
/// Returns a [`StoreError`] if the database or the random number generator fails.
pub fn create_reset(
    connection: &Connection,
    environment: &Environment,
    member: &MemberId,
) -> Result<(String, Moment), StoreError> {
    let (secret, expires_at) = (environment.random_token::<32>()?, environment.now().plus(LIFETIME));
    let sql = "INSERT INTO password_reset (hash, member, expires_at) VALUES (?1, ?2, ?3) \
               ON CONFLICT (member) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at";
    let row = params![secrets::sha256(&secret), member, expires_at.as_millis()];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok((secret, expires_at))
}

/// Returns the member of a link and the user name of the account, unless the link was used or has expired.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_reset(
    connection: &Connection,
    secret: &str,
    now: Moment,
) -> Result<Option<(MemberId, String)>, StoreError> {
    let sql = "SELECT r.member, a.username FROM password_reset r JOIN account a ON a.member = r.member \
               WHERE r.hash = ?1 AND r.expires_at > ?2";
    let mut one = connection.prepare_cached(sql)?;
    let row = params![secrets::sha256(secret), now.as_millis()];
    Ok(one.query_row(row, |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Uses a link once: sets the password, which deletes the link ([`accounts::set_password`]), ends all sessions of
/// the member, and notifies the member. Returns false if the link was used or has expired.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn use_reset(
    connection: &Connection,
    secret: &str,
    password_hash: &str,
    now: Moment,
) -> Result<bool, StoreError> {
    let Some((member, _)) = find_reset(connection, secret, now)? else { return Ok(false) };
    let actor = Actor::Member(&member);
    accounts::set_password(connection, &member, password_hash)?;
    sessions::end_all_sessions(connection, &member, actor, now)?;
    records::notify_member(connection, now, &member, "password-reset", member.as_str())?;
    let entry = AuditEntry { client: None, action: "password.reset", subject: member.as_str(), detail: "" };
    records::record_audit(connection, now, actor, entry)?;
    Ok(true)
}

/// Deletes up to `limit` expired links. Returns the number of deleted links.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_expired(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM password_reset WHERE hash IN \
               (SELECT hash FROM password_reset WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.as_millis(), sql_limit(limit)])?)
}
