//! DEM: the open demand of the member's org units.

use exchange_api::types::{DemandReason, DemandSource};

use super::*;

const MATERIAL: &str = r#"{"material": {"bt": "m", "name": "n"}, "rawRefs": [{"name": "r"}], "minQuality": 650,
    "openQuantity": {"amount": 1.5, "unit": "SCU"}, "source": "material-order"}"#;

const ITEM: &str =
    r#"{"item": {"bt": "i"}, "openQuantity": {"amount": 2, "unit": "PIECE"}, "craftableByMe": false}"#;

fn demand(materials: &str, items: &str) -> String {
    format!(r#"{{"updatedAt": "2026-01-02T03:04:05Z", "materials": {materials}, "items": {items}}}"#)
}

/// DEM-01, LIM-37: demand consists of two required lists of at most 5000 lines each. If `reason` is present,
/// both are empty.
#[test]
fn demand_is_two_lists_or_a_reason() {
    let t = "org-demand";
    let withheld = |materials: &str, items: &str| {
        demand(materials, items).replace("\"items\"", "\"reason\": \"NOT_PERMITTED\", \"items\"")
    };
    shape("DEM-01", t, &withheld("[]", "[]"), &["updatedAt", "materials", "items"]);
    check(&[
        ("DEM-01", t, &demand("[]", "[]"), VALID),
        ("LIM-37", t, &demand(&many(5000, MATERIAL), &many(5000, ITEM)), VALID),
        ("LIM-37", t, &demand(&many(5001, MATERIAL), "[]"), &[("/materials", "maxItems")]),
        ("LIM-37", t, &demand("[]", &many(5001, ITEM)), &[("/items", "maxItems")]),
        ("DEM-01", t, &withheld(&many(1, MATERIAL), "[]"), &[("/materials", "maxItems")]),
        ("DEM-01", t, &withheld("[]", &many(1, ITEM)), &[("/items", "maxItems")]),
        ("DEM-01", t, &withheld("[]", "[]").replace("NOT_PERMITTED", "LATER_REASON"), VALID),
        ("DEM-01", t, &withheld("[]", "[]").replace("NOT_PERMITTED", "because"), &[("/reason", "pattern")]),
    ]);
    assert_eq!(texts(DemandReason::ALL), ["NOT_PERMITTED"]);
}

/// DEM-02, LIM-37: all properties of a material line are required, and it has at most 20 raw references.
#[test]
fn a_material_line_is_complete() {
    let t = "org-demand--materialDemand";
    shape("DEM-02", t, MATERIAL, &["material", "rawRefs", "minQuality", "openQuantity", "source"]);
    let raw = |n| MATERIAL.replace("[{\"name\": \"r\"}]", &many(n, r#"{"name": "r"}"#));
    check(&[
        ("DEM-02", t, &raw(0), VALID),
        ("LIM-37", t, &raw(20), VALID),
        ("LIM-37", t, &raw(21), &[("/rawRefs", "maxItems")]),
        ("DEM-02", t, &MATERIAL.replace("\"bt\": \"m\", ", ""), &[("/material/bt", "required")]),
        ("DEM-02", t, &MATERIAL.replace("650", "1001"), &[("/minQuality", "maximum")]),
        ("DEM-02", t, &MATERIAL.replace("material-order", "order"), &[("/source", "enum")]),
        ("DEM-02", t, &MATERIAL.replace("material-order", "item-order"), VALID),
        ("DEM-02", "org-demand", &demand(&many(1, MATERIAL), "[]"), VALID),
    ]);
    assert_eq!(texts(DemandSource::ALL), ["material-order", "item-order"]);
}

/// DEM-04: all properties of an item line are required, and its quantity is in pieces.
#[test]
fn an_item_line_is_complete_and_in_pieces() {
    let t = "org-demand--itemDemand";
    shape("DEM-04", t, ITEM, &["item", "openQuantity", "craftableByMe"]);
    check(&[
        ("DEM-04", t, &ITEM.replace("PIECE", "SCU"), &[("/openQuantity/unit", "const")]),
        ("DEM-04", t, &ITEM.replace(": 2,", ": 2.5,"), &[("/openQuantity/amount", "multipleOf")]),
        ("DEM-04", t, &ITEM.replace("false", "null"), &[("/craftableByMe", "type")]),
        ("DEM-04", t, &ITEM.replace("{\"bt\": \"i\"}", "{}"), &[("/item", "anyOf")]),
    ]);
}
