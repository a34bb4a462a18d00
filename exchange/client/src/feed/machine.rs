//! The state machine of a feed, which takes an event and returns the next action.

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
    Area, AreaState, FeedEntry, FeedPosition, FeedReader,
    commit::{AreaCommit, CommitTally, RemovalRecord, ReplicaRow},
};
use crate::{error::Error, ownership::OwnershipMatch};

/// The number of consecutive refused cursors, without a page between them, after which the feed is stuck
/// (FED-09).
const MAX_REJECTED_CURSORS: u32 = 3;
/// The number of consecutive snapshots that did not reach their end, after which the feed is stuck.
const MAX_RESTARTS: u32 = 8;
/// The number of consecutive empty pages with an unchanged cursor, after which the feed is stuck.
const MAX_REPEATED_PAGES: u32 = 3;
/// The number of consecutive pages that are empty or return to a visited cursor, after which the feed is
/// stuck.
const MAX_BARREN_PAGES: u32 = 256;

/// The state machine of one area's feed. Keep it as long as the program runs, because its loop counters span
/// several rounds. All other state is in the store.
#[derive(Debug)]
pub struct Feed<E> {
    state: FeedState,
    reader: FeedReader,
    /// The sequence number of the stored state whose cursor was refused.
    expired_sequence: Option<u64>,
    rejected_cursors: u32,
    restarts: u32,
    repeated_pages: u32,
    barren_pages: u32,
    visited: VisitedCursors,
    entries: PhantomData<fn() -> E>,
}

/// Hashes of the cursors that were visited in a round. They need 8 bytes per page.
#[derive(Debug, Default)]
struct VisitedCursors {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

impl VisitedCursors {
    /// Records a cursor. Returns true if it was not visited before.
    fn insert(&mut self, cursor: &Cursor) -> bool {
        self.hashes.insert(self.hasher.hash_one(cursor.as_str()))
    }
}

#[derive(Debug)]
enum FeedState {
    Idle,
    Reading { area_state: AreaState, from: FeedPosition },
    Committing { area_state: AreaState, event: PageEvent, next: AfterCommit },
}

/// The step after a commit.
#[derive(Clone, Copy, Debug)]
enum AfterCommit {
    /// Begin the round, because outdated data is now deleted.
    Begin,
    /// Read the next page.
    Read { headway: bool },
    /// Finish the round, because the end of the feed is reached.
    End,
}

/// The result of one step of the state machine.
#[derive(Debug)]
pub struct FeedStep {
    /// The next action of the caller.
    pub action: FeedAction,
    /// The changes of the commit that was just completed, if there was one.
    pub event: Option<PageEvent>,
}

/// An event for the state machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeedInput<E: FeedEntry> {
    /// Begin a round.
    Begin {
        /// The stored state of the area.
        area_state: AreaState,
        /// The current access of the token.
        reader: FeedReader,
    },
    /// The requested page was received.
    Page {
        /// The parsed page.
        page: Box<E::Page>,
        /// The time of the request. The age of the data is counted from it, so that data never seems younger
        /// than it is.
        asked_at: UnixTime,
    },
    /// The exchange refused the cursor with `CURSOR_EXPIRED`.
    Expired,
    /// The commit was applied.
    Committed(CommitTally),
    /// Another process committed first. The value is the state that is stored now.
    Superseded(AreaState),
}

/// The next action of the caller.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeedAction {
    /// Read the page at this position, or the first page of a snapshot.
    Read(FeedPosition),
    /// Apply this commit.
    Commit(Box<AreaCommit>),
    /// The round is complete.
    Done,
    /// The feed is in a loop: back off, report the loop, and begin a new round later.
    Stuck(LoopReason),
    /// Do nothing, because the input did not match the pending action.
    Ignore,
}

/// The kind of loop that a feed is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LoopReason {
    /// The exchange refuses every cursor, including new ones.
    #[error("the exchange rejects every cursor, even a new one")]
    CursorsRefused,
    /// The exchange reports further pages, but the cursor does not advance.
    #[error("`hasMore` is true, but the cursor does not advance")]
    NoProgress,
}

/// The changes of one page, published after its commit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageEvent {
    /// The area that the page belongs to.
    pub area: Area,
    /// Whether the page belongs to a snapshot or to the feed.
    pub phase: FeedPhase,
    /// True for the first page after the exchange refused the cursor (FED-09) or the cursor became unusable.
    pub restarted: bool,
    /// Keys of new and changed entries, which can be read from the replica.
    pub changed: Vec<Box<str>>,
    /// Removals that the feed reported.
    pub removed: Vec<FeedRemoval>,
    /// Keys that were removed without a tombstone, because a new snapshot does not contain them (FED-09) or
    /// their unit is no longer readable (OST-05).
    pub gone: Vec<Box<str>>,
    /// True if the feed's end is reached, so that the replica equals the exchange.
    pub complete: bool,
}

/// The part of a collection's history to which a page belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedPhase {
    /// All current entries.
    Snapshot,
    /// Changes since the snapshot.
    Feed,
}

/// A removal as reported by the feed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedRemoval {
    /// The key of the removed entry.
    pub key: Box<str>,
    /// True if this installation removed the entry, so that the member need not be asked before it is added
    /// again (TYP-16).
    pub is_own: bool,
    /// The time of the removal.
    pub at: Timestamp,
    /// The writer that removed the entry.
    pub by: RemovedBy,
}

impl<E: FeedEntry> Default for Feed<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: FeedEntry> Feed<E> {
    /// Creates the state machine of a feed that has not been read yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: FeedState::Idle,
            reader: FeedReader::default(),
            expired_sequence: None,
            rejected_cursors: 0,
            restarts: 0,
            repeated_pages: 0,
            barren_pages: 0,
            visited: VisitedCursors::default(),
            entries: PhantomData,
        }
    }

    /// Processes an event and returns the next action. The caller may drop an action, because
    /// [`FeedInput::Begin`] begins a new round at any time.
    ///
    /// # Errors
    /// Returns an error if a page contains an entry that cannot be serialized; see [`FeedEntry::to_row`].
    pub fn handle_input(&mut self, input: FeedInput<E>) -> Result<FeedStep, Error> {
        let mut published = None;
        let action = match (input, std::mem::replace(&mut self.state, FeedState::Idle)) {
            (FeedInput::Begin { area_state, reader }, _) => {
                self.reader = reader.for_area(E::AREA);
                self.begin_round(area_state)
            }
            (FeedInput::Page { page, asked_at }, FeedState::Reading { area_state, from }) => {
                self.handle_page(*page, asked_at, area_state, &from)?
            }
            (FeedInput::Expired, FeedState::Reading { area_state, .. }) => self.handle_expired(area_state),
            (FeedInput::Committed(tally), FeedState::Committing { area_state, mut event, next }) => {
                event.gone = tally.gone;
                event.changed.extend(tally.stripped);
                published = Some(event);
                self.handle_committed(area_state, next)
            }
            (FeedInput::Superseded(area_state), FeedState::Committing { .. }) => self.begin_round(area_state),
            (_, state) => {
                self.state = state;
                FeedAction::Ignore
            }
        };
        Ok(FeedStep { action, event: published })
    }

    /// Begins a round at the stored position, unless the position is unusable for the current reader.
    fn begin_round(&mut self, area_state: AreaState) -> FeedAction {
        let (before, now) = (&area_state.reader, &self.reader);
        // An unknown owner is not treated as another owner. If the cursor does belong to another one, the
        // exchange refuses it.
        if area_state.belongs_to(now) == OwnershipMatch::Other {
            // The data may belong to another member and must be deleted first.
            let (sequence, generation) = (area_state.sequence + 1, area_state.generation);
            let now = AreaState { sequence, generation, reader: now.clone(), ..AreaState::default() };
            let commit =
                AreaCommit { clear: true, ..AreaCommit::new(E::AREA, area_state.sequence, now.clone()) };
            return self.request_commit(
                commit,
                now,
                PageEvent::new(E::AREA, FeedPhase::Snapshot),
                AfterCommit::Begin,
            );
        }
        if area_state.position == FeedPosition::Start {
            return self.request_page(area_state, FeedPosition::Start);
        }
        if before.details && !now.details {
            // OST-10: stored details are deleted before any page is requested.
            let commit = AreaCommit::without_details(E::AREA, &area_state);
            let now = commit.area_state.clone();
            return self.request_commit(
                commit,
                now,
                PageEvent::new(E::AREA, FeedPhase::Feed),
                AfterCommit::Begin,
            );
        }
        // OST-10: after access to details is gained, a new snapshot is required. The same applies to another
        // API version.
        let grown = now.details != before.details
            || both_known_and_different(before.version.as_ref(), now.version.as_ref());
        let from = if grown || self.expired_sequence == Some(area_state.sequence) {
            FeedPosition::Start
        } else {
            area_state.position.clone()
        };
        self.request_page(area_state, from)
    }

    fn request_page(&mut self, area_state: AreaState, from: FeedPosition) -> FeedAction {
        self.state = FeedState::Reading { area_state, from: from.clone() };
        FeedAction::Read(from)
    }

    fn request_commit(
        &mut self,
        commit: AreaCommit,
        area_state: AreaState,
        event: PageEvent,
        next: AfterCommit,
    ) -> FeedAction {
        self.state = FeedState::Committing { area_state, event, next };
        FeedAction::Commit(Box::new(commit))
    }

    fn handle_expired(&mut self, area_state: AreaState) -> FeedAction {
        self.expired_sequence = Some(area_state.sequence);
        self.rejected_cursors += 1;
        self.restarts += 1;
        if self.rejected_cursors >= MAX_REJECTED_CURSORS || self.restarts >= MAX_RESTARTS {
            return FeedAction::Stuck(LoopReason::CursorsRefused);
        }
        self.request_page(area_state, FeedPosition::Start)
    }

    fn handle_page(
        &mut self,
        page: E::Page,
        asked_at: UnixTime,
        before: AreaState,
        from: &FeedPosition,
    ) -> Result<FeedAction, Error> {
        let units = E::units(&page);
        let units = units.map(|units| units.iter().map(|unit| unit.id.as_str().into()).collect());
        let FeedPageParts { items, removed, next_cursor, has_more } = page.into_parts();
        let (items, removed) = (items.unwrap_or_default(), removed.unwrap_or_default());
        let phase = if from.is_whole() { FeedPhase::Feed } else { FeedPhase::Snapshot };
        let first = *from == FeedPosition::Start;
        let moved = from.cursor() != Some(&next_cursor);
        let empty = items.is_empty() && removed.is_empty();
        if first {
            self.visited.hashes.clear();
        }
        if let Some(cursor) = from.cursor() {
            self.visited.insert(cursor);
        }
        let headway = self.visited.insert(&next_cursor) && !empty;
        // The last page of a snapshot with several pages is not the end, because the changes since its first
        // page follow in the feed (FED-06).
        let complete = !has_more && (first || phase == FeedPhase::Feed);
        self.rejected_cursors = 0;
        self.expired_sequence = None;
        self.repeated_pages = if has_more && empty && !moved { self.repeated_pages + 1 } else { 0 };
        self.barren_pages = if has_more && !headway { self.barren_pages + 1 } else { 0 };

        let area_state = AreaState {
            sequence: before.sequence + 1,
            generation: before.generation + u64::from(first),
            position: match phase {
                FeedPhase::Snapshot if has_more => FeedPosition::Snapshot(next_cursor),
                // FED-03, FED-05: the feed continues from the cursor of the last page.
                FeedPhase::Snapshot | FeedPhase::Feed => FeedPosition::Feed(next_cursor),
            },
            as_of: if complete { Some(asked_at) } else { before.as_of },
            read_at: Some(asked_at),
            since: if complete { Some(asked_at) } else { before.since.or(Some(asked_at)) },
            reader: FeedReader {
                installation: self.reader.installation.clone().or(before.reader.installation),
                version: self.reader.version.clone().or(before.reader.version),
                details: self.reader.details,
            },
        };
        let this = area_state.reader.installation.as_ref();
        let removed: Vec<_> = removed.into_iter().map(|tombstone| from_tombstone(tombstone, this)).collect();
        let upserts = items.iter().map(FeedEntry::to_row).collect::<Result<Vec<ReplicaRow>, _>>()?;
        let event = PageEvent {
            restarted: first && before.position != FeedPosition::Start,
            changed: upserts.iter().map(|row| row.key.clone()).collect(),
            removed,
            complete,
            ..PageEvent::new(E::AREA, phase)
        };
        let commit = AreaCommit {
            // FED-09: the commit at the end of a snapshot removes entries that the snapshot does not contain.
            sweep: phase == FeedPhase::Snapshot && !has_more,
            upserts,
            removals: event.removed.iter().map(RemovalRecord::from_feed).collect(),
            units,
            ..AreaCommit::new(E::AREA, before.sequence, area_state.clone())
        };
        let next =
            if complete { AfterCommit::End } else { AfterCommit::Read { headway: headway || !has_more } };
        Ok(self.request_commit(commit, area_state, event, next))
    }

    fn handle_committed(&mut self, area_state: AreaState, next: AfterCommit) -> FeedAction {
        match next {
            AfterCommit::Begin => self.begin_round(area_state),
            AfterCommit::End => {
                self.restarts = 0;
                self.visited.hashes.clear();
                FeedAction::Done
            }
            AfterCommit::Read { headway } => {
                if !headway
                    && (self.repeated_pages >= MAX_REPEATED_PAGES || self.barren_pages >= MAX_BARREN_PAGES)
                {
                    return FeedAction::Stuck(LoopReason::NoProgress);
                }
                let from = area_state.position.clone();
                self.request_page(area_state, from)
            }
        }
    }
}

impl PageEvent {
    pub(crate) fn new(area: Area, phase: FeedPhase) -> Self {
        let (changed, removed, gone) = (Vec::new(), Vec::new(), Vec::new());
        Self { area, phase, restarted: false, changed, removed, gone, complete: false }
    }
}

fn both_known_and_different<T: PartialEq>(before: Option<&T>, now: Option<&T>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if before != now)
}

fn from_tombstone(tombstone: Tombstone, this: Option<&InstallationId>) -> FeedRemoval {
    let Tombstone { key, removed_at, removed_by, .. } = tombstone;
    let is_own = this.is_some() && removed_by.installation_id.as_ref() == this;
    FeedRemoval { key: key.as_str().into(), is_own, at: removed_at, by: removed_by }
}
