//! The notices of a member, with the names of the clients and people to which they refer.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ids::{ClientId, MemberId};
use crate::store::{StoreError, query_count, sql_limit};
use crate::time::Moment;

/// A notice of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedNotice {
    /// The number of the notice, which grows with every notice.
    pub(crate) number: i64,
    pub(crate) at: Moment,
    /// The kind of event, such as `connected` or `org-stock.sale`.
    pub(crate) kind: String,
    /// The objects and people to which the notice refers.
    pub(crate) about: NoticeSubject,
    /// True if the member has not acknowledged the notice.
    pub(crate) is_unread: bool,
}

/// The objects and people to which a notice refers, if they still exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoticeSubject {
    /// The name of the client that was affected, that acted, or whose writes were undone. The name is the
    /// registered name, or the id if the client is no longer registered.
    pub(crate) client: Option<String>,
    pub(crate) label: Option<String>,
    /// The person who acted, if this was not the member.
    pub(crate) by: Option<NoticeActor>,
}

/// The person who acted, as shown to another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoticeActor {
    Member(String),
    /// An administrator, whose name members do not see.
    Administrator,
}

/// Lists the notices of a member, read and unread, newest first; at most `limit`, and only those with a number
/// below `before`.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn list_notices(
    connection: &Connection,
    member: &MemberId,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<ListedNotice>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT id, at, kind, subject, acknowledged_at IS NULL FROM notice WHERE member = ?1 AND id < ?2 \
         ORDER BY id DESC LIMIT ?3",
    )?;
    let mut rows = rows.query(params![member, before.unwrap_or(i64::MAX), sql_limit(limit)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, at, kind) = (row.get(0)?, Moment::from_millis(row.get(1)?), row.get::<_, String>(2)?);
        let subject: String = row.get(3)?;
        let about = match &*kind {
            "new-installation" | "installation-disconnected" => {
                describe_installation(connection, member, &subject)?
            }
            "password-changed" | "password-reset" => NoticeSubject::default(),
            change if change.starts_with("org-stock.") => describe_change_set(connection, &subject, at)?,
            _ => NoticeSubject {
                client: Some(client_name(connection, ClientId::new(subject))?),
                ..NoticeSubject::default()
            },
        };
        all.push(ListedNotice { number, at, kind, about, is_unread: row.get(4)? });
    }
    Ok(all)
}

fn describe_installation(
    connection: &Connection,
    member: &MemberId,
    id: &str,
) -> Result<NoticeSubject, StoreError> {
    let mut one =
        connection.prepare_cached("SELECT client, label FROM installation WHERE id = ?1 AND member = ?2")?;
    let found = one.query_row(params![id, member], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((client, label)) = found else { return Ok(NoticeSubject::default()) };
    Ok(NoticeSubject { client: Some(client_name(connection, client)?), label, by: None })
}

/// Finds the author of a change set in the audit log, by the time of the notice and the id of the change set.
fn describe_change_set(
    connection: &Connection,
    change_set: &str,
    time: Moment,
) -> Result<NoticeSubject, StoreError> {
    let mut one = connection.prepare_cached(
        "SELECT client, actor LIKE 'administrator:%', \
         (SELECT name FROM member WHERE 'member:' || id = actor AND state <> 'deleted') \
         FROM audit WHERE at = ?1 AND subject = ?2",
    )?;
    let read = |row: &Row<'_>| {
        let client: Option<ClientId> = row.get(0)?;
        let by = if row.get(1)? {
            Some(NoticeActor::Administrator)
        } else {
            row.get::<_, Option<_>>(2)?.map(NoticeActor::Member)
        };
        Ok((client, by))
    };
    let found = one.query_row(params![time.as_millis(), change_set], read).optional()?;
    let Some((client, by)) = found else { return Ok(NoticeSubject::default()) };
    let client = client.map(|client| client_name(connection, client)).transpose()?;
    Ok(NoticeSubject { client, label: None, by })
}

fn client_name(connection: &Connection, client: ClientId) -> Result<String, StoreError> {
    let mut one = connection.prepare_cached("SELECT name FROM client WHERE id = ?1")?;
    let name = one.query_row([&client], |row| row.get(0)).optional()?;
    Ok(name.unwrap_or_else(|| client.to_string()))
}

/// The maximum number of unread notices that are counted.
pub(crate) const MAX_COUNTED: usize = 100;

/// Counts the unread notices, but at most [`MAX_COUNTED`].
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn count_unread(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM \
               (SELECT 1 FROM notice WHERE member = ?1 AND acknowledged_at IS NULL LIMIT ?2)";
    query_count(connection, sql, params![member, sql_limit(MAX_COUNTED)])
}

/// Acknowledges the notices whose numbers are in an inclusive range. Newer notices remain unread.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn acknowledge_notices(
    connection: &Connection,
    member: &MemberId,
    (first, last): (i64, i64),
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "UPDATE notice SET acknowledged_at = ?4 \
               WHERE member = ?1 AND id BETWEEN ?2 AND ?3 AND acknowledged_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![member, first, last, now.as_millis()])?;
    Ok(())
}
