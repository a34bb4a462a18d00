//! The complete client side without I/O: creates the proof of each request and decides after a response
//! whether to retry.
//!
//! A [`Session`] owns the key, the nonces ([`NonceJar`]) and the clocks ([`ServerClocks`]) of all servers.
//! Until a server has responded, only one request to it is sent and the others wait. A [`DpopRequest`] is one
//! request over all its transmissions and counts the attempts. The caller reads the clocks, sends the
//! request, and sends it again if the session returns [`NextStep::Retry`].
//!
//! ```
//! use std::time::Duration;
//! use dpop_bound::{
//!     AccessToken, Htu, KeyPair, Session, SystemRandom, UnixTime,
//!     clock::ClockReading,
//!     session::{DpopRequest, NextStep, PrepareOutcome, ResponseHead},
//! };
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! #     match std::pin::pin!(future).poll(&mut context) {
//! #         std::task::Poll::Ready(output) => output,
//! #         std::task::Poll::Pending => unreachable!("a key in memory"),
//! #     }
//! # }
//! # // The server: sends a challenge if the proof lacks its nonce.
//! # fn send(method: &str, authorization: &str, proof: &str) -> (u16, Vec<(&'static str, Vec<u8>)>) {
//! #     use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
//! #     let claims = URL_SAFE_NO_PAD.decode(proof.split('.').nth(1).unwrap()).unwrap();
//! #     let known = String::from_utf8(claims).unwrap().contains(r#""nonce":"n-1""#);
//! #     let mut headers = vec![("dpop-nonce", b"n-1".to_vec())];
//! #     if !known { headers.push(("www-authenticate", b"DPoP error=use_dpop_nonce".to_vec())) }
//! #     (if known { 200 } else { 401 }, headers)
//! # }
//! # let clocks = || ClockReading { wall: UnixTime::from_secs(1_790_000_000), monotonic: Duration::ZERO };
//! # block_on(async {
//! let session = Session::new(KeyPair::generate()?, SystemRandom);
//! let token = AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?;
//!
//! let mut call = DpopRequest::new("GET", Htu::from_url("https://api.example/ships?limit=1")?).with_token(token.hash());
//! let status = loop {
//!     let sent = match session.prepare_request(&call, clocks()).await? {
//!         PrepareOutcome::Send(transmission) => transmission,
//!         PrepareOutcome::Wait(first) => { first.await; continue }
//!     };
//!     // Your HTTP client: one transmission for each proof, without its own redirects and retries.
//!     let (status, headers) = send("GET", &token.authorization(), sent.proof().as_str());
//!     let headers = headers.iter().map(|(name, value)| (*name, value.as_slice()));
//!     match session.handle_response(&mut call, sent, &ResponseHead::new(status, headers), clocks()) {
//!         NextStep::Done => break status,
//!         NextStep::Retry(_) => {}
//!         NextStep::GiveUp(why) => return Err(why.into()),
//!     }
//! };
//! assert_eq!(status, 200);
//! // The state for the next process, which then starts without a challenge.
//! let saved = serde_json::to_string(&session.save(clocks()))?;
//! # let _ = saved;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod first_request;
mod request;
mod response;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use self::first_request::FirstRequests;
pub use self::{
    first_request::{FirstResponse, PrepareOutcome},
    request::{DpopRequest, NextStep, RetryError, RetryReason},
    response::ResponseHead,
};
use crate::{
    Attempt, DpopChallenge, DpopError, Nonce, NonceJar, Origin, Proof, ProofRequest, ProofSigner, Prover,
    RandomSource, ServerClock, SyncSigner, Thumbprint, TokenError, UnixTime,
    clock::{ClockAction, ClockObservation, ClockReading, SavedClock, ServerClocks},
    nonce::{ChallengeAction, SavedNonces, after_challenge},
    proof::ProveError,
    token_error::ProofRelevance,
};

/// The state of a client for all requests with one key: prover, nonces and clocks.
///
/// Can be shared between threads and tasks by reference; no method blocks.
pub struct Session<S, R> {
    prover: Prover<S, R>,
    state: Arc<SharedState>,
}

/// The state of a session for each server: nonces, clock offsets and first requests. Never locked across an
/// `await`.
type SharedState = Mutex<SessionState>;

#[derive(Default)]
struct SessionState {
    jar: NonceJar,
    clocks: ServerClocks,
    first_requests: FirstRequests,
}

/// Locks the state. A poisoned lock is ignored: no code that changes the state under the lock panics.
fn lock_state(known: &SharedState) -> MutexGuard<'_, SessionState> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The serializable state of a session, created by [`Session::save`]. Contains no secrets: without the key no
/// proof can be signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedSession {
    /// The latest nonce of each origin.
    pub nonces: SavedNonces,
    /// The offset of each origin's clock from the wall clock.
    pub clocks: Vec<SavedClock>,
}

/// One proof, for one transmission.
///
/// If it is dropped without a response (the connection failed or the caller gave up) while other requests to
/// the server wait for it, one of them is sent next.
#[must_use = "a transmission that is dropped was not answered"]
pub struct Transmission {
    proof: Proof,
    sent: SentProof,
    /// Wakes the waiting requests when it is dropped; one of them is sent next.
    first: Option<first_request::FirstRequestGuard>,
}

/// The values in a proof that was sent.
struct SentProof {
    nonce: Option<Nonce>,
    iat: UnixTime,
    at: ClockReading,
}

impl<S: ProofSigner, R: RandomSource> Session<S, R> {
    /// Creates a session without any server state.
    pub fn new(signer: S, random: R) -> Self {
        Self::with_parts(Prover::new(signer, random), NonceJar::default(), ServerClocks::default())
    }

    /// Creates a session from a prover, a jar and clocks with custom settings.
    pub fn with_parts(prover: Prover<S, R>, jar: NonceJar, clocks: ServerClocks) -> Self {
        let state = SessionState { jar, clocks, first_requests: FirstRequests::default() };
        Self { prover, state: Arc::new(Mutex::new(state)) }
    }

    /// Creates a proof for the next transmission of a request, or returns a future that the caller has to
    /// await first.
    ///
    /// `now` holds the local clocks, read for this call. Until a server has responded, one request is in
    /// flight and the others wait: the nonce in its response spares each of them a challenge.
    /// [`DpopRequest::without_waiting`] disables waiting.
    ///
    /// # Errors
    /// Returns the errors of [`Prover::prove`].
    pub async fn prepare_request(
        &self,
        call: &DpopRequest,
        now: ClockReading,
    ) -> Result<PrepareOutcome, ProveError> {
        let (sent, first) = match self.begin_transmission(call, now) {
            Ok(go) => go,
            Err(first) => return Ok(PrepareOutcome::Wait(first)),
        };
        let proof = self.prover.prove(&proof_request(call, &sent)).await?;
        Ok(PrepareOutcome::Send(Transmission { proof, sent, first }))
    }

    /// Processes a response and returns the next step of the request.
    ///
    /// Call it for every response, including success: the session updates its nonces and clocks from all of
    /// them. `received` holds the local clocks when the response head arrived.
    pub fn handle_response(
        &self,
        call: &mut DpopRequest,
        transmission: Transmission,
        response: &ResponseHead<'_>,
        received: ClockReading,
    ) -> NextStep {
        let Transmission { sent, first, .. } = transmission;
        let origin = call.origin.as_str();
        let mut state = lock_state(&self.state);
        let nonce = state.jar.record_nonces(origin, response.nonces.iter().copied(), received.wall).cloned();
        let date = response
            .origin_date()
            .and_then(|date| ClockObservation::from_header(date, sent.at, received).ok());
        if let Some(observation) = &date {
            state.clocks.observe(origin, observation);
        }
        let max_origins = state.jar.limits().max_origins;
        state.first_requests.record_response(origin, max_origins);
        // Waiting requests continue with the new state, even if this was not the first request, which may
        // never receive a response.
        let waiting = state.first_requests.take_waiters(|known| known == origin);
        let clock = state.clocks.for_origin(origin);
        drop(state);
        first_request::wake_all(waiting);
        drop(first);

        match ProofVerdict::from_response(response) {
            ProofVerdict::NotRefused => NextStep::Done,
            ProofVerdict::NonceRequired => {
                match after_challenge(sent.nonce.as_ref(), nonce.as_ref(), call.nonce_attempt) {
                    ChallengeAction::Retry => {
                        call.nonce_attempt = Attempt::Retry;
                        NextStep::Retry(RetryReason::Nonce)
                    }
                    ChallengeAction::SameNonce => NextStep::GiveUp(RetryError::SameNonce),
                    ChallengeAction::NoNonce => NextStep::GiveUp(RetryError::NoNonce),
                    ChallengeAction::AlreadyRetried => NextStep::GiveUp(RetryError::AlreadyRetried),
                }
            }
            refused @ (ProofVerdict::InvalidProof | ProofVerdict::Unclear) => {
                match clock.after_rejection(sent.iat, date.as_ref(), call.window, call.clock_attempt) {
                    ClockAction::RetryWithCorrectedClock => {
                        call.clock_attempt = Attempt::Retry;
                        NextStep::Retry(RetryReason::Clock)
                    }
                    // The caller handles an ambiguous error, unless the clock explains it.
                    _ if refused == ProofVerdict::Unclear => NextStep::Done,
                    ClockAction::ClockIsCorrect => NextStep::GiveUp(RetryError::Proof),
                    ClockAction::ClockUnsynchronized(doubt) => NextStep::GiveUp(RetryError::Clock(doubt)),
                }
            }
        }
    }

    /// Exports the state for the next process. Store it when the process ends, and from time to time.
    #[must_use]
    pub fn save(&self, now: ClockReading) -> SavedSession {
        let state = lock_state(&self.state);
        SavedSession { nonces: state.jar.save(), clocks: state.clocks.save(now) }
    }

    /// Imports the state of another process, except where this process has newer data ([`NonceJar::restore`],
    /// [`ServerClocks::restore`]). Requests to origins with an imported nonce do not wait.
    pub fn restore(&self, saved: SavedSession, now: ClockReading) {
        let SavedSession { nonces, clocks } = saved;
        let mut state = lock_state(&self.state);
        state.jar.restore(nonces, now.wall);
        state.clocks.restore(clocks, now);
        let SessionState { jar, first_requests, .. } = &mut *state;
        let waiting = first_requests.take_waiters(|origin| jar.has_nonce(origin));
        drop(state);
        first_request::wake_all(waiting);
    }

    /// Returns the estimated clock of a server.
    #[must_use]
    pub fn server_clock(&self, origin: &Origin) -> ServerClock {
        lock_state(&self.state).clocks.for_origin(origin.as_str())
    }

    /// Returns true if the next request to this server would wait for another one in flight.
    #[must_use]
    pub fn would_wait(&self, origin: &Origin) -> bool {
        let state = lock_state(&self.state);
        !state.is_open(origin.as_str()) && state.first_requests.is_in_flight(origin.as_str())
    }

    /// Returns the thumbprint of the session's key, to which the server binds tokens.
    pub fn thumbprint(&self) -> Thumbprint {
        self.prover.signer().public_key().thumbprint()
    }

    /// Returns the prover of this session.
    pub const fn prover(&self) -> &Prover<S, R> {
        &self.prover
    }

    /// Starts a transmission, possibly as the first request to the server, or returns the future to await
    /// first.
    fn begin_transmission(
        &self,
        call: &DpopRequest,
        now: ClockReading,
    ) -> Result<(SentProof, Option<first_request::FirstRequestGuard>), FirstResponse> {
        let origin = call.origin.as_str();
        let mut state = lock_state(&self.state);
        let mut first = None;
        if !state.is_open(origin) {
            if state.first_requests.try_claim(origin) {
                first = Some(first_request::FirstRequestGuard::new(origin, &self.state));
            } else if call.waits_for_first {
                return Err(FirstResponse::new(origin, &self.state));
            }
        }
        let nonce = state.jar.current_nonce(origin).cloned();
        let iat = state.clocks.for_origin(origin).iat(now, call.window);
        Ok((SentProof { nonce, iat, at: now }, first))
    }
}

impl<S: SyncSigner, R: RandomSource> Session<S, R> {
    /// The synchronous form of [`prepare_request`](Session::prepare_request), for keys that sign without
    /// waiting ([`SyncSigner`]).
    ///
    /// # Errors
    /// Returns the errors of [`Prover::prove`].
    pub fn prepare_now(&self, call: &DpopRequest, now: ClockReading) -> Result<PrepareOutcome, ProveError> {
        let (sent, first) = match self.begin_transmission(call, now) {
            Ok(go) => go,
            Err(first) => return Ok(PrepareOutcome::Wait(first)),
        };
        let proof = self.prover.prove_now(&proof_request(call, &sent))?;
        Ok(PrepareOutcome::Send(Transmission { proof, sent, first }))
    }
}

impl SessionState {
    /// Returns true if requests need not wait: the server has responded before, or there is a nonce for it.
    fn is_open(&self, origin: &str) -> bool {
        self.first_requests.has_answered(origin) || self.jar.has_nonce(origin)
    }
}

fn proof_request<'a>(call: &'a DpopRequest, sent: &'a SentProof) -> ProofRequest<'a> {
    ProofRequest {
        method: &call.method,
        htu: &call.htu,
        iat: sent.iat,
        nonce: sent.nonce.as_ref(),
        token: call.token.as_ref(),
    }
}

/// The verdict of a response on the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProofVerdict {
    NotRefused,
    NonceRequired,
    InvalidProof,
    Unclear,
}

impl ProofVerdict {
    /// Classifies a response by a challenge in its headers (RFC 9449, 7.1 and 9), or else by the error in its
    /// body (5 and 8). Only status codes from 400 to 499 can reject a proof.
    fn from_response(response: &ResponseHead<'_>) -> Self {
        if !(400..500).contains(&response.status) {
            return Self::NotRefused;
        }
        let challenge = DpopChallenge::find_in_headers(response.challenges.iter().copied());
        match challenge.as_ref().and_then(DpopChallenge::error) {
            Some(DpopError::UseDpopNonce) => return Self::NonceRequired,
            Some(DpopError::InvalidDpopProof) => return Self::InvalidProof,
            _ => {}
        }
        let Some(error) = TokenError::from_body(response.body) else { return Self::NotRefused };
        match error.proof_relevance() {
            ProofRelevance::Yes if *error.error() == DpopError::UseDpopNonce => Self::NonceRequired,
            ProofRelevance::Yes => Self::InvalidProof,
            ProofRelevance::Unclear => Self::Unclear,
            ProofRelevance::No => Self::NotRefused,
        }
    }
}

impl Transmission {
    /// Returns the value for the request's only `DPoP` header.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Returns the nonce in the proof.
    #[must_use]
    pub const fn nonce(&self) -> Option<&Nonce> {
        self.sent.nonce.as_ref()
    }

    /// Returns the `iat` of the proof: the estimated time on the server's clock.
    #[must_use]
    pub const fn iat(&self) -> UnixTime {
        self.sent.iat
    }

    /// Returns true if this is the first request to the server. Other requests to the server wait for its
    /// response.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.first.is_some()
    }
}

/// Shows the public key.
impl<S: ProofSigner, R> fmt::Debug for Session<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("prover", &self.prover).finish_non_exhaustive()
    }
}

/// Shows `iat`, but neither the proof nor the nonce.
impl fmt::Debug for Transmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transmission").field("iat", &self.sent.iat).finish_non_exhaustive()
    }
}
