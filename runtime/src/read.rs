//! The building blocks of generated `Deserialize` and `Serialize` implementations.
//!
//! Generated code for an object iterates over the keys and calls [`read_field`], [`read_extra`] and
//! [`require_field`]. To serialize, it passes its fields to [`MemberWriter`]. Values are read through
//! [`ReadJson`] instead of `Deserialize`, because JSON Schema and serde disagree about integers, optional
//! members and tuples.
//!
//! ```
//! use contract_runtime::read::{self, FromMap, MemberKey, ReadJson};
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
//!         while let Some(key) = map.next_key::<MemberKey>()? {
//!             match key.as_str() {
//!                 "id" => read::read_field(&mut map, &mut id, "id"),
//!                 "note" => read::read_field(&mut map, &mut note, "note"),
//!                 _ => read::read_extra(&mut map, &mut extra, key),
//!             }?;
//!         }
//!         Ok(Self { id: read::require_field(id, "id")?, note, extra })
//!     }
//! }
//!
//! impl<'de> ReadJson<'de> for Member {
//!     fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
//!         read::read_object(deserializer)
//!     }
//! }
//!
//! let mut json = serde_json::Deserializer::from_str(r#"{"id": 7.0, "note": null, "new": []}"#);
//! let member = Member::read_json(&mut json)?;
//! assert_eq!(member.id, 7);
//! assert_eq!(member.note, Some(Nullable::Null));
//! assert!(member.extra.contains_key("new"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod object_form;
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

pub use crate::member_key::MemberKey;
pub use crate::raw::describe_error;
pub use object_form::{MemberRule, ObjectForm, read_by_form};
pub use union::{
    NoMembers, PeekedValue, TagValue, TaggedMembers, peek_value, read_discriminated, read_optionally_tagged,
    read_tagged,
};

/// A type that is deserialized by the rules of JSON Schema.
///
/// It differs from `Deserialize` as follows: integers may be written as `1.0` or `1e2`, tuples are arrays of
/// exactly their length, and `Option` does not implement the trait, because absence is not a value and `null`
/// is represented by [`Nullable`](crate::Nullable).
pub trait ReadJson<'de>: Sized {
    /// Reads one JSON value. Fails if `Self` cannot represent the value. The error message may contain the
    /// value; see [`describe_error`].
    fn read_json<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A type that is deserialized from the members of a JSON object; see [`read_object`](fn@read_object).
pub trait FromMap<'de>: Sized {
    /// A description of the type, such as `a member`, for the error message if the value is not an object.
    const EXPECTING: &'static str;

    /// Reads all members of `map`.
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// Reads a JSON object. Fails if the value is not an object, or if `T::from_map` returns an error.
pub fn read_object<'de, T: FromMap<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    ObjectVisitor(PhantomData).deserialize(deserializer)
}

impl<'de, T: ReadJson<'de>> FromMap<'de> for Map<T> {
    const EXPECTING: &'static str = "an object";

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut members = Self::new();
        while let Some(key) = map.next_key::<MemberKey<'de>>()? {
            read_extra(&mut map, &mut members, key)?;
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

/// Converts a JSON value into a type; `None` if the type cannot represent the value. The nesting limit is the
/// default one, and numbers keep their spelling.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn read_typed<T: for<'de> ReadJson<'de> + Send>(value: &Json) -> Option<T> {
    read_document(value.to_string().as_bytes(), depth::DEFAULT_DEPTH).ok()
}

/// Reads a complete document with at most `depth` nested arrays and objects. See [`depth::DEFAULT_DEPTH`] and
/// [`depth::MAX_DEPTH`].
///
/// # Errors
/// Fails if the document is not JSON, is nested too deeply, or cannot be represented by `T`. The message may
/// contain input values; see [`describe_error`].
pub fn read_document<T: for<'de> ReadJson<'de> + Send>(bytes: &[u8], depth: usize) -> serde_json::Result<T> {
    let depth = depth.min(depth::MAX_DEPTH);
    let too_deep = || serde_json::Error::custom("nested too deeply");
    // A nested value that is read from its own text restarts the depth count, at most once. Lower limits are
    // therefore checked in advance.
    if depth < 2 * depth::SHALLOW_DEPTH && depth::measure_depth(bytes) > depth {
        return Err(too_deep());
    }
    let read = || raw::parse_document(bytes, ReadSeed::<T>::default());
    let error = match depth::read_on_current_stack(read) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let levels = depth::measure_depth(bytes);
    // The error may only mean that the current stack cannot hold the document, because `serde_json` rejects
    // the level that reaches its limit. In that case, retry on a sufficiently large stack.
    let again = error.is_none() || levels >= depth::SHALLOW_DEPTH;
    let separated =
        (again && levels <= depth).then(|| depth::read_on_new_stack(bytes, levels + 1, read)).flatten();
    separated.unwrap_or_else(|| Err(error.unwrap_or_else(too_deep)))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: FromMap<'de>> DeserializeSeed<'de> for ObjectVisitor<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: FromMap<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// Reads the value of the member `name` into its slot. Fails if the slot is already filled, which means that
/// the member occurs twice.
///
/// `null` is an error unless `T` accepts it, even for optional members.
pub fn read_field<'de, A: MapAccess<'de>, T: ReadJson<'de>>(
    map: &mut A,
    slot: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value_seed(ReadSeed::<T>::default())?);
    Ok(())
}

/// Returns the content of a slot. Fails if the member `name` is absent.
pub fn require_field<T, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.ok_or_else(|| E::missing_field(name))
}

/// Returns the error for the first absent member, given a list of names and presence flags.
#[cold]
#[must_use]
pub fn missing_field_error<E: Error>(due: &[(&'static str, bool)]) -> E {
    let name = due.iter().find(|(_, there)| !there).map_or("", |(name, _)| name);
    E::missing_field(name)
}

/// Reads an undeclared member into `extra`. Fails if the member occurs twice.
pub fn read_extra<'de, A: MapAccess<'de>, T: ReadJson<'de>>(
    map: &mut A,
    extra: &mut Map<T>,
    key: MemberKey<'de>,
) -> Result<(), A::Error> {
    let value = map.next_value_seed(ReadSeed::<T>::default())?;
    // The name is part of the data, so the message does not contain it.
    extra.try_insert_str(key.as_str(), value).map_err(|_| A::Error::custom("duplicate member"))
}

/// Reads the value of a member with the keyword `const`. Fails if the value differs from the constant, or if
/// the member occurs twice.
pub fn read_constant<'de, A: MapAccess<'de>, T: ConstantValue + ?Sized>(
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
        Err(A::Error::custom(format_args!("member `{name}` differs from its constant value")))
    }
}

/// A Rust value that represents the value of the keyword `const` in generated code.
pub trait ConstantValue {
    /// Reads the next JSON value and returns true if it equals this constant.
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error>;
}

impl ConstantValue for &str {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(MemberKey::deserialize(deserializer)?.as_str() == *self)
    }
}

impl ConstantValue for bool {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(bool::deserialize(deserializer)? == *self)
    }
}

impl ConstantValue for i64 {
    fn is_next<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<bool, D::Error> {
        Ok(i64::read_json(deserializer)? == *self)
    }
}

struct ConstantSeed<'c, T: ?Sized>(&'c T);

impl<'de, T: ConstantValue + ?Sized> DeserializeSeed<'de> for ConstantSeed<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        self.0.is_next(deserializer)
    }
}

/// A writer that serializes the members of an object one after the other. After an error, no further members
/// are written. [`end`](Self::end) returns the error, so that generated code needs no branch for each member.
pub struct MemberWriter<M: SerializeMap> {
    map: M,
    failed: Option<M::Error>,
}

impl<M: SerializeMap> MemberWriter<M> {
    /// Starts the object.
    pub fn new<S: Serializer<SerializeMap = M, Error = M::Error>>(serializer: S) -> Result<Self, M::Error> {
        Ok(Self { map: serializer.serialize_map(None)?, failed: None })
    }

    /// Writes a required member.
    #[inline]
    pub fn write_member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        if self.failed.is_none() {
            self.failed = self.map.serialize_entry(name, value).err();
        }
    }

    /// Writes an optional member unless it is `None`.
    #[inline]
    pub fn write_optional<T: Serialize>(&mut self, name: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            self.write_member(name, value);
        }
    }

    /// Writes the members that have no field, in their order. Fails if one of them has the name of a declared
    /// member, which would then occur twice.
    pub fn write_extra<T: Serialize>(&mut self, others: &Map<T>, declared: &[&str]) {
        if !is_disjoint(others, declared) {
            // Names are part of the data, so the message does not contain them.
            let twice = || {
                <M::Error as serde::ser::Error>::custom("an extra member has the name of a declared member")
            };
            self.failed.get_or_insert_with(twice);
        }
        for (name, value) in others.iter() {
            self.write_member(name, value);
        }
    }

    /// Ends the object.
    ///
    /// # Errors
    /// Returns the first error of any write.
    pub fn end(self) -> Result<M::Ok, M::Error> {
        match self.failed {
            Some(error) => Err(error),
            None => self.map.end(),
        }
    }
}

/// Returns true if none of the members without a field has the name of a declared member.
#[inline]
#[must_use]
pub fn is_disjoint<T>(others: &Map<T>, declared: &[&str]) -> bool {
    others.is_empty() || !declared.iter().any(|name| others.contains_key(name))
}

/// A seed that deserializes a `T` through [`ReadJson`].
pub(crate) struct ReadSeed<T>(PhantomData<T>);

impl<T> Default for ReadSeed<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: ReadJson<'de>> DeserializeSeed<'de> for ReadSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read_json(deserializer)
    }
}
