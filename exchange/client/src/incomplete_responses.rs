//! Tests of responses in which any member is missing or `null`: each call returns a result or
//! [`ErrorKind::Unreadable`], is sent once, and loses no state.

use std::{fs, path::PathBuf};

use exchange_api::{
    Contract as _,
    types::{AccountHandle, CatalogKind, ItemRef, RefineryDraft, UnitId},
};
use serde_json::Value;

use crate::{
    BlueprintChanges, CatalogMemory, ComputerNames, Error, ErrorKind, Exchange, Label, MemoryOutbox,
    MemoryReplica, Replica,
    changes::known::KnownItem,
    feed::Area,
    outbox::EntryState,
    test_members::{TestMembers, service_document_reply, test_connection},
    testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
};

const SCOPES: [&str; 8] = [
    "connect",
    "blueprints.read",
    "stock.read",
    "hangar.read",
    "orgstock.read",
    "orgstock.details",
    "demand.read",
    "drafts.refinery",
];

/// Reads a fixture of the contract, such as `org-demand/valid/full`.
fn fixture(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/fixtures/{name}.json"));
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// Returns the pointers of all members of all objects in a document.
fn member_pointers(document: &Value, prefix: &str) -> Vec<String> {
    let children: Vec<(String, &Value, bool)> = match document {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value, true)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, value)| (at.to_string(), value, false)).collect()
        }
        _ => Vec::new(),
    };
    let pointers = children.into_iter().flat_map(|(name, value, is_member)| {
        let pointer = format!("{prefix}/{name}");
        let below = member_pointers(value, &pointer);
        is_member.then_some(pointer).into_iter().chain(below)
    });
    pointers.collect()
}

/// Returns copies of a document in which one member is missing or is `null`, each with a description.
fn incomplete_copies(document: &Value) -> Vec<(String, Value)> {
    let copies = member_pointers(document, "").into_iter().flat_map(|pointer| {
        let mut without = document.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        without.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
        let mut null = document.clone();
        *null.pointer_mut(&pointer).unwrap() = Value::Null;
        [(format!("without {pointer}"), without), (format!("{pointer} null"), null)]
    });
    copies.collect()
}

struct CallFixture {
    machine: VirtualEnvironment,
    server: ScriptedServer,
    exchange: Exchange,
}

impl CallFixture {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(3);
        let server = ScriptedServer::gateway(&machine);
        server.set_script(|_| service_document_reply("i-1", &SCOPES));
        let exchange = TestMembers::new(&machine).exchange_for(&machine, &server);
        Self { machine, server, exchange }
    }
}

/// Calls an operation once with each incomplete response. Returns the operation with the numbers of results and of errors.
async fn check_calls(
    operation: &'static str,
    whole: &str,
    call: impl AsyncFn(&Exchange) -> Result<(), Error>,
) -> (&'static str, usize, usize) {
    let (mut results, mut errors) = (0, 0);
    for (what, body) in incomplete_copies(&fixture(whole)) {
        let fixture = CallFixture::new();
        fixture.server.enqueue_reply_for(operation, ScriptedReply::json(200, &body));
        match call(&fixture.exchange).await {
            Ok(()) => results += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unreadable, "{operation} {what}: {error}");
                errors += 1;
            }
        }
        assert_eq!(fixture.server.request_count(), 1, "{operation} {what}");
    }
    (operation, results, errors)
}

/// TYP-13: calls outside of the feeds return a result without the member, or report an unreadable response.
#[tokio::test(start_paused = true)]
async fn incomplete_responses_are_read_or_reported() {
    let found = [
        check_calls("service_document", "service-document/valid/full", async |exchange| {
            exchange.connection().await.map(drop)
        })
        .await,
        check_calls("installation_label", "installation/valid/full", async |exchange| {
            let label = Label::new("Desk", &ComputerNames::detect()).unwrap();
            exchange.set_label(&label).await.map(drop)
        })
        .await,
        check_calls("account_check", "account-check-response/valid/match", async |exchange| {
            let handle: AccountHandle = "Ada".parse().unwrap();
            exchange.handles().check(handle.as_str()).await.map(drop)
        })
        .await,
        check_calls("catalog_resolve", "resolve-response/valid/full", async |exchange| {
            let references = ["a", "b", "c"].map(|name| ItemRef::by_name(name).unwrap());
            let catalog = exchange.catalog(CatalogMemory::default());
            catalog.resolve(CatalogKind::Material, &references).await.map(drop)
        })
        .await,
        check_calls("catalog_locations", "location-list/valid/two", async |exchange| {
            exchange.catalog(CatalogMemory::default()).locations().await.map(drop)
        })
        .await,
        check_calls("org_units_read", "org-unit-list/valid/two", async |exchange| {
            exchange.api().org_units_read().await.map(drop).map_err(Error::from)
        })
        .await,
        check_calls("org_stock_members", "org-stock-members/valid/full", async |exchange| {
            let unit: UnitId = "unit-1".parse().unwrap();
            exchange.api().org_stock_members(&unit).await.map(drop).map_err(Error::from)
        })
        .await,
        check_calls("demand_read", "org-demand/valid/full", async |exchange| {
            exchange.read_demand(&test_connection("i-1", &SCOPES)).await.map(drop)
        })
        .await,
        check_calls("drafts_refinery", "draft-result/valid/refinery", async |exchange| {
            let draft = fixture("refinery-draft/valid/full").to_string();
            let draft = RefineryDraft::parse_valid(draft.as_bytes()).unwrap();
            exchange.drafts().refinery(draft).unwrap().stage().await.map(drop)
        })
        .await,
    ];
    // A client cannot use these responses without any one of their members.
    let all_required = ["installation_label", "account_check", "drafts_refinery"];
    for (operation, results, errors) in found {
        assert_eq!(results == 0, all_required.contains(&operation), "{operation}: {results} results");
        assert!(errors > 0, "{operation}: {errors} errors");
    }
}

/// TYP-13: a page is stored as a whole, or is reported as unreadable and leaves position and entries unchanged.
#[tokio::test(start_paused = true)]
async fn incomplete_pages_are_stored_or_change_nothing() {
    for (area, operation, whole) in [
        (Area::Blueprints, "blueprints_read", "page--blueprintPage/valid/full"),
        (Area::Stock, "stock_read", "page--stockPage/valid/full"),
        (Area::Ships, "ships_read", "page--shipPage/valid/full"),
        (Area::OrgStock, "org_stock_read", "page--orgStockPage/valid/full"),
    ] {
        let mut whole = fixture(whole);
        whole["hasMore"] = false.into();
        for (what, body) in incomplete_copies(&whole) {
            let fixture = CallFixture::new();
            let sync = fixture.exchange.sync(&Replica::new(MemoryReplica::default()));
            sync.begin_session(&test_connection("i-1", &SCOPES)).await.unwrap();
            fixture.server.enqueue_reply_for(operation, ScriptedReply::json(200, &whole));
            sync.sync_area(area).await.unwrap_or_else(|error| panic!("{operation}: {error}"));
            let store = sync.replica().store();
            let state = || (store.area_state(area).unwrap(), store.count(area).unwrap());
            let before = state();
            fixture.server.enqueue_reply_for(operation, ScriptedReply::json(200, &body));
            if let Err(error) = sync.sync_area(area).await {
                assert_eq!(error.kind(), ErrorKind::Unreadable, "{operation} {what}: {error}");
                assert_eq!(state(), before, "{operation} {what}");
            }
        }
    }
}

/// WRT-05: an answered change set is decided or has to be compared, and is never sent again.
#[tokio::test(start_paused = true)]
async fn incomplete_change_results_are_never_pending() {
    for (what, body) in incomplete_copies(&fixture("change-result/valid/full")) {
        let fixture = CallFixture::new();
        let outbox = fixture.exchange.outbox(MemoryOutbox::new(), &test_connection("i-1", &SCOPES)).unwrap();
        fixture.server.enqueue_reply_for("blueprints_write", ScriptedReply::json(200, &body));
        let mut changes = BlueprintChanges::new();
        for product in 0..6 {
            let known =
                KnownItem { bt: Some(format!("bp-{product}").parse().unwrap()), ..KnownItem::default() };
            changes.add(known.item_ref().unwrap()).unwrap();
        }
        let entry = outbox.enqueue(changes).await.unwrap()[0];
        outbox.flush().await.unwrap();
        let state = outbox.entry(entry).await.unwrap().state();
        assert!(matches!(state, EntryState::Done | EntryState::Unknown), "{what}: {state:?}");
        let writes = fixture.server.requests();
        let writes = writes.iter().filter(|request| request.idempotency_key().is_some()).count();
        assert_eq!(writes, 1, "{what}");
        drop(fixture.machine);
    }
}
