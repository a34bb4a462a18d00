//! Responses of handlers, and their encoding.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

use super::{IncomingRequest, Rejection};
use crate::media_type::{self, MediaType};
use crate::operation::{self, BodyFormat, Operation};
use crate::parameters::{Parameter, encode_header::write_header};
use crate::violation::Violations;
use crate::{Json, depth};

/// A successful response with headers, or with a status other than the first one in the contract.
///
/// Methods whose response has headers in the contract return this type. A body converts into it with
/// [`TypedResponse::new`] or `into`.
///
/// `H` is the generated struct of the headers that the contract declares for the operation, if there are any. A
/// struct with required headers has no `Default`, so that only [`TypedResponse::with_headers`] creates the
/// response.
#[derive(Clone)]
pub struct TypedResponse<T, H = ()> {
    /// The status; `None` for the first one in the contract.
    pub status: Option<StatusCode>,
    /// Headers to send. `Content-Type` overrides the media type of the contract, and any other header
    /// overrides the declared header of the same name.
    pub headers: HeaderMap,
    /// The headers that the contract declares.
    pub declared_headers: H,
    /// The body.
    pub body: T,
}

/// The declared headers of a response. Generated for each operation with such headers.
pub trait DeclaredHeaders {
    /// Writes all headers that have a value.
    fn write_headers(&self, headers: &mut HeaderWriter<'_>);
}

impl DeclaredHeaders for () {
    fn write_headers(&self, _: &mut HeaderWriter<'_>) {}
}

/// Encodes declared headers.
#[derive(Debug)]
pub struct HeaderWriter<'a> {
    headers: &'a mut HeaderMap,
    /// The first header that cannot be encoded.
    invalid: Option<&'static str>,
}

impl HeaderWriter<'_> {
    /// Writes a header, unless the response has it already.
    pub fn write<T: Serialize>(&mut self, row: &Parameter, value: &T) {
        let Ok(name) = HeaderName::try_from(row.name) else {
            self.invalid.get_or_insert(row.name);
            return;
        };
        if self.headers.contains_key(&name) {
            return;
        }
        let json = serde_json::to_vec(value).ok().and_then(|bytes| Json::parse(&bytes).ok());
        let text = json.and_then(|json| write_header(row, &json).ok());
        match text.map(|text| text.map(HeaderValue::try_from).transpose()) {
            Some(Ok(Some(value))) => drop(self.headers.insert(name, value)),
            Some(Ok(None)) => {}
            _ => drop(self.invalid.get_or_insert(row.name)),
        }
    }

    /// Writes a header that has a value.
    pub fn write_optional<T: Serialize>(&mut self, row: &Parameter, value: Option<&T>) {
        if let Some(value) = value {
            self.write(row, value);
        }
    }
}

/// Adds declared headers; returns the name of the first one that cannot be encoded.
fn add_declared_headers(
    declared: &impl DeclaredHeaders,
    headers: &mut HeaderMap,
) -> Result<(), &'static str> {
    let mut writer = HeaderWriter { headers, invalid: None };
    declared.write_headers(&mut writer);
    writer.invalid.map_or(Ok(()), Err)
}

/// Shows the `Debug` output of the body, and only the number of headers, because headers may contain secrets.
impl<T: fmt::Debug, H> fmt::Debug for TypedResponse<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedResponse")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl<T, H: Default> From<T> for TypedResponse<T, H> {
    fn from(body: T) -> Self {
        Self::new(body)
    }
}

impl<T, H: Default> TypedResponse<T, H> {
    /// Creates a response with the status of the contract and without headers.
    #[must_use]
    pub fn new(body: T) -> Self {
        Self::with_headers(body, H::default())
    }
}

impl<T, H> TypedResponse<T, H> {
    /// Creates a response with the status of the contract and declared headers.
    #[must_use]
    pub fn with_headers(body: T, declared_headers: H) -> Self {
        Self { status: None, headers: HeaderMap::new(), declared_headers, body }
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets a header, replacing an earlier value.
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Converts the body; status and headers stay.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> TypedResponse<U, H> {
        let Self { status, headers, declared_headers, body } = self;
        TypedResponse { status, headers, declared_headers, body: change(body) }
    }

    /// Separates status and headers from the body.
    pub fn split_body(self) -> (TypedResponse<(), H>, T) {
        let Self { status, headers, declared_headers, body } = self;
        (TypedResponse { status, headers, declared_headers, body: () }, body)
    }

    /// Encodes the declared headers.
    ///
    /// # Errors
    /// [`Rejection::InvalidResponse`] if a value cannot be a header, for example because it contains a line
    /// break.
    pub fn encode_headers(self) -> Result<TypedResponse<T>, Rejection>
    where
        H: DeclaredHeaders,
    {
        let Self { status, mut headers, declared_headers, body } = self;
        add_declared_headers(&declared_headers, &mut headers)
            .map_err(|name| Rejection::InvalidResponse(Box::new(InvalidResponse::Header(name))))?;
        Ok(TypedResponse { status, headers, declared_headers: (), body })
    }
}

/// The error result of a handler.
#[derive(Clone, Debug)]
pub enum ErrorResponse<P> {
    /// An error of the contract with status and headers.
    Typed(Box<TypedError<P>>),
    /// A rejection, passed to the service's `reject`.
    Rejected(Box<Rejection>),
    /// A response that was encoded earlier, a success or an error. It is sent byte for byte.
    Encoded(Box<EncodedResponse>),
}

/// An error response of the contract.
#[derive(Clone)]
pub struct TypedError<P> {
    /// One of the contract's error statuses.
    pub status: StatusCode,
    /// Headers to send, in addition to those of the contract.
    pub headers: HeaderMap,
    /// The body, encoded as the contract defines for the status.
    pub body: P,
}

/// Shows the `Debug` output of the body, and only the number of headers, because headers may contain secrets.
impl<P: fmt::Debug> fmt::Debug for TypedError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedError")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body)
            .finish()
    }
}

impl<P> ErrorResponse<P> {
    /// Creates an error with its status: 4xx, 5xx, or a redirect that the contract declares as an error. A
    /// status that clients treat as a success is not sent; it becomes [`InvalidResponse::SuccessStatus`].
    #[must_use]
    pub fn new(status: StatusCode, body: P) -> Self {
        Self::Typed(Box::new(TypedError { status, headers: HeaderMap::new(), body }))
    }

    /// Returns a stored response, for the repetition of a request with an idempotency key. Status, headers
    /// and bytes are sent unchanged, for a success as well as for an error.
    #[must_use]
    pub fn encoded(response: EncodedResponse) -> Self {
        Self::Encoded(Box::new(response))
    }

    /// Sets a header. Has no effect on [`ErrorResponse::Rejected`].
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        match &mut self {
            Self::Typed(refused) => drop(refused.headers.insert(name, value)),
            Self::Encoded(answer) => drop(answer.headers.insert(name, value)),
            Self::Rejected(_) => {}
        }
        self
    }

    /// Adds declared headers, such as those of the generated `ErrorResponseHeaders`. Has no effect on
    /// [`ErrorResponse::Rejected`]. If a value cannot be a header, the response becomes
    /// [`InvalidResponse::Header`].
    #[must_use]
    pub fn with_headers(mut self, declared: &impl DeclaredHeaders) -> Self {
        let headers = match &mut self {
            Self::Typed(error) => &mut error.headers,
            Self::Encoded(response) => &mut response.headers,
            Self::Rejected(_) => return self,
        };
        match add_declared_headers(declared, headers) {
            Ok(()) => self,
            Err(name) => Rejection::InvalidResponse(Box::new(InvalidResponse::Header(name))).into(),
        }
    }

    /// Converts the body of an error of the contract.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> ErrorResponse<Q> {
        match self {
            Self::Typed(refused) => {
                let TypedError { status, headers, body } = *refused;
                ErrorResponse::Typed(Box::new(TypedError { status, headers, body: change(body) }))
            }
            Self::Rejected(rejection) => ErrorResponse::Rejected(rejection),
            Self::Encoded(answer) => ErrorResponse::Encoded(answer),
        }
    }

    /// Returns the error of the contract, if it is one.
    #[must_use]
    pub fn as_typed(&self) -> Option<&TypedError<P>> {
        match self {
            Self::Typed(refused) => Some(refused),
            Self::Rejected(_) | Self::Encoded(_) => None,
        }
    }
}

impl<P> From<Rejection> for ErrorResponse<P> {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// Returns the default result of every method of a generated service.
pub fn not_implemented<R, T, P>(_request: R) -> NotImplemented<T, P> {
    NotImplemented(PhantomData)
}

/// The result of a method without an implementation: [`Rejection::NotImplemented`].
///
/// The future holds no `T`, so that the compiler can prove it `Send` without examining the response type.
#[derive(Debug)]
pub struct NotImplemented<T, P>(PhantomData<fn() -> (T, P)>);

impl<T, P> Future for NotImplemented<T, P> {
    type Output = Result<T, ErrorResponse<P>>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Err(Rejection::NotImplemented.into()))
    }
}

/// An encoded response, ready to be sent or to be stored for a repetition.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodedResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// All headers, including `Content-Type` if there is a body.
    pub headers: HeaderMap,
    /// The encoded body; empty for streams.
    pub body: Bytes,
}

/// Shows only the status and sizes, because the rest may contain secrets.
impl fmt::Debug for EncodedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedResponse")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body.len())
            .finish()
    }
}

/// The result of a handler after encoding.
pub type HandlerResult = Result<EncodedResponse, Rejection>;

/// The way in which a response violates the contract.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InvalidResponse {
    /// The operation has no such status.
    UndocumentedStatus(StatusCode),
    /// An error response has a success status.
    SuccessStatus(StatusCode),
    /// The contract has another media type for the status, or no body.
    MediaType(StatusCode),
    /// The body violates its schema.
    Body(StatusCode, Violations),
    /// The value of the header of this name cannot be sent.
    Header(&'static str),
}

impl fmt::Display for InvalidResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UndocumentedStatus(status) => write!(f, "undocumented status {status}"),
            Self::SuccessStatus(status) => {
                write!(f, "an error response has the success status {status}")
            }
            Self::MediaType(status) => write!(f, "undocumented media type for status {status}"),
            Self::Body(status, violations) => {
                write!(f, "the body for {status} violates its schema:\n{violations}")
            }
            Self::Header(name) => write!(f, "the value of the header `{name}` cannot be sent"),
        }
    }
}

impl EncodedResponse {
    /// Converts into the response type of the router.
    #[must_use]
    pub fn into_response(self) -> super::Response {
        let mut response = super::Response::new(axum::body::Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// Validates the response against the contract of the operation. Applies to responses of handlers as well
    /// as to relayed ones.
    ///
    /// # Errors
    /// The first difference: status, media type or body.
    pub fn check_contract(&self, operation: &Operation) -> Result<(), InvalidResponse> {
        let status = self.status;
        let response = operation
            .response_for_status(status.as_u16())
            .ok_or(InvalidResponse::UndocumentedStatus(status))?;
        if response.content.is_empty() {
            return if self.body.is_empty() { Ok(()) } else { Err(InvalidResponse::MediaType(status)) };
        }
        // A response to `HEAD` may omit the body of the `GET` response.
        if operation.method == "HEAD" && self.body.is_empty() {
            return Ok(());
        }
        let named = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content =
            named.and_then(|name| response.content_for(name)).ok_or(InvalidResponse::MediaType(status))?;
        let Some(validator) = content.validator.filter(|_| matches!(content.format, BodyFormat::Json)) else {
            return Ok(());
        };
        let broken = |violations| InvalidResponse::Body(status, violations);
        // A relayed body may be nested deeper than this side writes; the limit keeps dropping it safe.
        match Json::parse_with_depth(&self.body, depth::MAX_DEPTH) {
            Ok(json) => validator.validate(&json).map_err(broken),
            Err(_) => Err(InvalidResponse::MediaType(status)),
        }
    }
}

impl IncomingRequest {
    /// Encodes the error result of a handler. Encodes an error of the contract with `write`, and returns a
    /// stored response unchanged.
    ///
    /// # Errors
    /// The rejection to pass to `reject`, or the error of `write`. [`Rejection::InvalidResponse`] if the
    /// status is not an error status of the operation, since clients would treat the body as a success.
    pub fn write_error<P>(
        &self,
        error: ErrorResponse<P>,
        write: impl FnOnce(TypedResponse<P>) -> HandlerResult,
    ) -> HandlerResult {
        match error {
            ErrorResponse::Typed(refused) => {
                let TypedError { status, headers, body } = *refused;
                if !self.is_error_status(status) {
                    return Err(Rejection::InvalidResponse(Box::new(InvalidResponse::SuccessStatus(status))));
                }
                write(TypedResponse { status: Some(status), headers, declared_headers: (), body })
            }
            ErrorResponse::Rejected(rejection) => Err(*rejection),
            ErrorResponse::Encoded(answer) => Ok(*answer),
        }
    }

    /// Returns true if the contract lists the status as an error, or if it does not list the status and the
    /// status is 4xx or 5xx.
    fn is_error_status(&self, status: StatusCode) -> bool {
        match self.operation().response_kind(status.as_u16()) {
            Some(outcome) => outcome == operation::ResponseKind::Error,
            None => status.is_client_error() || status.is_server_error(),
        }
    }

    /// Encodes a JSON response. `status` and `media_type` apply unless `reply` overrides them.
    ///
    /// # Errors
    /// [`Rejection::Internal`] if serialization fails.
    pub fn write_json<T: Serialize>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: TypedResponse<T>,
    ) -> HandlerResult {
        let (reply, body) = reply.split_body();
        let bytes = serde_json::to_vec(&body).map_err(|_| Rejection::Internal)?;
        Ok(self.encode_response(status, media_type, reply, bytes.into()))
    }

    /// Encodes a JSON response, or an empty one with the status `empty` for `None`.
    ///
    /// # Errors
    /// [`Rejection::Internal`] if serialization fails.
    pub fn write_json_or_empty<T: Serialize>(
        &self,
        status: u16,
        media_type: &'static str,
        empty: u16,
        reply: TypedResponse<Option<T>>,
    ) -> HandlerResult {
        match reply.split_body() {
            (reply, Some(body)) => self.write_json(status, media_type, reply.map(|()| body)),
            (reply, None) => self.write_empty(empty, reply),
        }
    }

    /// Encodes a text or byte response.
    ///
    /// # Errors
    /// Never fails; the return type is that of the sibling methods.
    pub fn write_bytes<T: Into<Bytes>>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: TypedResponse<T>,
    ) -> HandlerResult {
        let (reply, body) = reply.split_body();
        Ok(self.encode_response(status, media_type, reply, body.into()))
    }

    /// Encodes a response without a body.
    ///
    /// # Errors
    /// Never fails; the return type is that of the sibling methods.
    pub fn write_empty(&self, status: u16, reply: TypedResponse<()>) -> HandlerResult {
        Ok(self.encode_response(status, "", reply, Bytes::new()))
    }

    pub(super) fn encode_response(
        &self,
        status: u16,
        media_type: &'static str,
        reply: TypedResponse<()>,
        body: Bytes,
    ) -> EncodedResponse {
        let declared = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let TypedResponse { status, mut headers, .. } = reply;
        let status = status.unwrap_or(declared);
        if !media_type.is_empty() {
            // For a media range the handler sets `Content-Type` itself.
            let media_type = media_type::concrete_media_type(self.media_type_for(status, media_type));
            if let Ok(value) = HeaderValue::from_str(media_type) {
                headers.entry(CONTENT_TYPE).or_insert(value);
            }
        }
        EncodedResponse { status, headers, body }
    }

    /// Returns the media type for a status as the contract writes it, because JSON has several media types.
    fn media_type_for(&self, status: StatusCode, usual: &'static str) -> &'static str {
        let Some(response) = self.operation().response_for_status(status.as_u16()) else { return usual };
        if response.content_for(usual).is_some() || !MediaType::parse(usual).is_json() {
            return usual;
        }
        let mut names = response.content.iter().map(|content| content.media_type);
        names.find(|name| MediaType::parse(name).is_json()).unwrap_or(usual)
    }
}
