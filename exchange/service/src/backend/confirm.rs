//! Lets the signed-in member confirm or discard a held batch (WRT-13, WEB-08).
//!
//! The preview shows the effects of the batch and does not consume the handoff. Confirming checks the
//! client's permissions again and applies the batch once, without the guard, as a write of the installation.
//! Discarding deletes the batch.

use std::fmt;

use exchange_api::Contract as _;
use exchange_api::error_responses::PlainCode;
use exchange_api::operations::OperationId;
use exchange_api::types::ChangeResult;
use rusqlite::Connection;

use super::Backend;
use super::admission::admit;
use super::blueprints::BlueprintArea;
use super::change::{
    BatchDecision, ChangeError, EntryDelta, ResolvedBatch, WriteArea, WriteContext, commit_decision,
};
use super::handler_error::HandlerError;
use super::held_batches::{self, HeldBatch};
use super::journal;
use super::ships::ShipArea;
use super::stock::StockArea;
use crate::feed::ChangeAuthor;
use crate::ids::MemberId;
use crate::registry;
use crate::store::StoreError;
use crate::time::Moment;

/// The maximum number of removals that a preview lists by name; further removals are only counted.
const MAX_NAMED_REMOVALS: usize = 50;

/// The effects that a held batch would have if it were applied now.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchPreview {
    /// The registered name of the client that sent the batch.
    pub client: String,
    /// The batch's area: `blueprints`, `stock` or `ships`.
    pub area: &'static str,
    /// The display names of the first 50 entries that the batch would remove.
    pub removed: Vec<String>,
    /// The number of further entries that the batch would remove.
    pub more_removed: usize,
    /// The number of entries that the batch would add or change.
    pub written: usize,
    /// The result of the ops, computed as for a dry run.
    pub result: ChangeResult,
    /// The time at which the batch expires.
    pub expires_at: Moment,
}

/// The result of confirming a held batch.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmOutcome {
    /// The batch was applied.
    Applied(Box<ChangeResult>),
    /// The batch was not applied because the admission check rejected it with this code. The batch stays
    /// held.
    Refused(PlainCode),
    /// There is no such batch: it was confirmed, discarded or replaced by a newer one, or it has expired.
    NotFound,
}

/// The one-time secret in the link to a held batch or a draft. `Debug` hides it.
#[derive(Clone)]
pub struct HandoffToken(String);

impl HandoffToken {
    /// Creates a token from the last segment of the link's path.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret. The store contains only its hash.
    pub(super) fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HandoffToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandoffToken([secret])")
    }
}

impl Backend {
    /// Decides a held batch as in a dry run and returns its effects; `None` if there is no such batch.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if a read fails.
    pub async fn preview_batch(
        &self,
        member: &MemberId,
        handoff: &HandoffToken,
    ) -> Result<Option<BatchPreview>, StoreError> {
        let Some(batch) = self.find_held_batch(member, handoff).await? else { return Ok(None) };
        match batch.operation.parse() {
            Ok(OperationId::BlueprintsWrite) => self.preview_in_area::<BlueprintArea>(batch).await.map(Some),
            Ok(OperationId::StockWrite) => self.preview_in_area::<StockArea>(batch).await.map(Some),
            Ok(OperationId::ShipsWrite) => self.preview_in_area::<ShipArea>(batch).await.map(Some),
            _ => Err(StoreError::Corrupt("a held batch has an unknown operation")),
        }
    }

    /// Applies a held batch once.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails. In that case, nothing is applied and the batch stays
    /// held.
    pub async fn confirm_batch(
        &self,
        member: &MemberId,
        handoff: &HandoffToken,
    ) -> Result<ConfirmOutcome, StoreError> {
        let Some(batch) = self.find_held_batch(member, handoff).await? else {
            return Ok(ConfirmOutcome::NotFound);
        };
        let handoff = handoff.clone();
        let confirmed = match batch.operation.parse() {
            Ok(OperationId::BlueprintsWrite) => self.confirm_in_area::<BlueprintArea>(batch, handoff).await,
            Ok(OperationId::StockWrite) => self.confirm_in_area::<StockArea>(batch, handoff).await,
            Ok(OperationId::ShipsWrite) => self.confirm_in_area::<ShipArea>(batch, handoff).await,
            _ => Err(StoreError::Corrupt("a held batch has an unknown operation").into()),
        };
        match confirmed {
            Ok(confirmed) => Ok(confirmed),
            Err(HandlerError::Rejected(code)) => Ok(ConfirmOutcome::Refused(code)),
            Err(HandlerError::Store(error)) => Err(error),
        }
    }

    /// Deletes a held batch without applying it. Returns false if there is no such batch.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails.
    pub async fn discard_batch(&self, member: &MemberId, handoff: &HandoffToken) -> Result<bool, StoreError> {
        let (backend, member, handoff) = (self.clone(), member.clone(), handoff.clone());
        let now = self.environment.now();
        self.store
            .write(move |connection| {
                let Some(batch) = held_batches::find_batch(connection, &member, &handoff.0, now)? else {
                    return Ok(false);
                };
                held_batches::delete_batch(connection, &handoff.0)?;
                let writer = write_context(&backend, &batch)?;
                let detail = "rejected by the member; no change was applied";
                journal::write_audit(connection, &writer, "held-batch.discard", &batch.operation, detail)?;
                Ok(true)
            })
            .await
    }

    async fn find_held_batch(
        &self,
        member: &MemberId,
        handoff: &HandoffToken,
    ) -> Result<Option<HeldBatch>, StoreError> {
        let (member, handoff, now) = (member.clone(), handoff.clone(), self.environment.now());
        self.store
            .read(move |connection| held_batches::find_batch(connection, &member, &handoff.0, now))
            .await
    }

    async fn preview_in_area<A: WriteArea>(&self, batch: HeldBatch) -> Result<BatchPreview, StoreError> {
        // References are resolved outside the store's closure, as for every change set.
        let mut resolved = resolve_batch::<A>(self, &batch)?;
        let backend = self.clone();
        let preview = move |connection: &Connection| {
            let writer = write_context(&backend, &batch)?;
            let decided = map_decision_error(resolved.decide_batch(connection, &backend.catalogue, &writer))?;
            let client = registry::find_client(connection, &batch.caller.client)?.map(|client| client.name);
            // An entry that disappears is listed as removed, even if the guard does not count the change as a
            // removal, as for a move.
            let is_removed = |touched: &&EntryDelta<A::Entry>| {
                touched.removal || (touched.before.is_some() && touched.after.is_none())
            };
            let (removed, others): (Vec<_>, Vec<_>) = decided.touched.iter().partition(is_removed);
            let name = |touched: &&EntryDelta<A::Entry>| A::entry_name(resolved.index(), touched);
            let named: Vec<String> = removed.iter().take(MAX_NAMED_REMOVALS).map(name).collect();
            let more_removed = removed.len() - named.len();
            let written = others.iter().filter(|touched| touched.after.is_some()).count();
            Ok(BatchPreview {
                client: client.unwrap_or_else(|| batch.caller.client.to_string()),
                area: A::NAME,
                removed: named,
                more_removed,
                written,
                result: resolved.into_result(decided, true),
                expires_at: batch.expires_at,
            })
        };
        self.store.read(preview).await
    }

    async fn confirm_in_area<A: WriteArea>(
        &self,
        batch: HeldBatch,
        handoff: HandoffToken,
    ) -> Result<ConfirmOutcome, HandlerError> {
        let mut resolved = resolve_batch::<A>(self, &batch)?;
        let backend = self.clone();
        let confirm = move |connection: &Connection| {
            let now = backend.environment.now();
            // Since the lookup, the batch may have been confirmed or replaced, or it may have expired.
            let Some(batch) = held_batches::find_batch(connection, &batch.caller.member, &handoff.0, now)?
            else {
                return Ok(ConfirmOutcome::NotFound);
            };
            held_batches::delete_batch(connection, &handoff.0)?;
            // The switch, the client, its scopes and the connection may have changed since the batch was
            // sent.
            let admitted = admit(connection, &batch.caller, A::OPERATION.operation())?;
            let writer = write_context(&backend, &batch)?;
            let decided = map_decision_error(resolved.decide_batch(connection, &backend.catalogue, &writer))?;
            let name = &admitted.client.name;
            commit_decision::<A>(connection, &writer, name, &decided, &backend.fault_injector)?;
            let detail = format!("{name}: confirmed by the member");
            journal::write_audit(connection, &writer, "held-batch.confirm", &writer.change_set, &detail)?;
            Ok(ConfirmOutcome::Applied(Box::new(resolved.into_result(decided, false))))
        };
        self.store.write(confirm).await
    }
}

fn write_context(backend: &Backend, batch: &HeldBatch) -> Result<WriteContext, StoreError> {
    let corrupt = StoreError::Corrupt("a held batch has no installation");
    let installation = batch.caller.installation.clone().ok_or(corrupt)?;
    let author = ChangeAuthor::Client { client: batch.caller.client.clone(), installation };
    backend.write_context(&batch.caller.member, author)
}

/// The error for a stored batch that cannot be parsed, although it was valid when it was stored.
const INVALID: StoreError = StoreError::Corrupt("a held batch is not a valid change set");

fn map_decision_error<E>(
    decided: Result<BatchDecision<E>, ChangeError>,
) -> Result<BatchDecision<E>, StoreError> {
    decided.map_err(|error| match error {
        ChangeError::InvalidDate => INVALID,
        ChangeError::Store(error) => error,
    })
}

fn resolve_batch<A: WriteArea>(backend: &Backend, batch: &HeldBatch) -> Result<ResolvedBatch<A>, StoreError> {
    let body = A::ChangeSet::parse_valid(&batch.body).map_err(|_| INVALID)?;
    Ok(ResolvedBatch::from_body(body, backend.catalogue.latest_index()))
}
