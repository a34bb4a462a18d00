//! Generates the JSON Schema of `codegen.toml` from the configuration types, for editors. The result is the file
//! `codegen/codegen.schema.json`; the test compares it with the types, and writes it with `UPDATE_CASES=1`.

#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

use std::{borrow::Cow, env, fs, path::Path};

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

use super::{CommandLineConfig, Config, OverlayEntry, PackageConfig};

/// The option `package` as it is written in the file.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum PackageSetting {
    /// The name of the generated package.
    Name(String),
    Table(PackageConfig),
}

/// The option `output.cli` as it is written in the file.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum CommandLineSetting {
    /// Whether a command line is generated.
    Enabled(bool),
    Table(CommandLineConfig),
}

/// An entry of `input.overlays` as it is written in the file.
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
enum OverlaySetting {
    /// The path of the overlay file, relative to the folder of `codegen.toml`.
    File(String),
    Table {
        /// The path of the overlay file, relative to the folder of `codegen.toml`.
        file: String,
        /// The document to which the overlay applies: its name below the inputs, its URI, or the end of its name.
        document: Option<String>,
    },
}

impl JsonSchema for OverlayEntry {
    fn schema_name() -> Cow<'static, str> {
        "OverlayEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        OverlaySetting::json_schema(generator)
    }
}

/// Removes `null`, which TOML does not have, and the brackets of links in descriptions.
#[derive(Clone)]
struct TomlTransform;

impl Transform for TomlTransform {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(keywords) = schema.as_object_mut() else { return };
        if let Some(Value::String(text)) = keywords.get_mut("description") {
            let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
            let paragraphs: Vec<String> = paragraphs.collect();
            *text = paragraphs.join("\n\n").replace("[`", "`").replace("`]", "`");
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
                let only = only.clone();
                keywords.remove("anyOf");
                keywords.extend(only);
            }
        }
    }
}

/// The file equals the schema of the types.
#[test]
fn schema_file_describes_the_options() {
    let settings = SchemaSettings::draft07().with_transform(TomlTransform);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    schema.insert("title".to_owned(), "codegen.toml".into());
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen.schema.json");
    if env::var_os("UPDATE_CASES").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let file = fs::read_to_string(&path).unwrap_or_default();
    assert!(file == text, "codegen/codegen.schema.json is not current: run this test with UPDATE_CASES=1");
}
