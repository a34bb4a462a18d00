//! Random contracts with one random edit each: whatever breaks is said.
//!
//! A value of the giving side that the other refuses, as the `jsonschema` crate judges both versions,
//! is a break of the direction, if the giving side speaks of all of its members. The values are those
//! that the comparison tries itself, and those with something taken out or exchanged. What a direction
//! does without is not asked for by its judges. And what is shown to tell the versions apart does.
//! `PAIR=4711` asks about one pair and prints it, `PAIRS=20000` asks about a hundred times as many.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use contract_runtime::Json;
use serde_json::{Value, json};

use super::{
    Level, Options, Version, compare,
    directions::{Directions, Provers, Sides},
    proof::{Grounds, Side},
    subject::Use,
};
use crate::{schema::SchemaId, tests::random::contracts, together::Conj};

/// How many pairs are asked about.
const WANTED: u64 = 200;
/// More values than this are not tried of a side.
const VALUES: usize = 400;
/// Where the schema stands that is written and read.
const ROOT: &str = "/components/schemas/Root";

/// A source of numbers.
struct Dice(u64);

impl Dice {
    /// SplitMix64.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }
}

/// A contract of some definitions, the last of which is written and read.
fn document(version: &str, mut definitions: serde_json::Map<String, Value>) -> Value {
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

/// Leaves out of a schema what OpenAPI 3.0 has no word for.
fn in_old_words(schema: &mut Value) {
    const WORDS: &[&str] = &[
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
    // Nothing stands beside a reference.
    let is_reference = members.contains_key("$ref");
    members.retain(|word, value| match word.as_str() {
        "$ref" => true,
        _ if is_reference => false,
        "type" => value.is_string() && *value != json!("null"),
        word => WORDS.contains(&word),
    });
    for (word, value) in members {
        match (word.as_str(), value) {
            ("properties", Value::Object(inner)) => inner.values_mut().for_each(in_old_words),
            ("allOf" | "anyOf" | "oneOf", Value::Array(inner)) => inner.iter_mut().for_each(in_old_words),
            ("additionalProperties", Value::Bool(_)) => {}
            ("additionalProperties" | "not" | "items", inner) => in_old_words(inner),
            _ => {}
        }
    }
}

/// Makes a member one that is sent in one direction alone.
fn mark(definitions: &mut Value, dice: &mut Dice) {
    let mut places = Vec::new();
    for (name, definition) in definitions.as_object().unwrap() {
        schemas(definition, &format!("/{name}"), &mut places);
    }
    places.retain(|place| place.rsplit('/').nth(1) == Some("properties"));
    if places.is_empty() {
        return;
    }
    let place = &places[dice.below(places.len())];
    let word = ["readOnly", "writeOnly"][dice.below(2)];
    if let Some(Value::Object(member)) = definitions.pointer_mut(place).filter(|it| it.get("$ref").is_none())
    {
        member.insert(word.to_owned(), json!(true));
    }
}

/// The definitions of a number, and the same with one edit; half of them are of OpenAPI 3.0, where `required`
/// goes by the direction.
fn pair(number: u64) -> Option<[Value; 2]> {
    // Those without operations and asserted formats, in the words of 2020-12.
    let plain = (0..).filter(|at| at % 3 != 2 && at % 4 != 1).nth(usize::try_from(number).ok()?)?;
    let text = contracts::document(plain).text.replace("#/$defs/", "#/components/schemas/");
    let mut old = serde_json::from_str::<Value>(&text).unwrap()["$defs"].take();
    let mut dice = Dice(number);
    let version = if number.is_multiple_of(2) { "3.1.0" } else { "3.0.3" };
    let settle = |definitions: &mut Value| {
        if version == "3.0.3" {
            definitions.as_object_mut().unwrap().values_mut().for_each(in_old_words);
        }
    };
    settle(&mut old);
    if version == "3.0.3" {
        mark(&mut old, &mut dice);
    }
    let Value::Object(old) = old else { return None };
    let mut new = Value::Object(old.clone());
    let mut places = Vec::new();
    for name in reached(&old) {
        schemas(&old[name], &format!("/{name}"), &mut places);
    }
    let place = &places[dice.below(places.len())];
    let other = new.pointer(&places[dice.below(places.len())]).unwrap().clone();
    edit(new.pointer_mut(place).unwrap(), other, &mut dice);
    settle(&mut new);
    let Value::Object(new) = new else { return None };
    Some([document(version, old), document(version, new)])
}

/// The definitions that the last one leads to.
fn reached(definitions: &serde_json::Map<String, Value>) -> Vec<&String> {
    let mut reached: Vec<&String> = definitions.keys().next_back().into_iter().collect();
    let mut at = 0;
    while let Some(name) = reached.get(at) {
        let text = definitions[*name].to_string();
        let named = |other: &&String| text.contains(&format!("\"#/components/schemas/{other}\""));
        let more: Vec<&String> =
            definitions.keys().filter(named).filter(|other| !reached.contains(other)).collect();
        reached.extend(more);
        at += 1;
    }
    reached
}

/// The pointers of a schema and of all in it.
fn schemas(schema: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let Value::Object(members) = schema else { return };
    for (word, value) in members {
        let below = format!("{at}/{word}");
        match (word.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(inner)) => {
                inner.iter().for_each(|(name, one)| schemas(one, &format!("{below}/{name}"), all));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(inner)) => {
                inner.iter().enumerate().for_each(|(index, one)| {
                    schemas(one, &format!("{below}/{index}"), all);
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
            ) => schemas(inner, &below, all),
            _ => {}
        }
    }
}

/// One thing that people do to a schema.
fn edit(schema: &mut Value, other: Value, dice: &mut Dice) {
    let words = [
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
    match dice.below(6) {
        0 => *schema = other,
        1 | 2 if !members.is_empty() => {
            let name = members.keys().nth(dice.below(members.len())).unwrap().clone();
            let value = &mut members[&name];
            match value {
                Value::Array(list) if list.len() > 1 && name != "type" => {
                    drop(list.remove(dice.below(list.len())))
                }
                Value::Object(inner) if name == "properties" && inner.len() > 1 => {
                    let gone = inner.keys().nth(dice.below(inner.len())).unwrap().clone();
                    inner.remove(&gone);
                }
                _ => drop(members.remove(&name)),
            }
        }
        3 => {
            let name = ["properties", "anyOf", "oneOf", "allOf"][dice.below(4)];
            match members.get_mut(name) {
                Some(Value::Array(list)) => list.push(other),
                Some(Value::Object(inner)) => {
                    drop(inner.insert(["a", "b", "new"][dice.below(3)].to_owned(), other))
                }
                _ => drop(members.insert("properties".to_owned(), json!({ "b": other }))),
            }
        }
        _ => {
            let Value::Object(word) = words[dice.below(words.len())].clone() else { return };
            members.extend(word);
        }
    }
}

/// A value, and it with one member or item less, or with another value in a place.
fn changed(value: &Value, others: &[Value], dice: &mut Dice) -> Vec<Value> {
    let mut all = vec![value.clone()];
    match value {
        Value::Object(members) => {
            for name in members.keys() {
                let mut less = members.clone();
                less.remove(name);
                all.push(Value::Object(less));
                let mut other = members.clone();
                other.insert(name.clone(), others[dice.below(others.len())].clone());
                all.push(Value::Object(other));
            }
            if let Value::Object(more) = &others[dice.below(others.len())] {
                let both = members.clone().into_iter().chain(more.clone());
                all.push(Value::Object(both.collect()));
            }
        }
        Value::Array(items) => {
            all.push(Value::Array(items.iter().skip(1).cloned().collect()));
            let more = items.iter().chain([&others[dice.below(others.len())]]);
            all.push(Value::Array(more.cloned().collect()));
        }
        _ => all.push(others[dice.below(others.len())].clone()),
    }
    all
}

fn plain(value: &Json) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// A document whose schemas ask for no more than a direction does.
fn relaxed(document: &Value, sides: &Sides<'_>, usage: Use, side: Side) -> Value {
    let mut document = document.clone();
    let Some(seen) = sides.seen(usage) else { return document };
    let (plain, seen) = (sides.get(side), seen.get(side));
    let given = document.clone();
    for id in seen.ids() {
        let schema = seen.schema(id);
        let is_copy = id.index() >= plain.ids().count();
        let mut written = given.pointer(&schema.location).unwrap().clone();
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
        for (at, target) in schema.all_of.iter().enumerate().filter_map(|(at, part)| Some((at, copy(*part)?)))
        {
            members["allOf"][at] = json!({ "$ref": target });
        }
        if is_copy {
            document["components"]["schemas"][format!("copy{}", id.index())] = written;
        } else if plain.schema(id).required != schema.required
            || plain.schema(id).reference != schema.reference
            || plain.schema(id).all_of != schema.all_of
        {
            // Those inside are written by themselves.
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

/// What is wrong about the pair of a number; `None` where it cannot be asked.
fn ask(number: u64) -> Option<Result<usize, String>> {
    let [old, new] = pair(number)?;
    let read = |document: &Value| Version::from_texts(&[("openapi.json", "", &document.to_string())]).ok();
    let (old_version, new_version) = (read(&old)?, read(&new)?);
    // Another judge reads faults as they stand.
    if !(old_version.left.is_empty() && new_version.left.is_empty()) {
        return None;
    }
    let found = compare(&old_version, &new_version, &Options { within_major: false, proofs: true });
    let breaks =
        |level: fn(&super::Change) -> Level| found.changes.iter().any(|it| level(it) == Level::Breaking);
    let (writers, readers) = (breaks(|it| it.writers), breaks(|it| it.readers));
    let directions = Directions::of(&old_version, &new_version);
    let judges = |usage: Use| {
        let judge = |document: &Value, side: Side| {
            let mut schema = relaxed(document, &directions.plain, usage, side);
            schema["$ref"] = format!("#{ROOT}").into();
            jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema).unwrap()
        };
        [judge(&old, Side::Old), judge(&new, Side::New)]
    };
    let (reading, writing) = (judges(Use::Read), judges(Use::Write));
    for change in &found.changes {
        // Of deeper places the judges know nothing.
        let Some(witness) = change.witness.as_ref().filter(|_| change.subject.ends_with("body")) else {
            continue;
        };
        let value = serde_json::from_str(witness).unwrap();
        let [by_old, by_new] = if change.subject.ends_with("200 body") { &reading } else { &writing };
        if by_old.is_valid(&value) == by_new.is_valid(&value) {
            return Some(Err(format!("{} tells nothing apart: {witness}", change.rule)));
        }
    }
    let grounds = <[Grounds<'_>; 3]>::default();
    let provers = Provers::new(&directions, &grounds);
    let root = |version: &Version| {
        version.graph.ids().find(|id| version.graph.schema(*id).location == *ROOT).map(|id| vec![id])
    };
    let (old_root, new_root) = (root(&old_version)?, root(&new_version)?);
    let mut dice = Dice(number);
    let mut told = 0;
    for (usage, [by_old, by_new], is_said) in
        [(Use::Read, &reading, readers), (Use::Write, &writing, writers)]
    {
        let prover = provers.of(usage);
        let samples = [(Side::Old, &old_root), (Side::New, &new_root)]
            .map(|(side, ids)| prover.samples(side, &Conj::all(ids.iter().copied())));
        let others: Vec<Value> = [json!("x"), json!(1), json!(null), json!({}), json!([])]
            .into_iter()
            .chain(samples.iter().flatten().map(plain))
            .collect();
        let mut values: Vec<Value> = Vec::new();
        for side in &samples {
            let all = side.iter().flat_map(|value| changed(&plain(value), &others, &mut dice));
            values.extend(all.take(VALUES));
        }
        let (giving, gives, takes) = match usage {
            Use::Read => ((Side::New, new_root.as_slice()), by_new, by_old),
            Use::Write => ((Side::Old, old_root.as_slice()), by_old, by_new),
        };
        for value in values.into_iter().filter(|value| gives.is_valid(value) && !takes.is_valid(value)) {
            told += 1;
            let json = Json::parse(value.to_string().as_bytes()).unwrap();
            if !is_said && prover.speaks_of(giving, usage, &json) {
                return Some(Err(format!("no break for {usage:?}: {value}")));
            }
        }
    }
    Some(Ok(told))
}

#[test]
fn what_breaks_is_said() {
    let variable = |name: &str| std::env::var(name).ok().map(|number| number.parse().unwrap());
    let numbers: Vec<u64> = match variable("PAIR") {
        Some(number) => {
            let [old, new] = pair(number).unwrap();
            eprintln!("{old}\n{new}");
            vec![number]
        }
        None => (0..variable("PAIRS").unwrap_or(WANTED)).collect(),
    };
    let next = AtomicUsize::new(0);
    let [asked, told] = [const { AtomicU64::new(0) }; 2];
    let complaints = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            match ask(number) {
                None => continue,
                Some(Ok(values)) => drop(told.fetch_add(u64::from(values > 0), Ordering::Relaxed)),
                Some(Err(complaint)) => drop(complaints.lock().unwrap().insert(number, complaint)),
            }
            asked.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work).unwrap();
        }
    });
    let (asked, told) = (asked.into_inner(), told.into_inner());
    eprintln!("{asked} of {} pairs were asked about, values tell {told} apart", numbers.len());
    let list: Vec<String> = complaints
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|(number, complaint)| format!("PAIR={number} {complaint}"))
        .collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
    let tried = numbers.len() as u64;
    assert!(tried == 1 || (asked > tried / 2 && told > asked / 4), "{asked} asked, {told} told apart");
}
