//! The identity provider: OAuth 2.0 with the device authorization grant. Every token is bound to a key.
//!
//! ```text
//! endpoints ──► form ──► proofs ──► provider ──► device, connections ──► store
//!                                      │
//!                  web: device page ───┘            tokens ◄── keys (built-in) or external
//! ```
//!
//! The provider grants only the scopes of the exchange. All clients are public: a client has an id and no
//! secret, so the caller is identified only by the key of the proof (IDP-04).

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
mod oauth_error_response;
pub mod password_resets;
mod proofs;
mod provider;
mod scopes;
pub mod sessions;
pub(crate) mod sign_ins;
pub mod tokens;

use std::sync::Arc;
use std::time::Duration;

pub use codes::UserCode;
pub(crate) use connections::{end_expired as end_connections, prune_ended as prune_connections};
pub use device::LoginState;
pub(crate) use device::prune_expired as prune_logins;
pub use disconnect::{DisconnectOutcome, disconnect_client, disconnect_installation};
pub use endpoints::router;
pub(crate) use keys::prune_retired as prune_keys;
pub use keys::rotate_signing_key;
pub use oauth_error_response::OauthErrorResponse;
pub use provider::{
    DEVICE_GRANT, DecidedLogin, DecisionError, IdentityProvider, LoginDecision, PendingLogin, ProviderError,
    REFRESH_GRANT, SharedProviderState,
};
pub use scopes::{OFFLINE_ACCESS, ScopeSet};
pub use sessions::BrowserSession;

/// Builds the verifier of access tokens. It uses the built-in provider or, if one is configured, the external
/// provider.
///
/// # Errors
/// Returns [`external::FetchError`] if the system has no certificates with which to verify the external
/// provider.
pub fn build_verifier(
    provider: &IdentityProvider,
) -> Result<Arc<dyn tokens::TokenVerifier>, external::FetchError> {
    let config = provider.config();
    let Some(settings) = &config.idp.external else { return Ok(Arc::new(provider.clone())) };
    let network = fetch::HttpFetcher::new(Duration::from_secs(settings.wait_seconds))?;
    let environment = provider.environment().clone();
    Ok(Arc::new(external::ExternalProvider::new(config, environment, Arc::new(network))))
}
