//! Org units: which of them a member is told of.

use super::*;

const UNITS: &str = "/exchange/v1/me/org-units";

/// ORG-01, ORG-02, ORG-03, CON-15: the units that the member directly belongs to, by name, each with its kind;
/// leading one or administering the service adds none.
#[tokio::test]
async fn a_member_is_told_of_their_own_units() {
    let bench = Bench::new().await;
    let unit = |id: &str, name: &str, shorthand: &str, kind: &str| json!({ "id": id, "name": name, "shorthand": shorthand, "kind": kind });
    let first_unit = unit("u-1", "First Unit", "ONE", "SQUADRON");
    let second_unit = unit("u-2", "Second Unit", "TWO", "SPECIAL_COMMAND");
    assert_eq!(bench.get(&first(), UNITS).await.body, json!({ "items": [first_unit] }));
    assert_eq!(bench.get(&other_member(), UNITS).await.body, json!({ "items": [first_unit, second_unit] }));
    bench
        .sql(
            "UPDATE member SET is_admin = 1;
             UPDATE membership SET leadership = 1, logistician = 1;
             UPDATE unit SET name = 'Zeroth Unit' WHERE id = 'u-1';
             DELETE FROM membership WHERE member = 'm-1';
             INSERT INTO unit (id, name, shorthand, kind) VALUES ('u-4', 'Board', 'B', 'ORGANISATIONSLEITUNG');
             INSERT INTO membership (member, unit) VALUES ('m-2', 'u-3'), ('m-2', 'u-4');",
        )
        .await;
    assert_eq!(bench.get(&first(), UNITS).await.body, json!({ "items": [] }));
    let listed = bench.get(&other_member(), UNITS).await.body;
    let named = |one: &Value| {
        format!("{} {}", one["name"].as_str().expect("a name"), one["kind"].as_str().expect("a kind"))
    };
    let named: Vec<String> = listed["items"].as_array().expect("a list").iter().map(named).collect();
    let expected = [
        "Board ORGANISATIONSLEITUNG",
        "Second Unit SPECIAL_COMMAND",
        "Third Unit BEREICH",
        "Zeroth Unit SQUADRON",
    ];
    assert_eq!(named, expected);
    // A name that is longer than answers have it is cut, wherever it stands.
    bench.sql("UPDATE unit SET name = printf('%.*c', 300, 'n') WHERE id = 'u-2'").await;
    let listed = bench.get(&other_member(), UNITS).await.body;
    let lengths = listed["items"].as_array().expect("a list").iter();
    let lengths: Vec<usize> = lengths.map(|one| one["name"].as_str().expect("a name").len()).collect();
    assert_eq!(lengths.iter().max(), Some(&200));
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgunits.read");
    assert_eq!(bench.get(&narrow, UNITS).await.code(), "SCOPE_MISSING");
}
