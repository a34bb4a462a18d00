//! A minimal in-memory exchange, which is the reference model in tests of feeds and stores.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic is a test failure"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use dpop_bound::UnixTime;
use exchange_api::{
    Contract, Json,
    types::{InstallationId, OrgStockLot},
};

use super::{Area, Feed, FeedAction, FeedEntry, FeedInput, FeedPosition, FeedReader, PageEvent};
use crate::replica::{CommitOutcome, RemovalRecord, Replica, ReplicaRow, ReplicaStore};

/// The installation id of the client under test.
pub const THIS_INSTALLATION: &str = "this-installation";

/// A model of one collection of an exchange, with its stream of changes.
#[derive(Clone, Debug)]
pub struct ExchangeModel {
    area: Area,
    changes: u64,
    entries: BTreeMap<String, (u64, u32)>,
    removed: BTreeMap<String, (u64, bool)>,
    /// The units whose pools the client may read. The first character of a key is the unit of the entry.
    pub units: BTreeSet<char>,
    /// True if pages of pools contain details.
    pub details: bool,
    cursors: BTreeMap<String, ModelCursor>,
    issued: u64,
}

#[derive(Clone, Debug)]
enum ModelCursor {
    Snapshot { began: u64, after: String },
    Feed(u64),
}

impl ExchangeModel {
    /// Creates an empty collection.
    #[must_use]
    pub fn new(area: Area) -> Self {
        Self {
            area,
            changes: 0,
            entries: BTreeMap::new(),
            removed: BTreeMap::new(),
            units: ['a', 'b'].into(),
            details: false,
            cursors: BTreeMap::new(),
            issued: 0,
        }
    }

    /// Inserts an entry or changes its value.
    pub fn put(&mut self, key: &str, value: u32) {
        self.changes += 1;
        self.removed.remove(key);
        self.entries.insert(key.to_owned(), (self.changes, value));
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &str, is_own: bool) {
        if self.entries.remove(key).is_some() {
            self.changes += 1;
            self.removed.insert(key.to_owned(), (self.changes, is_own));
        }
    }

    /// Leaves a unit, which removes its pool without tombstones; or joins the unit, which adds its pool to
    /// the feed.
    pub fn toggle_unit(&mut self, unit: char) {
        if self.units.remove(&unit) {
            return;
        }
        self.units.insert(unit);
        for (key, (changed, _)) in &mut self.entries {
            if key.starts_with(unit) {
                self.changes += 1;
                *changed = self.changes;
            }
        }
    }

    /// Expires all cursors, and the tombstones that these cursors could have returned.
    pub fn expire_cursors(&mut self) {
        self.cursors.clear();
        self.removed.clear();
    }

    /// Returns a copy without the state that is needed only for page requests.
    fn without_cursors(&self) -> Self {
        let (cursors, removed) = (BTreeMap::new(), BTreeMap::new());
        Self { cursors, removed, entries: self.entries.clone(), units: self.units.clone(), ..*self }
    }

    /// Returns the entries that a complete replica contains.
    #[must_use]
    pub fn expected_entries(&self) -> BTreeMap<String, Json> {
        let read = self.entries.iter().filter(|(key, _)| self.is_readable(key));
        let body = |key: &str, value| Json::parse(self.render_entry(key, value).as_bytes()).unwrap();
        read.map(|(key, (_, value))| (key.clone(), body(key, *value))).collect()
    }

    /// Returns a page in its wire format; `None` stands for `410 CURSOR_EXPIRED`. If `twice` is true, the
    /// page also contains an entry of another page.
    pub fn next_page(&mut self, cursor: Option<&str>, limit: usize, twice: bool) -> Option<String> {
        let place = match cursor {
            None => ModelCursor::Snapshot { began: self.changes, after: String::new() },
            Some(cursor) => self.cursors.get(cursor)?.clone(),
        };
        let (mut keys, mut gone) = (Vec::new(), Vec::new());
        let (next, more) = match place {
            ModelCursor::Snapshot { began, after } => {
                let rest = self.entries.keys().filter(|key| self.is_readable(key) && **key > after);
                keys.extend(rest.take(limit + 1).cloned());
                let more = keys.len() > limit;
                keys.truncate(limit);
                let after = keys.last().cloned().unwrap_or(after);
                (if more { ModelCursor::Snapshot { began, after } } else { ModelCursor::Feed(began) }, more)
            }
            ModelCursor::Feed(seen) => {
                let there = self.entries.iter().filter(|(key, _)| self.is_readable(key));
                let there = there.map(|(key, (changed, _))| (*changed, key, None));
                let removed = self.removed.iter().filter(|(key, _)| self.is_readable(key));
                let removed = removed.map(|(key, (changed, is_own))| (*changed, key, Some(*is_own)));
                let mut all: Vec<_> = there.chain(removed).filter(|(changed, ..)| *changed > seen).collect();
                all.sort_unstable();
                let more = all.len() > limit;
                all.truncate(limit);
                // FED-10: the last page contains all changes until now.
                let seen =
                    if more { all.last().map_or(seen, |(changed, ..)| *changed) } else { self.changes };
                for (_, key, is_own) in all {
                    match is_own {
                        None => keys.push(key.clone()),
                        Some(is_own) => gone.push((key.clone(), is_own)),
                    }
                }
                (ModelCursor::Feed(seen), more)
            }
        };
        if twice {
            let first = self.entries.keys().find(|key| self.is_readable(key) && !keys.contains(key));
            keys.extend(first.cloned());
        }
        self.issued += 1;
        // Cursors are distinct but not ordered, which the contract permits.
        let cursor = format!("c-{:x}-{}", self.issued.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20, self.issued);
        let page = self.render_page(&keys, &gone, &cursor, more);
        self.cursors.insert(cursor, next);
        Some(page)
    }

    fn is_readable(&self, key: &str) -> bool {
        self.area != Area::OrgStock || key.starts_with(|unit| self.units.contains(&unit))
    }

    fn render_page(&self, keys: &[String], gone: &[(String, bool)], cursor: &str, more: bool) -> String {
        let items: Vec<_> = keys.iter().map(|key| self.render_entry(key, self.entries[key].1)).collect();
        let removed = gone.iter().map(|(key, is_own)| {
            let by = if *is_own { THIS_INSTALLATION } else { "another-installation" };
            format!(
                r#"{{"key":"{key}","removedAt":"2026-01-01T00:00:00Z","removedBy":{{"channel":"client","clientId":"desk","installationId":"{by}"}}}}"#
            )
        });
        let removed: Vec<_> = removed.collect();
        let mut page = format!(
            r#"{{"items":[{}],"removed":[{}],"nextCursor":"{cursor}","hasMore":{more}"#,
            items.join(","),
            removed.join(",")
        );
        if self.area == Area::OrgStock {
            let units = self.units.iter().map(|unit| {
                format!(r#"{{"id":"{unit}","name":"{unit}","shorthand":"{unit}","kind":"SQUADRON"}}"#)
            });
            let _ = write!(page, r#","units":[{}]"#, units.collect::<Vec<_>>().join(","));
        }
        page + "}"
    }

    fn render_entry(&self, key: &str, value: u32) -> String {
        let place = r#""location":{"name":"Area 18"},"quality":650,"stolen":false"#;
        let lot = format!(
            r#""material":{{"bt":"m","name":"Agricium"}},{place},"quantity":{{"amount":{value}.500,"unit":"SCU"}}"#
        );
        match self.area {
            Area::Blueprints => format!(
                r#"{{"key":"{key}","ref":{{"bt":"{key}","name":"B"}},"isDefault":false,"note":"{value}"}}"#
            ),
            Area::Stock => format!(r#"{{{lot},"key":"{key}"}}"#),
            Area::Ships => format!(
                r#"{{"shipId":"{key}","version":{value},"shipType":{{"bt":"t","name":"T"}},"insurance":{{"kind":"LTI"}},"fitted":false,"orgUnitVersion":0}}"#
            ),
            Area::OrgStock => {
                let unit = &key[..1];
                let entries = if self.details {
                    r#","entries":[{"id":"e","version":1,"holder":{"withheld":true},"quantity":{"amount":1,"unit":"SCU"},"jobOrders":[],"missions":[],"free":{"jobOrders":{"amount":1,"unit":"SCU"},"missions":{"amount":1,"unit":"SCU"}}}]"#
                } else {
                    ""
                };
                let none = r#"{"amount":0,"unit":"SCU"}"#;
                format!(
                    r#"{{{lot},"key":"{key}","unit":{{"id":"{unit}","name":"{unit}"}},"earmarked":{{"jobOrders":{none},"missions":{none}}}{entries}}}"#
                )
            }
        }
    }
}

/// A step of a random run, encoded as its kind and two parameters.
pub type ModelMove = (u8, u8, u8);

/// Runs random steps against a store. Other writers edit entries, cursors expire, units and details are lost
/// and gained, and the program makes progress, is killed, or is overtaken by another process.
///
/// Checks that the replica equals the state of the exchange whenever a page reaches the end of the feed, and
/// after the run. `reopen` returns the store after the program was killed.
pub fn run_moves<S: ReplicaStore>(
    mut store: S,
    mut reopen: impl FnMut(S) -> S,
    moves: impl IntoIterator<Item = ModelMove>,
) {
    let mut play = ModelRun::new();
    for (which, a, b) in moves {
        let key = format!("{}{}", ['a', 'b', 'c'][usize::from(a % 3)], b % 12);
        match which % 16 {
            0..=2 => play.model.put(&key, u32::from(a)),
            3 => play.model.remove(&key, a % 2 == 0),
            4 if a % 4 == 0 => play.model.toggle_unit(['a', 'b', 'c'][usize::from(b % 3)]),
            5 if a % 4 == 0 => play.toggle_details(),
            6 if a % 4 == 0 => play.model.expire_cursors(),
            7 if a % 4 == 0 => {
                // The program was killed between two steps, so the pending action is lost.
                store = reopen(store);
                (play.feed, play.pending_action) = (Feed::new(), None);
            }
            8 if a % 4 == 0 => play.run_other_process(&store),
            _ => play.run_step(&store, usize::from(b % 4) + 1, a % 8 == 0),
        }
    }
    play.finish_and_check(&store);
}

/// Calls [`run_moves`] with steps that are derived from a seed.
pub fn run_seeded<S: ReplicaStore>(store: S, reopen: impl FnMut(S) -> S, seed: u64, moves: usize) {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1;
    let random = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [a, b, c, ..] = (state >> 20).to_le_bytes();
        (a, b, c)
    });
    run_moves(store, reopen, random.take(moves));
}

struct ModelRun {
    model: ExchangeModel,
    feed: Feed<OrgStockLot>,
    pending_action: Option<FeedAction>,
    /// The state of the exchange at the time when the current page was read.
    model_at_read: ExchangeModel,
    now: u64,
}

impl ModelRun {
    fn new() -> Self {
        let model = ExchangeModel::new(Area::OrgStock);
        let read = model.without_cursors();
        Self { model, feed: Feed::new(), pending_action: None, model_at_read: read, now: 1_000 }
    }

    /// Grants or withdraws the scope for details. The exchange does not report this in the feed (OST-10), so
    /// the next round has to start again.
    fn toggle_details(&mut self) {
        self.model.details = !self.model.details;
        (self.feed, self.pending_action) = (Feed::new(), None);
    }

    fn current_reader(&self) -> FeedReader {
        let installation = Some(InstallationId::new(THIS_INSTALLATION).unwrap());
        FeedReader { installation, version: Some("1.0".into()), details: self.model.details }
    }

    fn run_step<S: ReplicaStore>(&mut self, store: &S, limit: usize, twice: bool) {
        self.now += 1;
        let input = match self.pending_action.take() {
            None => FeedInput::Begin {
                area_state: store.area_state(Area::OrgStock).unwrap(),
                reader: self.current_reader(),
            },
            Some(FeedAction::Read(from)) => {
                let cursor = from.cursor().map(|cursor| cursor.as_str());
                match self.model.next_page(cursor, limit, twice) {
                    None => FeedInput::Expired,
                    Some(page) => {
                        self.model_at_read = self.model.without_cursors();
                        let page = Box::new(Contract::parse_valid(page.as_bytes()).unwrap());
                        FeedInput::Page { page, asked_at: UnixTime::from_secs(self.now) }
                    }
                }
            }
            Some(FeedAction::Commit(commit)) => {
                let before = store_rows(store);
                match store.commit(&commit).unwrap() {
                    CommitOutcome::Superseded(area_state) => {
                        assert_eq!(store_rows(store), before, "a superseded commit changed an entry");
                        FeedInput::Superseded(area_state)
                    }
                    CommitOutcome::Done(tally) => {
                        assert_eq!(store.area_state(Area::OrgStock).unwrap(), commit.area_state);
                        for key in &tally.gone {
                            assert!(
                                store.entry(Area::OrgStock, key).unwrap().is_none(),
                                "{key} is reported as gone, but it is stored"
                            );
                        }
                        FeedInput::Committed(tally)
                    }
                }
            }
            Some(action) => panic!("{action:?} needs no input"),
        };
        let step = self.feed.handle_input(input).unwrap();
        if let Some(event) = &step.event {
            self.check_event(store, event);
        }
        self.pending_action = match step.action {
            FeedAction::Done | FeedAction::Stuck(_) => None,
            FeedAction::Ignore => panic!("the input was requested"),
            action => Some(action),
        };
    }

    fn check_event<S: ReplicaStore>(&self, store: &S, event: &PageEvent) {
        for change in &event.removed {
            let removal = RemovalRecord { key: change.key.clone(), is_own: change.is_own };
            assert_eq!(store.removal(Area::OrgStock, &change.key).unwrap(), Some(removal));
        }
        if event.complete {
            assert_eq!(
                store_contents(store),
                self.model_at_read.expected_entries(),
                "the replica differs from the exchange"
            );
            assert!(store.area_state(Area::OrgStock).unwrap().position.is_whole());
        }
    }

    /// Runs a complete round of another process between two steps of this one.
    fn run_other_process<S: ReplicaStore>(&mut self, store: &S) {
        let mine = (std::mem::take(&mut self.feed), self.pending_action.take(), self.model_at_read.clone());
        for _ in 0..500 {
            self.run_step(store, 3, false);
            if self.pending_action.is_none() {
                break;
            }
        }
        (self.feed, self.pending_action, self.model_at_read) = mine;
    }

    fn finish_and_check<S: ReplicaStore>(mut self, store: &S) {
        (self.feed, self.pending_action) = (Feed::new(), None);
        for _ in 0..500 {
            self.run_step(store, 3, false);
            if self.pending_action.is_none() {
                assert_eq!(store_contents(store), self.model.expected_entries());
                return;
            }
        }
        panic!("the round does not end");
    }
}

/// Returns all entries of org stock in a store.
fn store_contents<S: ReplicaStore>(store: &S) -> BTreeMap<String, Json> {
    let rows = store_rows(store);
    assert_eq!(store.count(Area::OrgStock).unwrap(), rows.len() as u64);
    let lot = |row| OrgStockLot::from_row(row).unwrap().to_json().unwrap();
    rows.iter().map(|row| (row.key.to_string(), lot(row))).collect()
}

fn store_rows<S: ReplicaStore>(store: &S) -> Vec<ReplicaRow> {
    store.entries(Area::OrgStock, None, usize::MAX).unwrap()
}

/// Reads an area of a model into a replica until the end of the feed, with at most `limit` entries per page.
pub fn read_all<E: FeedEntry>(replica: &Replica, model: &mut ExchangeModel, limit: usize) -> Vec<PageEvent> {
    let (mut feed, mut events) = (Feed::<E>::new(), Vec::new());
    let installation = Some(InstallationId::new(THIS_INSTALLATION).unwrap());
    let reader = FeedReader { installation, version: None, details: model.details };
    let mut input = FeedInput::Begin { area_state: replica.store().area_state(E::AREA).unwrap(), reader };
    loop {
        let step = feed.handle_input(input).unwrap();
        events.extend(step.event);
        input = match step.action {
            FeedAction::Read(from) => {
                match model.next_page(from.cursor().map(|cursor| cursor.as_str()), limit, false) {
                    None => FeedInput::Expired,
                    Some(page) => FeedInput::Page {
                        page: Box::new(Contract::parse_valid(page.as_bytes()).unwrap()),
                        asked_at: UnixTime::from_secs(1_000),
                    },
                }
            }
            FeedAction::Commit(commit) => match replica.store().commit(&commit).unwrap() {
                CommitOutcome::Done(tally) => FeedInput::Committed(tally),
                CommitOutcome::Superseded(area_state) => FeedInput::Superseded(area_state),
            },
            _ => break,
        };
    }
    let is_complete = matches!(replica.store().area_state(E::AREA).unwrap().position, FeedPosition::Feed(_));
    assert!(is_complete || model.cursors.is_empty());
    events
}
