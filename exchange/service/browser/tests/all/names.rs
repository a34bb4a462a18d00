//! Names of maximum length and hostile names.

use exchange_service::sandbox::SandboxAction;

use crate::browser::{Browser, Look, is_available};
use crate::fixture::{ADMIN, Fixture, MEMBER};

/// Names of 200 characters without a space never make a page wider than the window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn longest_names_fit() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start(&"L".repeat(40)).await;
    let rename = SandboxAction::RenameMember { name: "W".repeat(200) };
    fixture.sandbox.act(MEMBER, rename).await.expect("the member is renamed");
    let rename = SandboxAction::RenameMission { mission: "mission-convoy".to_owned(), name: "M".repeat(200) };
    fixture.sandbox.act(MEMBER, rename).await.expect("the mission is renamed");
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    for look in [Look::PHONE, Look::LAPTOP] {
        let browser = browser.with_look(look).await;
        for path in ["/", "/applications", "/profile", "/reservations", "/notices"] {
            browser.open(path).await;
            browser.check().await;
        }
        browser.open("/applications").await;
        browser.photograph("long-names").await;
    }
    browser.close().await;
}

/// The longest name of a client fits into the pages of administrators and members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn longest_client_name_fits() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(ADMIN).await;
    browser.open("/clients").await;
    browser.fill("#id", &"i".repeat(64)).await;
    browser.fill("#name", &"C".repeat(100)).await;
    browser.click("input[value='exchange.stock.read']").await;
    browser.press("Register").await;
    assert_eq!(browser.text("[role=status]").await, "The client is registered.");
    for look in [Look::PHONE, Look::LAPTOP] {
        let browser = browser.with_look(look).await;
        browser.open("/clients").await;
        browser.check().await;
        browser.open(&format!("/clients/suspend?client={}", "i".repeat(64))).await;
        assert_eq!(browser.heading().await, "Suspend this client?");
        browser.check().await;
    }
    browser.press("Suspend this client").await;
    assert_eq!(browser.text("[role=status]").await, "The client is suspended.");
    browser.close().await;
}

/// Joiners are part of a name, and a name in another direction does not change the text around it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_other_scripts_are_isolated() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("שולחן").await;
    let name = "نام\u{200c}ها \u{1f469}\u{200d}\u{1f680}";
    let rename = SandboxAction::RenameMember { name: name.to_owned() };
    fixture.sandbox.act(MEMBER, rename).await.expect("the member is renamed");
    for hostile in ["a\u{202e}b", "a\0b", "\u{200d}a"] {
        let rename = SandboxAction::RenameMember { name: hostile.to_owned() };
        assert!(fixture.sandbox.act(MEMBER, rename).await.is_err(), "{hostile:?}");
    }
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    assert_eq!(browser.text(".who bdi").await, name);
    browser.open("/applications").await;
    let isolated = browser
        .run("return [...document.querySelectorAll('bdi')].every(e => getComputedStyle(e).unicodeBidi === 'isolate');")
        .await;
    assert_eq!(isolated, true);
    browser.photograph("other-scripts").await;
    browser.close().await;
}
