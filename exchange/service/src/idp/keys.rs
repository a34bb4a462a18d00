//! The signing keys of access tokens: the current key, and retired keys whose tokens have not expired.
//!
//! The keys are in the store. A process reloads them every few seconds, and when a token names an unknown
//! key. After another process called [`rotate_signing_key`], no restart is therefore needed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dpop_bound::{KeyPair, PublicKey};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::{Value, json};

use crate::store::{Store, StoreError, sql_limit};
use crate::time::Moment;

/// The `typ` of access tokens (RFC 9068, section 2.1).
pub(super) const TOKEN_TYPE: &str = "at+jwt";
const CACHE_AGE: Duration = Duration::from_secs(5);
/// The maximum age of the loaded keys when a token names an unknown key. Older keys are loaded again.
const MISS_CACHE_AGE: Duration = Duration::from_secs(1);

/// The period for which a retired key is kept in the store.
const RETIRED_KEY_AGE: Duration = Duration::from_secs(30 * 86_400);

/// Replaces the signing key. The old key stays published until its tokens have expired.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails or no key can be generated.
pub fn rotate_signing_key(connection: &Connection, now: Moment) -> Result<(), StoreError> {
    let pair = KeyPair::generate().map_err(|_| StoreError::Random)?;
    let pkcs8 = pair.to_pkcs8().map_err(|_| StoreError::Random)?;
    connection
        .prepare_cached("UPDATE signing_key SET retired_at = ?1 WHERE retired_at IS NULL")?
        .execute([now.as_millis()])?;
    connection
        .prepare_cached("INSERT INTO signing_key (kid, pkcs8, created_at) VALUES (?1, ?2, ?3)")?
        .execute(params![pair.public_key().thumbprint().to_string(), &pkcs8[..], now.as_millis()])?;
    Ok(())
}

/// Deletes at most `limit` keys that were retired at least 30 days ago. Returns the number of deleted keys.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_retired(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM signing_key WHERE kid IN \
               (SELECT kid FROM signing_key WHERE retired_at <= ?1 LIMIT ?2)";
    Ok(connection
        .prepare_cached(sql)?
        .execute(params![now.minus(RETIRED_KEY_AGE).as_millis(), sql_limit(limit)])?)
}

/// Creates a signing key if there is none.
pub(super) fn ensure_signing_key(connection: &Connection, now: Moment) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM signing_key WHERE retired_at IS NULL)";
    if connection.query_row(sql, [], |row| row.get(0))? {
        Ok(())
    } else {
        rotate_signing_key(connection, now)
    }
}

pub(super) struct KeyRing {
    store: Store,
    /// The lifetime of tokens. A retired key remains valid for this time plus the maximum age of the cache.
    token_life: Duration,
    keys: ArcSwap<LoadedKeys>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.keys.load().all.len()).finish_non_exhaustive()
    }
}

struct LoadedKeys {
    read_at: Moment,
    signing: (String, EncodingKey),
    all: Vec<VerificationKey>,
}

struct VerificationKey {
    kid: String,
    jwk: Value,
    key: DecodingKey,
    until: Option<Moment>,
}

impl KeyRing {
    pub(super) async fn load(store: Store, token_life: Duration, now: Moment) -> Result<Self, StoreError> {
        let keys = read_keys(&store, token_life, now).await?;
        Ok(Self { store, token_life, keys: ArcSwap::from_pointee(keys) })
    }

    /// Returns the current signer. Call this function before the writes that issue tokens, because it may
    /// fail.
    pub(super) async fn current_signer(&self, now: Moment) -> Result<TokenSigner, StoreError> {
        Ok(TokenSigner(self.load_younger_than(CACHE_AGE, now).await?))
    }

    /// Finds a key by its id, as long as tokens with this key may be valid.
    pub(super) async fn find_key(&self, kid: &str, now: Moment) -> Result<Option<DecodingKey>, StoreError> {
        let keys = self.load_younger_than(CACHE_AGE, now).await?;
        if let Some(key) = keys.find_key(kid, now) {
            return Ok(Some(key));
        }
        Ok(self.load_younger_than(MISS_CACHE_AGE, now).await?.find_key(kid, now))
    }

    /// Returns the published key set (RFC 7517, section 5).
    pub(super) async fn published_jwks(&self, now: Moment) -> Result<Value, StoreError> {
        let keys = self.load_younger_than(CACHE_AGE, now).await?;
        let all: Vec<_> = keys.all.iter().filter(|key| key.is_valid(now)).map(|key| &key.jwk).collect();
        Ok(json!({ "keys": all }))
    }

    async fn load_younger_than(&self, age: Duration, now: Moment) -> Result<Arc<LoadedKeys>, StoreError> {
        let keys = self.keys.load_full();
        // After the clock was set back, the keys seem to be from the future and are reloaded.
        if keys.read_at <= now && now.since(keys.read_at) < age {
            return Ok(keys);
        }
        let keys = Arc::new(read_keys(&self.store, self.token_life, now).await?);
        self.keys.store(Arc::clone(&keys));
        Ok(keys)
    }
}

pub(super) struct TokenSigner(Arc<LoadedKeys>);

impl TokenSigner {
    pub(super) fn sign_claims(&self, claims: &impl Serialize) -> Result<String, StoreError> {
        let (kid, key) = &self.0.signing;
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TOKEN_TYPE.to_owned());
        header.kid = Some(kid.clone());
        jsonwebtoken::encode(&header, claims, key).map_err(|_| StoreError::Corrupt("unusable signing key"))
    }
}

impl LoadedKeys {
    fn find_key(&self, kid: &str, now: Moment) -> Option<DecodingKey> {
        self.all.iter().find(|key| key.kid == kid && key.is_valid(now)).map(|key| key.key.clone())
    }
}

impl VerificationKey {
    fn is_valid(&self, now: Moment) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

async fn read_keys(store: &Store, token_life: Duration, now: Moment) -> Result<LoadedKeys, StoreError> {
    // Until its cache expires, another process may still sign tokens with a retired key.
    let life = token_life.saturating_add(CACHE_AGE);
    let since = now.minus(life).as_millis();
    let rows: Vec<(String, Vec<u8>, Option<i64>)> = store
        .read(move |connection| {
            let sql = "SELECT kid, pkcs8, retired_at FROM signing_key \
                       WHERE retired_at IS NULL OR retired_at > ?1 ORDER BY created_at DESC, kid";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map([since], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        })
        .await?;
    let mut signing = None;
    let mut all = Vec::with_capacity(rows.len());
    for (kid, pkcs8, retired_at) in rows {
        let pair = KeyPair::from_pkcs8(&pkcs8).map_err(|_| StoreError::Corrupt("invalid signing key"))?;
        let (jwk, key) = to_jwk(&kid, pair.public_key())?;
        let until = retired_at.map(|time| Moment::from_millis(time).plus(life));
        if until.is_none() && signing.is_none() {
            signing = Some((kid.clone(), EncodingKey::from_ec_der(&pkcs8)));
        }
        all.push(VerificationKey { kid, jwk, key, until });
    }
    let signing = signing.ok_or(StoreError::Corrupt("no signing key"))?;
    Ok(LoadedKeys { read_at: now, signing, all })
}

fn to_jwk(kid: &str, key: &PublicKey) -> Result<(Value, DecodingKey), StoreError> {
    let corrupt = || StoreError::Corrupt("invalid signing key");
    let mut jwk: Value = serde_json::from_str(&key.to_jwk()).map_err(|_| corrupt())?;
    jwk["kid"] = kid.into();
    jwk["use"] = "sig".into();
    jwk["alg"] = "ES256".into();
    let read = serde_json::from_value(jwk.clone()).map_err(|_| corrupt())?;
    Ok((jwk, DecodingKey::from_jwk(&read).map_err(|_| corrupt())?))
}
