//! An append-only arena of lists, so that structures with borrowed parts can be built at run time.
//!
//! The entry point is [`ListArena::alloc`]: it stores a list and returns a reference that lives as long as
//! the arena.

use std::{
    cell::{Cell, OnceCell},
    iter,
};

type ListSlot<T> = OnceCell<Box<[T]>>;

/// A block of [`ListSlot`]s, allocated on first use.
type ListChunk<T> = OnceCell<Box<[ListSlot<T>]>>;

/// An append-only arena that lends lists for its own lifetime.
///
/// Invariant: chunk `n` holds 2ⁿ lists, so that a stored list never moves.
#[derive(Debug)]
pub struct ListArena<T> {
    chunks: Box<[ListChunk<T>]>,
    count: Cell<usize>,
}

impl<T> Default for ListArena<T> {
    fn default() -> Self {
        // Boxed: inline arrays for many arenas in one struct would expand to thousands of stores, which slows
        // down compilation.
        let chunks = iter::repeat_with(OnceCell::new).take(usize::BITS as usize).collect();
        Self { chunks, count: Cell::new(0) }
    }
}

impl<T> ListArena<T> {
    /// Stores a list and returns a reference to it. An empty list takes no slot.
    pub fn alloc(&self, list: Vec<T>) -> &[T] {
        if list.is_empty() {
            return &[];
        }
        let number = self.count.get() + 1;
        self.count.set(number);
        let level = number.ilog2();
        let size = 1 << level;
        let chunk = self.chunks[level as usize].get_or_init(|| (0..size).map(|_| ListSlot::new()).collect());
        chunk[number - size].get_or_init(|| list.into())
    }

    /// Stores a single value and returns a reference to it.
    pub fn alloc_one(&self, value: T) -> &T {
        &self.alloc(vec![value])[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_lists_do_not_move() {
        let arena = ListArena::default();
        let count: Vec<&[String]> =
            (0..100).map(|n| arena.alloc((0..n % 3).map(|index| format!("{n}.{index}")).collect())).collect();
        for (n, list) in count.into_iter().enumerate() {
            assert_eq!(list, (0..n % 3).map(|index| format!("{n}.{index}")).collect::<Vec<_>>());
        }
        assert_eq!(arena.alloc_one("one".to_owned()), "one");
    }

    /// Stored values may borrow from the arena itself, as the parts of a table do.
    #[test]
    fn lists_may_borrow_from_the_same_arena() {
        enum Tree<'t> {
            Leaf(String),
            Branch(&'t [Tree<'t>]),
        }
        fn leaves(tree: &Tree<'_>) -> usize {
            match tree {
                Tree::Leaf(text) => text.len(),
                Tree::Branch(inner) => inner.iter().map(leaves).sum(),
            }
        }
        let arena = ListArena::default();
        let inner = arena.alloc(vec![Tree::Leaf("a".to_owned()), Tree::Leaf("b".to_owned())]);
        let outer = arena.alloc_one(Tree::Branch(inner));
        assert_eq!(leaves(outer), 2);
    }
}
