//! Whom the stages ask.

use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::live::Caps;
use dpop_bound::nonce::{NonceIssuer, NonceKey};
use dpop_bound::random::RandomError;
use dpop_bound::target::UrlRefusal;
use dpop_bound::{LiveProofs, Origin, ReplayStore, Window};

use super::answering::Second;
use super::body::Room;
pub use super::installations::{Installations, Of, Seen};
pub use super::keys::{Asked, Keys};
use super::newcomers::Known;
use super::tokens::Tokens;
use crate::Environment;
use crate::config::Config;
use crate::idempotency::Terms;
use crate::idp::tokens::Verifier;
use crate::relay::Relay;
use crate::shared::bulkhead::{Bulkhead, MemoryBulkhead};
use crate::shared::quota::QuotaCounter;
use crate::shared::rate::{MemoryRates, RateLimiter};
use crate::shared::registry::{CachedRegistry, RegistryView};
use crate::store::Store;

/// What a gateway is made of; what is not said is as one process has it ([`Parts::of`]).
pub struct Parts {
    /// Clock and randomness.
    pub environment: Environment,
    /// Its numbers.
    pub config: Arc<Config>,
    /// Who judges access tokens.
    pub verifier: Arc<dyn Verifier>,
    /// Where live proofs are remembered.
    pub proofs: Arc<dyn ReplayStore>,
    /// The key of its nonces: shared by whoever shares the live proofs.
    pub nonce_key: NonceKey,
    /// The registry.
    pub registry: Arc<dyn RegistryView>,
    /// Installations and what was disconnected.
    pub installations: Arc<dyn Installations>,
    /// Limits per minute and hour.
    pub rates: Arc<dyn RateLimiter>,
    /// The daily write quota.
    pub quota: Arc<dyn QuotaCounter>,
    /// Places for large sets.
    pub bulkhead: Arc<dyn Bulkhead>,
    /// Idempotency keys.
    pub keys: Arc<dyn Keys>,
    /// The backend.
    pub relay: Arc<dyn Relay>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// How far a proof's `iat` may be from the gateway's time (LIM-10).
const WINDOW: Window = Window::seconds(30, 30);

impl Parts {
    /// Everything in this process and its store. Nonces end with the process (LIM-12), as the live proofs do.
    ///
    /// # Errors
    /// When there are no random numbers for the key of the nonces.
    pub fn of(
        store: &Store,
        environment: &Environment,
        config: &Arc<Config>,
        verifier: Arc<dyn Verifier>,
        relay: Arc<dyn Relay>,
    ) -> Result<Self, RandomError> {
        let limits = &config.limits;
        let caps = Caps {
            per_account: limits.live_proofs_of_member,
            per_source: limits.live_proofs_of_member,
            total: limits.live_proofs,
        };
        Ok(Self {
            environment: environment.clone(),
            config: Arc::clone(config),
            verifier,
            proofs: Arc::new(Mutex::new(LiveProofs::new(WINDOW, caps))),
            nonce_key: NonceKey::generate(&environment.random())?,
            registry: Arc::new(CachedRegistry::new(store.clone())),
            installations: Arc::new(store.clone()),
            rates: Arc::new(MemoryRates::new(limits.counted)),
            quota: Arc::new(store.clone()),
            bulkhead: Arc::new(MemoryBulkhead::new(
                limits.large_sets,
                limits.relay_wait().saturating_add(Duration::from_secs(1)),
            )),
            keys: Arc::new(store.clone()),
            relay,
        })
    }

    /// Ready to be asked.
    ///
    /// # Errors
    /// When the configured origin is none.
    pub fn into_ports(self) -> Result<Ports, UrlRefusal> {
        let limits = &self.config.limits;
        Ok(Ports {
            origin: Origin::of(&self.config.gateway_origin)?,
            tokens: Tokens::new(self.verifier, limits.known_tokens),
            nonces: NonceIssuer::new(&self.nonce_key, "gateway"),
            terms: Terms::of(limits),
            known: Known::new(limits.counted),
            held: Room::new(limits.held_bytes, limits.body_bytes),
            checked: AtomicU32::new(0),
            second: ArcSwapOption::empty(),
            environment: self.environment,
            config: self.config,
            proofs: self.proofs,
            registry: self.registry,
            installations: self.installations,
            rates: self.rates,
            quota: self.quota,
            bulkhead: self.bulkhead,
            keys: self.keys,
            relay: self.relay,
        })
    }
}

/// The same, with what is worked out once.
pub struct Ports {
    pub(super) environment: Environment,
    pub(super) config: Arc<Config>,
    pub(super) origin: Origin,
    pub(super) tokens: Tokens,
    pub(super) nonces: NonceIssuer,
    pub(super) terms: Terms,
    pub(super) proofs: Arc<dyn ReplayStore>,
    pub(super) registry: Arc<dyn RegistryView>,
    pub(super) installations: Arc<dyn Installations>,
    pub(super) rates: Arc<dyn RateLimiter>,
    pub(super) quota: Arc<dyn QuotaCounter>,
    pub(super) bulkhead: Arc<dyn Bulkhead>,
    pub(super) keys: Arc<dyn Keys>,
    pub(super) relay: Arc<dyn Relay>,
    /// Who has proven something lately.
    pub(super) known: Known,
    /// Room for bodies.
    pub(super) held: Room,
    /// Answers since one was checked.
    pub(super) checked: AtomicU32,
    /// What answers of this second carry.
    pub(super) second: ArcSwapOption<Second>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}
