//! Prepares a data folder for the service: signed-in members with blueprints, and a journal of a given
//! length.
//!
//! Members sign in over HTTP, as clients do, at a sandbox on this folder. The sandbox ends before the
//! measurement. The catalogue and the blueprints are written through the library, and the journal directly
//! into its table.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dpop_bound::{AccessToken, Htu, KeyPair, ProofRequest, Prover, SystemRandom};
use exchange_service::Environment;
use exchange_service::app::App;
use exchange_service::catalogue::contents::{self, CatalogueContents, EntryKind, NewEntry, NewLocation};
use exchange_service::config::Config;
use exchange_service::feed::ChangeAuthor;
use exchange_service::ids::MemberId;
use exchange_service::sandbox::{Sandbox, SandboxOptions};
use exchange_service::store::{Store, StoreError, StoreLocation as StorePlace, StoreOptions};
use exchange_service::time::Clock as _;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Outcome, stocks};

/// The number of members with a signed-in client.
pub(crate) const MEMBERS: u32 = 16;
/// The number of blueprints per member.
const BLUEPRINTS_PER_MEMBER: usize = 300;
/// The number of blueprints in the catalogue.
pub(crate) const PRODUCTS: usize = 2500;
const CLIENT: &str = "sandbox-client";
const SCOPES: &str = "exchange.connect offline_access exchange.blueprints.read exchange.blueprints.write \
    exchange.stock.read exchange.stock.write exchange.orgstock.read exchange.orgstock.details \
    exchange.orgstock.write";
/// The number of journal rows per transaction.
const ROWS: u32 = 50_000;

/// The signed-in client of a member.
pub(crate) struct Caller {
    pub(crate) prover: Prover<KeyPair, SystemRandom>,
    pub(crate) token: AccessToken,
}

/// A prepared data folder, with the configuration and the clients.
pub(crate) struct DataFolder {
    folder: TempDir,
    /// The service's configuration.
    pub(crate) config: Config,
    /// The signed-in clients.
    pub(crate) callers: Vec<Arc<Caller>>,
}

/// Returns the product key with this number.
pub(crate) fn product(number: usize) -> String {
    format!("bp-load-{number:05}")
}

/// Returns the game's record name with this number.
pub(crate) fn record(number: usize) -> String {
    format!("BP_CRAFT_LOAD_{number:05}")
}

/// Returns a configuration with very high limits.
fn unlimited_config() -> Config {
    let mut config = Config::default();
    let limits = &mut config.limits;
    (limits.per_address, limits.per_member, limits.per_client) = (20_000_000, 20_000_000, 20_000_000);
    limits.writes_per_day = 50_000_000;
    (limits.live_proofs, limits.live_proofs_of_member) = (8_000_000, 8_000_000);
    (limits.kept_bytes, limits.kept_bytes_of_client, limits.kept_bytes_of_member) =
        (1 << 40, 1 << 40, 1 << 40);
    config.guard.removals = u32::MAX;
    config.guard.removals_of_share = u32::MAX;
    config.idp.access_token_seconds = 6 * 3600;
    // Passwords are hashed with the lowest cost, because nobody enters them here.
    (config.idp.password_kib, config.idp.password_passes) = (64, 1);
    config
}

impl DataFolder {
    /// Prepares a folder with a journal of this many rows.
    pub(crate) async fn prepare(journal: u32) -> Outcome<Self> {
        let folder = tempfile::Builder::new().prefix("load-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let data = folder.path().join("data");
        let options = SandboxOptions {
            data: Some(data.clone()),
            config: Some(unlimited_config()),
            ..Default::default()
        };
        let sandbox = Sandbox::with_options(options).await?;
        let directory = sandbox.directory();
        let mut callers = Vec::new();
        for number in 1..=MEMBERS {
            callers.push(Arc::new(sign_in(&sandbox, &format!("sandbox-load-{number:02}")).await?));
        }
        sandbox.stop().await;
        // The sandbox uses the same address as the service, because tokens contain the address.
        let mut config = unlimited_config();
        config.idp.password_kib = Config::default().idp.password_kib;
        config.idp.password_passes = Config::default().idp.password_passes;
        (config.issuer, config.gateway_origin) = (directory.issuer, directory.gateway);
        config.serve.listen = config.gateway_origin.trim_start_matches("http://").parse()?;
        (config.serve.data, config.serve.sandbox_data) = (data, true);
        let data_folder = Self { folder, config, callers };
        data_folder.fill(journal).await?;
        Ok(data_folder)
    }

    /// Returns the address on which the service listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.config.serve.listen
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> &Path {
        &self.config.serve.data
    }

    /// Changes a copy of the configuration, writes it to a file, and returns the path.
    pub(crate) fn configuration(&self, change: impl FnOnce(&mut Config)) -> Outcome<PathBuf> {
        let mut config = self.config.clone();
        change(&mut config);
        let file = self.folder.path().join("service.toml");
        std::fs::write(&file, toml::to_string(&config)?)?;
        Ok(file)
    }

    /// Opens the exchange on the folder. No service may be running on it.
    pub(crate) async fn app(&self) -> Outcome<App> {
        let store = Store::open(&StoreOptions::new(StorePlace::Folder(self.data().to_owned())))?;
        Ok(App::new(store, Environment::system(), Arc::new(self.config.clone())).await?)
    }

    async fn fill(&self, journal: u32) -> Outcome<()> {
        let store = Store::open(&StoreOptions::new(StorePlace::Folder(self.data().to_owned())))?;
        let environment = Environment::system();
        store
            .write(|connection| {
                let mut contents = catalogue(connection)?;
                contents.entries.extend((0..PRODUCTS).map(|number| {
                    let name = format!("Load Pattern {number:05}");
                    let entry = NewEntry::new(EntryKind::Blueprint, product(number), name);
                    NewEntry { sc_record: Some(record(number)), ..entry }
                }));
                stocks::add_materials(&mut contents);
                contents::replace_contents(connection, &SystemRandom, &contents)
            })
            .await?;
        let app = App::new(store.clone(), environment, Arc::new(self.config.clone())).await?;
        for number in 1..=MEMBERS {
            let ops: Vec<Value> = (PRODUCTS - BLUEPRINTS_PER_MEMBER..PRODUCTS)
                .map(|number| json!({ "op": "add", "ref": { "scRecord": record(number) } }))
                .collect();
            let body = serde_json::from_value(json!({ "ops": ops }))?;
            let response = app.backend().change_blueprints(&member(number), ChangeAuthor::Web, body).await?;
            if response.counts().applied != i64::try_from(BLUEPRINTS_PER_MEMBER)? {
                return Err(format!(
                    "{} of {BLUEPRINTS_PER_MEMBER} blueprints were planted",
                    response.counts().applied
                )
                .into());
            }
        }
        for first in (0..journal).step_by(ROWS as usize) {
            let rows = first..journal.min(first + ROWS);
            store.write(move |connection| write_journal(connection, rows)).await?;
        }
        Ok(())
    }
}

/// Returns the id of the member with this number, from 1.
pub(crate) fn member(number: u32) -> MemberId {
    MemberId::new(format!("member-load-{number:02}"))
}

/// Returns the sandbox's catalogue, extended by the products of the load tests.
fn catalogue(connection: &Connection) -> Result<CatalogueContents, StoreError> {
    let mut contents = CatalogueContents::default();
    let sql = "SELECT kind, id, name, sc_record, facts FROM catalogue_entry";
    let mut rows = connection.prepare(sql)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let Some(kind) = EntryKind::ALL.into_iter().find(|kind| kind.as_str() == name) else { continue };
        let entry = NewEntry::new(kind, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        let facts = serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default();
        contents.entries.push(NewEntry { sc_record: row.get(3)?, facts, ..entry });
    }
    let sql = "SELECT id, name, city, station, hidden FROM location";
    let mut rows = connection.prepare(sql)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let [id, name] = [row.get(0)?, row.get(1)?];
        let location = NewLocation { id, name, city: row.get(2)?, station: row.get(3)?, hidden: row.get(4)? };
        contents.locations.push(location);
    }
    Ok(contents)
}

/// Writes journal rows that are distributed over the last ninety days, the members and the products. Each
/// change set has twenty rows, and one row in fifty is a removal.
fn write_journal(connection: &Connection, rows: std::ops::Range<u32>) -> Result<(), StoreError> {
    const SET: u32 = 20;
    let now = exchange_service::time::SystemClock.now().as_millis();
    let last = connection
        .query_row("SELECT coalesce(max(id), 0) FROM journal_entry", [], |row| row.get::<_, i64>(0))?;
    let mut insert = connection
        .prepare("INSERT INTO journal_entry (id, key, removal, before, after) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut set = connection.prepare(
        "INSERT INTO journal_set (first, last, at, member, area, change_set, channel, client, installation, \
         removals) VALUES (?1, ?2, ?3, ?4, 'blueprints', ?5, 'client', ?6, 'planted', ?7)",
    )?;
    let entry = r#"{"acquired_at":1769970600000,"source":"log","note":null}"#;
    let is_removal = |row: u32| row.is_multiple_of(50);
    let mut id = last;
    for first in rows.clone().step_by(SET as usize) {
        let of_set = first..rows.end.min(first + SET);
        let removals = of_set.clone().filter(|row| is_removal(*row)).count();
        let age = i64::from(first) * 7776 % 7_776_000_000;
        let ends = (id + 1, id + i64::from(of_set.end - first));
        set.execute(params![
            ends.0,
            ends.1,
            now - age,
            member(1 + first / SET % MEMBERS),
            format!("planted-{first:08}"),
            CLIENT,
            i64::try_from(removals).unwrap_or_default(),
        ])?;
        for row in of_set {
            id += 1;
            let removal = is_removal(row);
            let (before, after) = if removal { (Some(entry), None) } else { (None, Some(entry)) };
            insert.execute(params![id, product(row as usize % PRODUCTS), removal, before, after])?;
        }
    }
    Ok(())
}

async fn sign_in(sandbox: &Sandbox, account: &str) -> Outcome<Caller> {
    let issuer = sandbox.directory().issuer;
    let http = reqwest::Client::new();
    let form = async |endpoint: &str, proof: Option<String>, fields: &[(&str, &str)]| {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = http
            .post(format!("{issuer}/{endpoint}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&").replace(' ', "+"));
        if let Some(proof) = proof {
            request = request.header("dpop", proof);
        }
        let response = request.send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if !status.is_success() {
            return Err(format!("{endpoint} answered {status}: {text}").into());
        }
        Outcome::<Value>::Ok(serde_json::from_str(&text)?)
    };
    let login = form("device_authorization", None, &[("client_id", CLIENT), ("scope", SCOPES)]).await?;
    sandbox.approve(text(&login, "user_code")?, account).await?;
    let prover = Prover::new(KeyPair::generate()?, SystemRandom);
    let proof = prover.prove_now(&ProofRequest {
        method: "POST",
        htu: &Htu::from_url(&format!("{issuer}/token"))?,
        iat: sandbox.clock().now().to_unix_time(),
        nonce: None,
        token: None,
    })?;
    let grant_fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", text(&login, "device_code")?),
        ("client_id", CLIENT),
    ];
    let granted = form("token", Some(proof.into_string()), &grant_fields).await?;
    Ok(Caller { prover, token: AccessToken::new(text(&granted, "access_token")?)? })
}

fn text<'v>(value: &'v Value, name: &str) -> Outcome<&'v str> {
    value[name].as_str().ok_or_else(|| format!("an answer has no `{name}`").into())
}
