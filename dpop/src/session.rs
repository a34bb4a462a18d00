//! A client's whole side, without I/O: which proof to send, and what an answer asks for.
//!
//! A [`Session`] holds the key, the nonce of each server ([`NonceJar`]) and the clock of each server
//! ([`Clocks`]), and lets one request go first to a server of which nothing is known. A [`Call`] is one request
//! of the caller's over all its transmissions; it counts the attempts. The caller brings the rest: it reads the
//! clocks, sends, and repeats where the answer asks for it.
//!
//! ```
//! use std::time::Duration;
//! use dpop_bound::{
//!     AccessToken, Htu, KeyPair, Session, SystemRandom, UnixTime,
//!     clock::Reading,
//!     session::{Answer, Call, Next, Turn},
//! };
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! #     match std::pin::pin!(future).poll(&mut context) {
//! #         std::task::Poll::Ready(output) => output,
//! #         std::task::Poll::Pending => unreachable!("a key in memory"),
//! #     }
//! # }
//! # // The server: challenges whoever has not its nonce.
//! # fn send(method: &str, authorization: &str, proof: &str) -> (u16, Vec<(&'static str, Vec<u8>)>) {
//! #     use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
//! #     let claims = URL_SAFE_NO_PAD.decode(proof.split('.').nth(1).unwrap()).unwrap();
//! #     let known = String::from_utf8(claims).unwrap().contains(r#""nonce":"n-1""#);
//! #     let mut headers = vec![("dpop-nonce", b"n-1".to_vec())];
//! #     if !known { headers.push(("www-authenticate", b"DPoP error=use_dpop_nonce".to_vec())) }
//! #     (if known { 200 } else { 401 }, headers)
//! # }
//! # let clocks = || Reading { wall: UnixTime::from_secs(1_790_000_000), monotonic: Duration::ZERO };
//! # block_on(async {
//! let session = Session::new(KeyPair::generate()?, SystemRandom);
//! let token = AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?;
//!
//! let mut call = Call::new("GET", Htu::of("https://api.example/ships?limit=1")?).with_token(token.hash());
//! let status = loop {
//!     let sent = match session.prepare(&call, clocks()).await? {
//!         Turn::Go(transmission) => transmission,
//!         Turn::Wait(first) => { first.await; continue }
//!     };
//!     // Yours: one transmission for each proof, without redirects and retries of the HTTP library's own.
//!     let (status, headers) = send("GET", &token.authorization(), sent.proof().as_str());
//!     let headers = headers.iter().map(|(name, value)| (*name, value.as_slice()));
//!     match session.answered(&mut call, sent, &Answer::new(status, headers), clocks()) {
//!         Next::Done => break status,
//!         Next::Again(_) => {}
//!         Next::GiveUp(why) => return Err(why.into()),
//!     }
//! };
//! assert_eq!(status, 200);
//! // For the next process, which starts without a challenge.
//! let saved = serde_json::to_string(&session.save(clocks()))?;
//! # let _ = saved;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod call;
mod first;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use self::first::Firsts;
pub use self::{
    answer::Answer,
    call::{Call, GiveUp, Next, Why},
    first::{First, Turn},
};
use crate::{
    Attempt, DpopChallenge, DpopError, Nonce, NonceJar, Origin, Proof, ProofRequest, ProofSigner, Prover,
    Random, ServerClock, SignNow, Thumbprint, TokenError, UnixTime,
    clock::{AfterRefusal, Clocks, Observation, Reading, SavedClock},
    nonce::{AfterChallenge, SavedNonces, after_challenge},
    proof::ProveError,
    token_error::AboutProof,
};

/// What a client keeps for all its requests with one key. See the module.
///
/// Shared as it is between threads and tasks; nothing in it waits.
pub struct Session<S, R> {
    prover: Prover<S, R>,
    known: Arc<Known>,
}

/// What is known of servers. Never locked across an `await`.
type Known = Mutex<State>;

#[derive(Default)]
struct State {
    jar: NonceJar,
    clocks: Clocks,
    firsts: Firsts,
}

/// Every change is made whole under the lock by code that does not panic.
fn lock(known: &Known) -> MutexGuard<'_, State> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`Session::save`] hands to the next process. Nothing in it is secret: without the key nothing can be
/// signed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Saved {
    /// The latest nonce of each origin.
    pub nonces: SavedNonces,
    /// By how much each origin's clock is ahead of this machine's.
    pub clocks: Vec<SavedClock>,
}

/// One proof, for one transmission.
///
/// Dropped without an answer (the connection failed, the caller gave up) it gives way: if it was the first to
/// its server, the next request is.
#[must_use = "a transmission that is dropped was not answered"]
pub struct Transmission {
    proof: Proof,
    sent: Sent,
    /// Gives way when it is dropped.
    first: Option<first::Claim>,
}

/// What went out with it.
struct Sent {
    nonce: Option<Nonce>,
    iat: UnixTime,
    at: Reading,
}

impl<S: ProofSigner, R: Random> Session<S, R> {
    /// A session that knows of no server yet.
    pub fn new(signer: S, random: R) -> Self {
        Self::with(Prover::new(signer, random), NonceJar::default(), Clocks::default())
    }

    /// One with settings of your own, in the jar and in the clocks.
    pub fn with(prover: Prover<S, R>, jar: NonceJar, clocks: Clocks) -> Self {
        let state = State { jar, clocks, firsts: Firsts::default() };
        Self { prover, known: Arc::new(Mutex::new(state)) }
    }

    /// A proof for the next transmission of a call, or whom to wait for.
    ///
    /// `now` are the local clocks, read for this very call of the function. As long as a server has not
    /// answered at all, one request is on its way to it and the others wait: what it learns, the nonce above
    /// all, spares each of them a challenge. [`Call::without_waiting`] goes at once.
    ///
    /// # Errors
    /// As [`Prover::prove`].
    pub async fn prepare(&self, call: &Call, now: Reading) -> Result<Turn, ProveError> {
        let (sent, first) = match self.turn(call, now) {
            Ok(go) => go,
            Err(first) => return Ok(Turn::Wait(first)),
        };
        let proof = self.prover.prove(&request(call, &sent)).await?;
        Ok(Turn::Go(Transmission { proof, sent, first }))
    }

    /// What an answer to a transmission of this call asks for.
    ///
    /// To be called for every answer, success too: this is how nonces and clocks are learnt. `received` are
    /// the local clocks when the answer's head had come.
    pub fn answered(
        &self,
        call: &mut Call,
        transmission: Transmission,
        answer: &Answer<'_>,
        received: Reading,
    ) -> Next {
        let Transmission { sent, first, .. } = transmission;
        let origin = call.origin.as_str();
        let mut state = lock(&self.known);
        let nonce = state.jar.learn(origin, answer.nonces.iter().copied(), received.wall).cloned();
        let date = answer.date().and_then(|date| Observation::from_header(date, sent.at, received).ok());
        if let Some(observation) = &date {
            state.clocks.observe(origin, observation);
        }
        let most = state.jar.limits().origins;
        state.firsts.answered(origin, most);
        // Whoever waited goes on, with what was learnt: also when this was not the first, which may never come
        // back.
        let waiting = state.firsts.waiting(|known| known == origin);
        let clock = state.clocks.of(origin);
        drop(state);
        first::wake(waiting);
        drop(first);

        match Refused::read(answer) {
            Refused::No => Next::Done,
            Refused::ForNonce => match after_challenge(sent.nonce.as_ref(), nonce.as_ref(), call.nonce) {
                AfterChallenge::Retry => {
                    call.nonce = Attempt::Retry;
                    Next::Again(Why::Nonce)
                }
                AfterChallenge::SameNonce => Next::GiveUp(GiveUp::SameNonce),
                AfterChallenge::NoNonce => Next::GiveUp(GiveUp::NoNonce),
                AfterChallenge::AlreadyRetried => Next::GiveUp(GiveUp::AlreadyRetried),
            },
            refused @ (Refused::ForProof | Refused::Perhaps) => {
                match clock.after_refusal(sent.iat, date.as_ref(), call.window, call.clock) {
                    AfterRefusal::RetryWithCorrectedClock => {
                        call.clock = Attempt::Retry;
                        Next::Again(Why::Clock)
                    }
                    // An error that may be anything is the caller's, unless the clock explains it.
                    _ if refused == Refused::Perhaps => Next::Done,
                    AfterRefusal::NotTheClock => Next::GiveUp(GiveUp::Proof),
                    AfterRefusal::ClockUnsynchronised(doubt) => Next::GiveUp(GiveUp::Clock(doubt)),
                }
            }
        }
    }

    /// What is worth keeping for the next process: write it down when the process ends, or now and then.
    #[must_use]
    pub fn save(&self, now: Reading) -> Saved {
        let state = lock(&self.known);
        Saved { nonces: state.jar.save(), clocks: state.clocks.save(now) }
    }

    /// Takes over what another process saved, where this one does not know better
    /// ([`NonceJar::restore`], [`Clocks::restore`]). Origins whose nonce is still young are open at once.
    pub fn restore(&self, saved: Saved, now: Reading) {
        let Saved { nonces, clocks } = saved;
        let mut state = lock(&self.known);
        state.jar.restore(nonces, now.wall);
        state.clocks.restore(clocks, now);
        let State { jar, firsts, .. } = &mut *state;
        let waiting = firsts.waiting(|origin| jar.knows(origin));
        drop(state);
        first::wake(waiting);
    }

    /// What is known of a server's clock.
    #[must_use]
    pub fn clock(&self, origin: &Origin) -> ServerClock {
        lock(&self.known).clocks.of(origin.as_str())
    }

    /// Whether the next request to this server would wait for another that is on its way.
    #[must_use]
    pub fn would_wait(&self, origin: &Origin) -> bool {
        let state = lock(&self.known);
        !state.is_open(origin.as_str()) && state.firsts.is_under_way(origin.as_str())
    }

    /// The name of the key: what the server binds tokens to.
    pub fn thumbprint(&self) -> Thumbprint {
        self.prover.signer().public_key().thumbprint()
    }

    /// Whose proofs these are.
    pub const fn prover(&self) -> &Prover<S, R> {
        &self.prover
    }

    /// Goes, perhaps as the first; or waits.
    fn turn(&self, call: &Call, now: Reading) -> Result<(Sent, Option<first::Claim>), First> {
        let origin = call.origin.as_str();
        let mut state = lock(&self.known);
        let mut first = None;
        if !state.is_open(origin) {
            if state.firsts.claim(origin) {
                first = Some(first::Claim::new(origin, &self.known));
            } else if call.waits {
                return Err(First::new(origin, &self.known));
            }
        }
        let nonce = state.jar.current(origin).cloned();
        let iat = state.clocks.of(origin).iat(now, call.window);
        Ok((Sent { nonce, iat, at: now }, first))
    }
}

impl<S: SignNow, R: Random> Session<S, R> {
    /// As [`prepare`](Session::prepare), at once: a key in memory needs no `await`.
    ///
    /// # Errors
    /// As [`Prover::prove`].
    pub fn prepare_now(&self, call: &Call, now: Reading) -> Result<Turn, ProveError> {
        let (sent, first) = match self.turn(call, now) {
            Ok(go) => go,
            Err(first) => return Ok(Turn::Wait(first)),
        };
        let proof = self.prover.prove_now(&request(call, &sent))?;
        Ok(Turn::Go(Transmission { proof, sent, first }))
    }
}

impl State {
    /// Whether nobody has to wait: the server answered before, or handed this machine a nonce.
    fn is_open(&self, origin: &str) -> bool {
        self.firsts.has_answered(origin) || self.jar.knows(origin)
    }
}

fn request<'a>(call: &'a Call, sent: &'a Sent) -> ProofRequest<'a> {
    ProofRequest {
        method: &call.method,
        htu: &call.htu,
        iat: sent.iat,
        nonce: sent.nonce.as_ref(),
        token: call.token.as_ref(),
    }
}

/// What an answer says of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    No,
    ForNonce,
    ForProof,
    Perhaps,
}

impl Refused {
    /// A challenge in the headers, wherever it came from (RFC 9449, 7.1 and 9), else the error in the body
    /// (5 and 8). Only a refusal of the request can be one of the proof.
    fn read(answer: &Answer<'_>) -> Self {
        if !(400..500).contains(&answer.status) {
            return Self::No;
        }
        let challenge = DpopChallenge::find(answer.challenges.iter().copied());
        match challenge.as_ref().and_then(DpopChallenge::error) {
            Some(DpopError::UseDpopNonce) => return Self::ForNonce,
            Some(DpopError::InvalidDpopProof) => return Self::ForProof,
            _ => {}
        }
        let Some(error) = TokenError::read(answer.body) else { return Self::No };
        match error.about_proof() {
            AboutProof::Yes if *error.error() == DpopError::UseDpopNonce => Self::ForNonce,
            AboutProof::Yes => Self::ForProof,
            AboutProof::Perhaps => Self::Perhaps,
            AboutProof::No => Self::No,
        }
    }
}

impl Transmission {
    /// The value of the request's one `DPoP` header.
    #[must_use]
    pub const fn proof(&self) -> &Proof {
        &self.proof
    }

    /// The nonce that it carries.
    #[must_use]
    pub const fn nonce(&self) -> Option<&Nonce> {
        self.sent.nonce.as_ref()
    }

    /// Its `iat`: what the server's clock shows, as far as is known.
    #[must_use]
    pub const fn iat(&self) -> UnixTime {
        self.sent.iat
    }

    /// Whether others wait until it is answered.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.first.is_some()
    }
}

/// Shows whose proofs these are.
impl<S: ProofSigner, R> fmt::Debug for Session<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("prover", &self.prover).finish_non_exhaustive()
    }
}

/// Shows neither proof nor nonce.
impl fmt::Debug for Transmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transmission").field("iat", &self.sent.iat).finish_non_exhaustive()
    }
}
