//! What a member was told and has not acknowledged, with the names by which a person knows what it is about.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::ids::{ClientId, MemberId};
use crate::store::{StoreError, count, limit};
use crate::time::Moment;

/// Something that a member was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Its number; a later one has a higher one.
    pub(crate) number: i64,
    /// When.
    pub(crate) at: Moment,
    /// What happened: `connected`, `org-stock.sale`.
    pub(crate) kind: String,
    /// What it is about, and who did it.
    pub(crate) about: About,
}

/// What a notice is about, as far as anybody still knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// The client, or the one through which it was done, or whose writes were taken back: by its registered name, or its
    /// id where it has none any more.
    pub(crate) client: Option<String>,
    /// What the client calls the installation.
    pub(crate) label: Option<String>,
    /// Who did it, where it was somebody else.
    pub(crate) by: Option<Who>,
}

/// Who did something, as another member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A member who is still one, by name.
    Member(String),
    /// An administrator, of whom members are told no name.
    Administrator,
}

/// The latest of them, the latest first, at most so many.
///
/// # Errors
/// What the database says.
pub(crate) fn unread(
    connection: &Connection,
    member: &MemberId,
    most: usize,
) -> Result<Vec<Notice>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT id, at, kind, subject FROM notice WHERE member = ?1 AND acknowledged_at IS NULL \
         ORDER BY id DESC LIMIT ?2",
    )?;
    let mut rows = rows.query(params![member, limit(most)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, at, kind) = (row.get(0)?, Moment::from_millis(row.get(1)?), row.get::<_, String>(2)?);
        let subject: String = row.get(3)?;
        let about = match &*kind {
            "new-installation" | "installation-disconnected" => {
                of_installation(connection, member, &subject)?
            }
            change if change.starts_with("org-stock.") => of_change_set(connection, &subject, at)?,
            _ => About { client: Some(name_of(connection, ClientId::new(subject))?), ..About::default() },
        };
        all.push(Notice { number, at, kind, about });
    }
    Ok(all)
}

fn of_installation(connection: &Connection, member: &MemberId, id: &str) -> Result<About, StoreError> {
    let mut one =
        connection.prepare_cached("SELECT client, label FROM installation WHERE id = ?1 AND member = ?2")?;
    let found = one.query_row(params![id, member], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((client, label)) = found else { return Ok(About::default()) };
    Ok(About { client: Some(name_of(connection, client)?), label, by: None })
}

/// Who made a change set stands in the audit, at the moment at which members were told of it.
fn of_change_set(connection: &Connection, change_set: &str, at: Moment) -> Result<About, StoreError> {
    let mut one = connection.prepare_cached(
        "SELECT client, actor LIKE 'administrator:%', \
         (SELECT name FROM member WHERE 'member:' || id = actor AND state <> 'deleted') \
         FROM audit WHERE at = ?1 AND subject = ?2",
    )?;
    let read = |row: &Row<'_>| {
        let client: Option<ClientId> = row.get(0)?;
        let by =
            if row.get(1)? { Some(Who::Administrator) } else { row.get::<_, Option<_>>(2)?.map(Who::Member) };
        Ok((client, by))
    };
    let found = one.query_row(params![at.millis(), change_set], read).optional()?;
    let Some((client, by)) = found else { return Ok(About::default()) };
    let client = client.map(|client| name_of(connection, client)).transpose()?;
    Ok(About { client, label: None, by })
}

fn name_of(connection: &Connection, client: ClientId) -> Result<String, StoreError> {
    let mut one = connection.prepare_cached("SELECT name FROM client WHERE id = ?1")?;
    let name = one.query_row([&client], |row| row.get(0)).optional()?;
    Ok(name.unwrap_or_else(|| client.to_string()))
}

/// More than so many are not counted.
pub(crate) const MOST_COUNTED: usize = 100;

/// How many there are, counted up to [`MOST_COUNTED`].
///
/// # Errors
/// What the database says.
pub(crate) fn count_unread(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM \
               (SELECT 1 FROM notice WHERE member = ?1 AND acknowledged_at IS NULL LIMIT ?2)";
    count(connection, sql, params![member, limit(MOST_COUNTED)])
}

/// The member has read those whose numbers lie between these two, both included: what came after stays unread.
///
/// # Errors
/// What the database says.
pub(crate) fn acknowledge(
    connection: &Connection,
    member: &MemberId,
    (first, last): (i64, i64),
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "UPDATE notice SET acknowledged_at = ?4 \
               WHERE member = ?1 AND id BETWEEN ?2 AND ?3 AND acknowledged_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![member, first, last, now.millis()])?;
    Ok(())
}
