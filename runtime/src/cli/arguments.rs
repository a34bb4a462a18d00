//! Texts that were typed as the values that they stand for, by the rows of the table.

use clap::ArgMatches;

use super::{Command, failure::Failure};
use crate::{
    Json, Map,
    parameters::{Parameter, Scalar, Shape},
};

/// The arguments of an operation, by their rows. Whether they are valid is the request's to say.
pub(super) fn of(row: &Command, matches: &ArgMatches) -> Result<Vec<(usize, Json)>, Failure> {
    let mut all = Vec::new();
    for (at, parameter, argument) in row.asked() {
        let Some(texts) = matches.get_many::<String>(argument.name) else { continue };
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        let value = value(parameter, &texts);
        all.push((at, value.map_err(|why| Failure::usage(format!("`{}` {why}", argument.name)))?));
    }
    Ok(all)
}

/// Of several values that the texts may stand for the first that is valid, or the first.
pub(super) fn value(parameter: &Parameter, texts: &[&str]) -> Result<Json, String> {
    let alternatives = match parameter.shape {
        Shape::OneOf(shapes) => shapes,
        _ => std::slice::from_ref(&parameter.shape),
    };
    let mut first: Option<Result<Json, String>> = None;
    for shape in alternatives {
        for as_text in [false, true] {
            let read = read(*shape, texts, as_text);
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
    first.unwrap_or_else(|| Err("has no form".to_owned()))
}

fn read(shape: Shape, texts: &[&str], as_text: bool) -> Result<Json, String> {
    match shape {
        Shape::Scalar(scalar) => plain(scalar, one(texts)?, as_text),
        Shape::Json => json(one(texts)?),
        Shape::Array(scalar) => {
            let items = texts.iter().map(|text| plain(scalar, text, as_text));
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        Shape::Object(fields) => object(&member_of(fields), Scalar::Text, texts, as_text),
        Shape::Map(fields, others) => object(&member_of(fields), others, texts, as_text),
        Shape::Form(fields, others) => {
            let field = |name: &str| fields.iter().find(|field| field.name == name).map(|field| field.shape);
            object(&field, others, texts, as_text)
        }
        // Of unions inside of members JSON is what can be typed.
        Shape::OneOf(_) => json(one(texts)?),
    }
}

fn plain(scalar: Scalar, text: &str, as_text: bool) -> Result<Json, String> {
    if scalar == Scalar::Json { json(text) } else { Ok(scalar.value(text, as_text)) }
}

fn json(text: &str) -> Result<Json, String> {
    Json::parse(text.as_bytes()).map_err(|error| format!("is no JSON: {error}"))
}

fn one<'t>(texts: &[&'t str]) -> Result<&'t str, String> {
    match texts {
        [one] => Ok(one),
        _ => Err("stands for one value, and there are several".to_owned()),
    }
}

/// The shapes of members by their names.
fn member_of(members: &[(&str, Shape)]) -> impl Fn(&str) -> Option<Shape> {
    move |name| members.iter().find(|(member, _)| *member == name).map(|(_, shape)| *shape)
}

/// `NAME=VALUE` for each member, or all of them as JSON.
fn object(
    shape_of: &dyn Fn(&str) -> Option<Shape>,
    others: Scalar,
    texts: &[&str],
    as_text: bool,
) -> Result<Json, String> {
    if let [whole] = texts
        && whole.trim_start().starts_with('{')
    {
        return json(whole);
    }
    let mut members: Map<Json> = Map::new();
    for (name, texts) in by_name(texts)? {
        let shape = shape_of(name).unwrap_or(Shape::Scalar(others));
        members.insert(name.to_owned(), read(shape, &texts, as_text)?);
    }
    Ok(Json::Object(members))
}

/// The texts of each name, in the order in which names come first.
pub(super) fn by_name<'t>(texts: &[&'t str]) -> Result<Vec<(&'t str, Vec<&'t str>)>, String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in texts {
        let (name, value) = text.split_once('=').ok_or("is NAME=VALUE, and there is no `=`")?;
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
    use crate::schema::Types;

    #[track_caller]
    fn check(shape: Shape, texts: &[&str], expect: &str) {
        let parameter = Parameter { shape, ..Parameter::QUERY };
        let read = value(&parameter, texts).map_or_else(|why| why, |json| json.to_string());
        assert_eq!(read, expect, "{shape:?} {texts:?}");
    }

    #[test]
    fn texts_become_what_the_table_says() {
        check(Shape::Scalar(Scalar::Text), &["7"], r#""7""#);
        check(Shape::Scalar(Scalar::Integer(None)), &["0500"], "500");
        check(Shape::Scalar(Scalar::Number), &["1.50"], "1.50");
        check(Shape::Scalar(Scalar::Boolean), &["true"], "true");
        check(Shape::Scalar(Scalar::Any), &["null"], "null");
        check(Shape::Scalar(Scalar::Of(Types::STRING.or(Types::BOOLEAN))), &["7"], r#""7""#);
        check(Shape::Array(Scalar::Integer(None)), &["1", "2"], "[1,2]");
        check(Shape::Array(Scalar::Json), &["[1]", "{}"], "[[1],{}]");
        check(Shape::Json, &["{\"a\":1.0}"], r#"{"a":1.0}"#);
        check(Shape::Json, &["{"], "is no JSON: unexpected end at line 1, column 2");
        check(Shape::Scalar(Scalar::Text), &["a", "b"], "stands for one value, and there are several");
    }

    #[test]
    fn members_are_typed_one_by_one_or_as_json() {
        const FIELDS: &[(&str, Shape)] =
            &[("min", Shape::Scalar(Scalar::Number)), ("tag", Shape::Array(Scalar::Text))];
        let object = Shape::Object(FIELDS);
        check(object, &["min=1", "tag=a=b", "tag=c"], r#"{"min":1,"tag":["a=b","c"]}"#);
        check(object, &["{\"min\": 2}"], r#"{"min":2}"#);
        check(object, &["min"], "is NAME=VALUE, and there is no `=`");
        check(Shape::Map(FIELDS, Scalar::Boolean), &["x=true"], r#"{"x":true}"#);
        const EITHER: &[Shape] = &[Shape::Scalar(Scalar::Text), Shape::Array(Scalar::Text)];
        check(Shape::OneOf(EITHER), &["a"], r#""a""#);
        check(Shape::OneOf(EITHER), &["a", "b"], r#"["a","b"]"#);
    }
}
