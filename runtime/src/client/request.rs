//! A request under construction.

use std::fmt::{self, Display, Write as _};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Serialize;

use super::{RequestChecks, encode::encode, error::SendError};
use crate::{
    contract::Contract,
    json::Json,
    operation::Operation,
    parameters::{Location, Scalar, Shape},
    transport::{Delivery, TransportError, TransportFault},
    violation::{Violation, Violations},
};

/// A request that generated code fills and [`Core::send`](super::Core::send) sends. What is
/// wrong with an argument is kept and reported there, all of it together.
#[must_use]
pub struct Request {
    operation: &'static Operation,
    checks: RequestChecks,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
    violations: Vec<Violation>,
}

impl Request {
    pub(super) fn new(operation: &'static Operation, checks: RequestChecks) -> Self {
        Self {
            operation,
            checks,
            path: operation.path.to_owned(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            violations: Vec::new(),
        }
    }

    /// Fills `{name}` of the path template with one encoded value.
    ///
    /// Refused: a value that makes the path segment empty, `.` or `..`. Those name another
    /// path, whichever way they are encoded (RFC 3986, 5.2.4; WHATWG URL, 4.1).
    pub fn path(mut self, name: &'static str, value: impl Display) -> Self {
        self.check(Location::Path, name, &[&value]);
        let mut encoded = String::new();
        encode(&value, &mut encoded);
        let placeholder = format!("{{{name}}}");
        self.path = self.path.replace(&placeholder, &encoded);
        let within = |segment: &str| segment.contains(&placeholder);
        let segments = self.operation.path.split('/').zip(self.path.split('/'));
        let lost = segments
            .filter(|(template, _)| within(template))
            .any(|(_, filled)| matches!(filled, "" | "." | ".."));
        if lost {
            self.refuse(name, "", "pattern");
        }
        self
    }

    /// Adds `name=value` for each value: none for `None`, one for `[value]` or `Some`, as
    /// many as there are for a list (`style: form`, `explode: true`).
    pub fn query(mut self, name: &'static str, values: impl IntoIterator<Item: Display>) -> Self {
        let values: Vec<_> = values.into_iter().collect();
        self.check(Location::Query, name, &as_display(&values));
        for value in values {
            self.query_name(name);
            encode(&value, &mut self.query);
        }
        self
    }

    /// Adds `name=first,second` for a list (`style: form`, `explode: false`), nothing for an
    /// empty one.
    pub fn query_joined(mut self, name: &'static str, values: impl IntoIterator<Item: Display>) -> Self {
        let values: Vec<_> = values.into_iter().collect();
        self.check(Location::Query, name, &as_display(&values));
        let mut first = true;
        for value in values {
            if first {
                self.query_name(name);
            } else {
                self.query.push(',');
            }
            first = false;
            encode(&value, &mut self.query);
        }
        self
    }

    /// Adds a header for each value. Refused: a value that no header can hold.
    pub fn header(mut self, name: &'static str, values: impl IntoIterator<Item: Display>) -> Self {
        let values: Vec<_> = values.into_iter().collect();
        self.check(Location::Header, name, &as_display(&values));
        for value in values {
            let name_read = HeaderName::from_bytes(name.as_bytes());
            match (name_read, HeaderValue::try_from(value.to_string())) {
                (Ok(header), Ok(text)) => {
                    self.headers.append(header, text);
                }
                _ => self.refuse(name, "", "pattern"),
            }
        }
        self
    }

    /// The media types that the caller can read: `Accept`.
    pub fn accept(mut self, media_types: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(media_types));
        self
    }

    /// A JSON body of the given media type, checked unless checks are off.
    pub fn json<T: Contract>(self, media_type: &'static str, body: &T) -> Self {
        if self.checks == RequestChecks::On
            && let Err(violations) = body.validate()
        {
            return self.refused(violations);
        }
        self.plain_json(media_type, body)
    }

    /// A JSON body whose type is no generated one (a list, a string), checked by the schema
    /// that the operation's table has for it, unless checks are off.
    pub fn json_value<T: Serialize + ?Sized>(self, media_type: &'static str, body: &T) -> Self {
        let validator = self.operation.body.and_then(|body| body.validator);
        if self.checks == RequestChecks::On
            && let Some(validator) = validator
            && let Some(json) = to_json(body)
            && let Err(violations) = validator().validate(&json)
        {
            return self.refused(violations);
        }
        self.plain_json(media_type, body)
    }

    fn plain_json<T: Serialize + ?Sized>(mut self, media_type: &'static str, body: &T) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.bytes(media_type, bytes),
            Err(_) => {
                // A value without a JSON form: no generated model has such values.
                self.violations.push(violation(String::new(), "type", self.operation));
                self
            }
        }
    }

    /// A form (`application/x-www-form-urlencoded`), checked unless checks are off. Lists
    /// become repeated names. Refused: a member that is an object.
    pub fn form<T: Contract>(mut self, media_type: &'static str, body: &T) -> Self {
        if self.checks == RequestChecks::On
            && let Err(violations) = body.validate()
        {
            return self.refused(violations);
        }
        let Some(Json::Object(members)) = to_json(body) else {
            self.violations.push(violation(String::new(), "type", self.operation));
            return self;
        };
        let mut text = String::new();
        for (name, value) in members.iter() {
            let values = match value {
                Json::Array(values) => values.as_slice(),
                single => std::slice::from_ref(single),
            };
            for value in values {
                if !encode_pair(name, value, &mut text) {
                    self.refuse(name, "", "type");
                }
            }
        }
        self.bytes(media_type, text)
    }

    /// A body of the given media type, sent as it is.
    pub fn bytes(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = body.into();
        self
    }

    fn query_name(&mut self, name: &str) {
        let begun = !self.query.is_empty() || self.path.contains('?');
        self.query.push(if begun { '&' } else { '?' });
        encode(&name, &mut self.query);
        self.query.push('=');
    }

    fn refused(mut self, violations: Violations) -> Self {
        self.violations.extend(violations);
        self
    }

    /// Checks an argument as the contract says; nothing when there is none, which leaves an
    /// optional one out.
    fn check(&mut self, location: Location, name: &str, values: &[&dyn Display]) {
        let parameter =
            self.operation.parameters.iter().find(|parameter| {
                parameter.location == location && parameter.name.eq_ignore_ascii_case(name)
            });
        let (Some(parameter), Some(first)) = (parameter, values.first()) else { return };
        let Some(validator) = parameter.validator else { return };
        if self.checks == RequestChecks::Off {
            return;
        }
        let json = match parameter.shape {
            Shape::Scalar(scalar) => read(scalar, first),
            Shape::Array(scalar) => Json::Array(values.iter().map(|value| read(scalar, value)).collect()),
            // Clients have no such arguments.
            Shape::Object(_) | Shape::Json => return,
        };
        let Err(violations) = validator().validate(&json) else { return };
        for violation in violations {
            let keyword = violation.keyword;
            self.refuse(name, &violation.pointer, keyword);
            if let Some(last) = self.violations.last_mut() {
                last.schema = violation.schema;
            }
        }
    }

    fn refuse(&mut self, name: &str, below: &str, keyword: &'static str) {
        let mut pointer = String::from("/");
        for character in name.chars() {
            match character {
                '~' => pointer.push_str("~0"),
                '/' => pointer.push_str("~1"),
                _ => pointer.push(character),
            }
        }
        pointer.push_str(below);
        self.violations.push(violation(pointer, keyword, self.operation));
    }

    pub(super) fn finish(
        self,
        base_url: &str,
    ) -> Result<(&'static Operation, http::Request<Bytes>), SendError> {
        Violations::check(self.violations).map_err(SendError::InvalidRequest)?;
        let cannot = || TransportError::new(TransportFault::Request, Delivery::NotSent);
        // By itself: with the path behind it, `https://` would take its first segment as host.
        let base = base_url
            .parse::<Uri>()
            .ok()
            .filter(|base| base.scheme().is_some() && base.authority().is_some() && base.query().is_none());
        if base.is_none() {
            return Err(cannot().with_source("the base URL is not scheme, host and path").into());
        }
        let mut uri = String::with_capacity(base_url.len() + self.path.len() + self.query.len());
        let _ = write!(uri, "{base_url}{}{}", self.path, self.query);
        let method = Method::from_bytes(self.operation.method.as_bytes())
            .map_err(|error| cannot().with_source(error))?;
        let mut request = http::Request::builder()
            .method(method)
            .uri(uri)
            .body(self.body)
            .map_err(|error| cannot().with_source(error))?;
        *request.headers_mut() = self.headers;
        Ok((self.operation, request))
    }
}

/// The operation alone: arguments may be secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("operation", &self.operation.id).finish_non_exhaustive()
    }
}

fn as_display<T: Display>(values: &[T]) -> Vec<&dyn Display> {
    values.iter().map(|value| value as &dyn Display).collect()
}

/// The JSON value that an argument's text stands for.
fn read(scalar: Scalar, value: &dyn Display) -> Json {
    let text = value.to_string();
    let parsed = match scalar {
        Scalar::Text => None,
        Scalar::Number | Scalar::Boolean | Scalar::Any => Json::parse(text.as_bytes()).ok(),
    };
    parsed.unwrap_or(Json::String(text))
}

fn to_json<T: Serialize + ?Sized>(body: &T) -> Option<Json> {
    Json::parse(&serde_json::to_vec(body).ok()?).ok()
}

/// Adds `name=value`; nothing for `null`. `false` when the value has no such form.
fn encode_pair(name: &str, value: &Json, out: &mut String) -> bool {
    let mut pair = |value: &dyn Display| {
        if !out.is_empty() {
            out.push('&');
        }
        encode(&name, out);
        out.push('=');
        encode(&value, out);
    };
    match value {
        Json::Null => {}
        Json::Bool(value) => pair(value),
        Json::Number(value) => pair(value),
        Json::String(value) => pair(value),
        Json::Array(_) | Json::Object(_) => return false,
    }
    true
}

fn violation(pointer: String, keyword: &'static str, operation: &Operation) -> Violation {
    Violation { pointer, keyword, schema: format!("operation {}", operation.id) }
}
