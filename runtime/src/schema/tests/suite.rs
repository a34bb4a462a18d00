//! The official JSON-Schema-Test-Suite, when `JSON_SCHEMA_TEST_SUITE` names its
//! folder (the one with `tests/` and `remotes/`).

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::compile::Documents;
use super::compile::compile_with;
use crate::Json;

/// The meta-schemas of 2020-12, as an object from URI to document.
pub(super) const META: &str = include_str!("metaschema.json");

/// The meta-schema and its vocabularies.
pub(super) fn metaschemas() -> Documents {
    let mut documents = Documents::default();
    let meta: Value = serde_json::from_str(META).unwrap();
    for (uri, document) in meta.as_object().unwrap() {
        documents.add(uri, document);
    }
    documents
}

fn remotes(folder: &Path, uri: &str, documents: &mut Documents) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let uri = format!("{uri}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            remotes(&path, &uri, documents);
        } else {
            documents.add(&uri, &serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap());
        }
    }
}

#[test]
fn official_suite() {
    let Ok(suite) = std::env::var("JSON_SCHEMA_TEST_SUITE") else {
        return;
    };
    let suite = Path::new(&suite);
    let mut documents = metaschemas();
    let folder = suite.join("remotes/draft2020-12");
    remotes(&folder, "http://localhost:1234/draft2020-12", &mut documents);
    let (mut right, mut wrong) = (0, Vec::new());
    let mut files: Vec<_> =
        fs::read_dir(suite.join("tests/draft2020-12")).unwrap().collect::<Result<_, _>>().unwrap();
    files.sort_by_key(fs::DirEntry::path);
    for path in files.iter().map(fs::DirEntry::path).filter(|path| path.is_file()) {
        let groups: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let validator = compile_with(&group["schema"], documents.clone());
            for case in group["tests"].as_array().unwrap() {
                let value = Json::from(&case["data"]);
                let expected = case["valid"].as_bool().unwrap();
                // Both modes share their logic; the suite shows that they agree.
                let found = validator.validate(&value);
                if validator.is_valid(&value) == expected && found.is_ok() == expected {
                    right += 1;
                } else {
                    wrong.push(format!(
                        "{}: {}: {}: {found:?}",
                        path.display(),
                        group["description"],
                        case["description"]
                    ));
                }
            }
        }
    }
    println!("{right} right, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
