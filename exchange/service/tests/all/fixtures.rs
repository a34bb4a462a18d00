//! The contract's fixtures of request bodies by route, with the expected errors of the invalid ones.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use exchange_api::operations::TABLE;
use serde_json::Value;

/// Every route with a request body, with the fixture folder of its schema.
pub(crate) const ROUTES: [(&str, &str); 9] = [
    ("/exchange/v1/me/installation", "installation--labelledInstallation"),
    ("/exchange/v1/me/account-check", "account-check-request"),
    ("/exchange/v1/catalog/resolve", "resolve-request"),
    ("/exchange/v1/me/blueprints/changes", "change-set--blueprintChangeSet"),
    ("/exchange/v1/me/stock/changes", "change-set--stockChangeSet"),
    ("/exchange/v1/me/ships/changes", "change-set--shipChangeSet"),
    ("/exchange/v1/org-stock/changes", "change-set--orgStockChangeSet"),
    ("/exchange/v1/me/drafts/blueprints", "blueprint-draft"),
    ("/exchange/v1/me/drafts/refinery-orders", "refinery-draft"),
];

/// A fixture: the body of a request.
#[derive(Debug)]
pub(crate) struct Fixture {
    /// The path of its file.
    pub(crate) path: PathBuf,
    /// The content of the file.
    pub(crate) text: String,
}

/// Pointer and keyword of each expected error.
pub(crate) type Errors = BTreeSet<(String, String)>;

/// Returns the valid fixtures, sorted by name.
pub(crate) fn valid(folder: &str) -> Vec<Fixture> {
    files(&schemas().join("fixtures").join(folder).join("valid"))
}

/// Returns the invalid fixtures with their expected errors.
pub(crate) fn invalid(folder: &str) -> Vec<(Fixture, Errors)> {
    let bodies = files(&schemas().join("fixtures").join(folder).join("invalid")).into_iter();
    let with_errors = |fixture: Fixture| {
        let expect = read(&fixture.path.with_extension("expect.json"));
        let text = |error: &Value, name: &str| error[name].as_str().unwrap().to_owned();
        let expect = expect.as_array().unwrap().iter();
        let expect = expect.map(|error| (text(error, "pointer"), text(error, "keyword"))).collect();
        (fixture, expect)
    };
    bodies.map(with_errors).collect()
}

/// Returns the errors of a problem as pointer and keyword. For an error with a message instead of a keyword
/// (ERR-02, DRF-06), returns the expected keyword.
pub(crate) fn errors(problem: &Value, expect: &Errors) -> Errors {
    let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |error: &Value| {
        let pointer = error["pointer"].as_str().unwrap().to_owned();
        let keyword = match (error["keyword"].as_str(), error["message"].as_str()) {
            (Some(keyword), _) => keyword.to_owned(),
            (None, Some(_)) => {
                let known_error = expect.iter().find(|(expected, _)| *expected == pointer);
                known_error.map(|(_, keyword)| keyword.clone()).unwrap_or_default()
            }
            (None, None) => panic!("neither keyword nor message: {error}"),
        };
        (pointer, keyword)
    };
    errors.iter().map(one).collect()
}

/// Returns true if a valid draft is staged. Some valid refinery orders are not, because of their version or
/// panel type (DRF-11).
pub(crate) fn is_staged(draft: &Value) -> bool {
    draft.get("orders").is_none()
        || (draft["schemaVersion"] == 1 && draft["orders"][0]["panelType"] == "SETUP")
}

/// Returns the folder of the contract.
pub(crate) fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// Parses a JSON file.
pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Vec<Fixture> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.to_string_lossy().ends_with(".expect.json"));
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    let fixture = |path: PathBuf| Fixture { text: fs::read_to_string(&path).unwrap(), path };
    paths.into_iter().map(fixture).collect()
}

/// CON-02: every route with a request body has fixtures.
#[test]
fn every_route_has_its_fixtures() {
    let with_a_body = TABLE.all().iter().filter(|operation| operation.body.is_some());
    let paths: BTreeSet<&str> = with_a_body.map(|operation| operation.path).collect();
    assert_eq!(paths, ROUTES.map(|(path, _)| path).into());
    for (_, folder) in ROUTES {
        assert!(!valid(folder).is_empty() && invalid(folder).len() > 5, "{folder}");
    }
}
