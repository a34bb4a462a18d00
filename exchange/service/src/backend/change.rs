//! The write path of all change sets, for every area (WRT rows).
//!
//! Entry points: `Backend::handle_change_set` for connected clients, and `Backend::change_server_side` for
//! all other authors. Each area implements `WriteArea`.

mod description;
mod fault_injection;
mod outcome;

pub use description::{BatchDescription, EntryChange, RefusedOp};
pub use fault_injection::{FaultInjector, WriteStep};
pub(crate) use outcome::{ChangeExtras, OpStatus, WarningList};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract_runtime::server::{EncodedResponse, RequestContext};
use exchange_api::error_responses::PlainCode;
use exchange_api::operations::OperationId;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{ChangeResult, OpId};
use exchange_api::{Contract, server};
use rusqlite::Connection;

use super::admission::{AdmittedCaller, request_context};
use super::guard::{self, RemovalCounts};
use super::handler_error::{CallerContext, HandlerError, json_response};
use super::journal::{self, JournalEntry};
use super::{Backend, held_batches};
use crate::caller::Caller;
use crate::catalogue::{Catalogue, CatalogueIndex};
use crate::feed::{self, ChangeAuthor, FeedStream, KeyChange, KeyRemoval};
use crate::idempotency::{self, Completion};
use crate::ids::MemberId;
use crate::records::{self, OwnedActor};
use crate::secrets;
use crate::store::StoreError;
use crate::time::Moment;

/// The period in which a removal by another author prevents a client from adding the entry again (BPR-06,
/// A11).
const REMOVAL_RETENTION: Duration = feed::cursor::LIFETIME;

/// The reason a change set of the web pages, the application or the system failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The change set contains a calendar date that does not exist (CON-06), which the schema does not
    /// detect.
    #[error("the change set contains a date that does not exist")]
    InvalidDate,
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The member, author, audit actor, time and id of one change set.
#[derive(Clone, Debug)]
pub(crate) struct WriteContext {
    pub(crate) member: MemberId,
    pub(crate) author: ChangeAuthor,
    pub(crate) actor: OwnedActor,
    pub(crate) now: Moment,
    /// The change set's id in journal and audit.
    pub(crate) change_set: String,
    /// The start of the period in which the guard counts the client's removals (LIM-21); `None` if the guard
    /// does not apply.
    pub(crate) guarded_since: Option<Moment>,
}

impl WriteContext {
    /// Returns true if a client needs the member's confirmation to add the removed entry again: the removal
    /// is at most 90 days old, and another installation or another channel made it (WRT-14). Authors other
    /// than clients never need a confirmation.
    pub(crate) fn needs_override(&self, removal: &KeyRemoval) -> bool {
        matches!(self.author, ChangeAuthor::Client { .. })
            && !removal.by.is_same_installation(&self.author)
            && self.is_recent(removal)
    }

    /// Returns true if a removal is recent enough to prevent a client from adding the entry again.
    pub(crate) fn is_recent(&self, removal: &KeyRemoval) -> bool {
        self.now.since(removal.at) <= REMOVAL_RETENTION
    }

    /// Derives the opaque id of the `number`-th entry that the change set creates. The id is known before
    /// anything is written and is unique across change sets. It does not reveal which entries were created by
    /// the same change set; otherwise a client could link the entries of a holder whose name is withheld
    /// (OST-12).
    pub(crate) fn entry_id(&self, number: usize) -> String {
        let hash = secrets::sha256(format!("{}.{number}", self.change_set));
        URL_SAFE_NO_PAD.encode(secrets::hash_prefix::<16>(&hash))
    }
}

/// A generator of the ids of the entries that a change set creates, in order of creation.
#[derive(Debug)]
pub(crate) struct EntryIds<'w> {
    writer: &'w WriteContext,
    positions: HashMap<String, usize>,
}

impl<'w> EntryIds<'w> {
    pub(crate) fn new(writer: &'w WriteContext) -> Self {
        Self { writer, positions: HashMap::new() }
    }

    pub(crate) fn next_id(&mut self) -> String {
        let number = self.positions.len() + 1;
        let id = self.writer.entry_id(number);
        self.positions.insert(id.clone(), number);
        id
    }

    /// Returns the position of an id among the created ids, starting at 1. Returns `None`, which sorts first,
    /// for an entry that existed before.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }
}

/// The parsed ops of a change set.
#[derive(Clone, Debug)]
pub(crate) struct OpBatch<Op> {
    pub(crate) ops: Vec<Op>,
    pub(crate) dry_run: bool,
    /// Whether an op contains a calendar date that does not exist, which the schema does not detect.
    pub(crate) has_invalid_date: bool,
}

/// The states of an entry before and after a change set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EntryDelta<E> {
    /// The entry's key in the area's table.
    pub(crate) key: String,
    pub(crate) before: Option<E>,
    pub(crate) after: Option<E>,
    /// Whether the guard counts the change as a removal (WRT-10).
    pub(crate) removal: bool,
    /// Whether the member allowed the change despite a removal by another author (WRT-14).
    pub(crate) overridden: bool,
}

/// A notice to a member about a change by another author.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemberNotice {
    pub(crate) member: MemberId,
    pub(crate) kind: &'static str,
}

/// The decision about all ops of a batch, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchDecision<E> {
    /// One status per op, in the order of the ops.
    pub(crate) statuses: Vec<OpStatus>,
    /// The entries that changed, each once.
    pub(crate) touched: Vec<EntryDelta<E>>,
    pub(crate) extras: ChangeExtras,
    /// Notices to other members, without duplicates.
    pub(crate) notices: Vec<MemberNotice>,
}

/// An area whose entries can be changed by change sets.
///
/// `resolve_targets` and `decide_ops` are pure functions. `load_state`, `apply_changes` and `count_entries`
/// run in the transaction of the write.
pub(crate) trait WriteArea: Sized + Send + 'static {
    /// The area's name in journal, audit and feeds.
    const NAME: &'static str;
    /// The operation of the contract that writes to the area.
    const OPERATION: OperationId;

    type ChangeSet: Contract + 'static;
    type Op: Send + 'static;
    /// The catalogue entries to which an op's references resolve.
    type Target: Send + 'static;
    /// The stored state that a decision depends on.
    type State;
    /// An entry as stored in the journal and the tables.
    type Entry: JournalEntry;

    fn into_batch(body: Self::ChangeSet) -> OpBatch<Self::Op>;

    /// Returns the id that the client gave the op.
    fn op_id(op: &Self::Op) -> Option<&OpId>;

    /// Resolves the references of each op (WRT-02, RES-14) and adds warnings about unresolved localization
    /// keys.
    fn resolve_targets(
        index: &CatalogueIndex,
        ops: &[Self::Op],
        warnings: &mut WarningList,
    ) -> Vec<Self::Target>;

    /// Loads the state that the ops depend on.
    fn load_state(
        connection: &Connection,
        writer: &WriteContext,
        ops: &[Self::Op],
        targets: &[Self::Target],
    ) -> Result<Self::State, StoreError>;

    /// Decides the ops in order; each op sees the effects of those before it.
    fn decide_ops(
        state: Self::State,
        ops: &[Self::Op],
        targets: &[Self::Target],
        writer: &WriteContext,
    ) -> BatchDecision<Self::Entry>;

    /// Returns the display name of an entry.
    fn entry_name(index: &CatalogueIndex, touched: &EntryDelta<Self::Entry>) -> String;

    /// Describes what a change does to an entry, for the page on which the member confirms it. By default,
    /// only the name is known.
    fn describe_change(index: &CatalogueIndex, touched: &EntryDelta<Self::Entry>) -> EntryChange {
        EntryChange::named(Self::entry_name(index, touched))
    }

    /// Returns a display name for the entry to which an op of the member refers. By default, the entry is not
    /// named.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    fn op_name(
        _: &Connection,
        _: &CatalogueIndex,
        _: &MemberId,
        _: &Self::Op,
        _: &Self::Target,
    ) -> Result<String, StoreError> {
        Ok("an entry".to_owned())
    }

    /// Counts the member's entries; the guard compares removals with this number.
    fn count_entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError>;

    /// Writes the decided changes to the area's tables.
    fn apply_changes(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<Self::Entry>],
    ) -> Result<(), StoreError>;

    /// Records the changes in the area's feeds. By default, every change is recorded in the feed of the
    /// writing member.
    fn record_feed(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<Self::Entry>],
    ) -> Result<(), StoreError> {
        let stream = FeedStream::of_member(Self::NAME, &writer.member);
        let changes =
            touched.iter().map(|touched| KeyChange { key: &touched.key, gone: touched.after.is_none() });
        feed::record_changes(connection, &stream, &writer.author, writer.now, changes)
    }
}

pub(super) struct ResolvedBatch<A: WriteArea> {
    batch: OpBatch<A::Op>,
    index: Arc<CatalogueIndex>,
    targets: Vec<A::Target>,
    unknown: WarningList,
    warnings: WarningList,
}

impl<A: WriteArea> ResolvedBatch<A> {
    /// Resolves a batch against an index, outside a transaction.
    pub(super) fn from_body(body: A::ChangeSet, index: Arc<CatalogueIndex>) -> Self {
        let unknown = WarningList::unknown_fields(body.undeclared_members(WarningList::MAX_WARNINGS));
        let batch = A::into_batch(body);
        let mut warnings = unknown.clone();
        let targets = A::resolve_targets(&index, &batch.ops, &mut warnings);
        Self { batch, index, targets, unknown, warnings }
    }

    /// Decides the batch. Resolves its references again first if the catalogue has changed.
    ///
    /// # Errors
    /// Returns [`ChangeError::InvalidDate`] for a batch with an invalid date, or an error if the store fails.
    pub(super) fn decide_batch(
        &mut self,
        connection: &Connection,
        catalogue: &Catalogue,
        writer: &WriteContext,
    ) -> Result<BatchDecision<A::Entry>, ChangeError> {
        if self.batch.has_invalid_date {
            return Err(ChangeError::InvalidDate);
        }
        let index = catalogue.index_at(connection)?;
        if !Arc::ptr_eq(&index, &self.index) {
            self.warnings = self.unknown.clone();
            self.targets = A::resolve_targets(&index, &self.batch.ops, &mut self.warnings);
            self.index = index;
        }
        let state = A::load_state(connection, writer, &self.batch.ops, &self.targets)?;
        Ok(A::decide_ops(state, &self.batch.ops, &self.targets, writer))
    }

    /// Describes all changes of a decision, removals first, and all ops that are not applied.
    pub(super) fn describe_decision(
        &self,
        connection: &Connection,
        member: &MemberId,
        decided: &BatchDecision<A::Entry>,
    ) -> Result<BatchDescription, StoreError> {
        let describe = |touched: &EntryDelta<A::Entry>| EntryChange {
            // An entry that disappears is listed as removed, even if the guard does not count the change as a
            // removal, as for a move.
            removed: touched.removal || (touched.before.is_some() && touched.after.is_none()),
            ..A::describe_change(&self.index, touched)
        };
        // An entry that is added and removed again by the same batch is not listed.
        let exists = |touched: &&EntryDelta<A::Entry>| touched.before.is_some() || touched.after.is_some();
        let mut changes: Vec<EntryChange> = decided.touched.iter().filter(exists).map(describe).collect();
        changes.sort_by_key(|change| !change.removed);
        let mut refused = Vec::new();
        let ops = self.batch.ops.iter().zip(&self.targets).zip(&decided.statuses);
        for ((op, target), status) in ops {
            if let OpStatus::Refused(reason) = status {
                let name = A::op_name(connection, &self.index, member, op, target)?;
                refused.push(RefusedOp { name, reason: reason.as_str().to_owned() });
            }
        }
        Ok(BatchDescription { changes, refused })
    }

    /// Builds the response body: counts, ops that were not applied, and warnings (WRT-05, WRT-06).
    pub(super) fn into_result(self, decided: BatchDecision<A::Entry>, dry_run: bool) -> ChangeResult {
        let ops = self.batch.ops.iter().map(A::op_id).zip(decided.statuses);
        outcome::change_result(ops, dry_run, self.warnings, decided.extras)
    }
}

/// Writes a decision to tables, feeds, journal, notices and audit, within the caller's transaction. Does
/// nothing if no entry changed.
pub(super) fn commit_decision<A: WriteArea>(
    connection: &Connection,
    writer: &WriteContext,
    author_name: &str,
    decided: &BatchDecision<A::Entry>,
    fault_injector: &FaultInjector,
) -> Result<(), StoreError> {
    let touched = &decided.touched;
    if touched.is_empty() {
        return Ok(());
    }
    apply_and_journal::<A>(connection, writer, touched, &decided.notices, &HashMap::new(), fault_injector)?;
    let (gone, existing) = touched.iter().partition::<Vec<_>, _>(|touched| touched.after.is_none());
    let beside = decided.extras.audit_suffix();
    let detail = format!("{author_name}: {} written, {} removed{beside}", existing.len(), gone.len());
    let action = format!("{}.write", A::NAME);
    journal::write_audit(connection, writer, &action, &writer.change_set, &detail)?;
    fault_injector.check_step(WriteStep::Journaled)
}

/// Writes changed entries to the area's tables, publishes and journals them ([`publish_and_journal`]), and
/// adds the notices.
///
/// `undoes` maps the key of each reverted entry to the id of the first journal entry that the revert undoes.
pub(super) fn apply_and_journal<A: WriteArea>(
    connection: &Connection,
    writer: &WriteContext,
    touched: &[EntryDelta<A::Entry>],
    notices: &[MemberNotice],
    undoes: &HashMap<String, i64>,
    fault_injector: &FaultInjector,
) -> Result<(), StoreError> {
    A::apply_changes(connection, writer, touched)?;
    fault_injector.check_step(WriteStep::Applied)?;
    publish_and_journal::<A>(connection, writer, touched, undoes, fault_injector)?;
    for MemberNotice { member, kind } in notices {
        records::notify_member(connection, writer.now, member, kind, &writer.change_set)?;
    }
    Ok(())
}

/// Records changed entries in the feeds and the journal, without writing to the area's tables.
pub(super) fn publish_and_journal<A: WriteArea>(
    connection: &Connection,
    writer: &WriteContext,
    touched: &[EntryDelta<A::Entry>],
    undoes: &HashMap<String, i64>,
    fault_injector: &FaultInjector,
) -> Result<(), StoreError> {
    A::record_feed(connection, writer, touched)?;
    fault_injector.check_step(WriteStep::Published)?;
    journal::record_changes(connection, writer, A::NAME, touched, undoes)
}

/// Stores a response for repetitions of the request, in the transaction of the write.
///
/// # Errors
/// Returns `IDEMPOTENCY_IN_PROGRESS` if another attempt took over the key; the transaction must then be
/// rolled back.
pub(super) fn store_response(
    connection: &Connection,
    caller: &Caller,
    response: &EncodedResponse,
    now: Moment,
) -> Result<(), HandlerError> {
    match idempotency::complete_claim(connection, caller, response, now)? {
        Completion::Stored | Completion::NotStored => Ok(()),
        // Another attempt owns the key, so this attempt must not leave any effect.
        Completion::Lost => Err(PlainCode::IdempotencyInProgress.into()),
    }
}

impl Backend {
    /// Handles a change set of a connected client. Applies the change set unless it is a dry run or is held
    /// for confirmation. In the same transaction, stores the response, so that a repeated request gets it again.
    pub(super) async fn handle_change_set<A: WriteArea>(
        &self,
        body: A::ChangeSet,
        context: &RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        let mut resolved = ResolvedBatch::<A>::from_body(body, self.catalogue.latest_index());
        let (request, _) = request_context(context)?;
        let path =
            WriteRequest { backend: self.clone(), caller_context: request, body: context.body().clone() };
        let response = self.write_admitted(context, move |connection, admitted| {
            path.check_fault(WriteStep::Admitted)?;
            let outcome = path.decide_and_apply(connection, admitted, &mut resolved)?;
            let response = path.finish_response(resolved, outcome)?;
            store_response(connection, admitted.caller, &response, path.backend.environment.now())?;
            path.check_fault(WriteStep::Completed)?;
            Ok(response)
        });
        Err(server::ErrorResponse::encoded(response.await?))
    }
}

impl Backend {
    /// Creates the context of a write, with the current time and a new change-set id. The audit attributes
    /// changes of the system to the service, and all others to the member.
    pub(super) fn write_context(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
    ) -> Result<WriteContext, StoreError> {
        let now = self.environment.now();
        let by = match author {
            ChangeAuthor::System => OwnedActor::Service,
            ChangeAuthor::Web | ChangeAuthor::App | ChangeAuthor::Client { .. } => {
                OwnedActor::Member(member.clone())
            }
        };
        let guarded_since = author.client_installation().map(|_| now.minus(self.config.guard.window()));
        let (member, change_set) = (member.clone(), self.environment.random_token::<16>()?);
        Ok(WriteContext { member, author, actor: by, now, change_set, guarded_since })
    }

    /// Applies a change set that was not sent by a client, in a new transaction. The guard does not apply,
    /// and no response is stored.
    pub(super) async fn change_server_side<A: WriteArea>(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        body: A::ChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        let resolved = ResolvedBatch::<A>::from_body(body, self.catalogue.latest_index());
        let (backend, member) = (self.clone(), member.clone());
        let change =
            move |connection: &Connection| backend.apply_change_set(connection, &member, author, resolved);
        self.store.write(change).await
    }

    /// Applies a change set that was not sent by a client, within the caller's transaction.
    pub(super) fn apply_change_set<A: WriteArea>(
        &self,
        connection: &Connection,
        member: &MemberId,
        author: ChangeAuthor,
        mut resolved: ResolvedBatch<A>,
    ) -> Result<ChangeResult, ChangeError> {
        let writer = self.write_context(member, author)?;
        let decided = resolved.decide_batch(connection, &self.catalogue, &writer)?;
        let dry_run = resolved.batch.dry_run;
        if !dry_run {
            let channel = writer.author.channel();
            commit_decision::<A>(connection, &writer, channel, &decided, &self.fault_injector)?;
        }
        Ok(resolved.into_result(decided, dry_run))
    }
}

/// The data of a client's write request, owned so that it can move into the write closure.
struct WriteRequest {
    backend: Backend,
    caller_context: CallerContext,
    body: bytes::Bytes,
}

/// The result of a write request before it is serialized.
enum WriteOutcome<E> {
    Decided(BatchDecision<E>),
    Response(EncodedResponse),
}

impl WriteRequest {
    fn check_fault(&self, step: WriteStep) -> Result<(), StoreError> {
        self.backend.fault_injector.check_step(step)
    }

    fn decide_and_apply<A: WriteArea>(
        &self,
        connection: &Connection,
        admitted: &AdmittedCaller,
        resolved: &mut ResolvedBatch<A>,
    ) -> Result<WriteOutcome<A::Entry>, HandlerError> {
        let mut writer = self.write_context(admitted)?;
        if resolved.batch.dry_run {
            // WRT-04: a dry run is never held, so the guard's state is not loaded.
            writer.guarded_since = None;
        }
        let decided = match resolved.decide_batch(connection, &self.backend.catalogue, &writer) {
            Err(ChangeError::InvalidDate) => {
                return Ok(WriteOutcome::Response(
                    self.caller_context.rejection_response(PlainCode::SchemaInvalid)?,
                ));
            }
            decided => decided?,
        };
        self.check_fault(WriteStep::Decided)?;
        if resolved.batch.dry_run {
            return Ok(WriteOutcome::Decided(decided));
        }
        if self.exceeds_guard::<A>(connection, admitted, &writer, &decided)? {
            let held_batch =
                held_batches::hold_batch(connection, &self.backend, admitted, A::OPERATION, &self.body)?;
            return Ok(WriteOutcome::Response(self.caller_context.held_batch_response(held_batch)?));
        }
        let name = &admitted.client.name;
        commit_decision::<A>(connection, &writer, name, &decided, &self.backend.fault_injector)?;
        Ok(WriteOutcome::Decided(decided))
    }

    fn finish_response<A: WriteArea>(
        &self,
        resolved: ResolvedBatch<A>,
        outcome: WriteOutcome<A::Entry>,
    ) -> Result<EncodedResponse, HandlerError> {
        match outcome {
            WriteOutcome::Response(response) => Ok(response),
            WriteOutcome::Decided(decided) => {
                let dry_run = resolved.batch.dry_run;
                json_response(&resolved.into_result(decided, dry_run), "application/json")
            }
        }
    }

    fn write_context(&self, admitted: &AdmittedCaller) -> Result<WriteContext, HandlerError> {
        let installation = admitted.installation()?.clone();
        let author = ChangeAuthor::Client { client: admitted.caller.client.clone(), installation };
        Ok(self.backend.write_context(&admitted.member.id, author)?)
    }

    /// Returns true if the member has to confirm the batch (WRT-10).
    fn exceeds_guard<A: WriteArea>(
        &self,
        connection: &Connection,
        admitted: &AdmittedCaller,
        writer: &WriteContext,
        decided: &BatchDecision<A::Entry>,
    ) -> Result<bool, StoreError> {
        let batch = decided.touched.iter().filter(|touched| touched.removal).count() as u64;
        let Some(since) = writer.guarded_since.filter(|_| batch > 0) else { return Ok(false) };
        let rule = &self.backend.config.guard;
        let window =
            guard::count_removals(connection, &writer.member, A::NAME, &admitted.caller.client, since)?;
        let entries = A::count_entries(connection, &writer.member)?;
        Ok(rule.holds_batch(RemovalCounts { batch, window, entries }))
    }
}
