//! What generated `Deserialize` and `Serialize` implementations are made of.
//!
//! A generated object loops over its keys and calls [`field`], [`extra`] and [`required`];
//! writing, it hands its fields to [`Members`]. Values are read through
//! [`Read`] instead of `Deserialize`, because JSON Schema and serde disagree on what an
//! integer, an optional member and a tuple are.
//!
//! ```
//! use contract_runtime::read::{self, FromMap, Key, Read};
//! use contract_runtime::{Json, Map, Nullable};
//! use serde::de::{Deserializer, MapAccess};
//!
//! struct Member { id: i64, note: Option<Nullable<String>>, extra: Map<Json> }
//!
//! impl<'de> FromMap<'de> for Member {
//!     const EXPECTING: &'static str = "a member";
//!
//!     fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
//!         let (mut id, mut note, mut extra) = (None, None, Map::new());
//!         while let Some(key) = map.next_key::<Key>()? {
//!             match key.as_str() {
//!                 "id" => read::field(&mut map, &mut id, "id"),
//!                 "note" => read::field(&mut map, &mut note, "note"),
//!                 _ => read::extra(&mut map, &mut extra, key),
//!             }?;
//!         }
//!         Ok(Self { id: read::required(id, "id")?, note, extra })
//!     }
//! }
//!
//! impl<'de> Read<'de> for Member {
//!     fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
//!         read::object(deserializer)
//!     }
//! }
//!
//! let mut json = serde_json::Deserializer::from_str(r#"{"id": 7.0, "note": null, "new": []}"#);
//! let member = Member::read(&mut json)?;
//! assert_eq!(member.id, 7);
//! assert_eq!(member.note, Some(Nullable::Null));
//! assert!(member.extra.contains_key("new"));
//! # Ok::<(), serde_json::Error>(())
//! ```

#[cfg(test)]
mod tests;
mod union;
mod values;

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Json, Map, depth, raw};

pub use crate::key::Key;
pub use crate::raw::describe;
pub use union::{Nothing, Peeked, Rest, Tag, meant, peek, perhaps_tagged, tagged};

/// A value read by the rules of JSON Schema.
///
/// Where this differs from `Deserialize`: integers may be written `1.0` or `1e2`, tuples
/// are arrays of exactly their length, and there is no `Option`, because absence is not a
/// value and `null` is a [`Nullable`](crate::Nullable).
pub trait Read<'de>: Sized {
    /// Reads one JSON value. Fails when it does not have the form of `Self`; the message
    /// may contain the value, see [`describe`].
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A value read from the members of a JSON object; see [`object`](fn@object).
pub trait FromMap<'de>: Sized {
    /// What is expected, for the message when the value is no object: `a member`.
    const EXPECTING: &'static str;

    /// Reads all members of `map`.
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// Reads a JSON object. Fails when the value is none, or as `T::from_map` does.
pub fn object<'de, T: FromMap<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

impl<'de, T: Read<'de>> FromMap<'de> for Map<T> {
    const EXPECTING: &'static str = "an object";

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut members = Self::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            extra(&mut map, &mut members, key)?;
        }
        Ok(members)
    }
}

impl<'de> FromMap<'de> for Json {
    const EXPECTING: &'static str = "an object";

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Map::from_map(map).map(Self::Object)
    }
}

impl<'de, T: FromMap<'de>> FromMap<'de> for Box<T> {
    const EXPECTING: &'static str = T::EXPECTING;

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::from_map(map).map(Self::new)
    }
}

/// Reads a whole document of at most `depth` arrays and objects in one another; see
/// [`depth::DEFAULT`] and [`depth::MAX`].
///
/// # Errors
/// When it is no JSON, nests deeper, or does not have the form of `T`. The message may contain
/// values, see [`describe`].
pub fn document<T: for<'de> Read<'de> + Send>(bytes: &[u8], depth: usize) -> serde_json::Result<T> {
    let depth = depth.min(depth::MAX);
    let too_deep = || serde_json::Error::custom("nested too deeply");
    // What is read from its own text counts anew, once.
    if depth < 2 * depth::SHALLOW && depth::of(bytes) > depth {
        return Err(too_deep());
    }
    let read = || raw::document(bytes, Seed::<T>::default());
    let error = match depth::here(read) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let levels = depth::of(bytes);
    // Perhaps it was refused only because no stack is made for everything that may come;
    // `serde_json` refuses the level that reaches its limit.
    let again = error.is_none() || levels >= depth::SHALLOW;
    let apart = (again && levels <= depth).then(|| depth::apart(bytes, levels + 1, read)).flatten();
    apart.unwrap_or_else(|| Err(error.unwrap_or_else(too_deep)))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: FromMap<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// Reads the value of member `name` into its slot. Fails when the slot is filled, which
/// means that the member occurs twice.
///
/// A `null` is an error unless `T` accepts it, also for members that may be absent.
pub fn field<'de, A: MapAccess<'de>, T: Read<'de>>(
    map: &mut A,
    slot: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value_seed(Seed::<T>::default())?);
    Ok(())
}

/// The content of a slot. Fails when member `name` was absent.
pub fn required<T, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.ok_or_else(|| E::missing_field(name))
}

/// The error for the first of several required members that is absent.
#[cold]
#[must_use]
pub fn missing<E: Error>(due: &[(&'static str, bool)]) -> E {
    let name = due.iter().find(|(_, there)| !there).map_or("", |(name, _)| name);
    E::missing_field(name)
}

/// Reads a member that has no field of its own. Fails when it occurs twice.
pub fn extra<'de, A: MapAccess<'de>, T: Read<'de>>(
    map: &mut A,
    extra: &mut Map<T>,
    key: Key<'de>,
) -> Result<(), A::Error> {
    let value = map.next_value_seed(Seed::<T>::default())?;
    // The name is part of the data, so the message does not repeat it.
    extra.try_insert_as(key.as_str(), value).map_err(|_| A::Error::custom("duplicate member"))
}

/// Reads the value of a member that can have one value only. Fails when it has another, or
/// when the member occurs twice.
pub fn constant<'de, A: MapAccess<'de>, T: Constant + ?Sized>(
    map: &mut A,
    slot: &mut Option<()>,
    name: &'static str,
    constant: &T,
) -> Result<(), A::Error> {
    if slot.replace(()).is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    if map.next_value_seed(ConstantSeed(constant))? {
        Ok(())
    } else {
        Err(A::Error::custom(format_args!("member `{name}` has another value than its constant")))
    }
}

/// What a `const` of the contract can be in generated code.
pub trait Constant {
    /// Whether the next JSON value is this constant.
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error>;
}

impl Constant for &str {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(Key::deserialize(deserializer)?.as_str() == *self)
    }
}

impl Constant for bool {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(bool::deserialize(deserializer)? == *self)
    }
}

impl Constant for i64 {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(i64::read(deserializer)? == *self)
    }
}

struct ConstantSeed<'c, T: ?Sized>(&'c T);

impl<'de, T: Constant + ?Sized> DeserializeSeed<'de> for ConstantSeed<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        self.0.is_next(deserializer)
    }
}

/// Writes the members of an object one after the other. The first failure ends the writing and
/// is what [`end`](Self::end) gives, so that generated code has no branch for each member.
pub struct Members<M: SerializeMap> {
    map: M,
    failed: Option<M::Error>,
}

impl<M: SerializeMap> Members<M> {
    /// Begins an object.
    pub fn new<S: Serializer<SerializeMap = M, Error = M::Error>>(serializer: S) -> Result<Self, M::Error> {
        Ok(Self { map: serializer.serialize_map(None)?, failed: None })
    }

    /// Writes a member that is always present.
    #[inline]
    pub fn entry<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        if self.failed.is_none() {
            self.failed = self.map.serialize_entry(name, value).err();
        }
    }

    /// Writes a member unless it is absent.
    #[inline]
    pub fn optional<T: Serialize>(&mut self, name: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            self.entry(name, value);
        }
    }

    /// Writes the members that the contract does not name, in their order. Fails when one of them
    /// has the name of a declared one, which would then stand there twice.
    pub fn rest<T: Serialize>(&mut self, others: &Map<T>, declared: &[&str]) {
        if !is_apart(others, declared) {
            // Names are part of the data, so the message does not repeat them.
            let twice = || <M::Error as serde::ser::Error>::custom("a declared member among the others");
            self.failed.get_or_insert_with(twice);
        }
        for (name, value) in others.iter() {
            self.entry(name, value);
        }
    }

    /// Ends the object.
    pub fn end(self) -> Result<M::Ok, M::Error> {
        match self.failed {
            Some(error) => Err(error),
            None => self.map.end(),
        }
    }
}

/// Whether none of the members that have no field has the name of one that does.
#[inline]
#[must_use]
pub fn is_apart<T>(others: &Map<T>, declared: &[&str]) -> bool {
    others.is_empty() || !declared.iter().any(|name| others.contains_key(name))
}

/// Reads a `T` through [`Read`].
pub(crate) struct Seed<T>(PhantomData<T>);

impl<T> Default for Seed<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Read<'de>> DeserializeSeed<'de> for Seed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}
