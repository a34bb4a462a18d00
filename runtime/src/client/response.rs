//! An answer as the transport gave it, and the ways in which a generated client reads it.

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use super::{
    answer::Answer,
    error::{Error, Reason, Unreadable},
};
use crate::read::Read;

/// An answer whose body has not been looked at. Generated code matches its status, as the
/// contract lists them, and calls one of the methods that consume it.
pub struct Response(http::Response<Bytes>);

impl Response {
    pub(super) const fn new(answer: http::Response<Bytes>) -> Self {
        Self(answer)
    }

    /// The status as a number, for `match`.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// A result: JSON.
    ///
    /// # Errors
    /// When the body is not that.
    pub fn json<T: for<'de> Read<'de>, E>(self) -> Result<Answer<T>, Error<E>> {
        self.read()
    }

    /// A result: JSON, or nothing under another status.
    ///
    /// # Errors
    /// When there is a body and it is not that.
    pub fn json_or_nothing<T: for<'de> Read<'de>, E>(self) -> Result<Answer<Option<T>>, Error<E>> {
        if self.0.body().is_empty() {
            return Ok(self.with(None));
        }
        self.read().map(|answer: Answer<T>| answer.map(Some))
    }

    /// A result without a body; one that comes nevertheless is passed over.
    ///
    /// # Errors
    /// Never; the type is that of its siblings.
    pub fn nothing<E>(self) -> Result<Answer<()>, Error<E>> {
        Ok(self.with(()))
    }

    /// A result of any media type, as it came.
    ///
    /// # Errors
    /// Never; the type is that of its siblings.
    pub fn bytes<E>(self) -> Result<Answer<Bytes>, Error<E>> {
        let body = self.0.body().clone();
        Ok(self.with(body))
    }

    /// A refusal: JSON.
    ///
    /// # Errors
    /// Always.
    pub fn refusal<T, E: for<'de> Read<'de>>(self) -> Result<Answer<T>, Error<E>> {
        Err(Error::Answer(Box::new(self.read()?)))
    }

    /// A refusal without a body that the contract describes.
    ///
    /// # Errors
    /// Always.
    pub fn refusal_nothing<T>(self) -> Result<Answer<T>, Error<()>> {
        Err(Error::Answer(Box::new(self.with(()))))
    }

    /// A refusal of any media type, as it came.
    ///
    /// # Errors
    /// Always.
    pub fn refusal_bytes<T>(self) -> Result<Answer<T>, Error<Bytes>> {
        let body = self.0.body().clone();
        Err(Error::Answer(Box::new(self.with(body))))
    }

    /// A status that the contract does not name.
    ///
    /// # Errors
    /// Always.
    pub fn undocumented<T, E>(self) -> Result<Answer<T>, Error<E>> {
        Err(self.unreadable(Reason::Status))
    }

    fn with<T>(self, body: T) -> Answer<T> {
        let (parts, _) = self.0.into_parts();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    fn unreadable<E>(self, reason: Reason) -> Error<E> {
        let (parts, body) = self.0.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        Error::Unreadable(Box::new(Unreadable { status, headers, body, reason }))
    }

    fn read<T: for<'de> Read<'de>, E>(self) -> Result<Answer<T>, Error<E>> {
        if self.0.body().is_empty() {
            return Err(self.unreadable(Reason::Missing));
        }
        if !self.is_json() {
            return Err(self.unreadable(Reason::MediaType));
        }
        let mut reader = serde_json::Deserializer::from_slice(self.0.body());
        match T::read(&mut reader).and_then(|body| reader.end().map(|()| body)) {
            Ok(body) => Ok(self.with(body)),
            // Only where, not what: serde's text may quote the body.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                Err(self.unreadable(match error.classify() {
                    serde_json::error::Category::Data => Reason::Shape { line, column },
                    _ => Reason::Syntax { line, column },
                }))
            }
        }
    }

    /// `application/json`, `application/…+json`, or nothing said (RFC 9110, 8.3: the reader
    /// may examine the data then).
    fn is_json(&self) -> bool {
        let Some(value) = self.0.headers().get(CONTENT_TYPE) else { return true };
        let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        let essence = essence.trim_ascii().to_ascii_lowercase();
        essence.ends_with(b"/json") || essence.ends_with(b"+json")
    }
}
