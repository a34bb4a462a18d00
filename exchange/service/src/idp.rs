//! The identity provider: OAuth with the device grant, every token bound to a key.
//!
//! ```text
//! endpoints ──► form ──► proofs ──► provider ──► device, connections ──► store
//!                                      │
//!                  web: device page ───┘            tokens ◄── keys (ours) or external (theirs)
//! ```
//!
//! It knows nothing of the exchange's areas but their scopes. A client is public: it has an id and no
//! secret, so the only thing that tells who asks is the key behind the proof (IDP-04).

pub mod accounts;
mod codes;
mod connections;
mod device;
mod disconnect;
mod endpoints;
pub mod external;
pub mod fetch;
mod form;
pub mod guesses;
pub mod installed;
mod jwt;
mod keys;
mod proofs;
mod provider;
mod refusal;
mod scopes;
pub mod sessions;
pub mod tokens;

use std::sync::Arc;
use std::time::Duration;

pub use codes::UserCode;
pub(crate) use connections::{end_over as end_connections, prune as prune_connections};
pub use device::State as LoginState;
pub(crate) use device::prune as prune_logins;
pub use disconnect::{Disconnected, disconnect_client, disconnect_installation};
pub use endpoints::router;
pub(crate) use keys::prune as prune_keys;
pub use keys::rotate;
pub use provider::{
    DEVICE_GRANT, Decision, Provider, ProviderError, REFRESH_GRANT, Shared, Undecided, Waiting,
};
pub use refusal::Refusal;
pub use scopes::{OFFLINE_ACCESS, Scopes};
pub use sessions::Session;

/// Who judges access tokens: the provider in this process, or the one elsewhere that the configuration
/// names in its place.
///
/// # Errors
/// When there are no certificates to trust the other one by.
pub fn verifier(provider: &Provider) -> Result<Arc<dyn tokens::Verifier>, external::FetchError> {
    let config = provider.config();
    let Some(settings) = &config.idp.external else { return Ok(Arc::new(provider.clone())) };
    let network = fetch::Network::new(Duration::from_secs(settings.wait_seconds))?;
    let environment = provider.environment().clone();
    Ok(Arc::new(external::External::new(config, environment, Arc::new(network))))
}
