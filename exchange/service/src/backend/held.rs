//! Batches that wait for the member's confirmation: one per client and member (WRT-12, WRT-13).

use exchange_api::operations::OperationId;
use exchange_api::refusals::PlainCode;
use exchange_api::types::ConfirmationUrl;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Backend;
use super::admission::Admitted;
use super::refusal::Failure;
use crate::caller::Caller;
use crate::ids::MemberId;
use crate::records;
use crate::secrets;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Where the page stands, below the origin of the member's pages.
pub(super) const PATH: &str = "/confirm/";

/// A held batch.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Whose batch it is; without a claim, since nobody waits for its answer.
    pub(super) caller: Caller,
    pub(super) operation: String,
    pub(super) body: Vec<u8>,
    pub(super) expires_at: Moment,
}

/// Holds a batch in the place of an older one of the same client, and gives the link to its page. Only
/// the hash of what the link holds is kept.
///
/// # Errors
/// `BATCH_TOO_LARGE` for one of more than 512 KiB, or the store.
pub(super) fn hold(
    connection: &Connection,
    backend: &Backend,
    admitted: &Admitted,
    operation: OperationId,
    body: &[u8],
) -> Result<ConfirmationUrl, Failure> {
    let rule = &backend.config.guard;
    if body.len() > rule.held_bytes {
        return Err(PlainCode::BatchTooLarge.into());
    }
    let handoff = backend.environment.token::<32>().map_err(StoreError::from)?;
    let url = ConfirmationUrl::new(format!("{}{PATH}{handoff}", backend.config.web_origin()));
    let url = url.map_err(|_| PlainCode::InternalError)?;
    let installation = Some(admitted.installation()?.clone());
    let caller = Caller { claim: None, installation, ..admitted.caller.clone() };
    let written = serde_json::to_string(&caller).map_err(|_| PlainCode::InternalError)?;
    let now = backend.environment.now();
    let ends = now.plus(std::time::Duration::from_secs(rule.held_seconds));
    let sql = "INSERT INTO held_batch \
               (client, member, handoff_hash, operation, caller, body, created_at, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
               ON CONFLICT (client, member) DO UPDATE SET handoff_hash = excluded.handoff_hash, \
               operation = excluded.operation, caller = excluded.caller, body = excluded.body, \
               created_at = excluded.created_at, expires_at = excluded.expires_at";
    connection.prepare_cached(sql)?.execute(params![
        caller.client,
        caller.member,
        secrets::hash(&handoff),
        operation.operation().id,
        written,
        body,
        now.millis(),
        ends.millis(),
    ])?;
    records::notice(connection, now, &caller.member, "held-batch", caller.client.as_str())?;
    Ok(url)
}

/// The batch of a handoff, when it is this member's and still alive.
pub(super) fn find(
    connection: &Connection,
    member: &MemberId,
    handoff: &str,
    now: Moment,
) -> Result<Option<Held>, StoreError> {
    let sql = "SELECT caller, operation, body, expires_at FROM held_batch \
               WHERE handoff_hash = ?1 AND member = ?2 AND expires_at > ?3";
    let found: Option<(String, String, Vec<u8>, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![secrets::hash(handoff), member, now.millis()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((caller, operation, body, expires_at)) = found else { return Ok(None) };
    let caller = serde_json::from_str(&caller).map_err(|_| StoreError::Corrupt("a held batch's caller"))?;
    Ok(Some(Held { caller, operation, body, expires_at: Moment::from_millis(expires_at) }))
}

/// Drops the batch of a handoff.
pub(super) fn drop_it(connection: &Connection, handoff: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM held_batch WHERE handoff_hash = ?1";
    connection.prepare_cached(sql)?.execute([secrets::hash(handoff)])?;
    Ok(())
}

/// Drops at most so many held batches that nobody confirmed in time (WRT-13); says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM held_batch WHERE handoff_hash IN \
               (SELECT handoff_hash FROM held_batch WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.millis(), limit(most)])?)
}
