//! Tests of diagnostics about options, including their location in `codegen.toml`, and of the content of
//! generated packages.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use super::*;
use crate::config::{CommandLineConfig, FormatType};

/// Creates a temporary folder with a `codegen.toml` that contains these options, and the given files.
fn folder(name: &str, options: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("contract-codegen-generate-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for (file, text) in files.iter().chain(&[("codegen.toml", options)]) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// Reads the contract in a folder. Returns all diagnostics as `code file:line:column`.
fn reported(root: &std::path::Path) -> Vec<String> {
    let project = Project::from_config(&root.join("codegen.toml")).unwrap();
    places(&match project.read_contract() {
        Ok(contract) => contract.diagnostics,
        Err(problems) => problems,
    })
}

fn places(problems: &Diagnostics) -> Vec<String> {
    let lines = problems.json_lines();
    let each = lines.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {}:{}:{}", line["code"], line["file"], line["line"], line["column"]).replace('"', "")
    });
    each.collect()
}

#[test]
fn mounts_without_effect_are_reported() {
    let one = ("one.json", r#"{"type": "object", "properties": {"a": {"$ref": "https://vendor/a"}}}"#);
    let a = ("vendor/a.json", r#"{"type": "string"}"#);
    let unused = "inputs = [\"one.json\"]\n[mounts]\n\"https://vendor/\" = \"vendor\"\n\"https://else/\" = \"vendor\"\n";
    let root = folder("unused", unused, &[one, a]);
    assert_eq!(reported(&root), ["mount codegen.toml:4:1"]);
    fs::remove_dir_all(&root).unwrap();
    // If the folder of a mount does not exist, one error is reported at the mount, and none for the
    // references.
    let missing = "inputs = [\"one.json\"]\n[mounts]\n\"https://vendor/\" = \"vendro\"\n";
    let root = folder("missing", missing, &[one, a]);
    assert_eq!(reported(&root), ["mount codegen.toml:3:1"]);
    fs::remove_dir_all(&root).unwrap();
}

/// If a mounted folder does not contain a referenced file, the error is reported at the reference and not at
/// the mount.
#[test]
fn missing_files_in_mounts_are_reported() {
    let one = ("one.json", r#"{"type": "object", "properties": {"a": {"$ref": "https://vendor/x.json"}}}"#);
    let options = "inputs = [\"one.json\"]\n[mounts]\n\"https://vendor/\" = \"vendor\"\n";
    let root = folder("unheld", options, &[one, ("vendor/a.json", r#"{"type": "string"}"#)]);
    let contract = Project::from_config(&root.join("codegen.toml")).unwrap().read_contract().unwrap();
    let reported: Vec<&str> = contract.diagnostics.iter().map(|each| each.message.as_str()).collect();
    let absent: Vec<&std::path::Path> = contract.sources.absent().collect();
    fs::remove_dir_all(&root).unwrap();
    let [reported] = reported[..] else { panic!("{reported:?}") };
    assert!(reported.starts_with("`x.json` is not in `"), "{reported}");
    assert!(reported.contains("vendor`, which is mounted at `https://vendor/`"), "{reported}");
    assert_eq!(absent, [root.join("vendor/x.json")]);
}

/// A value of `package` that Cargo does not accept as a package name is an error at its location in
/// `codegen.toml`.
#[test]
fn package_names_are_valid_for_cargo() {
    for (package, is_valid) in [
        ("1 x", false),
        ("", false),
        ("-a", false),
        ("type", false),
        ("x/y", false),
        ("ships-2_b", true),
        ("_a", true),
    ] {
        let options = format!("inputs = [\"one.json\"]\npackage = {package:?}\n");
        let root = folder("package", &options, &[("one.json", r#"{"type": "string"}"#)]);
        let found = reported(&root);
        fs::remove_dir_all(&root).unwrap();
        let expect: &[&str] = if is_valid { &[] } else { &["config codegen.toml:2:11"] };
        assert_eq!(found, expect, "{package}");
    }
}

/// `client.credentials` without security requirements and `[streams]` without streamed media types are
/// reported as options without effect.
#[test]
fn credentials_and_streams_without_effect_are_reported() {
    let options = "inputs = [\"api.yaml\"]\n[client]\ncredentials = true\n[streams]\nends = [\"[DONE]\"]\n";
    let reported = |name: &str, security: &str, media_type: &str| {
        let api = format!(
            "openapi: 3.1.0
info: {{ title: A, version: '1' }}
{security}
paths: {{ /a: {{ get: {{ responses: {{ '200': {{ description: '', content: {{ {media_type}: {{}} }} }} }} }} }} }}
components: {{ securitySchemes: {{ key: {{ type: apiKey, in: header, name: X-Key }} }} }}
"
        );
        let root = folder(name, options, &[("api.yaml", &api)]);
        let project = Project::from_config(&root.join("codegen.toml")).unwrap();
        let generated = project.generate().unwrap();
        fs::remove_dir_all(&root).unwrap();
        places(&generated.contract.diagnostics)
    };
    let unused = reported("idle", "", "application/json");
    assert_eq!(unused, ["config codegen.toml:3:1", "config codegen.toml:4:2"]);
    assert!(reported("busy", "security: [{ key: [] }]", "application/jsonl").is_empty());
}

/// If requests must carry two credentials in the same header, one warning is reported for the pair.
/// Alternative schemes cause no warning.
#[test]
fn schemes_with_the_same_location_are_reported() {
    let operation = |security: &str| {
        format!(r#"{{"security": {security}, "responses": {{"204": {{"description": "Done."}}}}}}"#)
    };
    let text = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "A", "version": "1"}},
        "paths": {{"/a": {{"get": {both}, "put": {either}, "post": {both}, "delete": {apart}}}}},
        "components": {{"securitySchemes": {{
            "basic": {{"type": "http", "scheme": "basic"}},
            "token": {{"type": "http", "scheme": "bearer"}},
            "key": {{"type": "apiKey", "in": "header", "name": "X-Key"}}}}}}}}"#,
        both = operation(r#"[{"basic": [], "token": []}]"#),
        either = operation(r#"[{"basic": []}, {"token": []}]"#),
        apart = operation(r#"[{"basic": [], "key": []}]"#),
    );
    let reported = |credentials: bool| {
        let mut project = Project::default();
        project.config.client.credentials = Some(credentials);
        let sources = Sources::from_texts(&[("api.json", "", &text)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap();
        places(&project.generate_from(contract).unwrap().contract.diagnostics)
    };
    assert_eq!(reported(true).len(), 1, "{:?}", reported(true));
    assert!(reported(true)[0].starts_with("unsupported api.json:"), "{:?}", reported(true));
    assert!(reported(false).is_empty());
}

/// A schema with the maximum nesting depth is generated without a stack overflow.
#[test]
fn deeply_nested_contracts_fit_the_stack() {
    let lists = (r#"{"type":"array","items":"#, "}", load::MAX_DEPTH - 1);
    let objects = (r#"{"type":"object","properties":{"a":"#, "}}", load::MAX_DEPTH / 2 - 1);
    for (open, close, levels) in [lists, objects] {
        let text = format!("{}true{}", open.repeat(levels), close.repeat(levels));
        assert!(package(&text, &[]).contains_key("src/models.rs"));
    }
}

/// Generates a package from one document, with built-in types for `formats`. Returns the content of its files
/// by path.
fn package(text: &str, formats: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    let mut project = Project::default();
    let formats = formats
        .iter()
        .map(|(name, package)| ((*name).to_owned(), FormatType::Builtin((*package).to_owned())));
    project.config.types.formats.extend(formats);
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    project.generate_from(contract).unwrap().files.0
}

/// `x-enum-varnames` is ignored with a note if the enumeration has more than 1,000 values.
#[test]
fn variant_names_of_large_enums_are_reported() {
    let reported = |count: usize| {
        let list = |letter: &str| {
            (0..count).map(|index| format!("\"{letter}{index}\"")).collect::<Vec<_>>().join(",")
        };
        let text = format!("{{\"enum\":[{}],\"x-enum-varnames\":[{}]}}", list("v"), list("N"));
        let sources = Sources::from_texts(&[("input.json", "", text.as_str())]).unwrap();
        places(&Project::default().analyze_sources(sources).unwrap().diagnostics)
    };
    assert!(reported(1000).is_empty());
    assert_eq!(reported(1001), ["ignored input.json:1:1"]);
}

/// `x-enum-varnames` of integers become variants of an enum. An inline schema without a type, a list of the
/// wrong length, and descriptions without names are reported.
#[test]
fn named_integers_become_variants() {
    let text = r##"{"type": "object", "properties": {
            "inline": {"type": "integer", "enum": [1], "x-enum-varnames": ["One"]}, "sky": {"$ref": "#/$defs/sky"}},
        "$defs": {
            "sky": {"type": "integer", "enum": [42, 18], "x-enum-varnames": ["Sunny", "HeavyRain"],
                "x-enum-descriptions": ["Blue sky.", ""]},
            "odd": {"type": "integer", "enum": [1, -1], "x-enum-varnames": {"1": "Max", "-1": "max"}},
            "few": {"type": "integer", "enum": [1, 2], "x-enum-varnames": ["One"]},
            "untold": {"type": "integer", "enum": [1], "x-enum-descriptions": ["One."]}}}"##;
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap();
    let pointers = contract.diagnostics.iter().filter_map(|each| each.place.as_ref());
    let mut pointers: Vec<&str> = pointers.map(|place| place.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/$defs/few", "/$defs/untold", "/properties/inline"]);
    let files = project.generate_from(contract).unwrap().files.0;
    let models = &files["src/models.rs"];
    for line in [
        "    /// Blue sky.\n    ///\n    /// `42`\n    Sunny,",
        "    /// `18`\n    HeavyRain,",
        "int_enum! { Sky: i64 { values { Sunny = 42, HeavyRain = 18 } } }",
        "int_enum! { Odd: i64 { values { Max2 = 1, Max = -1 } } }",
        "matches!(self.get(), 42 | 18)",
    ] {
        assert!(models.contains(line), "{line}: {models}");
    }
    assert!(!models.contains("One"), "{models}");
}

/// Integers of an `enum` without names become constants that are named after their digits.
#[test]
fn listed_integers_become_constants() {
    let text = r##"{"$defs": {
        "level": {"type": "integer", "enum": [1, -2, 30]},
        "half": {"type": "integer", "enum": [7, 8], "x-enum-varnames": {"7": "Seven"}},
        "one": {"type": "integer", "const": 1}, "real": {"enum": [1.5, 2]}}}"##;
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap();
    let files = project.generate_from(contract).unwrap().files.0;
    let models = &files["src/models.rs"];
    let constants = models.lines().map(str::trim).filter(|line| line.starts_with("pub const "));
    assert_eq!(
        constants.collect::<Vec<_>>(),
        [
            "pub const SEVEN: Self = Self(7);",
            "pub const VALUE_8: Self = Self(8);",
            "pub const ALL: &[Self] = &[Self::SEVEN, Self::VALUE_8];",
            "pub const VALUE_1: Self = Self(1);",
            "pub const VALUE_MINUS_2: Self = Self(-2);",
            "pub const VALUE_30: Self = Self(30);",
            "pub const ALL: &[Self] = &[Self::VALUE_1, Self::VALUE_MINUS_2, Self::VALUE_30];",
        ],
        "{models}"
    );
}

/// A selector in `client.shown` shows a field only in the error responses that contain it, also if it selects
/// the schema to which the property refers.
#[test]
fn selected_fields_are_shown_for_their_responses() {
    let document = "
openapi: 3.1.0
info: { title: T, version: '1' }
paths:
  /a:
    get:
      operationId: read
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Problem' } } } }
        '400': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Problem' } } } }
        '500': { description: '', content: { application/json: { schema: { type: object, properties: { code: { type: string } } } } } }
  /b:
    get:
      operationId: list
      responses:
        default: { description: '', content: { application/json: { schema: { allOf: [{ $ref: '#/components/schemas/Problem' }] } } } }
components:
  schemas:
    Problem: { type: object, properties: { code: { $ref: '#/components/schemas/Code' }, trace: { type: string } } }
    Code: { type: string }
";
    for (shown, expected) in [
        ("['#/components/schemas/Problem/properties/trace']", "trace"),
        ("['#/components/schemas/Code', 'trace']", "code"),
    ] {
        let config = toml::from_str(&format!("[client]\nshown = {shown}")).unwrap();
        let project = Project { config, ..Project::default() };
        let sources = Sources::from_texts(&[("a.yaml", "", document)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap();
        let files = project.generate_from(contract).unwrap().files.0;
        let code: String = files["src/client.rs"].split_whitespace().collect();
        let (_, rows) = code.split_once("with_response_fields(&[").unwrap();
        let (rows, _) = rows.split_once("],)").unwrap();
        let rows =
            rows.replace("::contract_runtime::client::", "").replace("::contract_runtime::operation::", "");
        let row = |operation: &str, statuses: &str| {
            format!(
                r#"ResponseFields{{operation:"{operation}",statuses:StatusRange::{statuses},fields:&["{expected}"],}},"#
            )
        };
        assert_eq!(rows, row("read", "Code(400,)") + &row("list", "Default"));
        assert_eq!(code.contains("with_shown_fields"), expected == "code");
    }
}

/// Integers of an inline `enum` become a newtype in properties and parameters, which the call sends.
#[test]
fn inline_integer_enums_become_newtypes() {
    let document = "
openapi: 3.1.0
info: { title: T, version: '1' }
paths:
  /a:
    get:
      operationId: list
      parameters:
        - { name: size, in: query, schema: { type: integer, enum: [10, 20], default: 20 } }
        - { name: only, in: query, required: true, schema: { type: integer, enum: [1, 2] } }
      responses: { '200': { description: '' } }
";
    let sources = Sources::from_texts(&[("a.yaml", "", document)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap();
    let files = project.generate_from(contract).unwrap().files.0;
    let code: String = files.into_values().collect::<String>().split_whitespace().collect();
    for part in [
        "structListSize(pub(super)i64)",
        "pubconstVALUE_10:Self=Self(10);",
        "only:super::types::ListOnly",
        "self.size.unwrap_or(super::types::ListSize::VALUE_20)",
    ] {
        assert!(code.contains(part), "{part}: {code}");
    }
}

/// `x-enum-varnames` and `x-enum-descriptions` apply to the values of `x-extensible-enum`. Lists with the
/// wrong length, objects as values and lists for other types are reported.
#[test]
fn names_apply_to_extensible_enums() {
    let text = r#"{"type": "object", "properties": {
        "kind": {"type": "string", "x-extensible-enum": ["a", "b"], "x-enum-varnames": ["First", "Second"],
            "x-enum-descriptions": ["One.", "Two."]},
        "few": {"type": "string", "x-extensible-enum": ["a", "b"], "x-enum-varnames": ["First"]},
        "told": {"type": "string", "x-extensible-enum": [{"value": "a", "description": "One."}]},
        "whole": {"type": "integer", "x-extensible-enum": [1, 2]},
        "text": {"type": "string", "x-extensible-enum": "a"}}}"#;
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap();
    let pointers = contract.diagnostics.iter().filter_map(|each| each.place.as_ref());
    let mut pointers: Vec<&str> = pointers.map(|place| place.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["few", "text", "told", "whole"].map(|name| format!("/properties/{name}")));
    let files = project.generate_from(contract).unwrap().files.0;
    let models = &files["src/models.rs"];
    for line in [
        "/// One.\n    ///\n    /// The value `a`.\n    First,",
        "/// Two.\n    ///\n    /// The value `b`.\n    Second,",
    ] {
        assert!(models.contains(line), "{line}: {models}");
    }
}

/// The static `PUBLISHED` is generated only if a type uses it, because an unused static would cause a
/// compiler warning.
#[test]
fn schemas_are_published_only_with_types() {
    let files_with = |schema: &str, formats: &[(&str, &str)]| {
        let text = format!(
            r#"{{
                "openapi": "3.1.0", "info": {{ "title": "A", "version": "1" }},
                "paths": {{ "/a": {{ "get": {{
                    "parameters": [{{ "name": "q", "in": "query", "schema": {schema} }}],
                    "responses": {{ "204": {{ "description": "Done." }} }}
                }} }} }}
            }}"#
        );
        let files = package(&text, formats);
        (files.get("src/json_schemas.rs").cloned(), files["Cargo.toml"].contains("schemars"))
    };
    assert_eq!(files_with(r#"{ "type": "integer" }"#, &[]), (None, false));
    let (text, feature) = files_with(r#"{ "enum": ["a", "b"] }"#, &[]);
    assert!(text.unwrap().contains("static PUBLISHED") && feature);
    let (text, feature) = files_with(r#"{ "type": "string", "format": "uuid" }"#, &[("uuid", "uuid")]);
    let text = text.unwrap();
    assert!(text.contains("format_schemas!") && !text.contains("PUBLISHED") && feature, "{text}");
}

/// A package has a binary and the feature `cli` only with the option `output.cli`, and the module
/// `credentials` only if operations require credentials.
#[test]
fn command_is_generated_only_with_cli() {
    let files = |change: fn(&mut Config)| {
        let mut project = Project::default();
        change(&mut project.config);
        let text = r#"{
            "openapi": "3.1.0", "info": { "title": "All A", "version": "1" },
            "paths": { "/a": { "get": { "operationId": "readA", "responses": { "204": { "description": "" } } } } }
        }"#;
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap();
        project.generate_from(contract).unwrap().files.0
    };
    let without = files(|_| {});
    assert!(!without["Cargo.toml"].contains("\ncli = ") && !without["Cargo.toml"].contains("[[bin]]"));
    assert!(!without.contains_key("src/main.rs") && !without.contains_key("src/cli.rs"));
    let with = files(|config| config.output.cli = Some(CommandLineConfig::default()));
    let manifest = &with["Cargo.toml"];
    let bin =
        "[[bin]]\nname = \"all-a\"\npath = \"src/main.rs\"\ndoc = false\nrequired-features = [\"cli\"]\n";
    assert!(manifest.contains(bin), "{manifest}");
    assert!(manifest.contains("cli = [\"contract-runtime/cli\", \"contract-runtime/reqwest-rustls\"]\n"));
    assert!(with["src/main.rs"].contains("all_a::cli::main()") && !with.contains_key("src/credentials.rs"));
    let without_features = files(|config| {
        config.output.features = Some(false);
        config.output.cli =
            Some(CommandLineConfig { name: Some("a".to_owned()), ..CommandLineConfig::default() });
    });
    let manifest = &without_features["Cargo.toml"];
    assert!(manifest.contains("name = \"a\"\n") && !manifest.contains("required-features"), "{manifest}");
    assert!(manifest.contains("\"cli\", \"reqwest-rustls\""), "{manifest}");
}

/// If two equal inline schemas share a type and only one is deprecated, only the field with the deprecated
/// schema is deprecated.
#[test]
fn anonymous_types_are_deprecated_by_location() {
    let text = r#"{ "type": "object", "properties": {
        "a": { "type": "object", "deprecated": true, "properties": { "x": { "type": "integer" } } },
        "b": { "type": "object", "properties": {
            "a": { "type": "object", "properties": { "x": { "type": "integer" } } } } }
    } }"#;
    let models = &package(text, &[])["src/models.rs"];
    assert!(
        models.contains("pub a: Option<InputBa>") && models.contains("type InputBa = InputA;"),
        "{models}"
    );
    let deprecated: Vec<&str> = models.split("#[deprecated").skip(1).collect();
    assert!(matches!(deprecated.as_slice(), [one] if one.contains("pub a:")), "{models}");
}

/// Deprecated optional parameters become deprecated fields and setters, and a deprecated security scheme a
/// deprecated setter. Deprecated required parameters cause no compiler warning.
#[test]
fn parameters_and_credentials_are_deprecated() {
    let text = r#"{
        "openapi": "3.2.0", "info": {"title": "A", "version": "1"}, "security": [{"old": []}, {"new": []}],
        "paths": {"/a": {"get": {"operationId": "a",
            "parameters": [
                {"name": "must", "in": "query", "required": true, "deprecated": true, "schema": {"type": "string"}},
                {"name": "kept", "in": "query", "schema": {"type": "string"}},
                {"name": "gone", "in": "query", "deprecated": true, "schema": {"type": "string"}},
                {"name": "past", "in": "query", "schema": {"type": "string", "deprecated": true}}
            ],
            "responses": {"204": {"description": "Done."}}
        }}},
        "components": {"securitySchemes": {
            "old": {"type": "apiKey", "in": "header", "name": "X-Old", "deprecated": true},
            "new": {"type": "apiKey", "in": "header", "name": "X-New"}
        }}
    }"#;
    let mut project = Project::default();
    project.config.client.credentials = Some(true);
    let sources = Sources::from_texts(&[("api.json", "", text)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    let files = project.generate_from(contract).unwrap().files.0;
    let deprecated_items = |file: &str| -> Vec<String> {
        let items = files[file].split("#[deprecated").skip(1).map(|rest| {
            let line = rest.lines().map(str::trim).find(|line| line.starts_with("pub")).unwrap();
            line.split(['(', ':']).next().unwrap().to_owned()
        });
        items.collect()
    };
    assert_eq!(deprecated_items("src/calls.rs"), ["pub gone", "pub past", "pub fn gone", "pub fn past"]);
    assert_eq!(deprecated_items("src/credentials.rs"), ["pub fn old"]);
    let allows_deprecated = |file: &str| files[file].replace([' ', '\n'], "").contains("#![allow(deprecated");
    for file in ["src/calls.rs", "src/client.rs", "src/server.rs"] {
        assert!(allows_deprecated(file), "{file}");
    }
    for file in ["src/models.rs", "src/operations.rs", "src/credentials.rs"] {
        assert!(!files.contains_key(file) || !allows_deprecated(file), "{file}");
    }
}

/// A required query parameter with a constant value becomes neither a command-line option nor an enum type.
#[test]
fn constant_parameters_have_no_option_and_no_type() {
    let api = "openapi: 3.1.0
info: { title: A, version: '1' }
paths:
  /do#run:
    get:
      operationId: run
      parameters:
        - { name: action, in: query, required: true, schema: { enum: [run] } }
        - { name: Action, in: header, schema: { enum: [a, b] } }
      responses: { '204': { description: '' } }
  /do#stop:
    get:
      operationId: stop
      parameters: [{ name: action, in: query, required: true, schema: { const: stop } }]
      responses: { '204': { description: '' } }
";
    let mut config = Config::default();
    config.output.cli = Some(CommandLineConfig::default());
    let project = Project { config, ..Project::default() };
    let sources = Sources::from_texts(&[("api.yaml", "", api)]).unwrap();
    let generated = project.generate_from(project.analyze_sources(sources).unwrap()).unwrap();
    let file_text = |name: &str| {
        let found = generated.files.iter().find(|(path, _)| *path == name);
        found.unwrap().1.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (models, cli) = (file_text("src/models.rs"), file_text("src/cli.rs"));
    assert_eq!(models.matches("pub enum").count(), 1, "{models}");
    let row = "ArgumentSpec::EMPTY, ArgumentSpec { name: \"action\", values: &[\"a\", \"b\"], ..ArgumentSpec::EMPTY }";
    assert!(cli.contains(row), "{cli}");
}

/// A schema may have the name of an item of Rust's prelude or of the runtime. A schema with a name that is
/// not possible, such as `Some`, is renamed with a note.
#[test]
fn changed_type_names_are_noted() {
    let text = r#"{"$defs": {
        "Option": {"type": "string"}, "Tag": {"type": "string"}, "Error": {"type": "string"},
        "Some": {"type": "string"}, "OkValue": {"type": "string"}, "none_value": {"type": "string"}
    }}"#;
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let contract = Project::default().analyze_sources(sources).unwrap();
    let mut names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Error", "Input", "NoneValue", "OkValue", "Option", "SomeValue", "Tag"]);
    let notes = contract.diagnostics.iter().filter(|each| each.code == "type-name");
    let places: Vec<&str> = notes.filter_map(|each| Some(each.place.as_ref()?.pointer.as_str())).collect();
    assert_eq!(places, ["/$defs/Some"]);
}

/// Names with control characters are escaped in documentation, where the compiler rejects them.
#[test]
fn documentation_contains_no_control_characters() {
    let text = r#"{"$defs": {
        "Tagged": {"oneOf": [
            {"type": "object", "required": ["a\rb"], "properties": {"a\rb": {"const": "x\r"}}},
            {"type": "object", "required": ["a\rb"], "properties": {"a\rb": {"const": "y"}}}
        ]},
        "Formed": {"oneOf": [
            {"type": "object", "required": ["c\rd"], "properties": {"c\rd": {"type": "string"}}},
            {"type": "object", "required": ["e\rf"], "properties": {"e\rf": {"type": "string"}}}
        ]}
    }}"#;
    let project = Project::default();
    let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    let models = project.generate_from(contract).unwrap().files.0["src/models.rs"].clone();
    assert!(models.contains(r"`a\rb` is") && models.contains(r"An object with `c\rd`"), "{models}");
    assert!(!models.contains('\r') && syn::parse_file(&models).is_ok(), "{models}");
}

/// The derive `Default` for all types (`*`) changes neither the constants of a struct nor the set of structs
/// that have a default. Other attributes that contain the word have no effect on this.
#[test]
fn configured_defaults_keep_constants() {
    let text = r#"{"$defs": {
        "K": {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["only"]}}},
        "P": {"type": "object", "required": ["v"], "properties": {"v": {"const": 3}}},
        "D": {"type": "object", "properties": {"a": {"type": "string"}}}
    }}"#;
    let models = |options: &str| {
        let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
        project.generate_from(contract).unwrap().files.0["src/models.rs"].clone()
    };
    for options in [
        "",
        "derives = { '*' = ['Default'] }",
        "attributes = { '#/$defs/D' = ['#[doc = \"Default limits.\"]'] }",
    ] {
        let models = models(options);
        assert!(models.contains("constant { kind = KKind::Only }"), "{options}: {models}");
        assert!(models.contains("constant { v = 3"), "{options}: {models}");
        let (before, _) = models.split_once("pub struct D").unwrap();
        let derives = before.rsplit("#[derive(").next().unwrap();
        assert_eq!(
            derives.matches("Default").count() - derives.matches("Default limits").count(),
            1,
            "{options}"
        );
    }
}

/// With `tag-features`, a package has a feature for each tag, enabled by default. It enables the operations of the
/// tag and the types that no other tag uses.
#[test]
fn tags_have_features() {
    let operation = |tags: &str, id: &str, ty: &str| {
        format!(
            r##"{{ "operationId": "{id}", "tags": [{tags}], "responses": {{ "200": {{ "description": "",
                "content": {{ "application/json": {{ "schema": {{ "$ref": "#/components/schemas/{ty}" }} }} }} }} }} }}"##
        )
    };
    let text = format!(
        r##"{{ "openapi": "3.1.0", "info": {{ "title": "All A", "version": "1" }},
            "paths": {{
                "/a": {{ "get": {}, "put": {} }},
                "/b": {{ "get": {}, "put": {} }}
            }},
            "components": {{ "schemas": {{
                "Issue": {{ "type": "object", "properties": {{ "part": {{ "$ref": "#/components/schemas/Part" }} }} }},
                "Part": {{ "type": "object", "properties": {{ "size": {{ "type": "integer" }} }} }},
                "Both": {{ "type": "object", "properties": {{ "text": {{ "type": "string" }} }} }},
                "Rest": {{ "type": "object", "properties": {{ "text": {{ "type": "string" }} }} }}
            }} }}
        }}"##,
        operation("\"open issues\"", "issues/list", "Issue"),
        operation("\"open issues\"", "issues/both", "Both"),
        operation("\"users\"", "users/both", "Both"),
        operation("", "rest", "Rest"),
    );
    let generate = |options: &str| {
        let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
        let sources = Sources::from_texts(&[("input.json", "", &text)])?;
        project.generate_from(project.analyze_sources(sources)?)
    };
    let files = generate("client = { by-tag = true, tag-features = true }").unwrap().files.0;
    let manifest = &files["Cargo.toml"];
    assert!(manifest.contains("default = [\"tag-open-issues\", \"tag-users\"]\n"), "{manifest}");
    assert!(manifest.contains("\ntag-users = []\n") && !manifest.contains("schemars"), "{manifest}");
    let issues = "#[cfg(feature = \"tag-open-issues\")]\n";
    for (file, item) in [
        ("client", "pub mod open_issues;"),
        ("calls", "mod open_issues;"),
        ("server", "mod open_issues;"),
        ("types", "pub use super::models::Part;"),
    ] {
        let text = &files[&format!("src/{file}.rs")];
        assert!(text.contains(&format!("{issues}{item}")), "{file}: {text}");
    }
    let models = &files["src/models.rs"];
    let gates = |name: &str| {
        let (before, _) = models.split_once(&format!("pub struct {name} ")).unwrap();
        before
            .rsplit("\n\n")
            .next()
            .unwrap()
            .lines()
            .find(|line| line.starts_with("#[cfg"))
            .map(str::to_owned)
    };
    assert_eq!(gates("Part"), gates("Issue"));
    assert_eq!(gates("Part").as_deref(), Some(issues.trim_end()));
    let both = "#[cfg(any(feature = \"tag-open-issues\", feature = \"tag-users\"))]";
    assert_eq!((gates("Both").as_deref(), gates("Rest")), (Some(both), None));
    let error = generate("client = { tag-features = true }").unwrap_err().render(false);
    assert!(error.contains("`client.tag-features` requires `client.by-tag`"), "{error}");
}

/// For a contract without security requirements and streams, the options for them do not change the output.
#[test]
fn unused_features_add_no_code() {
    let text = r##"{ "openapi": "3.1.0", "info": { "title": "All A", "version": "1" },
        "paths": { "/a": { "get": { "operationId": "readA", "responses": { "200": { "description": "",
            "content": { "application/json": { "schema": { "type": "object", "properties": { "a": { "type": "string" } } } } } } } } } } }"##;
    let generate = |options: &str| {
        let project = Project { config: toml::from_str(options).unwrap(), ..Project::default() };
        let sources = Sources::from_texts(&[("input.json", "", text)]).unwrap();
        project.generate_from(project.analyze_sources(sources).unwrap()).unwrap().files
    };
    let files = generate("");
    assert!(files == generate("client = { credentials = false }\nserver = { authentication = false }"));
    let without =
        ["security.rs", "credentials.rs", "authentication.rs", "stream.rs", "streaming.rs", "pages.rs"];
    assert!(files.iter().all(|(path, _)| without.iter().all(|name| !path.ends_with(name))));
}
