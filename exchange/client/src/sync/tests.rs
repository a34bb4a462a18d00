//! Tests of the synchronization with a model of the exchange, in virtual time.

mod scopes;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use exchange_api::{
    Contract, Transport, TransportError,
    runtime::{
        operation::Operation,
        transport::{Delivery, ResponseFuture, TransportFault},
    },
    types::{InstallationId, OrgDemand},
};
use http::{Request, Response};

use super::*;
use crate::{
    changes::{BlueprintChanges, known::KnownItem},
    feed::model::{ExchangeModel, THIS_INSTALLATION},
    outbox::{MemoryOutbox, Outbox, OutboxPolicy},
    replica::DemandDocument,
    test_members::{
        TestMembers, service_document_json as service_document_of, test_connection as connection_of,
    },
    testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
};

/// A model of the exchange that has only feeds and the service document.
#[derive(Clone)]
struct Exchange(Arc<State>);

struct State {
    machine: VirtualEnvironment,
    models: Mutex<BTreeMap<Area, ExchangeModel>>,
    failures: Mutex<BTreeMap<Area, ScriptedFailure>>,
    seen: Mutex<Vec<(u64, Area)>>,
    /// The installation id in the service document.
    installation_id: Mutex<String>,
    /// The scopes of the token.
    scopes: Mutex<Vec<&'static str>>,
    /// The number of requests for the service document.
    document_requests: AtomicU64,
}

#[derive(Clone, Copy)]
enum ScriptedFailure {
    Problem(u16, &'static str, Option<u64>),
    Offline,
    /// The exchange never responds.
    NoResponse,
    /// The exchange responds after this many seconds.
    SlowResponse(u64),
    /// A response of a proxy with this status and `Retry-After` in seconds, whose body exceeds the size
    /// limit.
    ProxyResponseTooLarge(u16, u64),
    /// An empty page with an unchanged cursor and `hasMore`.
    UnchangedCursor,
    /// A page whose `nextCursor` is missing, or is `null`.
    NoCursor {
        null: bool,
    },
    /// A page that exceeds the size limit unless at most this many entries are requested.
    PageTooLarge(u32),
}

impl Exchange {
    fn new() -> Self {
        let models = Area::ALL.into_iter().map(|area| (area, ExchangeModel::new(area))).collect();
        Self(Arc::new(State {
            machine: VirtualEnvironment::new(1),
            models: Mutex::new(models),
            failures: Mutex::default(),
            seen: Mutex::default(),
            installation_id: Mutex::default(),
            scopes: Mutex::new(ALL.to_vec()),
            document_requests: AtomicU64::new(0),
        }))
    }

    fn put(&self, area: Area, key: &str, value: u32) {
        lock_state(&self.0.models).get_mut(&area).unwrap().put(key, value);
    }

    fn set_failure(&self, area: Area, failure: Option<ScriptedFailure>) {
        let mut failures = lock_state(&self.0.failures);
        match failure {
            Some(failure) => failures.insert(area, failure),
            None => failures.remove(&area),
        };
    }

    /// Returns the areas of the requests since the last call, each with the second of the request.
    fn seen(&self) -> Vec<(u64, Area)> {
        std::mem::take(&mut lock_state(&self.0.seen))
    }

    /// Sets the scopes of the token. Pools contain holders only with the scope for details.
    fn set_capabilities(&self, scopes: &[&'static str]) {
        *lock_state(&self.0.scopes) = scopes.to_vec();
        lock_state(&self.0.models).get_mut(&Area::OrgStock).unwrap().details = scopes.contains(&DETAILS);
    }

    fn capability_checks(&self) -> u64 {
        self.0.document_requests.swap(0, Ordering::SeqCst)
    }

    fn sync(&self) -> ReplicaSync {
        let api = Client::new("https://exchange.example", self.clone());
        ReplicaSync::new(api, Replica::in_memory(), self.0.machine.environment())
    }
}

fn lock_state<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transport for Exchange {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
            let area = match path {
                "/exchange/v1/me/blueprints" => Area::Blueprints,
                "/exchange/v1/me/stock" => Area::Stock,
                "/exchange/v1/me/ships" => Area::Ships,
                "/exchange/v1/org-stock" => Area::OrgStock,
                "/exchange/v1" => {
                    self.0.document_requests.fetch_add(1, Ordering::SeqCst);
                    let document = service_document_of(
                        &lock_state(&self.0.installation_id),
                        &lock_state(&self.0.scopes),
                    );
                    let response = Response::builder().status(200).header("content-type", "application/json");
                    return Ok(response.body(document.into()).unwrap());
                }
                other => panic!("{other} is not a feed"),
            };
            let limit = query.split('&').find_map(|pair| pair.strip_prefix("limit=")?.parse::<u32>().ok());
            lock_state(&self.0.seen).push((self.0.machine.elapsed().as_secs(), area));
            let cursor = query.split('&').find_map(|pair| pair.strip_prefix("cursor="));
            let response = |status: u16, body: String| {
                let body = Bytes::from(body);
                let kind = if status == 200 { "application/json" } else { "application/problem+json" };
                Response::builder().status(status).header("content-type", kind).body(body).unwrap()
            };
            let problem = |status: u16, code: &str| {
                format!(
                    r#"{{"type":"about:blank","title":"T","status":{status},"code":"{code}","correlationId":"c-1"}}"#
                )
            };
            let mut failure = lock_state(&self.0.failures).get(&area).copied();
            if let Some(ScriptedFailure::SlowResponse(seconds)) = failure {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                failure = None;
            }
            let max_limit =
                if let Some(ScriptedFailure::PageTooLarge(max_limit)) = failure { max_limit } else { 500 };
            match failure.filter(|failure| {
                !matches!(failure, ScriptedFailure::PageTooLarge(_)) || limit > Some(max_limit)
            }) {
                Some(ScriptedFailure::PageTooLarge(_)) => {
                    Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown))
                }
                Some(ScriptedFailure::Problem(status, code, after)) => {
                    let mut refused = response(status, problem(status, code));
                    if let Some(after) = after {
                        refused.headers_mut().insert("retry-after", after.into());
                    }
                    Ok(refused)
                }
                Some(ScriptedFailure::ProxyResponseTooLarge(status, after)) => {
                    let mut refused = response(status, " ".repeat((16 << 20) + 1));
                    refused.headers_mut().insert("retry-after", after.into());
                    Ok(refused)
                }
                Some(ScriptedFailure::Offline) => {
                    Err(TransportError::new(TransportFault::Connect, Delivery::NotSent))
                }
                Some(ScriptedFailure::NoResponse | ScriptedFailure::SlowResponse(_)) => {
                    std::future::pending().await
                }
                Some(ScriptedFailure::UnchangedCursor) => {
                    let page = r#"{"items":[],"removed":[],"nextCursor":"c-0","hasMore":true}"#;
                    Ok(response(200, page.to_owned()))
                }
                Some(ScriptedFailure::NoCursor { null }) => {
                    let cursor = if null { r#""nextCursor":null,"# } else { "" };
                    Ok(response(200, format!(r#"{{"items":[],{cursor}"hasMore":false}}"#)))
                }
                None => {
                    assert!(limit == Some(500) || max_limit < 500, "{query}");
                    let page = lock_state(&self.0.models).get_mut(&area).unwrap().next_page(cursor, 2, false);
                    Ok(page.map_or_else(
                        || response(410, problem(410, "CURSOR_EXPIRED")),
                        |page| response(200, page),
                    ))
                }
            }
        })
    }
}

const ANOTHER: &str = "another";
const DETAILS: &str = "orgstock.details";
const ALL: &[&str] = &["blueprints.read", "stock.read", "hangar.read", "orgstock.read", "demand.read"];

fn connection(scopes: &[&str]) -> Connection {
    connection_of(THIS_INSTALLATION, scopes)
}

fn areas(seen: &[(u64, Area)]) -> Vec<Area> {
    seen.iter().map(|(_, area)| *area).collect()
}

/// FED-03, FED-05, FED-06: one call reads all areas, and publishes an event for each page.
#[tokio::test(start_paused = true)]
async fn round_reads_all_permitted_areas() {
    let exchange = Exchange::new();
    for key in ["s1", "s2", "s3"] {
        exchange.put(Area::Ships, key, 1);
    }
    exchange.put(Area::Stock, "l1", 7);
    let sync = exchange.sync();
    let mut events = sync.events();
    sync.sync_once().await.unwrap();
    assert_eq!(exchange.seen(), [], "nothing is read before a session begins");

    sync.begin_session(&connection(&["hangar.read", "stock.read"])).await.unwrap();
    sync.sync_once().await.unwrap();
    let ships: Vec<_> = sync.replica().ships().map(|ship| ship.unwrap().ship_id.to_string()).collect();
    assert_eq!(ships, ["s1", "s2", "s3"]);
    assert_eq!(sync.replica().stock().count(), 1);
    use Area::{Ships, Stock};
    assert_eq!(areas(&exchange.seen()), [Stock, Ships, Ships, Ships]);
    let received: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    let received: Vec<_> =
        received.iter().map(|event| (event.area, event.changed.len(), event.complete)).collect();
    assert_eq!(received, [(Stock, 1, true), (Ships, 2, false), (Ships, 1, false), (Ships, 0, true)]);

    // FED-09: a refused cursor is not an error.
    lock_state(&exchange.0.models).get_mut(&Ships).unwrap().remove("s1", false);
    lock_state(&exchange.0.models).get_mut(&Ships).unwrap().expire_cursors();
    sync.sync_area(Ships).await.unwrap();
    assert_eq!(sync.replica().count(Ships).unwrap(), 2);
    let received: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    assert!(received[0].restarted && received[0].gone == ["s1".into()]);
}

/// OST-14: if another member signs in, the stored data is deleted first, even in areas that are no longer
/// read.
#[tokio::test(start_paused = true)]
async fn data_of_another_member_is_deleted_first() {
    let exchange = Exchange::new();
    exchange.put(Area::Ships, "s1", 1);
    let sync = exchange.sync();
    let mine = connection(&["hangar.read", "demand.read"]);
    sync.begin_session(&mine).await.unwrap();
    sync.sync_once().await.unwrap();
    let document = DemandDocument { at: sync.wall_time(), body: (*b"{}").into() };
    let this = InstallationId::new(THIS_INSTALLATION).unwrap();
    assert!(sync.replica().store().store_demand(&document, &this).unwrap());
    assert_eq!(sync.begin_session(&mine).await.unwrap(), []);
    assert!(sync.replica().store().demand().unwrap().is_some());

    let deleted = sync.begin_session(&connection_of(ANOTHER, &["stock.read", "demand.read"])).await.unwrap();
    let deleted: Vec<_> = deleted.iter().map(|forgotten| forgotten.collection).collect();
    assert_eq!(deleted, [Collection::Area(Area::Ships), Collection::Demand]);
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 0);
    assert!(sync.replica().store().demand().unwrap().is_none());
    // This demand has no known owner.
    let sync = Exchange::new().sync();
    let document = DemandDocument { at: sync.wall_time(), body: (*b"{}").into() };
    let another = connection_of(ANOTHER, ALL);
    sync.begin_session(&another).await.unwrap();
    let store = sync.replica().store();
    assert!(store.store_demand(&document, another.installation_id().unwrap()).unwrap());
    store.forget(&Area::ALL.map(Collection::Area), OwnerNote::Remove).unwrap();
    assert_eq!(sync.begin_session(&connection(ALL)).await.unwrap().len(), 1);
}

/// SVC-03: an unknown installation is treated neither as a different one, whose data would be deleted, nor as
/// the same one, whose feeds would be continued.
#[tokio::test(start_paused = true)]
async fn data_of_unknown_owner_is_neither_deleted_nor_continued() {
    let exchange = Exchange::new();
    exchange.put(Area::Ships, "s1", 1);
    let sync = exchange.sync();
    sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
    sync.sync_once().await.unwrap();
    exchange.seen();

    let again = ReplicaSync::new(sync.0.api.clone(), sync.replica().clone(), sync.0.environment.clone());
    let error = again.begin_session(&connection_of("", &["hangar.read"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    again.sync_once().await.unwrap();
    assert_eq!(exchange.seen(), []);
    assert_eq!(again.replica().count(Area::Ships).unwrap(), 1);
    assert_eq!(again.begin_session(&connection(&["hangar.read"])).await.unwrap(), []);
}

/// OST-14: after another member signed in, a round of the previous connection stores nothing although its
/// tokens are valid, whether it was in progress or begins later.
#[tokio::test(start_paused = true)]
async fn round_of_a_former_connection_stops() {
    let exchange = Exchange::new();
    for key in ["s1", "s2", "s3"] {
        exchange.put(Area::Ships, key, 1);
    }
    let former = exchange.sync();
    former.begin_session(&connection(ALL)).await.unwrap();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::SlowResponse(10)));
    let under_way = {
        let former = former.clone();
        tokio::spawn(async move { former.sync_area(Area::Ships).await })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(areas(&exchange.seen()), [Area::Ships], "the request for its page is in flight");
    let now = ReplicaSync::new(former.0.api.clone(), former.replica().clone(), former.0.environment.clone());
    now.begin_session(&connection_of(ANOTHER, &["hangar.read"])).await.unwrap();

    assert_eq!(under_way.await.unwrap().unwrap_err().kind(), ErrorKind::SignInNeeded);
    let error = former.sync_area(Area::OrgStock).await.unwrap_err();
    assert!(error.to_string().contains("another sign-in"), "{error}");
    for area in Area::ALL {
        let area_state = now.replica().store().area_state(area).unwrap();
        assert_eq!(area_state.reader.installation.unwrap().as_str(), "another", "{area}");
        assert_eq!(now.replica().count(area).unwrap(), 0, "{area}");
    }
    now.sync_once().await.unwrap();
    assert_eq!(now.replica().count(Area::Ships).unwrap(), 3);
}

/// OST-14, LIM-17: a round in progress ends when the program begins the session of another member. Its result
/// does not affect the new session, in which all areas are due.
#[tokio::test(start_paused = true)]
async fn round_belongs_to_its_session() {
    let exchange = Exchange::new();
    for key in ["s1", "s2", "s3"] {
        exchange.put(Area::Ships, key, 1);
    }
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::SlowResponse(10)));
    let under_way = {
        let sync = sync.clone();
        tokio::spawn(async move { sync.sync_area(Area::Ships).await })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    sync.begin_session(&connection_of(ANOTHER, ALL)).await.unwrap();
    let seen = exchange.seen().len();
    assert_eq!(under_way.await.unwrap().unwrap_err().kind(), ErrorKind::SignInNeeded);
    assert_eq!((seen, exchange.seen().len()), (1, 0), "the ended round requests no more pages");
    for area in Area::ALL {
        let area_state = sync.replica().store().area_state(area).unwrap();
        assert_eq!(area_state.reader.installation.unwrap().as_str(), ANOTHER, "{area}");
        assert_eq!(sync.replica().count(area).unwrap(), 0, "{area}");
        assert!(lock(&sync.0.schedule).is_due(area, sync.monotonic_time()), "{area}");
        assert!(sync.status().borrow().area(area).error.is_none(), "{area}");
    }
    exchange.set_failure(Area::Ships, None);
    sync.sync_once().await.unwrap();
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 3);
}

impl Exchange {
    /// Creates a synchronization in the same way as [`crate::Exchange::sync`].
    fn sync_of(&self, members: &TestMembers) -> ReplicaSync {
        let exchange = members.exchange_at("https://exchange.example", &self.0.machine, self.clone());
        exchange.sync(&Replica::in_memory())
    }
}

/// OST-14, DEM-10: pages are read only with a token of the session's member, even if the program has not
/// detected another sign-in yet. Reading continues when the same member is signed in again.
#[tokio::test(start_paused = true)]
async fn feeds_are_read_with_the_members_own_token() {
    let exchange = Exchange::new();
    let members = TestMembers::new(&exchange.0.machine);
    exchange.put(Area::Ships, "s1", 1);
    let sync = exchange.sync_of(&members);
    let hangar = connection_of("i-1", &["hangar.read"]);
    sync.begin_session(&hangar).await.unwrap();
    sync.sync_once().await.unwrap();
    exchange.seen();
    members.sign_in(&[Some("i-2")]);
    let error = sync.sync_area(Area::Ships).await.unwrap_err();
    assert_eq!((error.kind(), exchange.seen()), (ErrorKind::SignInNeeded, vec![]));
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 1);
    assert_eq!(lock(&sync.0.schedule).due_at(Area::Ships), None, "a timer would start a read");

    for (installation_id, read) in [("", false), ("i-2", false), ("i-1", true)] {
        *lock_state(&exchange.0.installation_id) = installation_id.to_owned();
        members.sign_in(&[None]);
        let (at, done) = (sync.monotonic_time(), sync.sync_area(Area::Ships).await);
        assert_eq!(
            (done.is_ok(), exchange.seen().len()),
            (read, usize::from(read)),
            "{installation_id} {done:?} {at:?}"
        );
    }
}

/// CLI-06: a reader with a valid token, in progress or new, does not restore data that a disconnection
/// deleted. After the loss of a corrupt file, the data is read again.
#[tokio::test(start_paused = true)]
async fn data_deleted_by_a_disconnection_stays_deleted() {
    for disconnected in [true, false] {
        let exchange = Exchange::new();
        let members = TestMembers::new(&exchange.0.machine);
        for key in ["s1", "s2", "s3"] {
            exchange.put(Area::Ships, key, 1);
        }
        let sync = exchange.sync_of(&members);
        sync.begin_session(&connection_of("i-1", ALL)).await.unwrap();
        exchange.set_failure(Area::Ships, Some(ScriptedFailure::SlowResponse(10)));
        let under_way = {
            let sync = sync.clone();
            tokio::spawn(async move { sync.sync_area(Area::Ships).await })
        };
        tokio::time::sleep(Duration::from_secs(5)).await;
        if disconnected {
            members.disconnect_elsewhere();
        }
        sync.replica().forget().unwrap();
        let read = under_way.await.unwrap();
        if !disconnected {
            read.unwrap();
            assert_eq!(sync.replica().count(Area::Ships).unwrap(), 3);
            continue;
        }
        assert_eq!(read.unwrap_err().kind(), ErrorKind::SignInNeeded);
        let error = sync.begin_session(&connection_of("i-1", ALL)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SignInNeeded);
        for area in Area::ALL {
            assert_eq!(sync.replica().count(area).unwrap(), 0);
            assert_eq!(sync.replica().store().area_state(area).unwrap().reader.installation, None, "{area}");
        }
    }
}

/// CLI-06: deleted data is not restored while it is unknown whether the connection still exists. The check is
/// repeated until it succeeds.
#[tokio::test(start_paused = true)]
async fn unanswered_connection_check_is_repeated() {
    let exchange = Exchange::new();
    let members = TestMembers::new(&exchange.0.machine);
    exchange.put(Area::Ships, "s1", 1);
    let (sync, connection) = (exchange.sync_of(&members), connection_of("i-1", ALL));
    sync.begin_session(&connection).await.unwrap();
    members.disconnect_elsewhere();
    sync.replica().forget().unwrap();
    let mut refused = Vec::new();
    for locked in [true, false] {
        members.lock_store(locked);
        for _ in 0..2 {
            refused.push(sync.sync_area(Area::Ships).await.unwrap_err().kind());
        }
        refused.push(sync.begin_session(&connection).await.unwrap_err().kind());
    }
    let expect = [[ErrorKind::Secrets; 3], [ErrorKind::SignInNeeded; 3]].concat();
    assert_eq!((refused, exchange.seen()), (expect, vec![]));
    for area in Area::ALL {
        assert_eq!(sync.replica().store().area_state(area).unwrap().reader.installation, None, "{area}");
    }
}

/// LIM-17, WRT-08: feeds are read every 5 minutes by a timer, and immediately after a write.
#[tokio::test(start_paused = true)]
async fn feeds_are_read_on_start_by_timer_and_after_a_change() {
    let exchange = Exchange::new();
    let sync = exchange.sync();
    sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(899)).await;
    let times: Vec<_> = exchange.seen().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 300, 600]);
    exchange.put(Area::Ships, "s1", 1);
    sync.mark_changed(Area::Ships);
    sync.mark_changed(Area::Stock);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(exchange.seen(), [(899, Area::Ships)]);
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 1);
    let status = sync.status().borrow().area(Area::Ships);
    assert!(status.error.is_none() && matches!(status.activity, AreaActivity::Waiting { until: Some(_) }));
    tokio::time::sleep(Duration::from_secs(290)).await;
    assert_eq!(exchange.seen(), [], "the interval starts at the last read");
    running.abort();
}

/// LIM-16, CLI-02: an error of one area does not affect others.
#[tokio::test(start_paused = true)]
async fn error_of_one_area_does_not_affect_others() {
    let exchange = Exchange::new();
    exchange.put(Area::Blueprints, "b1", 1);
    exchange.set_failure(Area::Stock, Some(ScriptedFailure::Problem(403, "NOT_PERMITTED", None)));
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::Problem(503, "SERVICE_UNAVAILABLE", Some(700))));
    exchange.set_failure(Area::OrgStock, Some(ScriptedFailure::Offline));
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    assert_eq!(sync.sync_once().await.unwrap_err().kind(), ErrorKind::NotPermitted);
    assert_eq!(sync.replica().count(Area::Blueprints).unwrap(), 1);
    let doing = |area| sync.status().borrow().area(area).activity;
    assert_eq!(doing(Area::Stock), AreaActivity::Stopped);
    assert!(matches!(doing(Area::OrgStock), AreaActivity::BackingOff { .. }));
    exchange.seen();

    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let seen = exchange.seen();
    let of = |area| seen.iter().filter(|(_, seen)| *seen == area).map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(of(Area::Stock), [0; 0]);
    assert_eq!(of(Area::Blueprints), [300, 600, 900]);
    assert!(of(Area::Ships).iter().all(|at| *at >= 700) && of(Area::Ships).len() == 1, "{seen:?}");
    // The back-off takes 5, 10, 20, 40, 80, 160 and 300 seconds, each with jitter.
    assert_eq!(of(Area::OrgStock).len(), 8, "{seen:?}");

    // A request of the member restarts stopped areas, but not before their `Retry-After` times.
    exchange.set_failure(Area::Stock, None);
    sync.request_sync();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = areas(&exchange.seen());
    assert!(seen.contains(&Area::Stock) && !seen.contains(&Area::Ships), "{seen:?}");
    assert!(matches!(doing(Area::Stock), AreaActivity::Waiting { .. }));
    running.abort();
}

/// CLI-04, ERR-15: after a halt, no request is sent by a timer.
#[tokio::test(start_paused = true)]
async fn halted_session_sends_nothing_by_timer() {
    let exchange = Exchange::new();
    exchange.set_failure(Area::Blueprints, Some(ScriptedFailure::Problem(403, "CLIENT_SUSPENDED", None)));
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    assert!(matches!(sync.sync_once().await.unwrap_err().kind(), ErrorKind::Halted(_)));
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert_eq!(areas(&exchange.seen()), [Area::Blueprints]);
    exchange.set_failure(Area::Blueprints, None);
    sync.begin_session(&connection(ALL)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(areas(&exchange.seen()), Area::ALL);
    running.abort();
}

/// FED-09: a feed in a loop is reported and retried with back-off.
/// TYP-13: a page without a cursor is unreadable. The feed keeps its position and its entries.
#[tokio::test(start_paused = true)]
async fn page_without_a_cursor_keeps_the_position() {
    for null in [false, true] {
        let exchange = Exchange::new();
        exchange.put(Area::Ships, "s1", 1);
        let sync = exchange.sync();
        sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
        sync.sync_once().await.unwrap();
        let before = sync.0.replica.store().area_state(Area::Ships).unwrap();
        exchange.set_failure(Area::Ships, Some(ScriptedFailure::NoCursor { null }));
        let error = sync.sync_area(Area::Ships).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreadable);
        assert_eq!(sync.0.replica.store().area_state(Area::Ships).unwrap(), before);
        assert_eq!(sync.0.replica.count(Area::Ships).unwrap(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn circular_feed_is_detected() {
    let exchange = Exchange::new();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::UnchangedCursor));
    let sync = exchange.sync();
    sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
    let error = sync.sync_once().await.unwrap_err();
    assert!(error.to_string().contains("loops"), "{error}");
    assert_eq!(exchange.seen().len(), 4);
    let status = sync.status().borrow().area(Area::Ships);
    assert!(status.error.is_some() && matches!(status.activity, AreaActivity::BackingOff { .. }));
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let seen = exchange.seen().len();
    assert!(seen <= 17, "{seen} requests in an hour");
    exchange.set_failure(Area::Ships, None);
    exchange.put(Area::Ships, "s1", 1);
    tokio::time::sleep(Duration::from_secs(331)).await;
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 1);
    assert!(sync.status().borrow().area(Area::Ships).error.is_none());
    running.abort();
}

/// OST-14, DEM-10, LIM-38: data of the organization is deleted after 7 days even without a network and
/// without a call of the program.
#[tokio::test(start_paused = true)]
async fn org_data_expires_without_a_network() {
    let exchange = Exchange::new();
    exchange.put(Area::OrgStock, "a1", 1);
    exchange.put(Area::Stock, "l1", 1);
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    sync.sync_once().await.unwrap();
    let demand = br#"{"updatedAt":"2026-01-01T00:00:00Z","items":[],"materials":[]}"#;
    let demand = OrgDemand::parse_valid(demand).unwrap();
    assert!(sync.replica().store_demand(&demand, &connection(ALL), sync.wall_time()).unwrap());
    Area::ALL.into_iter().for_each(|area| exchange.set_failure(area, Some(ScriptedFailure::Offline)));
    // At this time, no other timer expires.
    tokio::time::sleep(Duration::from_secs(100)).await;
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(7 * 86_400 - 101)).await;
    let store = sync.replica().store();
    assert_eq!((store.count(Area::OrgStock).unwrap(), store.demand().unwrap().is_some()), (1, true));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((store.count(Area::OrgStock).unwrap(), store.demand().unwrap().is_some()), (0, false));
    assert_eq!(sync.replica().count(Area::Stock).unwrap(), 1);
    running.abort();
}

/// OST-14: data that is at least 7 days old is hidden before it is deleted, even during an iteration.
#[tokio::test(start_paused = true)]
async fn expired_org_data_is_hidden() {
    let exchange = Exchange::new();
    for (area, keys) in [(Area::OrgStock, ["a1", "a2", "a3"]), (Area::Stock, ["l1", "l2", "l3"])] {
        keys.into_iter().for_each(|key| exchange.put(area, key, 1));
    }
    let sync = exchange.sync();
    let replica = sync.replica().clone();
    sync.begin_session(&connection(ALL)).await.unwrap();
    sync.sync_once().await.unwrap();
    tokio::time::sleep(Duration::from_secs(7 * 86_400 - 1)).await;
    let (mut lots, mut own) = (replica.org_stock(), replica.stock());
    assert!(lots.next().unwrap().is_ok() && own.next().unwrap().is_ok());
    let key = "a1".parse().unwrap();
    assert!(replica.org_lot(&key).unwrap().is_some());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(lots.next().is_none() && replica.org_stock().next().is_none());
    assert_eq!((replica.org_lot(&key).unwrap(), replica.count(Area::OrgStock).unwrap()), (None, 0));
    assert_eq!((own.count(), replica.count(Area::Stock).unwrap()), (2, 3));
    assert_eq!(replica.store().count(Area::OrgStock).unwrap(), 3, "hidden data is not deleted yet");
}

/// OST-14: data of the organization is deleted on time even while a read does not end.
#[tokio::test(start_paused = true)]
async fn org_data_expires_while_a_feed_is_read() {
    let exchange = Exchange::new();
    exchange.put(Area::OrgStock, "a1", 1);
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    sync.sync_once().await.unwrap();
    exchange.set_failure(Area::Stock, Some(ScriptedFailure::NoResponse));
    sync.mark_changed(Area::Stock);
    tokio::time::sleep(Duration::from_secs(100)).await;
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(7 * 86_400 - 99)).await;
    assert_eq!(exchange.seen().last(), Some(&(100, Area::Stock)));
    assert_eq!(sync.replica().store().count(Area::OrgStock).unwrap(), 0);
    running.abort();
}

/// A page that exceeds the size limit is requested with fewer entries, but not endlessly.
#[tokio::test(start_paused = true)]
async fn oversized_page_is_requested_in_parts() {
    let exchange = Exchange::new();
    exchange.put(Area::Ships, "s1", 1);
    let sync = exchange.sync();
    sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::PageTooLarge(100)));
    sync.sync_once().await.unwrap();
    assert_eq!((exchange.seen().len(), sync.replica().count(Area::Ships).unwrap()), (4, 1));
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::PageTooLarge(0)));
    sync.mark_changed(Area::Ships);
    assert_eq!(sync.sync_once().await.unwrap_err().kind(), ErrorKind::Protocol);
    assert_eq!(exchange.seen().len(), 9);
}

/// CLI-02: an error response that exceeds the size limit is treated as an error and not requested in parts.
#[tokio::test(start_paused = true)]
async fn oversized_error_response_stays_an_error() {
    let exchange = Exchange::new();
    let sync = exchange.sync_of(&TestMembers::new(&exchange.0.machine));
    sync.begin_session(&connection_of("i-1", &["hangar.read"])).await.unwrap();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::ProxyResponseTooLarge(503, 600)));
    let error = sync.sync_once().await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Busy, Some(Duration::from_secs(600))));
    assert_eq!(exchange.seen().len(), 1);
}

/// A round can be dropped at any point, and the next round continues after the committed pages.
#[tokio::test(start_paused = true)]
async fn round_can_be_dropped_at_any_point() {
    let exchange = Exchange::new();
    for key in ["s1", "s2", "s3"] {
        exchange.put(Area::Ships, key, 1);
    }
    let sync = exchange.sync();
    sync.begin_session(&connection(&["hangar.read"])).await.unwrap();
    exchange.set_failure(Area::Ships, Some(ScriptedFailure::NoResponse));
    assert!(tokio::time::timeout(Duration::from_secs(9), sync.sync_once()).await.is_err());
    assert_eq!(sync.status().borrow().area(Area::Ships).activity, AreaActivity::NotStarted);
    exchange.set_failure(Area::Ships, None);
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sync.replica().count(Area::Ships).unwrap(), 3);
    running.abort();
}

/// WRT-08: after the outbox decided a change set, only its area is read. After missed events, all areas are
/// read.
#[tokio::test(start_paused = true)]
async fn written_area_is_read_back() {
    let exchange = Exchange::new();
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    sync.sync_once().await.unwrap();
    exchange.seen();
    let server = ScriptedServer::gateway(&exchange.0.machine).unsigned();
    server.set_script(|_| {
        let applied =
            r#"{"dryRun":false,"applied":1,"unchanged":0,"notApplied":0,"results":[],"warnings":[]}"#;
        ScriptedReply::json(200, applied)
    });
    let api = Client::new(server.origin(), server.clone());
    let environment = exchange.0.machine.environment();
    let outbox =
        Outbox::new(api.api_client(), MemoryOutbox::new(), environment, "me", OutboxPolicy::default())
            .unwrap();
    let write = async || {
        let product = KnownItem { bt: Some("knife".parse().unwrap()), ..KnownItem::default() };
        let mut changes = BlueprintChanges::new();
        changes.add(product.item_ref().unwrap()).unwrap();
        outbox.enqueue(changes).await.unwrap();
    };
    let running = async { tokio::join!(outbox.run(), sync.follow_outbox(&outbox), sync.run()) };
    let script = async {
        for _ in 0..2 {
            write().await;
            exchange.0.machine.environment().sleep(Duration::from_secs(40)).await;
        }
    };
    tokio::select! { _ = running => {} () = script => {} }
    assert_eq!(server.request_count(), 2);
    assert_eq!(exchange.seen(), [(0, Area::Blueprints), (40, Area::Blueprints)]);

    let followed = sync.follow_outbox(&outbox);
    for _ in 0..300 {
        write().await;
    }
    outbox.flush().await.unwrap();
    drop(outbox);
    followed.await;
    sync.sync_once().await.unwrap();
    assert_eq!(areas(&exchange.seen()), Area::ALL);
}
