//! ORG, OST: org units, the lots of their pools, entries, holders and rosters.

use exchange_api::types::OrgUnitKind;

use super::*;

const UNIT: &str = r#"{"id": "u", "name": "U", "shorthand": "U", "kind": "SQUADRON"}"#;

const ENTRY: &str = r#"{"id": "e", "version": 3, "holder": {"withheld": false, "name": "n", "ref": "r"},
    "quantity": {"amount": 1.5, "unit": "SCU"}, "note": "x", "jobOrders": [], "missions": [],
    "free": {"jobOrders": {"amount": 1.5, "unit": "SCU"}, "missions": {"amount": 1.5, "unit": "SCU"}}}"#;

const LOT: &str = r#"{"key": "k", "unit": {"id": "u", "name": "U"}, "material": {"bt": "m", "name": "n"},
    "materialKind": {"type": "RAW", "commodity": true}, "location": {"name": "A"}, "quality": 0, "stolen": false,
    "quantity": {"amount": 1.5, "unit": "SCU"}, "entries": [],
    "earmarked": {"jobOrders": {"amount": 0, "unit": "SCU"}, "missions": {"amount": 0, "unit": "SCU"}}}"#;

/// ORG-02: the response lists org units; all properties of a unit are required.
#[test]
fn org_units_are_a_list() {
    shape("ORG-02", "org-unit-list", &format!(r#"{{"items": [{UNIT}]}}"#), &[]);
    shape("ORG-02", "org-unit", UNIT, &["id", "name", "shorthand", "kind"]);
    check(&[("ORG-02", "org-unit-list", "[]", &[("", "type")])]);
}

/// ORG-03: the contract lists four kinds of unit. A kind that a later version adds is accepted and preserved.
#[test]
fn there_are_four_kinds_of_unit() {
    assert_eq!(texts(OrgUnitKind::ALL), ["SQUADRON", "SPECIAL_COMMAND", "BEREICH", "ORGANISATIONSLEITUNG"]);
    check(&[
        ("ORG-03", "org-unit", &UNIT.replace("SQUADRON", "FLEET"), VALID),
        ("ORG-03", "org-unit", &UNIT.replace("SQUADRON", "squadron"), &[("/kind", "pattern")]),
    ]);
}

/// OST-02: a lot belongs to the pool of one unit, contains that unit, and does not name a holder.
#[test]
fn an_org_stock_lot_is_the_stock_of_a_pool() {
    let required = ["key", "unit", "material", "location", "quality", "stolen", "quantity", "earmarked"];
    shape("OST-02", "org-stock-lot", LOT, &required);
    shape("OST-02", "org-unit--unitRef", r#"{"id": "u", "name": "U"}"#, &["id", "name"]);
    let with_entry = LOT.replace("\"entries\": []", &format!("\"entries\": [{ENTRY}]"));
    check(&[
        ("OST-02", "org-stock-lot", &with_entry, VALID),
        (
            "OST-02",
            "org-stock-lot",
            &with_entry.replace("\"version\": 3, ", ""),
            &[("/entries/0/version", "required")],
        ),
        ("OST-02", "org-stock-lot", &LOT.replace("\"bt\": \"m\", ", ""), &[("/material/bt", "required")]),
    ]);
    let named = LOT.replace("\"stolen\"", "\"holder\": {\"withheld\": true}, \"stolen\"");
    undeclared("OST-02", "org-stock-lot", &named, &["/holder"]);
}

/// OST-03: earmarks consist of a quantity for job orders and a quantity for missions; both may be 0.
#[test]
fn earmarks_are_two_quantities() {
    let t = "org-stock-entry--earmarkSplit";
    let whole = r#"{"jobOrders": {"amount": 0, "unit": "SCU"}, "missions": {"amount": 2, "unit": "PIECE"}}"#;
    shape("OST-03", t, whole, &["jobOrders", "missions"]);
    check(&[
        ("OST-03", t, &whole.replace(": 0,", ": -1,"), &[("/jobOrders/amount", "minimum")]),
        ("OST-03", t, &whole.replace("\"PIECE\"", "null"), &[("/missions/unit", "type")]),
        (
            "OST-03",
            "org-stock-lot",
            &LOT.replace("\"missions\"", "\"m\""),
            &[("/earmarked/missions", "required")],
        ),
    ]);
}

/// OST-04: every page of org stock contains the units whose pools the member reads.
#[test]
fn an_org_stock_page_carries_the_units() {
    let t = "page--orgStockPage";
    let page = |units: &str| {
        format!(
            r#"{{"items": [{LOT}], "removed": [], "nextCursor": "c", "hasMore": false, "units": {units}}}"#
        )
    };
    shape("OST-04", t, &page(&format!("[{UNIT}]")), &["nextCursor", "hasMore", "units"]);
    check(&[
        ("OST-04", t, &page("[]"), VALID),
        (
            "OST-04",
            t,
            &page(r#"[{"id": "u", "name": "U"}]"#),
            &[("/units/0/kind", "required"), ("/units/0/shorthand", "required")],
        ),
        (
            "OST-04",
            t,
            &page("[]").replace("\"quality\": 0", "\"quality\": -1"),
            &[("/items/0/quality", "minimum")],
        ),
    ]);
}

/// OST-11: an entry has id, version, holder, quantity, earmarks, and the quantity that is not earmarked
/// (`free`).
#[test]
fn an_entry_has_holder_quantity_and_earmarks() {
    let t = "org-stock-entry";
    shape("OST-11", t, ENTRY, &["id", "version", "holder", "quantity", "free"]);
    let job = r#"{"id": "j", "number": 1, "quantity": {"amount": 1, "unit": "SCU"}, "delivered": false}"#;
    shape("OST-11", "org-stock-entry--jobOrderEarmark", job, &["id", "quantity", "delivered"]);
    let mission = r#"{"id": "m", "name": "n", "quantity": {"amount": 1, "unit": "SCU"}}"#;
    shape("OST-11", "org-stock-entry--missionEarmark", mission, &["id", "quantity"]);
    let earmarked = ENTRY
        .replace("\"jobOrders\": []", &format!("\"jobOrders\": [{job}]"))
        .replace("\"missions\": []", &format!("\"missions\": [{mission}]"));
    check(&[
        ("OST-11", t, &earmarked, VALID),
        ("OST-11", t, &earmarked.replace("false}]", "1}]"), &[("/jobOrders/0/delivered", "type")]),
        ("OST-11", t, &earmarked.replace("\"id\": \"m\", ", ""), &[("/missions/0/id", "required")]),
        ("OST-11", t, &ENTRY.replace("\"version\": 3", "\"version\": -1"), &[("/version", "minimum")]),
    ]);
}

/// OST-12: a holder has a name and a reference, or is only marked as withheld; an entry with a withheld
/// holder has no note.
#[test]
fn a_holder_is_named_or_withheld() {
    let h = "org-stock-entry--holder";
    let named = r#"{"withheld": false, "name": "n", "ref": "r"}"#;
    shape("OST-12", "org-stock-entry--namedHolder", named, &["withheld", "name", "ref"]);
    let withheld = ENTRY.replace(named, r#"{"withheld": true}"#);
    check(&[
        ("OST-12", h, named, VALID),
        ("OST-12", h, r#"{"withheld": true}"#, VALID),
        ("OST-12", h, r#"{"withheld": true, "name": "n"}"#, &[("", "not")]),
        ("OST-12", h, r#"{"withheld": true, "ref": "r"}"#, &[("", "not")]),
        ("OST-12", h, r#"{"withheld": false, "name": "n"}"#, &[("/ref", "required")]),
        ("OST-12", h, r#"{"name": "n", "ref": "r"}"#, &[("/withheld", "required")]),
        ("OST-12", "org-stock-entry", ENTRY, VALID),
        ("OST-12", "org-stock-entry", &withheld, &[("", "not")]),
        ("OST-12", "org-stock-entry", &withheld.replace("\"note\": \"x\", ", ""), VALID),
    ]);
}

/// OST-15: a roster contains its unit and the unit's members, each with reference and name.
#[test]
fn a_roster_has_unit_and_members() {
    let whole = r#"{"unit": {"id": "u", "name": "U"}, "items": [{"ref": "r", "name": "n"}]}"#;
    shape("OST-15", "org-stock-members", whole, &["unit"]);
    shape("OST-15", "org-stock-members--rosterMember", r#"{"ref": "r", "name": "n"}"#, &["ref", "name"]);
    check(&[
        (
            "OST-15",
            "org-stock-members",
            &whole.replace("\"ref\": \"r\", ", ""),
            &[("/items/0/ref", "required")],
        ),
        ("OST-15", "org-stock-members", &whole.replace("\"id\": \"u\", ", ""), &[("/unit/id", "required")]),
    ]);
    assert_eq!(exchange_api::codes::Code::from("NOT_PERMITTED").status(), Some(403));
}
