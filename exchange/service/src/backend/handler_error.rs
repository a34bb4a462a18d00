//! The errors of the backend's handlers, and their conversion into responses.

use std::time::Duration;

use contract_runtime::server::{EncodedResponse, HeaderValue, Rejection, RequestContext, StatusCode};
use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::server::ErrorResponse;
use exchange_api::types::{ConfirmationUrl, CorrelationId, Problem};
use http::header::CONTENT_TYPE;
use serde::Serialize;

use super::change::ChangeError;
use crate::caller::Caller;
use crate::feed::PageError;
use crate::store::StoreError;

/// The reason a handler failed.
#[derive(Debug)]
pub(crate) enum HandlerError {
    /// The exchange rejects the request with an error code of the contract.
    Rejected(PlainCode),
    Store(StoreError),
}

impl From<StoreError> for HandlerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for HandlerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<ChangeError> for HandlerError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::InvalidDate => Self::Rejected(PlainCode::SchemaInvalid),
            ChangeError::Store(error) => Self::Store(error),
        }
    }
}

impl From<PlainCode> for HandlerError {
    fn from(code: PlainCode) -> Self {
        Self::Rejected(code)
    }
}

impl From<PageError> for HandlerError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Expired => Self::Rejected(PlainCode::CursorExpired),
            PageError::Store(error) => Self::Store(error),
        }
    }
}

/// The context of a request that has a caller. Responses are built from it.
#[derive(Clone, Debug)]
pub(crate) struct CallerContext {
    /// Invariant: the extensions contain a [`Caller`]. Other values are computed only when a response needs
    /// them.
    context: RequestContext,
}

impl CallerContext {
    /// Wraps the context of a request that came through the gateway.
    ///
    /// # Errors
    /// Returns an internal error if the context has no caller, because the request did not pass the gateway.
    pub(crate) fn from_context(context: &RequestContext) -> Result<Self, ErrorResponse> {
        context.extensions().get::<Caller>().ok_or(Rejection::Internal)?;
        Ok(Self { context: context.clone() })
    }

    /// Returns the caller that the gateway authenticated.
    pub(crate) fn caller(&self) -> &Caller {
        self.context.extensions().get().unwrap_or_else(|| unreachable!("from_context checked the caller"))
    }

    /// Returns the correlation id and the path, which identify the request in a problem document.
    fn problem_identity(&self) -> (CorrelationId, &str) {
        (correlation_id(&self.context), self.context.uri().path())
    }

    /// Converts an error into an error response. Details of a store error are logged and are not sent to the
    /// caller.
    pub(crate) fn error_response(&self, failure: HandlerError) -> ErrorResponse {
        let (id, path) = self.problem_identity();
        let code = match failure {
            HandlerError::Rejected(code) => code,
            HandlerError::Store(error) => {
                tracing::error!(correlation_id = %id, %error, "store.failed");
                code_of(&error)
            }
        };
        Problem::error_response(code, id, path)
    }

    /// Builds an error response as bytes, so that it can be stored for repetitions.
    pub(crate) fn rejection_response(&self, code: PlainCode) -> Result<EncodedResponse, HandlerError> {
        let (id, path) = self.problem_identity();
        serialize_error_response(&Problem::error_response(code, id, path))
    }

    /// Builds the response for an exhausted budget, with the delay after which to retry. The request does not
    /// count as a write (GW-07).
    pub(crate) fn no_capacity_response(&self, wait: Duration) -> Result<EncodedResponse, HandlerError> {
        let (id, path) = self.problem_identity();
        serialize_error_response(&Problem::error_response_after(
            TimedCode::ExchangeBudgetExhausted,
            wait,
            id,
            path,
        ))
    }

    /// Builds the response to a batch that is held for the member's confirmation (WRT-10).
    pub(crate) fn held_batch_response(&self, link: ConfirmationUrl) -> Result<EncodedResponse, HandlerError> {
        let (id, path) = self.problem_identity();
        serialize_error_response(&Problem::confirmation_required(link, id, path))
    }
}

fn serialize_error_response(error: &ErrorResponse) -> Result<EncodedResponse, HandlerError> {
    let typed = error.as_typed().ok_or(PlainCode::InternalError)?;
    let mut response = json_response(&typed.body, "application/problem+json")?;
    response.status = typed.status;
    response.headers.extend(typed.headers.clone());
    Ok(response)
}

/// Serializes a body into a response with status 200.
pub(crate) fn json_response<T: Serialize>(
    body: &T,
    media_type: &'static str,
) -> Result<EncodedResponse, HandlerError> {
    let body = serde_json::to_vec(body).map_err(|_| PlainCode::InternalError)?;
    let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
    Ok(EncodedResponse { status: StatusCode::OK, headers, body: body.into() })
}

fn code_of(error: &StoreError) -> PlainCode {
    match error {
        StoreError::Corrupt(_) | StoreError::Panicked => PlainCode::InternalError,
        // The failure is temporary: no data is lost, and a retry in a minute may succeed (A9).
        _ => PlainCode::ServiceUnavailable,
    }
}

/// Returns the correlation id that the gateway assigned to the request, or `unknown` if it has none.
pub(crate) fn correlation_id(context: &RequestContext) -> CorrelationId {
    let caller: Option<&Caller> = context.extensions().get();
    let id = caller.and_then(|caller| CorrelationId::new(caller.correlation_id.as_str()).ok());
    id.or_else(|| CorrelationId::new("unknown").ok())
        .unwrap_or_else(|| unreachable!("`unknown` is a valid correlation id"))
}
