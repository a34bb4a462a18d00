//! A gateway with everything that it needs, and a configurable client.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use dpop_bound::nonce::{NonceIssuer, NonceKey};
use dpop_bound::replay::{ReplayCandidate, ReplayLimits};
use dpop_bound::{KeyPair, ProofHolder, ProofWindow, ReplayCache, SystemRandom};
use exchange_api::operations::TABLE;
use exchange_service::config::Config;
use exchange_service::gateway::{Gateway, GatewayParts};
use exchange_service::idp::tokens::{TokenClaims, TokenError};
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::peer::PeerAddr;
use exchange_service::quota;
use exchange_service::shared::bulkhead::MemoryBulkhead;
use exchange_service::shared::rate::{MemoryRateLimiter, RateBucket, RateLimiter as _, RatePolicy};
use exchange_service::shared::registry::CachedRegistry;
use exchange_service::store::{Store, StoreError, StoreLocation, StoreOptions};
use exchange_service::time::{ManualClock, Moment};
use exchange_service::{Environment, gateway};
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::sync::Notify;

use super::stand_ins::{Backend, Provider, Script, SwitchablePort};
use crate::proofs::Draft;
use crate::support::CONTRACT_VALIDATOR;

pub(crate) const NOW: Moment = Moment::from_secs(1_790_000_000);
pub(crate) const ORIGIN: &str = "https://gateway.example";
pub(crate) const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
pub(crate) const CLIENT: &str = "client";
pub(crate) const MEMBER: &str = "member";
pub(crate) const PEER: &str = "192.0.2.1";
pub(crate) const WRITE: &str = "/exchange/v1/me/blueprints/changes";
pub(crate) const ORG_WRITE: &str = "/exchange/v1/org-stock/changes";
pub(crate) const DOCUMENT: &str = "/exchange/v1";
pub(crate) const ADD: &str = r#"{"ops":[{"op":"add","ref":{"bt":"b-1"}}]}"#;

/// The gateway and the objects that it uses.
pub(crate) struct GatewayHarness {
    pub(crate) clock: ManualClock,
    environment: Environment,
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    pub(crate) gateway: Gateway,
    pub(crate) provider: Arc<Provider>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) live: Arc<SwitchablePort<Mutex<ReplayCache>>>,
    pub(crate) registry: Arc<SwitchablePort<CachedRegistry>>,
    pub(crate) installations: Arc<SwitchablePort<Store>>,
    pub(crate) keys: Arc<SwitchablePort<Store>>,
    pub(crate) quota: Arc<SwitchablePort<Store>>,
    pub(crate) rates: Arc<SwitchablePort<MemoryRateLimiter>>,
    pub(crate) nonces: NonceIssuer,
    pub(crate) key: Arc<KeyPair>,
}

/// A request with its proof.
#[derive(Clone)]
pub(crate) struct TestRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) authorization: Vec<String>,
    pub(crate) proofs: Option<Vec<String>>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The streamed body that replaces `body`.
    pub(crate) coming: Option<fn() -> Body>,
    pub(crate) peer: String,
    /// The proof before it is signed, which tests can change.
    pub(crate) draft: Draft,
}

/// A response with its parsed body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn code(&self) -> &str {
        if self.status < 400 { "" } else { self.body["code"].as_str().unwrap_or("?") }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Returns the `error` of the challenge: an empty string if the challenge has none, and `-` if there is
    /// no challenge.
    pub(crate) fn challenge(&self) -> String {
        let Some(challenge) = self.header("www-authenticate") else { return "-".to_owned() };
        assert!(challenge.starts_with("DPoP algs=\"ES256\""), "{challenge}");
        let error = challenge.split("error=\"").nth(1).and_then(|rest| rest.split('"').next());
        error.unwrap_or("").to_owned()
    }

    pub(crate) fn pointers(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect()
    }
}

/// The stored effects of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestEffects {
    pub(crate) live: usize,
    pub(crate) installations: i64,
    pub(crate) writes: u32,
    pub(crate) relayed: usize,
    pub(crate) claims: i64,
}

impl GatewayHarness {
    pub(crate) async fn new() -> Self {
        Self::with_config(|_| {}).await
    }

    /// Creates a harness whose configuration `change` has modified.
    pub(crate) async fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config { gateway_origin: ORIGIN.to_owned(), ..Config::default() };
        change(&mut config);
        let config = Arc::new(config);
        let clock = ManualClock::fixed_at(NOW);
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let backend = Arc::new(Backend {
            store: store.clone(),
            environment: environment.clone(),
            script: Mutex::default(),
            checks: AtomicBool::default(),
            received: Mutex::default(),
            reached: Notify::new(),
        });
        let around = (store, environment, Arc::clone(&config));
        let harness =
            Self::around(around, clock, Arc::default(), backend, Arc::new(KeyPair::generate().unwrap()), 7);
        harness.seed().await;
        harness
    }

    /// Creates a gateway with new ports over the existing store.
    fn around(
        (store, environment, config): (Store, Environment, Arc<Config>),
        clock: ManualClock,
        provider: Arc<Provider>,
        backend: Arc<Backend>,
        key: Arc<KeyPair>,
        nonces: u8,
    ) -> Self {
        let limits = &config.limits;
        let caps = ReplayLimits {
            per_account: limits.live_proofs_of_member,
            per_source: 1,
            total: limits.live_proofs,
        };
        let live =
            SwitchablePort::from_port(Mutex::new(ReplayCache::new(ProofWindow::from_secs(30, 30), caps)));
        let registry = SwitchablePort::from_port(CachedRegistry::new(store.clone()));
        let [installations, keys, quota] = [(); 3].map(|()| SwitchablePort::from_port(store.clone()));
        let rates = SwitchablePort::from_port(MemoryRateLimiter::new(limits.counted));
        let nonce_key = NonceKey::from_bytes([nonces; 32]);
        let parts = GatewayParts {
            environment: environment.clone(),
            config: Arc::clone(&config),
            verifier: Arc::clone(&provider) as _,
            proofs: Arc::clone(&live) as _,
            nonce_key: nonce_key.clone(),
            registry: Arc::clone(&registry) as _,
            installations: Arc::clone(&installations) as _,
            rates: Arc::clone(&rates) as _,
            quota: Arc::clone(&quota) as _,
            bulkhead: Arc::new(MemoryBulkhead::new(limits.large_sets, Duration::from_secs(31))),
            keys: Arc::clone(&keys) as _,
            relay: Arc::clone(&backend) as _,
        };
        let gateway = gateway::Gateway::new(parts.into_ports().unwrap());
        Self {
            clock,
            environment,
            config,
            store,
            gateway,
            provider,
            backend,
            live,
            registry,
            installations,
            keys,
            quota,
            rates,
            nonces: NonceIssuer::new(&nonce_key, "gateway"),
            key,
        }
    }

    /// Replaces the gateway by a new one with the same store and without in-memory state, like a restart.
    pub(crate) fn restart(&mut self) {
        let around = (self.store.clone(), self.environment.clone(), Arc::clone(&self.config));
        let (provider, backend) = (Arc::clone(&self.provider), Arc::clone(&self.backend));
        *self = Self::around(around, self.clock.clone(), provider, backend, Arc::clone(&self.key), 8);
    }

    async fn seed(&self) {
        self.sql("INSERT INTO setting (name, value) VALUES ('exchange', 'on')").await;
        self.sql(&format!(
            "INSERT INTO client (id, name, state, created_at) VALUES ('{CLIENT}', 'A client', 'active', 0), \
             ('suspended', 'Another', 'suspended', 0)"
        ))
        .await;
        for scope in scopes() {
            self.sql(&format!("INSERT INTO client_scope (client, scope) VALUES ('{CLIENT}', '{scope}')"))
                .await;
        }
        self.token(TOKEN, |_| {});
    }

    /// Runs an SQL statement.
    pub(crate) async fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        let done = self.store.write(move |connection| Ok::<_, StoreError>(connection.execute_batch(&sql)?));
        done.await.unwrap();
    }

    /// Reads one number from the store.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let sql = sql.to_owned();
        let read = self
            .store
            .read(move |connection| Ok::<_, StoreError>(connection.query_row(&sql, [], |row| row.get(0))?));
        read.await.unwrap()
    }

    /// Registers a token that the identity provider accepts.
    pub(crate) fn token(&self, text: &str, change: impl FnOnce(&mut TokenClaims)) {
        let mut claims = TokenClaims {
            client: ClientId::from(CLIENT),
            member: MemberId::from(MEMBER),
            scopes: scopes().map(str::to_owned).collect(),
            jkt: Some(self.key.public_key().thumbprint().to_string()),
            audiences: BTreeSet::from([self.config.audience.clone()]),
            auth_time: NOW.minus(Duration::from_secs(60)),
            expires_at: NOW.plus(Duration::from_secs(86_400)),
        };
        change(&mut claims);
        self.provider.tokens.lock().unwrap().insert(text.to_owned(), Ok(claims));
    }

    /// Registers a token that the identity provider rejects.
    pub(crate) fn refused_token(&self, text: &str, error: TokenError) {
        self.provider.tokens.lock().unwrap().insert(text.to_owned(), Err(error));
    }

    pub(crate) fn now(&self) -> Moment {
        use exchange_service::time::Clock as _;
        self.clock.now()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) fn script(&self, script: Script) {
        *self.backend.script.lock().unwrap() = script;
    }

    /// Creates a valid request without a body.
    pub(crate) fn get(&self, target: &str) -> TestRequest {
        self.build_request("GET", target, Vec::new())
    }

    /// Creates a request with a JSON body.
    pub(crate) fn post(&self, target: &str, body: &str) -> TestRequest {
        let request = self.build_request("POST", target, body.as_bytes().to_vec());
        request.header("Content-Type", "application/json")
    }

    /// Creates a write with an idempotency key.
    pub(crate) fn write(&self, key: &str) -> TestRequest {
        self.post(WRITE, ADD).header("Idempotency-Key", key)
    }

    fn build_request(&self, method: &str, target: &str, body: Vec<u8>) -> TestRequest {
        let path = target.split('?').next().unwrap();
        let nonce = self.nonces.issue(self.now().to_unix_time());
        let htu = format!("{ORIGIN}{path}");
        TestRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            authorization: vec![format!("DPoP {TOKEN}")],
            proofs: None,
            headers: Vec::new(),
            body,
            coming: None,
            peer: PEER.to_owned(),
            draft: Draft::new(&self.key, method, &htu, self.now().as_secs())
                .token(TOKEN)
                .nonce(nonce.as_str()),
        }
    }

    /// Sends a request and validates the response against the contract.
    pub(crate) async fn send(&self, request: TestRequest) -> Reply {
        self.send_body(request, None).await
    }

    /// Sends a request with a streamed body and validates the response against the contract.
    pub(crate) async fn send_body(&self, request: TestRequest, body: Option<Body>) -> Reply {
        let (method, target) = (request.method.clone(), request.target.clone());
        let sent = serde_json::from_slice(&request.body).ok().filter(|_| body.is_none());
        let response = self.gateway.handle_request(request.into_request(body)).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let reply = Reply { status: parts.status.as_u16(), headers: parts.headers, bytes, body };
        reply.assert_contract(&method, &target, sent.as_ref());
        reply
    }

    pub(crate) async fn traces(&self) -> RequestEffects {
        let (client, member, day) = (ClientId::from(CLIENT), MemberId::from(MEMBER), self.now().utc_day());
        let writes = self
            .store
            .read(move |connection| quota::count_used(connection, &client, &member, day))
            .await
            .unwrap();
        let live = self.live.port.lock().unwrap().proof_count();
        let relayed = self.backend.received.lock().unwrap().len();
        RequestEffects {
            live,
            installations: self.count("SELECT count(*) FROM installation WHERE revoked_at IS NULL").await,
            writes,
            relayed,
            claims: self.count("SELECT count(*) FROM idempotency").await,
        }
    }

    /// Exhausts a rate limit.
    pub(crate) async fn exhaust(&self, bucket: RateBucket, policy: RatePolicy) {
        for _ in 0..policy.requests {
            self.rates.port.take_request(&bucket, policy, self.now()).await.unwrap();
        }
    }

    /// Records this number of used proofs for an account.
    pub(crate) fn fill(&self, account: &str, count: usize) {
        let mut live = self.live.port.lock().unwrap();
        for index in 0..count {
            let jti = format!("filled-{account}-{index:08}");
            let iat = self.now().as_secs().try_into().unwrap();
            let key = self.key.public_key().thumbprint();
            let proof = ReplayCandidate { key: &key, jti: &jti, holder: ProofHolder::Account(account), iat };
            live.admit(&proof, self.now().to_unix_time()).unwrap();
        }
    }
}

impl TestRequest {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self
    }

    /// Changes the unsigned proof.
    pub(crate) fn draft(mut self, change: impl FnOnce(Draft) -> Draft) -> Self {
        self.draft = change(self.draft);
        self
    }

    /// Replaces the serialized proof.
    pub(crate) fn proof(mut self, proof: impl Into<String>) -> Self {
        self.proofs = Some(vec![proof.into()]);
        self
    }

    /// Sets another token and binds the proof to it.
    pub(crate) fn token(mut self, token: &str) -> Self {
        self.authorization = vec![format!("DPoP {token}")];
        self.draft(|draft| draft.token(token))
    }

    pub(crate) fn with_peer(mut self, peer: &str) -> Self {
        peer.clone_into(&mut self.peer);
        self
    }

    /// Builds the request for a gateway or a server.
    pub(crate) fn into_request(self, body: Option<Body>) -> Request<Body> {
        let mut request = Request::builder().method(self.method.as_str()).uri(&self.target);
        for authorization in &self.authorization {
            request = request.header("Authorization", authorization);
        }
        for proof in self.proofs.unwrap_or_else(|| vec![self.draft.proof()]) {
            request = request.header("DPoP", proof);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.as_bytes());
        }
        request = request.extension(PeerAddr(self.peer.parse().unwrap()));
        let body = body.or_else(|| self.coming.map(|coming| coming()));
        request.body(body.unwrap_or_else(|| Body::from(self.body))).unwrap()
    }
}

impl Reply {
    /// Validates the response against the schema files. Delays are in headers, never in a problem (ERR-03).
    fn assert_contract(&self, method: &str, target: &str, sent: Option<&Value>) {
        if method == "HEAD" || self.status == 204 || self.status == 304 {
            assert!(self.bytes.is_empty());
        } else {
            CONTRACT_VALIDATOR.exchanged((method, target), sent, (self.status, &self.body));
        }
        if self.status >= 400 && method != "HEAD" {
            assert_eq!(self.header("content-type"), Some("application/problem+json"));
            assert_eq!(self.body["status"], self.status);
            assert_eq!(self.body.get("retryAfterSeconds"), None);
            if matches!(self.status, 429 | 503) {
                let wait: u64 = self.header("retry-after").expect("a delay in seconds").parse().unwrap();
                assert!(wait >= 1);
            }
            assert_eq!(self.header("x-correlation-id"), self.body["correlationId"].as_str());
        }
        assert!(self.has("x-correlation-id") && self.has("date"));
        assert!(self.headers.iter().all(|(name, _)| self.headers.get_all(name).iter().count() == 1));
    }
}

/// Returns all scopes of the exchange.
pub(crate) fn scopes() -> impl Iterator<Item = &'static str> {
    let all_scopes: BTreeSet<&str> =
        TABLE.all().iter().flat_map(|operation| operation.scopes).copied().flatten().copied().collect();
    all_scopes.into_iter()
}
