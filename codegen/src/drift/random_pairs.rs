//! Property test: random pairs of contracts that differ in one random edit. Each break must be reported.
//!
//! A break is a value that the sending version accepts and the receiving version rejects, provided that the
//! sending version describes all of its properties. The `jsonschema` crate validates the values for both
//! versions. In the schemas of each direction, `required` lacks the properties that are not sent in that
//! direction (OpenAPI 3.0). The values are those that the comparison tries, and mutations of them. The test
//! also checks that each proof, completed to a whole body, is accepted by only one version.
//!
//! `PAIR=4711` checks one pair and prints it. `PAIRS=20000` checks 20,000 pairs instead of 200.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use contract_codegen_core::{conjunction::SchemaConjunction, schema::SchemaId};
use contract_runtime::Json;
use serde_json::{Value, json};

use super::{
    ChangeLevel, CompareOptions, ContractVersion, compare,
    directions::{DirectionProvers, DirectionViews, SchemaVersions},
    proof::{TableStores, VersionSide},
    site::ValueUse,
};
use crate::tests::{random_contracts as contracts, split_mix::SplitMix64};

/// The number of pairs that are checked by default.
const DEFAULT_PAIRS: u64 = 200;
/// The maximum number of values that are tried per version and direction.
const MAX_VALUES: usize = 400;
/// The location of the schema that the operation reads and writes.
const ROOT_POINTER: &str = "/components/schemas/Root";

/// Returns a random number below a limit.
fn number_below(random: &mut SplitMix64, limit: usize) -> usize {
    usize::try_from(random.next_number() % limit as u64).unwrap()
}

/// Creates a contract with the given definitions. An operation reads and writes the last definition.
fn build_document(version: &str, mut definitions: serde_json::Map<String, Value>) -> Value {
    let last = definitions.keys().next_back().unwrap().clone();
    definitions.insert("Root".to_owned(), json!({ "$ref": format!("#/components/schemas/{last}") }));
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Root" } } });
    json!({
        "openapi": version,
        "info": { "title": "t", "version": "1" },
        "paths": { "/x": { "post": {
            "requestBody": { "required": true, "content": content },
            "responses": { "200": { "description": "", "content": content } }
        } } },
        "components": { "schemas": definitions }
    })
}

/// Removes the keywords that OpenAPI 3.0 does not support.
fn reduce_to_openapi_30(schema: &mut Value) {
    const KEYWORDS: &[&str] = &[
        "type",
        "enum",
        "properties",
        "additionalProperties",
        "required",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "items",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "readOnly",
        "writeOnly",
    ];
    let Value::Object(members) = schema else {
        *schema = if *schema == json!(false) { json!({ "not": {} }) } else { json!({}) };
        return;
    };
    // OpenAPI 3.0 ignores the siblings of a reference.
    let is_reference = members.contains_key("$ref");
    members.retain(|keyword, value| match keyword.as_str() {
        "$ref" => true,
        _ if is_reference => false,
        "type" => value.is_string() && *value != json!("null"),
        keyword => KEYWORDS.contains(&keyword),
    });
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(inner)) => inner.values_mut().for_each(reduce_to_openapi_30),
            ("allOf" | "anyOf" | "oneOf", Value::Array(inner)) => {
                inner.iter_mut().for_each(reduce_to_openapi_30)
            }
            ("additionalProperties", Value::Bool(_)) => {}
            ("additionalProperties" | "not" | "items", inner) => reduce_to_openapi_30(inner),
            _ => {}
        }
    }
}

/// Marks a random property as read-only or write-only.
fn mark_one_way(definitions: &mut Value, random: &mut SplitMix64) {
    let mut places = Vec::new();
    for (name, definition) in definitions.as_object().unwrap() {
        collect_pointers(definition, &format!("/{name}"), &mut places);
    }
    places.retain(|place| place.rsplit('/').nth(1) == Some("properties"));
    if places.is_empty() {
        return;
    }
    let place = &places[number_below(random, places.len())];
    let keyword = ["readOnly", "writeOnly"][number_below(random, 2)];
    if let Some(Value::Object(member)) = definitions.pointer_mut(place).filter(|it| it.get("$ref").is_none())
    {
        member.insert(keyword.to_owned(), json!(true));
    }
}

/// Generates two contracts that differ in one edit. Half of the pairs are OpenAPI 3.0 documents, in which
/// `required` depends on the direction.
fn generate_pair(number: u64) -> Option<[Value; 2]> {
    // Only documents in the 2020-12 dialect without operations and asserted formats are used.
    let document_number =
        (0..).filter(|seed| seed % 3 != 2 && seed % 4 != 1).nth(usize::try_from(number).ok()?)?;
    let text = contracts::document(document_number).text.replace("#/$defs/", "#/components/schemas/");
    let mut old = serde_json::from_str::<Value>(&text).unwrap()["$defs"].take();
    let mut random = SplitMix64(number);
    let version = if number.is_multiple_of(2) { "3.1.0" } else { "3.0.3" };
    let adapt_to_version = |definitions: &mut Value| {
        if version == "3.0.3" {
            definitions.as_object_mut().unwrap().values_mut().for_each(reduce_to_openapi_30);
        }
    };
    adapt_to_version(&mut old);
    if version == "3.0.3" {
        mark_one_way(&mut old, &mut random);
    }
    let Value::Object(old) = old else { return None };
    let mut new = Value::Object(old.clone());
    let mut places = Vec::new();
    for name in reachable_definitions(&old) {
        collect_pointers(&old[name], &format!("/{name}"), &mut places);
    }
    let place = &places[number_below(&mut random, places.len())];
    let other = new.pointer(&places[number_below(&mut random, places.len())]).unwrap().clone();
    edit_schema(new.pointer_mut(place).unwrap(), other, &mut random);
    adapt_to_version(&mut new);
    let Value::Object(new) = new else { return None };
    Some([build_document(version, old), build_document(version, new)])
}

/// Returns the names of the definitions to which the last definition refers, directly or indirectly.
fn reachable_definitions(definitions: &serde_json::Map<String, Value>) -> Vec<&String> {
    let mut reached: Vec<&String> = definitions.keys().next_back().into_iter().collect();
    let mut index = 0;
    while let Some(name) = reached.get(index) {
        let text = definitions[*name].to_string();
        let is_referenced = |other: &&String| text.contains(&format!("\"#/components/schemas/{other}\""));
        let more: Vec<&String> =
            definitions.keys().filter(is_referenced).filter(|other| !reached.contains(other)).collect();
        reached.extend(more);
        index += 1;
    }
    reached
}

/// Collects the JSON Pointers of a schema and of all its subschemas.
fn collect_pointers(schema: &Value, pointer: &str, pointers: &mut Vec<String>) {
    pointers.push(pointer.to_owned());
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members {
        let child_pointer = format!("{pointer}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(inner)) => {
                inner.iter().for_each(|(name, subschema)| {
                    collect_pointers(subschema, &format!("{child_pointer}/{name}"), pointers)
                });
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(inner)) => {
                inner.iter().enumerate().for_each(|(index, subschema)| {
                    collect_pointers(subschema, &format!("{child_pointer}/{index}"), pointers);
                });
            }
            (
                "items"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedProperties",
                inner,
            ) => collect_pointers(inner, &child_pointer, pointers),
            _ => {}
        }
    }
}

/// Applies one random edit to a schema, from a list of typical edits. Some edits replace the schema by
/// `other` or add `other` as a subschema.
fn edit_schema(schema: &mut Value, other: Value, random: &mut SplitMix64) {
    let edits = [
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] }),
        json!({ "maxLength": 1 }),
        json!({ "minProperties": 1 }),
        json!({ "maxProperties": 2 }),
        json!({ "required": ["a"] }),
        json!({ "required": ["b", "kind"] }),
        json!({ "additionalProperties": false }),
        json!({ "additionalProperties": { "type": "integer" } }),
        json!({ "enum": ["x", "y", 1] }),
        json!({ "const": "x" }),
        json!({ "minimum": 1 }),
        json!({ "maxItems": 1 }),
        json!({ "items": { "type": "string" } }),
        json!({ "propertyNames": { "maxLength": 3 } }),
        json!({ "not": { "required": ["c"] } }),
        json!({ "dependentRequired": { "b": ["a"] } }),
        json!({ "if": { "required": ["a"] }, "then": { "required": ["c"] } }),
        json!({ "unevaluatedProperties": false }),
        json!({ "readOnly": true }),
        json!({ "writeOnly": true }),
    ];
    let Value::Object(members) = schema else {
        *schema = other;
        return;
    };
    match number_below(random, 6) {
        0 => *schema = other,
        1 | 2 if !members.is_empty() => {
            let name = members.keys().nth(number_below(random, members.len())).unwrap().clone();
            let value = &mut members[&name];
            match value {
                Value::Array(list) if list.len() > 1 && name != "type" => {
                    drop(list.remove(number_below(random, list.len())))
                }
                Value::Object(inner) if name == "properties" && inner.len() > 1 => {
                    let removed = inner.keys().nth(number_below(random, inner.len())).unwrap().clone();
                    inner.remove(&removed);
                }
                _ => drop(members.remove(&name)),
            }
        }
        3 => {
            let name = ["properties", "anyOf", "oneOf", "allOf"][number_below(random, 4)];
            match members.get_mut(name) {
                Some(Value::Array(list)) => list.push(other),
                Some(Value::Object(inner)) => {
                    drop(inner.insert(["a", "b", "new"][number_below(random, 3)].to_owned(), other))
                }
                _ => drop(members.insert("properties".to_owned(), json!({ "b": other }))),
            }
        }
        _ => {
            let Value::Object(edit) = edits[number_below(random, edits.len())].clone() else { return };
            members.extend(edit);
        }
    }
}

/// Returns a value and variants of the value. In variants of an object, members are removed, replaced or
/// added. Variants of an array lack the first item or have a further item. The variant of a scalar is a
/// different value.
fn mutate_value(value: &Value, others: &[Value], random: &mut SplitMix64) -> Vec<Value> {
    let mut variants = vec![value.clone()];
    match value {
        Value::Object(members) => {
            for name in members.keys() {
                let mut removed = members.clone();
                removed.remove(name);
                variants.push(Value::Object(removed));
                let mut replaced = members.clone();
                replaced.insert(name.clone(), others[number_below(random, others.len())].clone());
                variants.push(Value::Object(replaced));
            }
            if let Value::Object(added) = &others[number_below(random, others.len())] {
                let merged = members.clone().into_iter().chain(added.clone());
                variants.push(Value::Object(merged.collect()));
            }
        }
        Value::Array(items) => {
            variants.push(Value::Array(items.iter().skip(1).cloned().collect()));
            let added = items.iter().chain([&others[number_below(random, others.len())]]);
            variants.push(Value::Array(added.cloned().collect()));
        }
        _ => variants.push(others[number_below(random, others.len())].clone()),
    }
    variants
}

fn to_serde_value(value: &Json) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// Returns the document of one version, in which `required` lists only the properties that are required in a
/// direction.
fn relax_document(document: &Value, sides: &SchemaVersions<'_>, usage: ValueUse, side: VersionSide) -> Value {
    let mut document = document.clone();
    let Some(relaxed) = sides.for_direction(usage) else { return document };
    let (plain, relaxed) = (sides.get(side), relaxed.get(side));
    let original = document.clone();
    for id in relaxed.ids() {
        let schema = relaxed.schema(id);
        let is_copy = id.index() >= plain.ids().count();
        let mut written = original.pointer(&schema.location).unwrap().clone();
        let Value::Object(members) = &mut written else { continue };
        if members.contains_key("required") {
            members.insert("required".to_owned(), json!(schema.required));
        }
        let copy = |part: SchemaId| {
            (part.index() >= plain.ids().count())
                .then(|| format!("#/components/schemas/copy{}", part.index()))
        };
        if let Some(target) = schema.reference.and_then(copy) {
            members.insert("$ref".to_owned(), target.into());
        }
        for (index, target) in
            schema.all_of.iter().enumerate().filter_map(|(index, part)| Some((index, copy(*part)?)))
        {
            members["allOf"][index] = json!({ "$ref": target });
        }
        if is_copy {
            document["components"]["schemas"][format!("copy{}", id.index())] = written;
        } else if plain.schema(id).required != schema.required
            || plain.schema(id).reference != schema.reference
            || plain.schema(id).all_of != schema.all_of
        {
            // Nested schemas are relaxed separately.
            let place = document.pointer_mut(&schema.location).unwrap();
            for name in ["required", "$ref", "allOf"] {
                if let Some(value) = written.get(name) {
                    place[name] = value.clone();
                }
            }
        }
    }
    document
}

/// Checks one pair. Returns the number of tried values that the sending version accepts and the receiving
/// version rejects. Returns an error message if a break is not reported or a witness is wrong. Returns `None`
/// if the pair cannot be checked.
fn check_pair(number: u64) -> Option<Result<usize, String>> {
    let [old, new] = generate_pair(number)?;
    let read =
        |document: &Value| ContractVersion::from_strings(&[("openapi.json", "", &document.to_string())]).ok();
    let (old_version, new_version) = (read(&old)?, read(&new)?);
    // The independent validators do not repair faults, so contracts with faults are skipped.
    if !(old_version.tolerated_faults.is_empty() && new_version.tolerated_faults.is_empty()) {
        return None;
    }
    let found = compare(
        &old_version,
        &new_version,
        &CompareOptions { within_major: false, ..CompareOptions::default() },
    );
    let breaks = |level: fn(&super::ContractChange) -> ChangeLevel| {
        found.changes.iter().any(|it| level(it) == ChangeLevel::Breaking)
    };
    let (writers, readers) = (breaks(|it| it.writers), breaks(|it| it.readers));
    let directions = DirectionViews::from_versions(&old_version, &new_version);
    let validators = |usage: ValueUse| {
        let build_validator = |document: &Value, side: VersionSide| {
            let mut schema = relax_document(document, &directions.plain, usage, side);
            schema["$ref"] = format!("#{ROOT_POINTER}").into();
            jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap()
        };
        [build_validator(&old, VersionSide::Old), build_validator(&new, VersionSide::New)]
    };
    let (reading, writing) = (validators(ValueUse::Read), validators(ValueUse::Write));
    for change in &found.changes {
        // A proven break must show a whole body. The validators check that only one version accepts it.
        let Some(witness) = &change.whole_witness else {
            if change.proven && change.witness.is_some() {
                return Some(Err(format!("{} has a proof without a whole value", change.rule)));
            }
            continue;
        };
        // Named schemas that no operation uses have no body.
        if !change.uses.iter().any(|label| label.starts_with("POST /x")) {
            continue;
        }
        let value = serde_json::from_str(witness).unwrap();
        let is_distinguished = |[by_old, by_new]: &[jsonschema::Validator; 2]| {
            by_old.is_valid(&value) != by_new.is_valid(&value)
        };
        if !match change.subject.strip_prefix("POST /x ") {
            Some(subject) if subject.starts_with("200 body") => is_distinguished(&reading),
            Some(_) => is_distinguished(&writing),
            None => is_distinguished(&reading) || is_distinguished(&writing),
        } {
            return Some(Err(format!(
                "{} at {} ({:?}) has a witness that both sides treat equally: {witness}",
                change.rule, change.subject, change.uses
            )));
        }
    }
    let stores = <[TableStores<'_>; 3]>::default();
    let provers = DirectionProvers::new(&directions, &stores);
    let root = |version: &ContractVersion| {
        version.graph.ids().find(|id| version.graph.schema(*id).location == *ROOT_POINTER).map(|id| vec![id])
    };
    let (old_root, new_root) = (root(&old_version)?, root(&new_version)?);
    let mut random = SplitMix64(number);
    let mut distinguished = 0;
    for (usage, [by_old, by_new], is_reported) in
        [(ValueUse::Read, &reading, readers), (ValueUse::Write, &writing, writers)]
    {
        let prover = provers.for_direction(usage);
        let samples = [(VersionSide::Old, &old_root), (VersionSide::New, &new_root)].map(|(side, ids)| {
            prover.sample_values(side, &SchemaConjunction::from_schemas(ids.iter().copied()))
        });
        let others: Vec<Value> = [json!("x"), json!(1), json!(null), json!({}), json!([])]
            .into_iter()
            .chain(samples.iter().flatten().map(to_serde_value))
            .collect();
        let mut values: Vec<Value> = Vec::new();
        for side in &samples {
            let mutated =
                side.iter().flat_map(|value| mutate_value(&to_serde_value(value), &others, &mut random));
            values.extend(mutated.take(MAX_VALUES));
        }
        let (writing_side, writer_validator, reader_validator) = match usage {
            ValueUse::Read => ((VersionSide::New, new_root.as_slice()), by_new, by_old),
            ValueUse::Write => ((VersionSide::Old, old_root.as_slice()), by_old, by_new),
        };
        for value in values
            .into_iter()
            .filter(|value| writer_validator.is_valid(value) && !reader_validator.is_valid(value))
        {
            distinguished += 1;
            let json = Json::parse(value.to_string().as_bytes()).unwrap();
            if !is_reported && prover.describes_value(writing_side, usage, &json) {
                return Some(Err(format!("no break for {usage:?}: {value}")));
            }
        }
    }
    Some(Ok(distinguished))
}

#[test]
fn breaking_pairs_are_reported() {
    let env_number = |name: &str| std::env::var(name).ok().map(|number| number.parse().unwrap());
    let numbers: Vec<u64> = match env_number("PAIR") {
        Some(number) => {
            let [old, new] = generate_pair(number).unwrap();
            eprintln!("{old}\n{new}");
            vec![number]
        }
        None => (0..env_number("PAIRS").unwrap_or(DEFAULT_PAIRS)).collect(),
    };
    let next = AtomicUsize::new(0);
    let [compared, distinguished] = [const { AtomicU64::new(0) }; 2];
    let failures = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            match check_pair(number) {
                None => continue,
                Some(Ok(values)) => drop(distinguished.fetch_add(u64::from(values > 0), Ordering::Relaxed)),
                Some(Err(failure)) => drop(failures.lock().unwrap().insert(number, failure)),
            }
            compared.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work).unwrap();
        }
    });
    let (compared, distinguished) = (compared.into_inner(), distinguished.into_inner());
    eprintln!("{compared} of {} pairs were compared, values distinguish {distinguished}", numbers.len());
    let list: Vec<String> = failures
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|(number, failure)| format!("PAIR={number} {failure}"))
        .collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
    let total = numbers.len() as u64;
    assert!(
        total == 1 || (compared > total / 2 && distinguished > compared / 4),
        "{compared} compared, {distinguished} distinguished"
    );
}
