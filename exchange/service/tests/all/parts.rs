//! Tests of the exchange with its parts in separate processes: an external identity provider, and a separate
//! backend.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::routing::get;
use exchange_service::Environment;
use exchange_service::app::{self, App};
use exchange_service::config::{Config, ExternalIdpConfig};
use exchange_service::sandbox::{Sandbox, SandboxOptions};
use exchange_service::store::{self, Store, StoreError, StoreLocation};
use exchange_service::time::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::client::{Client, approve_on_pages, keys};
use super::idp::forge::{Key, jws};
use super::support::{command, served};

/// Creates the sandbox's members, clients and blueprints in a folder.
async fn seed_folder(folder: &Path) {
    let options = SandboxOptions { data: Some(folder.to_owned()), ..SandboxOptions::default() };
    Sandbox::with_options(options).await.unwrap().stop().await;
}

/// Creates an access token of an external provider for a client's key.
fn token(issuer: &str, (key, kid): (&Key, &str), client: &Client) -> String {
    let now = SystemClock.now().as_secs();
    let claims = json!({
        "iss": issuer, "sub": "member-1", "aud": "exchange-gateway", "azp": "sandbox-client",
        "scope": "exchange.connect exchange.blueprints.read", "iat": now, "exp": now + 300,
        "auth_time": now - 5, "cnf": { "jkt": client.thumbprint().to_string() },
    });
    jws(&json!({ "typ": "at+jwt", "alg": "ES256", "kid": kid }), &claims, |message| {
        key.sign("ES256", message)
    })
}

/// IDP-02, IDP-07, ERR-05: with an external identity provider, only its tokens are accepted. The built-in
/// provider is not served, and the pages of the exchange keep their own sign-in.
#[tokio::test]
async fn external_provider_replaces_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    seed_folder(folder.path()).await;
    let theirs = Key::p256();
    let (keys, discovery) =
        (json!({ "keys": [theirs.jwk(&[("kid", "one")])] }), Arc::new(std::sync::OnceLock::new()));
    let document = Arc::clone(&discovery);
    let provider = Router::new().route("/keys", get(async move || keys.to_string())).route(
        "/.well-known/openid-configuration",
        get(async move || document.get().cloned().unwrap_or_default()),
    );
    let issuer = served(provider, &Config::default(), &Environment::system()).await;
    discovery.set(json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }).to_string()).unwrap();

    let store =
        Store::open(&store::StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()))).unwrap();
    let mut config = Config { issuer: issuer.clone(), ..Config::default() };
    config.pages_origin = Some("http://127.0.0.1:8080".to_owned());
    config.idp.external = Some(ExternalIdpConfig::default());
    let app = App::new(store.clone(), Environment::system(), Arc::new(config.clone())).await.unwrap();
    let base = served(app.router(), &config, &Environment::system()).await;

    let mut client = Client::new(&config.gateway_origin, &issuer, SystemClock).with_addresses(&base, &issuer);
    // A token of the built-in provider is rejected. This request fetches the keys of the external provider.
    let ours = store.read(|connection| {
        let sql = "SELECT kid, pkcs8 FROM signing_key";
        Ok::<(String, Vec<u8>), StoreError>(
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?,
        )
    });
    let (kid, pkcs8) = ours.await.unwrap();
    client.token = token(&issuer, (&Key::from_pkcs8(&pkcs8), &kid), &client);
    assert_eq!(client.call("service_document", "/exchange/v1", None, "").await.code(), "UNAUTHENTICATED");
    client.token = token(&issuer, (&theirs, "one"), &client);
    let document = client.call("service_document", "/exchange/v1", None, "").await;
    assert_eq!(document.status, 200, "{}", document.body);
    assert_eq!(document.body["capabilities"], json!(["exchange.blueprints.read", "exchange.connect"]));
    assert_eq!(client.read(None).await.status, 200);

    let http = reqwest::Client::new();
    for (path, status) in [
        ("/token", 404),
        ("/device_authorization", 404),
        ("/jwks", 404),
        ("/.well-known/openid-configuration", 404),
        ("/device", 404),
        ("/sign-in", 200),
    ] {
        let response = http.get(format!("{base}{path}")).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
}

/// A process of the service, which is killed when it is dropped.
struct Process {
    child: Child,
    log: Option<JoinHandle<String>>,
    base: String,
}

impl Process {
    /// Runs `serve` on a folder with a free port and waits until it listens.
    fn serve(data: &Path, values: &[(&str, &str)]) -> Self {
        let mut command = command(&["serve"]);
        command.env("EXCHANGE_SERVE__DATA", data).env("EXCHANGE_SERVE__LISTEN", "127.0.0.1:0");
        command.env("EXCHANGE_SERVE__SANDBOX_DATA", "true");
        command.env("EXCHANGE_IDP__PASSWORD_KIB", "8").env("EXCHANGE_IDP__PASSWORD_PASSES", "1");
        command.envs(values.iter().copied()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        let base = loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the process ended: {seen}");
            let event: Value = line.parse().unwrap_or_default();
            if event["message"] == "listening" {
                break format!("http://{}", event["address"].as_str().unwrap());
            }
            seen.push_str(&line);
        };
        let log = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
            rest
        });
        Self { child, log: Some(log), base }
    }

    /// Kills the process and returns its output.
    fn kill(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log.take().map(|log| log.join().unwrap()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.kill());
    }
}

/// GW-02, GW-10, ERR-37: a gateway and its backend run in two processes over one folder. A member signs in,
/// and a client writes, repeats the write, and reads. The backend accepts only requests of the gateway.
/// Without the backend, the response is `502`.
#[tokio::test]
async fn gateway_and_backend_in_two_processes() {
    let folder = tempfile::tempdir().unwrap();
    seed_folder(folder.path()).await;
    let mut backend = Process::serve(folder.path(), &[("EXCHANGE_SERVE__ROLE", "backend")]);
    let elsewhere = [("EXCHANGE_SERVE__ROLE", "gateway"), ("EXCHANGE_SERVE__BACKEND", backend.base.as_str())];
    let gateway = Process::serve(folder.path(), &elsewhere);

    let public = Config::default();
    let issuer = format!("{}/idp", gateway.base);
    let mut client = Client::new(&public.gateway_origin, &public.issuer, SystemClock)
        .with_addresses(&gateway.base, &issuer);
    let login = client.begin().await;
    let password = "sandbox-member-pw-do-not-use-in-prod";
    approve_on_pages(&gateway.base, "sandbox-member", password, &login.user_code).await;
    client.finish(&login).await;

    let cursor = client.read(None).await.body["nextCursor"].as_str().unwrap().to_owned();
    let knife = json!([{ "op": "add", "ref": { "scRecord": "bp_craft_sbxm_knife_01" } }]);
    let added = client.write(knife.clone(), "key-of-the-first-write").await;
    assert_eq!((added.status.as_u16(), &added.body["applied"]), (200, &json!(1)), "{}", added.body);
    let again = client.write(knife.clone(), "key-of-the-first-write").await;
    assert_eq!(
        (&again.headers["idempotency-replayed"], &again.body),
        (&"true".parse().unwrap(), &added.body)
    );
    assert_eq!(keys(&client.read(Some(&cursor)).await.body["items"]), ["bp-sandbox-knife"]);
    // An error response of the backend is returned unchanged.
    assert_eq!(client.read(Some("nobodys")).await.code(), "CURSOR_EXPIRED");

    let http = reqwest::Client::new();
    let unsigned = http.get(format!("{}/exchange/v1/me/blueprints", backend.base)).send().await.unwrap();
    assert_eq!((unsigned.status().as_u16(), unsigned.text().await.unwrap().len()), (401, 0));
    for (base, status) in [(&gateway.base, 200), (&backend.base, 200)] {
        assert_eq!(http.get(format!("{base}/readyz")).send().await.unwrap().status(), status);
    }

    let log = backend.kill();
    assert!(log.contains("request without a valid gateway signature"), "{log}");
    let refused = client.write(knife, "key-of-the-second-write").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (502, "BACKEND_RELAY_FAILED"));
}

/// A gateway in a separate process requires the address of its backend.
#[tokio::test]
async fn gateway_requires_the_address_of_its_backend() {
    let store = Store::open(&store::StoreOptions::new(StoreLocation::Memory)).unwrap();
    let mut config = Config::default();
    config.serve.role = exchange_service::config::ProcessRole::Gateway;
    let outcome = app::build_dispatcher(store, Environment::system(), Arc::new(config)).await;
    assert!(matches!(outcome, Err(app::AppError::NoBackend)));
}
