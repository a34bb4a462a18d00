//! Access tokens of an external OpenID provider, in place of the built-in one.
//!
//! The issuer is pinned: a discovery document with another issuer is rejected (IDP-02). Keys are cached, and fetched
//! again when they are old or a token names an unknown key, by one request at a time. Unknown key ids are remembered
//! for a while, so that forged tokens do not cause requests. While the provider is unreachable, tokens of cached keys
//! are verified as usual, and all others are reported as unavailable (A9).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::MaybeReady;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::UnverifiedToken;
use super::tokens::{TokenClaims, TokenError, TokenVerifier, VerificationFuture};
use crate::config::Config;
use crate::environment::Environment;
use crate::time::Moment;

/// The age up to which cached keys are used without fetching.
const FRESH_AGE: Duration = Duration::from_secs(600);
/// The age up to which cached keys are used while the provider is unreachable.
const STALE_AGE: Duration = Duration::from_secs(86_400);
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How long an unknown key id is not fetched again.
const UNKNOWN_KEY_AGE: Duration = Duration::from_secs(60);
/// The number of unknown key ids that are remembered.
const MAX_UNKNOWN_KEYS: usize = 1024;
/// The number of keys of a provider that are used.
const MAX_KEYS: usize = 64;

/// The error of a document that could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// The future of a fetched document.
pub type FetchFuture<'a> = MaybeReady<'a, Result<Vec<u8>, FetchError>>;

/// Fetches documents: over the network, or from a table in tests.
pub trait DocumentFetcher: Send + Sync + fmt::Debug {
    /// Fetches the document at a URL, within a bounded time and size, without following redirects.
    fn fetch_document<'a>(&'a self, url: &'a str) -> FetchFuture<'a>;
}

/// Verifies access tokens of an external OpenID provider.
pub struct ExternalProvider {
    issuer: String,
    types: Vec<String>,
    environment: Environment,
    fetch: Arc<dyn DocumentFetcher>,
    keys: ArcSwapOption<ExternalKeys>,
    /// Held by the task that fetches the keys. Contains the time of the last fetch, and whether it succeeded.
    last_fetch: tokio::sync::Mutex<Option<(Moment, bool)>>,
    /// Unknown key ids, and until when they are not fetched again.
    unknown_keys: Mutex<HashMap<String, Moment>>,
}

/// Shows the issuer.
impl fmt::Debug for ExternalProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalProvider").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

struct ExternalKeys {
    read_at: Moment,
    all: HashMap<String, (DecodingKey, Vec<Algorithm>)>,
}

/// The outcome of a request to fetch keys.
#[derive(Clone, Copy)]
enum KeyFetchOutcome {
    Fetched,
    /// Another task has fetched the keys recently.
    RecentlyFetched,
    Unreachable,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeyDocument {
    keys: Vec<Value>,
}

impl ExternalProvider {
    /// Creates a verifier for the provider of the configuration.
    #[must_use]
    pub fn new(config: &Config, environment: Environment, fetch: Arc<dyn DocumentFetcher>) -> Self {
        let types = config.idp.external.clone().unwrap_or_default().token_types;
        Self {
            issuer: config.issuer.clone(),
            types,
            environment,
            fetch,
            keys: ArcSwapOption::empty(),
            last_fetch: tokio::sync::Mutex::new(None),
            unknown_keys: Mutex::default(),
        }
    }

    async fn check_token(&self, token: &str, now: Moment) -> Result<TokenClaims, TokenError> {
        let token = UnverifiedToken::parse_header(token, &self.types)?;
        if !ALGORITHMS.contains(&token.algorithm()) {
            return Err(TokenError::Algorithm);
        }
        let kid = token.key_id().ok_or(TokenError::Key)?;
        let (key, algorithms) = self.find_key(kid).await?;
        token.verify_claims(&key, &algorithms, &self.issuer, now)
    }

    async fn find_key(&self, kid: &str) -> Result<(DecodingKey, Vec<Algorithm>), TokenError> {
        if let Some(key) = self.cached_key(kid, FRESH_AGE) {
            return Ok(key);
        }
        if self.is_unknown(kid, self.environment.now()) {
            return Err(TokenError::Key);
        }
        let outcome = self.refresh_keys(kid).await;
        match (self.cached_key(kid, STALE_AGE), outcome) {
            (Some(key), _) => Ok(key),
            (None, KeyFetchOutcome::Fetched) => {
                self.remember_unknown(kid, self.environment.now());
                Err(TokenError::Key)
            }
            (None, KeyFetchOutcome::RecentlyFetched) => Err(TokenError::Key),
            (None, KeyFetchOutcome::Unreachable) => Err(TokenError::Unavailable),
        }
    }

    fn cached_key(&self, kid: &str, age: Duration) -> Option<(DecodingKey, Vec<Algorithm>)> {
        let keys = self.keys.load();
        // Read the clock after the keys, which another task may have fetched just now. Keys from the future were
        // fetched before the clock was set back, so their age is unknown and they count as stale.
        let now = self.environment.now();
        let keys = keys.as_ref().filter(|keys| keys.read_at <= now && now.since(keys.read_at) < age)?;
        keys.all.get(kid).cloned()
    }

    /// Fetches the keys, unless another task just did.
    async fn refresh_keys(&self, kid: &str) -> KeyFetchOutcome {
        let mut last_fetch = match self.last_fetch.try_lock() {
            Ok(last_fetch) => last_fetch,
            // Another task is fetching, and a stale key suffices meanwhile.
            Err(_) if self.cached_key(kid, STALE_AGE).is_some() => return KeyFetchOutcome::RecentlyFetched,
            Err(_) => self.last_fetch.lock().await,
        };
        // The previous holder of the lock may have fetched the key, and may have taken long.
        if self.cached_key(kid, FRESH_AGE).is_some() {
            return KeyFetchOutcome::RecentlyFetched;
        }
        let now = self.environment.now();
        if let Some((at, reached)) = *last_fetch
            && at <= now
            && now.since(at) < RETRY_PAUSE
        {
            return if reached { KeyFetchOutcome::RecentlyFetched } else { KeyFetchOutcome::Unreachable };
        }
        let read = self.fetch_keys().await;
        // The pause begins when the fetch has ended.
        *last_fetch = Some((self.environment.now(), read.is_ok()));
        match read {
            Ok(keys) => {
                self.keys.store(Some(Arc::new(keys)));
                KeyFetchOutcome::Fetched
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "cannot fetch the identity provider's keys");
                KeyFetchOutcome::Unreachable
            }
        }
    }

    async fn fetch_keys(&self) -> Result<ExternalKeys, FetchError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let discovery: DiscoveryDocument =
            parse_document(&self.fetch.fetch_document(&url).await?, "discovery document")?;
        if discovery.issuer != self.issuer {
            return Err(FetchError("its discovery document names another issuer".to_owned()));
        }
        if self.issuer.starts_with("https://") && !discovery.jwks_uri.starts_with("https://") {
            return Err(FetchError("its `jwks_uri` does not use https".to_owned()));
        }
        let published: KeyDocument =
            parse_document(&self.fetch.fetch_document(&discovery.jwks_uri).await?, "list of keys")?;
        let all = published.keys.into_iter().take(MAX_KEYS).filter_map(parse_key).collect();
        // The clock may have been set back during the fetch.
        Ok(ExternalKeys { read_at: self.environment.now(), all })
    }

    fn is_unknown(&self, kid: &str, now: Moment) -> bool {
        let unknown = self.unknown_keys.lock();
        unknown.is_ok_and(|unknown| unknown.get(kid).is_some_and(|until| is_remembered(*until, now)))
    }

    fn remember_unknown(&self, kid: &str, now: Moment) {
        let Ok(mut unknown) = self.unknown_keys.lock() else { return };
        if unknown.len() >= MAX_UNKNOWN_KEYS {
            unknown.retain(|_, until| is_remembered(*until, now));
        }
        // When the table is full, the pause between two fetches bounds the requests.
        if unknown.len() < MAX_UNKNOWN_KEYS && kid.len() <= 256 {
            unknown.insert(kid.to_owned(), now.plus(UNKNOWN_KEY_AGE));
        }
    }
}

/// Returns true if an entry that expires at `until` is valid. If the clock was set back, an entry is valid for no
/// longer than a new one.
fn is_remembered(until: Moment, now: Moment) -> bool {
    now < until && until <= now.plus(UNKNOWN_KEY_AGE)
}

fn parse_document<T: for<'de> Deserialize<'de>>(document: &[u8], what: &str) -> Result<T, FetchError> {
    serde_json::from_slice(document).map_err(|_| FetchError(format!("its {what} is invalid")))
}

/// The accepted algorithms: no shared secrets, and not `none`.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::ES256, Algorithm::RS256, Algorithm::PS256, Algorithm::EdDSA];

/// Parses a signature key with its algorithms: those of its type, or only the one in `alg`.
fn parse_key(jwk: Value) -> Option<(String, (DecodingKey, Vec<Algorithm>))> {
    let named = jwk.get("alg").and_then(Value::as_str).map(str::to_owned);
    let jwk: Jwk = serde_json::from_value(jwk).ok()?;
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let of_type: &[(Algorithm, &str)] = match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            &[(Algorithm::ES256, "ES256")]
        }
        // At least 256 bytes of modulus, because RFC 7518, 3.3 and 3.5 require 2048 bits.
        AlgorithmParameters::RSA(key) if key.n.len() >= 342 => {
            &[(Algorithm::RS256, "RS256"), (Algorithm::PS256, "PS256")]
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            &[(Algorithm::EdDSA, "EdDSA")]
        }
        _ => return None,
    };
    let allowed = |name: &str| named.as_deref().is_none_or(|named| named == name);
    let algorithms: Vec<_> =
        of_type.iter().filter(|(_, name)| allowed(name)).map(|(algorithm, _)| *algorithm).collect();
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    (!algorithms.is_empty()).then_some((jwk.common.key_id?, (key, algorithms)))
}

impl TokenVerifier for ExternalProvider {
    fn verify_token<'a>(&'a self, token: &'a str, now: Moment) -> VerificationFuture<'a> {
        MaybeReady::boxed(self.check_token(token, now))
    }
}
