//! BPR: the member's blueprints, and changes to them.

use super::*;

const BLUEPRINT: &str = r#"{"key": "p1", "ref": {"bt": "p1", "name": "n"}, "isDefault": false,
    "acquiredAt": "2026-01-02T03:04:05Z", "provenance": {"source": "log"}, "note": "mine"}"#;

/// BPR-01: a blueprint has a key, a catalogue entry, and a flag for default grants; a page lists blueprints.
#[test]
fn a_blueprint_has_a_key_and_an_entry() {
    shape("BPR-01", "blueprint", BLUEPRINT, &["key", "ref", "isDefault"]);
    let page =
        |item: &str| format!(r#"{{"items": [{item}], "removed": [], "nextCursor": "c", "hasMore": false}}"#);
    check(&[
        ("BPR-01", "page--blueprintPage", &page(BLUEPRINT), VALID),
        (
            "BPR-01",
            "page--blueprintPage",
            &page(&BLUEPRINT.replace("\"key\"", "\"clé\"")),
            &[("/items/0/key", "required")],
        ),
        ("BPR-01", "blueprint", &BLUEPRINT.replace("\"bt\": \"p1\", ", ""), &[("/ref/bt", "required")]),
    ]);
}

/// BPR-03: provenance needs a source but no date, `isDefault` is a boolean, and `note` is read-only.
#[test]
fn provenance_default_and_note_of_a_blueprint() {
    check(&[
        ("BPR-03", "blueprint", BLUEPRINT, VALID),
        ("BPR-03", "blueprint", &BLUEPRINT.replace("false", "\"no\""), &[("/isDefault", "type")]),
        (
            "BPR-03",
            "blueprint",
            &BLUEPRINT.replace("{\"source\": \"log\"}", "{}"),
            &[("/provenance/source", "required")],
        ),
        (
            "BPR-03",
            "blueprint",
            &BLUEPRINT.replace("\"2026-01-02T03:04:05Z\"", "null"),
            &[("/acquiredAt", "type")],
        ),
    ]);
    assert_eq!(schema("blueprint")["properties"]["note"]["readOnly"], true);
    let add = r#"{"op": "add", "ref": {"bt": "p1"}, "note": "mine"}"#;
    undeclared("BPR-03", "change-set--addBlueprint", add, &["/note"]);
}

/// BPR-04: `add` needs a reference; `remove` needs a key or a reference.
#[test]
fn blueprints_are_added_by_ref_and_removed_by_key_or_ref() {
    let add = r#"{"op": "add", "ref": {"bt": "p1"}, "acquiredAt": "2026-01-02T03:04:05Z",
        "provenance": {"source": "log"}, "override": true, "opId": "o"}"#;
    shape("BPR-04", "change-set--addBlueprint", add, &["op", "ref"]);
    let remove = r#"{"op": "remove", "key": "p1", "ref": {"bt": "p1"}, "opId": "o"}"#;
    shape("BPR-04", "change-set--removeBlueprint", remove, &["op"]);
    let t = "change-set--blueprintOp";
    check(&[
        ("BPR-04", t, add, VALID),
        ("BPR-04", t, remove, VALID),
        ("BPR-04", t, r#"{"op": "remove"}"#, &[("", "anyOf")]),
        ("BPR-04", t, r#"{"op": "add", "key": "p1"}"#, &[("/ref", "required")]),
        ("BPR-04", t, r#"{"op": "add", "ref": {}}"#, &[("/ref", "anyOf")]),
        ("BPR-04", t, r#"{"op": "set", "ref": {"bt": "p1"}}"#, &[("/op", "oneOf")]),
        ("BPR-04", "change-set--blueprintChangeSet", &format!(r#"{{"ops": [{add}, {remove}]}}"#), VALID),
    ]);
    undeclared("BPR-04", t, r#"{"op": "remove", "key": "p1", "override": true}"#, &["/override"]);
}

/// LIM-29: names have at most 200 characters and keys at most 128, which is enough for a hashed key.
#[test]
fn names_and_keys_of_blueprints_are_limited() {
    let named = |n| BLUEPRINT.replace(r#""n""#, &letters(n));
    let keyed = |key: &str| BLUEPRINT.replace(r#""p1""#, key);
    check(&[
        ("LIM-29", "blueprint", &named(200), VALID),
        ("LIM-29", "blueprint", &named(201), &[("/ref/name", "maxLength")]),
        ("LIM-29", "blueprint", &keyed(&letters(128)), VALID),
        ("LIM-29", "blueprint", &keyed(&letters(129)), &[("/key", "maxLength"), ("/ref/bt", "maxLength")]),
        ("LIM-29", "blueprint", &keyed(&format!("\"h:{}\"", "0f".repeat(32))), VALID),
    ]);
}
