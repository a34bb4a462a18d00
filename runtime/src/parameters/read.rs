//! Finds parameters in a request, turns their text into JSON and checks it.
//!
//! Every parameter is checked by its schema before anything typed is made of it, so that one
//! answer names all that is wrong. What is reported is a pointer (`/limit`, `/ids/3`) and a
//! keyword, never a value.

use std::fmt;

use http::request::Parts;
use http::{HeaderName, header};

use super::found::{Attempt, Found, Unreadable};
use super::{Location, Parameter, Query, Scalar, Shape, Style};
use crate::violation::Path;
use crate::{Json, Map, template};

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
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The path's template, which names its parameters.
    pub path: &'a str,
    /// What is looked for.
    pub parameters: &'a [Parameter],
    /// Path, headers and cookies.
    pub parts: &'a Parts,
    /// The query, split.
    pub query: &'a Query<'a>,
}

/// The template and counts: parameters may be secrets.
impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("path", &self.path)
            .field("headers", &self.parts.headers.len())
            .field("query", self.query)
            .finish_non_exhaustive()
    }
}

impl Sources<'_> {
    /// Reads and checks all parameters, in their order.
    ///
    /// # Errors
    /// All that is wrong, in the same order.
    pub fn read(&self) -> Result<Vec<Option<Json>>, Vec<Fault>> {
        let mut faults = Vec::new();
        let values = self.parameters.iter().map(|p| self.read_one(p, &mut faults)).collect();
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }

    fn read_one(&self, parameter: &Parameter, faults: &mut Vec<Fault>) -> Option<Json> {
        match parameter.settle(&|attempt| self.find(parameter, attempt)) {
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                if parameter.required {
                    faults.push(parameter.fault("", "required", Missing::Yes));
                }
                None
            }
            Err(_) if self.is_without_value(parameter) => None,
            Err(found) => {
                faults.extend(found);
                None
            }
        }
    }

    /// Whether a parameter of the query that may be sent without a value is (OpenAPI 3.1, 4.8.12.2.1).
    fn is_without_value(&self, parameter: &Parameter) -> bool {
        let mut values = self.query.values(parameter.name);
        parameter.allow_empty && values.next() == Some("") && values.next().is_none()
    }

    fn find(&self, parameter: &Parameter, attempt: Attempt) -> Found {
        match parameter.location {
            Location::Path => match template::value(self.path, self.parts.uri.path(), parameter.name) {
                Some(raw) => attempt.one_piece(parameter, raw).map(Some),
                None => Ok(None),
            },
            Location::Query => attempt.in_pairs(parameter, self.query, &|name| self.claims(parameter, name)),
            Location::Header => self.in_headers(parameter, attempt),
            Location::QueryString => attempt.whole(self.parts.uri.query().unwrap_or_default()),
            Location::Cookie => {
                let lines = self.parts.headers.get_all(header::COOKIE).iter();
                let cookies = Query::of_cookies(lines.map(|line| line.as_bytes())).ok_or(Unreadable)?;
                attempt.in_pairs(parameter, &cookies, &|name| self.claims(parameter, name))
            }
        }
    }

    /// Whether a name belongs to another parameter at the same place.
    fn claims(&self, own: &Parameter, name: &str) -> bool {
        let others = self.parameters.iter();
        let mut others = others.filter(|other| other.location == own.location && other.name != own.name);
        others.any(|other| {
            let below = || name.strip_prefix(other.name).is_some_and(|rest| rest.starts_with('['));
            match other.shape {
                Shape::Object(_) | Shape::Map(..) if other.style == Style::DeepObject => below(),
                Shape::Object(members) | Shape::Map(members, _) if other.explode => {
                    members.iter().any(|(member, _)| *member == name)
                }
                _ => other.name == name,
            }
        })
    }

    fn in_headers(&self, parameter: &Parameter, attempt: Attempt) -> Found {
        let Ok(name) = HeaderName::from_bytes(parameter.name.as_bytes()) else { return Ok(None) };
        let mut lines = Vec::new();
        for line in self.parts.headers.get_all(name) {
            lines.push(std::str::from_utf8(line.as_bytes()).map_err(|_| Unreadable)?);
        }
        match (lines.as_slice(), attempt.shape) {
            ([], _) => Ok(None),
            ([line], _) => attempt.one_piece(parameter, line.trim()).map(Some),
            // RFC 9110, 5.3: several lines are one list.
            (lines, Shape::Array(_)) => attempt.one_piece(parameter, &lines.join(",")).map(Some),
            _ => Err(Unreadable),
        }
    }
}

impl Parameter {
    /// The first way of reading it that its schema accepts; when there is none, what is wrong
    /// with the first that can be read at all.
    fn settle(&self, find: &dyn Fn(Attempt) -> Found) -> Result<Option<Json>, Vec<Fault>> {
        let mut wrong: Option<Vec<Fault>> = None;
        let mut unreadable = false;
        for attempt in self.attempts() {
            let value = match find(attempt) {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(Unreadable) => {
                    unreadable = true;
                    continue;
                }
            };
            let Some(validator) = self.validator else { return Ok(Some(value)) };
            let Err(violations) = validator.validate(&value) else { return Ok(Some(value)) };
            wrong.get_or_insert_with(|| {
                let found = violations.iter();
                found.map(|v| self.fault(&v.pointer, v.keyword, Missing::No)).collect()
            });
        }
        match wrong {
            Some(faults) => Err(faults),
            None if unreadable => Err(vec![self.fault("", "type", Missing::No)]),
            None => Ok(None),
        }
    }

    fn fault(&self, below: &str, keyword: &'static str, missing: Missing) -> Fault {
        let pointer = Path::Root.key(self.name).pointer() + below;
        Fault { location: self.location, name: self.name, pointer, keyword, missing }
    }

    /// What to report when a checked value still does not fit its Rust type: an integer
    /// beyond 64 bits.
    #[must_use]
    pub fn unrepresentable(&self) -> Fault {
        self.fault("", "format", Missing::No)
    }
}

/// Reads a form body into an object: declared fields by their rows, others as `others` says,
/// several of one name as a list. `None` when it is malformed.
#[must_use]
pub fn read_form(fields: &[Parameter], others: Scalar, body: &str) -> Option<Json> {
    let pairs = Query::parse(body).ok()?;
    let mut object = Map::new();
    for field in fields {
        let nobody = |name: &str| fields.iter().any(|other| other.name != field.name && other.name == name);
        // What its schema refuses is found once more, and reported, with the whole body.
        let lenient = Parameter { validator: None, ..*field };
        let attempts = |row: &Parameter| row.settle(&|attempt| attempt.in_pairs(field, &pairs, &nobody));
        let value = attempts(field).or_else(|_| attempts(&lenient)).ok()?;
        if let Some(value) = value {
            object.insert(field.name.to_owned(), value);
        }
    }
    let own = |name: &str| {
        fields.iter().any(|field| {
            let members = match field.shape {
                Shape::Object(members) | Shape::Map(members, _) => members,
                _ => &[],
            };
            let below = || name.strip_prefix(field.name).is_some_and(|rest| rest.starts_with('['));
            match field.style {
                Style::DeepObject => below(),
                // It has all that belongs to no other field.
                _ if field.explode && matches!(field.shape, Shape::Map(..)) => true,
                _ if field.explode && !members.is_empty() => {
                    members.iter().any(|(member, _)| *member == name)
                }
                _ => field.name == name,
            }
        })
    };
    for (name, raw) in pairs.pairs().filter(|(name, _)| !own(name)) {
        let row = Parameter { shape: Shape::Scalar(others), explode: false, ..Parameter::QUERY };
        let value = row.attempts().find_map(|attempt| attempt.one_piece(&row, raw).ok())?;
        match object.get_mut(name) {
            Some(Json::Array(items)) => items.push(value),
            Some(first) => *first = Json::Array(vec![std::mem::take(first), value]),
            None => drop(object.insert(name.to_owned(), value)),
        }
    }
    Some(Json::Object(object))
}

#[cfg(test)]
mod tests;
