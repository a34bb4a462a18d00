//! A relay to the backend in the same process.

use std::sync::Arc;

use contract_runtime::server::{
    EncodedResponse, Endpoints, EventHook, Rejection, RequestContext, ResponseChecks, RouterOptions,
    ServerEvent,
};
use exchange_api::server::{Service, endpoints};
use http_body_util::BodyExt as _;

use super::{Relay, RelayError, RelayFuture, RelayedRequest};
use crate::caller::Caller;

/// A relay that calls the backend's methods. A panic in a method is logged, and the response has the code
/// `INTERNAL_ERROR`.
pub struct LocalRelay<S> {
    endpoints: Endpoints<S>,
}

impl<S> std::fmt::Debug for LocalRelay<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalRelay").finish_non_exhaustive()
    }
}

impl<S: Service> LocalRelay<S> {
    /// Creates a relay to the methods of a service.
    #[must_use]
    pub fn new(service: Arc<S>) -> Self {
        Self { endpoints: endpoints(service, router_options()) }
    }

    /// Calls the method for a parsed request.
    pub(super) async fn answer_call(&self, request: RelayedRequest) -> Result<EncodedResponse, RelayError> {
        let RelayedRequest { call, incoming, .. } = request;
        let context = call.context();
        let handling = incoming.dispatch(self.endpoints.service(), &call);
        match self.endpoints.finish_handler(&context, Some(handling)).await {
            Ok(response) => Ok(response),
            Err(rejection) => self.answer_rejection(&context, rejection).await,
        }
    }

    /// Returns the service's response to a request that was rejected before a method was called, or in which
    /// a method failed.
    pub(super) async fn answer_rejection(
        &self,
        context: &RequestContext,
        rejection: Rejection,
    ) -> Result<EncodedResponse, RelayError> {
        let (parts, body) = self.endpoints.reject_request(context, rejection).into_parts();
        let body = body.collect().await.map_err(|_| RelayError::Failed)?.to_bytes();
        Ok(EncodedResponse { status: parts.status, headers: parts.headers, body })
    }
}

impl<S: Service> Relay for LocalRelay<S> {
    fn send_request(&self, request: RelayedRequest) -> RelayFuture<'_> {
        Box::pin(self.answer_call(request))
    }
}

/// Returns options without response checks: the caller of the relay validates responses, which also covers
/// remote backends.
fn router_options() -> RouterOptions {
    let on_event: EventHook = Arc::new(|context: &RequestContext, event: ServerEvent<'_>| {
        let operation = context.operation().map_or("none", |operation| operation.id);
        if matches!(event, ServerEvent::Panicked) {
            // The client's response contains the same correlation id.
            let caller = context.extensions().get::<Caller>();
            let correlation_id = caller.map_or("none", |caller| &*caller.correlation_id);
            tracing::error!(correlation_id, operation, "backend method panicked");
        }
    });
    RouterOptions {
        response_checks: ResponseChecks::None,
        on_event: Some(on_event),
        ..RouterOptions::default()
    }
}
