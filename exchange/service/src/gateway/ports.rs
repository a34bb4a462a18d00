//! The collaborators of the stages. [`GatewayParts`] is the input from which a gateway is built;
//! [`GatewayPorts`] is the form in which the stages use them.

use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use dpop_bound::nonce::{NonceIssuer, NonceKey};
use dpop_bound::random::RandomError;
use dpop_bound::replay::ReplayLimits;
use dpop_bound::target::UrlError;
use dpop_bound::{Origin, ProofWindow, ReplayCache, ReplayStore};

use super::body::BodyBudget;
pub use super::installations::{InstallationKey, InstallationStore, RecordedCall};
pub use super::keys::{KeyRequest, KeyStore};
use super::newcomers::RecentSources;
use super::response_headers::SecondHeaders;
use super::tokens::TokenCache;
use crate::Environment;
use crate::config::Config;
use crate::idempotency::KeyRetention;
use crate::idp::tokens::TokenVerifier;
use crate::relay::Relay;
use crate::shared::bulkhead::{Bulkhead, MemoryBulkhead};
use crate::shared::quota::QuotaCounter;
use crate::shared::rate::{MemoryRateLimiter, RateLimiter};
use crate::shared::registry::{CachedRegistry, RegistryView};
use crate::store::Store;

/// The collaborators from which a gateway is built. [`GatewayParts::in_process`] provides the defaults for a
/// single process.
pub struct GatewayParts {
    /// The clock and the source of random numbers.
    pub environment: Environment,
    /// The configuration.
    pub config: Arc<Config>,
    /// The verifier of access tokens.
    pub verifier: Arc<dyn TokenVerifier>,
    /// The store of used proofs.
    pub proofs: Arc<dyn ReplayStore>,
    /// The key from which nonces are derived. Gateways that share the store of used proofs must share this
    /// key.
    pub nonce_key: NonceKey,
    /// The registry of clients.
    pub registry: Arc<dyn RegistryView>,
    /// The store of installations and revocations.
    pub installations: Arc<dyn InstallationStore>,
    /// The limiter for rates per second, minute and hour.
    pub rates: Arc<dyn RateLimiter>,
    /// The counter of the daily write quota.
    pub quota: Arc<dyn QuotaCounter>,
    /// The limit on large change sets that run at once.
    pub bulkhead: Arc<dyn Bulkhead>,
    /// The store of idempotency keys.
    pub keys: Arc<dyn KeyStore>,
    /// The connection to the backend.
    pub relay: Arc<dyn Relay>,
}

impl fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayParts").finish_non_exhaustive()
    }
}

/// The accepted difference between the `iat` of a proof and the gateway's time (LIM-10).
pub(crate) const PROOF_WINDOW: ProofWindow = ProofWindow::from_secs(30, 30);

impl GatewayParts {
    /// Creates collaborators within this process and its store. Nonces (LIM-12) and used proofs are lost when
    /// the process ends.
    ///
    /// # Errors
    /// Returns [`RandomError`] if the random number generator fails while the nonce key is created.
    pub fn in_process(
        store: &Store,
        environment: &Environment,
        config: &Arc<Config>,
        verifier: Arc<dyn TokenVerifier>,
        relay: Arc<dyn Relay>,
    ) -> Result<Self, RandomError> {
        let limits = &config.limits;
        let caps = ReplayLimits {
            per_account: limits.live_proofs_of_member,
            per_source: limits.live_proofs_of_member,
            total: limits.live_proofs,
        };
        Ok(Self {
            environment: environment.clone(),
            config: Arc::clone(config),
            verifier,
            proofs: Arc::new(Mutex::new(ReplayCache::new(PROOF_WINDOW, caps))),
            nonce_key: NonceKey::generate(&environment.random())?,
            registry: Arc::new(CachedRegistry::new(store.clone())),
            installations: Arc::new(store.clone()),
            rates: Arc::new(MemoryRateLimiter::new(limits.counted)),
            quota: Arc::new(store.clone()),
            bulkhead: Arc::new(MemoryBulkhead::new(
                limits.large_sets,
                limits.relay_timeout().saturating_add(Duration::from_secs(1)),
            )),
            keys: Arc::new(store.clone()),
            relay,
        })
    }

    /// Prepares the collaborators for use by the stages.
    ///
    /// # Errors
    /// Returns [`UrlError`] if the configured origin is invalid.
    pub fn into_ports(self) -> Result<GatewayPorts, UrlError> {
        let limits = &self.config.limits;
        Ok(GatewayPorts {
            origin: Origin::from_url(&self.config.gateway_origin)?,
            tokens: TokenCache::new(self.verifier, limits.known_tokens),
            nonces: NonceIssuer::new(&self.nonce_key, "gateway"),
            terms: KeyRetention::from_config(limits),
            recent_sources: RecentSources::new(limits.counted),
            body_budget: BodyBudget::new(limits.held_bytes, limits.body_bytes),
            counted_responses: AtomicU32::new(0),
            second_headers: ArcSwapOption::empty(),
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

/// The collaborators of a gateway, with the state that is derived from them.
pub struct GatewayPorts {
    pub(super) environment: Environment,
    pub(super) config: Arc<Config>,
    pub(super) origin: Origin,
    pub(super) tokens: TokenCache,
    pub(super) nonces: NonceIssuer,
    pub(super) terms: KeyRetention,
    pub(super) proofs: Arc<dyn ReplayStore>,
    pub(super) registry: Arc<dyn RegistryView>,
    pub(super) installations: Arc<dyn InstallationStore>,
    pub(super) rates: Arc<dyn RateLimiter>,
    pub(super) quota: Arc<dyn QuotaCounter>,
    pub(super) bulkhead: Arc<dyn Bulkhead>,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) relay: Arc<dyn Relay>,
    pub(super) recent_sources: RecentSources,
    pub(super) body_budget: BodyBudget,
    /// The number of responses so far, from which the next contract check is determined.
    pub(super) counted_responses: AtomicU32,
    /// The headers that all responses of the current second share.
    pub(super) second_headers: ArcSwapOption<SecondHeaders>,
}

impl fmt::Debug for GatewayPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayPorts").finish_non_exhaustive()
    }
}
