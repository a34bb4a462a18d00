//! Both sides of DPoP in one process: a client whose clock is wrong, a gateway, and a thief.
//!
//! `cargo run -p dpop-bound --example nonce_dance`
//!
//! Neither side does I/O: the client makes headers, the gateway answers with headers, and time is a
//! number that this example moves.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

#[cfg(test)]
use dpop_bound::session::Why;
use dpop_bound::{
    AccessToken, Binding, Es256, Expected, Holder, Htu, KeyPair, LiveProofs, NonceIssuer, Origin, Refusal,
    Session, SignedProof, SystemRandom, Target, Thumbprint, TokenHash, UnixTime, Window,
    clock::Reading,
    live::Caps,
    nonce::NonceKey,
    presented,
    session::{Answer as Seen, Call, Next, Transmission, Turn},
};

type Failure = Box<dyn std::error::Error>;

const GATEWAY: &str = "https://gateway.example";
const URL: &str = "https://gateway.example/v1/photos?limit=50";
const TARGET: &str = "/v1/photos?limit=50";
const ACCOUNT: &str = "ada";
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

impl Answer {
    /// Its headers, as the client sees them.
    fn seen(&self) -> Seen<'_> {
        let always = [("Date", &self.date), ("DPoP-Nonce", &self.nonce)];
        let headers = always.into_iter().chain(self.challenge.iter().map(|text| ("WWW-Authenticate", text)));
        Seen::new(self.status, headers.map(|(name, value)| (name, value.as_bytes())))
    }
}

/// The server's side.
struct Gateway {
    origin: Origin,
    nonces: NonceIssuer,
    live: LiveProofs,
    /// The key that Ada's token is bound to: `cnf.jkt` of the token.
    bound: Option<Thumbprint>,
}

impl Gateway {
    /// Every answer carries a nonce and the time.
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

    /// Headers, form and signature, nonce, claims, replay: in this order.
    fn check(&mut self, request: &Request, now: UnixTime) -> Result<(), Refusal> {
        let presented = presented([request.authorization.as_bytes()], [request.proof.as_bytes()])?;
        let signed = SignedProof::read(presented.proof, &Es256)?;
        self.nonces.check(signed.nonce(), now)?;
        let checked = signed.check(&Expected {
            method: "GET",
            target: Target::Request(&self.origin, TARGET),
            now,
            window: self.live.window(),
            binding: Binding::Token { hash: &TokenHash::of(presented.token), jkt: self.bound.as_ref() },
        })?;
        self.live.admit(&checked.candidate(Holder::Account(ACCOUNT)), now)?;
        Ok(())
    }
}

/// The client's side: a key, what is known of servers, and a token.
struct Client {
    session: Session<KeyPair, SystemRandom>,
    token: AccessToken,
}

impl Client {
    /// One proof for one transmission.
    fn request(&self, call: &Call, now: Reading) -> Result<(Request, Transmission), Failure> {
        let Turn::Go(transmission) = self.session.prepare_now(call, now)? else {
            return Err("there is no other request to wait for".into());
        };
        let authorization = self.token.authorization().to_string();
        let proof = transmission.proof().as_str().to_owned();
        Ok((Request { authorization, proof }, transmission))
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
            live: LiveProofs::new(Window::default(), Caps::default()),
            bound: Some(key.public_key().thumbprint()),
        };
        let client = Client {
            session: Session::new(key, SystemRandom),
            token: AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")?,
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

    /// A call: the request, and once more where the gateway asks for a nonce or shows another time.
    fn call(&mut self) -> Result<Request, Failure> {
        let mut call = Call::new("GET", Htu::of(URL)?).with_token(self.client.token.hash());
        loop {
            let (request, transmission) = self.client.request(&call, self.reading())?;
            let apart = seconds_between(transmission.iat(), self.now);
            self.told.push(format!("  GET {TARGET}, iat {apart} s from the gateway's time"));
            let answer = self.send(&request);
            match self.client.session.answered(&mut call, transmission, &answer.seen(), self.reading()) {
                Next::Done => return Ok(request),
                Next::Again(_) => {}
                Next::GiveUp(why) => return Err(why.into()),
            }
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

/// What is judged is the nonce that was sent. Where another answer has brought a newer one in between, the
/// challenge is no reason to give up: the request goes again with what its own answer handed out.
#[test]
fn the_nonce_that_was_sent_is_remembered() -> Result<(), Failure> {
    let mut world = World::new()?;
    world.call()?;
    world.pass(600_000);
    // On its way with a nonce that is too old, while another call is challenged and learns the next.
    let mut slow = Call::new("GET", Htu::of(URL)?).with_token(world.client.token.hash());
    let (request, transmission) = world.client.request(&slow, world.reading())?;
    let sent = transmission.nonce().cloned();
    world.call()?;
    let answer = world.send(&request);
    assert_ne!(sent.as_ref().map(|nonce| nonce.as_str()), Some(answer.nonce.as_str()));
    let next = world.client.session.answered(&mut slow, transmission, &answer.seen(), world.reading());
    assert_eq!((answer.status, next), (401, Next::Again(Why::Nonce)));
    let (request, _) = world.client.request(&slow, world.reading())?;
    assert_eq!(world.send(&request).status, 200);
    Ok(())
}

/// The package's README shows the beginning of it.
#[test]
fn the_readme_tells_it() -> Result<(), Failure> {
    let told = story()?;
    let statuses: Vec<&str> =
        told.iter().filter(|line| line.contains("DPoP-Nonce")).filter_map(|line| line.get(4..7)).collect();
    assert_eq!(statuses, ["401", "200", "401", "200", "401", "200"]);
    let readme = include_str!("../README.md");
    let shown = readme.split("```text\n").find(|block| block.starts_with(&told[0])).unwrap_or_default();
    let shown: Vec<&str> = shown.lines().take_while(|line| *line != "…").collect();
    assert_eq!(shown, told[..shown.len()]);
    assert!(shown.len() > 10);
    Ok(())
}
