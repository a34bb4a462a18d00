//! Unions: told apart by a tag member ([`tagged`]) or by the JSON type ([`peek`]).

use std::borrow::Cow;
use std::marker::PhantomData;
use std::vec;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};

use super::{Key, Read, Seed};
use crate::{Kind, Number, raw};

/// The value of a tag member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag<'t> {
    /// A string.
    Text(&'t str),
    /// A boolean.
    Bool(bool),
    /// A whole number within `i64`, however it is written.
    Int(i64),
    /// Anything else; [`Rest::tag_text`] has its text.
    Other,
}

impl PartialEq<&str> for Tag<'_> {
    fn eq(&self, text: &&str) -> bool {
        *self == Tag::Text(text)
    }
}

impl PartialEq<bool> for Tag<'_> {
    fn eq(&self, value: &bool) -> bool {
        *self == Tag::Bool(*value)
    }
}

impl PartialEq<i64> for Tag<'_> {
    fn eq(&self, value: &i64) -> bool {
        *self == Tag::Int(*value)
    }
}

/// The members of a tagged object besides its tag, in order.
///
/// A second member with the name of the tag is an error.
pub struct Rest<'de, A> {
    tag: &'static str,
    tag_text: Cow<'de, str>,
    with_tag: bool,
    /// What stood before the tag.
    before: vec::IntoIter<(Key<'de>, Cow<'de, str>)>,
    /// The text of the value that belongs to the key handed out last.
    value: Option<Cow<'de, str>>,
    after: A,
}

/// Reads an object whose member `tag` decides how the others are read: calls `pick` with
/// the tag's value and the other members.
///
/// Members before the tag are kept as text until it is found; when the tag comes first,
/// nothing is kept or copied. Fails when the tag is missing or occurs twice, or as `pick` does.
pub fn tagged<'de, A: MapAccess<'de>, T>(
    mut map: A,
    tag: &'static str,
    pick: impl FnOnce(Tag<'_>, Rest<'de, A>) -> Result<T, A::Error>,
) -> Result<T, A::Error> {
    let mut before = Vec::new();
    loop {
        let Some(key) = map.next_key::<Key<'de>>()? else {
            return Err(A::Error::missing_field(tag));
        };
        let RawText(text) = map.next_value()?;
        if key.as_str() != tag {
            before.push((key, text));
            continue;
        }
        // Costs nothing for borrowed text.
        let kept = text.clone();
        let string;
        let found = match kept.as_bytes() {
            [b'"', .., b'"'] if !kept.contains('\\') => Tag::Text(&kept[1..kept.len() - 1]),
            [b'"', ..] => {
                string = raw::parse::<_, A::Error>(Cow::Borrowed(&kept), Seed::<String>::default())?;
                Tag::Text(&string)
            }
            b"true" => Tag::Bool(true),
            b"false" => Tag::Bool(false),
            _ => Number::parse(&kept).ok().and_then(|number| number.as_i64()).map_or(Tag::Other, Tag::Int),
        };
        let before = before.into_iter();
        return pick(found, Rest { tag, tag_text: text, with_tag: false, before, value: None, after: map });
    }
}

/// The text of a member's value.
struct RawText<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for RawText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        raw::text(deserializer).map(Self)
    }
}

impl<A> Rest<'_, A> {
    /// Makes the tag itself the first member, for variants that keep the whole object.
    /// Without this call it is left out.
    #[must_use]
    pub fn with_tag(mut self) -> Self {
        self.with_tag = true;
        self
    }

    /// The JSON text of the tag's value.
    #[must_use]
    pub fn tag_text(&self) -> &str {
        &self.tag_text
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let (key, value) = if std::mem::take(&mut self.with_tag) {
            (Key(Cow::Borrowed(self.tag)), Some(std::mem::take(&mut self.tag_text)))
        } else if let Some((key, value)) = self.before.next() {
            (key, Some(value))
        } else {
            match self.after.next_key::<Key<'de>>()? {
                Some(key) if key.as_str() == self.tag => {
                    return Err(A::Error::duplicate_field(self.tag));
                }
                Some(key) => (key, None),
                None => return Ok(None),
            }
        };
        self.value = value;
        key.give(seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(text) => raw::parse(text, seed),
            None => self.after.next_value_seed(seed),
        }
    }
}

/// A value that is known by its JSON type and not read yet; see [`peek`].
pub struct Peeked<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<fn() -> E>,
}

/// Takes one value as text, to look at its JSON type before reading it.
///
/// Fails when it is not JSON.
pub fn peek<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Peeked<'de, D::Error>, D::Error> {
    raw::text(deserializer).map(|text| Peeked { text, error: PhantomData })
}

impl<'de, E: Error> Peeked<'de, E> {
    /// The JSON type.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of_text(&self.text)
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads the value. Fails as `T::read` does, with a message free of data, and when the value
    /// nests deeper than the reader follows.
    pub fn parse<T: Read<'de>>(&self) -> Result<T, E> {
        raw::parse(self.text.clone(), Seed::<T>::default())
    }

    /// The error for a value of the wrong type: `invalid type: string, expected …`.
    #[must_use]
    pub fn unexpected(&self, expected: &'static str) -> E {
        raw::unexpected(&self.text, expected)
    }
}
