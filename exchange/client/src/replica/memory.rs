//! [`MemoryReplica`], a replica store in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use dpop_bound::UnixTime;
use exchange_api::types::InstallationId;

use super::{
    AreaCommit, CommitOutcome, CommitTally, DemandDocument, ForgottenCollection, OwnerNote, RemovalRecord,
    ReplicaRow, ReplicaStore,
};
use crate::{
    error::Error,
    feed::{Area, AreaState, Collection},
    replica::CURSOR_LIFETIME,
};

/// A store in memory, which is lost when the program ends. Its operations cannot fail.
#[derive(Debug, Default)]
pub struct MemoryReplica {
    state: Mutex<ReplicaState>,
}

#[derive(Clone, Debug, Default)]
struct ReplicaState {
    areas: BTreeMap<Area, StoredArea>,
    demand: Option<DemandDocument>,
    demand_requested_at: Option<UnixTime>,
}

#[derive(Clone, Debug, Default)]
struct StoredArea {
    area_state: AreaState,
    rows: BTreeMap<Box<str>, (u64, ReplicaRow)>,
    removals: BTreeMap<Box<str>, (RemovalRecord, UnixTime)>,
    agreed: BTreeMap<Box<str>, ReplicaRow>,
}

impl MemoryReplica {
    /// Locks the state. The data is consistent even if the lock is poisoned, because no change in this file
    /// can panic halfway.
    fn lock_state(&self) -> MutexGuard<'_, ReplicaState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_area<T: Default>(&self, area: Area, read: impl FnOnce(&StoredArea) -> T) -> Result<T, Error> {
        Ok(self.lock_state().areas.get(&area).map(read).unwrap_or_default())
    }
}

impl ReplicaStore for MemoryReplica {
    fn area_state(&self, area: Area) -> Result<AreaState, Error> {
        self.read_area(area, |stored| stored.area_state.clone())
    }

    fn commit(&self, commit: &AreaCommit) -> Result<CommitOutcome, Error> {
        let mut state = self.lock_state();
        let stored = state.areas.entry(commit.area).or_default();
        if stored.area_state.sequence != commit.expected_sequence {
            return Ok(CommitOutcome::Superseded(stored.area_state.clone()));
        }
        Ok(CommitOutcome::Done(stored.apply_commit(commit)))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error> {
        self.read_area(area, |stored| stored.rows.get(key).map(|(_, row)| row.clone()))
    }

    fn entries(&self, area: Area, after: Option<&str>, limit: usize) -> Result<Vec<ReplicaRow>, Error> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.read_area(area, |stored| {
            let rows = stored.rows.range::<str, _>((after, Bound::Unbounded));
            rows.take(limit).map(|(_, (_, row))| row.clone()).collect()
        })
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.read_area(area, |stored| stored.rows.len() as u64)
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error> {
        self.read_area(area, |stored| stored.removals.get(key).map(|(removal, _)| removal.clone()))
    }

    fn set_baseline(&self, area: Area, entries: &[ReplicaRow], gone: &[&str]) -> Result<(), Error> {
        let mut state = self.lock_state();
        let stored = state.areas.entry(area).or_default();
        for key in gone {
            stored.agreed.remove(*key);
        }
        stored.agreed.extend(entries.iter().map(|row| (row.key.clone(), row.clone())));
        Ok(())
    }

    fn baseline(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error> {
        self.read_area(area, |stored| stored.agreed.get(key).cloned())
    }

    fn demand(&self) -> Result<Option<DemandDocument>, Error> {
        Ok(self.lock_state().demand.clone())
    }

    fn store_demand(&self, demand: &DemandDocument, reader: &InstallationId) -> Result<bool, Error> {
        let mut state = self.lock_state();
        let owner = state
            .areas
            .get(&Area::OrgStock)
            .and_then(|stored| stored.area_state.reader.installation.as_ref());
        if owner != Some(reader) {
            return Ok(false);
        }
        state.demand = Some(demand.clone());
        Ok(true)
    }

    fn demand_requested_at(&self) -> Result<Option<UnixTime>, Error> {
        Ok(self.lock_state().demand_requested_at)
    }

    fn note_demand_request(&self, at: UnixTime) -> Result<(), Error> {
        self.lock_state().demand_requested_at = Some(at);
        Ok(())
    }

    fn forget(
        &self,
        collections: &[Collection],
        owner: OwnerNote,
    ) -> Result<Vec<ForgottenCollection>, Error> {
        let mut state = self.lock_state();
        let forget = |collection: &Collection| {
            let entries = match collection {
                Collection::Area(area) => state.areas.entry(*area).or_default().forget_entries(owner),
                Collection::Demand => {
                    state.demand_requested_at = None;
                    u64::from(state.demand.take().is_some())
                }
            };
            ForgottenCollection { collection: *collection, entries }
        };
        Ok(collections.iter().map(forget).collect())
    }
}

impl StoredArea {
    fn apply_commit(&mut self, commit: &AreaCommit) -> CommitTally {
        let (generation, mut gone, mut stripped) =
            (commit.area_state.generation, BTreeSet::new(), Vec::new());
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
        let now = commit.area_state.read_at.unwrap_or_default();
        for removal in &commit.removals {
            self.rows.remove(&removal.key);
            self.removals.insert(removal.key.clone(), (removal.clone(), now));
        }
        self.removals.retain(|_, (_, since)| now.saturating_since(*since) < CURSOR_LIFETIME);
        let units = commit.units.as_ref();
        self.rows.retain(|key, (seen, row)| {
            let read = units.is_none_or(|units| row.unit.as_ref().is_none_or(|unit| units.contains(unit)));
            let stays = read && (!commit.sweep || *seen >= generation);
            if !stays {
                gone.insert(key.clone());
            }
            stays
        });
        self.area_state = commit.area_state.clone();
        CommitTally::new(gone.into_iter().collect(), stripped)
    }

    /// Deletes all entries and returns their number. The sequence increases, so that commits prepared before
    /// the deletion are rejected.
    fn forget_entries(&mut self, owner: OwnerNote) -> u64 {
        let entries = self.rows.len() as u64;
        *self = Self { area_state: self.area_state.after_forgetting(owner), ..Self::default() };
        entries
    }
}
