//! Tests of the records of sign-ins: in the audit, with the source address.

use serde_json::{Value, json};

use super::harness::{Browser, ProviderHarness};

/// Waits until the audit has a number of entries about sign-ins, which are written without waiting, and returns them.
async fn entries(harness: &ProviderHarness, count: usize) -> Vec<Value> {
    for _ in 0..10_000 {
        let work = |database: &rusqlite::Connection| {
            let sql = "SELECT actor, action, subject, detail, source FROM audit WHERE action LIKE 'sign-%' ORDER BY id";
            let mut rows = database.prepare(sql)?;
            let rows = rows.query_map([], |row| {
                let text = |at| row.get::<_, Option<String>>(at);
                Ok(json!([text(0)?, text(1)?, text(2)?, text(3)?, text(4)?]))
            })?;
            Ok::<Vec<Value>, exchange_service::store::StoreError>(rows.collect::<Result<_, _>>()?)
        };
        let found = harness.store.read(work).await.unwrap();
        if found.len() >= count {
            return found;
        }
        tokio::task::yield_now().await;
    }
    panic!("the audit has fewer than {count} entries");
}

async fn sign_in(harness: &ProviderHarness, username: &str, password: &str) -> (u16, Browser) {
    let mut browser = Browser::default();
    browser.open(harness, "/sign-in").await.expect(200);
    let fields = [("username", username), ("password", password)];
    (browser.submit(harness, "/sign-in", &fields).await.status, browser)
}

/// Sign-ins, wrong passwords, lockouts and sign-outs are in the audit, with the member and the source address. Names
/// that belong to no account, and passwords, are not. A lockout is recorded once.
#[tokio::test]
async fn sign_ins_are_audited() {
    let harness = ProviderHarness::new().await;
    let source = "192.0.2.1";
    assert_eq!(sign_in(&harness, "ada", "wrong password 1").await.0, 422);
    let failed = json!(["service", "sign-in-failed", "m-ada", "", source]);
    assert_eq!(entries(&harness, 1).await[0], failed);
    assert_eq!(sign_in(&harness, "typed-by-mistake", "wrong password 2").await.0, 422);
    let mut browser = harness.browser().await;
    let signed_in = json!(["member:m-ada", "sign-in", "m-ada", "", source]);
    assert_eq!(entries(&harness, 2).await, [failed.clone(), signed_in.clone()]);
    browser.open(&harness, "/device").await.expect(200);
    browser.submit(&harness, "/sign-out", &[]).await.expect(303);
    let signed_out = json!(["member:m-ada", "sign-out", "m-ada", "", source]);
    assert_eq!(entries(&harness, 3).await[2], signed_out);
    let mut status = 422;
    for _ in 0..12 {
        status = sign_in(&harness, "ada", "wrong password 3").await.0;
    }
    assert_eq!(status, 429);
    let all = entries(&harness, 13).await;
    let locked = json!(["service", "sign-in-locked", "m-ada", "", source]);
    assert_eq!(all.iter().filter(|entry| **entry == locked).count(), 1, "{all:?}");
    let text = json!(all).to_string();
    assert!(!text.contains("typed-by-mistake") && !text.contains("wrong password"), "{text}");
}

/// A wrong current password in a change of the password is audited like a failed sign-in, and so is the lockout.
#[tokio::test]
async fn wrong_current_passwords_are_audited() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    browser.open(&harness, "/account").await.expect(200);
    let new = "several words in a row";
    for attempt in 0..12 {
        let fields = [("current", "wrong"), ("new", new), ("repeated", new)];
        let expected = if attempt < 10 { 422 } else { 429 };
        browser.submit(&harness, "/account/password", &fields).await.expect(expected);
    }
    let all = entries(&harness, 12).await;
    let count = |action: &str| {
        let entry = json!(["service", action, "m-ada", "", "192.0.2.1"]);
        all.iter().filter(|found| **found == entry).count()
    };
    assert_eq!((count("sign-in-failed"), count("sign-in-locked"), all.len()), (10, 1, 12), "{all:?}");
}
