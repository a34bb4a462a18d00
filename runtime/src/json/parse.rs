//! [`Json::parse`](super::Json::parse): what the reader of `text` finds, as values. What is deeper
//! than every stack is read again on one that holds it (`depth`).

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::text::{self, Build, Failure, Key, Parsed, Step};
use super::{Json, JsonError, JsonErrorKind, Object};
use crate::map::Name;
use crate::text::same;
use crate::{Number, depth, raw};

pub(super) fn parse(bytes: &[u8], depth: usize) -> Result<Json, JsonError> {
    let here = depth.min(depth::SHALLOW);
    parse_failing(bytes, here)
        .or_else(|failure| match failure.kind {
            JsonErrorKind::TooDeep if here < depth => {
                // No more stack than the text can use.
                let levels = depth::of(bytes).min(depth);
                depth::apart(bytes, levels, || parse_failing(bytes, levels)).unwrap_or(Err(failure))
            }
            _ => Err(failure),
        })
        .map_err(|failure| failure.locate(bytes))
}

fn parse_failing(bytes: &[u8], depth: usize) -> Parsed<Json> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(Failure::new(JsonErrorKind::ByteOrderMark, 0));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Failure::new(JsonErrorKind::NotUtf8, error.valid_up_to()))?;
    text::read(text, depth, &mut Values::of_document())
}

/// Makes [`Json`].
#[derive(Default)]
struct Values {
    names: Names,
    /// How many values there are around the one that is being read.
    depth: usize,
    /// How many members the last object at each of the outer depths had: the next one is mostly
    /// another of its kind. What they hold room for is never more than there was before them.
    sizes: [usize; 8],
}

impl Values {
    /// For a whole document, whose objects often have the names of others.
    fn of_document() -> Self {
        Self { names: Names(vec![None; 32]), ..Self::default() }
    }
}

/// Names of members that were read before, each at a place of its own or instead of another, so
/// that not every object needs texts of its own for them. None are kept where there are no places.
#[derive(Default)]
struct Names(Vec<Option<Name>>);

impl Names {
    #[inline]
    fn share(&mut self, name: &str) -> Name {
        let bytes = name.as_bytes();
        let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
        let place = bytes.len() ^ usize::from(first) ^ (usize::from(last) << 2);
        match self.0.get_mut(place % 32) {
            Some(Some(known)) if same(known, name) => Name::clone(known),
            Some(place) => Name::clone(place.insert(name.into())),
            None => name.into(),
        }
    }
}

/// So many members find room without being counted.
const FEW: usize = 4;

impl Build for Values {
    type Value = Json;
    type Array = Vec<Json>;
    type Object = Object;

    #[inline]
    fn null(&mut self, _: Range<usize>) -> Json {
        Json::Null
    }

    #[inline]
    fn boolean(&mut self, value: bool, _: Range<usize>) -> Json {
        Json::Bool(value)
    }

    #[inline]
    fn number(&mut self, text: &str, _: Range<usize>) -> Option<Json> {
        Number::parse(text).ok().map(Json::Number)
    }

    #[inline]
    fn string(&mut self, text: String, _: Range<usize>) -> Json {
        Json::String(text)
    }

    #[inline]
    fn element(&mut self, array: &mut Self::Array, value: Json) {
        array.push(value);
    }

    #[inline]
    fn array(&mut self, array: Self::Array, _: Range<usize>) -> Json {
        Json::Array(array)
    }

    #[inline]
    fn key(&mut self, object: &mut Object, key: &str, _: Range<usize>) -> Key {
        if object.get_full(key).is_some() { Key::Refused } else { Key::Taken }
    }

    #[inline]
    fn member(&mut self, object: &mut Object, key: Cow<'_, str>, _: Range<usize>, value: Json) {
        if object.is_empty()
            && let Some(&size) = self.sizes.get(self.depth)
            && size > FEW
        {
            object.reserve(size);
        }
        object.push(self.names.share(&key), value);
    }

    #[inline]
    fn object(&mut self, object: Object, _: Range<usize>) -> Json {
        if let Some(size) = self.sizes.get_mut(self.depth) {
            *size = object.len();
        }
        Json::Object(object)
    }

    #[inline]
    fn enter(&mut self, _: Step<'_>) {
        self.depth += 1;
    }

    #[inline]
    fn leave(&mut self) {
        self.depth -= 1;
    }
}

impl FromStr for Json {
    type Err = JsonError;

    /// Same as [`Json::parse`].
    fn from_str(text: &str) -> Result<Self, JsonError> {
        parse(text.as_bytes(), depth::DEFAULT)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// From `serde_json` only; as strict as [`Json::parse`], except that `serde_json`
    /// decides about the text around the value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = raw::text(deserializer)?;
        text::read(&text, depth::held(&text), &mut Values::default())
            .map_err(|failure| D::Error::custom(failure.kind))
    }
}
