//! A replica in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use dpop_bound::UnixTime;
use exchange_api::types::InstallationId;

use super::{Commit, Document, Forgotten, Outcome, OwnerNote, Removal, ReplicaStore, Row, Tally};
use crate::{
    error::Error,
    feed::{Area, Collection, Kept},
    replica::CURSOR_FOR,
};

/// A store that goes with the program. Nothing that it does can fail.
#[derive(Debug, Default)]
pub struct MemoryReplica {
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    areas: BTreeMap<Area, Held>,
    demand: Option<Document>,
    demand_asked: Option<UnixTime>,
}

#[derive(Clone, Debug, Default)]
struct Held {
    kept: Kept,
    rows: BTreeMap<Box<str>, (u64, Row)>,
    removals: BTreeMap<Box<str>, (Removal, UnixTime)>,
    agreed: BTreeMap<Box<str>, Row>,
}

impl MemoryReplica {
    /// What a thread left that panicked is whole: every change below is applied without anything that can.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T: Default>(&self, area: Area, read: impl FnOnce(&Held) -> T) -> Result<T, Error> {
        Ok(self.state().areas.get(&area).map(read).unwrap_or_default())
    }
}

impl ReplicaStore for MemoryReplica {
    fn kept(&self, area: Area) -> Result<Kept, Error> {
        self.of(area, |held| held.kept.clone())
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome, Error> {
        let mut state = self.state();
        let held = state.areas.entry(commit.area).or_default();
        if held.kept.sequence != commit.expects {
            return Ok(Outcome::Superseded(held.kept.clone()));
        }
        Ok(Outcome::Done(held.apply(commit)))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<Row>, Error> {
        self.of(area, |held| held.rows.get(key).map(|(_, row)| row.clone()))
    }

    fn entries(&self, area: Area, after: Option<&str>, most: usize) -> Result<Vec<Row>, Error> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.of(area, |held| {
            let rows = held.rows.range::<str, _>((after, Bound::Unbounded));
            rows.take(most).map(|(_, (_, row))| row.clone()).collect()
        })
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.of(area, |held| held.rows.len() as u64)
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<Removal>, Error> {
        self.of(area, |held| held.removals.get(key).map(|(removal, _)| removal.clone()))
    }

    fn agree(&self, area: Area, entries: &[Row], gone: &[&str]) -> Result<(), Error> {
        let mut state = self.state();
        let held = state.areas.entry(area).or_default();
        for key in gone {
            held.agreed.remove(*key);
        }
        held.agreed.extend(entries.iter().map(|row| (row.key.clone(), row.clone())));
        Ok(())
    }

    fn agreed(&self, area: Area, key: &str) -> Result<Option<Row>, Error> {
        self.of(area, |held| held.agreed.get(key).cloned())
    }

    fn demand(&self) -> Result<Option<Document>, Error> {
        Ok(self.state().demand.clone())
    }

    fn keep_demand(&self, demand: &Document, of: &InstallationId) -> Result<bool, Error> {
        let mut state = self.state();
        let owner = state.areas.get(&Area::OrgStock).and_then(|held| held.kept.reader.installation.as_ref());
        if owner != Some(of) {
            return Ok(false);
        }
        state.demand = Some(demand.clone());
        Ok(true)
    }

    fn demand_asked_at(&self) -> Result<Option<UnixTime>, Error> {
        Ok(self.state().demand_asked)
    }

    fn note_demand_asked(&self, at: UnixTime) -> Result<(), Error> {
        self.state().demand_asked = Some(at);
        Ok(())
    }

    fn forget(&self, collections: &[Collection], owner: OwnerNote) -> Result<Vec<Forgotten>, Error> {
        let mut state = self.state();
        let forget = |collection: &Collection| {
            let entries = match collection {
                Collection::Area(area) => state.areas.entry(*area).or_default().forget(owner),
                Collection::Demand => {
                    state.demand_asked = None;
                    u64::from(state.demand.take().is_some())
                }
            };
            Forgotten { collection: *collection, entries }
        };
        Ok(collections.iter().map(forget).collect())
    }
}

impl Held {
    fn apply(&mut self, commit: &Commit) -> Tally {
        let (generation, mut gone, mut stripped) = (commit.kept.generation, BTreeSet::new(), Vec::new());
        if commit.clear {
            gone.extend(std::mem::take(&mut self.rows).into_keys());
            self.removals.clear();
            self.agreed.clear();
        }
        if commit.strip {
            for (_, row) in self.rows.values_mut() {
                if row.details.take().is_some() {
                    stripped.push(row.key.clone());
                }
            }
        }
        for row in &commit.upserts {
            gone.remove(&row.key);
            self.removals.remove(&row.key);
            self.rows.insert(row.key.clone(), (generation, row.clone()));
        }
        let now = commit.kept.read_at.unwrap_or_default();
        for removal in &commit.removals {
            self.rows.remove(&removal.key);
            self.removals.insert(removal.key.clone(), (removal.clone(), now));
        }
        self.removals.retain(|_, (_, since)| now.saturating_since(*since) < CURSOR_FOR);
        let units = commit.units.as_ref();
        self.rows.retain(|key, (seen, row)| {
            let read = units.is_none_or(|units| row.unit.as_ref().is_none_or(|unit| units.contains(unit)));
            let stays = read && (!commit.sweep || *seen >= generation);
            if !stays {
                gone.insert(key.clone());
            }
            stays
        });
        self.kept = commit.kept.clone();
        Tally::new(gone.into_iter().collect(), stripped)
    }

    /// The count goes on, so that a commit that was decided before cannot be applied.
    fn forget(&mut self, owner: OwnerNote) -> u64 {
        let entries = self.rows.len() as u64;
        *self = Self { kept: self.kept.forgotten(owner), ..Self::default() };
        entries
    }
}
