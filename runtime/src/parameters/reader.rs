//! Finds the parameters of a request, converts them into JSON and validates them.
//!
//! All parameters are validated before typed values are created, so that one response lists all violations. A
//! violation consists of a pointer (`/limit`, `/ids/3`) and a keyword, and never contains a value.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, header};

use super::attempt::{FoundValue, ReadAttempt, UnreadableText};
use super::{Parameter, ParameterLocation, QueryPairs, ScalarType, ValueShape};
use crate::violation::{InstancePath, Violation, violation_message};
use crate::{Json, Map, path_template};

/// One parameter of a request that is missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFault {
    /// The part of the request that should contain the parameter.
    pub location: ParameterLocation,
    /// The name of the parameter in requests.
    pub name: &'static str,
    /// A JSON Pointer that begins with the name, such as `/limit`.
    pub pointer: String,
    /// The violated JSON Schema keyword, or `required` for a missing parameter.
    pub keyword: &'static str,
    /// Whether the parameter is missing or invalid.
    pub kind: ParameterFaultKind,
    /// The value of the keyword in the schema, as [`Violation::limit`](crate::violation::Violation::limit).
    pub limit: Option<Arc<str>>,
}

impl ParameterFault {
    /// Returns a human-readable message. It is the predicate of a sentence about the parameter, such as `must
    /// be at most 50`, and never contains the invalid value.
    #[must_use]
    pub fn message(&self) -> String {
        violation_message(self.keyword, self.limit.as_deref())
    }
}

/// The kind of a parameter fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterFaultKind {
    /// The parameter is required, but the request does not contain it.
    Missing,
    /// The value cannot be decoded or violates the schema.
    Invalid,
}

/// A reader that decodes and validates the parameters of one request.
#[derive(Clone, Copy)]
pub struct ParameterReader<'a> {
    /// The path template, which contains the names of the path parameters.
    pub template: &'a str,
    /// The parameters to read.
    pub parameters: &'a [Parameter],
    /// The head of the request: path, headers and cookies.
    pub parts: &'a Parts,
    /// The query of the request, split into pairs.
    pub query: &'a QueryPairs<'a>,
}

/// Shows only the template and sizes, because parameters may be secrets.
impl fmt::Debug for ParameterReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterReader")
            .field("path", &self.template)
            .field("headers", &self.parts.headers.len())
            .field("query", self.query)
            .finish_non_exhaustive()
    }
}

impl ParameterReader<'_> {
    /// Reads and validates all parameters, in the order of [`parameters`](Self::parameters).
    ///
    /// # Errors
    /// Returns all missing and invalid parameters, in the same order.
    pub fn read_all(&self) -> Result<Vec<Option<Json>>, Vec<ParameterFault>> {
        let mut faults = Vec::new();
        let values = self.parameters.iter().map(|p| self.read_one(p, &mut faults)).collect();
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }

    fn read_one(&self, parameter: &Parameter, faults: &mut Vec<ParameterFault>) -> Option<Json> {
        match parameter.resolve_value(&|attempt| self.find_value(parameter, attempt)) {
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                if parameter.required {
                    faults.push(parameter.new_fault("", "required", ParameterFaultKind::Missing));
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

    /// Returns true for a query parameter that is sent without a value and allows this (OpenAPI 3.1,
    /// 4.8.12.2.1).
    fn is_without_value(&self, parameter: &Parameter) -> bool {
        let mut values = self.query.values(parameter.name);
        parameter.allow_empty && values.next() == Some("") && values.next().is_none()
    }

    fn find_value(&self, parameter: &Parameter, attempt: ReadAttempt) -> FoundValue {
        match parameter.location {
            ParameterLocation::Path => {
                match path_template::placeholder_value(self.template, self.parts.uri.path(), parameter.name) {
                    Some(raw) => attempt.read_string(parameter, raw).map(Some),
                    None => Ok(None),
                }
            }
            ParameterLocation::Query => {
                attempt.read_pairs(parameter, self.query, &|name| parameter.is_claimed(self.parameters, name))
            }
            ParameterLocation::Header => self.find_header(parameter, attempt),
            ParameterLocation::QueryString => {
                attempt.read_query_string(self.parts.uri.query().unwrap_or_default())
            }
            ParameterLocation::Cookie => {
                let lines = self.parts.headers.get_all(header::COOKIE).iter();
                let cookies =
                    QueryPairs::from_cookies(lines.map(|line| line.as_bytes())).ok_or(UnreadableText)?;
                attempt.read_pairs(parameter, &cookies, &|name| parameter.is_claimed(self.parameters, name))
            }
        }
    }

    fn find_header(&self, parameter: &Parameter, attempt: ReadAttempt) -> FoundValue {
        let Ok(name) = HeaderName::from_bytes(parameter.name.as_bytes()) else { return Ok(None) };
        let mut lines = Vec::new();
        for line in self.parts.headers.get_all(name) {
            lines.push(std::str::from_utf8(line.as_bytes()).map_err(|_| UnreadableText)?);
        }
        match (lines.as_slice(), attempt.shape) {
            ([], _) => Ok(None),
            ([line], _) => attempt.read_string(parameter, line.trim()).map(Some),
            // Several header lines form one list (RFC 9110, 5.3).
            (lines, ValueShape::Array(_)) => attempt.read_string(parameter, &lines.join(",")).map(Some),
            _ => Err(UnreadableText),
        }
    }
}

impl Parameter {
    /// Returns the values as which a header can be decoded, most likely first. They are not validated.
    #[cfg(feature = "client")]
    pub(crate) fn read_header(&self, value: &str) -> impl Iterator<Item = Json> {
        self.read_attempts().filter_map(move |attempt| attempt.read_string(self, value.trim()).ok())
    }

    /// Returns true if a name in a query, a form or cookies belongs to another of these parameters. If both
    /// could own the name, it belongs to the one with the longer name: `a[b][c]` to `a[b]` and not to `a`.
    fn is_claimed(&self, all: &[Self], name: &str) -> bool {
        let own = self.matched_length(name);
        let mut others =
            all.iter().filter(|other| other.location == self.location && other.name != self.name);
        others.any(|other| other.matched_length(name) > own)
    }

    /// Returns the length of the part of `name` that makes it a name of this parameter, or `None` if the name
    /// does not belong to the parameter.
    fn matched_length(&self, name: &str) -> Option<usize> {
        let length_for = |shape: ValueShape| match shape {
            ValueShape::Object(members) | ValueShape::Map(members, _)
                if self.explode && self.bracket_convention().is_none() =>
            {
                members.iter().any(|(member, _)| *member == name).then_some(name.len())
            }
            _ => self.owns_name(name).then_some(self.name.len()),
        };
        match self.shape {
            ValueShape::OneOf(shapes) => shapes.iter().filter_map(|shape| length_for(*shape)).max(),
            shape => length_for(shape),
        }
    }

    /// Returns the first interpretation that the schema accepts. If there is none, returns the violations of
    /// the first interpretation that can be decoded.
    fn resolve_value(
        &self,
        find: &dyn Fn(ReadAttempt) -> FoundValue,
    ) -> Result<Option<Json>, Vec<ParameterFault>> {
        let mut wrong: Option<Vec<ParameterFault>> = None;
        let mut unreadable = false;
        for attempt in self.read_attempts() {
            let value = match find(attempt) {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(UnreadableText) => {
                    unreadable = true;
                    continue;
                }
            };
            let Some(validator) = self.validator else { return Ok(Some(value)) };
            let Err(violations) = validator.validate(&value) else { return Ok(Some(value)) };
            wrong.get_or_insert_with(|| {
                let found = violations.iter();
                let fault = |v: &Violation| ParameterFault {
                    limit: v.limit.clone(),
                    ..self.new_fault(&v.pointer, v.keyword, ParameterFaultKind::Invalid)
                };
                found.map(fault).collect()
            });
        }
        match wrong {
            Some(faults) => Err(faults),
            None if unreadable => Err(vec![self.new_fault("", "type", ParameterFaultKind::Invalid)]),
            None => Ok(None),
        }
    }

    fn new_fault(&self, below: &str, keyword: &'static str, missing: ParameterFaultKind) -> ParameterFault {
        let pointer = InstancePath::Root.key(self.name).to_pointer() + below;
        ParameterFault {
            location: self.location,
            name: self.name,
            pointer,
            keyword,
            kind: missing,
            limit: None,
        }
    }

    /// Returns the fault for a validated value that its Rust type cannot represent, such as an integer beyond
    /// 64 bits.
    #[must_use]
    pub fn unrepresentable_fault(&self) -> ParameterFault {
        self.new_fault("", "format", ParameterFaultKind::Invalid)
    }
}

/// Decodes a form body into an object. Declared fields are decoded as declared, undeclared fields as
/// `others`. Several values of one name form a list. Returns `None` if the body is malformed.
#[must_use]
pub fn read_form(fields: &[Parameter], others: ScalarType, body: &str) -> Option<Json> {
    let pairs = QueryPairs::parse(body).ok()?;
    let mut object = Map::new();
    for field in fields {
        let claimed = |name: &str| field.is_claimed(fields, name);
        // Violations are reported later, together with those of the complete body.
        let lenient = Parameter { validator: None, ..*field };
        let attempts =
            |row: &Parameter| row.resolve_value(&|attempt| attempt.read_pairs(field, &pairs, &claimed));
        let value = attempts(field).or_else(|_| attempts(&lenient)).ok()?;
        if let Some(value) = value {
            object.insert(field.name.to_owned(), value);
        }
    }
    let is_declared = |name: &str| {
        fields.iter().any(|field| match field.shape {
            _ if !field.explode || field.bracket_convention().is_some() => field.owns_name(name),
            // The map contains all names that belong to no other field.
            ValueShape::Map(..) => true,
            ValueShape::Object(members) if !members.is_empty() => {
                members.iter().any(|(member, _)| *member == name)
            }
            _ => field.owns_name(name),
        })
    };
    for (name, raw) in pairs.iter().filter(|(name, _)| !is_declared(name)) {
        let row = Parameter { shape: ValueShape::Scalar(others), explode: false, ..Parameter::QUERY };
        let value = row.read_attempts().find_map(|attempt| attempt.read_string(&row, raw).ok())?;
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
