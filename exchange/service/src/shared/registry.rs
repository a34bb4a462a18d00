//! A view of the registry for the gateway, which is at most five seconds old (GW-02, LIM-27).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::MaybeReady;
use tokio::sync::Mutex;

use super::SharedStateError;
use crate::registry::Registry;
use crate::store::Store;
use crate::time::Moment;

/// A view of the registry that is fast enough for every request.
pub trait RegistryView: Send + Sync {
    /// Returns a state of the registry that was current at most five seconds before `now`.
    fn view(&self, now: Moment) -> MaybeReady<'_, Result<Arc<Registry>, SharedStateError>>;

    /// Drops a cached state, so that the next view is current. Does nothing without a cache.
    fn invalidate(&self) {}
}

/// The maximum age of the cached registry (LIM-27).
pub const MAX_AGE: Duration = Duration::from_secs(5);

/// A cache of the store's registry. When the cached registry is too old, one request reloads it, and
/// concurrent requests wait for the result.
pub struct CachedRegistry {
    store: Store,
    snapshot: ArcSwapOption<RegistrySnapshot>,
    reading: Mutex<()>,
}

struct RegistrySnapshot {
    read_at: Moment,
    registry: Arc<Registry>,
}

impl fmt::Debug for CachedRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedRegistry").finish_non_exhaustive()
    }
}

impl CachedRegistry {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, snapshot: ArcSwapOption::empty(), reading: Mutex::default() }
    }

    fn fresh_registry(&self, now: Moment) -> Option<Arc<Registry>> {
        let seen = self.snapshot.load();
        // After the clock was set back, the age is unknown, and the cached registry counts as stale.
        let fresh = seen.as_ref().filter(|seen| now >= seen.read_at && now.since(seen.read_at) < MAX_AGE)?;
        Some(Arc::clone(&fresh.registry))
    }

    async fn refresh_registry(&self, now: Moment) -> Result<Arc<Registry>, SharedStateError> {
        let _reading = self.reading.lock().await;
        if let Some(registry) = self.fresh_registry(now) {
            return Ok(registry);
        }
        let registry =
            self.store.read(Registry::load).await.map_err(|error| SharedStateError::from_error(&error))?;
        let registry = Arc::new(registry);
        self.snapshot
            .store(Some(Arc::new(RegistrySnapshot { read_at: now, registry: Arc::clone(&registry) })));
        Ok(registry)
    }
}

impl RegistryView for CachedRegistry {
    fn view(&self, now: Moment) -> MaybeReady<'_, Result<Arc<Registry>, SharedStateError>> {
        match self.fresh_registry(now) {
            Some(registry) => MaybeReady::ready(Ok(registry)),
            None => MaybeReady::boxed(self.refresh_registry(now)),
        }
    }

    fn invalidate(&self) {
        self.snapshot.store(None);
    }
}

/// Tests that every implementation of `RegistryView` must pass.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// Runs all tests. `set` must switch the exchange on or off in the source of the view.
    pub(crate) async fn check_every_rule<V: RegistryView>(view: &V, set: impl AsyncFn(bool)) {
        let sees =
            async |millis| view.view(NOW.plus(Duration::from_millis(millis))).await.unwrap().switched_on;
        set(true).await;
        assert!(sees(0).await);
        set(false).await;
        assert!(!sees(5000).await, "the view is at most five seconds old");
        set(true).await;
        assert!(sees(10_000).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{StoreError, StoreLocation, StoreOptions};

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    async fn set(store: &Store, on: bool) {
        let value = if on { "on" } else { "off" };
        let sql = "INSERT INTO setting (name, value) VALUES ('exchange', ?1) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        let done = store.write(move |connection| Ok::<_, StoreError>(connection.execute(sql, [value])?));
        done.await.unwrap();
    }

    /// LIM-27, GW-02: the cache passes the contract tests.
    #[tokio::test]
    async fn cache_passes_the_contract_tests() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        contract::check_every_rule(&CachedRegistry::new(store.clone()), async |on| set(&store, on).await)
            .await;
    }

    /// LIM-27: the store is not read again within five seconds. After the clock was set back, the cached
    /// registry is stale.
    #[tokio::test]
    async fn store_is_read_once_in_five_seconds() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let cached = CachedRegistry::new(store.clone());
        let sees = async |time: Moment| cached.view(time).await.unwrap().switched_on;
        assert!(!sees(NOW).await);
        set(&store, true).await;
        assert!(!sees(NOW.plus(Duration::from_millis(4999))).await);
        assert!(sees(NOW.minus(Duration::from_secs(3600))).await);
    }

    /// A reload makes a change visible immediately.
    #[tokio::test]
    async fn invalidated_registry_is_read_again() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let cached = CachedRegistry::new(store.clone());
        assert!(!cached.view(NOW).await.unwrap().switched_on);
        set(&store, true).await;
        cached.invalidate();
        assert!(cached.view(NOW).await.unwrap().switched_on);
    }
}
