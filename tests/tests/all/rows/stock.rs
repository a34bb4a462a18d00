//! STK: the member's stock lots, and changes to them.

use super::*;

/// STK-01: a lot is the quantity of one material or item with one location, quality and stolen marker.
#[test]
fn a_lot_is_material_place_quality_and_quantity() {
    let lot = r#"{"key": "k", "material": {"bt": "m", "name": "n"}, "materialKind": {"type": "RAW", "commodity": true},
        "location": {"name": "A", "uex": {"kind": "CITY", "id": 1}}, "quality": 650, "stolen": false,
        "quantity": {"amount": 1.5, "unit": "SCU"}}"#;
    let required = ["key", "material", "location", "quality", "stolen", "quantity"];
    shape("STK-01", "stock-lot", lot, &required);
    let page =
        |lot: &str| format!(r#"{{"items": [{lot}], "removed": [], "nextCursor": "c", "hasMore": false}}"#);
    check(&[
        ("STK-01", "page--stockPage", &page(lot), VALID),
        (
            "STK-01",
            "page--stockPage",
            &page(&lot.replace("\"key\"", "\"k\"")),
            &[("/items/0/key", "required")],
        ),
        ("STK-01", "stock-lot", &lot.replace("false", "0"), &[("/stolen", "type")]),
        ("STK-01", "stock-lot", &lot.replace("\"name\": \"A\", ", ""), &[("/location/name", "required")]),
        ("STK-01", "stock-lot", &lot.replace("\"bt\": \"m\", ", ""), &[("/material/bt", "required")]),
        (
            "STK-01",
            "stock-lot",
            &lot.replace("\"type\": \"RAW\", ", ""),
            &[("/materialKind/type", "required")],
        ),
    ]);
}

/// STK-05: `set-quantity` requires the new quantity of the lot and the quantity that the client last read.
#[test]
fn set_quantity_needs_the_expected_quantity() {
    let op = r#"{"op": "set-quantity", "material": {"name": "n"}, "location": {"name": "A"}, "quality": 0,
        "stolen": true, "quantity": {"amount": 1.5, "unit": "SCU"}, "expectedQuantity": {"amount": 0, "unit": "SCU"},
        "opId": "o", "override": true}"#;
    let required = ["op", "material", "location", "quality", "stolen", "quantity", "expectedQuantity"];
    shape("STK-05", "change-set--setQuantity", op, &required);
    let t = "change-set--stockOp";
    check(&[
        ("STK-05", t, op, VALID),
        ("STK-05", t, &op.replace("set-quantity", "add"), &[("/op", "oneOf")]),
        ("STK-05", t, &op.replace("true", "\"yes\""), &[("/override", "type"), ("/stolen", "type")]),
        ("STK-05", t, &op.replace("{\"name\": \"n\"}", "{}"), &[("/material", "anyOf")]),
        ("STK-05", t, &op.replace("{\"name\": \"A\"}", "{}"), &[("/location", "anyOf")]),
        (
            "STK-05",
            t,
            &op.replace("\"amount\": 0", "\"amount\": -1"),
            &[("/expectedQuantity/amount", "minimum")],
        ),
        ("STK-05", "change-set--stockChangeSet", &format!(r#"{{"ops": [{op}]}}"#), VALID),
    ]);
}
