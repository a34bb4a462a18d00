//! Tests of the org units that a member can see.

use exchange_service::admin::{AdminContext, read_units, set_units};

use super::org_stock::{POOLS, book_in_stock, member_fixture};
use super::ships::{FLY, SHIPS, ship, with_field};
use super::stock::ORE;
use super::*;

const UNITS: &str = "/exchange/v1/me/org-units";

/// ORG-01, ORG-02, ORG-03, CON-15: a member sees only the units of which the member is a direct member,
/// sorted by name, each with its kind. Leading a unit or administering the service adds none.
#[tokio::test]
async fn member_sees_only_direct_units() {
    let fixture = BackendFixture::new().await;
    let unit = |id: &str, name: &str, shorthand: &str, kind: &str| json!({ "id": id, "name": name, "shorthand": shorthand, "kind": kind });
    let first_unit = unit("u-1", "First Unit", "ONE", "SQUADRON");
    let second_unit = unit("u-2", "Second Unit", "TWO", "SPECIAL_COMMAND");
    assert_eq!(fixture.get(&first(), UNITS).await.body, json!({ "items": [first_unit] }));
    assert_eq!(fixture.get(&other_member(), UNITS).await.body, json!({ "items": [first_unit, second_unit] }));
    fixture
        .sql(
            "UPDATE member SET is_admin = 1;
             UPDATE membership SET leadership = 1, logistician = 1;
             UPDATE unit SET name = 'Zeroth Unit' WHERE id = 'u-1';
             DELETE FROM membership WHERE member = 'm-1';
             INSERT INTO unit (id, name, shorthand, kind) VALUES ('u-4', 'Board', 'B', 'ORGANISATIONSLEITUNG');
             INSERT INTO membership (member, unit) VALUES ('m-2', 'u-3'), ('m-2', 'u-4');",
        )
        .await;
    assert_eq!(fixture.get(&first(), UNITS).await.body, json!({ "items": [] }));
    let listed = fixture.get(&other_member(), UNITS).await.body;
    let named = |one: &Value| {
        format!("{} {}", one["name"].as_str().expect("a string"), one["kind"].as_str().expect("a string"))
    };
    let named: Vec<String> = listed["items"].as_array().expect("an array").iter().map(named).collect();
    let expected = [
        "Board ORGANISATIONSLEITUNG",
        "Second Unit SPECIAL_COMMAND",
        "Third Unit BEREICH",
        "Zeroth Unit SQUADRON",
    ];
    assert_eq!(named, expected);
    // A name that exceeds the contract's maximum is truncated in every response.
    fixture.sql("UPDATE unit SET name = printf('%.*c', 300, 'n') WHERE id = 'u-2'").await;
    let listed = fixture.get(&other_member(), UNITS).await.body;
    let lengths = listed["items"].as_array().expect("an array").iter();
    let lengths: Vec<usize> = lengths.map(|one| one["name"].as_str().expect("a string").len()).collect();
    assert_eq!(lengths.iter().max(), Some(&200));
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgunits.read");
    assert_eq!(fixture.get(&narrow, UNITS).await.code(), "SCOPE_MISSING");
}

/// SHP-05, OST-07: if an administrator's document renames a unit, the feeds of ships and pools contain the
/// change once. Unchanged units cause no feed entries.
#[tokio::test]
async fn document_renames_a_unit() {
    let fixture = member_fixture().await;
    fixture.check(&first(), FLY, vec![with_field(ship("e-1"), "orgUnit", json!("u-1"))], &[]).await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5), ("u-2", "Two", ORE, 5)]).await;
    let (mut ships, mut lots) = (String::new(), String::new());
    fixture.page(&first(), SHIPS, &mut ships).await;
    fixture.page(&first(), POOLS, &mut lots).await;
    let import = async |first_name: &str| {
        let unit = |id: &str, name: &str, shorthand: &str, kind: &str| json!({ "id": id, "name": name, "shorthand": shorthand, "kind": kind });
        let units = json!({ "units": [
            unit("u-1", first_name, "ONE", "SQUADRON"), unit("u-2", "Second Unit", "TWO", "SPECIAL_COMMAND"),
        ] });
        let units = read_units(&units.to_string()).expect("valid units");
        let now = fixture.clock.now();
        let set = move |connection: &rusqlite::Connection| {
            set_units(connection, &AdminContext::new("sam", now).expect("a valid name"), &units)
        };
        fixture.store.write(set).await.expect("the import succeeds");
    };
    import("New Name").await;
    let (items, _) = fixture.page(&first(), SHIPS, &mut ships).await;
    assert_eq!((items.len(), &items[0]["orgUnit"]["name"]), (1, &json!("New Name")));
    let (items, _) = fixture.page(&first(), POOLS, &mut lots).await;
    let unit = json!({ "id": "u-1", "name": "New Name" });
    assert_eq!((items.len(), &items[0]["unit"]), (1, &unit), "only lots of that unit are in the feed");
    import("New Name").await;
    assert_eq!(fixture.page(&first(), SHIPS, &mut ships).await, (vec![], vec![]));
    assert_eq!(fixture.page(&first(), POOLS, &mut lots).await, (vec![], vec![]));
    let renamed = fixture.rows("SELECT actor, subject FROM audit WHERE action = 'unit.rename'").await;
    assert_eq!(renamed, ["Text(\"administrator:sam\") Text(\"u-1\")"]);
}
