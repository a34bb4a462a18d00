//! The keys that access tokens are signed with: one that signs, and those before it whose tokens have not
//! ended.
//!
//! They lie in the store. A process reads them again every few seconds and whenever a token names one that
//! it does not know, so that a [`rotate`] by whomever needs no restart.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dpop_bound::{KeyPair, PublicKey};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::{Value, json};

use crate::store::{Store, StoreError, limit};
use crate::time::Moment;

/// The `typ` of access tokens (RFC 9068, 2.1).
pub(super) const TYPE: &str = "at+jwt";
/// How long the keys are taken as they were read.
const FRESH: Duration = Duration::from_secs(5);
/// How long, when a token names one that is not among them.
const SETTLED: Duration = Duration::from_secs(1);

/// How long a retired key stays in the store.
const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Puts a new key in the place of the one that signs, which stays published until its tokens have ended.
///
/// # Errors
/// What the database says, or that no key could be made.
pub fn rotate(connection: &Connection, now: Moment) -> Result<(), StoreError> {
    let pair = KeyPair::generate().map_err(|_| StoreError::Random)?;
    let pkcs8 = pair.to_pkcs8().map_err(|_| StoreError::Random)?;
    connection
        .prepare_cached("UPDATE signing_key SET retired_at = ?1 WHERE retired_at IS NULL")?
        .execute([now.millis()])?;
    connection
        .prepare_cached("INSERT INTO signing_key (kid, pkcs8, created_at) VALUES (?1, ?2, ?3)")?
        .execute(params![pair.public_key().thumbprint().to_string(), &pkcs8[..], now.millis()])?;
    Ok(())
}

/// Removes at most so many keys that retired a month ago or before; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM signing_key WHERE kid IN \
               (SELECT kid FROM signing_key WHERE retired_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.minus(KEPT).millis(), limit(most)])?)
}

/// Makes the first key where there is none.
pub(super) fn settle(connection: &Connection, now: Moment) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM signing_key WHERE retired_at IS NULL)";
    if connection.query_row(sql, [], |row| row.get(0))? { Ok(()) } else { rotate(connection, now) }
}

/// The keys as one process knows them.
pub(super) struct KeyRing {
    store: Store,
    /// How long a token of a retired key may still hold.
    token_life: Duration,
    keys: ArcSwap<Keys>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.keys.load().all.len()).finish_non_exhaustive()
    }
}

struct Keys {
    read_at: Moment,
    signing: (String, EncodingKey),
    all: Vec<Published>,
}

/// A key that tokens are verified with.
struct Published {
    kid: String,
    jwk: Value,
    key: DecodingKey,
    until: Option<Moment>,
}

impl KeyRing {
    /// Reads the keys for the first time.
    pub(super) async fn open(store: Store, token_life: Duration, now: Moment) -> Result<Self, StoreError> {
        let keys = read(&store, token_life, now).await?;
        Ok(Self { store, token_life, keys: ArcSwap::from_pointee(keys) })
    }

    /// What signs now: at hand before anything is written that a signature has to follow.
    pub(super) async fn signer(&self, now: Moment) -> Result<Signer, StoreError> {
        Ok(Signer(self.younger_than(FRESH, now).await?))
    }

    /// The key of this id, while tokens that it signed may hold.
    pub(super) async fn find(&self, kid: &str, now: Moment) -> Result<Option<DecodingKey>, StoreError> {
        let keys = self.younger_than(FRESH, now).await?;
        if let Some(key) = keys.find(kid, now) {
            return Ok(Some(key));
        }
        Ok(self.younger_than(SETTLED, now).await?.find(kid, now))
    }

    /// The published keys (RFC 7517, 5).
    pub(super) async fn published(&self, now: Moment) -> Result<Value, StoreError> {
        let keys = self.younger_than(FRESH, now).await?;
        let all: Vec<_> = keys.all.iter().filter(|key| key.holds(now)).map(|key| &key.jwk).collect();
        Ok(json!({ "keys": all }))
    }

    async fn younger_than(&self, age: Duration, now: Moment) -> Result<Arc<Keys>, StoreError> {
        let keys = self.keys.load_full();
        // A clock that was set back makes them look as if they came from the future.
        if keys.read_at <= now && now.since(keys.read_at) < age {
            return Ok(keys);
        }
        let keys = Arc::new(read(&self.store, self.token_life, now).await?);
        self.keys.store(Arc::clone(&keys));
        Ok(keys)
    }
}

/// The key that signs.
pub(super) struct Signer(Arc<Keys>);

impl Signer {
    /// Signs claims.
    pub(super) fn sign(&self, claims: &impl Serialize) -> Result<String, StoreError> {
        let (kid, key) = &self.0.signing;
        let mut header = Header::new(Algorithm::ES256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(kid.clone());
        jsonwebtoken::encode(&header, claims, key)
            .map_err(|_| StoreError::Corrupt("a signing key does not sign"))
    }
}

impl Keys {
    fn find(&self, kid: &str, now: Moment) -> Option<DecodingKey> {
        self.all.iter().find(|key| key.kid == kid && key.holds(now)).map(|key| key.key.clone())
    }
}

impl Published {
    fn holds(&self, now: Moment) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

async fn read(store: &Store, token_life: Duration, now: Moment) -> Result<Keys, StoreError> {
    // Another process may have signed with it for as long as it took it for the one that signs.
    let life = token_life.saturating_add(FRESH);
    let since = now.minus(life).millis();
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
        let pair = KeyPair::from_pkcs8(&pkcs8).map_err(|_| StoreError::Corrupt("a signing key is none"))?;
        let (jwk, key) = published(&kid, pair.public_key())?;
        let until = retired_at.map(|at| Moment::from_millis(at).plus(life));
        if until.is_none() && signing.is_none() {
            signing = Some((kid.clone(), EncodingKey::from_ec_der(&pkcs8)));
        }
        all.push(Published { kid, jwk, key, until });
    }
    let signing = signing.ok_or(StoreError::Corrupt("there is no signing key"))?;
    Ok(Keys { read_at: now, signing, all })
}

fn published(kid: &str, key: &PublicKey) -> Result<(Value, DecodingKey), StoreError> {
    let corrupt = || StoreError::Corrupt("a signing key is none");
    let mut jwk: Value = serde_json::from_str(&key.to_jwk()).map_err(|_| corrupt())?;
    jwk["kid"] = kid.into();
    jwk["use"] = "sig".into();
    jwk["alg"] = "ES256".into();
    let read = serde_json::from_value(jwk.clone()).map_err(|_| corrupt())?;
    Ok((jwk, DecodingKey::from_jwk(&read).map_err(|_| corrupt())?))
}
