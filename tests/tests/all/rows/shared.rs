//! TYP: the types that all areas share.

use contract_runtime::Contract;
use exchange_api::types::{
    CatalogKind, LocationLinkKind, MaterialType, PieceQuantity, ProvenanceSource, Quantity, QuantityUnit,
    RemovalChannel,
};

use super::*;

/// TYP-01: an item reference needs one of six fields that identify an entry; `nameLocale` alone does not
/// identify one.
#[test]
fn an_item_ref_needs_one_naming_field() {
    let t = "item-ref";
    let guid = r#"{"scGuid": "01234567-89ab-cdef-0123-456789abcdef"}"#;
    let all = r#"{"bt": "1", "scRecord": "r", "scGuid": "01234567-89ab-cdef-0123-456789abcdef", "uexId": 1,
        "locKey": "k", "name": "n", "nameLocale": "de-DE"}"#;
    check(&[
        ("TYP-01", t, r#"{"bt": "1"}"#, VALID),
        ("TYP-01", t, r#"{"scRecord": "r"}"#, VALID),
        ("TYP-01", t, guid, VALID),
        ("TYP-01", t, r#"{"uexId": 1}"#, VALID),
        ("TYP-01", t, r#"{"locKey": "k"}"#, VALID),
        ("TYP-01", t, r#"{"name": "n"}"#, VALID),
        ("TYP-01", t, all, VALID),
        ("TYP-01", t, "{}", &[("", "anyOf")]),
        ("TYP-01", t, r#"{"nameLocale": "de"}"#, &[("", "anyOf"), ("/name", "dependentRequired")]),
        ("TYP-01", t, r#"{"bt": "1", "nameLocale": "de"}"#, &[("/name", "dependentRequired")]),
    ]);
    assert_eq!(texts(CatalogKind::ALL), ["BLUEPRINT", "ITEM", "MATERIAL", "SHIP_TYPE"]);
    check(&[("TYP-01", "item-ref--catalogKind", r#""SHIP""#, &[("", "enum")])]);
}

/// TYP-02: record names, name keys and GUIDs may be in upper or lower case, GUIDs need their hyphens, and
/// `locKey` has no leading `@`.
#[test]
fn item_ref_fields_have_their_forms() {
    let t = "item-ref";
    check(&[
        ("TYP-02", t, r#"{"scRecord": "BP_Craft_x"}"#, VALID),
        ("TYP-02", t, r#"{"scRecord": "bp_craft_X"}"#, VALID),
        ("TYP-02", t, r#"{"locKey": "item_NameX"}"#, VALID),
        ("TYP-02", t, r#"{"locKey": "item@Name"}"#, VALID),
        ("TYP-02", t, r#"{"locKey": "@item_NameX"}"#, &[("/locKey", "pattern")]),
        ("TYP-02", t, r#"{"scGuid": "01234567-89AB-CDEF-0123-456789abcdef"}"#, VALID),
        ("TYP-02", t, r#"{"scGuid": "0123456789abcdef0123456789abcdef"}"#, &[("/scGuid", "pattern")]),
        ("TYP-02", t, r#"{"uexId": 0}"#, &[("/uexId", "minimum")]),
        ("TYP-02", t, r#"{"uexId": "1"}"#, &[("/uexId", "type")]),
        ("TYP-02", t, r#"{"name": "Rüstung", "nameLocale": "de"}"#, VALID),
    ]);
}

/// TYP-04: a quantity is an amount with the unit `SCU` or `PIECE`.
#[test]
fn a_quantity_is_an_amount_with_a_unit() {
    shape("TYP-04", "quantity", r#"{"amount": 1, "unit": "SCU"}"#, &["amount", "unit"]);
    check(&[("TYP-04", "quantity", r#"{"amount": 1, "unit": "CRATE"}"#, &[("/unit", "enum")])]);
    check(&[("TYP-04", "quantity", r#"{"amount": "1", "unit": "SCU"}"#, &[("/amount", "type")])]);
    assert_eq!(texts(QuantityUnit::ALL), ["SCU", "PIECE"]);
    let pieces = PieceQuantity::parse_valid(br#"{"amount": 2, "unit": "PIECE", "box": 1}"#).unwrap();
    let written = pieces.to_json().unwrap();
    assert_eq!(Quantity::from(pieces).to_json().unwrap(), written);
    assert!(exchange_api::reasons::Reason::from("UNIT_MISMATCH").is_known());
}

/// TYP-05, TYP-06: amounts in `PIECE` are whole numbers; amounts in `SCU` may have any number of decimals,
/// and all are preserved.
#[test]
fn pieces_are_whole_and_scu_are_exact() {
    check(&[
        ("TYP-05", "quantity", r#"{"amount": 7, "unit": "PIECE"}"#, VALID),
        ("TYP-05", "quantity", r#"{"amount": 7.0001, "unit": "PIECE"}"#, &[("/amount", "multipleOf")]),
        (
            "TYP-05",
            "quantity--pieceQuantity",
            r#"{"amount": 0.5, "unit": "PIECE"}"#,
            &[("/amount", "multipleOf")],
        ),
        ("TYP-06", "quantity", r#"{"amount": 7.0001, "unit": "SCU"}"#, VALID),
    ]);
    for (amount, thousandths) in [
        ("12.3456", 12_346),
        ("12.34549999999999999999", 12_345),
        ("0.1000", 100),
        ("999999999.999499999999999999", 999_999_999_999),
    ] {
        let quantity =
            Quantity::parse(format!(r#"{{"amount": {amount}, "unit": "SCU"}}"#).as_bytes()).unwrap();
        assert_eq!(quantity.amount.get().to_json_text(), amount);
        assert_eq!(quantity.thousandths(), Some(thousandths), "{amount}");
        assert!(quantity.to_json().unwrap().to_string().contains(amount), "{amount}");
    }
}

/// TYP-07, LIM-31: quality is a whole number from 0 to 1000.
#[test]
fn quality_is_0_to_1000() {
    check(&[
        ("LIM-31", "quality", "0", VALID),
        ("LIM-31", "quality", "1000", VALID),
        ("LIM-31", "quality", "-1", &[("", "minimum")]),
        ("LIM-31", "quality", "1001", &[("", "maximum")]),
        ("TYP-07", "quality", "0.5", &[("", "type")]),
        ("TYP-07", "quality", "\"0\"", &[("", "type")]),
    ]);
}

/// TYP-08, TYP-09: a location reference has a link, a name, or both; one with neither makes the change set
/// invalid. Responses always contain the name.
#[test]
fn locations_have_a_name_a_link_or_both() {
    let link = r#""uex": {"kind": "CITY", "id": 1}"#;
    check(&[
        ("TYP-08", "location-ref", &format!("{{{link}}}"), VALID),
        ("TYP-08", "location-ref", r#"{"name": "Area 18"}"#, VALID),
        ("TYP-08", "location-ref", &format!(r#"{{{link}, "name": "Area 18"}}"#), VALID),
        ("TYP-08", "location-ref", "{}", &[("", "anyOf")]),
        (
            "TYP-09",
            "change-set--orgStockChangeSet",
            r#"{"ops": [{"op": "move-location", "unit": "u", "entry": "e", "version": 0, "location": {},
            "quantity": {"amount": 1, "unit": "SCU"}}]}"#,
            &[("/ops/0/location", "anyOf")],
        ),
        ("TYP-08", "location-ref", r#"{"uex": {"kind": "PLANET", "id": 1}}"#, &[("/uex/kind", "enum")]),
    ]);
    shape("TYP-08", "location", &format!(r#"{{{link}, "name": "Area 18"}}"#), &["name"]);
    shape("TYP-08", "location--locationLink", r#"{"kind": "SPACE_STATION", "id": 1}"#, &["kind", "id"]);
    assert_eq!(texts(LocationLinkKind::ALL), ["CITY", "SPACE_STATION"]);
}

/// TYP-10: provenance has one of five sources and an optional time of observation.
#[test]
fn provenance_has_a_source() {
    let whole = r#"{"source": "log", "observedAt": "2026-01-02T03:04:05Z"}"#;
    shape("TYP-10", "provenance", whole, &["source"]);
    assert_eq!(texts(ProvenanceSource::ALL), ["log", "manual", "import", "default", "other"]);
    check(&[("TYP-10", "provenance", r#"{"source": "web"}"#, &[("/source", "enum")])]);
}

/// TYP-11: a material kind requires `type` and `commodity`. Six flags of the external catalogue are optional.
/// The whole object is read-only.
#[test]
fn a_material_kind_has_type_and_commodity() {
    let whole = r#"{"type": "RAW", "commodity": true, "mineral": true, "harvestable": false, "raw": true,
        "refined": false, "buyable": true, "sellable": true}"#;
    shape("TYP-11", "material-kind", whole, &["type", "commodity"]);
    for flag in ["commodity", "mineral", "harvestable", "raw", "refined", "buyable", "sellable"] {
        let mut wrong: Value = serde_json::from_str(whole).unwrap();
        wrong[flag] = Value::from("yes");
        check(&[("TYP-11", "material-kind", &wrong.to_string(), &[(&format!("/{flag}"), "type")])]);
    }
    assert_eq!(texts(MaterialType::ALL), ["RAW", "REFINED", "NO_REFINE"]);
    assert_eq!(schema("material-kind")["readOnly"], true);
}

/// TYP-12, LIM-28: extensions are an object of at most ten reverse-DNS keys, each with an object; only seven
/// kinds of object have them.
#[test]
fn extensions_are_objects_under_reverse_dns_keys() {
    let keys = |n: usize| {
        let all: Vec<String> =
            (0..n).map(|i| format!(r#""org.example.t{i}": {{"a": {{"b": [1]}}}}"#)).collect();
        format!("{{{}}}", all.join(","))
    };
    check(&[
        ("LIM-28", "extensions", &keys(10), VALID),
        ("LIM-28", "extensions", &keys(11), &[("", "maxProperties")]),
        ("TYP-12", "extensions", r#"{"tool": {}}"#, &[("/tool", "propertyNames")]),
        ("TYP-12", "extensions", r#"{"org.Example": {}}"#, &[("/org.Example", "propertyNames")]),
        ("TYP-12", "extensions", r#"{"org.example": 1}"#, &[("/org.example", "type")]),
    ]);
    let (x, place) = (r#""extensions": {"org.example": {"a": 1}}"#, r#""location": {"name": "A"}"#);
    let amount = r#""quantity": {"amount": 1, "unit": "SCU"}"#;
    let entry = r#"{"bt": "1", "name": "n"}"#;
    let ship = r#""version": 1, "insurance": {"kind": "LTI"}, "fitted": true, "orgUnitVersion": 0"#;
    let lot = format!(r#""key": "k", "material": {entry}, {place}, "quality": 0, "stolen": false, {amount}"#);
    check(&[
        ("TYP-12", "item-ref", &format!(r#"{{"bt": "1", {x}}}"#), VALID),
        ("TYP-12", "envelope", &format!(r#"{{"format": "svc.blueprints", "items": [], {x}}}"#), VALID),
        ("TYP-12", "envelope--envelopeItem", &format!(r#"{{"ref": {{"bt": "1"}}, {x}}}"#), VALID),
        ("TYP-12", "blueprint", &format!(r#"{{"key": "1", "ref": {entry}, "isDefault": true, {x}}}"#), VALID),
        ("TYP-12", "stock-lot", &format!("{{{lot}, {x}}}"), VALID),
        ("TYP-12", "ship", &format!(r#"{{"shipId": "s", "shipType": {entry}, {ship}, {x}}}"#), VALID),
        ("TYP-12", "change-set", &format!(r#"{{"ops": [{{}}], {x}}}"#), VALID),
    ]);
    let labelled = format!(r#"{{"label": "Desk", {x}}}"#);
    undeclared("TYP-12", "installation--labelledInstallation", &labelled, &["/extensions"]);
    undeclared(
        "TYP-12",
        "refinery-draft",
        &format!(r#"{{"schemaVersion": 1, "orders": [], {x}}}"#),
        &["/extensions"],
    );
    undeclared("TYP-12", "quantity", &format!(r#"{{"amount": 1, "unit": "SCU", {x}}}"#), &["/extensions"]);
}

/// TYP-13: a page has entries, tombstones, a cursor that is always set, and `hasMore`. Only org-stock pages
/// have `units`.
#[test]
fn a_page_has_entries_tombstones_and_a_cursor() {
    let page = r#""items": [], "removed": [], "nextCursor": "c", "hasMore": false"#;
    for folder in ["page--blueprintPage", "page--stockPage", "page--shipPage"] {
        shape("TYP-13", folder, &format!("{{{page}}}"), &["nextCursor", "hasMore"]);
        undeclared("TYP-13", folder, &format!(r#"{{{page}, "units": []}}"#), &["/units"]);
    }
    let required = ["nextCursor", "hasMore", "units"];
    shape("TYP-13", "page--orgStockPage", &format!(r#"{{{page}, "units": []}}"#), &required);
    let no_cursor = page.replace("\"c\"", "null");
    let no_flag = page.replace("false", "0");
    check(&[
        ("TYP-13", "page", &format!("{{{no_cursor}}}"), &[("/nextCursor", "type")]),
        ("TYP-13", "page", &format!("{{{no_flag}}}"), &[("/hasMore", "type")]),
        (
            "TYP-13",
            "page",
            &format!("{{{}}}", page.replace("\"removed\": []", "\"removed\": [{}]")),
            &[
                ("/removed/0/key", "required"),
                ("/removed/0/removedAt", "required"),
                ("/removed/0/removedBy", "required"),
            ],
        ),
    ]);
}

/// TYP-14, TYP-15: a tombstone has the time of the removal and a channel. After a removal by a client it
/// names the client, and the installation unless org stock withholds it.
#[test]
fn tombstone_names_who_removed_the_entry() {
    let whole = r#"{"key": "k", "removedAt": "2026-01-02T03:04:05Z", "removedBy": {"channel": "web"}}"#;
    shape("TYP-14", "tombstone", whole, &["key", "removedAt", "removedBy"]);
    assert_eq!(texts(RemovalChannel::ALL), ["web", "app", "client", "system"]);
    let t = "tombstone--removedBy";
    for channel in ["web", "app", "system", "fax"] {
        check(&[("TYP-14", t, &format!(r#"{{"channel": "{channel}"}}"#), VALID)]);
    }
    let client = r#"{"channel": "client", "clientId": "c", "installationId": "i"}"#;
    shape("TYP-15", t, client, &["channel", "clientId"]);
    check(&[("TYP-15", t, r#"{"channel": "client"}"#, &[("/clientId", "required")])]);
}

/// TYP-15: for blueprints, stock and ships, a tombstone of a removal by a client names client and
/// installation, and one of a removal through another known channel names neither. Channels that a later
/// version adds are not restricted. Org stock may withhold the installation.
#[test]
fn pages_name_the_installation_that_removed_an_entry() {
    let page = |by: &str| {
        format!(
            r#"{{"items": [], "nextCursor": "c", "hasMore": false,
            "removed": [{{"key": "k", "removedAt": "2026-01-02T03:04:05Z", "removedBy": {by}}}]}}"#
        )
    };
    let (client, installation) = (r#""clientId": "c""#, r#""installationId": "i""#);
    let by = |channel: &str, ids: &[&str]| {
        let channel = format!(r#""channel": "{channel}""#);
        let members = [&[channel.as_str()][..], ids].concat().join(", ");
        page(&format!("{{{members}}}"))
    };
    let at = "/removed/0/removedBy";
    let (no_client, no_installation) = (format!("{at}/clientId"), format!("{at}/installationId"));
    for folder in ["page--blueprintPage", "page--stockPage", "page--shipPage"] {
        check(&[
            ("TYP-15", folder, &by("client", &[client, installation]), VALID),
            ("TYP-15", folder, &by("client", &[client]), &[(&no_installation, "required")]),
            ("TYP-15", folder, &by("client", &[installation]), &[(&no_client, "required")]),
            ("TYP-15", folder, &by("fax", &[]), VALID),
            ("TYP-15", folder, &by("fax", &[client]), VALID),
        ]);
        for channel in ["web", "app", "system"] {
            check(&[
                ("TYP-15", folder, &by(channel, &[]), VALID),
                ("TYP-15", folder, &by(channel, &[client]), &[(at, "not")]),
                ("TYP-15", folder, &by(channel, &[installation]), &[(at, "not")]),
            ]);
        }
    }
    let of_pool = by("client", &[client]).replacen('{', r#"{"units": [], "#, 1);
    check(&[("TYP-15", "page--orgStockPage", &of_pool, VALID)]);
}
