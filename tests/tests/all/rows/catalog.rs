//! RES: resolution of references, and the list of locations.

use exchange_api::types::WarningCode;

use super::*;

/// RES-01, LIM-15: a request has 1 to 500 references of one kind, each with at least one field.
#[test]
fn a_resolve_request_has_1_to_500_refs() {
    let t = "resolve-request";
    let request = |refs: &str| format!(r#"{{"kind": "MATERIAL", "refs": {refs}}}"#);
    shape("RES-01", t, &request(r#"[{"name": "n"}]"#), &["kind", "refs"]);
    for kind in ["BLUEPRINT", "ITEM", "SHIP_TYPE"] {
        check(&[("RES-01", t, &format!(r#"{{"kind": "{kind}", "refs": [{{"bt": "1"}}]}}"#), VALID)]);
    }
    check(&[
        ("LIM-15", t, &request(&many(500, r#"{"bt": "1"}"#)), VALID),
        ("RES-01", t, &request(&many(501, r#"{"bt": "1"}"#)), &[("/refs", "maxItems")]),
        ("RES-01", t, &request("[]"), &[("/refs", "minItems")]),
        ("RES-01", t, &request(r#"[{"bt": "1"}, {}]"#), &[("/refs/1", "anyOf")]),
        ("RES-01", t, r#"{"kind": "PLACE", "refs": [{"bt": "1"}]}"#, &[("/kind", "enum")]),
    ]);
}

/// RES-11, LIM-15: a result is `resolved` with its entry, `ambiguous` with one to ten candidates, or
/// `unmatched`.
#[test]
fn a_result_is_resolved_ambiguous_or_unmatched() {
    let entry = r#"{"bt": "1", "name": "n"}"#;
    let t = "resolve-response--resolveResult";
    let resolved = format!(r#"{{"index": 0, "status": "resolved", "ref": {entry}}}"#);
    let ambiguous =
        |n| format!(r#"{{"index": 499, "status": "ambiguous", "candidates": {}}}"#, many(n, entry));
    shape("RES-11", "resolve-response--resolvedResult", &resolved, &["index", "status", "ref"]);
    shape("RES-11", "resolve-response--ambiguousResult", &ambiguous(1), &["index", "status"]);
    let unmatched = r#"{"index": 1, "status": "unmatched"}"#;
    shape("RES-11", "resolve-response--unmatchedResult", unmatched, &["index", "status"]);
    shape("RES-11", "item-ref--catalogEntry", entry, &["bt", "name"]);
    check(&[
        ("RES-11", t, &resolved, VALID),
        ("RES-11", t, unmatched, VALID),
        ("LIM-15", t, &ambiguous(10), VALID),
        ("LIM-15", t, &ambiguous(11), &[("/candidates", "maxItems")]),
        ("RES-11", t, &ambiguous(0), &[("/candidates", "minItems")]),
        ("RES-11", t, r#"{"index": 1, "status": "guessed"}"#, &[("/status", "oneOf")]),
        ("RES-11", t, r#"{"index": 500, "status": "unmatched"}"#, &[("/index", "maximum")]),
        ("RES-11", t, r#"{"index": -1, "status": "unmatched"}"#, &[("/index", "minimum")]),
    ]);
    undeclared("RES-11", t, &format!(r#"{{"index": 1, "status": "unmatched", "ref": {entry}}}"#), &["/ref"]);
}

/// RES-12, LIM-15: a response has at most 50 warnings; the contract lists two warning codes.
#[test]
fn a_resolve_response_has_at_most_50_warnings() {
    let warning = r#"{"pointer": "/refs/0/locKey", "code": "LOC_KEY_UNRESOLVED"}"#;
    let response =
        |results: &str, warnings: &str| format!(r#"{{"results": {results}, "warnings": {warnings}}}"#);
    let result = r#"{"index": 0, "status": "unmatched"}"#;
    let t = "resolve-response";
    shape("RES-12", t, &response(&many(1, result), &many(1, warning)), &["results"]);
    shape("RES-12", "change-result--warning", warning, &["pointer", "code"]);
    check(&[
        ("LIM-15", t, &response(&many(500, result), "[]"), VALID),
        ("LIM-15", t, &response(&many(501, result), "[]"), &[("/results", "maxItems")]),
        ("RES-12", t, &response(&many(1, result), &many(50, warning)), VALID),
        ("RES-12", t, &response(&many(1, result), &many(51, warning)), &[("/warnings", "maxItems")]),
    ]);
    assert_eq!(texts(WarningCode::ALL), ["UNKNOWN_FIELD", "LOC_KEY_UNRESOLVED"]);
}

/// RES-15: the list of locations contains their names, and links to the external catalogue for some of them.
#[test]
fn locations_are_listed_by_name() {
    let whole = r#"{"items": [{"name": "A", "uex": {"kind": "CITY", "id": 1}}, {"name": "B"}]}"#;
    shape("RES-15", "location-list", whole, &[]);
    check(&[(
        "RES-15",
        "location-list",
        r#"{"items": [{"uex": {"kind": "CITY", "id": 1}}]}"#,
        &[("/items/0/name", "required")],
    )]);
}
