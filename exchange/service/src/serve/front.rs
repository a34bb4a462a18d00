//! Who answers a request: the gateway what is below `/exchange`, a router everything else.
//!
//! The gateway has one handler for all that it serves and finds the operation itself, so that a router in front of it
//! would find a route, keep what it found for whoever asks, and clone its services, for nobody.

use std::fmt;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use tower::ServiceExt as _;

use crate::gateway::{self, Gateway};

/// A router, and perhaps a gateway before it.
#[derive(Clone)]
pub struct Front {
    gateway: Option<Gateway>,
    router: Router,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("gateway", &self.gateway.is_some()).finish_non_exhaustive()
    }
}

impl From<Router> for Front {
    fn from(router: Router) -> Self {
        Self { gateway: None, router }
    }
}

impl Front {
    /// A gateway, and what answers everything else.
    #[must_use]
    pub fn of(gateway: Gateway, router: Router) -> Self {
        Self { gateway: Some(gateway), router }
    }

    /// The same with more routes beside the gateway's; what is found nowhere is answered as before.
    #[must_use]
    pub fn merge(self, more: Router) -> Self {
        // Of two routers it is the other one's fallback that stays.
        Self { router: more.merge(self.router), ..self }
    }

    /// Answers one request.
    pub async fn answer(self, request: Request<Body>) -> Response<Body> {
        match self.gateway {
            Some(gateway) if gateway::serves(request.uri().path()) => gateway.answer(request).await,
            _ => match self.router.oneshot(request).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            },
        }
    }
}
