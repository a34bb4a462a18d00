//! Connections. Each connection belongs to a member's client with one key. A connection lasts as long as its
//! refresh tokens are renewed (IDP-21).
//!
//! A refresh token has the form `<connection id>.<secret>`. The store contains the hashes of the current
//! token and of its predecessor. The successor of a token is derived from the token and a key of the service.
//! If a client repeats a refresh, because the response was lost or two threads refreshed at once, it
//! therefore gets the same successor.
//!
//! Once the successor was used, the predecessor is invalid. If the predecessor or an older token is used
//! again, a token has leaked and the connection ends. The connection also ends if the token was issued after
//! the backup from which the store was restored. This case is reported as [`EndReason::Restored`] and not as
//! reuse.

use std::time::Duration;

use rusqlite::{Connection as Database, OptionalExtension as _, Row, params};

use super::oauth_error_response::OauthErrorResponse;
use super::scopes::ScopeSet;
use super::sessions;
use crate::config::IdpConfig;
use crate::ids::{ClientId, MemberId};
use crate::members::RegistrationState;
use crate::records::{self, Actor, AuditEntry};
use crate::registry;
use crate::secrets::{Sha256Hash, constant_time_eq};
use crate::store::{StoreError, restored_at, sql_limit};
use crate::time::Moment;

const DAY: Duration = Duration::from_secs(86_400);
/// The number of days for which an ended connection is kept in the store.
const KEPT_DAYS: u32 = 90;

#[derive(Clone, Debug)]
pub(super) struct ClientConnection {
    pub(super) id: String,
    pub(super) client: ClientId,
    pub(super) member: MemberId,
    pub(super) jkt: String,
    pub(super) scopes: ScopeSet,
    pub(super) auth_time: Moment,
    /// The browser session with which the connection ends (IDP-08), if any.
    pub(super) session: Option<Sha256Hash>,
    pub(super) current: Sha256Hash,
    pub(super) previous: Option<Sha256Hash>,
    pub(super) created_at: Moment,
    pub(super) used_at: Moment,
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// The client revoked the connection (IDP-23).
    Revoked,
    /// A refresh token was reused after its successor had been used.
    Reused,
    /// The refresh token is unknown because the store was restored from an older backup.
    Restored,
    /// The connection was not used for the configured time (LIM-08).
    Unused,
    /// The connection has reached its maximum age (LIM-08).
    MaxAge,
    /// The browser session of the connection has ended (IDP-08).
    SignedOut,
    /// The member has left or is disabled.
    Member,
    /// The installation or the client was disconnected.
    Disconnected,
    /// The same key started a new connection.
    Replaced,
}

impl EndReason {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Reused => "reused",
            Self::Restored => "restored",
            Self::Unused => "unused",
            Self::MaxAge => "longest",
            Self::SignedOut => "signed-out",
            Self::Member => "member",
            Self::Disconnected => "disconnected",
            Self::Replaced => "replaced",
        }
    }
}

/// The state outside of a connection that determines whether it can be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionContext {
    pub(super) member_may_act: bool,
    /// Whether the key was disconnected or, for a connection without a browser session, the client was
    /// disconnected at or after the sign-in.
    pub(super) disconnected: bool,
    /// The latest time at which the connection ends; the Unix epoch if its browser session has ended.
    pub(super) ends_at: Moment,
    /// Whether [`Self::ends_at`] is the end of the browser session.
    pub(super) limited_by_session: bool,
    /// The time of the last restore from a backup, if any.
    pub(super) restored_at: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefreshDecision {
    Rotate,
    Repeat,
    Refuse(&'static str),
    End(EndReason),
}

/// Decides how to respond to a refresh request. `token` is the hash of the refresh token. The client and the
/// key are those of the request.
pub(super) fn decide_refresh(
    connection: &ClientConnection,
    around: &ConnectionContext,
    token: &Sha256Hash,
    (client, jkt): (&str, &str),
    now: Moment,
    config: &IdpConfig,
) -> RefreshDecision {
    if let Some(refused) = foreign_token_reason(connection, client, jkt) {
        return RefreshDecision::Refuse(refused);
    }
    if connection.ended {
        return RefreshDecision::Refuse("the connection has ended");
    }
    if let Some(end) = find_end_reason(connection, around, now, config) {
        return RefreshDecision::End(end);
    }
    if constant_time_eq(token, &connection.current) {
        RefreshDecision::Rotate
    } else if connection.previous.is_some_and(|previous| constant_time_eq(token, &previous)) {
        RefreshDecision::Repeat
    } else if around.restored_at.is_some_and(|at| connection.used_at < at) {
        // Renewals after the backup are lost, so it is unknown whether the successor was used.
        RefreshDecision::End(EndReason::Restored)
    } else {
        RefreshDecision::End(EndReason::Reused)
    }
}

/// Returns the reason for refusing a refresh token if the request comes from another client or has another
/// key than the connection. Such a request neither uses nor ends the connection.
pub(super) fn foreign_token_reason(
    connection: &ClientConnection,
    client: &str,
    jkt: &str,
) -> Option<&'static str> {
    if connection.client.as_str() != client {
        Some("the refresh token belongs to another client")
    } else if connection.jkt != jkt {
        Some("the refresh token is bound to another key")
    } else {
        None
    }
}

fn find_end_reason(
    connection: &ClientConnection,
    around: &ConnectionContext,
    now: Moment,
    config: &IdpConfig,
) -> Option<EndReason> {
    if !around.member_may_act {
        Some(EndReason::Member)
    } else if around.disconnected {
        Some(EndReason::Disconnected)
    } else if now >= around.ends_at {
        Some(if around.limited_by_session { EndReason::SignedOut } else { EndReason::MaxAge })
    } else if now.since(connection.used_at) >= DAY.saturating_mul(config.unused_days) {
        Some(EndReason::Unused)
    } else {
        None
    }
}

pub(super) fn load_context(
    database: &Database,
    connection: &ClientConnection,
    now: Moment,
    config: &IdpConfig,
) -> Result<ConnectionContext, StoreError> {
    let expiry = connection.created_at.plus(DAY.saturating_mul(config.longest_days));
    let session_end = match connection.session {
        None => None,
        Some(hash) => {
            let session = sessions::find_by_hash(database, hash, now)?;
            Some(session.map_or(Moment::default(), |session| session.expires_at))
        }
    };
    let ends_at = session_end.map_or(expiry, |end| end.min(expiry));
    // The gateway refuses the tokens of a browser session that began before a disconnect (IDP-08).
    let client_revoked = connection.session.is_none()
        && registry::client_is_revoked(
            database,
            &connection.client,
            &connection.member,
            connection.auth_time,
        )?;
    Ok(ConnectionContext {
        member_may_act: may_act(database, &connection.member)?,
        disconnected: client_revoked || registry::key_is_revoked(database, &connection.jkt)?,
        ends_at,
        limited_by_session: session_end.is_some_and(|end| end < expiry),
        restored_at: restored_at(database)?,
    })
}

/// Returns true if the member may sign in and stay connected. The exchange itself checks its further
/// requirements (A19).
pub(super) fn may_act(database: &Database, member: &MemberId) -> Result<bool, StoreError> {
    let member = crate::members::find_member(database, member)?;
    Ok(member
        .is_some_and(|member| matches!(member.state, RegistrationState::Active | RegistrationState::Pending)))
}

pub(super) fn find_connection(database: &Database, id: &str) -> Result<Option<ClientConnection>, StoreError> {
    let sql = "SELECT id, client, member, jkt, scopes, auth_time, session, current_hash, previous_hash, \
               created_at, used_at, ended_at FROM connection WHERE id = ?1";
    Ok(database.prepare_cached(sql)?.query_row([id], read_connection).optional()?)
}

fn read_connection(row: &Row<'_>) -> rusqlite::Result<ClientConnection> {
    let scopes: String = row.get(4)?;
    let ended: Option<i64> = row.get(11)?;
    Ok(ClientConnection {
        id: row.get(0)?,
        client: row.get(1)?,
        member: row.get(2)?,
        jkt: row.get(3)?,
        scopes: ScopeSet::from_stored(&scopes),
        auth_time: Moment::from_millis(row.get(5)?),
        session: row.get(6)?,
        current: row.get(7)?,
        previous: row.get(8)?,
        created_at: Moment::from_millis(row.get(9)?),
        used_at: Moment::from_millis(row.get(10)?),
        ended: ended.is_some(),
    })
}

/// Creates a connection, ends earlier ones of the same client, member and key, and notifies the member
/// (WEB-04).
pub(super) fn begin_connection(database: &Database, connection: &ClientConnection) -> Result<(), StoreError> {
    let ClientConnection { id, client, member, jkt, created_at, .. } = connection;
    let replaced =
        list_ids_where(database, "client = ?1 AND member = ?2 AND jkt = ?3", params![client, member, jkt])?;
    for id in replaced {
        if let Some(replaced) = find_connection(database, &id)? {
            end_connection(database, &replaced, EndReason::Replaced, Actor::Member(member), *created_at)?;
        }
    }
    database
        .prepare_cached(
            "INSERT INTO connection (id, client, member, jkt, scopes, auth_time, session, current_hash, \
             created_at, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
        )?
        .execute(params![
            id,
            client,
            member,
            jkt,
            connection.scopes.to_scope_string(),
            connection.auth_time.as_millis(),
            connection.session,
            connection.current,
            created_at.as_millis(),
        ])?;
    records::notify_member(database, *created_at, member, "connected", client.as_str())?;
    let scopes = connection.scopes.to_scope_string();
    let entry = AuditEntry { client: Some(client), action: "connect", subject: id, detail: &scopes };
    records::record_audit(database, *created_at, Actor::Member(member), entry)
}

/// Stores the successor of a token. For a repeated refresh, only the time of use changes.
pub(super) fn renew_token(
    database: &Database,
    id: &str,
    token: &Sha256Hash,
    successor: &Sha256Hash,
    now: Moment,
) -> Result<(), OauthErrorResponse> {
    let sql = "UPDATE connection SET previous_hash = ?2, \
               current_hash = ?3, used_at = ?4 WHERE id = ?1";
    database.prepare_cached(sql)?.execute(params![id, token, successor, now.as_millis()])?;
    Ok(())
}

/// Ends a connection. Notifies the member if a token was reused.
pub(super) fn end_connection(
    database: &Database,
    connection: &ClientConnection,
    end: EndReason,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "UPDATE connection SET ended_at = ?2, end_reason = ?3 WHERE id = ?1 AND ended_at IS NULL";
    database.prepare_cached(sql)?.execute(params![connection.id, now.as_millis(), end.as_str()])?;
    if end == EndReason::Reused {
        records::notify_member(
            database,
            now,
            &connection.member,
            "connection-reused",
            connection.client.as_str(),
        )?;
    }
    let ClientConnection { id, client, .. } = connection;
    let entry =
        AuditEntry { client: Some(client), action: "end-connection", subject: id, detail: end.as_str() };
    records::record_audit(database, now, actor, entry)
}

/// Ends at most `limit` connections that exceed a time limit (LIM-08). Returns the number of ended
/// connections.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn end_expired(
    database: &Database,
    config: &IdpConfig,
    now: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let unused = now.minus(DAY.saturating_mul(config.unused_days)).as_millis();
    let oldest_start = now.minus(DAY.saturating_mul(config.longest_days)).as_millis();
    let sql = "SELECT id FROM connection WHERE ended_at IS NULL AND used_at <= ?1 \
               UNION SELECT id FROM connection WHERE ended_at IS NULL AND created_at <= ?2 LIMIT ?3";
    let ids: Vec<String> = database
        .prepare_cached(sql)?
        .query_map(params![unused, oldest_start, sql_limit(limit)], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &ids {
        if let Some(connection) = find_connection(database, id)? {
            let around = load_context(database, &connection, now, config)?;
            let reason = find_end_reason(&connection, &around, now, config).unwrap_or(EndReason::Unused);
            end_connection(database, &connection, reason, Actor::Service, now)?;
        }
    }
    Ok(ids.len())
}

/// Deletes at most `limit` connections that ended at least 90 days ago. Returns the number of deleted
/// connections.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_ended(database: &Database, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let before = now.minus(DAY.saturating_mul(KEPT_DAYS)).as_millis();
    let sql = "DELETE FROM connection WHERE id IN (SELECT id FROM connection WHERE ended_at <= ?1 LIMIT ?2)";
    Ok(database.prepare_cached(sql)?.execute(params![before, sql_limit(limit)])?)
}

/// Ends the connections that are bound to a browser session.
pub(super) fn end_for_session(
    database: &Database,
    session: Sha256Hash,
    reason: EndReason,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    let ids = list_ids_where(database, "session = ?1", params![session])?;
    for id in ids {
        if let Some(connection) = find_connection(database, &id)? {
            end_connection(database, &connection, reason, actor, now)?;
        }
    }
    Ok(())
}

/// Returns the ids of the active connections that match an SQL condition.
pub(super) fn list_ids_where(
    database: &Database,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<String>, StoreError> {
    let sql = format!("SELECT id FROM connection WHERE {condition} AND ended_at IS NULL");
    let mut rows = database.prepare_cached(&sql)?;
    let ids = rows.query_map(parameters, |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(ids)
}
