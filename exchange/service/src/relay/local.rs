//! The backend in this process.

use std::sync::Arc;

use contract_runtime::server::{
    Answer, CheckAnswers, Context, Endpoints, Event, Hook, Rejection, RouterOptions,
};
use exchange_api::server::{Service, endpoints};
use http_body_util::BodyExt as _;

use super::{Relay, RelayFailure, Relayed, Relaying};
use crate::caller::Caller;

/// Calls the backend's methods. A method that panics is an `INTERNAL_ERROR`, and a line in the log.
pub struct Local<S> {
    endpoints: Endpoints<S>,
}

impl<S> std::fmt::Debug for Local<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").finish_non_exhaustive()
    }
}

impl<S: Service> Local<S> {
    /// The methods of this service.
    #[must_use]
    pub fn new(service: Arc<S>) -> Self {
        Self { endpoints: endpoints(service, options()) }
    }

    /// Answers a call whose request was read.
    pub(super) async fn answer(&self, request: Relayed) -> Result<Answer, RelayFailure> {
        let Relayed { call, incoming, .. } = request;
        let context = call.context();
        let handling = incoming.answer(self.endpoints.service(), &call);
        match self.endpoints.answer(&context, Some(handling)).await {
            Ok(answer) => Ok(answer),
            Err(rejection) => self.rejected(&context, rejection).await,
        }
    }

    /// What the service says of what failed before or beside its methods.
    pub(super) async fn rejected(
        &self,
        context: &Context,
        rejection: Rejection,
    ) -> Result<Answer, RelayFailure> {
        let (parts, body) = self.endpoints.rejected(context, rejection).into_parts();
        let body = body.collect().await.map_err(|_| RelayFailure::Unreachable)?.to_bytes();
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }
}

impl<S: Service> Relay for Local<S> {
    fn relay(&self, request: Relayed) -> Relaying<'_> {
        Box::pin(self.answer(request))
    }
}

/// Answers are checked by whoever relays, since those from elsewhere need it too.
fn options() -> RouterOptions {
    let on_event: Hook = Arc::new(|context: &Context, event: Event<'_>| {
        let operation = context.operation().map_or("none", |operation| operation.id);
        if matches!(event, Event::Panicked) {
            // The one that stands in what the client is answered.
            let caller = context.extensions().get::<Caller>();
            let correlation_id = caller.map_or("none", |caller| &*caller.correlation_id);
            tracing::error!(correlation_id, operation, "a method panicked");
        }
    });
    RouterOptions { check_answers: CheckAnswers::None, on_event: Some(on_event), ..RouterOptions::default() }
}
