//! [`format_type!`](crate::format_type): types of strings with a format.

/// Defines a type that stores a string with a format, together with the parsed value. A string that cannot be
/// parsed is stored unchanged, without a value.
///
/// Arguments: name, type of the value, format, a function that parses, a function that prints. With `by value`
/// before the functions, equality and hashing use the value, whose type implements `Eq` and `Hash`.
#[macro_export]
macro_rules! format_type {
    ($(#[$meta:meta])* $name:ident: $value:ty = $format:literal, by value, $parse:expr, $format_value:expr) => {
        $crate::format_type! {
            @type
            $(#[$meta])*
            ///
            /// Two values are equal if their parsed values are equal, even if the strings differ. Strings
            /// that cannot be parsed are compared as strings.
            $name: $value = $format, $parse, $format_value
        }
        impl ::std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                match (&self.value, &other.value) {
                    (::std::option::Option::None, ::std::option::Option::None) => self.text == other.text,
                    (own, other) => own == other,
                }
            }
        }
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                match &self.value {
                    ::std::option::Option::Some(value) => value.hash(state),
                    ::std::option::Option::None => self.text.hash(state),
                }
            }
        }
    };
    ($(#[$meta:meta])* $name:ident: $value:ty = $format:literal, $parse:expr, $format_value:expr) => {
        $crate::format_type! {
            @type
            $(#[$meta])*
            ///
            /// Equality and hashing use the string; compare values by [`get`](Self::get).
            $name: $value = $format, $parse, $format_value
        }
        impl ::std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.text == other.text
            }
        }
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                self.text.hash(state);
            }
        }
    };
    (@type $(#[$meta:meta])* $name:ident: $value:ty = $format:literal, $parse:expr, $format_value:expr) => {
        $(#[$meta])*
        #[derive(Clone)]
        pub struct $name {
            text: ::std::string::String,
            value: ::std::option::Option<$value>,
        }
        impl $name {
            /// Formats a value as a string. If the format cannot represent the value, [`get`](Self::get)
            /// returns `None`.
            #[must_use]
            pub fn new(value: &$value) -> Self {
                Self::parse(Self::format_value(value))
            }
            /// Creates a value from any string, even if the string does not have the format.
            #[must_use]
            pub fn parse(text: impl ::std::convert::Into<::std::string::String>) -> Self {
                let text = text.into();
                let value = Self::parse_value(&text);
                Self { text, value }
            }
            /// Returns the value, or `None` if the string does not have the format or exceeds the range of
            /// the value's type.
            #[must_use]
            pub const fn get(&self) -> ::std::option::Option<&$value> {
                self.value.as_ref()
            }
            /// Converts into the value; see [`get`](Self::get).
            #[must_use]
            pub fn into_value(self) -> ::std::option::Option<$value> {
                self.value
            }
            /// Returns the string as received.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.text
            }
            /// Converts into the string as received.
            #[must_use]
            pub fn into_string(self) -> ::std::string::String {
                self.text
            }
            /// Returns true if the string has the format and can be converted to the value type.
            #[must_use]
            pub fn is_match(text: &str) -> bool {
                Self::parse_value(text).is_some()
            }
            fn parse_value(text: &str) -> ::std::option::Option<$value> {
                if $crate::format::StringFormat::is_match_by_name($format, text) { ($parse)(text) } else { ::std::option::Option::None }
            }
            fn format_value(value: &$value) -> ::std::string::String {
                ($format_value)(value)
            }
        }
        impl ::std::convert::From<$value> for $name {
            fn from(value: $value) -> Self {
                Self::new(&value)
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::contract::UnknownValue;
            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::contract::UnknownValue> {
                let parsed = Self::parse(text);
                match parsed.value {
                    ::std::option::Option::Some(_) => ::std::result::Result::Ok(parsed),
                    ::std::option::Option::None => {
                        ::std::result::Result::Err($crate::contract::UnknownValue(stringify!($name)))
                    }
                }
            }
        }
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.text).finish()
            }
        }
        impl ::std::cmp::Eq for $name {}
        impl $crate::contract::ReportUndeclared for $name {}
        impl<'de> $crate::read::ReadJson<'de> for $name {
            fn read_json<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                <::std::string::String as $crate::read::ReadJson>::read_json(deserializer).map(Self::parse)
            }
        }
        $crate::string_impls!($name);
    };
}
