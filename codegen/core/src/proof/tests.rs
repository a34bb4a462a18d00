//! Tests of proofs that types cover their schemas, including types that are deliberately broken.

use jsonschema::canonical::{self, Containment};
use serde_json::json;

use super::*;
use crate::{
    generate::Project,
    load::Sources,
    shape::{IntKind, TypeBody, TypeRef},
    tables::TableArenas,
};

fn contract(definitions: &serde_json::Value) -> AnalyzedContract {
    let text = json!({ "$id": "https://example.org/a", "type": "object", "$defs": definitions }).to_string();
    let sources = Sources::from_texts(&[("a.schema.json", "", &text)]).unwrap();
    Project::default().analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Decides containment with the independent `jsonschema` crate, without the timeouts that the reports use.
fn is_contained(wide: serde_json::Value, narrow: serde_json::Value) -> Option<bool> {
    let canonicalize = |document| {
        let options = canonical::options().offline().should_validate_formats(true);
        options.canonicalize(&document).ok()
    };
    match canonicalize(wide)?.covers(&canonicalize(narrow)?).ok()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        Containment::Unknown => None,
    }
}

fn proof(contract: &AnalyzedContract, name: &str) -> TypeProof {
    let found = prove_types(contract, &is_contained, |_| {})
        .into_iter()
        .find(|(id, _)| contract.shapes.get(*id).name == name);
    found.unwrap_or_else(|| panic!("no type {name}")).1
}

/// Modifies the type `name` of a contract.
fn modify_type(contract: &mut AnalyzedContract, name: &str, modify: impl FnOnce(&mut TypeBody)) {
    let def = contract.shapes.types.iter_mut().find(|def| def.name == name).unwrap();
    modify(&mut def.body);
}

#[test]
fn accepted_values_are_expressed_as_a_schema() {
    let contract = contract(&json!({ "lot": {
        "type": "object", "required": ["amount"], "additionalProperties": false,
        "properties": { "amount": { "type": "integer", "minimum": 1 }, "note": { "type": ["string", "null"] } },
    } }));
    let id = contract.shapes.ids().find(|&id| contract.shapes.get(id).name == "Lot").unwrap();
    let key = format!("t{}", id.index());
    assert_eq!(
        accepted_schema(&contract.shapes, id, false)["$defs"][key],
        json!({
            "type": "object",
            "required": ["amount"],
            "properties": {
                "amount": { "type": "integer", "minimum": -(1i64 << 53), "maximum": 1i64 << 53 },
                "note": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
            },
        })
    );
}

#[test]
fn types_are_proved_tested_or_assumed() {
    let contract = contract(&json!({
        "plain": { "type": "object", "properties": { "a": { "type": "string", "maxLength": 3 } } },
        "bounded": { "type": "integer", "minimum": 0, "maximum": 9 },
        "unbounded": { "type": "integer" },
        "implied": { "properties": { "a": { "type": "string" } } },
        "listed": { "type": "string", "enum": ["a", "b"] },
        "tagged": { "oneOf": [
            { "type": "object", "required": ["op"], "properties": { "op": { "const": "add" }, "n": { "type": "number" } } },
            { "type": "object", "required": ["op"], "properties": { "op": { "const": "drop" } } },
        ] },
        "tree": { "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/tree" } } } },
        "rounded": { "type": "object", "properties": {
            "kids": { "type": "array", "items": { "$ref": "#/$defs/rounded" } },
            "at": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_223_372_036_854_776_000_u64 },
            "size": { "type": "integer", "format": "uint64", "minimum": 0, "maximum": 18_446_744_073_709_552_000.0 },
        } },
    }));
    for (name, expect) in [
        ("Plain", "proven"),
        ("Bounded", "proven"),
        ("Unbounded", "assumed"),
        ("Implied", "assumed"),
        ("Listed", "proven"),
        ("Tagged", "proven"),
        ("Tree", "tested"),
        ("Rounded", "tested"),
    ] {
        assert_eq!(proof(&contract, name).as_str(), expect, "{name}");
    }
}

#[test]
fn narrow_types_are_gaps_with_an_instance() {
    let definitions = json!({ "lot": {
        "type": "object", "required": ["unit"], "properties": { "unit": { "enum": ["KG", "PIECE"] }, "note": { "type": ["string", "null"] } },
    } });
    let mut broken = contract(&definitions);
    modify_type(&mut broken, "Lot", |body| {
        let TypeBody::Struct(body) = body else { panic!("no struct") };
        body.fields
            .iter_mut()
            .filter(|field| field.wire == "note")
            .for_each(|field| field.ty = TypeRef::String);
    });
    let TypeProof::Gap(Some(instance)) = proof(&broken, "Lot") else { panic!("no gap") };
    assert_eq!(instance.pointer("/note"), Some(&Json::Null));
    let mut broken = contract(&definitions);
    modify_type(&mut broken, "Lot", |body| *body = TypeBody::Newtype(TypeRef::Int(IntKind::U64)));
    assert!(matches!(proof(&broken, "Lot"), TypeProof::Gap(_)));
}

/// If a union is modified to be its own variant, it has no values, and the result is `TypeProof::Gap`.
#[test]
fn union_that_contains_itself_is_a_gap() {
    let mut broken =
        contract(&json!({ "value": { "anyOf": [{ "type": "string" }, { "type": "boolean" }] } }));
    let id = broken.shapes.ids().find(|&id| broken.shapes.get(id).name == "Value").unwrap();
    modify_type(&mut broken, "Value", |body| {
        let TypeBody::ByKind(variants) = body else { panic!("no enum by type") };
        variants[0].ty = TypeRef::Boxed(Box::new(TypeRef::Named(id)));
    });
    assert!(matches!(proof(&broken, "Value"), TypeProof::Gap(Some(_))));
}

#[test]
fn samples_are_valid_and_deterministic() {
    let definitions = json!({ "op": {
        "type": "object", "required": ["id", "list"], "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "pattern": "^[a-z]{2}-[0-9]+$", "maxLength": 9 },
            "list": { "type": "array", "minItems": 2, "uniqueItems": true, "items": { "type": "integer", "multipleOf": 5 } },
            "when": { "type": "string", "format": "date-time" },
        },
        "if": { "required": ["when"] }, "then": { "properties": { "id": { "minLength": 5 } } },
    } });
    let (first, second) = (contract(&definitions), contract(&definitions));
    let first_def = first.shapes.types.iter().find(|def| def.name == "Op").unwrap();
    let arenas = [TableArenas::default(), TableArenas::default()];
    let values = valid_samples(&first, &first.build_tables(&arenas[0]), first_def, SampleEffort::Thorough);
    assert!(values.len() > 3, "{values:?}");
    let second_def = second.shapes.types.iter().find(|def| def.name == "Op").unwrap();
    assert_eq!(
        values,
        valid_samples(&second, &second.build_tables(&arenas[1]), second_def, SampleEffort::Thorough)
    );
}

/// Sampling returns the same values for each type with a cache that all types share and with an empty cache.
#[test]
fn cached_samples_do_not_change_values() {
    let contract = contract(&json!({
        "code": { "type": "string", "pattern": "^[a-z]{3}$" },
        "one": { "type": "object", "required": ["code"], "properties": {
            "code": { "$ref": "#/$defs/code" }, "size": { "type": ["integer", "null"], "minimum": 3 }, "next": { "$ref": "#/$defs/two" },
        } },
        "two": { "oneOf": [{ "$ref": "#/$defs/one" }, { "type": "array", "items": { "$ref": "#/$defs/code" } }] },
    }));
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let shared = SampleCache::default();
    for def in contract.shapes.types.iter().chain(&contract.shapes.types) {
        let uncached =
            cached_samples(&contract, &tables, def, SampleEffort::Thorough, &SampleCache::default());
        assert_eq!(
            cached_samples(&contract, &tables, def, SampleEffort::Thorough, &shared),
            uncached,
            "{}",
            def.name
        );
    }
}
