//! Sends the contract's fixtures through the backend: a valid body is accepted, or rejected with a reason
//! from the contract; an invalid body is rejected at the fixture's pointers. (`sandbox` sends them through
//! the whole exchange.)

use exchange_api::reasons::Reason;

use super::*;
use crate::fixtures::{Fixture, ROUTES, errors, invalid, is_staged, valid};

/// Returns the write routes of one kind (change sets or drafts) with their fixture folders.
fn writes(kind: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.into_iter().filter(move |(path, _)| path.contains(kind))
}

/// Every fixture is either valid or invalid.
#[test]
fn every_fixture_is_valid_or_invalid() {
    let routes: BTreeSet<&str> = writes("/changes").chain(writes("/drafts/")).map(|(path, _)| path).collect();
    let contract = TABLE.all().iter().filter(|operation| operation.idempotent);
    assert_eq!(routes, contract.map(|operation| operation.path).collect());
}

/// CON-04, DRF-06, DRF-08, DRF-11, A6: every valid draft is staged, unless the server rejects its content.
#[tokio::test]
async fn valid_drafts_are_staged() {
    for (uri, folder) in writes("/drafts/") {
        let kind = if folder == "blueprint-draft" { "BLUEPRINT" } else { "REFINERY" };
        let mut staged = 0;
        for Fixture { path, text } in valid(folder) {
            let sent: Value = serde_json::from_str(&text).expect("valid JSON");
            let fixture = BackendFixture::new().await;
            let (status, response) = fixture.send_raw(&first(), uri, text).await;
            if is_staged(&sent) {
                assert_eq!(
                    (status, &response["kind"]),
                    (200, &json!(kind)),
                    "{}: {response}",
                    path.display()
                );
                staged += 1;
            } else {
                assert_eq!((status, response.get("errors")), (400, None), "{}: {response}", path.display());
            }
        }
        assert!(staged > 2, "{staged} of {folder}");
    }
}

/// CON-04, WRT-05, WRT-06, WRT-09: every op of a valid body is counted, and is rejected only with a listed
/// reason.
#[tokio::test]
async fn valid_change_sets_are_accepted() {
    for (uri, folder) in writes("/changes") {
        for Fixture { path, text } in valid(folder) {
            let ops = serde_json::from_str::<Value>(&text).expect("valid JSON")["ops"]
                .as_array()
                .expect("an array")
                .len();
            let fixture = BackendFixture::new().await;
            let (status, response) = fixture.send_raw(&first(), uri, text).await;
            assert_eq!(status, 200, "{}: {response}", path.display());
            let count = |name: &str| response[name].as_u64().expect("a number");
            assert_eq!(count("applied") + count("unchanged") + count("notApplied"), ops as u64);
            for outcome in response["results"].as_array().expect("an array") {
                if let Some(reason) = outcome["reason"].as_str() {
                    assert!(Reason::from(reason).is_known(), "{}: {outcome}", path.display());
                }
            }
        }
    }
}

/// CON-04, ERR-02, ERR-22, WRT-01: an invalid body is rejected at the fixture's pointers, and nothing is
/// written.
#[tokio::test]
async fn invalid_bodies_are_rejected_at_expected_pointers() {
    let fixture = BackendFixture::new().await;
    let before = fixture.everything().await;
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for (uri, folder) in writes("/changes").chain(writes("/drafts/")) {
        for (Fixture { path, text }, expect) in invalid(folder) {
            let (status, response) = fixture.send_raw(&first(), uri, text).await;
            assert_eq!((status, &response["code"]), (400, &json!("SCHEMA_INVALID")), "{}", path.display());
            assert_eq!(errors(&response, &expect), expect, "{}", path.display());
            *refused.entry(folder).or_default() += 1;
        }
    }
    assert_eq!(refused.len(), 6, "{refused:?}");
    assert_eq!(fixture.everything().await, before);
}
