//! The error responses of the provider. They have OAuth error bodies and are not problem documents (ERR-42).

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use exchange_api::oauth_errors::OauthError;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use super::guesses::AttemptError;
use crate::store::StoreError;
use crate::telemetry::ErrorLabel;
use crate::time::retry_after;

/// The reason an endpoint of the provider refuses a request.
#[derive(Debug)]
pub enum OauthErrorResponse {
    /// An OAuth error.
    Error {
        /// The OAuth error code.
        error: OauthError,
        /// A human-readable description: the rule that was violated, without the values that violated it.
        description: String,
    },
    /// Tokens of this type cannot be revoked (RFC 7009, section 2.2.1).
    TokenType,
    /// A limit is exceeded; the response has the status 429 and this `Retry-After` delay.
    Wait(Duration),
    /// A resource is exhausted or unavailable; the response has the status 503 and this `Retry-After` delay.
    Unavailable(Duration),
    /// The store or a signing key failed; the response has the status 503.
    Store(StoreError),
}

impl From<StoreError> for OauthErrorResponse {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for OauthErrorResponse {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<AttemptError> for OauthErrorResponse {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Wait(wait) => Self::Wait(wait),
            AttemptError::Unavailable => Self::Unavailable(Duration::from_secs(60)),
        }
    }
}

impl OauthErrorResponse {
    /// Creates an OAuth error with a description.
    pub(super) fn new(error: OauthError, description: impl Into<String>) -> Self {
        Self::Error { error, description: description.into() }
    }

    pub(super) fn invalid_grant(description: &'static str) -> Self {
        Self::new(OauthError::InvalidGrant, description)
    }

    /// Returns the error code for the response body.
    #[must_use]
    pub fn error_code(&self) -> &'static str {
        match self {
            // Only codes of the contract are sent.
            Self::Error { error, .. } => {
                OauthError::ALL.iter().find(|known| *known == error).map_or("unknown", OauthError::as_str)
            }
            Self::TokenType => "unsupported_token_type",
            Self::Wait(_) | Self::Unavailable(_) | Self::Store(_) => "temporarily_unavailable",
        }
    }

    fn description(&self) -> &str {
        match self {
            Self::Error { description, .. } => description,
            Self::TokenType => "access tokens cannot be revoked; revoke the refresh token",
            Self::Wait(_) => "too many requests; try again later",
            Self::Unavailable(_) | Self::Store(_) => "the provider is unavailable; try again later",
        }
    }

    fn status_code(&self) -> StatusCode {
        match self {
            Self::Error { error, .. } => error
                .status()
                .and_then(|status| StatusCode::from_u16(status).ok())
                .unwrap_or(StatusCode::BAD_REQUEST),
            Self::TokenType => StatusCode::BAD_REQUEST,
            Self::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) | Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Error { .. } | Self::TokenType => None,
            Self::Wait(wait) | Self::Unavailable(wait) => Some(retry_after(*wait)),
            // All responses have this delay if the store is unavailable (A9).
            Self::Store(_) => Some(60),
        }
    }
}

impl IntoResponse for OauthErrorResponse {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            tracing::error!(%error, "identity provider store error");
        }
        let body = serde_json::json!({ "error": self.error_code(), "error_description": self.description() });
        let mut response = json_response(self.status_code(), &body);
        response.extensions_mut().insert(ErrorLabel(self.error_code()));
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Creates a JSON response that must not be cached (RFC 6749, section 5.1).
pub(super) fn json_response(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = Response::new(body.to_string().into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
