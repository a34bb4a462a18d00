//! A relay to a backend in another process, over HTTP.

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;
use contract_runtime::server::{EncodedResponse, HeaderMap, HeaderName};

use super::signature::{self, RelayKey};
use super::{Relay, RelayError, RelayFuture, RelayedRequest};
use crate::Environment;

/// The maximum size of an accepted response, in bytes. A page with 1000 entries is far smaller.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The names of the request headers that the backend needs.
const REQUEST_HEADERS: [&str; 3] = ["content-type", "idempotency-key", "user-agent"];
/// The names of the response headers that the client gets.
const RESPONSE_HEADERS: [&str; 3] = ["content-type", "retry-after", "x-correlation-id"];

/// A relay that sends signed requests to a backend at a base address.
pub struct HttpRelay {
    client: reqwest::Client,
    base: String,
    key: RelayKey,
    environment: Environment,
}

impl fmt::Debug for HttpRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRelay").field("base", &self.base).finish_non_exhaustive()
    }
}

/// The error that [`HttpRelay::new`] returns if the HTTP client cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the HTTP client for the backend: {0}")]
pub struct BackendClientError(#[from] reqwest::Error);

impl HttpRelay {
    /// Creates a relay to a backend at `base`, such as `http://backend.internal:8081`, with a timeout for each call.
    ///
    /// # Errors
    /// Returns a [`BackendClientError`] if the system's HTTP client cannot be created.
    pub fn new(
        base: &str,
        key: RelayKey,
        environment: Environment,
        wait: Duration,
    ) -> Result<Self, BackendClientError> {
        let client = reqwest::Client::builder()
            .timeout(wait)
            .connect_timeout(wait.min(Duration::from_secs(5)))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), key, environment })
    }

    async fn forward_request(&self, request: RelayedRequest) -> Result<EncodedResponse, RelayError> {
        let context = request.call.context();
        let (method, uri, body) = (context.method(), context.uri(), context.body());
        // `HEAD` is sent as `GET`. The gateway removes the body from the response.
        let method = if method == http::Method::HEAD { &http::Method::GET } else { method };
        let signature_value =
            signature::sign_request(&self.key, &request.caller, (method, uri, body), self.environment.now())
                .map_err(|_| RelayError::NotSent)?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut headers = select_headers(context.headers(), &REQUEST_HEADERS);
        headers.insert(signature::HEADER, signature_value);
        let sent = self
            .client
            .request(method.clone(), format!("{}{target}", self.base))
            .headers(headers)
            .body(body.clone())
            .send()
            .await
            .map_err(relay_error)?;
        let (status, headers) = (sent.status(), select_headers(sent.headers(), &RESPONSE_HEADERS));
        let body = read_whole_body(sent).await?;
        let response = EncodedResponse { status, headers, body: body.freeze() };
        // Responses are not trusted. Only valid responses are returned to the client or stored under an
        // idempotency key.
        match response.check_contract(request.call.operation()) {
            Ok(()) => Ok(response),
            Err(broken) => {
                let advice = "compare the stores, clocks and versions of gateway and backend";
                tracing::error!(%status, %broken, advice, "backend response violates the contract");
                Err(RelayError::Failed)
            }
        }
    }
}

impl Relay for HttpRelay {
    fn send_request(&self, request: RelayedRequest) -> RelayFuture<'_> {
        Box::pin(self.forward_request(request))
    }

    fn validates_answers(&self) -> bool {
        true
    }
}

async fn read_whole_body(mut sent: reqwest::Response) -> Result<BytesMut, RelayError> {
    let mut buffer = BytesMut::new();
    while let Some(chunk) = sent.chunk().await.map_err(relay_error)? {
        if chunk.len() > MAX_ANSWER_BYTES - buffer.len() {
            tracing::warn!(most = MAX_ANSWER_BYTES, "backend response too large");
            return Err(RelayError::Failed);
        }
        buffer.extend_from_slice(&chunk);
    }
    Ok(buffer)
}

fn relay_error(error: reqwest::Error) -> RelayError {
    // The URL is removed, because its path and query belong to a member and must not be logged.
    let error = error.without_url();
    tracing::warn!(error = %crate::logging::error_chain(&error), "backend call failed");
    if error.is_connect() {
        RelayError::NotSent
    } else if error.is_timeout() {
        RelayError::TimedOut
    } else {
        RelayError::Failed
    }
}

fn select_headers(headers: &HeaderMap, names: &[&'static str]) -> HeaderMap {
    let names = names.iter().map(|name| HeaderName::from_static(name));
    names.filter_map(|name| headers.get(&name).map(|value| (name.clone(), value.clone()))).collect()
}
