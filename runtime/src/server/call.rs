//! One call of an operation: its parameters checked, its body at hand.

use std::fmt;

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use super::{Context, Rejection};
use crate::contract::too_large;
use crate::media::MediaType;
use crate::multipart::{Multipart, Reader, parse, settle};
use crate::operation::{Content, Format, Operation, Typed};
use crate::parameters::{Query, Sources, read_form};
use crate::read::{self, Read};
use crate::{Contract, Json, depth};

/// A generated request: what one operation reads from a call.
pub trait Request: Sized {
    /// The operation.
    const OPERATION: &'static Operation;

    /// Reads it from a call of that operation.
    ///
    /// # Errors
    /// When the body is refused.
    fn read(call: &Call) -> Result<Self, Rejection>;

    /// JSON Pointers of at most `limit` fields of the body that the contract does not declare,
    /// whatever their length.
    fn undeclared(&self, limit: usize) -> Vec<String> {
        let _ = limit;
        Vec::new()
    }
}

/// A call whose parameters passed their checks.
#[derive(Clone)]
pub struct Call {
    operation: &'static Operation,
    context: Context,
    values: Vec<Option<Json>>,
}

impl Call {
    /// Checks the query and all parameters. The body is looked at by [`Request::read`].
    ///
    /// # Errors
    /// [`Rejection::MalformedQuery`] or [`Rejection::Parameters`].
    pub fn new(operation: &'static Operation, context: Context) -> Result<Self, Rejection> {
        let query =
            Query::parse(context.uri().query().unwrap_or("")).map_err(|_| Rejection::MalformedQuery)?;
        let sources = Sources {
            path: operation.path,
            parameters: operation.parameters,
            parts: context.parts(),
            query: &query,
        };
        let values = sources.read().map_err(Rejection::Parameters)?;
        Ok(Self { operation, values, context })
    }

    /// The operation.
    #[must_use]
    pub const fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// What is known beside parameters and body.
    #[must_use]
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// The required parameter at an index of [`Operation::parameters`].
    ///
    /// # Errors
    /// [`Rejection::Parameters`] when it is not there or its type cannot hold it.
    pub fn parameter<T: for<'de> Read<'de> + Send>(&self, index: usize) -> Result<T, Rejection> {
        match self.optional(index)? {
            Some(value) => Ok(value),
            None => Err(self.unrepresentable(index)),
        }
    }

    /// The optional parameter at an index of [`Operation::parameters`].
    ///
    /// # Errors
    /// [`Rejection::Parameters`] when its type cannot hold it.
    pub fn optional<T: for<'de> Read<'de> + Send>(&self, index: usize) -> Result<Option<T>, Rejection> {
        match self.values.get(index) {
            Some(Some(value)) => typed(value).map(Some).ok_or_else(|| self.unrepresentable(index)),
            _ => Ok(None),
        }
    }

    /// A model from a JSON body, valid.
    ///
    /// # Errors
    /// [`Rejection::NotJson`], [`Rejection::TooDeep`], [`Rejection::Invalid`] or
    /// [`Rejection::Unrepresentable`].
    pub fn json<T: Contract>(&self) -> Result<T, Rejection> {
        Ok(T::parse_valid(self.context.body())?)
    }

    /// The same for a body that may be missing.
    ///
    /// # Errors
    /// As [`Call::json`].
    pub fn optional_json<T: Contract>(&self) -> Result<Option<T>, Rejection> {
        self.present().map(|_| self.json()).transpose()
    }

    /// A JSON or form body whose type is no model: a list, a plain value, any JSON.
    ///
    /// # Errors
    /// As [`Call::json`].
    pub fn value<T: for<'de> Read<'de> + Send>(&self) -> Result<T, Rejection> {
        let bytes = self.context.body();
        let content = self.content();
        let json = match content.map(|content| content.format) {
            Some(Format::Form(fields, others)) => {
                let text = std::str::from_utf8(bytes).ok();
                text.and_then(|text| read_form(fields, others, text)).ok_or(Rejection::NotJson)?
            }
            _ => Json::parse(bytes)?,
        };
        if let Some(validator) = content.and_then(|content| content.validator) {
            validator.validate(&json).map_err(Rejection::Invalid)?;
        }
        typed(&json).ok_or_else(|| {
            let pointer = too_large(&json, &|json| typed::<T>(json).is_some()).unwrap_or_default();
            Rejection::Unrepresentable { pointer }
        })
    }

    /// The same for a body that may be missing.
    ///
    /// # Errors
    /// As [`Call::json`].
    pub fn optional_value<T: for<'de> Read<'de> + Send>(&self) -> Result<Option<T>, Rejection> {
        self.present().map(|_| self.value()).transpose()
    }

    /// A body of parts.
    ///
    /// # Errors
    /// [`Rejection::NotJson`] when it is malformed or beyond a limit of
    /// [`multipart`](crate::multipart), else as [`Call::json`].
    pub fn multipart<T: Multipart>(&self) -> Result<T, Rejection> {
        let content = self.content();
        let rows = match content.map(|content| content.format) {
            Some(Format::Multipart(rows)) => rows,
            _ => &[],
        };
        let boundary = self
            .context
            .header(CONTENT_TYPE.as_str())
            .and_then(|line| MediaType::of(line).parameter("boundary"));
        let fields = boundary.and_then(|boundary| parse(self.context.body(), &boundary));
        let fields = fields.ok_or(Rejection::NotJson)?;
        let object = settle(rows, &fields, content.and_then(|content| content.validator))
            .map_err(|violations| violations.map_or(Rejection::NotJson, Rejection::Invalid))?;
        T::read(&Reader::new(rows, fields, object))
            .ok_or(Rejection::Unrepresentable { pointer: String::new() })
    }

    /// The same for a body that may be missing.
    ///
    /// # Errors
    /// As [`Call::multipart`].
    pub fn optional_multipart<T: Multipart>(&self) -> Result<Option<T>, Rejection> {
        self.present().map(|_| self.multipart()).transpose()
    }

    /// A body of bytes with the media type that it came with.
    #[must_use]
    pub fn typed(&self) -> Typed {
        Typed::new(self.context.header(CONTENT_TYPE.as_str()).unwrap_or_default(), self.bytes())
    }

    /// The same for a body that may be missing.
    #[must_use]
    pub fn optional_typed(&self) -> Option<Typed> {
        self.present().map(|_| self.typed())
    }

    /// Which of the operation's media types the body has: an index into
    /// [`Body::content`](crate::operation::Body). The first when the caller named none.
    #[must_use]
    pub fn media_type(&self) -> usize {
        let (Some(body), Some(content)) = (&self.operation.body, self.content()) else { return 0 };
        body.content.iter().position(|own| own.media_type == content.media_type).unwrap_or(0)
    }

    /// Whether there is no body.
    #[must_use]
    pub fn is_without_body(&self) -> bool {
        self.context.body().is_empty()
    }

    /// What the contract says of the body's media type.
    pub(super) fn content(&self) -> Option<&'static Content> {
        let body = self.operation.body?;
        let named = self.context.header(CONTENT_TYPE.as_str()).and_then(|line| body.of(line));
        named.or(body.content.first())
    }

    /// A text body.
    ///
    /// # Errors
    /// [`Rejection::NotJson`] when it is not UTF-8.
    pub fn text(&self) -> Result<String, Rejection> {
        let text = std::str::from_utf8(self.context.body()).map_err(|_| Rejection::NotJson)?;
        Ok(text.to_owned())
    }

    /// The same for a body that may be missing.
    ///
    /// # Errors
    /// As [`Call::text`].
    pub fn optional_text(&self) -> Result<Option<String>, Rejection> {
        self.present().map(|_| self.text()).transpose()
    }

    /// A body of bytes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.context.body().clone()
    }

    /// The same for a body that may be missing.
    #[must_use]
    pub fn optional_bytes(&self) -> Option<Bytes> {
        self.present().cloned()
    }

    fn present(&self) -> Option<&Bytes> {
        Some(self.context.body()).filter(|body| !body.is_empty())
    }

    fn unrepresentable(&self, index: usize) -> Rejection {
        let parameter = self.operation.parameters.get(index);
        Rejection::Parameters(parameter.map(|p| p.unrepresentable()).into_iter().collect())
    }
}

/// Reads a checked value into its type, which takes no more levels than it took to read the value.
/// Numbers keep their text on the way.
fn typed<T: for<'de> Read<'de> + Send>(value: &Json) -> Option<T> {
    read::document(value.to_string().as_bytes(), depth::DEFAULT).ok()
}

/// The operation and counts: parameters may be secrets.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.operation.id)
            .field("parameters", &self.values.iter().flatten().count())
            .field("body", &self.context.body().len())
            .finish_non_exhaustive()
    }
}
