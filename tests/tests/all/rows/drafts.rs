//! DRF: the blueprint envelope, refinery drafts, and the results of drafts.

use contract_runtime::Contract;
use exchange_api::types::{DraftKind, DraftResult, PanelType};

use super::*;

const ENVELOPE: &str = r#"{"format": "svc.blueprints", "formatVersion": "1.0", "generator": {"name": "n", "version": "1"},
    "generatedAt": "2026-01-02T03:04:05Z", "items": [{"ref": {"name": "n"}}]}"#;

const GOOD: &str = r#"{"inputQuantity": 1.5, "rawMaterialName": "r", "refine": true, "outputQuantity": 0.5, "quality": 1,
    "rowIndex": 0, "confidence": 0.5, "sourceImage": "a"}"#;

const IMAGE: &str =
    r#"{"name": "a", "capturedAt": "2026-01-02T03:04:05Z", "cropMode": "c", "width": 1, "height": 1}"#;

const RESULT: &str =
    r#"{"frontendUrl": "https://web.example/d/hush", "handoffId": "hush", "kind": "REFINERY"}"#;

fn order(goods: usize, images: usize) -> String {
    format!(
        r#"{{"panelType": "SETUP", "goods": {}, "sourceImages": {}, "durationMinutes": 1, "expenses": 0.5,
            "layoutConfidence": 1, "quoted": false, "rawInManifestTotal": 1, "rawToRefineTotal": 1,
            "rawLocationName": "l", "rawMethodName": "m", "totalYieldScu": 1}}"#,
        many(goods, GOOD),
        many(images, IMAGE)
    )
}

fn draft(orders: usize) -> String {
    format!(r#"{{"schemaVersion": 1, "orders": {}}}"#, many(orders, &order(1, 1)))
}

/// DRF-01, LIM-32: an envelope names its format and has at most 2000 items; each item has a reference.
#[test]
fn an_envelope_has_up_to_2000_items() {
    shape("DRF-01", "envelope", ENVELOPE, &["format", "items"]);
    shape("DRF-01", "envelope--generatorInfo", r#"{"name": "n", "version": "1"}"#, &["name", "version"]);
    let item =
        r#"{"ref": {"name": "n"}, "acquiredAt": "2026-01-02T03:04:05Z", "provenance": {"source": "log"}}"#;
    shape("DRF-01", "envelope--envelopeItem", item, &["ref"]);
    let items =
        |n| format!(r#"{{"format": "svc.blueprints", "formatVersion": "1.0", "items": {}}}"#, many(n, item));
    for folder in ["envelope", "blueprint-draft"] {
        check(&[
            ("LIM-32", folder, &items(0), VALID),
            ("LIM-32", folder, &items(2000), VALID),
            ("LIM-32", folder, &items(2001), &[("/items", "maxItems")]),
            ("DRF-01", folder, &ENVELOPE.replace("svc.blueprints", "svc.ships"), &[("/format", "const")]),
            ("DRF-01", folder, &ENVELOPE.replace("\"1.0\"", "1.0"), &[("/formatVersion", "type")]),
        ]);
    }
    let keys = ["extensions", "format", "formatVersion", "generatedAt", "generator", "items"];
    assert_eq!(members("envelope"), keys);
}

/// DRF-06: a blueprint draft is an envelope with an explicit `formatVersion` whose major version is 1.
#[test]
fn a_blueprint_draft_is_of_major_version_1() {
    let t = "blueprint-draft";
    let version = |version: &str| ENVELOPE.replace("1.0", version);
    let wrong: &[(&str, &str)] = &[("/formatVersion", "pattern")];
    shape("DRF-06", t, ENVELOPE, &["format", "formatVersion", "items"]);
    check(&[
        ("DRF-06", t, &version("1.12"), VALID),
        ("DRF-06", t, &version("2.0"), wrong),
        ("DRF-06", t, &version("01.0"), wrong),
        ("DRF-06", t, &version("10.0"), wrong),
        ("DRF-06", t, &version("1"), wrong),
    ]);
}

/// DRF-08, LIM-36, A6: a draft has up to 5 orders; each has 1 to 100 goods and 1 to 50 images. A schema
/// version other than 1 and an empty list of orders are valid by the schema; the server rejects them.
#[test]
fn a_refinery_draft_has_up_to_5_orders() {
    let (t, o) = ("refinery-draft", "refinery-draft--refineryOrder");
    shape("DRF-08", t, &draft(1), &["schemaVersion", "orders"]);
    check(&[
        ("LIM-36", t, &draft(5), VALID),
        ("LIM-36", t, &draft(6), &[("/orders", "maxItems")]),
        ("DRF-08", t, &draft(0), VALID),
        ("DRF-08", t, &draft(1).replace("\"schemaVersion\": 1", "\"schemaVersion\": 2"), VALID),
        (
            "DRF-08",
            t,
            &draft(1).replace("\"schemaVersion\": 1", "\"schemaVersion\": \"1\""),
            &[("/schemaVersion", "type")],
        ),
        ("LIM-36", o, &order(100, 50), VALID),
        ("LIM-36", o, &order(101, 1), &[("/goods", "maxItems")]),
        ("LIM-36", o, &order(0, 1), &[("/goods", "minItems")]),
        ("LIM-36", o, &order(1, 51), &[("/sourceImages", "maxItems")]),
        ("LIM-36", o, &order(1, 0), &[("/sourceImages", "minItems")]),
    ]);
}

/// DRF-09: orders, goods and images have these fields; the only panel type that the contract lists is
/// `SETUP`.
#[test]
fn refinery_orders_goods_and_images_have_their_fields() {
    shape("DRF-09", "refinery-draft--refineryOrder", &order(1, 1), &["panelType", "goods", "sourceImages"]);
    shape("DRF-09", "refinery-draft--refineryGood", GOOD, &["inputQuantity", "rawMaterialName", "refine"]);
    shape("DRF-09", "refinery-draft--sourceImage", IMAGE, &["name"]);
    let whole = r#"{"schemaVersion": 1, "orders": [], "tool": "t", "toolVersion": "1", "model": "m",
        "clientLanguage": "de", "generatedAt": "2026-01-02T03:04:05Z"}"#;
    shape("DRF-09", "refinery-draft", whole, &["schemaVersion", "orders"]);
    assert_eq!(texts(PanelType::ALL), ["SETUP"]);
    let (o, g, i) =
        ("refinery-draft--refineryOrder", "refinery-draft--refineryGood", "refinery-draft--sourceImage");
    let order = order(1, 1);
    check(&[
        ("DRF-09", o, &order.replace("SETUP", "QUEUE"), VALID),
        ("DRF-09", o, &order.replace("\"SETUP\"", &letters(33)), &[("/panelType", "maxLength")]),
        (
            "DRF-09",
            o,
            &order.replace("\"durationMinutes\": 1", "\"durationMinutes\": -1"),
            &[("/durationMinutes", "minimum")],
        ),
        (
            "DRF-09",
            o,
            &order.replace("\"expenses\": 0.5", "\"expenses\": 1000000000.5"),
            &[("/expenses", "maximum")],
        ),
        (
            "DRF-09",
            o,
            &order.replace("\"layoutConfidence\": 1", "\"layoutConfidence\": 1.01"),
            &[("/layoutConfidence", "maximum")],
        ),
        ("DRF-09", o, &order.replace("\"l\"", &letters(256)), &[("/rawLocationName", "maxLength")]),
        ("DRF-09", o, &order.replace("\"m\"", &letters(256)), &[("/rawMethodName", "maxLength")]),
        (
            "DRF-09",
            o,
            &order.replace("\"totalYieldScu\": 1", "\"totalYieldScu\": -1"),
            &[("/totalYieldScu", "minimum")],
        ),
        ("DRF-09", g, &GOOD.replace("1.5", "-1"), &[("/inputQuantity", "minimum")]),
        (
            "DRF-09",
            g,
            &GOOD.replace("\"outputQuantity\": 0.5", "\"outputQuantity\": -1"),
            &[("/outputQuantity", "minimum")],
        ),
        ("DRF-09", g, &GOOD.replace("\"quality\": 1", "\"quality\": 1001"), VALID),
        ("DRF-09", g, &GOOD.replace("\"quality\": 1", "\"quality\": true"), &[("/quality", "type")]),
        (
            "DRF-09",
            g,
            &GOOD.replace("\"confidence\": 0.5", "\"confidence\": 1.5"),
            &[("/confidence", "maximum")],
        ),
        ("DRF-09", g, &GOOD.replace("\"r\"", &letters(256)), &[("/rawMaterialName", "maxLength")]),
        ("DRF-09", i, &IMAGE.replace("\"width\": 1", "\"width\": 0"), &[("/width", "minimum")]),
        ("DRF-09", i, &IMAGE.replace("\"height\": 1", "\"height\": 0"), &[("/height", "minimum")]),
        ("DRF-09", i, &IMAGE.replace("\"c\"", &letters(33)), &[("/cropMode", "maxLength")]),
    ]);
}

/// DRF-12: a draft result contains the link, the handoff id and the kind. A kind that a later version adds is
/// accepted and preserved.
#[test]
fn a_draft_result_has_link_handoff_and_kind() {
    let t = "draft-result";
    shape("DRF-12", t, RESULT, &["frontendUrl", "handoffId", "kind"]);
    assert_eq!(texts(DraftKind::ALL), ["BLUEPRINT", "REFINERY"]);
    check(&[
        ("DRF-12", t, &RESULT.replace("REFINERY", "SHIP_LIST"), VALID),
        ("DRF-12", t, &RESULT.replace("https:", "file:"), &[("/frontendUrl", "pattern")]),
        ("DRF-12", t, &RESULT.replace("REFINERY", "refinery"), &[("/kind", "pattern")]),
    ]);
}

/// DRF-13: the link and the handoff id are serialized, but `Debug` and `Display` do not print them.
#[test]
fn link_and_handoff_are_never_printed() {
    let result = DraftResult::parse_valid(RESULT.as_bytes()).unwrap();
    let (url, id) = (&result.frontend_url, &result.handoff_id);
    assert_eq!((url.expose(), id.expose()), ("https://web.example/d/hush", "hush"));
    for printed in [format!("{result:?}"), format!("{result:#?}"), format!("{url} {url:?} {id} {id:?}")] {
        assert!(!printed.contains("hush") && !printed.contains("web.example"), "{printed}");
    }
    assert_eq!(result.to_json().unwrap(), Json::parse(RESULT.as_bytes()).unwrap());
}
