//! Change sets: the one path that every write of every area takes (WRT rows).

mod interruption;
mod outcome;

pub use interruption::{Interruption, Step};
pub(crate) use outcome::{Extras, OpEnd, Warnings};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract_runtime::server::{Answer, Context};
use exchange_api::operations::OperationId;
use exchange_api::refusals::PlainCode;
use exchange_api::server::Refusal;
use exchange_api::types::{ChangeResult, OpId};
use exchange_api::{Contract, server};
use rusqlite::Connection;
use serde::Serialize;

use super::admission::{Admitted, asked};
use super::guard::{self, Removals};
use super::journal;
use super::refusal::{Asked, Failure, written};
use super::{Backend, held};
use crate::caller::Caller;
use crate::catalogue::{Catalogue, Index};
use crate::feed::{self, Author, Change, Removal, Stream};
use crate::idempotency::{self, Completion};
use crate::ids::MemberId;
use crate::records::{self, Doer};
use crate::secrets;
use crate::store::StoreError;
use crate::time::Moment;

/// How long a removal by somebody else counts (BPR-06, A11).
const REMEMBERED: Duration = feed::cursor::LIFE;

/// Why a change set that no client sent was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// It is valid by its schema, and names a day that there is not (CON-06).
    #[error("the change set names a day that there is not")]
    Broken,
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// For whom, how and when something is written.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) member: MemberId,
    pub(crate) author: Author,
    /// Who answers for it, as the audit has it.
    pub(crate) by: Doer,
    pub(crate) now: Moment,
    /// What journal and audit call the change set.
    pub(crate) change_set: String,
    /// From when on the guard counts what the client did (LIM-21); none where no guard asks.
    pub(crate) guarded_since: Option<Moment>,
}

impl Writer {
    /// Whether a removal asks a client to ask the member first: one by anybody but this installation,
    /// within 90 days (WRT-14). What the member does on the web needs no asking.
    pub(crate) fn must_ask(&self, removal: &Removal) -> bool {
        matches!(self.author, Author::Client { .. })
            && !removal.by.is(&self.author)
            && self.remembers(removal)
    }

    /// Whether a removal still counts.
    pub(crate) fn remembers(&self, removal: &Removal) -> bool {
        self.now.since(removal.at) <= REMEMBERED
    }

    /// The opaque id of something that the change set makes, by its number among them: known before
    /// anything is written, and no other change set's. Nothing in it tells what else the change set made, which
    /// would say of entries whose holder is withheld that they are one holder's (OST-12).
    pub(crate) fn made(&self, number: usize) -> String {
        let hash = secrets::hash(format!("{}.{number}", self.change_set));
        URL_SAFE_NO_PAD.encode(secrets::head::<16>(&hash))
    }
}

/// The ids of what a change set makes, in the order in which it is made.
#[derive(Debug)]
pub(crate) struct Made<'w> {
    writer: &'w Writer,
    places: HashMap<String, usize>,
}

impl<'w> Made<'w> {
    pub(crate) fn new(writer: &'w Writer) -> Self {
        Self { writer, places: HashMap::new() }
    }

    /// The id of the next one.
    pub(crate) fn id(&mut self) -> String {
        let number = self.places.len() + 1;
        let id = self.writer.made(number);
        self.places.insert(id.clone(), number);
        id
    }

    /// Which one of all an id is; none is in front of all, and was there before.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }
}

/// The ops of a change set, as an area reads them.
#[derive(Clone, Debug)]
pub(crate) struct Batch<Op> {
    pub(crate) ops: Vec<Op>,
    pub(crate) dry_run: bool,
    /// What only a look at the contents finds: a day that there is not.
    pub(crate) broken: bool,
}

/// What became of one entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Touched<E> {
    /// Its key, as the area stores it.
    pub(crate) key: String,
    pub(crate) before: Option<E>,
    pub(crate) after: Option<E>,
    /// Whether it counts as a removal (WRT-10).
    pub(crate) removal: bool,
    /// Whether the member let it overrule a removal by somebody else (WRT-14).
    pub(crate) overridden: bool,
}

/// What a member is told of what somebody else did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Notice {
    pub(crate) member: MemberId,
    pub(crate) kind: &'static str,
}

/// What a batch comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decided<E> {
    /// One for each op.
    pub(crate) ends: Vec<OpEnd>,
    /// Every entry that an op changed, once.
    pub(crate) touched: Vec<Touched<E>>,
    pub(crate) extras: Extras,
    /// Whom else it concerns, each once.
    pub(crate) notices: Vec<Notice>,
}

/// An area whose entries change sets change.
///
/// `resolve` and `decide` are plain functions; `load`, `apply` and `entries` read and write the area's
/// tables and nothing else.
pub(crate) trait Area: Sized + Send + 'static {
    /// Its name in journal, audit and feeds.
    const NAME: &'static str;
    /// Its operation.
    const OPERATION: OperationId;

    /// The body of the operation.
    type ChangeSet: Contract + 'static;
    /// One op of it.
    type Op: Send + 'static;
    /// What an op's references found.
    type Target: Send + 'static;
    /// What is decided on.
    type State;
    /// An entry as it is stored.
    type Entry: Serialize;

    /// The ops of a body.
    fn batch(body: Self::ChangeSet) -> Batch<Self::Op>;

    /// The op's own id.
    fn op_id(op: &Self::Op) -> Option<&OpId>;

    /// What each op is about (WRT-02, RES-14).
    fn resolve(index: &Index, ops: &[Self::Op], warnings: &mut Warnings) -> Vec<Self::Target>;

    /// What the decision needs to know of the store.
    fn load(
        connection: &Connection,
        writer: &Writer,
        ops: &[Self::Op],
        targets: &[Self::Target],
    ) -> Result<Self::State, StoreError>;

    /// What the ops come to, in order, each as if those before it had run.
    fn decide(
        state: Self::State,
        ops: &[Self::Op],
        targets: &[Self::Target],
        writer: &Writer,
    ) -> Decided<Self::Entry>;

    /// What a person calls an entry.
    fn name(index: &Index, touched: &Touched<Self::Entry>) -> String;

    /// How many entries the member has, for the guard.
    fn entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError>;

    /// Writes what was decided.
    fn apply(
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<Self::Entry>],
    ) -> Result<(), StoreError>;

    /// Tells the feeds of it: of every entry the member's, unless the area knows more.
    fn tell(
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<Self::Entry>],
    ) -> Result<(), StoreError> {
        let stream = Stream::of_member(Self::NAME, &writer.member);
        let changes =
            touched.iter().map(|touched| Change { key: &touched.key, gone: touched.after.is_none() });
        feed::record(connection, &stream, &writer.author, writer.now, changes)
    }
}

/// A batch whose references are resolved.
pub(super) struct Resolved<A: Area> {
    batch: Batch<A::Op>,
    index: Arc<Index>,
    targets: Vec<A::Target>,
    unknown: Warnings,
    warnings: Warnings,
}

impl<A: Area> Resolved<A> {
    /// Resolves with the index that is at hand, beside the store.
    pub(super) fn of(body: A::ChangeSet, index: Arc<Index>) -> Self {
        let unknown = Warnings::unknown_fields(body.undeclared(Warnings::MOST));
        let batch = A::batch(body);
        let mut warnings = unknown.clone();
        let targets = A::resolve(&index, &batch.ops, &mut warnings);
        Self { batch, index, targets, unknown, warnings }
    }

    /// Decides, unless it is broken; resolves anew first, should the catalogue have changed meanwhile.
    pub(super) fn decide(
        &mut self,
        connection: &Connection,
        catalogue: &Catalogue,
        writer: &Writer,
    ) -> Result<Decided<A::Entry>, ChangeError> {
        if self.batch.broken {
            return Err(ChangeError::Broken);
        }
        let index = catalogue.at(connection)?;
        if !Arc::ptr_eq(&index, &self.index) {
            self.warnings = self.unknown.clone();
            self.targets = A::resolve(&index, &self.batch.ops, &mut self.warnings);
            self.index = index;
        }
        let state = A::load(connection, writer, &self.batch.ops, &self.targets)?;
        Ok(A::decide(state, &self.batch.ops, &self.targets, writer))
    }

    /// The index that decided.
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// What the client is told (WRT-05, WRT-06).
    pub(super) fn result(self, decided: Decided<A::Entry>, dry_run: bool) -> ChangeResult {
        let ops = self.batch.ops.iter().map(A::op_id).zip(decided.ends);
        outcome::result(ops, dry_run, self.warnings, decided.extras)
    }
}

/// Applies what was decided, tells the feed, and writes it down; all within the caller's transaction.
pub(super) fn carry_out<A: Area>(
    connection: &Connection,
    writer: &Writer,
    author_name: &str,
    decided: &Decided<A::Entry>,
    interruption: &Interruption,
) -> Result<(), StoreError> {
    let touched = &decided.touched;
    if touched.is_empty() {
        return Ok(());
    }
    applied::<A>(connection, writer, touched, &decided.notices, &HashMap::new(), interruption)?;
    let (gone, there) = touched.iter().partition::<Vec<_>, _>(|touched| touched.after.is_none());
    let beside = decided.extras.audited();
    let detail = format!("{author_name}: {} written, {} removed{beside}", there.len(), gone.len());
    let action = format!("{}.write", A::NAME);
    journal::audit(connection, writer, &action, &writer.change_set, &detail)?;
    interruption.at(Step::WrittenDown)
}

/// Applies what was decided, tells the feeds, journals it ([`told`]), and tells members of what concerns them.
pub(super) fn applied<A: Area>(
    connection: &Connection,
    writer: &Writer,
    touched: &[Touched<A::Entry>],
    notices: &[Notice],
    undoes: &HashMap<String, i64>,
    interruption: &Interruption,
) -> Result<(), StoreError> {
    A::apply(connection, writer, touched)?;
    interruption.at(Step::Applied)?;
    told::<A>(connection, writer, touched, undoes, interruption)?;
    for Notice { member, kind } in notices {
        records::notice(connection, writer.now, member, kind, &writer.change_set)?;
    }
    Ok(())
}

/// Tells the feeds of what is applied, and journals it, with the entries of the journal that it undoes, by keys.
pub(super) fn told<A: Area>(
    connection: &Connection,
    writer: &Writer,
    touched: &[Touched<A::Entry>],
    undoes: &HashMap<String, i64>,
    interruption: &Interruption,
) -> Result<(), StoreError> {
    A::tell(connection, writer, touched)?;
    interruption.at(Step::Told)?;
    journal::record(connection, writer, A::NAME, touched, undoes)
}

/// Keeps an answer for a repetition, in the write's own transaction.
pub(super) fn keep(
    connection: &Connection,
    caller: &Caller,
    answer: &Answer,
    now: Moment,
) -> Result<(), Failure> {
    match idempotency::complete(connection, caller, answer, now)? {
        Completion::Stored | Completion::NotStored => Ok(()),
        // Another attempt decides: this one never was.
        Completion::Lost => Err(PlainCode::IdempotencyInProgress.into()),
    }
}

impl Backend {
    /// A change set of a connected client: decided, and unless it is a dry run or held, carried out; the
    /// answer's bytes are kept for a repetition in the same transaction.
    pub(super) async fn change<A: Area>(
        &self,
        body: A::ChangeSet,
        context: &Context,
    ) -> Result<ChangeResult, Refusal> {
        let mut resolved = Resolved::<A>::of(body, self.catalogue.latest());
        let (asked, _) = asked(context)?;
        let path = Path { backend: self.clone(), asked, body: context.body().clone() };
        let answer = self.write(context, move |connection, admitted| {
            path.interrupted(Step::Admitted)?;
            let came = path.answer(connection, admitted, &mut resolved)?;
            let answer = path.finish(resolved, came)?;
            keep(connection, admitted.caller, &answer, path.backend.environment.now())?;
            path.interrupted(Step::Completed)?;
            Ok(answer)
        });
        Err(server::Refusal::written(answer.await?))
    }
}

impl Backend {
    /// Who writes now, under a name of its own for the change set. What the system does, the service answers for.
    pub(super) fn writer(&self, member: &MemberId, author: Author) -> Result<Writer, StoreError> {
        let now = self.environment.now();
        let by = match author {
            Author::System => Doer::Service,
            Author::Web | Author::App | Author::Client { .. } => Doer::Member(member.clone()),
        };
        let guarded_since = author.connected().map(|_| now.minus(self.config.guard.window()));
        let (member, change_set) = (member.clone(), self.environment.token::<16>()?);
        Ok(Writer { member, author, by, now, change_set, guarded_since })
    }

    /// A change set that no client sent: decided and carried out, without guard and kept answer.
    pub(super) async fn change_beside<A: Area>(
        &self,
        member: &MemberId,
        author: Author,
        body: A::ChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        let resolved = Resolved::<A>::of(body, self.catalogue.latest());
        let (backend, member) = (self.clone(), member.clone());
        let change = move |connection: &Connection| backend.change_in(connection, &member, author, resolved);
        self.store.write(change).await
    }

    /// The same within a transaction.
    pub(super) fn change_in<A: Area>(
        &self,
        connection: &Connection,
        member: &MemberId,
        author: Author,
        mut resolved: Resolved<A>,
    ) -> Result<ChangeResult, ChangeError> {
        let writer = self.writer(member, author)?;
        let decided = resolved.decide(connection, &self.catalogue, &writer)?;
        let dry_run = resolved.batch.dry_run;
        if !dry_run {
            let channel = writer.author.channel();
            carry_out::<A>(connection, &writer, channel, &decided, &self.interruption)?;
        }
        Ok(resolved.result(decided, dry_run))
    }
}

/// A write on its way.
struct Path {
    backend: Backend,
    asked: Asked,
    body: bytes::Bytes,
}

/// What a write comes to before it is written as an answer.
enum Came<E> {
    To(Decided<E>),
    Answer(Answer),
}

impl Path {
    fn interrupted(&self, step: Step) -> Result<(), StoreError> {
        self.backend.interruption.at(step)
    }

    fn answer<A: Area>(
        &self,
        connection: &Connection,
        admitted: &Admitted,
        resolved: &mut Resolved<A>,
    ) -> Result<Came<A::Entry>, Failure> {
        let mut writer = self.writer(admitted)?;
        if resolved.batch.dry_run {
            // WRT-04: it holds nothing, so that nobody has to know what the client did before.
            writer.guarded_since = None;
        }
        let decided = match resolved.decide(connection, &self.backend.catalogue, &writer) {
            Err(ChangeError::Broken) => {
                return Ok(Came::Answer(self.asked.refused(PlainCode::SchemaInvalid)?));
            }
            decided => decided?,
        };
        self.interrupted(Step::Decided)?;
        if resolved.batch.dry_run {
            return Ok(Came::To(decided));
        }
        if self.is_too_much::<A>(connection, admitted, &writer, &decided)? {
            let held = held::hold(connection, &self.backend, admitted, A::OPERATION, &self.body)?;
            return Ok(Came::Answer(self.asked.held(held)?));
        }
        let name = &admitted.client.name;
        carry_out::<A>(connection, &writer, name, &decided, &self.backend.interruption)?;
        Ok(Came::To(decided))
    }

    fn finish<A: Area>(&self, resolved: Resolved<A>, came: Came<A::Entry>) -> Result<Answer, Failure> {
        match came {
            Came::Answer(answer) => Ok(answer),
            Came::To(decided) => {
                let dry_run = resolved.batch.dry_run;
                written(&resolved.result(decided, dry_run), "application/json")
            }
        }
    }

    fn writer(&self, admitted: &Admitted) -> Result<Writer, Failure> {
        let installation = admitted.installation()?.clone();
        let author = Author::Client { client: admitted.caller.client.clone(), installation };
        Ok(self.backend.writer(&admitted.member.id, author)?)
    }

    /// Whether the member has to confirm it (WRT-10).
    fn is_too_much<A: Area>(
        &self,
        connection: &Connection,
        admitted: &Admitted,
        writer: &Writer,
        decided: &Decided<A::Entry>,
    ) -> Result<bool, StoreError> {
        let batch = decided.touched.iter().filter(|touched| touched.removal).count() as u64;
        let Some(since) = writer.guarded_since.filter(|_| batch > 0) else { return Ok(false) };
        let rule = &self.backend.config.guard;
        let window = guard::removed(connection, &writer.member, A::NAME, &admitted.caller.client, since)?;
        let entries = A::entries(connection, &writer.member)?;
        Ok(rule.holds(Removals { batch, window, entries }))
    }
}
