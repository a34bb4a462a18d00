//! Converts the encoded value of a parameter into JSON.

use std::borrow::Cow;

use super::query::{decode_percent, decode_query};
use super::reader::read_form;
use super::split::{split_elements, split_members, strip_style_prefix};
use super::{
    Parameter, ParameterLocation, ParameterStyle, QueryPairs, ScalarType, ValueShape, WireConvention,
};
use crate::{Json, Map};

/// The error of a value that is not valid in the style of its parameter.
pub(super) struct UnreadableText;

/// The value of a parameter, or `None` if it is absent.
pub(super) type FoundValue = Result<Option<Json>, UnreadableText>;

/// One interpretation of a possibly ambiguous value.
#[derive(Clone, Copy)]
pub(super) struct ReadAttempt {
    /// The shape, which is never [`ValueShape::OneOf`].
    pub(super) shape: ValueShape,
    /// Whether scalars of ambiguous type are read as strings.
    pub(super) prefer_string: bool,
    /// Whether another interpretation is a list. If so, a separator in the value indicates a list.
    has_list_alternative: bool,
}

pub(super) type DecodeFn = fn(&str) -> Option<Cow<'_, str>>;

/// Removes white space around a header. Headers are not percent-encoded.
fn trim_header(raw: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(raw.trim()))
}

impl Parameter {
    /// Returns the possible interpretations, most likely first. Most parameters have only one.
    pub(super) fn read_attempts(&self) -> impl Iterator<Item = ReadAttempt> + use<> {
        let alone = [self.shape];
        let shapes = match self.shape {
            // The shape can be determined from bracketed names.
            ValueShape::OneOf(shapes) if self.bracket_convention().is_none() => shapes.to_vec(),
            _ => alone.to_vec(),
        };
        let or_list = shapes.len() > 1 && shapes.iter().any(|shape| matches!(shape, ValueShape::Array(_)));
        shapes.into_iter().flat_map(move |shape| {
            let texts: &[bool] = if is_mixed(shape) { &[false, true] } else { &[false] };
            texts.iter().map(move |&text| ReadAttempt {
                shape,
                prefer_string: text,
                has_list_alternative: or_list,
            })
        })
    }

    const fn decode_fn(&self) -> DecodeFn {
        match (self.location, self.style) {
            (ParameterLocation::Header, _) | (_, ParameterStyle::Cookie) => trim_header,
            (ParameterLocation::Path | ParameterLocation::Cookie | ParameterLocation::QueryString, _) => {
                decode_percent
            }
            (ParameterLocation::Query, _) => decode_query,
        }
    }
}

/// Returns true if a scalar of the shape may have one of several types.
fn is_mixed(shape: ValueShape) -> bool {
    let mixed = |scalar| matches!(scalar, ScalarType::Any | ScalarType::Of(_));
    match shape {
        ValueShape::Scalar(scalar) | ValueShape::Array(scalar) => mixed(scalar),
        ValueShape::Object(members) => {
            members.iter().any(|(_, shape)| matches!(shape, ValueShape::Json) || is_mixed(*shape))
        }
        ValueShape::Map(members, others) => {
            mixed(others) || others == ScalarType::Json || is_mixed(ValueShape::Object(members))
        }
        ValueShape::List(element) => is_mixed(*element),
        ValueShape::MapOf(members, others) => is_mixed(ValueShape::Object(members)) || is_mixed(*others),
        ValueShape::OneOf(shapes) => shapes.iter().any(|shape| is_mixed(*shape)),
        ValueShape::Json | ValueShape::Form(..) => false,
    }
}

impl ReadAttempt {
    /// Reads the value from the pairs of a query, a form or cookies. `claimed` returns true for names that
    /// belong to other parameters.
    pub(super) fn read_pairs(
        self,
        parameter: &Parameter,
        pairs: &QueryPairs<'_>,
        claimed: &dyn Fn(&str) -> bool,
    ) -> FoundValue {
        if let Some(convention) = parameter.bracket_convention() {
            return self.read_brackets(parameter, convention, pairs, claimed);
        }
        let decode = parameter.decode_fn();
        match self.shape {
            ValueShape::Object(fields) if parameter.explode => {
                let declared = |name: &str| fields.iter().any(|(field, _)| *field == name);
                let matching = pairs.iter().filter(|(name, _)| declared(name));
                non_empty_object(self.read_object(fields, ScalarType::Text, matching, decode, true)?)
            }
            ValueShape::Map(fields, others) if parameter.explode => {
                let declared = |name: &str| fields.iter().any(|(field, _)| *field == name);
                let matching = pairs.iter().filter(|(name, _)| declared(name) || !claimed(name));
                non_empty_object(self.read_object(fields, others, matching, decode, true)?)
            }
            ValueShape::Array(_) if parameter.explode && parameter.location == ParameterLocation::Query => {
                self.read_brackets(parameter, WireConvention::REPEATED, pairs, claimed)
            }
            ValueShape::Array(scalar) if parameter.explode => {
                let mut values = pairs.values(parameter.name).peekable();
                if values.peek().is_none() {
                    return Ok(None);
                }
                self.read_list(scalar, values, decode).map(Some)
            }
            // A value of any type is a list if its name is repeated.
            ValueShape::Scalar(scalar @ ScalarType::Any)
                if parameter.explode && pairs.values(parameter.name).nth(1).is_some() =>
            {
                self.read_list(scalar, pairs.values(parameter.name), decode).map(Some)
            }
            _ => {
                let mut values = pairs.values(parameter.name);
                match (values.next(), values.next()) {
                    (None, _) => Ok(None),
                    (Some(raw), None) => self.read_string(parameter, raw).map(Some),
                    // The name is repeated for a single value, so the value is ambiguous.
                    (Some(_), Some(_)) => Err(UnreadableText),
                }
            }
        }
    }

    /// Reads the value from the complete query string.
    pub(super) fn read_query_string(self, raw: &str) -> FoundValue {
        if raw.is_empty() {
            return Ok(None);
        }
        let found = match self.shape {
            ValueShape::Form(fields, others) => read_form(fields, others, raw).ok_or(UnreadableText),
            ValueShape::Json => parse_json(&decode_percent(raw).ok_or(UnreadableText)?),
            ValueShape::Scalar(scalar) => self.read_scalar(scalar, raw, decode_percent),
            ValueShape::Array(_)
            | ValueShape::Object(_)
            | ValueShape::Map(..)
            | ValueShape::List(_)
            | ValueShape::MapOf(..)
            | ValueShape::OneOf(_) => Err(UnreadableText),
        };
        found.map(Some)
    }

    /// Reads the value from a string.
    pub(super) fn read_string(self, parameter: &Parameter, raw: &str) -> Result<Json, UnreadableText> {
        let decode = parameter.decode_fn();
        match self.shape {
            ValueShape::Scalar(scalar) => {
                let raw = strip_style_prefix(raw, parameter).ok_or(UnreadableText)?;
                if self.has_list_alternative && contains_separator(parameter, raw) {
                    return Err(UnreadableText);
                }
                self.read_scalar(scalar, raw, decode)
            }
            ValueShape::Array(scalar) => {
                let items = split_elements(raw, parameter).ok_or(UnreadableText)?;
                self.read_list(scalar, items.into_iter(), decode)
            }
            ValueShape::Object(fields) => {
                let pairs = split_members(raw, parameter).ok_or(UnreadableText)?;
                self.read_object(fields, ScalarType::Text, pairs.into_iter(), decode, false).map(Json::Object)
            }
            ValueShape::Map(fields, others) => {
                let pairs = split_members(raw, parameter).ok_or(UnreadableText)?;
                self.read_object(fields, others, pairs.into_iter(), decode, false).map(Json::Object)
            }
            // Lists and maps of nested values can only be read from bracketed names.
            ValueShape::OneOf(_) | ValueShape::Form(..) | ValueShape::List(_) | ValueShape::MapOf(..) => {
                Err(UnreadableText)
            }
            ValueShape::Json => parse_json(
                &decode(strip_style_prefix(raw, parameter).ok_or(UnreadableText)?).ok_or(UnreadableText)?,
            ),
        }
    }

    fn read_list<'a>(
        self,
        scalar: ScalarType,
        items: impl Iterator<Item = &'a str>,
        decode: DecodeFn,
    ) -> Result<Json, UnreadableText> {
        items.map(|item| self.read_nested(scalar, item, decode)).collect::<Result<_, _>>().map(Json::Array)
    }

    /// Reads the members of an object. `decoded` states whether the names are already decoded. The values are
    /// not decoded yet.
    fn read_object<'a>(
        self,
        fields: &[(&'static str, ValueShape)],
        others: ScalarType,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        decode: DecodeFn,
        decoded: bool,
    ) -> Result<Map<Json>, UnreadableText> {
        let mut object = Map::new();
        for (name, raw) in pairs {
            let name = if decoded { Cow::Borrowed(name) } else { decode(name).ok_or(UnreadableText)? };
            let shape = shape_of(fields, others, &name);
            let scalar = match shape {
                ValueShape::Scalar(scalar) => scalar,
                _ => ScalarType::Json,
            };
            let value = self.read_nested(scalar, raw, decode)?;
            insert_member(&mut object, &name, value, decoded && may_repeat(fields, shape, &name))?;
        }
        Ok(object)
    }

    /// Reads an element of a list or object, where nested lists and objects are encoded as JSON. A value that
    /// could be JSON but is not valid JSON remains a string.
    pub(super) fn read_nested(
        self,
        scalar: ScalarType,
        raw: &str,
        decode: DecodeFn,
    ) -> Result<Json, UnreadableText> {
        let text = decode(raw).ok_or(UnreadableText)?;
        let may_be_json = match scalar {
            ScalarType::Json => true,
            ScalarType::Any => text.starts_with(['[', '{']),
            _ => false,
        };
        if may_be_json
            && !self.prefer_string
            && let Ok(value) = parse_json(&text)
        {
            return Ok(value);
        }
        Ok(match scalar {
            ScalarType::Text | ScalarType::Json => Json::String(text.into_owned()),
            scalar => scalar.parse_value(&text, self.prefer_string),
        })
    }

    fn read_scalar(self, scalar: ScalarType, raw: &str, decode: DecodeFn) -> Result<Json, UnreadableText> {
        let text = decode(raw).ok_or(UnreadableText)?;
        match scalar {
            ScalarType::Text => Ok(Json::String(text.into_owned())),
            ScalarType::Json => parse_json(&text),
            scalar => Ok(scalar.parse_value(&text, self.prefer_string)),
        }
    }
}

/// Returns true if the string contains an unencoded list separator.
fn contains_separator(parameter: &Parameter, raw: &str) -> bool {
    match parameter.style {
        ParameterStyle::Matrix if parameter.explode => raw.contains(';'),
        ParameterStyle::Label if parameter.explode => false,
        ParameterStyle::Form | ParameterStyle::DeepObject if parameter.explode => false,
        _ => raw.contains(','),
    }
}

/// Returns the object, or `None` if it has no members, because such an object counts as absent.
fn non_empty_object(object: Map<Json>) -> FoundValue {
    Ok((!object.is_empty()).then_some(Json::Object(object)))
}

fn shape_of(fields: &[(&'static str, ValueShape)], others: ScalarType, name: &str) -> ValueShape {
    let declared = fields.iter().find(|(field, _)| *field == name);
    declared.map_or(ValueShape::Scalar(others), |(_, shape)| *shape)
}

/// Returns true if a repeated name forms a list. This applies to undeclared members and to members whose
/// schema allows any type.
fn may_repeat(fields: &[(&'static str, ValueShape)], shape: ValueShape, name: &str) -> bool {
    matches!(shape, ValueShape::Scalar(ScalarType::Any) | ValueShape::Json)
        || !fields.iter().any(|(field, _)| *field == name)
}

fn insert_member(
    object: &mut Map<Json>,
    name: &str,
    value: Json,
    repeats: bool,
) -> Result<(), UnreadableText> {
    match object.get_mut(name) {
        None => drop(object.insert(name.to_owned(), value)),
        Some(_) if !repeats => return Err(UnreadableText),
        Some(Json::Array(items)) => items.push(value),
        Some(first) => *first = Json::Array(vec![std::mem::take(first), value]),
    }
    Ok(())
}

pub(super) fn parse_json(text: &str) -> Result<Json, UnreadableText> {
    Json::parse(text.as_bytes()).map_err(|_| UnreadableText)
}
