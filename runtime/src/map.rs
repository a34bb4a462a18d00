//! [`Map`]: the members of a JSON object, in the order they were inserted.
//!
//! Objects are mostly small, so up to sixteen members are searched one by one; beyond
//! that a hash index keeps hostile bodies with many members from costing quadratic time.

#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::Arc;
use std::{slice, vec};

use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::key::Key;
use crate::text;

/// A map from strings to `V` that keeps insertion order.
///
/// Equality ignores the order. An empty map does not allocate. Looking up and inserting
/// take constant time for any size and any keys; [`remove`](Self::remove) is linear.
#[derive(Clone)]
pub struct Map<V> {
    entries: Vec<(Name, V)>,
    /// Present exactly when there are more than [`LINEAR`] entries.
    index: Option<Box<Index>>,
}

/// The name of a member. Objects of one document may share it: most have the names of others.
pub(crate) type Name = Arc<str>;

/// So many members are found faster by comparing than by hashing.
const LINEAR: usize = 16;

/// Positions of the entries by the hash of their key: open addressing, linear probing.
#[derive(Clone)]
struct Index {
    // Seeded per map, so that nobody can prepare keys that collide.
    state: RandomState,
    /// Position plus one, zero for a free slot. A power of two, at most half full.
    slots: Vec<usize>,
}

impl Index {
    /// An index over `entries` with room for as many again.
    fn build<V>(entries: &[(Name, V)]) -> Self {
        let slots = vec![0; (entries.len() * 4).next_power_of_two()];
        let mut index = Self { state: RandomState::new(), slots };
        for (position, (key, _)) in entries.iter().enumerate() {
            if let Err(slot) = index.find(entries, key) {
                index.slots[slot] = position + 1;
            }
        }
        index
    }

    /// The position of `key`, or the slot where it belongs.
    fn find<V>(&self, entries: &[(Name, V)], key: &str) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.state.hash_one(key) as usize & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                None => return Err(slot),
                Some(position) if *entries[position].0 == *key => return Ok(position),
                Some(_) => slot = (slot + 1) & mask,
            }
        }
    }
}

impl<V> Map<V> {
    /// An empty map; does not allocate.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new(), index: None }
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            None => self.entries.iter().position(|(own, _)| text::same(own, key)),
            Some(index) => index.find(&self.entries, key).ok(),
        }
    }

    /// The value under `key`.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.position(key).map(|position| &self.entries[position].1)
    }

    /// The place of `key` in the order, and its value. Part of the caller where few members are
    /// searched: for reading documents and evaluating schemas, which do little else.
    #[inline(always)]
    pub(crate) fn get_full(&self, key: &str) -> Option<(usize, &V)> {
        if self.index.is_none() {
            for (position, (own, value)) in self.entries.iter().enumerate() {
                if text::same(own, key) {
                    return Some((position, value));
                }
            }
            return None;
        }
        let position = self.position(key)?;
        self.entries.get(position).map(|(_, value)| (position, value))
    }

    /// The value under `key`, for changing it in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.position(key).map(|position| &mut self.entries[position].1)
    }

    /// Whether `key` is present.
    #[inline]
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Sets the value under `key` and gives back the one it replaces, if any. A replaced
    /// value keeps its place in the order, a new key goes to the end.
    pub fn insert(&mut self, key: String, value: V) -> Option<V> {
        match self.position(&key) {
            Some(position) => Some(std::mem::replace(&mut self.entries[position].1, value)),
            None => {
                self.push(key.into(), value);
                None
            }
        }
    }

    /// Adds a member at the end. Fails and gives the value back when `key` is present.
    pub fn try_insert(&mut self, key: String, value: V) -> Result<(), V> {
        self.try_insert_as(&key, value)
    }

    /// The same with a key that is copied only if it is kept.
    pub(crate) fn try_insert_as(&mut self, key: &str, value: V) -> Result<(), V> {
        if self.contains_key(key) {
            return Err(value);
        }
        self.push(key.into(), value);
        Ok(())
    }

    /// Makes room for so many members, where there are none yet.
    pub(crate) fn reserve(&mut self, members: usize) {
        self.entries.reserve_exact(members);
    }

    /// Adds a member whose key is known to be new.
    pub(crate) fn push(&mut self, key: Name, value: V) {
        let position = self.entries.len();
        if let Some(index) = &mut self.index
            && position < index.slots.len() / 2
            && let Err(slot) = index.find(&self.entries, &key)
        {
            index.slots[slot] = position + 1;
            self.entries.push((key, value));
            return;
        }
        self.entries.push((key, value));
        if position >= LINEAR {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        self.index = (self.entries.len() > LINEAR).then(|| Box::new(Index::build(&self.entries)));
    }

    /// Takes out the member under `key`; the others keep their order. Linear in the size
    /// of the map.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let position = self.position(key)?;
        let (_, value) = self.entries.remove(position);
        self.reindex();
        Some(value)
    }

    /// The number of members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no members.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The members in order.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter(self.entries.iter())
    }

    /// The members in order, their values for changing in place.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut V)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(key, value)| (&**key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| &**key)
    }

    /// The values in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The members ordered by key, for what must not depend on insertion order.
    fn sorted(&self) -> Vec<&(Name, V)> {
        let mut sorted: Vec<_> = self.entries.iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        sorted
    }
}

/// Iterates over the members of a [`Map`] in order.
#[derive(Debug)]
pub struct Iter<'a, V>(slice::Iter<'a, (Name, V)>);

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a str, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&**key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (&**key, value))
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = (&'a str, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Iter<'a, V> {
        self.iter()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (String, V);
    type IntoIter = IntoIter<V>;

    fn into_iter(self) -> IntoIter<V> {
        IntoIter(self.entries.into_iter())
    }
}

/// Takes the members of a [`Map`] in order.
#[derive(Debug)]
pub struct IntoIter<V>(vec::IntoIter<(Name, V)>);

impl<V> Iterator for IntoIter<V> {
    type Item = (String, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (String::from(&*key), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for IntoIter<V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (String::from(&*key), value))
    }
}

impl<V> ExactSizeIterator for IntoIter<V> {}

impl<V> FromIterator<(String, V)> for Map<V> {
    /// Of several values under one key the last one stays, at the place of the first.
    fn from_iter<I: IntoIterator<Item = (String, V)>>(members: I) -> Self {
        let mut map = Self::new();
        map.extend(members);
        map
    }
}

impl<V> Extend<(String, V)> for Map<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, members: I) {
        for (key, value) in members {
            self.insert(key, value);
        }
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: PartialEq> PartialEq for Map<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V: Eq> Eq for Map<V> {}

impl<V: Hash> Hash for Map<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Adding up hashes would be cheaper, but sums are easy to make collide.
        state.write_usize(self.len());
        for member in self.sorted() {
            member.hash(state);
        }
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    /// Fails when a key occurs twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor::<PhantomData<V>>(PhantomData))
    }
}

/// Reads a map whose values are read by the seed `S`.
pub(crate) struct MapVisitor<S>(pub(crate) PhantomData<S>);

impl<'de, S: DeserializeSeed<'de> + Default> Visitor<'de> for MapVisitor<S> {
    type Value = Map<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<Key<'de>>()? {
            let value = members.next_value_seed(S::default())?;
            if map.try_insert_as(key.as_str(), value).is_err() {
                return Err(A::Error::custom("duplicate member"));
            }
        }
        Ok(map)
    }
}
