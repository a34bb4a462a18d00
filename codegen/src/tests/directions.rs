//! Tests that the generator and drift agree on read-only and write-only requirements. If drift reports no
//! breaking change, the validation tables of the receiving version must accept the values that the sending
//! version sends.

use contract_codegen_core::{Project, Sources, tables::TableArenas};
use contract_runtime::Json;

use crate::drift::{ChangeLevel, CompareOptions, ContractVersion, compare};

const VERSIONS: [&str; 2] = ["3.0.3", "3.1.0"];
const SCHEMAS: &[&str] = &[
    r#"{"properties":{"id":{"type":"string"},"n":{"type":"string"}}}"#,
    r#"{"required":["id"],"properties":{"id":{"type":"string"},"n":{"type":"string"}}}"#,
    r#"{"required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}}}"#,
    r#"{"required":["id"],"properties":{"id":{"type":"string","writeOnly":true},"n":{"type":"string"}}}"#,
    r#"{"properties":{"id":{"type":"string","readOnly":true,"maxLength":2},"n":{"type":"string"}}}"#,
    r#"{"required":["id"],"properties":{"id":{"type":"string","writeOnly":true,"maxLength":2},"n":{"type":"string"}}}"#,
    r#"{"properties":{"n":{"type":"string"}},"additionalProperties":false}"#,
    r##"{"allOf":[{"required":["id"]},{"properties":{"id":{"$ref":"#/components/schemas/Kept"},"n":{"type":"string"}}}]}"##,
    r#"{"required":["id"],"properties":{"id":{"type":"string","readOnly":true,"writeOnly":true},"n":{"type":"string"}}}"#,
];
const VALUES: &[&str] = &["{}", r#"{"id":"x"}"#, r#"{"id":"long"}"#, r#"{"n":"x"}"#, r#"{"id":"x","n":"x"}"#];

/// Returns an OpenAPI document with one operation that uses `schema` only in its request or only in its
/// response.
fn document(version: &str, schema: &str, is_request: bool) -> String {
    let content = r##""content":{"application/json":{"schema":{"$ref":"#/components/schemas/Body"}}}"##;
    let (request, response) = match is_request {
        true => (format!(r#""requestBody":{{"required":true,{content}}},"#), String::new()),
        false => (String::new(), format!(",{content}")),
    };
    format!(
        r#"{{"openapi":"{version}","info":{{"title":"t","version":"1"}},"paths":{{"/x":{{"post":{{{request}
        "responses":{{"200":{{"description":""{response}}}}}}}}}}},
        "components":{{"schemas":{{"Kept":{{"type":"string","readOnly":true}},"Body":{schema}}}}}}}"#
    )
}

/// Returns two booleans for each test value: whether the validation tables of the contract accept the value,
/// and whether a sender may send the value in the given direction.
fn accepted_values(text: &str, is_request: bool, (version, schema): (&str, &str)) -> Vec<(bool, bool)> {
    let contract = Project::default()
        .analyze_sources(Sources::from_texts(&[("api.json", "", text)]).unwrap())
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let body =
        contract.graph.ids().find(|id| contract.graph.schema(*id).location == *"/components/schemas/Body");
    // A sender does not send the property `id` if the schema does not declare it or if OpenAPI 3.0 excludes
    // it from the direction.
    let read_only = schema.contains("readOnly") || schema.contains("Kept");
    let write_only = schema.contains("writeOnly");
    let is_excluded = version == "3.0.3" && read_only != write_only && read_only == is_request;
    let has_id = schema.contains("\"id\":") && !is_excluded;
    let results = VALUES.iter().map(|value| {
        let is_sent = has_id || !value.contains("id");
        (tables.is_valid(body.unwrap(), &Json::parse(value.as_bytes()).unwrap()), is_sent)
    });
    results.collect()
}

#[test]
fn compatible_changes_are_accepted_by_generated_code() {
    let mut failures = Vec::new();
    let (mut breaking, mut compatible) = (0, 0);
    for is_request in [true, false] {
        let contracts: Vec<_> = VERSIONS
            .iter()
            .flat_map(|version| SCHEMAS.iter().map(move |schema| (*version, *schema)))
            .map(|case| {
                let text = document(case.0, case.1, is_request);
                let version = ContractVersion::from_strings(&[("api.json", "", &text)]).unwrap();
                (case, version, accepted_values(&text, is_request, case))
            })
            .collect();
        for (old, old_version, by_old) in &contracts {
            for (new, new_version, by_new) in &contracts {
                let options = CompareOptions { within_major: false, ..CompareOptions::default() };
                let found = compare(old_version, new_version, &options);
                let (level, writer, reader) = match is_request {
                    true => (found.writer_level(), by_old, by_new),
                    false => (found.reader_level(), by_new, by_old),
                };
                if level == ChangeLevel::Breaking {
                    breaking += 1;
                    continue;
                }
                compatible += 1;
                for ((value, (is_written, is_sent)), (is_accepted, _)) in
                    VALUES.iter().zip(writer).zip(reader)
                {
                    if *is_written && *is_sent && !is_accepted {
                        failures.push(format!("{old:?} -> {new:?}: {value}, request: {is_request}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(breaking > 100 && compatible > 100, "{breaking} breaking, {compatible} compatible");
}
