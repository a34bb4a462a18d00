//! The flows of a member: connecting, confirming, reviewing, disconnecting, and the account.

use crate::browser::{Browser, Look, is_available};
use crate::fixture::{Fixture, MEMBER, password};

/// The key code of Enter in WebDriver.
const ENTER: &str = "\u{e007}";
/// Control and A, which select the text of a field.
const SELECT_ALL: &str = "\u{e009}a\u{e000}";
/// The key code of Space in WebDriver.
const SPACE: &str = "\u{e00d}";

/// WEB-01 to WEB-03: a device is connected with the keyboard alone. Back and Reload show the result, never an
/// error of the browser.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn device_is_connected_by_keyboard() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    for look in [Look::PHONE, Look::LAPTOP] {
        let login = fixture.begin_login().await;
        let browser = Browser::open_window(&fixture, look).await;
        browser.open("/device").await;
        assert!(browser.path().await.starts_with("/sign-in?next="));
        browser.type_keys(MEMBER).await;
        browser.tab_to("password").await;
        browser.type_keys(&format!("{}{ENTER}", password(MEMBER))).await;
        assert_eq!(browser.heading().await, "Connect a device");
        browser.type_keys(&format!("WRNG-WRNG{ENTER}")).await;
        assert!(browser.text("#error").await.contains("unknown or has expired"));
        // The faulty field has the focus, so that the member can correct it.
        browser.type_keys(&format!("{SELECT_ALL}{}{ENTER}", login.user_code())).await;
        assert_eq!(browser.heading().await, "Connect this application?");
        browser.check().await;
        browser.photograph("consent").await;
        let (reads, writes) = (browser.text(".scopes.read").await, browser.text(".scopes.write").await);
        assert!(reads.contains("See your warehouse stock") && writes.contains("Change your warehouse stock"));
        browser.tab_to("Connect").await;
        browser.type_keys(ENTER).await;
        assert_eq!(browser.heading().await, "Connected");
        assert_eq!(browser.text("[role=status]").await, "You can return to Sandbox Client on your device.");
        browser.check().await;
        browser.photograph("connected").await;
        browser.reload().await;
        assert_eq!(browser.heading().await, "Connected");
        browser.go_back().await;
        // The browser may show its copy of the consent page. Its buttons lead to the result.
        if browser.heading().await != "Connected" {
            browser.press("Decline").await;
        }
        assert_eq!(browser.heading().await, "Connected");
        login.finish().await.expect("the client is connected");
        browser.close().await;
    }
}

/// A link to the consent page leads to the form for the code, and a declined code stays declined.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_cannot_be_skipped_by_a_link() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let login = fixture.begin_login().await;
    let browser = Browser::without_javascript(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    browser.open(&format!("/device/consent?user_code={}&proof=x", login.user_code())).await;
    assert_eq!(browser.heading().await, "Connect a device");
    browser.open(&format!("/device?user_code={}", login.user_code())).await;
    browser.press("Next").await;
    let consent = browser.path().await;
    browser.press("Decline").await;
    assert_eq!(browser.heading().await, "Declined");
    browser.open(&consent).await;
    assert_eq!(browser.heading().await, "Declined");
    assert!(login.finish().await.is_err());
    browser.close().await;
}

/// WEB-08, WRT-13: a held batch is found in the overview, shows every change with amounts and places, and shows
/// the result also in a second tab.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_batch_is_confirmed() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let link = fixture.hold_batch().await;
    let browser = Browser::without_javascript(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    browser.press("Check and decide").await;
    let page = browser.path().await;
    let content = browser.content().await;
    for part in ["Sandbox Ore", "12.5 SCU", "removed", "Unheard-of Ore", "not in the catalogue"] {
        assert!(content.contains(part), "{part}: {content}");
    }
    browser.press("Apply these changes").await;
    assert_eq!((browser.heading().await, browser.path().await), ("Done".to_owned(), page.clone()));
    assert!(browser.text("[role=status]").await.contains("could not be applied"));
    let content = browser.content().await;
    assert!(content.contains("Not applied") && content.contains("Unheard-of Ore"), "{content}");
    browser.check().await;
    browser.photograph("held-batch-done").await;
    // In a second tab, and from the link of the application, the page shows what was done.
    for address in [page, link] {
        browser.open(&address).await;
        assert_eq!(browser.heading().await, "Done");
    }
    browser.open("/").await;
    assert!(!browser.content().await.contains("Check and decide"));
    browser.close().await;
}

/// WEB-09, WEB-11: a review is found in the overview until it is accepted, and then shows the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn review_is_accepted() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let link = fixture.stage_draft().await;
    let browser = Browser::without_javascript(&fixture, Look::PHONE).await;
    browser.sign_in(MEMBER).await;
    browser.open(&link).await;
    let review = browser.path().await;
    browser.open("/").await;
    browser.press("Review").await;
    assert_eq!(browser.path().await, review);
    browser.press("Add to my blueprints").await;
    assert_eq!(browser.heading().await, "Done");
    assert!(browser.text("[role=status]").await.contains("blueprint was added"));
    browser.check().await;
    browser.go_back().await;
    // The browser may show its copy of the review. Its buttons lead to the result.
    if browser.heading().await != "Done" {
        browser.press("Discard").await;
    }
    assert_eq!(browser.heading().await, "Done");
    browser.open("/").await;
    assert!(!browser.content().await.contains("prepared blueprints"));
    browser.close().await;
}

/// WEB-06: disconnecting asks first, and the next page says what was done, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn application_is_disconnected_after_a_question() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let browser = Browser::without_javascript(&fixture, Look::PHONE).await;
    browser.sign_in(MEMBER).await;
    browser.open("/applications").await;
    let content = browser.content().await;
    for part in ["“Desk”", "It can see", "It can change", "Connected until", "last activity"] {
        assert!(content.contains(part), "{part}: {content}");
    }
    browser.press("Confirm these devices").await;
    assert_eq!(browser.text("[role=status]").await, "The devices are confirmed.");
    browser.press("Disconnect").await;
    assert_eq!(browser.heading().await, "Disconnect for good?");
    browser.press("Keep it connected").await;
    browser.press("Disconnect").await;
    browser.press("Disconnect for good").await;
    assert_eq!(browser.text("[role=status]").await, "The application is disconnected on this device.");
    browser.check().await;
    browser.reload().await;
    assert!(!browser.has("[role=status]").await, "the message is shown once");
    assert!(browser.content().await.contains("No application is connected"));
    browser.close().await;
}

/// The profile and the password are changed with the keyboard; errors mark the field and give it the focus.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn account_is_changed_by_keyboard() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let (browser, other) = (
        Browser::open_window(&fixture, Look::LAPTOP).await,
        Browser::open_window(&fixture, Look::PHONE).await,
    );
    browser.sign_in(MEMBER).await;
    other.sign_in(MEMBER).await;
    browser.open("/profile").await;
    browser.fill("#handle", "no handle").await;
    browser.type_keys(ENTER).await;
    assert!(browser.has("#handle[aria-invalid=true]:focus").await);
    browser.check().await;
    browser.photograph("profile-error").await;
    browser.fill("#handle", "New_Handle").await;
    browser.tab_to("Confirm").await;
    browser.type_keys(SPACE).await;
    assert_eq!(browser.text("[role=status]").await, "Your handle is saved.");

    browser.open("/account").await;
    assert!(browser.content().await.contains("this browser"));
    let new = "several words in a row";
    let submit = async |current: &str, repeated: &str| {
        browser.open("/account").await;
        browser.fill("#current", current).await;
        browser.fill("#new", new).await;
        browser.fill("#repeated", repeated).await;
        browser.type_keys(ENTER).await;
    };
    submit(&password(MEMBER), "another one").await;
    assert!(browser.has("#repeated[aria-invalid=true]:focus").await);
    submit("not my password", new).await;
    assert!(browser.has("#current[aria-invalid=true]:focus").await);
    browser.check().await;
    browser.photograph("account-error").await;
    submit(&password(MEMBER), new).await;
    assert!(browser.text("[role=status]").await.starts_with("The password is changed."));
    other.open("/account").await;
    assert!(other.path().await.starts_with("/sign-in"), "the other browser is signed out");
    other.fill("#username", MEMBER).await;
    other.fill("#password", new).await;
    other.type_keys(ENTER).await;
    assert_eq!(other.heading().await, "Password and sign-ins");
    other.press("End").await;
    assert_eq!(other.text("[role=status]").await, "The sign-in is ended.");
    browser.open("/").await;
    assert!(browser.path().await.starts_with("/sign-in"));
    browser.close().await;
    other.close().await;
}

/// The skip link is the first element with Tab, and leads to the content.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn navigation_can_be_skipped() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    browser.open("/notices").await;
    browser.type_keys("\u{e004}").await;
    assert!(browser.has(".skip:focus").await);
    browser.photograph("skip-link").await;
    browser.type_keys(ENTER).await;
    assert!(browser.has("main:focus").await);
    assert!(browser.text(".bar nav [aria-current=page]").await.starts_with("Notices"));
    browser.open("/take-back?client=sandbox-client").await;
    assert_eq!(browser.text(".bar nav [aria-current=true]").await, "Applications");
    browser.close().await;
}
