//! What types publish of their schemas (`schemars`) accepts exactly what the contract's files do: by
//! proof.

use std::{sync::mpsc, thread, time::Duration};

use exchange_tests::{Model, models};
use jsonschema::{
    Registry,
    canonical::{self, CanonicalSchema, Containment},
};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::oracle::files;

/// What a type publishes, as a document of its own.
fn document(model: &Model) -> Option<Value> {
    let mut generator = SchemaGenerator::default();
    let mut root = (model.published?)(&mut generator).to_value();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$defs"] = Value::Object(generator.take_definitions(true));
    Some(root)
}

/// Whether all that `narrow` accepts `wide` accepts, too; nothing where nobody knows in time.
fn covers(wide: CanonicalSchema, narrow: CanonicalSchema) -> Option<bool> {
    let (answer, waiting) = mpsc::channel();
    let ask = move || {
        let _ = answer.send(wide.covers(&narrow).ok());
    };
    thread::Builder::new().stack_size(64 << 20).spawn(ask).ok()?;
    match waiting.recv_timeout(Duration::from_secs(5)).ok().flatten()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        Containment::Unknown => None,
    }
}

/// Model → schema loses nothing and adds nothing: for nearly every type both ways are proven, and for
/// none the contrary.
#[test]
fn a_published_schema_is_proven_to_be_the_contracts() {
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
