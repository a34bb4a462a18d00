//! What is written down: no code, no token, no password, no cookie, neither in the store nor in a log.

use exchange_service::idp::DEVICE_GRANT;
use exchange_service::store::StoreError;
use rusqlite::types::ValueRef;

use super::world::{Browser, Device, SCOPES, Tokens, World};
use crate::kit;

/// All that the store holds, as text, but for the keys that the service itself signs with.
async fn dump(world: &World) -> String {
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
    world.store.read(work).await.unwrap()
}

/// List F: codes are in no log and no journal; nor is any other secret, refused or not.
#[tokio::test]
async fn no_secret_is_written_down() {
    let log = kit::log();
    tracing::info!("the log is read");

    let world = World::new().await;
    // A password that stands nowhere else, once right and once wrong.
    let (password, wrong) = ("correct-horse-of-this-test", "battery-staple-of-this-test");
    let web = exchange_service::web::Web::new(world.provider.clone()).unwrap();
    let hash = web.passwords().hash(password, world.provider.environment()).unwrap();
    let account = move |database: &rusqlite::Connection| {
        exchange_service::idp::accounts::set(database, &"m-bob".into(), "bob", &hash)
    };
    world.store.write(account).await.unwrap();
    let mut bob = Browser::default();
    bob.open(&world, "/sign-in").await.expect(200);
    bob.submit(&world, "/sign-in", &[("username", "bob"), ("password", wrong)]).await.expect(422);
    bob.submit(&world, "/sign-in", &[("username", "bob"), ("password", password)]).await.expect(303);

    let (login, device) = (world.begin(SCOPES).await, Device::new());
    // A proof, accepted and then refused.
    let proof = device.proof(world.now());
    let fields = [("grant_type", DEVICE_GRANT), ("device_code", &*login.device_code), ("client_id", "tool")];
    for error in ["authorization_pending", "invalid_dpop_proof"] {
        world.form("token", &fields, &[&proof]).await.expect_error(400, error);
    }
    let pending = world.begin(SCOPES).await;
    let mut browser = world.browser().await;
    browser.type_code(&world, &login.user_code).await.expect(200);
    browser.decide(&world, &login, "approve").await.expect(200);
    let first = Tokens::of(&world.poll(&login, &device).await);
    let second = Tokens::of(&world.refresh(&first.refresh, &device).await);
    let third = Tokens::of(&world.refresh(&second.refresh, &device).await);
    world.refresh(&first.refresh, &device).await.expect_error(400, "invalid_grant");
    world.change("ALTER TABLE connection RENAME TO gone").await;
    world.refresh(&third.refresh, &device).await.expect_error(503, "temporarily_unavailable");
    world.change("ALTER TABLE gone RENAME TO connection").await;

    let written = dump(&world).await + &log.text();
    assert!(written.contains("m-ada") && written.contains("the log is read"));
    assert!(written.contains("could not read or write"));
    let secret = |token: &str| token.split_once('.').unwrap().1.to_owned();
    let secrets = [
        password.to_owned(),
        wrong.to_owned(),
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
    for printed in [format!("{:?}", world.provider), format!("{:?}", world.store)] {
        assert!(printed.len() < 120, "{printed}");
    }
}
