//! Tests of the backend behind the generated trait, without a gateway: each test puts a caller into the
//! request context.

mod blueprints;
mod bounds;
mod catalogue;
mod connection;
mod cursors;
mod demand;
mod demand_model;
mod drafts;
mod drafts_pages;
mod fixtures;
mod guard_model;
mod held_batches;
mod model;
mod org_stock;
mod org_stock_model;
mod org_stock_reasons;
mod org_stock_undo;
mod org_stock_undo_model;
mod org_stock_writes;
mod own_pages;
mod paths;
mod reader;
mod ships;
mod ships_model;
mod stock;
mod stock_bookings;
mod stock_model;
mod undo;
mod undo_model;
mod undo_moves;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use contract_runtime::server::{Endpoints, HeaderMap, RouterOptions};
use dpop_bound::SystemRandom;
use exchange_api::operations::TABLE;
use exchange_api::scopes::Scope;
use exchange_api::server::endpoints;
use exchange_api::types::ChangeResult;
use exchange_service::backend::{Backend, set_defaults};
use exchange_service::caller::Caller;
use exchange_service::catalogue::contents::{
    CatalogueContents, EntryAlias, EntryKind, NewEntry, NewLocation, replace_contents,
};
use exchange_service::config::Config;
use exchange_service::environment::Environment;
use exchange_service::feed::retention;
use exchange_service::ids::{InstallationId, MemberId};
use exchange_service::names::DisplayName;
use exchange_service::store::{Store, StoreError, StoreLocation, StoreOptions};
use exchange_service::time::{Clock as _, ManualClock, Moment};
use exchange_service::upkeep::Upkeep;
use serde_json::{Value, json};

use crate::support::CONTRACT_VALIDATOR;

const DAY: Duration = Duration::from_secs(86_400);
const WRITE: &str = "/exchange/v1/me/blueprints/changes";
const READ: &str = "/exchange/v1/me/blueprints";

/// A backend with test data: member `m-1` of unit `u-1` with two installations of client `c-1` and one of
/// `c-2`, member `m-2` of two units, and some members who are not permitted to call.
struct BackendFixture {
    endpoints: Endpoints<Backend>,
    store: Store,
    clock: ManualClock,
    upkeep: Upkeep,
}

/// A response of the backend.
#[derive(Debug)]
struct BackendResponse {
    status: u16,
    headers: HeaderMap,
    bytes: Vec<u8>,
    body: Value,
}

impl BackendResponse {
    /// Creates a response from the result of a change that was made on the web pages.
    fn from_result(result: &ChangeResult) -> Self {
        let body = serde_json::to_value(result).expect("valid JSON");
        Self { status: 200, headers: HeaderMap::new(), bytes: Vec::new(), body }
    }

    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_else(|| panic!("not an error response: {}", self.body))
    }

    /// Returns the index of each op that was not applied, with its result and its reason.
    fn outcomes(&self) -> Vec<(u64, String)> {
        let list =
            self.body["results"].as_array().unwrap_or_else(|| panic!("not a change result: {}", self.body));
        let one = |one: &Value| {
            let text = |name: &str| one[name].as_str().unwrap_or("-").to_owned();
            (one["index"].as_u64().expect("a number"), format!("{} {}", text("result"), text("reason")))
        };
        list.iter().map(one).collect()
    }

    fn counts(&self) -> (u64, u64, u64) {
        let count = |name: &str| {
            self.body[name].as_u64().unwrap_or_else(|| panic!("not a change result: {}", self.body))
        };
        (count("applied"), count("unchanged"), count("notApplied"))
    }
}

fn products() -> Vec<&'static str> {
    vec!["BP_RIFLE", "BP_HELMET", "BP_KNIFE", "BP_ARMS", "BP_LEGS", "BP_CORE", "BP_FLASK", "BP_LAMP"]
}

fn material(id: &str, name: &str, facts: Value) -> NewEntry {
    NewEntry { facts, ..NewEntry::new(EntryKind::Material, id, name) }
}

fn contents() -> CatalogueContents {
    let product =
        |id: &str| NewEntry::new(EntryKind::Blueprint, id, format!("Sandbox {}", &id[3..].to_lowercase()));
    let mut entries: Vec<NewEntry> = products().into_iter().map(product).collect();
    entries.push(NewEntry::new(EntryKind::Blueprint, format!("BP_{}", "LONG_".repeat(40)), "n".repeat(300)));
    entries.extend((0..600).map(|number| {
        NewEntry::new(EntryKind::Blueprint, format!("BP_MANY_{number:03}"), format!("Many {number:03}"))
    }));
    entries.extend([
        material(
            "ore",
            "Quanta Ore",
            json!({ "unit": "SCU", "type": "RAW", "commodity": true, "mineral": true }),
        ),
        material("metal", "Quanta Metal", json!({ "unit": "SCU", "type": "REFINED", "commodity": true })),
        material("dust", "Star Dust", json!({ "unit": "SCU", "type": "NO_REFINE", "commodity": false })),
        material("parts", "Spare Parts", json!({ "unit": "PIECE", "type": "NO_REFINE", "commodity": false })),
        material("twin-1", "Same Stuff", json!({ "unit": "SCU" })),
        material("twin-2", "Same Stuff", json!({ "unit": "SCU" })),
        NewEntry::new(EntryKind::Item, "gun", "Quanta Cannon"),
        NewEntry::new(EntryKind::Item, "ores", "Quanta Ores"),
        NewEntry::new(EntryKind::ShipType, "hauler", "Big Hauler"),
        NewEntry::new(EntryKind::ShipType, "miner", "Rock Miner"),
        NewEntry::new(EntryKind::ShipType, "same-1", "Same Ship"),
        NewEntry::new(EntryKind::ShipType, "same-2", "Same Ship"),
    ]);
    let locations = vec![
        NewLocation { id: "l-2".into(), name: "Station".into(), city: None, station: Some(7), hidden: false },
        NewLocation { id: "l-1".into(), name: "City".into(), city: Some(1), station: Some(2), hidden: false },
        NewLocation { id: "l-3".into(), name: "Cellar".into(), city: Some(9), station: None, hidden: true },
        NewLocation { id: "l-4".into(), name: "Meadow".into(), city: None, station: None, hidden: false },
    ];
    let alias = EntryAlias { kind: EntryKind::Blueprint, alias: "The Gun".into(), id: "BP_RIFLE".into() };
    CatalogueContents { entries, aliases: vec![alias], locations }
}

const SEED: &str = "
    INSERT INTO setting (name, value) VALUES ('exchange', 'on'), ('terms', '2');
    INSERT INTO member (id, name, handle, state, has_role, terms, created_at) VALUES
        ('m-1', 'One', 'Sandbox_Member', 'active', 1, '2', 0), ('m-2', 'Two', NULL, 'active', 1, '2', 0),
        ('m-pending', 'P', NULL, 'pending', 1, '2', 0), ('m-roleless', 'R', NULL, 'active', 0, '2', 0),
        ('m-disabled', 'D', NULL, 'disabled', 1, '2', 0), ('m-terms', 'T', NULL, 'active', 1, '1', 0);
    INSERT INTO unit (id, name, shorthand, kind) VALUES
        ('u-1', 'First Unit', 'ONE', 'SQUADRON'), ('u-2', 'Second Unit', 'TWO', 'SPECIAL_COMMAND'),
        ('u-3', 'Third Unit', 'THREE', 'BEREICH');
    INSERT INTO membership (member, unit) VALUES ('m-1', 'u-1'), ('m-2', 'u-1'), ('m-2', 'u-2');
    INSERT INTO client (id, name, state, created_at) VALUES
        ('c-1', 'First client', 'active', 0), ('c-2', 'Second client', 'active', 0),
        ('c-off', 'Suspended', 'suspended', 0);
    INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) VALUES
        ('i-1', 'c-1', 'm-1', 'jkt-1', 1000, 2000), ('i-2', 'c-1', 'm-1', 'jkt-2', 1000, 2000),
        ('i-3', 'c-2', 'm-1', 'jkt-3', 1000, 2000), ('i-4', 'c-1', 'm-2', 'jkt-4', 1000, 2000);";

impl BackendFixture {
    async fn new() -> Self {
        Self::with_config(Config::default(), |backend| backend).await
    }

    /// Creates a backend with a guard that never holds a batch.
    async fn unguarded() -> Self {
        Self::with_config(unguarded(), |backend| backend).await
    }

    async fn with_config(config: Config, change: impl FnOnce(Backend) -> Backend) -> Self {
        Self::at_location(StoreLocation::Memory, config, change).await
    }

    async fn at_location(
        place: StoreLocation,
        config: Config,
        change: impl FnOnce(Backend) -> Backend,
    ) -> Self {
        let clock = ManualClock::fixed_at(Moment::from_secs(1_790_000_000));
        let fixture = Self::again(place, clock, config, change).await;
        let now = fixture.clock.now();
        fixture
            .store
            .write(move |connection| {
                connection.execute_batch(SEED)?;
                for client in ["c-1", "c-2", "c-off"] {
                    for scope in Scope::ALL {
                        let sql = "INSERT INTO client_scope (client, scope) VALUES (?1, ?2)";
                        connection.execute(sql, [client, scope.as_str()])?;
                    }
                }
                replace_contents(connection, &SystemRandom, &contents())?;
                set_defaults(connection, ["BP_CORE", "BP_LAMP"], now)
            })
            .await
            .expect("the test data is stored");
        fixture
    }

    /// Opens a backend over a store that contains the test data.
    async fn again(
        place: StoreLocation,
        clock: ManualClock,
        config: Config,
        change: impl FnOnce(Backend) -> Backend,
    ) -> Self {
        let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        let config = Arc::new(config);
        let upkeep = Upkeep::new(store.clone(), environment.clone(), Arc::clone(&config));
        let upkeep = upkeep.expect("the random generator works");
        let backend = Backend::new(store.clone(), environment, config).await.expect("the backend starts");
        let endpoints = endpoints(Arc::new(change(backend)), RouterOptions::default());
        Self { endpoints, store, clock, upkeep }
    }

    fn backend(&self) -> &Backend {
        self.endpoints.service()
    }

    async fn send(&self, caller: &Caller, method: &str, uri: &str, body: Option<&Value>) -> BackendResponse {
        let mut request = http::Request::builder().method(method).uri(uri).extension(caller.clone());
        if body.is_some() {
            request =
                request.header("Content-Type", "application/json").header("Idempotency-Key", "key-0001");
        }
        let sent = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Body::from(sent)).expect("a valid request");
        let path = uri.split('?').next().expect("a path");
        let operation = TABLE.all().iter().find(|one| one.method == method && one.path == path);
        let id = operation.expect("a known operation").id;
        let response = self.endpoints.serve_request(request).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), 4 << 20).await.expect("a complete body").to_vec();
        let body_json: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        if let Some(body) = body {
            CONTRACT_VALIDATOR.request(id, body);
        }
        CONTRACT_VALIDATOR.check_response(id, status, &body_json);
        BackendResponse { status, headers, bytes, body: body_json }
    }

    /// Sends a body that may violate the contract, and returns the status and the body of the response. The
    /// response is validated, and so is the request if it was accepted.
    async fn send_raw(&self, caller: &Caller, uri: &str, body: String) -> (u16, Value) {
        let sent = serde_json::from_str(&body).ok();
        let request = http::Request::post(uri)
            .extension(caller.clone())
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", "key-0001")
            .body(Body::from(body))
            .expect("a valid request");
        let response = self.endpoints.serve_request(request).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 4 << 20).await.expect("a complete body");
        let body_json: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        CONTRACT_VALIDATOR.exchanged(("POST", uri), sent.as_ref(), (status, &body_json));
        (status, body_json)
    }

    async fn get(&self, caller: &Caller, uri: &str) -> BackendResponse {
        self.send(caller, "GET", uri, None).await
    }

    async fn post(&self, caller: &Caller, uri: &str, body: Value) -> BackendResponse {
        self.send(caller, "POST", uri, Some(&body)).await
    }

    /// Deletes up to `limit` old tombstones and returns their number.
    async fn retain(&self, limit: usize) -> usize {
        let now = self.clock.now();
        let taken = self.store.write(move |connection| retention::prune_tombstones(connection, now, limit));
        taken.await.expect("the write succeeds")
    }

    /// Runs the upkeep tasks that are due, and returns the number of rows that one of them deleted.
    async fn run_upkeep_task(&self, task: &str) -> usize {
        let done = self.upkeep.run_due_tasks().await;
        done.iter().find(|done| done.task == task).expect("the task is due").removed
    }

    /// Sends ops, and compares those that were not applied with lines of the form
    /// `<index> <result> <reason>`.
    async fn check(&self, caller: &Caller, uri: &str, ops: Vec<Value>, expected: &[&str]) -> BackendResponse {
        let (shown, count) = (format!("{ops:?}"), ops.len() as u64);
        let response = self.post(caller, uri, json!({ "ops": ops })).await;
        let outcomes: Vec<String> =
            response.outcomes().into_iter().map(|(index, outcome)| format!("{index} {outcome}")).collect();
        assert_eq!(outcomes, expected, "{shown}");
        let (applied, unchanged, not_applied) = response.counts();
        assert_eq!(applied + unchanged + not_applied, count);
        assert_eq!(unchanged + not_applied, outcomes.len() as u64);
        response
    }

    /// Reads the next page of a collection and asserts that it is the last one. Returns its items and
    /// tombstones.
    async fn page(&self, caller: &Caller, uri: &str, cursor: &mut String) -> (Vec<Value>, Vec<Value>) {
        let uri = if cursor.is_empty() { uri.to_owned() } else { format!("{uri}?cursor={cursor}") };
        let page = self.get(caller, &uri).await.body;
        *cursor = page["nextCursor"].as_str().expect("a string").to_owned();
        assert_eq!(page["hasMore"], false);
        let list = |name: &str| page[name].as_array().expect("an array").clone();
        (list("items"), list("removed"))
    }

    /// Sends a change set of blueprints.
    async fn change(&self, caller: &Caller, ops: Vec<Value>) -> BackendResponse {
        self.post(caller, WRITE, json!({ "ops": ops })).await
    }

    /// Reads the keys of all blueprints in a snapshot, and whether each is a default grant.
    async fn held(&self, caller: &Caller) -> Vec<(String, bool)> {
        let page = self.get(caller, &format!("{READ}?limit=1000")).await;
        let one = |item: &Value| {
            (
                item["key"].as_str().expect("a string").to_owned(),
                item["isDefault"].as_bool().expect("a boolean"),
            )
        };
        page.body["items"].as_array().expect("an array").iter().map(one).collect()
    }

    async fn sql(&self, sql: impl Into<String>) {
        let sql = sql.into();
        self.store
            .write(move |connection| Ok::<(), StoreError>(connection.execute_batch(&sql)?))
            .await
            .expect("the write succeeds");
    }

    async fn defaults(&self, products: Vec<&'static str>) {
        let now = self.clock.now();
        self.store
            .write(move |connection| set_defaults(connection, products, now))
            .await
            .expect("the defaults are stored");
    }

    /// Returns the first column of every row of a query.
    async fn rows(&self, sql: impl Into<String>) -> Vec<String> {
        let sql = sql.into();
        let read = self.store.read(move |connection| {
            let mut rows = connection.prepare(&sql)?;
            let columns = rows.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                let value = |index| Ok(format!("{:?}", row.get::<_, rusqlite::types::Value>(index)?));
                Ok((0..columns).map(value).collect::<rusqlite::Result<Vec<_>>>()?.join(" "))
            };
            let rows = rows.query_map([], row)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok::<_, StoreError>(rows)
        });
        read.await.expect("the read succeeds")
    }

    /// Returns all stored data as lines.
    async fn everything(&self) -> Vec<String> {
        let mut dump = Vec::new();
        for table in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").await {
            let name = table.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned();
            dump.extend(self.rows(format!("SELECT '{name}', * FROM {name}")).await);
        }
        dump
    }
}

/// Returns a configuration whose guard never holds a batch.
fn unguarded() -> Config {
    let mut config = Config::default();
    config.guard.removals = u32::MAX;
    config.guard.removals_of_share = u32::MAX;
    config
}

fn caller(client: &str, member: &str, installation: &str, jkt: &str) -> Caller {
    Caller {
        member: MemberId::new(member),
        client: client.into(),
        installation: Some(InstallationId::new(installation)),
        jkt: jkt.to_owned(),
        scopes: Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect(),
        auth_time: Moment::from_secs(1_789_990_000),
        correlation_id: "c-1".to_owned(),
        claim: None,
    }
}

/// Returns the caller of member one's first installation.
fn first() -> Caller {
    caller("c-1", "m-1", "i-1", "jkt-1")
}

/// Returns the caller of another installation of the same client.
fn second() -> Caller {
    caller("c-1", "m-1", "i-2", "jkt-2")
}

/// Returns the caller of another client of the same member.
fn other_client() -> Caller {
    caller("c-2", "m-1", "i-3", "jkt-3")
}

/// Returns the caller of another member.
fn other_member() -> Caller {
    caller("c-1", "m-2", "i-4", "jkt-4")
}

/// The members of the model tests.
const MEMBERS: [&str; 2] = ["m-1", "m-2"];

/// The writers of the model tests, each with its member: three installations of member one, one of member
/// two, and both members through the web pages.
fn writers() -> [(Option<Caller>, usize); 6] {
    [
        (Some(first()), 0),
        (Some(second()), 0),
        (Some(other_client()), 0),
        (Some(other_member()), 1),
        (None, 0),
        (None, 1),
    ]
}

/// Returns the index of this member's web pages in [`writers`].
fn web_writer_of(member: usize) -> usize {
    4 + member
}

/// The readers of the model tests, one per client and member, each with its member.
fn readers() -> [(Caller, usize); 3] {
    [(first(), 0), (other_client(), 0), (other_member(), 1)]
}

fn add(key: &str) -> Value {
    json!({ "op": "add", "ref": { "bt": key } })
}

fn add_anyway(key: &str) -> Value {
    json!({ "op": "add", "ref": { "bt": key }, "override": true })
}

fn remove(key: &str) -> Value {
    json!({ "op": "remove", "key": key })
}

/// Creates a display name from a valid string.
fn named<const MAX_CHARS: usize>(text: &str) -> DisplayName<MAX_CHARS> {
    text.try_into().expect("a valid name")
}
