//! A request with validated parameters and an unparsed body.

use std::fmt;

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use super::{Rejection, RequestContext};
use crate::contract::find_unrepresentable;
use crate::media_type::MediaType;
use crate::multipart::{Multipart, MultipartReader, find_unaccepted, parse_parts, resolve_json};
use crate::operation::{BodyFormat, ContentSpec, Operation, TypedBytes};
use crate::parameters::{ParameterReader, QueryPairs, read_form};
use crate::read::{ReadJson, read_typed};
use crate::{Contract, Json};

/// The arguments of one operation, parsed from a request. Generated for each operation.
pub trait FromIncomingRequest: Sized {
    /// The row of the operation in the generated table.
    const OPERATION: &'static Operation;

    /// Parses the arguments from a request of that operation.
    ///
    /// # Errors
    /// If the body is rejected.
    fn from_request(call: &IncomingRequest) -> Result<Self, Rejection>;

    /// Returns JSON Pointers of at most `limit` fields of the body that the contract does not declare. The
    /// length of the pointers is not limited.
    fn undeclared_members(&self, limit: usize) -> Vec<String> {
        let _ = limit;
        Vec::new()
    }
}

/// A request of an operation, with validated parameters.
#[derive(Clone)]
pub struct IncomingRequest {
    operation: &'static Operation,
    context: RequestContext,
    values: Vec<Option<Json>>,
}

impl IncomingRequest {
    /// Parses and validates the query and all parameters. The body is parsed by
    /// [`FromIncomingRequest::from_request`].
    ///
    /// # Errors
    /// [`Rejection::MalformedQuery`] or [`Rejection::InvalidParameters`].
    pub fn new(operation: &'static Operation, context: RequestContext) -> Result<Self, Rejection> {
        let query =
            QueryPairs::parse(context.uri().query().unwrap_or("")).map_err(Rejection::MalformedQuery)?;
        let sources = ParameterReader {
            template: operation.path,
            parameters: operation.parameters,
            parts: context.parts(),
            query: &query,
        };
        let values = sources.read_all().map_err(Rejection::InvalidParameters)?;
        Ok(Self { operation, values, context })
    }

    /// Returns the operation.
    #[must_use]
    pub const fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Returns the HTTP request behind this call.
    #[must_use]
    pub fn context(&self) -> RequestContext {
        self.context.clone()
    }

    /// Returns the required parameter at an index of [`Operation::parameters`].
    ///
    /// # Errors
    /// [`Rejection::InvalidParameters`] if it is missing or its type cannot hold the value.
    pub fn required_parameter<T: for<'de> ReadJson<'de> + Send>(&self, index: usize) -> Result<T, Rejection> {
        match self.optional_parameter(index)? {
            Some(value) => Ok(value),
            None => Err(self.unrepresentable_parameter(index)),
        }
    }

    /// Returns the optional parameter at an index of [`Operation::parameters`].
    ///
    /// # Errors
    /// [`Rejection::InvalidParameters`] if its type cannot hold the value.
    pub fn optional_parameter<T: for<'de> ReadJson<'de> + Send>(
        &self,
        index: usize,
    ) -> Result<Option<T>, Rejection> {
        match self.values.get(index) {
            Some(Some(value)) => {
                read_typed(value).map(Some).ok_or_else(|| self.unrepresentable_parameter(index))
            }
            _ => Ok(None),
        }
    }

    /// Parses and validates a JSON body of a generated type.
    ///
    /// # Errors
    /// [`Rejection::MalformedBody`], [`Rejection::TooDeep`], [`Rejection::InvalidBody`] or
    /// [`Rejection::UnrepresentableBody`].
    pub fn json_body<T: Contract>(&self) -> Result<T, Rejection> {
        Ok(T::parse_valid(self.context.body())?)
    }

    /// Parses an optional JSON body; `None` if the body is empty.
    ///
    /// # Errors
    /// See [`json_body`](Self::json_body).
    pub fn optional_json_body<T: Contract>(&self) -> Result<Option<T>, Rejection> {
        self.non_empty_body().map(|_| self.json_body()).transpose()
    }

    /// Parses and validates a JSON or form body of a type that is not generated: a list, a scalar, any JSON.
    ///
    /// # Errors
    /// See [`json_body`](Self::json_body).
    pub fn value_body<T: for<'de> ReadJson<'de> + Send>(&self) -> Result<T, Rejection> {
        let bytes = self.context.body();
        let content = self.content_spec();
        let json = match content.map(|content| content.format) {
            Some(BodyFormat::Form(fields, others)) => {
                let text = std::str::from_utf8(bytes).ok();
                text.and_then(|text| read_form(fields, others, text)).ok_or(Rejection::MalformedBody)?
            }
            _ => Json::parse(bytes)?,
        };
        if let Some(validator) = content.and_then(|content| content.validator) {
            validator.validate(&json).map_err(Rejection::InvalidBody)?;
        }
        read_typed(&json).ok_or_else(|| {
            let pointer =
                find_unrepresentable(&json, &|json| read_typed::<T>(json).is_some()).unwrap_or_default();
            Rejection::UnrepresentableBody { pointer }
        })
    }

    /// Parses an optional body; `None` if the body is empty.
    ///
    /// # Errors
    /// See [`json_body`](Self::json_body).
    pub fn optional_value_body<T: for<'de> ReadJson<'de> + Send>(&self) -> Result<Option<T>, Rejection> {
        self.non_empty_body().map(|_| self.value_body()).transpose()
    }

    /// Parses and validates a multipart body.
    ///
    /// # Errors
    /// [`Rejection::MalformedBody`] if the body is malformed or exceeds a limit of
    /// [`multipart`](crate::multipart). [`Rejection::UnsupportedMediaType`] if a part has a media type that
    /// the contract does not declare. For other errors, see [`json_body`](Self::json_body).
    pub fn multipart_body<T: Multipart>(&self) -> Result<T, Rejection> {
        let content = self.content_spec();
        let rows = match content.map(|content| content.format) {
            Some(BodyFormat::Multipart(rows)) => rows,
            _ => &[],
        };
        let boundary = self
            .context
            .header(CONTENT_TYPE.as_str())
            .and_then(|line| MediaType::parse(line).parameter("boundary"));
        let fields = boundary.and_then(|boundary| parse_parts(self.context.body(), &boundary));
        let fields = fields.ok_or(Rejection::MalformedBody)?;
        if let Some(row) = find_unaccepted(rows, &fields) {
            return Err(Rejection::UnsupportedMediaType {
                expected: row.accepted.to_vec(),
                part: Some(row.name),
            });
        }
        let object = resolve_json(rows, &fields, content.and_then(|content| content.validator))
            .map_err(|violations| violations.map_or(Rejection::MalformedBody, Rejection::InvalidBody))?;
        T::read_parts(&MultipartReader::new(rows, fields, object))
            .ok_or(Rejection::UnrepresentableBody { pointer: String::new() })
    }

    /// Parses an optional multipart body; `None` if the body is empty.
    ///
    /// # Errors
    /// See [`multipart_body`](Self::multipart_body).
    pub fn optional_multipart_body<T: Multipart>(&self) -> Result<Option<T>, Rejection> {
        self.non_empty_body().map(|_| self.multipart_body()).transpose()
    }

    /// Returns the bytes of the body together with the media type of the request.
    #[must_use]
    pub fn typed_body(&self) -> TypedBytes {
        TypedBytes::new(self.context.header(CONTENT_TYPE.as_str()).unwrap_or_default(), self.bytes_body())
    }

    /// Returns the bytes and the media type; `None` if the body is empty.
    #[must_use]
    pub fn optional_typed_body(&self) -> Option<TypedBytes> {
        self.non_empty_body().map(|_| self.typed_body())
    }

    /// Returns the index of the request's media type among the media types of the operation's body, or 0 if
    /// the request has no `Content-Type`.
    #[must_use]
    pub fn content_index(&self) -> usize {
        let (Some(body), Some(content)) = (&self.operation.body, self.content_spec()) else { return 0 };
        body.content.iter().position(|own| own.media_type == content.media_type).unwrap_or(0)
    }

    /// Returns true if the request has no body.
    #[must_use]
    pub fn is_without_body(&self) -> bool {
        self.context.body().is_empty()
    }

    /// Returns the entry of the request's media type in the operation's table.
    pub(super) fn content_spec(&self) -> Option<&'static ContentSpec> {
        let body = self.operation.body?;
        let named = self.context.header(CONTENT_TYPE.as_str()).and_then(|line| body.content_for(line));
        named.or(body.content.first())
    }

    /// Decodes a text body.
    ///
    /// # Errors
    /// [`Rejection::MalformedBody`] if it is not UTF-8.
    pub fn text_body(&self) -> Result<String, Rejection> {
        let text = std::str::from_utf8(self.context.body()).map_err(|_| Rejection::MalformedBody)?;
        Ok(text.to_owned())
    }

    /// Decodes an optional text body; `None` if the body is empty.
    ///
    /// # Errors
    /// See [`text_body`](Self::text_body).
    pub fn optional_text_body(&self) -> Result<Option<String>, Rejection> {
        self.non_empty_body().map(|_| self.text_body()).transpose()
    }

    /// Returns the bytes of the body.
    #[must_use]
    pub fn bytes_body(&self) -> Bytes {
        self.context.body().clone()
    }

    /// Returns the bytes of the body; `None` if it is empty.
    #[must_use]
    pub fn optional_bytes_body(&self) -> Option<Bytes> {
        self.non_empty_body().cloned()
    }

    fn non_empty_body(&self) -> Option<&Bytes> {
        Some(self.context.body()).filter(|body| !body.is_empty())
    }

    fn unrepresentable_parameter(&self, index: usize) -> Rejection {
        let parameter = self.operation.parameters.get(index);
        Rejection::InvalidParameters(parameter.map(|p| p.unrepresentable_fault()).into_iter().collect())
    }
}

/// Shows the operation and sizes, but no parameters, because they may be secret.
impl fmt::Debug for IncomingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingRequest")
            .field("operation", &self.operation.id)
            .field("parameters", &self.values.iter().flatten().count())
            .field("body", &self.context.body().len())
            .finish_non_exhaustive()
    }
}
