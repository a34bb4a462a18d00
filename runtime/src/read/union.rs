//! Deserialization of unions that are discriminated by a tag member ([`read_tagged`],
//! [`read_optionally_tagged`], [`read_discriminated`]) or by the JSON type ([`peek_value`]).

use std::borrow::Cow;
use std::cell::Cell;
use std::marker::PhantomData;
use std::vec;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};

use super::{FromMap, MemberKey, ObjectVisitor, ReadJson, ReadSeed};
use crate::{Json, JsonType, Number, raw};

/// The value of the tag member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagValue<'t> {
    /// A string, with escape sequences decoded.
    Text(&'t str),
    /// A boolean value.
    Bool(bool),
    /// An integer within the range of `i64`, regardless of its spelling.
    Int(i64),
    /// Any other value. [`TaggedMembers::tag_text`] returns its JSON text.
    Other,
    /// The member is absent. Only for [`read_optionally_tagged`] and [`read_discriminated`].
    Missing,
}

impl PartialEq<&str> for TagValue<'_> {
    fn eq(&self, text: &&str) -> bool {
        *self == TagValue::Text(text)
    }
}

impl PartialEq<bool> for TagValue<'_> {
    fn eq(&self, value: &bool) -> bool {
        *self == TagValue::Bool(*value)
    }
}

impl PartialEq<i64> for TagValue<'_> {
    fn eq(&self, value: &i64) -> bool {
        *self == TagValue::Int(*value)
    }
}

/// The members of a tagged object in order, without its tag.
///
/// Reading fails if the tag occurs twice.
pub struct TaggedMembers<'de, A> {
    tag: &'static str,
    tag_text: Cow<'de, str>,
    with_tag: bool,
    /// The members before the tag, each with the JSON text of its value.
    before: vec::IntoIter<(MemberKey<'de>, Cow<'de, str>)>,
    /// The JSON text of the value of the last returned key, if it is buffered.
    value: Option<Cow<'de, str>>,
    after: A,
}

/// Reads an object whose form is selected by the member `tag`. Calls `pick` with the value of the tag and the
/// other members.
///
/// Members before the tag are buffered as JSON text. If the tag is the first member, nothing is buffered or
/// copied. Fails if the tag is missing or occurs twice, or if `pick` returns an error.
pub fn read_tagged<'de, A: MapAccess<'de>, T>(
    map: A,
    tag: &'static str,
    pick: impl FnOnce(TagValue<'_>, TaggedMembers<'de, A>) -> Result<T, A::Error>,
) -> Result<T, A::Error> {
    read_optionally_tagged(map, tag, |found, rest| match found {
        TagValue::Missing => Err(A::Error::missing_field(tag)),
        found => pick(found, rest),
    })
}

/// Reads an object with an optional tag like [`read_tagged`]. If the tag is absent, calls `pick` with
/// [`TagValue::Missing`] and all members.
pub fn read_optionally_tagged<'de, A: MapAccess<'de>, T>(
    mut map: A,
    tag: &'static str,
    pick: impl FnOnce(TagValue<'_>, TaggedMembers<'de, A>) -> Result<T, A::Error>,
) -> Result<T, A::Error> {
    let mut before = Vec::new();
    while let Some(key) = map.next_key::<MemberKey<'de>>()? {
        let RawMemberValue(text) = map.next_value()?;
        if key.as_str() != tag {
            before.push((key, text));
            continue;
        }
        // Cloning borrowed text does not allocate.
        let copy = text.clone();
        return classify_tag(&copy, |found| pick(found, TaggedMembers::new(tag, text, before, map)));
    }
    pick(TagValue::Missing, TaggedMembers::new(tag, Cow::Borrowed(""), before, map))
}

/// Parses the JSON text of a tag and passes the value to `pick`.
pub(super) fn classify_tag<E: Error, T>(
    text: &str,
    pick: impl FnOnce(TagValue<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let string;
    pick(match text.as_bytes() {
        [b'"', .., b'"'] if !text.contains('\\') => TagValue::Text(&text[1..text.len() - 1]),
        [b'"', ..] => {
            string = raw::parse_value::<_, E>(Cow::Borrowed(text), ReadSeed::<String>::default())?;
            TagValue::Text(&string)
        }
        b"true" => TagValue::Bool(true),
        b"false" => TagValue::Bool(false),
        _ => {
            Number::parse(text).ok().and_then(|number| number.as_i64()).map_or(TagValue::Other, TagValue::Int)
        }
    })
}

/// The maximum number of nested objects that are read a second time because they do not match their tags.
/// Beyond this number, the enclosing object is read again instead. The constant limits how often each part of
/// the input is read, regardless of the nesting depth.
const MAX_REREADS: u8 = 8;

thread_local! {
    static REREAD_DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// A guard that counts one additional enclosing object until it is dropped.
pub(super) struct RereadGuard;

impl RereadGuard {
    pub(super) fn enter() -> Option<Self> {
        let tried = REREAD_DEPTH.get();
        (tried < MAX_REREADS).then(|| {
            REREAD_DEPTH.set(tried + 1);
            Self
        })
    }
}

impl Drop for RereadGuard {
    fn drop(&mut self) {
        REREAD_DEPTH.set(REREAD_DEPTH.get() - 1);
    }
}

/// Reads an object with a `discriminator`. The discriminator names the form of the object, but does not
/// guarantee that the object has this form.
///
/// Calls `pick` with the value of the tag and all members. If `pick` returns `None` for an unknown tag, or
/// fails to read the members in the form that the tag names, calls `other` with the complete object. Fails if
/// the tag occurs twice.
pub fn read_discriminated<'de, A: MapAccess<'de>, T>(
    mut map: A,
    tag: &'static str,
    pick: impl FnOnce(TagValue<'_>, TaggedMembers<'de, NoMembers<A::Error>>) -> Option<Result<T, A::Error>>,
    other: impl FnOnce(Json) -> T,
) -> Result<T, A::Error> {
    let mut members = Vec::new();
    let mut found: Option<Cow<'de, str>> = None;
    while let Some(key) = map.next_key::<MemberKey<'de>>()? {
        let RawMemberValue(text) = map.next_value()?;
        if key.as_str() == tag && found.replace(text.clone()).is_some() {
            return Err(A::Error::duplicate_field(tag));
        }
        members.push((key, text));
    }
    let rest = |members| TaggedMembers::new(tag, Cow::Borrowed(""), members, NoMembers(PhantomData));
    let again = RereadGuard::enter();
    let picked = match &found {
        None => pick(TagValue::Missing, rest(members.clone())),
        Some(text) => classify_tag(text, |found| Ok(pick(found, rest(members.clone()))))?,
    };
    match picked {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) if again.is_none() => Err(error),
        _ => {
            members.iter().for_each(|(_, text)| raw::json_index::read_effort::count_bytes(text.len()));
            Json::from_map(rest(members)).map(other)
        }
    }
}

/// A map access without members.
pub struct NoMembers<E>(pub(super) PhantomData<fn() -> E>);

impl<'de, E: Error> MapAccess<'de> for NoMembers<E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, E> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, E> {
        Err(E::custom("a value without a key"))
    }
}

/// The JSON text of a member's value.
pub(super) struct RawMemberValue<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for RawMemberValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        raw::read_raw_text(deserializer).map(Self)
    }
}

impl<'de, A> TaggedMembers<'de, A> {
    pub(super) fn new(
        tag: &'static str,
        tag_text: Cow<'de, str>,
        before: Vec<(MemberKey<'de>, Cow<'de, str>)>,
        after: A,
    ) -> Self {
        Self { tag, tag_text, with_tag: false, before: before.into_iter(), value: None, after }
    }

    /// Includes the tag as the first member, for variants that store the complete object. Without this call
    /// the tag is omitted. Has no effect on an object without a tag.
    #[must_use]
    pub fn with_tag(mut self) -> Self {
        self.with_tag = !self.tag_text.is_empty();
        self
    }

    /// Returns the JSON text of the tag's value, or an empty string if the object has no tag.
    #[must_use]
    pub fn tag_text(&self) -> &str {
        &self.tag_text
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaggedMembers<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let (key, value) = if std::mem::take(&mut self.with_tag) {
            (MemberKey(Cow::Borrowed(self.tag)), Some(std::mem::take(&mut self.tag_text)))
        } else if let Some((key, value)) = self.before.next() {
            (key, Some(value))
        } else {
            match self.after.next_key::<MemberKey<'de>>()? {
                Some(key) if key.as_str() == self.tag => {
                    return Err(A::Error::duplicate_field(self.tag));
                }
                Some(key) => (key, None),
                None => return Ok(None),
            }
        };
        self.value = value;
        key.deserialize_into(seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(text) => raw::parse_value(text, seed),
            None => self.after.next_value_seed(seed),
        }
    }
}

/// A value with a known JSON type that is not deserialized yet; see [`peek_value`].
pub struct PeekedValue<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<fn() -> E>,
}

/// Reads one value as JSON text, so that its type can be determined before it is deserialized.
///
/// Fails if the input is not JSON.
pub fn peek_value<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<PeekedValue<'de, D::Error>, D::Error> {
    raw::read_raw_text(deserializer).map(|text| PeekedValue { text, error: PhantomData })
}

impl<'de, E: Error> PeekedValue<'de, E> {
    /// Returns the JSON type of the value.
    #[must_use]
    pub fn json_type(&self) -> JsonType {
        JsonType::from_json_text(&self.text)
    }

    /// Returns true if the value is an empty array, or an array whose first element has one of these JSON
    /// types.
    #[must_use]
    pub fn may_have_items(&self, types: &[JsonType]) -> bool {
        let Some(items) = self.text.strip_prefix('[') else { return false };
        let first = items.trim_start();
        first.starts_with(']') || types.contains(&JsonType::from_json_text(first))
    }

    /// Returns the JSON text of the value.
    #[must_use]
    pub fn json_text(&self) -> &str {
        &self.text
    }

    /// Deserializes the value. Fails if `T::read_json` fails, with a message without input data, or if the
    /// value is nested too deeply.
    pub fn read_value<T: ReadJson<'de>>(&self) -> Result<T, E> {
        raw::parse_value(self.text.clone(), ReadSeed::<T>::default())
    }

    /// Deserializes an object from its members. Fails as [`read_value`](Self::read_value) does.
    pub fn read_object<T: FromMap<'de>>(&self) -> Result<T, E> {
        raw::parse_value(self.text.clone(), ObjectVisitor(PhantomData))
    }

    /// Returns the error for a value of the wrong type, such as `invalid type: string, expected …`.
    #[must_use]
    pub fn type_error(&self, expected: &'static str) -> E {
        raw::type_mismatch(&self.text, expected)
    }
}
