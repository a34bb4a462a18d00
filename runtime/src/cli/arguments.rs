//! Converts words of the command line into JSON values, as the parameter table describes.

use clap::ArgMatches;

use super::{CommandSpec, error::CliError};
use crate::{
    Json, Map,
    parameters::{Parameter, ScalarType, ValueShape},
};

/// Returns the arguments of an operation with their index. The request builder validates them.
pub(super) fn read_arguments(
    row: &CommandSpec,
    matches: &ArgMatches,
) -> Result<Vec<(usize, Json)>, CliError> {
    let mut all = Vec::new();
    for (at, parameter, argument) in row.visible_arguments() {
        let Some(texts) = matches.get_many::<String>(argument.name) else { continue };
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        let value = parse_argument(parameter, &texts);
        all.push((at, value.map_err(|why| CliError::usage_error(format!("`{}` {why}", argument.name)))?));
    }
    Ok(all)
}

/// Converts the words of an argument into JSON. If the parameter's shape has alternatives, returns the first
/// result that the schema accepts, or else the first result of any alternative.
pub(super) fn parse_argument(parameter: &Parameter, texts: &[&str]) -> Result<Json, String> {
    let alternatives = match parameter.shape {
        ValueShape::OneOf(shapes) => shapes,
        _ => std::slice::from_ref(&parameter.shape),
    };
    let mut first: Option<Result<Json, String>> = None;
    for shape in alternatives {
        for as_text in [false, true] {
            let read = parse_shape(*shape, texts, as_text);
            if let Ok(json) = &read
                && parameter.validator.is_none_or(|validator| validator.is_valid(json))
            {
                return read;
            }
            if first.as_ref().is_none_or(|first| first.is_err() && read.is_ok()) {
                first = Some(read);
            }
        }
    }
    first.unwrap_or_else(|| Err("has no accepted form, so it cannot be given on the command line".to_owned()))
}

fn parse_shape(shape: ValueShape, texts: &[&str], as_text: bool) -> Result<Json, String> {
    match shape {
        ValueShape::Scalar(scalar) => parse_scalar(scalar, single_value(texts)?, as_text),
        ValueShape::Json => parse_json(single_value(texts)?),
        ValueShape::Array(scalar) => {
            let items = texts.iter().map(|text| parse_scalar(scalar, text, as_text));
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        ValueShape::Object(fields) => parse_object(&member_shapes(fields), ScalarType::Text, texts, as_text),
        ValueShape::Map(fields, others) => parse_object(&member_shapes(fields), others, texts, as_text),
        ValueShape::Form(fields, others) => {
            let field = |name: &str| fields.iter().find(|field| field.name == name).map(|field| field.shape);
            parse_object(&field, others, texts, as_text)
        }
        ValueShape::MapOf(fields, _) => parse_object(&member_shapes(fields), ScalarType::Any, texts, as_text),
        // Nested lists, and unions inside lists and objects, can only be written as JSON.
        ValueShape::OneOf(_) | ValueShape::List(_) => parse_json(single_value(texts)?),
    }
}

fn parse_scalar(scalar: ScalarType, text: &str, as_text: bool) -> Result<Json, String> {
    if scalar == ScalarType::Json { parse_json(text) } else { Ok(scalar.parse_value(text, as_text)) }
}

fn parse_json(text: &str) -> Result<Json, String> {
    Json::parse(text.as_bytes()).map_err(|error| format!("is not JSON: {error}"))
}

fn single_value<'t>(texts: &[&'t str]) -> Result<&'t str, String> {
    match texts {
        [one] => Ok(one),
        _ => Err("takes one value, but several are given".to_owned()),
    }
}

/// Returns a lookup of member shapes by name.
fn member_shapes(members: &[(&str, ValueShape)]) -> impl Fn(&str) -> Option<ValueShape> {
    move |name| members.iter().find(|(member, _)| *member == name).map(|(_, shape)| *shape)
}

/// Converts `NAME=VALUE` words, or one JSON document, into an object.
fn parse_object(
    shape_of: &dyn Fn(&str) -> Option<ValueShape>,
    others: ScalarType,
    texts: &[&str],
    as_text: bool,
) -> Result<Json, String> {
    if let [text] = texts
        && text.trim_start().starts_with('{')
    {
        return parse_json(text);
    }
    let mut members: Map<Json> = Map::new();
    for (name, texts) in group_by_name(texts)? {
        let shape = shape_of(name).unwrap_or(ValueShape::Scalar(others));
        members.insert(name.to_owned(), parse_shape(shape, &texts, as_text)?);
    }
    Ok(Json::Object(members))
}

/// Groups `NAME=VALUE` words by name, in order of first occurrence.
pub(super) fn group_by_name<'t>(texts: &[&'t str]) -> Result<Vec<(&'t str, Vec<&'t str>)>, String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in texts {
        let (name, value) = text.split_once('=').ok_or("must have the form NAME=VALUE; no `=` found")?;
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => all.push((name, vec![value])),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::TypeSet;

    #[track_caller]
    fn check(shape: ValueShape, texts: &[&str], expect: &str) {
        let parameter = Parameter { shape, ..Parameter::QUERY };
        let read = parse_argument(&parameter, texts).map_or_else(|why| why, |json| json.to_string());
        assert_eq!(read, expect, "{shape:?} {texts:?}");
    }

    #[test]
    fn arguments_become_typed_values() {
        check(ValueShape::Scalar(ScalarType::Text), &["7"], r#""7""#);
        check(ValueShape::Scalar(ScalarType::Integer(None)), &["0500"], "500");
        check(ValueShape::Scalar(ScalarType::Number), &["1.50"], "1.50");
        check(ValueShape::Scalar(ScalarType::Boolean), &["true"], "true");
        check(ValueShape::Scalar(ScalarType::Any), &["null"], "null");
        check(ValueShape::Scalar(ScalarType::Of(TypeSet::STRING.union(TypeSet::BOOLEAN))), &["7"], r#""7""#);
        check(ValueShape::Array(ScalarType::Integer(None)), &["1", "2"], "[1,2]");
        check(ValueShape::Array(ScalarType::Json), &["[1]", "{}"], "[[1],{}]");
        check(ValueShape::Json, &["{\"a\":1.0}"], r#"{"a":1.0}"#);
        check(ValueShape::Json, &["{"], "is not JSON: unexpected end at line 1, column 2");
        check(ValueShape::Scalar(ScalarType::Text), &["a", "b"], "takes one value, but several are given");
    }

    #[test]
    fn object_arguments_are_pairs_or_json() {
        const FIELDS: &[(&str, ValueShape)] =
            &[("min", ValueShape::Scalar(ScalarType::Number)), ("tag", ValueShape::Array(ScalarType::Text))];
        let object = ValueShape::Object(FIELDS);
        check(object, &["min=1", "tag=a=b", "tag=c"], r#"{"min":1,"tag":["a=b","c"]}"#);
        check(object, &["{\"min\": 2}"], r#"{"min":2}"#);
        check(object, &["min"], "must have the form NAME=VALUE; no `=` found");
        check(ValueShape::Map(FIELDS, ScalarType::Boolean), &["x=true"], r#"{"x":true}"#);
        const EITHER: &[ValueShape] =
            &[ValueShape::Scalar(ScalarType::Text), ValueShape::Array(ScalarType::Text)];
        check(ValueShape::OneOf(EITHER), &["a"], r#""a""#);
        check(ValueShape::OneOf(EITHER), &["a", "b"], r#"["a","b"]"#);
    }
}
