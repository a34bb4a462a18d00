//! Reads values from pairs with bracketed names: `filter[range][from]=1`, `tags[]=a`, `items[0][price]=1`.
//!
//! Reading is more tolerant than the convention. It accepts lists in any notation, and JSON in place of a
//! list or an object. The convention only resolves ambiguities.

use std::collections::BTreeMap;

use super::attempt::{FoundValue, ReadAttempt, UnreadableText, parse_json};
use super::brackets::{group_elements, is_index};
use super::query::decode_query;
use super::{ArrayNotation, Parameter, QueryPairs, ScalarType, ValueShape, WireConvention};
use crate::{Json, Map, depth};

/// A pair, consisting of its path below the value that is read and of its encoded value.
type Entry<'a> = (&'a [&'a str], &'a str);

type ReadResult = Result<Json, UnreadableText>;

/// A reader of one interpretation of a value.
#[derive(Clone, Copy)]
struct BracketReader {
    attempt: ReadAttempt,
    convention: WireConvention,
}

impl ReadAttempt {
    /// Reads the value from all pairs of the parameter. `claimed` returns true for names that belong to other
    /// parameters.
    pub(super) fn read_brackets(
        self,
        parameter: &Parameter,
        convention: WireConvention,
        pairs: &QueryPairs<'_>,
        claimed: &dyn Fn(&str) -> bool,
    ) -> FoundValue {
        let matching = pairs
            .iter()
            .filter(|(name, _)| parameter.owns_name(name) && (*name == parameter.name || !claimed(name)));
        let split = matching.map(|(name, raw)| {
            let path = split_brackets(name.strip_prefix(parameter.name)?)?;
            // Each step of the path is a nesting level below the value itself.
            (path.len() < depth::DEFAULT_DEPTH).then_some((path, raw))
        });
        let paths: Vec<(Vec<&str>, &str)> = split.collect::<Option<_>>().ok_or(UnreadableText)?;
        if paths.is_empty() {
            return Ok(None);
        }
        let entries: Vec<Entry<'_>> = paths.iter().map(|(path, raw)| (path.as_slice(), *raw)).collect();
        BracketReader { attempt: self, convention }.read(self.shape, &entries).map(Some)
    }
}

/// Splits `[a][b]` into its steps. Returns `None` if the brackets do not match.
fn split_brackets(below: &str) -> Option<Vec<&str>> {
    below.split_inclusive(']').map(|step| step.strip_prefix('[')?.strip_suffix(']')).collect()
}

/// Returns true if every path begins with the brackets of a list element, `[0]` or `[]`.
fn is_list_like(entries: &[Entry<'_>]) -> bool {
    entries.iter().all(|(path, _)| path.first().is_some_and(|step| is_index(step)))
}

impl BracketReader {
    fn read(self, shape: ValueShape, entries: &[Entry<'_>]) -> ReadResult {
        match shape {
            shape if shape.is_untyped() => self.read_any(ScalarType::Any, entries),
            ValueShape::OneOf(shapes) => self.read_choice(shape, shapes, entries),
            ValueShape::Array(_) | ValueShape::List(_) => self.read_list(shape, entries),
            ValueShape::Object(_) | ValueShape::Map(..) | ValueShape::MapOf(..) => {
                self.read_object(shape, entries)
            }
            ValueShape::Scalar(scalar) => match entries {
                [([], raw)] => self.attempt.read_nested(scalar, raw, decode_query),
                // The schema rejects this value.
                _ if entries.iter().all(|(path, _)| !path.is_empty()) => {
                    self.read_any(ScalarType::Text, entries)
                }
                // The request contains several values, so the value is ambiguous.
                _ => Err(UnreadableText),
            },
            ValueShape::Json | ValueShape::Form(..) => Err(UnreadableText),
        }
    }

    fn read_list(self, shape: ValueShape, entries: &[Entry<'_>]) -> ReadResult {
        let repeated =
            self.convention.arrays == ArrayNotation::Repeat && matches!(shape, ValueShape::Array(_));
        match entries {
            [([], "")] if !repeated => return Ok(Json::Array(Vec::new())),
            [([], raw)] if matches!(shape, ValueShape::List(_)) => match self.read_json(raw)? {
                Some(list @ Json::Array(_)) => return Ok(list),
                // A comma inside of a JSON object separates no elements.
                Some(Json::Object(_)) => {}
                _ if self.convention.arrays == ArrayNotation::Comma => return self.read_joined(shape, raw),
                _ => {}
            },
            [([], raw)] if self.convention.arrays == ArrayNotation::Comma => {
                return self.read_joined(shape, raw);
            }
            _ => {}
        }
        self.read_elements(shape.element(), entries, &|element, entries| self.read(element, entries))
    }

    /// Parses a string as JSON. Returns `None` if it is not JSON.
    fn read_json(self, raw: &str) -> Result<Option<Json>, UnreadableText> {
        let text = decode_query(raw).ok_or(UnreadableText)?;
        Ok(parse_json(&text).ok())
    }

    /// Reads the elements of a list that are separated by commas.
    fn read_joined(self, shape: ValueShape, raw: &str) -> ReadResult {
        let items = raw.split(',').map(|item| self.read(shape.element(), &[(&[], item)]));
        items.collect::<Result<_, _>>().map(Json::Array)
    }

    /// Reads the elements of a list.
    fn read_elements(
        self,
        element: ValueShape,
        entries: &[Entry<'_>],
        read: &dyn Fn(ValueShape, &[Entry<'_>]) -> ReadResult,
    ) -> ReadResult {
        let paths: Vec<&[&str]> = entries.iter().map(|(path, _)| *path).collect();
        let (elements, taken) = group_elements(&paths, element).ok_or(UnreadableText)?;
        let items = elements.iter().map(|pairs| {
            let matching: Vec<Entry<'_>> = pairs
                .iter()
                .filter_map(|&at| {
                    let (path, raw) = *entries.get(at)?;
                    Some((path.get(*taken.get(at)?..)?, raw))
                })
                .collect();
            read(element, &matching)
        });
        items.collect::<Result<_, _>>().map(Json::Array)
    }

    fn read_object(self, shape: ValueShape, entries: &[Entry<'_>]) -> ReadResult {
        match entries {
            [([], "")] => Ok(Json::Object(Map::new())),
            [([], raw)] => self.attempt.read_nested(ScalarType::Json, raw, decode_query),
            _ => self.read_members(entries, &|name, below| match shape.member(name) {
                Some(shape) => self.read(shape, below),
                // Undeclared members are strings.
                None => self.read_any(ScalarType::Text, below),
            }),
        }
    }

    /// Reads members, in the order in which their names first occur.
    fn read_members(
        self,
        entries: &[Entry<'_>],
        read: &dyn Fn(&str, &[Entry<'_>]) -> ReadResult,
    ) -> ReadResult {
        let mut indices: BTreeMap<&str, usize> = BTreeMap::new();
        let mut members: Vec<(&str, Vec<Entry<'_>>)> = Vec::new();
        for (path, raw) in entries {
            let (name, below) = path.split_first().ok_or(UnreadableText)?;
            if name.is_empty() {
                return Err(UnreadableText);
            }
            let at = *indices.entry(name).or_insert_with(|| {
                members.push((name, Vec::new()));
                members.len() - 1
            });
            if let Some((_, member)) = members.get_mut(at) {
                member.push((below, raw));
            }
        }
        let values = members.iter().map(|(name, member)| Ok(((*name).to_owned(), read(name, member)?)));
        values.collect::<Result<Map<Json>, _>>().map(Json::Object)
    }

    /// Reads a value without a schema. `scalar` is the type of its strings.
    fn read_any(self, scalar: ScalarType, entries: &[Entry<'_>]) -> ReadResult {
        match entries {
            [([], raw)] => self.attempt.read_nested(scalar, raw, decode_query),
            _ if is_list_like(entries) || entries.iter().all(|(path, _)| path.is_empty()) => {
                let any = ValueShape::Scalar(ScalarType::Any);
                self.read_elements(any, entries, &|_, entries| self.read_any(scalar, entries))
            }
            _ => self.read_members(entries, &|_, below| self.read_any(scalar, below)),
        }
    }

    /// Reads one of several shapes. Lists and objects are recognized by their brackets.
    fn read_choice(self, choice: ValueShape, shapes: &[ValueShape], entries: &[Entry<'_>]) -> ReadResult {
        let list = shapes.iter().copied().find(|shape| shape.may_be_list());
        let scalar = shapes.iter().copied().find(|shape| matches!(shape, ValueShape::Scalar(_)));
        let object = shapes.iter().copied().find(|shape| {
            matches!(shape, ValueShape::Object(_) | ValueShape::Map(..) | ValueShape::MapOf(..))
        });
        let chosen = match entries {
            [([], raw)] => {
                let joined = self.convention.arrays == ArrayNotation::Comma && raw.contains(',');
                let value = scalar.filter(|_| !(joined && list.is_some())).map(|it| self.read(it, entries));
                match value {
                    // The string does not represent any of the scalar types.
                    Some(Ok(Json::String(_))) if !choice.may_be_string() => list.or(object).or(scalar),
                    Some(value) => return value,
                    None => list.or(object),
                }
            }
            _ if is_list_like(entries) || entries.iter().all(|(path, _)| path.is_empty()) => {
                list.or(object).or(scalar)
            }
            _ => object.or(list).or(scalar),
        };
        self.read(chosen.ok_or(UnreadableText)?, entries)
    }
}
