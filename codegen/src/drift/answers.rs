//! What was asked about pairs of schemas while they were compared, and answered.
//!
//! Whether two schemas differ is asked over and over, of branches above all, and schemas hold
//! themselves: each pair is looked at once, however many questions lead to it. A pair that is being
//! looked at counts as equal where it comes up again; what is equal only for that reason is
//! forgotten when the pair turns out not to be, and is an answer for good once nothing that is still
//! open stands behind it (the strongly connected components of Tarjan 1972).

use std::{collections::HashMap, hash::Hash};

/// Answers to questions of one kind of key; `true` is a difference.
#[derive(Debug)]
pub(super) struct Answers<K> {
    known: HashMap<K, Answer>,
    /// Those that are being looked for.
    open: Vec<Open>,
    /// Those without a difference as long as something open has none.
    unsettled: Vec<K>,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Settled(bool),
    /// No difference, unless the open question of this number finds one.
    Unless(usize),
}

#[derive(Debug)]
struct Open {
    /// The number of the outermost open question that it was answered with.
    outermost: usize,
    /// How many were unsettled before it.
    unsettled: usize,
}

impl<K> Default for Answers<K> {
    fn default() -> Self {
        Self { known: HashMap::new(), open: Vec::new(), unsettled: Vec::new() }
    }
}

impl<K: Hash + Eq + Clone> Answers<K> {
    /// The answer, if there is one; where there is none, the question is open until
    /// [`Answers::end`], and all that is asked in between belongs to it.
    pub(super) fn begin(&mut self, key: &K) -> Option<bool> {
        match self.known.get(key) {
            Some(Answer::Settled(differ)) => Some(*differ),
            Some(Answer::Unless(open)) => {
                self.stands_on(*open);
                Some(false)
            }
            None => {
                let number = self.open.len();
                self.known.insert(key.clone(), Answer::Unless(number));
                self.open.push(Open { outermost: number, unsettled: self.unsettled.len() });
                None
            }
        }
    }

    /// Answers the question that was begun last.
    pub(super) fn end(&mut self, key: K, differ: bool) {
        let Some(Open { outermost, unsettled }) = self.open.pop() else { return };
        let settled = differ || outermost >= self.open.len();
        if settled {
            for below in self.unsettled.drain(unsettled..) {
                if differ {
                    self.known.remove(&below);
                } else {
                    self.known.insert(below, Answer::Settled(false));
                }
            }
            self.known.insert(key, Answer::Settled(differ));
        } else {
            self.known.insert(key.clone(), Answer::Unless(outermost));
            self.unsettled.push(key);
            self.stands_on(outermost);
        }
    }

    fn stands_on(&mut self, open: usize) {
        if let Some(last) = self.open.last_mut() {
            last.outermost = last.outermost.min(open);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Which nodes lead to a difference, asked one after the other.
    struct Asked {
        /// Per node: whether it differs itself, and where it leads.
        nodes: BTreeMap<u32, (bool, Vec<u32>)>,
        answers: Answers<u32>,
        looks: usize,
    }

    impl Asked {
        fn ask(&mut self, node: u32) -> bool {
            if let Some(known) = self.answers.begin(&node) {
                return known;
            }
            self.looks += 1;
            let (own, next) = self.nodes.get(&node).cloned().unwrap_or_default();
            let differ = own || next.iter().any(|next| self.ask(*next));
            self.answers.end(node, differ);
            differ
        }

        /// The same, found out by walking.
        fn walked(&self, node: u32) -> bool {
            let (mut seen, mut todo) = (vec![node], vec![node]);
            while let Some((own, next)) = todo.pop().and_then(|at| self.nodes.get(&at)) {
                if *own {
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

    fn of(nodes: impl IntoIterator<Item = (u32, (bool, Vec<u32>))>) -> Asked {
        Asked { nodes: nodes.into_iter().collect(), answers: Answers::default(), looks: 0 }
    }

    #[test]
    fn a_circle_is_equal_until_one_of_it_differs() {
        // 0 → 1 → 2 → 0, and 0 → 3, which differs: 1 and 2 were equal only as long as 0 was.
        let mut asked =
            of([(0, (false, vec![1, 3])), (1, (false, vec![2])), (2, (false, vec![0])), (3, (true, vec![]))]);
        assert!(asked.ask(0));
        assert!(asked.ask(2) && asked.ask(1));
        let mut equal = of([(0, (false, vec![1])), (1, (false, vec![0, 2])), (2, (false, vec![]))]);
        assert!(!equal.ask(0));
        assert_eq!(equal.looks, 3);
        assert!(!equal.ask(1) && !equal.ask(2));
        assert_eq!(equal.looks, 3, "what a question settled is looked at no more");
    }

    /// Every graph of four nodes, each asked from each node on.
    #[test]
    fn answers_are_those_of_a_walk() {
        for edges in 0_u32..1 << 16 {
            // One node differs; which one makes no difference to all graphs together.
            let next = |node: u32| (0..4).filter(|to| edges >> (node * 4 + to) & 1 == 1).collect();
            let mut asked = of((0..4).map(|node| (node, (node == 3, next(node)))));
            for node in 0..4 {
                assert_eq!(asked.ask(node), asked.walked(node), "edges {edges:b}, node {node}");
            }
        }
    }

    #[test]
    fn a_long_way_is_walked_once_however_often_it_is_asked() {
        let last = 1_000;
        let mut asked = of((0..=last).map(|at| (at, (at == last, vec![at + 1]))));
        for at in 0..=last {
            assert!(asked.ask(at));
        }
        assert_eq!(asked.looks, 1_001);
        let mut equal = of((0..last).map(|at| (at, (false, vec![(at + 1) % last]))));
        for at in 0..last {
            assert!(!equal.ask(at));
        }
        assert_eq!(equal.looks, 1_000);
    }
}
