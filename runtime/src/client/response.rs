//! An answer as the transport gave it, and the ways in which a generated client reads it.

use bytes::Bytes;
use http::header::CONTENT_TYPE;

use super::{
    answer::Answer,
    error::{Error, Reason, Unreadable},
};
use crate::{
    depth,
    json::Json,
    media::MediaType,
    operation::{Content, Operation},
    read::{self, Read},
    violation::Violations,
};

/// So much of a member is shown in the one line that may be said of a refusal.
const SHOWN: usize = 128;

/// An answer whose body has not been looked at, and the operation that it answers. Generated code
/// matches its status, as the contract lists them, and calls one of the methods that consume it.
pub struct Response {
    answer: http::Response<Bytes>,
    operation: &'static Operation,
    shown: &'static [&'static str],
}

/// A body that was read, or why it was not; generated code says what it means.
#[must_use]
pub struct Body<T>(Result<Answer<T>, Box<Unreadable>>);

impl<T> Body<T> {
    /// It is a result, one of several kinds.
    ///
    /// # Errors
    /// When it was not read.
    pub fn result<U, E>(self, wrap: impl FnOnce(T) -> U) -> Result<Answer<U>, Error<E>> {
        self.0.map(|answer| answer.map(wrap)).map_err(Error::Unreadable)
    }

    /// It is a refusal, one of several kinds.
    ///
    /// # Errors
    /// Always.
    pub fn refusal<U, E>(self, wrap: impl FnOnce(T) -> E) -> Result<Answer<U>, Error<E>> {
        Err(match self.0 {
            Ok(answer) => Error::Answer(Box::new(answer.map(wrap))),
            Err(unreadable) => Error::Unreadable(unreadable),
        })
    }
}

impl Response {
    /// `shown`: string members of a refusal that `Display` of its error may show.
    pub(super) const fn new(
        answer: http::Response<Bytes>,
        operation: &'static Operation,
        shown: &'static [&'static str],
    ) -> Self {
        Self { answer, operation, shown }
    }

    /// The status as a number, for `match`.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.answer.status().as_u16()
    }

    /// Whether the answer is of this media type, or in this range (`image/*`). One without
    /// `Content-Type` is of none.
    #[must_use]
    pub fn is(&self, media_type: &str) -> bool {
        let own = self.media_type().map(MediaType::of);
        own.is_some_and(|own| MediaType::of(media_type).contains(&own))
    }

    /// A result: JSON.
    ///
    /// # Errors
    /// When the body is not that.
    pub fn json<T: for<'de> Read<'de> + Send, E>(self) -> Result<Answer<T>, Error<E>> {
        self.read_json().result(same)
    }

    /// A result: JSON, or nothing under a status whose row in the operation's table has no media
    /// type.
    ///
    /// # Errors
    /// When a body is there and is not that, or is missing where the contract has one.
    pub fn json_or_nothing<T: for<'de> Read<'de> + Send, E>(self) -> Result<Answer<Option<T>>, Error<E>> {
        let described = self.operation.response(self.status()).is_some_and(|row| !row.content.is_empty());
        if self.answer.body().is_empty() && !described {
            return Ok(self.with(None));
        }
        self.read_json().result(Some)
    }

    /// A result without a body; one that comes nevertheless is passed over.
    ///
    /// # Errors
    /// Never; the type is that of its siblings.
    pub fn nothing<E>(self) -> Result<Answer<()>, Error<E>> {
        self.read_nothing().result(same)
    }

    /// A result of any media type, as it came.
    ///
    /// # Errors
    /// Never; the type is that of its siblings.
    pub fn bytes<E>(self) -> Result<Answer<Bytes>, Error<E>> {
        self.read_bytes().result(same)
    }

    /// A result: text.
    ///
    /// # Errors
    /// When the body is not UTF-8.
    pub fn text<E>(self) -> Result<Answer<String>, Error<E>> {
        self.read_text().result(same)
    }

    /// A refusal: JSON.
    ///
    /// # Errors
    /// Always.
    pub fn refusal<T, E: for<'de> Read<'de> + Send>(self) -> Result<Answer<T>, Error<E>> {
        self.read_json().refusal(same)
    }

    /// A refusal without a body that the contract describes.
    ///
    /// # Errors
    /// Always.
    pub fn refusal_nothing<T>(self) -> Result<Answer<T>, Error<()>> {
        self.read_nothing().refusal(same)
    }

    /// A refusal of any media type, as it came.
    ///
    /// # Errors
    /// Always.
    pub fn refusal_bytes<T>(self) -> Result<Answer<T>, Error<Bytes>> {
        self.read_bytes().refusal(same)
    }

    /// A refusal: text.
    ///
    /// # Errors
    /// Always.
    pub fn refusal_text<T>(self) -> Result<Answer<T>, Error<String>> {
        self.read_text().refusal(same)
    }

    /// A status that the contract does not name.
    ///
    /// # Errors
    /// Always.
    pub fn undocumented<T, E>(self) -> Result<Answer<T>, Error<E>> {
        Err(Error::Unreadable(self.unreadable(Reason::Status)))
    }

    /// A media type that the contract does not name for the status.
    ///
    /// # Errors
    /// Always.
    pub fn unexpected<T, E>(self) -> Result<Answer<T>, Error<E>> {
        Err(Error::Unreadable(self.unreadable(Reason::MediaType)))
    }

    /// No body; one that comes nevertheless is passed over.
    pub fn read_nothing(self) -> Body<()> {
        Body(Ok(self.with(())))
    }

    /// The body as it came.
    pub fn read_bytes(self) -> Body<Bytes> {
        let body = self.answer.body().clone();
        Body(Ok(self.with(body)))
    }

    /// The body as UTF-8.
    pub fn read_text(self) -> Body<String> {
        Body(match std::str::from_utf8(self.answer.body()).map(str::to_owned) {
            Ok(text) => Ok(self.with(text)),
            Err(_) => Err(self.unreadable(Reason::Encoding)),
        })
    }

    /// The body as JSON.
    pub fn read_json<T: for<'de> Read<'de> + Send>(self) -> Body<T> {
        if self.answer.body().is_empty() {
            return Body(Err(self.unreadable(Reason::Missing)));
        }
        if !self.is_json() {
            return Body(Err(self.unreadable(Reason::MediaType)));
        }
        Body(match read::document(self.answer.body(), depth::DEFAULT) {
            Ok(body) => Ok(self.with(body)),
            Err(_) if depth::of(self.answer.body()) > depth::DEFAULT => Err(self.unreadable(Reason::TooDeep)),
            // Only where, not what: serde's text may quote the body.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                let reason = match error.classify() {
                    serde_json::error::Category::Data => {
                        Reason::Shape { line, column, violations: self.violations() }
                    }
                    _ => Reason::Syntax { line, column },
                };
                Err(self.unreadable(reason))
            }
        })
    }

    /// What the contract's schema says of a body that its type cannot hold.
    fn violations(&self) -> Option<Violations> {
        let validator = self.content()?.validator?;
        validator.validate(&Json::parse(self.answer.body()).ok()?).err()
    }

    fn content(&self) -> Option<&'static Content> {
        let response = self.operation.response(self.status())?;
        let named = self.media_type().and_then(|media_type| response.of(media_type));
        named.or(response.content.iter().find(|content| MediaType::of(content.media_type).is_json()))
    }

    /// The members that may be shown: `code ABC, correlationId 7`. What is no plain word is not.
    fn said(&self) -> Option<Box<str>> {
        if self.shown.is_empty() || !self.is_json() {
            return None;
        }
        let Ok(Json::Object(members)) = Json::parse(self.answer.body()) else { return None };
        let mut said = String::new();
        for name in self.shown {
            let Some(text) = members.get(name).and_then(Json::as_str) else { continue };
            if text.len() <= SHOWN && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                let comma = if said.is_empty() { "" } else { ", " };
                said.push_str(&format!("{comma}{name} {text}"));
            }
        }
        (!said.is_empty()).then(|| said.into())
    }

    fn media_type(&self) -> Option<&str> {
        self.answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
    }

    fn with<T>(self, body: T) -> Answer<T> {
        let said = if self.answer.status().as_u16() >= 300 { self.said() } else { None };
        let (parts, _) = self.answer.into_parts();
        let http::response::Parts { status, headers, extensions, .. } = parts;
        Answer { status, headers, body, extensions, said }
    }

    /// What it is for a reader who does not understand it.
    pub(super) fn unreadable(self, reason: Reason) -> Box<Unreadable> {
        let (parts, body) = self.answer.into_parts();
        let http::response::Parts { status, headers, extensions, .. } = parts;
        Box::new(Unreadable { status, headers, body, extensions, reason })
    }

    /// `application/json`, `application/…+json`, or nothing said (RFC 9110, 8.3: the reader
    /// may examine the data then).
    fn is_json(&self) -> bool {
        let Some(value) = self.answer.headers().get(CONTENT_TYPE) else { return true };
        value.to_str().is_ok_and(|text| MediaType::of(text).is_json())
    }
}

fn same<T>(body: T) -> T {
    body
}
