//! [`Json::parse`](super::Json::parse): builds [`Json`] values with the parser of [`parser`](super::parser).
//! A document that is too deep for the current stack is parsed again on a larger one ([`depth`]).

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::parser::{self, JsonBuilder, KeyDecision, ParseFailure, ParseResult, PathStep};
use super::{Json, JsonError, JsonErrorKind, JsonObject};
use crate::map::SharedName;
use crate::text::str_eq;
use crate::{Number, depth, raw};

pub(super) fn parse_json(bytes: &[u8], depth: usize) -> Result<Json, JsonError> {
    let here = depth.min(depth::SHALLOW_DEPTH);
    parse_bytes(bytes, here)
        .or_else(|failure| match failure.kind {
            JsonErrorKind::TooDeep if here < depth => {
                // The new stack is not larger than the document needs.
                let levels = depth::measure_depth(bytes).min(depth);
                depth::read_on_new_stack(bytes, levels, || parse_bytes(bytes, levels)).unwrap_or(Err(failure))
            }
            _ => Err(failure),
        })
        .map_err(|failure| failure.with_location(bytes))
}

fn parse_bytes(bytes: &[u8], depth: usize) -> ParseResult<Json> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(ParseFailure::new(JsonErrorKind::ByteOrderMark, 0));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ParseFailure::new(JsonErrorKind::NotUtf8, error.valid_up_to()))?;
    parser::parse_unlocated(text, depth, &mut JsonValueBuilder::for_document())
}

/// The [`JsonBuilder`] that constructs [`Json`] values.
#[derive(Default)]
struct JsonValueBuilder {
    names: NameCache,
    /// The number of values that enclose the current one.
    depth: usize,
    /// For each of the outer depths, the number of members of the last object at this depth. It is the
    /// capacity hint for the next object, which usually has the same members. The total capacity never
    /// exceeds the size of the values parsed before.
    sizes: [usize; 8],
}

impl JsonValueBuilder {
    /// Creates a builder for a complete document, whose objects often have the same keys.
    fn for_document() -> Self {
        Self { names: NameCache(vec![None; 32]), ..Self::default() }
    }
}

/// A cache of recently parsed keys with a fixed number of slots, so that objects can share their keys.
/// Without slots, nothing is cached.
#[derive(Default)]
struct NameCache(Vec<Option<SharedName>>);

impl NameCache {
    #[inline]
    fn intern(&mut self, name: &str) -> SharedName {
        let bytes = name.as_bytes();
        let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
        let place = bytes.len() ^ usize::from(first) ^ (usize::from(last) << 2);
        match self.0.get_mut(place % 32) {
            Some(Some(known)) if str_eq(known, name) => SharedName::clone(known),
            Some(place) => SharedName::clone(place.insert(name.into())),
            None => name.into(),
        }
    }
}

/// Objects with up to this many members get no capacity hint.
const MAX_UNRESERVED: usize = 4;

impl JsonBuilder for JsonValueBuilder {
    type Value = Json;
    type Array = Vec<Json>;
    type Object = JsonObject;

    #[inline]
    fn build_null(&mut self, _: Range<usize>) -> Json {
        Json::Null
    }

    #[inline]
    fn build_bool(&mut self, value: bool, _: Range<usize>) -> Json {
        Json::Bool(value)
    }

    #[inline]
    fn build_number(&mut self, text: &str, _: Range<usize>) -> Option<Json> {
        Number::parse(text).ok().map(Json::Number)
    }

    #[inline]
    fn build_string(&mut self, text: String, _: Range<usize>) -> Json {
        Json::String(text)
    }

    #[inline]
    fn push_element(&mut self, array: &mut Self::Array, value: Json) {
        array.push(value);
    }

    #[inline]
    fn finish_array(&mut self, array: Self::Array, _: Range<usize>) -> Json {
        Json::Array(array)
    }

    #[inline]
    fn check_key(&mut self, object: &mut JsonObject, key: &str, _: Range<usize>) -> KeyDecision {
        if object.get_full(key).is_some() { KeyDecision::Duplicate } else { KeyDecision::Accepted }
    }

    #[inline]
    fn insert_member(&mut self, object: &mut JsonObject, key: Cow<'_, str>, _: Range<usize>, value: Json) {
        if object.is_empty()
            && let Some(&size) = self.sizes.get(self.depth)
            && size > MAX_UNRESERVED
        {
            object.reserve(size);
        }
        object.push(self.names.intern(&key), value);
    }

    #[inline]
    fn finish_object(&mut self, object: JsonObject, _: Range<usize>) -> Json {
        if let Some(size) = self.sizes.get_mut(self.depth) {
            *size = object.len();
        }
        Json::Object(object)
    }

    #[inline]
    fn enter_value(&mut self, _: PathStep<'_>) {
        self.depth += 1;
    }

    #[inline]
    fn leave_value(&mut self) {
        self.depth -= 1;
    }
}

impl FromStr for Json {
    type Err = JsonError;

    /// Same as [`Json::parse`].
    fn from_str(text: &str) -> Result<Self, JsonError> {
        parse_json(text.as_bytes(), depth::DEFAULT_DEPTH)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Accepts only the deserializer of `serde_json`. As strict as [`Json::parse`], except that `serde_json`
    /// parses the text around the value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = raw::read_raw_text(deserializer)?;
        parser::parse_unlocated(&text, depth::stack_levels(&text), &mut JsonValueBuilder::default())
            .map_err(|failure| D::Error::custom(failure.kind))
    }
}
