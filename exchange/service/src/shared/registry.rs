//! The registry as a gateway sees it: at most a few seconds old (GW-02, LIM-27).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::Pending;
use tokio::sync::Mutex;

use super::Unavailable;
use crate::registry::Registry;
use crate::store::Store;
use crate::time::Moment;

/// The registry, from wherever it can be had fast enough for every request.
pub trait RegistryView: Send + Sync {
    /// What it says, as of at most five seconds before `now`.
    fn view(&self, now: Moment) -> Pending<'_, Result<Arc<Registry>, Unavailable>>;
}

/// How old what is seen may be (LIM-27).
pub const LONGEST: Duration = Duration::from_secs(5);

/// Reads the store, and again when what it read is too old; one request reads for all that wait.
pub struct CachedRegistry {
    store: Store,
    seen: ArcSwapOption<Seen>,
    reading: Mutex<()>,
}

struct Seen {
    at: Moment,
    registry: Arc<Registry>,
}

impl fmt::Debug for CachedRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedRegistry").finish_non_exhaustive()
    }
}

impl CachedRegistry {
    /// Nothing was read yet.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, seen: ArcSwapOption::empty(), reading: Mutex::default() }
    }

    fn fresh(&self, now: Moment) -> Option<Arc<Registry>> {
        let seen = self.seen.load();
        // A clock that stepped back makes it look newer than it is; then nobody knows how old it is.
        let fresh = seen.as_ref().filter(|seen| now >= seen.at && now.since(seen.at) < LONGEST)?;
        Some(Arc::clone(&fresh.registry))
    }

    async fn read(&self, now: Moment) -> Result<Arc<Registry>, Unavailable> {
        let _reading = self.reading.lock().await;
        if let Some(registry) = self.fresh(now) {
            return Ok(registry);
        }
        let registry = self.store.read(Registry::read).await.map_err(|error| Unavailable::because(&error))?;
        let registry = Arc::new(registry);
        self.seen.store(Some(Arc::new(Seen { at: now, registry: Arc::clone(&registry) })));
        Ok(registry)
    }
}

impl RegistryView for CachedRegistry {
    fn view(&self, now: Moment) -> Pending<'_, Result<Arc<Registry>, Unavailable>> {
        match self.fresh(now) {
            Some(registry) => Pending::ready(Ok(registry)),
            None => Pending::later(self.read(now)),
        }
    }
}

/// The rules of every view, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// All of them; `set` switches the exchange on or off at the source.
    pub(crate) async fn every_rule<V: RegistryView>(view: &V, set: impl AsyncFn(bool)) {
        let sees =
            async |millis| view.view(NOW.plus(Duration::from_millis(millis))).await.unwrap().switched_on;
        set(true).await;
        assert!(sees(0).await);
        set(false).await;
        assert!(!sees(5000).await, "nothing older than five seconds is seen");
        set(true).await;
        assert!(sees(10_000).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Options, Place, StoreError};

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    async fn set(store: &Store, on: bool) {
        let value = if on { "on" } else { "off" };
        let sql = "INSERT INTO setting (name, value) VALUES ('exchange', ?1) \
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        let done = store.write(move |connection| Ok::<_, StoreError>(connection.execute(sql, [value])?));
        done.await.unwrap();
    }

    /// LIM-27, GW-02
    #[tokio::test]
    async fn the_cache_keeps_the_rules() {
        let store = Store::open(&Options::new(Place::Memory)).unwrap();
        contract::every_rule(&CachedRegistry::new(store.clone()), async |on| set(&store, on).await).await;
    }

    /// LIM-27: within five seconds nobody asks the store, after them one does; a clock that steps back makes
    /// nothing fresh.
    #[tokio::test]
    async fn it_is_read_once_in_five_seconds() {
        let store = Store::open(&Options::new(Place::Memory)).unwrap();
        let cached = CachedRegistry::new(store.clone());
        let sees = async |at: Moment| cached.view(at).await.unwrap().switched_on;
        assert!(!sees(NOW).await);
        set(&store, true).await;
        assert!(!sees(NOW.plus(Duration::from_millis(4999))).await);
        assert!(sees(NOW.minus(Duration::from_secs(3600))).await);
    }
}
