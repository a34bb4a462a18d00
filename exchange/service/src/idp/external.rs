//! Tokens of an OpenID provider elsewhere, in the place of the one in this process.
//!
//! Its issuer is pinned: a discovery document that names another one is none (IDP-02). Its keys are kept
//! and asked for again when they have become old or a token names one that is not among them, by one
//! request at a time, however many wait for it. A key that the provider does not have is remembered for
//! a while, so that forged tokens do not turn into requests. While the provider cannot be reached, tokens of
//! known keys are judged as always, and nobody can tell about the others (A9).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::Pending;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::jwt::Unverified;
use super::tokens::{TokenClaims, TokenRefusal, Verifier, Verifying};
use crate::config::Config;
use crate::environment::Environment;
use crate::time::Moment;

/// How long keys are taken without asking whether there are others.
const FRESH: Duration = Duration::from_secs(600);
/// How long keys are taken while the provider cannot be reached.
const STALE: Duration = Duration::from_secs(86_400);
/// How long nobody is asked again after an answer, or after none.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a key that the provider does not have is not asked for again.
const UNKNOWN: Duration = Duration::from_secs(60);
/// How many such keys are remembered.
const MOST_UNKNOWN: usize = 1024;
/// How many keys of a provider are taken.
const MOST_KEYS: usize = 64;

/// The document could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// A document that is on its way.
pub type Fetching<'a> = Pending<'a, Result<Vec<u8>, FetchError>>;

/// What gets documents: over the network, or in tests from a table.
pub trait Fetch: Send + Sync + fmt::Debug {
    /// Gets the document at this address: within a bounded time, of a bounded size, following nothing.
    fn fetch<'a>(&'a self, url: &'a str) -> Fetching<'a>;
}

/// An OpenID provider elsewhere.
pub struct External {
    issuer: String,
    types: Vec<String>,
    environment: Environment,
    fetch: Arc<dyn Fetch>,
    keys: ArcSwapOption<Keys>,
    /// Held by the one who asks the provider; what is in it is when somebody asked last, and whether an
    /// answer came.
    asking: tokio::sync::Mutex<Option<(Moment, bool)>>,
    /// Keys that the provider does not have, and until when nobody asks again.
    unknown: Mutex<HashMap<String, Moment>>,
}

/// Shows whose it is.
impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

struct Keys {
    read_at: Moment,
    all: HashMap<String, (DecodingKey, Vec<Algorithm>)>,
}

/// What came of asking the provider for its keys.
#[derive(Clone, Copy)]
enum Asked {
    /// It answered.
    Now,
    /// It had answered somebody else a moment before.
    JustBefore,
    /// It cannot be reached.
    InVain,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

impl External {
    /// The provider that the configuration names.
    #[must_use]
    pub fn new(config: &Config, environment: Environment, fetch: Arc<dyn Fetch>) -> Self {
        let types = config.idp.external.clone().unwrap_or_default().token_types;
        Self {
            issuer: config.issuer.clone(),
            types,
            environment,
            fetch,
            keys: ArcSwapOption::empty(),
            asking: tokio::sync::Mutex::new(None),
            unknown: Mutex::default(),
        }
    }

    async fn judge(&self, token: &str, now: Moment) -> Result<TokenClaims, TokenRefusal> {
        let token = Unverified::read(token, &self.types)?;
        if !ALGORITHMS.contains(&token.algorithm()) {
            return Err(TokenRefusal::Algorithm);
        }
        let kid = token.kid().ok_or(TokenRefusal::Key)?;
        let (key, algorithms) = self.key(kid).await?;
        token.judge(&key, &algorithms, &self.issuer, now)
    }

    async fn key(&self, kid: &str) -> Result<(DecodingKey, Vec<Algorithm>), TokenRefusal> {
        if let Some(key) = self.known(kid, FRESH) {
            return Ok(key);
        }
        if self.is_unknown(kid, self.environment.now()) {
            return Err(TokenRefusal::Key);
        }
        let asked = self.ask(kid).await;
        match (self.known(kid, STALE), asked) {
            (Some(key), _) => Ok(key),
            (None, Asked::Now) => {
                self.remember_unknown(kid, self.environment.now());
                Err(TokenRefusal::Key)
            }
            (None, Asked::JustBefore) => Err(TokenRefusal::Key),
            (None, Asked::InVain) => Err(TokenRefusal::Unavailable),
        }
    }

    fn known(&self, kid: &str, age: Duration) -> Option<(DecodingKey, Vec<Algorithm>)> {
        let keys = self.keys.load();
        // The clock is looked at after the keys, which another request may have brought just now. Those that are from the
        // future all the same are from before the clock was set back: nobody knows how old they are.
        let now = self.environment.now();
        let keys = keys.as_ref().filter(|keys| keys.read_at <= now && now.since(keys.read_at) < age)?;
        keys.all.get(kid).cloned()
    }

    /// Asks the provider for its keys, unless somebody just did.
    async fn ask(&self, kid: &str) -> Asked {
        let mut asked = match self.asking.try_lock() {
            Ok(asked) => asked,
            // Somebody asks already, and this one need not wait for the answer.
            Err(_) if self.known(kid, STALE).is_some() => return Asked::JustBefore,
            Err(_) => self.asking.lock().await,
        };
        // Whoever held it before may have asked for the same, and it may have taken long.
        if self.known(kid, FRESH).is_some() {
            return Asked::JustBefore;
        }
        let now = self.environment.now();
        if let Some((at, reached)) = *asked
            && at <= now
            && now.since(at) < PAUSE
        {
            return if reached { Asked::JustBefore } else { Asked::InVain };
        }
        let read = self.read().await;
        // The pause begins when the answer is there, or none.
        *asked = Some((self.environment.now(), read.is_ok()));
        match read {
            Ok(keys) => {
                self.keys.store(Some(Arc::new(keys)));
                Asked::Now
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "the identity provider's keys cannot be had");
                Asked::InVain
            }
        }
    }

    async fn read(&self) -> Result<Keys, FetchError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let discovery: Discovery = read(&self.fetch.fetch(&url).await?, "discovery document")?;
        if discovery.issuer != self.issuer {
            return Err(FetchError("its discovery document names another issuer".to_owned()));
        }
        if self.issuer.starts_with("https://") && !discovery.jwks_uri.starts_with("https://") {
            return Err(FetchError("its keys are not behind TLS".to_owned()));
        }
        let published: Published = read(&self.fetch.fetch(&discovery.jwks_uri).await?, "list of keys")?;
        let all = published.keys.into_iter().take(MOST_KEYS).filter_map(usable).collect();
        // The clock may have been set back while they came.
        Ok(Keys { read_at: self.environment.now(), all })
    }

    fn is_unknown(&self, kid: &str, now: Moment) -> bool {
        let unknown = self.unknown.lock();
        unknown.is_ok_and(|unknown| unknown.get(kid).is_some_and(|until| is_remembered(*until, now)))
    }

    fn remember_unknown(&self, kid: &str, now: Moment) {
        let Ok(mut unknown) = self.unknown.lock() else { return };
        if unknown.len() >= MOST_UNKNOWN {
            unknown.retain(|_, until| is_remembered(*until, now));
        }
        // Beyond that the pause between two requests is bound enough.
        if unknown.len() < MOST_UNKNOWN && kid.len() <= 256 {
            unknown.insert(kid.to_owned(), now.plus(UNKNOWN));
        }
    }
}

/// Whether what is remembered until a moment still is: for no longer than it would be from now on, whatever the clock said
/// when it was noted.
fn is_remembered(until: Moment, now: Moment) -> bool {
    now < until && until <= now.plus(UNKNOWN)
}

fn read<T: for<'de> Deserialize<'de>>(document: &[u8], what: &str) -> Result<T, FetchError> {
    serde_json::from_slice(document).map_err(|_| FetchError(format!("its {what} is none")))
}

/// The algorithms that are taken at all; none with a shared secret, and not `none`.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::ES256, Algorithm::RS256, Algorithm::PS256, Algorithm::EdDSA];

/// A key for signatures, with the algorithms that it may be used by: those of its type, or the one it names.
fn usable(jwk: Value) -> Option<(String, (DecodingKey, Vec<Algorithm>))> {
    let named = jwk.get("alg").and_then(Value::as_str).map(str::to_owned);
    let jwk: Jwk = serde_json::from_value(jwk).ok()?;
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let of_type: &[(Algorithm, &str)] = match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            &[(Algorithm::ES256, "ES256")]
        }
        // 256 bytes of modulus: RFC 7518, 3.3 and 3.5 ask for 2048 bits.
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

impl Verifier for External {
    fn verify<'a>(&'a self, token: &'a str, now: Moment) -> Verifying<'a> {
        Pending::later(self.judge(token, now))
    }
}
