//! Verifies the access tokens of an external OpenID provider, which replaces the built-in one.
//!
//! The issuer is fixed: a discovery document with another issuer is rejected (IDP-02). Keys are cached. They
//! are fetched again if they are old or if a token names an unknown key, but only by one request at a time.
//! Unknown key ids are remembered for a while, so that forged tokens do not cause requests to the provider.
//! While the provider is unreachable, tokens with cached keys are verified as usual, and all other tokens are
//! reported as unavailable (A9).

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

/// The maximum age of cached keys that are used without fetching them again.
const FRESH_AGE: Duration = Duration::from_secs(600);
/// The maximum age of cached keys that are used while the provider is unreachable.
const STALE_AGE: Duration = Duration::from_secs(86_400);
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The period in which an unknown key id does not cause another fetch.
const UNKNOWN_KEY_AGE: Duration = Duration::from_secs(60);
/// The maximum number of unknown key ids that are remembered.
const MAX_UNKNOWN_KEYS: usize = 1024;
/// The maximum number of keys of a provider that are used.
const MAX_KEYS: usize = 64;

/// The reason a document could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// The future that [`DocumentFetcher::fetch_document`] returns.
pub type FetchFuture<'a> = MaybeReady<'a, Result<Vec<u8>, FetchError>>;

/// A fetcher of documents: over the network or, in tests, from memory.
pub trait DocumentFetcher: Send + Sync + fmt::Debug {
    /// Fetches the document at a URL, with limits on time and size. Does not follow redirects.
    fn fetch_document<'a>(&'a self, url: &'a str) -> FetchFuture<'a>;
}

/// A verifier of the access tokens of an external OpenID provider.
pub struct ExternalProvider {
    issuer: String,
    types: Vec<String>,
    environment: Environment,
    fetch: Arc<dyn DocumentFetcher>,
    keys: ArcSwapOption<ExternalKeys>,
    /// The time of the last fetch, and whether it succeeded. The task that fetches the keys holds the lock.
    last_fetch: tokio::sync::Mutex<Option<(Moment, bool)>>,
    /// The unknown key ids, each with the time until which it does not cause a fetch.
    unknown_keys: Mutex<HashMap<String, Moment>>,
}

/// Only the issuer is printed.
impl fmt::Debug for ExternalProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalProvider").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

struct ExternalKeys {
    read_at: Moment,
    all: HashMap<String, (DecodingKey, Vec<Algorithm>)>,
}

/// The outcome of a request for fetching the keys.
#[derive(Clone, Copy)]
enum KeyFetchOutcome {
    Fetched,
    /// Another task has recently fetched the keys, or is fetching them while an old key suffices.
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
    /// Creates a verifier for the provider in the configuration.
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
            // The provider may have published the key since the last fetch, so the token may be valid (A9).
            (None, KeyFetchOutcome::RecentlyFetched | KeyFetchOutcome::Unreachable) => {
                Err(TokenError::Unavailable)
            }
        }
    }

    fn cached_key(&self, kid: &str, age: Duration) -> Option<(DecodingKey, Vec<Algorithm>)> {
        let keys = self.keys.load();
        // The clock is read after the keys, because another task may have just stored them. If the keys seem
        // to be from the future, the clock was set back after they were fetched. Their age is then unknown,
        // and they count as stale.
        let now = self.environment.now();
        let keys = keys.as_ref().filter(|keys| keys.read_at <= now && now.since(keys.read_at) < age)?;
        keys.all.get(kid).cloned()
    }

    /// Fetches the keys, unless another task has recently fetched them, or is fetching them while an old key
    /// suffices.
    async fn refresh_keys(&self, kid: &str) -> KeyFetchOutcome {
        let mut last_fetch = match self.last_fetch.try_lock() {
            Ok(last_fetch) => last_fetch,
            // Another task is fetching the keys, and a stale key suffices in the meantime.
            Err(_) if self.cached_key(kid, STALE_AGE).is_some() => return KeyFetchOutcome::RecentlyFetched,
            Err(_) => self.last_fetch.lock().await,
        };
        // The previous holder of the lock may have fetched the key, and may have taken a long time.
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
        // The pause starts when the fetch has ended.
        *last_fetch = Some((self.environment.now(), read.is_ok()));
        match read {
            Ok(keys) => {
                let keys = Arc::new(keys);
                let previous = self.keys.swap(Some(Arc::clone(&keys)));
                // Withdrawn keys are known to be invalid, so their tokens need not wait for the next fetch.
                for kid in previous.iter().flat_map(|previous| previous.all.keys()) {
                    if !keys.all.contains_key(kid) {
                        self.remember_unknown(kid, keys.read_at);
                    }
                }
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
        let ids = published.keys.iter().take(MAX_KEYS).filter_map(|key| key.get("kid")?.as_str());
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        let all: HashMap<_, _> = published.keys.into_iter().take(MAX_KEYS).filter_map(parse_key).collect();
        // The clock is read again, because it may have been set back during the fetch.
        let read_at = self.environment.now();
        // Tokens with an unsuitable key are invalid, however often the keys are fetched.
        for id in ids.iter().filter(|id| !all.contains_key(*id)) {
            self.remember_unknown(id, read_at);
        }
        Ok(ExternalKeys { read_at, all })
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
        // If the table is full, requests are still limited by the pause between two fetches.
        if unknown.len() < MAX_UNKNOWN_KEYS && kid.len() <= 256 {
            unknown.insert(kid.to_owned(), now.plus(UNKNOWN_KEY_AGE));
        }
    }
}

/// Returns true if an entry that expires at `until` is still valid. After the clock was set back, an entry is
/// valid at most as long as a new one.
fn is_remembered(until: Moment, now: Moment) -> bool {
    now < until && until <= now.plus(UNKNOWN_KEY_AGE)
}

fn parse_document<T: for<'de> Deserialize<'de>>(document: &[u8], what: &str) -> Result<T, FetchError> {
    serde_json::from_slice(document).map_err(|_| FetchError(format!("its {what} is invalid")))
}

/// The accepted algorithms. Algorithms with a shared secret and `none` are not accepted.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::ES256, Algorithm::RS256, Algorithm::PS256, Algorithm::EdDSA];

/// Parses a signature key with its algorithms: all algorithms of the key type, or only the one in `alg`.
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
        // RFC 7518 (sections 3.3 and 3.5) requires at least 2048 bits. A modulus of 256 bytes has 342
        // base64url characters.
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
