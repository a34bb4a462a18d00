//! Assembles the exchange: creates the parts that the role of the process ([`ProcessRole`]) requires, over
//! one store.

use std::fmt;
use std::sync::Arc;

use axum::Router;

use crate::backend::Backend;
use crate::config::{Config, ProcessRole};
use crate::environment::Environment;
use crate::gateway::{Gateway, GatewayParts};
use crate::idp::accounts::PasswordError;
use crate::idp::external::FetchError;
use crate::idp::{self, IdentityProvider, ProviderError};
use crate::relay::server::BackendServer;
use crate::relay::signature::RelayKey;
use crate::relay::{BackendClientError, HttpRelay, LocalRelay, Relay};
use crate::serve::RequestDispatcher;
use crate::store::{Store, StoreError};
use crate::web::{self, WebState};

/// The routes that clients and members call: the gateway, the web pages and, unless it is external, the
/// identity provider.
#[derive(Clone)]
pub struct App {
    provider: IdentityProvider,
    web: WebState,
    backend: Backend,
    gateway: Gateway,
    router: Router,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

/// The reason the application could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The identity provider could not start.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The external identity provider cannot be reached.
    #[error("the external identity provider cannot be used: {0}")]
    External(#[from] FetchError),
    /// The HTTP client for a remote backend cannot be created.
    #[error(transparent)]
    Relay(#[from] BackendClientError),
    /// The configuration of a gateway process lacks the address of the backend.
    #[error("serve.backend: a gateway needs the address of its backend")]
    NoBackend,
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configured cost of password hashing is invalid.
    #[error("cannot hash passwords with the configured cost: {0}")]
    Passwords(#[from] PasswordError),
    /// The random number generator failed.
    #[error("the random number generator failed")]
    Random(#[from] dpop_bound::random::RandomError),
    /// The configured origin of the gateway is invalid.
    #[error("gateway-origin: {0}")]
    Origin(#[from] dpop_bound::target::UrlError),
}

/// Builds the request dispatcher for the role of this process.
///
/// # Errors
/// See [`AppError`].
pub async fn build_dispatcher(
    store: Store,
    environment: Environment,
    config: Arc<Config>,
) -> Result<RequestDispatcher, AppError> {
    match config.serve.role {
        ProcessRole::All | ProcessRole::Gateway => {
            Ok(App::new(store, environment, config).await?.dispatcher())
        }
        ProcessRole::Backend => {
            let key = relay_key(&store, &environment).await?;
            let backend = Backend::new(store, environment.clone(), Arc::clone(&config)).await?;
            let backends = BackendServer::new(Arc::new(backend), key, environment, config.limits.body_bytes);
            Ok(backends.into_router().into())
        }
    }
}

impl App {
    /// Creates the parts. The gateway calls the backend of this process. In a gateway process, it calls that of
    /// another process instead.
    ///
    /// With an external identity provider, the built-in provider serves no routes. The web pages always use
    /// their own sessions, so a member must sign in on them to confirm a held batch. This process applies the
    /// confirmed batch to the store that it shares with the backend.
    ///
    /// # Errors
    /// See [`AppError`].
    pub async fn new(store: Store, environment: Environment, config: Arc<Config>) -> Result<Self, AppError> {
        let provider = IdentityProvider::new(store.clone(), environment.clone(), &config).await?;
        let backend = Backend::new(store.clone(), environment.clone(), Arc::clone(&config)).await?;
        let relay: Arc<dyn Relay> = match config.serve.role {
            ProcessRole::All | ProcessRole::Backend => Arc::new(LocalRelay::new(Arc::new(backend.clone()))),
            ProcessRole::Gateway => {
                let base = config.serve.backend.as_deref().ok_or(AppError::NoBackend)?;
                let key = relay_key(&store, &environment).await?;
                let wait = config.limits.relay_timeout();
                Arc::new(HttpRelay::new(base, key, environment.clone(), wait)?)
            }
        };
        let parts =
            GatewayParts::in_process(&store, &environment, &config, idp::build_verifier(&provider)?, relay)?;
        let gateway = Gateway::new(parts.into_ports()?);
        let web = WebState::new(provider.clone())?;
        let mut router = Router::new()
            .merge(gateway.router())
            .merge(web::router(web.clone()))
            .merge(web::confirmation_routes(web.clone(), backend.clone()))
            .merge(web::draft_routes(web.clone(), backend.clone()))
            .merge(web::member_routes(web.clone(), backend.clone()));
        if !config.is_external() {
            router = router.merge(idp::router(provider.clone()));
        }
        Ok(Self { provider, web, backend, gateway, router })
    }

    /// Returns the identity provider.
    #[must_use]
    pub const fn provider(&self) -> &IdentityProvider {
        &self.provider
    }

    /// Returns the state of the members' web pages.
    #[must_use]
    pub const fn web(&self) -> &WebState {
        &self.web
    }

    /// Returns the backend that the web pages use.
    #[must_use]
    pub const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Returns a router for all routes, for use on one origin.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Returns the dispatcher for accepted connections. It sends requests for gateway paths directly to the
    /// gateway, without the router.
    #[must_use]
    pub fn dispatcher(&self) -> RequestDispatcher {
        RequestDispatcher::with_gateway(self.gateway.clone(), self.router())
    }
}

async fn relay_key(store: &Store, environment: &Environment) -> Result<RelayKey, StoreError> {
    let environment = environment.clone();
    store.write(move |connection| RelayKey::from_store(connection, environment.random())).await
}
