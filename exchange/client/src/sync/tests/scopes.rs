//! Tests of changes of the token's scopes.

use super::*;

/// When a capability is lost, the organization's data is deleted and the member's own data is kept.
#[tokio::test(start_paused = true)]
async fn lost_capability_deletes_only_org_data() {
    let exchange = Exchange::new();
    exchange.put(Area::OrgStock, "a1", 1);
    exchange.put(Area::Stock, "l1", 1);
    let sync = exchange.sync();
    assert_eq!(sync.begin_session(&connection(ALL)).await.unwrap(), []);
    sync.sync_once().await.unwrap();
    let deleted = sync.begin_session(&connection(&["demand.read"])).await.unwrap();
    assert_eq!(deleted, [ForgottenCollection { collection: Collection::Area(Area::OrgStock), entries: 1 }]);
    assert_eq!(sync.replica().count(Area::OrgStock).unwrap(), 0);
    assert_eq!(sync.replica().count(Area::Stock).unwrap(), 1);
}

/// Returns the number of org stock lots whose holders are stored.
fn details(sync: &ReplicaSync) -> usize {
    let rows = sync.replica().store().entries(Area::OrgStock, None, 99).unwrap();
    rows.iter().filter(|row| row.details.is_some()).count()
}

/// OST-10, SVC-07: if the scope for details is lost while a program runs, the details are deleted, even if no
/// feed can be read. If the scope is granted again, they are read again.
#[tokio::test(start_paused = true)]
async fn lost_scope_deletes_details_while_running() {
    let exchange = Exchange::new();
    let with = [ALL, &[DETAILS]].concat();
    exchange.set_capabilities(&with);
    exchange.put(Area::OrgStock, "a1", 1);
    exchange.put(Area::Stock, "l1", 1);
    let sync = exchange.sync_of(&TestMembers::new(&exchange.0.machine));
    sync.begin_session(&connection_of("i-1", &with)).await.unwrap();
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(299)).await;
    assert_eq!((details(&sync), exchange.capability_checks()), (1, 0));

    let mut events = sync.events();
    exchange.set_capabilities(ALL);
    Area::ALL.into_iter().for_each(|area| exchange.set_failure(area, Some(ScriptedFailure::Offline)));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((details(&sync), exchange.capability_checks()), (0, 1));
    assert_eq!(sync.replica().count(Area::OrgStock).unwrap(), 1, "the lot was deleted with its details");
    assert_eq!(events.try_recv().unwrap().changed, ["a1".into()]);

    Area::ALL.into_iter().for_each(|area| exchange.set_failure(area, None));
    exchange.set_capabilities(&with);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!((details(&sync), exchange.capability_checks()), (1, 1));
    // OST-14: if the scope for pools is lost, the pools are deleted.
    exchange.set_capabilities(&["stock.read"]);
    tokio::time::sleep(Duration::from_secs(300)).await;
    let store = sync.replica().store();
    assert_eq!((store.count(Area::OrgStock).unwrap(), store.count(Area::Stock).unwrap()), (0, 1));
    exchange.capability_checks();
    exchange.seen();
    tokio::time::sleep(Duration::from_secs(3000)).await;
    assert_eq!((exchange.capability_checks(), areas(&exchange.seen())), (10, vec![Area::Stock; 10]));
    running.abort();
}

/// OST-10, IDP-17: after a refresh that returned fewer scopes, the capabilities are checked once, in the next
/// round.
#[tokio::test(start_paused = true)]
async fn changed_grant_is_checked_once() {
    let exchange = Exchange::new();
    let with = [ALL, &[DETAILS]].concat();
    exchange.set_capabilities(&with);
    exchange.put(Area::OrgStock, "a1", 1);
    let members = TestMembers::new(&exchange.0.machine);
    let sync = exchange.sync_of(&members);
    sync.begin_session(&connection_of("i-1", &with)).await.unwrap();
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(10)).await;
    exchange.set_capabilities(ALL);
    members.grant_scopes(&[Scope::ExchangeOrgstockRead]);
    for _ in 0..2 {
        sync.mark_changed(Area::Stock);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((details(&sync), exchange.capability_checks()), (0, 1));
    running.abort();
}

/// CLI-04, DEM-10: the capability check sends no request after a halt, and no request for another member.
#[tokio::test(start_paused = true)]
async fn no_capability_check_when_halted_or_for_others() {
    let exchange = Exchange::new();
    let members = TestMembers::new(&exchange.0.machine);
    let sync = exchange.sync_of(&members);
    sync.begin_session(&connection_of("i-1", ALL)).await.unwrap();
    exchange.set_failure(Area::Blueprints, Some(ScriptedFailure::Problem(403, "CLIENT_SUSPENDED", None)));
    let running = sync.clone();
    let running = tokio::spawn(async move { running.run().await });
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert_eq!((exchange.seen().len(), exchange.capability_checks()), (1, 0));
    exchange.set_failure(Area::Blueprints, None);
    members.sign_in(&[Some("i-2")]);
    sync.request_sync();
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert_eq!((exchange.seen().len(), exchange.capability_checks()), (0, 0));
    running.abort();
}

/// OST-14: if the exchange refuses a read because of a missing scope, the pools are deleted immediately and
/// the member's own data is kept.
#[tokio::test(start_paused = true)]
async fn missing_scope_deletes_org_stock() {
    let exchange = Exchange::new();
    exchange.put(Area::OrgStock, "a1", 1);
    exchange.put(Area::Stock, "l1", 1);
    let sync = exchange.sync();
    sync.begin_session(&connection(ALL)).await.unwrap();
    sync.sync_once().await.unwrap();
    for area in [Area::OrgStock, Area::Stock] {
        exchange.set_failure(area, Some(ScriptedFailure::Problem(403, "SCOPE_MISSING", None)));
        assert_eq!(sync.sync_area(area).await.unwrap_err().kind(), ErrorKind::ScopeMissing);
    }
    let store = sync.replica().store();
    assert_eq!((store.count(Area::OrgStock).unwrap(), store.count(Area::Stock).unwrap()), (0, 1));
}
