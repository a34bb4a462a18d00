//! The trait implementations that do not vary between generated types.

/// `Deserialize` through [`Read`](crate::read::Read), for types that other serde users embed.
#[macro_export]
macro_rules! deserialize_by_read {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::Read::read(deserializer)
            }
        }
    };
}

/// `Read` and `Deserialize` for a type that reads itself from the members of an object.
#[macro_export]
macro_rules! read_object {
    ($name:ident) => {
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::object(deserializer)
            }
        }
        $crate::deserialize_by_read!($name);
    };
}

/// What a type with `as_str` can do because it is text: `Display`, `Serialize`, `AsRef<str>`, and
/// to be compared with a text.
#[macro_export]
macro_rules! text {
    ($name:ident) => {
        $crate::text_out!($name);
        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }
        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

/// A type with `as_str` as text: `Display`, `Serialize`, `AsRef<str>`, and `Deserialize`.
#[macro_export]
macro_rules! text_out {
    ($name:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        $crate::deserialize_by_read!($name);
    };
}

/// A string enumeration that knows all its values.
///
/// Needs `as_str` and `from_wire(&str) -> Option<Self>`.
#[macro_export]
macro_rules! closed_enum {
    ($name:ident) => {
        $crate::text!($name);
        impl ::std::str::FromStr for $name {
            type Err = $crate::contract::UnknownValue;
            fn from_str(text: &str) -> Result<Self, $crate::contract::UnknownValue> {
                Self::from_wire(text).ok_or($crate::contract::UnknownValue(stringify!($name)))
            }
        }
        impl TryFrom<&str> for $name {
            type Error = $crate::contract::UnknownValue;
            fn try_from(text: &str) -> Result<Self, $crate::contract::UnknownValue> {
                text.parse()
            }
        }
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::contract::read_text(deserializer, |text| text.parse())
            }
        }
    };
}

/// A string enumeration that keeps values it does not know.
///
/// Needs `as_str` and `from_wire(&str) -> Option<Self>`, and a variant `Unknown(String)`.
#[macro_export]
macro_rules! open_enum {
    ($name:ident) => {
        $crate::text!($name);
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::from_wire(&text).unwrap_or(Self::Unknown(text))
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::from_wire(text).unwrap_or_else(|| Self::Unknown(text.to_owned()))
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = ::std::convert::Infallible;
            fn from_str(text: &str) -> Result<Self, ::std::convert::Infallible> {
                Ok(text.into())
            }
        }
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::contract::read_text(deserializer, |text| {
                    Ok::<_, $crate::contract::UnknownValue>(text.into())
                })
            }
        }
    };
}

/// A string with rules of its own. Its field is a `String`.
#[macro_export]
macro_rules! string_newtype {
    ($name:ident) => {
        $crate::text_newtype!($name);
        $crate::text!($name);
    };
}

/// A date-time with rules of its own, compared, ordered and hashed by the moment it means
/// ([`moment`](crate::moment)), never by its text. Its field is a `String`.
#[macro_export]
macro_rules! moment_newtype {
    ($name:ident) => {
        $crate::text_newtype!($name);
        $crate::text_out!($name);
        impl $name {
            /// The moment it means; `None` when it means none, as February 30 does.
            #[must_use]
            pub fn moment(&self) -> Option<$crate::Moment<'_>> {
                $crate::Moment::parse(self.as_str())
            }
        }
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }
        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                $crate::moment::compare(self.as_str(), other).is_eq()
            }
        }
        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self == **other
            }
        }
        impl Eq for $name {}
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<::std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                $crate::moment::compare(self.as_str(), other.as_str())
            }
        }
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                $crate::moment::hash(self.as_str(), state);
            }
        }
    };
}

/// What every text with rules of its own can do. Its field is a `String`.
#[macro_export]
macro_rules! text_newtype {
    ($name:ident) => {
        impl $name {
            /// Takes over a text that obeys the rules.
            ///
            /// # Errors
            /// The rules that it breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::violation::Violations> {
                let value = Self(text.into());
                $crate::Contract::validate(&value)?;
                Ok(value)
            }
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
            /// The text, given away.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::violation::Violations;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }
        impl TryFrom<&str> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::Read::read(deserializer).map(Self)
            }
        }
    };
}

/// A string that nothing prints. Its field is a [`Secret`](crate::Secret).
#[macro_export]
macro_rules! secret_newtype {
    ($name:ident) => {
        impl $name {
            /// Takes over a text that obeys the rules.
            ///
            /// # Errors
            /// The rules that it breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::violation::Violations> {
                let value = Self($crate::Secret::from(text.into()));
                $crate::Contract::validate(&value)?;
                Ok(value)
            }
            /// The text, for the one place that needs it.
            #[must_use]
            pub fn expose(&self) -> &str {
                self.0.expose()
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        $crate::wrapper_serde!($name);
    };
}

/// A whole number with rules of its own.
#[macro_export]
macro_rules! int_newtype {
    ($name:ident, $int:ty) => {
        impl $name {
            /// Takes over a number that obeys the rules.
            ///
            /// # Errors
            /// The rules that it breaks.
            pub fn new(number: $int) -> Result<Self, $crate::violation::Violations> {
                let value = Self(number);
                $crate::Contract::validate(&value)?;
                Ok(value)
            }
            /// The number.
            #[must_use]
            pub const fn get(&self) -> $int {
                self.0
            }
        }
        impl TryFrom<$int> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(number: $int) -> Result<Self, Self::Error> {
                Self::new(number)
            }
        }
        impl From<$name> for $int {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        $crate::wrapper_serde!($name);
    };
}

/// An exact number with rules of its own.
#[macro_export]
macro_rules! number_newtype {
    ($name:ident) => {
        impl $name {
            /// Takes over a number that obeys the rules.
            ///
            /// # Errors
            /// The rules that it breaks.
            pub fn new(number: impl Into<$crate::Number>) -> Result<Self, $crate::violation::Violations> {
                let value = Self(number.into());
                $crate::Contract::validate(&value)?;
                Ok(value)
            }
            /// The number.
            #[must_use]
            pub const fn get(&self) -> &$crate::Number {
                &self.0
            }
        }
        impl TryFrom<$crate::Number> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(number: $crate::Number) -> Result<Self, Self::Error> {
                Self::new(number)
            }
        }
        impl From<$name> for $crate::Number {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        $crate::wrapper_serde!($name);
    };
}

/// A named array, object or other value that can be used like what it holds.
#[macro_export]
macro_rules! wrapper {
    ($name:ident, $inner:ty) => {
        impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                Self(inner)
            }
        }
        impl ::std::ops::Deref for $name {
            type Target = $inner;
            fn deref(&self) -> &$inner {
                &self.0
            }
        }
        impl ::std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut $inner {
                &mut self.0
            }
        }
        $crate::wrapper_serde!($name);
    };
}

/// A type on the wire as what it holds.
#[macro_export]
macro_rules! wrapper_serde {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::Read::read(deserializer).map(Self)
            }
        }
        $crate::deserialize_by_read!($name);
    };
}
