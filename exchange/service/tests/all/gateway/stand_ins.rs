//! Stand-ins for tests: a configurable identity provider and backend, and ports that can be switched off.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use contract_runtime::server::{Bytes, EncodedResponse, HeaderMap, StatusCode};
use dpop_bound::replay::{AdmitFuture, ReplayCandidate, ReplayError};
use dpop_bound::{MaybeReady, ProofWindow, ReplayCache, ReplayStore, UnixTime};
use exchange_service::Caller;
use exchange_service::Environment;
use exchange_service::gateway::facts::InstallationStatus;
use exchange_service::gateway::ports::{
    InstallationKey, InstallationStore, KeyRequest, KeyStore, RecordedCall,
};
use exchange_service::idempotency::{self, ClaimOutcome, Completion, KeyRetention};
use exchange_service::idp::tokens::{TokenClaims, TokenError, TokenVerifier, VerificationFuture};
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::registry::Registry;
use exchange_service::relay::{Relay, RelayError, RelayFuture, RelayedRequest};
use exchange_service::shared::SharedStateError;
use exchange_service::shared::quota::{QuotaCounter, WriteCount};
use exchange_service::shared::rate::{DrawOutcome, MemoryRateLimiter, RateBucket, RateLimiter, RatePolicy};
use exchange_service::shared::registry::{CachedRegistry, RegistryView};
use exchange_service::store::{Store, StoreError};
use exchange_service::time::Moment;
use tokio::sync::Notify;

/// An identity provider that returns a configured result for each token.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    pub(crate) tokens: Mutex<HashMap<String, Result<TokenClaims, TokenError>>>,
    pub(crate) received: Mutex<usize>,
}

impl TokenVerifier for Provider {
    fn verify_token<'a>(&'a self, token: &'a str, now: Moment) -> VerificationFuture<'a> {
        *self.received.lock().unwrap() += 1;
        let outcome = self.tokens.lock().unwrap().get(token).cloned();
        MaybeReady::ready(match outcome {
            Some(Ok(claims)) if claims.expires_at <= now => Err(TokenError::Expired),
            Some(outcome) => outcome,
            None => Err(TokenError::Malformed),
        })
    }
}

/// The reaction of the backend to a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Script {
    /// Returns a fixture of the response's schema and completes the claim in the backend's transaction, like
    /// a write.
    #[default]
    Fixture,
    /// Returns this response and completes the claim in the backend's transaction.
    Completes(EncodedResponse),
    /// Returns this response and leaves the claim to the gateway, like a rejection that rolled back its
    /// write.
    Answers(EncodedResponse),
    /// Fails with this error.
    Fails(RelayError),
    /// Never responds.
    Hangs,
}

/// A backend that records its requests.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) store: Store,
    pub(crate) environment: Environment,
    pub(crate) script: Mutex<Script>,
    /// Whether the backend reports that it validates its responses.
    pub(crate) checks: AtomicBool,
    pub(crate) received: Mutex<Vec<(&'static str, Caller)>>,
    /// Notified of every request.
    pub(crate) reached: Notify,
}

impl Relay for Backend {
    fn send_request(&self, request: RelayedRequest) -> RelayFuture<'_> {
        let operation = request.call.operation().id;
        let seen = request.call.context().extension::<Caller>().expect("the caller in the context");
        assert_eq!(seen, request.caller);
        for secret in ["authorization", "dpop"] {
            assert!(
                request.call.context().header(secret).is_none(),
                "the header {secret} reached the backend"
            );
        }
        self.received.lock().unwrap().push((operation, request.caller.clone()));
        self.reached.notify_one();
        let script = self.script.lock().unwrap().clone();
        Box::pin(async move {
            match script {
                Script::Fixture => self.complete(request.caller, fixture(operation)).await,
                Script::Completes(response) => self.complete(request.caller, response).await,
                Script::Answers(response) => Ok(response),
                Script::Fails(failure) => Err(failure),
                Script::Hangs => std::future::pending().await,
            }
        })
    }

    fn validates_answers(&self) -> bool {
        self.checks.load(Ordering::SeqCst)
    }
}

impl Backend {
    async fn complete(
        &self,
        caller: Caller,
        response: EncodedResponse,
    ) -> Result<EncodedResponse, RelayError> {
        let (completed, now) = (response.clone(), self.environment.now());
        let done = self
            .store
            .write(move |connection| idempotency::complete_claim(connection, &caller, &completed, now));
        match done.await {
            Ok::<_, StoreError>(Completion::Lost) | Err(_) => Err(RelayError::Failed),
            Ok(_) => Ok(response),
        }
    }
}

/// Returns a valid response of an operation.
pub(crate) fn fixture(operation: &str) -> EncodedResponse {
    let file = match operation {
        "service_document" => "service-document/valid/minimal.json",
        "installation_label" => "installation/valid/full.json",
        "account_check" => "account-check-response/valid/match.json",
        "catalog_resolve" => "resolve-response/valid/minimal.json",
        "catalog_locations" => "location-list/valid/two.json",
        "blueprints_read" => "page--blueprintPage/valid/minimal.json",
        "stock_read" => "page--stockPage/valid/minimal.json",
        "ships_read" => "page--shipPage/valid/minimal.json",
        "org_stock_read" => "page--orgStockPage/valid/minimal.json",
        "org_units_read" => "org-unit-list/valid/two.json",
        "drafts_blueprints" => "draft-result/valid/blueprint.json",
        "drafts_refinery" => "draft-result/valid/refinery.json",
        "org_stock_members" => "org-stock-members/valid/minimal.json",
        "demand_read" => "org-demand/valid/minimal.json",
        _ => "change-result/valid/minimal.json",
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/fixtures").join(file);
    let body = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    EncodedResponse { status: StatusCode::OK, headers, body: Bytes::from(body) }
}

/// A port to shared state that can be switched off.
#[derive(Debug)]
pub(crate) struct SwitchablePort<T> {
    pub(crate) port: T,
    off: AtomicBool,
    /// Whether the port is also off for the limits per address, which are checked first.
    wholly: AtomicBool,
}

impl<T> SwitchablePort<T> {
    pub(crate) fn from_port(port: T) -> Arc<Self> {
        Arc::new(Self { port, off: AtomicBool::new(false), wholly: AtomicBool::new(false) })
    }

    pub(crate) fn off(&self) {
        self.off.store(true, Ordering::SeqCst);
    }

    pub(crate) fn wholly_off(&self) {
        self.wholly.store(true, Ordering::SeqCst);
        self.off();
    }

    fn get(&self) -> Result<&T, SharedStateError> {
        if self.off.load(Ordering::SeqCst) { Err(SharedStateError) } else { Ok(&self.port) }
    }
}

impl ReplayStore for SwitchablePort<Mutex<ReplayCache>> {
    fn window(&self) -> ProofWindow {
        self.port.window()
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        match self.get() {
            Ok(port) => ReplayStore::admit(port, proof, now),
            Err(SharedStateError) => MaybeReady::ready(Err(ReplayError::Unavailable)),
        }
    }
}

impl RegistryView for SwitchablePort<CachedRegistry> {
    fn view(&self, now: Moment) -> MaybeReady<'_, Result<Arc<Registry>, SharedStateError>> {
        match self.get() {
            Ok(port) => port.view(now),
            Err(SharedStateError) => MaybeReady::ready(Err(SharedStateError)),
        }
    }
}

impl RateLimiter for SwitchablePort<MemoryRateLimiter> {
    fn take_request<'a>(
        &'a self,
        bucket: &'a RateBucket,
        policy: RatePolicy,
        now: Moment,
    ) -> MaybeReady<'a, Result<DrawOutcome, SharedStateError>> {
        // Unless the port is completely off, the limits per address still work, and only the later ones are
        // off.
        let is_source = matches!(bucket, RateBucket::Address(_)) && !self.wholly.load(Ordering::SeqCst);
        match self.get() {
            Err(SharedStateError) if !is_source => MaybeReady::ready(Err(SharedStateError)),
            _ => self.port.take_request(bucket, policy, now),
        }
    }
}

impl QuotaCounter for SwitchablePort<Store> {
    fn take_writes<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: WriteCount,
    ) -> MaybeReady<'a, Result<bool, SharedStateError>> {
        match self.get() {
            Ok(port) => QuotaCounter::take_writes(port, client, member, day, writes),
            Err(SharedStateError) => MaybeReady::ready(Err(SharedStateError)),
        }
    }

    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> MaybeReady<'a, Result<(), SharedStateError>> {
        QuotaCounter::give_back(&self.port, client, member, day, count)
    }
}

impl InstallationStore for SwitchablePort<Store> {
    fn status(
        &self,
        installation: InstallationKey,
    ) -> MaybeReady<'_, Result<InstallationStatus, SharedStateError>> {
        match self.get() {
            Ok(port) => port.status(installation),
            Err(SharedStateError) => MaybeReady::ready(Err(SharedStateError)),
        }
    }

    fn record_call<'a>(
        &'a self,
        installation: InstallationKey,
        environment: &'a Environment,
    ) -> MaybeReady<'a, Result<Option<RecordedCall>, SharedStateError>> {
        match self.get() {
            Ok(port) => port.record_call(installation, environment),
            Err(SharedStateError) => MaybeReady::ready(Err(SharedStateError)),
        }
    }
}

impl KeyStore for SwitchablePort<Store> {
    fn claim(
        &self,
        key_request: KeyRequest,
        terms: KeyRetention,
        now: Moment,
    ) -> MaybeReady<'_, Result<ClaimOutcome, SharedStateError>> {
        match self.get() {
            Ok(port) => port.claim(key_request, terms, now),
            Err(SharedStateError) => MaybeReady::ready(Err(SharedStateError)),
        }
    }

    fn complete(
        &self,
        caller: Caller,
        response: EncodedResponse,
        now: Moment,
    ) -> MaybeReady<'_, Result<Completion, SharedStateError>> {
        self.port.complete(caller, response, now)
    }
}
