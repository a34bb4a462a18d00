//! WRT: change sets and their results.

use exchange_api::{reasons::Reason, types::OpResult};

use super::*;

const RESULT: &str = r#"{"dryRun": false, "applied": 1, "unchanged": 2, "notApplied": 3, "results": [],
    "warnings": [], "detachedFromMissions": 1, "offersReduced": 2, "offersRemoved": 3}"#;

const SETS: [(&str, &str); 4] = [
    ("change-set--blueprintChangeSet", r#"{"op": "remove", "key": "k", "opId": "o"}"#),
    (
        "change-set--stockChangeSet",
        r#"{"op": "set-quantity", "material": {"bt": "m"}, "location": {"name": "A"}, "quality": 0, "stolen": false,
            "quantity": {"amount": 1, "unit": "SCU"}, "expectedQuantity": {"amount": 0, "unit": "SCU"}, "opId": "o"}"#,
    ),
    ("change-set--shipChangeSet", r#"{"op": "remove", "shipId": "s", "version": 1, "opId": "o"}"#),
    (
        "change-set--orgStockChangeSet",
        r#"{"op": "note", "unit": "u", "entry": "e", "version": 1, "opId": "o"}"#,
    ),
];

/// WRT-01, LIM-01, A5: in all areas, a change set has 1 to 500 ops and an optional `dryRun`; each op has an
/// optional `opId`.
#[test]
fn a_change_set_has_1_to_500_ops() {
    for (folder, op) in SETS {
        let set = |ops: &str| format!(r#"{{"ops": {ops}}}"#);
        let bad_id = op.replace("\"o\"", &letters(65));
        shape("WRT-01", folder, &format!(r#"{{"ops": [{op}], "dryRun": true}}"#), &["ops"]);
        check(&[
            ("LIM-01", folder, &set(&many(500, op)), VALID),
            ("LIM-01", folder, &set(&many(501, op)), &[("/ops", "maxItems")]),
            ("LIM-01", folder, &set("[]"), &[("/ops", "minItems")]),
            ("WRT-01", folder, &set(&many(1, &bad_id)), &[("/ops/0/opId", "maxLength")]),
            ("WRT-01", folder, &set(&many(1, &op.replace("\"o\"", "7"))), &[("/ops/0/opId", "type")]),
            ("WRT-01", folder, &format!(r#"{{"ops": [{op}], "dryRun": 1}}"#), &[("/dryRun", "type")]),
        ]);
    }
    assert_eq!(exchange_api::codes::Code::from("BATCH_TOO_LARGE").status(), Some(413));
}

/// WRT-05, WRT-07: a change result has counts, results and warnings, and three optional counts of single
/// areas.
#[test]
fn a_change_result_counts_the_ops() {
    shape("WRT-05", "change-result", RESULT, &["dryRun"]);
    for count in
        ["applied", "unchanged", "notApplied", "detachedFromMissions", "offersReduced", "offersRemoved"]
    {
        let mut wrong: Value = serde_json::from_str(RESULT).unwrap();
        wrong[count] = Value::from(-1);
        let id = if ["applied", "unchanged", "notApplied"].contains(&count) { "WRT-05" } else { "WRT-07" };
        check(&[(id, "change-result", &wrong.to_string(), &[(&format!("/{count}"), "minimum")])]);
    }
    let all_500 = RESULT.replace(
        "\"results\": []",
        &format!("\"results\": {}", many(500, r#"{"index": 0, "result": "unchanged"}"#)),
    );
    check(&[("WRT-05", "change-result", &all_500, VALID)]);
}

/// WRT-06: a result contains the index of the op, the outcome and an optional reason.
#[test]
fn a_result_names_op_outcome_and_reason() {
    let t = "change-result--opOutcome";
    let whole = r#"{"index": 0, "opId": "o", "result": "rejected", "reason": "STOCK_EARMARKED"}"#;
    shape("WRT-06", t, whole, &["index", "result"]);
    assert_eq!(texts(OpResult::ALL), ["unchanged", "unmatched", "ambiguous", "rejected"]);
    check(&[
        ("WRT-06", t, r#"{"index": 499, "result": "unchanged"}"#, VALID),
        ("WRT-06", t, r#"{"index": 500, "result": "unchanged"}"#, &[("/index", "maximum")]),
        ("WRT-06", t, &whole.replace("STOCK_EARMARKED", "stock"), &[("/reason", "pattern")]),
        ("WRT-06", t, &whole.replace("STOCK_EARMARKED", "NEW_REASON_2"), VALID),
    ]);
}

/// WRT-07: a warning requires a JSON Pointer and a code, and a result has at most 50 warnings.
#[test]
fn a_warning_is_a_pointer_and_a_code() {
    let t = "change-result--warning";
    shape("WRT-07", t, r#"{"pointer": "/ops/0/x", "code": "UNKNOWN_FIELD"}"#, &["pointer", "code"]);
    let warnings = |n| {
        RESULT.replace(
            "\"warnings\": []",
            &format!("\"warnings\": {}", many(n, r#"{"pointer": "", "code": "UNKNOWN_FIELD"}"#)),
        )
    };
    check(&[
        ("WRT-07", t, r#"{"pointer": "ops", "code": "UNKNOWN_FIELD"}"#, &[("/pointer", "pattern")]),
        ("WRT-07", "change-result", &warnings(50), VALID),
        ("WRT-07", "change-result", &warnings(51), &[("/warnings", "maxItems")]),
    ]);
}

/// WRT-09: the outcome of an unchanged op must not contain a reason.
#[test]
fn an_unchanged_op_has_no_reason() {
    check(&[
        ("WRT-09", "change-result--opOutcome", r#"{"index": 0, "result": "unchanged"}"#, VALID),
        (
            "WRT-09",
            "change-result--opOutcome",
            r#"{"index": 0, "result": "unchanged", "reason": "UNMATCHED"}"#,
            &[("", "not")],
        ),
    ]);
}

/// WRT-09, BPR-06 to BPR-09, STK-06 to STK-13, SHP-13 to SHP-18, OST-31 to OST-39: each reason belongs to one
/// result and to a fixed list of ops.
#[test]
fn reasons_belong_to_ops() {
    let (blueprints, stock, ships) =
        (["blueprints.add", "blueprints.remove"], "stock.set-quantity", "ships.");
    let ship = |op: &str| format!("{ships}{op}");
    let org = |ops: &[&str]| ops.iter().map(|op| format!("org-stock.{op}")).collect::<Vec<_>>();
    let takes = ["book-out", "sell", "move-location", "move-holder", "move-pool"];
    let all = |parts: &[&[String]]| parts.concat();
    let own = |ops: &[&str]| ops.iter().map(|op| (*op).to_owned()).collect::<Vec<_>>();
    let expected: Vec<(&str, &str, Vec<String>)> = vec![
        (
            "UNMATCHED",
            "unmatched",
            all(&[
                &own(&blueprints),
                &own(&[stock]),
                &[ship("link"), ship("upsert"), ship("remove")],
                &org(&["book-in"]),
            ]),
        ),
        (
            "AMBIGUOUS",
            "ambiguous",
            all(&[&own(&blueprints), &own(&[stock]), &[ship("upsert")], &org(&["book-in"])]),
        ),
        ("DEFAULT_NOT_REMOVABLE", "rejected", own(&["blueprints.remove"])),
        ("REMOVED_ELSEWHERE", "rejected", own(&["blueprints.add", stock, "ships.upsert"])),
        (
            "LOCATION_UNKNOWN",
            "rejected",
            all(&[&own(&[stock, "ships.upsert"]), &org(&["book-in", "move-location"])]),
        ),
        (
            "UNIT_MISMATCH",
            "rejected",
            all(&[&own(&[stock]), &org(&["book-in"]), &org(&takes), &org(&["stolen"])]),
        ),
        ("STOLEN_MARKING_DISABLED", "rejected", all(&[&own(&[stock]), &org(&["book-in", "stolen"])])),
        (
            "VERSION_CONFLICT",
            "rejected",
            all(&[&own(&[stock, "ships.upsert", "ships.remove"]), &org(&takes), &org(&["note", "stolen"])]),
        ),
        ("STOCK_EARMARKED", "rejected", all(&[&own(&[stock]), &org(&takes), &org(&["stolen"])])),
        ("LINK_TARGET_TAKEN", "rejected", own(&["ships.link", "ships.upsert"])),
        ("ORG_UNIT_NOT_ALLOWED", "rejected", own(&["ships.upsert"])),
        ("ORG_UNIT_VERSION_CONFLICT", "rejected", own(&["ships.upsert"])),
        ("NOT_PERMITTED", "rejected", all(&[&org(&["book-in"]), &org(&takes), &org(&["note", "stolen"])])),
        ("HOLDER_UNKNOWN", "rejected", org(&["book-in", "move-holder", "move-pool"])),
        ("INSUFFICIENT_STOCK", "rejected", all(&[&org(&takes), &org(&["stolen"])])),
        ("STOCK_OFFERED", "rejected", org(&["move-pool", "stolen"])),
        ("OVER_ALLOCATION", "rejected", org(&["book-in"])),
        // `move-pool` has no earmark fields (OST-38).
        (
            "EARMARK_TARGET_INVALID",
            "rejected",
            org(&["book-in", "book-out", "sell", "move-location", "move-holder"]),
        ),
    ];
    let names: Vec<&str> = expected.iter().map(|(name, ..)| *name).collect();
    assert_eq!(texts(Reason::ALL), names);
    let listed: Vec<String> =
        serde_json::from_value(schema("change-result--opReason")["anyOf"][0]["enum"].clone()).unwrap();
    assert_eq!(listed, names);
    for (name, result, mut ops) in expected {
        let reason = Reason::from(name);
        let mut found = reason.ops().unwrap().to_vec();
        found.sort_unstable();
        ops.sort_unstable();
        assert_eq!(found, ops, "WRT-09: {name}");
        assert_eq!(reason.result().unwrap().as_str(), result, "WRT-09: {name}");
    }
    assert_eq!(Reason::from("LATER").as_str(), "LATER");
    assert_eq!(Reason::from("LATER").ops(), None);
}
