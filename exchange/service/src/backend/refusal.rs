//! What the backend refuses, as answers.

use std::time::Duration;

use contract_runtime::server::{Answer, Context, HeaderValue, Rejection, StatusCode};
use exchange_api::refusals::{PlainCode, TimedCode};
use exchange_api::server::Refusal;
use exchange_api::types::{ConfirmationUrl, CorrelationId, Problem};
use http::header::CONTENT_TYPE;
use serde::Serialize;

use super::change::ChangeError;
use crate::caller::Caller;
use crate::feed::PageError;
use crate::store::StoreError;

/// Why a handler has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The exchange refuses.
    Refused(PlainCode),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Broken => Self::Refused(PlainCode::SchemaInvalid),
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

impl From<PlainCode> for Failure {
    fn from(code: PlainCode) -> Self {
        Self::Refused(code)
    }
}

impl From<PageError> for Failure {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Expired => Self::Refused(PlainCode::CursorExpired),
            PageError::Store(error) => Self::Store(error),
        }
    }
}

/// Who asked, and how an answer names the request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// With a caller: most requests need nothing else of it, and a refusal is written only when there is one.
    context: Context,
}

impl Asked {
    /// From what the gateway left in the context.
    ///
    /// # Errors
    /// When nobody put a caller there: such a call did not come through the gateway.
    pub(crate) fn of(context: &Context) -> Result<Self, Refusal> {
        context.extensions().get::<Caller>().ok_or(Rejection::Internal)?;
        Ok(Self { context: context.clone() })
    }

    /// Who calls.
    pub(crate) fn caller(&self) -> &Caller {
        self.context.extensions().get().unwrap_or_else(|| unreachable!("it was there when this was made"))
    }

    /// How an answer names the request.
    fn named(&self) -> (CorrelationId, &str) {
        (correlation_id(&self.context), self.context.uri().path())
    }

    /// The answer to a failure; what the store says goes to the log, not to the caller.
    pub(crate) fn refuse(&self, failure: Failure) -> Refusal {
        let (id, path) = self.named();
        let code = match failure {
            Failure::Refused(code) => code,
            Failure::Store(error) => {
                tracing::error!(correlation_id = %id, %error, "the store failed");
                code_of(&error)
            }
        };
        Problem::refuse(code, id, path)
    }

    /// A refusal as it is sent, where it is one to keep for a repetition.
    pub(crate) fn refused(&self, code: PlainCode) -> Result<Answer, Failure> {
        let (id, path) = self.named();
        written_refusal(&Problem::refuse(code, id, path))
    }

    /// The answer to what has no room before so long; it costs nothing (GW-07).
    pub(crate) fn without_room(&self, wait: Duration) -> Result<Answer, Failure> {
        let (id, path) = self.named();
        written_refusal(&Problem::refuse_for(TimedCode::ExchangeBudgetExhausted, wait, id, path))
    }

    /// The answer to a batch that waits for the member (WRT-10).
    pub(crate) fn held(&self, link: ConfirmationUrl) -> Result<Answer, Failure> {
        let (id, path) = self.named();
        written_refusal(&Problem::refuse_until_confirmed(link, id, path))
    }
}

fn written_refusal(refusal: &Refusal) -> Result<Answer, Failure> {
    let refused = refusal.refused().ok_or(PlainCode::InternalError)?;
    let mut answer = written(&refused.body, "application/problem+json")?;
    answer.status = refused.status;
    answer.headers.extend(refused.headers.clone());
    Ok(answer)
}

/// An answer of status 200, as it is sent.
pub(crate) fn written<T: Serialize>(body: &T, media_type: &'static str) -> Result<Answer, Failure> {
    let body = serde_json::to_vec(body).map_err(|_| PlainCode::InternalError)?;
    let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
    Ok(Answer { status: StatusCode::OK, headers, body: body.into() })
}

fn code_of(error: &StoreError) -> PlainCode {
    match error {
        StoreError::Corrupt(_) | StoreError::Panicked => PlainCode::InternalError,
        // Nothing is lost and it may be over in a minute (A9).
        _ => PlainCode::ServiceUnavailable,
    }
}

/// The id that the gateway gave the request.
pub(crate) fn correlation_id(context: &Context) -> CorrelationId {
    let caller: Option<&Caller> = context.extensions().get();
    let own = caller.and_then(|caller| CorrelationId::new(caller.correlation_id.as_str()).ok());
    own.or_else(|| CorrelationId::new("unknown").ok())
        .unwrap_or_else(|| unreachable!("a constant that is valid"))
}
