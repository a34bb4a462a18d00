//! Tests of reading and of retention.

use exchange_api::{
    Contract,
    types::{Ship, ShipId},
};

use super::*;
use crate::{
    feed::{AreaState, FeedPhase, FeedReader, model},
    test_members::test_connection,
};

const DAY: u64 = 86_400;

fn days(days: u64) -> UnixTime {
    UnixTime::from_secs(1_000 * DAY + days * DAY)
}

fn demand(reason: &str) -> OrgDemand {
    let text = format!(
        r#"{{"updatedAt": "2026-01-01T00:00:00Z", "items": [{{"item": {{"name": "Rifle"}}, "openQuantity": {{"amount": 3, "unit": "PIECE"}}, "craftableByMe": true}}], "materials": []{reason}}}"#
    );
    OrgDemand::parse(text.as_bytes()).unwrap()
}

/// The owner of the replica.
fn reader() -> Connection {
    test_connection("i-1", &[])
}

/// Stores one lot in a pool. The oldest data of the pool is from this time.
fn pool(replica: &Replica, since: UnixTime) {
    let before = replica.store().area_state(Area::OrgStock).unwrap().sequence;
    let area_state =
        AreaState { as_of: Some(since), since: Some(since), ..check::test_area_state(before + 1, 1, "one") };
    let area_state = AreaState { reader: FeedReader::from_connection(&reader()), ..area_state };
    let upserts = vec![check::test_row("1", Some("a"), None)];
    let commit = AreaCommit { upserts, ..AreaCommit::new(Area::OrgStock, before, area_state) };
    assert!(matches!(replica.store().commit(&commit).unwrap(), CommitOutcome::Done(_)));
}

/// OST-14, DEM-10, LIM-38: data of the organization expires exactly 7 days after a page last reached the end
/// of the feed.
#[test]
fn org_data_expires_after_seven_days() {
    let replica = Replica::in_memory();
    pool(&replica, days(0));
    assert!(replica.store_demand(&demand(""), &reader(), days(1)).unwrap());
    assert_eq!(replica.freshness(Area::OrgStock).unwrap().expires_at, Some(days(7)));
    let just_before = days(7).saturating_sub(Duration::from_millis(1));
    assert_eq!(replica.expire(just_before).unwrap(), []);
    let deleted = replica.expire(days(7)).unwrap();
    assert_eq!(deleted, [ForgottenCollection { collection: Collection::Area(Area::OrgStock), entries: 1 }]);
    assert_eq!(replica.count(Area::OrgStock).unwrap(), 0);
    assert_eq!(replica.expire(days(7)).unwrap(), []);

    assert_eq!(replica.demand(days(7)).unwrap().unwrap().1, days(1));
    assert_eq!(replica.demand(days(8)).unwrap(), None, "expired demand is hidden before it is deleted");
    assert_eq!(
        replica.expire(days(8)).unwrap(),
        [ForgottenCollection { collection: Collection::Demand, entries: 1 }]
    );
    assert_eq!(replica.demand(days(7)).unwrap(), None);
}

/// OST-14: an unfinished snapshot does not extend the retention; a page that reaches the end of the feed
/// does.
#[test]
fn retention_counts_from_the_last_complete_page() {
    let (replica, mut model) = (Replica::in_memory(), model::ExchangeModel::new(Area::OrgStock));
    for key in ["a1", "a2", "a3"] {
        model.put(key, 1);
    }
    // The pages of the model are read at second 1000.
    model::read_all::<OrgStockLot>(&replica, &mut model, 2);
    let read = UnixTime::from_secs(1_000);
    let freshness = replica.freshness(Area::OrgStock).unwrap();
    assert_eq!((freshness.as_of, freshness.expires_at), (Some(read), Some(read + MAX_ORGANISATION_AGE)));
    assert_eq!(freshness.staleness(read + Duration::from_secs(60)), Some(Duration::from_secs(60)));

    let mut feed = crate::feed::Feed::<OrgStockLot>::new();
    let mut input = crate::feed::FeedInput::Begin {
        area_state: replica.store().area_state(Area::OrgStock).unwrap(),
        reader: crate::feed::FeedReader::default(),
    };
    model.put("b1", 1);
    model.put("b2", 1);
    for asked_at in [days(0), days(0), days(0)] {
        input = match feed.handle_input(input).unwrap().action {
            crate::feed::FeedAction::Read(from) => {
                let page = model.next_page(from.cursor().map(|cursor| cursor.as_str()), 1, false).unwrap();
                crate::feed::FeedInput::Page {
                    page: Box::new(Contract::parse(page.as_bytes()).unwrap()),
                    asked_at,
                }
            }
            crate::feed::FeedAction::Commit(commit) => match replica.store().commit(&commit).unwrap() {
                CommitOutcome::Done(tally) => crate::feed::FeedInput::Committed(tally),
                CommitOutcome::Superseded(_) => panic!("there is no other writer"),
            },
            action => panic!("{action:?}: the feed has more pages"),
        };
    }
    assert_eq!(replica.freshness(Area::OrgStock).unwrap().expires_at, Some(read + MAX_ORGANISATION_AGE));
    assert_eq!(replica.expire(days(0)).unwrap()[0].entries, 4);
}

/// OST-14: if the time of the data is in the future, a clock was wrong and the age is unknown, so the data is
/// deleted.
#[test]
fn data_from_the_future_is_expired() {
    let replica = Replica::in_memory();
    pool(&replica, days(3));
    let earlier = |seconds| days(3).saturating_sub(Duration::from_secs(seconds));
    assert_eq!(replica.expire(earlier(60)).unwrap(), [], "a small correction of the clock is tolerated");
    // A tolerance of minutes would extend the seven days.
    assert_eq!(replica.expire(earlier(61)).unwrap().len(), 1);
}

/// DEM-07, DEM-10: withheld demand replaces stored demand and has no lines.
#[test]
fn withheld_demand_replaces_stored_demand() {
    let replica = Replica::in_memory();
    pool(&replica, days(0));
    assert!(replica.store_demand(&demand(""), &reader(), days(0)).unwrap());
    assert_eq!(replica.demand(days(0)).unwrap().unwrap().0, demand(""));
    replica.store_demand(&demand(r#", "reason": "SOMETHING_NEW""#), &reader(), days(1)).unwrap();
    let (document, at) = replica.demand(days(1)).unwrap().unwrap();
    assert_eq!((document.items.len(), document.materials.len(), at), (0, 0, days(1)));
    assert_eq!(document.reason.unwrap().as_str(), "SOMETHING_NEW");
}

/// CLI-06: a disconnection deletes all data and returns what was deleted.
#[test]
fn disconnecting_reports_deleted_data() {
    let (replica, mut model) = (Replica::in_memory(), model::ExchangeModel::new(Area::Ships));
    model.put("s1", 1);
    model.put("s2", 1);
    model::read_all::<Ship>(&replica, &mut model, 10);
    pool(&replica, days(0));
    let deleted = replica.forget().unwrap();
    let deleted: Vec<_> = deleted.iter().map(|gone| (gone.collection.name(), gone.entries)).collect();
    assert_eq!(deleted, [("blueprints", 0), ("stock", 0), ("ships", 2), ("org-stock", 1), ("demand", 0)]);
    assert!(Area::ALL.iter().all(|area| replica.count(*area).unwrap() == 0));
}

/// FED-11: the due time is 90 days after the last page of the feed that was read least recently.
#[test]
fn feed_reports_its_due_time() {
    let replica = Replica::in_memory();
    assert_eq!(replica.due_by().unwrap(), None);
    for (area, day) in [(Area::Stock, 5), (Area::Ships, 3)] {
        let area_state = AreaState { read_at: Some(days(day)), ..check::test_area_state(1, 1, "one") };
        assert!(matches!(
            replica.store().commit(&AreaCommit::new(area, 0, area_state)).unwrap(),
            CommitOutcome::Done(_)
        ));
    }
    assert_eq!(replica.freshness(Area::Stock).unwrap().due_by, Some(days(95)));
    assert_eq!(replica.due_by().unwrap(), Some(days(93)));
}

/// CON-07: entries are typed, found by opaque keys, and read several hundred at a time.
#[test]
fn entries_are_read_typed_and_by_key() {
    let (replica, mut model) = (Replica::in_memory(), model::ExchangeModel::new(Area::Ships));
    for at in 0..1_300 {
        model.put(&format!("s/{at}%"), at);
    }
    let events = model::read_all::<Ship>(&replica, &mut model, 500);
    assert_eq!((events.len(), events[2].phase, events[3].complete), (4, FeedPhase::Snapshot, true));
    let ships = replica.ships().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(ships.len(), 1_300);
    assert!(ships.is_sorted_by_key(|ship| ship.ship_id.clone()));
    let id = ShipId::new("s/700%").unwrap();
    assert_eq!(replica.ship(&id).unwrap().unwrap().ship_id, id);
    assert_eq!(replica.ship(&ShipId::new("s/9999%").unwrap()).unwrap(), None);
    assert!(replica.freshness(Area::Ships).unwrap().is_whole);
    assert_eq!(replica.freshness(Area::Ships).unwrap().expires_at, None);
}

/// A corrupt row is reported as an error without its content and ends the iteration.
#[test]
fn corrupt_row_is_reported_once() {
    let replica = Replica::in_memory();
    let row =
        |key: &str| ReplicaRow { body: (*b"{\"geheim\": 1").into(), ..check::test_row(key, None, None) };
    let commit = AreaCommit {
        upserts: vec![row("1"), row("2")],
        ..AreaCommit::new(Area::Ships, 0, check::test_area_state(1, 1, "one"))
    };
    replica.store().commit(&commit).unwrap();
    let mut ships = replica.ships();
    let error = ships.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(!format!("{error:?}{commit:?}{:?}", commit.upserts).contains("geheim"));
    assert!(ships.next().is_none());
}

/// DEM-11: a failed read of demand counts as a request. In a replica of an earlier version, the time of the
/// stored demand counts instead.
#[test]
fn failed_demand_read_counts_as_a_request() {
    let (replica, at) = (Replica::in_memory(), UnixTime::from_secs);
    let due_in = |now| replica.demand_cadence().unwrap().due_in(at(now)).as_secs();
    assert_eq!(due_in(1000), 0);
    replica.note_demand_request(at(1000)).unwrap();
    assert_eq!((due_in(1000), due_in(1299), due_in(1300)), (300, 1, 0));
    replica.forget().unwrap();
    assert_eq!(due_in(1001), 0, "the next member may request demand at once");
}
