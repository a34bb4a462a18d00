//! Counts the instructions of single backend steps with `valgrind --tool=callgrind`. The count does not
//! depend on the load of the machine.
//!
//! ```text
//! cargo bench -p exchange-service --bench instructions --no-run      prints the path of PROGRAM
//! valgrind --tool=callgrind --zero-before=instructions::counted --dump-after=instructions::counted PROGRAM raise
//! ```
//!
//! The count is in the line `totals` of the output file with the suffix `.1`. [`STEPS`] lists the steps. Each
//! step sends a request through the generated endpoints to a store on disk. The count includes reading the
//! request body, the threads of the store's writer and readers, and writing the response, but not the
//! gateway. The number of pages that the step wrote to the store's log is printed separately.
//!
//! `signed-document` and `signed-page` are a hundred signed reads each, sent through the gateway with a
//! cached token. Their count includes everything except connections, HTTP parsing, logs and metrics.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic ends the benchmark")]
#![allow(clippy::print_stdout, reason = "the benchmark prints its results")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use contract_runtime::server::{Endpoints, RouterOptions};
use dpop_bound::{
    AccessToken, Htu, KeyPair, MaybeReady, Nonce, ProofRequest, Prover, SystemRandom, UnixTime,
};
use exchange_api::scopes::Scope;
use exchange_api::server::endpoints;
use exchange_service::Environment;
use exchange_service::backend::Backend;
use exchange_service::caller::Caller;
use exchange_service::catalogue::contents::{
    CatalogueContents, EntryKind, NewEntry, NewLocation, replace_contents,
};
use exchange_service::config::Config;
use exchange_service::gateway::{Gateway, GatewayParts};
use exchange_service::idp::tokens::{TokenClaims, TokenVerifier, VerificationFuture};
use exchange_service::ids::{InstallationId, MemberId};
use exchange_service::relay::LocalRelay;
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use exchange_service::time::{Clock as _, Moment, SystemClock};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A step: its name, and a function that prepares it and returns the measured requests.
type Step = (&'static str, fn(&BenchmarkService) -> TestRequest);

const STEPS: [Step; 9] = [
    ("raise", |harness| harness.set(OWN_STOCK, &stock(1, 2))),
    ("lower", |harness| {
        harness.send(harness.set(OWN_STOCK, &stock(1, 2)));
        harness.set(OWN_STOCK, &stock(2, 1))
    }),
    ("book-in", |harness| harness.set(POOLS, &harness.book_in(0))),
    ("book-out", |harness| harness.set(POOLS, &harness.book_out())),
    ("add", |harness| harness.set(BLUEPRINTS, &blueprints("add"))),
    ("remove", |harness| {
        harness.send(harness.set(BLUEPRINTS, &blueprints("add")));
        harness.set(BLUEPRINTS, &blueprints("remove"))
    }),
    ("lots", |_| get(&format!("{OWN_STOCK}?limit=500"))),
    ("pool", |_| get(&format!("{POOLS}?limit=500"))),
    ("blueprints", |harness| {
        harness.send(harness.set(BLUEPRINTS, &blueprints("add")));
        get(&format!("{BLUEPRINTS}?limit=100"))
    }),
];

const BLUEPRINTS: &str = "/exchange/v1/me/blueprints";
const OWN_STOCK: &str = "/exchange/v1/me/stock";
const POOLS: &str = "/exchange/v1/org-stock";
const UNIT: &str = "u";
/// The number of ops per change set and of lots of the member.
const OPS: usize = 500;
/// The number of lots in the pool.
const POOL: usize = 5000;
const MATERIALS: usize = 100;

/// A request to the generated endpoints.
type TestRequest = http::Request<Body>;

/// The number of signed reads that are counted together, and of uncounted reads before them.
const READS: usize = 100;

/// Returns the path and the query of a step with signed reads; the query includes its question mark.
fn signed_read_target(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "signed-document" => Some(("/exchange/v1", "")),
        "signed-page" => Some((BLUEPRINTS, "?limit=100")),
        _ => None,
    }
}

fn main() {
    let filters: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    // `cargo bench` runs this program without arguments; then it prints nothing.
    let [name] = filters.as_slice() else { return };
    if let Some(path) = signed_read_target(name) {
        return signed_reads(name, path);
    }
    let step = STEPS.into_iter().find(|(step, _)| step == name);
    let Some((_, step)) = step else { panic!("{name} is not one of {:?}", STEPS.map(|(step, _)| step)) };
    let harness = BenchmarkService::new();
    harness.fill();
    let request = step(&harness);
    let log = Log::truncated(&harness);
    let response = counted(|request| harness.send(request), request);
    println!("{name}: {} pages of the log, an answer of {} bytes", log.pages(), response.len());
}

#[inline(never)]
fn counted<A, B>(work: impl FnOnce(A) -> B, input: A) -> B {
    black_box(work(black_box(input)))
}

/// Sends reads through the gateway, first without counting and then with counting.
fn signed_reads(name: &str, (path, query): (&str, &str)) {
    let harness = BenchmarkService::new();
    harness.fill();
    harness.send(harness.set(BLUEPRINTS, &blueprints("add")));
    let mut config = Config::default();
    let limits = &mut config.limits;
    (limits.per_address, limits.per_member, limits.per_client) = (1_000_000, 1_000_000, 1_000_000);
    let claims = TokenClaims {
        client: harness.caller.client.clone(),
        member: harness.caller.member.clone(),
        scopes: harness.caller.scopes.clone(),
        jkt: None,
        audiences: [config.audience.clone()].into(),
        auth_time: harness.caller.auth_time,
        expires_at: SystemClock.now().plus(Duration::from_secs(3600)),
    };
    let htu = Htu::from_url(&format!("{}{path}", config.gateway_origin)).unwrap();
    // The token is as long as one of the identity provider.
    let token = AccessToken::new("t".repeat(1000)).unwrap();
    let prover = Prover::new(KeyPair::generate().unwrap(), SystemRandom);
    let jkt = prover.signer().public_key().thumbprint().to_string();
    let verifier = Arc::new(AcceptingVerifier(TokenClaims { jkt: Some(jkt), ..claims }));
    let relay = Arc::new(LocalRelay::new(Arc::new(harness.endpoints.service().clone())));
    let environment = Environment::system();
    let parts =
        GatewayParts::in_process(&harness.store, &environment, &Arc::new(config), verifier, relay).unwrap();
    let gateway = Gateway::new(parts.into_ports().unwrap());

    let send = |nonce: &Nonce| {
        let iat = UnixTime::from_millis(u64::try_from(SystemClock.now().as_millis()).unwrap());
        let request =
            ProofRequest { method: "GET", htu: &htu, iat, nonce: Some(nonce), token: Some(token.hash()) };
        http::Request::get(format!("{path}{query}"))
            .header("host", "localhost:3000")
            .header("authorization", token.authorization().as_str())
            .header("user-agent", "LoadTest/1.0.0 (+https://client.example)")
            .header("accept", "application/json")
            .header("dpop", prover.prove_now(&request).unwrap().into_string())
            .body(Body::empty())
            .unwrap()
    };
    let response = async |requested: TestRequest| {
        let (head, body) = gateway.handle_request(requested).await.into_parts();
        (head, to_bytes(body, 8 << 20).await.unwrap())
    };
    let challenged = harness.runtime.block_on(response(send(&Nonce::new("none-yet").unwrap()))).0;
    let nonce = Nonce::new(challenged.headers["dpop-nonce"].to_str().unwrap()).unwrap();
    let all = |requested: Vec<TestRequest>| {
        harness.runtime.block_on(async {
            let mut bytes = 0;
            for requested in requested {
                let (head, body) = response(requested).await;
                assert_eq!(head.status, 200, "{}", String::from_utf8_lossy(&body));
                bytes = body.len();
            }
            bytes
        })
    };
    let some = || (0..READS).map(|_| send(&nonce)).collect::<Vec<_>>();
    all(some());
    let bytes = counted(all, some());
    println!("{name}: {READS} reads, an answer of {bytes} bytes");
}

/// A verifier that accepts every token.
#[derive(Debug)]
struct AcceptingVerifier(TokenClaims);

impl TokenVerifier for AcceptingVerifier {
    fn verify_token<'a>(&'a self, _: &'a str, _: Moment) -> VerificationFuture<'a> {
        MaybeReady::ready(Ok(self.0.clone()))
    }
}

/// The store's log. The open snapshot prevents the store from writing it back to the database.
struct Log {
    file: PathBuf,
    _snapshot: Connection,
}

impl Log {
    fn truncated(harness: &BenchmarkService) -> Self {
        let file = harness.folder.path().join("exchange.db");
        let snapshot = Connection::open(&file).unwrap();
        snapshot.busy_timeout(Duration::from_secs(5)).unwrap();
        let empty = "PRAGMA wal_checkpoint(TRUNCATE)";
        // This fails while the service runs its own checkpoint, regardless of the timeout.
        let is_busy = || snapshot.query_row(empty, [], |row| row.get::<_, bool>(0)).unwrap();
        while is_busy() {
            std::thread::yield_now();
        }
        snapshot.execute_batch("BEGIN; SELECT * FROM setting").unwrap();
        let log = Self { file: file.with_extension("db-wal"), _snapshot: snapshot };
        assert_eq!(log.pages(), 0);
        log
    }

    /// Returns the number of pages in the log; each has 4 KiB and a header of 24 bytes.
    fn pages(&self) -> u64 {
        std::fs::metadata(&self.file).unwrap().len() / 4120
    }
}

struct BenchmarkService {
    runtime: Runtime,
    folder: TempDir,
    store: Store,
    endpoints: Endpoints<Backend>,
    caller: Caller,
}

impl BenchmarkService {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        // A single reader, so that the counted request uses prepared statements.
        let options =
            StoreOptions { readers: 1, ..StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())) };
        let store = Store::open(&options).unwrap();
        let mut config = Config::default();
        config.guard.removals = u32::MAX;
        config.guard.removals_of_share = u32::MAX;
        let backend = Backend::new(store.clone(), Environment::system(), Arc::new(config));
        let backend = runtime.block_on(backend).unwrap();
        let endpoints = endpoints(Arc::new(backend), RouterOptions::default());
        let caller = Caller {
            member: MemberId::new("m"),
            client: "c".into(),
            installation: Some(InstallationId::new("i")),
            jkt: "jkt".to_owned(),
            scopes: Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect(),
            auth_time: SystemClock.now(),
            correlation_id: "c-1".to_owned(),
            claim: None,
        };
        Self { runtime, folder, store, endpoints, caller }
    }

    /// Adds a member, a catalogue, the member's lots and a pool, and prepares the statements.
    fn fill(&self) {
        let seed = |connection: &Connection| {
            connection.execute_batch(SEED)?;
            for scope in Scope::ALL {
                connection.execute("INSERT INTO client_scope VALUES ('c', ?1)", [scope.as_str()])?;
            }
            replace_contents(connection, &SystemRandom, &contents())
        };
        self.runtime.block_on(self.store.write(seed)).unwrap();
        self.send(self.set(OWN_STOCK, &stock(0, 1)));
        for first in (0..POOL).step_by(OPS) {
            self.send(self.set(POOLS, &self.book_in(first)));
        }
        for op in ["add", "remove"] {
            self.send(self.set(BLUEPRINTS, &blueprints(op)));
        }
        for collection in [BLUEPRINTS, OWN_STOCK, POOLS] {
            self.send(get(&format!("{collection}?limit=1")));
        }
    }

    /// Sends a request and returns the response body.
    fn send(&self, mut request: TestRequest) -> Vec<u8> {
        request.extensions_mut().insert(self.caller.clone());
        let reply = self.runtime.block_on(async {
            let response = self.endpoints.serve_request(request).await;
            (response.status(), to_bytes(response.into_body(), 8 << 20).await.unwrap())
        });
        let (status, body) = reply;
        assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
        body.to_vec()
    }

    fn json(&self, request: TestRequest) -> Value {
        serde_json::from_slice(&self.send(request)).unwrap()
    }

    /// Builds a dry-run change set in which every op can be applied.
    fn set(&self, collection: &str, ops: &[Value]) -> TestRequest {
        let body = json!({ "ops": ops, "dryRun": true }).to_string();
        let response = self.json(post(collection, body));
        assert_eq!(response["applied"], ops.len(), "all ops are applied");
        post(collection, json!({ "ops": ops }).to_string())
    }

    fn book_in(&self, first: usize) -> Vec<Value> {
        let roster = self.json(get(&format!("{POOLS}/members?unit={UNIT}")));
        let op = json!({
            "op": "book-in", "unit": UNIT, "holder": roster["items"][0]["ref"], "mergeScu": true,
            "quantity": scu(1),
        });
        (first..first + OPS).map(|number| with_fields(lot(number), &op)).collect()
    }

    fn book_out(&self) -> Vec<Value> {
        let pool = self.json(get(&format!("{POOLS}?limit={OPS}")));
        let op = |lot: &Value| {
            let entry = &lot["entries"][0];
            json!({
                "op": "book-out", "unit": UNIT, "entry": entry["id"], "version": entry["version"],
                "quantity": { "amount": 0.5, "unit": "SCU" },
            })
        };
        pool["items"].as_array().unwrap().iter().map(op).collect()
    }
}

fn get(uri: &str) -> TestRequest {
    http::Request::get(uri).body(Body::empty()).unwrap()
}

fn post(collection: &str, body: String) -> TestRequest {
    http::Request::post(format!("{collection}/changes"))
        .header("Content-Type", "application/json")
        .header("Idempotency-Key", "key-0001")
        .body(Body::from(body))
        .unwrap()
}

const SEED: &str = "
    INSERT INTO setting (name, value) VALUES ('exchange', 'on');
    INSERT INTO member (id, name, state, has_role, created_at) VALUES ('m', 'One', 'active', 1, 0);
    INSERT INTO unit (id, name, shorthand, kind) VALUES ('u', 'First Unit', 'ONE', 'SQUADRON');
    INSERT INTO membership (member, unit, logistician) VALUES ('m', 'u', 1);
    INSERT INTO client (id, name, state, created_at) VALUES ('c', 'First client', 'active', 0);
    INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) VALUES ('i', 'c', 'm', 'jkt', 0, 0);";

fn contents() -> CatalogueContents {
    let material = |number: usize| {
        let entry =
            NewEntry::new(EntryKind::Material, format!("metal-{number:03}"), format!("Metal {number:03}"));
        NewEntry { facts: json!({ "unit": "SCU", "type": "REFINED", "refined": true }), ..entry }
    };
    let product = |number: usize| {
        NewEntry::new(EntryKind::Blueprint, format!("bp-{number:03}"), format!("Pattern {number:03}"))
    };
    let location = |number: i64| NewLocation {
        id: format!("city-{number}"),
        name: format!("City {number}"),
        city: Some(number),
        station: None,
        hidden: false,
    };
    let entries = (0..MATERIALS).map(material).chain((0..OPS).map(product)).collect();
    CatalogueContents { entries, aliases: Vec::new(), locations: [1, 2].map(location).to_vec() }
}

/// Returns the lot with this number; the numbers cover all combinations of location, material and quality.
fn lot(number: usize) -> Value {
    json!({
        "material": { "bt": format!("metal-{:03}", number % MATERIALS) },
        "location": { "uex": { "kind": "CITY", "id": number / MATERIALS % 2 + 1 } },
        "quality": number / MATERIALS / 2,
        "stolen": false,
    })
}

fn with_fields(mut one: Value, more: &Value) -> Value {
    one.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one
}

fn scu(amount: u32) -> Value {
    json!({ "amount": amount, "unit": "SCU" })
}

fn stock(before: u32, after: u32) -> Vec<Value> {
    let op = json!({ "op": "set-quantity", "expectedQuantity": scu(before), "quantity": scu(after) });
    // These lots are not in the pool, because all lots of the pool also belong to the member.
    (POOL..POOL + OPS).map(|number| with_fields(lot(number), &op)).collect()
}

fn blueprints(op: &str) -> Vec<Value> {
    let one = |number| json!({ "op": op, "opId": format!("op-{number}"), "ref": { "bt": format!("bp-{number:03}") } });
    (0..OPS).map(one).collect()
}
