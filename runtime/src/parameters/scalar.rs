//! Conversions between strings and scalars.

#[cfg(any(feature = "client", feature = "server"))]
use std::borrow::Cow;

use super::ScalarType;
#[cfg(any(feature = "client", feature = "server"))]
use super::ValueShape;
#[cfg(any(feature = "client", feature = "server"))]
use crate::Map;
use crate::{Json, Number, schema::TypeSet};

impl ScalarType {
    /// Returns true if numbers are encoded only as digits.
    #[cfg(any(feature = "client", feature = "server"))]
    fn is_digits(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Of(types) => types.is_superset(TypeSet::INTEGER) && !types.is_superset(TypeSet::NUMBER),
            _ => false,
        }
    }

    /// Converts a string into the scalar that it represents, or else into a JSON string. `as_text` selects
    /// the string if several types are possible.
    pub(crate) fn parse_value(self, text: &str, as_text: bool) -> Json {
        let value = match self {
            Self::Text | Self::Json => None,
            Self::Number => Number::parse(text).ok().map(Json::Number),
            Self::Integer(digits) => parse_integer(text, digits).map(Json::Number),
            Self::Boolean => parse_boolean(text),
            Self::Any | Self::Of(_) if as_text => None,
            Self::Any => parse_plain(text),
            Self::Of(types) => parse_plain(text).filter(|value| match value {
                Json::Number(_) if !types.is_superset(TypeSet::NUMBER) => {
                    types.contains(value) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
                }
                value => types.contains(value),
            }),
        };
        value.unwrap_or_else(|| Json::String(text.to_owned()))
    }
}

fn parse_boolean(text: &str) -> Option<Json> {
    match text {
        "true" => Some(Json::Bool(true)),
        "false" => Some(Json::Bool(false)),
        _ => None,
    }
}

fn parse_plain(text: &str) -> Option<Json> {
    match text {
        "null" => Some(Json::Null),
        other => parse_boolean(other).or_else(|| Number::parse(other).ok().map(Json::Number)),
    }
}

/// Parses digits with an optional `-`. Leading zeros are removed, because JSON does not allow them.
fn parse_integer(text: &str, max_digits: Option<u16>) -> Option<Number> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let significant = digits.trim_start_matches('0');
    // An integer beyond the bounds stays an integer, so that its violation is that of the bound.
    let is_padded =
        |max_digits: u16| digits.len() > max_digits.into() && significant.len() <= max_digits.into();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || max_digits.is_some_and(is_padded) {
        return None;
    }
    match (digits, significant) {
        ("", _) => None,
        (_, "") => Number::parse("0").ok(),
        (_, significant) => Number::parse(&format!("{sign}{significant}")).ok(),
    }
}

/// Rewrites the integers in a value as digits, if the shape contains integers.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn normalize_integers(shape: ValueShape, value: &Json) -> Cow<'_, Json> {
    match (shape, value) {
        (ValueShape::Scalar(scalar), Json::Number(number)) if scalar.is_digits() => match number.as_i128() {
            Some(integer) => {
                Number::parse(&integer.to_string()).map_or(Cow::Borrowed(value), |n| Cow::Owned(n.into()))
            }
            None => Cow::Borrowed(value),
        },
        (ValueShape::Array(scalar), Json::Array(items)) if scalar.is_digits() => {
            let items =
                items.iter().map(|item| normalize_integers(ValueShape::Scalar(scalar), item).into_owned());
            Cow::Owned(Json::Array(items.collect()))
        }
        (ValueShape::List(element), Json::Array(items)) => {
            let items = items.iter().map(|item| normalize_integers(*element, item).into_owned());
            Cow::Owned(Json::Array(items.collect()))
        }
        (ValueShape::Object(fields), Json::Object(members)) => {
            normalize_member_integers(fields, ValueShape::Scalar(ScalarType::Text), members)
        }
        (ValueShape::Map(fields, others), Json::Object(members)) => {
            normalize_member_integers(fields, ValueShape::Scalar(others), members)
        }
        (ValueShape::MapOf(fields, others), Json::Object(members)) => {
            normalize_member_integers(fields, *others, members)
        }
        // The value is the same for every alternative shape.
        (ValueShape::OneOf(shapes), _) => {
            let written = shapes.iter().map(|shape| normalize_integers(*shape, value));
            written
                .into_iter()
                .find(|written| matches!(written, Cow::Owned(_)))
                .unwrap_or(Cow::Borrowed(value))
        }
        _ => Cow::Borrowed(value),
    }
}

#[cfg(any(feature = "client", feature = "server"))]
fn normalize_member_integers<'v>(
    fields: &[(&str, ValueShape)],
    others: ValueShape,
    members: &'v Map<Json>,
) -> Cow<'v, Json> {
    let written = members.iter().map(|(name, value)| {
        let shape = fields.iter().find(|(field, _)| *field == name);
        let shape = shape.map_or(others, |(_, shape)| *shape);
        (name.to_owned(), normalize_integers(shape, value).into_owned())
    });
    Cow::Owned(Json::Object(written.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(scalar: ScalarType, rows: &[(&str, &str)]) {
        for (text, expect) in rows {
            assert_eq!(scalar.parse_value(text, false).to_string(), *expect, "{scalar:?} {text}");
        }
    }

    #[test]
    fn integers_are_digits() {
        check(
            ScalarType::Integer(None),
            &[
                ("7", "7"),
                ("-7", "-7"),
                ("0500", "500"),
                ("000", "0"),
                ("-00", "0"),
                ("123456789012345678901234567890", "123456789012345678901234567890"),
                ("1e2", "\"1e2\""),
                ("1.0", "\"1.0\""),
                ("+1", "\"+1\""),
                ("--1", "\"--1\""),
                ("", "\"\""),
                ("-", "\"-\""),
                ("٣", "\"٣\""),
                (" 1", "\" 1\""),
            ],
        );
        check(
            ScalarType::Integer(Some(4)),
            &[
                ("0500", "500"),
                ("1000", "1000"),
                ("00500", "\"00500\""),
                ("10000", "10000"),
                ("-010000", "-10000"),
            ],
        );
        check(ScalarType::Number, &[("1e2", "1e2"), ("0500", "\"0500\""), ("true", "\"true\"")]);
        let or_text = ScalarType::Of(TypeSet::INTEGER.union(TypeSet::STRING));
        check(or_text, &[("7", "7"), ("07", "\"07\""), ("1e2", "\"1e2\""), ("null", "\"null\"")]);
        let or_null = ScalarType::Of(TypeSet::NUMBER.union(TypeSet::NULL));
        check(or_null, &[("1e2", "1e2"), ("null", "null"), ("true", "\"true\"")]);
    }

    #[test]
    #[cfg(feature = "client")]
    fn integers_are_sent_as_digits() {
        let one = |shape, text: &str| {
            let value = Json::parse(text.as_bytes()).unwrap();
            normalize_integers(shape, &value).to_string()
        };
        assert_eq!(one(ValueShape::Scalar(ScalarType::Integer(None)), "5e2"), "500");
        assert_eq!(one(ValueShape::Array(ScalarType::Integer(None)), "[1.0, 2, \"x\"]"), "[1,2,\"x\"]");
        assert_eq!(one(ValueShape::Scalar(ScalarType::Number), "5e2"), "5e2");
        const FIELDS: &[(&str, ValueShape)] =
            &[("n", ValueShape::Scalar(ScalarType::Integer(None))), ("x", ValueShape::Json)];
        let members = r#"{"n":5e0,"m":6.0,"x":[7.0]}"#;
        assert_eq!(one(ValueShape::Object(FIELDS), members), r#"{"n":5,"m":6.0,"x":[7.0]}"#);
        let others = ScalarType::Of(TypeSet::INTEGER.union(TypeSet::STRING));
        assert_eq!(one(ValueShape::Map(FIELDS, others), members), r#"{"n":5,"m":6,"x":[7.0]}"#);
        const EITHER: ValueShape = ValueShape::OneOf(&[
            ValueShape::Scalar(ScalarType::Text),
            ValueShape::Scalar(ScalarType::Integer(None)),
        ]);
        assert_eq!(one(EITHER, "1e1"), "10");
    }
}
