//! The contract's own fixtures through the running service: a valid body is taken, or refused for a reason of
//! the contract; an invalid one is refused at the places that the fixture names.

use std::fs;
use std::path::{Path, PathBuf};

use exchange_api::reasons::Reason;

use super::*;

/// Fixtures of a schema, in order of their names.
fn files(schema: &str, which: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/fixtures").join(schema).join(which);
    let files = fs::read_dir(&folder).expect("a folder of fixtures").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| !path.to_string_lossy().ends_with(".expect.json")).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

const CHANGE_SETS: [(&str, &str, &str); 4] = [
    ("change-set--blueprintChangeSet", "blueprints_write", "/exchange/v1/me/blueprints/changes"),
    ("change-set--stockChangeSet", "stock_write", "/exchange/v1/me/stock/changes"),
    ("change-set--shipChangeSet", "ships_write", "/exchange/v1/me/ships/changes"),
    ("change-set--orgStockChangeSet", "org_stock_write", "/exchange/v1/org-stock/changes"),
];

/// Every schema of a write's body, with its operation and address.
const WRITES: [(&str, &str, &str); 5] = [
    CHANGE_SETS[0],
    CHANGE_SETS[1],
    CHANGE_SETS[2],
    ("blueprint-draft", "drafts_blueprints", super::drafts::BLUEPRINTS),
    ("refinery-draft", "drafts_refinery", super::drafts::REFINERY),
];

/// CON-04, DRF-06, DRF-08, DRF-11, A6: every valid draft is staged, unless its content is one that is refused.
#[tokio::test]
async fn valid_drafts_are_staged() {
    for (schema, operation, uri) in WRITES.into_iter().skip(CHANGE_SETS.len()) {
        for file in files(schema, "valid") {
            let body = fs::read_to_string(&file).expect("a fixture");
            let sent: Value = serde_json::from_str(&body).expect("JSON");
            let is_order = sent["schemaVersion"] == 1 && sent["orders"][0]["panelType"] == "SETUP";
            let bench = Bench::new().await;
            let (status, answer) = bench.send_raw(&first(), operation, uri, body).await;
            if schema == "blueprint-draft" || is_order {
                let kind = if schema == "blueprint-draft" { "BLUEPRINT" } else { "REFINERY" };
                assert_eq!((status, &answer["kind"]), (200, &json!(kind)), "{}: {answer}", file.display());
            } else {
                assert_eq!((status, answer.get("errors")), (400, None), "{}: {answer}", file.display());
            }
        }
    }
}

/// CON-04, WRT-05, WRT-06, WRT-09: every op of a valid body is counted, and refused for a listed reason only.
#[tokio::test]
async fn valid_change_sets_are_taken() {
    for (schema, operation, uri) in CHANGE_SETS {
        for file in files(schema, "valid") {
            let body = fs::read_to_string(&file).expect("a fixture");
            let ops =
                serde_json::from_str::<Value>(&body).expect("JSON")["ops"].as_array().expect("ops").len();
            let bench = Bench::new().await;
            let (status, answer) = bench.send_raw(&first(), operation, uri, body).await;
            assert_eq!(status, 200, "{}: {answer}", file.display());
            let count = |name: &str| answer[name].as_u64().expect("a count");
            assert_eq!(count("applied") + count("unchanged") + count("notApplied"), ops as u64);
            for outcome in answer["results"].as_array().expect("results") {
                if let Some(reason) = outcome["reason"].as_str() {
                    assert!(Reason::from(reason).is_known(), "{}: {outcome}", file.display());
                }
            }
        }
    }
}

/// CON-04, ERR-02, ERR-22, WRT-01: an invalid body is refused at the fixture's pointers, and nothing is written.
#[tokio::test]
async fn invalid_bodies_are_refused_where_they_are_wrong() {
    let bench = Bench::new().await;
    let before = bench.everything().await;
    for (schema, operation, uri) in WRITES {
        for file in files(schema, "invalid") {
            let body = fs::read_to_string(&file).expect("a fixture");
            let (status, answer) = bench.send_raw(&first(), operation, uri, body).await;
            assert_eq!(status, 400, "{}: {answer}", file.display());
            let pointers = |list: &Value| -> BTreeSet<String> {
                let pointer = |one: &Value| one["pointer"].as_str().expect("a pointer").to_owned();
                list.as_array().expect("a list").iter().map(pointer).collect()
            };
            let expected = fs::read_to_string(file.with_extension("expect.json")).expect("what to expect");
            let expected: Value = serde_json::from_str(&expected).expect("JSON");
            assert_eq!(pointers(&answer["errors"]), pointers(&expected), "{}", file.display());
        }
    }
    assert_eq!(bench.everything().await, before);
}
