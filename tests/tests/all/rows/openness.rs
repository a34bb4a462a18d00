//! CON-06 to CON-08, CON-12: timestamps and identifiers, and data that clients must accept and preserve
//! although the contract does not list it.

use contract_runtime::{Contract, DocumentError};
use exchange_api::types::{
    AccountCheckResponse, CatalogKind, DemandSource, Location, MaterialKind, Provenance, Quantity, StockLot,
    Timestamp, UnitId, UpsertShip, WarningCode,
};

use super::*;

/// CON-06: timestamps are RFC 3339 in UTC with every component in its range, and every property for a time
/// has this type. The schema does not reject a day that the month does not have; the server does.
#[test]
fn timestamps_are_rfc_3339_in_utc() {
    let t = "provenance--timestamp";
    check(&[
        ("CON-06", t, r#""2026-01-02T03:04:05Z""#, VALID),
        ("CON-06", t, r#""2026-01-02T03:04:05.123456789Z""#, VALID),
        ("CON-06", t, r#""2026-01-02T03:04:05z""#, VALID),
        ("CON-06", t, r#""2026-01-02t03:04:05Z""#, VALID),
        ("CON-06", t, r#""2026-01-02T03:04:05+00:00""#, VALID),
        ("CON-06", t, r#""2026-12-31T23:59:60Z""#, VALID),
        ("CON-06", t, r#""2026-02-31T23:59:59Z""#, VALID),
        ("CON-06", t, r#""2026-00-02T03:04:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-13-02T03:04:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-00T03:04:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-32T03:04:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T24:00:00Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T03:60:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T03:04:60Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T03:04:05-00:00""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T03:04:05+01:00""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02T03:04:05""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02 03:04:05Z""#, &[("", "pattern")]),
        ("CON-06", t, r#""2026-01-02""#, &[("", "pattern")]),
        ("CON-06", t, "1767322645", &[("", "type")]),
    ]);
    assert_eq!(schema(t)["format"], "date-time");

    let mut times = 0;
    for (name, schema) in schema_files() {
        objects(&schema, "", &mut |at, object| {
            let property = at.rsplit_once("/properties/").map_or("", |(_, name)| name);
            // Ignored properties may have any value (SVC-08).
            let ignored = at.starts_with("/$defs/labelledInstallation/");
            if property == "sunset" || (property.ends_with("At") && !property.contains('/') && !ignored) {
                times += 1;
                let target = object.get("$ref").and_then(Value::as_str).unwrap_or_default();
                assert!(target.ends_with("provenance.schema.json#/$defs/timestamp"), "{name} {at}: {target}");
            }
        });
    }
    // Two in `installation`, and one each in provenance, tombstone, blueprint, `add`, envelope, envelope
    // item, draft, image, deprecation and demand.
    assert_eq!(times, 12);
}

/// CON-06: timestamps are compared by the instants that they denote, not as strings; their strings are
/// preserved.
#[test]
fn timestamps_compare_by_instant() {
    let at = |text: &str| Timestamp::new(text).unwrap();
    let ordered = [
        "0001-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.000000001Z",
        "2026-01-01T00:00:00.09z",
        "2026-01-01t00:00:00.1+00:00",
        "2026-01-01T00:00:00.5Z",
        "2026-12-31T23:59:59.999Z",
        "2026-12-31T23:59:60Z",
        "2027-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ];
    for (i, earlier) in ordered.iter().enumerate() {
        for later in &ordered[i + 1..] {
            assert!(at(earlier) < at(later), "CON-06: {earlier} {later}");
        }
        assert_eq!(at(earlier).as_str(), *earlier);
    }
    for text in ["2026-01-01T00:00:00.0Z", "2026-01-01t00:00:00z", "2026-01-01T00:00:00.000+00:00"] {
        assert_eq!(at(text), at("2026-01-01T00:00:00Z"), "CON-06: {text}");
        assert_eq!(at(text), "2026-01-01T00:00:00Z", "CON-06: {text}");
    }
    let moment =
        |text: &str| at(text).timestamp().map(|moment| (moment.unix_seconds(), moment.subsec_nanos()));
    assert_eq!(moment("2026-01-01T00:00:00.25Z"), Some((1_767_225_600, 250_000_000)));
    assert_eq!(moment("2026-02-31T00:00:00Z"), None);
}

/// CON-07: keys, ids and references are opaque strings of 1 to 128 arbitrary characters.
#[test]
fn identifiers_are_opaque() {
    let odd = r#"" Ü/~0 {\"a\": 1}\n\u0000 🚀 ""#;
    for folder in [
        "blueprint--blueprintKey",
        "stock-lot--lotKey",
        "org-stock-lot--orgLotKey",
        "ship--shipId",
        "ship--externalId",
        "installation--installationId",
        "tombstone--tombstoneKey",
        "item-ref--catalogKey",
        "org-unit--unitId",
        "org-stock-entry--entryId",
        "org-stock-entry--holderRef",
        "org-stock-entry--jobOrderId",
        "org-stock-entry--missionId",
    ] {
        check(&[
            ("CON-07", folder, odd, VALID),
            ("CON-07", folder, &letters(128), VALID),
            ("CON-07", folder, &letters(129), &[("", "maxLength")]),
            ("CON-07", folder, r#""""#, &[("", "minLength")]),
            ("CON-07", folder, "7", &[("", "type")]),
        ]);
    }
    check(&[
        ("CON-07", "page--cursor", r#""Zz09._:-""#, VALID),
        ("CON-07", "page--cursor", &letters(129), &[("", "maxLength")]),
        ("CON-07", "page--cursor", "7", &[("", "type")]),
    ]);
}

/// CON-08: an undeclared property is accepted at every depth, preserved, and reported by its JSON Pointer. No
/// schema closes an object. Change results and resolve responses can contain a warning about it.
#[test]
fn undeclared_fields_are_accepted_and_found() {
    undeclared(
        "CON-08",
        "change-set--blueprintChangeSet",
        r#"{"hue": {"a": 1}, "ops": [{"op": "add", "tint": null, "ref": {"name": "x", "a/b": 2}}]}"#,
        &["/hue", "/ops/0/ref/a~1b", "/ops/0/tint"],
    );
    for (folder, document) in [
        ("installation--labelledInstallation", r#"{"label": "Desk", "hue": 1}"#),
        ("account-check-request", r#"{"handle": "abc", "hue": 1}"#),
        ("resolve-request", r#"{"kind": "ITEM", "refs": [{"bt": "1"}], "hue": 1}"#),
        ("refinery-draft", r#"{"schemaVersion": 1, "orders": [], "hue": 1}"#),
        ("blueprint-draft", r#"{"format": "svc.blueprints", "formatVersion": "1.0", "items": [], "hue": 1}"#),
    ] {
        undeclared("CON-08", folder, document, &["/hue"]);
    }
    for (name, schema) in schema_files() {
        objects(&schema, "", &mut |at, object| {
            for keyword in ["additionalProperties", "unevaluatedProperties"] {
                assert_ne!(object.get(keyword), Some(&Value::Bool(false)), "CON-08: {name} {at}");
            }
        });
    }
    assert!(WarningCode::ALL.contains(&WarningCode::UnknownField));
    let warning = r#"[{"pointer": "/ops/0/tint", "code": "UNKNOWN_FIELD"}]"#;
    let result = r#""dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": []"#;
    let resolved = r#""results": [{"index": 0, "status": "unmatched"}]"#;
    check(&[
        ("CON-08", "change-result", &format!(r#"{{{result}, "warnings": {warning}}}"#), VALID),
        ("CON-08", "resolve-response", &format!(r#"{{{resolved}, "warnings": {warning}}}"#), VALID),
    ]);
}

/// SHP-06, SHP-12: an absent `orgUnit`, `null` and a unit id are distinguished, also after a round trip.
#[test]
fn absent_null_and_value_are_distinguished() {
    let base = r#""op": "upsert", "externalId": "e", "shipType": {"bt": "1"}, "insurance": {"kind": "LTI"}"#;
    let read = |unit: &str| UpsertShip::parse_valid(format!("{{{base}{unit}}}").as_bytes()).unwrap();
    let (absent, null, value) = (read(""), read(r#", "orgUnit": null"#), read(r#", "orgUnit": "u""#));
    assert_eq!(absent.org_unit, None);
    assert_eq!(null.org_unit, Some(exchange_api::Nullable::Null));
    assert_eq!(value.org_unit, Some(exchange_api::Nullable::Value(UnitId::new("u").unwrap())));
    let written = |op: &UpsertShip| op.to_json().unwrap().to_string();
    assert!(!written(&absent).contains("orgUnit"), "{}", written(&absent));
    assert!(written(&null).contains(r#""orgUnit":null"#), "{}", written(&null));
    assert!(written(&value).contains(r#""orgUnit":"u""#), "{}", written(&value));
}

/// CON-12: a property that a newer server adds does not prevent parsing, and is preserved.
#[test]
fn response_of_a_newer_server_is_parsed() {
    let lot = br#"{"key": "k", "material": {"bt": "1", "name": "n"}, "location": {"name": "A", "moon": 4},
        "quality": 0, "stolen": false, "quantity": {"amount": 1, "unit": "SCU"}, "age": 7.50}"#;
    let read = StockLot::parse_valid(lot).unwrap();
    let mut undeclared = read.undeclared_members(9);
    undeclared.sort();
    assert_eq!(undeclared, ["/age", "/location/moon"]);
    assert_eq!(read.undeclared_members(1).len(), 1);
    assert_eq!(read.to_json().unwrap(), Json::parse(lot).unwrap());
}

/// CON-12: a value that a newer server adds to an enumeration is parsed, preserved, and rejected by
/// validation. An enumeration that occurs only in requests rejects it when parsing.
#[test]
fn unknown_enumeration_values_are_preserved() {
    fn check_preserved<T: Contract + PartialEq + std::fmt::Debug>(document: &str, pointer: &str) {
        let read = T::parse(document.as_bytes()).unwrap_or_else(|e| panic!("CON-12: {document}: {e}"));
        assert_eq!(read.to_json().unwrap(), Json::parse(document.as_bytes()).unwrap(), "CON-12");
        assert!(!read.is_valid(), "CON-12: {document}");
        let violations = read.validate().unwrap_err();
        let found: Vec<_> = violations.iter().map(|v| (v.pointer.as_str(), v.keyword)).collect();
        assert_eq!(found, [(pointer, "enum")], "CON-12: {document}");
        assert!(T::parse_valid(document.as_bytes()).is_err(), "CON-12: {document}");
    }
    check_preserved::<MaterialKind>(r#"{"type": "ALLOY", "commodity": true}"#, "/type");
    check_preserved::<DemandSource>(r#""mission-order""#, "");
    check_preserved::<Provenance>(r#"{"source": "scanner"}"#, "/source");
    check_preserved::<Location>(r#"{"name": "A", "uex": {"kind": "OUTPOST", "id": 7}}"#, "/uex/kind");
    check_preserved::<AccountCheckResponse>(r#"{"result": "renamed"}"#, "/result");
    check_preserved::<Quantity>(r#"{"amount": 1, "unit": "CRATE"}"#, "/unit");

    let error = CatalogKind::parse(br#""SHIP""#).unwrap_err();
    let DocumentError::Invalid(violations) = error else { panic!("CON-12: {error}") };
    let found: Vec<_> = violations.iter().map(|v| v.keyword).collect();
    assert_eq!(found, ["enum"], "CON-12: the enumeration occurs only in requests");
}
