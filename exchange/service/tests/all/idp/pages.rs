//! Tests of the pages for sign-in, device codes and consent.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use http::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};

use exchange_service::config::{Config, ProofProfile};

use super::harness::{Browser, Device, ProviderHarness, Reply, SCOPES, config, encode, location};

/// Asserts the security headers: a page cannot be framed, runs no script, is not cached, and sends
/// no referrer.
#[track_caller]
fn has_strict_headers(reply: &Reply) {
    let policy = reply.header("content-security-policy");
    for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("script") && !policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("content-type", "text/html; charset=utf-8"),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    let html = &reply.body;
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{html}");
    assert!(!html.contains("<script") && !html.contains(" style=") && !html.contains("onclick"));
    // Every input has a label.
    for (index, _) in html.match_indices("<input id=\"") {
        let id = html[index + 11..].split('"').next().unwrap();
        assert!(html.contains(&format!("<label for=\"{id}\">")), "{id} has no label");
    }
}

/// WEB-01: the page first requires signing in, and then continues at its URL.
#[tokio::test]
async fn device_page_requires_sign_in() {
    let harness = ProviderHarness::new().await;
    let mut browser = Browser::default();
    let reply = browser.open(&harness, "/device?user_code=WDJB-MJHT").await;
    let target = location(&reply).to_owned();
    assert_eq!(target, "/sign-in?next=%2Fdevice%3Fuser%5Fcode%3DWDJB%2DMJHT");
    let page = browser.open(&harness, &target).await.expect(200);
    has_strict_headers(&page);
    assert!(page.body.contains(r#"name="next" value="/device?user_code=WDJB-MJHT""#));
    let next = "/device?user_code=WDJB-MJHT";
    let fields = [("username", "ADA"), ("password", "right"), ("next", next)];
    let reply = browser.submit(&harness, "/sign-in", &fields).await;
    assert_eq!(location(&reply), next);
    let page = browser.open(&harness, next).await.expect(200);
    has_strict_headers(&page);
    assert!(page.body.contains("Ada &lt;b&gt;") && !page.body.contains("Ada <b>"));
    assert_eq!(location(&browser.open(&harness, "/sign-in?next=//other.example").await), "/");
}

/// WEB-02: if the URL contains the code, the member still sees code, warning and consent.
#[tokio::test]
async fn prefilled_code_still_requires_consent() {
    let harness = ProviderHarness::new().await;
    let login = harness.begin(SCOPES).await;
    let mut browser = harness.browser().await;
    let page = browser.open(&harness, &format!("/device?user_code={}", login.user_code)).await.expect(200);
    assert!(page.body.contains(&format!(r#"value="{}""#, login.user_code)));
    assert!(page.body.contains("class=\"note warning\"") && !page.body.contains("/device/decision"));
    let consent = browser.type_code(&harness, &login.user_code).await.expect(200);
    assert!(consent.body.contains("class=\"note warning\"") && consent.body.contains(&login.user_code));
    let page = browser.open(&harness, "/device?user_code=%22%3E%3Cscript%3E").await.expect(200);
    has_strict_headers(&page);
    assert!(!page.body.contains("script"));
}

/// WEB-03: every login shows one line per capability, and a button for each decision.
#[tokio::test]
async fn consent_lists_each_capability() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    for _ in 0..2 {
        let login = harness.begin(SCOPES).await;
        let page = browser.type_code(&harness, &login.user_code).await.expect(200);
        has_strict_headers(&page);
        let (_, content) = page.body.split_once("<main").unwrap();
        assert_eq!(content.matches("<li>").count(), 2);
        assert!(page.body.contains("<li>See your warehouse stock</li>"));
        assert!(page.body.contains("<li>Connect to the exchange"));
        assert!(page.body.contains("<bdi>Stock &amp; Tool</bdi> requests permission to:"));
        let until = "until you disconnect it, in <bdi>Stock &amp; Tool</bdi> itself or under Applications, or for 90 days \
                     at most.";
        assert!(page.body.contains(until), "{}", page.body);
        for decision in ["approve", "decline"] {
            assert!(page.body.contains(&format!(r#"name="decision" value="{decision}""#)));
        }
        browser.decide(&harness, &login, "approve").await.expect(200);
    }
    let login = harness.begin("exchange.connect").await;
    let page = browser.type_code(&harness, &login.user_code).await.expect(200);
    // The page also shows when the session ends.
    let ends = harness.now().plus(std::time::Duration::from_secs(12 * 3600)).to_the_minute();
    let duration_text = format!("until you sign out here, or until your sign-in ends by itself ({ends}).");
    assert!(page.body.contains(&duration_text), "{}", page.body);
    let page = browser.type_code(&harness, "BBBB-BBB\"").await.expect(404);
    has_strict_headers(&page);
    // The page shows the typed code again, so that the member can compare it.
    assert!(page.body.contains(r#"value="BBBB-BBB&quot;""#) && page.body.contains(r#"aria-invalid="true""#));
    let page = browser.type_code(&harness, "BBBB-BBBB").await.expect(404);
    assert!(page.body.contains(r#"value="BBBB-BBBB""#));
    browser.type_code(&harness, "BBBB").await.expect(404);
}

/// Consent is bound to the session. The CSRF token of another session, and a form of another site,
/// are rejected.
#[tokio::test]
async fn consent_cannot_be_forged() {
    let harness = ProviderHarness::new().await;
    let login = harness.begin(SCOPES).await;
    let (mut ada, mut bob) = (harness.browser().await, harness.browser_of("bob").await);
    bob.open(&harness, "/device").await.expect(200);
    ada.open(&harness, "/device").await.expect(200);
    let fields = [("user_code", login.user_code.as_str()), ("decision", "approve")];
    let (valid_csrf, csrf) = (ada.csrf.clone(), bob.csrf.clone());
    for invalid_csrf in ["", "x", csrf.as_str()] {
        ada.csrf = invalid_csrf.to_owned();
        let refused = ada.submit(&harness, "/device/decision", &fields).await.expect(403);
        has_strict_headers(&refused);
        ada.csrf = invalid_csrf.to_owned();
        ada.submit(&harness, "/device", &fields[..1]).await.expect(403);
        ada.csrf = invalid_csrf.to_owned();
        ada.submit(&harness, "/sign-out", &[]).await.expect(403);
    }
    // The form has the right CSRF token, but a page of another site sent it.
    for site in ["cross-site", "same-site"] {
        let cookies: Vec<_> = ada.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::post("/device/decision")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(COOKIE, cookies.join("; "))
            .header("sec-fetch-site", site)
            .body(Body::from(encode(&[&[("csrf", valid_csrf.as_str())], &fields[..]].concat())))
            .unwrap();
        harness.send(request).await.expect(403);
    }
    // The decision is invalid.
    ada.csrf.clone_from(&valid_csrf);
    ada.submit(&harness, "/device/decision", &[fields[0], ("decision", "perhaps")]).await.expect(403);
    harness.poll(&login, &Device::new()).await.expect_error(400, "authorization_pending");
    ada.csrf = valid_csrf;
    ada.submit_and_follow(&harness, "/device/decision", &fields).await.expect(200);
}

/// A form of another site cannot sign a browser in, and each sign-in creates a new session secret.
#[tokio::test]
async fn signing_in_cannot_be_forged() {
    let harness = ProviderHarness::new().await;
    let fields = [("username", "ada"), ("password", "right")];
    let mut browser = Browser::default();
    browser.submit(&harness, "/sign-in", &fields).await.expect(403);
    browser.open(&harness, "/sign-in").await.expect(200);
    let (csrf, form) = (browser.csrf.clone(), browser.cookies["form"].clone());
    let mut other = Browser { csrf: csrf.clone(), ..Browser::default() };
    other.submit(&harness, "/sign-in", &fields).await.expect(403);
    browser.csrf = csrf;
    // A secret that an attacker planted in the browser is not used for the session.
    browser.cookies.insert("session".to_owned(), form.clone());
    let reply = browser.submit(&harness, "/sign-in", &fields).await;
    assert_eq!(location(&reply), "/");
    assert_ne!(browser.cookies["session"], form);
    let cookies: Vec<_> =
        reply.headers.get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap()).collect();
    assert!(cookies[0].ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{}", cookies[0].len());
    assert!(!browser.cookies.contains_key("form"));
}

/// A wrong name and a wrong password cause the same response, and attempts are limited by address and by
/// account.
#[tokio::test]
async fn passwords_cannot_be_guessed() {
    let harness = ProviderHarness::new().await;
    let mut browser = Browser::default();
    browser.open(&harness, "/sign-in").await.expect(200);
    let mut pages = Vec::new();
    for (username, password) in [("ada", "not-it"), ("nobody", "right"), ("eve", "right")] {
        let fields = [("username", username), ("password", password)];
        let page = browser.submit(&harness, "/sign-in", &fields).await.expect(422);
        has_strict_headers(&page);
        assert!(!page.body.contains(&format!("value=\"{password}")));
        assert!(
            page.body.contains(r#"name="password" required autofocus"#),
            "the password field has the focus, because the name is filled in"
        );
        pages.push(page.body.replace(&format!("value=\"{username}\""), ""));
    }
    assert_eq!(pages[0], pages[1]);
    assert_eq!(pages[0], pages[2]);
    // One address may make ten attempts for one account; the first attempt was made above.
    let (wrong_password, right_password) =
        ([("username", " ADA "), ("password", "x")], [("username", "ada"), ("password", "right")]);
    for _ in 0..9 {
        browser.submit(&harness, "/sign-in", &wrong_password).await.expect(422);
    }
    let refused = browser.submit(&harness, "/sign-in", &right_password).await.expect(429);
    assert_eq!(refused.header("retry-after"), "60");
    // Other addresses are not affected.
    let mut owner = Browser { address: "198.51.100.1".parse().unwrap(), ..Browser::default() };
    owner.open(&harness, "/sign-in").await.expect(200);
    assert_eq!(location(&owner.submit(&harness, "/sign-in", &right_password).await), "/");
    // All addresses together may make a hundred attempts for one account.
    let mut other_browser = Browser::default();
    other_browser.open(&harness, "/sign-in").await.expect(200);
    for number in 0..90 {
        other_browser.address = format!("203.0.113.{}", 10 + number / 2).parse().unwrap();
        other_browser.submit(&harness, "/sign-in", &wrong_password).await.expect(422);
    }
    other_browser.address = "203.0.113.99".parse().unwrap();
    let refused = other_browser.submit(&harness, "/sign-in", &right_password).await.expect(429);
    assert_eq!(refused.header("retry-after"), "10");
    // One address may make twenty attempts for any accounts.
    browser.address = "203.0.113.1".parse().unwrap();
    for number in 0..20 {
        let name = format!("name-{number}");
        browser.submit(&harness, "/sign-in", &[("username", &name), ("password", "x")]).await.expect(422);
    }
    let fields = [("username", "bob"), ("password", "right")];
    browser.submit(&harness, "/sign-in", &fields).await.expect(429);
    harness.clock.advance(Duration::from_secs(60));
    let reply = browser.submit(&harness, "/sign-in", &fields).await;
    assert_eq!(location(&reply), "/");
}

/// Attempts that cannot be verified, because the store fails, do not count; the page reports the failure.
#[tokio::test]
async fn unverified_attempts_do_not_count() {
    let harness = ProviderHarness::new().await;
    let mut browser = Browser::default();
    browser.open(&harness, "/sign-in").await.expect(200);
    let valid_login = [("username", "ada"), ("password", "right")];
    harness.change("ALTER TABLE account RENAME TO gone").await;
    for _ in 0..30 {
        let page = browser.submit(&harness, "/sign-in", &valid_login).await.expect(503);
        assert!(page.body.contains("temporarily unavailable"), "{}", page.body);
    }
    harness.change("ALTER TABLE gone RENAME TO account").await;
    assert_eq!(location(&browser.submit(&harness, "/sign-in", &valid_login).await), "/");
}

/// User names are compared case-insensitively and after Unicode normalization.
#[tokio::test]
async fn user_names_match_case_insensitively() {
    let harness = ProviderHarness::new().await;
    harness
        .change("INSERT INTO member (id, name, state, created_at) VALUES ('m-anne', 'Anne', 'active', 0)")
        .await;
    let account = harness.store.write(|database| {
        let sql = "SELECT password FROM account LIMIT 1";
        let hash: String = database.query_row(sql, [], |row| row.get(0))?;
        exchange_service::idp::accounts::set_account(database, &"m-anne".into(), " \u{c4}nne", &hash)
    });
    account.await.unwrap();
    for name in ["\u{c4}nne", "\u{e4}NNE", "A\u{308}nne "] {
        let mut browser = Browser::default();
        browser.open(&harness, "/sign-in").await.expect(200);
        let fields = [("username", name), ("password", "right")];
        assert_eq!(location(&browser.submit(&harness, "/sign-in", &fields).await), "/", "{name}");
    }
}

/// If the session ended while a form was open, the member continues at the start of the flow after signing in
/// again.
#[tokio::test]
async fn expired_form_returns_to_its_flow() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    for path in ["/device/decision", "/sign-out"] {
        browser.cookies.remove("session");
        let redirect = browser.submit(&harness, path, &[("decision", "approve")]).await;
        let sign_in = location(&redirect).to_owned();
        let page = browser.open(&harness, &sign_in).await.expect(200);
        assert!(page.body.contains(&format!(r#"name="next" value="{path}""#)));
        let fields = [("username", "ada"), ("password", "right"), ("next", path)];
        assert_eq!(location(&browser.submit(&harness, "/sign-in", &fields).await), path);
        let reopened = browser.open(&harness, path).await;
        let first = location(&reopened).to_owned();
        let page = browser.open(&harness, &first).await;
        assert!(page.status == 200 || location(&page) == "/device", "{path}");
    }
}

/// IDP-08: a new sign-in ends the previous session of the browser and the connections that are bound to it.
#[tokio::test]
async fn new_sign_in_ends_the_former_session() {
    let harness = ProviderHarness::new().await;
    let (mut browser, device) = (harness.browser().await, Device::new());
    let tokens = harness.connect_by(&mut browser, &device, "exchange.connect").await;
    let former_session = browser.cookies["session"].clone();
    let mut again = Browser::default();
    again.open(&harness, "/sign-in").await.expect(200);
    again.cookies.insert("session".to_owned(), former_session);
    let fields = [("username", "ada"), ("password", "right")];
    assert_eq!(location(&again.submit(&harness, "/sign-in", &fields).await), "/");
    harness.refresh(&tokens.refresh, &device).await.expect_error(400, "invalid_grant");
}

/// A session ends when the member signs out or when it expires; a repeated cookie is ignored.
#[tokio::test]
async fn sessions_end_by_sign_out_and_expiry() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    browser.open(&harness, "/device").await.expect(200);
    let cookies: BTreeMap<_, _> = browser.cookies.clone();
    let value = cookies["session"].clone();
    let twice = Request::get("/device")
        .header(COOKIE, format!("session={value}; session={value}"))
        .body(Body::empty())
        .unwrap();
    assert!(location(&harness.send(twice).await).starts_with("/sign-in"));
    let page = browser.submit_and_follow(&harness, "/sign-out", &[]).await.expect(200);
    assert!(page.body.contains("You are signed out"), "{}", page.body);
    has_strict_headers(&page);
    assert!(browser.cookies.is_empty());
    browser.cookies = cookies;
    assert!(location(&browser.open(&harness, "/device").await).starts_with("/sign-in"));

    let mut browser = harness.browser().await;
    harness.advance(12 * 3600 - 1);
    browser.open(&harness, "/device").await.expect(200);
    harness.advance(1);
    assert!(location(&browser.open(&harness, "/device").await).starts_with("/sign-in"));
}

/// Cookies require TLS and the exact host, except on a loopback address.
#[tokio::test]
async fn cookies_require_tls() {
    let issuer = "https://idp.example/idp".to_owned();
    let config = Config { issuer, ..config(ProofProfile::Keycloak) };
    let harness = ProviderHarness::with_config(&config).await;
    let mut browser = Browser::default();
    browser.open(&harness, "/sign-in").await.expect(200);
    let fields = [("username", "ada"), ("password", "right")];
    let reply = browser.submit(&harness, "/sign-in", &fields).await;
    let cookie = reply.headers.get(SET_COOKIE).unwrap().to_str().unwrap();
    assert!(cookie.starts_with("__Host-session=") && cookie.ends_with("; SameSite=Lax; Secure"));
    browser.open(&harness, "/device").await.expect(200);
    // The same secret is ignored in the cookie that is used without TLS.
    let secret = browser.cookies.remove("__Host-session").unwrap();
    browser.cookies.insert("session".to_owned(), secret);
    assert!(location(&browser.open(&harness, "/device").await).starts_with("/sign-in"));
}

/// Responses other than pages are also not cached.
#[tokio::test]
async fn malformed_form_responses_are_not_cached() {
    let harness = ProviderHarness::new().await;
    let mut browser = harness.browser().await;
    let twice = [("user_code", "WDJB-MJHT"), ("user_code", "WDJB-MJHT")];
    browser.open(&harness, "/device").await.expect(200);
    let refused = browser.submit(&harness, "/device", &twice).await;
    let redirect = harness.get("/device").await;
    // NUL characters are refused before a form is processed.
    let nul = browser.submit(&harness, "/device", &[("user_code", "WDJB\0MJHT")]).await;
    assert_eq!(nul.status, 422, "{}", nul.body);
    for (reply, status) in [(&refused, 422), (&redirect, 303)] {
        assert_eq!(reply.status, status, "{}", reply.body);
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn stylesheet_is_a_separate_file() {
    let harness = ProviderHarness::new().await;
    let style = harness.get("/style.css").await.expect(200);
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.body.contains(":focus-visible"));
    assert_eq!(location(&harness.get("/").await), "/sign-in?next=%2F");
}
