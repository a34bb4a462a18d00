//! [`Map`]: the members of a JSON object in insertion order.
//!
//! Most objects are small, so a map of up to sixteen members is searched linearly. A larger map has a hash
//! index, so that a malicious body with many members does not take quadratic time.

#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::Arc;
use std::{slice, vec};

use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::member_key::MemberKey;
use crate::text;

/// A map from strings to `V` that keeps insertion order.
///
/// Equality ignores the order. An empty map does not allocate. Lookup and insertion take constant time for
/// any number of members and any keys; [`remove`](Self::remove) takes linear time.
#[derive(Clone)]
pub struct Map<V> {
    entries: Vec<(SharedName, V)>,
    /// Invariant: present exactly when there are more than [`MAX_LINEAR_SEARCH`] entries.
    index: Option<Box<HashIndex>>,
}

/// A member key. Objects of one document may share keys, because most of them have the same members.
pub(crate) type SharedName = Arc<str>;

/// The maximum number of members for which a linear search is used, because it is faster than hashing.
const MAX_LINEAR_SEARCH: usize = 16;

/// The positions of the entries by the hash of their key, with open addressing and linear probing.
#[derive(Clone)]
struct HashIndex {
    // Seeded for each map, so that an attacker cannot prepare colliding keys.
    state: RandomState,
    /// The position plus one, or zero for a free slot. The length is a power of two, and at most half of the
    /// slots are in use.
    slots: Vec<usize>,
}

impl HashIndex {
    /// Indexes `entries` and reserves space for as many further ones.
    fn from_entries<V>(entries: &[(SharedName, V)]) -> Self {
        let slots = vec![0; (entries.len() * 4).next_power_of_two()];
        let mut index = Self { state: RandomState::new(), slots };
        for (position, (key, _)) in entries.iter().enumerate() {
            if let Err(slot) = index.find_slot(entries, key) {
                index.slots[slot] = position + 1;
            }
        }
        index
    }

    /// Returns the position of `key`, or as `Err` the free slot for it.
    fn find_slot<V>(&self, entries: &[(SharedName, V)], key: &str) -> Result<usize, usize> {
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
    /// Creates an empty map. Does not allocate.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new(), index: None }
    }

    fn find_position(&self, key: &str) -> Option<usize> {
        match &self.index {
            None => self.entries.iter().position(|(entry_key, _)| text::str_eq(entry_key, key)),
            Some(index) => index.find_slot(&self.entries, key).ok(),
        }
    }

    /// Returns a reference to the value of `key`.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.find_position(key).map(|position| &self.entries[position].1)
    }

    /// Returns the position of `key` in insertion order, and its value. The linear search is inlined into the
    /// caller, because parsing and schema evaluation spend much of their time here.
    #[inline(always)]
    pub(crate) fn get_full(&self, key: &str) -> Option<(usize, &V)> {
        if self.index.is_none() {
            for (position, (entry_key, value)) in self.entries.iter().enumerate() {
                if text::str_eq(entry_key, key) {
                    return Some((position, value));
                }
            }
            return None;
        }
        let position = self.find_position(key)?;
        self.entries.get(position).map(|(_, value)| (position, value))
    }

    /// Returns a mutable reference to the value of `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.find_position(key).map(|position| &mut self.entries[position].1)
    }

    /// Returns true if the map contains `key`.
    #[inline]
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.find_position(key).is_some()
    }

    /// Sets the value of `key` and returns the previous value, if any. A replaced value keeps its position; a
    /// new key is appended.
    pub fn insert(&mut self, key: String, value: V) -> Option<V> {
        match self.find_position(&key) {
            Some(position) => Some(std::mem::replace(&mut self.entries[position].1, value)),
            None => {
                self.push(key.into(), value);
                None
            }
        }
    }

    /// Appends a member.
    ///
    /// # Errors
    /// Returns the value as the error if `key` is already present.
    pub fn try_insert(&mut self, key: String, value: V) -> Result<(), V> {
        self.try_insert_str(&key, value)
    }

    /// Like [`try_insert`](Self::try_insert), but copies the key only if it is inserted.
    pub(crate) fn try_insert_str(&mut self, key: &str, value: V) -> Result<(), V> {
        if self.contains_key(key) {
            return Err(value);
        }
        self.push(key.into(), value);
        Ok(())
    }

    /// Reserves space for the given number of members in an empty map.
    pub(crate) fn reserve(&mut self, members: usize) {
        self.entries.reserve_exact(members);
    }

    /// Appends a member without checking for duplicates. The key must be new.
    pub(crate) fn push(&mut self, key: SharedName, value: V) {
        let position = self.entries.len();
        if let Some(index) = &mut self.index
            && position < index.slots.len() / 2
            && let Err(slot) = index.find_slot(&self.entries, &key)
        {
            index.slots[slot] = position + 1;
            self.entries.push((key, value));
            return;
        }
        self.entries.push((key, value));
        if position >= MAX_LINEAR_SEARCH {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        self.index = (self.entries.len() > MAX_LINEAR_SEARCH)
            .then(|| Box::new(HashIndex::from_entries(&self.entries)));
    }

    /// Removes the member with this key and returns its value. The order of the other members is kept. Takes
    /// time linear in the size of the map.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let position = self.find_position(key)?;
        let (_, value) = self.entries.remove(position);
        self.reindex();
        Some(value)
    }

    /// Returns the number of members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the map has no members.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over keys and values in insertion order.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter(self.entries.iter())
    }

    /// Iterates over keys and mutable values in insertion order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut V)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(key, value)| (&**key, value))
    }

    /// Iterates over the keys in insertion order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| &**key)
    }

    /// Iterates over the values in insertion order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Returns the members sorted by key, for results that must not depend on the insertion order.
    fn sorted_by_key(&self) -> Vec<&(SharedName, V)> {
        let mut sorted: Vec<_> = self.entries.iter().collect();
        sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        sorted
    }
}

/// A borrowing iterator over the members of a [`Map`] in insertion order.
#[derive(Debug)]
pub struct Iter<'a, V>(slice::Iter<'a, (SharedName, V)>);

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

/// An owning iterator over the members of a [`Map`] in insertion order.
#[derive(Debug)]
pub struct IntoIter<V>(vec::IntoIter<(SharedName, V)>);

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
    /// If a key occurs several times, keeps the last value at the position of the first.
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
        // A sum of hashes would be cheaper, but collisions of sums are easy to construct.
        state.write_usize(self.len());
        for member in self.sorted_by_key() {
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
    /// Fails if a key occurs twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor::<PhantomData<V>>(PhantomData))
    }
}

/// A visitor that builds a map whose values are deserialized by the seed `S`.
pub(crate) struct MapVisitor<S>(pub(crate) PhantomData<S>);

impl<'de, S: DeserializeSeed<'de> + Default> Visitor<'de> for MapVisitor<S> {
    type Value = Map<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<MemberKey<'de>>()? {
            let value = members.next_value_seed(S::default())?;
            if map.try_insert_str(key.as_str(), value).is_err() {
                return Err(A::Error::custom("duplicate member"));
            }
        }
        Ok(map)
    }
}
