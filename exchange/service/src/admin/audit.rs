//! Lists the audit log in pages, newest entries first.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::AdminError;
use crate::ids::ClientId;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// A filter for the audit log. A field that is `None` selects all entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only entries at or after this time.
    pub since: Option<Moment>,
    /// Only entries of this actor: `member:m-1`, `administrator:ada`, `service`.
    pub actor: Option<String>,
    /// Only entries in which this client acted or was changed.
    pub client: Option<ClientId>,
    /// Only entries about the object with this id.
    pub subject: Option<String>,
    /// Only entries with a lower number, that is, older ones. `None` starts with the newest entry. For the
    /// next page, pass [`AuditPage::next`] of the previous page.
    pub after: Option<i64>,
    /// The maximum number of entries.
    pub limit: usize,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// The entry's number, which grows with every entry.
    pub number: i64,
    /// The time, in RFC 3339.
    pub at: String,
    /// The person or system that acted: `member:m-1`, `administrator:ada`, `service`.
    pub actor: String,
    /// The client that acted or was changed.
    pub client: Option<ClientId>,
    /// The name of the action, such as `client.add`.
    pub action: String,
    /// The id of the object that was changed.
    pub subject: String,
    /// Details of the action, in words.
    pub detail: String,
    /// The source address of the request that caused the entry, as resolved behind proxies.
    pub source: Option<String>,
}

/// A page of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditRecord>,
    /// The number to pass as [`AuditFilter::after`] for the next page; `None` on the last page.
    pub next: Option<i64>,
}

/// Lists one page of the audit log.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn list_audit(connection: &Connection, filter: &AuditFilter) -> Result<AuditPage, AdminError> {
    let AuditFilter { since, actor, client, subject, after, limit } = filter;
    // Numbers grow with time, except when the clock was set back. The lowest number at or after `since`
    // therefore bounds the search.
    let mut rows = connection.prepare(
        "SELECT id, at, actor, client, action, subject, detail, source FROM audit \
         WHERE (?1 IS NULL OR (at >= ?1 AND id >= (SELECT min(id) FROM audit WHERE at >= ?1))) \
         AND (?2 IS NULL OR actor = ?2) AND (?3 IS NULL OR client = ?3) AND (?4 IS NULL OR subject = ?4) \
         AND id < ?5 ORDER BY id DESC LIMIT ?6",
    )?;
    let (since, after) = (since.map(Moment::as_millis), after.unwrap_or(i64::MAX));
    let parameters = params![since, actor, client, subject, after, sql_limit(limit.saturating_add(1))];
    let entries = rows.query_map(parameters, |row| {
        Ok(AuditRecord {
            number: row.get(0)?,
            at: Moment::from_millis(row.get(1)?).to_string(),
            actor: row.get(2)?,
            client: row.get(3)?,
            action: row.get(4)?,
            subject: row.get(5)?,
            detail: row.get(6)?,
            source: row.get(7)?,
        })
    })?;
    let mut entries: Vec<AuditRecord> = entries.collect::<Result<_, _>>().map_err(StoreError::from)?;
    let is_last = entries.len() <= *limit;
    entries.truncate(*limit);
    let next = entries.last().map(|entry| entry.number).filter(|_| !is_last);
    Ok(AuditPage { entries, next })
}
