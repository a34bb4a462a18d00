//! Generates the JSON Schema of the configuration from its types. The result is the file
//! `exchange/service/config.schema.json`; the test compares it with the types, and writes it with `UPDATE=1`.
//!
//! The descriptions are the comments of the types. They are also printed by `exchange-service config`, and are in
//! the table of keys in `docs/operations.md`.

use std::{env, fs, path::Path};

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema as _, Schema};
use serde_json::Value;

use super::Config;
use super::document::{ConfigKey, list_keys};

/// Removes `null`, which TOML does not have, and the ids of requirements in descriptions.
#[derive(Clone)]
struct TomlTransform;

impl Transform for TomlTransform {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(keywords) = schema.as_object_mut() else { return };
        if let Some(Value::String(text)) = keywords.get_mut("description") {
            *text = without_requirement_ids(&text.replace('\n', " "));
        }
        if let Some(Value::Array(types)) = keywords.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                keywords.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(branches)) = keywords.get_mut("anyOf") {
            branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(only)] = branches.as_slice() {
                let mut merged = only.clone();
                keywords.remove("anyOf");
                // The description of the key is more specific than that of its type.
                merged.extend(std::mem::take(keywords));
                *keywords = merged;
            }
        }
        // The keys of a table have their own defaults.
        if keywords.contains_key("properties") || keywords.get("default").is_some_and(Value::is_null) {
            keywords.remove("default");
        }
    }
}

/// Removes lists of requirement ids in parentheses, such as ` (LIM-04, A29)`.
fn without_requirement_ids(text: &str) -> String {
    let is_id = |word: &str| {
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
        digits.len() < word.len()
            && digits.trim_start_matches('-').chars().all(|digit| digit.is_ascii_digit())
            && !digits.is_empty()
    };
    let mut parts = text.split(" (");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((ids, rest)) if ids.split(", ").all(is_id) => result.push_str(rest),
            _ => {
                result.push_str(" (");
                result.push_str(part);
            }
        }
    }
    result
}

/// Compares a file with its expected content, or writes the file if `UPDATE` is set.
fn check_file(path: &Path, expect: &str) {
    if env::var_os("UPDATE").is_some() {
        fs::write(path, expect).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == expect, "{} is not current: run this test with UPDATE=1", path.display());
}

/// The file equals the schema of the types.
#[test]
fn schema_file_describes_the_configuration() {
    let settings = SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(TomlTransform);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    schema.insert("title".to_owned(), "Configuration of exchange-service".into());
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    check_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config.schema.json"), &text);
    assert_eq!(Config::schema_name(), "Config");
}

const BEGIN: &str =
    "<!-- configuration keys: written by `UPDATE=1 cargo test -p exchange-service config::` -->\n";
const END: &str = "<!-- end of the configuration keys -->";

/// `docs/operations.md` contains every key with its default and its description.
#[test]
fn operations_page_lists_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a table of keys");
    let (_, after) = rest.split_once(END).expect("the table of keys has an end");
    let mut table = String::from("\n| key | default | meaning |\n|---|---|---|\n");
    for ConfigKey { path, default, description, .. } in list_keys().unwrap() {
        let default = default.map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"));
        table.push_str(&format!("| `{path}` | {default} | {} |\n", description.replace('|', "\\|")));
    }
    check_file(&path, &format!("{before}{BEGIN}{table}\n{END}{after}"));
}

/// The example of a configuration for deployments is valid.
#[test]
fn example_for_deployments_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/exchange.toml");
    let config: Config = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(config.find_errors(), []);
}

#[test]
fn requirement_ids_are_removed() {
    for (text, expect) in [
        ("The lifetime (LIM-09).", "The lifetime."),
        ("Limits (DRF-14, DRF-16) and (A40) more", "Limits and more"),
        ("A hash (argon2id), as in RFC 9449 (section 8).", "A hash (argon2id), as in RFC 9449 (section 8)."),
        ("`at+jwt` (RFC 9068), or (IPv6: per /64)", "`at+jwt` (RFC 9068), or (IPv6: per /64)"),
    ] {
        assert_eq!(without_requirement_ids(text), expect);
    }
}
