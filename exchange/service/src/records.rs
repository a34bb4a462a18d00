//! What is written down beside a decision: the audit, and what a member is told.
//!
//! Neither holds a secret or a value of a member's data: clients, installations, connections and change sets are
//! named by their ids. Administrators read the audit ([`admin::list_audit`](crate::admin::list_audit)), members read
//! what they are told on a page of theirs (`unread`).

mod unread;

use rusqlite::{Connection, params};

use crate::ids::{ClientId, MemberId};
use crate::store::{StoreError, limit};
use crate::time::Moment;

pub(crate) use unread::{About, MOST_COUNTED, Notice, Who, acknowledge, count_unread, unread};

/// Who answers for something, kept for when it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doer {
    /// A member, on a page or through a client of theirs.
    Member(MemberId),
    /// An administrator, by name.
    Administrator(String),
    /// The service, by a rule of its own.
    Service,
}

impl Doer {
    /// As records name it.
    #[must_use]
    pub fn actor(&self) -> Actor<'_> {
        match self {
            Self::Member(member) => Actor::Member(member),
            Self::Administrator(name) => Actor::Administrator(name),
            Self::Service => Actor::Service,
        }
    }
}

/// Who did something.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    /// A member, on a page or through a client of theirs.
    Member(&'a MemberId),
    /// An administrator, by name.
    Administrator(&'a str),
    /// The service, by a rule of its own.
    Service,
}

/// What somebody did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed<'a> {
    /// Through which client, or to which.
    pub(crate) client: Option<&'a ClientId>,
    /// What was done: `blueprints.write`.
    pub(crate) action: &'a str,
    /// To what.
    pub(crate) subject: &'a str,
    /// In words that a person reads.
    pub(crate) detail: &'a str,
}

/// Notes who did what.
pub(crate) fn audit(
    connection: &Connection,
    now: Moment,
    actor: Actor<'_>,
    deed: Deed<'_>,
) -> Result<(), StoreError> {
    let actor = match actor {
        Actor::Member(member) => format!("member:{member}"),
        Actor::Administrator(name) => format!("administrator:{name}"),
        Actor::Service => "service".to_owned(),
    };
    let Deed { client, action, subject, detail } = deed;
    connection
        .prepare_cached(
            "INSERT INTO audit (at, actor, client, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![now.millis(), actor, client, action, subject, detail])?;
    Ok(())
}

/// Tells a member.
pub(crate) fn notice(
    connection: &Connection,
    now: Moment,
    member: &MemberId,
    kind: &str,
    subject: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO notice (member, at, kind, subject) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![member, now.millis(), kind, subject])?;
    Ok(())
}

/// Removes at most so much of the audit that is older than a moment; says how much.
///
/// # Errors
/// What the database says.
pub(crate) fn prune_audit(connection: &Connection, before: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![before.millis(), limit(most)])?)
}

/// Removes at most so many notices that were acknowledged before a moment, or that nobody acknowledged and that are
/// older than another; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune_notices(
    connection: &Connection,
    (acknowledged, unread): (Moment, Moment),
    most: usize,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM notice WHERE id IN \
               (SELECT id FROM notice WHERE acknowledged_at < ?1 \
                UNION ALL SELECT id FROM notice WHERE acknowledged_at IS NULL AND at < ?2 LIMIT ?3)";
    let before = params![acknowledged.millis(), unread.millis(), limit(most)];
    Ok(connection.prepare_cached(sql)?.execute(before)?)
}
