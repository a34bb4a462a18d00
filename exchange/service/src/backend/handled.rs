//! The results of held batches and reviews that the member confirmed or discarded. Their pages show the result
//! until the batch or review would have expired, for example in a second tab.

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::BatchDescription;
use crate::ids::MemberId;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The result of a held batch or a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HandledOutcome {
    /// The member confirmed a held batch.
    BatchApplied {
        /// The registered name of the client that sent the batch.
        client: String,
        /// The batch's area.
        area: String,
        /// The number of ops that were applied.
        applied: i64,
        /// The number of ops that changed nothing.
        unchanged: i64,
        /// The changes, and the ops that were not applied.
        description: BatchDescription,
    },
    /// The member discarded a held batch.
    BatchDiscarded {
        /// The registered name of the client that sent the batch.
        client: String,
    },
    /// The member added blueprints of a review.
    BlueprintsAdded {
        /// The number of blueprints that were added.
        applied: i64,
        /// The number of blueprints that the member already had.
        unchanged: i64,
        /// The number of blueprints that were not added.
        not_applied: i64,
    },
    /// The member saved the refinery order of a review.
    RefinerySaved,
    /// The member discarded a review.
    ReviewDiscarded,
}

impl Backend {
    /// Finds the result of a held batch or a review by the id of its page.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn find_outcome(
        &self,
        member: &MemberId,
        id: &str,
    ) -> Result<Option<HandledOutcome>, StoreError> {
        let (member, id, now) = (member.clone(), id.to_owned(), self.environment.now());
        self.store.read(move |connection| load_outcome(connection, &member, &id, now)).await
    }
}

fn load_outcome(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<HandledOutcome>, StoreError> {
    let sql = "SELECT outcome FROM handled_request WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
    let mut one = connection.prepare_cached(sql)?;
    let stored: Option<String> =
        one.query_row(params![id, member, now.as_millis()], |row| row.get(0)).optional()?;
    let invalid = |_| StoreError::Corrupt("invalid result of a request");
    stored.map(|text| serde_json::from_str(&text).map_err(invalid)).transpose()
}

/// Stores the result of a held batch or a review.
pub(super) fn record_outcome(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    outcome: &HandledOutcome,
    expires_at: Moment,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(outcome);
    let text = text.map_err(|_| StoreError::Corrupt("the result of a request cannot be serialized"))?;
    let sql = "INSERT INTO handled_request (id, member, outcome, expires_at) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome";
    connection.prepare_cached(sql)?.execute(params![id, member, text, expires_at.as_millis()])?;
    Ok(())
}

/// Deletes up to `limit` expired results. Returns the number of deleted results.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_outcomes(
    connection: &Connection,
    now: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM handled_request WHERE id IN \
               (SELECT id FROM handled_request WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.as_millis(), sql_limit(limit)])?)
}
