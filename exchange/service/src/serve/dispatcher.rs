//! Dispatches each request: those for `/exchange` and paths below it to the gateway, all others to a router.
//!
//! The gateway itself finds the operation of a request. A router in front of it would match the path a second
//! time, and would clone its services for every request.

use std::fmt;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use tower::ServiceExt as _;

use crate::gateway::{self, Gateway};

/// A router, and an optional gateway. The gateway handles the paths of the exchange.
#[derive(Clone)]
pub struct RequestDispatcher {
    gateway: Option<Gateway>,
    router: Router,
}

impl fmt::Debug for RequestDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestDispatcher").field("gateway", &self.gateway.is_some()).finish_non_exhaustive()
    }
}

impl From<Router> for RequestDispatcher {
    fn from(router: Router) -> Self {
        Self { gateway: None, router }
    }
}

impl RequestDispatcher {
    /// Creates a dispatcher from a gateway, and a router for all other paths.
    #[must_use]
    pub fn with_gateway(gateway: Gateway, router: Router) -> Self {
        Self { gateway: Some(gateway), router }
    }

    /// Adds routes to the router and keeps the existing fallback.
    #[must_use]
    pub fn merge(self, more: Router) -> Self {
        // `merge` keeps the fallback of its argument, so the existing router is the argument.
        Self { router: more.merge(self.router), ..self }
    }

    /// Returns the gateway, if the dispatcher has one.
    #[must_use]
    pub const fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// Handles one request.
    pub async fn dispatch(self, request: Request<Body>) -> Response<Body> {
        match self.gateway {
            Some(gateway) if gateway::is_gateway_path(request.uri().path()) => {
                gateway.handle_request(request).await
            }
            _ => match self.router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        }
    }
}
