//! Checks that the schemas that types publish (with `schemars`) accept exactly the documents that the
//! contract's files accept. Most pairs are proven to be equivalent; all are compared on sample documents.

use std::{collections::BTreeMap, sync::mpsc, thread, time::Duration};

use contract_runtime::{Json, pointer::unescape_token};
use exchange_tests::{Fixture, Model, fixtures, models};
use jsonschema::{
    Registry,
    canonical::{self, CanonicalSchema, Containment},
};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::oracle::{files, survives_binary, validators};

/// Returns the published schema of a type as a standalone document.
fn document(model: &Model) -> Option<Value> {
    let mut generator = SchemaGenerator::default();
    let mut root = (model.published?)(&mut generator).to_value();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$defs"] = Value::Object(generator.take_definitions(true));
    Some(root)
}

/// Returns whether `wide` accepts every document that `narrow` accepts; `None` if this is not decided within
/// five seconds.
fn covers(wide: CanonicalSchema, narrow: CanonicalSchema) -> Option<bool> {
    let (response, waiting) = mpsc::channel();
    let ask = move || {
        let _ = response.send(wide.covers(&narrow).ok());
    };
    thread::Builder::new().stack_size(64 << 20).spawn(ask).ok()?;
    match waiting.recv_timeout(Duration::from_secs(5)).ok().flatten()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        Containment::Unknown => None,
    }
}

/// The published schemas accept the same documents as the contract's schemas. This is proven for nearly every
/// type and disproven for none.
#[test]
fn published_schema_is_proven_equal_to_the_contract() {
    let mut registry = Registry::new();
    for (uri, schema) in files() {
        registry = registry.add(uri, schema).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let (mut proven, mut open) = (0, Vec::new());
    for model in models().into_values() {
        let Some(document) = document(&model) else { continue };
        let source = json!({ "$ref": model.location });
        let options = || canonical::options().offline();
        let Ok(source) = options().with_registry(&registry).canonicalize(&source) else {
            open.push(model.name);
            continue;
        };
        let Ok(own) = options().canonicalize(&document) else {
            open.push(model.name);
            continue;
        };
        let both = [covers(source.clone(), own.clone()), covers(own, source)];
        assert!(!both.contains(&Some(false)), "{}: {both:?}", model.name);
        if both == [Some(true); 2] { proven += 1 } else { open.push(model.name) }
    }
    assert!(proven > 100 && open.len() < 30, "{proven} proven; not decided: {open:?}");
}

/// The size in bytes up to which a document is also tested with changes.
const SMALL: usize = 700;

/// Returns copies of a document with one change each: one property removed, or one value replaced.
fn changed(document: &Value) -> Vec<Value> {
    let mut pointers = vec![String::new()];
    let mut at = 0;
    while let Some(pointer) = pointers.get(at).cloned() {
        at += 1;
        let below: Vec<String> = match document.pointer(&pointer) {
            Some(Value::Object(members)) => {
                members.keys().map(|name| name.replace('~', "~0").replace('/', "~1")).collect()
            }
            Some(Value::Array(items)) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        pointers.extend(below.into_iter().map(|name| format!("{pointer}/{name}")));
    }
    let others = [json!(null), json!(""), json!("x"), json!(-1), json!(1.5), json!([]), json!({})];
    let mut out = Vec::new();
    for pointer in &pointers {
        for other in &others {
            let mut one = document.clone();
            one.pointer_mut(pointer).into_iter().for_each(|value| *value = other.clone());
            out.push(one);
        }
        if let Some((above, name)) = pointer.rsplit_once('/') {
            let mut one = document.clone();
            if let Some(Value::Object(members)) = one.pointer_mut(above) {
                members.remove(&*unescape_token(name).unwrap());
                out.push(one);
            }
        }
    }
    out
}

/// Every fixture, and every changed copy of a small fixture, has the same verdict from both schemas.
#[test]
fn published_schema_validates_like_the_contract() {
    let (theirs, models) = (validators(), models());
    let mut by_folder: BTreeMap<String, Vec<Fixture>> = BTreeMap::new();
    fixtures().into_iter().for_each(|each| by_folder.entry(each.folder.clone()).or_default().push(each));
    let (mut judged, mut problems) = (0, Vec::new());
    for (folder, fixtures) in by_folder {
        let Some(document) = document(&models[&folder]) else { continue };
        let ours = jsonschema::validator_for(&document).unwrap_or_else(|e| panic!("{folder}: {e}"));
        for fixture in fixtures {
            if !survives_binary(&Json::parse(&fixture.bytes).unwrap()) {
                continue;
            }
            let value: Value = serde_json::from_slice(&fixture.bytes).unwrap();
            let mut documents = if fixture.bytes.len() < SMALL { changed(&value) } else { Vec::new() };
            documents.push(value);
            for document in documents {
                judged += 1;
                let (own, source) = (ours.is_valid(&document), theirs[&folder].is_valid(&document));
                if own != source {
                    problems.push(format!("{}: {own} for {document}", fixture.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(judged > 20_000, "{judged} documents");
}
