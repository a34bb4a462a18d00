//! Reads a JSON text by where its arrays and objects end, which is found out once.
//!
//! Who looks at a value before reading it takes its text, and what stands in there may be looked at
//! in the same way. If each level had a parser of its own, all that is left would be gone through
//! again at each, as often as the sender nests. So the outermost text is gone through once, and
//! whatever stands in it is found from then on. What is no array and no object is left to
//! `serde_json`, which has also seen that the text is JSON.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Error;

use super::{follow, raw_value_name};
use crate::depth;

thread_local! {
    static OUTLINE: RefCell<Outline> = const { RefCell::new(Outline::NOTHING) };
}

/// Where the text lies that is being read on this thread, and where each of its arrays and objects
/// does, in the order in which they begin: addresses, so that any part of the text finds itself.
struct Outline {
    text: Range<usize>,
    containers: Vec<Range<usize>>,
    /// How many of them stand in one another.
    depth: usize,
}

impl Outline {
    const NOTHING: Self = Self { text: 0..0, containers: Vec::new(), depth: 0 };

    fn of(text: &str) -> Self {
        let place = place(text);
        let mut containers: Vec<Range<usize>> = Vec::new();
        let (mut open, mut depth) = (Vec::new(), 0);
        let mut at = 0;
        while let Some(byte) = text.as_bytes().get(at) {
            let here = place.start + at;
            match byte {
                b'"' => {
                    at = string_end(text, at);
                    continue;
                }
                b'[' | b'{' => {
                    open.push(containers.len());
                    containers.push(here..here);
                    depth = depth.max(open.len());
                }
                b']' | b'}' => {
                    if let Some(container) = open.pop().and_then(|index| containers.get_mut(index)) {
                        container.end = here + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        effort::spend(text.len());
        Self { text: place, containers, depth }
    }

    /// Where the array or object ends that begins there.
    fn end(&self, start: usize) -> Option<usize> {
        let index = self.containers.binary_search_by_key(&start, |container| container.start).ok()?;
        self.containers.get(index).map(|container| container.end)
    }
}

/// Puts the outline that was there before back into its place.
struct Before(Outline);

impl Drop for Before {
    fn drop(&mut self) {
        OUTLINE.replace(std::mem::replace(&mut self.0, Outline::NOTHING));
    }
}

/// Whether a text is part of the one that is being read.
pub(super) fn is_known(text: &str) -> bool {
    let place = place(text);
    OUTLINE.with_borrow(|outline| outline.text.start <= place.start && place.end <= outline.text.end)
}

/// Reads a value from its text, which is JSON. Fails also when it is deeper than this thread's stack
/// holds.
pub(super) fn read<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Result<S::Value, Error> {
    let known = Known(text);
    if !known.is_container() || is_known(text) {
        return seed.deserialize(known);
    }
    let outline = Outline::of(text);
    if outline.depth > depth::held(text) {
        return Err(Error::custom("nested too deeply"));
    }
    let _before = Before(OUTLINE.replace(outline));
    seed.deserialize(known)
}

fn place(text: &str) -> Range<usize> {
    let Range { start, end } = text.as_bytes().as_ptr_range();
    start.addr()..end.addr()
}

/// Behind the string that begins there.
fn string_end(text: &str, start: usize) -> usize {
    let mut bytes = text.bytes().enumerate().skip(start + 1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    text.len()
}

/// A value of the text that is being read.
struct Known<'de>(&'de str);

impl<'de> Known<'de> {
    fn is_container(&self) -> bool {
        self.0.starts_with(['[', '{'])
    }

    fn items<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inside = Inside { text: self.0, at: 1 };
        let value = visitor.visit_seq(&mut inside)?;
        inside.end().map(|()| value)
    }

    fn members<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inside = Inside { text: self.0, at: 1 };
        let value = visitor.visit_map(&mut inside)?;
        inside.end().map(|()| value)
    }

    /// Leaves the value to `serde_json`, also what is no form of JSON at all.
    fn by_serde_json<T>(
        self,
        read: impl FnOnce(&mut BySerdeJson<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        effort::spend(self.0.len());
        let mut deserializer = serde_json::Deserializer::from_str(self.0);
        follow(&mut deserializer, self.0);
        let value = read(&mut deserializer)?;
        deserializer.end().map(|()| value)
    }
}

type BySerdeJson<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

macro_rules! left_to_serde_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.by_serde_json(|json| json.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Known<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_bytes() {
            [b'[', ..] => self.items(visitor),
            [b'{', ..] => self.members(visitor),
            _ => self.by_serde_json(|json| json.deserialize_any(visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_bytes() {
            [b'[', ..] => self.items(visitor),
            _ => self.by_serde_json(|json| json.deserialize_seq(visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_bytes() {
            [b'{', ..] => self.members(visitor),
            _ => self.by_serde_json(|json| json.deserialize_map(visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.is_container() {
            return self.deserialize_any(visitor);
        }
        self.by_serde_json(|json| json.deserialize_struct(name, fields, visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            "null" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match raw_value_name() {
            // A raw value presents itself as a map of one entry.
            Some(raw) if raw == name => visitor.visit_map(Raw { name: Some(name), text: self.0 }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.by_serde_json(|json| json.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.by_serde_json(|json| json.deserialize_unit_struct(name, visitor))
    }

    left_to_serde_json! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_unit deserialize_identifier
    }
}

/// The elements of an array or the members of an object, from a place on.
struct Inside<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Inside<'de> {
    /// The next key or value; `None` behind the last.
    fn next(&mut self) -> Result<Option<Known<'de>>, Error> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b':') = bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let end = match bytes.get(start) {
            Some(b']' | b'}') => return Ok(None),
            Some(b'"') => Some(string_end(self.text, start)),
            Some(b'[' | b'{') => {
                let base = place(self.text).start;
                OUTLINE.with_borrow(|outline| outline.end(base + start)).map(|end| end - base)
            }
            Some(_) => {
                let rest = bytes.iter().skip(start);
                let behind = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b']' | b'}');
                rest.clone().position(behind).map(|length| start + length)
            }
            None => None,
        };
        let value = end.and_then(|end| {
            self.at = end;
            let value = self.text.get(start..end)?;
            effort::spend(if value.starts_with(['[', '{']) { 1 } else { value.len() });
            Some(value)
        });
        value.map(|value| Some(Known(value))).ok_or_else(|| Error::custom("EOF while parsing a value"))
    }

    /// Fails when its reader left something.
    fn end(&mut self) -> Result<(), Error> {
        match self.next()? {
            None => Ok(()),
            Some(_) => Err(Error::custom("trailing characters")),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Inside<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.next()?.map(|item| seed.deserialize(item)).transpose()
    }
}

impl<'de> MapAccess<'de> for &mut Inside<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next()?.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.next()?.ok_or_else(|| Error::custom("EOF while parsing a value"))?;
        seed.deserialize(value)
    }
}

/// The text itself, as `serde_json` hands it over.
struct Raw<'de> {
    name: Option<&'static str>,
    text: &'de str,
}

impl<'de> MapAccess<'de> for Raw<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.name.take().map(|name| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text))
    }
}

/// How many bytes are looked at, for the tests that hold it to the length of a document.
pub(crate) mod effort {
    #[cfg(test)]
    thread_local! {
        static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// So many bytes were looked at.
    #[inline]
    pub(crate) fn spend(bytes: usize) {
        #[cfg(test)]
        SPENT.set(SPENT.get() + bytes);
        let _ = bytes;
    }

    /// A text was looked at to its end, unless that was known.
    #[inline]
    pub(crate) fn spend_on(text: &str) {
        #[cfg(test)]
        spend(if super::is_known(text) { 0 } else { text.len() });
        let _ = text;
    }

    /// How many were looked at on this thread meanwhile.
    #[cfg(test)]
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> usize {
        let before = SPENT.get();
        work();
        SPENT.get() - before
    }
}
