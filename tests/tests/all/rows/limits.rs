//! LIM: limits of parameters and headers. The tests of each area cover the limits of bodies.

use contract_runtime::parameters::Parameter;
use exchange_api::operations::OPERATIONS;

use super::*;

/// Returns every parameter with this name, and the operation to which it belongs.
fn parameters(name: &str) -> Vec<(&'static str, &'static Parameter)> {
    let all = OPERATIONS.iter().flat_map(|o| o.parameters.iter().map(move |p| (o.id, p)));
    let found: Vec<_> = all.filter(|(_, parameter)| parameter.name == name).collect();
    assert!(!found.is_empty(), "no parameter {name}");
    found
}

fn accepts(parameter: &Parameter, value: &str) -> bool {
    let validator = parameter.validator.unwrap();
    validator.is_valid(&Json::parse(value.as_bytes()).unwrap())
}

/// LIM-14, FED-01: a page has 1 to 1000 entries; the default is 500.
#[test]
fn pages_have_1_to_1000_entries() {
    for (operation, limit) in parameters("limit") {
        for (value, valid) in [
            ("1", true),
            ("1000", true),
            ("0", false),
            ("1001", false),
            ("-1", false),
            ("1.5", false),
            ("\"many\"", false),
        ] {
            assert_eq!(accepts(limit, value), valid, "LIM-14: {operation}: {value}");
        }
        assert!(!limit.required, "{operation}");
    }
    let schema = &file("openapi.json")["components"]["parameters"]["Limit"]["schema"];
    assert_eq!(
        (&schema["minimum"], &schema["maximum"], &schema["default"]),
        (&Value::from(1), &Value::from(1000), &Value::from(500))
    );
    let entry = r#"{"key": "k", "ref": {"bt": "k", "name": "n"}, "isDefault": true}"#;
    let page =
        |n| format!(r#"{{"items": {}, "removed": [], "nextCursor": "c", "hasMore": true}}"#, many(n, entry));
    check(&[
        ("LIM-14", "page--blueprintPage", &page(1000), VALID),
        ("LIM-14", "page--blueprintPage", &page(1001), &[("/items", "maxItems")]),
    ]);
}

/// LIM-24, GW-09: an idempotency key has 8 to 128 characters of `A-Za-z0-9._~-`.
#[test]
fn an_idempotency_key_has_8_to_128_characters() {
    for (operation, key) in parameters("Idempotency-Key") {
        for (value, valid) in [
            (letters(8), true),
            (letters(128), true),
            (letters(7), false),
            (letters(129), false),
            ("\"Az09._~-\"".to_owned(), true),
            ("\"Az09 ._~\"".to_owned(), false),
            ("\"Az09+._~\"".to_owned(), false),
            ("\"Az09/._~\"".to_owned(), false),
            ("\"Äz09-._~\"".to_owned(), false),
        ] {
            assert_eq!(accepts(key, &value), valid, "LIM-24: {operation}: {value}");
        }
        assert!(key.required, "GW-09: {operation}");
    }
}

/// DPP-01, DPP-05, LIM-23: a proof has at most 4096 bytes, a nonce at most 256.
#[test]
fn proofs_and_nonces_are_limited() {
    let components = &file("openapi.json")["components"];
    let proof = &components["parameters"]["DPoP"];
    assert_eq!(proof["schema"], serde_json::json!({"type": "string", "minLength": 1, "maxLength": 4096}));
    assert_eq!(proof["required"], true, "DPP-01");
    let nonce = &components["headers"]["DpopNonce"]["schema"];
    assert_eq!(*nonce, serde_json::json!({"type": "string", "minLength": 1, "maxLength": 256}), "DPP-05");
}

/// LIM-26, GW-13: a correlation id has at most 128 characters, and the pointer of a warning at most 200.
#[test]
fn correlation_ids_and_pointers_are_limited() {
    let (c, p) = ("problem--correlationId", "problem--jsonPointer");
    let pointer = |n: usize| format!("\"/{}\"", "x".repeat(n - 1));
    let warning = format!(r#"{{"pointer": {}, "code": "UNKNOWN_FIELD"}}"#, pointer(201));
    check(&[
        ("LIM-26", c, &letters(128), VALID),
        ("LIM-26", c, &letters(129), &[("", "maxLength")]),
        ("GW-13", c, "\"Az09._-\"", VALID),
        ("GW-13", c, "\"a b\"", &[("", "pattern")]),
        ("LIM-26", p, &pointer(200), VALID),
        ("LIM-26", p, &pointer(201), &[("", "maxLength")]),
        ("LIM-26", "change-result--warning", &warning, &[("/pointer", "maxLength")]),
    ]);
}
