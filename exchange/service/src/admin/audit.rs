//! The audit: who did what, the latest first, a bounded page at a time.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::AdminError;
use crate::ids::ClientId;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Which entries, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// From this moment on.
    pub since: Option<Moment>,
    /// By whom: `member:m-1`, `administrator:ada`, `service`.
    pub actor: Option<String>,
    /// Through this client, or done to it.
    pub client: Option<ClientId>,
    /// Done to this.
    pub subject: Option<String>,
    /// Behind this entry of the page before.
    pub behind: Option<i64>,
    /// At most so many.
    pub most: usize,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Audited {
    /// Its number; a later entry has a higher one.
    pub number: i64,
    /// When.
    pub at: String,
    /// By whom.
    pub actor: String,
    /// Through which client, or to which.
    pub client: Option<ClientId>,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// In words that a person reads.
    pub detail: String,
}

/// A page of entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The entries, the latest first.
    pub entries: Vec<Audited>,
    /// Behind which entry the next page begins, when there is one.
    pub next: Option<i64>,
}

/// Reads a page of the audit.
///
/// # Errors
/// What the database says.
pub fn list(connection: &Connection, wanted: &Wanted) -> Result<Page, AdminError> {
    let Wanted { since, actor, client, subject, behind, most } = wanted;
    // Times follow the numbers but for a clock that stepped back, so that the lowest number bounds the search.
    let mut rows = connection.prepare(
        "SELECT id, at, actor, client, action, subject, detail FROM audit \
         WHERE (?1 IS NULL OR (at >= ?1 AND id >= (SELECT min(id) FROM audit WHERE at >= ?1))) \
         AND (?2 IS NULL OR actor = ?2) AND (?3 IS NULL OR client = ?3) AND (?4 IS NULL OR subject = ?4) \
         AND id < ?5 ORDER BY id DESC LIMIT ?6",
    )?;
    let (since, behind) = (since.map(Moment::millis), behind.unwrap_or(i64::MAX));
    let asked = params![since, actor, client, subject, behind, limit(most.saturating_add(1))];
    let entries = rows.query_map(asked, |row| {
        Ok(Audited {
            number: row.get(0)?,
            at: Moment::from_millis(row.get(1)?).to_string(),
            actor: row.get(2)?,
            client: row.get(3)?,
            action: row.get(4)?,
            subject: row.get(5)?,
            detail: row.get(6)?,
        })
    })?;
    let mut entries: Vec<Audited> = entries.collect::<Result<_, _>>().map_err(StoreError::from)?;
    let is_last = entries.len() <= *most;
    entries.truncate(*most);
    let next = entries.last().map(|entry| entry.number).filter(|_| !is_last);
    Ok(Page { entries, next })
}
