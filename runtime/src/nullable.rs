//! [`Nullable`]: a value that the contract allows to be JSON `null`.
//!
//! An optional member has the type `Option<T>`, a nullable member `Nullable<T>`, and a member that may be
//! absent or `null` has the type `Option<Nullable<T>>`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// JSON `null` or a `T`.
///
/// In `Option<Nullable<T>>`, `None` is an absent member, `Some(Nullable::Null)` is a member that is `null`,
/// and `Some(Nullable::Value(_))` is a member with a value. Generated code distinguishes all three. A derived
/// `Deserialize` implementation does not, because serde converts `null` into `None`.
///
/// ```
/// use contract_runtime::Nullable;
///
/// let note: Nullable<String> = serde_json::from_str("null")?;
/// assert!(note.is_null());
/// assert_eq!(serde_json::to_string(&Nullable::Value("hello"))?, "\"hello\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nullable<T> {
    /// The JSON literal `null`.
    #[default]
    Null,
    /// Any value other than `null`.
    Value(T),
}

impl<T> Nullable<T> {
    /// Returns a reference to the value, or `None` for `null`.
    #[inline]
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }

    /// Converts into an `Option`, with `None` for `null`.
    #[inline]
    #[must_use]
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }

    /// Converts from `&Nullable<T>` to `Nullable<&T>`.
    #[inline]
    #[must_use]
    pub const fn as_ref(&self) -> Nullable<&T> {
        match self {
            Self::Null => Nullable::Null,
            Self::Value(value) => Nullable::Value(value),
        }
    }

    /// Returns true if this is [`Nullable::Null`].
    #[inline]
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Applies `change` to the value. `null` remains `null`.
    #[inline]
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Nullable<U> {
        match self {
            Self::Null => Nullable::Null,
            Self::Value(value) => Nullable::Value(change(value)),
        }
    }
}

impl<T> From<T> for Nullable<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for Nullable<String> {
    fn from(value: &str) -> Self {
        Self::Value(value.to_owned())
    }
}

impl<T> From<Option<T>> for Nullable<T> {
    /// Converts `None` into [`Nullable::Null`].
    fn from(value: Option<T>) -> Self {
        match value {
            None => Self::Null,
            Some(value) => Self::Value(value),
        }
    }
}

impl<T: Serialize> Serialize for Nullable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nullable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(NullableVisitor::<PhantomData<T>>(PhantomData))
    }
}

/// A visitor that accepts `null` or a value deserialized by the seed `S`.
pub(crate) struct NullableVisitor<S>(pub(crate) PhantomData<S>);

impl<'de, S: DeserializeSeed<'de> + Default> Visitor<'de> for NullableVisitor<S> {
    type Value = Nullable<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Nullable::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Nullable::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        S::default().deserialize(deserializer).map(Nullable::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    #[test]
    fn reads_and_writes_null_and_values() {
        for text in ["null", "12.30"] {
            let value: Nullable<Number> = serde_json::from_str(text).unwrap();
            assert_eq!(value.is_null(), text == "null");
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
        }
        assert!(serde_json::from_str::<Nullable<bool>>("1").is_err());
    }

    #[test]
    fn converts() {
        assert_eq!(Nullable::from(Some(1)), Nullable::Value(1));
        assert_eq!(Nullable::<i32>::from(None), Nullable::Null);
        assert_eq!(Nullable::from(1).map(|n| n + 1).into_option(), Some(2));
        assert_eq!(Nullable::<i32>::Null.map(|n| n + 1).value(), None);
        let text = Nullable::from(String::from("a"));
        assert_eq!(text.as_ref().map(String::len), Nullable::Value(1));
        assert_eq!(Nullable::<String>::from("a"), text);
        assert_eq!(Nullable::<i32>::default(), Nullable::Null);
    }
}
