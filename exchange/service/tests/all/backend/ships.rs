//! Tests of ships: responses, the results and the order of checks of each op, links of installations, units,
//! and the feed.

use exchange_api::Contract as _;
use exchange_api::types::ShipChangeSet;
use exchange_service::backend::confirm::HandoffToken;
use exchange_service::feed::ChangeAuthor;
use exchange_service::ids::UnitId;

use super::*;

pub(super) const SHIPS: &str = "/exchange/v1/me/ships";
pub(super) const FLY: &str = "/exchange/v1/me/ships/changes";

/// Returns an upsert of a hauler with lifetime insurance.
pub(super) fn ship(external: &str) -> Value {
    json!({
        "op": "upsert", "externalId": external, "shipType": { "bt": "hauler" }, "insurance": { "kind": "LTI" },
    })
}

/// Returns an upsert of an existing ship.
fn existing_ship(external: &str, id: &str, version: i64) -> Value {
    with_field(with_field(ship(external), "shipId", json!(id)), "version", json!(version))
}

pub(super) fn with_field(mut op: Value, name: &str, value: Value) -> Value {
    op[name] = value;
    op
}

fn link(external: &str, id: &str) -> Value {
    json!({ "op": "link", "externalId": external, "shipId": id })
}

fn remove(id: &str, version: i64) -> Value {
    json!({ "op": "remove", "shipId": id, "version": version })
}

pub(super) async fn apply_on_web(fixture: &BackendFixture, author: ChangeAuthor, ops: Vec<Value>) -> Value {
    let body =
        ShipChangeSet::parse_valid(json!({ "ops": ops }).to_string().as_bytes()).expect("a valid change set");
    let changed = fixture.backend().change_ships(&MemberId::new("m-1"), author, body).await;
    serde_json::to_value(changed.expect("the change succeeds")).expect("valid JSON")
}

async fn check(fixture: &BackendFixture, caller: &Caller, ops: Vec<Value>, expected: &[&str]) {
    fixture.check(caller, FLY, ops, expected).await;
}

/// Returns the ships by the caller's external ids; a ship without one has the key `-` followed by its ship
/// id.
async fn ships_by_external_id(fixture: &BackendFixture, caller: &Caller) -> BTreeMap<String, Value> {
    let (items, _) = fixture.page(caller, SHIPS, &mut String::new()).await;
    let named = |item: Value| {
        let name = item["externalId"].as_str().map(str::to_owned);
        (name.unwrap_or_else(|| format!("-{}", id(&item))), item)
    };
    items.into_iter().map(named).collect()
}

fn id(item: &Value) -> String {
    item["shipId"].as_str().expect("a string").to_owned()
}

/// Adds a ship as the first installation and returns its id.
async fn add_ship(fixture: &BackendFixture, external: &str, op: Value) -> String {
    check(fixture, &first(), vec![op], &[]).await;
    id(&ships_by_external_id(fixture, &first()).await[external])
}

/// SHP-01, SHP-02, SHP-04, SHP-06, SHP-08, SHP-11, SHP-12, TYP-08: a new ship is returned as it was sent,
/// with all fields and with only the required ones.
#[tokio::test]
async fn ship_is_returned_as_sent() {
    let fixture = BackendFixture::new().await;
    let mut full_ship = ship("e-1");
    full_ship["shipType"] = json!({ "name": "rock miner" });
    full_ship["insurance"] = json!({ "kind": "MONTHS", "months": 120 });
    full_ship["name"] = json!("n".repeat(255));
    full_ship["location"] = json!({ "uex": { "kind": "SPACE_STATION", "id": 7 } });
    full_ship["fitted"] = json!(true);
    full_ship["orgUnit"] = json!(null);
    check(&fixture, &first(), vec![full_ship, ship("e-2")], &[]).await;
    let mut fleet = ships_by_external_id(&fixture, &first()).await;
    for ship in fleet.values_mut() {
        let id = ship.as_object_mut().expect("an object").remove("shipId").expect("an id");
        assert!(id.as_str().expect("a string").len() > 20);
    }
    let full_ship = json!({
        "externalId": "e-1", "version": 1, "shipType": { "bt": "miner", "name": "Rock Miner" },
        "name": "n".repeat(255), "insurance": { "kind": "MONTHS", "months": 120 },
        "location": { "name": "Station", "uex": { "kind": "SPACE_STATION", "id": 7 } },
        "fitted": true, "orgUnitVersion": 1,
    });
    let plain = json!({
        "externalId": "e-2", "version": 1, "shipType": { "bt": "hauler", "name": "Big Hauler" },
        "insurance": { "kind": "LTI" }, "fitted": false, "orgUnitVersion": 1,
        "orgUnit": { "id": "u-1", "name": "First Unit", "shorthand": "ONE", "kind": "SQUADRON" },
    });
    assert_eq!((&fleet["e-1"], &fleet["e-2"]), (&full_ship, &plain));
    assert_eq!(
        fixture.page(&other_member(), SHIPS, &mut String::new()).await.0,
        [] as [Value; 0],
        "only the member's own ships are returned"
    );
    // A member with several units has no default unit.
    check(&fixture, &other_member(), vec![ship("e-1")], &[]).await;
    let (items, _) = fixture.page(&other_member(), SHIPS, &mut String::new()).await;
    assert_eq!(items[0].get("orgUnit"), None);
}

/// SHP-09, SHP-11, SHP-17: an update writes the sent fields, clears omitted ones except `fitted`, and
/// increases the version. An update without changes has the result `unchanged`, and a stale version is
/// rejected.
#[tokio::test]
async fn update_writes_sent_fields_and_clears_omitted_ones() {
    let fixture = BackendFixture::new().await;
    let mut op = ship("e-1");
    (op["name"], op["fitted"], op["location"]) = (json!("Bertha"), json!(true), json!({ "name": "City" }));
    let id = add_ship(&fixture, "e-1", op.clone()).await;
    let again = with_field(with_field(op, "shipId", json!(id)), "version", json!(1));
    check(&fixture, &first(), vec![again.clone()], &["0 unchanged -"]).await;
    check(&fixture, &first(), vec![with_field(again, "version", json!(2))], &["0 rejected VERSION_CONFLICT"])
        .await;
    check(&fixture, &first(), vec![existing_ship("e-1", &id, 1)], &[]).await;
    let ship = &ships_by_external_id(&fixture, &first()).await["e-1"];
    assert_eq!((ship.get("name"), ship.get("location"), &ship["fitted"]), (None, None, &json!(true)));
    assert_eq!((&ship["version"], &ship["orgUnit"]["id"]), (&json!(2), &json!("u-1")));
    check(&fixture, &first(), vec![existing_ship("e-1", &id, 1)], &["0 rejected VERSION_CONFLICT"]).await;
    let unfitted = with_field(existing_ship("e-1", &id, 2), "fitted", json!(false));
    // A ship can be updated once per batch, whatever version the second update has; a link is not an update.
    let ops = vec![link("e-1", &id), unfitted, existing_ship("e-1", &id, 3), remove(&id, 3)];
    let expected = ["0 unchanged -", "2 rejected VERSION_CONFLICT", "3 rejected VERSION_CONFLICT"];
    check(&fixture, &first(), ops, &expected).await;
    assert_eq!(ships_by_external_id(&fixture, &first()).await["e-1"]["fitted"], false);
}

/// SHP-03, SHP-07, SHP-16, SHP-17: each installation links external ids and ships one to one. Linking an id
/// again removes it from its old ship.
#[tokio::test]
async fn links_are_per_installation() {
    let fixture = BackendFixture::new().await;
    let (a, b) = (add_ship(&fixture, "e-a", ship("e-a")).await, add_ship(&fixture, "e-b", ship("e-b")).await);
    assert_eq!(ships_by_external_id(&fixture, &second()).await.len(), 2);
    assert!(
        ships_by_external_id(&fixture, &second()).await.keys().all(|name| name.starts_with('-')),
        "external ids of other installations are not returned"
    );
    check(&fixture, &second(), vec![link("e-b", &a), link("e-b", &a)], &["1 unchanged -"]).await;
    assert_eq!(id(&ships_by_external_id(&fixture, &second()).await["e-b"]), a);
    assert_eq!(id(&ships_by_external_id(&fixture, &first()).await["e-b"]), b);
    let ops = vec![
        link("e-x", &a),
        link("e-a", "none"),
        existing_ship("e-x", &a, 1),
        ship("e-a"),
        // The id is removed from its old ship, which is then linked to another id.
        remove(&b, 1),
        link("e-b", &a),
    ];
    let expected = [
        "0 rejected LINK_TARGET_TAKEN",
        "1 unmatched UNMATCHED",
        "2 rejected LINK_TARGET_TAKEN",
        "3 rejected VERSION_CONFLICT",
        "5 rejected LINK_TARGET_TAKEN",
    ];
    check(&fixture, &first(), ops, &expected).await;
    let c = add_ship(&fixture, "e-c", ship("e-c")).await;
    check(&fixture, &second(), vec![link("e-b", &c), link("e-a", &a)], &[]).await;
    let seconds = ships_by_external_id(&fixture, &second()).await;
    assert_eq!((id(&seconds["e-a"]), id(&seconds["e-b"])), (a.clone(), c.clone()));
    assert_eq!(seconds["e-b"]["version"], 1, "a link does not change the ship");
    // Ids can be rotated within one batch.
    check(&fixture, &second(), vec![link("e-t", &a)], &["0 rejected LINK_TARGET_TAKEN"]).await;
    let d = add_ship(&fixture, "e-d", ship("e-d")).await;
    check(&fixture, &second(), vec![link("e-a", &d), link("e-b", &a), link("e-z", &c)], &[]).await;
    let seconds = ships_by_external_id(&fixture, &second()).await;
    assert_eq!((id(&seconds["e-a"]), id(&seconds["e-b"]), id(&seconds["e-z"])), (d, a.clone(), c));
    // An update links a ship without an id; this alone counts as a change.
    let e = add_ship(&fixture, "e-e", ship("e-e")).await;
    check(
        &fixture,
        &second(),
        vec![existing_ship("e-5", &e, 1), existing_ship("e-5", &e, 1)],
        &["1 unchanged -"],
    )
    .await;
    assert_eq!(ships_by_external_id(&fixture, &second()).await["e-5"]["version"], 1);
    assert_eq!(
        fixture.rows("SELECT count(*) FROM ship_link WHERE installation = 'i-2'").await,
        ["Integer(4)"]
    );
}

/// SHP-15, SHP-17, A19, RES-10: of several reasons, the first in this order is reported: owner, type,
/// location, version, link, unit.
#[tokio::test]
async fn reasons_are_checked_in_order() {
    let fixture = BackendFixture::new().await;
    let mine = add_ship(&fixture, "e-1", ship("e-1")).await;
    check(&fixture, &other_member(), vec![ship("e-1")], &[]).await;
    let theirs = id(&fixture.page(&other_member(), SHIPS, &mut String::new()).await.0[0]);
    let break_from = |mut op: Value, from: usize| {
        let faults = [
            ("shipType", json!({ "name": "Same Ship" })),
            ("location", json!({ "name": "Cellar" })),
            ("version", json!(9)),
            ("externalId", json!("e-2")),
            ("orgUnit", json!("u-2")),
        ];
        for (name, value) in faults.into_iter().skip(from) {
            op[name] = value;
        }
        op
    };
    let unit = |value: Value| with_field(existing_ship("e-1", &mine, 1), "orgUnit", value);
    let ops = vec![
        break_from(existing_ship("e-1", &theirs, 1), 0),
        break_from(existing_ship("e-1", "none", 1), 0),
        break_from(existing_ship("e-1", &mine, 1), 0),
        with_field(break_from(existing_ship("e-1", &mine, 1), 1), "shipType", json!({ "bt": "none" })),
        break_from(existing_ship("e-1", &mine, 1), 1),
        break_from(existing_ship("e-1", &mine, 1), 2),
        break_from(existing_ship("e-1", &mine, 1), 3),
        break_from(existing_ship("e-1", &mine, 1), 4),
        unit(json!(null)),
        with_field(unit(json!(null)), "orgUnitVersion", json!(2)),
        with_field(break_from(ship("e-1"), 4), "location", json!({ "name": "Cellar" })),
        break_from(ship("e-1"), 4),
        break_from(ship("e-3"), 4),
        remove(&theirs, 1),
        remove(&mine, 9),
        with_field(
            with_field(ship("e-9"), "shipType", json!({ "locKey": "none", "name": "Big Hauler" })),
            "opId",
            json!("o"),
        ),
    ];
    let expected = [
        "0 unmatched UNMATCHED",
        "1 unmatched UNMATCHED",
        "2 ambiguous AMBIGUOUS",
        "3 unmatched UNMATCHED",
        "4 rejected LOCATION_UNKNOWN",
        "5 rejected VERSION_CONFLICT",
        "6 rejected LINK_TARGET_TAKEN",
        "7 rejected ORG_UNIT_NOT_ALLOWED",
        "8 rejected ORG_UNIT_VERSION_CONFLICT",
        "9 rejected ORG_UNIT_VERSION_CONFLICT",
        "10 rejected LOCATION_UNKNOWN",
        "11 rejected VERSION_CONFLICT",
        "12 rejected ORG_UNIT_NOT_ALLOWED",
        "13 unmatched UNMATCHED",
        "14 rejected VERSION_CONFLICT",
    ];
    let response = fixture.check(&first(), FLY, ops, &expected).await;
    let warned = json!([{ "pointer": "/ops/15/shipType/locKey", "code": "LOC_KEY_UNRESOLVED" }]);
    assert_eq!(response.body["warnings"], warned);
    assert_eq!(response.body["detachedFromMissions"], 0);
    assert_eq!(ships_by_external_id(&fixture, &first()).await.len(), 2);
}

/// SHP-04, SHP-12, SHP-13, SHP-14: an update keeps, clears or sets the unit, and only a change increases its
/// counter. A unit that the member has left is still shown, and an update may contain it unchanged.
#[tokio::test]
async fn unit_change_increments_its_own_counter() {
    let fixture = BackendFixture::new().await;
    let id = add_ship(&fixture, "e-1", ship("e-1")).await;
    let unit = |value: Value, counter: i64| {
        with_field(
            with_field(existing_ship("e-1", &id, 1), "orgUnit", value),
            "orgUnitVersion",
            json!(counter),
        )
    };
    check(&fixture, &first(), vec![unit(json!("u-1"), 9)], &["0 unchanged -"]).await;
    check(&fixture, &first(), vec![unit(json!(null), 1)], &[]).await;
    let shown = &ships_by_external_id(&fixture, &first()).await["e-1"];
    assert_eq!(
        (shown.get("orgUnit"), &shown["version"], &shown["orgUnitVersion"]),
        (None, &json!(1), &json!(2))
    );
    check(&fixture, &first(), vec![unit(json!(null), 1)], &["0 unchanged -"]).await;
    check(&fixture, &first(), vec![unit(json!("u-1"), 1)], &["0 rejected ORG_UNIT_VERSION_CONFLICT"]).await;
    check(&fixture, &first(), vec![unit(json!("u-1"), 2)], &[]).await;
    fixture.sql("DELETE FROM membership WHERE member = 'm-1'").await;
    let shown = &ships_by_external_id(&fixture, &first()).await["e-1"];
    assert_eq!((&shown["orgUnit"]["id"], &shown["orgUnitVersion"]), (&json!("u-1"), &json!(3)));
    let renamed = with_field(
        with_field(existing_ship("e-1", &id, 1), "orgUnit", json!("u-1")),
        "name",
        json!("Bertha"),
    );
    check(&fixture, &first(), vec![renamed], &[]).await;
    let shown = &ships_by_external_id(&fixture, &first()).await["e-1"];
    assert_eq!((&shown["version"], &shown["orgUnitVersion"]), (&json!(2), &json!(3)));
    check(
        &fixture,
        &first(),
        vec![with_field(ship("e-2"), "orgUnit", json!("u-1"))],
        &["0 rejected ORG_UNIT_NOT_ALLOWED"],
    )
    .await;
    check(&fixture, &first(), vec![ship("e-2")], &[]).await;
    assert_eq!(
        ships_by_external_id(&fixture, &first()).await["e-2"].get("orgUnit"),
        None,
        "the ship belongs to no unit"
    );
}

/// SHP-10, SHP-17, SHP-22, WRT-03, WRT-07: a removed ship leaves its missions and all links, and the removal
/// is audited. Removing it again has the result `unchanged`, whatever version is given.
#[tokio::test]
async fn removed_ship_leaves_its_missions() {
    let fixture = BackendFixture::new().await;
    let id = add_ship(&fixture, "e-1", ship("e-1")).await;
    check(&fixture, &second(), vec![link("mine", &id)], &[]).await;
    fixture
        .sql(format!(
            "INSERT INTO mission_unit (id, mission, ship) VALUES ('mu-1', 'm', '{id}'), ('mu-2', 'n', '{id}'), ('mu-3', 'n', NULL)"
        ))
        .await;
    let dry = fixture.post(&first(), FLY, json!({ "ops": [remove(&id, 1)], "dryRun": true })).await;
    assert_eq!((dry.counts(), &dry.body["detachedFromMissions"]), ((1, 0, 0), &json!(2)));
    let response = fixture
        .check(&first(), FLY, vec![remove(&id, 1), remove(&id, 1)], &["1 rejected VERSION_CONFLICT"])
        .await;
    assert_eq!(response.body["detachedFromMissions"], 2);
    assert_eq!(
        fixture.rows("SELECT count(ship), count(*) FROM mission_unit").await,
        ["Integer(0) Integer(3)"]
    );
    assert_eq!(fixture.rows("SELECT * FROM ship_link").await, [""; 0]);
    let audit = fixture.rows("SELECT action, detail FROM audit ORDER BY id DESC LIMIT 1").await;
    assert_eq!(
        audit,
        ["Text(\"ships.write\") Text(\"First client: 0 written, 1 removed, 2 mission units left\")"]
    );
    check(&fixture, &second(), vec![remove(&id, 77)], &["0 unchanged -"]).await;
    check(&fixture, &first(), vec![link("e-1", &id)], &["0 unmatched UNMATCHED"]).await;
    // The external id is free again.
    check(&fixture, &first(), vec![ship("e-1")], &[]).await;
}

/// SHP-18, SHP-19, A11, A12, A13, WRT-14: the author of a removal can create the ship again, with any
/// version. Other authors need an override for 90 days; after that, the ship is unknown.
#[tokio::test]
async fn removed_ship_is_recreated_with_a_new_id() {
    let fixture = BackendFixture::unguarded().await;
    let refused: &[&str] = &["0 rejected REMOVED_ELSEWHERE"];
    let old = add_ship(&fixture, "e-1", ship("e-1")).await;
    check(&fixture, &first(), vec![remove(&old, 1)], &[]).await;
    for elsewhere in [second(), other_client()] {
        check(&fixture, &elsewhere, vec![existing_ship("e-1", &old, 1)], refused).await;
    }
    let new = add_ship(&fixture, "e-1", existing_ship("e-1", &old, 500)).await;
    assert_ne!(new, old);
    check(&fixture, &first(), vec![existing_ship("e-1", &old, 1)], &["0 rejected VERSION_CONFLICT"]).await;
    check(&fixture, &first(), vec![existing_ship("e-2", &old, 1)], &[]).await;
    for author in [ChangeAuthor::Web, ChangeAuthor::App, ChangeAuthor::System] {
        let name = format!("e-{}", author.channel());
        let removed_id = add_ship(&fixture, &name, ship(&name)).await;
        assert_eq!(apply_on_web(&fixture, author, vec![remove(&removed_id, 1)]).await["applied"], 1);
        check(&fixture, &first(), vec![existing_ship(&name, &removed_id, 1)], refused).await;
        let anyway = with_field(existing_ship(&name, &removed_id, 1), "override", json!(true));
        check(&fixture, &first(), vec![anyway], &[]).await;
        let recorded =
            fixture.rows("SELECT override, before IS NULL FROM journal ORDER BY id DESC LIMIT 1").await;
        assert_eq!(recorded, ["Integer(1) Integer(1)"]);
    }
    // A transfer counts as a removal through the web pages.
    let (one_, two) = (MemberId::new("m-1"), MemberId::new("m-2"));
    assert!(
        fixture
            .backend()
            .give_ship(&one_, ChangeAuthor::Web, &new, &two)
            .await
            .expect("the transfer succeeds")
    );
    assert!(
        !fixture.backend().give_ship(&one_, ChangeAuthor::Web, &new, &two).await.expect("the call succeeds")
    );
    check(
        &fixture,
        &first(),
        vec![existing_ship("e-1", &new, 1), remove(&new, 1)],
        &["0 rejected REMOVED_ELSEWHERE", "1 unchanged -"],
    )
    .await;
    fixture.clock.advance(90 * DAY);
    check(&fixture, &first(), vec![existing_ship("e-1", &new, 1)], refused).await;
    fixture.clock.advance(Duration::from_millis(1));
    check(
        &fixture,
        &first(),
        vec![existing_ship("e-1", &new, 1), remove(&new, 1)],
        &["0 unmatched UNMATCHED", "1 unmatched UNMATCHED"],
    )
    .await;
    assert_eq!(fixture.page(&other_member(), SHIPS, &mut String::new()).await.0[0]["version"], 2);
}

/// SHP-05, FED-04, TYP-14, TYP-15, A20: the feed contains every change of a ship, its unit, its unit's name
/// and its link once. A removed or transferred ship is a tombstone with its id.
#[tokio::test]
async fn feed_contains_each_ship_change_once() {
    let fixture = BackendFixture::new().await;
    let (a, b) = (add_ship(&fixture, "e-a", ship("e-a")).await, add_ship(&fixture, "e-b", ship("e-b")).await);
    let c = add_ship(&fixture, "e-c", with_field(ship("e-c"), "orgUnit", json!(null))).await;
    let mut cursor = String::new();
    fixture.page(&first(), SHIPS, &mut cursor).await;
    let read_changes = async |cursor: &mut String| {
        let (items, removed) = fixture.page(&first(), SHIPS, cursor).await;
        let mut ids: Vec<String> = items.iter().map(id).collect();
        ids.sort();
        (ids, removed)
    };
    let sorted = |mut ids: Vec<&String>| {
        ids.sort();
        ids.into_iter().cloned().collect::<Vec<String>>()
    };
    check(&fixture, &first(), vec![existing_ship("e-a", &a, 1)], &["0 unchanged -"]).await;
    assert_eq!(read_changes(&mut cursor).await, (vec![], vec![]));
    let unit = with_field(
        with_field(existing_ship("e-a", &a, 1), "orgUnit", json!(null)),
        "orgUnitVersion",
        json!(1),
    );
    check(
        &fixture,
        &first(),
        vec![unit, with_field(existing_ship("e-c", &c, 1), "name", json!("Bertha"))],
        &[],
    )
    .await;
    assert_eq!(read_changes(&mut cursor).await, (sorted(vec![&a, &c]), vec![]));
    let renamed = fixture.backend().rename_unit(&UnitId::new("u-1"), named("New Name"), named("NEW")).await;
    assert!(renamed.expect("the renaming succeeds"));
    assert_eq!(
        read_changes(&mut cursor).await,
        (vec![b.clone()], vec![]),
        "only ships of that unit are in the feed"
    );
    let unit = &ships_by_external_id(&fixture, &first()).await["e-b"]["orgUnit"];
    assert_eq!((&unit["name"], &unit["shorthand"]), (&json!("New Name"), &json!("NEW")));
    check(&fixture, &first(), vec![link("e-b", &b), link("e-c", &c)], &["0 unchanged -", "1 unchanged -"])
        .await;
    check(&fixture, &second(), vec![link("x", &a)], &[]).await;
    assert_eq!(read_changes(&mut cursor).await, (vec![a.clone()], vec![]));
    fixture.clock.advance(Duration::from_secs(1));
    check(&fixture, &other_client(), vec![remove(&b, 1)], &[]).await;
    let (one_, two) = (MemberId::new("m-1"), MemberId::new("m-2"));
    assert!(
        fixture.backend().give_ship(&one_, ChangeAuthor::Web, &c, &two).await.expect("the transfer succeeds")
    );
    let time = "2026-09-21T14:13:21Z";
    let client = json!({ "channel": "client", "clientId": "c-2", "installationId": "i-3" });
    let expected = vec![
        json!({ "key": b, "removedAt": time, "removedBy": client }),
        json!({ "key": c, "removedAt": time, "removedBy": { "channel": "web" } }),
    ];
    assert_eq!(read_changes(&mut cursor).await, (vec![], expected));
    assert_eq!(read_changes(&mut cursor).await, (vec![], vec![]));
    assert_eq!(fixture.page(&other_member(), SHIPS, &mut String::new()).await.0[0].get("externalId"), None);
}

/// SHP-22, WRT-10, WRT-13: a ship whose name and type change counts as a removal, and the page of the held
/// batch lists it.
#[tokio::test]
async fn changed_name_and_type_counts_as_removal() {
    let fixture = BackendFixture::new().await;
    let named =
        |number: usize| with_field(ship(&format!("e-{number}")), "name", json!(format!("Ship {number}")));
    check(&fixture, &first(), (0..10).map(named).collect(), &[]).await;
    let ships = ships_by_external_id(&fixture, &first()).await;
    let update = |number: usize| {
        let name = format!("e-{number}");
        with_field(existing_ship(&name, &id(&ships[&name]), 1), "name", json!(format!("Ship {number}")))
    };
    let other_name = |number| with_field(update(number), "name", json!("Another"));
    let other_type = |number| with_field(update(number), "shipType", json!({ "bt": "miner" }));
    let both = |number| with_field(other_name(number), "shipType", json!({ "bt": "miner" }));
    check(
        &fixture,
        &first(),
        vec![other_name(0), other_type(1), both(2), remove(&id(&ships["e-3"]), 1)],
        &[],
    )
    .await;
    let removals = fixture.rows("SELECT id FROM journal WHERE removal = 1").await;
    assert_eq!(removals.len(), 2);
    let refused = fixture
        .post(&first(), FLY, json!({ "ops": [both(4), both(5), remove(&id(&ships["e-6"]), 1)] }))
        .await;
    assert_eq!((refused.status, refused.code()), (409, "MASS_CHANGE_CONFIRMATION_REQUIRED"));
    let url = refused.body["confirmationUrl"].as_str().expect("a string");
    let handoff = HandoffToken::new(url.rsplit('/').next().expect("a handoff token"));
    let member = MemberId::new("m-1");
    let shown = fixture
        .backend()
        .preview_batch(&member, &handoff)
        .await
        .expect("the preview succeeds")
        .expect("the batch is held");
    assert_eq!((shown.area, shown.description.written_count()), ("ships", 0));
    let mut removed: Vec<&str> = shown.description.changes.iter().map(|change| &*change.name).collect();
    removed.sort_unstable();
    assert_eq!(removed, ["Ship 4 (Big Hauler)", "Ship 5 (Big Hauler)", "Ship 6 (Big Hauler)"]);
    fixture.backend().confirm_batch(&member, &handoff).await.expect("the confirmation succeeds");
    assert_eq!(ships_by_external_id(&fixture, &first()).await.len(), 8);
}

/// SHP-06, SHP-09, ERR-22, SHP-23: a body that violates the schema is rejected. Undeclared fields, such as
/// purchase data, cause a warning and are not stored.
#[tokio::test]
async fn schema_violations_are_rejected() {
    let fixture = BackendFixture::new().await;
    for (op, pointer) in [
        (with_field(ship("e"), "shipId", json!("s")), "/ops/0/version"),
        (with_field(ship("e"), "name", json!("n".repeat(256))), "/ops/0/name"),
        (
            with_field(ship("e"), "insurance", json!({ "kind": "MONTHS", "months": 121 })),
            "/ops/0/insurance/months",
        ),
        (with_field(ship("e"), "insurance", json!({ "kind": "MONTHS" })), "/ops/0/insurance/months"),
        (json!({ "op": "link", "externalId": "e" }), "/ops/0/shipId"),
        (json!({ "op": "remove", "shipId": "s" }), "/ops/0/version"),
    ] {
        let body = json!({ "ops": [op] }).to_string();
        let (status, body) = fixture.send_raw(&first(), FLY, body).await;
        assert_eq!(status, 400);
        assert_eq!(body["errors"][0]["pointer"], pointer, "{body}");
    }
    let bought = with_field(ship("e"), "purchase", json!({ "price": 424_242 }));
    let response = fixture.check(&first(), FLY, vec![bought], &[]).await;
    let warned = json!([{ "pointer": "/ops/0/purchase", "code": "UNKNOWN_FIELD" }]);
    assert_eq!(response.body["warnings"], warned);
    assert!(!fixture.everything().await.iter().any(|row| row.contains("424242")));
    assert!(!fixture.get(&first(), SHIPS).await.body.to_string().contains("424242"));
}

/// SHP-01, FED-01, FED-02: pages of any size contain every ship once, with the caller's own ids.
#[tokio::test]
async fn pages_contain_every_ship_once() {
    let fixture = BackendFixture::new().await;
    check(&fixture, &first(), (0..120).map(|number| ship(&format!("e-{number}"))).collect(), &[]).await;
    for limit in [1, 7, 119, 120, 1000] {
        let (mut seen, mut cursor) = (BTreeSet::new(), String::new());
        loop {
            let page = fixture.get(&first(), &format!("{SHIPS}?limit={limit}{cursor}")).await.body;
            for item in page["items"].as_array().expect("an array") {
                assert!(seen.insert(item["externalId"].as_str().expect("a string").to_owned()), "twice");
            }
            cursor = format!("&cursor={}", page["nextCursor"].as_str().expect("a string"));
            if page["hasMore"] == false {
                break;
            }
        }
        assert_eq!(seen.len(), 120, "{limit}");
    }
}

/// ERR-26, SHP-17, WRT-03: of many concurrent changes of one ship, one is applied and the ops of the others
/// are rejected. Change sets are evaluated in the transaction that writes them, so no request fails as a
/// whole.
#[tokio::test]
async fn concurrent_changes_conflict_per_op() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = StoreLocation::Folder(folder.path().to_owned());
    let fixture = BackendFixture::at_location(place, Config::default(), |backend| backend).await;
    let id = add_ship(&fixture, "a", ship("a")).await;
    let (me, twin, third) = (first(), second(), other_client());
    let sent = |caller, index: usize| {
        let op = with_field(existing_ship("a", &id, 1), "name", json!(format!("Name {index}")));
        fixture.post(caller, FLY, json!({ "ops": [op] }))
    };
    let response = tokio::join!(sent(&me, 0), sent(&twin, 1), sent(&third, 2), sent(&me, 3), sent(&twin, 4));
    let response = <[BackendResponse; 5]>::from(response);
    assert!(response.iter().all(|response| response.status == 200), "no request is rejected as a whole");
    let applied = response.iter().filter(|response| response.counts() == (1, 0, 0)).count();
    let refused =
        response.iter().filter(|response| response.outcomes() == [(0, "rejected VERSION_CONFLICT".into())]);
    assert_eq!((applied, refused.count()), (1, 4));
}
