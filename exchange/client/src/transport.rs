//! The transport of the generated client. It signs and sends requests, evaluates responses, waits, and
//! retries.
//!
//! Entry point: [`SigningTransport`], one loop for all operations. The decisions are in modules without I/O:
//! [`verdict`](crate::verdict) classifies responses, `call_progress` limits the attempts,
//! [`rate_limiter`](crate::rate_limiter) determines when a request may be sent, and `dpop_bound` creates
//! proofs. This module combines them with tokens, network, and time.

mod call_progress;
mod call_state;
mod null_members;
mod send_conditions;
mod settings;
mod shared_limiter;
#[cfg(test)]
mod tests;
#[cfg(feature = "reqwest")]
mod wire;

use std::{
    fmt,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use dpop_bound::{
    Origin, ProofWindow, UnixTime,
    clock::TimeEstimate,
    session::{self, PrepareOutcome, ResponseHead, RetryError, RetryReason},
};
use exchange_api::runtime::{
    operation::{Operation, RepeatSafety},
    transport::{Delivery, PartialBody, ResponseFuture, Transport, TransportError, TransportFault},
};
use http::{HeaderValue, Request, Response};
use tracing::{Instrument as _, Span, field};

#[cfg(feature = "reqwest")]
pub(crate) use self::wire::network_transport;
use self::{
    call_progress::NextStep,
    call_state::{CallState, RequestOutcome},
    null_members::remove_null_members,
};
pub use self::{
    call_state::CallStats,
    settings::{RetryPolicy, TransportSettings},
};
pub(crate) use self::{
    call_state::{parse_retry_after, set_retry_after_seconds},
    send_conditions::SendConditions,
    shared_limiter::SharedLimiter,
};
use crate::{
    environment::Environment,
    error::{Error, ErrorKind, error_kind_for_code},
    ownership::Ownership,
    rate_limiter::{AcquireResult, SendPermit, ServerHealth, WaitReason, WaitScope},
    token_source::{AccessGrant, TokenSource},
    verdict::{ResponseAssessment, Verdict},
};

/// The tolerance for a timer that fires late.
const TIMER_TOLERANCE: Duration = Duration::from_millis(1);

/// A transport that signs every call and retries it until its outcome is final. Clones share all state.
///
/// An error of this crate is wrapped in a [`TransportError`]. It is unwrapped when the error of the call is
/// converted to [`Error`].
#[derive(Clone)]
pub(crate) struct SigningTransport(Arc<TransportInner>);

struct TransportInner {
    transport: Arc<dyn Transport>,
    token_source: Arc<dyn TokenSource>,
    environment: Environment,
    user_agent: HeaderValue,
    gateway: Origin,
    settings: TransportSettings,
    limiter: SharedLimiter,
}

impl SigningTransport {
    /// Creates a transport for this gateway. The settings replace those of the shared limiter.
    pub(crate) fn new(
        gateway: Origin,
        user_agent: HeaderValue,
        below: Arc<dyn Transport>,
        tokens: Arc<dyn TokenSource>,
        environment: Environment,
        settings: TransportSettings,
        road: SharedLimiter,
    ) -> Self {
        let road = road.with_settings(&settings, environment.now().monotonic);
        Self(Arc::new(TransportInner {
            transport: below,
            token_source: tokens,
            environment,
            user_agent,
            gateway,
            settings,
            limiter: road,
        }))
    }
}

impl Transport for SigningTransport {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let span = tracing::info_span!(
            "exchange.call",
            operation = operation.id,
            area = operation.first_tag(),
            correlation_id = field::Empty,
            attempt = field::Empty,
        );
        Box::pin(self.0.run_call(operation, request).instrument(span))
    }
}

impl fmt::Debug for SigningTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningTransport").field("gateway", &self.0.gateway).finish_non_exhaustive()
    }
}

/// A permit to send one request. It is released when it is dropped.
struct PermitGuard<'a> {
    inner: &'a TransportInner,
    permit: Option<SendPermit>,
    sent: bool,
}

impl PermitGuard<'_> {
    fn release(mut self, health: ServerHealth) {
        self.release_once(health);
    }

    fn release_once(&mut self, health: ServerHealth) {
        let Some(going) = self.permit.take() else { return };
        // A random number needs a system call, so it is generated only if it is used.
        let waits = matches!(health, ServerHealth::Down { .. } | ServerHealth::Unknown);
        let fraction = if waits { self.inner.environment.random_fraction() } else { 0.0 };
        let now = self.inner.now();
        if self.inner.limiter.lock_limiter().release(going, health, now, fraction) {
            self.inner.limiter.change_notify().notify_waiters();
        }
    }
}

impl Drop for PermitGuard<'_> {
    fn drop(&mut self) {
        self.release_once(if self.sent { ServerHealth::Unknown } else { ServerHealth::Unsent });
    }
}

impl TransportInner {
    async fn run_call(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        let mut course = CallState::new(operation, request, self)?;
        Span::current().record("correlation_id", course.correlation_id());
        loop {
            Span::current().record("attempt", course.stats.attempts + 1);
            let (outcome, grant) = match self.send_attempt(&mut course).await {
                Ok(both) => both,
                // No request was sent in this attempt, so the response to an earlier one is the better
                // result.
                Err(error) => return course.give_up(error),
            };
            course.stats.attempts += 1;
            let retry_after = outcome.response.as_ref().ok().and_then(|response| self.retry_after(response));
            self.record_retry_after(operation, &outcome, retry_after, grant.as_ref());
            let next = course.progress.next_step(outcome.assessment.verdict, operation, &course.patience);
            let (failures, wait) = match next {
                NextStep::Stop => {
                    return self.finish_call(course, outcome, grant.as_ref(), retry_after).await;
                }
                NextStep::RenewToken => {
                    let Some(grant) = grant else {
                        return self.finish_call(course, outcome, None, retry_after).await;
                    };
                    tracing::debug!("token rejected, requesting another");
                    let other = self.token_source.renew_grant(grant.token.hash());
                    if let Err(error) = self.until_deadline(course.deadline, other).await.flatten() {
                        let error = error.into_transport(course.progress.maybe_applied);
                        return course.give_up(error);
                    }
                    continue;
                }
                NextStep::Resend { failures } => {
                    let fraction = self.environment.random_fraction();
                    (failures, self.settings.backoff.delay_after(failures, retry_after, fraction))
                }
            };
            if self.now().saturating_add(wait) > course.deadline {
                return self.finish_call(course, outcome, grant.as_ref(), retry_after).await;
            }
            tracing::info!(failures, wait_ms = millis(wait), "resending the call after a wait");
            course.set_outcome(outcome, retry_after);
            course.stats.waited += wait;
            self.environment.sleep(wait).await;
        }
    }

    /// Sends one attempt: a request, and a further one for each problem with its proof that can be corrected.
    async fn send_attempt(
        &self,
        course: &mut CallState,
    ) -> Result<(RequestOutcome, Option<AccessGrant>), TransportError> {
        let mut signing: Option<session::DpopRequest> = None;
        loop {
            if course.operation.anonymous {
                let (ticket, _) =
                    self.acquire_permit(course, self.token_source.current_owner().as_ref()).await?;
                let response = self.send_request(ticket, course, course.build_request()).await;
                return Ok((response, None));
            }
            let maybe_done = course.progress.maybe_applied;
            let refused = |rejection: Error| rejection.into_transport(maybe_done);
            // The grant is requested first, so that a call does not hold a permit during a token refresh.
            let mut grant = self.current_grant(course).await?;
            let (ticket, waited) = self.acquire_permit(course, Some(&grant.owner)).await?;
            if waited {
                // The session may have halted or ended during the wait.
                grant = self.current_grant(course).await?;
            }
            course.set_signer(&grant).map_err(refused)?;
            let mut call = match signing.take() {
                Some(call) => call,
                None => session::DpopRequest::new(course.method(), course.htu.clone()),
            };
            call = call.with_token(grant.token.hash());
            // A key in hardware may be slow or may not respond.
            let proof = grant.proofs.prepare_request(&call, self.environment.now());
            let proof = self.until_deadline(course.deadline, proof).await.map_err(refused)?;
            let turn = proof.map_err(|error| {
                refused(Error::with_source(
                    ErrorKind::Secrets,
                    format!("cannot create a proof: {error}"),
                    error,
                ))
            })?;
            let transmission = match turn {
                PrepareOutcome::Send(transmission) => transmission,
                PrepareOutcome::Wait(first) => {
                    drop(ticket);
                    self.until_deadline(course.deadline, first).await.map_err(refused)?;
                    signing = Some(call);
                    continue;
                }
            };
            let (iat, sent) = (transmission.iat(), self.now());
            course.check_proof_time(iat).map_err(refused)?;
            // The process may have been suspended since. Other processes rely on the deadline.
            if sent > course.deadline.saturating_add(TIMER_TOLERANCE) {
                return Err(refused(deadline_error()));
            }
            let mut request = course.build_request();
            transmission.apply_headers(Some(&grant.token), request.headers_mut());
            let outcome = self.send_request(ticket, course, request).await;
            let Ok(response) = &outcome.response else { return Ok((outcome, Some(grant))) };
            let received = self.environment.now();
            // A network may duplicate a message. The copy that arrives second is rejected as a replay
            // (DPP-18), and the response to it may be the one received here. The nonce challenge precedes the
            // replay check (DPP-15), so after a challenge neither copy was applied.
            let writes = course.operation.repeat != RepeatSafety::Safe;
            match grant.proofs.handle_response(
                &mut call,
                transmission,
                &ResponseHead::from(response),
                received,
            ) {
                session::NextStep::Done => return Ok((outcome, Some(grant))),
                session::NextStep::Retry(why) => {
                    if why == RetryReason::Clock && writes {
                        let clock = grant.proofs.server_clock(call.origin()).now(received);
                        let on_its_way = received.monotonic.saturating_sub(sent);
                        course.progress.maybe_applied |= may_have_been_accepted(iat, &clock, on_its_way);
                    }
                    if let Some(retry_after) = self.retry_after(response) {
                        self.record_wait(course.operation, &outcome, retry_after, Some(&grant));
                    }
                    tracing::debug!(?why, "proof rejected, sending another");
                    signing = Some(call);
                }
                session::NextStep::GiveUp(why) => {
                    let may_be_a_copy = writes && matches!(why, RetryError::Proof | RetryError::Clock(_));
                    if let RetryError::Clock(_) = why {
                        let what = format!("the exchange rejected the time of the proof: {why}");
                        let rejection = Error::with_source(ErrorKind::Clock, what, why);
                        return Err(rejection.into_transport(maybe_done || may_be_a_copy));
                    }
                    let judged = ResponseAssessment { verdict: Verdict::Done, ..outcome.assessment };
                    return Ok((
                        RequestOutcome { assessment: judged, may_be_replay: may_be_a_copy, ..outcome },
                        Some(grant),
                    ));
                }
            }
        }
    }

    /// Returns the current grant, or an error if it is not available before the call's deadline.
    async fn current_grant(&self, course: &CallState) -> Result<AccessGrant, TransportError> {
        let current = self.until_deadline(course.deadline, self.token_source.current_grant()).await.flatten();
        current.map_err(|error| error.into_transport(course.progress.maybe_applied))
    }

    /// Sends one request, and awaits its response until the timeout.
    async fn send_request(
        &self,
        mut ticket: PermitGuard<'_>,
        course: &mut CallState,
        request: Request<Bytes>,
    ) -> RequestOutcome {
        let operation = course.operation;
        let limit = match operation.repeat {
            RepeatSafety::Safe => self.settings.read_timeout,
            RepeatSafety::Idempotent | RepeatSafety::Keyed | RepeatSafety::NonIdempotent => {
                self.settings.write_timeout
            }
        };
        let span = tracing::debug_span!(
            "exchange.request",
            http.request.method = operation.method,
            http.request.resend_count = course.stats.requests,
            http.response.status_code = field::Empty,
            error.r#type = field::Empty,
            server.address = course.host(),
            server.port = course.port(),
        );
        course.stats.requests += 1;
        ticket.sent = true;
        let response = async {
            self.with_timeout(limit, self.transport.send(operation, request))
                .await
                .unwrap_or_else(|| Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown)))
        };
        let response = response.instrument(span.clone()).await;
        let response = response.and_then(|response| limit_body_size(response, self.settings.max_body_size));
        let response = response.map(|mut response| {
            remove_null_members(operation, &mut response);
            response
        });
        let outcome = RequestOutcome::from_response(operation, response);
        match &outcome.response {
            Ok(response) => {
                let status = response.status();
                span.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    span.record("error.type", status.as_str());
                }
            }
            Err(error) => {
                span.record("error.type", field::debug(error.fault()));
            }
        }
        ticket.release(outcome.assessment.health);
        outcome
    }

    /// Waits for a permit to send a request of this owner. The flag in the result is true if the call had to
    /// wait.
    async fn acquire_permit(
        &self,
        course: &mut CallState,
        owner: Option<&Ownership>,
    ) -> Result<(PermitGuard<'_>, bool), TransportError> {
        let ticket = |going| PermitGuard { inner: self, permit: Some(going), sent: false };
        let begun = self.now();
        let reload = self.limiter.retry_after_table().reload_if_due(begun);
        if reload.is_none() {
            let passed = self.limiter.lock_limiter().try_acquire(
                course.operation,
                owner,
                course.patience.initiator,
                begun,
            );
            if let AcquireResult::Granted(going) = passed {
                return Ok((ticket(going), false));
            }
        }
        let mut reload = reload;
        loop {
            let begun = self.now();
            if let Some(reload) =
                reload.take().or_else(|| self.limiter.retry_after_table().reload_if_due(begun))
            {
                let late = |late: Error| late.into_transport(course.progress.maybe_applied);
                self.until_deadline(course.deadline, reload).await.map_err(late)?;
            }
            let mut changed = pin!(self.limiter.change_notify().notified());
            changed.as_mut().enable();
            let now = self.now();
            let owner = self.token_source.current_owner();
            let passed = self.limiter.lock_limiter().try_acquire(
                course.operation,
                owner.as_ref(),
                course.patience.initiator,
                now,
            );
            match passed {
                AcquireResult::Granted(going) => return Ok((ticket(going), true)),
                AcquireResult::Wait(until, reason) => {
                    let wait = until.saturating_sub(now);
                    if until > course.deadline {
                        return Err(wait_error(reason, wait).into_transport(course.progress.maybe_applied));
                    }
                    tokio::select! {
                        () = self.environment.sleep(wait) => {}
                        () = changed => {}
                    }
                }
                AcquireResult::ProbeInProgress => {
                    let late = |late: Error| late.into_transport(course.progress.maybe_applied);
                    self.until_deadline(course.deadline, changed).await.map_err(late)?;
                }
            }
            course.stats.waited += self.now().saturating_sub(begun);
        }
    }

    /// Awaits a shared future until the call's deadline. The shared work continues after that.
    async fn until_deadline<T>(&self, deadline: Duration, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = pin!(work);
        if let Some(done) = poll_once(work.as_mut()).await {
            return Ok(done);
        }
        let rest = deadline.saturating_sub(self.now());
        self.with_timeout(rest, work).await.ok_or_else(deadline_error)
    }

    /// Awaits a future with a timeout. Returns `None` after the timeout.
    async fn with_timeout<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        if let Some(done) = poll_once(work.as_mut()).await {
            return Some(done);
        }
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.environment.sleep(limit) => None,
        }
    }

    /// Records the `Retry-After` of a response so that later calls respect it as well. Does nothing unless
    /// the server is down, the call has to wait or renew its token, or a quota is exceeded.
    fn record_retry_after(
        &self,
        operation: &'static Operation,
        outcome: &RequestOutcome,
        retry_after: Option<Duration>,
        grant: Option<&AccessGrant>,
    ) {
        let is_down = outcome.response.as_ref().is_ok_and(|response| response.status().is_server_error());
        let concerns = is_down
            || matches!(outcome.assessment.verdict, Verdict::Wait | Verdict::RenewToken)
            || error_kind(outcome) == ErrorKind::QuotaExceeded;
        if let (Some(retry_after), true) = (retry_after, concerns) {
            self.record_wait(operation, outcome, retry_after, grant);
        }
    }

    /// Records a `Retry-After` for all calls in the scope of the response.
    fn record_wait(
        &self,
        operation: &'static Operation,
        outcome: &RequestOutcome,
        retry_after: Duration,
        grant: Option<&AccessGrant>,
    ) {
        let code = outcome.error_body.code.as_ref();
        if let Some(scope) = WaitScope::for_code(code, operation) {
            let now = self.now();
            let owner = grant.map(|grant| &grant.owner);
            self.limiter.lock_limiter().record_wait(
                scope,
                code.cloned(),
                owner,
                now.saturating_add(retry_after),
                now,
            );
        }
    }

    /// Returns the last response to the caller. If it is an error that affects the session, reports it to the
    /// session first.
    async fn finish_call(
        &self,
        mut course: CallState,
        outcome: RequestOutcome,
        grant: Option<&AccessGrant>,
        retry_after: Option<Duration>,
    ) -> Result<Response<Bytes>, TransportError> {
        if let (Ok(response), Some(grant), kind @ (ErrorKind::Halted(_) | ErrorKind::Ended(_))) =
            (&outcome.response, grant, error_kind(&outcome))
        {
            let error = Error::from_error_code(
                kind,
                outcome.error_body.code.clone(),
                response.status(),
                course.correlation_id(),
            );
            // The session continues to handle the error after the call's deadline.
            let _ =
                self.until_deadline(course.deadline, self.token_source.report_rejection(grant, &error)).await;
        }
        course.set_outcome(outcome, retry_after);
        course.into_result()
    }

    /// Returns the `Retry-After` of a response. A date is relative to the server's clock.
    fn retry_after(&self, response: &Response<Bytes>) -> Option<Duration> {
        parse_retry_after(response.headers(), || {
            let now = self.environment.now();
            match self.token_source.gateway_proofs() {
                Some(proofs) => proofs.server_clock(&self.gateway).now(now).time,
                None => now.wall,
            }
        })
    }

    fn now(&self) -> Duration {
        self.environment.now().monotonic
    }
}

/// Enforces the maximum size of a body. An error response that is too large is returned without its body,
/// because its headers may contain a `Retry-After` (CLI-02).
pub(crate) fn limit_body_size(
    mut response: Response<Bytes>,
    max_bytes: usize,
) -> Result<Response<Bytes>, TransportError> {
    if response.body().len() > max_bytes {
        let fault = TransportFault::TooLarge;
        if response.status().is_success() {
            return Err(TransportError::new(fault, Delivery::Unknown));
        }
        *response.body_mut() = Bytes::new();
        response.extensions_mut().insert(PartialBody(fault));
    }
    Ok(response)
}

/// Polls a future once, because most futures are ready immediately and need no timer.
async fn poll_once<F: Future>(mut work: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| {
        Poll::Ready(match work.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        })
    })
    .await
}

/// Returns the error for work that was not completed before the call's deadline.
fn deadline_error() -> Error {
    Error::new(ErrorKind::Busy, "the time limit of the call was reached during a wait")
}

/// Returns true if the gateway may have accepted a proof with this time when it arrived. Returns false if the
/// time is outside of the permitted window, so that every copy of the proof was rejected.
fn may_have_been_accepted(iat: UnixTime, clock: &TimeEstimate, on_its_way: Duration) -> bool {
    let ProofWindow { past, future } = ProofWindow::default();
    let difference = iat.saturating_since(clock.time).max(clock.time.saturating_since(iat));
    difference <= past.max(future).saturating_add(clock.uncertainty).saturating_add(on_its_way)
}

/// Returns the kind of the error code in a response, or `Protocol` if the response has no code.
fn error_kind(outcome: &RequestOutcome) -> ErrorKind {
    match (&outcome.response, &outcome.error_body.code) {
        (Ok(answer), Some(code)) => error_kind_for_code(Some(code), answer.status()),
        _ => ErrorKind::Protocol,
    }
}

/// Returns the error for a call whose wait would end after its deadline.
fn wait_error(reason: WaitReason, wait: Duration) -> Error {
    match reason {
        WaitReason::RetryAfter(Some(code)) => {
            let kind = match error_kind_for_code(Some(&code), http::StatusCode::SERVICE_UNAVAILABLE) {
                ErrorKind::QuotaExceeded => ErrorKind::QuotaExceeded,
                _ => ErrorKind::Busy,
            };
            Error::not_sent_yet(
                kind,
                "the exchange requires a wait that is longer than the time limit of this call",
                Some(code),
                wait,
            )
        }
        WaitReason::RetryAfter(None) => Error::not_sent_yet(
            ErrorKind::Busy,
            "the exchange requires a wait that is longer than the time limit of this call",
            None,
            wait,
        ),
        WaitReason::Outage { unreachable } => {
            let kind = if unreachable { ErrorKind::Unreachable } else { ErrorKind::Busy };
            Error::not_sent_yet(kind, "recent requests to the exchange failed", None, wait)
        }
        WaitReason::RateLimit => {
            Error::not_sent_yet(ErrorKind::Busy, "the rate limit of this program is used up", None, wait)
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
