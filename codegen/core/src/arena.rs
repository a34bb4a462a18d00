//! An arena with typed ids.
//!
//! Only [`Arena`] creates an [`Id`], so a plain number cannot be used as an id. An id carries its element
//! type but not its arena: using it with another arena of the same type is a logic error.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// The id of an element of an [`Arena`].
pub struct Id<T> {
    index: u32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    const fn from_index(index: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "documents are smaller than 4 GiB")]
        Self { index: index as u32, marker: PhantomData }
    }

    /// Returns the index of the element in its arena, for serialization.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

/// Returns the id of the first element, as a placeholder for values that are set later.
impl<T> Default for Id<T> {
    fn default() -> Self {
        Self::from_index(0)
    }
}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index)
    }
}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.cmp(&other.index)
    }
}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

/// A vector with typed ids for its elements.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    members: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { members: Vec::new() }
    }
}

impl<T> Arena<T> {
    pub fn push(&mut self, member: T) -> Id<T> {
        self.members.push(member);
        Id::from_index(self.members.len() - 1)
    }

    /// Returns the first `count` ids of any arena, for elements that refer to each other before they are
    /// added.
    pub(crate) fn first_ids(count: usize) -> impl Iterator<Item = Id<T>> {
        (0..count).map(Id::from_index)
    }

    /// Returns the id of the element at an index that [`Id::index`] returned.
    pub(crate) fn id_at_index(&self, index: usize) -> Option<Id<T>> {
        (index < self.members.len()).then(|| Id::from_index(index))
    }

    /// Returns the element with this id, or `None` if the id is beyond the end of this arena.
    #[must_use]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.members.get(id.index())
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Iterates over all ids in order, without borrowing the arena.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Id<T>> + use<T> {
        (0..self.members.len()).map(Id::from_index)
    }

    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.members
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.members.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.members.iter_mut()
    }

    /// Builds a map with one value for each element.
    pub fn map_ids<V>(&self, value: impl FnMut(Id<T>) -> V) -> ArenaMap<T, V> {
        ArenaMap { values: self.ids().map(value).collect(), marker: PhantomData }
    }
}

impl<T> Index<Id<T>> for Arena<T> {
    type Output = T;

    fn index(&self, id: Id<T>) -> &T {
        &self.members[id.index()]
    }
}

impl<T> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.members[id.index()]
    }
}

impl<T> FromIterator<T> for Arena<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        Self { members: members.into_iter().collect() }
    }
}

impl<T> IntoIterator for Arena<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Arena<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Arena<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.iter_mut()
    }
}

/// A map from the ids of an [`Arena`] to values.
#[derive(Clone, Debug)]
pub struct ArenaMap<T, V> {
    values: Vec<V>,
    marker: PhantomData<fn() -> T>,
}

impl<T, V> ArenaMap<T, V> {
    /// Returns a map with one value for all ids.
    fn map_values<U: Clone>(&self, value: U) -> ArenaMap<T, U> {
        ArenaMap { values: vec![value; self.values.len()], marker: PhantomData }
    }
}

impl<T, V> Index<Id<T>> for ArenaMap<T, V> {
    type Output = V;

    fn index(&self, id: Id<T>) -> &V {
        &self.values[id.index()]
    }
}

impl<T, V> IndexMut<Id<T>> for ArenaMap<T, V> {
    fn index_mut(&mut self, id: Id<T>) -> &mut V {
        &mut self.values[id.index()]
    }
}

/// Returns the strongly connected component of each node of a graph (Tarjan 1972, without recursion). A
/// component is identified by one of its nodes. The flag is true if the component is a cycle.
pub(crate) fn strongly_connected_components<T>(
    targets: &ArenaMap<T, Vec<Id<T>>>,
) -> ArenaMap<T, (Id<T>, bool)> {
    let ids = || Arena::<T>::first_ids(targets.values.len());
    let mut index = targets.map_values(usize::MAX);
    let mut low = targets.map_values(0);
    let mut on_stack = targets.map_values(false);
    let mut stack = Vec::new();
    let mut result = ArenaMap { values: ids().map(|id| (id, false)).collect(), marker: PhantomData };
    let mut next = 0;
    for root in ids() {
        if index[root] != usize::MAX {
            continue;
        }
        let mut work = vec![(root, 0usize)];
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = targets[node].get(edge) {
                work.push((node, edge + 1));
                if index[target] == usize::MAX {
                    work.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let mut members = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    members.push(member);
                    if member == node {
                        break;
                    }
                }
                let cycle = members.len() > 1 || targets[node].contains(&node);
                for member in members {
                    result[member] = (node, cycle);
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_address_their_elements() {
        let mut list = Arena::default();
        let (a, b) = (list.push("a"), list.push("b"));
        assert_eq!((list[a], list[b], list.get(b)), ("a", "b", Some(&"b")));
        assert_eq!(list.ids().collect::<Vec<_>>(), [a, b]);
        assert_eq!(Arena::<&str>::first_ids(2).collect::<Vec<_>>(), [a, b]);
        let mut lengths = list.map_ids(|id| list[id].len());
        lengths[b] += 1;
        assert_eq!((lengths[a], lengths[b]), (1, 2));
        assert!(a < b && a == Id::default() && format!("{b:?}") == "#1");
    }
}
