//! Macros for newtypes, which wrap a single value with constraints.

/// Implements a newtype for a string with constraints. The field of the newtype must be a `String`.
#[macro_export]
macro_rules! string_newtype {
    ($name:ident) => {
        $crate::string_newtype_base!($name);
        $crate::string_impls!($name);
    };
}

/// Implements a newtype for a date-time with constraints. It is compared, ordered and hashed by its instant
/// ([`timestamp`](crate::timestamp)), not by its spelling. The field of the newtype must be a `String`.
#[macro_export]
macro_rules! timestamp_newtype {
    ($name:ident) => {
        $crate::string_newtype_base!($name);
        $crate::string_serde_impls!($name);
        impl $name {
            /// Returns the instant, or `None` if the string denotes none, for example on February 30.
            #[must_use]
            pub fn timestamp(&self) -> ::std::option::Option<$crate::Timestamp<'_>> {
                $crate::Timestamp::parse(self.as_str())
            }
        }
        impl ::std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }
        impl ::std::cmp::PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                $crate::timestamp::compare_timestamps(self.as_str(), other).is_eq()
            }
        }
        impl ::std::cmp::PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                *self == **other
            }
        }
        impl ::std::cmp::Eq for $name {}
        impl ::std::cmp::PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> ::std::option::Option<::std::cmp::Ordering> {
                ::std::option::Option::Some(self.cmp(other))
            }
        }
        impl ::std::cmp::Ord for $name {
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                $crate::timestamp::compare_timestamps(self.as_str(), other.as_str())
            }
        }
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                $crate::timestamp::hash_timestamp(self.as_str(), state);
            }
        }
    };
}

/// Implements the common part of all string newtypes. The field of the newtype must be a `String`.
#[macro_export]
macro_rules! string_newtype_base {
    ($name:ident) => {
        impl $name {
            /// Validates the string and wraps it.
            ///
            /// # Errors
            /// Returns the violated constraints.
            pub fn new(
                text: impl ::std::convert::Into<::std::string::String>,
            ) -> ::std::result::Result<Self, $crate::violation::Violations> {
                let value = Self(text.into());
                $crate::Contract::validate(&value)?;
                ::std::result::Result::Ok(value)
            }
            /// Returns the string as received.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
            /// Converts into the string as received.
            #[must_use]
            pub fn into_string(self) -> ::std::string::String {
                self.0
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        impl ::std::str::FromStr for $name {
            type Err = $crate::violation::Violations;
            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                Self::new(text)
            }
        }
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(text: &str) -> ::std::result::Result<Self, Self::Error> {
                Self::new(text)
            }
        }
        impl ::std::convert::TryFrom<::std::string::String> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(text: ::std::string::String) -> ::std::result::Result<Self, Self::Error> {
                Self::new(text)
            }
        }
        impl ::std::convert::From<$name> for ::std::string::String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::read::ReadJson::read_json(deserializer).map(Self)
            }
        }
    };
}

/// Implements a newtype for a string that is never printed. The field of the newtype must be a
/// [`Secret`](crate::Secret).
#[macro_export]
macro_rules! secret_newtype {
    ($name:ident) => {
        impl $name {
            /// Validates the string and wraps it.
            ///
            /// # Errors
            /// Returns the violated constraints.
            pub fn new(
                text: impl ::std::convert::Into<::std::string::String>,
            ) -> ::std::result::Result<Self, $crate::violation::Violations> {
                let value = Self($crate::Secret::from(text.into()));
                $crate::Contract::validate(&value)?;
                ::std::result::Result::Ok(value)
            }
            /// Returns the secret string. Keep it out of messages and logs.
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
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::wrapper_serde!($name);
    };
}

/// Implements a newtype for an integer with constraints.
#[macro_export]
macro_rules! int_newtype {
    ($name:ident, $int:ty) => {
        impl $name {
            /// Validates the number and wraps it.
            ///
            /// # Errors
            /// Returns the violated constraints.
            pub fn new(number: $int) -> ::std::result::Result<Self, $crate::violation::Violations> {
                let value = Self(number);
                $crate::Contract::validate(&value)?;
                ::std::result::Result::Ok(value)
            }
            /// Returns the value as a primitive integer.
            #[must_use]
            pub const fn get(&self) -> $int {
                self.0
            }
        }
        impl ::std::convert::TryFrom<$int> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(number: $int) -> ::std::result::Result<Self, Self::Error> {
                Self::new(number)
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::contract::UnknownValue;
            /// Parses an integer such as `7` and validates it.
            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                let number = text.parse::<$int>().ok();
                let value = number.and_then(|number| Self::new(number).ok());
                value.ok_or($crate::contract::UnknownValue(stringify!($name)))
            }
        }
        impl ::std::convert::From<$name> for $int {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::wrapper_serde!($name);
    };
}

/// Implements an integer enumeration, given each variant with its value on the wire. Other integers are stored in
/// `Unknown`.
#[macro_export]
macro_rules! int_enum {
    ($name:ident: $int:ty { values { $($variant:ident = $value:literal),* $(,)? } }) => {
        impl $name {
            /// All values that this version of the contract lists, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// Returns the value on the wire.
            #[must_use]
            pub const fn get(&self) -> $int {
                match self {
                    $(Self::$variant => $value,)*
                    Self::Unknown(number) => *number,
                }
            }
            /// Returns true if this version of the contract lists the value.
            #[must_use]
            pub const fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
            /// Returns the value if this version of the contract does not list it.
            #[must_use]
            pub const fn unknown(&self) -> ::std::option::Option<$int> {
                match self {
                    Self::Unknown(number) => ::std::option::Option::Some(*number),
                    _ => ::std::option::Option::None,
                }
            }
        }
        impl ::std::convert::From<$int> for $name {
            fn from(number: $int) -> Self {
                match number {
                    $($value => Self::$variant,)*
                    other => Self::Unknown(other),
                }
            }
        }
        impl ::std::convert::From<$name> for $int {
            fn from(value: $name) -> Self {
                value.get()
            }
        }
        /// Values are ordered by their integers.
        impl ::std::cmp::Ord for $name {
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                self.get().cmp(&other.get())
            }
        }
        impl ::std::cmp::PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> ::std::option::Option<::std::cmp::Ordering> {
                ::std::option::Option::Some(self.cmp(other))
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = ::std::num::ParseIntError;
            /// Parses an integer such as `7`.
            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                text.parse::<$int>().map(Self::from)
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.get(), f)
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                self.get().serialize(serializer)
            }
        }
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                <$int as $crate::read::ReadJson<'de>>::read_json(deserializer).map(Self::from)
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
}

/// Implements a newtype for an exact number with constraints.
#[macro_export]
macro_rules! number_newtype {
    ($name:ident) => {
        impl $name {
            /// Validates the number and wraps it.
            ///
            /// # Errors
            /// Returns the violated constraints.
            pub fn new(
                number: impl ::std::convert::Into<$crate::Number>,
            ) -> ::std::result::Result<Self, $crate::violation::Violations> {
                let value = Self(number.into());
                $crate::Contract::validate(&value)?;
                ::std::result::Result::Ok(value)
            }
            /// Returns the value as an exact number.
            #[must_use]
            pub const fn get(&self) -> &$crate::Number {
                &self.0
            }
        }
        impl ::std::convert::TryFrom<$crate::Number> for $name {
            type Error = $crate::violation::Violations;
            fn try_from(number: $crate::Number) -> ::std::result::Result<Self, Self::Error> {
                Self::new(number)
            }
        }
        impl ::std::convert::From<$name> for $crate::Number {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        $crate::wrapper_serde!($name);
    };
}

/// Implements a newtype for an array, object or other value. It dereferences to its content. `nested`
/// declares that the content may contain undeclared members, and `members` that the newtype is deserialized
/// from the members of an object.
#[macro_export]
macro_rules! wrapper {
    ($name:ident, $inner:ty $(, $also:ident)*) => {
        impl ::std::convert::From<$inner> for $name {
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
        $crate::wrapper!(@report $name $($also)*);
        $crate::wrapper!(@members $name $inner; $($also)*);
        $crate::wrapper_serde!($name);
    };
    (@report $name:ident nested $($also:ident)*) => {
        impl $crate::contract::ReportUndeclared for $name {
            fn report_undeclared(
                &self,
                at: &$crate::violation::InstancePath<'_>,
                found: &mut $crate::contract::UndeclaredMembers,
            ) {
                self.0.report_undeclared(at, found);
            }
        }
    };
    (@report $name:ident $($also:ident)*) => {
        impl $crate::contract::ReportUndeclared for $name {}
    };
    (@members $name:ident $inner:ty; nested members) => {
        $crate::wrapper!(@members $name $inner; members);
    };
    (@members $name:ident $inner:ty; members) => {
        impl<'de> $crate::read::FromMap<'de> for $name {
            const EXPECTING: &'static str = concat!("an object (", stringify!($name), ")");
            fn from_map<A: ::serde::de::MapAccess<'de>>(
                map: A,
            ) -> ::std::result::Result<Self, A::Error> {
                $crate::read::FromMap::from_map(map).map(Self)
            }
        }
    };
    (@members $name:ident $inner:ty; $($also:ident)*) => {};
}

/// Implements serialization and deserialization of a newtype in the same form as its content.
#[macro_export]
macro_rules! wrapper_serde {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::read::ReadJson::read_json(deserializer).map(Self)
            }
        }
        $crate::deserialize_by_read_json!($name);
    };
}
