//! Connections: a member's client, by one key, for as long as its refresh tokens are renewed (IDP-21).
//!
//! A refresh token is `<id of the connection>.<secret>`; the store has the hash of the current one and of
//! its predecessor. The successor of a token is computed from the token and a key of the service, so
//! that whoever repeats a refresh, because the answer was lost or because two threads asked at once, gets
//! the same successor again. Once the successor was used, the predecessor is over, and whoever still comes
//! with it, or with one before it, ends the connection: two hold what one should. So does whoever was given a successor
//! of which a restored store knows nothing, which is nobody's fault.

use std::time::Duration;

use rusqlite::{Connection as Database, OptionalExtension as _, Row, params};

use super::refusal::Refusal;
use super::scopes::Scopes;
use super::sessions;
use crate::config::Idp;
use crate::ids::{ClientId, MemberId};
use crate::members::State;
use crate::records::{self, Actor, Deed};
use crate::registry;
use crate::secrets::{Hash, same};
use crate::store::{StoreError, limit, restored_at};
use crate::time::Moment;

const DAY: Duration = Duration::from_secs(86_400);
/// How many days a connection is kept after its end.
const KEPT: u32 = 90;

/// A connection as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) id: String,
    pub(super) client: ClientId,
    pub(super) member: MemberId,
    pub(super) jkt: String,
    pub(super) scopes: Scopes,
    pub(super) auth_time: Moment,
    /// The browser session that it ends with (IDP-08).
    pub(super) session: Option<Hash>,
    pub(super) current: Hash,
    pub(super) previous: Option<Hash>,
    pub(super) created_at: Moment,
    pub(super) used_at: Moment,
    pub(super) ended: bool,
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its client revoked it (IDP-23).
    Revoked,
    /// A refresh token came back whose successor was used already.
    Reused,
    /// A refresh token came that nobody knows, since the store was restored from a backup that is older than it.
    Restored,
    /// Nobody used it for so long (LIM-08).
    Unused,
    /// It has lasted as long as any may (LIM-08).
    Longest,
    /// Its browser session is over (IDP-08).
    SignedOut,
    /// Its member is gone, or switched off.
    Member,
    /// Its installation or its client was disconnected.
    Disconnected,
    /// The same key connected anew.
    Replaced,
}

impl End {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Reused => "reused",
            Self::Restored => "restored",
            Self::Unused => "unused",
            Self::Longest => "longest",
            Self::SignedOut => "signed-out",
            Self::Member => "member",
            Self::Disconnected => "disconnected",
            Self::Replaced => "replaced",
        }
    }
}

/// What else there is to know about a connection when it is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    /// Whether its member may act.
    pub(super) member: bool,
    /// Whether its key, or its client after the sign-in, was disconnected.
    pub(super) disconnected: bool,
    /// When it ends at the latest; the past when its browser session is over.
    pub(super) ends_at: Moment,
    /// Whether that is the session's end.
    pub(super) by_session: bool,
    /// When the store was restored from a backup, if ever.
    pub(super) restored_at: Option<Moment>,
}

/// What comes of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refresh {
    /// The token has its successor from now on.
    Rotate,
    /// It has one already, which nobody has used: the same again.
    Repeat,
    /// Nothing; the connection stays as it is.
    Refuse(&'static str),
    /// The connection is over from now on.
    End(End),
}

/// Decides about a refresh with the token of this hash, by a client with a key.
pub(super) fn decide(
    connection: &Connection,
    around: &Around,
    token: &Hash,
    (client, jkt): (&str, &str),
    now: Moment,
    config: &Idp,
) -> Refresh {
    if let Some(refused) = not_theirs(connection, client, jkt) {
        return Refresh::Refuse(refused);
    }
    if connection.ended {
        return Refresh::Refuse("the connection is over");
    }
    if let Some(end) = over(connection, around, now, config) {
        return Refresh::End(end);
    }
    if same(token, &connection.current) {
        Refresh::Rotate
    } else if connection.previous.is_some_and(|previous| same(token, &previous)) {
        Refresh::Repeat
    } else if around.restored_at.is_some_and(|at| connection.used_at < at) {
        // What it was renewed to after the backup went with the restore: nobody can tell its successors from used ones.
        Refresh::End(End::Restored)
    } else {
        Refresh::End(End::Reused)
    }
}

/// Whether somebody else comes with its token: who has it and not the key neither uses nor ends it.
pub(super) fn not_theirs(connection: &Connection, client: &str, jkt: &str) -> Option<&'static str> {
    if connection.client.as_str() != client {
        Some("the refresh token is another client's")
    } else if connection.jkt != jkt {
        Some("the refresh token is bound to another key")
    } else {
        None
    }
}

fn over(connection: &Connection, around: &Around, now: Moment, config: &Idp) -> Option<End> {
    if !around.member {
        Some(End::Member)
    } else if around.disconnected {
        Some(End::Disconnected)
    } else if now >= around.ends_at {
        Some(if around.by_session { End::SignedOut } else { End::Longest })
    } else if now.since(connection.used_at) >= DAY.saturating_mul(config.unused_days) {
        Some(End::Unused)
    } else {
        None
    }
}

/// Looks around.
pub(super) fn around(
    database: &Database,
    connection: &Connection,
    now: Moment,
    config: &Idp,
) -> Result<Around, StoreError> {
    let longest = connection.created_at.plus(DAY.saturating_mul(config.longest_days));
    let session_end = match connection.session {
        None => None,
        Some(hash) => {
            let session = sessions::of_hash(database, hash, now)?;
            Some(session.map_or(Moment::default(), |session| session.expires_at))
        }
    };
    let ends_at = session_end.map_or(longest, |end| end.min(longest));
    // The sign-in of a browser session may lie before a disconnect: then the gateway refuses (IDP-08).
    let client_revoked = connection.session.is_none()
        && registry::client_is_revoked(
            database,
            &connection.client,
            &connection.member,
            connection.auth_time,
        )?;
    Ok(Around {
        member: may_act(database, &connection.member)?,
        disconnected: client_revoked || registry::key_is_revoked(database, &connection.jkt)?,
        ends_at,
        by_session: session_end.is_some_and(|end| end < longest),
        restored_at: restored_at(database)?,
    })
}

/// Whether a member may sign in and stay connected. What else the exchange asks of members, it asks itself
/// (A19).
pub(super) fn may_act(database: &Database, member: &MemberId) -> Result<bool, StoreError> {
    let member = crate::members::find(database, member)?;
    Ok(member.is_some_and(|member| matches!(member.state, State::Active | State::Pending)))
}

/// The connection of this id.
pub(super) fn find(database: &Database, id: &str) -> Result<Option<Connection>, StoreError> {
    let sql = "SELECT id, client, member, jkt, scopes, auth_time, session, current_hash, previous_hash, \
               created_at, used_at, ended_at FROM connection WHERE id = ?1";
    Ok(database.prepare_cached(sql)?.query_row([id], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Connection> {
    let scopes: String = row.get(4)?;
    let ended: Option<i64> = row.get(11)?;
    Ok(Connection {
        id: row.get(0)?,
        client: row.get(1)?,
        member: row.get(2)?,
        jkt: row.get(3)?,
        scopes: Scopes::read(&scopes),
        auth_time: Moment::from_millis(row.get(5)?),
        session: row.get(6)?,
        current: row.get(7)?,
        previous: row.get(8)?,
        created_at: Moment::from_millis(row.get(9)?),
        used_at: Moment::from_millis(row.get(10)?),
        ended: ended.is_some(),
    })
}

/// Begins a connection, in place of those that the same key had, and tells its member (WEB-04).
pub(super) fn begin(database: &Database, connection: &Connection) -> Result<(), StoreError> {
    let Connection { id, client, member, jkt, created_at, .. } = connection;
    let replaced =
        ids_where(database, "client = ?1 AND member = ?2 AND jkt = ?3", params![client, member, jkt])?;
    for id in replaced {
        if let Some(replaced) = find(database, &id)? {
            end(database, &replaced, End::Replaced, Actor::Member(member), *created_at)?;
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
            connection.scopes.text(),
            connection.auth_time.millis(),
            connection.session,
            connection.current,
            created_at.millis(),
        ])?;
    records::notice(database, *created_at, member, "connected", client.as_str())?;
    let scopes = connection.scopes.text();
    let deed = Deed { client: Some(client), action: "connect", subject: id, detail: &scopes };
    records::audit(database, *created_at, Actor::Member(member), deed)
}

/// Gives a token its successor; the same again changes nothing but the time.
pub(super) fn renew(
    database: &Database,
    id: &str,
    token: &Hash,
    successor: &Hash,
    now: Moment,
) -> Result<(), Refusal> {
    let sql = "UPDATE connection SET previous_hash = ?2, \
               current_hash = ?3, used_at = ?4 WHERE id = ?1";
    database.prepare_cached(sql)?.execute(params![id, token, successor, now.millis()])?;
    Ok(())
}

/// Ends a connection.
pub(super) fn end(
    database: &Database,
    connection: &Connection,
    end: End,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "UPDATE connection SET ended_at = ?2, end_reason = ?3 WHERE id = ?1 AND ended_at IS NULL";
    database.prepare_cached(sql)?.execute(params![connection.id, now.millis(), end.as_str()])?;
    if end == End::Reused {
        records::notice(database, now, &connection.member, "connection-reused", connection.client.as_str())?;
    }
    let Connection { id, client, .. } = connection;
    let deed = Deed { client: Some(client), action: "end-connection", subject: id, detail: end.as_str() };
    records::audit(database, now, actor, deed)
}

/// Ends at most so many connections whose time is over and for which nobody came (LIM-08); says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn end_over(
    database: &Database,
    config: &Idp,
    now: Moment,
    most: usize,
) -> Result<usize, StoreError> {
    let unused = now.minus(DAY.saturating_mul(config.unused_days)).millis();
    let longest = now.minus(DAY.saturating_mul(config.longest_days)).millis();
    let sql = "SELECT id FROM connection WHERE ended_at IS NULL AND used_at <= ?1 \
               UNION SELECT id FROM connection WHERE ended_at IS NULL AND created_at <= ?2 LIMIT ?3";
    let ids: Vec<String> = database
        .prepare_cached(sql)?
        .query_map(params![unused, longest, limit(most)], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &ids {
        if let Some(connection) = find(database, id)? {
            let around = around(database, &connection, now, config)?;
            let reason = over(&connection, &around, now, config).unwrap_or(End::Unused);
            end(database, &connection, reason, Actor::Service, now)?;
        }
    }
    Ok(ids.len())
}

/// Forgets at most so many connections that ended 90 days ago or before; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(database: &Database, now: Moment, most: usize) -> Result<usize, StoreError> {
    let before = now.minus(DAY.saturating_mul(KEPT)).millis();
    let sql = "DELETE FROM connection WHERE id IN (SELECT id FROM connection WHERE ended_at <= ?1 LIMIT ?2)";
    Ok(database.prepare_cached(sql)?.execute(params![before, limit(most)])?)
}

/// Ends the connections that were to last no longer than a browser session.
pub(super) fn end_of_session(
    database: &Database,
    session: Hash,
    reason: End,
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    let ids = ids_where(database, "session = ?1", params![session])?;
    for id in ids {
        if let Some(connection) = find(database, &id)? {
            end(database, &connection, reason, actor, now)?;
        }
    }
    Ok(())
}

/// The ids of the connections that go on and answer a condition.
pub(super) fn ids_where(
    database: &Database,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<String>, StoreError> {
    let sql = format!("SELECT id FROM connection WHERE {condition} AND ended_at IS NULL");
    let mut rows = database.prepare_cached(&sql)?;
    let ids = rows.query_map(parameters, |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(ids)
}
