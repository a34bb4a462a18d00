//! What a handler answers, and what it becomes on the wire.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

use super::{Call, Rejection};
use crate::media::{self, MediaType};
use crate::operation::{self, Format, Operation};
use crate::violation::Violations;
use crate::{Json, depth};

/// A success with headers, or with another status than the contract's first.
///
/// Methods whose answer has headers in the contract return it; a plain body becomes one
/// by [`Reply::new`] or `into`.
#[derive(Clone)]
pub struct Reply<T> {
    /// Another status than the contract's first.
    pub status: Option<StatusCode>,
    /// Headers to send. `Content-Type` replaces the contract's.
    pub headers: HeaderMap,
    /// The body.
    pub body: T,
}

/// Headers by their number: they may hold secrets. The body says of itself what may be said.
impl<T: fmt::Debug> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body)
            .finish()
    }
}

impl<T> From<T> for Reply<T> {
    fn from(body: T) -> Self {
        Self::new(body)
    }
}

impl<T> Reply<T> {
    /// A body with the contract's status and without headers.
    #[must_use]
    pub fn new(body: T) -> Self {
        Self { status: None, headers: HeaderMap::new(), body }
    }

    /// The same with a status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// The same with a header; an earlier value of it goes.
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same status and headers with another body.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        Reply { status: self.status, headers: self.headers, body: change(self.body) }
    }

    /// Status and headers apart from the body.
    pub fn split(self) -> (Reply<()>, T) {
        (Reply { status: self.status, headers: self.headers, body: () }, self.body)
    }
}

/// Why a handler refuses: a problem of the contract, or what `reject` makes one of.
#[derive(Clone, Debug)]
pub enum Refusal<P> {
    /// A problem with its status and headers.
    Refused(Box<Refused<P>>),
    /// Handed to the service's `reject`.
    Rejected(Box<Rejection>),
    /// An answer that was written before, success or refusal, sent byte for byte.
    Written(Box<Answer>),
}

/// A problem of the contract.
#[derive(Clone)]
pub struct Refused<P> {
    /// The status, one of those that the contract refuses with.
    pub status: StatusCode,
    /// Headers to send.
    pub headers: HeaderMap,
    /// The body.
    pub body: P,
}

/// As of a [`Reply`].
impl<P: fmt::Debug> fmt::Debug for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body)
            .finish()
    }
}

impl<P> Refusal<P> {
    /// A problem with its status: 4xx, 5xx, or a redirect where the contract refuses by one. With a
    /// status that the caller would read as a success it is [`BrokenAnswer::Success`], and not sent.
    #[must_use]
    pub fn new(status: StatusCode, body: P) -> Self {
        Self::Refused(Box::new(Refused { status, headers: HeaderMap::new(), body }))
    }

    /// An answer that was written before, for the repetition of a request that carries a key: its
    /// status, headers and bytes are sent as they are, whether it was a success or a refusal.
    #[must_use]
    pub fn written(answer: Answer) -> Self {
        Self::Written(Box::new(answer))
    }

    /// The same with a header. Without effect on [`Refusal::Rejected`].
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        match &mut self {
            Self::Refused(refused) => drop(refused.headers.insert(name, value)),
            Self::Written(answer) => drop(answer.headers.insert(name, value)),
            Self::Rejected(_) => {}
        }
        self
    }

    /// The same with another body type.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Refusal<Q> {
        match self {
            Self::Refused(refused) => {
                let Refused { status, headers, body } = *refused;
                Refusal::Refused(Box::new(Refused { status, headers, body: change(body) }))
            }
            Self::Rejected(rejection) => Refusal::Rejected(rejection),
            Self::Written(answer) => Refusal::Written(answer),
        }
    }

    /// The problem with status and headers, when it is one.
    #[must_use]
    pub fn refused(&self) -> Option<&Refused<P>> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::Rejected(_) | Self::Written(_) => None,
        }
    }
}

impl<P> From<Rejection> for Refusal<P> {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// The default body of every method of a generated service.
pub fn not_implemented<R, T, P>(_request: R) -> NotImplemented<T, P> {
    NotImplemented(PhantomData)
}

/// What a method answers that nobody wrote: [`Rejection::NotImplemented`].
///
/// It holds no `T`, so that the compiler need not look into every type that an operation answers to
/// see that this can be sent to another thread.
#[derive(Debug)]
pub struct NotImplemented<T, P>(PhantomData<fn() -> (T, P)>);

impl<T, P> Future for NotImplemented<T, P> {
    type Output = Result<T, Refusal<P>>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Err(Rejection::NotImplemented.into()))
    }
}

/// An answer ready to be sent, or to be kept for a repetition.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, `Content-Type` among them where there is a body.
    pub headers: HeaderMap,
    /// Its bytes.
    pub body: Bytes,
}

/// The status and counts: whose answer it is, this does not know.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body", &self.body.len())
            .finish()
    }
}

/// What a call comes to.
pub type Outcome = Result<Answer, Rejection>;

/// How an answer breaks the contract.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BrokenAnswer {
    /// The operation has no such status.
    Status(StatusCode),
    /// A refusal with a status of successes.
    Success(StatusCode),
    /// The status has no such media type, or no body at all.
    MediaType(StatusCode),
    /// The body breaks its schema.
    Body(StatusCode, Violations),
}

impl fmt::Display for BrokenAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the contract does not name the status {status}"),
            Self::Success(status) => {
                write!(f, "a refusal has the status {status}, which is none of refusals")
            }
            Self::MediaType(status) => write!(f, "the contract does not name the media type for {status}"),
            Self::Body(status, violations) => {
                write!(f, "the body for {status} breaks its schema:\n{violations}")
            }
        }
    }
}

impl Answer {
    /// As the router sends it.
    #[must_use]
    pub fn into_response(self) -> super::Response {
        let mut response = super::Response::new(axum::body::Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// Whether it is one that the contract describes for the operation; for answers of handlers,
    /// and for those that are relayed from elsewhere.
    ///
    /// # Errors
    /// Its status, media type or body, whichever is wrong first.
    pub fn check(&self, operation: &Operation) -> Result<(), BrokenAnswer> {
        let status = self.status;
        let response = operation.response(status.as_u16()).ok_or(BrokenAnswer::Status(status))?;
        if response.content.is_empty() {
            return if self.body.is_empty() { Ok(()) } else { Err(BrokenAnswer::MediaType(status)) };
        }
        // What the answer to `GET` has, the one to `HEAD` need not send.
        if operation.method == "HEAD" && self.body.is_empty() {
            return Ok(());
        }
        let named = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content = named.and_then(|name| response.of(name)).ok_or(BrokenAnswer::MediaType(status))?;
        let Some(validator) = content.validator.filter(|_| matches!(content.format, Format::Json)) else {
            return Ok(());
        };
        let broken = |violations| BrokenAnswer::Body(status, violations);
        // Another process may have written it: it is no deeper than every stack can drop.
        match Json::parse_within(&self.body, depth::MAX) {
            Ok(json) => validator.validate(&json).map_err(broken),
            Err(_) => Err(BrokenAnswer::MediaType(status)),
        }
    }
}

impl Call {
    /// Writes a refusal by `write`; a rejection goes to `reject`, what was written before is sent
    /// as it is.
    ///
    /// # Errors
    /// The rejection, or that of `write`; [`Rejection::BrokenAnswer`] for a status that is none of
    /// refusals: who calls would take the problem for what was asked for.
    pub fn refuse<P>(&self, refusal: Refusal<P>, write: impl FnOnce(Reply<P>) -> Outcome) -> Outcome {
        match refusal {
            Refusal::Refused(refused) => {
                let Refused { status, headers, body } = *refused;
                if !self.refuses_with(status) {
                    return Err(Rejection::BrokenAnswer(Box::new(BrokenAnswer::Success(status))));
                }
                write(Reply { status: Some(status), headers, body })
            }
            Refusal::Rejected(rejection) => Err(*rejection),
            Refusal::Written(answer) => Ok(*answer),
        }
    }

    /// Whether a status can say why not: as the contract has it, else 4xx and 5xx alone.
    fn refuses_with(&self, status: StatusCode) -> bool {
        match self.operation().outcome(status.as_u16()) {
            Some(outcome) => outcome == operation::Outcome::Refusal,
            None => status.is_client_error() || status.is_server_error(),
        }
    }

    /// Writes a value as JSON, with the status and media type that are usual for it.
    ///
    /// # Errors
    /// [`Rejection::Internal`] when it cannot be written.
    pub fn answer_json<T: Serialize>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<T>,
    ) -> Outcome {
        let (reply, body) = reply.split();
        let bytes = serde_json::to_vec(&body).map_err(|_| Rejection::Internal)?;
        Ok(self.answer(status, media_type, reply, bytes.into()))
    }

    /// Writes JSON, or nothing under another status.
    ///
    /// # Errors
    /// [`Rejection::Internal`] when it cannot be written.
    pub fn answer_json_or_nothing<T: Serialize>(
        &self,
        status: u16,
        media_type: &'static str,
        empty: u16,
        reply: Reply<Option<T>>,
    ) -> Outcome {
        match reply.split() {
            (reply, Some(body)) => self.answer_json(status, media_type, reply.map(|()| body)),
            (reply, None) => self.answer_empty(empty, reply),
        }
    }

    /// Writes text or bytes as they are.
    ///
    /// # Errors
    /// Never; it reads like the others.
    pub fn answer_bytes<T: Into<Bytes>>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<T>,
    ) -> Outcome {
        let (reply, body) = reply.split();
        Ok(self.answer(status, media_type, reply, body.into()))
    }

    /// Writes an answer without a body.
    ///
    /// # Errors
    /// Never; it reads like the others.
    pub fn answer_empty(&self, status: u16, reply: Reply<()>) -> Outcome {
        Ok(self.answer(status, "", reply, Bytes::new()))
    }

    pub(super) fn answer(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<()>,
        body: Bytes,
    ) -> Answer {
        let declared = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let Reply { status, mut headers, .. } = reply;
        let status = status.unwrap_or(declared);
        if !media_type.is_empty() {
            // A media range names no type; the handler's own header is asked for there.
            let media_type = media::concrete(self.named_for(status, media_type));
            if let Ok(value) = HeaderValue::from_str(media_type) {
                headers.entry(CONTENT_TYPE).or_insert(value);
            }
        }
        Answer { status, headers, body }
    }

    /// The media type as the contract names it for a status: JSON may have several names.
    fn named_for(&self, status: StatusCode, usual: &'static str) -> &'static str {
        let Some(response) = self.operation().response(status.as_u16()) else { return usual };
        if response.of(usual).is_some() || !MediaType::of(usual).is_json() {
            return usual;
        }
        let mut names = response.content.iter().map(|content| content.media_type);
        names.find(|name| MediaType::of(name).is_json()).unwrap_or(usual)
    }
}
