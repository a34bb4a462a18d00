//! Tests of the device grant: discovery, logins and polls.

use std::collections::BTreeSet;

use exchange_service::config::{Config, ProofProfile};
use exchange_service::idp::tokens::TokenVerifier as _;
use exchange_service::idp::{IdentityProvider, ProviderError};
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use serde_json::json;

use super::harness::{Browser, Device, ISSUER, Login, ProviderHarness, SCOPES, Tokens, config, location};

/// IDP-01, IDP-02: the discovery document contains the issuer and the endpoints.
#[tokio::test]
async fn discovery_document_lists_issuer_and_endpoints() {
    let harness = ProviderHarness::new().await;
    let reply = harness.get("/idp/.well-known/openid-configuration").await.expect(200);
    let document = reply.json();
    assert_eq!(document["issuer"], ISSUER);
    assert_eq!(document["device_authorization_endpoint"], format!("{ISSUER}/device_authorization"));
    assert_eq!(document["token_endpoint"], format!("{ISSUER}/token"));
    assert_eq!(document["revocation_endpoint"], format!("{ISSUER}/revoke"));
    assert_eq!(document["jwks_uri"], format!("{ISSUER}/jwks"));
    assert_eq!(document["token_endpoint_auth_methods_supported"], json!(["none"]));
    assert_eq!(document["dpop_signing_alg_values_supported"], json!(["ES256"]));
    let grants = json!(["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]);
    assert_eq!(document["grant_types_supported"], grants);
    // RFC 8414, 3: the same document is served at the path for OAuth clients.
    let oauth_document = harness.get("/.well-known/oauth-authorization-server/idp").await.expect(200);
    assert_eq!(oauth_document.body, reply.body);
    assert_eq!(reply.header("cache-control"), "public, max-age=60");
}

/// IDP-09, IDP-10, LIM-09: a login has a user code and a device code, which has at least 128 bits.
#[tokio::test]
async fn login_gets_device_and_user_code() {
    let harness = ProviderHarness::new().await;
    let fields = [("client_id", "tool"), ("scope", SCOPES)];
    let reply = harness.form("device_authorization", &fields, &[]).await.expect(200);
    let response = reply.json();
    assert_eq!((&response["expires_in"], &response["interval"]), (&json!(600), &json!(5)));
    assert_eq!(response["verification_uri"], "http://127.0.0.1:8080/device");
    let code = response["user_code"].as_str().unwrap();
    let complete = format!("http://127.0.0.1:8080/device?user_code={code}");
    assert_eq!(response["verification_uri_complete"], complete);
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut codes = BTreeSet::new();
    for _ in 0..20 {
        let login = harness.begin(SCOPES).await;
        // The 43 characters of base64url contain 256 bits.
        assert_eq!(login.device_code.len(), 43);
        assert!(codes.insert(login.device_code) && codes.insert(login.user_code));
    }
}

/// IDP-04: an unknown or disabled client cannot sign in. A suspended client can, but the exchange
/// rejects its requests (ERR-15).
#[tokio::test]
async fn only_registered_clients_sign_in() {
    let harness = ProviderHarness::new().await;
    for (client, expect) in [("nobody", 400), ("off", 400), ("hold", 200), ("tool", 200)] {
        let fields = [("client_id", client), ("scope", SCOPES)];
        let reply = harness.form("device_authorization", &fields, &[]).await;
        assert_eq!(reply.status, expect, "{client}: {}", reply.body);
        if expect == 400 {
            reply.expect_error(400, "invalid_client");
        }
    }
    // The client is disabled between login and poll.
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    harness.change("UPDATE client SET state = 'disabled' WHERE id = 'tool'").await;
    harness.poll(&login, &device).await.expect_error(400, "invalid_client");
    harness.change("UPDATE client SET state = 'active' WHERE id = 'tool'").await;
    harness.poll(&login, &device).await.expect(200);
}

/// IDP-05, IDP-06: a scope that the registry does not allow is rejected.
#[tokio::test]
async fn scopes_outside_of_the_registry_are_rejected() {
    let harness = ProviderHarness::new().await;
    let check = async |scope: &str| {
        let fields = [("client_id", "tool"), ("scope", scope)];
        harness.form("device_authorization", &fields, &[]).await
    };
    for refused in ["", "openid", "exchange.connect profile", "email", "exchange.stock.write", "exchange.x"] {
        check(refused).await.expect_error(400, "invalid_scope");
    }
    check("exchange.connect").await.expect(200);
    harness
        .form("device_authorization", &[("client_id", "tool")], &[])
        .await
        .expect_error(400, "invalid_scope");
}

/// ERR-49: malformed OAuth requests are rejected.
#[tokio::test]
async fn malformed_requests_are_rejected() {
    let harness = ProviderHarness::new().await;
    let twice = [("client_id", "tool"), ("scope", SCOPES), ("client_id", "tool")];
    harness.form("device_authorization", &twice, &[]).await.expect_error(400, "invalid_request");
    harness
        .form("device_authorization", &[("scope", SCOPES)], &[])
        .await
        .expect_error(400, "invalid_request");
    let json = http::Request::post("/idp/token")
        .header("content-type", "application/json")
        .body(axum::body::Body::from("{}"))
        .unwrap();
    harness.send(json).await.expect_error(400, "invalid_request");
    let large = "x".repeat(17 << 10);
    harness.form("token", &[("grant_type", &large)], &[]).await.expect_error(400, "invalid_request");
    let proof = Device::new().proof(harness.now());
    let grant = [("grant_type", "password"), ("client_id", "tool")];
    harness.form("token", &grant, &[&proof]).await.expect_error(400, "unsupported_grant_type");
    let no_code = [("grant_type", "refresh_token"), ("client_id", "tool")];
    harness.form("token", &no_code, &[&proof]).await.expect_error(400, "invalid_request");
    assert_eq!(harness.get("/idp/token").await.status, 405);
}

/// IDP-15, IDP-16, ERR-43, LIM-07, WEB-01: after the member approves the login, a poll returns the tokens.
#[tokio::test]
async fn approved_login_gets_tokens() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    harness.poll(&login, &device).await.expect_error(400, "authorization_pending");
    harness.advance(5);
    let mut browser = harness.browser().await;
    browser.type_code(&harness, &login.user_code).await.expect(200);
    browser.decide(&harness, &login, "approve").await.expect(200);
    let reply = harness.poll(&login, &device).await.expect(200);
    let response = reply.json();
    assert_eq!((&response["token_type"], &response["expires_in"]), (&json!("DPoP"), &json!(300)));
    assert_eq!(response["scope"], "exchange.connect exchange.stock.read offline_access");
    assert_eq!(reply.header("cache-control"), "no-store");
    let tokens = Tokens::from_reply(&reply);
    let claims = harness.provider.verify_token(&tokens.access, harness.now()).await.unwrap();
    assert_eq!((claims.client.as_str(), claims.member.as_str()), ("tool", "m-ada"));
    assert_eq!(claims.jkt, Some(device.thumbprint().to_string()));
    assert!(claims.is_for("exchange-gateway") && !claims.is_for("tool"));
    assert_eq!(claims.auth_time.as_secs(), harness.now().as_secs());
    assert_eq!(claims.expires_at.as_secs(), harness.now().as_secs() + 300);
    // WEB-04: the member receives a notice.
    assert_eq!(
        harness.count("SELECT count(*) FROM notice WHERE member = 'm-ada' AND kind = 'connected'").await,
        1
    );
}

/// ERR-44: a poll that is too early increases the interval permanently by five seconds.
#[tokio::test]
async fn early_polls_increase_the_interval() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    let check = async |wait: u64, expect: &str| {
        harness.advance(wait);
        harness.poll(&login, &device).await.expect_error(400, expect);
    };
    check(0, "authorization_pending").await;
    check(3, "slow_down").await;
    // The interval is now ten seconds, so the old one is too short.
    check(5, "slow_down").await;
    // The interval is now fifteen seconds.
    check(10, "slow_down").await;
    check(20, "authorization_pending").await;
    check(20, "authorization_pending").await;
    check(18, "slow_down").await;
    // A client whose interval was increased still receives the decision.
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    harness.poll(&login, &device).await.expect(200);
}

/// After the tokens were issued, a further poll is rejected.
#[tokio::test]
async fn device_code_is_used_once() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    harness.poll(&login, &device).await.expect(200);
    harness.poll(&login, &device).await.expect_error(400, "invalid_grant");
    harness.poll(&login, &Device::new()).await.expect_error(400, "invalid_grant");
    assert_eq!(harness.count("SELECT count(*) FROM connection").await, 1);
    let unknown = Login { device_code: "x".repeat(43), user_code: String::new() };
    harness.poll(&unknown, &device).await.expect_error(400, "invalid_grant");
}

/// Of parallel polls, only one receives the tokens.
#[tokio::test]
async fn parallel_polls_have_one_winner() {
    let harness = ProviderHarness::new().await;
    let (login, one, other) = (harness.begin(SCOPES).await, Device::new(), Device::new());
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    let (a, b, c, d) = tokio::join!(
        harness.poll(&login, &one),
        harness.poll(&login, &one),
        harness.poll(&login, &other),
        harness.poll(&login, &other)
    );
    let mut statuses = [a.status, b.status, c.status, d.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400]);
    assert_eq!(harness.count("SELECT count(*) FROM connection").await, 1);
}

/// Another client cannot use the device code, and its attempt does not use it up.
#[tokio::test]
async fn device_code_belongs_to_its_client() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    harness.poll_as("other", &login, &device).await.expect_error(400, "invalid_grant");
    harness.poll(&login, &device).await.expect(200);
}

/// ERR-46, LIM-09: a code expires if the member does not decide, or the client does not poll, in
/// time.
#[tokio::test]
async fn device_codes_expire() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let (pending, approved, declined) =
        (harness.begin(SCOPES).await, harness.begin(SCOPES).await, harness.begin(SCOPES).await);
    let mut browser = harness.browser().await;
    browser.decide(&harness, &approved, "approve").await.expect(200);
    browser.decide(&harness, &declined, "decline").await.expect(200);
    harness.advance(599);
    harness.poll(&pending, &device).await.expect_error(400, "authorization_pending");
    harness.advance(1);
    harness.poll(&pending, &device).await.expect_error(400, "expired_token");
    harness.poll(&approved, &device).await.expect_error(400, "expired_token");
    harness.poll(&declined, &device).await.expect_error(400, "access_denied");
    browser.type_code(&harness, &pending.user_code).await.expect(404);
    browser.decide(&harness, &pending, "approve").await.expect(404);
    harness.poll(&pending, &device).await.expect_error(400, "expired_token");
}

/// ERR-45: a declined code is rejected, and decisions are final.
#[tokio::test]
async fn first_decision_is_final() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let mut browser = harness.browser().await;
    let declined = harness.begin(SCOPES).await;
    browser.decide(&harness, &declined, "decline").await.expect(200);
    let shown = browser.decide(&harness, &declined, "approve").await.expect(200);
    assert!(shown.body.contains("was not connected"), "{}", shown.body);
    harness.poll(&declined, &device).await.expect_error(400, "access_denied");
    // The login is declined after it was approved.
    let approved = harness.begin(SCOPES).await;
    browser.decide(&harness, &approved, "approve").await.expect(200);
    let shown = browser.decide(&harness, &approved, "decline").await.expect(200);
    assert!(shown.body.contains("<h1>Connected</h1>"), "the page shows what was done: {}", shown.body);
    // The login is approved a second time, also by another member; the connection belongs to the member who
    // approved first.
    browser.decide(&harness, &approved, "approve").await.expect(200);
    let shown = harness.browser_of("bob").await.decide(&harness, &approved, "approve").await.expect(200);
    assert!(shown.body.contains("Another account has approved this code"), "{}", shown.body);
    let tokens = Tokens::from_reply(&harness.poll(&approved, &device).await);
    let claims = harness.provider.verify_token(&tokens.access, harness.now()).await.unwrap();
    assert_eq!(claims.member.as_str(), "m-ada");
    browser.decide(&harness, &approved, "approve").await.expect(200);
    assert_eq!(harness.count("SELECT count(*) FROM connection").await, 1);
}

/// Guesses of user codes are limited by address. A correct code is accepted within the limit and does
/// not reset it.
#[tokio::test]
async fn code_guesses_are_limited_by_address() {
    let harness = ProviderHarness::new().await;
    let login = harness.begin(SCOPES).await;
    let mut browser = harness.browser().await;
    for number in 0..9 {
        let guess = format!("BBBB-BBB{}", char::from(b"CDFGHJKLM"[number]));
        browser.type_code(&harness, &guess).await.expect(404);
    }
    // Correct codes in between are not guesses and do not reset the limit.
    browser.type_code(&harness, &login.user_code).await.expect(200);
    browser.type_code(&harness, &login.user_code).await.expect(200);
    browser.type_code(&harness, "BBBB-BBBN").await.expect(404);
    let refused = browser.type_code(&harness, "BBBB-BBBP").await.expect(429);
    assert_eq!(refused.header("retry-after"), "60");
    browser.type_code(&harness, &login.user_code).await.expect(429);
    browser.decide(&harness, &login, "approve").await.expect(429);
    // Other addresses are not affected, unless they are in the same IPv6 network.
    let mut elsewhere = browser.clone();
    elsewhere.address = "192.0.2.2".parse().unwrap();
    elsewhere.type_code(&harness, &login.user_code).await.expect(200);
    harness.advance(60);
    browser.type_code(&harness, &login.user_code).await.expect(200);
}

/// Attempts for one user code are limited, from all addresses together.
#[tokio::test]
async fn code_guesses_are_limited_by_code() {
    let harness = ProviderHarness::new().await;
    let login = harness.begin(SCOPES).await;
    let mut browser = harness.browser().await;
    for number in 0..10 {
        browser.address = format!("198.51.100.{number}").parse().unwrap();
        browser.type_code(&harness, &login.user_code).await.expect(200);
    }
    browser.address = "198.51.100.10".parse().unwrap();
    let refused = browser.type_code(&harness, &login.user_code.to_lowercase()).await.expect(429);
    assert_eq!(refused.header("retry-after"), "120");
    browser.type_code(&harness, "BBBB-BBBB").await.expect(404);
}

/// A user code is accepted in the variants in which people type it.
#[tokio::test]
async fn user_codes_are_case_insensitive() {
    let harness = ProviderHarness::new().await;
    let login = harness.begin(SCOPES).await;
    let typed = format!(" {} ", login.user_code.to_lowercase().replace('-', " – "));
    let reply = harness.browser().await.type_code(&harness, &typed).await.expect(200);
    assert!(reply.body.contains(&login.user_code));
}

/// The number of logins that an address can start is limited.
#[tokio::test]
async fn login_starts_are_limited_by_address() {
    let harness = ProviderHarness::new().await;
    for _ in 0..60 {
        harness.begin(SCOPES).await;
    }
    let fields = [("client_id", "tool"), ("scope", SCOPES)];
    let refused = harness.form("device_authorization", &fields, &[]).await;
    refused.expect_error(429, "temporarily_unavailable");
    assert_eq!(refused.header("retry-after"), "10");
    harness.advance(10);
    harness.begin(SCOPES).await;
}

/// IDP-07: a token has the gateway's audience only if it has a scope of the exchange. A login needs such a
/// scope; a refresh can omit it.
#[tokio::test]
async fn audience_requires_an_exchange_scope() {
    let harness = ProviderHarness::new().await;
    for scope in ["exchange.stock.read", SCOPES] {
        let tokens = harness.connect(&Device::new(), scope).await;
        let claims = harness.provider.verify_token(&tokens.access, harness.now()).await.unwrap();
        assert!(claims.is_for("exchange-gateway"), "{scope}");
    }
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let narrowed = harness.refresh_as("tool", &tokens.refresh, &device, &[("scope", "offline_access")]).await;
    let access = Tokens::from_reply(&narrowed).access;
    let claims = harness.provider.verify_token(&access, harness.now()).await.unwrap();
    assert!(!claims.is_for("exchange-gateway"));
    for empty in ["", " ", "offline_access"] {
        let fields = [("client_id", "tool"), ("scope", empty)];
        let reply = harness.form("device_authorization", &fields, &[]).await;
        reply.expect_error(400, "invalid_scope");
    }
}

/// ERR-15: a suspended client cannot be connected, whether it was suspended before or after the approval.
#[tokio::test]
async fn suspended_client_cannot_be_connected() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    let suspend = "UPDATE client SET state = 'suspended' WHERE id = 'tool'";
    let resume = "UPDATE client SET state = 'active' WHERE id = 'tool'";
    harness.change(suspend).await;
    let mut browser = harness.browser().await;
    for page in [
        browser.type_code(&harness, &login.user_code).await,
        browser.decide(&harness, &login, "approve").await,
    ] {
        let page = page.expect(403);
        assert!(page.body.contains("<bdi>Stock &amp; Tool</bdi> is suspended."), "{}", page.body);
        assert!(!page.body.contains("approve"), "{}", page.body);
    }
    harness.poll(&login, &device).await.expect_error(400, "authorization_pending");
    harness.change(resume).await;
    browser.decide(&harness, &login, "approve").await.expect(200);
    harness.change(suspend).await;
    harness.advance(5);
    harness.poll(&login, &device).await.expect_error(400, "access_denied");
    assert_eq!(harness.count("SELECT count(*) FROM connection").await, 0);
}

/// IDP-08: without `offline_access`, a connection ends with the browser session, and has the session's
/// sign-in time.
#[tokio::test]
async fn online_connection_ends_at_sign_out() {
    let harness = ProviderHarness::new().await;
    let (bound, offline) = (Device::new(), Device::new());
    let mut browser = harness.browser().await;
    let signed_in = harness.now().as_secs();
    harness.advance(100);
    let online = harness.connect_by(&mut browser, &bound, "exchange.connect").await;
    let offline_tokens = harness.connect_by(&mut browser, &offline, SCOPES).await;
    let auth_time = async |tokens: &Tokens| {
        harness.provider.verify_token(&tokens.access, harness.now()).await.unwrap().auth_time.as_secs()
    };
    assert_eq!(auth_time(&online).await, signed_in);
    assert_eq!(auth_time(&offline_tokens).await, signed_in + 100);
    let online = Tokens::from_reply(&harness.refresh(&online.refresh, &bound).await);
    browser.open(&harness, "/device").await.expect(200);
    browser.submit_and_follow(&harness, "/sign-out", &[]).await.expect(200);
    harness.refresh(&online.refresh, &bound).await.expect_error(400, "invalid_grant");
    harness.refresh(&offline_tokens.refresh, &offline).await.expect(200);
}

/// IDP-08: without `offline_access`, a connection also ends when the browser session expires, and no token is
/// valid for longer.
#[tokio::test]
async fn online_connection_ends_with_an_expired_session() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, "exchange.connect").await;
    harness.advance(12 * 3600 - 100);
    let last = Tokens::from_reply(&harness.refresh(&tokens.refresh, &device).await);
    assert_eq!(last.expires_in, 100);
    harness.advance(100);
    harness.refresh(&last.refresh, &device).await.expect_error(400, "invalid_grant");
}

/// IDP-08: without `offline_access`, the connection ends if the member signs out after the approval and
/// before the tokens are issued.
#[tokio::test]
async fn pending_approval_ends_at_sign_out() {
    let harness = ProviderHarness::new().await;
    let (online, offline) = (harness.begin("exchange.connect").await, harness.begin(SCOPES).await);
    let mut browser = harness.browser().await;
    browser.decide(&harness, &online, "approve").await.expect(200);
    browser.decide(&harness, &offline, "approve").await.expect(200);
    browser.open(&harness, "/device").await.expect(200);
    browser.submit_and_follow(&harness, "/sign-out", &[]).await.expect(200);
    harness.poll(&online, &Device::new()).await.expect_error(400, "access_denied");
    harness.poll(&offline, &Device::new()).await.expect(200);
}

/// If a key connects again, its previous connection ends; other connections are kept.
#[tokio::test]
async fn reconnecting_key_ends_its_older_connection() {
    let harness = ProviderHarness::new().await;
    let (device, other_device) = (Device::new(), Device::new());
    let old = harness.connect(&device, SCOPES).await;
    let other_tokens = harness.connect(&other_device, SCOPES).await;
    let new = harness.connect(&device, SCOPES).await;
    harness.refresh(&old.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.refresh(&new.refresh, &device).await.expect(200);
    harness.refresh(&other_tokens.refresh, &other_device).await.expect(200);
}

/// ERR-18: a member whose registration awaits approval can connect, but the exchange rejects the requests. A
/// disabled member cannot connect.
#[tokio::test]
async fn disabled_member_cannot_connect() {
    let harness = ProviderHarness::new().await;
    harness.browser_of("new").await;
    let mut browser = Browser::default();
    browser.open(&harness, "/sign-in").await.expect(200);
    let eve = [("username", "eve"), ("password", "right")];
    browser.submit(&harness, "/sign-in", &eve).await.expect(422);
    // The member is disabled after signing in, so the session is invalid.
    let mut ada = harness.browser().await;
    let login = harness.begin(SCOPES).await;
    harness.change("UPDATE member SET state = 'disabled' WHERE id = 'm-ada'").await;
    let reply = ada.open(&harness, "/device").await;
    assert!(location(&reply).starts_with("/sign-in"));
    let reply = ada.submit(&harness, "/device/decision", &[("user_code", &login.user_code)]).await;
    assert!(location(&reply).starts_with("/sign-in"));
}

/// Logins work in the same way with the other proof profile.
#[tokio::test]
async fn strict_profile_has_the_same_logins() {
    let harness = ProviderHarness::with_config(&config(ProofProfile::Rfc9449)).await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    let challenge = harness.poll(&login, &device).await;
    challenge.expect_error(400, "use_dpop_nonce");
    // A nonce challenge does not count as a poll, so the next poll is not too early.
    let proof =
        device.prove("POST", &format!("{ISSUER}/token"), harness.now(), Some(challenge.header("dpop-nonce")));
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", login.device_code.as_str()),
        ("client_id", "tool"),
    ];
    harness.form("token", &fields, &[&proof]).await.expect_error(400, "authorization_pending");
}

/// If signing fails, an approved code is not used up: the next poll receives the tokens.
#[tokio::test]
async fn failed_signing_does_not_consume_the_code() {
    let harness = ProviderHarness::new().await;
    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
    // After this time, the keys must be loaded again.
    harness.advance(6);
    harness.change("ALTER TABLE signing_key RENAME TO gone").await;
    harness.poll(&login, &device).await.expect_error(503, "temporarily_unavailable");
    harness.change("ALTER TABLE gone RENAME TO signing_key").await;
    assert_eq!(harness.count("SELECT count(*) FROM connection").await, 0);
    let tokens = Tokens::from_reply(&harness.poll(&login, &device).await);
    assert!(harness.provider.verify_token(&tokens.access, harness.now()).await.is_ok());
}

/// IDP-01: an issuer with a trailing slash serves its endpoints at the URLs in its discovery document.
#[tokio::test]
async fn issuer_with_a_trailing_slash() {
    let config = Config { issuer: format!("{ISSUER}/"), ..config(ProofProfile::Keycloak) };
    let harness = ProviderHarness::with_config(&config).await;
    let discovery = harness.get("/idp/.well-known/openid-configuration").await.expect(200).json();
    assert_eq!(discovery["issuer"], format!("{ISSUER}/"));
    assert_eq!(discovery["token_endpoint"], format!("{ISSUER}/token"));
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    assert!(harness.provider.verify_token(&tokens.access, harness.now()).await.is_ok());
    harness.revoke(&tokens.refresh, &device).await.expect(200);
    let invalid_config = Config { issuer: "http://127.0.0.1/*x".to_owned(), ..config };
    let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
    let refused = IdentityProvider::new(store, harness.provider.environment().clone(), &invalid_config).await;
    assert!(matches!(refused, Err(ProviderError::Path)));
}
