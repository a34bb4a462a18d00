//! The paths to the compared schemas: the shortest path to each pair, and the uses that reach it.
//!
//! A pair of schemas is compared once, regardless of how many operations use it. Each pair is a node of a
//! graph, and each step to it is an edge. The paths start at *bases*: parts of operations, such as `GET
//! /me/ships 200 body`, or named schemas. The subject of a change (its shortest path) and its uses (the bases
//! that reach it) are derived from the graph at the end.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
};

use super::ChangeLevel;

/// The start of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PathStart {
    /// A base such as `GET /me/ships 200 body`, by its index.
    Base(usize),
    /// A pair of schemas, by the index of its node.
    Node(usize),
}

/// An edge to a node or to a change, given by its start and its path segment, such as `/items/*/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathEdge {
    pub(super) from: PathStart,
    pub(super) path: String,
}

/// The graph of all edges that the comparison followed.
#[derive(Debug, Default)]
pub(super) struct PathGraph {
    /// The bases in the order of the contract.
    bases: Vec<String>,
    numbers: HashMap<String, usize>,
    /// The incoming edges of each node.
    nodes: Vec<BTreeSet<PathEdge>>,
}

impl PathGraph {
    /// Returns the index of the base with the given label. The base is added if it is new.
    pub(super) fn add_base(&mut self, label: &str) -> usize {
        if let Some(known) = self.numbers.get(label) {
            return *known;
        }
        self.bases.push(label.to_owned());
        self.numbers.insert(label.to_owned(), self.bases.len() - 1);
        self.bases.len() - 1
    }

    /// Returns the label of a base.
    pub(super) fn base_label(&self, base: usize) -> Option<&str> {
        self.bases.get(base).map(String::as_str)
    }

    /// Adds a node and returns its index.
    pub(super) fn add_node(&mut self) -> usize {
        self.nodes.push(BTreeSet::new());
        self.nodes.len() - 1
    }

    /// Adds an edge to a node.
    pub(super) fn add_edge(&mut self, to: usize, edge: PathEdge) {
        if let Some(edges) = self.nodes.get_mut(to) {
            edges.insert(edge);
        }
    }

    /// Returns the edges to a node.
    pub(super) fn edges_to(&self, node: usize) -> impl Iterator<Item = &PathEdge> {
        self.nodes.get(node).into_iter().flatten()
    }

    /// Returns the nodes at which the edges to a node start.
    pub(super) fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.nodes.get(node).into_iter().flatten().filter_map(|edge| match edge.from {
            PathStart::Node(above) => Some(above),
            PathStart::Base(_) => None,
        })
    }

    /// Computes the shortest path to each node and the bases that reach it.
    pub(super) fn resolve_paths(self) -> ResolvedPaths {
        let mut starts: Vec<Vec<PathStep>> = vec![Vec::new(); self.bases.len()];
        let mut steps: Vec<Vec<PathStep>> = vec![Vec::new(); self.nodes.len()];
        for (to, edges) in self.nodes.into_iter().enumerate() {
            for PathEdge { from, path } in edges {
                let list = match from {
                    PathStart::Base(base) => starts.get_mut(base),
                    PathStart::Node(node) => steps.get_mut(node),
                };
                if let Some(list) = list {
                    list.push(PathStep { to, path });
                }
            }
        }
        let parents = shortest_paths(&starts, &steps);
        let reached = reachable_bases(&starts, &steps);
        ResolvedPaths { bases: self.bases, parents, reached }
    }
}

/// An edge of the resolved graph, as its target node and its path segment.
#[derive(Clone, Debug)]
struct PathStep {
    to: usize,
    path: String,
}

/// The last edge of the shortest path to a node.
#[derive(Clone, Debug)]
struct PathParent {
    /// The number of steps of the path.
    length: usize,
    /// The index of the base at which the path starts.
    base: usize,
    edge: PathEdge,
}

fn path_length(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns the shortest path to each node (Dijkstra 1959). If several paths are equally short, the first one
/// in the order of the contract is returned.
fn shortest_paths(starts: &[Vec<PathStep>], steps: &[Vec<PathStep>]) -> Vec<Option<PathParent>> {
    let mut parents: Vec<Option<PathParent>> = vec![None; steps.len()];
    let mut open = BinaryHeap::new();
    for (base, list) in starts.iter().enumerate() {
        for step in list {
            open.push(Reverse((
                path_length(&step.path),
                base,
                step.to,
                PathStart::Base(base),
                step.path.as_str(),
            )));
        }
    }
    while let Some(Reverse((before, base, node, from, path))) = open.pop() {
        let Some(slot) = parents.get_mut(node).filter(|slot| slot.is_none()) else { continue };
        *slot = Some(PathParent { length: before, base, edge: PathEdge { from, path: path.to_owned() } });
        for step in steps.get(node).into_iter().flatten() {
            let length = before + path_length(&step.path);
            open.push(Reverse((length, base, step.to, PathStart::Node(node), step.path.as_str())));
        }
    }
    parents
}

/// Returns the bases that reach each node. All nodes of a strongly connected component share one set.
fn reachable_bases(starts: &[Vec<PathStep>], steps: &[Vec<PathStep>]) -> ReachableBases {
    let (component, count) = strongly_connected_components(steps);
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
    // Edges lead to smaller component numbers, so the targets are already complete.
    for (from, targets) in out.iter().enumerate().rev() {
        let Some(own_words) = sets.get(from).cloned() else { continue };
        for to in targets {
            for (word, own_words) in sets.get_mut(*to).into_iter().flatten().zip(&own_words) {
                *word |= own_words;
            }
        }
    }
    ReachableBases { component, sets }
}

/// Returns the number of the strongly connected component of each node, and the count of components (Tarjan
/// 1972, without recursion). An edge between two components always points to the smaller number.
fn strongly_connected_components(steps: &[Vec<PathStep>]) -> (Vec<usize>, usize) {
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

/// The bases that reach each node, as one bit set for each strongly connected component.
#[derive(Debug)]
struct ReachableBases {
    component: Vec<usize>,
    sets: Vec<Vec<u64>>,
}

/// The shortest path to each node, and the bases that reach it.
#[derive(Debug)]
pub(super) struct ResolvedPaths {
    bases: Vec<String>,
    parents: Vec<Option<PathParent>>,
    reached: ReachableBases,
}

impl ResolvedPaths {
    /// Returns the subject and the uses of a change. `edges` contains the edges to the change, each with the
    /// level of the change at this edge. The subject is the shortest path among those with the highest level.
    /// The uses are all bases that reach one of the edges, sorted.
    pub(super) fn describe_paths(&self, edges: &BTreeMap<PathEdge, ChangeLevel>) -> (String, Vec<String>) {
        let subject = self.worst_path(edges).map_or_else(String::new, |edge| self.full_path(edge));
        let mut uses: BTreeSet<&str> = BTreeSet::new();
        for edge in edges.keys() {
            match edge.from {
                PathStart::Base(base) => uses.extend(self.bases.get(base).map(String::as_str)),
                PathStart::Node(node) => uses.extend(self.bases_reaching(node)),
            }
        }
        (subject, uses.into_iter().map(str::to_owned).collect())
    }

    /// Returns the edge with the shortest path among the edges with the highest level.
    pub(super) fn worst_path<'w>(&self, edges: &'w BTreeMap<PathEdge, ChangeLevel>) -> Option<&'w PathEdge> {
        let worst = edges.values().max().copied().unwrap_or_default();
        let worst_paths = edges.iter().filter(|(_, level)| **level == worst).map(|(edge, _)| edge);
        let cost = |edge: &&PathEdge| match edge.from {
            PathStart::Base(base) => (path_length(&edge.path), base),
            PathStart::Node(node) => {
                let parent = self.parents.get(node).and_then(Option::as_ref);
                parent
                    .map_or((usize::MAX, 0), |parent| (parent.length + path_length(&edge.path), parent.base))
            }
        };
        worst_paths.min_by_key(cost)
    }

    /// Returns the full path of an edge, starting with its base.
    fn full_path(&self, edge: &PathEdge) -> String {
        let mut parts = vec![edge.path.as_str()];
        let mut from = edge.from;
        loop {
            match from {
                PathStart::Node(node) => {
                    let Some(parent) = self.parents.get(node).and_then(Option::as_ref) else { break };
                    parts.push(&parent.edge.path);
                    from = parent.edge.from;
                }
                PathStart::Base(base) => {
                    let path: String = parts.into_iter().rev().collect();
                    let base = self.bases.get(base).map_or("", String::as_str);
                    return if path.is_empty() { base.to_owned() } else { format!("{base} {path}") };
                }
            }
        }
        String::new()
    }

    fn bases_reaching(&self, node: usize) -> impl Iterator<Item = &str> {
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
    fn shortest_path_is_described_and_all_are_counted() {
        let mut graph = PathGraph::default();
        let (far, near) = (graph.add_base("GET /far 200 body"), graph.add_base("GET /near 200 body"));
        let (list, thing) = (graph.add_node(), graph.add_node());
        let edge = |from, path: &str| PathEdge { from, path: path.to_owned() };
        graph.add_edge(list, edge(PathStart::Base(far), "/a/b"));
        graph.add_edge(thing, edge(PathStart::Node(list), "/items"));
        // The edge back to the start adds no shorter path.
        graph.add_edge(list, edge(PathStart::Node(thing), "/list"));
        graph.add_edge(thing, edge(PathStart::Base(near), "/c"));
        let resolved = graph.resolve_paths();
        let describe = |node| {
            resolved
                .describe_paths(&BTreeMap::from([(edge(PathStart::Node(node), "/name"), ChangeLevel::Same)]))
        };
        let bases = vec!["GET /far 200 body".to_owned(), "GET /near 200 body".to_owned()];
        assert_eq!(describe(thing), ("GET /near 200 body /c/name".to_owned(), bases.clone()));
        assert_eq!(describe(list), ("GET /far 200 body /a/b/name".to_owned(), bases.clone()));
        // The level takes precedence over the length of the path.
        let short = (edge(PathStart::Base(near), "/n"), ChangeLevel::Additive);
        let long = (edge(PathStart::Base(far), "/x/y/n"), ChangeLevel::Breaking);
        let described = resolved.describe_paths(&BTreeMap::from([short, long]));
        assert_eq!(described, ("GET /far 200 body /x/y/n".to_owned(), bases));
    }
}
