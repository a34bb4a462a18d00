//! OST-16 to OST-28: the eight ops on org stock.

use super::*;

const BOOK_IN: &str = r#"{"op": "book-in", "unit": "u", "holder": "r", "material": {"bt": "m"}, "location": {"name": "A"},
    "quality": 0, "stolen": false, "quantity": {"amount": 1, "unit": "SCU"}, "note": "n",
    "jobOrders": [{"jobOrder": "j", "quantity": {"amount": 1, "unit": "SCU"}}],
    "missions": [{"mission": "i", "quantity": {"amount": 1, "unit": "SCU"}}], "mergeScu": true, "opId": "o"}"#;

/// Properties of all ops that take a quantity from an entry; `fromJobOrders` and `fromMissions` are optional.
const TAKE: &str = r#""unit": "u", "entry": "e", "version": 3, "quantity": {"amount": 1, "unit": "SCU"}, "opId": "o",
    "fromJobOrders": [{"jobOrder": "j", "quantity": {"amount": 1, "unit": "SCU"}}],
    "fromMissions": [{"mission": "i", "quantity": {"amount": 1, "unit": "SCU"}}]"#;

/// Properties of every op on an entry, including the optional `opId`.
const ENTRY: &str = r#""unit": "u", "entry": "e", "version": 3, "opId": "o""#;

/// Returns one op of each kind.
fn ops() -> Vec<String> {
    vec![
        BOOK_IN.to_owned(),
        format!(r#"{{"op": "book-out", {TAKE}}}"#),
        format!(r#"{{"op": "sell", {TAKE}, "terminal": "t", "proceeds": 5}}"#),
        format!(r#"{{"op": "move-location", {TAKE}, "location": {{"name": "A"}}, "mergeScu": true}}"#),
        format!(r#"{{"op": "move-holder", {TAKE}, "toUnit": "v", "holder": "r", "mergeScu": true}}"#),
        format!(
            r#"{{"op": "move-pool", {ENTRY}, "toUnit": "v", "quantity": {{"amount": 1, "unit": "SCU"}}, "mergeScu": true}}"#
        ),
        format!(r#"{{"op": "note", {ENTRY}, "note": "n"}}"#),
        format!(r#"{{"op": "stolen", {ENTRY}, "stolen": true, "quantity": {{"amount": 1, "unit": "SCU"}}}}"#),
    ]
}

/// Returns the required properties of an op on an entry: the common ones and `own`.
fn required<'a>(own: &[&'a str]) -> Vec<&'a str> {
    [&["op", "unit", "entry", "version"], own].concat()
}

/// OST-16: a change set can contain all eight kinds of op; each op requires `op` and `unit`.
#[test]
fn every_op_names_its_pool() {
    let (t, set) = ("change-set--orgStockOp", "change-set--orgStockChangeSet");
    shape("OST-16", set, &format!(r#"{{"ops": [{}], "dryRun": true}}"#, ops().join(",")), &["ops"]);
    for op in ops() {
        check(&[
            ("OST-16", t, &op, VALID),
            ("OST-16", t, &op.replace("\"unit\": \"u\", ", ""), &[("/unit", "required")]),
            ("OST-16", t, &op.replace("\"op\":", "\"op2\":"), &[("/op", "required")]),
            ("OST-16", t, &op.replace("\"op\": \"", "\"op\": \"un"), &[("/op", "oneOf")]),
        ]);
    }
}

/// OST-20: `book-in` requires holder, material, location, quality, `stolen` and quantity.
#[test]
fn book_in() {
    let t = "change-set--bookIn";
    let own = ["op", "unit", "holder", "material", "location", "quality", "stolen", "quantity"];
    shape("OST-20", t, BOOK_IN, &own);
    let order = r#"{"jobOrder": "j", "quantity": {"amount": 1, "unit": "SCU"}}"#;
    shape("OST-20", "change-set--jobOrderShare", order, &["jobOrder", "quantity"]);
    let mission = r#"{"mission": "i", "quantity": {"amount": 1, "unit": "SCU"}}"#;
    shape("OST-20", "change-set--missionShare", mission, &["mission", "quantity"]);
    check(&[
        (
            "OST-20",
            t,
            &BOOK_IN.replace("\"mission\"", "\"jobOrder\""),
            &[("/missions/0/mission", "required")],
        ),
        ("OST-20", t, &BOOK_IN.replace("true", "1"), &[("/mergeScu", "type")]),
        ("OST-20", t, &BOOK_IN.replace("\"quality\": 0", "\"quality\": 1001"), &[("/quality", "maximum")]),
        ("OST-20", t, &BOOK_IN.replace("{\"bt\": \"m\"}", "{}"), &[("/material", "anyOf")]),
    ]);
}

/// OST-21: `book-out` requires entry, version and quantity; the earmarks from which it takes are optional.
#[test]
fn book_out() {
    let t = "change-set--bookOut";
    shape("OST-21", t, &ops()[1], &required(&["quantity"]));
    let op = &ops()[1];
    check(&[
        ("OST-21", t, &op.replace("\"version\": 3", "\"version\": \"3\""), &[("/version", "type")]),
        ("OST-21", t, &op.replace("\"jobOrder\"", "\"id\""), &[("/fromJobOrders/0/jobOrder", "required")]),
        ("OST-21", t, &op.replace("\"mission\"", "\"id\""), &[("/fromMissions/0/mission", "required")]),
    ]);
}

/// OST-22: `sell` has the properties of `book-out`, a terminal, and the proceeds in whole aUEC.
#[test]
fn sell() {
    let t = "change-set--sellStock";
    let op = &ops()[2];
    shape("OST-22", t, op, &required(&["quantity", "terminal", "proceeds"]));
    check(&[
        ("OST-22", t, &op.replace(": 5", ": 0"), VALID),
        ("OST-22", t, &op.replace(": 5", ": 1000000000000"), VALID),
        ("OST-22", t, &op.replace(": 5", ": 1000000000001"), &[("/proceeds", "maximum")]),
        ("OST-22", t, &op.replace(": 5", ": -1"), &[("/proceeds", "minimum")]),
        ("OST-22", t, &op.replace(": 5", ": 5.5"), &[("/proceeds", "type")]),
        ("OST-22", t, &op.replace("\"t\"", "\"\""), &[("/terminal", "minLength")]),
    ]);
}

/// OST-23: `move-location` requires the new location.
#[test]
fn move_location() {
    let t = "change-set--moveLocation";
    let op = &ops()[3];
    shape("OST-23", t, op, &required(&["quantity", "location"]));
    check(&[("OST-23", t, &op.replace("{\"name\": \"A\"}", "{}"), &[("/location", "anyOf")])]);
}

/// OST-24: `move-holder` requires the new holder and the holder's unit.
#[test]
fn move_holder() {
    let t = "change-set--moveHolder";
    let op = &ops()[4];
    shape("OST-24", t, op, &required(&["quantity", "toUnit", "holder"]));
    check(&[("OST-24", t, &op.replace("\"v\"", "null"), &[("/toUnit", "type")])]);
}

/// OST-25: `move-pool` requires the new unit; without a quantity, it moves the whole entry.
#[test]
fn move_pool() {
    let t = "change-set--movePool";
    let op = &ops()[5];
    shape("OST-25", t, op, &required(&["toUnit"]));
    let earmarked = op.replace("\"toUnit\"", "\"fromMissions\": [], \"toUnit\"");
    undeclared("OST-25", t, &earmarked, &["/fromMissions"]);
}

/// OST-27: a `note` op clears the note if its `note` is absent or blank.
#[test]
fn note() {
    let t = "change-set--setNote";
    let op = &ops()[6];
    shape("OST-27", t, op, &required(&[]));
    check(&[
        ("OST-27", t, &op.replace("\"n\"", "\"\""), VALID),
        ("OST-27", t, &op.replace("\"n\"", "\" \""), VALID),
        ("OST-27", t, &op.replace("\"n\"", &letters(2000)), VALID),
        ("OST-27", t, &op.replace("\"n\"", &letters(2001)), &[("/note", "maxLength")]),
        ("OST-27", t, &op.replace("\"n\"", "null"), &[("/note", "type")]),
    ]);
}

/// OST-28: `stolen` requires the new value of the marker; without a quantity, it marks the whole entry.
#[test]
fn stolen() {
    let t = "change-set--markStolen";
    let op = &ops()[7];
    shape("OST-28", t, op, &required(&["stolen"]));
    check(&[("OST-28", t, &op.replace("true", "null"), &[("/stolen", "type")])]);
}
