//! Tests that the output is the same in every run and for every order of the inputs, for the exchange and for
//! cases with several JSON and YAML files.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{
    OutputFiles, Project, Sources,
    config::{BuilderScope, Config, OutputLayout},
};
use contract_runtime::Json;

#[allow(dead_code, reason = "only the lookup functions are tested")]
#[path = "../core/build.rs"]
#[allow(clippy::print_stdout, reason = "build scripts print for cargo")]
mod build_script;

fn project() -> Project {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&config).unwrap_or_else(|e| panic!("{e}"))
}

fn generate_files(project: &Project) -> OutputFiles {
    project.generate().unwrap_or_else(|e| panic!("{e}")).files
}

/// Returns the documents of a folder and its subfolders in reverse order.
fn find_documents(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .rev()
        .flat_map(|path| if path.is_dir() { find_documents(&path) } else { vec![path] })
        .collect()
}

fn assert_same(one: &OutputFiles, other: &OutputFiles) {
    let names = |files: &OutputFiles| files.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names(one), names(other));
    for ((name, a), (_, b)) in one.iter().zip(other.iter()) {
        let line = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        assert!(a == b, "{name} differs at line {:?}", line.map(|index| index + 1));
    }
}

#[test]
fn exchange_output_does_not_depend_on_input_order() {
    let first = generate_files(&project());
    assert_same(&first, &generate_files(&project()));
    let mut shuffled = project();
    let base = shuffled.base.clone();
    shuffled.config.inputs.clear();
    shuffled.inputs = find_documents(&base.join("exchange"));
    shuffled.inputs.push(base.join("openapi.json"));
    shuffled.config.areas.reverse();
    shuffled.config.secrets.reverse();
    assert_same(&first, &generate_files(&shuffled));
}

/// Returns the files of a case with several files.
fn case_files(case: &str) -> Vec<PathBuf> {
    find_documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(case).join("input"))
}

/// Collects all permutations of the first `count` items (Heap's algorithm).
fn collect_permutations<T: Clone>(items: &mut Vec<T>, count: usize, found: &mut Vec<Vec<T>>) {
    if count <= 1 {
        found.push(items.clone());
        return;
    }
    for index in 0..count {
        collect_permutations(items, count - 1, found);
        items.swap(if count.is_multiple_of(2) { index } else { 0 }, count - 1);
    }
}

/// The output does not depend on the order of files that refer to each other, even if one is an OpenAPI
/// document.
#[test]
fn output_of_files_does_not_depend_on_their_order() {
    for (case, count) in [("openapi_files", 5), ("ref_through_ref", 3)] {
        let mut files = case_files(case);
        assert_eq!(files.len(), count, "{case}: {files:?}");
        assert!(files.iter().any(|file| file.extension().is_some_and(|ending| ending == "yaml")));
        for layout in [OutputLayout::Crate, OutputLayout::Modules] {
            let generate = |inputs: Vec<PathBuf>| {
                let mut config = Config::default();
                config.output.layout = layout;
                config.types.builders = BuilderScope::All;
                self::generate_files(&Project { config, inputs, ..Project::default() })
            };
            let first = generate(files.clone());
            let mut permutations = Vec::new();
            collect_permutations(&mut files, count, &mut permutations);
            // This uses every fifth of the 120 permutations of five files, and all six permutations of three
            // files.
            for order in permutations.into_iter().step_by(if count > 3 { 5 } else { 1 }) {
                assert_same(&first, &generate(order));
            }
        }
    }
}

/// Documents that are passed as strings are not sorted by folder. Their order changes nothing but the list of
/// inputs.
#[test]
fn output_of_strings_does_not_depend_on_their_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/openapi_files/input");
    let mut texts: Vec<(String, String)> = case_files("openapi_files")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    let generate = |texts: &[(String, String)]| {
        let texts: Vec<(&str, &str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
        let project = Project::default();
        let contract = project.analyze_sources(Sources::from_texts(&texts).unwrap()).unwrap();
        let generated = project.generate_from(contract).unwrap_or_else(|e| panic!("{e}"));
        let files = generated.files.iter().filter(|(name, _)| *name != "src/lib.rs");
        files.map(|(name, text)| (name.to_owned(), text.to_owned())).collect::<Vec<_>>()
    };
    let first = generate(&texts);
    assert!(first.len() > 5);
    let mut permutations = Vec::new();
    let count = texts.len();
    collect_permutations(&mut texts, count, &mut permutations);
    for order in permutations.iter().step_by(7) {
        assert_eq!(generate(order), first, "{:?}", order.iter().map(|(name, _)| name).collect::<Vec<_>>());
    }
}

/// The build script finds the runtime in a registry or a vendored folder, in which packages are siblings.
/// Cargo rewrites their manifests and keeps the originals as `Cargo.toml.orig`.
#[test]
fn runtime_is_found_next_to_unpacked_packages() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unpacked");
    let _ = fs::remove_dir_all(&folder);
    let own = folder.join("contract-codegen-core-0.1.0");
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("contract-codegen-core-0.1.0/Cargo.toml", "");
    // This package is unrelated, despite its name.
    put("runtime/Cargo.toml", "name = \"runtime\"\n");
    assert_eq!(build_script::home(&own, "0.1.0"), None);
    put("contract-runtime/Cargo.toml", "name = \"contract-runtime\"\n");
    assert_eq!(build_script::home(&own, "0.1.0"), Some(own.join("../contract-runtime")));
    put("contract-runtime-0.1.0/Cargo.toml", "# rewritten\n");
    put("contract-runtime-0.1.0/Cargo.toml.orig", "name = \"contract-runtime\"\n");
    let home = build_script::home(&own, "0.1.0").unwrap();
    assert_eq!(home, own.join("../contract-runtime-0.1.0"));
    assert_eq!(build_script::written(&home).unwrap(), "name = \"contract-runtime\"\n");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("core");
    assert_eq!(build_script::home(&here, "0.1.0"), Some(here.join("../../runtime")));
}

/// Returns the names of all generated types, including aliases.
fn type_names(document: &Json) -> BTreeSet<String> {
    let sources = Sources::from_texts(&[("input.json", "", &document.to_string())]).unwrap();
    let mut project = Project::default();
    project.config.client.skip_unsupported = Some(true);
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let files = project.generate_from(contract).unwrap_or_else(|problems| panic!("{problems}")).files;
    let types = files.iter().find(|(name, _)| *name == "src/types.rs").unwrap().1;
    let uses = types.split("pub use super::").skip(1).filter_map(|list| list.split_once(';'));
    let names = uses.flat_map(|(list, _)| list.split(['{', '}', ',', ':']).skip(1));
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with(char::is_uppercase)).collect()
}

/// Returns the declaration of a field of a struct.
fn find_declaration<'t>(models: &'t str, ty: &str, field: &str) -> &'t str {
    let from =
        models.split_once(&format!("pub struct {ty} {{")).unwrap_or_else(|| panic!("{ty}: {models}")).1;
    let line = from.lines().find(|line| line.trim().starts_with(&format!("pub {field}:")));
    line.unwrap_or_else(|| panic!("{ty}.{field}")).trim()
}

/// A contract in which two operations and a component contain equal anonymous schemas, in properties with
/// equal and with different names.
const SHARED_SCHEMAS: &str = r##"{
    "openapi": "3.1.0", "info": { "title": "Shared", "version": "1" },
    "paths": {
        "/accounts": { "get": {
            "parameters": [{ "name": "created", "in": "query", "schema": {
                "anyOf": [{ "type": "object", "properties": { "gte": { "enum": ["day", "week"] } } }, { "type": "integer" }] } }],
            "responses": { "200": { "description": "ok", "content": { "application/json": { "schema": {
                "type": "object", "properties": { "sort": { "enum": ["up", "down"] }, "features": {
                    "type": "object", "properties": { "enabled": { "enum": ["on", "off"] } } } } } } } } }
        } },
        "/charges": {
            "get": {
                "parameters": [{ "name": "created", "in": "query", "schema": {
                    "anyOf": [{ "type": "object", "properties": { "gte": { "enum": ["day", "week"] } } }, { "type": "integer" }] } }],
                "responses": { "200": { "description": "ok", "content": { "application/json": { "schema": {
                    "type": "object", "properties": { "sort": { "enum": ["up", "down"] }, "methods": {
                        "type": "object", "properties": { "enabled": { "enum": ["on", "off"] } } } } } } } } }
            },
            "post": {
                "requestBody": { "content": { "application/json": { "schema": {
                    "type": "object", "properties": { "sort": { "enum": ["up", "down"] }, "state": { "$ref": "#/components/schemas/State" } } } } } },
                "responses": { "204": { "description": "done" } }
            }
        }
    },
    "components": { "schemas": { "State": { "type": "object", "properties": { "sort": { "enum": ["up", "down"] } } } } }
}"##;

/// If an operation is removed, every remaining type keeps its name.
#[test]
fn names_do_not_depend_on_other_operations() {
    let mut documents = vec![("shared".to_owned(), SHARED_SCHEMAS.to_owned())];
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for case in
        ["credentials", "operations", "operations_all", "pages", "streams", "streams_typed", "union_family"]
    {
        documents.push((case.to_owned(), fs::read_to_string(cases.join(case).join("input.json")).unwrap()));
    }
    let mut compared = 0;
    for (case, text) in documents {
        let document: Json = text.parse().unwrap();
        let whole = type_names(&document);
        let paths = document.pointer("/paths").and_then(Json::as_object).unwrap();
        for (path, item) in paths {
            let is_operation = |key: &str| item.pointer(&format!("/{key}/responses")).is_some();
            for method in item.as_object().unwrap().keys().filter(|key: &&str| is_operation(key)) {
                let mut without = document.clone();
                let pointer = format!("/paths/{}", path.replace('~', "~0").replace('/', "~1"));
                let Some(Json::Object(item)) = without.pointer_mut(&pointer) else { panic!("{pointer}") };
                item.remove(method);
                let left = type_names(&without);
                let renamed: Vec<&String> = left.difference(&whole).collect();
                assert!(renamed.is_empty(), "{case} without {method} {path}: {renamed:?}");
                compared += left.len();
            }
        }
    }
    assert!(compared > 400, "{compared}");
}

/// A field's type is never named after an unrelated schema that happens to be equal.
#[test]
fn fields_are_named_after_their_own_place() {
    let sources = Sources::from_texts(&[("input.json", "", SHARED_SCHEMAS)]).unwrap();
    let files =
        Project::default().generate_from(Project::default().analyze_sources(sources).unwrap()).unwrap().files;
    let file = |end: &str| files.iter().find(|(name, _)| name.ends_with(end)).unwrap().1;
    let (models, calls) = (file("models.rs"), file("calls.rs"));
    for (source, ty, field, expected) in [
        (calls, "GetAccountsOptions", "created", "Option<super::types::GetAccountsCreated>,"),
        (calls, "GetChargesOptions", "created", "Option<super::types::GetChargesCreated>,"),
        (models, "GetChargesResponse", "methods", "Option<GetChargesResponseMethods>,"),
        (models, "GetChargesResponseMethods", "enabled", "Option<GetChargesResponseMethodsEnabled>,"),
        (models, "GetChargesResponse", "sort", "Option<GetChargesResponseSort>,"),
        (models, "State", "sort", "Option<StateSort>,"),
    ] {
        assert_eq!(find_declaration(source, ty, field), format!("pub {field}: {expected}"));
    }
    assert!(models.contains("pub type GetChargesCreated = GetAccountsCreated;"), "{models}");
    assert!(models.contains("pub type GetChargesCreatedObject = GetAccountsCreatedObject;"), "{models}");
}

/// A type keeps its name if an equal schema exists elsewhere. This also applies to types of
/// `additionalProperties`.
#[test]
fn equal_schemas_keep_their_names() {
    let document = |other: &str| -> Json {
        let value = r#"{ "type": "object", "properties": { "k": { "type": "string" } } }"#;
        let text = format!(
            r#"{{ "$defs": {{
                "A": {{ "properties": {{ "x": {{ "properties": {{ "p": {{ "type": "string" }} }}, "additionalProperties": {value} }} }} }},
                "B": {{ "properties": {{ "x": {{ "properties": {{ "q": {{ "type": "string" }} }}, "additionalProperties": {other} }} }} }}
            }} }}"#
        );
        text.parse().unwrap()
    };
    let equal = r#"{ "type": "object", "properties": { "k": { "type": "string" } } }"#;
    let different = r#"{ "type": "object", "properties": { "k": { "type": "integer" } } }"#;
    let names = type_names(&document(equal));
    assert!(names.contains("AxValue") && names.contains("BxValue"), "{names:?}");
    assert_eq!(names, type_names(&document(different)));
}
