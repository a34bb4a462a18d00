//! Splits ops into batches.

use std::{cmp::Ordering, collections::HashMap, fmt, ops::RangeInclusive};

use exchange_api::types::OpId;

use super::{Lane, op::ChangeOp};

/// The maximum size in bytes of a response that rejects all ops: the exchange stores 32 KiB under a key
/// (LIM-22), and the response may also contain fifty warnings.
const MAX_RESPONSE_BYTES: usize = 26 * 1024;

/// The maximum size in bytes of an op's result without its id: index, result and reason.
const RESULT_BYTES: usize = 90;

/// The capacity of a batch.
struct BatchCapacity {
    ops: usize,
    /// The size of each op's result in bytes. `None` for areas in which the client can replace a lost
    /// response by reading the feed, because setting an amount is idempotent.
    result_sizes: Option<Vec<usize>>,
}

impl BatchCapacity {
    fn for_ops<O: ChangeOp>(ops: &[O], max_ops: usize) -> Self {
        let id = |op: &O| op.id().and_then(|id| serde_json::to_string(id).ok()).map_or(0, |id| id.len());
        let result_sizes =
            (O::LANE == Lane::OrgStock).then(|| ops.iter().map(|op| RESULT_BYTES + id(op)).collect());
        Self { ops: max_ops, result_sizes }
    }

    fn fits(&self, mut places: impl ExactSizeIterator<Item = usize>) -> bool {
        let Some(sizes) = &self.result_sizes else { return places.len() <= self.ops };
        places.len() <= self.ops
            && places.try_fold(MAX_RESPONSE_BYTES, |left, at| left.checked_sub(sizes[at])).is_some()
    }
}

/// The reason ops do not fit into batches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitError {
    /// A group of this many tied ops exceeds the limit.
    Group(usize),
    /// The ops in this range (inclusive) cannot be cut without separating tied ops or changing their order.
    /// The flag is true if the number of ops is within the limit and only their results are too large.
    Stretch(RangeInclusive<usize>, bool),
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(ops) => write!(
                f,
                "{ops} ops that must stay together exceed the size of a batch: send them as several changes, one after the other"
            ),
            Self::Stretch(ops, fits) => {
                let (first, last) = (ops.start() + 1, ops.end() + 1);
                let (problem, remedy) = match fits {
                    false => ("exceed the size of a batch", "put ops on the same entry next to each other"),
                    true => ("have a larger response than the exchange stores", "give them shorter ids"),
                };
                write!(
                    f,
                    "the ops from number {first} to {last} must stay together, but {problem}: {remedy}, or send them as several changes, one after the other"
                )
            }
        }
    }
}

/// Splits the ops into batches of at most `max_ops` ops and returns the indexes of each batch's ops. Fails
/// with the ops that do not fit into a batch.
///
/// Ops are tied if they change the same thing or the caller tied them. Stock ops of one material are tied
/// only if some decrease and others increase it: they form a move, and its decrease without the increase
/// would count as a removal (STK-20).
pub(super) fn split_ops<O: ChangeOp>(
    ops: &[O],
    together: &[Vec<OpId>],
    max_ops: usize,
) -> Result<Vec<Vec<usize>>, SplitError> {
    let capacity = BatchCapacity::for_ops(ops, max_ops);
    if capacity.fits(0..ops.len()) {
        return Ok(vec![(0..ops.len()).collect()]);
    }
    let groups = group_ops(ops, together);
    match cut_in_order(&groups, &capacity) {
        Err(_) if O::INDEPENDENT => match groups.group_sizes().into_iter().max() {
            Some(largest) if largest > max_ops => Err(SplitError::Group(largest)),
            _ => Ok(gather_groups(&groups, max_ops)),
        },
        parts => parts,
    }
}

/// The group of each op, identified by the index of the group's first op.
struct OpGroups(Vec<usize>);

impl OpGroups {
    fn group_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.0.len()];
        for group in &self.0 {
            sizes[*group] += 1;
        }
        sizes
    }
}

fn group_ops<O: ChangeOp>(ops: &[O], together: &[Vec<OpId>]) -> OpGroups {
    let mut sets = DisjointSets((0..ops.len()).collect());
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, op) in ops.iter().enumerate() {
        for name in op.subject_names() {
            sets.union(*first.entry(name).or_insert(at), at);
        }
    }
    // Ops that all increase or all decrease the stock need not be in one batch.
    let mut directions: HashMap<usize, (bool, bool)> = HashMap::new();
    for (at, op) in ops.iter().enumerate() {
        let seen = directions.entry(sets.find_root(at)).or_default();
        match op.stock_direction() {
            Some(Ordering::Less) => seen.0 = true,
            Some(Ordering::Greater) => seen.1 = true,
            Some(Ordering::Equal) => {}
            None => *seen = (true, true),
        }
    }
    let mut tied = DisjointSets((0..ops.len()).collect());
    for at in 0..ops.len() {
        let group = sets.find_root(at);
        if directions.get(&group) == Some(&(true, true)) {
            tied.union(group, at);
        }
    }
    let places: HashMap<&OpId, usize> =
        ops.iter().enumerate().filter_map(|(at, op)| Some((op.id()?, at))).collect();
    for ids in together {
        let mut places = ids.iter().filter_map(|id| places.get(id).copied());
        if let Some(first) = places.next() {
            places.for_each(|other| tied.union(first, other));
        }
    }
    OpGroups((0..ops.len()).map(|at| tied.find_root(at)).collect())
}

/// Splits the ops without reordering them. Each batch ends as late as possible, at a position that separates
/// no group.
fn cut_in_order(
    OpGroups(groups): &OpGroups,
    capacity: &BatchCapacity,
) -> Result<Vec<Vec<usize>>, SplitError> {
    let mut last = vec![0; groups.len()];
    for (at, group) in groups.iter().enumerate() {
        last[*group] = at;
    }
    let mut reach = 0;
    let may_end = |(at, group): (usize, &usize)| {
        reach = reach.max(last[*group]);
        reach == at
    };
    let may_end: Vec<bool> = groups.iter().enumerate().map(may_end).collect();
    let mut parts = Vec::new();
    let mut begin = 0;
    while begin < groups.len() {
        let furthest = groups.len().min(begin + capacity.ops);
        let cut = (begin + 1..=furthest).rev().find(|end| may_end[end - 1] && capacity.fits(begin..*end));
        let end = cut.ok_or_else(|| {
            let last = (begin..groups.len()).find(|at| may_end[*at]).unwrap_or(groups.len() - 1);
            SplitError::Stretch(begin..=last, last - begin < capacity.ops)
        })?;
        parts.push((begin..end).collect());
        begin = end;
    }
    Ok(parts)
}

/// Moves each group as a whole to the position of its first op, then fills batches of at most `max_ops` ops.
fn gather_groups(OpGroups(groups): &OpGroups, max_ops: usize) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    for (index, group) in groups.iter().enumerate() {
        members[*group].push(index);
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for group in members.into_iter().filter(|group| !group.is_empty()) {
        match parts.last_mut() {
            Some(part) if part.len() + group.len() <= max_ops => part.extend(group),
            _ => parts.push(group),
        }
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    parts
}

/// Disjoint sets of indexes, each represented by its smallest index.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn find_root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        self.0[one.max(other)] = one.min(other);
    }
}
