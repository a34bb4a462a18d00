//! Unions: told apart by a tag member ([`tagged`], [`perhaps_tagged`], [`meant`]) or by the JSON
//! type ([`peek`]).

use std::borrow::Cow;
use std::cell::Cell;
use std::marker::PhantomData;
use std::vec;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};

use super::{FromMap, Key, Read, Seed};
use crate::{Json, Kind, Number, raw};

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
    /// There is no such member, for [`perhaps_tagged`] and [`meant`].
    Missing,
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
    map: A,
    tag: &'static str,
    pick: impl FnOnce(Tag<'_>, Rest<'de, A>) -> Result<T, A::Error>,
) -> Result<T, A::Error> {
    perhaps_tagged(map, tag, |found, rest| match found {
        Tag::Missing => Err(A::Error::missing_field(tag)),
        found => pick(found, rest),
    })
}

/// The same for an object that may be without the tag: `pick` is called with [`Tag::Missing`] then,
/// and with all members.
pub fn perhaps_tagged<'de, A: MapAccess<'de>, T>(
    mut map: A,
    tag: &'static str,
    pick: impl FnOnce(Tag<'_>, Rest<'de, A>) -> Result<T, A::Error>,
) -> Result<T, A::Error> {
    let mut before = Vec::new();
    while let Some(key) = map.next_key::<Key<'de>>()? {
        let RawText(text) = map.next_value()?;
        if key.as_str() != tag {
            before.push((key, text));
            continue;
        }
        // Costs nothing for borrowed text.
        let kept = text.clone();
        return with_tag(&kept, |found| pick(found, Rest::new(tag, text, before, map)));
    }
    pick(Tag::Missing, Rest::new(tag, Cow::Borrowed(""), before, map))
}

/// Says what a tag is by its JSON text.
fn with_tag<E: Error, T>(text: &str, pick: impl FnOnce(Tag<'_>) -> Result<T, E>) -> Result<T, E> {
    let string;
    pick(match text.as_bytes() {
        [b'"', .., b'"'] if !text.contains('\\') => Tag::Text(&text[1..text.len() - 1]),
        [b'"', ..] => {
            string = raw::parse::<_, E>(Cow::Borrowed(text), Seed::<String>::default())?;
            Tag::Text(&string)
        }
        b"true" => Tag::Bool(true),
        b"false" => Tag::Bool(false),
        _ => Number::parse(text).ok().and_then(|number| number.as_i64()).map_or(Tag::Other, Tag::Int),
    })
}

/// How many objects within each other are read a second time, as what they are, since they are not
/// what their tags say. Further in, one that is not makes the one around it be read so: whatever a
/// sender nests, each part of it is read this many times at most.
const AGAIN: u8 = 8;

thread_local! {
    static TRIED: Cell<u8> = const { Cell::new(0) };
}

/// One more object around whatever is read while this lives.
struct Try;

impl Try {
    fn begin() -> Option<Self> {
        let tried = TRIED.get();
        (tried < AGAIN).then(|| {
            TRIED.set(tried + 1);
            Self
        })
    }
}

impl Drop for Try {
    fn drop(&mut self) {
        TRIED.set(TRIED.get() - 1);
    }
}

/// Reads an object whose member `tag` says what it is meant to be, and that may be something else
/// nevertheless: calls `pick` with the tag's value and all members, and where `pick` knows no such
/// tag (`None`) or cannot read the members as what the tag says, `other` with the object as it came.
///
/// A second member with the name of the tag is an error.
pub fn meant<'de, A: MapAccess<'de>, T>(
    mut map: A,
    tag: &'static str,
    pick: impl FnOnce(Tag<'_>, Rest<'de, Nothing<A::Error>>) -> Option<Result<T, A::Error>>,
    other: impl FnOnce(Json) -> T,
) -> Result<T, A::Error> {
    let mut members = Vec::new();
    let mut found: Option<Cow<'de, str>> = None;
    while let Some(key) = map.next_key::<Key<'de>>()? {
        let RawText(text) = map.next_value()?;
        if key.as_str() == tag && found.replace(text.clone()).is_some() {
            return Err(A::Error::duplicate_field(tag));
        }
        members.push((key, text));
    }
    let rest = |members| Rest::new(tag, Cow::Borrowed(""), members, Nothing(PhantomData));
    let again = Try::begin();
    let picked = match &found {
        None => pick(Tag::Missing, rest(members.clone())),
        Some(text) => with_tag(text, |found| Ok(pick(found, rest(members.clone()))))?,
    };
    match picked {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) if again.is_none() => Err(error),
        _ => {
            members.iter().for_each(|(_, text)| raw::known::effort::spend(text.len()));
            Json::from_map(rest(members)).map(other)
        }
    }
}

/// No members at all.
pub struct Nothing<E>(PhantomData<fn() -> E>);

impl<'de, E: Error> MapAccess<'de> for Nothing<E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, E> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, E> {
        Err(E::custom("a value without a key"))
    }
}

/// The text of a member's value.
struct RawText<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for RawText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        raw::text(deserializer).map(Self)
    }
}

impl<'de, A> Rest<'de, A> {
    fn new(
        tag: &'static str,
        tag_text: Cow<'de, str>,
        before: Vec<(Key<'de>, Cow<'de, str>)>,
        after: A,
    ) -> Self {
        Self { tag, tag_text, with_tag: false, before: before.into_iter(), value: None, after }
    }

    /// Makes the tag itself the first member, for variants that keep the whole object.
    /// Without this call it is left out; of an object without one, nothing is.
    #[must_use]
    pub fn with_tag(mut self) -> Self {
        self.with_tag = !self.tag_text.is_empty();
        self
    }

    /// The JSON text of the tag's value; empty where the object has none.
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
