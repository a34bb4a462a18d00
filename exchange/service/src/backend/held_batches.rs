//! Stores held batches: change sets that require the member's confirmation, at most one per client and member
//! (WRT-12, WRT-13).

use exchange_api::error_responses::PlainCode;
use exchange_api::operations::OperationId;
use exchange_api::types::ConfirmationUrl;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::Backend;
use super::admission::AdmittedCaller;
use super::confirm::BatchId;
use super::handler_error::HandlerError;
use crate::caller::Caller;
use crate::ids::MemberId;
use crate::records;
use crate::secrets;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The path of the confirmation page, below the origin of the members' web pages.
pub(super) const PATH: &str = "/confirm/";

#[derive(Clone, Debug)]
pub(super) struct HeldBatch {
    /// The caller that sent the batch. Its idempotency claim is removed, because the request was already
    /// answered.
    pub(super) caller: Caller,
    pub(super) operation: String,
    pub(super) body: Vec<u8>,
    pub(super) expires_at: Moment,
}

/// Stores a batch and returns the link to its confirmation page. Replaces an older batch of the same client
/// and member. Only the hash of the link's secret is stored.
///
/// # Errors
/// Returns `BATCH_TOO_LARGE` for a body that exceeds the configured size (by default 512 KiB), or an error if
/// the store fails.
pub(super) fn hold_batch(
    connection: &Connection,
    backend: &Backend,
    admitted: &AdmittedCaller,
    operation: OperationId,
    body: &[u8],
) -> Result<ConfirmationUrl, HandlerError> {
    let rule = &backend.config.guard;
    if body.len() > rule.held_bytes {
        return Err(PlainCode::BatchTooLarge.into());
    }
    let handoff = backend.environment.random_token::<32>().map_err(StoreError::from)?;
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
        secrets::sha256(&handoff),
        operation.operation().id,
        written,
        body,
        now.as_millis(),
        ends.as_millis(),
    ])?;
    records::notify_member(connection, now, &caller.member, "held-batch", caller.client.as_str())?;
    Ok(url)
}

/// A held batch in the list of what awaits the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenBatch {
    /// The id of the batch's page.
    pub id: BatchId,
    /// The registered name of the client that sent the batch.
    pub client: String,
    /// The time at which the batch expires.
    pub expires_at: Moment,
}

/// Lists the held batches of a member that have not expired; those that expire first are first.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn list_batches(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<Vec<OpenBatch>, StoreError> {
    let sql = "SELECT h.handoff_hash, coalesce(c.name, h.client), h.expires_at FROM held_batch h \
               LEFT JOIN client c ON c.id = h.client WHERE h.member = ?1 AND h.expires_at > ?2 \
               ORDER BY h.expires_at, h.client";
    let mut rows = connection.prepare_cached(sql)?;
    let rows = rows.query_map(params![member, now.as_millis()], |row| {
        let id = BatchId::from_hash(row.get(0)?);
        Ok(OpenBatch { id, client: row.get(1)?, expires_at: Moment::from_millis(row.get(2)?) })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Finds a batch if it belongs to the member and has not expired.
pub(super) fn find_batch(
    connection: &Connection,
    member: &MemberId,
    batch: BatchId,
    now: Moment,
) -> Result<Option<HeldBatch>, StoreError> {
    let sql = "SELECT caller, operation, body, expires_at FROM held_batch \
               WHERE handoff_hash = ?1 AND member = ?2 AND expires_at > ?3";
    let found: Option<(String, String, Vec<u8>, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![batch.hash(), member, now.as_millis()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((caller, operation, body, expires_at)) = found else { return Ok(None) };
    let caller =
        serde_json::from_str(&caller).map_err(|_| StoreError::Corrupt("invalid caller of a held batch"))?;
    Ok(Some(HeldBatch { caller, operation, body, expires_at: Moment::from_millis(expires_at) }))
}

/// Deletes a batch.
pub(super) fn delete_batch(connection: &Connection, batch: BatchId) -> Result<(), StoreError> {
    let sql = "DELETE FROM held_batch WHERE handoff_hash = ?1";
    connection.prepare_cached(sql)?.execute([batch.hash()])?;
    Ok(())
}

/// Deletes up to `limit` held batches that expired without a confirmation (WRT-13). Returns the number of
/// deleted batches.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_held_batches(
    connection: &Connection,
    now: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = "DELETE FROM held_batch WHERE handoff_hash IN \
               (SELECT handoff_hash FROM held_batch WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.as_millis(), sql_limit(limit)])?)
}
