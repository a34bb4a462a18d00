//! Tests that no code, token, password or cookie is in the store or in a log.

use axum::body::Body;
use exchange_service::idp::DEVICE_GRANT;
use exchange_service::store::StoreError;
use http::Request;
use http::header::CONTENT_TYPE;
use rusqlite::types::ValueRef;

use super::harness::{Browser, Device, ProviderHarness, SCOPES, Tokens, encode};
use crate::support;

/// GW-13: each request to an endpoint or a page has one log line and one count, with its declared route and
/// its correlation id. Errors during the request are logged under the same id.
#[test]
fn every_request_has_one_log_line() {
    let log = support::log();
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = "id-of-a-refresh-of-this-test";
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let harness = ProviderHarness::new().await;
            let mut browser = harness.browser().await;
            browser.open(&harness, "/device?user_code=SECR-ETCD").await.expect(200);
            let page = browser.type_code(&harness, "BBBB-BBBB").await.expect(404);
            assert_eq!(page.header("x-correlation-id").len(), 36);
            harness.get("/idp/jwks").await.expect(200);
            harness.form("token", &[("client_id", "tool")], &[]).await.expect_error(400, "invalid_request");
            harness.change("ALTER TABLE client RENAME TO gone").await;
            let request = Request::post("/idp/revoke?secret=SECR-ETCD")
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header("x-correlation-id", id)
                .body(Body::from(encode(&[("client_id", "tool"), ("token", "SECR-ETCD")])))
                .unwrap();
            let refused = harness.send(request).await;
            refused.expect_error(503, "temporarily_unavailable");
            assert_eq!(refused.header("x-correlation-id"), id);
            harness.send(Request::delete("/SECR-ETCD").body(Body::empty()).unwrap()).await.expect(404);
        });
    });
    let page = handle.render();
    for (labels, count) in [
        (r#"endpoint="/device",method="GET",status="200",error="none""#, 2),
        (r#"endpoint="/device",method="POST",status="404",error="none""#, 1),
        (r#"endpoint="/sign-in",method="POST",status="303",error="none""#, 1),
        (r#"endpoint="/idp/jwks",method="GET",status="200",error="none""#, 1),
        (r#"endpoint="/idp/token",method="POST",status="400",error="invalid_request""#, 1),
        (r#"endpoint="/idp/revoke",method="POST",status="503",error="temporarily_unavailable""#, 1),
        (r#"endpoint="none",method="other",status="404",error="none""#, 1),
    ] {
        let line = format!("exchange_endpoint_requests_total{{{labels}}} {count}");
        assert!(page.contains(&line), "{line}\n{page}");
    }
    let written = log.text();
    let ours: Vec<_> = written.lines().filter(|line| line.contains(id)).collect();
    let [failed, request_line] = *ours else { panic!("{ours:#?}") };
    assert!(failed.contains("identity provider store error"), "{failed}");
    for part in ["endpoint=\"/idp/revoke\"", "method=\"POST\"", "status=503", "source=", "micros="] {
        assert!(request_line.contains(part), "{request_line}");
    }
    assert!(!written.contains("SECR-ETCD") && !page.contains("SECR-ETCD"));
}

/// Returns all values of the store as strings, except for the service's own keys.
async fn dump(harness: &ProviderHarness) -> String {
    let work = |database: &rusqlite::Connection| {
        let mut tables = database.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('secret', 'signing_key')",
        )?;
        let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut text = String::new();
        for table in tables {
            let mut rows = database.prepare(&format!("SELECT * FROM {table}"))?;
            let columns = rows.column_count();
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                for column in 0..columns {
                    match row.get_ref(column)? {
                        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                            text.push_str(&String::from_utf8_lossy(bytes));
                            text.push('\n');
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok::<_, StoreError>(text)
    };
    harness.store.read(work).await.unwrap()
}

/// Neither a log nor the journal contains a code or another secret, whether it was accepted or
/// rejected.
#[tokio::test]
async fn store_and_logs_contain_no_secrets() {
    let log = support::log();
    tracing::info!("the log is read");

    let harness = ProviderHarness::new().await;
    // These passwords occur nowhere else: one is correct, and one is wrong.
    let (password, wrong_password) = ("correct-horse-of-this-test", "battery-staple-of-this-test");
    let web = exchange_service::web::WebState::new(harness.provider.clone()).unwrap();
    let hash = web.passwords().hash_password(password, harness.provider.environment()).unwrap();
    let account = move |database: &rusqlite::Connection| {
        exchange_service::idp::accounts::set_account(database, &"m-bob".into(), "bob", &hash)
    };
    harness.store.write(account).await.unwrap();
    let mut bob = Browser::default();
    bob.open(&harness, "/sign-in").await.expect(200);
    bob.submit(&harness, "/sign-in", &[("username", "bob"), ("password", wrong_password)]).await.expect(422);
    bob.submit(&harness, "/sign-in", &[("username", "bob"), ("password", password)]).await.expect(303);

    let (login, device) = (harness.begin(SCOPES).await, Device::new());
    // The proof is accepted, and then rejected.
    let proof = device.proof(harness.now());
    let fields = [("grant_type", DEVICE_GRANT), ("device_code", &*login.device_code), ("client_id", "tool")];
    for error in ["authorization_pending", "invalid_dpop_proof"] {
        harness.form("token", &fields, &[&proof]).await.expect_error(400, error);
    }
    let pending = harness.begin(SCOPES).await;
    let mut browser = harness.browser().await;
    browser.type_code(&harness, &login.user_code).await.expect(200);
    browser.decide(&harness, &login, "approve").await.expect(200);
    let first = Tokens::from_reply(&harness.poll(&login, &device).await);
    let second = Tokens::from_reply(&harness.refresh(&first.refresh, &device).await);
    let third = Tokens::from_reply(&harness.refresh(&second.refresh, &device).await);
    harness.refresh(&first.refresh, &device).await.expect_error(400, "invalid_grant");
    harness.change("ALTER TABLE connection RENAME TO gone").await;
    harness.refresh(&third.refresh, &device).await.expect_error(503, "temporarily_unavailable");
    harness.change("ALTER TABLE gone RENAME TO connection").await;

    let written = dump(&harness).await + &log.text();
    assert!(written.contains("m-ada") && written.contains("the log is read"));
    assert!(written.contains("identity provider store error"));
    let secret = |token: &str| token.split_once('.').unwrap().1.to_owned();
    let secrets = [
        password.to_owned(),
        wrong_password.to_owned(),
        proof.clone(),
        proof.split('.').next_back().unwrap().to_owned(),
        bob.cookies["session"].clone(),
        login.device_code.clone(),
        login.user_code.clone(),
        login.user_code.replace('-', ""),
        pending.device_code.clone(),
        pending.user_code.replace('-', ""),
        first.access,
        secret(&first.refresh),
        secret(&second.refresh),
        secret(&third.refresh),
        browser.cookies["session"].clone(),
        browser.csrf.clone(),
    ];
    for secret in secrets {
        assert!(!written.contains(&secret), "a secret of {} characters", secret.len());
    }
    for printed in [format!("{:?}", harness.provider), format!("{:?}", harness.store)] {
        assert!(printed.len() < 120, "{printed}");
    }
}
