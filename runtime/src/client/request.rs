//! The request builder that generated code fills.

use std::fmt::{self, Write as _};

use bytes::Bytes;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri,
    header::{ACCEPT, CONTENT_TYPE, COOKIE},
};
use serde::Serialize;

use super::{
    RequestChecks, StoredRequest, error::SendError, idempotency_key::RandomSource, server_url::origin,
};
use crate::{
    contract::{Contract, to_json, validate_serialized},
    json::Json,
    multipart::{Multipart, MultipartWriter, find_unaccepted, find_untyped, resolve_json},
    operation::{BodyFormat, ContentSpec, Operation, PartSpec, TypedBytes},
    parameters::{Parameter, ParameterLocation, encode},
    path_template,
    transport::{Delivery, TransportError, TransportFault},
    violation::{Violation, Violations},
};

/// A builder of the HTTP request of a call, for [`ApiClient::send`](super::ApiClient::send).
///
/// Invalid arguments do not stop the builder. They are collected and reported together when the request is
/// sent.
#[must_use]
pub struct RequestBuilder {
    pub(super) operation: &'static Operation,
    pub(super) checks: RequestChecks,
    path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    cookies: String,
    /// The server that the contract declares for the operation. `address` takes precedence.
    server: Option<&'static str>,
    address: Option<String>,
    body: Bytes,
    /// Replaces `body` for streaming requests.
    #[cfg(feature = "stream")]
    pub(super) body_stream: Option<crate::transport::ByteStream>,
    extensions: Extensions,
    random: RandomSource,
    violations: Vec<Violation>,
}

impl RequestBuilder {
    pub(super) fn new(
        operation: &'static Operation,
        checks: RequestChecks,
        server: Option<&'static str>,
        random: RandomSource,
    ) -> Self {
        let (path, pairs) = match operation.is_webhook() {
            // A webhook has no path; the given address is the complete target.
            true => ("", ""),
            false => path_template::split_query(operation.path),
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
            body_stream: None,
            extensions: Extensions::new(),
            random,
            violations: Vec::new(),
        }
    }

    /// Adds an argument, encoded as the entry in [`Operation::parameters`] defines. `None` and `null` are
    /// omitted, and so are empty lists that are not required.
    pub fn argument(self, index: usize, value: impl Serialize) -> Self {
        let json = to_json(&value).ok();
        self.write_argument(index, json)
    }

    fn write_argument(mut self, index: usize, json: Option<Json>) -> Self {
        let Some(row) = self.operation.parameters.get(index).copied() else {
            // The index is not valid for this operation. Sending the request without the argument would lose
            // it silently.
            self.add_violation("", "", "properties");
            return self;
        };
        let json = self.check_argument(&row, json);
        match row.location {
            ParameterLocation::Path => self.write_path(&row, &json),
            ParameterLocation::Query => self.write_query(&row, &json),
            ParameterLocation::Header => self.write_header(&row, &json),
            ParameterLocation::Cookie => self.write_cookie(&row, &json),
            ParameterLocation::QueryString => self.whole_query(&row, &json),
        }
        self
    }

    /// Attaches a value for the transport, keyed by its type. The transport finds it among the extensions of
    /// the request.
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// Fills in `{name}` in the path template.
    ///
    /// Rejects a value that makes a path segment empty, `.` or `..`. Such a path resolves to a different
    /// path, even if the dots are percent-encoded (RFC 3986, 5.2.4; WHATWG URL, 4.1).
    fn write_path(&mut self, row: &Parameter, json: &Json) {
        let written = encode::write_path(row, json);
        let Some(encoded) = self.record_unencodable(row.name, written) else { return };
        let placeholder = format!("{{{}}}", row.name);
        self.path = self.path.replace(&placeholder, &encoded);
        let within = |segment: &str| segment.contains(&placeholder);
        let segments = self.operation.path.split('/').zip(self.path.split('/'));
        let lost = segments
            .filter(|(template, _)| within(template))
            .any(|(_, filled)| matches!(filled.replace("%2E", ".").as_str(), "" | "." | ".."));
        if lost {
            self.add_violation(row.name, "", "style");
        }
    }

    fn write_query(&mut self, row: &Parameter, json: &Json) {
        let written = encode::write_pairs(row, json);
        for (name, value) in self.record_unencodable(row.name, written).unwrap_or_default() {
            self.append_query(format_args!("{name}={value}"));
        }
    }

    fn append_query(&mut self, pairs: fmt::Arguments<'_>) {
        let begun = !self.query.is_empty();
        let _ = write!(self.query, "{}{pairs}", if begun { '&' } else { '?' });
    }

    fn whole_query(&mut self, row: &Parameter, json: &Json) {
        let written = encode::write_query_string(row, json);
        if let Some(Some(text)) = self.record_unencodable(row.name, written) {
            self.append_query(format_args!("{text}"));
        }
    }

    /// Rejects a value that is not a valid header value.
    fn write_header(&mut self, row: &Parameter, json: &Json) {
        let written = encode::write_header(row, json);
        let Some(Some(text)) = self.record_unencodable(row.name, written) else { return };
        match (HeaderName::from_bytes(row.name.as_bytes()), HeaderValue::try_from(text)) {
            (Ok(header), Ok(text)) => {
                self.headers.append(header, text);
            }
            _ => self.add_violation(row.name, "", "style"),
        }
    }

    /// Adds the cookies of a parameter. The transport may send further cookies.
    fn write_cookie(&mut self, row: &Parameter, json: &Json) {
        let written = encode::write_pairs(row, json);
        for (name, value) in self.record_unencodable(row.name, written).unwrap_or_default() {
            let separator = if self.cookies.is_empty() { "" } else { "; " };
            let _ = write!(self.cookies, "{separator}{name}={value}");
        }
    }

    /// Validates an argument that is present, or records a violation if a required one is missing.
    fn check_argument(&mut self, row: &Parameter, json: Option<Json>) -> Json {
        let name = row.name;
        let Some(json) = json else {
            self.add_violation(name, "", "type");
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
            let below_name = |violation: Violation| {
                let pointer = argument_pointer(name, &violation.pointer);
                Violation { pointer, ..violation }
            };
            self.violations.extend(violations.into_iter().map(below_name));
        }
        if absent && row.required {
            self.add_violation(name, "", "required");
        }
        json
    }

    /// Adds a random idempotency key if the operation takes one and the caller passed none. All attempts to
    /// send the request use the same key.
    pub(super) fn add_missing_key(&mut self) {
        let Some(index) = self.operation.parameters.iter().position(|row| row.idempotency_key) else {
            return;
        };
        let row = &self.operation.parameters[index];
        if self.headers.contains_key(row.name) {
            return;
        }
        let key = Json::String(self.random.idempotency_key());
        let key = self.check_argument(row, Some(key));
        self.write_header(row, &key);
    }

    /// Returns the encoded argument, or records a violation for a value that cannot be encoded.
    fn record_unencodable<T>(
        &mut self,
        name: &str,
        written: Result<T, encode::ParameterEncodingError>,
    ) -> Option<T> {
        match written {
            Ok(written) => Some(written),
            Err(reason) => {
                // The schema of the contract may have no keyword that excludes this value.
                self.add_violation(name, &reason.pointer, "style");
                None
            }
        }
    }

    /// Sets `Accept` to the media types that the caller can parse.
    pub fn accept(mut self, media_types: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(media_types));
        self
    }

    /// Sets a JSON body of the given media type. Validates the body unless checks are off.
    pub fn json<T: Contract>(self, media_type: &'static str, body: &T) -> Self {
        if self.checks == RequestChecks::On
            && let Err(violations) = body.validate()
        {
            return self.with_violations(violations);
        }
        self.write_json(media_type, body)
    }

    /// Sets a JSON body of a type that is not generated, such as a list or a string. Validates the body
    /// against the schema in the operation table unless checks are off.
    pub fn json_value<T: Serialize + ?Sized>(self, media_type: &'static str, body: &T) -> Self {
        let validator = self.content_spec(media_type).and_then(|content| content.validator);
        if self.checks == RequestChecks::On
            && let Some(validator) = validator
            && let Err(violations) = validate_serialized(body, validator)
        {
            return self.with_violations(violations);
        }
        self.write_json(media_type, body)
    }

    fn write_json<T: Serialize + ?Sized>(mut self, media_type: &'static str, body: &T) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.bytes(media_type, bytes),
            Err(_) => {
                // The value cannot be represented in JSON. Generated models always can.
                self.violations.push(operation_violation(String::new(), "type", self.operation));
                self
            }
        }
    }

    /// Sets a form (`application/x-www-form-urlencoded`). Validates the form unless checks are off. Declared
    /// fields are encoded as the operation table defines, undeclared fields like query parameters.
    pub fn form<T: Serialize>(self, media_type: &'static str, body: &T) -> Self {
        let json = to_json(body).ok();
        self.write_form(media_type, json)
    }

    fn write_form(mut self, media_type: &'static str, json: Option<Json>) -> Self {
        let Some(Json::Object(members)) = json else {
            self.violations.push(operation_violation(String::new(), "type", self.operation));
            return self;
        };
        let content = self.content_spec(media_type);
        let fields = match content.map(|content| content.format) {
            Some(BodyFormat::Form(fields, _)) => fields,
            _ => &[],
        };
        let mut text = String::new();
        for (name, value) in members.iter() {
            let written = encode::write_field(fields, name, value);
            for (name, value) in self.record_unencodable(name, written).unwrap_or_default() {
                let separator = if text.is_empty() { "" } else { "&" };
                let _ = write!(text, "{separator}{name}={value}");
            }
        }
        let json = Json::Object(members);
        if let Some(validator) = content.and_then(|content| content.validator)
            && self.checks == RequestChecks::On
            && let Err(violations) = validator.validate(&json)
        {
            return self.with_violations(violations);
        }
        self.bytes(media_type, text)
    }

    /// Sets a multipart body. Validates the body unless checks are off.
    pub fn multipart<T: Multipart + ?Sized>(self, media_type: &'static str, body: &T) -> Self {
        let rows = match self.content_spec(media_type).map(|content| content.format) {
            Some(BodyFormat::Multipart(rows)) => rows,
            _ => &[],
        };
        let mut writer = MultipartWriter::new(rows);
        body.write_parts(&mut writer);
        self.write_parts(media_type, rows, writer)
    }

    fn write_parts(mut self, media_type: &'static str, rows: &[PartSpec], writer: MultipartWriter) -> Self {
        for name in &writer.unencodable {
            self.add_violation(name, "", "type");
        }
        let unsupported =
            find_unaccepted(rows, &writer.fields).or_else(|| find_untyped(rows, &writer.fields));
        if let Some(row) = unsupported.filter(|_| self.checks == RequestChecks::On) {
            self.add_violation(row.name, "", "contentMediaType");
        }
        let validator = self.content_spec(media_type).and_then(|content| content.validator);
        if self.checks == RequestChecks::On {
            match resolve_json(rows, &writer.fields, validator) {
                Ok(_) => {}
                Err(Some(violations)) => return self.with_violations(violations),
                Err(None) => self.violations.push(operation_violation(String::new(), "type", self.operation)),
            }
        }
        let (bytes, boundary) = writer.into_bytes();
        match HeaderValue::try_from(format!("{media_type}; boundary={boundary}")) {
            Ok(value) => drop(self.headers.insert(CONTENT_TYPE, value)),
            Err(_) => self.violations.push(operation_violation(String::new(), "type", self.operation)),
        }
        self.body = bytes.into();
        self
    }

    /// Sets a body of bytes, for a media type range in the contract such as `image/*`.
    pub fn typed_bytes(mut self, body: &TypedBytes) -> Self {
        let declared =
            self.operation.body.is_none_or(|content| content.content_for(&body.media_type).is_some());
        match HeaderValue::try_from(body.media_type.as_str()) {
            Ok(value) if declared => drop(self.headers.insert(CONTENT_TYPE, value)),
            _ => self.violations.push(operation_violation(String::new(), "contentMediaType", self.operation)),
        }
        self.body = body.bytes.clone();
        self
    }

    /// Sends the request to this address instead of the base URL of the client. The address consists of
    /// scheme, host and start of the path. An address that begins with `/` replaces only the path of the base
    /// URL.
    pub fn with_address(mut self, address: &str) -> Self {
        self.address = Some(address.to_owned());
        self
    }

    /// Returns the entry of a request media type in the operation table.
    pub(super) fn content_spec(&self, media_type: &str) -> Option<&'static ContentSpec> {
        let content = self.operation.body?.content;
        content.iter().find(|content| content.media_type == media_type)
    }

    /// Sets a text body of the given media type.
    pub fn text(self, media_type: &'static str, body: &str) -> Self {
        self.bytes(media_type, body.to_owned())
    }

    /// Sets a body of the given media type without encoding or validating it.
    pub fn bytes(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = body.into();
        self
    }

    fn with_violations(mut self, violations: Violations) -> Self {
        self.violations.extend(violations);
        self
    }

    pub(super) fn add_violation(&mut self, name: &str, below: &str, keyword: &'static str) {
        let pointer = argument_pointer(name, below);
        self.violations.push(operation_violation(pointer, keyword, self.operation));
    }

    pub(super) fn into_http(
        mut self,
        base_url: &str,
    ) -> Result<(&'static Operation, http::Request<Bytes>), SendError> {
        self.add_missing_key();
        Violations::ensure_empty(self.violations).map_err(SendError::InvalidRequest)?;
        let cannot = || TransportError::new(TransportFault::Request, Delivery::NotSent);
        #[cfg(feature = "stream")]
        if self.body_stream.is_some() {
            return Err(cannot()
                .with_source("a streaming body must be sent with `ApiClient::upload_stream` or `ApiClient::open_stream`")
                .into());
        }
        // The address of a webhook is the complete URL and may include a query.
        let is_webhook = self.operation.is_webhook();
        let address = self.address.as_deref().or(self.server);
        let address =
            address.map(|url| if is_webhook { url.to_owned() } else { resolve_address(base_url, url) });
        let base_url = address.as_deref().unwrap_or(base_url);
        if is_webhook && base_url.contains('?') {
            self.query = self.query.replacen('?', "&", 1);
        }
        // Parsed before the path is appended, because `https://` would otherwise take the first path segment
        // as its host.
        let base = base_url
            .parse::<Uri>()
            .ok()
            .filter(|base| base.scheme().is_some() && base.authority().is_some())
            .filter(|base| is_webhook || base.query().is_none());
        if base.is_none() {
            return Err(cannot().with_source("the base URL must consist of scheme, host and path").into());
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

    /// Serializes the request without the base URL of the client, so that an outbox can send the same bytes
    /// repeatedly.
    ///
    /// # Errors
    /// All violations, if the request violates the contract.
    pub fn into_stored(mut self) -> Result<StoredRequest, Violations> {
        self.add_missing_key();
        Violations::ensure_empty(self.violations)?;
        let mut headers = self.headers;
        if let Ok(cookies) = HeaderValue::try_from(self.cookies.as_str())
            && !cookies.is_empty()
        {
            headers.append(COOKIE, cookies);
        }
        Ok(StoredRequest {
            operation: self.operation.id.into(),
            path_and_query: self.path + &self.query,
            address: self.address,
            headers,
            body: self.body,
        })
    }

    /// Restores a stored request byte for byte, without validating it again.
    pub(super) fn with_stored(mut self, stored: &StoredRequest) -> Self {
        if stored.operation != self.operation.id {
            self.add_violation("operation", "", "const");
        }
        let text = stored.path_and_query.as_str();
        let (path, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        (self.path, self.query) = (path.to_owned(), query.to_owned());
        (self.headers, self.body) = (stored.headers.clone(), stored.body.clone());
        self.address.clone_from(&stored.address);
        self
    }
}

/// Shows only the operation, because arguments may be secrets.
impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder").field("operation", &self.operation.id).finish_non_exhaustive()
    }
}

/// Resolves an address that may be relative to the host of the base URL (RFC 3986, 4.2). A trailing `/` is ignored.
#[must_use]
pub fn resolve_address(base_url: &str, address: &str) -> String {
    let address = address.strip_suffix('/').unwrap_or(address);
    if !(address.is_empty() || address.starts_with('/')) {
        return address.to_owned();
    }
    format!("{}{address}", origin(base_url))
}

/// Returns the pointer of a value below the argument `name`.
fn argument_pointer(name: &str, below: &str) -> String {
    let mut pointer = String::new();
    crate::pointer::push_token(&mut pointer, name);
    pointer.push_str(below);
    pointer
}

fn operation_violation(pointer: String, keyword: &'static str, operation: &Operation) -> Violation {
    Violation::new(pointer, keyword, format!("operation {}", operation.id))
}
