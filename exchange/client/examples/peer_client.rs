//! Our client against what others wrote: `oidc-provider` signs it in, `oauth4webapi` judges its tokens and proofs.
//!
//! ```text
//! peer_client DIRECTORY
//! ```
//!
//! DIRECTORY is the first line of `exchange/service/tests/peers/oauth4webapi.mjs`. For each step a line of JSON goes to stdout:
//! `{name, ok, why}`; after one that failed there is no other. `cargo xtask peers oauth4webapi` runs this.
//! The last steps spoil what the client sends: a peer that refuses nothing would prove nothing.

#![allow(clippy::print_stdout, reason = "the steps are what it is for")]

use std::{
    error::Error as StdError,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use bytes::Bytes;
use exchange_client::{
    End, Error, ErrorKind, Exchange, Identity, InMemory, KeySource, Later, Place, Session, SessionState,
    api::{
        Contract as _, Transport,
        runtime::{client::ReqwestTransport, operation::Operation, transport::Sending},
        scopes::Scope,
        types::BlueprintChangeSet,
    },
    dpop::{Htu, KeyPair, Nonce, ProofRequest, ProofSigner, Prover, SystemRandom, TokenHash, UnixTime},
};
use serde::Deserialize;
use serde_json::{Value, json};

type Failure = Box<dyn StdError + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let directory = std::env::args().nth(1).ok_or("where are the peers?")?;
    let peers = Peers { at: serde_json::from_str(&directory)?, http: reqwest::Client::new() };
    for nonces in [false, true] {
        let with = if nonces { "with nonces" } else { "without nonces" };
        if !step(&format!("a life of a connection at a provider {with}"), a_life(&peers, nonces)).await {
            return Ok(());
        }
    }
    for spoilt in [Spoilt::Repeated, Spoilt::WithoutToken, Spoilt::OfAnotherPath] {
        let refused = spoilt_proofs_are_refused(&peers, spoilt);
        if !step(&format!("the gateway refuses a proof that is spoilt: {spoilt:?}"), refused).await {
            return Ok(());
        }
    }
    let refused = a_repeated_proof_renews_nothing(&peers);
    step("the provider refuses a proof that was sent before", refused).await;
    Ok(())
}

/// Says how a step went; whether it went well.
async fn step(name: &str, run: impl Future<Output = Result<(), Failure>>) -> bool {
    let why = run.await.err().map(|failure| failure.to_string());
    println!("{}", json!({ "name": name, "ok": why.is_none(), "why": why }));
    why.is_none()
}

fn equal<T: PartialEq + Debug>(left: &T, right: &T) -> Result<(), Failure> {
    if left == right { Ok(()) } else { Err(format!("{left:?} is not {right:?}").into()) }
}

/// Where the peers are.
#[derive(Deserialize)]
struct Directory {
    issuer: String,
    control: String,
    gateway: String,
    peer: String,
}

/// The peers, and what they are asked to do beside serving the client.
struct Peers {
    at: Directory,
    http: reqwest::Client,
}

/// What guards the gateway, of what it saw.
#[derive(Deserialize)]
struct Seen {
    tokens: u64,
    keys: Vec<String>,
    challenged: u64,
    refused: Vec<String>,
}

impl Peers {
    async fn provider(&self, path: &str, body: Value) -> Result<String, Failure> {
        let url = format!("{}/{path}", self.at.control);
        Ok(self.http.post(url).body(body.to_string()).send().await?.error_for_status()?.text().await?)
    }

    /// How many refresh tokens the provider replaced, and how many grants it ended.
    async fn told(&self) -> Result<(u64, u64), Failure> {
        let said: Value = serde_json::from_str(&self.provider("said", json!({})).await?)?;
        let count = |name: &str| said[name].as_u64().ok_or_else(|| Failure::from(format!("no {name}")));
        Ok((count("rotated")?, count("revoked")?))
    }

    async fn gateway(&self, path: &str) -> Result<(), Failure> {
        self.http.post(format!("{}/{path}", self.at.peer)).send().await?.error_for_status()?;
        Ok(())
    }

    async fn seen(&self) -> Result<Seen, Failure> {
        let said = self.http.get(format!("{}/said", self.at.peer)).send().await?.text().await?;
        Ok(serde_json::from_str(&said)?)
    }

    fn identity() -> Result<Identity, Failure> {
        Ok(Identity::new("sandbox-client", "Desk", "1.0.0", "https://desk.example")?)
    }

    /// A session to which a member signed in, whose requests go by this way and are signed by this key.
    async fn session(&self, way: impl Transport + 'static, key: &OneKey) -> Result<Session, Failure> {
        let place = Place::new(&self.at.issuer, &self.at.gateway)?;
        let session = Session::builder(&place, &Self::identity()?).credentials(InMemory::new());
        let session = session.keys(key.clone()).transport(way).open().await?;
        let scopes = [Scope::ExchangeBlueprintsRead, Scope::ExchangeBlueprintsWrite];
        let login = session.sign_in(&scopes).await?;
        let decision = json!({ "userCode": login.user_code(), "account": "sandbox-member" });
        self.provider("approve", decision).await?;
        login.finish().await?;
        Ok(session)
    }

    fn exchange(session: &Session, way: impl Transport + 'static) -> Result<Exchange, Failure> {
        let builder = Exchange::builder(session.place().clone(), session.identity().clone());
        Ok(builder.transport(way).build(session)?)
    }
}

/// IDP-16, IDP-19, IDP-24, ERR-47: from the login to its end, once by the client and once by the provider.
async fn a_life(peers: &Peers, nonces: bool) -> Result<(), Failure> {
    peers.provider("nonce", json!({ "required": nonces })).await?;
    let session = peers.session(ReqwestTransport::new()?, &OneKey::default()).await?;
    equal(&session.state(), &SessionState::Active)?;
    let exchange = Peers::exchange(&session, ReqwestTransport::new()?)?;
    let api = exchange.api();
    let (before, (rotated, revoked)) = (peers.seen().await?, peers.told().await?);

    // A write that is challenged is sent again under its key.
    peers.gateway("nonce").await?;
    let set = BlueprintChangeSet::parse(br#"{"ops": [{"op": "add", "ref": {"bt": "bp-1"}}]}"#)?;
    let key = if nonces { "the-key-of-a-write-2" } else { "the-key-of-a-write-1" };
    equal(&api.blueprints_write(key, &set).await?.applied, &1)?;
    let seen = peers.seen().await?;
    equal(&seen.keys.iter().filter(|sent| *sent == key).count(), &2)?;
    equal(&seen.challenged, &(before.challenged + 1))?;

    // A problem is read, and nothing is sent again.
    let refused = Error::from(api.catalog_locations().await.err().ok_or("it was answered")?);
    equal(&refused.kind(), &ErrorKind::ScopeMissing)?;

    // A refused token is renewed, once and again with the refresh token that came: no oftener at once, or the client
    // would take care not to go round in circles.
    let renewals = if nonces { 2 } else { 1 };
    for _ in 0..renewals {
        peers.gateway("token").await?;
        equal(&api.service_document().await?.api_version.as_str(), &"1.0")?;
    }
    equal(&peers.told().await?, &(rotated + renewals, revoked))?;
    equal(&peers.seen().await?.tokens, &(before.tokens + 1 + renewals))?;
    equal(&peers.seen().await?.refused, &before.refused)?;

    if nonces {
        // The client ends it.
        let done = session.disconnect().await;
        equal(&(done.revoked.is_done(), done.is_gone()), &(true, true))?;
        equal(&peers.told().await?, &(rotated + renewals, revoked + 1))?;
        return equal(&session.state(), &SessionState::SignedOut);
    }
    // The provider ends it; the client hears of it when it renews.
    peers.provider("disconnect", json!({})).await?;
    peers.gateway("token").await?;
    let over = Error::from(api.service_document().await.err().ok_or("it was answered")?);
    equal(&over.kind(), &ErrorKind::Ended(End::Grant))?;
    equal(&session.state(), &SessionState::Ended(End::Grant))
}

async fn spoilt_proofs_are_refused(peers: &Peers, spoilt: Spoilt) -> Result<(), Failure> {
    let key = OneKey::default();
    let session = peers.session(ReqwestTransport::new()?, &key).await?;
    let way = Spoiler::new(spoilt, key)?;
    let exchange = Peers::exchange(&session, way.clone())?;
    exchange.api().service_document().await?;
    let before = peers.seen().await?.refused.len();
    way.begin();
    let refused = Error::from(exchange.api().service_document().await.err().ok_or("it was answered")?);
    equal(&refused.kind(), &ErrorKind::Proof)?;
    // It did not go on trying, and the reason is that one.
    let reasons = peers.seen().await?.refused.split_off(before);
    if reasons.is_empty()
        || reasons.len() > 2
        || !reasons.iter().all(|reason| reason.contains(spoilt.reason()))
    {
        return Err(format!("{reasons:?}").into());
    }
    way.end();
    exchange.api().service_document().await?;
    Ok(())
}

/// `oidc-provider` refuses it as `invalid_grant`, where RFC 9449, 5 has `invalid_dpop_proof`: the client takes it at its
/// word (ERR-47).
async fn a_repeated_proof_renews_nothing(peers: &Peers) -> Result<(), Failure> {
    let key = OneKey::default();
    let way = Spoiler::new(Spoilt::Repeated, key.clone())?;
    let session = peers.session(way.clone(), &key).await?;
    let exchange = Peers::exchange(&session, ReqwestTransport::new()?)?;
    exchange.api().service_document().await?;
    way.begin();
    peers.gateway("token").await?;
    let refused = Error::from(exchange.api().service_document().await.err().ok_or("it was answered")?);
    equal(&refused.kind(), &ErrorKind::Ended(End::Grant))
}

/// A key that a spoiler has too.
#[derive(Clone, Default)]
struct OneKey(Arc<Mutex<Option<Arc<KeyPair>>>>);

impl OneKey {
    fn kept(&self) -> Option<Arc<KeyPair>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, key: Option<Arc<KeyPair>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = key;
    }
}

impl KeySource for OneKey {
    fn load(&self) -> Later<'_, Result<Option<Arc<dyn ProofSigner>>, Error>> {
        Box::pin(async { Ok(self.kept().map(|key| key as Arc<dyn ProofSigner>)) })
    }

    fn create(&self) -> Later<'_, Result<Arc<dyn ProofSigner>, Error>> {
        Box::pin(async {
            let made =
                KeyPair::generate().map_err(|_| Error::new(ErrorKind::Secrets, "no key can be made"))?;
            let key = Arc::new(made);
            self.keep(Some(Arc::clone(&key)));
            Ok(key as Arc<dyn ProofSigner>)
        })
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(async {
            self.keep(None);
            Ok(())
        })
    }
}

/// How proofs are spoilt.
#[derive(Clone, Copy, Debug)]
enum Spoilt {
    /// The last right one, again.
    Repeated,
    /// No `ath`.
    WithoutToken,
    /// `htu` of another path.
    OfAnotherPath,
}

impl Spoilt {
    /// What the peer says of it.
    const fn reason(self) -> &'static str {
        match self {
            Self::Repeated => "was sent before",
            Self::WithoutToken => "ath",
            Self::OfAnotherPath => "htu",
        }
    }
}

/// The network, with proofs that are spoilt from some moment on.
#[derive(Clone)]
struct Spoiler {
    inner: ReqwestTransport,
    how: Spoilt,
    key: OneKey,
    last: Arc<Mutex<Last>>,
}

#[derive(Default)]
struct Last {
    spoils: bool,
    proof: Option<http::HeaderValue>,
    nonce: Option<Nonce>,
}

impl Spoiler {
    fn new(how: Spoilt, key: OneKey) -> Result<Self, Failure> {
        Ok(Self { inner: ReqwestTransport::new()?, how, key, last: Arc::default() })
    }

    fn last<T>(&self, run: impl FnOnce(&mut Last) -> T) -> T {
        run(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self) {
        self.last(|last| last.spoils = true);
    }

    fn end(&self) {
        self.last(|last| last.spoils = false);
    }

    /// Another proof in the place of a right one.
    fn spoilt(&self, request: &http::Request<Bytes>) -> Option<http::HeaderValue> {
        if matches!(self.how, Spoilt::Repeated) {
            return self.last(|last| last.proof.clone());
        }
        let token = request.headers().get("authorization")?.to_str().ok()?.strip_prefix("DPoP ")?;
        let token = TokenHash::of(token);
        let (url, token) = match self.how {
            Spoilt::OfAnotherPath => (format!("{}/other", request.uri()), Some(&token)),
            _ => (request.uri().to_string(), None),
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let nonce = self.last(|last| last.nonce.clone());
        let proof = ProofRequest {
            method: request.method().as_str(),
            htu: &Htu::of(&url).ok()?,
            iat: UnixTime::from_secs(since.as_secs()),
            nonce: nonce.as_ref(),
            token,
        };
        let proof = Prover::new(self.key.kept()?, SystemRandom).prove_now(&proof).ok()?;
        http::HeaderValue::from_str(proof.as_str()).ok()
    }
}

impl Transport for Spoiler {
    fn send<'a>(&'a self, operation: &'static Operation, mut request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            let spoils = self.last(|last| last.spoils);
            if let Some(proof) = spoils.then(|| self.spoilt(&request)).flatten() {
                request.headers_mut().insert("dpop", proof);
            }
            let sent = request.headers().get("dpop").cloned();
            let answer = self.inner.send(operation, request).await?;
            let nonce = answer.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
            let nonce = nonce.and_then(|nonce| Nonce::new(nonce).ok());
            self.last(|last| {
                last.nonce = nonce.or_else(|| last.nonce.take());
                if answer.status().is_success() && sent.is_some() {
                    last.proof = sent;
                }
            });
            Ok(answer)
        })
    }
}
