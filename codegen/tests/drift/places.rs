//! Tests of the locations of changes, in the result and in the reports: file, line, JSON Pointer and subject.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::drift::{
    CompareOptions, ContractDrift, ContractVersion, SourceLocation, compare,
    report::{self, ReportOptions},
};
use serde_json::Value;

use crate::large;

/// Creates a separate folder with files for one test.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drift-places-{name}"));
    let _ = fs::remove_dir_all(&path);
    for (file, text) in files {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    path
}

fn open(path: &Path) -> ContractVersion {
    ContractVersion::open(path).unwrap_or_else(|problems| panic!("{problems}"))
}

fn drift(old: &ContractVersion, new: &ContractVersion) -> ContractDrift {
    compare(old, new, &CompareOptions::default())
}

fn text(name: &str, text: &str) -> ContractVersion {
    ContractVersion::from_strings(&[(name, "", text)]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn spot(spot: Option<&SourceLocation>) -> (&str, &str, usize) {
    spot.map_or(("", "", 0), |spot| (&spot.file, &spot.pointer, spot.line))
}

const CONFIG: &str = "inputs = [\"api\"]\n[mounts]\n\"https://shared.example/\" = \"../shared\"\n";
const ROOT: &str = r#"{"$id":"https://x.example/root","type":"object","properties":{"p":{"$ref":"https://shared.example/part.json"},"q":{"maxLength":3}}}"#;
const PART: &str = "{\"type\": \"object\", \"properties\": {\n  \"a\": {\n    \"type\": \"string\",\n    \"maxLength\": 5\n  }\n}}";

/// If an input or mount of a `codegen.toml` changed, the file name in the report is relative to the folder of
/// the `codegen.toml`.
#[test]
fn locations_of_configured_inputs_exist() {
    let version = |name: &str, limit: &str| {
        folder(
            name,
            &[
                ("home/codegen.toml", CONFIG),
                ("home/api/root.json", &ROOT.replace('3', limit)),
                ("shared/part.json", &PART.replace('5', limit)),
            ],
        )
        .join("home")
    };
    let (old, new) = (version("inputs-old", "8"), version("inputs-new", "7"));
    let drift = drift(&open(&old), &open(&new.join("codegen.toml")));
    let places: Vec<_> = drift.changes.iter().map(|change| spot(change.new.as_ref())).collect();
    assert_eq!(
        places,
        [
            ("../shared/part.json", "/properties/a/maxLength", 4),
            ("api/root.json", "/properties/q/maxLength", 1)
        ]
    );
    for change in &drift.changes {
        for (home, spot) in [(&old, &change.old), (&new, &change.new)] {
            assert!(home.join(&spot.as_ref().unwrap().file).is_file(), "{change:#?}");
        }
    }
    let view = ReportOptions {
        prefix: "v2/home/".to_owned(),
        old_prefix: "v1/home".to_owned(),
        ..ReportOptions::default()
    };
    let json: Value = serde_json::from_str(&report::render_json(&drift, &view)).unwrap();
    assert_eq!(json["changes"][0]["new"]["file"], "v2/shared/part.json");
    assert_eq!(json["changes"][0]["old"]["file"], "v1/shared/part.json");
}

/// The text report locates a removed property in the old file, with the git revision. GitHub annotations are
/// located in the new file.
#[test]
fn removed_elements_are_located_in_the_old_file() {
    let old = text(
        "old.json",
        "{\"type\":\"object\",\"properties\":{\n\"a\":{\"type\":\"string\"},\n\"b\":{\"type\":\"string\"}}}",
    );
    let new = text("new.json", "{\"type\":\"object\",\"properties\":{\n\"a\":{\"type\":\"string\"}}}");
    let gone = drift(&old, &new);
    let view = ReportOptions {
        old_prefix: "api/".to_owned(),
        revision: Some("v1.2.0".to_owned()),
        ..ReportOptions::default()
    };
    let report_text = report::render_text(&gone, &view);
    assert!(
        report_text.contains("property-removed") && report_text.contains("(v1.2.0:api/old.json:3)"),
        "{report_text}"
    );
    // A pull request contains only the new files.
    let report_text = report::render_github_annotations(&gone, &view);
    assert!(report_text.contains("file=new.json,line=1,"), "{report_text}");
}

/// If `maxLength` changes in a schema to which `allOf` refers, the change is located at the keyword in that
/// schema.
#[test]
fn changes_are_located_at_the_changed_keyword() {
    let schema = |own: &str, base: &str| {
        text(
            "a.json",
            &format!(
                "{{\"allOf\":[{{\"$ref\":\"#/$defs/base\"}}],\n\"maxLength\":{own},\n\"$defs\":{{\"base\":{{\n\"minLength\":1,\n\"maxLength\":{base}\n}}}}}}"
            ),
        )
    };
    let found = drift(&schema("90", "50"), &schema("90", "40"));
    let [change] = found.changes.as_slice() else { panic!("{found:#?}") };
    assert_eq!(spot(change.new.as_ref()), ("a.json", "/$defs/base/maxLength", 5));
    assert_eq!(spot(change.old.as_ref()), ("a.json", "/$defs/base/maxLength", 5));
}

/// Changes of `info.version`, servers and security schemes are located in the lines of these elements.
#[test]
fn document_changes_have_locations() {
    let api = |version: &str, server: &str, scheme: &str| {
        text(
            "openapi.yaml",
            &format!(
                "openapi: 3.1.0\ninfo:\n  title: T\n  version: {version}\nservers:\n- url: {server}\npaths: {{/a: {{get: {{security: [k: []], responses: {{}}}}}}}}\n\
                 components:\n  securitySchemes:\n    k: {{type: apiKey, in: header, name: {scheme}}}\n"
            ),
        )
    };
    let found = drift(&api("1.0.0", "https://a.example", "A"), &api("1.1.0", "https://b.example", "B"));
    let places: Vec<_> =
        found.changes.iter().map(|change| (change.rule, spot(change.new.as_ref()).2)).collect();
    assert_eq!(
        places,
        [("version-changed", 4), ("server-removed", 6), ("server-added", 6), ("security-scheme-changed", 10)]
    );
}

const SHARED: &str = r##"{"openapi":"3.1.0","info":{"title":"t","version":"1.0.0"},"paths":{
"/a":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Page"}}}}}}},
"/b":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}}}}},
"/c":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Page"}}}}}}}},
"components":{"schemas":{
"Page":{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/components/schemas/Thing"}}}},
"Thing":{"type":"object","properties":{"name":{"type":"string","maxLength":5},"parent":{"$ref":"#/components/schemas/Thing"}}}}}}"##;

/// If three operations use a changed schema, the subject is the shortest path to it, and the reports list the
/// other two operations.
#[test]
fn subject_is_the_shortest_path_and_others_are_listed() {
    let found = drift(&text("openapi.json", SHARED), &text("openapi.json", &SHARED.replace('5', "6")));
    let [change] = found.changes.as_slice() else { panic!("{found:#?}") };
    assert_eq!(change.subject, "GET /b 200 body /name");
    assert_eq!(change.uses, ["GET /a 200 body", "GET /b 200 body", "GET /c 200 body"]);
    let view = ReportOptions::default();
    let listed = "sed by: GET /a 200 body, GET /c 200 body";
    assert!(report::render_text(&found, &view).contains(&format!("{listed}\n")));
    assert!(report::render_github_annotations(&found, &view).contains(listed));
    let table = report::render_markdown(&found, &view);
    assert!(
        table.contains("<summary>and 2 more</summary>`` GET /a 200 body ``, `` GET /c 200 body ``</details>"),
        "{table}"
    );
}

#[test]
fn sarif_equals_the_other_reports() {
    let old = text("old api.json", SHARED);
    let new = text("new api.json", &SHARED.replace('5', "6"));
    let view = ReportOptions {
        prefix: "schemas/".to_owned(),
        old_prefix: "schemas/".to_owned(),
        revision: Some("main".to_owned()),
        ..ReportOptions::default()
    };
    let found = drift(&old, &new);
    let log: Value = serde_json::from_str(&report::render_sarif(&found, &view)).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let (rule, result) = (&run["tool"]["driver"]["rules"][0], &run["results"][0]);
    assert_eq!((&rule["id"], &result["ruleId"]), (&"length-widened".into(), &"length-widened".into()));
    assert_eq!((&result["ruleIndex"], &result["level"]), (&0.into(), &"error".into()));
    let physical = |location: &Value| {
        let at = &location["physicalLocation"];
        (
            at["artifactLocation"]["uri"].as_str().unwrap().to_owned(),
            at["region"]["startLine"].as_u64().unwrap(),
        )
    };
    assert_eq!(physical(&result["locations"][0]), ("schemas/new%20api.json".to_owned(), 7));
    assert_eq!(physical(&result["relatedLocations"][0]), ("schemas/old%20api.json".to_owned(), 7));
    assert_eq!(result["relatedLocations"][0]["message"]["text"], "the old version at main");
    let message = result["message"]["text"].as_str().unwrap();
    assert!(message.starts_with("GET /b 200 body /name: `maxLength` changed from 5 to 6"), "{message}");
    assert!(message.contains("Proven: only one version accepts \"aaaaaa\"."), "{message}");
    // The fingerprint does not depend on line numbers.
    let fingerprint = &result["partialFingerprints"]["contractDrift/v1"];
    assert_eq!(fingerprint, "length-widened GET /b 200 body /name: `maxLength` changed from 5 to 6");
}

/// Two values removed from one enumeration have different fingerprints. If the fingerprints were equal, SARIF
/// viewers would count one finding.
#[test]
fn fingerprints_of_findings_are_unique() {
    let read = |values: &str| text("s.json", &format!(r#"{{"enum":[{values}]}}"#));
    let found = drift(&read(r#""a","b","c""#), &read(r#""c""#));
    let log: Value = serde_json::from_str(&report::render_sarif(&found, &ReportOptions::default())).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let prints: std::collections::BTreeSet<_> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!((results.len(), prints.len()), (2, 2), "{prints:?}");
}

/// In a contract with 400 schemas and 40 operations, each changed schema is reported once, with every
/// operation that uses it.
#[test]
fn shared_schemas_are_compared_once() {
    let schemas = 400;
    let old = text("openapi.json", &large::contract(schemas, 50));
    assert_eq!(drift(&old, &text("openapi.json", &large::contract(schemas, 50))).changes, []);
    let found = drift(&old, &text("openapi.json", &large::contract(schemas, 40)));
    assert!(
        found.changes.iter().all(|change| change.rule == "length-narrowed"),
        "{:#?}",
        found.changes.first()
    );
    assert_eq!(found.changes.len(), schemas / 100);
    // Each operation both reads and writes the schema.
    assert!(found.changes.iter().all(|change| change.uses.len() == 2 * schemas / 10));
}

/// If an overlay adds a changed schema, the change is located in the file of the overlay.
#[test]
fn overlay_changes_are_located_in_the_overlay() {
    let api = "openapi: 3.1.0\ninfo: { title: T, version: '1' }\npaths:\n  /a:\n    get: { responses: {} }\n";
    let fix = |schema: &str| {
        format!(
            "overlay: 1.0.0\ninfo: {{ title: fix, version: '1' }}\nactions:\n  - target: $.paths['/a'].get\n    \
             update:\n      parameters:\n        - name: q\n          in: query\n          schema: {schema}\n"
        )
    };
    let config = "inputs = [\"api.yaml\"]\n[input]\noverlays = [\"fix/api.yaml\"]\n";
    let version = |name: &str, schema: &str| {
        open(&folder(name, &[("codegen.toml", config), ("api.yaml", api), ("fix/api.yaml", &fix(schema))]))
    };
    let found = drift(
        &version("overlay-old", "{ type: string }"),
        &version("overlay-new", "{ type: string, maxLength: 3 }"),
    );
    let [change] = found.changes.as_slice() else { panic!("{found:#?}") };
    let pointer = "/actions/0/update/parameters/0/schema/maxLength";
    assert_eq!(spot(change.new.as_ref()), ("fix/api.yaml", pointer, 9));
}
