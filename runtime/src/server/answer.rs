//! What a handler answers, and what it becomes on the wire.

use std::future::{Ready, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

use super::{Call, Rejection};
use crate::Contract;
use crate::schema::Validator;
use crate::violation::Violations;

/// A success with headers, or with another status than the contract's first.
///
/// Methods whose answer has headers in the contract return it; a plain body becomes one
/// by [`Reply::new`] or `into`.
#[derive(Clone, Debug)]
pub struct Reply<T> {
    /// Another status than the contract's first.
    pub status: Option<StatusCode>,
    /// Headers to send. `Content-Type` replaces the contract's.
    pub headers: HeaderMap,
    /// The body.
    pub body: T,
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
}

/// A problem of the contract.
#[derive(Clone, Debug)]
pub struct Refused<P> {
    /// The status, 400 or above.
    pub status: StatusCode,
    /// Headers to send.
    pub headers: HeaderMap,
    /// The body.
    pub body: P,
}

impl<P> Refusal<P> {
    /// A problem with its status.
    #[must_use]
    pub fn new(status: StatusCode, body: P) -> Self {
        Self::Refused(Box::new(Refused { status, headers: HeaderMap::new(), body }))
    }

    /// The same with a header. Without effect on [`Refusal::Rejected`].
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        if let Self::Refused(refused) = &mut self {
            refused.headers.insert(name, value);
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
        }
    }

    /// As something to write.
    ///
    /// # Errors
    /// The rejection, when it is one.
    pub fn into_reply(self) -> Result<Reply<P>, Rejection> {
        match self {
            Self::Refused(refused) => {
                let Refused { status, headers, body } = *refused;
                Ok(Reply { status: Some(status), headers, body })
            }
            Self::Rejected(rejection) => Err(*rejection),
        }
    }
}

impl<P> From<Rejection> for Refusal<P> {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// The default body of every method of a generated service.
pub fn not_implemented<R, T, P>(_request: R) -> Ready<Result<T, Refusal<P>>> {
    ready(Err(Rejection::NotImplemented.into()))
}

/// An answer ready to be sent.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers without `Content-Type`, unless the handler set one.
    pub headers: HeaderMap,
    /// The contract's media type; empty without a body.
    pub media_type: &'static str,
    /// Its bytes.
    pub body: Bytes,
    /// How the body breaks its schema, when that is checked.
    pub violations: Option<Violations>,
}

/// What a call comes to.
pub type Outcome = Result<Answer, Rejection>;

impl Call {
    /// Writes a model as JSON.
    ///
    /// # Errors
    /// [`Rejection::Internal`] when it cannot be written.
    pub fn answer_json<T: Contract>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<T>,
    ) -> Outcome {
        let violations = self.checks_answers().then(|| reply.body.validate().err()).flatten();
        let (reply, body) = reply.split();
        write_json(status, media_type, reply, &body, violations)
    }

    /// Writes any other value as JSON.
    ///
    /// # Errors
    /// [`Rejection::Internal`] when it cannot be written.
    pub fn answer_value<T: Serialize>(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<T>,
        validator: Option<fn() -> Validator>,
    ) -> Outcome {
        let (reply, body) = reply.split();
        let mut answer = write_json(status, media_type, reply, &body, None)?;
        if let Some(validator) = validator.filter(|_| self.checks_answers()) {
            let json = crate::Json::parse(&answer.body).map_err(|_| Rejection::Internal)?;
            answer.violations = validator().validate(&json).err();
        }
        Ok(answer)
    }

    /// Writes text or bytes as they are.
    ///
    /// # Errors
    /// Never; it reads like the others.
    pub fn answer_bytes(
        &self,
        status: u16,
        media_type: &'static str,
        reply: Reply<impl Into<Bytes>>,
    ) -> Outcome {
        let (reply, body) = reply.split();
        Ok(answer(status, media_type, reply, body.into()))
    }

    /// Writes an answer without a body.
    ///
    /// # Errors
    /// Never; it reads like the others.
    pub fn answer_empty(&self, status: u16, reply: Reply<()>) -> Outcome {
        Ok(answer(status, "", reply, Bytes::new()))
    }
}

fn write_json<T: Serialize>(
    status: u16,
    media_type: &'static str,
    reply: Reply<()>,
    body: &T,
    violations: Option<Violations>,
) -> Outcome {
    let bytes = serde_json::to_vec(body).map_err(|_| Rejection::Internal)?;
    Ok(Answer { violations, ..answer(status, media_type, reply, bytes.into()) })
}

fn answer(status: u16, media_type: &'static str, reply: Reply<()>, body: Bytes) -> Answer {
    let declared = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let status = reply.status.unwrap_or(declared);
    Answer { status, headers: reply.headers, media_type, body, violations: None }
}
