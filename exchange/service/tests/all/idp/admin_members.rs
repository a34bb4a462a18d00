//! Tests of the `admin` commands that delete and rename members, list and remove units, and export the catalogue.

use serde_json::{Value, json};

use super::admin::{harness, read_audit, run_failing, run_json};
use super::harness::{Browser, Device, SCOPES};

/// Inserts blueprints, ships and stock of the member `m-1` directly.
const DATA: &str = "
    INSERT INTO unit (id, name, shorthand, kind) VALUES ('u-1', 'One', 'ONE', 'SQUADRON');
    INSERT INTO membership (member, unit) VALUES ('m-1', 'u-1');
    INSERT INTO blueprint (member, product) VALUES ('m-1', 'bp-1'), ('m-1', 'bp-2'), ('m-2', 'bp-1');
    INSERT INTO ship (id, member, ship_type, fitted, unit_version, version) VALUES
        ('ship-1', 'm-1', 'type', 0, 1, 1), ('ship-2', 'm-2', 'type', 0, 1, 1);
    INSERT INTO ship_link (installation, external_id, ship) VALUES ('i-1', 'x', 'ship-1');
    INSERT INTO mission_unit (id, mission, ship) VALUES ('mu-1', 'mission-1', 'ship-1');
    INSERT INTO stock_row (id, member, lot, pool_lot, kind, material, measure, location, quality, stolen, amount,
        shared, unit, version, booked_at) VALUES
        ('free', 'm-1', 'lot-1', NULL, 'MATERIAL', 'ore', 'SCU', 'l', 1, 0, 5, 0, NULL, 1, 1),
        ('reserved', 'm-1', 'lot-2', NULL, 'MATERIAL', 'ore', 'SCU', 'l', 2, 0, 5, 1, NULL, 1, 1),
        ('pooled', 'm-1', 'lot-3', 'pool-3', 'MATERIAL', 'ore', 'SCU', 'l', 3, 0, 5, 1, 'u-1', 1, 1),
        ('other', 'm-2', 'lot-1', NULL, 'MATERIAL', 'ore', 'SCU', 'l', 1, 0, 5, 0, NULL, 1, 1);
    INSERT INTO stock_earmark (stock_row, kind, target, amount) VALUES ('reserved', 'job-order', 'j-1', 1);
    INSERT INTO stock_offer (id, stock_row, amount) VALUES ('offer-1', 'free', 2)";

/// TYP-14, BPR-10: a deleted member's data is gone with tombstones of the system, the account and its connections
/// end, and stock that others rely on is kept without the member's name.
#[tokio::test]
async fn member_is_deleted_with_tombstones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let member: String = {
        let first = |database: &rusqlite::Connection| {
            let sql = "SELECT member FROM connection";
            Ok::<String, exchange_service::store::StoreError>(database.query_row(sql, [], |row| row.get(0))?)
        };
        harness.store.read(first).await.unwrap()
    };
    let data = DATA.replace("'m-1'", &format!("'{member}'"));
    let insert = move |database: &rusqlite::Connection| {
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch(&data)?)
    };
    harness.store.write(insert).await.unwrap();

    run_failing(folder, &["member", "delete", &member], "", 2, "--force");
    run_failing(folder, &["member", "delete", "m-99", "--force"], "", 1, "unknown member `m-99`");
    run_json(folder, &["member", "rename", &member, "--name", "Ada Lovelace"], "");
    let named = format!("SELECT count(*) FROM member WHERE id = '{member}' AND name = 'Ada Lovelace'");
    assert_eq!(harness.count(&*named).await, 1);
    let done = run_json(folder, &["member", "delete", &member, "--force"], "");
    let deleted = json!({ "blueprints": 2, "stock": 1, "ships": 1, "stockKept": 2 });
    assert_eq!(done, json!({ "done": "member.delete", "member": member, "deleted": deleted }));

    let none = async |what: &str| {
        let sql = format!("SELECT count(*) FROM {what}").replace("?1", &format!("'{member}'"));
        assert_eq!(harness.count(&*sql).await, 0, "{what}");
    };
    for what in [
        "blueprint WHERE member = ?1",
        "ship WHERE member = ?1",
        "ship_link",
        "mission_unit WHERE ship IS NOT NULL",
        "stock_offer",
        "stock_row WHERE id = 'free'",
        "account WHERE member = ?1",
        "membership WHERE member = ?1",
        "notice WHERE member = ?1",
        "connection WHERE member = ?1 AND ended_at IS NULL",
        "member WHERE id = ?1 AND (state <> 'deleted' OR name LIKE 'Ada%' OR handle IS NOT NULL OR is_admin)",
    ] {
        none(what).await;
    }
    let tombstones = "SELECT count(*) FROM feed_entry e JOIN feed_head h ON h.id = e.stream \
                      WHERE e.gone = 1 AND e.channel = 'system' AND h.stream LIKE 'member/%/' || ?1";
    assert_eq!(harness.count(&tombstones.replace("?1", &format!("'{member}'"))).await, 4);
    // The pool shows its entry differently, so that readers fetch it again (OST-07).
    let pool = "SELECT count(*) FROM feed_entry e JOIN feed_head h ON h.id = e.stream \
                WHERE e.gone = 0 AND e.key = 'pool-3' AND h.stream = 'unit/org-stock/u-1'";
    assert_eq!(harness.count(pool).await, 1);
    assert_eq!(
        harness.count("SELECT count(*) FROM stock_row WHERE id IN ('reserved', 'pooled', 'other')").await,
        3
    );
    assert_eq!(harness.count("SELECT count(*) FROM ship WHERE id = 'ship-2'").await, 1);

    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    let mut browser = Browser::default();
    browser.open(&harness, "/sign-in").await.expect(200);
    run_failing(folder, &["member", "delete", &member, "--force"], "", 1, "unknown member");
    run_failing(folder, &["member", "rename", &member, "--name", "Again"], "", 1, "unknown member");
    let audit = read_audit(&harness).await;
    assert!(audit.contains(&format!("member.rename {member} ")), "{audit:?}");
    assert!(audit.contains(&format!("member.delete {member} ")), "{audit:?}");
    assert!(!audit.join("\n").contains("Lovelace"), "{audit:?}");
}

/// OST-05: units are listed as a document that can be imported, and a unit without dependents can be removed.
#[tokio::test]
async fn units_are_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let harness = harness(folder).await;
    for member in ["m-11", "m-12"] {
        run_json(folder, &["member", "add", member, "--name", member], "");
    }
    let document = json!({ "units": [
        { "id": "u-1", "name": "First", "shorthand": "1ST", "kind": "SQUADRON", "profitSharing": true, "above": "u-2",
          "members": [{ "member": "m-11", "role": "leader" }, { "member": "m-12", "role": "member" }] },
        { "id": "u-2", "name": "Second", "shorthand": "2ND", "kind": "SQUADRON", "profitSharing": false, "above": null,
          "members": [] },
    ] });
    let file = folder.join("units.json");
    std::fs::write(&file, document.to_string()).unwrap();
    run_json(folder, &["unit", "import", file.to_str().unwrap()], "");
    assert_eq!(run_json(folder, &["unit", "list"], ""), document);
    run_failing(folder, &["unit", "remove", "u-2"], "", 2, "because it has 1 units below it");
    let insert = |database: &rusqlite::Connection| {
        let sql = "INSERT INTO ship (id, member, ship_type, fitted, unit, unit_version, version) \
                   VALUES ('ship-1', 'm-11', 'type', 0, 'u-1', 1, 1)";
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch(sql)?)
    };
    harness.store.write(insert).await.unwrap();
    run_failing(folder, &["unit", "remove", "u-1"], "", 2, "because it has 1 ships assigned to it");
    assert_eq!(harness.count("SELECT count(*) FROM membership").await, 2);
    let delete = |database: &rusqlite::Connection| {
        Ok::<(), exchange_service::store::StoreError>(database.execute_batch("DELETE FROM ship")?)
    };
    harness.store.write(delete).await.unwrap();
    run_json(folder, &["unit", "remove", "u-1"], "");
    run_failing(folder, &["unit", "remove", "u-1"], "", 1, "unknown unit `u-1`");
    let listed = run_json(folder, &["unit", "list"], "");
    assert_eq!(listed["units"].as_array().map(Vec::len), Some(1));
    assert_eq!(harness.count("SELECT count(*) FROM membership").await, 0);
}

/// The exported catalogue and defaults equal the imported documents, and can be imported again.
#[tokio::test]
async fn catalogue_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _harness = harness(folder).await;
    let catalogue = json!({
        "entries": [
            { "kind": "BLUEPRINT", "id": "bp-rifle", "name": "Rifle", "scRecord": "BP_CRAFT_RIFLE_01" },
            { "kind": "MATERIAL", "id": "ore", "name": "Ore", "uexId": 7, "facts": { "unit": "SCU" } },
        ],
        "aliases": [{ "kind": "MATERIAL", "alias": "Raw ore", "id": "ore" }],
        "locations": [{ "id": "hangar", "name": "City Hangar", "city": 3 }],
    });
    let file = folder.join("catalogue.json");
    let import = |document: &Value| {
        std::fs::write(&file, document.to_string()).unwrap();
        run_json(folder, &["catalogue", "import", file.to_str().unwrap()], "")
    };
    import(&catalogue);
    let exported = run_json(folder, &["catalogue", "export"], "");
    assert_eq!(exported["aliases"], catalogue["aliases"]);
    for (entry, expect) in
        [(&exported["entries"], &catalogue["entries"]), (&exported["locations"], &catalogue["locations"])]
    {
        for (entry, expect) in entry.as_array().unwrap().iter().zip(expect.as_array().unwrap()) {
            for (name, value) in expect.as_object().unwrap() {
                assert_eq!(entry[name], *value, "{entry}");
            }
        }
    }
    let again = import(&exported);
    assert_eq!((&again["catalogue"]["kept"], &again["catalogue"]["removed"]), (&2.into(), &0.into()));
    assert_eq!(run_json(folder, &["catalogue", "export"], ""), exported);
    let defaults = folder.join("defaults.json");
    std::fs::write(&defaults, r#"["bp-rifle"]"#).unwrap();
    run_json(folder, &["catalogue", "defaults", defaults.to_str().unwrap()], "");
    assert_eq!(run_json(folder, &["catalogue", "defaults"], ""), json!(["bp-rifle"]));
}
