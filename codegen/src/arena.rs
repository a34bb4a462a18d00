//! Lists whose members have ids: an id is made by the list that holds the member, and by nobody
//! else, so a number can never stand for a schema of another graph or for a row of a table.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// Names one member of an [`Arena`].
pub struct Id<T> {
    index: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    const fn at(index: usize) -> Self {
        // No list grows so long: each member is read from a text that is shorter than 4 GiB.
        #[expect(clippy::cast_possible_truncation, reason = "texts are shorter than that")]
        Self { index: index as u32, of: PhantomData }
    }

    /// Where the member stands in its list, for those who write the list down.
    #[must_use]
    pub(crate) const fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

/// The first member: what a value that is filled in later starts with.
impl<T> Default for Id<T> {
    fn default() -> Self {
        Self::at(0)
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

/// A list that names its members.
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
    /// Adds a member at the end.
    pub fn push(&mut self, member: T) -> Id<T> {
        self.members.push(member);
        Id::at(self.members.len() - 1)
    }

    /// The ids that the first `count` members of a list get, for members that name each other.
    pub(crate) fn first_ids(count: usize) -> impl Iterator<Item = Id<T>> {
        (0..count).map(Id::at)
    }

    /// The id of the member at a position that [`Id::index`] gave.
    pub(crate) fn nth(&self, index: usize) -> Option<Id<T>> {
        (index < self.members.len()).then(|| Id::at(index))
    }

    /// A member, if the list is as long as the one that the id was made for.
    #[must_use]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.members.get(id.index())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All ids, in order; they do not keep the list borrowed.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Id<T>> + use<T> {
        (0..self.members.len()).map(Id::at)
    }

    /// All members, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.members
    }

    /// All members, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.members.iter()
    }

    /// All members, in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.members.iter_mut()
    }

    /// One value for each member.
    pub(crate) fn map<V>(&self, value: impl FnMut(Id<T>) -> V) -> ById<T, V> {
        ById { values: self.ids().map(value).collect(), of: PhantomData }
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

/// One value for each member of an [`Arena`].
#[derive(Clone, Debug)]
pub(crate) struct ById<T, V> {
    values: Vec<V>,
    of: PhantomData<fn() -> T>,
}

impl<T, V> Index<Id<T>> for ById<T, V> {
    type Output = V;

    fn index(&self, id: Id<T>) -> &V {
        &self.values[id.index()]
    }
}

impl<T, V> IndexMut<Id<T>> for ById<T, V> {
    fn index_mut(&mut self, id: Id<T>) -> &mut V {
        &mut self.values[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_lead_to_what_they_were_made_for() {
        let mut list = Arena::default();
        let (a, b) = (list.push("a"), list.push("b"));
        assert_eq!((list[a], list[b], list.get(b)), ("a", "b", Some(&"b")));
        assert_eq!(list.ids().collect::<Vec<_>>(), [a, b]);
        assert_eq!(Arena::<&str>::first_ids(2).collect::<Vec<_>>(), [a, b]);
        let mut lengths = list.map(|id| list[id].len());
        lengths[b] += 1;
        assert_eq!((lengths[a], lengths[b]), (1, 2));
        assert!(a < b && a == Id::default() && format!("{b:?}") == "#1");
    }
}
