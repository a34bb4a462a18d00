//! Tests of feeds and replicas with the real service, while other writers change the data.
//!
//! A replica that was updated by feeds is compared with a replica that was just read from the start.

use std::{collections::BTreeMap, time::Duration};

use exchange_client::{
    Area, BlueprintChanges, Connection, Exchange, MemoryCredentials, Replica, Session,
    api::{
        Contract, Json,
        scopes::Scope,
        types::{Blueprint, BlueprintChangeSet, OrgStockLot, Ship, StockLot},
    },
    changes::known::KnownItem,
    feed::{FeedEntry, FeedPhase, PageEvent},
    outbox::EntryState,
    sync::ReplicaSync,
};
use exchange_client_e2e::{MEMBER, SandboxClock, SleepMode, exchange_address, identity};
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use exchange_service::sandbox::{Sandbox, SandboxAction};

const OTHER: &str = "sandbox-member-2";

const READ: [Scope; 4] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeStockRead,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgstockRead,
];

struct FeedFixture {
    sandbox: Sandbox,
    session: Session,
    exchange: Exchange,
    sync: ReplicaSync,
    folder: tempfile::TempDir,
}

impl FeedFixture {
    async fn new() -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let (address, identity) = (exchange_address(&sandbox), identity("sandbox-client"));
        let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::WaitForTest);
        let session = Session::builder(&address, &identity)
            .environment(clock.environment())
            .credentials(MemoryCredentials::new())
            .open()
            .await
            .unwrap();
        let exchange = Exchange::builder(address, identity).build(&session).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let replica = Replica::new(SqliteReplica::open(folder.path()).unwrap());
        session.register_local_data(replica.clone());
        let sync = exchange.sync(&replica);
        Self { sandbox, session, exchange, sync, folder }
    }

    async fn with(scopes: &[Scope]) -> Self {
        let fixture = Self::new().await;
        fixture.sign_in(scopes).await;
        fixture
    }

    /// Signs in with a device login, and begins a session with these scopes.
    async fn sign_in(&self, scopes: &[Scope]) {
        exchange_client_e2e::sign_in(&self.session, &self.sandbox, scopes).await.unwrap();
        self.sync.begin_session(&self.connection().await).await.unwrap();
    }

    async fn connection(&self) -> Connection {
        self.exchange.connection().await.unwrap()
    }

    async fn act(&self, account: &str, act: &str) {
        let act: SandboxAction = serde_json::from_str(act).unwrap();
        self.sandbox.act(account, act).await.unwrap();
    }

    /// Reads all feeds again, and returns their events.
    async fn pull(&self) -> Vec<PageEvent> {
        // The time is advanced, so that the test stays below the limits per minute of client and service.
        self.sandbox.advance(Duration::from_secs(20));
        let mut events = self.sync.events();
        self.sync.request_sync();
        self.sync.sync_once().await.unwrap();
        std::iter::from_fn(|| events.try_recv().ok()).collect()
    }

    /// Returns the contents of a new replica that is read from the start.
    async fn fresh(&self) -> BTreeMap<(Area, String), Json> {
        let sync = self.exchange.sync(&Replica::in_memory());
        sync.begin_session(&self.connection().await).await.unwrap();
        sync.sync_once().await.unwrap();
        contents(sync.replica())
    }

    /// Reads all feeds, and checks that the replica equals the data of the exchange.
    async fn pull_and_check(&self) -> Vec<PageEvent> {
        let events = self.pull().await;
        assert_eq!(contents(self.sync.replica()), self.fresh().await);
        events
    }
}

pub(super) fn contents(replica: &Replica) -> BTreeMap<(Area, String), Json> {
    fn of<E: FeedEntry>(replica: &Replica) -> impl Iterator<Item = ((Area, String), Json)> {
        replica.entries::<E>().map(|entry| {
            let entry = entry.unwrap();
            ((E::AREA, entry.key().to_owned()), entry.to_json().unwrap())
        })
    }
    let mut all: BTreeMap<_, _> = of::<Blueprint>(replica).collect();
    all.extend(of::<StockLot>(replica));
    all.extend(of::<Ship>(replica));
    all.extend(of::<OrgStockLot>(replica));
    all
}

fn changed(events: &[PageEvent], area: Area) -> usize {
    events.iter().filter(|event| event.area == area).map(|event| event.changed.len()).sum()
}

/// FED-03, FED-05, FED-06, OST-05, SHP-04: the feeds contain all changes of other writers, and no other data
/// is read again.
#[tokio::test]
async fn feeds_contain_changes_of_other_writers() {
    let fixture = FeedFixture::with(&READ).await;
    let events = fixture.pull_and_check().await;
    assert!(Area::ALL.iter().all(|area| changed(&events, *area) > 0));
    let events = fixture.pull_and_check().await;
    assert!(events.iter().all(|event| event.phase == FeedPhase::Feed && event.changed.is_empty()));

    fixture
        .act(MEMBER, r#"{"act": "blueprints", "add": ["bp-sandbox-knife"], "remove": ["bp-sandbox-helmet"]}"#)
        .await;
    let events = fixture.pull_and_check().await;
    assert_eq!(changed(&events, Area::Blueprints), 1);
    assert!(!fixture.sync.replica().removal(Area::Blueprints, "bp-sandbox-helmet").unwrap().unwrap().is_own);

    let rise = r#"{"op": "set-quantity", "material": {"bt": "material-sandbox-ore"}, "location": {"name": "Sandbox City Hangar"}, "quality": 640, "stolen": false, "quantity": {"amount": 13.5, "unit": "SCU"}, "expectedQuantity": {"amount": 12.5, "unit": "SCU"}}"#;
    fixture.act(MEMBER, &format!(r#"{{"act": "stock", "ops": [{rise}]}}"#)).await;
    assert_eq!(changed(&fixture.pull_and_check().await, Area::Stock), 1);

    let lot = fixture.sync.replica().stock().map(Result::unwrap);
    let lot = lot.into_iter().find(|lot| lot.material.bt == "material-sandbox-component").unwrap();
    fixture
        .act(MEMBER, &format!(r#"{{"act": "share-stock", "lot": "{}", "unit": "unit-squadron"}}"#, lot.key))
        .await;
    let events = fixture.pull_and_check().await;
    assert!(changed(&events, Area::OrgStock) > 0);
    assert!(events.iter().any(|event| event.area == Area::Stock));

    // The unit was renamed, but is the same unit.
    fixture
        .act(
            "sandbox-admin",
            r#"{"act": "rename-unit", "unit": "unit-squadron", "name": "Renamed", "shorthand": "RNM"}"#,
        )
        .await;
    assert!(changed(&fixture.pull_and_check().await, Area::Ships) > 0);
    let ship =
        fixture.sync.replica().ships().map(Result::unwrap).find(|ship| ship.org_unit.is_some()).unwrap();
    assert_eq!(ship.org_unit.as_ref().unwrap().name, "Renamed");

    fixture
        .act(MEMBER, &format!(r#"{{"act": "give-ship", "ship": "{}", "to": "{OTHER}"}}"#, ship.ship_id))
        .await;
    let events = fixture.pull_and_check().await;
    let removed =
        events.iter().flat_map(|event| &event.removed).find(|change| *change.key == *ship.ship_id.as_str());
    assert!(!removed.unwrap().is_own);

    let theirs = r#"{"op": "set-quantity", "material": {"bt": "material-sandbox-goods"}, "location": {"name": "Sandbox City Hangar"}, "quality": 0, "stolen": false, "quantity": {"amount": 1, "unit": "SCU"}, "expectedQuantity": {"amount": 0, "unit": "SCU"}}"#;
    fixture.act(OTHER, &format!(r#"{{"act": "stock", "ops": [{theirs}]}}"#)).await;
    let events = fixture.pull_and_check().await;
    assert!(events.iter().all(|event| event.changed.is_empty()), "another member's stock is visible");
}

/// OST-05: after the member leaves a unit, the next page deletes the unit's lots. When the member returns,
/// they appear again.
#[tokio::test]
async fn pool_follows_unit_membership() {
    let fixture = FeedFixture::with(&READ).await;
    fixture.pull_and_check().await;
    let of_unit = || {
        let lots = fixture.sync.replica().org_stock().map(Result::unwrap);
        lots.filter(|lot| lot.unit.id == "unit-squadron").count()
    };
    let before = of_unit();
    assert!(before > 0);
    fixture.act(MEMBER, r#"{"act": "role", "unit": "unit-squadron", "role": null}"#).await;
    let events = fixture.pull_and_check().await;
    assert_eq!(of_unit(), 0);
    assert_eq!(events.iter().map(|event| event.gone.len()).sum::<usize>(), before);
    fixture.act(MEMBER, r#"{"act": "role", "unit": "unit-squadron", "role": "member"}"#).await;
    fixture.pull_and_check().await;
    assert_eq!(of_unit(), before);
}

/// OST-10: after the scope for details is granted, a new snapshot adds the details. After it is lost, they
/// are deleted before any page is read.
#[tokio::test]
async fn details_follow_their_scope() {
    let fixture = FeedFixture::with(&READ).await;
    fixture.pull_and_check().await;
    let entries = || {
        let lots = fixture.sync.replica().org_stock().map(Result::unwrap);
        lots.filter(|lot| lot.entries.is_some()).count()
    };
    assert_eq!(entries(), 0);
    let more = [READ.as_slice(), &[Scope::ExchangeOrgstockDetails]].concat();
    fixture.sign_in(&more).await;
    let events = fixture.pull_and_check().await;
    assert!(events.iter().any(|event| event.area == Area::OrgStock && event.restarted));
    assert!(events.iter().all(|event| event.area == Area::OrgStock || !event.restarted));
    assert!(entries() > 0);
    fixture.sign_in(&READ).await;
    let events = fixture.pull_and_check().await;
    assert_eq!(entries(), 0);
    assert!(events.iter().all(|event| !event.restarted), "the feed started again");
}

/// TYP-16, WRT-08: the feed that is read after a write marks the removals that this installation made.
#[tokio::test]
async fn own_removals_are_marked() {
    let fixture = FeedFixture::with(&[READ.as_slice(), &[Scope::ExchangeBlueprintsWrite]].concat()).await;
    fixture.pull_and_check().await;
    let blueprint = fixture
        .sync
        .replica()
        .blueprints()
        .map(Result::unwrap)
        .find(|blueprint| !blueprint.is_default)
        .unwrap();
    let body = format!(r#"{{"ops": [{{"op": "remove", "key": "{}"}}]}}"#, blueprint.key);
    let body = BlueprintChangeSet::parse_valid(body.as_bytes()).unwrap();
    let done = fixture.exchange.api().blueprints_write("a-random-key-0001", &body).await.unwrap().into_body();
    assert_eq!(done.applied, Some(1));
    let mut events = fixture.sync.events();
    fixture.sync.mark_changed(Area::Blueprints);
    fixture.sync.sync_once().await.unwrap();
    let event = events.try_recv().unwrap();
    assert_eq!((event.area, event.removed.len(), event.removed[0].is_own), (Area::Blueprints, 1, true));
    assert!(events.try_recv().is_err(), "no other area is due");
    assert!(
        fixture.sync.replica().removal(Area::Blueprints, blueprint.key.as_str()).unwrap().unwrap().is_own
    );
    assert_eq!(contents(fixture.sync.replica()), fixture.fresh().await);
}

/// FED-09, FED-11: after 91 days every cursor is refused, and a snapshot contains only the current entries. A
/// stored change is not affected: it waits and is applied.
#[tokio::test]
async fn snapshot_is_read_after_ninety_days() {
    let scopes = [READ.as_slice(), &[Scope::ExchangeBlueprintsWrite]].concat();
    let fixture = FeedFixture::with(&scopes).await;
    fixture.pull_and_check().await;
    let store = SqliteOutbox::open(fixture.folder.path()).unwrap();
    let outbox = fixture.exchange.outbox(store, &fixture.connection().await).unwrap();
    fixture.session.register_local_data(outbox.clone());
    let mut changes = BlueprintChanges::new();
    let knife = KnownItem { name: Some("Sandbox Knife".to_owned()), ..KnownItem::default() };
    changes.add(knife.item_ref().unwrap()).unwrap();
    let entry = outbox.enqueue(changes).await.unwrap()[0];
    let state = async || outbox.entry(entry).await.unwrap().state();
    let due = fixture.sync.replica().due_by().unwrap().unwrap();
    fixture.act(MEMBER, r#"{"act": "blueprints", "remove": ["bp-sandbox-rifle"]}"#).await;
    fixture.sandbox.advance(Duration::from_secs(91 * 86_400));
    assert!(due < fixture.exchange.environment().now().wall);
    // OST-14: organization data was deleted before anything was read.
    fixture.sign_in(&scopes).await;
    assert_eq!(fixture.sync.replica().count(Area::OrgStock).unwrap(), 0);
    assert!(fixture.sync.replica().count(Area::Blueprints).unwrap() > 0);
    let events = fixture.pull_and_check().await;
    let blueprints = events.iter().find(|event| event.area == Area::Blueprints).unwrap();
    assert!(blueprints.restarted && blueprints.gone.contains(&"bp-sandbox-rifle".into()));
    assert_eq!(state().await, EntryState::Pending);
    outbox.flush().await.unwrap();
    assert_eq!(state().await, EntryState::Done);
    let events = fixture.pull_and_check().await;
    let blueprints = events.iter().find(|event| event.area == Area::Blueprints).unwrap();
    assert!(!blueprints.restarted && blueprints.changed.len() == 1);
}

/// FED-09: after a reset, the same address serves different data, and the installation has a different id.
/// All old data is deleted before the new data is read.
#[tokio::test]
async fn reset_removes_all_old_data() {
    let fixture = FeedFixture::with(&READ).await;
    fixture.act(MEMBER, r#"{"act": "blueprints", "add": ["bp-sandbox-knife"]}"#).await;
    fixture.pull_and_check().await;
    let knife = || {
        fixture
            .sync
            .replica()
            .blueprints()
            .map(Result::unwrap)
            .any(|blueprint| blueprint.key == "bp-sandbox-knife")
    };
    assert!(knife());
    fixture.sandbox.reset().await.unwrap();
    fixture.sign_in(&READ).await;
    assert!(Area::ALL.into_iter().all(|area| fixture.sync.replica().count(area).unwrap() == 0));
    fixture.pull_and_check().await;
    assert!(!knife());
}

/// CLI-06: a disconnection deletes and erases all stored data, and reports this.
#[tokio::test]
async fn disconnecting_deletes_stored_data() {
    let fixture = FeedFixture::with(&READ).await;
    fixture.pull_and_check().await;
    let found = || {
        let files = std::fs::read_dir(fixture.folder.path()).unwrap();
        let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
        bytes.filter(|bytes| bytes.windows(15).any(|part| part == b"Sandbox City Ha")).count()
    };
    assert!(found() > 0);
    let report = fixture.session.disconnect().await;
    assert!(report.is_complete(), "{report:?}");
    assert!(report.data.iter().any(|(name, _)| name.contains("org stock")), "{report:?}");
    assert_eq!((found(), contents(fixture.sync.replica()).len()), (0, 0));
}
