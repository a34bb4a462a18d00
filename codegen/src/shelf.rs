//! Keeps lists for as long as somebody borrows them, so that data with borrowed parts can be built
//! at run time: [`Shelf::keep`] takes a list and lends it, without a second owner and without a leak.

use std::{
    cell::{Cell, OnceCell},
    iter,
};

/// One place for a list.
type Place<T> = OnceCell<Box<[T]>>;

/// Places for lists, made when the first of them is needed.
type Board<T> = OnceCell<Box<[Place<T>]>>;

/// Lists that are lent as long as the shelf is there.
///
/// Boards hold 1, 2, 4, … lists, so that a list never moves once it is kept.
#[derive(Debug)]
pub struct Shelf<T> {
    boards: Box<[Board<T>]>,
    kept: Cell<usize>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        // On the heap: many shelves in one place would be some thousand stores, one after the other, which took
        // the compiler longer than any other code here.
        let boards = iter::repeat_with(OnceCell::new).take(usize::BITS as usize).collect();
        Self { boards, kept: Cell::new(0) }
    }
}

impl<T> Shelf<T> {
    /// Takes a list and lends it.
    pub fn keep(&self, list: Vec<T>) -> &[T] {
        if list.is_empty() {
            return &[];
        }
        let number = self.kept.get() + 1;
        self.kept.set(number);
        let level = number.ilog2();
        let size = 1 << level;
        let board = self.boards[level as usize].get_or_init(|| (0..size).map(|_| Place::new()).collect());
        board[number - size].get_or_init(|| list.into())
    }

    /// The same for a single value.
    pub fn keep_one(&self, value: T) -> &T {
        &self.keep(vec![value])[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_where_they_are() {
        let shelf = Shelf::default();
        let kept: Vec<&[String]> =
            (0..100).map(|n| shelf.keep((0..n % 3).map(|at| format!("{n}.{at}")).collect())).collect();
        for (n, list) in kept.into_iter().enumerate() {
            assert_eq!(list, (0..n % 3).map(|at| format!("{n}.{at}")).collect::<Vec<_>>());
        }
        assert_eq!(shelf.keep_one("one".to_owned()), "one");
    }

    /// What is kept may borrow from the shelf itself, as the parts of a table do.
    #[test]
    fn lists_hold_lists_of_the_same_shelf() {
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
        let shelf = Shelf::default();
        let inner = shelf.keep(vec![Tree::Leaf("a".to_owned()), Tree::Leaf("b".to_owned())]);
        let outer = shelf.keep_one(Tree::Branch(inner));
        assert_eq!(leaves(outer), 2);
    }
}
