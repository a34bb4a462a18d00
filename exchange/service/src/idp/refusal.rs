//! What the provider answers when it refuses: OAuth error bodies, never problems (ERR-42).

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use exchange_api::oauth_errors::OauthError;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use super::guesses::TooMany;
use crate::observed::Told;
use crate::store::StoreError;
use crate::time::retry_after;

/// A refused request to one of the provider's endpoints.
#[derive(Debug)]
pub enum Refusal {
    /// An error of OAuth.
    Error {
        /// Which.
        error: OauthError,
        /// The same for people: which rule was broken, nothing of what broke it.
        description: String,
    },
    /// A token of this kind is not revoked here (RFC 7009, 2.2.1).
    TokenType,
    /// More than the limits allow: 429.
    Wait(Duration),
    /// There is no room, or nobody knows: 503.
    Unavailable(Duration),
    /// The store, or what signs: 503.
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<TooMany> for Refusal {
    fn from(refusal: TooMany) -> Self {
        match refusal {
            TooMany::Wait(wait) => Self::Wait(wait),
            TooMany::Unavailable => Self::Unavailable(Duration::from_secs(60)),
        }
    }
}

impl Refusal {
    /// An error with its sentence.
    pub(super) fn new(error: OauthError, description: impl Into<String>) -> Self {
        Self::Error { error, description: description.into() }
    }

    /// The grant is not, or is no longer, one.
    pub(super) fn grant(description: &'static str) -> Self {
        Self::new(OauthError::InvalidGrant, description)
    }

    /// The error as it stands in the body.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            // One of the contract's, since this service makes up none.
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
            Self::TokenType => "access tokens end by themselves; revoke the refresh token",
            Self::Wait(_) => "too many requests; come back later",
            Self::Unavailable(_) | Self::Store(_) => "the provider cannot answer now; come back later",
        }
    }

    fn status(&self) -> StatusCode {
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
            // As every other answer that a store keeps from being given (A9).
            Self::Store(_) => Some(60),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            tracing::error!(%error, "the provider could not read or write");
        }
        let body = serde_json::json!({ "error": self.code(), "error_description": self.description() });
        let mut answer = json(self.status(), &body);
        answer.extensions_mut().insert(Told(self.code()));
        if let Some(seconds) = self.retry_after() {
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        answer
    }
}

/// An answer that nobody keeps (RFC 6749, 5.1).
pub(super) fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut answer = Response::new(body.to_string().into());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}
