//! All parts of the exchange, put together over one store.

use std::fmt;
use std::sync::Arc;

use axum::Router;

use crate::backend::Backend;
use crate::config::Config;
use crate::environment::Environment;
use crate::gateway::{Gateway, Parts};
use crate::idp::accounts::PasswordError;
use crate::idp::{self, Provider, ProviderError};
use crate::relay::Local;
use crate::store::{Store, StoreError};
use crate::web::{self, Web};

/// The exchange in one process: identity provider, pages, gateway and backend.
#[derive(Clone)]
pub struct App {
    provider: Provider,
    web: Web,
    backend: Backend,
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

impl App {
    /// Puts them together.
    ///
    /// # Errors
    /// See [`AppError`].
    pub async fn new(store: Store, environment: Environment, config: Arc<Config>) -> Result<Self, AppError> {
        let provider = Provider::new(store.clone(), environment.clone(), &config).await?;
        let backend = Backend::new(store.clone(), environment.clone(), Arc::clone(&config)).await?;
        let relay = Arc::new(Local::new(Arc::new(backend.clone())));
        let parts = Parts::of(&store, &environment, &config, Arc::new(provider.clone()), relay)?;
        let gateway = Gateway::new(parts.into_ports()?);
        let web = Web::new(provider.clone())?;
        let router = Router::new()
            .merge(gateway.router())
            .merge(idp::router(provider.clone()))
            .merge(web::router(web.clone()))
            .merge(web::confirmations(web.clone(), backend.clone()));
        Ok(Self { provider, web, backend, router })
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

    /// The backend.
    #[must_use]
    pub const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Everything over HTTP, on one origin.
    pub fn router(&self) -> Router {
        self.router.clone()
    }
}
