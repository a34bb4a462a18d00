//! Gets the calls of the generated client there: signs, sends, judges what came, waits, sends again.
//!
//! One loop for all operations. What it decides stands in pure modules: [`verdict`](crate::verdict) says what an
//! answer asks for, `progress` how often, [`pace`](crate::pace) when anything may leave at all, the DPoP library
//! what a proof has to be. Here they are put together with what waits: tokens, the network, time.

mod course;
mod progress;
mod road;
mod settings;
mod terms;
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
    Origin, UnixTime, Window,
    clock::Estimate,
    session::{self, Answer, GiveUp, Turn, Why},
};
use exchange_api::runtime::{
    operation::{Operation, Repeat},
    transport::{Delivery, Partial, Sending, Transport, TransportError, TransportFault},
};
use http::{HeaderValue, Request, Response};
use tracing::{Instrument as _, Span, field};

#[cfg(feature = "reqwest")]
pub(crate) use self::wire::wire;
pub use self::{
    course::Effort,
    settings::{Patience, Settings},
};
use self::{
    course::{Came, Course},
    progress::Next,
};
pub(crate) use self::{
    course::{retry_after, say_seconds},
    road::Road,
    terms::Terms,
};
use crate::{
    environment::Environment,
    error::{Error, ErrorKind, kind_of},
    pace::{Going, Health, Held, Pass, Scope},
    tokens::{Grant, Tokens},
    verdict::{Judged, Verdict},
    whose::Whose,
};

/// By so much later than it was asked to a timer comes.
const TICK: Duration = Duration::from_millis(1);

/// The transport of a client: every call, signed and sent until there is something to say of it. Cloning shares
/// it.
///
/// What it refuses itself is a [`TransportError`] with an [`Error`] in it, which comes out again where a call's
/// error becomes one of this crate's.
#[derive(Clone)]
pub(crate) struct Carrier(Arc<Inner>);

struct Inner {
    below: Arc<dyn Transport>,
    tokens: Arc<dyn Tokens>,
    environment: Environment,
    user_agent: HeaderValue,
    gateway: Origin,
    settings: Settings,
    road: Road,
}

impl Carrier {
    /// Sends to this origin alone, by a road that takes on these settings.
    pub(crate) fn new(
        gateway: Origin,
        user_agent: HeaderValue,
        below: Arc<dyn Transport>,
        tokens: Arc<dyn Tokens>,
        environment: Environment,
        settings: Settings,
        road: Road,
    ) -> Self {
        let road = road.limited(&settings, environment.now().monotonic);
        Self(Arc::new(Inner { below, tokens, environment, user_agent, gateway, settings, road }))
    }
}

impl Transport for Carrier {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        let span = tracing::info_span!(
            "exchange.call",
            operation = operation.id,
            area = operation.area(),
            correlation_id = field::Empty,
            attempt = field::Empty,
        );
        Box::pin(self.0.call(operation, request).instrument(span))
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier").field("gateway", &self.0.gateway).finish_non_exhaustive()
    }
}

/// Leave to send one request. Whatever becomes of the call, it comes back.
struct Ticket<'a> {
    inner: &'a Inner,
    going: Option<Going>,
    sent: bool,
}

impl Ticket<'_> {
    fn back(mut self, health: Health) {
        self.give_back(health);
    }

    fn give_back(&mut self, health: Health) {
        let Some(going) = self.going.take() else { return };
        // Random numbers cost a call of the system.
        let waits = matches!(health, Health::Down { .. } | Health::Unknown);
        let fraction = if waits { self.inner.environment.fraction() } else { 0.0 };
        let now = self.inner.now();
        if self.inner.road.pace().came_back(going, health, now, fraction) {
            self.inner.road.changed().notify_waiters();
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.give_back(if self.sent { Health::Unknown } else { Health::Unsent });
    }
}

impl Inner {
    async fn call(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        let mut course = Course::begin(operation, request, self)?;
        Span::current().record("correlation_id", course.correlation_id());
        loop {
            Span::current().record("attempt", course.effort.attempts + 1);
            let (came, grant) = match self.attempt(&mut course).await {
                Ok(both) => both,
                // Nothing left this time. What came before is the better answer.
                Err(refusal) => return course.give_up(refusal),
            };
            course.effort.attempts += 1;
            let asked = came.answer.as_ref().ok().and_then(|answer| self.asked_to_wait(answer));
            self.gate(operation, &came, asked, grant.as_ref());
            let next = course.progress.after(came.judged.verdict, operation, &course.patience);
            let (failures, wait) = match next {
                Next::Stop => return self.end(course, came, grant.as_ref(), asked).await,
                Next::Renew => {
                    let Some(grant) = grant else { return self.end(course, came, None, asked).await };
                    tracing::debug!("the token was refused, and another is asked for");
                    let other = self.tokens.renewed(grant.token.hash());
                    if let Err(refusal) = self.in_time(course.deadline, other).await.flatten() {
                        let refusal = refusal.into_transport(course.progress.maybe_done);
                        return course.give_up(refusal);
                    }
                    continue;
                }
                Next::Again { failures } => {
                    let fraction = self.environment.fraction();
                    (failures, self.settings.backoff.after(failures, asked, fraction))
                }
            };
            if self.now().saturating_add(wait) > course.deadline {
                return self.end(course, came, grant.as_ref(), asked).await;
            }
            tracing::info!(failures, wait_ms = millis(wait), "the call is sent again after a wait");
            course.came(came, asked);
            course.effort.waited += wait;
            self.environment.sleep(wait).await;
        }
    }

    /// One request, and another for each thing that a proof was refused for: at once, or when the exchange wants it.
    async fn attempt(&self, course: &mut Course) -> Result<(Came, Option<Grant>), TransportError> {
        let mut signing: Option<session::Call> = None;
        loop {
            if course.operation.anonymous {
                let (ticket, _) = self.pass(course, self.tokens.whose().as_ref()).await?;
                let answer = self.exchange(ticket, course, course.request()).await;
                return Ok((answer, None));
            }
            let maybe_done = course.progress.maybe_done;
            let refused = |refusal: Error| refusal.into_transport(maybe_done);
            // Who cannot sign does not wait for leave to send, nor keeps others from it while a token is refreshed.
            let mut grant = self.grant(course).await?;
            let (ticket, waited) = self.pass(course, Some(&grant.whose)).await?;
            if waited {
                // Once more: the session may have halted or ended meanwhile.
                grant = self.grant(course).await?;
            }
            course.sign_by(&grant).map_err(refused)?;
            let mut call = match signing.take() {
                Some(call) => call,
                None => session::Call::new(course.method(), course.htu.clone()),
            };
            call = call.with_token(grant.token.hash());
            // A key that is no file may take its time, or give no answer.
            let proof = grant.proofs.prepare(&call, self.environment.now());
            let proof = self.in_time(course.deadline, proof).await.map_err(refused)?;
            let turn = proof.map_err(|error| {
                refused(Error::caused(ErrorKind::Secrets, format!("no proof could be made: {error}"), error))
            })?;
            let transmission = match turn {
                Turn::Go(transmission) => transmission,
                Turn::Wait(first) => {
                    drop(ticket);
                    self.in_time(course.deadline, first).await.map_err(refused)?;
                    signing = Some(call);
                    continue;
                }
            };
            let (iat, sent) = (transmission.iat(), self.now());
            course.sign_at(iat).map_err(refused)?;
            // This process may have stood still, and others take it that nothing of the call leaves any more.
            if sent > course.deadline.saturating_add(TICK) {
                return Err(refused(late()));
            }
            let mut request = course.request();
            transmission.apply(Some(&grant.token), request.headers_mut());
            let came = self.exchange(ticket, course, request).await;
            let Ok(answer) = &came.answer else { return Ok((came, Some(grant))) };
            let received = self.environment.now();
            // A network may double a message: the copy that comes second is refused as a replay (DPP-18), and that may
            // be the answer that came. A challenge for a nonce comes before replays are looked at (DPP-15), so it says
            // of both that nothing was carried out.
            let writes = course.operation.repeat != Repeat::Safe;
            match grant.proofs.answered(&mut call, transmission, &Answer::from(answer), received) {
                session::Next::Done => return Ok((came, Some(grant))),
                session::Next::Again(why) => {
                    if why == Why::Clock && writes {
                        let clock = grant.proofs.clock(call.origin()).now(received);
                        let on_its_way = received.monotonic.saturating_sub(sent);
                        course.progress.maybe_done |= may_have_been_taken(iat, &clock, on_its_way);
                    }
                    if let Some(asked) = self.asked_to_wait(answer) {
                        self.hold_back(course.operation, &came, asked, Some(&grant));
                    }
                    tracing::debug!(?why, "the proof was refused, and another is sent");
                    signing = Some(call);
                }
                session::Next::GiveUp(why) => {
                    let may_be_a_copy = writes && matches!(why, GiveUp::Proof | GiveUp::Clock(_));
                    if let GiveUp::Clock(_) = why {
                        let what = format!("the exchange refused the time of the proof, and {why}");
                        let refusal = Error::caused(ErrorKind::Clock, what, why);
                        return Err(refusal.into_transport(maybe_done || may_be_a_copy));
                    }
                    let judged = Judged { verdict: Verdict::Done, ..came.judged };
                    return Ok((Came { judged, may_be_a_copy, ..came }, Some(grant)));
                }
            }
        }
    }

    /// What to sign with now.
    async fn grant(&self, course: &Course) -> Result<Grant, TransportError> {
        let current = self.in_time(course.deadline, self.tokens.current()).await.flatten();
        current.map_err(|refusal| refusal.into_transport(course.progress.maybe_done))
    }

    /// Sends, and hears the answer out.
    async fn exchange(&self, mut ticket: Ticket<'_>, course: &mut Course, request: Request<Bytes>) -> Came {
        let operation = course.operation;
        let limit = match operation.repeat {
            Repeat::Safe => self.settings.read_time,
            Repeat::Idempotent | Repeat::Keyed | Repeat::Once => self.settings.write_time,
        };
        let span = tracing::debug_span!(
            "exchange.request",
            http.request.method = operation.method,
            http.request.resend_count = course.effort.requests,
            http.response.status_code = field::Empty,
            error.r#type = field::Empty,
            server.address = course.host(),
            server.port = course.port(),
        );
        course.effort.requests += 1;
        ticket.sent = true;
        let answer = async {
            self.within(limit, self.below.send(operation, request))
                .await
                .unwrap_or_else(|| Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown)))
        };
        let answer = answer.instrument(span.clone()).await;
        let answer = answer.and_then(|answer| within(answer, self.settings.max_body));
        let came = Came::judge(operation, answer);
        match &came.answer {
            Ok(answer) => {
                let status = answer.status();
                span.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    span.record("error.type", status.as_str());
                }
            }
            Err(error) => {
                span.record("error.type", field::debug(error.fault()));
            }
        }
        ticket.back(came.judged.health);
        came
    }

    /// Waits until a request may leave; says whether it did. `whose` it is, before that.
    async fn pass(
        &self,
        course: &mut Course,
        whose: Option<&Whose>,
    ) -> Result<(Ticket<'_>, bool), TransportError> {
        let ticket = |going| Ticket { inner: self, going: Some(going), sent: false };
        let begun = self.now();
        let hearing = self.road.gates().hear(begun);
        if hearing.is_none() {
            let passed = self.road.pace().pass(course.operation, whose, course.patience.asked, begun);
            if let Pass::Go(going) = passed {
                return Ok((ticket(going), false));
            }
        }
        let mut hearing = hearing;
        loop {
            let begun = self.now();
            if let Some(hearing) = hearing.take().or_else(|| self.road.gates().hear(begun)) {
                let late = |late: Error| late.into_transport(course.progress.maybe_done);
                self.in_time(course.deadline, hearing).await.map_err(late)?;
            }
            let mut changed = pin!(self.road.changed().notified());
            changed.as_mut().enable();
            let now = self.now();
            let whose = self.tokens.whose();
            let passed = self.road.pace().pass(course.operation, whose.as_ref(), course.patience.asked, now);
            match passed {
                Pass::Go(going) => return Ok((ticket(going), true)),
                Pass::Wait(until, held) => {
                    let wait = until.saturating_sub(now);
                    if until > course.deadline {
                        return Err(refusal(held, wait).into_transport(course.progress.maybe_done));
                    }
                    tokio::select! {
                        () = self.environment.sleep(wait) => {}
                        () = changed => {}
                    }
                }
                Pass::Probing => {
                    let late = |late: Error| late.into_transport(course.progress.maybe_done);
                    self.in_time(course.deadline, changed).await.map_err(late)?;
                }
            }
            course.effort.waited += self.now().saturating_sub(begun);
        }
    }

    /// Waits for what others do, and no longer than the call may take: what they do goes on without it.
    async fn in_time<T>(&self, deadline: Duration, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = pin!(work);
        if let Some(done) = at_once(work.as_mut()).await {
            return Ok(done);
        }
        let rest = deadline.saturating_sub(self.now());
        self.within(rest, work).await.ok_or_else(late)
    }

    /// What comes of something in so much time.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        if let Some(done) = at_once(work.as_mut()).await {
            return Some(done);
        }
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.environment.sleep(limit) => None,
        }
    }

    /// Remembers for other calls what the server asked this one for.
    fn gate(
        &self,
        operation: &'static Operation,
        came: &Came,
        asked: Option<Duration>,
        grant: Option<&Grant>,
    ) {
        let is_down = came.answer.as_ref().is_ok_and(|answer| answer.status().is_server_error());
        let concerns = is_down
            || matches!(came.judged.verdict, Verdict::Wait | Verdict::Renew)
            || kind_of_said(came) == ErrorKind::QuotaExceeded;
        if let (Some(asked), true) = (asked, concerns) {
            self.hold_back(operation, came, asked, grant);
        }
    }

    /// Holds back whom an answer that asks to wait so long is for.
    fn hold_back(&self, operation: &'static Operation, came: &Came, asked: Duration, grant: Option<&Grant>) {
        let code = came.said.code.as_ref();
        if let Some(scope) = Scope::of(code, operation) {
            let now = self.now();
            let whose = grant.map(|grant| &grant.whose);
            self.road.pace().asked(scope, code.cloned(), whose, now.saturating_add(asked), now);
        }
    }

    /// What came last is what the caller gets; the session hears of it, if it is about that.
    async fn end(
        &self,
        mut course: Course,
        came: Came,
        grant: Option<&Grant>,
        asked: Option<Duration>,
    ) -> Result<Response<Bytes>, TransportError> {
        if let (Ok(answer), Some(grant), kind @ (ErrorKind::Halted(_) | ErrorKind::Ended(_))) =
            (&came.answer, grant, kind_of_said(&came))
        {
            let refusal =
                Error::refused(kind, came.said.code.clone(), answer.status(), course.correlation_id());
            // What it makes of that goes on without this call.
            let _ = self.in_time(course.deadline, self.tokens.told(grant, &refusal)).await;
        }
        course.came(came, asked);
        course.result()
    }

    /// How long an answer asks to wait: a date by the clock of who says it.
    fn asked_to_wait(&self, answer: &Response<Bytes>) -> Option<Duration> {
        retry_after(answer.headers(), || {
            let now = self.environment.now();
            match self.tokens.gateway() {
                Some(proofs) => proofs.clock(&self.gateway).now(now).time,
                None => now.wall,
            }
        })
    }

    fn now(&self) -> Duration {
        self.environment.now().monotonic
    }
}

/// An answer with a body of no more than so many bytes. A refusal whose body is larger is one without it, since its head
/// says how long to wait (CLI-02).
pub(crate) fn within(mut answer: Response<Bytes>, most: usize) -> Result<Response<Bytes>, TransportError> {
    if answer.body().len() > most {
        let fault = TransportFault::TooLarge;
        if answer.status().is_success() {
            return Err(TransportError::new(fault, Delivery::Unknown));
        }
        *answer.body_mut() = Bytes::new();
        answer.extensions_mut().insert(Partial(fault));
    }
    Ok(answer)
}

/// What comes of something that is there at once, as most is: no timer is set for that.
async fn at_once<F: Future>(mut work: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| {
        Poll::Ready(match work.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        })
    })
    .await
}

/// What a call needs came too late for it.
fn late() -> Error {
    Error::new(ErrorKind::Busy, "what the call needs was waited for longer than the call may take")
}

/// Whether a gateway whose clock shows this may have taken a proof of this time while it was on its way: not where the
/// proof was refused for its time alone, as every copy of it was.
fn may_have_been_taken(iat: UnixTime, clock: &Estimate, on_its_way: Duration) -> bool {
    let Window { past, future } = Window::default();
    let apart = iat.saturating_since(clock.time).max(clock.time.saturating_since(iat));
    apart <= past.max(future).saturating_add(clock.uncertainty).saturating_add(on_its_way)
}

/// What the code of a refusal means; of an answer without one, nothing.
fn kind_of_said(came: &Came) -> ErrorKind {
    match (&came.answer, &came.said.code) {
        (Ok(answer), Some(code)) => kind_of(Some(code), answer.status()),
        _ => ErrorKind::Protocol,
    }
}

/// Why a call was not sent for which there is no time.
fn refusal(held: Held, wait: Duration) -> Error {
    match held {
        Held::Asked(Some(code)) => {
            let kind = match kind_of(Some(&code), http::StatusCode::SERVICE_UNAVAILABLE) {
                ErrorKind::QuotaExceeded => ErrorKind::QuotaExceeded,
                _ => ErrorKind::Busy,
            };
            Error::held(kind, "the exchange asked to wait longer than this call may", Some(code), wait)
        }
        Held::Asked(None) => {
            Error::held(ErrorKind::Busy, "the exchange asked to wait longer than this call may", None, wait)
        }
        Held::Down { unreachable } => {
            let kind = if unreachable { ErrorKind::Unreachable } else { ErrorKind::Busy };
            Error::held(kind, "nothing got through to the exchange a moment ago", None, wait)
        }
        Held::Budget => Error::held(ErrorKind::Busy, "this program sends too much at the moment", None, wait),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
