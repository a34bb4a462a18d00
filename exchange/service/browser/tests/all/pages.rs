//! Every page at both widths and in both color schemes: layout, navigation and the rules of axe-core.

use crate::browser::{Browser, Look, is_available};
use crate::fixture::{ADMIN, Fixture, MEMBER};

/// Opens a page, checks it, and takes a picture of it.
async fn visit(browser: &Browser, name: &str, path: &str, heading: &str) {
    browser.open(path).await;
    assert_eq!(browser.heading().await, heading, "{path}");
    browser.check().await;
    browser.photograph(name).await;
}

/// WEB-01 to WEB-12: the pages of a member fit the window, mark the current page, and follow the rules of
/// axe-core.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_pages_fit_and_are_accessible() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk in the study").await;
    let batch = fixture.hold_batch().await;
    let draft = fixture.stage_draft().await;
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    browser.open(&draft).await;
    let review = browser.path().await;
    browser.open(&batch).await;
    let held = browser.path().await;
    assert!(review.starts_with("/review/") && held.starts_with("/held/"), "{review} {held}");
    browser.open("/reservations").await;
    browser.press("Release").await;
    let release = browser.path().await;
    browser.open("/applications").await;
    browser.press("Disconnect").await;
    let disconnect = browser.path().await;
    let pages = [
        ("overview", "/", "Overview"),
        ("notices", "/notices", "Notices"),
        ("applications", "/applications", "Connected applications"),
        ("disconnect", &disconnect, "Disconnect for good?"),
        ("undo", "/take-back?client=sandbox-client", "Undo an application's changes"),
        ("import", "/import", "Import blueprints"),
        ("refinery-orders", "/refinery-orders", "Your refinery orders"),
        ("reservations", "/reservations", "Reserved stock"),
        ("release", &release, "Release this stock?"),
        ("profile", "/profile", "Your profile"),
        ("account", "/account", "Password and sign-ins"),
        ("terms", "/terms", "Terms"),
        ("device", "/device", "Connect a device"),
        ("held-batch", &held, "Apply these changes?"),
        ("review", &review, "Add these blueprints?"),
        ("unknown", "/nothing", "No such page"),
    ];
    for look in Look::ALL {
        let browser = browser.with_look(look).await;
        for (name, path, heading) in pages {
            visit(&browser, name, path, heading).await;
        }
    }
    browser.close().await;
}

/// IDP-04: the pages of administrators.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn administrator_pages_fit_and_are_accessible() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(ADMIN).await;
    for look in Look::ALL {
        let browser = browser.with_look(look).await;
        visit(&browser, "clients", "/clients", "Registered clients").await;
        let path = "/clients/suspend?client=sandbox-client";
        visit(&browser, "suspend", path, "Suspend this client?").await;
    }
    browser.close().await;
}

/// The pages for visitors who are not signed in have no navigation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitor_pages_fit_and_are_accessible() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    for look in Look::ALL {
        let browser = Browser::open_window(&fixture, look).await;
        visit(&browser, "sign-in", "/sign-in", "Sign in").await;
        visit(&browser, "signed-out", "/signed-out", "You are signed out").await;
        visit(&browser, "reset-gone", "/reset/nothing", "The link does not work").await;
        assert!(!browser.has("nav").await);
        browser.open("/sign-in").await;
        browser.fill("#username", "nobody").await;
        browser.fill("#password", "not the password").await;
        browser.press("Sign in").await;
        assert_eq!(browser.text("#error").await, "The user name or the password is wrong.");
        browser.check().await;
        browser.photograph("sign-in-error").await;
        browser.close().await;
    }
}

/// The menu of a phone opens and closes without scripts, and contains every page and the sign-out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn menu_works_without_javascript() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk").await;
    let browser = Browser::without_javascript(&fixture, Look::PHONE).await;
    browser.sign_in(MEMBER).await;
    let link = ".bar nav a[href='/applications']";
    assert!(!browser.find(link).await.is_displayed().await.expect("the link exists"));
    browser.click(".menu > summary").await;
    browser.photograph("menu").await;
    browser.click(link).await;
    assert_eq!(browser.heading().await, "Connected applications");
    assert!(
        !browser.find(link).await.is_displayed().await.expect("the link exists"),
        "the menu is closed again"
    );
    browser.click(".menu > summary").await;
    browser.click(".who button").await;
    assert_eq!(browser.heading().await, "You are signed out");
    browser.close().await;
}

/// The pictures of the documentation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_of_the_documentation_exist() {
    if !is_available() {
        return;
    }
    let fixture = Fixture::start("Desk in the study").await;
    let batch = fixture.hold_batch().await;
    let draft = fixture.stage_draft().await;
    let login = fixture.begin_login().await;
    let browser = Browser::open_window(&fixture, Look::LAPTOP).await;
    browser.sign_in(MEMBER).await;
    browser.open(&draft).await;
    browser.open("/").await;
    browser.document("overview.png").await;
    browser.open(&batch).await;
    browser.document("held-batch.png").await;
    browser.open(&format!("/device?user_code={}", login.user_code())).await;
    browser.press("Next").await;
    browser.document("consent.png").await;
    let phone = browser.with_look(Look::PHONE).await;
    phone.open("/applications").await;
    phone.document("applications-phone.png").await;
    browser.close().await;
}
