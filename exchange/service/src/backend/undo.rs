//! Undo: what a client wrote for a member within a span is set back, as new changes of the ordinary path.
//!
//! ```text
//! journal ─► history ─► plan ─► (a piece at a time) present ─► set back ─► apply, feed, journal, audit
//!            (pure)                                   (pure)
//! ```
//!
//! Each entry becomes again what it was before the client's first change of the span. An entry that somebody
//! else changed since stays as it is, and is told as a conflict; nothing is forced. Entries between which something
//! moved are set back together or not at all, and so are one that was removed and one that came in its place. The
//! journal names what each change undid, so that a second run finds
//! nothing, and one that was cut off goes on where it ended: what a piece set back is committed, and the next run
//! does not find it any more.
//!
//! Stock and org stock book the same rows, and rows of a holder stand in the journal of every Logistician who booked
//! them: what the client did to a row in one area for one member stands on what it did before in the other area, or for
//! another member. So where anything is set back, what stayed of that elsewhere is looked at again, until nothing more
//! goes back; each time an entry goes back that never does so again, so that comes to an end. A preview looks once: it
//! may tell a conflict where another area or member goes first.

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

use super::blueprints::Blueprints;
use super::change::{Area, Extras, Interruption, Notice, Step, Touched, Writer, applied};
use super::journal;
use super::org_stock::OrgStock;
use super::ships::Ships;
use super::stock::Stock;
use crate::catalogue::Catalogue;
use crate::environment::Environment;
use crate::feed::Author;
use crate::ids::{ClientId, MemberId};
use crate::records::{self, Deed, Doer};
use crate::store::StoreError;
use crate::time::Moment;
use history::{By, History, Planned, Seen};
use moves::{Case, Moves, together};
pub use report::Report;
pub use writers::Wrote;

/// How many entries are set back in one transaction; more where more of them belong together.
const PIECE: usize = 200;

/// Whose writes of when are undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// By this client, on all of its installations.
    pub client: ClientId,
    /// For this member.
    pub member: MemberId,
    /// From this moment on.
    pub from: Moment,
    /// Up to this moment, which is part of it.
    pub to: Moment,
}

/// On whose word they are undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The member's own: a change on the web.
    Member,
    /// An administrator's, by name: a change by the system, of which the member is told.
    Administrator(String),
}

/// Whether anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No: what would be done is told.
    Preview,
    /// Yes.
    Apply,
}

/// The areas whose writes can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UndoArea {
    /// The member's blueprints.
    Blueprints,
    /// The member's stock.
    Stock,
    /// The member's ships, and the clients' ids of them.
    Ships,
    /// Entries of pools that the member changed as their Logistician, and what was sold out of them.
    OrgStock,
}

impl UndoArea {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Its name, as in the journal.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blueprints => Blueprints::NAME,
            Self::Stock => Stock::NAME,
            Self::Ships => Ships::NAME,
            Self::OrgStock => OrgStock::NAME,
        }
    }

    /// Whether it books rows that another area, or another member in it, books too.
    const fn books_rows(self) -> bool {
        matches!(self, Self::Stock | Self::OrgStock)
    }
}

/// There is no such area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no area whose writes can be undone: there are {}", UndoArea::ALL.map(UndoArea::as_str).join(", "))]
pub struct NoArea;

impl FromStr for UndoArea {
    type Err = NoArea;

    fn from_str(text: &str) -> Result<Self, NoArea> {
        Self::ALL.into_iter().find(|area| area.as_str() == text).ok_or(NoArea)
    }
}

/// What became of one entry, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whose it is.
    pub member: MemberId,
    /// In which area.
    pub area: UndoArea,
    /// Its key in the journal.
    pub key: String,
    /// What a person calls it.
    pub name: String,
    /// How it ended.
    pub end: Result<Became, Hindrance>,
}

/// What an entry became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// It was gone, and is there again.
    PutBack,
    /// It was there, and is gone.
    Removed,
    /// It was there, and is there as it was before.
    Changed,
}

impl Became {
    /// Its name, for machines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PutBack => "put-back",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Why an entry stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Somebody else changed it since: by which way, where that is known.
    ChangedSince(Option<Author>),
    /// More of it is reserved than there would be.
    Reserved,
    /// It would belong to a unit that the member has left.
    UnitLeft,
    /// The client's id of it is another ship's by now.
    LinkTaken,
    /// Something moved between it and an entry that stays.
    OtherHalf,
    /// More of it is offered than there would be.
    Offered,
    /// It would come to a holder who does not belong to its unit any more.
    HolderLeft,
    /// It would be earmarked to a mission or a job order that is over.
    TargetEnded,
    /// The sale, or what missions received of it, is another one by now.
    SaleChanged,
    /// The member is no Logistician of its unit any more.
    NotPermitted,
}

impl Hindrance {
    /// Its name, for machines.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::ChangedSince(_) => "changed-since",
            Self::Reserved => "reserved",
            Self::UnitLeft => "unit-left",
            Self::LinkTaken => "link-taken",
            Self::OtherHalf => "other-half",
            Self::Offered => "offered",
            Self::HolderLeft => "holder-left",
            Self::TargetEnded => "target-ended",
            Self::SaleChanged => "sale-changed",
            Self::NotPermitted => "not-permitted",
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangedSince(Some(Author::Client { client, .. })) => {
                write!(f, "changed since by client {client}")
            }
            Self::ChangedSince(Some(by)) => write!(f, "changed since by {}", by.channel()),
            Self::ChangedSince(None) => f.write_str("changed since"),
            Self::Reserved => f.write_str("more of it is reserved than there was"),
            Self::UnitLeft => f.write_str("it was in a unit that the member has left"),
            Self::LinkTaken => f.write_str("its id is another ship's by now"),
            Self::OtherHalf => f.write_str("what moved from or to it stays as it is"),
            Self::Offered => f.write_str("more of it is offered than there was"),
            Self::HolderLeft => f.write_str("its holder does not belong to the unit any more"),
            Self::TargetEnded => f.write_str("a mission or job order that it stood ready for is over"),
            Self::SaleChanged => f.write_str("the sale, or what missions received of it, was changed since"),
            Self::NotPermitted => f.write_str("the member is no Logistician of its unit any more"),
        }
    }
}

/// Why nothing, or no more, was undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// The span begins before what the journal still has: it can begin at this moment at the earliest.
    #[error("the journal is whole from {0} on only: give that moment or a later one")]
    Forgotten(Moment),
    /// The member has one under way already: it reads much, and takes its turn.
    #[error("the member takes something back already: wait until that is done")]
    UnderWay,
    /// It went wrong after pieces of it were done, which stay so; a second run goes on.
    #[error("it was cut off, and part of it is done: {0}")]
    CutOff(#[source] Box<Self>),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for UndoError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// One change of an entry, as the journal has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change<E> {
    pub(super) before: Option<E>,
    pub(super) after: Option<E>,
}

/// What setting back comes to.
pub(super) struct SetBack<E> {
    /// One for each entry; none where it is as it was before.
    pub(super) ends: Vec<Result<Option<Touched<E>>, Hindrance>>,
    /// What it did beside.
    pub(super) extras: Extras,
    /// Whom else it concerns, each once.
    pub(super) notices: Vec<Notice>,
}

/// An area whose entries can be set back.
///
/// `follow` and `set_back` are plain functions; what is written goes through the area's own `apply` and `tell`.
pub(super) trait Restore: Area<Entry: DeserializeOwned> {
    /// All that the client did to an entry, together.
    type Past;
    /// What is known of the entries now.
    type Present;

    /// Whether something can move between entries.
    const MOVES: bool = false;

    /// Whether an entry can come in the place of one that was removed.
    const REPLACES: bool = false;

    /// Which changes of a change set gave to one another, by their places among them.
    fn moved(_: &[Change<Self::Entry>]) -> Vec<Vec<usize>> {
        Vec::new()
    }

    /// The key of the entry in whose place a new one came.
    fn replaced(_: &Self::Entry) -> Option<&str> {
        None
    }

    /// What the next change adds to what came before.
    fn follow(past: Option<Self::Past>, change: Change<Self::Entry>) -> Self::Past;

    /// An entry of which there is nothing but its past, for its name.
    fn faded(key: &str, past: &Self::Past) -> Touched<Self::Entry>;

    /// What is there now of the entries of these keys.
    fn present(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Self::Past)],
    ) -> Result<Self::Present, StoreError>;

    /// What is to become of each of them, of which the journal says that nobody else changed it; every other entry
    /// stays as it is.
    fn set_back(
        present: &Self::Present,
        pasts: &[(&str, &Self::Past)],
        writer: &Writer,
    ) -> SetBack<Self::Entry>;
}

/// What the next step of an undo does with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads.
    Read,
    /// It writes, all of it or nothing.
    Write,
}

/// Undoes the writes of a client for a member or several, one area after the other, a piece at a time.
///
/// Whoever has the store takes one [`step`](Self::step) after the other, each in a transaction of its own as
/// [`next_access`](Self::next_access) says, until there is none.
#[derive(Clone, Debug)]
pub struct Undo {
    client: ClientId,
    from: Moment,
    to: Moment,
    word: Word,
    mode: Mode,
    /// Each once.
    areas: Vec<UndoArea>,
    /// What is still to be planned.
    turns: VecDeque<(MemberId, UndoArea)>,
    plan: Option<Plan>,
    outcomes: Vec<Outcome>,
    /// Members who were told.
    told: BTreeSet<MemberId>,
}

/// What is left to be done of one member's area.
#[derive(Clone, Debug)]
struct Plan {
    member: MemberId,
    area: UndoArea,
    /// Entries in groups, each of which is set back together.
    groups: VecDeque<Vec<Planned>>,
    /// The last entry of the journal when it was made, or that was looked at since.
    newest: i64,
    /// Keys that were changed since it was made.
    meanwhile: BTreeSet<String>,
    /// Whether anything was set back by it.
    has_set_back: bool,
}

impl Undo {
    /// Of these writes to these areas, on somebody's word.
    #[must_use]
    pub fn new(writes: Writes, word: Word, areas: &[UndoArea], mode: Mode) -> Self {
        let Writes { client, member, from, to } = writes;
        let mut once = Vec::new();
        for area in areas {
            if !once.contains(area) {
                once.push(*area);
            }
        }
        let (turns, outcomes, told) = (VecDeque::new(), Vec::new(), BTreeSet::new());
        let undo = Self { client, from, to, word, mode, areas: once, turns, plan: None, outcomes, told };
        undo.and_for([member])
    }

    /// With what the client wrote in the same span for these members: what it did for one can stand on what it did for
    /// another.
    #[must_use]
    pub fn and_for(mut self, members: impl IntoIterator<Item = MemberId>) -> Self {
        for member in members {
            self.turns.extend(self.areas.iter().map(|area| (member.clone(), *area)));
        }
        self
    }

    /// What the next step does with the store; none when all is done.
    #[must_use]
    pub fn next_access(&self) -> Option<Access> {
        match (&self.plan, self.mode) {
            (Some(_), Mode::Apply) => Some(Access::Write),
            (Some(_), Mode::Preview) => Some(Access::Read),
            (None, _) => (!self.turns.is_empty()).then_some(Access::Read),
        }
    }

    /// What became of each entry, or would, member by member.
    #[must_use]
    pub fn into_outcomes(mut self) -> Vec<Outcome> {
        self.outcomes.sort_by(|one, other| one.member.cmp(&other.member));
        self.outcomes
    }

    /// Looks up what there is to undo in the next area; or does the next piece of what was looked up, or says what it
    /// would do. Belongs into one transaction.
    ///
    /// # Errors
    /// [`UndoError::Forgotten`], or what the store says; transaction and undo have to be given up then.
    pub fn step(
        &mut self,
        connection: &Connection,
        catalogue: &Catalogue,
        environment: &Environment,
        interruption: &Interruption,
    ) -> Result<(), UndoError> {
        self.remembers(connection)?;
        match self.plan.take() {
            None => {
                if let Some((member, area)) = self.turns.pop_front() {
                    self.plan = Some(self.planned(connection, member, area)?);
                }
            }
            Some(mut plan) => {
                let at = At { connection, catalogue, environment, interruption };
                let done = match plan.area {
                    UndoArea::Blueprints => self.piece::<Blueprints>(&mut plan, &at)?,
                    UndoArea::Stock => self.piece::<Stock>(&mut plan, &at)?,
                    UndoArea::Ships => self.piece::<Ships>(&mut plan, &at)?,
                    UndoArea::OrgStock => self.piece::<OrgStock>(&mut plan, &at)?,
                };
                self.outcomes.extend(done);
                self.plan = Some(plan);
            }
        }
        if let Some(plan) = self.plan.take_if(|plan| plan.groups.is_empty()) {
            self.look_elsewhere(&plan);
        }
        Ok(())
    }

    /// What there is to undo in an area, in one snapshot.
    fn planned(&self, connection: &Connection, member: MemberId, area: UndoArea) -> Result<Plan, StoreError> {
        let newest = newest(connection)?;
        let groups = match area {
            UndoArea::Blueprints => self.groups::<Blueprints>(connection, &member)?,
            UndoArea::Stock => self.groups::<Stock>(connection, &member)?,
            UndoArea::Ships => self.groups::<Ships>(connection, &member)?,
            UndoArea::OrgStock => self.groups::<OrgStock>(connection, &member)?,
        };
        Ok(Plan { member, area, groups, newest, meanwhile: BTreeSet::new(), has_set_back: false })
    }

    /// Has what stayed elsewhere of rows that this area books looked at again: what was set back here may be what it
    /// waited for.
    fn look_elsewhere(&mut self, done: &Plan) {
        if !done.has_set_back || !done.area.books_rows() {
            return;
        }
        let is_here = |outcome: &Outcome| (&outcome.member, outcome.area) == (&done.member, done.area);
        let may_go_back =
            |outcome: &mut Outcome| outcome.end.is_err() && outcome.area.books_rows() && !is_here(outcome);
        for Outcome { member, area, .. } in self.outcomes.extract_if(.., may_go_back) {
            let turn = (member, area);
            if !self.turns.contains(&turn) {
                self.turns.push_back(turn);
            }
        }
    }

    fn groups<A: Restore>(
        &self,
        connection: &Connection,
        member: &MemberId,
    ) -> Result<VecDeque<Vec<Planned>>, StoreError> {
        let mut rows = connection.prepare_cached(
            "SELECT id, at, key, channel, client, installation, undoes, change_set, before, after FROM journal \
             WHERE member = ?1 AND area = ?2 AND at >= ?3 ORDER BY id",
        )?;
        let mut rows = rows.query(params![member, A::NAME, self.from.millis()])?;
        let (mut history, mut moves) = (History::default(), Moves::default());
        let mut set = Set::default();
        while let Some(row) = rows.next()? {
            let (id, at): (i64, i64) = (row.get(0)?, row.get(1)?);
            let by = match Author::from_row(row, 3)?? {
                Author::Client { client, .. } if client == self.client && at <= self.to.millis() => {
                    By::Client
                }
                other => By::Other(other),
            };
            let (key, undoes): (String, Option<i64>) = (row.get(2)?, row.get(6)?);
            if A::MOVES && by == By::Client {
                let change_set: String = row.get(7)?;
                if change_set != set.name {
                    std::mem::take(&mut set).close::<A>(&mut moves);
                    set.name = change_set;
                }
                set.ids.push(id);
                set.changes.push(Change { before: entry(row.get(8)?)?, after: entry(row.get(9)?)? });
            }
            let replaces = if A::REPLACES { replaced::<A>(row.get(8)?, row.get(9)?)? } else { None };
            if let Some(removed) = history.see(Seen { id, key, by, undoes, replaces }) {
                moves.see(vec![removed, id]);
            }
        }
        set.close::<A>(&mut moves);
        Ok(moves.into_groups(history.into_planned()).into())
    }

    /// Whether the journal has all of the span.
    fn remembers(&self, connection: &Connection) -> Result<(), UndoError> {
        match journal::floor(connection)? {
            Some(floor) if self.from <= floor => {
                Err(UndoError::Forgotten(floor.plus(Duration::from_millis(1))))
            }
            _ => Ok(()),
        }
    }

    fn writer(&self, environment: &Environment, member: &MemberId) -> Result<Writer, StoreError> {
        let (member, now) = (member.clone(), environment.now());
        let (author, by) = match &self.word {
            Word::Member => (Author::Web, Doer::Member(member.clone())),
            Word::Administrator(name) => (Author::System, Doer::Administrator(name.clone())),
        };
        let change_set = environment.token::<16>()?;
        Ok(Writer { member, author, by, now, change_set, guarded_since: None })
    }

    fn piece<A: Restore>(&mut self, plan: &mut Plan, at: &At<'_>) -> Result<Vec<Outcome>, UndoError> {
        let (connection, area) = (at.connection, plan.area);
        plan.look_again::<A>(connection)?;
        let index = at.catalogue.at(connection)?;
        let (mut cases, mut undoes) = (Vec::new(), HashMap::new());
        for group in 0.. {
            let Some(planned) =
                plan.groups.pop_front_if(|next| cases.is_empty() || cases.len() + next.len() <= PIECE)
            else {
                break;
            };
            for Planned { key, ids, other } in planned {
                let Some(past) = past::<A>(connection, &ids)? else { continue };
                undoes.extend(ids.first().map(|first| (key.clone(), *first)));
                let is_other = other.is_some() || plan.meanwhile.contains(&key);
                let stays = is_other.then_some(Hindrance::ChangedSince(other));
                cases.push(Case { key, past, group, stays });
            }
        }
        let writer = self.writer(at.environment, &plan.member)?;
        let outcome = |key: &str, touched: &Touched<A::Entry>, end| Outcome {
            member: writer.member.clone(),
            area,
            key: key.to_owned(),
            name: A::name(&index, touched),
            end,
        };
        let free = cases.iter().filter(|case| case.stays.is_none());
        let pasts: Vec<(&str, &A::Past)> = free.map(|case| (&*case.key, &case.past)).collect();
        let present = A::present(connection, &writer.member, &pasts)?;
        let SetBack { ends, extras, notices } = together::<A>(&present, &cases, &writer);
        let (mut outcomes, mut touched, mut as_before) = (Vec::new(), Vec::new(), Vec::new());
        for (Case { key, past, .. }, end) in cases.iter().zip(ends) {
            match end {
                Ok(None) => as_before.push(key.clone()),
                Err(hindrance) => outcomes.push(outcome(key, &A::faded(key, past), Err(hindrance))),
                Ok(Some(one)) => {
                    let became = match (&one.before, &one.after) {
                        (None, _) => Became::PutBack,
                        (Some(_), None) => Became::Removed,
                        (Some(_), Some(_)) => Became::Changed,
                    };
                    outcomes.push(outcome(key, &one, Ok(became)));
                    touched.push(one);
                }
            }
        }
        if self.mode == Mode::Apply {
            plan.has_set_back |= !touched.is_empty();
            let done = Done { touched, as_before, undoes, extras, notices };
            self.carry_out::<A>(at, &writer, done)?;
            plan.newest = newest(connection)?;
        }
        Ok(outcomes)
    }

    /// Applies what was decided, tells the feeds, and writes it down.
    fn carry_out<A: Restore>(
        &mut self,
        at: &At<'_>,
        writer: &Writer,
        done: Done<A::Entry>,
    ) -> Result<(), StoreError> {
        let At { connection, interruption, .. } = *at;
        let Done { mut touched, as_before, undoes, extras, notices } = done;
        // As they were written at first: of one age the first is the oldest (STK-16).
        touched.sort_by_key(|touched| undoes.get(&touched.key));
        if !touched.is_empty() {
            applied::<A>(connection, writer, &touched, &notices, &undoes, interruption)?;
            self.written_down::<A>(connection, writer, &touched, &extras)?;
        }
        // What is as it was before counts as set back: else a later run over a part of the span would find that part.
        let nothing = |key| Touched { key, before: None, after: None, removal: false, overridden: false };
        let as_before: Vec<Touched<A::Entry>> = as_before.into_iter().map(nothing).collect();
        journal::record(connection, writer, A::NAME, &as_before, &undoes)?;
        if touched.is_empty() { Ok(()) } else { interruption.at(Step::WrittenDown) }
    }

    /// Writes down who did how much, and tells the member of what an administrator did.
    fn written_down<A: Restore>(
        &mut self,
        connection: &Connection,
        writer: &Writer,
        touched: &[Touched<A::Entry>],
        extras: &Extras,
    ) -> Result<(), StoreError> {
        let (Self { client, from, to, .. }, member) = (&*self, &writer.member);
        let (gone, there) = touched.iter().partition::<Vec<_>, _>(|touched| touched.after.is_none());
        let (there, gone, beside) = (there.len(), gone.len(), extras.audited());
        let detail =
            format!("of {member}, written from {from} to {to}: {there} set back, {gone} removed{beside}");
        let (action, subject) = (format!("{}.undo", A::NAME), &*writer.change_set);
        let deed = Deed { client: Some(client), action: &action, subject, detail: &detail };
        records::audit(connection, writer.now, writer.by.actor(), deed)?;
        if matches!(self.word, Word::Administrator(_)) && !self.told.contains(member) {
            records::notice(connection, writer.now, member, "writes-undone", client.as_str())?;
        }
        self.told.insert(member.clone());
        Ok(())
    }
}

/// What a piece comes to.
struct Done<E> {
    touched: Vec<Touched<E>>,
    /// Keys of entries that are as they were before.
    as_before: Vec<String>,
    /// The first entry of the journal that is undone of each key.
    undoes: HashMap<String, i64>,
    extras: Extras,
    notices: Vec<Notice>,
}

/// Where and how a piece is done.
struct At<'a> {
    connection: &'a Connection,
    catalogue: &'a Catalogue,
    environment: &'a Environment,
    interruption: &'a Interruption,
}

/// What was read of one change set of the client.
struct Set<E> {
    name: String,
    /// In the journal.
    ids: Vec<i64>,
    changes: Vec<Change<E>>,
}

impl<E> Default for Set<E> {
    fn default() -> Self {
        Self { name: String::new(), ids: Vec::new(), changes: Vec::new() }
    }
}

impl<E> Set<E> {
    fn close<A: Restore<Entry = E>>(self, moves: &mut Moves) {
        for moved in A::moved(&self.changes) {
            moves.see(moved.into_iter().filter_map(|at| self.ids.get(at).copied()).collect());
        }
    }
}

impl Plan {
    /// Notes what was changed since it was made, and in whose place something came.
    fn look_again<A: Restore>(&mut self, connection: &Connection) -> Result<(), StoreError> {
        // From there on whatever the journal has, which is little.
        let mut entries = connection.prepare_cached(
            "SELECT e.id, e.key FROM journal_set s NOT INDEXED \
             CROSS JOIN journal_entry e ON e.id BETWEEN s.first AND s.last \
             WHERE s.first > ?1 AND s.member = ?2 AND s.area = ?3",
        )?;
        let mut entries = entries.query(params![self.newest, self.member, A::NAME])?;
        while let Some(row) = entries.next()? {
            self.meanwhile.insert(row.get(1)?);
            if A::REPLACES {
                let (before, after) = journal::change(connection, row.get(0)?)?;
                self.meanwhile.extend(replaced::<A>(before, after)?);
            }
        }
        self.newest = newest(connection)?;
        Ok(())
    }
}

/// The key of the entry in whose place a journalled change put another one.
fn replaced<A: Restore>(before: Option<String>, after: Option<String>) -> Result<Option<String>, StoreError> {
    if before.is_some() {
        return Ok(None);
    }
    let after: Option<A::Entry> = entry(after)?;
    Ok(after.as_ref().and_then(A::replaced).map(str::to_owned))
}

fn newest(connection: &Connection) -> Result<i64, StoreError> {
    journal::last(connection)
}

/// What the client did to an entry; none where there is nothing of it.
fn past<A: Restore>(connection: &Connection, ids: &[i64]) -> Result<Option<A::Past>, StoreError> {
    let mut past = None;
    for id in ids {
        let (before, after) = journal::change(connection, *id)?;
        let change = Change { before: entry(before)?, after: entry(after)? };
        past = Some(A::follow(past, change));
    }
    Ok(past)
}

fn entry<E: DeserializeOwned>(text: Option<String>) -> Result<Option<E>, StoreError> {
    let entry = text.map(|text| serde_json::from_str(&text)).transpose();
    entry.map_err(|_| StoreError::Corrupt("a journalled entry that cannot be read"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Who sets something back on a member's own word.
    pub(in super::super) fn writer(member: &str) -> Writer {
        let (member, now) = (MemberId::new(member), Moment::from_secs(1_790_000_000));
        let (author, by) = (Author::Web, Doer::Member(member.clone()));
        Writer { member, author, by, now, change_set: "set".to_owned(), guarded_since: None }
    }

    #[test]
    fn areas_have_the_names_of_the_journal() {
        for area in UndoArea::ALL {
            assert_eq!(area.as_str().parse(), Ok(area));
        }
        assert_eq!("demand".parse::<UndoArea>(), Err(NoArea));
    }
}
