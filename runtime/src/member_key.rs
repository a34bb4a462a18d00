//! [`MemberKey`]: the key of an object member during deserialization.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

/// The key of an object member. The key is borrowed if the input is in memory and the key contains no escape
/// sequences, and owned otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberKey<'de>(pub(crate) Cow<'de, str>);

impl<'de> MemberKey<'de> {
    /// Returns the key as a string slice, unescaped.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts the key into a `String`. Allocates if the key was borrowed.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }

    /// Passes the key to the seed of a [`MapAccess`](serde::de::MapAccess) implementation.
    pub(crate) fn deserialize_into<S: DeserializeSeed<'de>, E: Error>(self, seed: S) -> Result<S::Value, E> {
        match self.0 {
            Cow::Borrowed(name) => seed.deserialize(BorrowedStrDeserializer::new(name)),
            Cow::Owned(name) => seed.deserialize(StringDeserializer::new(name)),
        }
    }
}

impl<'de> Deserialize<'de> for MemberKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = MemberKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object key")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(MemberKey(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(MemberKey(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Self::Value, E> {
                Ok(MemberKey(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}
