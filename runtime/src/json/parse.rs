//! [`Json::parse`](super::Json::parse): what the reader of `text` finds, as values. What is deeper
//! than every stack is read again on one that holds it (`depth`).

use std::ops::Range;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::text::{self, Build, Failure, Key, Parsed};
use super::{Json, JsonError, JsonErrorKind, Object};
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
    text::read(text, depth, &mut Values)
}

/// Makes [`Json`].
struct Values;

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
        if object.contains_key(key) { Key::Refused } else { Key::Taken }
    }

    #[inline]
    fn member(&mut self, object: &mut Object, key: String, _: Range<usize>, value: Json) {
        object.push(key, value);
    }

    #[inline]
    fn object(&mut self, object: Object, _: Range<usize>) -> Json {
        Json::Object(object)
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
        parse_failing(text.as_bytes(), depth::held(&text)).map_err(|failure| D::Error::custom(failure.kind))
    }
}
