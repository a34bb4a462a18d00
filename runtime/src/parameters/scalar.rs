//! How one piece of text and a plain value become each other.

#[cfg(any(feature = "client", feature = "server"))]
use std::borrow::Cow;

use super::Scalar;
#[cfg(any(feature = "client", feature = "server"))]
use super::Shape;
#[cfg(any(feature = "client", feature = "server"))]
use crate::Map;
use crate::{Json, Number, schema::Types};

impl Scalar {
    /// Whether numbers are read as digits alone.
    #[cfg(any(feature = "client", feature = "server"))]
    fn is_digits(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Of(types) => types.has(Types::INTEGER) && !types.has(Types::NUMBER),
            _ => false,
        }
    }

    /// What a text stands for; a string where it stands for nothing else. `as_text`: of several
    /// types the string is meant.
    pub(crate) fn value(self, text: &str, as_text: bool) -> Json {
        let value = match self {
            Self::Text | Self::Json => None,
            Self::Number => Number::parse(text).ok().map(Json::Number),
            Self::Integer(digits) => integer(text, digits).map(Json::Number),
            Self::Boolean => boolean(text),
            Self::Any | Self::Of(_) if as_text => None,
            Self::Any => any(text),
            Self::Of(types) => any(text).filter(|value| match value {
                Json::Number(_) if !types.has(Types::NUMBER) => {
                    types.contains(value) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
                }
                value => types.contains(value),
            }),
        };
        value.unwrap_or_else(|| Json::String(text.to_owned()))
    }
}

fn boolean(text: &str) -> Option<Json> {
    match text {
        "true" => Some(Json::Bool(true)),
        "false" => Some(Json::Bool(false)),
        _ => None,
    }
}

fn any(text: &str) -> Option<Json> {
    match text {
        "null" => Some(Json::Null),
        other => boolean(other).or_else(|| Number::parse(other).ok().map(Json::Number)),
    }
}

/// Digits with or without `-`. JSON knows no leading zeros, so they are left out.
fn integer(text: &str, most: Option<u16>) -> Option<Number> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit())
        || most.is_some_and(|most| digits.len() > most.into())
    {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    match (digits, significant) {
        ("", _) => None,
        (_, "") => Number::parse("0").ok(),
        (_, significant) => Number::parse(&format!("{sign}{significant}")).ok(),
    }
}

/// The same value with its integers as digits, wherever the shape has one.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn in_digits(shape: Shape, value: &Json) -> Cow<'_, Json> {
    match (shape, value) {
        (Shape::Scalar(scalar), Json::Number(number)) if scalar.is_digits() => match number.as_i128() {
            Some(whole) => {
                Number::parse(&whole.to_string()).map_or(Cow::Borrowed(value), |n| Cow::Owned(n.into()))
            }
            None => Cow::Borrowed(value),
        },
        (Shape::Array(scalar), Json::Array(items)) if scalar.is_digits() => {
            let items = items.iter().map(|item| in_digits(Shape::Scalar(scalar), item).into_owned());
            Cow::Owned(Json::Array(items.collect()))
        }
        (Shape::Object(fields), Json::Object(members)) => members_in_digits(fields, Scalar::Text, members),
        (Shape::Map(fields, others), Json::Object(members)) => members_in_digits(fields, others, members),
        // Whichever is meant, the value stays the same.
        (Shape::OneOf(shapes), _) => {
            let written = shapes.iter().map(|shape| in_digits(*shape, value));
            written
                .into_iter()
                .find(|written| matches!(written, Cow::Owned(_)))
                .unwrap_or(Cow::Borrowed(value))
        }
        _ => Cow::Borrowed(value),
    }
}

#[cfg(any(feature = "client", feature = "server"))]
fn members_in_digits<'v>(fields: &[(&str, Shape)], others: Scalar, members: &'v Map<Json>) -> Cow<'v, Json> {
    let written = members.iter().map(|(name, value)| {
        let shape = fields.iter().find(|(field, _)| *field == name);
        let shape = shape.map_or(Shape::Scalar(others), |(_, shape)| *shape);
        (name.to_owned(), in_digits(shape, value).into_owned())
    });
    Cow::Owned(Json::Object(written.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(scalar: Scalar, rows: &[(&str, &str)]) {
        for (text, expect) in rows {
            assert_eq!(scalar.value(text, false).to_string(), *expect, "{scalar:?} {text}");
        }
    }

    #[test]
    fn integers_are_digits() {
        check(
            Scalar::Integer(None),
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
        check(Scalar::Integer(Some(4)), &[("0500", "500"), ("1000", "1000"), ("00500", "\"00500\"")]);
        check(Scalar::Number, &[("1e2", "1e2"), ("0500", "\"0500\""), ("true", "\"true\"")]);
        let or_text = Scalar::Of(Types::INTEGER.or(Types::STRING));
        check(or_text, &[("7", "7"), ("07", "\"07\""), ("1e2", "\"1e2\""), ("null", "\"null\"")]);
        let or_null = Scalar::Of(Types::NUMBER.or(Types::NULL));
        check(or_null, &[("1e2", "1e2"), ("null", "null"), ("true", "\"true\"")]);
    }

    #[test]
    #[cfg(feature = "client")]
    fn integers_are_sent_as_digits() {
        let one = |shape, text: &str| {
            let value = Json::parse(text.as_bytes()).unwrap();
            in_digits(shape, &value).to_string()
        };
        assert_eq!(one(Shape::Scalar(Scalar::Integer(None)), "5e2"), "500");
        assert_eq!(one(Shape::Array(Scalar::Integer(None)), "[1.0, 2, \"x\"]"), "[1,2,\"x\"]");
        assert_eq!(one(Shape::Scalar(Scalar::Number), "5e2"), "5e2");
        const FIELDS: &[(&str, Shape)] = &[("n", Shape::Scalar(Scalar::Integer(None))), ("x", Shape::Json)];
        let members = r#"{"n":5e0,"m":6.0,"x":[7.0]}"#;
        assert_eq!(one(Shape::Object(FIELDS), members), r#"{"n":5,"m":6.0,"x":[7.0]}"#);
        let others = Scalar::Of(Types::INTEGER.or(Types::STRING));
        assert_eq!(one(Shape::Map(FIELDS, others), members), r#"{"n":5,"m":6,"x":[7.0]}"#);
        const EITHER: Shape =
            Shape::OneOf(&[Shape::Scalar(Scalar::Text), Shape::Scalar(Scalar::Integer(None))]);
        assert_eq!(one(EITHER, "1e1"), "10");
    }
}
