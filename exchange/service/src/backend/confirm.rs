//! Lets the signed-in member confirm or discard a held batch (WRT-13, WEB-08).
//!
//! The preview shows the effects of the batch and does not consume the handoff. Confirming checks the
//! client's permissions again and applies the batch once, without the guard, as a write of the installation.
//! Discarding deletes the batch.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use exchange_api::Contract as _;
use exchange_api::error_responses::PlainCode;
use exchange_api::operations::OperationId;
use exchange_api::types::ChangeResult;
use rusqlite::Connection;

use super::Backend;
use super::admission::admit;
use super::blueprints::BlueprintArea;
use super::change::{
    BatchDecision, BatchDescription, ChangeError, ResolvedBatch, WriteArea, WriteContext, commit_decision,
};
use super::handled::{self, HandledOutcome};
use super::handler_error::HandlerError;
use super::held_batches::{self, HeldBatch};
use super::journal;
use super::ships::ShipArea;
use super::stock::StockArea;
use crate::feed::ChangeAuthor;
use crate::ids::MemberId;
use crate::registry;
use crate::secrets::{self, Sha256Hash};
use crate::store::StoreError;
use crate::time::Moment;

/// The effects that a held batch would have if it were applied now.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchPreview {
    /// The registered name of the client that sent the batch.
    pub client: String,
    /// The batch's area: `blueprints`, `stock` or `ships`.
    pub area: &'static str,
    /// All changes of the batch, and all ops that would not be applied.
    pub description: BatchDescription,
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

/// The id of a held batch: the hash of the secret in its link. Only its member can use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchId(Sha256Hash);

impl BatchId {
    pub(super) const fn from_hash(hash: Sha256Hash) -> Self {
        Self(hash)
    }

    pub(super) const fn hash(&self) -> &Sha256Hash {
        &self.0
    }

    /// Parses the last segment of the path of the batch's page.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl From<&HandoffToken> for BatchId {
    fn from(handoff: &HandoffToken) -> Self {
        Self(secrets::sha256(&handoff.0))
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
        batch: impl Into<BatchId>,
    ) -> Result<Option<BatchPreview>, StoreError> {
        let Some(batch) = self.find_held_batch(member, batch.into()).await? else { return Ok(None) };
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
        batch: impl Into<BatchId>,
    ) -> Result<ConfirmOutcome, StoreError> {
        let id = batch.into();
        let Some(batch) = self.find_held_batch(member, id).await? else {
            return Ok(ConfirmOutcome::NotFound);
        };
        let confirmed = match batch.operation.parse() {
            Ok(OperationId::BlueprintsWrite) => self.confirm_in_area::<BlueprintArea>(batch, id).await,
            Ok(OperationId::StockWrite) => self.confirm_in_area::<StockArea>(batch, id).await,
            Ok(OperationId::ShipsWrite) => self.confirm_in_area::<ShipArea>(batch, id).await,
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
    pub async fn discard_batch(
        &self,
        member: &MemberId,
        batch: impl Into<BatchId>,
    ) -> Result<bool, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), batch.into());
        let now = self.environment.now();
        self.store
            .write(move |connection| {
                let Some(batch) = held_batches::find_batch(connection, &member, id, now)? else {
                    return Ok(false);
                };
                held_batches::delete_batch(connection, id)?;
                let client = client_name(connection, &batch)?;
                let outcome = HandledOutcome::BatchDiscarded { client };
                handled::record_outcome(connection, &member, &id.to_string(), &outcome, batch.expires_at)?;
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
        batch: BatchId,
    ) -> Result<Option<HeldBatch>, StoreError> {
        let (member, now) = (member.clone(), self.environment.now());
        self.store.read(move |connection| held_batches::find_batch(connection, &member, batch, now)).await
    }

    async fn preview_in_area<A: WriteArea>(&self, batch: HeldBatch) -> Result<BatchPreview, StoreError> {
        // References are resolved outside the store's closure, as for every change set.
        let mut resolved = resolve_batch::<A>(self, &batch)?;
        let backend = self.clone();
        let preview = move |connection: &Connection| {
            let writer = write_context(&backend, &batch)?;
            let decided = map_decision_error(resolved.decide_batch(connection, &backend.catalogue, &writer))?;
            let description = resolved.describe_decision(connection, &batch.caller.member, &decided)?;
            Ok(BatchPreview {
                client: client_name(connection, &batch)?,
                area: A::NAME,
                description,
                result: resolved.into_result(decided, true),
                expires_at: batch.expires_at,
            })
        };
        self.store.read(preview).await
    }

    async fn confirm_in_area<A: WriteArea>(
        &self,
        batch: HeldBatch,
        id: BatchId,
    ) -> Result<ConfirmOutcome, HandlerError> {
        let mut resolved = resolve_batch::<A>(self, &batch)?;
        let backend = self.clone();
        let confirm = move |connection: &Connection| {
            let now = backend.environment.now();
            // Since the lookup, the batch may have been confirmed or replaced, or it may have expired.
            let Some(batch) = held_batches::find_batch(connection, &batch.caller.member, id, now)? else {
                return Ok(ConfirmOutcome::NotFound);
            };
            held_batches::delete_batch(connection, id)?;
            // The switch, the client, its scopes and the connection may have changed since the batch was
            // sent.
            let admitted = admit(connection, &batch.caller, A::OPERATION.operation())?;
            let writer = write_context(&backend, &batch)?;
            let decided = map_decision_error(resolved.decide_batch(connection, &backend.catalogue, &writer))?;
            let name = &admitted.client.name;
            // The entries are described before they change, because names can depend on the store.
            let member = &batch.caller.member;
            let description = resolved.describe_decision(connection, member, &decided)?;
            commit_decision::<A>(connection, &writer, name, &decided, &backend.fault_injector)?;
            let detail = format!("{name}: confirmed by the member");
            journal::write_audit(connection, &writer, "held-batch.confirm", &writer.change_set, &detail)?;
            let result = resolved.into_result(decided, false);
            let counts = result.counts();
            let outcome = HandledOutcome::BatchApplied {
                client: name.clone(),
                area: A::NAME.to_owned(),
                applied: counts.applied,
                unchanged: counts.unchanged,
                description,
            };
            handled::record_outcome(connection, member, &id.to_string(), &outcome, batch.expires_at)?;
            Ok(ConfirmOutcome::Applied(Box::new(result)))
        };
        self.store.write(confirm).await
    }
}

/// Returns the registered name of the client that sent a batch, or its id if it is no longer registered.
fn client_name(connection: &Connection, batch: &HeldBatch) -> Result<String, StoreError> {
    let client = registry::find_client(connection, &batch.caller.client)?;
    Ok(client.map_or_else(|| batch.caller.client.to_string(), |client| client.name))
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
