//! Which ops go into which batch.

use std::{cmp::Ordering, collections::HashMap, fmt, ops::RangeInclusive};

use exchange_api::types::OpId;

use super::{Lane, op::Op};

/// How long an answer may be that refuses every op, in bytes: the exchange keeps 32 KiB under a key (LIM-22), and
/// fifty warnings may stand beside the results.
const ANSWER: usize = 26 * 1024;

/// The longest result of an op but for its id: with place, result and reason.
const RESULT: usize = 90;

/// What a batch has room for.
struct Room {
    ops: usize,
    /// The length of each op's result, and of all; nothing where an answer that is lost may be asked for by the
    /// feed, since to set an amount twice is to set it once.
    answer: Option<Vec<usize>>,
}

impl Room {
    fn of<O: Op>(ops: &[O], most: usize) -> Self {
        let id = |op: &O| op.id().and_then(|id| serde_json::to_string(id).ok()).map_or(0, |id| id.len());
        let answer = (O::LANE == Lane::OrgStock).then(|| ops.iter().map(|op| RESULT + id(op)).collect());
        Self { ops: most, answer }
    }

    fn holds(&self, mut places: impl ExactSizeIterator<Item = usize>) -> bool {
        let Some(lengths) = &self.answer else { return places.len() <= self.ops };
        places.len() <= self.ops
            && places.try_fold(ANSWER, |left, at| left.checked_sub(lengths[at])).is_some()
    }
}

/// Why ops fit no batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// So many ops belong together.
    Group(usize),
    /// Between these ops, both included, there is no place where a cut leaves all together that belongs together and in
    /// order; by their number alone they would fit where the second says so.
    Stretch(RangeInclusive<usize>, bool),
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(ops) => write!(
                f,
                "{ops} ops are about the same things and belong together, which is more than a batch holds: \
                 make several changes of them, one after the other"
            ),
            Self::Stretch(ops, fits) => {
                let (first, last) = (ops.start() + 1, ops.end() + 1);
                let (what, mend) = match fits {
                    false => ("are more than a batch holds", "let ops about one thing follow one another"),
                    true => ("have a longer answer than the exchange keeps", "give them shorter ids"),
                };
                write!(
                    f,
                    "the ops from number {first} to {last} cannot be sent apart and {what}: {mend}, or make \
                     several changes of them, one after the other"
                )
            }
        }
    }
}

/// Places of ops, batch by batch, each of at most so many; else which ops are too many.
///
/// Ops belong together when they are about the same thing, or when somebody says so. Stock of one material
/// does so only when it falls here and rises there: that is a move, and its fall alone would count as a
/// removal (STK-20).
pub(super) fn split<O: Op>(
    ops: &[O],
    together: &[Vec<OpId>],
    most: usize,
) -> Result<Vec<Vec<usize>>, TooMuch> {
    let room = Room::of(ops, most);
    if room.holds(0..ops.len()) {
        return Ok(vec![(0..ops.len()).collect()]);
    }
    let groups = groups(ops, together);
    match in_order(&groups, &room) {
        Err(_) if O::INDEPENDENT => match groups.sizes().into_iter().max() {
            Some(largest) if largest > most => Err(TooMuch::Group(largest)),
            _ => Ok(gathered(&groups, most)),
        },
        parts => parts,
    }
}

/// Which ops belong together: for each its group, by the place of the group's first op.
struct Groups(Vec<usize>);

impl Groups {
    fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.0.len()];
        for group in &self.0 {
            sizes[*group] += 1;
        }
        sizes
    }
}

fn groups<O: Op>(ops: &[O], together: &[Vec<OpId>]) -> Groups {
    let mut sets = Sets((0..ops.len()).collect());
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, op) in ops.iter().enumerate() {
        for name in op.names() {
            sets.join(*first.entry(name).or_insert(at), at);
        }
    }
    // What only rises or only falls needs nothing else.
    let mut directions: HashMap<usize, (bool, bool)> = HashMap::new();
    for (at, op) in ops.iter().enumerate() {
        let seen = directions.entry(sets.of(at)).or_default();
        match op.direction() {
            Some(Ordering::Less) => seen.0 = true,
            Some(Ordering::Greater) => seen.1 = true,
            Some(Ordering::Equal) => {}
            None => *seen = (true, true),
        }
    }
    let mut tied = Sets((0..ops.len()).collect());
    for at in 0..ops.len() {
        let group = sets.of(at);
        if directions.get(&group) == Some(&(true, true)) {
            tied.join(group, at);
        }
    }
    let places: HashMap<&OpId, usize> =
        ops.iter().enumerate().filter_map(|(at, op)| Some((op.id()?, at))).collect();
    for ids in together {
        let mut places = ids.iter().filter_map(|id| places.get(id).copied());
        if let Some(first) = places.next() {
            places.for_each(|other| tied.join(first, other));
        }
    }
    Groups((0..ops.len()).map(|at| tied.of(at)).collect())
}

/// Cuts between ops, wherever no group stands on both sides, each as late as can be.
fn in_order(Groups(groups): &Groups, room: &Room) -> Result<Vec<Vec<usize>>, TooMuch> {
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
        let furthest = groups.len().min(begin + room.ops);
        let cut = (begin + 1..=furthest).rev().find(|end| may_end[end - 1] && room.holds(begin..*end));
        let end = cut.ok_or_else(|| {
            let last = (begin..groups.len()).find(|at| may_end[*at]).unwrap_or(groups.len() - 1);
            TooMuch::Stretch(begin..=last, last - begin < room.ops)
        })?;
        parts.push((begin..end).collect());
        begin = end;
    }
    Ok(parts)
}

/// Each group whole, where its first op stands.
fn gathered(Groups(groups): &Groups, most: usize) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    for (at, group) in groups.iter().enumerate() {
        members[*group].push(at);
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for group in members.into_iter().filter(|group| !group.is_empty()) {
        match parts.last_mut() {
            Some(part) if part.len() + group.len() <= most => part.extend(group),
            _ => parts.push(group),
        }
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    parts
}

/// Disjoint sets of places, each known by its first.
struct Sets(Vec<usize>);

impl Sets {
    fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}
