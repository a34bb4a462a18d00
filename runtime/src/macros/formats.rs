//! Types for formats.

/// A text of a format, and the value that it means. The text stays as it came; where it means
/// nothing, there is no value, and the text is kept all the same.
///
/// Name, type of the value, format, how a text is read, how a value is written.
#[macro_export]
macro_rules! format_type {
    ($(#[$meta:meta])* $name:ident: $value:ty = $format:literal, $read:expr, $write:expr) => {
        $(#[$meta])*
        ///
        /// Equal, and the same for hashing, when the texts are; compare values by [`get`](Self::get).
        #[derive(Clone)]
        pub struct $name {
            text: ::std::string::String,
            value: ::std::option::Option<$value>,
        }
        impl $name {
            /// Writes a value. A value beyond what the format can say has a text without a value.
            #[must_use]
            pub fn new(value: &$value) -> Self {
                Self::parse(Self::write(value))
            }
            /// Takes over a text, whether it has the format or not.
            #[must_use]
            pub fn parse(text: impl ::std::convert::Into<::std::string::String>) -> Self {
                let text = text.into();
                let value = Self::read_text(&text);
                Self { text, value }
            }
            /// The value; nothing where the text does not have the format, or means what the type of
            /// the value has no room for.
            #[must_use]
            pub const fn get(&self) -> ::std::option::Option<&$value> {
                self.value.as_ref()
            }
            /// The value, given away.
            #[must_use]
            pub fn into_value(self) -> ::std::option::Option<$value> {
                self.value
            }
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.text
            }
            /// The text, given away.
            #[must_use]
            pub fn into_string(self) -> ::std::string::String {
                self.text
            }
            /// Whether a text has the format and a value.
            #[must_use]
            pub fn is_match(text: &str) -> bool {
                Self::read_text(text).is_some()
            }
            fn read_text(text: &str) -> ::std::option::Option<$value> {
                if $crate::format::Format::allows($format, text) { ($read)(text) } else { None }
            }
            fn write(value: &$value) -> ::std::string::String {
                ($write)(value)
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
                let read = Self::parse(text);
                match read.value {
                    ::std::option::Option::Some(_) => ::std::result::Result::Ok(read),
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
        impl ::std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.text == other.text
            }
        }
        impl ::std::cmp::Eq for $name {}
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                self.text.hash(state);
            }
        }
        impl $crate::contract::ReportUndeclared for $name {}
        impl<'de> $crate::read::Read<'de> for $name {
            fn read<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                <::std::string::String as $crate::read::Read>::read(deserializer).map(Self::parse)
            }
        }
        $crate::text!($name);
    };
}
