//! Tokens of the client credentials grant (RFC 6749, 4.4), which are fetched on demand and cached until
//! shortly before they expire. Concurrent calls share one fetch and its result.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};

use super::declined_error;
use crate::{
    Json,
    clock::Instant,
    format::base64,
    operation::{Operation, RepeatSafety},
    parameters::encode::percent_encode,
    secret::Secret,
    transport::{Transport, TransportError},
};

/// The method by which a client authenticates to the token endpoint (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClientAuthentication {
    /// `client_secret_basic`: in the header `Authorization: Basic`, which every server must support.
    #[default]
    Basic,
    /// `client_secret_post`: in the request body.
    Body,
}

/// An OAuth client and the settings for its token requests.
#[derive(Clone)]
pub struct ClientCredentials {
    id: String,
    secret: Secret,
    scopes: Vec<String>,
    token_url: Option<String>,
    authentication: ClientAuthentication,
    parameters: Vec<(String, String)>,
    renew_early: Duration,
    now: Arc<dyn Fn() -> Instant + Send + Sync>,
}

impl ClientCredentials {
    /// Creates credentials from a client id and secret.
    ///
    /// Tokens are requested from the token endpoint in the OpenAPI document. No scopes are requested, so that
    /// the server grants its default scopes. Tokens are renewed 30 seconds before they expire.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: Secret::from(secret.into()),
            scopes: Vec::new(),
            token_url: None,
            authentication: ClientAuthentication::default(),
            parameters: Vec::new(),
            renew_early: Duration::from_secs(30),
            now: Arc::new(Instant::now),
        }
    }

    /// Sets the scopes that tokens are requested with.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the token endpoint, instead of the one in the document.
    #[must_use]
    pub fn with_token_url(mut self, url: impl Into<String>) -> Self {
        self.token_url = Some(url.into());
        self
    }

    /// Selects the method by which the client authenticates to the token endpoint.
    #[must_use]
    pub fn with_authentication(mut self, authentication: ClientAuthentication) -> Self {
        self.authentication = authentication;
        self
    }

    /// Adds a parameter to token requests, such as `audience` or `resource` (RFC 8707).
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Replaces the clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }
}

/// Shows only the id, which is not a secret.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The error of a call whose token could not be fetched. The call was not sent. The error contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    reason: String,
    is_client_refused: bool,
}

impl TokenError {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_client_refused: false }
    }

    /// Returns true if the token endpoint rejected the client id or secret (RFC 6749, 5.2).
    #[must_use]
    pub const fn is_client_refused(&self) -> bool {
        self.is_client_refused
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot get an access token: {}", self.reason)
    }
}

impl std::error::Error for TokenError {}

/// The operation that is passed to the transport with token requests.
static TOKEN_OPERATION: Operation = Operation {
    id: "oauth2.token",
    method: "POST",
    path: "/",
    anonymous: true,
    // Requesting another token has no side effects.
    repeat: RepeatSafety::Idempotent,
    ..Operation::EMPTY
};

/// The cached token of a client, and the state of its renewal.
pub(super) struct TokenCache {
    client: ClientCredentials,
    token_url: String,
    state: Mutex<TokenState>,
}

#[derive(Default)]
struct TokenState {
    token: Option<AccessToken>,
    is_fetching: bool,
    /// The number of the current or the last fetch.
    fetch_number: u64,
    /// The number and the error of the last fetch that failed.
    last_failure: Option<(u64, TokenError)>,
    wakers: Vec<Waker>,
}

struct AccessToken {
    secret: Secret,
    /// The time at which the token is renewed; `None` if the server reports no lifetime.
    renew_at: Option<Instant>,
}

/// A guard that marks a fetch as running. The fetch ends when the guard is dropped.
struct FetchGuard<'a>(&'a TokenCache);

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.0.lock_state();
            state.is_fetching = false;
            std::mem::take(&mut state.wakers)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl TokenCache {
    pub(super) fn new(client: ClientCredentials, token_url: &str) -> Self {
        let token_url = client.token_url.clone().unwrap_or_else(|| token_url.to_owned());
        Self { client, token_url, state: Mutex::default() }
    }

    fn lock_state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a valid token, fetching one if necessary.
    pub(super) async fn get_token<T: Transport + ?Sized>(
        &self,
        transport: &T,
    ) -> Result<Secret, TransportError> {
        let mut awaited = None;
        let known = poll_fn(|context| {
            let now = (self.client.now)();
            let mut state = self.lock_state();
            let lasts = |token: &&AccessToken| token.renew_at.is_none_or(|until| now < until);
            if let Some(token) = state.token.as_ref().filter(lasts) {
                return Poll::Ready(Ok(Some(token.secret.clone())));
            }
            // Callers that waited for a failed fetch share its error. Otherwise each of them would fetch in
            // turn, and the last one would fail only after the timeouts of all others.
            if let (Some(awaited), Some((failed, reason))) = (awaited, &state.last_failure)
                && *failed >= awaited
            {
                return Poll::Ready(Err(declined_error().with_source(reason.clone())));
            }
            if state.is_fetching {
                awaited.get_or_insert(state.fetch_number);
                // A task that polls repeatedly is registered only once.
                if !state.wakers.iter().any(|known| known.will_wake(context.waker())) {
                    state.wakers.push(context.waker().clone());
                }
                return Poll::Pending;
            }
            state.is_fetching = true;
            state.fetch_number += 1;
            Poll::Ready(Ok(None))
        });
        if let Some(known) = known.await? {
            return Ok(known);
        }
        let _turn = FetchGuard(self);
        let fetched = self.fetch_token(transport).await;
        let mut state = self.lock_state();
        match fetched {
            Ok(token) => {
                let secret = token.secret.clone();
                state.token = Some(token);
                Ok(secret)
            }
            Err(reason) => {
                state.last_failure = Some((state.fetch_number, reason.clone()));
                Err(declined_error().with_source(reason))
            }
        }
    }

    /// Removes a token that a server rejected.
    pub(super) fn discard_token(&self, token: &Secret) {
        let mut state = self.lock_state();
        if state.token.as_ref().is_some_and(|known| known.secret == *token) {
            state.token = None;
        }
    }

    /// Requests a token from the token endpoint.
    async fn fetch_token<T: Transport + ?Sized>(&self, transport: &T) -> Result<AccessToken, TokenError> {
        let request = self.token_request()?;
        // Measured before sending, because the transit time of the response is unknown.
        let requested_at = (self.client.now)();
        // This error belongs to the token request; the request of the operation was not sent.
        let response = transport
            .send(&TOKEN_OPERATION, request)
            .await
            .map_err(|error| TokenError::new(error.to_string()))?;
        let status = response.status();
        let body = Json::parse(response.body()).unwrap_or(Json::Null);
        let text = |pointer: &str| body.pointer(pointer).and_then(Json::as_str);
        let Some(token) = text("/access_token").filter(|_| status.is_success()) else {
            // Shows a registered error code (RFC 6749, 5.2). Other content of the response is not shown.
            let word =
                text("/error").filter(|word| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            let is_client_refused = status == StatusCode::UNAUTHORIZED || word == Some("invalid_client");
            let word = word.map(|word| format!(" {word}")).unwrap_or_default();
            let reason = format!("the token endpoint returned {status}{word}");
            return Err(TokenError { reason, is_client_refused });
        };
        let kind = text("/token_type").unwrap_or("bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(TokenError::new("the token endpoint returned a token that is not of type `bearer`"));
        }
        // RFC 6749, 5.1 requires a number, but some servers send a string.
        let lifetime = body.pointer("/expires_in").and_then(|time| match time {
            Json::String(digits) => digits.parse().ok(),
            time => time.as_number().and_then(|n| n.as_u64()),
        });
        let until = lifetime.and_then(|seconds| {
            let lifetime = Duration::from_secs(seconds);
            // If the lifetime is shorter than twice the renewal margin, the token is renewed after half its
            // lifetime.
            requested_at.checked_add(lifetime.saturating_sub(self.client.renew_early.min(lifetime / 2)))
        });
        Ok(AccessToken { secret: Secret::from(token.to_owned()), renew_at: until })
    }

    fn token_request(&self) -> Result<Request<Bytes>, TokenError> {
        if self.token_url.is_empty() {
            let reason = "no token endpoint is configured (`ClientCredentials::with_token_url`)";
            return Err(TokenError::new(reason));
        }
        let ClientCredentials { id, secret, scopes, authentication, parameters, .. } = &self.client;
        let mut form = String::from("grant_type=client_credentials");
        let mut field = |name: &str, value: &str| {
            form.push('&');
            form.push_str(&percent_encode(name, &[]));
            form.push('=');
            form.push_str(&percent_encode(value, &[]));
        };
        if !scopes.is_empty() {
            field("scope", &scopes.join(" "));
        }
        parameters.iter().for_each(|(name, value)| field(name, value));
        if *authentication == ClientAuthentication::Body {
            field("client_id", id);
            field("client_secret", secret.expose());
        }
        let mut request = Request::new(Bytes::from(form));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self
            .token_url
            .parse()
            .map_err(|_| TokenError::new("the URL of the token endpoint is invalid"))?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if *authentication == ClientAuthentication::Basic {
            // RFC 6749, 2.3.1: id and secret are form-encoded before they are joined.
            let pair = format!("{}:{}", percent_encode(id, &[]), percent_encode(secret.expose(), &[]));
            let mut value = HeaderValue::try_from(format!("Basic {}", base64::encode(pair.as_bytes())))
                .map_err(|_| TokenError::new("the client's id or secret cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(request)
    }
}
