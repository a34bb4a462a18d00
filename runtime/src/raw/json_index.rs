//! Deserializes a JSON text with an index of its arrays and objects, which is built once.
//!
//! Code that inspects a value before reading it first obtains the text of the value, and may do the same for
//! nested values. With a new parser for each level, the rest of the text would be scanned again at every
//! level. Therefore the outermost text is scanned once, and later lookups use the index. Scalars are
//! delegated to `serde_json`, which has also verified that the text is valid JSON.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Error;

use super::{allow_known_depth, raw_value_name};
use crate::depth;

thread_local! {
    static CURRENT_INDEX: RefCell<JsonIndex> = const { RefCell::new(JsonIndex::EMPTY) };
}

/// The addresses of the text that this thread is reading, and of each array and object in it, ordered by
/// their start. The addresses are absolute, so that the entry for any slice of the text can be found.
struct JsonIndex {
    text: Range<usize>,
    containers: Vec<Range<usize>>,
    /// The maximum nesting depth of the containers.
    depth: usize,
}

impl JsonIndex {
    const EMPTY: Self = Self { text: 0..0, containers: Vec::new(), depth: 0 };

    fn build(text: &str) -> Self {
        let place = address_range(text);
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
        read_effort::count_bytes(text.len());
        Self { text: place, containers, depth }
    }

    /// Returns the end of the array or object that starts at this address.
    fn container_end(&self, start: usize) -> Option<usize> {
        let index = self.containers.binary_search_by_key(&start, |container| container.start).ok()?;
        self.containers.get(index).map(|container| container.end)
    }
}

/// A guard that restores the previous index when it is dropped.
struct IndexGuard(JsonIndex);

impl Drop for IndexGuard {
    fn drop(&mut self) {
        CURRENT_INDEX.replace(std::mem::replace(&mut self.0, JsonIndex::EMPTY));
    }
}

/// Returns true if `text` is a slice of the text that the current index covers.
pub(super) fn is_indexed(text: &str) -> bool {
    let place = address_range(text);
    CURRENT_INDEX.with_borrow(|outline| outline.text.start <= place.start && place.end <= outline.text.end)
}

/// Deserializes a value from valid JSON text. Fails if the text is nested more deeply than this thread's
/// stack can hold.
pub(super) fn read_indexed<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Result<S::Value, Error> {
    let known = IndexedValue(text);
    if !known.is_container() || is_indexed(text) {
        return seed.deserialize(known);
    }
    let outline = JsonIndex::build(text);
    if outline.depth > depth::stack_levels(text) {
        return Err(Error::custom("nested too deeply"));
    }
    let _before = IndexGuard(CURRENT_INDEX.replace(outline));
    seed.deserialize(known)
}

fn address_range(text: &str) -> Range<usize> {
    let Range { start, end } = text.as_bytes().as_ptr_range();
    start.addr()..end.addr()
}

/// Returns the offset after the string that starts at `start`.
fn string_end(text: &str, start: usize) -> usize {
    let mut bytes = text.bytes().enumerate().skip(start + 1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return index + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    text.len()
}

/// A value within the indexed text.
struct IndexedValue<'de>(&'de str);

impl<'de> IndexedValue<'de> {
    fn is_container(&self) -> bool {
        self.0.starts_with(['[', '{'])
    }

    fn visit_array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inside = ContainerReader { text: self.0, at: 1 };
        let value = visitor.visit_seq(&mut inside)?;
        inside.expect_end().map(|()| value)
    }

    fn visit_object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut inside = ContainerReader { text: self.0, at: 1 };
        let value = visitor.visit_map(&mut inside)?;
        inside.expect_end().map(|()| value)
    }

    /// Delegates the value to `serde_json`, including text that is not valid JSON.
    fn with_serde_json<T>(
        self,
        read: impl FnOnce(&mut StrDeserializer<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        read_effort::count_bytes(self.0.len());
        let mut deserializer = serde_json::Deserializer::from_str(self.0);
        allow_known_depth(&mut deserializer, self.0);
        let value = read(&mut deserializer)?;
        deserializer.end().map(|()| value)
    }
}

type StrDeserializer<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

macro_rules! delegate_to_serde_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.with_serde_json(|json| json.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for IndexedValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_bytes() {
            [b'[', ..] => self.visit_array(visitor),
            [b'{', ..] => self.visit_object(visitor),
            _ => self.with_serde_json(|json| json.deserialize_any(visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.as_bytes() {
            [b'[', ..] => self.visit_array(visitor),
            _ => self.with_serde_json(|json| json.deserialize_seq(visitor)),
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
            [b'{', ..] => self.visit_object(visitor),
            _ => self.with_serde_json(|json| json.deserialize_map(visitor)),
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
        self.with_serde_json(|json| json.deserialize_struct(name, fields, visitor))
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
            // `serde_json` presents a raw value as a map with one entry.
            Some(raw) if raw == name => visitor.visit_map(RawValueAccess { name: Some(name), text: self.0 }),
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
        self.with_serde_json(|json| json.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.with_serde_json(|json| json.deserialize_unit_struct(name, visitor))
    }

    delegate_to_serde_json! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_unit deserialize_identifier
    }
}

/// A cursor over the elements of an array or the members of an object.
struct ContainerReader<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> ContainerReader<'de> {
    /// Returns the next key or value, or `None` after the last one.
    fn next_part(&mut self) -> Result<Option<IndexedValue<'de>>, Error> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b':') = bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let end = match bytes.get(start) {
            Some(b']' | b'}') => return Ok(None),
            Some(b'"') => Some(string_end(self.text, start)),
            Some(b'[' | b'{') => {
                let base = address_range(self.text).start;
                CURRENT_INDEX.with_borrow(|outline| outline.container_end(base + start)).map(|end| end - base)
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
            read_effort::count_bytes(if value.starts_with(['[', '{']) { 1 } else { value.len() });
            Some(value)
        });
        value.map(|value| Some(IndexedValue(value))).ok_or_else(|| Error::custom("EOF while parsing a value"))
    }

    /// Fails if the visitor did not read all elements or members.
    fn expect_end(&mut self) -> Result<(), Error> {
        match self.next_part()? {
            None => Ok(()),
            Some(_) => Err(Error::custom("trailing characters")),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut ContainerReader<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.next_part()?.map(|item| seed.deserialize(item)).transpose()
    }
}

impl<'de> MapAccess<'de> for &mut ContainerReader<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next_part()?.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.next_part()?.ok_or_else(|| Error::custom("EOF while parsing a value"))?;
        seed.deserialize(value)
    }
}

/// The text of a value, in the form in which `serde_json` presents a raw value.
struct RawValueAccess<'de> {
    name: Option<&'static str>,
    text: &'de str,
}

impl<'de> MapAccess<'de> for RawValueAccess<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.name.take().map(|name| seed.deserialize(BorrowedStrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text))
    }
}

/// Counters of scanned bytes. Tests use them to verify that the work stays linear in the length of a
/// document.
pub(crate) mod read_effort {
    #[cfg(test)]
    thread_local! {
        static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// Adds to the number of scanned bytes.
    #[inline]
    pub(crate) fn count_bytes(bytes: usize) {
        #[cfg(test)]
        SPENT.set(SPENT.get() + bytes);
        let _ = bytes;
    }

    /// Adds the length of a text that was scanned to its end, unless the text is indexed.
    #[inline]
    pub(crate) fn count_text(text: &str) {
        #[cfg(test)]
        count_bytes(if super::is_indexed(text) { 0 } else { text.len() });
        let _ = text;
    }

    /// Returns the number of bytes that `work` scanned on this thread.
    #[cfg(test)]
    pub(crate) fn measure_bytes<T>(work: impl FnOnce() -> T) -> usize {
        let before = SPENT.get();
        work();
        SPENT.get() - before
    }
}
