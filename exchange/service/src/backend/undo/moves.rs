//! What moved between entries is set back on both sides or on neither, so that nothing is lost and nothing is there
//! twice: entries that gave to one another within a change set are one group, and so are an entry that was removed and
//! the one that came in its place.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::change::Writer;
use super::history::Planned;
use super::{Hindrance, Restore, SetBack};

/// On which side of a move a change may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Side {
    /// It left the entry less.
    Gave,
    /// It left the entry more.
    Got,
}

/// What each change of a change set gave away or got, by names that both sides of a move have in common; then, by their
/// places, which of them gave to one another.
pub(in super::super) fn gave_and_got(
    shares: impl IntoIterator<Item = Vec<(String, Side)>>,
) -> impl Iterator<Item = Vec<usize>> {
    let mut sides: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (at, shares) in shares.into_iter().enumerate() {
        for (of, side) in shares {
            let [gave, got] = sides.entry(of).or_default();
            match side {
                Side::Gave => gave.push(at),
                Side::Got => got.push(at),
            }
        }
    }
    let both = sides.into_values().filter(|[gave, got]| !gave.is_empty() && !got.is_empty());
    both.map(|[gave, got]| [gave, got].concat())
}

/// Which of the client's changes moved something between entries, as far as it was looked at.
#[derive(Debug, Default)]
pub(super) struct Moves(Vec<Vec<i64>>);

impl Moves {
    /// The entries of the journal with these numbers are one move.
    pub(super) fn see(&mut self, ids: Vec<i64>) {
        self.0.push(ids);
    }

    /// Puts together what gave to one another, in the order of what comes first in each group.
    pub(super) fn into_groups(self, planned: Vec<Planned>) -> Vec<Vec<Planned>> {
        let of =
            |(at, planned): (usize, &Planned)| planned.ids.iter().map(|id| (*id, at)).collect::<Vec<_>>();
        let places: HashMap<i64, usize> = planned.iter().enumerate().flat_map(of).collect();
        let mut roots = Roots((0..planned.len()).collect());
        for ids in self.0 {
            let mut moved = ids.iter().filter_map(|id| places.get(id));
            if let Some(first) = moved.next() {
                moved.for_each(|at| roots.join(*first, *at));
            }
        }
        let mut groups: BTreeMap<usize, Vec<Planned>> = BTreeMap::new();
        for (at, planned) in planned.into_iter().enumerate() {
            groups.entry(roots.of(at)).or_default().push(planned);
        }
        groups.into_values().collect()
    }
}

/// Of each place another one of its group that comes before it, or itself.
struct Roots(Vec<usize>);

impl Roots {
    fn of(&mut self, mut at: usize) -> usize {
        while let Some(&before) = self.0.get(at).filter(|before| **before != at) {
            // The way is half as long for the next one.
            let first = self.0.get(before).copied().unwrap_or(before);
            if let Some(next) = self.0.get_mut(at) {
                *next = first;
            }
            at = first;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        if let Some(next) = self.0.get_mut(one.max(other)) {
            *next = one.min(other);
        }
    }
}

/// An entry that is to be set back, unless it or one of its group is hindered.
#[derive(Clone, Debug)]
pub(in super::super) struct Case<P> {
    pub(in super::super) key: String,
    pub(in super::super) past: P,
    /// The same for all that gave to one another.
    pub(in super::super) group: usize,
    /// Why it stays, where the journal knows.
    pub(in super::super) stays: Option<Hindrance>,
}

/// What becomes of each entry, so that each group is set back whole or stays whole. What one entry becomes can hang
/// on others, so all are asked again until none is hindered that was not before.
pub(in super::super) fn together<A: Restore>(
    present: &A::Present,
    cases: &[Case<A::Past>],
    writer: &Writer,
) -> SetBack<A::Entry> {
    let mut stay: BTreeMap<usize, Hindrance> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        stay.extend(case.stays.clone().map(|hindrance| (at, hindrance)));
    }
    loop {
        let groups: BTreeSet<usize> = cases
            .iter()
            .enumerate()
            .filter(|(at, _)| stay.contains_key(at))
            .map(|(_, case)| case.group)
            .collect();
        for (at, _) in cases.iter().enumerate().filter(|(_, case)| groups.contains(&case.group)) {
            stay.entry(at).or_insert(Hindrance::OtherHalf);
        }
        let free: Vec<(usize, &Case<A::Past>)> =
            cases.iter().enumerate().filter(|(at, _)| !stay.contains_key(at)).collect();
        let pasts: Vec<(&str, &A::Past)> = free.iter().map(|(_, case)| (&*case.key, &case.past)).collect();
        let SetBack { ends, extras, notices } = A::set_back(present, &pasts, writer);
        let hindered =
            free.iter().zip(&ends).filter_map(|((at, _), end)| Some((*at, end.as_ref().err()?.clone())));
        let hindered: Vec<_> = hindered.collect();
        if hindered.is_empty() {
            let mut ends = ends.into_iter();
            let end = |at| match stay.remove(&at) {
                Some(hindrance) => Err(hindrance),
                None => ends.next().unwrap_or(Ok(None)),
            };
            return SetBack { ends: (0..cases.len()).map(end).collect(), extras, notices };
        }
        stay.extend(hindered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with what each of their changes gave (`-x`) or got (`+x`), as `1-x` in change set 1; then the groups.
    fn check(keys: &[(&str, &[&str])], expect: &[&[&str]]) {
        let (mut sets, mut planned) = (BTreeMap::<&str, (Vec<i64>, Vec<_>)>::new(), Vec::new());
        let mut id = 0;
        for (key, changes) in keys {
            let mut ids = Vec::new();
            for change in *changes {
                id += 1;
                ids.push(id);
                let (set, share) = change.split_at(1);
                let side = if share.starts_with('-') { Side::Gave } else { Side::Got };
                let (ids, shares) = sets.entry(set).or_default();
                ids.push(id);
                shares.push(vec![(share[1..].to_owned(), side)]);
            }
            planned.push(Planned { key: (*key).to_owned(), ids, other: None });
        }
        let mut moves = Moves::default();
        for (ids, shares) in sets.into_values() {
            gave_and_got(shares).for_each(|moved| moves.see(moved.into_iter().map(|at| ids[at]).collect()));
        }
        let groups = moves.into_groups(planned);
        let groups: Vec<Vec<String>> =
            groups.into_iter().map(|group| group.into_iter().map(|planned| planned.key).collect()).collect();
        assert_eq!(groups, expect, "{keys:?}");
    }

    #[test]
    fn what_gave_to_one_another_is_one_group() {
        check(&[("a", &["1-x"]), ("b", &["1+x"])], &[&["a", "b"]]);
        // Of nothing that moved between them is either the other half.
        check(&[("a", &["1-x"]), ("b", &["1-x"])], &[&["a"], &["b"]]);
        check(&[("a", &["1+x"]), ("b", &["1+x"])], &[&["a"], &["b"]]);
        check(&[("a", &["1-x"]), ("b", &["1+y"])], &[&["a"], &["b"]]);
        check(&[("a", &["1-x"]), ("b", &["2+x"])], &[&["a"], &["b"]]);
        check(&[("a", &[]), ("b", &["2+x"])], &[&["a"], &["b"]]);
    }

    #[test]
    fn groups_grow_over_change_sets_and_stand_where_their_first_stands() {
        let chain: &[(&str, &[&str])] =
            &[("a", &["1-x"]), ("b", &["2-x"]), ("c", &["2-x"]), ("d", &["2+x", "1+x"]), ("e", &["3+x"])];
        check(chain, &[&["a", "b", "c", "d"], &["e"]]);
        let late: &[(&str, &[&str])] = &[("a", &[]), ("b", &["1-x"]), ("c", &[]), ("d", &["1+x"])];
        check(late, &[&["a"], &["b", "d"], &["c"]]);
    }
}
