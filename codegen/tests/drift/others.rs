//! Tests that the comparison does not depend on file names, on YAML or JSON, on the OpenAPI version, or on
//! the distribution of a contract among files.

use std::{fs, path::Path};

use contract_codegen::drift::{CompareOptions, ContractChange, ContractVersion, compare};

fn read(texts: &[(&str, &str)]) -> ContractVersion {
    let texts: Vec<(&str, &str, &str)> = texts.iter().map(|(name, text)| (*name, "", *text)).collect();
    ContractVersion::from_strings(&texts).unwrap_or_else(|problems| panic!("{problems}"))
}

fn changes(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<ContractChange> {
    compare(&read(old), &read(new), &CompareOptions::default()).changes
}

/// Returns the rule and the subject of each change.
fn rules_and_subjects(changes: &[ContractChange]) -> Vec<(&str, &str)> {
    changes.iter().map(|change| (change.rule, change.subject.as_str())).collect()
}

const THING: &str =
    r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":5}}}"#;
const THING_YAML: &str = "type: object\nrequired: [a]\nproperties:\n  a: {type: string, maxLength: 5}\n";

#[test]
fn single_files_may_change_name_and_syntax() {
    assert_eq!(changes(&[("old.json", THING)], &[("new.json", THING)]), []);
    assert_eq!(changes(&[("thing.json", THING)], &[("other.yaml", THING_YAML)]), []);
    let tighter = THING.replace('5', "4");
    let found = changes(&[("old.json", THING)], &[("new.json", &tighter)]);
    assert_eq!(rules_and_subjects(&found), [("length-narrowed", "old.json /a")]);
    assert_eq!(found[0].witness.as_deref(), Some("\"aaaaa\""));
}

#[test]
fn definitions_of_renamed_files_are_compared() {
    let text = |limit: u8| format!(r#"{{"$defs":{{"a":{{"type":"string","maxLength":{limit}}}}}}}"#);
    let found = changes(&[("v1.json", &text(5))], &[("v2.json", &text(4))]);
    assert_eq!(rules_and_subjects(&found), [("length-narrowed", "v1.json#/$defs/a")]);
}

#[test]
fn changed_ids_are_reported() {
    let text = |id: &str| format!(r#"{{"$id":"https://x.example/{id}","type":"string"}}"#);
    let found = changes(&[("v1.json", &text("a"))], &[("v2.json", &text("b"))]);
    assert_eq!(rules_and_subjects(&found), [("id-changed", "v1.json")]);
}

/// The location of a document is not an identifier: the same files from a server and from a folder are equal, also if
/// the contract has several documents.
#[test]
fn documents_without_id_may_move() {
    let item = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    let list = r#"{"type":"array","items":{"$ref":"item.json"}}"#;
    let version = |base: &str| {
        let uri = |name: &str| format!("{base}{name}");
        let texts = [("list.json", uri("list.json"), list), ("item.json", uri("item.json"), item)];
        let texts = texts.each_ref().map(|(name, uri, text)| (*name, uri.as_str(), *text));
        ContractVersion::from_strings(&texts).unwrap()
    };
    for (old, new) in [
        ("https://contracts.example/v1/", "file:///contracts/"),
        ("file:///contracts/", "https://contracts.example/v1/"),
        ("https://contracts.example/v1/", "https://contracts.example/v2/"),
    ] {
        let found = compare(&version(old), &version(new), &CompareOptions::default()).changes;
        assert_eq!(rules_and_subjects(&found), []);
    }
}

const OLD_API: &str = "openapi: 3.0.3
info: {title: T, version: 1.0.0}
paths:
  /a:
    get:
      operationId: a
      responses:
        '200': {description: '', content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}
components:
  schemas:
    A: {type: object, required: [n], properties: {n: {type: integer, minimum: 0, exclusiveMinimum: true}, s: {type: string, nullable: true}}}
";

/// The contract of `OLD_API`, written in OpenAPI 3.1 and in several files.
const NEW_API: &str = r##"{"openapi":"3.1.0","info":{"title":"T","version":"1.0.0"},
    "paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"schemas/a.json"}}}}}}}},
    "components":{"schemas":{"A":{"$ref":"schemas/a.json"}}}}"##;
const A: &str = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","exclusiveMinimum":0},"s":{"type":["string","null"]}}}"#;

#[test]
fn openapi_version_and_file_layout_do_not_matter() {
    let found = changes(&[("openapi.yaml", OLD_API)], &[("openapi.json", NEW_API), ("schemas/a.json", A)]);
    assert!(found.iter().all(|change| change.rule == "schema-added"), "{:#?}", rules_and_subjects(&found));
    let loose = A.replace("\"exclusiveMinimum\":0", "\"minimum\":0");
    let found =
        changes(&[("openapi.yaml", OLD_API)], &[("openapi.json", NEW_API), ("schemas/a.json", &loose)]);
    let wider: Vec<&ContractChange> = found.iter().filter(|change| change.rule == "range-widened").collect();
    let [wider] = wider.as_slice() else { panic!("{found:#?}") };
    assert_eq!((wider.subject.as_str(), wider.witness.as_deref()), ("GET /a 200 body /n", Some("0")));
}

#[test]
fn contracts_without_operations_or_schemas_are_compared() {
    let hooks = r#"{"openapi":"3.1.0","info":{"title":"T"},"webhooks":{"w":{"post":{"responses":{"204":{"description":""}}}}}}"#;
    let bare = r#"{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{}}"#;
    assert_eq!(changes(&[("a.json", hooks)], &[("b.json", hooks)]), []);
    let found = changes(&[("a.json", hooks)], &[("a.json", bare)]);
    assert!(found.iter().any(|change| change.rule == "webhook-removed"), "{found:#?}");
    let found = changes(&[("a.json", THING)], &[("openapi.json", bare)]);
    assert!(found.iter().any(|change| change.rule == "schema-removed"), "{found:#?}");
}

/// The option `nullable` of `codegen.toml` applies: an added `nullable: true` next to `allOf` is a change
/// with `or-null`, and no change with `strict`.
#[test]
fn versions_are_loaded_with_their_configuration() {
    let api = |nullable: &str| {
        format!(
            "openapi: 3.0.3\ninfo: {{title: T, version: 1.0.0}}\npaths: {{}}\ncomponents:\n  schemas:\n    \
             A: {{type: string}}\n    B: {{type: object, properties: {{a: {{allOf: [{{$ref: '#/components/schemas/A'}}]{nullable}}}}}}}\n"
        )
    };
    let version = |name: &str, nullable: &str, mode: &str| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drift-nullable-{name}-{mode}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("api.yaml"), api(nullable)).unwrap();
        let options = format!("inputs = [\"api.yaml\"]\n[types]\nnullable = \"{mode}\"\n");
        fs::write(folder.join("codegen.toml"), options).unwrap();
        ContractVersion::open(&folder).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let found = |mode: &str| {
        let (old, new) = (version("old", "", mode), version("new", ", nullable: true", mode));
        compare(&old, &new, &CompareOptions::default()).changes.len()
    };
    assert_eq!((found("strict"), found("or-null") > 0), (0, true));
}
