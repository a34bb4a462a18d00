//! Finds parameters in a request, turns their text into JSON and checks it.
//!
//! Every parameter is checked by its schema before anything typed is made of it, so that one
//! answer names all that is wrong. What is reported is a pointer (`/limit`, `/ids/3`) and a
//! keyword, never a value.

use std::borrow::Cow;

use http::request::Parts;
use http::{HeaderName, header};

use super::query::{decode, decode_percent};
use super::split::{elements, members};
use super::{Location, Parameter, Query, Scalar, Shape, Style};
use crate::operation::Operation;
use crate::violation::Path;
use crate::{Json, Map, Number};

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is looked for.
    pub location: Location,
    /// Its name on the wire.
    pub name: &'static str,
    /// JSON Pointer that starts with the name: `/limit`.
    pub pointer: String,
    /// The JSON Schema keyword that refused it; `required` when it is missing.
    pub keyword: &'static str,
    /// Whether it is missing or there and wrong.
    pub missing: Missing,
}

/// Whether a parameter is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is required and not there.
    Yes,
    /// It is there and not valid.
    No,
}

/// Where parameters are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The operation whose path template names the path's parameters.
    pub operation: &'a Operation,
    /// Path, headers and cookies.
    pub parts: &'a Parts,
    /// The query, split.
    pub query: &'a Query<'a>,
}

/// A parameter that is there but whose text cannot be read as its style wants.
struct Unreadable;

type Found = Result<Option<Json>, Unreadable>;

impl Sources<'_> {
    /// Reads and checks all parameters of the operation, in its order.
    ///
    /// # Errors
    /// All that is wrong, in the same order.
    pub fn read(&self) -> Result<Vec<Option<Json>>, Vec<Fault>> {
        let mut faults = Vec::new();
        let values = self.operation.parameters.iter().map(|p| self.read_one(p, &mut faults)).collect();
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }

    fn read_one(&self, parameter: &Parameter, faults: &mut Vec<Fault>) -> Option<Json> {
        let found = match parameter.location {
            Location::Path => self.in_path(parameter),
            Location::Query => self.in_query(parameter),
            Location::Header => self.in_headers(parameter),
            Location::Cookie => self.in_cookies(parameter),
        };
        let value = match found {
            Ok(Some(value)) => value,
            Ok(None) => {
                if parameter.required {
                    faults.push(parameter.fault("", "required", Missing::Yes));
                }
                return None;
            }
            Err(Unreadable) => {
                faults.push(parameter.fault("", "type", Missing::No));
                return None;
            }
        };
        if let Some(validator) = parameter.validator
            && let Err(violations) = validator().validate(&value)
        {
            let found = violations.iter();
            faults.extend(found.map(|v| parameter.fault(&v.pointer, v.keyword, Missing::No)));
            return None;
        }
        Some(value)
    }

    fn in_path(&self, parameter: &Parameter) -> Found {
        match self.operation.path_value(self.parts.uri.path(), parameter.name) {
            Some(raw) => one_piece(parameter, raw, decode_percent).map(Some),
            None => Ok(None),
        }
    }

    fn in_query(&self, parameter: &Parameter) -> Found {
        match (parameter.shape, parameter.style) {
            (Shape::Object(fields), Style::DeepObject) => {
                let pairs = self.query.pairs().filter_map(|(name, value)| {
                    let member = name.strip_prefix(parameter.name)?.strip_prefix('[')?;
                    Some((member.strip_suffix(']')?, value))
                });
                present_object(fields, pairs)
            }
            (Shape::Object(fields), _) if parameter.explode => {
                let declared = |name: &str| fields.iter().any(|(field, _)| *field == name);
                present_object(fields, self.query.pairs().filter(|(name, _)| declared(name)))
            }
            (Shape::Array(scalar), _) if parameter.explode => {
                let mut values = self.query.values(parameter.name).peekable();
                if values.peek().is_none() {
                    return Ok(None);
                }
                values
                    .map(|raw| scalar_of(scalar, raw, decode))
                    .collect::<Result<_, _>>()
                    .map(|items| Some(Json::Array(items)))
            }
            _ => {
                let mut values = self.query.values(parameter.name);
                match (values.next(), values.next()) {
                    (None, _) => Ok(None),
                    (Some(raw), None) => one_piece(parameter, raw, decode).map(Some),
                    // Which of the two is meant nobody can know.
                    (Some(_), Some(_)) => Err(Unreadable),
                }
            }
        }
    }

    fn in_headers(&self, parameter: &Parameter) -> Found {
        let Ok(name) = HeaderName::from_bytes(parameter.name.as_bytes()) else { return Ok(None) };
        let mut lines = Vec::new();
        for line in self.parts.headers.get_all(name) {
            lines.push(std::str::from_utf8(line.as_bytes()).map_err(|_| Unreadable)?);
        }
        match (lines.as_slice(), parameter.shape) {
            ([], _) => Ok(None),
            ([line], _) => one_piece(parameter, line.trim(), plain).map(Some),
            // RFC 9110, 5.3: several lines are one list.
            (lines, Shape::Array(_)) => one_piece(parameter, &lines.join(","), plain).map(Some),
            _ => Err(Unreadable),
        }
    }

    fn in_cookies(&self, parameter: &Parameter) -> Found {
        let mut found = None;
        for line in self.parts.headers.get_all(header::COOKIE) {
            let line = std::str::from_utf8(line.as_bytes()).map_err(|_| Unreadable)?;
            for pair in line.split(';') {
                if let Some((name, value)) = pair.trim().split_once('=')
                    && name == parameter.name
                    && found.replace(value).is_some()
                {
                    return Err(Unreadable);
                }
            }
        }
        found.map(|raw| one_piece(parameter, raw, decode_percent)).transpose()
    }
}

impl Parameter {
    fn fault(&self, below: &str, keyword: &'static str, missing: Missing) -> Fault {
        let pointer = Path::Root.key(self.name).pointer() + below;
        Fault { location: self.location, name: self.name, pointer, keyword, missing }
    }

    /// What to report when a checked value still does not fit its Rust type: an integer
    /// beyond 64 bits.
    #[must_use]
    pub fn unrepresentable(&self) -> Fault {
        self.fault("", "type", Missing::No)
    }
}

/// Reads a form body into an object: declared fields by their shape, others as text.
/// `None` when it is malformed or a field that is not a list stands twice.
#[must_use]
pub fn read_form(fields: &[(&'static str, Shape)], body: &str) -> Option<Json> {
    let query = Query::parse(body).ok()?;
    let mut object = Map::new();
    for (name, raw) in query.pairs() {
        let declared = fields.iter().find(|(field, _)| *field == name).map(|(_, shape)| *shape);
        match declared.unwrap_or(Shape::Scalar(Scalar::Text)) {
            Shape::Array(scalar) => {
                let item = scalar_of(scalar, raw, decode).ok()?;
                match object.get_mut(name) {
                    Some(Json::Array(items)) => items.push(item),
                    _ => drop(object.insert(name.to_owned(), Json::Array(vec![item]))),
                }
            }
            Shape::Scalar(scalar) => {
                let value = scalar_of(scalar, raw, decode).ok()?;
                if object.insert(name.to_owned(), value).is_some() {
                    return None;
                }
            }
            Shape::Object(_) | Shape::Json => {
                let value = Json::parse(decode(raw)?.as_bytes()).ok()?;
                if object.insert(name.to_owned(), value).is_some() {
                    return None;
                }
            }
        }
    }
    Some(Json::Object(object))
}

type Decode = fn(&str) -> Option<Cow<'_, str>>;

/// Headers are taken as they stand.
fn plain(raw: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(raw.trim()))
}

fn one_piece(parameter: &Parameter, raw: &str, decode: Decode) -> Result<Json, Unreadable> {
    match parameter.shape {
        Shape::Scalar(scalar) => scalar_of(scalar, raw, decode),
        Shape::Array(scalar) => {
            let items = elements(raw, parameter.style);
            items
                .into_iter()
                .map(|item| scalar_of(scalar, item, decode))
                .collect::<Result<_, _>>()
                .map(Json::Array)
        }
        Shape::Object(fields) => {
            let pairs = members(raw, parameter.style, parameter.explode).ok_or(Unreadable)?;
            object_of(fields, pairs, decode).map(Json::Object)
        }
        Shape::Json => {
            let text = decode(raw).ok_or(Unreadable)?;
            Json::parse(text.as_bytes()).map_err(|_| Unreadable)
        }
    }
}

fn present_object<'a>(
    fields: &[(&'static str, Scalar)],
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Found {
    let object = object_of(fields, pairs, decode)?;
    Ok((!object.is_empty()).then_some(Json::Object(object)))
}

fn object_of<'a>(
    fields: &[(&'static str, Scalar)],
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    decode: Decode,
) -> Result<Map<Json>, Unreadable> {
    let mut object = Map::new();
    for (name, raw) in pairs {
        let name = decode(name).ok_or(Unreadable)?;
        let declared = fields.iter().find(|(field, _)| *field == name);
        let scalar = declared.map_or(Scalar::Text, |(_, scalar)| *scalar);
        if object.insert(name.into_owned(), scalar_of(scalar, raw, decode)?).is_some() {
            return Err(Unreadable);
        }
    }
    Ok(object)
}

fn scalar_of(scalar: Scalar, raw: &str, decode: Decode) -> Result<Json, Unreadable> {
    let text = decode(raw).ok_or(Unreadable)?;
    let number = matches!(scalar, Scalar::Number | Scalar::Any);
    let boolean = matches!(scalar, Scalar::Boolean | Scalar::Any);
    Ok(match text.as_ref() {
        "true" if boolean => Json::Bool(true),
        "false" if boolean => Json::Bool(false),
        "null" if scalar == Scalar::Any => Json::Null,
        other => match Number::parse(other) {
            Ok(value) if number => Json::Number(value),
            _ => Json::String(text.into_owned()),
        },
    })
}

#[cfg(test)]
mod tests;
