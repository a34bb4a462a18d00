//! A backend that is elsewhere, over HTTP.

use std::fmt;
use std::time::Duration;

use bytes::BytesMut;
use contract_runtime::server::{Answer, HeaderMap, HeaderName};

use super::signed::{self, RelayKey};
use super::{Relay, RelayFailure, Relayed, Relaying};
use crate::Environment;

/// The largest answer that is taken: pages of 1000 entries stay far below.
const LARGEST: usize = 16 << 20;

/// What the backend needs of a request's head, and the client of an answer's.
const ASKED: [&str; 3] = ["content-type", "idempotency-key", "user-agent"];
const ANSWERED: [&str; 3] = ["content-type", "retry-after", "x-correlation-id"];

/// Takes requests to a backend at a base address, signed.
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

/// No client can be made for the backend's address.
#[derive(Debug, thiserror::Error)]
#[error("the backend cannot be called: {0}")]
pub struct UnusableBackend(#[from] reqwest::Error);

impl HttpRelay {
    /// A backend at `base`, such as `http://backend.internal:8081`, that is waited for so long.
    ///
    /// # Errors
    /// When the system offers no client.
    pub fn new(
        base: &str,
        key: RelayKey,
        environment: Environment,
        wait: Duration,
    ) -> Result<Self, UnusableBackend> {
        let client = reqwest::Client::builder()
            .timeout(wait)
            .connect_timeout(wait.min(Duration::from_secs(5)))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), key, environment })
    }

    async fn send(&self, request: Relayed) -> Result<Answer, RelayFailure> {
        let context = request.call.context();
        let (method, uri, body) = (context.method(), context.uri(), context.body());
        // The answer to `HEAD` is that to `GET`, without its body, which the gateway leaves out.
        let method = if method == http::Method::HEAD { &http::Method::GET } else { method };
        let said = signed::sign(&self.key, &request.caller, (method, uri, body), self.environment.now())
            .map_err(|_| RelayFailure::Unreachable)?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut headers = some_of(context.headers(), &ASKED);
        headers.insert(signed::HEADER, said);
        let sent = self
            .client
            .request(method.clone(), format!("{}{target}", self.base))
            .headers(headers)
            .body(body.clone())
            .send()
            .await
            .map_err(failure)?;
        let (status, headers) = (sent.status(), some_of(sent.headers(), &ANSWERED));
        let body = whole(sent).await?;
        let answer = Answer { status, headers, body: body.freeze() };
        // Whoever answers at the address: only what the contract describes is passed on, or kept for a key.
        match answer.check(request.call.operation()) {
            Ok(()) => Ok(answer),
            Err(broken) => {
                let advice = "compare the stores, clocks and versions of gateway and backend";
                tracing::error!(%status, %broken, advice, "the backend's answer is none of the contract");
                Err(RelayFailure::Unreachable)
            }
        }
    }
}

impl Relay for HttpRelay {
    fn relay(&self, request: Relayed) -> Relaying<'_> {
        Box::pin(self.send(request))
    }

    fn checks(&self) -> bool {
        true
    }
}

async fn whole(mut sent: reqwest::Response) -> Result<BytesMut, RelayFailure> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = sent.chunk().await.map_err(failure)? {
        if chunk.len() > LARGEST - whole.len() {
            tracing::warn!(most = LARGEST, "the backend's answer is too large");
            return Err(RelayFailure::Unreachable);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

fn failure(error: reqwest::Error) -> RelayFailure {
    // The address is the configuration's; path and query are a member's.
    let error = error.without_url();
    tracing::warn!(error = %crate::logging::causes(&error), "the backend was called in vain");
    if error.is_timeout() { RelayFailure::TooLate } else { RelayFailure::Unreachable }
}

fn some_of(headers: &HeaderMap, names: &[&'static str]) -> HeaderMap {
    let names = names.iter().map(|name| HeaderName::from_static(name));
    names.filter_map(|name| headers.get(&name).map(|value| (name.clone(), value.clone()))).collect()
}
