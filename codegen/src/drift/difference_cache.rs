//! A cache for the results of nested comparisons.
//!
//! A comparison often has to find out whether two schemas differ, mainly to match branches, and schemas may
//! be recursive. Each pair is compared once. If a pair is reached again while its comparison is still in
//! progress, it counts as equal. A result that depends on this assumption is provisional. It is discarded if
//! the pair turns out to differ. It becomes final when it no longer depends on a comparison in progress. This
//! is Tarjan's algorithm for strongly connected components (1972).

use std::{collections::HashMap, hash::Hash};

/// The results of nested comparisons with keys of one type; `true` means that there is a difference.
#[derive(Debug)]
pub(super) struct DifferenceCache<K> {
    results: HashMap<K, CachedDifference>,
    /// The comparisons in progress, outermost first.
    open_comparisons: Vec<OpenComparison>,
    /// The keys of pairs that count as equal only as long as no comparison in progress finds a difference.
    provisional: Vec<K>,
}

#[derive(Clone, Copy, Debug)]
enum CachedDifference {
    Final(bool),
    /// The pair is equal, unless the comparison in progress with this index finds a difference.
    Provisional(usize),
}

#[derive(Debug)]
struct OpenComparison {
    /// The index of the outermost comparison in progress on which the result depends.
    outermost_dependency: usize,
    /// The length of `provisional` when this comparison began.
    provisional_before: usize,
}

impl<K> Default for DifferenceCache<K> {
    fn default() -> Self {
        Self { results: HashMap::new(), open_comparisons: Vec::new(), provisional: Vec::new() }
    }
}

impl<K: Hash + Eq + Clone> DifferenceCache<K> {
    /// Returns the cached result of a pair. If there is none, returns `None` and starts a comparison that the
    /// caller has to end with [`DifferenceCache::finish_comparison`]. Comparisons that are started in between
    /// are nested in it.
    pub(super) fn begin_comparison(&mut self, key: &K) -> Option<bool> {
        match self.results.get(key) {
            Some(CachedDifference::Final(differ)) => Some(*differ),
            Some(CachedDifference::Provisional(open)) => {
                self.depend_on(*open);
                Some(false)
            }
            None => {
                let number = self.open_comparisons.len();
                self.results.insert(key.clone(), CachedDifference::Provisional(number));
                self.open_comparisons.push(OpenComparison {
                    outermost_dependency: number,
                    provisional_before: self.provisional.len(),
                });
                None
            }
        }
    }

    /// Stores the result of the comparison that was started last, and ends this comparison.
    pub(super) fn finish_comparison(&mut self, key: K, differ: bool) {
        let Some(OpenComparison { outermost_dependency: outermost, provisional_before: unsettled }) =
            self.open_comparisons.pop()
        else {
            return;
        };
        let settled = differ || outermost >= self.open_comparisons.len();
        if settled {
            for below in self.provisional.drain(unsettled..) {
                if differ {
                    self.results.remove(&below);
                } else {
                    self.results.insert(below, CachedDifference::Final(false));
                }
            }
            self.results.insert(key, CachedDifference::Final(differ));
        } else {
            self.results.insert(key.clone(), CachedDifference::Provisional(outermost));
            self.provisional.push(key);
            self.depend_on(outermost);
        }
    }

    fn depend_on(&mut self, open: usize) {
        if let Some(last) = self.open_comparisons.last_mut() {
            last.outermost_dependency = last.outermost_dependency.min(open);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A graph for tests. A node counts as different if it is marked as different or has a path to a node
    /// that is marked as different.
    struct DifferenceGraph {
        /// For each node, whether it is marked as different, and its successors.
        nodes: BTreeMap<u32, (bool, Vec<u32>)>,
        cache: DifferenceCache<u32>,
        /// The number of comparisons that were made because the cache contained no result.
        comparisons: usize,
    }

    impl DifferenceGraph {
        fn differs(&mut self, node: u32) -> bool {
            if let Some(result) = self.cache.begin_comparison(&node) {
                return result;
            }
            self.comparisons += 1;
            let (is_different, next) = self.nodes.get(&node).cloned().unwrap_or_default();
            let differ = is_different || next.iter().any(|next| self.differs(*next));
            self.cache.finish_comparison(node, differ);
            differ
        }

        /// Computes the expected result by walking the graph.
        fn differs_by_walk(&self, node: u32) -> bool {
            let (mut seen, mut todo) = (vec![node], vec![node]);
            while let Some((is_different, next)) = todo.pop().and_then(|node| self.nodes.get(&node)) {
                if *is_different {
                    return true;
                }
                for next in next {
                    if !seen.contains(next) {
                        seen.push(*next);
                        todo.push(*next);
                    }
                }
            }
            false
        }
    }

    fn difference_graph(nodes: impl IntoIterator<Item = (u32, (bool, Vec<u32>))>) -> DifferenceGraph {
        DifferenceGraph {
            nodes: nodes.into_iter().collect(),
            cache: DifferenceCache::default(),
            comparisons: 0,
        }
    }

    #[test]
    fn cycles_are_equal_unless_a_node_differs() {
        // The edges are 0 → 1 → 2 → 0 and 0 → 3, and 3 differs. Nodes 1 and 2 are equal only if 0 is assumed
        // to be equal.
        let mut cache = difference_graph([
            (0, (false, vec![1, 3])),
            (1, (false, vec![2])),
            (2, (false, vec![0])),
            (3, (true, vec![])),
        ]);
        assert!(cache.differs(0));
        assert!(cache.differs(2) && cache.differs(1));
        let mut equal =
            difference_graph([(0, (false, vec![1])), (1, (false, vec![0, 2])), (2, (false, vec![]))]);
        assert!(!equal.differs(0));
        assert_eq!(equal.comparisons, 3);
        assert!(!equal.differs(1) && !equal.differs(2));
        assert_eq!(equal.comparisons, 3, "cached nodes must not be compared again");
    }

    /// In every graph of four nodes, the cached result of each node equals the result of a walk.
    #[test]
    fn cached_results_match_a_graph_walk() {
        for edges in 0_u32..1 << 16 {
            // One node differs. By symmetry, it does not matter which one.
            let next = |node: u32| (0..4).filter(|to| edges >> (node * 4 + to) & 1 == 1).collect();
            let mut cache = difference_graph((0..4).map(|node| (node, (node == 3, next(node)))));
            for node in 0..4 {
                assert_eq!(cache.differs(node), cache.differs_by_walk(node), "edges {edges:b}, node {node}");
            }
        }
    }

    #[test]
    fn long_chains_are_compared_only_once() {
        let last = 1_000;
        let mut cache = difference_graph((0..=last).map(|node| (node, (node == last, vec![node + 1]))));
        for node in 0..=last {
            assert!(cache.differs(node));
        }
        assert_eq!(cache.comparisons, 1_001);
        let mut equal = difference_graph((0..last).map(|node| (node, (false, vec![(node + 1) % last]))));
        for node in 0..last {
            assert!(!equal.differs(node));
        }
        assert_eq!(equal.comparisons, 1_000);
    }
}
