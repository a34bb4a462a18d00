//! Groups entries that must be reverted together.
//!
//! Reverting only one side of a move would lose or duplicate stock. Entries between which a change set moved
//! amounts therefore form one group, as do a removed entry and its replacement.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::change::WriteContext;
use super::history::PlannedEntry;
use super::{RevertOutcome, UndoConflict, UndoableArea};

/// The side of a move that a change belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum MoveSide {
    /// The change decreased the entry.
    Gave,
    /// The change increased the entry.
    Got,
}

/// Finds the moves in a change set. For each change, `shares` contains the names of the moved amounts and the
/// side of the change. The two sides of a move have the same name. Yields the indexes of the changes of each
/// move.
pub(in super::super) fn gave_and_got(
    shares: impl IntoIterator<Item = Vec<(String, MoveSide)>>,
) -> impl Iterator<Item = Vec<usize>> {
    let mut sides: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (index, shares) in shares.into_iter().enumerate() {
        for (of, side) in shares {
            let [gave, got] = sides.entry(of).or_default();
            match side {
                MoveSide::Gave => gave.push(index),
                MoveSide::Got => got.push(index),
            }
        }
    }
    let both = sides.into_values().filter(|[gave, got]| !gave.is_empty() && !got.is_empty());
    both.map(|[gave, got]| [gave, got].concat())
}

/// The moves between entries that were found so far, as lists of journal ids.
#[derive(Debug, Default)]
pub(super) struct MoveLinks(Vec<Vec<i64>>);

impl MoveLinks {
    /// Adds a move, as the ids of its journal entries.
    pub(super) fn link_ids(&mut self, ids: Vec<i64>) {
        self.0.push(ids);
    }

    /// Merges the planned entries that are linked by moves into groups. The groups are sorted by their first
    /// entries.
    pub(super) fn into_groups(self, planned: Vec<PlannedEntry>) -> Vec<Vec<PlannedEntry>> {
        let of = |(index, planned): (usize, &PlannedEntry)| {
            planned.ids.iter().map(|id| (*id, index)).collect::<Vec<_>>()
        };
        let places: HashMap<i64, usize> = planned.iter().enumerate().flat_map(of).collect();
        let mut roots = DisjointSets((0..planned.len()).collect());
        for ids in self.0 {
            let mut moved = ids.iter().filter_map(|id| places.get(id));
            if let Some(first) = moved.next() {
                moved.for_each(|index| roots.union_sets(*first, *index));
            }
        }
        let mut groups: BTreeMap<usize, Vec<PlannedEntry>> = BTreeMap::new();
        for (index, planned) in planned.into_iter().enumerate() {
            groups.entry(roots.find_root(index)).or_default().push(planned);
        }
        groups.into_values().collect()
    }
}

/// A union-find structure. Maps each index to a lower index of the same group, or to itself.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn find_root(&mut self, mut index: usize) -> usize {
        while let Some(&before) = self.0.get(index).filter(|before| **before != index) {
            // Path halving: each visited node afterwards points to its previous grandparent.
            let first = self.0.get(before).copied().unwrap_or(before);
            if let Some(next) = self.0.get_mut(index) {
                *next = first;
            }
            index = first;
        }
        index
    }

    fn union_sets(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        if let Some(next) = self.0.get_mut(one.max(other)) {
            *next = one.min(other);
        }
    }
}

/// An entry that is reverted unless it or a linked entry has a conflict.
#[derive(Clone, Debug)]
pub(in super::super) struct RevertCandidate<P> {
    pub(in super::super) key: String,
    pub(in super::super) history: P,
    /// The number of the entry's group, which is the same for all linked entries.
    pub(in super::super) group: usize,
    /// The conflict that the journal already shows, if any.
    pub(in super::super) conflict: Option<UndoConflict>,
}

/// Reverts each group completely or not at all. The result of one entry can depend on other entries, so the
/// decision is repeated until no new conflict appears.
pub(in super::super) fn revert_groups<A: UndoableArea>(
    present: &A::CurrentState,
    cases: &[RevertCandidate<A::EntryHistory>],
    writer: &WriteContext,
) -> RevertOutcome<A::Entry> {
    let mut stay: BTreeMap<usize, UndoConflict> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        stay.extend(case.conflict.clone().map(|conflict| (index, conflict)));
    }
    loop {
        let groups: BTreeSet<usize> = cases
            .iter()
            .enumerate()
            .filter(|(index, _)| stay.contains_key(index))
            .map(|(_, case)| case.group)
            .collect();
        for (index, _) in cases.iter().enumerate().filter(|(_, case)| groups.contains(&case.group)) {
            stay.entry(index).or_insert(UndoConflict::LinkedEntryKept);
        }
        let free: Vec<(usize, &RevertCandidate<A::EntryHistory>)> =
            cases.iter().enumerate().filter(|(index, _)| !stay.contains_key(index)).collect();
        let pasts: Vec<(&str, &A::EntryHistory)> =
            free.iter().map(|(_, case)| (&*case.key, &case.history)).collect();
        let RevertOutcome { results: ends, extras, notices } = A::revert_entries(present, &pasts, writer);
        let hindered = free
            .iter()
            .zip(&ends)
            .filter_map(|((index, _), end)| Some((*index, end.as_ref().err()?.clone())));
        let hindered: Vec<_> = hindered.collect();
        if hindered.is_empty() {
            let mut ends = ends.into_iter();
            let end = |index| match stay.remove(&index) {
                Some(conflict) => Err(conflict),
                None => ends.next().unwrap_or(Ok(None)),
            };
            return RevertOutcome { results: (0..cases.len()).map(end).collect(), extras, notices };
        }
        stay.extend(hindered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the groups of keys. Each key has its changes: `1-x` means that the entry gave `x` in change set
    /// 1, and `1+x` that it received `x`.
    fn check(keys: &[(&str, &[&str])], expect: &[&[&str]]) {
        let (mut sets, mut planned) = (BTreeMap::<&str, (Vec<i64>, Vec<_>)>::new(), Vec::new());
        let mut id = 0;
        for (key, changes) in keys {
            let mut ids = Vec::new();
            for change in *changes {
                id += 1;
                ids.push(id);
                let (set, share) = change.split_at(1);
                let side = if share.starts_with('-') { MoveSide::Gave } else { MoveSide::Got };
                let (ids, shares) = sets.entry(set).or_default();
                ids.push(id);
                shares.push(vec![(share[1..].to_owned(), side)]);
            }
            planned.push(PlannedEntry { key: (*key).to_owned(), ids, other: None });
        }
        let mut moves = MoveLinks::default();
        for (ids, shares) in sets.into_values() {
            gave_and_got(shares)
                .for_each(|moved| moves.link_ids(moved.into_iter().map(|at| ids[at]).collect()));
        }
        let groups = moves.into_groups(planned);
        let groups: Vec<Vec<String>> =
            groups.into_iter().map(|group| group.into_iter().map(|planned| planned.key).collect()).collect();
        assert_eq!(groups, expect, "{keys:?}");
    }

    #[test]
    fn linked_changes_form_one_group() {
        check(&[("a", &["1-x"]), ("b", &["1+x"])], &[&["a", "b"]]);
        // Changes are not linked if they are on the same side, have different names, or belong to different
        // change sets.
        check(&[("a", &["1-x"]), ("b", &["1-x"])], &[&["a"], &["b"]]);
        check(&[("a", &["1+x"]), ("b", &["1+x"])], &[&["a"], &["b"]]);
        check(&[("a", &["1-x"]), ("b", &["1+y"])], &[&["a"], &["b"]]);
        check(&[("a", &["1-x"]), ("b", &["2+x"])], &[&["a"], &["b"]]);
        check(&[("a", &[]), ("b", &["2+x"])], &[&["a"], &["b"]]);
    }

    #[test]
    fn groups_span_change_sets_and_keep_the_first_position() {
        let chain: &[(&str, &[&str])] =
            &[("a", &["1-x"]), ("b", &["2-x"]), ("c", &["2-x"]), ("d", &["2+x", "1+x"]), ("e", &["3+x"])];
        check(chain, &[&["a", "b", "c", "d"], &["e"]]);
        let late: &[(&str, &[&str])] = &[("a", &[]), ("b", &["1-x"]), ("c", &[]), ("d", &["1+x"])];
        check(late, &[&["a"], &["b", "d"], &["c"]]);
    }
}
