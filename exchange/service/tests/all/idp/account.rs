//! Tests of the pages for passwords and browser sessions.

use exchange_service::Environment;
use exchange_service::admin::{self, AdminContext, AdminError};
use exchange_service::idp::password_resets;

use super::harness::{Browser, Device, ProviderHarness, location};

const PATH: &str = "/account";
const NEW: &str = "several words in a row";

/// Ada's user name and password in the harness, and the fields of a change to [`NEW`].
fn change<'f>(current: &'f str, new: &'f str, repeated: &'f str) -> [(&'f str, &'f str); 3] {
    [("current", current), ("new", new), ("repeated", repeated)]
}

async fn can_sign_in(harness: &ProviderHarness, password: &str) -> bool {
    let mut browser = Browser { address: "198.51.100.7".parse().unwrap(), ..Browser::default() };
    browser.open(harness, "/sign-in").await.expect(200);
    let fields = [("username", "ada"), ("password", password)];
    browser.submit(harness, "/sign-in", &fields).await.status == 303
}

/// A member changes the password with the current one. All other browsers are signed out, with the connections
/// that are bound to them, and the member is notified.
#[tokio::test]
async fn password_change_signs_out_other_browsers() {
    let harness = ProviderHarness::new().await;
    let (mut browser, mut other, device) = (harness.browser().await, harness.browser().await, Device::new());
    let tokens = harness.connect_by(&mut other, &device, "exchange.connect").await;
    let path = "/account/password";
    browser.open(&harness, PATH).await.expect(200);
    for (fields, field, message) in [
        (change("right", "too short", "too short"), "new", "at least 12 characters"),
        (change("right", NEW, "another one"), "repeated", "The two new passwords differ."),
        (change("wrong", NEW, NEW), "current", "The current password is wrong."),
    ] {
        let page = browser.submit(&harness, path, &fields).await.expect(422);
        assert!(page.body.contains(message), "{message}: {}", page.body);
        let marked = format!("aria-invalid=\"true\" aria-describedby=\"{field}-error");
        assert!(page.body.contains(&marked) && page.body.matches(" autofocus").count() == 1, "{}", page.body);
        assert!(!page.body.contains(NEW), "no password is sent back");
    }
    let valid = change("right", NEW, NEW);
    let csrf = std::mem::replace(&mut browser.csrf, "x".to_owned());
    browser.submit(&harness, path, &valid).await.expect(403);
    browser.csrf = csrf;
    assert!(can_sign_in(&harness, "right").await);
    let done = browser.submit_and_follow(&harness, path, &valid).await.expect(200);
    assert!(done.body.contains("All other browsers are signed out."), "{}", done.body);
    assert!(
        !browser.open(&harness, PATH).await.body.contains("All other browsers"),
        "the message is shown once"
    );
    assert!(!can_sign_in(&harness, "right").await && can_sign_in(&harness, NEW).await);
    assert!(location(&other.open(&harness, PATH).await).starts_with("/sign-in"));
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
    let records = "SELECT (SELECT count(*) FROM notice WHERE kind = 'password-changed' AND member = 'm-ada') * 10 \
                   + (SELECT count(*) FROM audit WHERE action = 'password.change' AND actor = 'member:m-ada')";
    assert_eq!(harness.count(records).await, 11);
}

/// Attempts to guess the current password have the limits of a sign-in.
#[tokio::test]
async fn current_password_cannot_be_guessed() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    browser.open(&harness, PATH).await.expect(200);
    let guess = async |browser: &mut Browser, current: &str| {
        browser.submit(&harness, "/account/password", &change(current, NEW, NEW)).await
    };
    for _ in 0..10 {
        guess(&mut browser, "wrong").await.expect(422);
    }
    let refused = guess(&mut browser, "right").await.expect(429);
    assert_eq!(refused.header("retry-after"), "60");
    harness.advance(60);
    guess(&mut browser, "right").await.expect(303);
}

/// Every change of a password deletes the link that an administrator created before it.
#[tokio::test]
async fn new_password_invalidates_the_link() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    let link = create_link(&harness, "m-ada").await.unwrap();
    browser.open(&harness, PATH).await.expect(200);
    browser.submit(&harness, "/account/password", &change("right", NEW, NEW)).await.expect(303);
    Browser::default().open(&harness, &link).await.expect(404);

    let link = create_link(&harness, "m-ada").await.unwrap();
    let other = create_link(&harness, "m-bob").await.unwrap();
    let now = harness.now();
    let set = move |database: &rusqlite::Connection| {
        let admin = AdminContext::new("root", now)?;
        admin::set_password(database, &admin, &"m-ada".into(), None, "hash")
    };
    harness.store.write(set).await.unwrap();
    Browser::default().open(&harness, &link).await.expect(404);
    Browser::default().open(&harness, &other).await.expect(200);
}

/// A message of another session, or one that a link contains, is never shown.
#[tokio::test]
async fn messages_cannot_be_forged() {
    let harness = ProviderHarness::new().await;
    let (mut ada, mut bob) = (harness.browser().await, harness.browser_of("bob").await);
    ada.open(&harness, PATH).await.expect(200);
    ada.submit(&harness, "/account/sessions", &[("others", "end")]).await.expect(303);
    let message = ada.cookies["message"].clone();
    assert!(ada.open(&harness, "/notices").await.body.contains("All other sign-ins are ended."));
    assert!(!ada.cookies.contains_key("message"), "the message is removed once it is shown");
    for forged in [message.as_str(), "SGVsbG8.x", "", "."] {
        bob.cookies.insert("message".to_owned(), forged.to_owned());
        let page = bob.open(&harness, "/notices?message=Hello").await.expect(200);
        assert!(!page.body.contains("role=\"status\""), "{}", page.body);
    }
}

/// The page lists the member's sessions, and ends one or all others.
#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let harness = ProviderHarness::new().await;
    let (mut first, mut second) = (harness.browser().await, harness.browser().await);
    let (mut third, mut bob) = (harness.browser().await, harness.browser_of("bob").await);
    harness.change("UPDATE session SET browser = 'Firefox on Linux' WHERE member = 'm-ada'").await;
    let page = first.open(&harness, PATH).await.expect(200);
    assert_eq!(page.body.matches("Firefox on Linux").count(), 3, "{}", page.body);
    assert_eq!(page.body.matches("this browser").count(), 1);
    let ids: Vec<String> = page
        .body
        .split("name=\"session\" value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "the own session ends by signing out");
    // A session of another member is not found.
    bob.open(&harness, PATH).await.expect(200);
    bob.submit(&harness, "/account/sessions", &[("session", &ids[0])]).await.expect(303);
    let sessions = "SELECT count(*) FROM session WHERE member = 'm-ada' AND ended_at IS NULL";
    assert_eq!(harness.count(sessions).await, 3);
    first.submit(&harness, "/account/sessions", &[]).await.expect(403);
    first.open(&harness, PATH).await.expect(200);
    first.submit(&harness, "/account/sessions", &[("session", &ids[0])]).await.expect(303);
    assert_eq!(harness.count(sessions).await, 2);
    let mut signed_in = 0;
    for browser in [&mut second, &mut third] {
        signed_in += u32::from(browser.open(&harness, PATH).await.status == 200);
    }
    assert_eq!(signed_in, 1);
    first.submit(&harness, "/account/sessions", &[("others", "end")]).await.expect(303);
    assert_eq!(harness.count(sessions).await, 1);
    first.open(&harness, PATH).await.expect(200);
}

async fn create_link(harness: &ProviderHarness, member: &'static str) -> Result<String, AdminError> {
    let now = harness.now();
    let clock = harness.clock.clone();
    let create = move |database: &rusqlite::Connection| {
        let environment =
            Environment::new(std::sync::Arc::new(clock), std::sync::Arc::new(dpop_bound::SystemRandom));
        let admin = AdminContext::new("root", now)?;
        admin::create_password_link(database, &admin, &environment, &member.into())
    };
    harness.store.write(create).await.map(|link| format!("{}{}", password_resets::PATH, link.secret))
}

/// An administrator's link sets a new password once, within a day, and signs out all browsers.
#[tokio::test]
async fn link_sets_a_new_password_once() {
    let harness = ProviderHarness::new().await;
    let mut signed_in = harness.browser().await;
    let replaced = create_link(&harness, "m-ada").await.unwrap();
    let link = create_link(&harness, "m-ada").await.unwrap();
    let mut browser = Browser::default();
    browser.open(&harness, &replaced).await.expect(404);
    let page = browser.open(&harness, &link).await.expect(200);
    assert!(
        page.body.contains("For the account <bdi>ada</bdi>.") && !page.body.contains("<nav"),
        "{}",
        page.body
    );
    assert!(can_sign_in(&harness, "right").await, "the current password works until the link is used");
    let fields = [("new", NEW), ("repeated", NEW)];
    let mut stranger = Browser { csrf: browser.csrf.clone(), ..Browser::default() };
    stranger.submit(&harness, &link, &fields).await.expect(403);
    let page = browser.submit(&harness, &link, &[("new", "short"), ("repeated", "short")]).await.expect(422);
    assert!(page.body.contains("at least 12 characters"), "{}", page.body);
    let done = browser.submit_and_follow(&harness, &link, &fields).await.expect(200);
    assert!(done.body.contains("Sign in with the new password."), "{}", done.body);
    assert!(!can_sign_in(&harness, "right").await && can_sign_in(&harness, NEW).await);
    assert!(location(&signed_in.open(&harness, PATH).await).starts_with("/sign-in"));
    browser.open(&harness, &link).await.expect(404);
    // An unused link expires.
    let link = create_link(&harness, "m-ada").await.unwrap();
    harness.advance(86_399);
    browser.open(&harness, &link).await.expect(200);
    harness.advance(1);
    browser.open(&harness, &link).await.expect(404);
    browser.submit(&harness, &link, &fields).await.expect(404);
    // Without an account there is nothing to reset. The store contains no secret of a link.
    harness
        .change("INSERT INTO member (id, name, state, created_at) VALUES ('m-none', 'N', 'active', 0)")
        .await;
    assert!(matches!(create_link(&harness, "m-none").await, Err(AdminError::Invalid(_))));
    assert!(matches!(create_link(&harness, "m-gone").await, Err(AdminError::NotFound { .. })));
    assert_eq!(harness.count("SELECT max(length(hash)) FROM password_reset").await, 32);
}
