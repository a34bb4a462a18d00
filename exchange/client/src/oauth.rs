//! The identity provider, as a device client sees it: discovery, device logins, tokens, revocation.
//!
//! Requests are forms, sent over a plain [`Transport`] that resends nothing by itself; whatever needs a proof
//! gets a new one for each transmission. What a request came to is told apart by one question: whether sending
//! it again later may help ([`Failure`]).

mod answers;
mod endpoints;
mod form;
mod polling;
mod scopes;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dpop_bound::{
    Htu, Origin, Window,
    session::{Answer, Call, GiveUp, Next, Turn, Why},
};
use exchange_api::{
    oauth_errors::{LoginAction, OauthError},
    runtime::{
        client::RetryAfter,
        operation::{Operation, Repeat},
        transport::{Delivery, Transport, TransportError, TransportFault},
    },
};
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use tokio::sync::Mutex;
use tracing::Instrument as _;

pub(crate) use self::{
    answers::{DeviceAnswer, RefreshToken, TokenAnswer},
    polling::{Polled, Polling, Remark, Step},
    scopes::{asked, granted},
};
use self::{
    answers::{Unacceptable, refusal},
    endpoints::Endpoints,
    form::form,
};
use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    gates::{Gates, Scope},
    identity::Identity,
    place::Place,
    tokens::Proofs,
    transport::{retry_after, say_seconds, within},
};

/// How long one transmission may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How long a discovery document is used.
const DOCUMENT: Duration = Duration::from_secs(24 * 3600);
/// The largest answer that is read.
pub(crate) const LARGEST: usize = 256 << 10;
/// The provider's window for proofs (LIM-11).
const WINDOW: Window = Window::seconds(25, 15);

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

static DISCOVERY: Operation = Operation {
    id: "oauth.discovery",
    path: "/.well-known/openid-configuration",
    anonymous: true,
    repeat: Repeat::Safe,
    ..Operation::NONE
};
static DEVICE: Operation = posted("oauth.device", "/device_authorization");
static TOKEN: Operation = posted("oauth.token", "/token");
static REVOKE: Operation = posted("oauth.revoke", "/revoke");

const fn posted(id: &'static str, path: &'static str) -> Operation {
    Operation { id, method: "POST", path, anonymous: true, ..Operation::NONE }
}

/// Why there is no answer of success.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Whether the same may succeed later, without anybody doing anything.
    pub(crate) passes: bool,
}

impl Failure {
    fn passing(error: Error) -> Self {
        Self { error, passes: true }
    }

    fn lasting(error: Error) -> Self {
        Self { error, passes: false }
    }

    /// By how much a request that was not sent was too early.
    pub(crate) fn held(&self) -> Option<Duration> {
        self.error.retry_after().filter(|_| self.error.status().is_none())
    }

    /// What a poll came to, unless it ends the login.
    pub(crate) fn of_poll(&self) -> Option<Polled> {
        match self.error.oauth_error() {
            Some(OauthError::AuthorizationPending) => Some(Polled::Pending),
            Some(OauthError::SlowDown) => Some(Polled::SlowDown),
            _ => self.passes.then(|| Polled::Failed(self.error.retry_after())),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// The provider of one place, for one client.
pub(crate) struct Provider {
    issuer: Box<str>,
    client_id: Box<str>,
    user_agent: HeaderValue,
    transport: Arc<dyn Transport>,
    environment: Environment,
    /// What it asked to wait.
    gates: Gates,
    /// And when it was read, by the monotonic clock.
    endpoints: Mutex<Option<(Arc<Endpoints>, Duration)>>,
}

impl Provider {
    pub(crate) fn new(
        place: &Place,
        identity: &Identity,
        transport: Arc<dyn Transport>,
        environment: Environment,
    ) -> Self {
        Self {
            issuer: place.issuer().into(),
            client_id: identity.client_id().into(),
            user_agent: identity.user_agent().clone(),
            transport,
            environment,
            gates: Gates::default(),
            endpoints: Mutex::new(None),
        }
    }

    /// What it asked to wait: nothing is sent to it before that is over.
    pub(crate) const fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Begins a device login (RFC 8628, 3.1; IDP-09).
    pub(crate) async fn begin(&self, scope: &str) -> Result<DeviceAnswer, Failure> {
        let endpoints = self.endpoints().await?;
        let form = form(&[("client_id", &self.client_id), ("scope", scope)]);
        let answer =
            self.send(&DEVICE, self.post(&DEVICE, &endpoints.device_authorization, form)?, None).await?;
        DeviceAnswer::read(&self.issuer, success(&answer)?).map_err(unacceptable)
    }

    /// Asks whether the member decided (RFC 8628, 3.4; IDP-14).
    pub(crate) async fn poll(&self, proofs: &Proofs, device_code: &str) -> Result<TokenAnswer, Failure> {
        self.token(proofs, &[("grant_type", DEVICE_GRANT), ("device_code", device_code)]).await
    }

    /// Refreshes (RFC 6749, 6; IDP-19).
    pub(crate) async fn refresh(
        &self,
        proofs: &Proofs,
        token: &RefreshToken,
    ) -> Result<TokenAnswer, Failure> {
        self.token(proofs, &[("grant_type", "refresh_token"), ("refresh_token", token.expose())]).await
    }

    /// Ends the connection (RFC 7009; IDP-23).
    pub(crate) async fn revoke(&self, proofs: &Proofs, token: &RefreshToken) -> Result<(), Failure> {
        let endpoints = self.endpoints().await?;
        let fields = [("token", token.expose()), ("token_type_hint", "refresh_token")];
        let answer = self.signed(&REVOKE, proofs, &endpoints.revocation, &fields).await?;
        success(&answer).map(|_| ())
    }

    async fn token(&self, proofs: &Proofs, fields: &[(&str, &str)]) -> Result<TokenAnswer, Failure> {
        let endpoints = self.endpoints().await?;
        let answer = self.signed(&TOKEN, proofs, &endpoints.token, fields).await?;
        TokenAnswer::read(success(&answer)?).map_err(unacceptable)
    }

    /// Where the endpoints are: read once a day. One that was good stays so while no other can be read.
    async fn endpoints(&self) -> Result<Arc<Endpoints>, Failure> {
        let mut known = self.endpoints.lock().await;
        let now = self.environment.now().monotonic;
        match &*known {
            Some((endpoints, read)) if now.saturating_sub(*read) < DOCUMENT => {
                return Ok(Arc::clone(endpoints));
            }
            _ => {}
        }
        match (self.discover().await, &mut *known) {
            (Ok(endpoints), known) => {
                let endpoints = Arc::new(endpoints);
                *known = Some((Arc::clone(&endpoints), now));
                Ok(endpoints)
            }
            (Err(failure), Some((endpoints, _))) if failure.passes => Ok(Arc::clone(endpoints)),
            (Err(failure), _) => Err(failure),
        }
    }

    async fn discover(&self) -> Result<Endpoints, Failure> {
        let request = Request::get(endpoints::document_of(&self.issuer)).header(ACCEPT, "application/json");
        let request = request.header(USER_AGENT, &self.user_agent).body(Bytes::new());
        let answer = self.send(&DISCOVERY, request.map_err(unusable)?, None).await?;
        Endpoints::read(&self.issuer, success(&answer)?).map_err(|why| {
            let error = Error::new(ErrorKind::Protocol, why.to_string());
            // Another issuer's document stays one; a page in its place goes away.
            match why {
                endpoints::Unusable::Unreadable => Failure::passing(error),
                _ => Failure::lasting(error),
            }
        })
    }

    fn post(&self, operation: &Operation, endpoint: &Htu, form: Bytes) -> Result<Request<Bytes>, Failure> {
        let request = Request::builder().method(operation.method).uri(endpoint.as_str());
        let request = request
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(USER_AGENT, &self.user_agent);
        request.body(form).map_err(unusable)
    }

    /// Sends a request with proof: a new one for each transmission. It is sent again for a nonce, once (ERR-50),
    /// and once for whatever else may have been wrong with the proof (ERR-48, ERR-49); neither where the refusal asks to
    /// wait before that.
    async fn signed(
        &self,
        operation: &'static Operation,
        proofs: &Proofs,
        endpoint: &Htu,
        fields: &[(&str, &str)],
    ) -> Result<Response<Bytes>, Failure> {
        let mut all = fields.to_vec();
        all.push(("client_id", &self.client_id));
        let form = form(&all);
        let mut call = Call::new(operation.method, endpoint.clone()).within(WINDOW);
        let mut mended = false;
        loop {
            let transmission = match proofs.prepare(&call, self.environment.now()).await {
                Ok(Turn::Go(transmission)) => transmission,
                Ok(Turn::Wait(first)) => {
                    first.await;
                    continue;
                }
                Err(error) => {
                    let what = format!("the key of this installation does not sign: {error}");
                    return Err(Failure::lasting(Error::caused(ErrorKind::Secrets, what, error)));
                }
            };
            let mut request = self.post(operation, endpoint, form.clone())?;
            transmission.apply(None, request.headers_mut());
            let answer = self.send(operation, request, Some((proofs, call.origin()))).await?;
            let seen = Answer::from(&answer).with_body(answer.body());
            match proofs.answered(&mut call, transmission, &seen, self.environment.now()) {
                Next::Again(Why::Nonce) => {}
                Next::Again(Why::Clock) | Next::GiveUp(GiveUp::Proof) if !mended => mended = true,
                Next::Done if !mended && refusal(answer.body()) == Some(OauthError::InvalidRequest) => {
                    mended = true;
                }
                Next::Done => return Ok(answer),
                Next::Again(Why::Clock) => return Err(refused_proof(GiveUp::Proof)),
                Next::GiveUp(why) => return Err(refused_proof(why)),
            }
            tracing::debug!(operation = operation.id, "sent again with another proof");
        }
    }

    /// One transmission, in its time. Of an answer that asks to wait, `Retry-After` is seconds: a date is of the server's
    /// clock, as far as that is known.
    async fn send(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
        known: Option<(&Proofs, &Origin)>,
    ) -> Result<Response<Bytes>, Failure> {
        if let Some(hearing) = self.gates.hear(self.environment.now().monotonic) {
            hearing.await;
        }
        let now = self.environment.now().monotonic;
        if let Some((until, _)) = self.gates.hold(operation, None, now) {
            let what = "the identity provider asked to wait";
            let wait = until.saturating_sub(now);
            return Err(Failure::passing(Error::held(ErrorKind::Busy, what, None, wait)));
        }
        let span = tracing::debug_span!("exchange.oauth", operation = operation.id);
        let sending = self.transport.send(operation, request).instrument(span);
        let answer = tokio::select! {
            biased;
            answer = sending => answer,
            () = self.environment.sleep(LIMIT) => {
                Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown))
            }
        };
        match answer.and_then(|answer| within(answer, LARGEST)) {
            Ok(mut answer) => {
                let asked = retry_after(answer.headers(), || {
                    let now = self.environment.now();
                    known.map_or(now.wall, |(proofs, origin)| proofs.clock(origin).now(now).time)
                });
                if let Some(asked) = asked {
                    say_seconds(answer.headers_mut(), asked);
                    self.gate(operation, answer.status(), asked);
                }
                Ok(answer)
            }
            Err(error) => {
                let lasting = error.fault() == TransportFault::Request;
                Err(Failure { error: Error::of_transport(error), passes: !lasting })
            }
        }
    }
}

impl Provider {
    /// Remembers what a refusal asks for, whatever else it says (CLI-02): one that says that nothing works at the moment
    /// for all, any other for its own endpoint, since each has limits of its own.
    fn gate(&self, operation: &'static Operation, status: StatusCode, asked: Duration) {
        if status.is_success() {
            return;
        }
        let scope = if status.is_server_error() { Scope::Everything } else { Scope::only(operation) };
        let until = self.environment.now().monotonic.saturating_add(asked);
        self.gates.asked(scope, None, None, until);
    }
}

/// The body of a success; a refusal in the provider's words, or in those of whatever stands before it.
fn success(answer: &Response<Bytes>) -> Result<&[u8], Failure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer.body());
    }
    let retry_after = match RetryAfter::of(answer.headers()) {
        Some(RetryAfter::Delay(asked)) => Some(asked),
        _ => None,
    };
    let Some(error) = refusal(answer.body()) else {
        let what = format!("the identity provider's place was answered for by another ({status})");
        return Err(Failure::passing(foreign(what, answer, retry_after)));
    };
    let passes = match error.action() {
        Some(action) => matches!(action, LoginAction::PollAgain | LoginAction::PollSlower),
        // Of an error that nobody here knows the status says whether it passes (CON-12).
        None => waits(status) || status.is_server_error(),
    };
    Err(Failure { error: Error::of_oauth(error, status, retry_after), passes })
}

/// The page of a proxy, a redirection.
fn foreign(
    what: impl Into<std::borrow::Cow<'static, str>>,
    answer: &Response<Bytes>,
    retry_after: Option<Duration>,
) -> Error {
    let status = answer.status();
    let kind = match status {
        _ if waits(status) => ErrorKind::Busy,
        _ if status.is_server_error() => ErrorKind::OutcomeUnknown,
        _ => ErrorKind::Protocol,
    };
    Error::of_answer(kind, what, status, retry_after)
}

/// Whether a status asks to come back later.
fn waits(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 503)
}

fn unacceptable(why: Unacceptable) -> Failure {
    let error = Error::new(ErrorKind::Protocol, why.to_string());
    match why {
        // A page with the status of a success, such as that of a network that wants its own sign-in first.
        Unacceptable::Unreadable => Failure::passing(error),
        _ => Failure::lasting(error),
    }
}

fn refused_proof(why: GiveUp) -> Failure {
    let kind = match why {
        GiveUp::Clock(_) => ErrorKind::Clock,
        _ => ErrorKind::Proof,
    };
    Failure::lasting(Error::new(kind, format!("the identity provider refused the proof: {why}")))
}

fn unusable(error: http::Error) -> Failure {
    Failure::lasting(Error::caused(
        ErrorKind::Bug,
        "the request to the identity provider cannot be made",
        error,
    ))
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
