//! A provider and a backend that do as they are told, and ports that can be switched off.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use contract_runtime::server::{Answer, Bytes, HeaderMap, StatusCode};
use dpop_bound::live::{Admission, Candidate, LiveRefusal};
use dpop_bound::{LiveProofs, Pending, ReplayStore, UnixTime, Window};
use exchange_service::Caller;
use exchange_service::Environment;
use exchange_service::gateway::facts::Standing;
use exchange_service::gateway::ports::{Asked, Installations, Keys, Of, Seen};
use exchange_service::idempotency::{self, Completion, Found, Terms};
use exchange_service::idp::tokens::{TokenClaims, TokenRefusal, Verifier, Verifying};
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::registry::Registry;
use exchange_service::relay::{Relay, RelayFailure, Relayed, Relaying};
use exchange_service::shared::Unavailable;
use exchange_service::shared::quota::{QuotaCounter, Writes};
use exchange_service::shared::rate::{Bucket, MemoryRates, Policy, RateLimiter, Taken};
use exchange_service::shared::registry::{CachedRegistry, RegistryView};
use exchange_service::store::{Store, StoreError};
use exchange_service::time::Moment;
use tokio::sync::Notify;

/// Tokens by their text.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    pub(crate) tokens: Mutex<HashMap<String, Result<TokenClaims, TokenRefusal>>>,
    pub(crate) asked: Mutex<usize>,
}

impl Verifier for Provider {
    fn verify<'a>(&'a self, token: &'a str, now: Moment) -> Verifying<'a> {
        *self.asked.lock().unwrap() += 1;
        let known = self.tokens.lock().unwrap().get(token).cloned();
        Pending::ready(match known {
            Some(Ok(claims)) if claims.expires_at <= now => Err(TokenRefusal::Expired),
            Some(known) => known,
            None => Err(TokenRefusal::Malformed),
        })
    }
}

/// What the backend does with a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Script {
    /// Answers with a fixture of its schema, and completes the claim in a transaction of its own, as a write does.
    #[default]
    Fixture,
    /// The same with this answer.
    Completes(Answer),
    /// Answers this, and leaves the claim to the gateway, as a refusal does that undid its write.
    Answers(Answer),
    /// Does not answer.
    Fails(RelayFailure),
    /// Never answers.
    Hangs,
}

/// A backend that remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) store: Store,
    pub(crate) environment: Environment,
    pub(crate) script: Mutex<Script>,
    /// Whether it says that its answers are checked.
    pub(crate) checks: AtomicBool,
    pub(crate) asked: Mutex<Vec<(&'static str, Caller)>>,
    /// Told of every request.
    pub(crate) reached: Notify,
}

impl Relay for Backend {
    fn relay(&self, request: Relayed) -> Relaying<'_> {
        let operation = request.call.operation().id;
        let seen = request.call.context().extension::<Caller>().expect("the caller in the context");
        assert_eq!(seen, request.caller);
        for secret in ["authorization", "dpop"] {
            assert!(request.call.context().header(secret).is_none(), "{secret} stays in front");
        }
        self.asked.lock().unwrap().push((operation, request.caller.clone()));
        self.reached.notify_one();
        let script = self.script.lock().unwrap().clone();
        Box::pin(async move {
            match script {
                Script::Fixture => self.complete(request.caller, fixture(operation)).await,
                Script::Completes(answer) => self.complete(request.caller, answer).await,
                Script::Answers(answer) => Ok(answer),
                Script::Fails(failure) => Err(failure),
                Script::Hangs => std::future::pending().await,
            }
        })
    }

    fn checks(&self) -> bool {
        self.checks.load(Ordering::SeqCst)
    }
}

impl Backend {
    async fn complete(&self, caller: Caller, answer: Answer) -> Result<Answer, RelayFailure> {
        let (given, now) = (answer.clone(), self.environment.now());
        let done =
            self.store.write(move |connection| idempotency::complete(connection, &caller, &given, now));
        match done.await {
            Ok::<_, StoreError>(Completion::Lost) | Err(_) => Err(RelayFailure::Unreachable),
            Ok(_) => Ok(answer),
        }
    }
}

/// A valid answer of an operation.
pub(crate) fn fixture(operation: &str) -> Answer {
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
    Answer { status: StatusCode::OK, headers, body: Bytes::from(body) }
}

/// A port that can be switched off.
#[derive(Debug)]
pub(crate) struct Switched<T> {
    pub(crate) port: T,
    off: AtomicBool,
    /// Whether it is off for all who ask: limits of sources are asked before everything else.
    wholly: AtomicBool,
}

impl<T> Switched<T> {
    pub(crate) fn on(port: T) -> Arc<Self> {
        Arc::new(Self { port, off: AtomicBool::new(false), wholly: AtomicBool::new(false) })
    }

    pub(crate) fn off(&self) {
        self.off.store(true, Ordering::SeqCst);
    }

    pub(crate) fn wholly_off(&self) {
        self.wholly.store(true, Ordering::SeqCst);
        self.off();
    }

    fn get(&self) -> Result<&T, Unavailable> {
        if self.off.load(Ordering::SeqCst) { Err(Unavailable) } else { Ok(&self.port) }
    }
}

impl ReplayStore for Switched<Mutex<LiveProofs>> {
    fn window(&self) -> Window {
        self.port.window()
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        match self.get() {
            Ok(port) => ReplayStore::admit(port, proof, now),
            Err(Unavailable) => Pending::ready(Err(LiveRefusal::Unavailable)),
        }
    }
}

impl RegistryView for Switched<CachedRegistry> {
    fn view(&self, now: Moment) -> Pending<'_, Result<Arc<Registry>, Unavailable>> {
        match self.get() {
            Ok(port) => port.view(now),
            Err(Unavailable) => Pending::ready(Err(Unavailable)),
        }
    }
}

impl RateLimiter for Switched<MemoryRates> {
    fn take<'a>(
        &'a self,
        bucket: &'a Bucket,
        policy: Policy,
        now: Moment,
    ) -> Pending<'a, Result<Taken, Unavailable>> {
        // The source is still counted, unless it is off for all: only what comes later is off.
        let is_source = matches!(bucket, Bucket::Address(_)) && !self.wholly.load(Ordering::SeqCst);
        match self.get() {
            Err(Unavailable) if !is_source => Pending::ready(Err(Unavailable)),
            _ => self.port.take(bucket, policy, now),
        }
    }
}

impl QuotaCounter for Switched<Store> {
    fn take<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: Writes,
    ) -> Pending<'a, Result<bool, Unavailable>> {
        match self.get() {
            Ok(port) => QuotaCounter::take(port, client, member, day, writes),
            Err(Unavailable) => Pending::ready(Err(Unavailable)),
        }
    }

    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> Pending<'a, Result<(), Unavailable>> {
        QuotaCounter::give_back(&self.port, client, member, day, count)
    }
}

impl Installations for Switched<Store> {
    fn standing(&self, of: Of) -> Pending<'_, Result<Standing, Unavailable>> {
        match self.get() {
            Ok(port) => port.standing(of),
            Err(Unavailable) => Pending::ready(Err(Unavailable)),
        }
    }

    fn seen<'a>(
        &'a self,
        of: Of,
        environment: &'a Environment,
    ) -> Pending<'a, Result<Option<Seen>, Unavailable>> {
        match self.get() {
            Ok(port) => port.seen(of, environment),
            Err(Unavailable) => Pending::ready(Err(Unavailable)),
        }
    }
}

impl Keys for Switched<Store> {
    fn claim(&self, asked: Asked, terms: Terms, now: Moment) -> Pending<'_, Result<Found, Unavailable>> {
        match self.get() {
            Ok(port) => port.claim(asked, terms, now),
            Err(Unavailable) => Pending::ready(Err(Unavailable)),
        }
    }

    fn settle(
        &self,
        caller: Caller,
        answer: Answer,
        now: Moment,
    ) -> Pending<'_, Result<Completion, Unavailable>> {
        self.port.settle(caller, answer, now)
    }
}
