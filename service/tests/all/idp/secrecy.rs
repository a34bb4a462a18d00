//! What is written down: no code, no token, no password, no cookie, neither in the store nor in a log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use exchange_service::store::StoreError;
use rusqlite::types::ValueRef;
use tracing_subscriber::fmt::MakeWriter;

use super::world::{Device, SCOPES, Tokens, World};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

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
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::info!("the log is read");

    let world = World::new().await;
    let (login, device) = (world.begin(SCOPES).await, Device::new());
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

    let written = dump(&world).await + &String::from_utf8_lossy(&log.0.lock().unwrap());
    assert!(written.contains("m-ada") && written.contains("the log is read"));
    assert!(written.contains("could not read or write"));
    let secret = |token: &str| token.split_once('.').unwrap().1.to_owned();
    let secrets = [
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
