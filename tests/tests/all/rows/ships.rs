//! SHP: the member's ships, and changes to them.

use super::*;

const SHIP: &str = r#"{"shipId": "s", "externalId": "e", "version": 3, "shipType": {"bt": "t", "name": "n"},
    "name": "Lady", "insurance": {"kind": "LTI"}, "location": {"name": "A", "uex": {"kind": "CITY", "id": 1}},
    "fitted": true, "orgUnit": {"id": "u", "name": "U", "shorthand": "U", "kind": "SQUADRON"}, "orgUnitVersion": 7}"#;

const UPSERT: &str = r#"{"op": "upsert", "externalId": "e", "shipType": {"name": "n"}, "insurance": {"kind": "LTI"},
    "name": "Lady", "location": {"name": "A"}, "fitted": false, "orgUnit": "u", "opId": "o", "override": true}"#;

/// SHP-01: a page contains ships, each with its id, type, insurance and two versions.
#[test]
fn a_ship_has_id_type_insurance_and_versions() {
    let required = ["shipId", "version", "shipType", "insurance", "fitted"];
    shape("SHP-01", "ship", SHIP, &required);
    let page =
        |ship: &str| format!(r#"{{"items": [{ship}], "removed": [], "nextCursor": "c", "hasMore": false}}"#);
    check(&[("SHP-01", "page--shipPage", &page(SHIP), VALID)]);
    check(&[(
        "SHP-01",
        "page--shipPage",
        &page("{}"),
        &[
            ("/items/0/fitted", "required"),
            ("/items/0/insurance", "required"),
            ("/items/0/shipId", "required"),
            ("/items/0/shipType", "required"),
            ("/items/0/version", "required"),
        ],
    )]);
}

/// SHP-02, LIM-30: a name has at most 255 characters. Insurance is for life or for 0 to 120 months.
#[test]
fn names_and_insurance_of_ships_are_limited() {
    let (t, i) = ("ship", "ship--insurance");
    shape("SHP-02", "ship--monthlyInsurance", r#"{"kind": "MONTHS", "months": 1}"#, &["kind", "months"]);
    shape("SHP-02", "ship--lifetimeInsurance", r#"{"kind": "LTI"}"#, &["kind"]);
    check(&[
        ("LIM-30", "ship--shipName", &letters(255), VALID),
        ("LIM-30", "ship--shipName", &letters(256), &[("", "maxLength")]),
        ("SHP-02", "ship--shipName", r#""""#, &[("", "minLength")]),
        ("SHP-02", i, r#"{"kind": "LTI"}"#, VALID),
        ("LIM-30", i, r#"{"kind": "MONTHS", "months": 0}"#, VALID),
        ("LIM-30", i, r#"{"kind": "MONTHS", "months": 120}"#, VALID),
        ("LIM-30", i, r#"{"kind": "MONTHS", "months": 121}"#, &[("/months", "maximum")]),
        ("LIM-30", i, r#"{"kind": "MONTHS", "months": -1}"#, &[("/months", "minimum")]),
        ("SHP-02", i, r#"{"kind": "YEARS"}"#, &[("/kind", "oneOf")]),
        ("SHP-02", t, &SHIP.replace("\"bt\": \"t\", ", ""), &[("/shipType/bt", "required")]),
        ("SHP-02", t, &SHIP.replace("true", "1"), &[("/fitted", "type")]),
        ("SHP-02", t, &SHIP.replace("\"name\": \"A\", ", ""), &[("/location/name", "required")]),
        ("SHP-02", t, &SHIP.replace("\"Lady\"", "null"), &[("/name", "type")]),
    ]);
}

/// SHP-04: the unit of a ship is a complete object or absent; `orgUnitVersion` counts its changes.
#[test]
fn the_unit_of_a_ship_is_whole_or_absent() {
    let unit = |unit: &str| {
        let mut ship: Value = serde_json::from_str(SHIP).unwrap();
        ship["orgUnit"] = serde_json::from_str(unit).unwrap();
        ship.to_string()
    };
    check(&[
        ("SHP-04", "ship", &unit("null"), &[("/orgUnit", "type")]),
        ("SHP-04", "ship", &unit("\"u\""), &[("/orgUnit", "type")]),
        (
            "SHP-04",
            "ship",
            &unit(r#"{"id": "u", "name": "U", "kind": "SQUADRON"}"#),
            &[("/orgUnit/shorthand", "required")],
        ),
        ("SHP-04", "ship", &SHIP.replace(": 7", ": null"), &[("/orgUnitVersion", "type")]),
    ]);
}

/// SHP-06: every op accepts `opId`; `upsert` also accepts `override`. A unit is an id or `null`.
#[test]
fn ship_ops_refer_to_type_place_and_unit() {
    let t = "change-set--shipOp";
    check(&[
        ("SHP-06", t, r#"{"op": "link", "externalId": "e", "shipId": "s", "opId": "o"}"#, VALID),
        ("SHP-06", t, r#"{"op": "remove", "shipId": "s", "version": 1, "opId": "o"}"#, VALID),
        ("SHP-06", t, UPSERT, VALID),
        ("SHP-06", t, &UPSERT.replace("\"u\"", "null"), VALID),
        ("SHP-06", t, &UPSERT.replace("\"u\"", "{}"), &[("/orgUnit", "anyOf")]),
        ("SHP-06", t, &UPSERT.replace("\"u\"", "\"\""), &[("/orgUnit", "minLength")]),
        ("SHP-06", t, &UPSERT.replace("true", "1"), &[("/override", "type")]),
        ("SHP-06", t, &UPSERT.replace("{\"name\": \"n\"}", "{}"), &[("/shipType", "anyOf")]),
        ("SHP-06", t, &UPSERT.replace("{\"name\": \"A\"}", "{}"), &[("/location", "anyOf")]),
        ("SHP-06", t, &UPSERT.replace("upsert", "update"), &[("/op", "oneOf")]),
        ("SHP-06", "change-set--shipChangeSet", &format!(r#"{{"ops": [{UPSERT}]}}"#), VALID),
    ]);
    let link = r#"{"op": "link", "externalId": "e", "shipId": "s", "override": true}"#;
    undeclared("SHP-06", t, link, &["/override"]);
}

/// SHP-07: `link` requires the client's id for the ship and the ship id.
#[test]
fn link_names_both_ids() {
    let op = r#"{"op": "link", "externalId": "e", "shipId": "s", "opId": "o"}"#;
    shape("SHP-07", "change-set--linkShip", op, &["op", "externalId", "shipId"]);
}

/// SHP-08: an `upsert` without `shipId` requires `externalId`, `shipType` and `insurance`.
#[test]
fn an_upsert_needs_id_type_and_insurance() {
    shape("SHP-08", "change-set--upsertShip", UPSERT, &["op", "externalId", "shipType", "insurance"]);
    let bad = UPSERT.replace("\"LTI\"", "\"MONTHS\"");
    check(&[("SHP-08", "change-set--upsertShip", &bad, &[("/insurance/months", "required")])]);
}

/// SHP-09: an `upsert` with `shipId` requires the ship's version; `orgUnitVersion` is optional.
#[test]
fn an_upsert_of_a_ship_needs_its_version() {
    let t = "change-set--upsertShip";
    let with = |more: &str| UPSERT.replace("\"opId\"", &format!("{more}, \"opId\""));
    check(&[
        ("SHP-09", t, &with(r#""shipId": "s", "version": 3, "orgUnitVersion": 7"#), VALID),
        ("SHP-09", t, &with(r#""shipId": "s", "version": 3"#), VALID),
        ("SHP-09", t, &with(r#""shipId": "s""#), &[("/version", "dependentRequired")]),
        (
            "SHP-09",
            t,
            &with(r#""shipId": "s", "version": 3, "orgUnitVersion": null"#),
            &[("/orgUnitVersion", "type")],
        ),
        ("SHP-09", "change-set--shipOp", &with(r#""shipId": "s""#), &[("/version", "dependentRequired")]),
    ]);
}

/// SHP-10: `remove` requires the ship id and the version; the change result counts the detached missions.
#[test]
fn remove_needs_the_version() {
    let op = r#"{"op": "remove", "shipId": "s", "version": 3, "opId": "o"}"#;
    shape("SHP-10", "change-set--removeShip", op, &["op", "shipId", "version"]);
    assert!(members("change-result").contains(&"detachedFromMissions".to_owned()));
}

/// SHP-23: a ship has exactly these properties; none of them contains purchase data.
#[test]
fn purchase_data_is_not_exchanged() {
    let shown = [
        "extensions",
        "externalId",
        "fitted",
        "insurance",
        "location",
        "name",
        "orgUnit",
        "orgUnitVersion",
        "shipId",
        "shipType",
        "version",
    ];
    assert_eq!(members("ship"), shown);
    let sent = [
        "externalId",
        "fitted",
        "insurance",
        "location",
        "name",
        "op",
        "orgUnit",
        "orgUnitVersion",
        "override",
        "shipId",
        "shipType",
        "version",
    ];
    assert_eq!(members("change-set--upsertShip"), sent);
    assert_eq!(members("change-set--changeOp"), ["opId"]);
    undeclared(
        "SHP-23",
        "ship",
        &SHIP.replace("\"fitted\"", "\"purchasePrice\": 1, \"fitted\""),
        &["/purchasePrice"],
    );
}
