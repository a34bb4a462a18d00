//! Records of actions: the audit log, and notices to members.
//!
//! Audit entries and notices contain neither secrets nor values of members' data. They refer to clients,
//! installations, connections and change sets by their ids. Administrators read the audit log
//! ([`admin::list_audit`](crate::admin::list_audit)); members read their notices on a web page
//! (`notices`).

mod notices;

use std::borrow::Cow;

use rusqlite::{Connection, params};

use crate::ids::{ClientId, MemberId};
use crate::logging::member_label;
use crate::peer::PeerAddr;
use crate::store::{StoreError, on_commit, sql_limit};
use crate::time::Moment;

pub(crate) use notices::{
    ListedNotice, MAX_COUNTED, NoticeActor, NoticeSubject, acknowledge_notices, count_unread, list_notices,
};

/// An owned [`Actor`], for use until a record is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedActor {
    /// A member, on a web page or through one of the member's clients.
    Member(MemberId),
    /// An administrator, identified by name.
    Administrator(String),
    /// The service itself, according to one of its rules.
    Service,
}

impl OwnedActor {
    /// Returns a borrowed form of the actor.
    #[must_use]
    pub fn as_actor(&self) -> Actor<'_> {
        match self {
            Self::Member(member) => Actor::Member(member),
            Self::Administrator(name) => Actor::Administrator(name),
            Self::Service => Actor::Service,
        }
    }
}

/// The person or system that is responsible for a change.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    /// A member, on a web page or through one of the member's clients.
    Member(&'a MemberId),
    /// An administrator, identified by name.
    Administrator(&'a str),
    /// The service itself, according to one of its rules.
    Service,
}

/// An entry of the audit log, without its time and actor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditEntry<'a> {
    /// The client that acted or was changed.
    pub(crate) client: Option<&'a ClientId>,
    /// The name of the action, such as `blueprints.write`.
    pub(crate) action: &'a str,
    /// The id of the object that was changed.
    pub(crate) subject: &'a str,
    pub(crate) detail: &'a str,
}

pub(crate) fn record_audit(
    connection: &Connection,
    now: Moment,
    actor: Actor<'_>,
    entry: AuditEntry<'_>,
) -> Result<(), StoreError> {
    record_audit_from(connection, now, actor, entry, None)
}

/// Adds an entry about a request from a source address.
pub(crate) fn record_audit_from(
    connection: &Connection,
    now: Moment,
    actor: Actor<'_>,
    entry: AuditEntry<'_>,
    source: Option<PeerAddr>,
) -> Result<(), StoreError> {
    let source = source.map(|source| source.0.to_canonical().to_string());
    log_on_commit(actor, &entry, source.clone());
    let AuditEntry { client, action, subject, detail } = entry;
    let actor = name_actor(actor, |member| Cow::Borrowed(member.as_str()));
    connection
        .prepare_cached(
            "INSERT INTO audit (at, actor, client, action, subject, detail, source) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![now.as_millis(), actor, client, action, subject, detail, source])?;
    Ok(())
}

fn name_actor<'m>(actor: Actor<'m>, name_member: impl Fn(&'m MemberId) -> Cow<'m, str>) -> String {
    match actor {
        Actor::Member(member) => format!("member:{}", name_member(member)),
        Actor::Administrator(name) => format!("administrator:{name}"),
        Actor::Service => "service".to_owned(),
    }
}

/// Logs an audit entry once it is committed.
fn log_on_commit(actor: Actor<'_>, entry: &AuditEntry<'_>, source: Option<String>) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let AuditEntry { client, action, subject, detail } = *entry;
    let names_member = matches!(actor, Actor::Member(member) if member.as_str() == subject)
        || action.starts_with("member.")
        || MEMBER_ACTIONS.contains(&action);
    let subject =
        if names_member { member_label(&MemberId::new(subject)).into_owned() } else { subject.to_owned() };
    let actor = name_actor(actor, member_label);
    let (client, action, detail) = (client.cloned(), action.to_owned(), detail.to_owned());
    let span = tracing::Span::current();
    on_commit(move || {
        let client = client.as_ref().map(ClientId::as_str);
        span.in_scope(|| tracing::info!(actor, source, client, action, subject, detail, "audit"));
    });
}

/// The actions, other than `member.…`, whose subject is a member.
const MEMBER_ACTIONS: [&str; 7] = [
    "approve-login",
    "decline-login",
    "disconnect-client",
    "sign-in",
    "sign-in-failed",
    "sign-in-locked",
    "sign-out",
];

pub(crate) fn notify_member(
    connection: &Connection,
    now: Moment,
    member: &MemberId,
    kind: &str,
    subject: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO notice (member, at, kind, subject) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![member, now.as_millis(), kind, subject])?;
    Ok(())
}

/// Deletes at most `limit` audit entries from before a moment. Returns the number of deleted entries.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_audit(
    connection: &Connection,
    before: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![before.as_millis(), sql_limit(limit)])?)
}

/// Deletes at most `limit` notices: those that were acknowledged before the first moment, and unacknowledged
/// ones that were created before the second. Returns the number of deleted notices.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_notices(
    connection: &Connection,
    (acknowledged, unread): (Moment, Moment),
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM notice WHERE id IN \
               (SELECT id FROM notice WHERE acknowledged_at < ?1 \
                UNION ALL SELECT id FROM notice WHERE acknowledged_at IS NULL AND at < ?2 LIMIT ?3)";
    let before = params![acknowledged.as_millis(), unread.as_millis(), sql_limit(limit)];
    Ok(connection.prepare_cached(sql)?.execute(before)?)
}
