//! All parts of the exchange, put together over one store, as one process runs them ([`Role`]).

use std::fmt;
use std::sync::Arc;

use axum::Router;

use crate::backend::Backend;
use crate::config::{Config, Role};
use crate::environment::Environment;
use crate::gateway::{Gateway, Parts};
use crate::idp::accounts::PasswordError;
use crate::idp::external::FetchError;
use crate::idp::{self, Provider, ProviderError};
use crate::relay::served::Backends;
use crate::relay::signed::RelayKey;
use crate::relay::{HttpRelay, Local, Relay, UnusableBackend};
use crate::serve::Front;
use crate::store::{Store, StoreError};
use crate::web::{self, Web};

/// What clients and members reach: gateway, pages, and the identity provider where it is not elsewhere.
#[derive(Clone)]
pub struct App {
    provider: Provider,
    web: Web,
    backend: Backend,
    gateway: Gateway,
    router: Router,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

/// Why the parts could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The identity provider could not begin.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The identity provider elsewhere cannot be asked.
    #[error("the identity provider cannot be asked: {0}")]
    External(#[from] FetchError),
    /// The backend elsewhere cannot be called.
    #[error(transparent)]
    Relay(#[from] UnusableBackend),
    /// A gateway without the address of its backend.
    #[error("serve.backend: a gateway needs its backend's address")]
    NoBackend,
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Passwords cannot be hashed as it is configured.
    #[error("passwords cannot be hashed as the configuration says: {0}")]
    Passwords(#[from] PasswordError),
    /// There are no random numbers to be had.
    #[error("no random numbers")]
    Random(#[from] dpop_bound::random::RandomError),
    /// The gateway's origin is none.
    #[error("gateway-origin: {0}")]
    Origin(#[from] dpop_bound::target::UrlRefusal),
}

/// Everything that this process serves, as its role says: what connections are given to.
///
/// # Errors
/// See [`AppError`].
pub async fn front(store: Store, environment: Environment, config: Arc<Config>) -> Result<Front, AppError> {
    match config.serve.role {
        Role::All | Role::Gateway => Ok(App::new(store, environment, config).await?.front()),
        Role::Backend => {
            let key = relay_key(&store, &environment).await?;
            let backend = Backend::new(store, environment.clone(), Arc::clone(&config)).await?;
            let backends = Backends::new(Arc::new(backend), key, environment, config.limits.body_bytes);
            Ok(backends.into_router().into())
        }
    }
}

impl App {
    /// Puts them together, with the backend in this process or, for a gateway alone, elsewhere.
    ///
    /// With a provider elsewhere nothing of the one here is served. The pages keep sessions of their own in
    /// either case: whoever confirms something on them signs in on them. What is confirmed is applied in this
    /// process, over the store that the backend has, too.
    ///
    /// # Errors
    /// See [`AppError`].
    pub async fn new(store: Store, environment: Environment, config: Arc<Config>) -> Result<Self, AppError> {
        let provider = Provider::new(store.clone(), environment.clone(), &config).await?;
        let backend = Backend::new(store.clone(), environment.clone(), Arc::clone(&config)).await?;
        let relay: Arc<dyn Relay> = match config.serve.role {
            Role::All | Role::Backend => Arc::new(Local::new(Arc::new(backend.clone()))),
            Role::Gateway => {
                let base = config.serve.backend.as_deref().ok_or(AppError::NoBackend)?;
                let key = relay_key(&store, &environment).await?;
                let wait = config.limits.relay_wait();
                Arc::new(HttpRelay::new(base, key, environment.clone(), wait)?)
            }
        };
        let parts = Parts::of(&store, &environment, &config, idp::verifier(&provider)?, relay)?;
        let gateway = Gateway::new(parts.into_ports()?);
        let web = Web::new(provider.clone())?;
        let mut router = Router::new()
            .merge(gateway.router())
            .merge(web::router(web.clone()))
            .merge(web::confirmations(web.clone(), backend.clone()))
            .merge(web::drafts(web.clone(), backend.clone()))
            .merge(web::own(web.clone(), backend.clone()));
        if !config.is_external() {
            router = router.merge(idp::router(provider.clone()));
        }
        Ok(Self { provider, web, backend, gateway, router })
    }

    /// The identity provider.
    #[must_use]
    pub const fn provider(&self) -> &Provider {
        &self.provider
    }

    /// The member's pages.
    #[must_use]
    pub const fn web(&self) -> &Web {
        &self.web
    }

    /// The backend, as the pages have it.
    #[must_use]
    pub const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Everything over HTTP, on one origin.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The same for connections.
    #[must_use]
    pub fn front(&self) -> Front {
        Front::of(self.gateway.clone(), self.router())
    }
}

async fn relay_key(store: &Store, environment: &Environment) -> Result<RelayKey, StoreError> {
    let environment = environment.clone();
    store.write(move |connection| RelayKey::of_store(connection, environment.random())).await
}
