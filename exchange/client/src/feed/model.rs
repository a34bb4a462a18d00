//! An exchange in memory, so small that it is plainly right: what feeds and stores are held against in tests.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on fails"
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

use super::{Action, Area, Entry, Feed, Input, PageEvent, Position, Reader};
use crate::replica::{Outcome, Removal, Replica, ReplicaStore, Row};

/// The installation that plays.
pub const THIS: &str = "this-installation";

/// One collection of an exchange, with its stream of changes.
#[derive(Clone, Debug)]
pub struct Model {
    area: Area,
    changes: u64,
    entries: BTreeMap<String, (u64, u32)>,
    removed: BTreeMap<String, (u64, bool)>,
    /// The units whose pools are read, of all that there are: an entry's first character is its unit.
    pub units: BTreeSet<char>,
    /// Pools come with details.
    pub details: bool,
    cursors: BTreeMap<String, Place>,
    issued: u64,
}

#[derive(Clone, Debug)]
enum Place {
    Snapshot { began: u64, after: String },
    Feed(u64),
}

impl Model {
    /// An empty one.
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

    /// Puts an entry in, or another value on it.
    pub fn put(&mut self, key: &str, value: u32) {
        self.changes += 1;
        self.removed.remove(key);
        self.entries.insert(key.to_owned(), (self.changes, value));
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &str, own: bool) {
        if self.entries.remove(key).is_some() {
            self.changes += 1;
            self.removed.insert(key.to_owned(), (self.changes, own));
        }
    }

    /// Leaves a unit: its pool is gone without tombstones. Or joins it: its whole pool comes by the feed.
    pub fn turn_unit(&mut self, unit: char) {
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

    /// Forgets every cursor, and every tombstone that they could have told of.
    pub fn expire(&mut self) {
        self.cursors.clear();
        self.removed.clear();
    }

    /// The same without what only pages need.
    fn frozen(&self) -> Self {
        let (cursors, removed) = (BTreeMap::new(), BTreeMap::new());
        Self { cursors, removed, entries: self.entries.clone(), units: self.units.clone(), ..*self }
    }

    /// What a replica shows that has everything.
    #[must_use]
    pub fn state(&self) -> BTreeMap<String, Json> {
        let read = self.entries.iter().filter(|(key, _)| self.reads(key));
        let body = |key: &str, value| Json::parse(self.body(key, value).as_bytes()).unwrap();
        read.map(|(key, (_, value))| (key.clone(), body(key, *value))).collect()
    }

    /// A page as it is on the wire; `None` is `410 CURSOR_EXPIRED`. With `twice`, an entry is on it that was on an
    /// earlier one.
    pub fn page(&mut self, cursor: Option<&str>, most: usize, twice: bool) -> Option<String> {
        let place = match cursor {
            None => Place::Snapshot { began: self.changes, after: String::new() },
            Some(cursor) => self.cursors.get(cursor)?.clone(),
        };
        let (mut keys, mut gone) = (Vec::new(), Vec::new());
        let (next, more) = match place {
            Place::Snapshot { began, after } => {
                let rest = self.entries.keys().filter(|key| self.reads(key) && **key > after);
                keys.extend(rest.take(most + 1).cloned());
                let more = keys.len() > most;
                keys.truncate(most);
                let after = keys.last().cloned().unwrap_or(after);
                (if more { Place::Snapshot { began, after } } else { Place::Feed(began) }, more)
            }
            Place::Feed(seen) => {
                let there = self.entries.iter().filter(|(key, _)| self.reads(key));
                let there = there.map(|(key, (changed, _))| (*changed, key, None));
                let removed = self.removed.iter().filter(|(key, _)| self.reads(key));
                let removed = removed.map(|(key, (changed, own))| (*changed, key, Some(*own)));
                let mut all: Vec<_> = there.chain(removed).filter(|(changed, ..)| *changed > seen).collect();
                all.sort_unstable();
                let more = all.len() > most;
                all.truncate(most);
                // FED-10: the end is the present.
                let seen =
                    if more { all.last().map_or(seen, |(changed, ..)| *changed) } else { self.changes };
                for (_, key, own) in all {
                    match own {
                        None => keys.push(key.clone()),
                        Some(own) => gone.push((key.clone(), own)),
                    }
                }
                (Place::Feed(seen), more)
            }
        };
        if twice {
            let first = self.entries.keys().find(|key| self.reads(key) && !keys.contains(key));
            keys.extend(first.cloned());
        }
        self.issued += 1;
        // Neither equal nor in any order, as cursors may be.
        let cursor = format!("c-{:x}-{}", self.issued.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20, self.issued);
        let page = self.written(&keys, &gone, &cursor, more);
        self.cursors.insert(cursor, next);
        Some(page)
    }

    fn reads(&self, key: &str) -> bool {
        self.area != Area::OrgStock || key.starts_with(|unit| self.units.contains(&unit))
    }

    fn written(&self, keys: &[String], gone: &[(String, bool)], cursor: &str, more: bool) -> String {
        let items: Vec<_> = keys.iter().map(|key| self.body(key, self.entries[key].1)).collect();
        let removed = gone.iter().map(|(key, own)| {
            let by = if *own { THIS } else { "another-installation" };
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

    fn body(&self, key: &str, value: u32) -> String {
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

/// One thing that happens in a play: which, and two numbers that say more.
pub type Move = (u8, u8, u8);

/// Plays moves over a store, as they come: somebody edits, cursors expire, units and details come and go, the
/// program goes one step on, is killed, or is overtaken by another process. Whenever a page reached the end, the
/// replica is what the exchange was when that page was read; and when all is over it is what the exchange is.
///
/// `reopen` gives the store again after the program was killed.
pub fn play<S: ReplicaStore>(
    mut store: S,
    mut reopen: impl FnMut(S) -> S,
    moves: impl IntoIterator<Item = Move>,
) {
    let mut play = Play::new();
    for (which, a, b) in moves {
        let key = format!("{}{}", ['a', 'b', 'c'][usize::from(a % 3)], b % 12);
        match which % 16 {
            0..=2 => play.model.put(&key, u32::from(a)),
            3 => play.model.remove(&key, a % 2 == 0),
            4 if a % 4 == 0 => play.model.turn_unit(['a', 'b', 'c'][usize::from(b % 3)]),
            5 if a % 4 == 0 => play.turn_details(),
            6 if a % 4 == 0 => play.model.expire(),
            7 if a % 4 == 0 => {
                // Killed between two steps: what was asked for is lost.
                store = reopen(store);
                (play.feed, play.asked) = (Feed::new(), None);
            }
            8 if a % 4 == 0 => play.other(&store),
            _ => play.step(&store, usize::from(b % 4) + 1, a % 8 == 0),
        }
    }
    play.end(&store);
}

/// [`play`] with moves that follow from a seed.
pub fn play_seeded<S: ReplicaStore>(store: S, reopen: impl FnMut(S) -> S, seed: u64, moves: usize) {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1;
    let random = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [a, b, c, ..] = (state >> 20).to_le_bytes();
        (a, b, c)
    });
    play(store, reopen, random.take(moves));
}

struct Play {
    model: Model,
    feed: Feed<OrgStockLot>,
    asked: Option<Action>,
    /// What the exchange was when the page under way was read.
    read: Model,
    now: u64,
}

impl Play {
    fn new() -> Self {
        let model = Model::new(Area::OrgStock);
        let read = model.frozen();
        Self { model, feed: Feed::new(), asked: None, read, now: 1_000 }
    }

    /// The scope comes or goes; the feed tells it neither way (OST-10), so the next round begins anew.
    fn turn_details(&mut self) {
        self.model.details = !self.model.details;
        (self.feed, self.asked) = (Feed::new(), None);
    }

    fn reader(&self) -> Reader {
        let installation = Some(InstallationId::new(THIS).unwrap());
        Reader { installation, version: Some("1.0".into()), details: self.model.details }
    }

    fn step<S: ReplicaStore>(&mut self, store: &S, most: usize, twice: bool) {
        self.now += 1;
        let input = match self.asked.take() {
            None => Input::Go { kept: store.kept(Area::OrgStock).unwrap(), reader: self.reader() },
            Some(Action::Read(from)) => {
                let cursor = from.cursor().map(|cursor| cursor.as_str());
                match self.model.page(cursor, most, twice) {
                    None => Input::Expired,
                    Some(page) => {
                        self.read = self.model.frozen();
                        let page = Box::new(Contract::parse_valid(page.as_bytes()).unwrap());
                        Input::Page { page, asked_at: UnixTime::from_secs(self.now) }
                    }
                }
            }
            Some(Action::Commit(commit)) => {
                let before = rows(store);
                match store.commit(&commit).unwrap() {
                    Outcome::Superseded(kept) => {
                        assert_eq!(rows(store), before, "what came too late changed something");
                        Input::Superseded(kept)
                    }
                    Outcome::Done(tally) => {
                        assert_eq!(store.kept(Area::OrgStock).unwrap(), commit.kept);
                        for key in &tally.gone {
                            assert!(
                                store.entry(Area::OrgStock, key).unwrap().is_none(),
                                "{key} is told as gone"
                            );
                        }
                        Input::Committed(tally)
                    }
                }
            }
            Some(action) => panic!("{action:?} asks for nothing"),
        };
        let step = self.feed.handle(input).unwrap();
        if let Some(event) = &step.event {
            self.check(store, event);
        }
        self.asked = match step.action {
            Action::Done | Action::Stuck(_) => None,
            Action::Ignore => panic!("what came was asked for"),
            action => Some(action),
        };
    }

    fn check<S: ReplicaStore>(&self, store: &S, event: &PageEvent) {
        for change in &event.removed {
            let removal = Removal { key: change.key.clone(), own: change.own };
            assert_eq!(store.removal(Area::OrgStock, &change.key).unwrap(), Some(removal));
        }
        if event.complete {
            assert_eq!(contents(store), self.read.state(), "the replica is what the exchange was");
            assert!(store.kept(Area::OrgStock).unwrap().position.is_whole());
        }
    }

    /// Another process makes a whole round between two steps of this one.
    fn other<S: ReplicaStore>(&mut self, store: &S) {
        let mine = (std::mem::take(&mut self.feed), self.asked.take(), self.read.clone());
        for _ in 0..500 {
            self.step(store, 3, false);
            if self.asked.is_none() {
                break;
            }
        }
        (self.feed, self.asked, self.read) = mine;
    }

    fn end<S: ReplicaStore>(mut self, store: &S) {
        (self.feed, self.asked) = (Feed::new(), None);
        for _ in 0..500 {
            self.step(store, 3, false);
            if self.asked.is_none() {
                assert_eq!(contents(store), self.model.state());
                return;
            }
        }
        panic!("the round does not end");
    }
}

/// Every entry of pools in a store.
fn contents<S: ReplicaStore>(store: &S) -> BTreeMap<String, Json> {
    let rows = rows(store);
    assert_eq!(store.count(Area::OrgStock).unwrap(), rows.len() as u64);
    let lot = |row| OrgStockLot::of_row(row).unwrap().to_json().unwrap();
    rows.iter().map(|row| (row.key.to_string(), lot(row))).collect()
}

fn rows<S: ReplicaStore>(store: &S) -> Vec<Row> {
    store.entries(Area::OrgStock, None, usize::MAX).unwrap()
}

/// Reads an area of a model into a replica, to its end, in pages of some entries.
pub fn read_all<E: Entry>(replica: &Replica, model: &mut Model, most: usize) -> Vec<PageEvent> {
    let (mut feed, mut events) = (Feed::<E>::new(), Vec::new());
    let installation = Some(InstallationId::new(THIS).unwrap());
    let reader = Reader { installation, version: None, details: model.details };
    let mut input = Input::Go { kept: replica.store().kept(E::AREA).unwrap(), reader };
    loop {
        let step = feed.handle(input).unwrap();
        events.extend(step.event);
        input = match step.action {
            Action::Read(from) => {
                match model.page(from.cursor().map(|cursor| cursor.as_str()), most, false) {
                    None => Input::Expired,
                    Some(page) => Input::Page {
                        page: Box::new(Contract::parse_valid(page.as_bytes()).unwrap()),
                        asked_at: UnixTime::from_secs(1_000),
                    },
                }
            }
            Action::Commit(commit) => match replica.store().commit(&commit).unwrap() {
                Outcome::Done(tally) => Input::Committed(tally),
                Outcome::Superseded(kept) => Input::Superseded(kept),
            },
            _ => break,
        };
    }
    let whole = matches!(replica.store().kept(E::AREA).unwrap().position, Position::Feed(_));
    assert!(whole || model.cursors.is_empty());
    events
}
