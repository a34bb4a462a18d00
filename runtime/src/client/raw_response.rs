//! Unparsed responses, and the methods by which a generated client parses them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use super::{
    error::{Error, UnexpectedReason, UnexpectedResponse},
    response::Response,
};
use crate::{
    depth,
    json::Json,
    media_type::MediaType,
    operation::{ContentSpec, Operation, StatusRange},
    read::{self, ReadJson},
    violation::Violations,
};

/// The maximum length of a field in an error summary, in bytes.
const MAX_SHOWN_LENGTH: usize = 128;

/// The fields of error bodies that the `Display` output of errors shows.
#[derive(Clone, Copy, Default)]
pub(super) struct ShownFields {
    /// The fields of every error response.
    pub(super) names: &'static [&'static str],
    /// Further fields of some responses.
    pub(super) responses: &'static [ResponseFields],
}

/// The fields of one error response that the `Display` output of errors shows.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFields {
    /// The `operationId`.
    pub operation: &'static str,
    /// The statuses of the response in the contract.
    pub statuses: StatusRange,
    /// The names of the fields in the body.
    pub fields: &'static [&'static str],
}

impl ShownFields {
    /// Returns the fields of a response, without duplicates.
    fn of_response(&self, operation: &Operation, status: u16) -> Vec<&'static str> {
        let mut fields = self.names.to_vec();
        let statuses = operation.response_for_status(status).map(|response| response.statuses);
        let own = self.responses.iter().filter(|row| row.operation == operation.id);
        for name in own.filter(|row| Some(row.statuses) == statuses).flat_map(|row| row.fields) {
            if !fields.contains(name) {
                fields.push(name);
            }
        }
        fields
    }
}

/// A response whose body is not parsed yet, together with its operation.
///
/// Generated code matches on the status and calls one of the consuming methods.
pub struct RawResponse {
    response: http::Response<Bytes>,
    operation: &'static Operation,
    shown_fields: ShownFields,
}

/// A decoded body, or the reason why decoding failed. Generated code converts it into a success response or
/// an error.
#[must_use]
pub struct DecodedBody<T>(Result<Response<T>, Box<UnexpectedResponse>>);

impl<T> DecodedBody<T> {
    /// Returns the decoded body as a success response. `wrap` puts the body into a variant if there are
    /// several types.
    ///
    /// # Errors
    /// [`Error::UnexpectedResponse`] if decoding failed.
    pub fn into_success<U, E>(self, wrap: impl FnOnce(T) -> U) -> Result<Response<U>, Error<E>> {
        self.0.map(|response| response.map(wrap)).map_err(Error::UnexpectedResponse)
    }

    /// Returns the decoded body as an error response. `wrap` puts the body into a variant if there are
    /// several types.
    ///
    /// # Errors
    /// Always: [`Error::ErrorResponse`], or [`Error::UnexpectedResponse`] if decoding failed.
    pub fn into_error<U, E>(self, wrap: impl FnOnce(T) -> E) -> Result<Response<U>, Error<E>> {
        Err(match self.0 {
            Ok(answer) => Error::ErrorResponse(Box::new(answer.map(wrap))),
            Err(unreadable) => Error::UnexpectedResponse(unreadable),
        })
    }
}

impl RawResponse {
    /// Creates a response. The `Display` output of its errors may show the string fields `shown` of an error
    /// body.
    pub(super) const fn new(
        response: http::Response<Bytes>,
        operation: &'static Operation,
        shown: ShownFields,
    ) -> Self {
        Self { response, operation, shown_fields: shown }
    }

    /// Returns the status as a number, for `match`.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns true if `Content-Type` is this media type or within this range (`image/*`). A response
    /// without `Content-Type` matches none.
    #[must_use]
    pub fn has_media_type(&self, media_type: &str) -> bool {
        let received = self.media_type().map(MediaType::parse);
        received.is_some_and(|received| MediaType::parse(media_type).contains(&received))
    }

    /// Parses the JSON body of a success response.
    ///
    /// # Errors
    /// [`Error::UnexpectedResponse`] if the body is not JSON of type `T`.
    pub fn json<T: for<'de> ReadJson<'de> + Send, E>(self) -> Result<Response<T>, Error<E>> {
        self.decode_json().into_success(identity)
    }

    /// Parses the JSON body of a success response. Returns `None` for an empty body if the contract lists no
    /// media type for the status.
    ///
    /// # Errors
    /// [`Error::UnexpectedResponse`] if the body is not JSON of type `T`, or is missing although the
    /// contract describes one.
    pub fn json_or_empty<T: for<'de> ReadJson<'de> + Send, E>(self) -> Result<Response<Option<T>>, Error<E>> {
        let described =
            self.operation.response_for_status(self.status()).is_some_and(|row| !row.content.is_empty());
        if self.response.body().is_empty() && !described {
            return Ok(self.with_body(None));
        }
        self.decode_json().into_success(Some)
    }

    /// Returns a success response without a body. A body that the server sends anyway is ignored.
    ///
    /// # Errors
    /// Never fails; it returns a `Result` like the other methods.
    pub fn empty<E>(self) -> Result<Response<()>, Error<E>> {
        self.decode_empty().into_success(identity)
    }

    /// Returns the undecoded body of a success response, whatever its media type.
    ///
    /// # Errors
    /// Never fails; it returns a `Result` like the other methods.
    pub fn bytes<E>(self) -> Result<Response<Bytes>, Error<E>> {
        self.decode_bytes().into_success(identity)
    }

    /// Decodes the UTF-8 body of a success response.
    ///
    /// # Errors
    /// [`Error::UnexpectedResponse`] if the body is not UTF-8.
    pub fn text<E>(self) -> Result<Response<String>, Error<E>> {
        self.decode_text().into_success(identity)
    }

    /// Parses the JSON body of an error response.
    ///
    /// # Errors
    /// Always returns an error.
    pub fn error_json<T, E: for<'de> ReadJson<'de> + Send>(self) -> Result<Response<T>, Error<E>> {
        self.decode_json().into_error(identity)
    }

    /// Returns an error response for which the contract defines no body.
    ///
    /// # Errors
    /// Always returns an error.
    pub fn error_empty<T>(self) -> Result<Response<T>, Error<()>> {
        self.decode_empty().into_error(identity)
    }

    /// Returns the undecoded body of an error response, whatever its media type.
    ///
    /// # Errors
    /// Always returns an error.
    pub fn error_bytes<T>(self) -> Result<Response<T>, Error<Bytes>> {
        self.decode_bytes().into_error(identity)
    }

    /// Decodes the UTF-8 body of an error response.
    ///
    /// # Errors
    /// Always returns an error.
    pub fn error_text<T>(self) -> Result<Response<T>, Error<String>> {
        self.decode_text().into_error(identity)
    }

    /// Reports a status that the contract does not list.
    ///
    /// # Errors
    /// Always: [`UnexpectedReason::UndocumentedStatus`].
    pub fn undocumented_status<T, E>(self) -> Result<Response<T>, Error<E>> {
        Err(Error::UnexpectedResponse(self.into_unexpected(UnexpectedReason::UndocumentedStatus)))
    }

    /// Reports a media type that the contract does not list for the status.
    ///
    /// # Errors
    /// Always: [`UnexpectedReason::MediaType`].
    pub fn unexpected_media_type<T, E>(self) -> Result<Response<T>, Error<E>> {
        Err(Error::UnexpectedResponse(self.into_unexpected(UnexpectedReason::MediaType)))
    }

    /// Returns the response without a body. A body that the server sends anyway is ignored.
    pub fn decode_empty(self) -> DecodedBody<()> {
        DecodedBody(Ok(self.with_body(())))
    }

    /// Takes the body without decoding it.
    pub fn decode_bytes(self) -> DecodedBody<Bytes> {
        let body = self.response.body().clone();
        DecodedBody(Ok(self.with_body(body)))
    }

    /// Decodes the body as UTF-8.
    pub fn decode_text(self) -> DecodedBody<String> {
        DecodedBody(match std::str::from_utf8(self.response.body()).map(str::to_owned) {
            Ok(text) => Ok(self.with_body(text)),
            Err(_) => Err(self.into_unexpected(UnexpectedReason::Encoding)),
        })
    }

    /// Parses the body as JSON. Accepts `text/plain` if the body is JSON other than a string, since some servers
    /// do not set `Content-Type`.
    pub fn decode_json<T: for<'de> ReadJson<'de> + Send>(self) -> DecodedBody<T> {
        if self.response.body().is_empty() {
            return DecodedBody(Err(self.into_unexpected(UnexpectedReason::MissingBody)));
        }
        let is_json = self.is_json();
        if !is_json && !self.may_be_json_text() {
            return DecodedBody(Err(self.into_unexpected(UnexpectedReason::MediaType)));
        }
        DecodedBody(match read::read_document(self.response.body(), depth::DEFAULT_DEPTH) {
            Ok(body) => Ok(self.with_body(body)),
            Err(_) if depth::measure_depth(self.response.body()) > depth::DEFAULT_DEPTH => {
                Err(self.into_unexpected(UnexpectedReason::TooDeep))
            }
            // Plain text only begins like JSON.
            Err(_) if !is_json && Json::parse(self.response.body()).is_err() => {
                Err(self.into_unexpected(UnexpectedReason::MediaType))
            }
            // Reports only the location, because the message of `serde_json` may contain parts of the body.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                let reason = match error.classify() {
                    serde_json::error::Category::Data => {
                        UnexpectedReason::Shape { line, column, violations: self.schema_violations() }
                    }
                    _ => UnexpectedReason::Syntax { line, column },
                };
                Err(self.into_unexpected(reason))
            }
        })
    }

    /// Validates a body that `T` cannot represent, to explain the failure.
    fn schema_violations(&self) -> Option<Violations> {
        let validator = self.content_spec()?.validator?;
        validator.validate(&Json::parse(self.response.body()).ok()?).err()
    }

    fn content_spec(&self) -> Option<&'static ContentSpec> {
        let response = self.operation.response_for_status(self.status())?;
        let named = self.media_type().and_then(|media_type| response.content_for(media_type));
        named.or(response.content.iter().find(|content| MediaType::parse(content.media_type).is_json()))
    }

    /// Formats the fields that may be logged, such as `code ABC, correlationId 7`. Skips values that are too
    /// long or not printable ASCII.
    fn summarize_error(&self) -> Option<Box<str>> {
        let fields = self.shown_fields.of_response(self.operation, self.status());
        if fields.is_empty() || !(self.is_json() || self.may_be_json_text()) {
            return None;
        }
        let Ok(Json::Object(members)) = Json::parse(self.response.body()) else { return None };
        let mut message = String::new();
        for name in fields {
            let text = match members.get(name) {
                Some(Json::String(text)) => text.clone(),
                Some(Json::Number(number)) => number.to_string(),
                _ => continue,
            };
            if text.len() <= MAX_SHOWN_LENGTH && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                let comma = if message.is_empty() { "" } else { ", " };
                message.push_str(&format!("{comma}{name} {text}"));
            }
        }
        (!message.is_empty()).then(|| message.into())
    }

    fn media_type(&self) -> Option<&str> {
        self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
    }

    fn with_body<T>(self, body: T) -> Response<T> {
        let summary = if self.response.status().as_u16() >= 300 { self.summarize_error() } else { None };
        let (parts, _) = self.response.into_parts();
        Response::from_parts(parts, body).with_error_summary(summary)
    }
    /// Converts the response into an [`UnexpectedResponse`] with this reason.
    pub(super) fn into_unexpected(self, reason: UnexpectedReason) -> Box<UnexpectedResponse> {
        let (parts, body) = self.response.into_parts();
        let http::response::Parts { status, headers, extensions, .. } = parts;
        Box::new(UnexpectedResponse { status, headers, body, extensions, reason })
    }
    /// Returns true if `Content-Type` is `application/json` or `application/…+json`, or if it is missing, in
    /// which case the recipient may examine the data (RFC 9110, 8.3).
    fn is_json(&self) -> bool {
        let Some(value) = self.response.headers().get(CONTENT_TYPE) else { return true };
        value.to_str().is_ok_and(|text| MediaType::parse(text).is_json())
    }

    /// Returns true for a `text/plain` body whose first character can begin JSON other than a string. The
    /// rest of the body is not parsed.
    fn may_be_json_text(&self) -> bool {
        let first = self.response.body().trim_ascii_start().first();
        let may_begin = |byte: &u8| matches!(byte, b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n');
        self.media_type().is_some_and(|name| MediaType::parse(name).is_plain_text())
            && first.is_some_and(may_begin)
    }
}

fn identity<T>(body: T) -> T {
    body
}
