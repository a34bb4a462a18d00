//! An identity provider with its pages, an in-memory store and a fixed clock; a device with its key; and a
//! browser with its cookies.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use dpop_bound::{Htu, KeyPair, Nonce, ProofRequest, Prover, SystemRandom, Thumbprint, UnixTime};
use exchange_service::Environment;
use exchange_service::config::{Config, IdpConfig, ProofProfile};
use exchange_service::idp::accounts;
use exchange_service::idp::{DEVICE_GRANT, IdentityProvider, REFRESH_GRANT};
use exchange_service::ids::MemberId;
use exchange_service::peer::PeerAddr;
use exchange_service::store::{Store, StoreError, StoreLocation, StoreOptions};
use exchange_service::time::{Clock as _, ManualClock, Moment};
use exchange_service::web::{self, WebState};
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, Request};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::proofs::Draft;

pub(crate) const NOW: Moment = Moment::from_millis(1_790_000_000_250);
pub(crate) const ISSUER: &str = "http://127.0.0.1:8080/idp";
/// The scopes of all logins in these tests.
pub(crate) const SCOPES: &str = "exchange.connect exchange.stock.read offline_access";

/// The identity provider, its pages and its store.
pub(crate) struct ProviderHarness {
    pub(crate) clock: ManualClock,
    pub(crate) store: Store,
    pub(crate) provider: IdentityProvider,
    pub(crate) app: Router,
}

pub(crate) fn config(profile: ProofProfile) -> Config {
    let idp = IdpConfig { profile, password_kib: 8, password_passes: 1, ..IdpConfig::default() };
    Config { idp, ..Config::default() }
}

impl ProviderHarness {
    pub(crate) async fn new() -> Self {
        Self::with_config(&config(ProofProfile::Keycloak)).await
    }

    pub(crate) async fn with_config(config: &Config) -> Self {
        Self::at_location(config, StoreLocation::Memory, ManualClock::fixed_at(NOW)).await
    }

    /// Opens a store in a folder, which may be that of an earlier instance, as after a restart.
    pub(crate) async fn in_folder(folder: &Path, clock: ManualClock) -> Self {
        Self::at_location(&config(ProofProfile::Keycloak), StoreLocation::Folder(folder.to_owned()), clock)
            .await
    }

    async fn at_location(config: &Config, place: StoreLocation, clock: ManualClock) -> Self {
        let store = Store::open(&StoreOptions::new(place)).unwrap();
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        let provider = IdentityProvider::new(store.clone(), environment.clone(), config).await.unwrap();
        let web = WebState::new(provider.clone()).unwrap();
        let hash = web.passwords().hash_password("right", &environment).unwrap();
        store.write(move |database| seed(database, &hash)).await.unwrap();
        let app = exchange_service::idp::router(provider.clone()).merge(web::router(web));
        Self { clock, store, provider, app }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Sends a form to an endpoint of the provider with these proofs.
    pub(crate) async fn form(&self, endpoint: &str, fields: &[(&str, &str)], proofs: &[&str]) -> Reply {
        let mut request = Request::post(format!("/idp/{endpoint}"))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        for proof in proofs {
            request = request.header("DPoP", *proof);
        }
        self.send(request.body(Body::from(encode(fields))).unwrap()).await
    }

    /// Starts a device login with the client `tool`.
    pub(crate) async fn begin(&self, scope: &str) -> Login {
        let reply = self.form("device_authorization", &[("client_id", "tool"), ("scope", scope)], &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        Login::from_reply(&reply)
    }

    pub(crate) async fn poll(&self, login: &Login, device: &Device) -> Reply {
        self.poll_as("tool", login, device).await
    }

    pub(crate) async fn poll_as(&self, client: &str, login: &Login, device: &Device) -> Reply {
        let fields = [
            ("grant_type", DEVICE_GRANT),
            ("device_code", login.device_code.as_str()),
            ("client_id", client),
        ];
        self.form("token", &fields, &[&device.proof(self.now())]).await
    }

    pub(crate) async fn refresh(&self, token: &str, device: &Device) -> Reply {
        self.refresh_as("tool", token, device, &[]).await
    }

    pub(crate) async fn refresh_as(
        &self,
        client: &str,
        token: &str,
        device: &Device,
        extra_fields: &[(&str, &str)],
    ) -> Reply {
        let mut fields = vec![("grant_type", REFRESH_GRANT), ("refresh_token", token), ("client_id", client)];
        fields.extend_from_slice(extra_fields);
        self.form("token", &fields, &[&device.proof(self.now())]).await
    }

    pub(crate) async fn revoke(&self, token: &str, device: &Device) -> Reply {
        self.revoke_as("tool", token, device).await
    }

    pub(crate) async fn revoke_as(&self, client: &str, token: &str, device: &Device) -> Reply {
        let fields = [("token", token), ("token_type_hint", "refresh_token"), ("client_id", client)];
        let proof = device.prove("POST", &format!("{ISSUER}/revoke"), self.now(), None);
        self.form("revoke", &fields, &[&proof]).await
    }

    /// Returns a browser in which Ada is signed in.
    pub(crate) async fn browser(&self) -> Browser {
        self.browser_of("ada").await
    }

    pub(crate) async fn browser_of(&self, username: &str) -> Browser {
        let mut browser = Browser::default();
        browser.open(self, "/sign-in").await;
        let reply = browser.submit(self, "/sign-in", &[("username", username), ("password", "right")]).await;
        assert_eq!(reply.status, 303, "{}", reply.body);
        browser
    }

    /// Connects a device to Ada's account and returns the token response.
    pub(crate) async fn connect(&self, device: &Device, scope: &str) -> Tokens {
        let mut browser = self.browser().await;
        self.connect_by(&mut browser, device, scope).await
    }

    pub(crate) async fn connect_by(&self, browser: &mut Browser, device: &Device, scope: &str) -> Tokens {
        let login = self.begin(scope).await;
        browser.decide(self, &login, "approve").await.expect(200);
        Tokens::from_reply(&self.poll(&login, device).await)
    }

    /// Reads one number from the store.
    pub(crate) async fn count(&self, sql: impl Into<String>) -> i64 {
        let sql = sql.into();
        let work = move |database: &rusqlite::Connection| {
            Ok::<i64, StoreError>(database.query_row(&sql, [], |row| row.get(0))?)
        };
        self.store.read(work).await.unwrap()
    }

    /// Changes the store with SQL statements.
    pub(crate) async fn change(&self, sql: &'static str) {
        let work = move |database: &rusqlite::Connection| Ok::<(), StoreError>(database.execute_batch(sql)?);
        self.store.write(work).await.unwrap();
    }
}

fn seed(database: &rusqlite::Connection, hash: &str) -> Result<(), StoreError> {
    if database.query_row("SELECT EXISTS (SELECT 1 FROM member)", [], |row| row.get(0))? {
        return Ok(());
    }
    database.execute_batch(
        "INSERT INTO setting (name, value) VALUES ('exchange', 'on');
         INSERT INTO member (id, name, state, created_at) VALUES
           ('m-ada', 'Ada <b>', 'active', 0), ('m-bob', 'Bob', 'active', 0),
           ('m-eve', 'Eve', 'disabled', 0), ('m-new', 'New', 'pending', 0);
         INSERT INTO client (id, name, state, created_at) VALUES
           ('tool', 'Stock & Tool', 'active', 0), ('other', 'Other', 'active', 0),
           ('hold', 'On hold', 'suspended', 0), ('off', 'Off', 'disabled', 0);
         INSERT INTO client_scope (client, scope)
           SELECT id, scope FROM client, (SELECT 'exchange.connect' AS scope
             UNION SELECT 'exchange.stock.read' UNION SELECT 'exchange.blueprints.read');",
    )?;
    for name in ["ada", "bob", "eve", "new"] {
        accounts::set_account(database, &MemberId::new(format!("m-{name}")), name, hash)?;
    }
    Ok(())
}

pub(crate) fn encode(fields: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect()
    };
    let pairs: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
    pairs.join("&")
}

/// A response with its body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// Asserts an OAuth error with this status and code that must not be cached (ERR-42).
    #[track_caller]
    pub(crate) fn expect_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["error"].as_str()), (status, Some(code)), "{}", self.body);
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(self.json()["error_description"].is_string());
    }
}

/// A started device login.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
}

impl Login {
    pub(crate) fn from_reply(reply: &Reply) -> Self {
        let text = |name: &str| reply.json()[name].as_str().unwrap().to_owned();
        Self { device_code: text("device_code"), user_code: text("user_code") }
    }
}

/// A token response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) expires_in: u64,
}

impl Tokens {
    #[track_caller]
    pub(crate) fn from_reply(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.body);
        let json = reply.json();
        Self {
            access: json["access_token"].as_str().unwrap().to_owned(),
            refresh: json["refresh_token"].as_str().unwrap().to_owned(),
            expires_in: json["expires_in"].as_u64().unwrap(),
        }
    }
}

/// An installation of a client, with its key.
pub(crate) struct Device {
    prover: Prover<Arc<KeyPair>, SystemRandom>,
}

impl Device {
    pub(crate) fn new() -> Self {
        Self { prover: Prover::new(Arc::new(KeyPair::generate().unwrap()), SystemRandom) }
    }

    pub(crate) fn thumbprint(&self) -> Thumbprint {
        self.prover.signer().public_key().thumbprint()
    }

    /// Creates an unsigned proof for the token endpoint.
    pub(crate) fn draft(&self, now: Moment) -> Draft {
        Draft::new(self.prover.signer(), "POST", &format!("{ISSUER}/token"), now.as_secs())
    }

    /// Creates a proof for the token endpoint.
    pub(crate) fn proof(&self, now: Moment) -> String {
        self.prove("POST", &format!("{ISSUER}/token"), now, None)
    }

    pub(crate) fn prove(&self, method: &str, url: &str, time: Moment, nonce: Option<&str>) -> String {
        let nonce = nonce.map(|text| Nonce::new(text).unwrap());
        let request = ProofRequest {
            method,
            htu: &Htu::from_url(url).unwrap(),
            iat: UnixTime::from_secs(time.as_secs().try_into().unwrap()),
            nonce: nonce.as_ref(),
            token: None,
        };
        self.prover.prove_now(&request).unwrap().into_string()
    }
}

/// A browser: its cookies, its address, and the CSRF token of the last form.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
    pub(crate) csrf: String,
    pub(crate) address: IpAddr,
}

impl Default for Browser {
    fn default() -> Self {
        Self { cookies: BTreeMap::new(), csrf: String::new(), address: "192.0.2.1".parse().unwrap() }
    }
}

impl Browser {
    pub(crate) async fn open(&mut self, harness: &ProviderHarness, path: &str) -> Reply {
        let request = self.request(Request::get(path)).body(Body::empty()).unwrap();
        self.take(harness.send(request).await)
    }

    /// Sends a form with the CSRF token of the last form.
    pub(crate) async fn submit(
        &mut self,
        harness: &ProviderHarness,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Reply {
        let csrf = self.csrf.clone();
        let fields = [&[("csrf", csrf.as_str())], fields].concat();
        let request = self
            .request(Request::post(path))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .body(Body::from(encode(&fields)))
            .unwrap();
        self.take(harness.send(request).await)
    }

    /// Sends a form as [`Self::submit`] does, and opens the page to which the response redirects, if it does.
    pub(crate) async fn submit_and_follow(
        &mut self,
        harness: &ProviderHarness,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Reply {
        let reply = self.submit(harness, path, fields).await;
        if reply.status != 303 {
            return reply;
        }
        let target = location(&reply).to_owned();
        self.open(harness, &target).await
    }

    /// Enters a user code, submits the decision, and returns the result.
    pub(crate) async fn decide(&mut self, harness: &ProviderHarness, login: &Login, decision: &str) -> Reply {
        self.open(harness, "/device").await.expect(200);
        let fields = [("user_code", login.user_code.as_str()), ("decision", decision)];
        self.submit_and_follow(harness, "/device/decision", &fields).await
    }

    /// Enters a user code and returns the consent page or the error.
    pub(crate) async fn type_code(&mut self, harness: &ProviderHarness, code: &str) -> Reply {
        self.open(harness, "/device").await.expect(200);
        self.submit_and_follow(harness, "/device", &[("user_code", code)]).await
    }

    fn request(&self, request: http::request::Builder) -> http::request::Builder {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.extension(PeerAddr(self.address));
        if cookies.is_empty() { request } else { request.header(COOKIE, cookies.join("; ")) }
    }

    fn take(&mut self, reply: Reply) -> Reply {
        for line in reply.headers.get_all(SET_COOKIE) {
            let (pair, _) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value {
                "" => self.cookies.remove(name),
                value => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        if let Some((_, rest)) = reply.body.split_once("name=\"csrf\" value=\"") {
            self.csrf = rest.split_once('"').unwrap().0.to_owned();
        }
        reply
    }
}

/// Returns the target of a redirect.
pub(crate) fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, 303, "{}", reply.body);
    reply.headers.get(LOCATION).unwrap().to_str().unwrap()
}
