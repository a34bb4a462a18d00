//! The JSON text of a single value, obtained from `serde_json` without copying if possible.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

use crate::depth;
use crate::json_type::JsonType;

pub(crate) mod json_index;

/// Reads the next value of `deserializer` as JSON text. The result is borrowed if the input is in memory.
/// Fails for every deserializer except that of `serde_json`.
pub(crate) fn read_raw_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let text = match raw_value_name() {
        Some(name) => deserializer.deserialize_newtype_struct(name, RawValueVisitor)?,
        None => {
            let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
            Cow::Owned(text.into())
        }
    };
    json_index::read_effort::count_text(&text);
    Ok(text)
}

/// Returns an error such as `invalid type: string, expected a number` for the JSON value `text`. The error
/// contains the type of the value, never its content.
pub(crate) fn type_mismatch<E: de::Error>(text: &str, expected: &str) -> E {
    E::invalid_type(Unexpected::Other(JsonType::from_json_text(text).as_str()), &expected)
}

/// Deserializes a value from its JSON text. Error messages contain neither data nor positions, because the
/// position within `text` is meaningless to the caller. Also fails if the value is nested too deeply.
///
/// Borrowed text is scanned only once, even if nested values are read as text again ([`json_index`]). Owned
/// text is scanned once for each nested level. It occurs only for documents that are read from a stream, and
/// these are never deeper than `SHALLOW_DEPTH`.
pub(crate) fn parse_value<'de, S: DeserializeSeed<'de>, E: de::Error>(
    text: Cow<'de, str>,
    seed: S,
) -> Result<S::Value, E> {
    let value = match text {
        Cow::Borrowed(text) => json_index::read_indexed(text, seed),
        // Owned text is deserialized as a stream, because values must not borrow from a string that is
        // dropped here.
        Cow::Owned(text) => {
            check_depth(&text)?;
            json_index::read_effort::count_bytes(text.len());
            seed.deserialize(&mut serde_json::Deserializer::from_reader(text.as_bytes()))
        }
    };
    value.map_err(|error| E::custom(describe_error(&error)))
}

/// Deserializes a document on the current thread, with as many levels as its stack permits.
pub(crate) fn parse_document<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
) -> serde_json::Result<S::Value> {
    // UTF-8 is validated once for the complete document instead of for every key and string.
    let text = std::str::from_utf8(bytes).map_err(de::Error::custom)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    allow_known_depth(&mut reader, text);
    let value = seed.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Lifts the recursion limit of `serde_json` for text that this thread's stack was sized for.
fn allow_known_depth<'de, R: serde_json::de::Read<'de>>(
    deserializer: &mut serde_json::Deserializer<R>,
    text: &str,
) {
    if depth::stack_levels(text) > depth::SHALLOW_DEPTH {
        deserializer.disable_recursion_limit();
    }
}

/// Returns the message of an error without the position and without the input values that `serde_json`
/// includes.
///
/// Use this function for logs and responses, because `error.to_string()` may contain data from the input.
#[must_use]
pub fn describe_error(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ")
        && error.line() > 0
    {
        message.truncate(end);
    }
    for known in ["invalid type", "invalid value", "unknown variant", "unknown field"] {
        if message.strip_prefix(known).is_some_and(|rest| rest.starts_with([':', ' '])) {
            // The expectation is a constant of the program and always the last part of the message.
            let expected = message.rfind(", expected ").map_or("", |at| &message[at..]);
            return format!("{known}{expected}");
        }
    }
    message
}

/// Fails if `text` is nested more deeply than the stack of any thread can hold.
///
/// Deserializing a value from its text restarts the depth count. Without this limit, nested unions would
/// therefore recurse as deeply as the input.
fn check_depth<E: de::Error>(text: &str) -> Result<(), E> {
    if text.len() > depth::SHALLOW_DEPTH * 2 && depth::measure_depth(text.as_bytes()) > depth::SHALLOW_DEPTH {
        return Err(E::custom("nested too deeply"));
    }
    Ok(())
}

struct RawValueVisitor;

impl<'de> Visitor<'de> for RawValueVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value read by serde_json")
    }

    // `serde_json` presents a raw value as a map with one entry.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        match map.next_key::<IgnoredAny>()? {
            Some(_) => map.next_value_seed(self),
            None => Err(de::Error::invalid_type(Unexpected::Map, &self)),
        }
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

impl<'de> DeserializeSeed<'de> for RawValueVisitor {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// Returns the type name by which `serde_json` recognizes a raw value.
///
/// `serde_json` offers borrowed (`&RawValue`) or owned (`Box<RawValue>`) text, but no type that borrows if
/// possible. The type name is private, so this function captures it from a call of `RawValue::deserialize`.
/// The optimizer reduces the result to a constant.
fn raw_value_name() -> Option<&'static str> {
    match <&RawValue>::deserialize(RawValueNameProbe) {
        Ok(_) => None,
        Err(CapturedName(name)) => name,
    }
}

struct RawValueNameProbe;

#[derive(Debug)]
struct CapturedName(Option<&'static str>);

impl<'de> Deserializer<'de> for RawValueNameProbe {
    type Error = CapturedName;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CapturedName> {
        Err(CapturedName(None))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: V,
    ) -> Result<V::Value, CapturedName> {
        Err(CapturedName(Some(name)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl fmt::Display for CapturedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a value")
    }
}

impl std::error::Error for CapturedName {}

impl de::Error for CapturedName {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}
