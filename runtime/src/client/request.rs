//! A request under construction.

use std::fmt::{self, Write as _};

use bytes::Bytes;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri,
    header::{ACCEPT, CONTENT_TYPE, COOKIE},
};
use serde::Serialize;

use super::{RequestChecks, Stored, error::SendError};
use crate::{
    contract::{Contract, check_json, to_json},
    json::Json,
    multipart::{Multipart, Writer, settle},
    operation::{Content, Format, Operation, Part, Typed},
    parameters::{Location, Parameter, write},
    template,
    transport::{Delivery, TransportError, TransportFault},
    violation::{Violation, Violations},
};

/// A request that generated code fills and [`Core::send`](super::Core::send) sends. What is
/// wrong with an argument is kept and reported there, all of it together.
#[must_use]
pub struct Request {
    pub(super) operation: &'static Operation,
    pub(super) checks: RequestChecks,
    path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    cookies: String,
    /// What the contract gives the operation, and before that what the caller says.
    server: Option<&'static str>,
    address: Option<String>,
    body: Bytes,
    /// In the place of the body.
    #[cfg(feature = "stream")]
    pub(super) pieces: Option<crate::transport::ByteStream>,
    extensions: Extensions,
    violations: Vec<Violation>,
}

impl Request {
    pub(super) fn new(
        operation: &'static Operation,
        checks: RequestChecks,
        server: Option<&'static str>,
    ) -> Self {
        let (path, pairs) = match operation.is_webhook() {
            // Its address is all there is of its target.
            true => ("", ""),
            false => template::parts(operation.path),
        };
        let begin = if pairs.is_empty() { "" } else { "?" };
        Self {
            operation,
            checks,
            path: path.to_owned(),
            query: format!("{begin}{pairs}"),
            headers: HeaderMap::new(),
            cookies: String::new(),
            server,
            address: None,
            body: Bytes::new(),
            #[cfg(feature = "stream")]
            pieces: None,
            extensions: Extensions::new(),
            violations: Vec::new(),
        }
    }

    /// Sends an argument as its row of [`Operation::parameters`] says; `None`, `null` and empty
    /// lists that are not required are left out.
    pub fn argument(self, index: usize, value: impl Serialize) -> Self {
        let json = to_json(&value).ok();
        self.write(index, json)
    }

    fn write(mut self, index: usize, json: Option<Json>) -> Self {
        let Some(row) = self.operation.parameters.get(index).copied() else {
            // Of another table: nothing of it may be lost.
            self.refuse("", "", "properties");
            return self;
        };
        let json = self.checked(&row, json);
        match row.location {
            Location::Path => self.path(&row, &json),
            Location::Query => self.query(&row, &json),
            Location::Header => self.header(&row, &json),
            Location::Cookie => self.cookie(&row, &json),
            Location::QueryString => self.whole_query(&row, &json),
        }
        self
    }

    /// Gives something to the transport, by its type: it finds it among the extensions of the
    /// request.
    pub fn with<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// Fills `{name}` of the path template.
    ///
    /// Refused: a value that makes the path segment empty, `.` or `..`. Those name another
    /// path, whichever way they are encoded (RFC 3986, 5.2.4; WHATWG URL, 4.1).
    fn path(&mut self, row: &Parameter, json: &Json) {
        let written = write::path(row, json);
        let Some(encoded) = self.written(row.name, written) else { return };
        let placeholder = format!("{{{}}}", row.name);
        self.path = self.path.replace(&placeholder, &encoded);
        let within = |segment: &str| segment.contains(&placeholder);
        let segments = self.operation.path.split('/').zip(self.path.split('/'));
        let lost = segments
            .filter(|(template, _)| within(template))
            .any(|(_, filled)| matches!(filled.replace("%2E", ".").as_str(), "" | "." | ".."));
        if lost {
            self.refuse(row.name, "", "pattern");
        }
    }

    fn query(&mut self, row: &Parameter, json: &Json) {
        let written = write::pairs(row, json);
        for (name, value) in self.written(row.name, written).unwrap_or_default() {
            self.more(format_args!("{name}={value}"));
        }
    }

    fn more(&mut self, pairs: fmt::Arguments<'_>) {
        let begun = !self.query.is_empty();
        let _ = write!(self.query, "{}{pairs}", if begun { '&' } else { '?' });
    }

    fn whole_query(&mut self, row: &Parameter, json: &Json) {
        let written = write::whole(row, json);
        if let Some(Some(text)) = self.written(row.name, written) {
            self.more(format_args!("{text}"));
        }
    }

    /// Refused: a value that no header can hold.
    fn header(&mut self, row: &Parameter, json: &Json) {
        let written = write::header(row, json);
        let Some(Some(text)) = self.written(row.name, written) else { return };
        match (HeaderName::from_bytes(row.name.as_bytes()), HeaderValue::try_from(text)) {
            (Ok(header), Ok(text)) => {
                self.headers.append(header, text);
            }
            _ => self.refuse(row.name, "", "pattern"),
        }
    }

    /// Beside the cookies of the transport.
    fn cookie(&mut self, row: &Parameter, json: &Json) {
        let written = write::pairs(row, json);
        for (name, value) in self.written(row.name, written).unwrap_or_default() {
            let separator = if self.cookies.is_empty() { "" } else { "; " };
            let _ = write!(self.cookies, "{separator}{name}={value}");
        }
    }

    /// The argument as JSON, checked as the contract says. One that is not there is not checked.
    fn checked(&mut self, row: &Parameter, json: Option<Json>) -> Json {
        let name = row.name;
        let Some(json) = json else {
            self.refuse(name, "", "type");
            return Json::Null;
        };
        let absent = match &json {
            Json::Null => true,
            Json::Array(items) => items.is_empty() && !row.required,
            _ => false,
        };
        if let Some(validator) = row.validator.filter(|_| !absent && self.checks == RequestChecks::On)
            && let Err(violations) = validator.validate(&json)
        {
            for violation in violations {
                let keyword = violation.keyword;
                self.refuse(name, &violation.pointer, keyword);
                if let Some(last) = self.violations.last_mut() {
                    last.schema = violation.schema;
                }
            }
        }
        if absent && row.required {
            self.refuse(name, "", "required");
        }
        json
    }

    /// What was written; what has no text is kept as a violation.
    fn written<T>(&mut self, name: &str, written: Result<T, write::Inexpressible>) -> Option<T> {
        match written {
            Ok(written) => Some(written),
            Err(reason) => {
                self.refuse(name, &reason.pointer, reason.keyword);
                None
            }
        }
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
        let validator = self.content(media_type).and_then(|content| content.validator);
        if self.checks == RequestChecks::On
            && let Some(validator) = validator
            && let Err(violations) = check_json(body, validator)
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

    /// A form (`application/x-www-form-urlencoded`), checked unless checks are off; its fields
    /// are written as the operation's table says, others as queries are.
    pub fn form<T: Serialize>(self, media_type: &'static str, body: &T) -> Self {
        let json = to_json(body).ok();
        self.form_of(media_type, json)
    }

    fn form_of(mut self, media_type: &'static str, json: Option<Json>) -> Self {
        let Some(Json::Object(members)) = json else {
            self.violations.push(violation(String::new(), "type", self.operation));
            return self;
        };
        let content = self.content(media_type);
        let fields = match content.map(|content| content.format) {
            Some(Format::Form(fields, _)) => fields,
            _ => &[],
        };
        let mut text = String::new();
        for (name, value) in members.iter() {
            let written = write::field(fields, name, value);
            for (name, value) in self.written(name, written).unwrap_or_default() {
                let separator = if text.is_empty() { "" } else { "&" };
                let _ = write!(text, "{separator}{name}={value}");
            }
        }
        let json = Json::Object(members);
        if let Some(validator) = content.and_then(|content| content.validator)
            && self.checks == RequestChecks::On
            && let Err(violations) = validator.validate(&json)
        {
            return self.refused(violations);
        }
        self.bytes(media_type, text)
    }

    /// A body of parts, checked unless checks are off.
    pub fn multipart<T: Multipart + ?Sized>(self, media_type: &'static str, body: &T) -> Self {
        let rows = match self.content(media_type).map(|content| content.format) {
            Some(Format::Multipart(rows)) => rows,
            _ => &[],
        };
        let mut writer = Writer::new(rows);
        body.write(&mut writer);
        self.parts(media_type, rows, writer)
    }

    fn parts(mut self, media_type: &'static str, rows: &[Part], writer: Writer) -> Self {
        for name in &writer.lost {
            self.refuse(name, "", "type");
        }
        let validator = self.content(media_type).and_then(|content| content.validator);
        if self.checks == RequestChecks::On {
            match settle(rows, &writer.fields, validator) {
                Ok(_) => {}
                Err(Some(violations)) => return self.refused(violations),
                Err(None) => self.violations.push(violation(String::new(), "type", self.operation)),
            }
        }
        let (bytes, boundary) = writer.finish();
        match HeaderValue::try_from(format!("{media_type}; boundary={boundary}")) {
            Ok(value) => drop(self.headers.insert(CONTENT_TYPE, value)),
            Err(_) => self.violations.push(violation(String::new(), "type", self.operation)),
        }
        self.body = bytes.into();
        self
    }

    /// A body of bytes whose media type the contract leaves open (`image/*`).
    pub fn typed(mut self, body: &Typed) -> Self {
        let declared = self.operation.body.is_none_or(|content| content.of(&body.media_type).is_some());
        match HeaderValue::try_from(body.media_type.as_str()) {
            Ok(value) if declared => drop(self.headers.insert(CONTENT_TYPE, value)),
            _ => self.violations.push(violation(String::new(), "contentMediaType", self.operation)),
        }
        self.body = body.bytes.clone();
        self
    }

    /// Sends it to this address instead of the client's: scheme, host and start of the path.
    /// One that begins with `/` replaces the path of the client's.
    pub fn at(mut self, address: &str) -> Self {
        self.address = Some(address.to_owned());
        self
    }

    /// What the contract says of a media type.
    pub(super) fn content(&self, media_type: &str) -> Option<&'static Content> {
        let content = self.operation.body?.content;
        content.iter().find(|content| content.media_type == media_type)
    }

    /// A text of the given media type.
    pub fn text(self, media_type: &'static str, body: &str) -> Self {
        self.bytes(media_type, body.to_owned())
    }

    /// A body of the given media type, sent as it is.
    pub fn bytes(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = body.into();
        self
    }

    fn refused(mut self, violations: Violations) -> Self {
        self.violations.extend(violations);
        self
    }

    pub(super) fn refuse(&mut self, name: &str, below: &str, keyword: &'static str) {
        let mut pointer = String::new();
        crate::pointer::push(&mut pointer, name);
        pointer.push_str(below);
        self.violations.push(violation(pointer, keyword, self.operation));
    }

    pub(super) fn finish(
        mut self,
        base_url: &str,
    ) -> Result<(&'static Operation, http::Request<Bytes>), SendError> {
        Violations::check(self.violations).map_err(SendError::InvalidRequest)?;
        let cannot = || TransportError::new(TransportFault::Request, Delivery::NotSent);
        #[cfg(feature = "stream")]
        if self.pieces.is_some() {
            return Err(cannot()
                .with_source("a body in pieces goes through `Core::upload` or `Core::open`")
                .into());
        }
        // The address of a webhook is whole, and may have a query.
        let whole = self.operation.is_webhook();
        let address = self.address.as_deref().or(self.server);
        let address = address.map(|own| if whole { own.to_owned() } else { absolute(base_url, own) });
        let base_url = address.as_deref().unwrap_or(base_url);
        if whole && base_url.contains('?') {
            self.query = self.query.replacen('?', "&", 1);
        }
        // By itself: with the path behind it, `https://` would take its first segment as host.
        let base = base_url
            .parse::<Uri>()
            .ok()
            .filter(|base| base.scheme().is_some() && base.authority().is_some())
            .filter(|base| whole || base.query().is_none());
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
        if !self.cookies.is_empty() {
            let cookies = HeaderValue::try_from(self.cookies).map_err(|error| cannot().with_source(error))?;
            self.headers.append(COOKIE, cookies);
        }
        *request.headers_mut() = self.headers;
        *request.extensions_mut() = self.extensions;
        Ok((self.operation, request))
    }

    /// What would be sent, with the address that the caller gave and without the client's: for an
    /// outbox that has to send the same bytes however often.
    ///
    /// # Errors
    /// When the request breaks the contract.
    pub fn store(self) -> Result<Stored, Violations> {
        Violations::check(self.violations)?;
        let mut headers = self.headers;
        if let Ok(cookies) = HeaderValue::try_from(self.cookies.as_str())
            && !cookies.is_empty()
        {
            headers.append(COOKIE, cookies);
        }
        Ok(Stored {
            operation: self.operation.id.into(),
            path_and_query: self.path + &self.query,
            address: self.address,
            headers,
            body: self.body,
        })
    }

    /// The same operation with what was stored for it, byte for byte; nothing of that is checked
    /// again.
    pub(super) fn repeating(mut self, stored: &Stored) -> Self {
        if stored.operation != self.operation.id {
            self.refuse("operation", "", "const");
        }
        let text = stored.path_and_query.as_str();
        let (path, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        (self.path, self.query) = (path.to_owned(), query.to_owned());
        (self.headers, self.body) = (stored.headers.clone(), stored.body.clone());
        self.address.clone_from(&stored.address);
        self
    }
}

/// The operation alone: arguments may be secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("operation", &self.operation.id).finish_non_exhaustive()
    }
}

/// An address that may be relative to the root of another (RFC 3986, 4.2).
fn absolute(base_url: &str, address: &str) -> String {
    let address = address.strip_suffix('/').unwrap_or(address);
    if !(address.is_empty() || address.starts_with('/')) {
        return address.to_owned();
    }
    let host = base_url.find("://").map_or(0, |at| at + 3);
    let end = base_url[host..].find('/').map_or(base_url.len(), |at| host + at);
    format!("{}{address}", &base_url[..end])
}

fn violation(pointer: String, keyword: &'static str, operation: &Operation) -> Violation {
    Violation { pointer, keyword, schema: format!("operation {}", operation.id).into() }
}
