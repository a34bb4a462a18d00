//! Interoperability test of the client against `oidc-provider`, which signs it in, and `oauth4webapi`, which
//! validates its tokens and proofs.
//!
//! ```text
//! peer_client DIRECTORY
//! ```
//!
//! DIRECTORY is the first line that `exchange/service/tests/peers/oauth4webapi.mjs` prints. The program
//! prints one line of JSON per step, `{name, ok, why}`, and stops after the first failed step. The last steps
//! tamper with the proofs, to verify that the peers reject them. `cargo xtask peers oauth4webapi` runs this
//! program.

#![allow(clippy::print_stdout, reason = "the program prints the result of each step")]

use std::{
    error::Error as StdError,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use bytes::Bytes;
use exchange_client::{
    BoxFuture, ClientIdentity, EndReason, Error, ErrorKind, Exchange, ExchangeAddress, KeySource,
    MemoryCredentials, Session, SessionState,
    api::{
        Contract as _, Transport,
        runtime::{client::ReqwestTransport, operation::Operation, transport::ResponseFuture},
        scopes::Scope,
        types::BlueprintChangeSet,
    },
    dpop::{Htu, KeyPair, Nonce, ProofRequest, ProofSigner, Prover, SystemRandom, TokenHash, UnixTime},
};
use serde::Deserialize;
use serde_json::{Value, json};

type StepError = Box<dyn StdError + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StepError> {
    let directory = std::env::args().nth(1).ok_or("where are the peers?")?;
    let peers = Peers { at: serde_json::from_str(&directory)?, http: reqwest::Client::new() };
    for nonces in [false, true] {
        let with = if nonces { "with nonces" } else { "without nonces" };
        if !run_step(
            &format!("a life of a connection at a provider {with}"),
            check_connection_lifecycle(&peers, nonces),
        )
        .await
        {
            return Ok(());
        }
    }
    for spoilt in [ProofTampering::Repeated, ProofTampering::WithoutToken, ProofTampering::OfAnotherPath] {
        let refused = spoilt_proofs_are_refused(&peers, spoilt);
        if !run_step(&format!("the gateway refuses a proof that is spoilt: {spoilt:?}"), refused).await {
            return Ok(());
        }
    }
    let refused = a_repeated_proof_renews_nothing(&peers);
    run_step("the provider refuses a proof that was sent before", refused).await;
    Ok(())
}

/// Runs a step and prints its result. Returns true if it succeeded.
async fn run_step(name: &str, run: impl Future<Output = Result<(), StepError>>) -> bool {
    let why = run.await.err().map(|failure| failure.to_string());
    println!("{}", json!({ "name": name, "ok": why.is_none(), "why": why }));
    why.is_none()
}

fn ensure_equal<T: PartialEq + Debug>(left: &T, right: &T) -> Result<(), StepError> {
    if left == right { Ok(()) } else { Err(format!("{left:?} is not {right:?}").into()) }
}

/// The URLs of the peers.
#[derive(Deserialize)]
struct PeerDirectory {
    issuer: String,
    control: String,
    gateway: String,
    peer: String,
}

/// The peers, and an HTTP client for their control endpoints.
struct Peers {
    at: PeerDirectory,
    http: reqwest::Client,
}

/// The counters and lists of the `oauth4webapi` peer, which stands in for the gateway.
#[derive(Deserialize)]
struct GatewayReport {
    tokens: u64,
    keys: Vec<String>,
    challenged: u64,
    refused: Vec<String>,
}

impl Peers {
    async fn call_provider(&self, path: &str, body: Value) -> Result<String, StepError> {
        let url = format!("{}/{path}", self.at.control);
        Ok(self.http.post(url).body(body.to_string()).send().await?.error_for_status()?.text().await?)
    }

    /// Returns the number of refresh tokens that the provider replaced, and the number of grants that it
    /// ended.
    async fn provider_counts(&self) -> Result<(u64, u64), StepError> {
        let events: Value = serde_json::from_str(&self.call_provider("said", json!({})).await?)?;
        let count = |name: &str| events[name].as_u64().ok_or_else(|| StepError::from(format!("no {name}")));
        Ok((count("rotated")?, count("revoked")?))
    }

    async fn call_gateway(&self, path: &str) -> Result<(), StepError> {
        self.http.post(format!("{}/{path}", self.at.peer)).send().await?.error_for_status()?;
        Ok(())
    }

    async fn gateway_report(&self) -> Result<GatewayReport, StepError> {
        let text = self.http.get(format!("{}/said", self.at.peer)).send().await?.text().await?;
        Ok(serde_json::from_str(&text)?)
    }

    fn client_identity() -> Result<ClientIdentity, StepError> {
        Ok(ClientIdentity::new("sandbox-client", "Desk", "1.0.0", "https://desk.example")?)
    }

    /// Opens a session with this transport and key, and signs a member in.
    async fn open_session(
        &self,
        way: impl Transport + 'static,
        key: &SharedKey,
    ) -> Result<Session, StepError> {
        let address = ExchangeAddress::new(&self.at.issuer, &self.at.gateway)?;
        let session =
            Session::builder(&address, &Self::client_identity()?).credentials(MemoryCredentials::new());
        let session = session.keys(key.clone()).transport(way).open().await?;
        let scopes = [Scope::ExchangeBlueprintsRead, Scope::ExchangeBlueprintsWrite];
        let login = session.sign_in(&scopes).await?;
        let decision = json!({ "userCode": login.user_code(), "account": "sandbox-member" });
        self.call_provider("approve", decision).await?;
        login.finish().await?;
        Ok(session)
    }

    fn open_exchange(session: &Session, way: impl Transport + 'static) -> Result<Exchange, StepError> {
        let builder = Exchange::builder(session.address().clone(), session.identity().clone());
        Ok(builder.transport(way).build(session)?)
    }
}

/// IDP-16, IDP-19, IDP-24, ERR-47: a connection works from the login until the client or the provider ends
/// it.
async fn check_connection_lifecycle(peers: &Peers, nonces: bool) -> Result<(), StepError> {
    peers.call_provider("nonce", json!({ "required": nonces })).await?;
    let session = peers.open_session(ReqwestTransport::new()?, &SharedKey::default()).await?;
    ensure_equal(&session.state(), &SessionState::Active)?;
    let exchange = Peers::open_exchange(&session, ReqwestTransport::new()?)?;
    let api = exchange.api();
    let (before, (rotated, revoked)) = (peers.gateway_report().await?, peers.provider_counts().await?);

    // A write that gets a nonce challenge is sent again with the same idempotency key.
    peers.call_gateway("nonce").await?;
    let set = BlueprintChangeSet::parse(br#"{"ops": [{"op": "add", "ref": {"bt": "bp-1"}}]}"#)?;
    let key = if nonces { "the-key-of-a-write-2" } else { "the-key-of-a-write-1" };
    ensure_equal(&api.blueprints_write(key, &set).await?.counts().applied, &1)?;
    let seen = peers.gateway_report().await?;
    ensure_equal(&seen.keys.iter().filter(|sent| *sent == key).count(), &2)?;
    ensure_equal(&seen.challenged, &(before.challenged + 1))?;

    // A problem response is parsed, and the request is not sent again.
    let refused = Error::from(api.catalog_locations().await.err().ok_or("it was answered")?);
    ensure_equal(&refused.kind(), &ErrorKind::ScopeMissing)?;

    // The client renews a rejected token, and can then renew it again with the new refresh token. More
    // renewals in a short time would trigger the client's back-off.
    let renewals = if nonces { 2 } else { 1 };
    for _ in 0..renewals {
        peers.call_gateway("token").await?;
        ensure_equal(&api.service_document().await?.api_version.as_str(), &"1.0")?;
    }
    ensure_equal(&peers.provider_counts().await?, &(rotated + renewals, revoked))?;
    ensure_equal(&peers.gateway_report().await?.tokens, &(before.tokens + 1 + renewals))?;
    ensure_equal(&peers.gateway_report().await?.refused, &before.refused)?;

    if nonces {
        // In this run, the client ends the connection.
        let done = session.disconnect().await;
        ensure_equal(&(done.revoked.is_done(), done.is_complete()), &(true, true))?;
        ensure_equal(&peers.provider_counts().await?, &(rotated + renewals, revoked + 1))?;
        return ensure_equal(&session.state(), &SessionState::SignedOut);
    }
    // The provider ends the connection, and the client detects this at the next renewal.
    peers.call_provider("disconnect", json!({})).await?;
    peers.call_gateway("token").await?;
    let over = Error::from(api.service_document().await.err().ok_or("it was answered")?);
    ensure_equal(&over.kind(), &ErrorKind::Ended(EndReason::GrantRevoked))?;
    ensure_equal(&session.state(), &SessionState::Ended(EndReason::GrantRevoked))
}

async fn spoilt_proofs_are_refused(peers: &Peers, spoilt: ProofTampering) -> Result<(), StepError> {
    let key = SharedKey::default();
    let session = peers.open_session(ReqwestTransport::new()?, &key).await?;
    let way = TamperingTransport::new(spoilt, key)?;
    let exchange = Peers::open_exchange(&session, way.clone())?;
    exchange.api().service_document().await?;
    let before = peers.gateway_report().await?.refused.len();
    way.begin();
    let refused = Error::from(exchange.api().service_document().await.err().ok_or("it was answered")?);
    ensure_equal(&refused.kind(), &ErrorKind::Proof)?;
    // The client stopped retrying, and the peer rejected each proof for the expected reason.
    let reasons = peers.gateway_report().await?.refused.split_off(before);
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

/// ERR-47: `oidc-provider` rejects a repeated proof with `invalid_grant` instead of `invalid_dpop_proof` (RFC
/// 9449, 5), so the connection ends.
async fn a_repeated_proof_renews_nothing(peers: &Peers) -> Result<(), StepError> {
    let key = SharedKey::default();
    let way = TamperingTransport::new(ProofTampering::Repeated, key.clone())?;
    let session = peers.open_session(way.clone(), &key).await?;
    let exchange = Peers::open_exchange(&session, ReqwestTransport::new()?)?;
    exchange.api().service_document().await?;
    way.begin();
    peers.call_gateway("token").await?;
    let refused = Error::from(exchange.api().service_document().await.err().ok_or("it was answered")?);
    ensure_equal(&refused.kind(), &ErrorKind::Ended(EndReason::GrantRevoked))
}

/// A key source whose key the test can read.
#[derive(Clone, Default)]
struct SharedKey(Arc<Mutex<Option<Arc<KeyPair>>>>);

impl SharedKey {
    fn kept(&self) -> Option<Arc<KeyPair>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, key: Option<Arc<KeyPair>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = key;
    }
}

impl KeySource for SharedKey {
    fn load(&self) -> BoxFuture<'_, Result<Option<Arc<dyn ProofSigner>>, Error>> {
        Box::pin(async { Ok(self.kept().map(|key| key as Arc<dyn ProofSigner>)) })
    }

    fn create(&self) -> BoxFuture<'_, Result<Arc<dyn ProofSigner>, Error>> {
        Box::pin(async {
            let grant =
                KeyPair::generate().map_err(|_| Error::new(ErrorKind::Secrets, "no key can be made"))?;
            let key = Arc::new(grant);
            self.keep(Some(Arc::clone(&key)));
            Ok(key as Arc<dyn ProofSigner>)
        })
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            self.keep(None);
            Ok(())
        })
    }
}

/// The way in which a proof is modified.
#[derive(Clone, Copy, Debug)]
enum ProofTampering {
    /// The last valid proof is sent again.
    Repeated,
    /// The proof has no `ath`.
    WithoutToken,
    /// The `htu` of the proof has another path.
    OfAnotherPath,
}

impl ProofTampering {
    /// Returns a substring of the reason for which the peer rejects the proof.
    const fn reason(self) -> &'static str {
        match self {
            Self::Repeated => "was sent before",
            Self::WithoutToken => "ath",
            Self::OfAnotherPath => "htu",
        }
    }
}

/// The network transport, which replaces valid proofs between `begin` and `end`.
#[derive(Clone)]
struct TamperingTransport {
    inner: ReqwestTransport,
    tampering: ProofTampering,
    key: SharedKey,
    last: Arc<Mutex<LastExchange>>,
}

#[derive(Default)]
struct LastExchange {
    spoils: bool,
    proof: Option<http::HeaderValue>,
    nonce: Option<Nonce>,
}

impl TamperingTransport {
    fn new(tampering: ProofTampering, key: SharedKey) -> Result<Self, StepError> {
        Ok(Self { inner: ReqwestTransport::new()?, tampering, key, last: Arc::default() })
    }

    fn last<T>(&self, run: impl FnOnce(&mut LastExchange) -> T) -> T {
        run(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self) {
        self.last(|last| last.spoils = true);
    }

    fn end(&self) {
        self.last(|last| last.spoils = false);
    }

    /// Returns the proof that replaces the valid one, or `None` if it cannot be created.
    fn spoilt(&self, request: &http::Request<Bytes>) -> Option<http::HeaderValue> {
        if matches!(self.tampering, ProofTampering::Repeated) {
            return self.last(|last| last.proof.clone());
        }
        let token = request.headers().get("authorization")?.to_str().ok()?.strip_prefix("DPoP ")?;
        let token = TokenHash::from_token(token);
        let (url, token) = match self.tampering {
            ProofTampering::OfAnotherPath => (format!("{}/other", request.uri()), Some(&token)),
            _ => (request.uri().to_string(), None),
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let nonce = self.last(|last| last.nonce.clone());
        let proof = ProofRequest {
            method: request.method().as_str(),
            htu: &Htu::from_url(&url).ok()?,
            iat: UnixTime::from_secs(since.as_secs()),
            nonce: nonce.as_ref(),
            token,
        };
        let proof = Prover::new(self.key.kept()?, SystemRandom).prove_now(&proof).ok()?;
        http::HeaderValue::from_str(proof.as_str()).ok()
    }
}

impl Transport for TamperingTransport {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(async move {
            let spoils = self.last(|last| last.spoils);
            if let Some(proof) = spoils.then(|| self.spoilt(&request)).flatten() {
                request.headers_mut().insert("dpop", proof);
            }
            let sent = request.headers().get("dpop").cloned();
            let response = self.inner.send(operation, request).await?;
            let nonce = response.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
            let nonce = nonce.and_then(|nonce| Nonce::new(nonce).ok());
            self.last(|last| {
                last.nonce = nonce.or_else(|| last.nonce.take());
                if response.status().is_success() && sent.is_some() {
                    last.proof = sent;
                }
            });
            Ok(response)
        })
    }
}
