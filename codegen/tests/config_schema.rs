//! Tests that the JSON Schema of `codegen.toml` and the reader of the options accept and reject the same
//! files.

#![cfg(feature = "proofs")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::config::Config;
use jsonschema::Validator;
use serde_json::{Value, json};

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(include_str!("../codegen.schema.json")).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Returns the configuration files of the cases, of the exchange and of the vendor examples, each with its
/// path.
fn settings() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = fs::read_dir(root.join("tests/cases")).unwrap();
    let mut files: Vec<PathBuf> = cases.map(|case| case.unwrap().path().join("codegen.toml")).collect();
    files.push(root.join("../schemas/codegen.toml"));
    let vendors = fs::read_dir(root.join("examples/vendors")).unwrap();
    files.extend(
        vendors
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|it| it == "toml")),
    );
    files.sort();
    let parse = |path: PathBuf| {
        let value = toml::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        Some((path, value))
    };
    files.into_iter().filter_map(parse).collect()
}

/// Returns true if the reader accepts the options.
fn is_readable(settings: &Value) -> bool {
    toml::from_str::<Config>(&toml::to_string(settings).unwrap()).is_ok()
}

#[track_caller]
fn assert_same_verdict(schema: &Validator, settings: &Value, origin: &str) {
    let readable = is_readable(settings);
    let verdict = if readable { "accepts" } else { "rejects" };
    assert_eq!(schema.is_valid(settings), readable, "{origin}: the reader {verdict} this");
}

#[test]
fn schema_accepts_all_settings_that_are_readable() {
    let (schema, settings) = (validator(), settings());
    assert!(settings.len() > 70, "{}", settings.len());
    for (path, settings) in settings {
        assert_same_verdict(&schema, &settings, &path.display().to_string());
    }
}

/// Changes each file in two ways: replaces each value by values of other types, and adds an unknown key to
/// each table. Schema and reader must agree on each result.
#[test]
fn schema_and_reader_agree_on_changed_settings() {
    let schema = validator();
    let replacements =
        [json!("word"), json!(3), json!(-1), json!(1.5), json!(true), json!([]), json!({}), json!([{}])];
    for (path, settings) in settings() {
        let mut pointers = Vec::new();
        collect_pointers(&settings, &mut String::new(), &mut pointers);
        for pointer in pointers {
            let origin = format!("{}, `{pointer}`", path.display());
            let mut changed = settings.clone();
            if let Some(table) = changed.pointer_mut(&pointer).unwrap().as_object_mut() {
                table.insert("unknown-key".to_owned(), json!("word"));
                assert_same_verdict(&schema, &changed, &origin);
            }
            if pointer.is_empty() {
                continue;
            }
            // The reader also accepts a list of the values of a table's options.
            let is_table = settings.pointer(&pointer).unwrap().is_object();
            for replacement in replacements.iter().filter(|it| !is_table || !it.is_array()) {
                let mut changed = settings.clone();
                *changed.pointer_mut(&pointer).unwrap() = replacement.clone();
                assert_same_verdict(&schema, &changed, &format!("{origin} = {replacement}"));
            }
        }
    }
}

/// Each option that the schema lists is read, and has a description.
#[test]
fn every_option_has_a_description() {
    let schema: Value = serde_json::from_str(include_str!("../codegen.schema.json")).unwrap();
    let tables = schema["definitions"].as_object().unwrap().values().chain([&schema]);
    let properties = tables.filter_map(|table| table["properties"].as_object()).flatten();
    let without: Vec<&String> =
        properties.filter(|(_, option)| !option["description"].is_string()).map(|(name, _)| name).collect();
    assert!(without.is_empty(), "{without:?}");
}

fn collect_pointers(value: &Value, pointer: &mut String, pointers: &mut Vec<String>) {
    pointers.push(pointer.clone());
    let length = pointer.len();
    let mut visit = |token: String, inner: &Value| {
        pointer.push('/');
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        collect_pointers(inner, pointer, pointers);
        pointer.truncate(length);
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| visit(at.to_string(), item)),
        Value::Object(table) => table.iter().for_each(|(key, item)| visit(key.clone(), item)),
        _ => {}
    }
}
