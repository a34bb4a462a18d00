//! A DPoP client with a wrong clock, a gateway and an attacker in one process.
//!
//! `cargo run -p dpop-bound --example nonce_dance`
//!
//! Neither side does I/O: the client creates headers, the gateway responds with headers, and the example
//! advances the time.

#![allow(clippy::print_stdout, reason = "the example prints its output")]

use std::time::Duration;

#[cfg(test)]
use dpop_bound::session::RetryReason;
use dpop_bound::{
    AccessToken, Es256, ExpectedRequest, Htu, KeyBinding, KeyPair, NonceIssuer, Origin, ProofHolder,
    ProofWindow, ReplayCache, RequestTarget, Session, SignedProof, SystemRandom, Thumbprint, TokenHash,
    UnixTime, VerificationError,
    clock::ClockReading,
    nonce::NonceKey,
    parse_credentials,
    replay::ReplayLimits,
    session::{DpopRequest, NextStep, PrepareOutcome, ResponseHead as Seen, Transmission},
};

type ExampleError = Box<dyn std::error::Error>;

const GATEWAY: &str = "https://gateway.example";
const URL: &str = "https://gateway.example/v1/photos?limit=50";
const TARGET: &str = "/v1/photos?limit=50";
const ACCOUNT: &str = "ada";
/// How far the client's clock is behind.
const SLOW: Duration = Duration::from_secs(95);

/// A request to the gateway.
#[derive(Clone)]
struct HttpRequest {
    authorization: String,
    proof: String,
}

/// A response from the gateway.
struct HttpResponse {
    /// The log message of the gateway, which the client does not see.
    log: Option<&'static str>,
    status: u16,
    date: String,
    nonce: String,
    challenge: Option<String>,
}

impl HttpResponse {
    /// Returns the parts of the response that the client sees: its status and its headers.
    fn seen(&self) -> Seen<'_> {
        let always = [("Date", &self.date), ("DPoP-Nonce", &self.nonce)];
        let headers = always.into_iter().chain(self.challenge.iter().map(|text| ("WWW-Authenticate", text)));
        Seen::new(self.status, headers.map(|(name, value)| (name, value.as_bytes())))
    }
}

/// The server.
struct DemoGateway {
    origin: Origin,
    nonces: NonceIssuer,
    live: ReplayCache,
    /// The key to which Ada's token is bound: `cnf.jkt` of the token.
    bound: Option<Thumbprint>,
}

impl DemoGateway {
    /// Responds to a request. Every response contains a nonce and the time.
    fn respond(&mut self, request: &HttpRequest, now: UnixTime) -> HttpResponse {
        let error = self.check(request, now).err();
        HttpResponse {
            log: error.map(|error| error.reason()),
            status: if error.is_some() { 401 } else { 200 },
            date: date(now),
            nonce: self.nonces.issue(now).as_str().to_owned(),
            challenge: error.and_then(|error| error.challenge()).map(|challenge| challenge.to_string()),
        }
    }

    /// Checks headers, format and signature, nonce, claims, and replay, in this order.
    fn check(&mut self, request: &HttpRequest, now: UnixTime) -> Result<(), VerificationError> {
        let presented = parse_credentials([request.authorization.as_bytes()], [request.proof.as_bytes()])?;
        let signed = SignedProof::verify_signature(presented.proof, &Es256)?;
        self.nonces.check_nonce(signed.nonce(), now)?;
        let checked = signed.check_claims(&ExpectedRequest {
            method: "GET",
            target: RequestTarget::Request(&self.origin, TARGET),
            now,
            window: self.live.window(),
            binding: KeyBinding::Token {
                hash: &TokenHash::from_token(presented.token),
                jkt: self.bound.as_ref(),
            },
        })?;
        self.live.admit(&checked.replay_candidate(ProofHolder::Account(ACCOUNT)), now)?;
        Ok(())
    }
}

/// The client: its key, the state of the servers, and its token.
struct DemoClient {
    session: Session<KeyPair, SystemRandom>,
    token: AccessToken,
}

impl DemoClient {
    /// Creates the request of one transmission, with its proof.
    fn request(
        &self,
        call: &DpopRequest,
        now: ClockReading,
    ) -> Result<(HttpRequest, Transmission), ExampleError> {
        let PrepareOutcome::Send(transmission) = self.session.prepare_now(call, now)? else {
            return Err("there is no other request to wait for".into());
        };
        let authorization = self.token.authorization().to_string();
        let proof = transmission.proof().as_str().to_owned();
        Ok((HttpRequest { authorization, proof }, transmission))
    }
}

/// The simulated network. Only this type advances the time.
struct DemoNetwork {
    gateway: DemoGateway,
    client: DemoClient,
    now: UnixTime,
    started: UnixTime,
    /// The lines of the output so far.
    lines: Vec<String>,
}

impl DemoNetwork {
    fn new() -> Result<Self, ExampleError> {
        let key = KeyPair::generate()?;
        let now = UnixTime::from_secs(1_790_000_000);
        let gateway = DemoGateway {
            origin: Origin::from_url(GATEWAY)?,
            // A real server generates the key (`NonceKey::generate`); it is fixed here for reproducible
            // output.
            nonces: NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "gateway"),
            live: ReplayCache::new(ProofWindow::default(), ReplayLimits::default()),
            bound: Some(key.public_key().thumbprint()),
        };
        let client = DemoClient {
            session: Session::new(key, SystemRandom),
            token: AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?,
        };
        Ok(Self { gateway, client, now, started: now, lines: Vec::new() })
    }

    /// Returns the client's two clocks; the wall clock is slow.
    fn reading(&self) -> ClockReading {
        ClockReading {
            wall: self.now.saturating_sub(SLOW),
            monotonic: self.now.saturating_since(self.started),
        }
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    /// Sends a request and records the response.
    fn send(&mut self, request: &HttpRequest) -> HttpResponse {
        self.pass(40);
        let response = self.gateway.respond(request, self.now);
        self.pass(40);
        self.lines.extend(response.log.map(|reason| format!("    gateway's log: refused, {reason}")));
        self.lines.push(format!("    {} DPoP-Nonce: {}", response.status, response.nonce));
        self.lines
            .extend(response.challenge.iter().map(|challenge| format!("    WWW-Authenticate: {challenge}")));
        response
    }

    /// Performs a call: sends the request, and retries it if the gateway requires a nonce or the clock was
    /// wrong.
    fn call(&mut self) -> Result<HttpRequest, ExampleError> {
        let mut call = DpopRequest::new("GET", Htu::from_url(URL)?).with_token(self.client.token.hash());
        loop {
            let (request, transmission) = self.client.request(&call, self.reading())?;
            let difference = seconds_between(transmission.iat(), self.now);
            self.lines.push(format!("  GET {TARGET}, iat {difference} s from the gateway's time"));
            let response = self.send(&request);
            match self.client.session.handle_response(
                &mut call,
                transmission,
                &response.seen(),
                self.reading(),
            ) {
                NextStep::Done => return Ok(request),
                NextStep::Retry(_) => {}
                NextStep::GiveUp(why) => return Err(why.into()),
            }
        }
    }
}

/// Runs the complete example.
fn story() -> Result<Vec<String>, ExampleError> {
    let mut world = DemoNetwork::new()?;
    let slow = SLOW.as_secs();
    world.lines.push(format!("The first call: no nonce yet, and a clock that is {slow} s slow."));
    let request = world.call()?;
    world.lines.push("A thief sends the same bytes again.".to_owned());
    world.send(&request);
    world.lines.push("The next call: the nonce and the time are known.".to_owned());
    world.pass(1000);
    world.call()?;
    world.lines.push("Ten minutes later: the nonce is too old.".to_owned());
    world.pass(600_000);
    world.call()?;
    Ok(world.lines)
}

fn main() -> Result<(), ExampleError> {
    for line in story()? {
        println!("{line}");
    }
    Ok(())
}

fn seconds_between(iat: UnixTime, now: UnixTime) -> String {
    let (iat, now) = (i128::from(iat.as_secs()), i128::from(now.as_secs()));
    format!("{:+}", iat - now)
}

/// Formats an IMF-fixdate (RFC 9110, 5.6.7).
fn date(now: UnixTime) -> String {
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(now.as_secs()))
}

/// The retry decision depends on the nonce that was sent. If another response stored a newer nonce in the
/// meantime, the session does not give up; the retry uses the nonce of the rejection.
#[test]
fn sent_nonce_is_remembered() -> Result<(), ExampleError> {
    let mut world = DemoNetwork::new()?;
    world.call()?;
    world.pass(600_000);
    // This request is in flight with an old nonce while another call receives a challenge and the next nonce.
    let mut slow = DpopRequest::new("GET", Htu::from_url(URL)?).with_token(world.client.token.hash());
    let (request, transmission) = world.client.request(&slow, world.reading())?;
    let sent = transmission.nonce().cloned();
    world.call()?;
    let response = world.send(&request);
    assert_ne!(sent.as_ref().map(|nonce| nonce.as_str()), Some(response.nonce.as_str()));
    let next =
        world.client.session.handle_response(&mut slow, transmission, &response.seen(), world.reading());
    assert_eq!((response.status, next), (401, NextStep::Retry(RetryReason::Nonce)));
    let (request, _) = world.client.request(&slow, world.reading())?;
    assert_eq!(world.send(&request).status, 200);
    Ok(())
}

/// The README contains the beginning of the output.
#[test]
fn readme_shows_the_output() -> Result<(), ExampleError> {
    let lines = story()?;
    let statuses: Vec<&str> =
        lines.iter().filter(|line| line.contains("DPoP-Nonce")).filter_map(|line| line.get(4..7)).collect();
    assert_eq!(statuses, ["401", "200", "401", "200", "401", "200"]);
    let readme = include_str!("../README.md");
    let shown = readme.split("```text\n").find(|block| block.starts_with(&lines[0])).unwrap_or_default();
    let shown: Vec<&str> = shown.lines().take_while(|line| *line != "…").collect();
    assert_eq!(shown, lines[..shown.len()]);
    assert!(shown.len() > 10);
    Ok(())
}
