//! A client's session with different servers: its proofs, its decisions after responses, and its first
//! requests.

use std::{
    collections::HashSet,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, KeyPair, MaybeReady, Nonce, NonceIssuer, NonceJar, Origin,
    ProofHolder, ProofSigner, ProofWindow, Prover, PublicKey, ReplayCache, RequestTarget, Session,
    SignedProof, SystemRandom, TokenHash, UnixTime, VerificationError,
    clock::{ClockReading, ClockSyncError, ServerClocks},
    nonce::{JarLimits, NonceKey},
    session::{
        DpopRequest, FirstResponse, NextStep, PrepareOutcome, ResponseHead, RetryError, RetryReason,
        Transmission,
    },
    signer::{SignError, SignFuture},
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    forge::{self, NOW, TOKEN, unbase64},
    gateway::CAPS,
    proofs::now,
};

const API: &str = "https://gateway.example/exchange/v1/me/ships?limit=50";
const TOKENS: &str = "https://id.example/token";
/// The window of the exchange's identity provider: LIM-11, A40.
const AT_THE_PROVIDER: ProofWindow = ProofWindow::from_secs(25, 15);

type TestSession = Session<KeyPair, SystemRandom>;

fn session() -> TestSession {
    Session::new(forge::client(), SystemRandom)
}

fn api() -> DpopRequest {
    DpopRequest::new("GET", Htu::from_url(API).unwrap()).with_token(&TokenHash::from_token(TOKEN))
}

fn tokens() -> DpopRequest {
    DpopRequest::new("POST", Htu::from_url(TOKENS).unwrap()).with_window(AT_THE_PROVIDER)
}

/// Returns the local clocks this many seconds after the start; the wall clock is correct.
fn at(seconds: u64) -> ClockReading {
    ClockReading { wall: UnixTime::from_secs(NOW + seconds), monotonic: Duration::from_secs(seconds) }
}

#[track_caller]
fn go(outcome: PrepareOutcome) -> Transmission {
    match outcome {
        PrepareOutcome::Send(transmission) => transmission,
        PrepareOutcome::Wait(first) => panic!("the request waits: {first:?}"),
    }
}

#[track_caller]
fn wait(outcome: PrepareOutcome) -> FirstResponse {
    match outcome {
        PrepareOutcome::Send(transmission) => panic!("the request does not wait: {transmission:?}"),
        PrepareOutcome::Wait(first) => first,
    }
}

fn claims(transmission: &Transmission) -> Value {
    let part = transmission.proof().as_str().split('.').nth(1).unwrap();
    serde_json::from_slice(&unbase64(part)).unwrap()
}

/// Returns the `Date` this many seconds after the start.
fn date(seconds: i64) -> String {
    let time = NOW.strict_add_signed(seconds);
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(time))
}

/// The status, header lines and body of a server's response.
struct ServerReply(u16, Vec<(&'static str, String)>, &'static str);

impl ServerReply {
    /// Prepares one transmission, passes this response to the session, and returns the nonce of the proof and
    /// the next step.
    fn deliver_to(
        &self,
        session: &TestSession,
        call: &mut DpopRequest,
        seconds: u64,
    ) -> (Option<String>, NextStep) {
        let transmission = go(session.prepare_now(call, at(seconds)).unwrap());
        let nonce = claims(&transmission)["nonce"].as_str().map(str::to_owned);
        let headers = self.1.iter().map(|(name, value)| (*name, value.as_bytes()));
        let response = ResponseHead::new(self.0, headers).with_body(self.2.as_bytes());
        (nonce, session.handle_response(call, transmission, &response, at(seconds)))
    }
}

fn challenged(nonce: &str, challenge: &str) -> ServerReply {
    ServerReply(401, vec![("DPoP-Nonce", nonce.to_owned()), ("WWW-Authenticate", challenge.to_owned())], "")
}

const QUOTED: &str = r#"DPoP algs="ES256", error="use_dpop_nonce""#;

/// Checks responses to successive calls, each with the expected nonce of the proof and the expected next
/// step. A row belongs to the same call as the previous row if that one was retried.
#[track_caller]
fn check(call: fn() -> DpopRequest, rows: &[(&str, ServerReply, Option<&str>, NextStep)]) {
    let session = session();
    let mut now = call();
    for (name, reply, nonce, expect) in rows {
        let (sent, next) = reply.deliver_to(&session, &mut now, 0);
        assert_eq!((sent.as_deref(), next), (*nonce, *expect), "{name}");
        if !matches!(next, NextStep::Retry(_)) {
            now = call();
        }
    }
}

const NONCE: NextStep = NextStep::Retry(RetryReason::Nonce);

/// DPP-12 to DPP-14, ERR-07: a nonce challenge causes one retry, in each notation of the challenge.
#[test]
fn challenge_is_retried_once() {
    for challenge in [
        QUOTED,
        "DPoP algs=ES256, error=use_dpop_nonce",
        "dpop ERROR=use_dpop_nonce",
        "Bearer realm=\"a\", DPoP error=\"use_dpop_nonce\"",
    ] {
        check(
            api,
            &[
                (challenge, challenged("n-1", challenge), None, NONCE),
                ("with it", ServerReply(200, vec![], ""), Some("n-1"), NextStep::Done),
                ("kept, as the answer has none", ServerReply(200, vec![], ""), Some("n-1"), NextStep::Done),
                (
                    "renewed",
                    ServerReply(200, vec![("dpop-nonce", "n-2".into())], ""),
                    Some("n-1"),
                    NextStep::Done,
                ),
                ("too old", challenged("n-3", challenge), Some("n-2"), NONCE),
                ("with the new one", ServerReply(204, vec![], ""), Some("n-3"), NextStep::Done),
            ],
        );
    }
}

/// DPP-14, DPP-15: no sequence of responses causes an endless loop.
#[test]
fn endless_challenges_are_given_up() {
    let done = ServerReply(200, vec![], "");
    check(
        api,
        &[
            ("a new one each time", challenged("a", QUOTED), None, NONCE),
            ("again", challenged("b", QUOTED), Some("a"), NextStep::GiveUp(RetryError::AlreadyRetried)),
            ("the next call has the latest", done, Some("b"), NextStep::Done),
            (
                "the one that it was sent",
                challenged("b", QUOTED),
                Some("b"),
                NextStep::GiveUp(RetryError::SameNonce),
            ),
            (
                "none at all",
                ServerReply(401, vec![("WWW-Authenticate", QUOTED.into())], ""),
                Some("b"),
                NextStep::GiveUp(RetryError::NoNonce),
            ),
            (
                "none of ours",
                ServerReply(401, vec![("WWW-Authenticate", "Bearer".into())], ""),
                Some("b"),
                NextStep::Done,
            ),
            (
                "no rejection",
                ServerReply(200, vec![("WWW-Authenticate", QUOTED.into())], ""),
                Some("b"),
                NextStep::Done,
            ),
            (
                "a broken server",
                ServerReply(503, vec![("WWW-Authenticate", QUOTED.into())], ""),
                Some("b"),
                NextStep::Done,
            ),
            (
                "the token ran out",
                ServerReply(401, vec![("WWW-Authenticate", "DPoP error=\"invalid_token\"".into())], ""),
                Some("b"),
                NextStep::Done,
            ),
        ],
    );
}

/// DPP-17: a token endpoint reports errors in the body, and its nonces are not sent to other servers.
#[test]
fn errors_of_a_token_endpoint() {
    let nonce = |body| ServerReply(400, vec![("DPoP-Nonce", "id-1".into()), ("Date", date(0))], body);
    let plain = |body| ServerReply(400, vec![("Date", date(0))], body);
    check(
        tokens,
        &[
            ("a challenge", nonce(r#"{"error":"use_dpop_nonce"}"#), None, NONCE),
            ("pending", plain(r#"{"error":"authorization_pending"}"#), Some("id-1"), NextStep::Done),
            (
                "a proof refused",
                plain(r#"{"error":"invalid_dpop_proof"}"#),
                Some("id-1"),
                NextStep::GiveUp(RetryError::Proof),
            ),
            (
                "a proof refused, by Keycloak",
                plain(r#"{"error":"invalid_request","error_description":"Invalid DPoP proof"}"#),
                Some("id-1"),
                NextStep::GiveUp(RetryError::Proof),
            ),
            ("something else", plain(r#"{"error":"invalid_request"}"#), Some("id-1"), NextStep::Done),
            ("the grant is over", plain(r#"{"error":"invalid_grant"}"#), Some("id-1"), NextStep::Done),
            ("a proxy's page", plain("<html>"), Some("id-1"), NextStep::Done),
        ],
    );

    let session = session();
    let (_, next) = nonce(r#"{"error":"use_dpop_nonce"}"#).deliver_to(&session, &mut tokens(), 0);
    assert_eq!(next, NONCE);
    let (sent, _) = ServerReply(200, vec![], "").deliver_to(&session, &mut api(), 0);
    assert_eq!(sent, None, "the nonce of the identity provider was sent to the gateway");
}

/// DPP-09, DPP-10, ERR-08: a proof that is rejected for its time is replaced once, with an `iat` in the
/// middle of the server's window.
#[test]
fn wrong_clock() {
    let invalid = r#"DPoP error="invalid_dpop_proof""#;
    let refused = |date: Option<String>| {
        let mut headers = vec![("WWW-Authenticate", invalid.to_owned())];
        headers.extend(date.map(|date| ("Date", date)));
        ServerReply(401, headers, "")
    };
    let iat = |session: &TestSession, call: DpopRequest, seconds| {
        let transmission = go(session.prepare_now(&call, at(seconds)).unwrap());
        claims(&transmission)["iat"].as_u64().unwrap()
    };

    let (ours, mut call) = (session(), api());
    assert_eq!(iat(&ours, api(), 0), NOW);
    assert_eq!(
        refused(Some(date(95))).deliver_to(&ours, &mut call, 0).1,
        NextStep::Retry(RetryReason::Clock)
    );
    assert_eq!(iat(&ours, api(), 10), NOW + 105);
    assert_eq!(iat(&ours, api().with_window(AT_THE_PROVIDER), 10), NOW + 100);
    assert_eq!(iat(&ours, tokens(), 10), NOW + 5, "the clock of another server is not used");
    let doubt = NextStep::GiveUp(RetryError::Clock(ClockSyncError::RetryRefused));
    assert_eq!(refused(Some(date(96))).deliver_to(&ours, &mut call, 1).1, doubt);

    let give_up = |reply: ServerReply| reply.deliver_to(&session(), &mut api(), 0).1;
    assert_eq!(give_up(refused(Some(date(0)))), NextStep::GiveUp(RetryError::Proof));
    assert_eq!(give_up(refused(None)), NextStep::GiveUp(RetryError::Clock(ClockSyncError::NoDate)));
    let mut from_a_cache = refused(Some(date(-500)));
    from_a_cache.1.push(("Age", "500".into()));
    assert_eq!(give_up(from_a_cache), NextStep::GiveUp(RetryError::Clock(ClockSyncError::NoDate)));
    let mut two_dates = refused(Some(date(-500)));
    two_dates.1.push(("Date", date(0)));
    assert_eq!(give_up(two_dates), NextStep::GiveUp(RetryError::Clock(ClockSyncError::NoDate)));

    // An ambiguous error is retried once if the clock can explain it.
    let any = ServerReply(400, vec![("Date", date(95))], r#"{"error":"invalid_request"}"#);
    let (ours, mut call) = (session(), tokens());
    assert_eq!(any.deliver_to(&ours, &mut call, 0).1, NextStep::Retry(RetryReason::Clock));
    assert_eq!(any.deliver_to(&ours, &mut call, 0).1, NextStep::Done);
}

/// A waker that counts its calls.
#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A7, DPP-13: until a server has responded, one request is sent to it and the others wait for the response.
#[test]
fn first_request_goes_alone() {
    let (session, origin) = (session(), Origin::from_url("https://gateway.example").unwrap());
    assert!(!session.would_wait(&origin));
    let mut call = api();
    let first = go(session.prepare_now(&call, at(0)).unwrap());
    assert!(first.is_first() && session.would_wait(&origin));

    let woken = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut second = pin!(wait(session.prepare_now(&api(), at(0)).unwrap()));
    let mut third = pin!(wait(now(session.prepare_request(&api(), at(0))).unwrap()));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(third.as_mut().poll(&mut context).is_pending());

    // Requests to other origins, and requests without waiting, are not affected.
    assert!(go(session.prepare_now(&tokens(), at(0)).unwrap()).is_first());
    let hasty = go(session.prepare_now(&api().without_waiting(), at(0)).unwrap());
    assert!(!hasty.is_first() && hasty.nonce().is_none());
    drop(hasty);
    assert!(session.would_wait(&origin), "only the end of the first request ends the wait");

    let challenge =
        ResponseHead::new(401, [("DPoP-Nonce", &b"n-1"[..]), ("WWW-Authenticate", QUOTED.as_bytes())]);
    assert_eq!(session.handle_response(&mut call, first, &challenge, at(0)), NONCE);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "one waker is woken once");
    assert_eq!((second.poll(&mut context), third.poll(&mut context)), (Poll::Ready(()), Poll::Ready(())));
    let rest = go(session.prepare_now(&api(), at(0)).unwrap());
    assert_eq!((rest.is_first(), rest.nonce()), (false, Some(&Nonce::new("n-1").unwrap())));
    assert!(!session.would_wait(&origin));
}

/// DPP-13: waiting requests continue as soon as any response or a saved session provides the server's state,
/// even if the first request hangs.
#[test]
fn hanging_first_request_blocks_no_others() {
    let answered: fn(&TestSession) = |session| {
        let reply = ServerReply(200, vec![("DPoP-Nonce", "n-1".to_owned())], "");
        assert_eq!(reply.deliver_to(session, &mut api().without_waiting(), 0).1, NextStep::Done);
    };
    let restored: fn(&TestSession) = |ours| {
        let before = session();
        let _ =
            ServerReply(200, vec![("DPoP-Nonce", "n-1".to_owned())], "").deliver_to(&before, &mut api(), 0);
        ours.restore(before.save(at(0)), at(0));
    };
    for learns in [answered, restored] {
        let (session, woken) = (session(), Arc::new(WakeCounter::default()));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let hangs = go(session.prepare_now(&api(), at(0)).unwrap());
        // This request is sent to another server, whose state stays unknown.
        let _other = go(session.prepare_now(&tokens(), at(0)).unwrap());
        let mut second = pin!(wait(session.prepare_now(&api(), at(0)).unwrap()));
        let mut third = pin!(wait(session.prepare_now(&tokens(), at(0)).unwrap()));
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(third.as_mut().poll(&mut context).is_pending());

        learns(&session);
        assert_eq!(
            woken.0.load(Ordering::Relaxed),
            1,
            "only the request that waits for this server is woken"
        );
        assert_eq!(second.poll(&mut context), Poll::Ready(()));
        assert!(third.poll(&mut context).is_pending());
        drop(hangs);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "no waiter is woken twice");
    }
}

/// If the first request fails, another one is sent next. A request whose proof could not be created is never
/// the first.
#[test]
fn failed_first_request_passes_its_role_on() {
    let session = session();
    let first = go(session.prepare_now(&api(), at(0)).unwrap());
    let waiting = wait(session.prepare_now(&api(), at(0)).unwrap());
    drop(first);
    now(waiting);
    let next = go(session.prepare_now(&api(), at(1)).unwrap());
    assert!(next.is_first());
    let another = wait(session.prepare_now(&api(), at(1)).unwrap());
    // A server without nonces also counts as having responded.
    let _ = session.handle_response(&mut api(), next, &ResponseHead::new(200, []), at(2));
    now(another);
    for _ in 0..2 {
        assert!(!go(session.prepare_now(&api(), at(2)).unwrap()).is_first());
    }
    let nonsense = DpopRequest::new("no method", Htu::from_url(TOKENS).unwrap());
    for _ in 0..2 {
        assert!(session.prepare_now(&nonsense, at(2)).is_err());
    }
}

/// A signer that signs when the test releases it.
struct SlowSigner(KeyPair);

impl ProofSigner for SlowSigner {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign<'a>(&'a self, _: &'a [u8]) -> SignFuture<'a> {
        MaybeReady::boxed(std::future::pending::<Result<_, SignError>>())
    }
}

/// If the caller is cancelled while signing, another request becomes the first. No lock is held while
/// signing.
#[test]
fn slow_signer_blocks_no_others() {
    let session = Session::new(SlowSigner(forge::client()), SystemRandom);
    let (call, mut context) = (api(), Context::from_waker(Waker::noop()));
    {
        let mut first = pin!(session.prepare_request(&call, at(0)));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(session.would_wait(call.origin()));
        drop(wait(now(session.prepare_request(&call, at(0))).unwrap()));
    }
    assert!(!session.would_wait(call.origin()));
}

/// A7, DPP-09: the next process starts with the saved nonce and the saved clock.
#[test]
fn saved_session_is_restored_by_the_next_process() {
    let ours = session();
    let mut call = api();
    let reply =
        ServerReply(401, challenged("n-1", QUOTED).1.into_iter().chain([("Date", date(95))]).collect(), "");
    assert_eq!(reply.deliver_to(&ours, &mut call, 0).1, NONCE);
    let text = serde_json::to_string(&ours.save(at(1))).unwrap();
    assert!(!text.contains(&ours.thumbprint().to_string()));

    let next = session();
    // The monotonic clock restarts; the wall clock has the same error as before.
    let started = ClockReading { wall: UnixTime::from_secs(NOW + 60), monotonic: Duration::ZERO };
    next.restore(serde_json::from_str(&text).unwrap(), started);
    for _ in 0..2 {
        let transmission = go(next.prepare_now(&api(), started).unwrap());
        let claims = claims(&transmission);
        assert_eq!((claims["nonce"].as_str(), transmission.is_first()), (Some("n-1"), false));
        assert_eq!(claims["iat"].as_u64(), Some(NOW + 155));
    }
    // After ten minutes, the nonce is too old to be restored.
    let late = session();
    let started = ClockReading { wall: UnixTime::from_secs(NOW + 601), monotonic: Duration::ZERO };
    late.restore(serde_json::from_str(&text).unwrap(), started);
    assert!(go(late.prepare_now(&api(), started).unwrap()).is_first());
    // Files of other versions are parsed: missing members are empty, and unknown ones are ignored.
    for text in ["{}", r#"{"nonces":[]}"#, r#"{"clocks":[],"more":1}"#] {
        assert!(serde_json::from_str::<dpop_bound::session::SavedSession>(text).is_ok(), "{text}");
    }
}

/// A session can be shared between threads, and its futures can be sent to other threads.
#[test]
fn sessions_can_be_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let (session, call) = (session(), api());
    shared(&session);
    sent(&session.prepare_request(&call, at(0)));
    let first = go(session.prepare_now(&call, at(0)).unwrap());
    sent(&first);
    sent(&wait(session.prepare_now(&call, at(0)).unwrap()));
    for text in [format!("{session:?}"), format!("{first:?}")] {
        assert!(!text.contains("eyJ"), "{text}");
    }
}

/// DPP-20: existing headers are replaced by one token and one proof, and responses are parsed from header
/// maps.
#[test]
fn http_crate_headers() {
    let session = session();
    let token = dpop_bound::AccessToken::new(TOKEN).unwrap();
    let mut headers = http::HeaderMap::new();
    headers.append("authorization", http::HeaderValue::from_static("Bearer other"));
    headers.append("dpop", http::HeaderValue::from_static("stale"));
    headers.append("dpop", http::HeaderValue::from_static("staler"));
    let mut call = api();
    let transmission = go(session.prepare_now(&call, at(0)).unwrap());
    transmission.apply_headers(Some(&token), &mut headers);
    let presented = dpop_bound::http::parse_credentials(&headers).unwrap();
    assert_eq!((presented.token, presented.proof), (TOKEN, transmission.proof().as_str()));
    assert!(headers.values().all(http::HeaderValue::is_sensitive));

    let response = http::Response::builder()
        .status(401)
        .header(http::header::WWW_AUTHENTICATE, "Bearer")
        .header(http::header::WWW_AUTHENTICATE, QUOTED)
        .header(dpop_bound::http::DPOP_NONCE, "n-1")
        .body(())
        .unwrap();
    assert_eq!(
        session.handle_response(&mut call, transmission, &ResponseHead::from(&response), at(0)),
        NONCE
    );
}

/// The number of remembered servers that issue no nonces is limited by the capacity of the jar.
#[test]
fn remembered_origins_are_bounded() {
    let limits = JarLimits { max_origins: 2.try_into().unwrap(), ..JarLimits::default() };
    let prover = Prover::new(forge::client(), SystemRandom);
    let session = Session::with_parts(prover, NonceJar::new(limits), ServerClocks::default());
    let call =
        |number: u8| DpopRequest::new("GET", Htu::from_url(&format!("https://{number}.example/")).unwrap());
    let is_first = |number: u8| go(session.prepare_now(&call(number), at(0)).unwrap()).is_first();
    for number in [1, 2, 1, 3] {
        let transmission = go(session.prepare_now(&call(number), at(0)).unwrap());
        let _ = session.handle_response(&mut call(number), transmission, &ResponseHead::new(200, []), at(0));
    }
    assert_eq!([1, 2, 3].map(is_first), [false, true, false]);
}

/// A simulated server with its clock, its nonces and the proofs that it received.
struct Server {
    /// The number of seconds by which its clock is ahead.
    ahead: i64,
    nonces: Option<NonceIssuer>,
    live: ReplayCache,
    /// Every `jti` that it received, also those of rejected proofs.
    ids: HashSet<String>,
}

impl Server {
    fn new(ahead: i64, wants_nonces: bool, window: ProofWindow) -> Self {
        let nonces = wants_nonces.then(|| NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "server"));
        Self { ahead, nonces, live: ReplayCache::new(window, CAPS), ids: HashSet::new() }
    }

    fn time(&self, now: UnixTime) -> UnixTime {
        let by = Duration::from_secs(self.ahead.unsigned_abs());
        if self.ahead < 0 { now.saturating_sub(by) } else { now + by }
    }

    /// Returns the response headers for a transmission of [`api`]; `now` is the time on the server's clock.
    fn respond(
        &mut self,
        transmission: &Transmission,
        now: UnixTime,
        jkt: &dpop_bound::Thumbprint,
    ) -> Vec<(&'static str, String)> {
        let jti = claims(transmission)["jti"].as_str().unwrap().to_owned();
        assert!(self.ids.insert(jti), "an id was used twice");
        let refused = self.check(transmission, now, jkt).err();
        assert!(!matches!(refused, Some(VerificationError::Replay(_))), "{refused:?}");
        let mut headers = vec![("Date", httpdate::fmt_http_date(std::time::UNIX_EPOCH + now.since_epoch()))];
        headers
            .extend(self.nonces.as_ref().map(|nonces| ("DPoP-Nonce", nonces.issue(now).as_str().to_owned())));
        let challenge = refused.and_then(|refused| refused.challenge());
        headers.extend(challenge.map(|challenge| ("WWW-Authenticate", challenge.to_string())));
        headers
    }

    fn check(
        &mut self,
        transmission: &Transmission,
        now: UnixTime,
        jkt: &dpop_bound::Thumbprint,
    ) -> Result<(), VerificationError> {
        let signed = SignedProof::verify_signature(transmission.proof().as_str(), &Es256)?;
        if let Some(nonces) = &self.nonces {
            nonces.check_nonce(signed.nonce(), now)?;
        }
        let checked = signed.check_claims(&ExpectedRequest {
            method: "GET",
            target: RequestTarget::Url(&Htu::from_url(API).unwrap()),
            now,
            window: self.live.window(),
            binding: KeyBinding::Token { hash: &TokenHash::from_token(TOKEN), jkt: Some(jkt) },
        })?;
        Ok(self.live.admit(&checked.replay_candidate(ProofHolder::Account("ada")), now)?)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// DPP-01, DPP-05, DPP-10, DPP-12 to DPP-14: for any server clock, nonces and delays, every call succeeds
    /// after at most three transmissions, and after a single one once nonce and time are known.
    #[test]
    fn every_call_is_served(
        ahead in prop_oneof![-100_000..100_000_i64, -40..40_i64],
        wants_nonces in any::<bool>(),
        (past, future) in prop_oneof![Just((30, 30)), Just((25, 15)), Just((300, 60))],
        steps in prop::collection::vec((0..900_u64, 0..2_000_u64, 0..2_000_u64, any::<bool>()), 1..12),
    ) {
        let window = ProofWindow::from_secs(past, future);
        let (session, mut server) = (session(), Server::new(ahead, wants_nonces, window));
        let jkt = session.thumbprint();
        let mut passed = Duration::ZERO;
        let reading = |passed: Duration| ClockReading { wall: UnixTime::from_secs(NOW) + passed, monotonic: passed };
        for (pause, request_delay, response_delay, mut lost) in steps {
            passed += Duration::from_secs(pause);
            let mut call = api().with_window(window);
            let mut sent = 0;
            loop {
                let transmission = go(session.prepare_now(&call, reading(passed)).unwrap());
                passed += Duration::from_millis(request_delay);
                let now = server.time(UnixTime::from_secs(NOW) + passed);
                let headers = server.respond(&transmission, now, &jkt);
                passed += Duration::from_millis(response_delay);
                if std::mem::take(&mut lost) {
                    // The response is lost: the call is sent again with a new proof.
                    continue;
                }
                sent += 1;
                let refused = headers.iter().any(|(name, _)| *name == "WWW-Authenticate");
                let lines = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
                let response = ResponseHead::new(if refused { 401 } else { 200 }, lines);
                match session.handle_response(&mut call, transmission, &response, reading(passed)) {
                    NextStep::Done => {
                        prop_assert!(!refused);
                        break;
                    }
                    NextStep::Retry(_) => prop_assert!(sent < 3),
                    NextStep::GiveUp(why) => prop_assert!(false, "{why}"),
                }
            }
        }
        // The nonce and the clock are known and current.
        let transmission = go(session.prepare_now(&api().with_window(window), reading(passed)).unwrap());
        let now = server.time(UnixTime::from_secs(NOW) + passed);
        prop_assert_eq!(server.check(&transmission, now, &jkt), Ok(()));
    }
}
