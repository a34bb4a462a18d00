//! Tokens for a client's own credentials (RFC 6749, 4.4): fetched when they are needed, kept while
//! they last, by one request at a time however many wait, who all have its answer.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};

use super::declined;
use crate::{
    Json,
    format::base64,
    operation::{Operation, Repeat},
    parameters::write::encoded,
    secret::Secret,
    transport::{Transport, TransportError},
};

/// How a client shows its secret to the token endpoint (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClientAuthentication {
    /// `client_secret_basic`: by `Authorization: Basic`, which every server knows.
    #[default]
    Basic,
    /// `client_secret_post`: in the body of the request.
    Body,
}

/// What a client gets tokens for.
#[derive(Clone)]
pub struct ClientCredentials {
    id: String,
    secret: Secret,
    scopes: Vec<String>,
    token_url: Option<String>,
    authentication: ClientAuthentication,
    parameters: Vec<(String, String)>,
    early: Duration,
    now: Arc<dyn Fn() -> Instant + Send + Sync>,
}

impl ClientCredentials {
    /// The id and the secret of a client. Tokens come from where the document says, with the scopes
    /// that the server gives when none are asked for, and are replaced half a minute before they
    /// expire.
    pub fn new(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: Secret::from(secret.into()),
            scopes: Vec::new(),
            token_url: None,
            authentication: ClientAuthentication::default(),
            parameters: Vec::new(),
            early: Duration::from_secs(30),
            now: Arc::new(Instant::now),
        }
    }

    /// Asks for these scopes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Gets tokens here, whatever the document says.
    #[must_use]
    pub fn with_token_url(mut self, url: impl Into<String>) -> Self {
        self.token_url = Some(url.into());
        self
    }

    /// Shows its secret in another way.
    #[must_use]
    pub fn with_authentication(mut self, authentication: ClientAuthentication) -> Self {
        self.authentication = authentication;
        self
    }

    /// Says something more to the token endpoint: `audience`, `resource` (RFC 8707).
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Reads another clock; for tests.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }
}

/// The id, which is no secret.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A token was not to be had, and the call that needs it was not sent. Prints no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoToken {
    reason: String,
    is_client_refused: bool,
}

impl NoToken {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_client_refused: false }
    }

    /// Whether the token endpoint does not take the client's id and secret (RFC 6749, 5.2).
    #[must_use]
    pub const fn is_client_refused(&self) -> bool {
        self.is_client_refused
    }
}

impl fmt::Display for NoToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no token: {}", self.reason)
    }
}

impl std::error::Error for NoToken {}

/// What the token endpoint is called where a transport asks for an operation.
static TOKEN: Operation = Operation {
    id: "oauth2.token",
    method: "POST",
    path: "/",
    anonymous: true,
    // Another token harms nobody.
    repeat: Repeat::Idempotent,
    ..Operation::NONE
};

/// The tokens of a client.
pub(super) struct Tokens {
    client: ClientCredentials,
    token_url: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// Somebody fetches one.
    busy: bool,
    /// Which fetch that is, or which was the last.
    fetch: u64,
    /// The last one that failed, and why.
    failed: Option<(u64, NoToken)>,
    waiting: Vec<Waker>,
}

struct Token {
    secret: Secret,
    /// When it is replaced; never where the server does not say when it expires.
    until: Option<Instant>,
}

/// The turn to fetch, which ends however the fetch does.
struct Turn<'a>(&'a Tokens);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.0.state();
            state.busy = false;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Tokens {
    pub(super) fn new(client: ClientCredentials, token_url: &str) -> Self {
        let token_url = client.token_url.clone().unwrap_or_else(|| token_url.to_owned());
        Self { client, token_url, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that lasts.
    pub(super) async fn token<T: Transport + ?Sized>(&self, transport: &T) -> Result<Secret, TransportError> {
        let mut awaited = None;
        let known = poll_fn(|context| {
            let now = (self.client.now)();
            let mut state = self.state();
            let lasts = |token: &&Token| token.until.is_none_or(|until| now < until);
            if let Some(token) = state.token.as_ref().filter(lasts) {
                return Poll::Ready(Ok(Some(token.secret.clone())));
            }
            // Whoever waited for a fetch has its answer: one after another they would wait in vain as
            // long as all of them together.
            if let (Some(awaited), Some((failed, reason))) = (awaited, &state.failed)
                && *failed >= awaited
            {
                return Poll::Ready(Err(declined().with_source(reason.clone())));
            }
            if state.busy {
                awaited.get_or_insert(state.fetch);
                // Who is asked often while it waits is woken once.
                if !state.waiting.iter().any(|known| known.will_wake(context.waker())) {
                    state.waiting.push(context.waker().clone());
                }
                return Poll::Pending;
            }
            state.busy = true;
            state.fetch += 1;
            Poll::Ready(Ok(None))
        });
        if let Some(known) = known.await? {
            return Ok(known);
        }
        let _turn = Turn(self);
        let fetched = self.fetch(transport).await;
        let mut state = self.state();
        match fetched {
            Ok(token) => {
                let secret = token.secret.clone();
                state.token = Some(token);
                Ok(secret)
            }
            Err(reason) => {
                state.failed = Some((state.fetch, reason.clone()));
                Err(declined().with_source(reason))
            }
        }
    }

    /// A server does not take this one any more.
    pub(super) fn refused(&self, token: &Secret) {
        let mut state = self.state();
        if state.token.as_ref().is_some_and(|known| known.secret == *token) {
            state.token = None;
        }
    }

    /// Another one, or why there is none.
    async fn fetch<T: Transport + ?Sized>(&self, transport: &T) -> Result<Token, NoToken> {
        let request = self.request()?;
        // Before it is sent: nobody knows how long the answer was on its way.
        let asked = (self.client.now)();
        // Not of the operation that waits for it: that one was not sent.
        let answer =
            transport.send(&TOKEN, request).await.map_err(|error| NoToken::new(error.to_string()))?;
        let status = answer.status();
        let body = Json::parse(answer.body()).unwrap_or(Json::Null);
        let text = |pointer: &str| body.pointer(pointer).and_then(Json::as_str);
        let Some(token) = text("/access_token").filter(|_| status.is_success()) else {
            // RFC 6749, 5.2: a word out of a list; whatever else stands there is not shown.
            let word =
                text("/error").filter(|word| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            let is_client_refused = status == StatusCode::UNAUTHORIZED || word == Some("invalid_client");
            let word = word.map(|word| format!(" {word}")).unwrap_or_default();
            let reason = format!("the token endpoint answered {status}{word}");
            return Err(NoToken { reason, is_client_refused });
        };
        let kind = text("/token_type").unwrap_or("bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(NoToken::new("the token endpoint gives none of the type `bearer`"));
        }
        // A number (RFC 6749, 5.1), which some servers write as text.
        let lifetime = body.pointer("/expires_in").and_then(|time| match time {
            Json::String(digits) => digits.parse().ok(),
            time => time.as_number().and_then(|n| n.as_u64()),
        });
        let until = lifetime.and_then(|seconds| {
            let lifetime = Duration::from_secs(seconds);
            // One that lasts for less than that is used for half of its time.
            asked.checked_add(lifetime.saturating_sub(self.client.early.min(lifetime / 2)))
        });
        Ok(Token { secret: Secret::from(token.to_owned()), until })
    }

    fn request(&self) -> Result<Request<Bytes>, NoToken> {
        if self.token_url.is_empty() {
            let reason = "nobody says where one is to be had (`ClientCredentials::with_token_url`)";
            return Err(NoToken::new(reason));
        }
        let ClientCredentials { id, secret, scopes, authentication, parameters, .. } = &self.client;
        let mut form = String::from("grant_type=client_credentials");
        let mut field = |name: &str, value: &str| {
            form.push('&');
            form.push_str(&encoded(name, &[]));
            form.push('=');
            form.push_str(&encoded(value, &[]));
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
        *request.uri_mut() =
            self.token_url.parse().map_err(|_| NoToken::new("the address of the token endpoint is none"))?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if *authentication == ClientAuthentication::Basic {
            // RFC 6749, 2.3.1: both encoded as in a form before they are joined.
            let pair = format!("{}:{}", encoded(id, &[]), encoded(secret.expose(), &[]));
            let mut value = HeaderValue::try_from(format!("Basic {}", base64::encode(pair.as_bytes())))
                .map_err(|_| NoToken::new("the client's id or secret cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(request)
    }
}
