//! Encodes values as pairs with bracketed names, by a [`WireConvention`]. Values that the server could not
//! decode unambiguously are rejected.

use super::brackets::{group_elements, is_index};
use super::encode::{EncodeResult, percent_encode, unencodable, value_to_string};
use super::{ArrayNotation, NestedNotation, Parameter, ValueShape, WireConvention};
use crate::{Json, Map, violation::InstancePath};

/// Encodes a value. An empty list or object that is not required is omitted.
pub(super) fn write_brackets(
    parameter: &Parameter,
    convention: WireConvention,
    value: &Json,
) -> EncodeResult<Vec<(String, String)>> {
    let is_empty = match value {
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.iter().all(|(_, value)| value.is_null()),
        _ => false,
    };
    if is_empty && !parameter.required {
        return Ok(Vec::new());
    }
    let mut writer = BracketWriter { parameter, convention, path: Vec::new(), pairs: Vec::new() };
    writer.write_value(parameter.shape, value, &InstancePath::Root)?;
    let name = percent_encode(parameter.name, &[]);
    let pairs = writer.pairs.into_iter().map(|(path, value)| {
        let steps = path.iter().map(|step| format!("%5B{}%5D", percent_encode(step, &[])));
        (steps.fold(name.clone(), |name, step| name + &step), value)
    });
    Ok(pairs.collect())
}

/// Returns true if the elements, joined by commas, form a JSON array, or if there are several elements and
/// they form one JSON object. The server would read that value instead of the elements.
fn is_joined_json(texts: &[String]) -> bool {
    if !texts.first().is_some_and(|text| text.trim_start().starts_with(['[', '{'])) {
        return false;
    }
    match Json::parse(texts.join(",").as_bytes()) {
        Ok(Json::Array(_)) => true,
        Ok(Json::Object(_)) => texts.len() > 1,
        _ => false,
    }
}

struct BracketWriter<'a> {
    parameter: &'a Parameter,
    convention: WireConvention,
    /// The path of the current value.
    path: Vec<String>,
    /// The encoded values with their paths.
    pairs: Vec<(Vec<String>, String)>,
}

impl BracketWriter<'_> {
    /// Encodes a value at the current path. `null` is omitted.
    fn write_value(&mut self, shape: ValueShape, value: &Json, at: &InstancePath<'_>) -> EncodeResult {
        match value {
            Json::Null => Ok(()),
            Json::Array(items) => self.write_list(shape, items, at),
            Json::Object(members) => self.write_object(shape, members, at),
            single => self.push_text(&value_to_string(single, at)?),
        }
    }

    fn write_below(
        &mut self,
        step: &str,
        shape: ValueShape,
        value: &Json,
        at: &InstancePath<'_>,
    ) -> EncodeResult {
        self.path.push(step.to_owned());
        let written = self.write_value(shape, value, at);
        self.path.pop();
        written
    }

    fn push_text(&mut self, text: &str) -> EncodeResult {
        let reserved: &[u8] = if self.convention.arrays == ArrayNotation::Comma { b"," } else { b"" };
        self.push_encoded(self.parameter.encode_value(text, reserved))
    }

    #[expect(clippy::unnecessary_wraps, reason = "all writers have the same return type")]
    fn push_encoded(&mut self, value: String) -> EncodeResult {
        self.pairs.push((self.path.clone(), value));
        Ok(())
    }

    fn write_list(&mut self, shape: ValueShape, items: &[Json], at: &InstancePath<'_>) -> EncodeResult {
        if let Some(index) = items.iter().position(Json::is_null) {
            return unencodable(&at.index(index));
        }
        if items.is_empty() {
            return self.write_empty(shape, "[]", at);
        }
        if !items.iter().any(|item| matches!(item, Json::Array(_) | Json::Object(_))) {
            return self.write_scalars(shape, items, at);
        }
        match self.convention.nested_lists() {
            None if self.path.is_empty() => self.write_scalars(shape, items, at),
            None => self.push_text(&Json::Array(items.to_vec()).to_string()),
            Some(ArrayNotation::Indices | ArrayNotation::Comma) => {
                items.iter().enumerate().try_for_each(|(index, item)| {
                    self.write_below(&index.to_string(), shape.element(), item, &at.index(index))
                })
            }
            // The list would decode as an object.
            Some(ArrayNotation::Repeat) if shape.may_be_object() => unencodable(at),
            Some(notation) => self.write_unindexed(notation, shape.element(), items, at),
        }
    }

    /// Encodes the elements of a list as strings. Elements that are lists or objects are encoded as JSON.
    fn write_scalars(&mut self, shape: ValueShape, items: &[Json], at: &InstancePath<'_>) -> EncodeResult {
        let texts = items.iter().enumerate().map(|(index, item)| value_to_string(item, &at.index(index)));
        let texts: Vec<String> = texts.collect::<EncodeResult<_>>()?;
        let arrays = self.convention.arrays;
        // Without a schema, a list of one element would decode as that element.
        let joined = arrays == ArrayNotation::Comma;
        if shape.is_untyped() && (joined || (arrays == ArrayNotation::Repeat && texts.len() == 1)) {
            return self.push_text(&Json::Array(items.to_vec()).to_string());
        }
        let is_blank = texts == [""];
        if is_blank && (joined || (arrays == ArrayNotation::Repeat && !matches!(shape, ValueShape::Array(_))))
        {
            return unencodable(&at.index(0));
        }
        let is_single = texts.len() == 1 && arrays == ArrayNotation::Repeat;
        if (joined || is_single) && shape.reads_json_list() && is_joined_json(&texts) {
            return unencodable(at);
        }
        if joined {
            let encoded = texts.iter().map(|text| self.parameter.encode_value(text, b","));
            let encoded: Vec<String> = encoded.collect();
            return self.push_encoded(encoded.join(","));
        }
        texts.iter().enumerate().try_for_each(|(index, text)| {
            let step = match arrays {
                ArrayNotation::Brackets => Some(String::new()),
                ArrayNotation::Indices => Some(index.to_string()),
                ArrayNotation::Repeat | ArrayNotation::Comma => None,
            };
            let depth = self.path.len();
            self.path.extend(step);
            let written = self.push_text(text);
            self.path.truncate(depth);
            written
        })
    }

    /// Encodes lists of objects without indices, and checks that the server would decode the same elements.
    fn write_unindexed(
        &mut self,
        notation: ArrayNotation,
        element: ValueShape,
        items: &[Json],
        at: &InstancePath<'_>,
    ) -> EncodeResult {
        let (start, depth) = (self.pairs.len(), self.path.len());
        let mut expected = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let (first, at) = (self.pairs.len(), at.index(index));
            if !matches!(item, Json::Object(members) if members.iter().any(|(_, value)| !value.is_null())) {
                return unencodable(&at);
            }
            if notation == ArrayNotation::Brackets {
                self.write_below("", element, item, &at)?;
            } else {
                self.write_value(element, item, &at)?;
            }
            expected.push((first - start..self.pairs.len() - start).collect::<Vec<usize>>());
        }
        let paths = self.pairs.iter().skip(start).map(|(path, _)| path.get(depth..).unwrap_or_default());
        let paths: Vec<&[String]> = paths.collect();
        match group_elements(&paths, element) {
            Some((found, _)) if found == expected => Ok(()),
            _ => unencodable(at),
        }
    }

    fn write_object(
        &mut self,
        shape: ValueShape,
        members: &Map<Json>,
        at: &InstancePath<'_>,
    ) -> EncodeResult {
        if self.convention.nested == NestedNotation::Json && !self.path.is_empty() {
            return self.push_text(&Json::Object(members.clone()).to_string());
        }
        let mut present = members.iter().filter(|(_, value)| !value.is_null()).peekable();
        if present.peek().is_none() {
            return self.write_empty(shape, "{}", at);
        }
        // The object would decode as a list.
        if shape.may_be_list() && present.clone().all(|(name, _)| is_index(name)) {
            return unencodable(at);
        }
        for (name, value) in present {
            let at = at.key(name);
            if name.is_empty() || name.contains(['[', ']']) {
                return unencodable(&at);
            }
            let shape = shape.member(name).unwrap_or(ValueShape::Scalar(super::ScalarType::Any));
            self.write_below(name, shape, value, &at)?;
        }
        Ok(())
    }

    /// Encodes an empty list (`[]`) or object (`{}`) as an empty string.
    fn write_empty(&mut self, shape: ValueShape, json: &str, at: &InstancePath<'_>) -> EncodeResult {
        let is_list = json == "[]";
        if shape.is_untyped() {
            return self.push_text(json);
        }
        let repeated = self.convention.arrays == ArrayNotation::Repeat;
        let is_ambiguous = shape.may_be_string()
            || (is_list && repeated && !matches!(shape, ValueShape::List(_)))
            || (!is_list && shape.may_be_list());
        if is_ambiguous { unencodable(at) } else { self.push_text("") }
    }
}
