//! The client of the identity provider: discovery, device login, refresh, and revocation.
//!
//! Requests are forms, sent by a plain [`Transport`] that never sends a request twice. Every transmission
//! that needs a proof gets a new one. [`ProviderFailure`] distinguishes transient from permanent failures.

mod endpoints;
mod form;
mod poll_schedule;
mod responses;
mod scopes;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dpop_bound::{
    Htu, Origin, ProofWindow,
    session::{DpopRequest, NextStep, PrepareOutcome, ResponseHead, RetryError, RetryReason},
};
use exchange_api::{
    oauth_errors::{LoginAction, OauthError},
    runtime::{
        client::RetryAfter,
        operation::{Operation, RepeatSafety},
        transport::{Delivery, Transport, TransportError, TransportFault},
    },
};
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use tokio::sync::Mutex;
use tracing::Instrument as _;

use self::{
    endpoints::ProviderEndpoints,
    form::encode_form,
    responses::{ResponseError, parse_error},
};
pub(crate) use self::{
    poll_schedule::{PollAction, PollHint, PollResult, PollSchedule},
    responses::{DeviceResponse, RefreshToken, TokenResponse},
    scopes::{build_scope, parse_scopes},
};
use crate::{
    address::ExchangeAddress,
    environment::Environment,
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    retry_after::{RetryAfterTable, WaitScope},
    token_source::ProofSession,
    transport::{limit_body_size, parse_retry_after, set_retry_after_seconds},
};

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The time after which a discovery document is read again.
const DISCOVERY_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// The maximum size of a response body, in bytes.
pub(crate) const MAX_RESPONSE_SIZE: usize = 256 << 10;
/// The provider's time window for proofs (LIM-11).
const PROOF_WINDOW: ProofWindow = ProofWindow::from_secs(25, 15);

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

static DISCOVERY: Operation = Operation {
    id: "oauth.discovery",
    path: "/.well-known/openid-configuration",
    anonymous: true,
    repeat: RepeatSafety::Safe,
    ..Operation::EMPTY
};
static DEVICE: Operation = post_operation("oauth.device", "/device_authorization");
static TOKEN: Operation = post_operation("oauth.token", "/token");
static REVOKE: Operation = post_operation("oauth.revoke", "/revoke");

const fn post_operation(id: &'static str, path: &'static str) -> Operation {
    Operation { id, method: "POST", path, anonymous: true, ..Operation::EMPTY }
}

/// A failed request to the provider.
#[derive(Clone, Debug)]
pub(crate) struct ProviderFailure {
    pub(crate) error: Error,
    /// True if the same request may succeed later without an action of the member.
    pub(crate) is_transient: bool,
}

impl ProviderFailure {
    fn transient(error: Error) -> Self {
        Self { error, is_transient: true }
    }

    fn permanent(error: Error) -> Self {
        Self { error, is_transient: false }
    }

    /// Returns the remaining wait if the request was not sent because of an earlier `Retry-After`.
    pub(crate) fn local_wait(&self) -> Option<Duration> {
        self.error.retry_after().filter(|_| self.error.status().is_none())
    }

    /// Converts the failure of a poll into its result; `None` if the failure ends the login.
    pub(crate) fn poll_result(&self) -> Option<PollResult> {
        match self.error.oauth_error() {
            Some(OauthError::AuthorizationPending) => Some(PollResult::Pending),
            Some(OauthError::SlowDown) => Some(PollResult::SlowDown),
            _ => self.is_transient.then(|| PollResult::Failed(self.error.retry_after())),
        }
    }
}

impl From<ProviderFailure> for Error {
    fn from(failure: ProviderFailure) -> Self {
        failure.error
    }
}

/// A client of one identity provider for one registered client id.
pub(crate) struct IdentityProvider {
    issuer: Box<str>,
    client_id: Box<str>,
    user_agent: HeaderValue,
    transport: Arc<dyn Transport>,
    environment: Environment,
    /// The `Retry-After` times of the provider.
    retry_after: RetryAfterTable,
    /// The endpoints, and the monotonic time at which they were discovered. `None` before the first
    /// discovery.
    endpoints: Mutex<Option<(Arc<ProviderEndpoints>, Duration)>>,
}

impl IdentityProvider {
    pub(crate) fn new(
        address: &ExchangeAddress,
        identity: &ClientIdentity,
        transport: Arc<dyn Transport>,
        environment: Environment,
    ) -> Self {
        Self {
            issuer: address.issuer().into(),
            client_id: identity.client_id().into(),
            user_agent: identity.user_agent().clone(),
            transport,
            environment,
            retry_after: RetryAfterTable::default(),
            endpoints: Mutex::new(None),
        }
    }

    /// Returns the `Retry-After` times of the provider. No request is sent before they have passed.
    pub(crate) const fn retry_after(&self) -> &RetryAfterTable {
        &self.retry_after
    }

    /// Starts a device login (RFC 8628, 3.1; IDP-09).
    pub(crate) async fn start_device_login(&self, scope: &str) -> Result<DeviceResponse, ProviderFailure> {
        let endpoints = self.load_endpoints().await?;
        let form = encode_form(&[("client_id", &self.client_id), ("scope", scope)]);
        let response = self
            .send_request(&DEVICE, self.build_request(&DEVICE, &endpoints.device_authorization, form)?, None)
            .await?;
        DeviceResponse::parse(&self.issuer, success_body(&response)?).map_err(response_failure)
    }

    /// Polls for the member's decision (RFC 8628, 3.4; IDP-14).
    pub(crate) async fn poll_device_login(
        &self,
        proofs: &ProofSession,
        device_code: &str,
    ) -> Result<TokenResponse, ProviderFailure> {
        self.request_tokens(proofs, &[("grant_type", DEVICE_GRANT), ("device_code", device_code)]).await
    }

    /// Refreshes the tokens (RFC 6749, 6; IDP-19).
    pub(crate) async fn refresh_tokens(
        &self,
        proofs: &ProofSession,
        token: &RefreshToken,
    ) -> Result<TokenResponse, ProviderFailure> {
        self.request_tokens(proofs, &[("grant_type", "refresh_token"), ("refresh_token", token.expose())])
            .await
    }

    /// Revokes a refresh token, which ends the connection (RFC 7009; IDP-23).
    pub(crate) async fn revoke_token(
        &self,
        proofs: &ProofSession,
        token: &RefreshToken,
    ) -> Result<(), ProviderFailure> {
        let endpoints = self.load_endpoints().await?;
        let fields = [("token", token.expose()), ("token_type_hint", "refresh_token")];
        let response = self.send_signed(&REVOKE, proofs, &endpoints.revocation, &fields).await?;
        success_body(&response).map(|_| ())
    }

    async fn request_tokens(
        &self,
        proofs: &ProofSession,
        fields: &[(&str, &str)],
    ) -> Result<TokenResponse, ProviderFailure> {
        let endpoints = self.load_endpoints().await?;
        let response = self.send_signed(&TOKEN, proofs, &endpoints.token, fields).await?;
        TokenResponse::parse(success_body(&response)?).map_err(response_failure)
    }

    /// Returns the endpoints. The discovery document is read once a day. If it cannot be read, the previous
    /// document stays in use.
    async fn load_endpoints(&self) -> Result<Arc<ProviderEndpoints>, ProviderFailure> {
        let mut known = self.endpoints.lock().await;
        let now = self.environment.now().monotonic;
        match &*known {
            Some((endpoints, read)) if now.saturating_sub(*read) < DISCOVERY_LIFETIME => {
                return Ok(Arc::clone(endpoints));
            }
            _ => {}
        }
        match (self.fetch_endpoints().await, &mut *known) {
            (Ok(endpoints), known) => {
                let endpoints = Arc::new(endpoints);
                *known = Some((Arc::clone(&endpoints), now));
                Ok(endpoints)
            }
            (Err(failure), Some((endpoints, _))) if failure.is_transient => Ok(Arc::clone(endpoints)),
            (Err(failure), _) => Err(failure),
        }
    }

    async fn fetch_endpoints(&self) -> Result<ProviderEndpoints, ProviderFailure> {
        let request = Request::get(endpoints::discovery_url(&self.issuer)).header(ACCEPT, "application/json");
        let request = request.header(USER_AGENT, &self.user_agent).body(Bytes::new());
        let response = self.send_request(&DISCOVERY, request.map_err(request_failure)?, None).await?;
        ProviderEndpoints::parse(&self.issuer, success_body(&response)?).map_err(|why| {
            let error = Error::new(ErrorKind::Protocol, why.to_string());
            // A document of another issuer is a permanent failure. An error page instead of a document is a
            // transient failure.
            match why {
                endpoints::DiscoveryError::Unreadable => ProviderFailure::transient(error),
                _ => ProviderFailure::permanent(error),
            }
        })
    }

    fn build_request(
        &self,
        operation: &Operation,
        endpoint: &Htu,
        form: Bytes,
    ) -> Result<Request<Bytes>, ProviderFailure> {
        let request = Request::builder().method(operation.method).uri(endpoint.as_str());
        let request = request
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(USER_AGENT, &self.user_agent);
        request.body(form).map_err(request_failure)
    }

    /// Sends a form with a proof. Sends it again with a new proof once if the provider requires a nonce
    /// (ERR-50), and once for any other problem with the proof (ERR-48, ERR-49), but not if the response has
    /// a `Retry-After`.
    async fn send_signed(
        &self,
        operation: &'static Operation,
        proofs: &ProofSession,
        endpoint: &Htu,
        fields: &[(&str, &str)],
    ) -> Result<Response<Bytes>, ProviderFailure> {
        let mut form_fields = fields.to_vec();
        form_fields.push(("client_id", &self.client_id));
        let form = encode_form(&form_fields);
        let mut call = DpopRequest::new(operation.method, endpoint.clone()).with_window(PROOF_WINDOW);
        let mut is_retried = false;
        loop {
            let transmission = match proofs.prepare_request(&call, self.environment.now()).await {
                Ok(PrepareOutcome::Send(transmission)) => transmission,
                Ok(PrepareOutcome::Wait(first)) => {
                    first.await;
                    continue;
                }
                Err(error) => {
                    let what = format!("signing with the key of this installation failed: {error}");
                    return Err(ProviderFailure::permanent(Error::with_source(
                        ErrorKind::Secrets,
                        what,
                        error,
                    )));
                }
            };
            let mut request = self.build_request(operation, endpoint, form.clone())?;
            transmission.apply_headers(None, request.headers_mut());
            let response = self.send_request(operation, request, Some((proofs, call.origin()))).await?;
            let seen = ResponseHead::from(&response).with_body(response.body());
            match proofs.handle_response(&mut call, transmission, &seen, self.environment.now()) {
                NextStep::Retry(RetryReason::Nonce) => {}
                NextStep::Retry(RetryReason::Clock) | NextStep::GiveUp(RetryError::Proof) if !is_retried => {
                    is_retried = true
                }
                NextStep::Done
                    if !is_retried && parse_error(response.body()) == Some(OauthError::InvalidRequest) =>
                {
                    is_retried = true;
                }
                NextStep::Done => return Ok(response),
                NextStep::Retry(RetryReason::Clock) => return Err(proof_failure(RetryError::Proof)),
                NextStep::GiveUp(why) => return Err(proof_failure(why)),
            }
            tracing::debug!(operation = operation.id, "request resent with a new proof");
        }
    }

    /// Sends one request with a timeout. Converts a `Retry-After` date to seconds by the server's clock, if
    /// that is known.
    async fn send_request(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
        known: Option<(&ProofSession, &Origin)>,
    ) -> Result<Response<Bytes>, ProviderFailure> {
        if let Some(reload) = self.retry_after.reload_if_due(self.environment.now().monotonic) {
            reload.await;
        }
        let now = self.environment.now().monotonic;
        if let Some((until, _)) = self.retry_after.find_wait(operation, None, now) {
            let what = "the identity provider requires a wait before the next request";
            let wait = until.saturating_sub(now);
            return Err(ProviderFailure::transient(Error::not_sent_yet(ErrorKind::Busy, what, None, wait)));
        }
        let span = tracing::debug_span!("exchange.oauth", operation = operation.id);
        let sending = self.transport.send(operation, request).instrument(span);
        let response = tokio::select! {
            biased;
            response = sending => response,
            () = self.environment.sleep(REQUEST_TIMEOUT) => {
                Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown))
            }
        };
        match response.and_then(|response| limit_body_size(response, MAX_RESPONSE_SIZE)) {
            Ok(mut response) => {
                let retry_after = parse_retry_after(response.headers(), || {
                    let now = self.environment.now();
                    known.map_or(now.wall, |(proofs, origin)| proofs.server_clock(origin).now(now).time)
                });
                if let Some(retry_after) = retry_after {
                    set_retry_after_seconds(response.headers_mut(), retry_after);
                    self.record_retry_after(operation, response.status(), retry_after);
                }
                Ok(response)
            }
            Err(error) => {
                let lasting = error.fault() == TransportFault::Request;
                Err(ProviderFailure { error: Error::from_transport_error(error), is_transient: !lasting })
            }
        }
    }
}

impl IdentityProvider {
    /// Records the `Retry-After` of an error response (CLI-02). It applies to all endpoints if the status is
    /// a server error, otherwise only to this endpoint, because each endpoint has its own limits.
    fn record_retry_after(&self, operation: &'static Operation, status: StatusCode, retry_after: Duration) {
        if status.is_success() {
            return;
        }
        let scope = if status.is_server_error() {
            WaitScope::Everything
        } else {
            WaitScope::for_operation(operation)
        };
        let until = self.environment.now().monotonic.saturating_add(retry_after);
        self.retry_after.record_wait(scope, None, None, until);
    }
}

/// Returns the body of a success response. Otherwise returns the OAuth error, or an error if the response
/// does not come from the provider.
fn success_body(response: &Response<Bytes>) -> Result<&[u8], ProviderFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response.body());
    }
    let retry_after = match RetryAfter::from_headers(response.headers()) {
        Some(RetryAfter::Delay(delay)) => Some(delay),
        _ => None,
    };
    let Some(error) = parse_error(response.body()) else {
        let what = format!("the response is not from the identity provider ({status})");
        return Err(ProviderFailure::transient(foreign_response_error(what, response, retry_after)));
    };
    let is_transient = match error.action() {
        Some(action) => matches!(action, LoginAction::PollAgain | LoginAction::PollSlower),
        // CON-12: an unknown error is classified by its status.
        None => is_wait_status(status) || status.is_server_error(),
    };
    Err(ProviderFailure { error: Error::from_oauth_error(error, status, retry_after), is_transient })
}

/// Returns the error for a response that does not come from the provider, such as a proxy's page or a
/// redirect.
fn foreign_response_error(
    what: impl Into<std::borrow::Cow<'static, str>>,
    response: &Response<Bytes>,
    retry_after: Option<Duration>,
) -> Error {
    let status = response.status();
    let kind = match status {
        _ if is_wait_status(status) => ErrorKind::Busy,
        _ if status.is_server_error() => ErrorKind::OutcomeUnknown,
        _ => ErrorKind::Protocol,
    };
    Error::from_status(kind, what, status, retry_after)
}

/// Returns true if the status means that the client should retry later.
fn is_wait_status(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 503)
}

fn response_failure(why: ResponseError) -> ProviderFailure {
    let error = Error::new(ErrorKind::Protocol, why.to_string());
    match why {
        // The response is a success page that is not JSON, such as the login page of a network.
        ResponseError::Unreadable => ProviderFailure::transient(error),
        _ => ProviderFailure::permanent(error),
    }
}

fn proof_failure(why: RetryError) -> ProviderFailure {
    let kind = match why {
        RetryError::Clock(_) => ErrorKind::Clock,
        _ => ErrorKind::Proof,
    };
    ProviderFailure::permanent(Error::new(
        kind,
        format!("the request to the identity provider failed: {why}"),
    ))
}

fn request_failure(error: http::Error) -> ProviderFailure {
    ProviderFailure::permanent(Error::with_source(
        ErrorKind::Bug,
        "cannot build the request to the identity provider",
        error,
    ))
}

#[cfg(test)]
pub(crate) mod fake_provider;
#[cfg(test)]
mod tests;
