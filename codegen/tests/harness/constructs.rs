//! Tests that compare `constructs.md` with the folders of the cases: each listed construct has a case with
//! documents.

use std::{collections::BTreeSet, fs, path::Path};

use contract_codegen::Sources;
use contract_runtime::Json;

use crate::folder::{Case, entries, file_name, read, tests};

/// The number of constructs in the table.
const CONSTRUCTS: usize = 76;

/// The cells of a row.
type Row = Vec<String>;

/// Returns the rows of the table below a heading.
fn read_table(heading: &str) -> Vec<Row> {
    let text = fs::read_to_string(tests().join("constructs.md")).unwrap();
    let (_, part) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let part = part.split("\n## ").next().unwrap();
    let rows = part.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Returns the strings between backticks.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn case(name: &str) -> Case {
    let found = Case::all().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("constructs.md names `{name}`, but this folder does not exist"))
}

/// Returns the number of documents of a kind, without the files that contain expected violations.
fn count_documents(case: &Case, kind: &str) -> usize {
    let list = entries(&case.folder.join(kind));
    list.iter().filter(|path| !file_name(path).ends_with(".expect.json")).count()
}

/// Returns the keywords that the invalid documents of a case violate.
fn violated_keywords(case: &Case) -> BTreeSet<String> {
    let expectations = entries(&case.folder.join("invalid"));
    let expectations = expectations.iter().filter(|path| file_name(path).ends_with(".expect.json"));
    let keywords = |path: &Path| -> Vec<String> {
        let list = Json::parse(&read(path)).unwrap();
        let list = list.as_array().unwrap().iter();
        list.filter_map(|entry| entry.as_object()?.get("keyword")?.as_str().map(str::to_owned)).collect()
    };
    expectations.flat_map(|path| keywords(path)).collect()
}

/// Returns true if any object in the document has a member with this name.
fn has_member(document: &Json, name: &str) -> bool {
    match document {
        Json::Object(members) => members.iter().any(|(key, value)| key == name || has_member(value, name)),
        Json::Array(elements) => elements.iter().any(|element| has_member(element, name)),
        _ => false,
    }
}

#[test]
fn every_construct_has_valid_and_invalid_documents() {
    let rows = read_table("Constructs");
    let numbers: Vec<String> = (1..=CONSTRUCTS).map(|number| number.to_string()).collect();
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), numbers);
    for row in rows {
        let folders: Vec<Case> = names(&row[2]).into_iter().map(case).collect();
        assert!(!folders.is_empty(), "{row:?}");
        for kind in ["valid", "invalid"] {
            assert!(
                folders.iter().all(|case| count_documents(case, kind) > 0),
                "{row:?}: no {kind} document"
            );
        }
        let keyword = names(&row[3])[0];
        assert!(
            folders.iter().any(|case| violated_keywords(case).contains(keyword)),
            "{row:?}: no document violates `{keyword}`"
        );
    }
}

/// The keywords of JSON Schema 2020-12 in all vocabularies: core, applicator, unevaluated, validation,
/// meta-data, format and content.
const KEYWORDS: &str = "$schema $id $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment $defs \
    allOf anyOf oneOf not if then else dependentSchemas prefixItems items contains \
    properties patternProperties additionalProperties propertyNames \
    unevaluatedItems unevaluatedProperties \
    type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum \
    maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains \
    maxProperties minProperties required dependentRequired \
    title description default deprecated readOnly writeOnly examples \
    format contentEncoding contentMediaType contentSchema";

#[test]
fn every_keyword_occurs_in_an_accepted_contract() {
    let rows = read_table("Keywords");
    for keyword in KEYWORDS.split_whitespace() {
        assert!(rows.iter().any(|row| names(&row[0]) == [keyword]), "constructs.md lacks `{keyword}`");
    }
    for row in rows {
        let keyword = names(&row[0])[0];
        for case in names(&row[1]).into_iter().map(case) {
            assert!(!case.is_refused(), "{row:?}");
            let inputs: Vec<_> = case.files().into_iter().map(|(_, path)| path).collect();
            let sources = Sources::from_files(&inputs, &[]).unwrap_or_else(|e| panic!("{e}"));
            let found = sources.documents().any(|(_, document)| has_member(&document, keyword));
            assert!(found, "no `{keyword}` in {}", case.name);
        }
    }
}

#[test]
fn every_case_is_listed_in_a_table() {
    let tables = ["Constructs", "Keywords", "Documents"].map(read_table).concat();
    let named: BTreeSet<String> =
        tables.iter().flatten().flat_map(|cell| names(cell)).map(str::to_owned).collect();
    for row in read_table("Documents") {
        assert!(!names(&row[1]).into_iter().map(case).collect::<Vec<_>>().is_empty(), "{row:?}");
    }
    let unnamed: Vec<String> =
        Case::all().into_iter().map(|case| case.name).filter(|name| !named.contains(name)).collect();
    assert!(unnamed.is_empty(), "constructs.md does not list these cases: {unnamed:?}");
}
