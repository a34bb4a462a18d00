//! The engine: what happened goes in, the one thing to do next comes out.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    marker::PhantomData,
};

use dpop_bound::UnixTime;
use exchange_api::{
    types::{Cursor, InstallationId, RemovedBy, Timestamp, Tombstone},
    views::{FeedPage, FeedPageParts},
};

use super::{
    Area, Entry, Kept, Position, Reader,
    commit::{Commit, Removal, Row, Tally},
};
use crate::{error::Error, whose::Belongs};

/// So many refused cursors with no page between them are no expiry any more (FED-09).
const MOST_REFUSALS: u32 = 3;
/// So many snapshots that were not read to their end are not either.
const MOST_RESTARTS: u32 = 8;
/// So many pages that want to be asked again at the same place, with nothing in them.
const MOST_STILL: u32 = 3;
/// So many pages in a row that either bring nothing or lead to where the round was before.
const MOST_BARREN: u32 = 256;

/// The engine of one area's feed. It lives as long as the program, since it counts over rounds; everything else is
/// in the store.
#[derive(Debug)]
pub struct Feed<E> {
    state: State,
    reader: Reader,
    /// The sequence at which the position turned out to be worth nothing.
    expired: Option<u64>,
    refusals: u32,
    restarts: u32,
    still: u32,
    barren: u32,
    been: Been,
    entries: PhantomData<fn() -> E>,
}

/// The places at which a round was, by hashes of their cursors: a few bytes for each page until the end is reached.
#[derive(Debug, Default)]
struct Been {
    hasher: RandomState,
    places: HashSet<u64>,
}

impl Been {
    /// Notes a place; says whether it is another one than all before.
    fn is_new(&mut self, cursor: &Cursor) -> bool {
        self.places.insert(self.hasher.hash_one(cursor.as_str()))
    }
}

#[derive(Debug)]
enum State {
    Idle,
    Reading { kept: Kept, from: Position },
    Committing { kept: Kept, event: PageEvent, next: Next },
}

/// What follows a commit.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// What has to go is gone: the round begins.
    Begin,
    /// Another page.
    Read { headway: bool },
    /// The end is reached.
    End,
}

/// One step of the way.
#[derive(Debug)]
pub struct Step {
    /// What to do next.
    pub action: Action,
    /// What the commit that was just told brought.
    pub event: Option<PageEvent>,
}

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<E: Entry> {
    /// A round is to be made, from what is kept, as what the token can do now.
    Go {
        /// What the store has.
        kept: Kept,
        /// What the token can do.
        reader: Reader,
    },
    /// The page that was asked for came.
    Page {
        /// The page.
        page: Box<E::Page>,
        /// When it was asked for, so that nothing seems younger than it is.
        asked_at: UnixTime,
    },
    /// The cursor was refused: `CURSOR_EXPIRED`.
    Expired,
    /// The commit is done.
    Committed(Tally),
    /// Another process had committed something else meanwhile; this is what is kept now.
    Superseded(Kept),
}

/// What to do next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Read a page from this place, or the first of a snapshot.
    Read(Position),
    /// Commit this.
    Commit(Box<Commit>),
    /// The end is reached: the round is over.
    Done,
    /// The feed turns in circles: back off, let it be seen, and begin anew later.
    Stuck(StuckBecause),
    /// What came in was not asked for; nothing is to be done.
    Ignore,
}

/// How a feed turns in circles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StuckBecause {
    /// Every cursor is refused, those just issued too.
    #[error("every place to read on from is refused")]
    Refused,
    /// It wants to be asked again without going on.
    #[error("it says that there is more, and does not go on")]
    Still,
}

/// What one page brought; published once it is committed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageEvent {
    /// The area.
    pub area: Area,
    /// Of a snapshot or of the feed.
    pub phase: Phase,
    /// It is the first page after the place to read on from was refused (FED-09), or was worth nothing any more.
    pub restarted: bool,
    /// What is new or different, by key: read them from the replica.
    pub changed: Vec<Box<str>>,
    /// What the exchange removed.
    pub removed: Vec<Change>,
    /// What went without a word of its own: not in a new snapshot (FED-09), in a unit no longer read (OST-05).
    pub gone: Vec<Box<str>>,
    /// The end is reached: the replica is what the exchange has.
    pub complete: bool,
}

/// What a page is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Everything there is.
    Snapshot,
    /// What changed.
    Feed,
}

/// A removal as the feed tells it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// What is gone.
    pub key: Box<str>,
    /// By this very installation, so nobody has to be asked before it comes back (TYP-16).
    pub own: bool,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: RemovedBy,
}

impl<E: Entry> Default for Feed<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Entry> Feed<E> {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Idle,
            reader: Reader::default(),
            expired: None,
            refusals: 0,
            restarts: 0,
            still: 0,
            barren: 0,
            been: Been::default(),
            entries: PhantomData,
        }
    }

    /// Decides. Dropping what it asked for is no harm: a round begins again with [`Input::Go`] at any time.
    ///
    /// # Errors
    /// When a page holds something that cannot be written; see [`Entry::to_row`].
    pub fn handle(&mut self, input: Input<E>) -> Result<Step, Error> {
        let mut told = None;
        let action = match (input, std::mem::replace(&mut self.state, State::Idle)) {
            (Input::Go { kept, reader }, _) => {
                self.reader = reader.for_area(E::AREA);
                self.begin(kept)
            }
            (Input::Page { page, asked_at }, State::Reading { kept, from }) => {
                self.page(*page, asked_at, kept, &from)?
            }
            (Input::Expired, State::Reading { kept, .. }) => self.refused(kept),
            (Input::Committed(tally), State::Committing { kept, mut event, next }) => {
                event.gone = tally.gone;
                event.changed.extend(tally.stripped);
                told = Some(event);
                self.committed(kept, next)
            }
            (Input::Superseded(kept), State::Committing { .. }) => self.begin(kept),
            (_, state) => {
                self.state = state;
                Action::Ignore
            }
        };
        Ok(Step { action, event: told })
    }

    /// Where to begin: where it was left, unless that is worth nothing to who asks now.
    fn begin(&mut self, kept: Kept) -> Action {
        let (before, now) = (&kept.reader, &self.reader);
        // One that could not be told is no other one: a cursor of somebody else would be refused.
        if kept.belongs_to(now) == Belongs::Anothers {
            // Perhaps another member's: not to be shown for one moment more.
            let (sequence, generation) = (kept.sequence + 1, kept.generation);
            let now = Kept { sequence, generation, reader: now.clone(), ..Kept::default() };
            let commit = Commit { clear: true, ..Commit::of(E::AREA, kept.sequence, now.clone()) };
            return self.commit(commit, now, PageEvent::of(E::AREA, Phase::Snapshot), Next::Begin);
        }
        if kept.position == Position::Start {
            return self.read(kept, Position::Start);
        }
        if before.details && !now.details {
            // OST-10: what is kept of it goes before anything else is done.
            let commit = Commit::without_details(E::AREA, &kept);
            let now = commit.kept.clone();
            return self.commit(commit, now, PageEvent::of(E::AREA, Phase::Feed), Next::Begin);
        }
        // OST-10: details that were not there before come with a snapshot alone.
        let grown = now.details != before.details || differ(before.version.as_ref(), now.version.as_ref());
        let from = if grown || self.expired == Some(kept.sequence) {
            Position::Start
        } else {
            kept.position.clone()
        };
        self.read(kept, from)
    }

    fn read(&mut self, kept: Kept, from: Position) -> Action {
        self.state = State::Reading { kept, from: from.clone() };
        Action::Read(from)
    }

    fn commit(&mut self, commit: Commit, kept: Kept, event: PageEvent, next: Next) -> Action {
        self.state = State::Committing { kept, event, next };
        Action::Commit(Box::new(commit))
    }

    fn refused(&mut self, kept: Kept) -> Action {
        self.expired = Some(kept.sequence);
        self.refusals += 1;
        self.restarts += 1;
        if self.refusals >= MOST_REFUSALS || self.restarts >= MOST_RESTARTS {
            return Action::Stuck(StuckBecause::Refused);
        }
        self.read(kept, Position::Start)
    }

    fn page(
        &mut self,
        page: E::Page,
        asked_at: UnixTime,
        before: Kept,
        from: &Position,
    ) -> Result<Action, Error> {
        let units = E::units(&page);
        let units = units.map(|units| units.iter().map(|unit| unit.id.as_str().into()).collect());
        let FeedPageParts { items, removed, next_cursor, has_more } = page.into_parts();
        let phase = if from.is_whole() { Phase::Feed } else { Phase::Snapshot };
        let first = *from == Position::Start;
        let moved = from.cursor() != Some(&next_cursor);
        let empty = items.is_empty() && removed.is_empty();
        if first {
            self.been.places.clear();
        }
        if let Some(cursor) = from.cursor() {
            self.been.is_new(cursor);
        }
        let headway = self.been.is_new(&next_cursor) && !empty;
        // The last of several pages of a snapshot is not the end: what changed since the first follows in the feed
        // (FED-06).
        let complete = !has_more && (first || phase == Phase::Feed);
        self.refusals = 0;
        self.expired = None;
        self.still = if has_more && empty && !moved { self.still + 1 } else { 0 };
        self.barren = if has_more && !headway { self.barren + 1 } else { 0 };

        let kept = Kept {
            sequence: before.sequence + 1,
            generation: before.generation + u64::from(first),
            position: match phase {
                Phase::Snapshot if has_more => Position::Snapshot(next_cursor),
                // FED-03, FED-05.
                Phase::Snapshot | Phase::Feed => Position::Feed(next_cursor),
            },
            as_of: if complete { Some(asked_at) } else { before.as_of },
            read_at: Some(asked_at),
            since: if complete { Some(asked_at) } else { before.since.or(Some(asked_at)) },
            reader: Reader {
                installation: self.reader.installation.clone().or(before.reader.installation),
                version: self.reader.version.clone().or(before.reader.version),
                details: self.reader.details,
            },
        };
        let this = kept.reader.installation.as_ref();
        let removed: Vec<_> = removed.into_iter().map(|tombstone| change(tombstone, this)).collect();
        let upserts = items.iter().map(Entry::to_row).collect::<Result<Vec<Row>, _>>()?;
        let event = PageEvent {
            restarted: first && before.position != Position::Start,
            changed: upserts.iter().map(|row| row.key.clone()).collect(),
            removed,
            complete,
            ..PageEvent::of(E::AREA, phase)
        };
        let commit = Commit {
            // FED-09: what the snapshot did not list is gone, in the commit that ends it.
            sweep: phase == Phase::Snapshot && !has_more,
            upserts,
            removals: event.removed.iter().map(Removal::of).collect(),
            units,
            ..Commit::of(E::AREA, before.sequence, kept.clone())
        };
        let next = if complete { Next::End } else { Next::Read { headway: headway || !has_more } };
        Ok(self.commit(commit, kept, event, next))
    }

    fn committed(&mut self, kept: Kept, next: Next) -> Action {
        match next {
            Next::Begin => self.begin(kept),
            Next::End => {
                self.restarts = 0;
                self.been.places.clear();
                Action::Done
            }
            Next::Read { headway } => {
                if !headway && (self.still >= MOST_STILL || self.barren >= MOST_BARREN) {
                    return Action::Stuck(StuckBecause::Still);
                }
                let from = kept.position.clone();
                self.read(kept, from)
            }
        }
    }
}

impl PageEvent {
    pub(crate) fn of(area: Area, phase: Phase) -> Self {
        let (changed, removed, gone) = (Vec::new(), Vec::new(), Vec::new());
        Self { area, phase, restarted: false, changed, removed, gone, complete: false }
    }
}

fn differ<T: PartialEq>(before: Option<&T>, now: Option<&T>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if before != now)
}

fn change(tombstone: Tombstone, this: Option<&InstallationId>) -> Change {
    let Tombstone { key, removed_at, removed_by, .. } = tombstone;
    let own = this.is_some() && removed_by.installation_id.as_ref() == this;
    Change { key: key.as_str().into(), own, at: removed_at, by: removed_by }
}
