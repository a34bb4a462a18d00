//! Undo: reverts a client's writes for a member within a time span. Each revert is a new change on the
//! ordinary write path.
//!
//! ```text
//! journal ─► fold ─► plan ─► (one piece at a time) load ─► revert ─► apply, feed, journal, audit
//!            (pure)                                (pure)
//! ```
//!
//! Each entry is reverted to its state before the client's first change in the time span. An entry that
//! another author changed since then is kept and reported as a conflict; no change by another author is
//! overwritten. Entries between which one change set moved stock are either all reverted or all kept. The
//! same holds for a removed entry and its replacement.
//!
//! The journal records which changes each revert undid. A second run therefore finds nothing to undo. After
//! an interruption, the next run continues with the changes that the interrupted run did not undo.
//!
//! Stock and org stock change the same rows, and the journal records a row's changes under every Logistician
//! who made one. A client's change of a row in one area can therefore depend on an earlier change in another
//! area or for another member. After an area in which entries were reverted, the conflicts in the other area
//! and of other members are checked again, until nothing more can be reverted. This terminates, because every
//! round permanently reverts at least one entry. A preview checks only once, so it can report a conflict that
//! a real run resolves by first reverting another area or member.
//!
//! Entry points: [`Backend::undo_writes`](super::Backend::undo_writes) for the member's own request, and
//! [`UndoProcess`] for administrators.

mod history;
pub(super) mod moves;
mod report;
mod run;
mod writers;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;

use super::blueprints::BlueprintArea;
use super::change::{
    ChangeExtras, EntryDelta, FaultInjector, MemberNotice, WriteArea, WriteContext, WriteStep,
    apply_and_journal,
};
use super::journal;
use super::org_stock::OrgStockArea;
use super::ships::ShipArea;
use super::stock::StockArea;
use crate::catalogue::Catalogue;
use crate::environment::Environment;
use crate::feed::ChangeAuthor;
use crate::ids::{ClientId, MemberId};
use crate::records::{self, AuditEntry, OwnedActor};
use crate::store::StoreError;
use crate::time::Moment;
use history::{EventAuthor, JournalEvent, JournalFold, PlannedEntry};
use moves::{MoveLinks, RevertCandidate, revert_groups};
pub use report::UndoReport;
pub use writers::WritingClient;

/// The number of entries that one transaction reverts; a group of linked entries may exceed it.
const MAX_PIECE_ENTRIES: usize = 200;

/// The writes to undo: those of one client for one member within a time span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoSelection {
    /// The client that made the writes, with any of its installations.
    pub client: ClientId,
    /// The owner of the data that the client wrote.
    pub member: MemberId,
    /// The start of the time span, inclusive.
    pub from: Moment,
    /// The end of the time span, inclusive.
    pub to: Moment,
}

/// The person who requested the undo. It determines the channel and the audit actor of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoAuthority {
    /// The member requested the undo; the changes have the channel `web`.
    Member,
    /// The administrator with this name requested the undo. The changes have the channel `system`, and the
    /// member gets a notice.
    Administrator(String),
}

/// Whether an undo writes its results or only reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoMode {
    /// Reports the outcomes without writing anything.
    Preview,
    /// Reverts the entries and reports the outcomes.
    Apply,
}

/// An area whose writes can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UndoArea {
    /// The blueprints of the member.
    Blueprints,
    /// The personal and shared stock of the member.
    Stock,
    /// The member's ships, with the external ids that clients assigned to them.
    Ships,
    /// The pool entries that the member changed as a Logistician, and the sales of pool stock.
    OrgStock,
}

impl UndoArea {
    /// All areas, in the order in which they are undone.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Returns the area's name in the journal.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blueprints => BlueprintArea::NAME,
            Self::Stock => StockArea::NAME,
            Self::Ships => ShipArea::NAME,
            Self::OrgStock => OrgStockArea::NAME,
        }
    }

    /// Returns true if the area changes stock rows, which another area or another member may also have
    /// changed.
    const fn books_rows(self) -> bool {
        matches!(self, Self::Stock | Self::OrgStock)
    }
}

/// The error for a string that is not the name of an undoable area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown area: use one of {}", UndoArea::ALL.map(UndoArea::as_str).join(", "))]
pub struct UnknownArea;

impl FromStr for UndoArea {
    type Err = UnknownArea;

    fn from_str(text: &str) -> Result<Self, UnknownArea> {
        Self::ALL.into_iter().find(|area| area.as_str() == text).ok_or(UnknownArea)
    }
}

/// The outcome of undoing one entry, or of its preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOutcome {
    /// The owner of the data to which the entry belongs.
    pub member: MemberId,
    /// The area to which the entry belongs.
    pub area: UndoArea,
    /// The entry's key in the journal.
    pub key: String,
    /// The display name of the entry.
    pub name: String,
    /// The effect on the entry, or the reason why it was not reverted.
    pub result: Result<RevertEffect, UndoConflict>,
}

/// The effect that a revert has on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevertEffect {
    /// The client had removed the entry; it exists again.
    Restored,
    /// The client had added the entry; it is removed.
    Removed,
    /// The client had changed the entry; it has its earlier content again.
    Changed,
}

impl RevertEffect {
    /// Returns the machine-readable name of the effect.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// The reason why an entry is not reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoConflict {
    /// Another author changed the entry afterwards; `None` if the author is unknown.
    ChangedSince(Option<ChangeAuthor>),
    /// The reserved amount exceeds the earlier amount of the entry.
    Reserved,
    /// The entry would return to a unit that the member has left.
    UnitLeft,
    /// The external id of the ship now belongs to another ship.
    LinkTaken,
    /// Another entry, which is linked to this one by a move or a replacement, is not reverted.
    LinkedEntryKept,
    /// The offered amount exceeds the earlier amount of the entry.
    Offered,
    /// The entry would return to a holder who is no longer a member of its unit.
    HolderLeft,
    /// The entry would be earmarked to a mission or job order that has ended.
    TargetEnded,
    /// The sale, or the income of the missions from it, was changed afterwards.
    SaleChanged,
    /// The member is no longer a Logistician of the entry's unit.
    NotPermitted,
}

impl UndoConflict {
    /// Returns the machine-readable code.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::ChangedSince(_) => "changed-since",
            Self::Reserved => "reserved",
            Self::UnitLeft => "unit-left",
            Self::LinkTaken => "link-taken",
            Self::LinkedEntryKept => "linked-entry",
            Self::Offered => "offered",
            Self::HolderLeft => "holder-left",
            Self::TargetEnded => "target-ended",
            Self::SaleChanged => "sale-changed",
            Self::NotPermitted => "not-permitted",
        }
    }
}

impl fmt::Display for UndoConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChangedSince(Some(ChangeAuthor::Client { client, .. })) => {
                return write!(f, "changed afterwards by client {client}");
            }
            Self::ChangedSince(Some(by)) => return write!(f, "changed afterwards by {}", by.channel()),
            Self::ChangedSince(None) => "changed afterwards",
            Self::Reserved => "the reserved amount exceeds the amount that undoing would restore",
            Self::UnitLeft => "it was in a unit that the member has left",
            Self::LinkTaken => "its external id belongs to another ship now",
            Self::LinkedEntryKept => "an entry that is linked to it by a move or a replacement is kept",
            Self::Offered => "the amount on offer exceeds the amount that undoing would restore",
            Self::HolderLeft => "its holder no longer belongs to the unit",
            Self::TargetEnded => "a mission or job order to which it was earmarked has ended",
            Self::SaleChanged => "the sale, or the missions' income from it, was changed afterwards",
            Self::NotPermitted => "the member is no longer a Logistician of its unit",
        })
    }
}

/// The reason an undo or its preview failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The time span starts before the earliest moment that the journal covers. Contains that moment.
    #[error("the journal is complete only from {0}: start the span at that moment or later")]
    JournalTruncated(Moment),
    /// Another undo or preview for the member is running, and only one can run at a time.
    #[error("another undo for this member is running: wait until it has finished")]
    InProgress,
    /// The undo failed after some pieces were committed. A further run continues after these pieces.
    #[error("the undo was interrupted after reverting a part: {0}; run it again to continue")]
    Interrupted(#[source] Box<Self>),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for UndoError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A journaled change of one entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EntryChange<E> {
    pub(super) before: Option<E>,
    pub(super) after: Option<E>,
}

/// The outcome of reverting a group of entries.
pub(super) struct RevertOutcome<E> {
    /// One result per entry; `Ok(None)` if the entry already has its earlier state.
    pub(super) results: Vec<Result<Option<EntryDelta<E>>, UndoConflict>>,
    /// The side effects that the audit reports.
    pub(super) extras: ChangeExtras,
    /// The notices to other members, without duplicates.
    pub(super) notices: Vec<MemberNotice>,
}

/// An area whose entries can be reverted.
///
/// `fold_change` and `revert_entries` are pure functions. Reverted entries are written through the area's own
/// `apply_changes` and `record_feed`.
pub(super) trait UndoableArea: WriteArea<Entry: DeserializeOwned> {
    /// The combined changes that the client made to one entry.
    type EntryHistory;
    /// The current state of the entries to revert.
    type CurrentState;

    /// Whether amounts can move between entries.
    const MOVES: bool = false;

    /// Whether a new entry can replace a removed one.
    const REPLACES: bool = false;

    /// Groups the changes of one change set if amounts moved between their entries. Returns the indexes of
    /// each group's changes.
    fn linked_changes(_: &[EntryChange<Self::Entry>]) -> Vec<Vec<usize>> {
        Vec::new()
    }

    /// Returns the key of the removed entry that this entry replaces, if any.
    fn replaced_key(_: &Self::Entry) -> Option<&str> {
        None
    }

    /// Adds the next change to the history of an entry.
    fn fold_change(past: Option<Self::EntryHistory>, change: EntryChange<Self::Entry>) -> Self::EntryHistory;

    /// Builds a delta from the history of an entry alone. It is only used to derive the display name.
    fn history_delta(key: &str, past: &Self::EntryHistory) -> EntryDelta<Self::Entry>;

    /// Loads the current state of the entries in `pasts`.
    fn load_current(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Self::EntryHistory)],
    ) -> Result<Self::CurrentState, StoreError>;

    /// Decides how to revert each entry. The caller has excluded entries for which the journal contains a
    /// later change by another author.
    fn revert_entries(
        present: &Self::CurrentState,
        pasts: &[(&str, &Self::EntryHistory)],
        writer: &WriteContext,
    ) -> RevertOutcome<Self::Entry>;
}

/// The kind of transaction that the next step of an undo needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAccess {
    /// A read-only snapshot, for planning or for a preview.
    Read,
    /// A write transaction, for reverting one piece.
    Write,
}

/// An undo of a client's writes for one or more members. It processes one area after the other, in pieces.
///
/// The owner of the store calls [`run_step`](Self::run_step) repeatedly, each time in a new transaction of
/// the kind that [`next_access`](Self::next_access) returned, until `next_access` returns `None`.
#[derive(Clone, Debug)]
pub struct UndoProcess {
    client: ClientId,
    from: Moment,
    to: Moment,
    authority: UndoAuthority,
    mode: UndoMode,
    /// The areas in the order in which they are undone, without duplicates.
    areas: Vec<UndoArea>,
    /// The pairs of member and area that are not planned yet.
    pending: VecDeque<(MemberId, UndoArea)>,
    plan: Option<AreaPlan>,
    outcomes: Vec<UndoOutcome>,
    /// The members who have received a notice.
    notified: BTreeSet<MemberId>,
}

/// The remaining work for one area of one member.
#[derive(Clone, Debug)]
struct AreaPlan {
    member: MemberId,
    area: UndoArea,
    /// The groups of linked entries. Each group is reverted in one transaction.
    groups: VecDeque<Vec<PlannedEntry>>,
    /// The last journal entry that the plan takes into account.
    last_seen_id: i64,
    /// The keys of entries that were changed after the plan was made.
    changed_since: BTreeSet<String>,
    /// Whether any entry of the plan has been reverted.
    has_reverted: bool,
}

impl UndoProcess {
    /// Creates an undo of the selected writes in the given areas.
    #[must_use]
    pub fn new(writes: UndoSelection, authority: UndoAuthority, areas: &[UndoArea], mode: UndoMode) -> Self {
        let UndoSelection { client, member, from, to } = writes;
        let mut once = Vec::new();
        for area in areas {
            if !once.contains(area) {
                once.push(*area);
            }
        }
        let (pending, outcomes, notified) = (VecDeque::new(), Vec::new(), BTreeSet::new());
        let undo =
            Self { client, from, to, authority, mode, areas: once, pending, plan: None, outcomes, notified };
        undo.with_members([member])
    }

    /// Adds members for whom the client's writes in the same time span are undone as well. The client's
    /// changes for one member can depend on its changes for another.
    #[must_use]
    pub fn with_members(mut self, members: impl IntoIterator<Item = MemberId>) -> Self {
        for member in members {
            self.pending.extend(self.areas.iter().map(|area| (member.clone(), *area)));
        }
        self
    }

    /// Returns the kind of transaction that the next step needs, or `None` if the undo is complete.
    #[must_use]
    pub fn next_access(&self) -> Option<StoreAccess> {
        match (&self.plan, self.mode) {
            (Some(_), UndoMode::Apply) => Some(StoreAccess::Write),
            (Some(_), UndoMode::Preview) => Some(StoreAccess::Read),
            (None, _) => (!self.pending.is_empty()).then_some(StoreAccess::Read),
        }
    }

    /// Returns the outcomes of all entries, sorted by member.
    #[must_use]
    pub fn into_outcomes(mut self) -> Vec<UndoOutcome> {
        self.outcomes.sort_by(|one, other| one.member.cmp(&other.member));
        self.outcomes
    }

    /// Runs one step within one transaction. A step plans the next area or processes the next piece: it
    /// reverts the piece or, in a preview, only checks it.
    ///
    /// # Errors
    /// Returns [`UndoError::JournalTruncated`], or an error if the store fails. On any error, roll back the
    /// transaction and drop this [`UndoProcess`].
    pub fn run_step(
        &mut self,
        connection: &Connection,
        catalogue: &Catalogue,
        environment: &Environment,
        fault_injector: &FaultInjector,
    ) -> Result<(), UndoError> {
        self.check_journal_floor(connection)?;
        match self.plan.take() {
            None => {
                if let Some((member, area)) = self.pending.pop_front() {
                    self.plan = Some(self.plan_area(connection, member, area)?);
                }
            }
            Some(mut plan) => {
                let at = StepContext { connection, catalogue, environment, fault_injector };
                let done = match plan.area {
                    UndoArea::Blueprints => self.process_piece::<BlueprintArea>(&mut plan, &at)?,
                    UndoArea::Stock => self.process_piece::<StockArea>(&mut plan, &at)?,
                    UndoArea::Ships => self.process_piece::<ShipArea>(&mut plan, &at)?,
                    UndoArea::OrgStock => self.process_piece::<OrgStockArea>(&mut plan, &at)?,
                };
                self.outcomes.extend(done);
                self.plan = Some(plan);
            }
        }
        if let Some(plan) = self.plan.take_if(|plan| plan.groups.is_empty()) {
            self.requeue_conflicts(&plan);
        }
        Ok(())
    }

    /// Plans the undo of one area of one member from one snapshot of the journal.
    fn plan_area(
        &self,
        connection: &Connection,
        member: MemberId,
        area: UndoArea,
    ) -> Result<AreaPlan, StoreError> {
        let newest = last_journal_id(connection)?;
        let groups = match area {
            UndoArea::Blueprints => self.load_groups::<BlueprintArea>(connection, &member)?,
            UndoArea::Stock => self.load_groups::<StockArea>(connection, &member)?,
            UndoArea::Ships => self.load_groups::<ShipArea>(connection, &member)?,
            UndoArea::OrgStock => self.load_groups::<OrgStockArea>(connection, &member)?,
        };
        Ok(AreaPlan {
            member,
            area,
            groups,
            last_seen_id: newest,
            changed_since: BTreeSet::new(),
            has_reverted: false,
        })
    }

    /// Queues other areas and members with conflicts again if they change the same rows as this area, because
    /// the reverts may have resolved those conflicts.
    fn requeue_conflicts(&mut self, done: &AreaPlan) {
        if !done.has_reverted || !done.area.books_rows() {
            return;
        }
        let is_here = |outcome: &UndoOutcome| (&outcome.member, outcome.area) == (&done.member, done.area);
        let may_go_back = |outcome: &mut UndoOutcome| {
            outcome.result.is_err() && outcome.area.books_rows() && !is_here(outcome)
        };
        for UndoOutcome { member, area, .. } in self.outcomes.extract_if(.., may_go_back) {
            let turn = (member, area);
            if !self.pending.contains(&turn) {
                self.pending.push_back(turn);
            }
        }
    }

    fn load_groups<A: UndoableArea>(
        &self,
        connection: &Connection,
        member: &MemberId,
    ) -> Result<VecDeque<Vec<PlannedEntry>>, StoreError> {
        let mut rows = connection.prepare_cached(
            "SELECT id, at, key, channel, client, installation, undoes, change_set, before, after FROM journal \
             WHERE member = ?1 AND area = ?2 AND at >= ?3 ORDER BY id",
        )?;
        let mut rows = rows.query(params![member, A::NAME, self.from.as_millis()])?;
        let (mut history, mut moves) = (JournalFold::default(), MoveLinks::default());
        let mut set = ChangeSetScan::default();
        while let Some(row) = rows.next()? {
            let (id, at): (i64, i64) = (row.get(0)?, row.get(1)?);
            let by = match ChangeAuthor::from_row(row, 3)?? {
                ChangeAuthor::Client { client, .. } if client == self.client && at <= self.to.as_millis() => {
                    EventAuthor::Client
                }
                other => EventAuthor::Other(other),
            };
            let (key, undoes): (String, Option<i64>) = (row.get(2)?, row.get(6)?);
            if A::MOVES && by == EventAuthor::Client {
                let change_set: String = row.get(7)?;
                if change_set != set.name {
                    std::mem::take(&mut set).link_changes::<A>(&mut moves);
                    set.name = change_set;
                }
                set.ids.push(id);
                set.changes.push(EntryChange {
                    before: parse_entry(row.get(8)?)?,
                    after: parse_entry(row.get(9)?)?,
                });
            }
            let replaces = if A::REPLACES { find_replaced_key::<A>(row.get(8)?, row.get(9)?)? } else { None };
            if let Some(removed) = history.record_event(JournalEvent { id, key, by, undoes, replaces }) {
                moves.link_ids(vec![removed, id]);
            }
        }
        set.link_changes::<A>(&mut moves);
        Ok(moves.into_groups(history.into_planned()).into())
    }

    /// Checks that the journal covers the whole time span.
    fn check_journal_floor(&self, connection: &Connection) -> Result<(), UndoError> {
        match journal::journal_floor(connection)? {
            Some(floor) if self.from <= floor => {
                Err(UndoError::JournalTruncated(floor.plus(Duration::from_millis(1))))
            }
            _ => Ok(()),
        }
    }

    fn write_context(
        &self,
        environment: &Environment,
        member: &MemberId,
    ) -> Result<WriteContext, StoreError> {
        let (member, now) = (member.clone(), environment.now());
        let (author, by) = match &self.authority {
            UndoAuthority::Member => (ChangeAuthor::Web, OwnedActor::Member(member.clone())),
            UndoAuthority::Administrator(name) => {
                (ChangeAuthor::System, OwnedActor::Administrator(name.clone()))
            }
        };
        let change_set = environment.random_token::<16>()?;
        Ok(WriteContext { member, author, actor: by, now, change_set, guarded_since: None })
    }

    fn process_piece<A: UndoableArea>(
        &mut self,
        plan: &mut AreaPlan,
        at: &StepContext<'_>,
    ) -> Result<Vec<UndoOutcome>, UndoError> {
        let (connection, area) = (at.connection, plan.area);
        plan.load_later_changes::<A>(connection)?;
        let index = at.catalogue.index_at(connection)?;
        let (mut cases, mut undoes) = (Vec::new(), HashMap::new());
        for group in 0.. {
            let Some(planned) = plan
                .groups
                .pop_front_if(|next| cases.is_empty() || cases.len() + next.len() <= MAX_PIECE_ENTRIES)
            else {
                break;
            };
            for PlannedEntry { key, ids, other } in planned {
                let Some(past) = load_history::<A>(connection, &ids)? else { continue };
                undoes.extend(ids.first().map(|first| (key.clone(), *first)));
                let is_other = other.is_some() || plan.changed_since.contains(&key);
                let stays = is_other.then_some(UndoConflict::ChangedSince(other));
                cases.push(RevertCandidate { key, history: past, group, conflict: stays });
            }
        }
        let writer = self.write_context(at.environment, &plan.member)?;
        let outcome = |key: &str, touched: &EntryDelta<A::Entry>, end| UndoOutcome {
            member: writer.member.clone(),
            area,
            key: key.to_owned(),
            name: A::entry_name(&index, touched),
            result: end,
        };
        let free = cases.iter().filter(|case| case.conflict.is_none());
        let pasts: Vec<(&str, &A::EntryHistory)> = free.map(|case| (&*case.key, &case.history)).collect();
        let present = A::load_current(connection, &writer.member, &pasts)?;
        let RevertOutcome { results: ends, extras, notices } = revert_groups::<A>(&present, &cases, &writer);
        let (mut outcomes, mut touched, mut as_before) = (Vec::new(), Vec::new(), Vec::new());
        for (RevertCandidate { key, history: past, .. }, end) in cases.iter().zip(ends) {
            match end {
                Ok(None) => as_before.push(key.clone()),
                Err(conflict) => outcomes.push(outcome(key, &A::history_delta(key, past), Err(conflict))),
                Ok(Some(one)) => {
                    let became = match (&one.before, &one.after) {
                        (None, _) => RevertEffect::Restored,
                        (Some(_), None) => RevertEffect::Removed,
                        (Some(_), Some(_)) => RevertEffect::Changed,
                    };
                    outcomes.push(outcome(key, &one, Ok(became)));
                    touched.push(one);
                }
            }
        }
        if self.mode == UndoMode::Apply {
            plan.has_reverted |= !touched.is_empty();
            let done = PieceOutcome { touched, as_before, undoes, extras, notices };
            self.commit_piece::<A>(at, &writer, done)?;
            plan.last_seen_id = last_journal_id(connection)?;
        }
        Ok(outcomes)
    }

    /// Writes one piece of an undo to the tables, feeds, journal and audit.
    fn commit_piece<A: UndoableArea>(
        &mut self,
        at: &StepContext<'_>,
        writer: &WriteContext,
        done: PieceOutcome<A::Entry>,
    ) -> Result<(), StoreError> {
        let StepContext { connection, fault_injector, .. } = *at;
        let PieceOutcome { mut touched, as_before, undoes, extras, notices } = done;
        // The entries are written in the order of the original changes: among rows with the same booking
        // time, the row that is written first counts as the oldest (STK-16).
        touched.sort_by_key(|touched| undoes.get(&touched.key));
        if !touched.is_empty() {
            apply_and_journal::<A>(connection, writer, &touched, &notices, &undoes, fault_injector)?;
            self.write_audit::<A>(connection, writer, &touched, &extras)?;
        }
        // Entries that already have their earlier state are also recorded as undone. Otherwise, a later run
        // with a shorter time span would revert a part of their changes.
        let nothing = |key| EntryDelta { key, before: None, after: None, removal: false, overridden: false };
        let as_before: Vec<EntryDelta<A::Entry>> = as_before.into_iter().map(nothing).collect();
        journal::record_changes(connection, writer, A::NAME, &as_before, &undoes)?;
        if touched.is_empty() { Ok(()) } else { fault_injector.check_step(WriteStep::Journaled) }
    }

    /// Writes the audit entry of a piece. Also notifies the member if an administrator requested the undo.
    fn write_audit<A: UndoableArea>(
        &mut self,
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<A::Entry>],
        extras: &ChangeExtras,
    ) -> Result<(), StoreError> {
        let (Self { client, from, to, .. }, member) = (&*self, &writer.member);
        let (gone, existing) = touched.iter().partition::<Vec<_>, _>(|touched| touched.after.is_none());
        let (existing, gone, beside) = (existing.len(), gone.len(), extras.audit_suffix());
        let detail =
            format!("of {member}, written from {from} to {to}: {existing} set back, {gone} removed{beside}");
        let (action, subject) = (format!("{}.undo", A::NAME), &*writer.change_set);
        let entry = AuditEntry { client: Some(client), action: &action, subject, detail: &detail };
        records::record_audit(connection, writer.now, writer.actor.as_actor(), entry)?;
        if matches!(self.authority, UndoAuthority::Administrator(_)) && !self.notified.contains(member) {
            records::notify_member(connection, writer.now, member, "writes-undone", client.as_str())?;
        }
        self.notified.insert(member.clone());
        Ok(())
    }
}

/// The changes of one piece, before they are written.
struct PieceOutcome<E> {
    touched: Vec<EntryDelta<E>>,
    /// The keys of entries that already have their earlier state.
    as_before: Vec<String>,
    /// The first journal entry that is undone, by key.
    undoes: HashMap<String, i64>,
    extras: ChangeExtras,
    notices: Vec<MemberNotice>,
}

/// The resources that are needed to process a piece.
struct StepContext<'a> {
    connection: &'a Connection,
    catalogue: &'a Catalogue,
    environment: &'a Environment,
    fault_injector: &'a FaultInjector,
}

/// The changes of one change set by the client, collected while the journal is read.
struct ChangeSetScan<E> {
    name: String,
    /// The journal ids of the changes.
    ids: Vec<i64>,
    changes: Vec<EntryChange<E>>,
}

impl<E> Default for ChangeSetScan<E> {
    fn default() -> Self {
        Self { name: String::new(), ids: Vec::new(), changes: Vec::new() }
    }
}

impl<E> ChangeSetScan<E> {
    fn link_changes<A: UndoableArea<Entry = E>>(self, moves: &mut MoveLinks) {
        for moved in A::linked_changes(&self.changes) {
            moves.link_ids(moved.into_iter().filter_map(|at| self.ids.get(at).copied()).collect());
        }
    }
}

impl AreaPlan {
    /// Adds the keys of entries that were changed or replaced after the plan was made.
    fn load_later_changes<A: UndoableArea>(&mut self, connection: &Connection) -> Result<(), StoreError> {
        // The query scans all sets of the journal after `last_seen_id`, of which there are few.
        let mut entries = connection.prepare_cached(
            "SELECT e.id, e.key FROM journal_set s NOT INDEXED \
             CROSS JOIN journal_entry e ON e.id BETWEEN s.first AND s.last \
             WHERE s.first > ?1 AND s.member = ?2 AND s.area = ?3",
        )?;
        let mut entries = entries.query(params![self.last_seen_id, self.member, A::NAME])?;
        while let Some(row) = entries.next()? {
            self.changed_since.insert(row.get(1)?);
            if A::REPLACES {
                let (before, after) = journal::load_change(connection, row.get(0)?)?;
                self.changed_since.extend(find_replaced_key::<A>(before, after)?);
            }
        }
        self.last_seen_id = last_journal_id(connection)?;
        Ok(())
    }
}

/// If a journaled change created an entry in place of a removed one, returns the key of the removed entry.
fn find_replaced_key<A: UndoableArea>(
    before: Option<String>,
    after: Option<String>,
) -> Result<Option<String>, StoreError> {
    if before.is_some() {
        return Ok(None);
    }
    let after: Option<A::Entry> = parse_entry(after)?;
    Ok(after.as_ref().and_then(A::replaced_key).map(str::to_owned))
}

fn last_journal_id(connection: &Connection) -> Result<i64, StoreError> {
    journal::last_id(connection)
}

/// Combines the client's changes of one entry. Returns `None` if `ids` is empty.
fn load_history<A: UndoableArea>(
    connection: &Connection,
    ids: &[i64],
) -> Result<Option<A::EntryHistory>, StoreError> {
    let mut past = None;
    for id in ids {
        let (before, after) = journal::load_change(connection, *id)?;
        let change = EntryChange { before: parse_entry(before)?, after: parse_entry(after)? };
        past = Some(A::fold_change(past, change));
    }
    Ok(past)
}

fn parse_entry<E: DeserializeOwned>(text: Option<String>) -> Result<Option<E>, StoreError> {
    let entry = text.map(|text| serde_json::from_str(&text)).transpose();
    entry.map_err(|_| StoreError::Corrupt("invalid journalled entry"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the write context of an undo that the member requested.
    pub(in super::super) fn writer(member: &str) -> WriteContext {
        let (member, now) = (MemberId::new(member), Moment::from_secs(1_790_000_000));
        let (author, by) = (ChangeAuthor::Web, OwnedActor::Member(member.clone()));
        WriteContext { member, author, actor: by, now, change_set: "set".to_owned(), guarded_since: None }
    }

    #[test]
    fn areas_have_the_names_of_the_journal() {
        for area in UndoArea::ALL {
            assert_eq!(area.as_str().parse(), Ok(area));
        }
        assert_eq!("demand".parse::<UndoArea>(), Err(UnknownArea));
    }
}
