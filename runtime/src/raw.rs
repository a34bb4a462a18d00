//! The JSON text of one value, taken from `serde_json` without copying where possible.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

use crate::depth;
use crate::kind::Kind;

pub(crate) mod known;

/// The text of the value that `deserializer` stands before; borrowed from the input if
/// that is in memory. Fails for anything but `serde_json`.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let text = match raw_value_name() {
        Some(name) => deserializer.deserialize_newtype_struct(name, RawVisitor)?,
        None => {
            let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
            Cow::Owned(text.into())
        }
    };
    known::effort::spend_on(&text);
    Ok(text)
}

/// Refuses the value `text` with `invalid type: string, expected a number`: its kind, not
/// its content.
pub(crate) fn unexpected<E: de::Error>(text: &str, expected: &str) -> E {
    E::invalid_type(Unexpected::Other(Kind::of_text(text).name()), &expected)
}

/// Reads a value from its text, where errors must neither show data nor give positions
/// in the text, which nobody has seen. Fails also when it nests deeper than the reader follows.
///
/// A text in memory is gone through once, whatever is taken as text in it ([`known`]); that of a
/// stream, which is never deeper than any stack holds, once on each level.
pub(crate) fn parse<'de, S: DeserializeSeed<'de>, E: de::Error>(
    text: Cow<'de, str>,
    seed: S,
) -> Result<S::Value, E> {
    let value = match text {
        Cow::Borrowed(text) => known::read(text, seed),
        // Read as a stream, because nothing may borrow from a text that is dropped here.
        Cow::Owned(text) => {
            check_depth(&text)?;
            known::effort::spend(text.len());
            seed.deserialize(&mut serde_json::Deserializer::from_reader(text.as_bytes()))
        }
    };
    value.map_err(|error| E::custom(describe(&error)))
}

/// Reads a document on this thread, as deep as its stack holds.
pub(crate) fn document<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
) -> serde_json::Result<S::Value> {
    // Looked at once as a whole, instead of every key and string again.
    let text = std::str::from_utf8(bytes).map_err(de::Error::custom)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    follow(&mut reader, text);
    let value = seed.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Follows a text as deep as it goes where this thread's stack was made for that.
fn follow<'de, R: serde_json::de::Read<'de>>(deserializer: &mut serde_json::Deserializer<R>, text: &str) {
    if depth::held(text) > depth::SHALLOW {
        deserializer.disable_recursion_limit();
    }
}

/// What went wrong, without the values that `serde_json` puts into its messages and
/// without the position.
///
/// Use this for logs and responses; `error.to_string()` may contain what the sender wrote.
#[must_use]
pub fn describe(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ")
        && error.line() > 0
    {
        message.truncate(end);
    }
    for known in ["invalid type", "invalid value", "unknown variant", "unknown field"] {
        if message.strip_prefix(known).is_some_and(|rest| rest.starts_with([':', ' '])) {
            // The expectation is text of the program, and the last thing said.
            let expected = message.rfind(", expected ").map_or("", |at| &message[at..]);
            return format!("{known}{expected}");
        }
    }
    message
}

/// Fails when `text` nests deeper than any thread's stack holds.
///
/// A value that is read from its text starts counting depth anew, so without this limit
/// unions within unions would recurse as deep as the sender likes.
fn check_depth<E: de::Error>(text: &str) -> Result<(), E> {
    if text.len() > depth::SHALLOW * 2 && depth::of(text.as_bytes()) > depth::SHALLOW {
        return Err(E::custom("nested too deeply"));
    }
    Ok(())
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value read by serde_json")
    }

    // A raw value presents itself as a map of one entry.
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

impl<'de> DeserializeSeed<'de> for RawVisitor {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

/// The type name by which `serde_json` recognises a raw value.
///
/// It offers borrowed (`&RawValue`) or owned (`Box<RawValue>`) text, but not whichever is
/// possible. The name is private, so it is asked for instead of written down; the answer
/// is a constant to the optimiser.
fn raw_value_name() -> Option<&'static str> {
    match <&RawValue>::deserialize(NameProbe) {
        Ok(_) => None,
        Err(Name(name)) => name,
    }
}

struct NameProbe;

#[derive(Debug)]
struct Name(Option<&'static str>);

impl<'de> Deserializer<'de> for NameProbe {
    type Error = Name;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Name> {
        Err(Name(None))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, _: V) -> Result<V::Value, Name> {
        Err(Name(Some(name)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a value")
    }
}

impl std::error::Error for Name {}

impl de::Error for Name {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}
