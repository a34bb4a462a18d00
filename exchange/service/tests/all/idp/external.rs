//! Tests of the verification of an external OpenID provider's tokens: its keys, and its unavailability.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dpop_bound::{MaybeReady, SystemRandom};
use exchange_service::Environment;
use exchange_service::config::{Config, ExternalIdpConfig as Settings, IdpConfig};
use exchange_service::idp::external::{DocumentFetcher, ExternalProvider, FetchError, FetchFuture};
use exchange_service::idp::tokens::{TokenClaims, TokenError, TokenVerifier as _};
use exchange_service::time::{Clock, ManualClock, Moment};
use serde_json::{Value, json};

use exchange_service::idp::fetch::HttpFetcher;

use super::forge::{Key, hs256, jws};
use super::harness::NOW;

const THEIRS: &str = "https://idp.example/realms/one";
const JWKS: &str = "https://idp.example/realms/one/keys";

/// Documents by URL, with the number of fetches.
#[derive(Debug, Default)]
struct DocumentTable {
    documents: Mutex<BTreeMap<String, String>>,
    fetches: AtomicUsize,
    /// A clock, and its change during every fetch.
    meanwhile: Mutex<Option<(ManualClock, ClockMovement)>>,
}

/// A change of the clock, in seconds.
#[derive(Clone, Copy, Debug)]
enum ClockMovement {
    On(u64),
    Back(u64),
}

impl DocumentFetcher for DocumentTable {
    fn fetch_document<'a>(&'a self, url: &'a str) -> FetchFuture<'a> {
        MaybeReady::boxed(async move {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            // Lets other tasks run during the fetch.
            tokio::task::yield_now().await;
            match &*self.meanwhile.lock().unwrap() {
                Some((clock, ClockMovement::On(seconds))) => clock.advance(Duration::from_secs(*seconds)),
                Some((clock, ClockMovement::Back(seconds))) => clock.step_back(Duration::from_secs(*seconds)),
                None => {}
            }
            let document = self.documents.lock().unwrap().get(url).cloned();
            document.map(String::into_bytes).ok_or_else(|| FetchError("nobody is there".to_owned()))
        })
    }
}

struct ExternalHarness {
    clock: ManualClock,
    table: Arc<DocumentTable>,
    verifier: ExternalProvider,
}

impl ExternalHarness {
    fn new(keys: &[Value]) -> Self {
        Self::with_settings(keys, Settings::default())
    }

    fn with_settings(keys: &[Value], settings: Settings) -> Self {
        Self::with_clock(ManualClock::fixed_at(NOW), keys, settings)
    }

    fn with_clock(clock: ManualClock, keys: &[Value], settings: Settings) -> Self {
        let table = Arc::new(DocumentTable::default());
        let idp = IdpConfig { external: Some(settings), ..IdpConfig::default() };
        let config = Config { issuer: THEIRS.to_owned(), idp, ..Config::default() };
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        let verifier =
            ExternalProvider::new(&config, environment, Arc::clone(&table) as Arc<dyn DocumentFetcher>);
        let harness = Self { clock, table, verifier };
        harness.publish(keys);
        harness.serve("/.well-known/openid-configuration", &json!({ "issuer": THEIRS, "jwks_uri": JWKS }));
        harness
    }

    fn publish(&self, keys: &[Value]) {
        self.serve("/keys", &json!({ "keys": keys }));
    }

    fn serve(&self, path: &str, document: &Value) {
        self.table.documents.lock().unwrap().insert(format!("{THEIRS}{path}"), document.to_string());
    }

    fn take_offline(&self) {
        self.table.documents.lock().unwrap().clear();
    }

    fn fetch_count(&self) -> usize {
        self.table.fetches.load(Ordering::SeqCst)
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    fn token(&self, key: &Key, algorithm: &str, kid: &str) -> String {
        let now = self.clock.now().as_secs();
        let claims = json!({
            "iss": THEIRS, "sub": "m-ada", "aud": "exchange-gateway", "azp": "tool", "iat": now,
            "exp": now + 300, "auth_time": now - 9, "scope": "exchange.connect",
            "cnf": { "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" },
        });
        let header = json!({ "typ": "at+jwt", "alg": algorithm, "kid": kid });
        jws(&header, &claims, |message| key.sign(algorithm, message))
    }

    /// Moves the clock in this way during every fetch from now on.
    fn move_clock_on_fetch(&self, moves: ClockMovement) {
        *self.table.meanwhile.lock().unwrap() = Some((self.clock.clone(), moves));
    }

    /// Lets every fetch from now on take this time and fail.
    fn delay_fetches(&self, seconds: u64) {
        self.take_offline();
        self.move_clock_on_fetch(ClockMovement::On(seconds));
    }

    async fn verify(&self, token: &str) -> Result<TokenClaims, TokenError> {
        self.verifier.verify_token(token, self.clock.now()).await
    }
}

/// Every accepted algorithm is verified with a key of its type.
#[tokio::test]
async fn every_supported_algorithm_is_verified() {
    let (ec, rsa, ed) = (Key::p256(), Key::rsa(), Key::ed25519());
    let harness = ExternalHarness::new(&[
        ec.jwk(&[("kid", "ec"), ("use", "sig")]),
        rsa.jwk(&[("kid", "rsa")]),
        rsa.jwk(&[("kid", "ps"), ("alg", "PS256")]),
        ed.jwk(&[("kid", "ed"), ("alg", "EdDSA")]),
    ]);
    for (key, algorithm, kid) in [
        (&ec, "ES256", "ec"),
        (&rsa, "RS256", "rsa"),
        (&rsa, "PS256", "rsa"),
        (&rsa, "PS256", "ps"),
        (&ed, "EdDSA", "ed"),
    ] {
        let found = harness.verify(&harness.token(key, algorithm, kid)).await;
        let found = found.unwrap_or_else(|error| panic!("{algorithm} {kid}: {error}"));
        assert_eq!((found.client.as_str(), found.member.as_str()), ("tool", "m-ada"));
        assert!(found.is_for("exchange-gateway") && found.jkt.is_some());
    }
    // A token is rejected if the algorithm does not fit the key that it names.
    for (key, algorithm, kid) in [(&rsa, "RS256", "ps"), (&ec, "ES256", "rsa"), (&rsa, "RS256", "ec")] {
        let refused = harness.verify(&harness.token(key, algorithm, kid)).await;
        assert_eq!(refused, Err(TokenError::Algorithm), "{algorithm} {kid}");
    }
    let secret = rsa.public_bytes();
    let header = json!({ "typ": "at+jwt", "alg": "HS256", "kid": "rsa" });
    let swapped = jws(&header, &json!({}), |message| hs256(&secret, message));
    assert_eq!(harness.verify(&swapped).await, Err(TokenError::Algorithm));
    assert_eq!(harness.fetch_count(), 2);
}

/// Keys that are not for signatures, that are too weak, or that have another curve are ignored.
#[tokio::test]
async fn unsuitable_keys_are_ignored() {
    let (ec, large) = (Key::p256(), Key::p384());
    let mut short = Key::rsa().jwk(&[("kid", "short")]);
    short["n"] = short["n"].as_str().unwrap()[..170].into();
    let harness = ExternalHarness::new(&[
        ec.jwk(&[("kid", "enc"), ("use", "enc")]),
        ec.jwk(&[("kid", "named"), ("alg", "ES384")]),
        large.jwk(&[("kid", "large")]),
        short,
        json!({ "kty": "oct", "kid": "oct", "k": "c2VjcmV0" }),
        json!({ "kty": "future", "kid": "future" }),
        json!("no key"),
        ec.jwk(&[("kid", "good")]),
    ]);
    for kid in ["enc", "named", "large", "short", "oct", "future"] {
        assert_eq!(harness.verify(&harness.token(&ec, "ES256", kid)).await, Err(TokenError::Key), "{kid}");
    }
    assert!(harness.verify(&harness.token(&ec, "ES256", "good")).await.is_ok());
}

/// IDP-02: discovery document and tokens must contain the configured issuer.
#[tokio::test]
async fn issuer_is_pinned() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    let discovery = "/.well-known/openid-configuration";
    let token = harness.token(&key, "ES256", "ec");
    for other_issuer in ["https://idp.example/realms/two", "https://idp.example/realms/one/", ""] {
        harness.serve(discovery, &json!({ "issuer": other_issuer, "jwks_uri": JWKS }));
        assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable), "{other_issuer}");
        harness.advance(5);
    }
    harness.serve(discovery, &json!({ "issuer": THEIRS, "jwks_uri": "http://idp.example/keys" }));
    assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable));
    harness.advance(5);
    harness.serve(discovery, &json!({ "issuer": THEIRS, "jwks_uri": JWKS }));
    assert!(harness.verify(&token).await.is_ok());
    let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": "ec" });
    let now = harness.clock.now().as_secs();
    let claims = json!({
        "iss": "https://idp.example/realms/two", "sub": "m", "azp": "tool", "iat": now, "exp": now + 1,
    });
    let foreign = jws(&header, &claims, |message| key.sign("ES256", message));
    assert_eq!(harness.verify(&foreign).await, Err(TokenError::Issuer));
}

/// Concurrent lookups of keys cause a single fetch.
#[tokio::test]
async fn concurrent_key_lookups_share_one_fetch() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    let token = harness.token(&key, "ES256", "ec");
    let (a, b, c, d) = tokio::join!(
        harness.verify(&token),
        harness.verify(&token),
        harness.verify(&token),
        harness.verify(&token)
    );
    for found in [a, b, c, d] {
        assert!(found.is_ok());
    }
    assert_eq!(harness.fetch_count(), 2);
    for _ in 0..100 {
        assert!(harness.verify(&token).await.is_ok());
    }
    assert_eq!(harness.fetch_count(), 2);
}

/// An unknown key id does not cause repeated fetches.
#[tokio::test]
async fn unknown_key_ids_are_not_fetched_repeatedly() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    let forged = harness.token(&key, "ES256", "x");
    for _ in 0..10 {
        assert_eq!(harness.verify(&forged).await, Err(TokenError::Key));
    }
    assert_eq!(harness.fetch_count(), 2);
    // The id stays unknown for a minute. Within five seconds of a fetch, another unknown id causes no fetch
    // at all. The provider may have published this key since the fetch, so the client has to retry (A9).
    harness.advance(59);
    assert_eq!(harness.verify(&forged).await, Err(TokenError::Key));
    assert_eq!(harness.fetch_count(), 2);
    for number in 0..10 {
        let unknown_token = harness.token(&key, "ES256", &format!("x-{number}"));
        let expect = if number == 0 { TokenError::Key } else { TokenError::Unavailable };
        assert_eq!(harness.verify(&unknown_token).await, Err(expect), "{number}");
    }
    assert_eq!(harness.fetch_count(), 4);
    assert!(harness.verify(&harness.token(&key, "ES256", "ec")).await.is_ok());
    // The key is published in the meantime: its id caused no fetch, so it was not cached as unknown. A valid
    // token is never rejected as invalid: it is unavailable until the next fetch, and then accepted.
    harness.publish(&[key.jwk(&[("kid", "x-9")])]);
    let valid = harness.token(&key, "ES256", "x-9");
    assert_eq!(harness.verify(&valid).await, Err(TokenError::Unavailable));
    harness.advance(5);
    assert!(harness.verify(&harness.token(&key, "ES256", "x-9")).await.is_ok());
}

/// A new key is fetched when a token names it, and a withdrawn key is dropped.
#[tokio::test]
async fn key_rotation_is_followed() {
    let (old, new) = (Key::p256(), Key::p256());
    let harness = ExternalHarness::new(&[old.jwk(&[("kid", "old")])]);
    assert!(harness.verify(&harness.token(&old, "ES256", "old")).await.is_ok());
    harness.advance(5);
    harness.publish(&[new.jwk(&[("kid", "new")])]);
    assert!(harness.verify(&harness.token(&new, "ES256", "new")).await.is_ok());
    assert_eq!(harness.verify(&harness.token(&old, "ES256", "old")).await, Err(TokenError::Key));
    // Without such a token, withdrawn keys are dropped within ten minutes.
    harness.publish(&[old.jwk(&[("kid", "other")])]);
    harness.advance(600);
    assert_eq!(harness.verify(&harness.token(&new, "ES256", "new")).await, Err(TokenError::Key));
    assert_eq!(harness.fetch_count(), 6);
}

/// ERR-05: if keys were fetched, or cached as unknown, while the clock was ahead, they are not cached for
/// longer: a withdrawn key is rejected, and a published one is accepted.
#[tokio::test]
async fn clock_that_was_ahead_does_not_extend_caching() {
    let (old, new) = (Key::p256(), Key::p256());
    let harness = ExternalHarness::new(&[old.jwk(&[("kid", "old")])]);
    let day = Duration::from_secs(86_400);
    harness.clock.advance(day);
    assert!(harness.verify(&harness.token(&old, "ES256", "old")).await.is_ok());
    harness.advance(5);
    assert_eq!(harness.verify(&harness.token(&new, "ES256", "new")).await, Err(TokenError::Key));
    harness.clock.step_back(day);
    harness.publish(&[new.jwk(&[("kid", "new")])]);
    assert!(harness.verify(&harness.token(&new, "ES256", "new")).await.is_ok());
    assert_eq!(harness.verify(&harness.token(&old, "ES256", "old")).await, Err(TokenError::Key));
}

/// A clock that advances by ten seconds at every reading.
#[derive(Debug, Default)]
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Moment {
        NOW.plus(Duration::from_secs(10 * self.0.fetch_add(1, Ordering::SeqCst).unsigned_abs()))
    }
}

/// ERR-05: a lookup finds keys that were fetched after it began, by the same request or by another one.
#[tokio::test]
async fn keys_fetched_during_a_lookup_are_found() {
    let key = Key::p256();
    let keys = [key.jwk(&[("kid", "ec")])];
    let harness = ExternalHarness::with_clock(
        ManualClock::offset_from(Arc::new(TickingClock::default())),
        &keys,
        Settings::default(),
    );
    assert!(harness.verify(&harness.token(&key, "ES256", "ec")).await.is_ok());
    let harness = ExternalHarness::new(&keys);
    harness.move_clock_on_fetch(ClockMovement::On(9));
    let token = harness.token(&key, "ES256", "ec");
    let (asks, waits) = tokio::join!(harness.verify(&token), harness.verify(&token));
    assert!(asks.is_ok() && waits.is_ok(), "{asks:?} {waits:?}");
    assert_eq!(harness.fetch_count(), 2);
}

/// ERR-05: keys are accepted even if the clock is set back during the fetch.
#[tokio::test]
async fn clock_set_back_during_a_fetch_is_tolerated() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    harness.move_clock_on_fetch(ClockMovement::Back(60));
    let now = harness.clock.now();
    let token = harness.token(&key, "ES256", "ec");
    let (asks, waits) =
        tokio::join!(harness.verifier.verify_token(&token, now), harness.verifier.verify_token(&token, now));
    assert!(asks.is_ok() && waits.is_ok(), "{asks:?} {waits:?}");
    assert_eq!(harness.fetch_count(), 2);
}

/// A9: while the provider is unreachable, tokens with cached keys are still verified; other tokens cause
/// `Unavailable`.
#[tokio::test]
async fn outage_keeps_cached_keys_valid() {
    let (key, other_key) = (Key::p256(), Key::p256());
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    harness.take_offline();
    let token = harness.token(&key, "ES256", "ec");
    assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable));
    assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable));
    assert_eq!(harness.fetch_count(), 1);
    let recovered = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    assert!(recovered.verify(&token).await.is_ok());
    recovered.take_offline();
    recovered.advance(3600);
    assert!(recovered.verify(&recovered.token(&key, "ES256", "ec")).await.is_ok());
    let unknown = recovered.token(&other_key, "ES256", "new");
    assert_eq!(recovered.verify(&unknown).await, Err(TokenError::Unavailable));
    // A token with an invalid signature is still rejected.
    assert_eq!(
        recovered.verify(&recovered.token(&other_key, "ES256", "ec")).await,
        Err(TokenError::Signature)
    );
    // After a day, cached keys are too old.
    recovered.advance(86_400);
    assert_eq!(recovered.verify(&recovered.token(&key, "ES256", "ec")).await, Err(TokenError::Unavailable));
    recovered.serve("/.well-known/openid-configuration", &json!({ "issuer": THEIRS, "jwks_uri": JWKS }));
    recovered.publish(&[key.jwk(&[("kid", "ec")])]);
    recovered.advance(5);
    assert!(recovered.verify(&recovered.token(&key, "ES256", "ec")).await.is_ok());
}

/// A9: after a failed fetch, there is no further fetch for five seconds, however long the failed one took.
/// Tasks that waited for it receive the same error.
#[tokio::test]
async fn slow_outage_pauses_fetches() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    let token = harness.token(&key, "ES256", "ec");
    harness.delay_fetches(30);
    let (a, b, c) = tokio::join!(harness.verify(&token), harness.verify(&token), harness.verify(&token));
    assert_eq!([a, b, c].map(|found| found.err()), [Some(TokenError::Unavailable); 3]);
    assert_eq!(harness.fetch_count(), 1);
    harness.advance(4);
    assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable));
    assert_eq!(harness.fetch_count(), 1, "four seconds after the failed fetch ended");
    harness.advance(1);
    assert_eq!(harness.verify(&token).await, Err(TokenError::Unavailable));
    assert_eq!(harness.fetch_count(), 2);
}

/// An invalid document counts as a failed fetch.
#[tokio::test]
async fn invalid_documents_count_as_failed_fetches() {
    let key = Key::p256();
    let harness = ExternalHarness::new(&[key.jwk(&[("kid", "ec")])]);
    for (path, document) in [
        ("/keys", json!("no keys")),
        ("/keys", json!({ "keys": 1 })),
        ("/.well-known/openid-configuration", json!([])),
    ] {
        harness.serve(path, &document);
        let refused = harness.verify(&harness.token(&key, "ES256", "ec")).await;
        assert_eq!(refused, Err(TokenError::Unavailable), "{document}");
        harness.advance(5);
    }
}

/// The verifier can be configured for a provider without `at+jwt`; an id token is then recognized by its
/// audience.
#[tokio::test]
async fn token_type_is_configurable() {
    let key = Key::p256();
    let keys = [key.jwk(&[("kid", "ec")])];
    let settings = Settings { token_types: vec!["JWT".to_owned()], ..Settings::default() };
    let (strict, plain) = (ExternalHarness::new(&keys), ExternalHarness::with_settings(&keys, settings));
    let token = plain.token(&key, "ES256", "ec");
    assert_eq!(plain.verify(&token).await, Err(TokenError::WrongType));
    let header = json!({ "typ": "JWT", "alg": "ES256", "kid": "ec" });
    let now = NOW.as_secs();
    let claims = json!({
        "iss": THEIRS, "sub": "m-ada", "aud": "tool", "azp": "tool", "iat": now, "exp": now + 9,
    });
    let id_token = jws(&header, &claims, |message| key.sign("ES256", message));
    assert_eq!(strict.verify(&id_token).await, Err(TokenError::WrongType));
    assert!(!plain.verify(&id_token).await.unwrap().is_for("exchange-gateway"));
}

/// Documents are fetched over the network with limits of size and time, and only from the requested URL.
#[tokio::test]
async fn documents_are_fetched_within_bounds() {
    use axum::response::Redirect;
    use axum::routing::get;
    let app = axum::Router::new()
        .route("/keys", get(async || "{}"))
        .route("/large", get(async || "x".repeat((256 << 10) + 1)))
        .route("/moved", get(async || Redirect::temporary("/keys")))
        .route("/slow", get(std::future::pending::<String>));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let patient = HttpFetcher::new(Duration::from_secs(60)).unwrap();
    assert_eq!(patient.fetch_document(&format!("{origin}/keys")).await, Ok(b"{}".to_vec()));
    for path in ["large", "moved", "missing"] {
        let response = patient.fetch_document(&format!("{origin}/{path}")).await;
        assert!(response.is_err(), "{path}");
    }
    assert!(patient.fetch_document("http://127.0.0.1:1/").await.is_err());
    // The timeout ends a slow fetch.
    tokio::time::pause();
    let slow = patient.fetch_document(&format!("{origin}/slow")).await.unwrap_err();
    assert!(slow.to_string().contains("timed out"), "{slow}");
    server.abort();
}

/// The configuration selects the verifier.
#[tokio::test]
async fn configuration_selects_the_verifier() {
    let own = super::harness::ProviderHarness::new().await;
    let device = super::harness::Device::new();
    let tokens = own.connect(&device, super::harness::SCOPES).await;
    let verifier = exchange_service::idp::build_verifier(&own.provider).unwrap();
    assert!(verifier.verify_token(&tokens.access, own.now()).await.is_ok());
    let mut config = own.provider.config().clone();
    config.idp.external = Some(Settings::default());
    let other_harness = super::harness::ProviderHarness::with_config(&config).await;
    let verifier = exchange_service::idp::build_verifier(&other_harness.provider).unwrap();
    assert!(format!("{verifier:?}").starts_with("External"));
}
