//! By which ways the places of two contracts are reached: the shortest, and where all of them begin.
//!
//! A pair of schemas is compared once, however many operations reach it. Each pair is a node here,
//! each step to it an edge; what people read of a finding is told from them at the end.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
};

use super::Level;

/// Where a step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Start {
    /// `GET /me/ships 200 body`, by its number.
    Base(usize),
    /// A pair of schemas.
    Node(usize),
}

/// A step: `/items/*/name` from somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way {
    pub(super) from: Start,
    pub(super) path: String,
}

/// All steps that were taken.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// In the order of the contract.
    bases: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Per node: the steps that lead to it.
    nodes: Vec<BTreeSet<Way>>,
}

impl Ways {
    /// The number of what stands in front of a path.
    pub(super) fn base(&mut self, words: &str) -> usize {
        if let Some(known) = self.numbers.get(words) {
            return *known;
        }
        self.bases.push(words.to_owned());
        self.numbers.insert(words.to_owned(), self.bases.len() - 1);
        self.bases.len() - 1
    }

    /// A new node.
    pub(super) fn node(&mut self) -> usize {
        self.nodes.push(BTreeSet::new());
        self.nodes.len() - 1
    }

    /// One more step to a node.
    pub(super) fn step(&mut self, to: usize, way: Way) {
        if let Some(ways) = self.nodes.get_mut(to) {
            ways.insert(way);
        }
    }

    /// The nodes that steps to a node begin at.
    pub(super) fn above(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.nodes.get(node).into_iter().flatten().filter_map(|way| match way.from {
            Start::Node(above) => Some(above),
            Start::Base(_) => None,
        })
    }

    /// What all steps together amount to.
    pub(super) fn settle(self) -> Settled {
        let mut starts: Vec<Vec<Step>> = vec![Vec::new(); self.bases.len()];
        let mut steps: Vec<Vec<Step>> = vec![Vec::new(); self.nodes.len()];
        for (to, ways) in self.nodes.into_iter().enumerate() {
            for Way { from, path } in ways {
                let list = match from {
                    Start::Base(base) => starts.get_mut(base),
                    Start::Node(node) => steps.get_mut(node),
                };
                if let Some(list) = list {
                    list.push(Step { to, path });
                }
            }
        }
        let parents = shortest(&starts, &steps);
        let reached = reached(&starts, &steps);
        Settled { bases: self.bases, parents, reached }
    }
}

/// A step to a node.
#[derive(Clone, Debug)]
struct Step {
    to: usize,
    path: String,
}

/// The last step of the shortest way to a node.
#[derive(Clone, Debug)]
struct Parent {
    /// How many steps it is long.
    length: usize,
    base: usize,
    way: Way,
}

fn length(path: &str) -> usize {
    path.matches('/').count()
}

/// The shortest way to each node (Dijkstra 1959); of equals the first in the order of the contract.
fn shortest(starts: &[Vec<Step>], steps: &[Vec<Step>]) -> Vec<Option<Parent>> {
    let mut parents: Vec<Option<Parent>> = vec![None; steps.len()];
    let mut open = BinaryHeap::new();
    for (base, list) in starts.iter().enumerate() {
        for step in list {
            open.push(Reverse((length(&step.path), base, step.to, Start::Base(base), step.path.as_str())));
        }
    }
    while let Some(Reverse((before, base, node, from, path))) = open.pop() {
        let Some(slot) = parents.get_mut(node).filter(|slot| slot.is_none()) else { continue };
        *slot = Some(Parent { length: before, base, way: Way { from, path: path.to_owned() } });
        for step in steps.get(node).into_iter().flatten() {
            let length = before + length(&step.path);
            open.push(Reverse((length, base, step.to, Start::Node(node), step.path.as_str())));
        }
    }
    parents
}

/// Which bases reach each node: nodes that reach each other share a set, and sets are passed on once.
fn reached(starts: &[Vec<Step>], steps: &[Vec<Step>]) -> Reached {
    let (component, count) = components(steps);
    let of = |node: usize| component.get(node).copied().unwrap_or(0);
    let mut sets: Vec<Vec<u64>> = vec![vec![0; starts.len().div_ceil(64)]; count];
    for (base, list) in starts.iter().enumerate() {
        for step in list {
            if let Some(word) = sets.get_mut(of(step.to)).and_then(|set| set.get_mut(base / 64)) {
                *word |= 1 << (base % 64);
            }
        }
    }
    let mut out: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    for (from, list) in steps.iter().enumerate() {
        if let Some(targets) = out.get_mut(of(from)) {
            targets.extend(list.iter().map(|step| of(step.to)).filter(|to| *to != of(from)));
        }
    }
    // What is reached has a smaller number than what reaches it.
    for (from, targets) in out.iter().enumerate().rev() {
        let Some(own) = sets.get(from).cloned() else { continue };
        for to in targets {
            for (word, own) in sets.get_mut(*to).into_iter().flatten().zip(&own) {
                *word |= own;
            }
        }
    }
    Reached { component, sets }
}

/// The strongly connected component of each node, numbered so that steps lead to smaller numbers, and
/// how many there are (Tarjan 1972, without recursion).
fn components(steps: &[Vec<Step>]) -> (Vec<usize>, usize) {
    const NONE: usize = usize::MAX;
    let mut number = vec![NONE; steps.len()];
    let mut low = vec![NONE; steps.len()];
    let mut component = vec![NONE; steps.len()];
    let (mut next, mut count, mut stack) = (0, 0, Vec::new());
    for root in 0..steps.len() {
        if number[root] != NONE {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, at)) = path.pop() {
            if at == 0 {
                (number[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
            }
            match steps[node].get(at).map(|step| step.to) {
                Some(to) => {
                    path.push((node, at + 1));
                    if number[to] == NONE {
                        path.push((to, 0));
                    } else if component[to] == NONE {
                        low[node] = low[node].min(number[to]);
                    }
                }
                None => {
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == number[node] {
                        while let Some(member) = stack.pop() {
                            component[member] = count;
                            if member == node {
                                break;
                            }
                        }
                        count += 1;
                    }
                }
            }
        }
    }
    (component, count)
}

/// Which bases reach each node, as bits of a set for each component.
#[derive(Debug)]
struct Reached {
    component: Vec<usize>,
    sets: Vec<Vec<u64>>,
}

/// The ways to all nodes.
#[derive(Debug)]
pub(super) struct Settled {
    bases: Vec<String>,
    parents: Vec<Option<Parent>>,
    reached: Reached,
}

impl Settled {
    /// The shortest of the ways on which most is broken in words, and everything that all of them
    /// begin at, sorted.
    pub(super) fn words(&self, ways: &BTreeMap<Way, Level>) -> (String, Vec<String>) {
        let subject = self.named(ways).map_or_else(String::new, |way| self.whole(way));
        let mut uses: BTreeSet<&str> = BTreeSet::new();
        for way in ways.keys() {
            match way.from {
                Start::Base(base) => uses.extend(self.bases.get(base).map(String::as_str)),
                Start::Node(node) => uses.extend(self.reaching(node)),
            }
        }
        (subject, uses.into_iter().map(str::to_owned).collect())
    }

    /// The shortest of the ways on which most is broken.
    pub(super) fn named<'w>(&self, ways: &'w BTreeMap<Way, Level>) -> Option<&'w Way> {
        let worst = ways.values().max().copied().unwrap_or_default();
        let telling = ways.iter().filter(|(_, level)| **level == worst).map(|(way, _)| way);
        let cost = |way: &&Way| match way.from {
            Start::Base(base) => (length(&way.path), base),
            Start::Node(node) => {
                let parent = self.parents.get(node).and_then(Option::as_ref);
                parent.map_or((usize::MAX, 0), |parent| (parent.length + length(&way.path), parent.base))
            }
        };
        telling.min_by_key(cost)
    }

    /// A way from its base on.
    fn whole(&self, way: &Way) -> String {
        let mut parts = vec![way.path.as_str()];
        let mut from = way.from;
        loop {
            match from {
                Start::Node(node) => {
                    let Some(parent) = self.parents.get(node).and_then(Option::as_ref) else { break };
                    parts.push(&parent.way.path);
                    from = parent.way.from;
                }
                Start::Base(base) => {
                    let path: String = parts.into_iter().rev().collect();
                    let base = self.bases.get(base).map_or("", String::as_str);
                    return if path.is_empty() { base.to_owned() } else { format!("{base} {path}") };
                }
            }
        }
        String::new()
    }

    fn reaching(&self, node: usize) -> impl Iterator<Item = &str> {
        let set = self.reached.component.get(node).and_then(|component| self.reached.sets.get(*component));
        let has = move |at: usize| {
            set.and_then(|set| set.get(at / 64)).is_some_and(|word| word >> (at % 64) & 1 == 1)
        };
        self.bases.iter().enumerate().filter(move |(at, _)| has(*at)).map(|(_, base)| base.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_named_and_all_are_counted() {
        let mut ways = Ways::default();
        let (far, near) = (ways.base("GET /far 200 body"), ways.base("GET /near 200 body"));
        let (list, thing) = (ways.node(), ways.node());
        let way = |from, path: &str| Way { from, path: path.to_owned() };
        ways.step(list, way(Start::Base(far), "/a/b"));
        ways.step(thing, way(Start::Node(list), "/items"));
        // Back to the beginning, which is no way to anything new.
        ways.step(list, way(Start::Node(thing), "/list"));
        ways.step(thing, way(Start::Base(near), "/c"));
        let settled = ways.settle();
        let found = |node| settled.words(&BTreeMap::from([(way(Start::Node(node), "/name"), Level::Same)]));
        let both = vec!["GET /far 200 body".to_owned(), "GET /near 200 body".to_owned()];
        assert_eq!(found(thing), ("GET /near 200 body /c/name".to_owned(), both.clone()));
        assert_eq!(found(list), ("GET /far 200 body /a/b/name".to_owned(), both.clone()));
        // Where somebody breaks comes before what is short.
        let short = (way(Start::Base(near), "/n"), Level::Additive);
        let worse = (way(Start::Base(far), "/x/y/n"), Level::Breaking);
        let broken = settled.words(&BTreeMap::from([short, worse]));
        assert_eq!(broken, ("GET /far 200 body /x/y/n".to_owned(), both));
    }
}
