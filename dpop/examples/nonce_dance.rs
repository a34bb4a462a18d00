//! Both sides of DPoP in one process: a client whose clock is wrong, a gateway, and a thief.
//!
//! `cargo run -p dpop-bound --example nonce_dance`
//!
//! Neither side does I/O: the client makes headers, the gateway answers with headers, and time is a
//! number that this example moves.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use dpop_bound::{
    AccessToken, Attempt, DpopChallenge, DpopError, Es256, Expected, Htu, KeyPair, LiveProofs, NonceIssuer,
    NonceJar, Origin, ProofRequest, Prover, Refusal, ServerClock, SignedProof, SystemRandom, Target,
    Thumbprint, TokenHash, UnixTime, Window,
    clock::{Observation, Reading},
    live::Caps,
    nonce::{AfterChallenge, NonceKey, after_challenge},
    presented,
};

type Failure = Box<dyn std::error::Error>;

const GATEWAY: &str = "https://gateway.example";
const URL: &str = "https://gateway.example/exchange/v1/me/ships?limit=50";
const TARGET: &str = "/exchange/v1/me/ships?limit=50";
const MEMBER: &str = "ada";
/// By how much the client's clock is slow.
const SLOW: Duration = Duration::from_secs(95);

/// What is on its way to the gateway.
#[derive(Clone)]
struct Request {
    authorization: String,
    proof: String,
}

/// What comes back.
struct Answer {
    /// What the gateway writes to its log; nobody else sees it.
    log: Option<&'static str>,
    status: u16,
    date: String,
    nonce: String,
    challenge: Option<String>,
}

/// The server's side.
struct Gateway {
    origin: Origin,
    nonces: NonceIssuer,
    live: LiveProofs,
    /// The key that the member's token is bound to: `cnf.jkt` of the token.
    bound: Thumbprint,
}

impl Gateway {
    /// Every answer carries a nonce (DPP-11) and the time (DPP-09).
    fn answer(&mut self, request: &Request, now: UnixTime) -> Answer {
        let refusal = self.check(request, now).err();
        Answer {
            log: refusal.map(|refusal| refusal.reason()),
            status: if refusal.is_some() { 401 } else { 200 },
            date: date(now),
            nonce: self.nonces.issue(now).as_str().to_owned(),
            challenge: refusal.and_then(|refusal| refusal.challenge()).map(|challenge| challenge.to_string()),
        }
    }

    /// Headers, form and signature, nonce, claims, replay: in this order (DPP-15, DPP-16).
    fn check(&mut self, request: &Request, now: UnixTime) -> Result<(), Refusal> {
        let presented = presented([request.authorization.as_bytes()], [request.proof.as_bytes()])?;
        let signed = SignedProof::read(presented.proof, &Es256)?;
        self.nonces.check(signed.nonce(), now)?;
        let checked = signed.check(&Expected {
            method: "GET",
            target: Target::Request(&self.origin, TARGET),
            now,
            window: Window::GATEWAY,
            key: Some(&self.bound),
            token: Some(&TokenHash::of(presented.token)),
        })?;
        self.live.admit(&checked.candidate(Some(MEMBER)), now)?;
        Ok(())
    }
}

/// The client's side: what it keeps for one gateway.
struct Client {
    prover: Prover<KeyPair, SystemRandom>,
    token: AccessToken,
    nonces: NonceJar,
    clock: ServerClock,
}

impl Client {
    /// One proof for one transmission (DPP-01).
    fn request(&mut self, reading: Reading) -> Result<Request, Failure> {
        let proof = self.prover.prove_now(&ProofRequest {
            method: "GET",
            htu: &Htu::of(URL)?,
            iat: self.clock.iat(reading, Window::GATEWAY),
            nonce: self.nonces.current(GATEWAY),
            token: Some(self.token.hash()),
        })?;
        Ok(Request { authorization: self.token.authorization().to_string(), proof: proof.into_string() })
    }

    /// Learns the server's nonce and time from an answer, and says whether to send the request again.
    fn learn(
        &mut self,
        answer: &Answer,
        sent: Reading,
        received: Reading,
        attempt: Attempt,
    ) -> Result<bool, Failure> {
        let before = self.nonces.current(GATEWAY).cloned();
        let fresh = self.nonces.learn(GATEWAY, [answer.nonce.as_bytes()], received.wall).cloned();
        self.clock.observe(&Observation::from_header(answer.date.as_bytes(), sent, received)?);
        let challenge = DpopChallenge::find(answer.challenge.iter().map(String::as_bytes));
        if challenge.as_ref().and_then(DpopChallenge::error) != Some(&DpopError::UseDpopNonce) {
            return Ok(false);
        }
        Ok(after_challenge(before.as_ref(), fresh.as_ref(), attempt) == AfterChallenge::Retry)
    }
}

/// The world: time passes here alone.
struct World {
    gateway: Gateway,
    client: Client,
    now: UnixTime,
    started: UnixTime,
    /// What happened, a line each.
    told: Vec<String>,
}

impl World {
    fn new() -> Result<Self, Failure> {
        let key = KeyPair::generate()?;
        let now = UnixTime::from_secs(1_790_000_000);
        let gateway = Gateway {
            origin: Origin::of(GATEWAY)?,
            // Random in a server (`NonceKey::generate`); fixed here, so that every run shows the same.
            nonces: NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "gateway"),
            live: LiveProofs::new(Caps::GATEWAY),
            bound: key.public_key().thumbprint(),
        };
        let client = Client {
            prover: Prover::new(key, SystemRandom),
            token: AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?,
            nonces: NonceJar::default(),
            clock: ServerClock::default(),
        };
        Ok(Self { gateway, client, now, started: now, told: Vec::new() })
    }

    /// The client's two clocks; the wall clock is slow.
    fn reading(&self) -> Reading {
        Reading { wall: self.now.saturating_sub(SLOW), monotonic: self.now.saturating_since(self.started) }
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    /// Sends a request and shows what comes back.
    fn send(&mut self, request: &Request) -> Answer {
        self.pass(40);
        let answer = self.gateway.answer(request, self.now);
        self.pass(40);
        self.told.extend(answer.log.map(|reason| format!("    gateway's log: refused, {reason}")));
        self.told.push(format!("    {} DPoP-Nonce: {}", answer.status, answer.nonce));
        self.told
            .extend(answer.challenge.iter().map(|challenge| format!("    WWW-Authenticate: {challenge}")));
        answer
    }

    /// A call: the request, and once more where the gateway asks for a nonce.
    fn call(&mut self) -> Result<Request, Failure> {
        let mut attempt = Attempt::First;
        loop {
            let sent = self.reading();
            let request = self.client.request(sent)?;
            let iat = self.client.clock.iat(sent, Window::GATEWAY);
            let apart = seconds_between(iat, self.now);
            self.told.push(format!("  GET {TARGET}, iat {apart} s from the gateway's time"));
            let answer = self.send(&request);
            if !self.client.learn(&answer, sent, self.reading(), attempt)? {
                return Ok(request);
            }
            attempt = Attempt::Retry;
        }
    }
}

/// Everything that happens.
fn story() -> Result<Vec<String>, Failure> {
    let mut world = World::new()?;
    let slow = SLOW.as_secs();
    world.told.push(format!("The first call: no nonce yet, and a clock that is {slow} s slow."));
    let request = world.call()?;
    world.told.push("A thief sends the same bytes again.".to_owned());
    world.send(&request);
    world.told.push("The next call: the nonce and the time are known.".to_owned());
    world.pass(1000);
    world.call()?;
    world.told.push("Ten minutes later: the nonce is too old.".to_owned());
    world.pass(600_000);
    world.call()?;
    Ok(world.told)
}

fn main() -> Result<(), Failure> {
    for line in story()? {
        println!("{line}");
    }
    Ok(())
}

fn seconds_between(iat: UnixTime, now: UnixTime) -> String {
    let (iat, now) = (i128::from(iat.as_secs()), i128::from(now.as_secs()));
    format!("{:+}", iat - now)
}

/// IMF-fixdate (RFC 9110, 5.6.7).
fn date(now: UnixTime) -> String {
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_secs(now.as_secs()))
}

/// README.md shows the beginning of it.
#[test]
fn the_readme_tells_it() -> Result<(), Failure> {
    let told = story()?;
    let statuses: Vec<&str> =
        told.iter().filter(|line| line.contains("DPoP-Nonce")).filter_map(|line| line.get(4..7)).collect();
    assert_eq!(statuses, ["401", "200", "401", "200", "401", "200"]);
    let readme = include_str!("../../README.md");
    let shown = readme.split("```text\n").find(|block| block.starts_with(&told[0])).unwrap_or_default();
    let shown: Vec<&str> = shown.lines().take_while(|line| *line != "…").collect();
    assert_eq!(shown, told[..shown.len()]);
    assert!(shown.len() > 10);
    Ok(())
}
