//! [`Key`]: the name of a member while its object is read.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

/// The name of a member, borrowed from the input where that is in memory and the name
/// is written without escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Key<'de> {
    /// The name.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a `String`; allocates if it was borrowed.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }

    /// Hands the name to the seed of a map's reader.
    pub(crate) fn give<S: DeserializeSeed<'de>, E: Error>(self, seed: S) -> Result<S::Value, E> {
        match self.0 {
            Cow::Borrowed(name) => seed.deserialize(BorrowedStrDeserializer::new(name)),
            Cow::Owned(name) => seed.deserialize(StringDeserializer::new(name)),
        }
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}
