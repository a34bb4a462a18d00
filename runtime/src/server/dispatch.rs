//! From a request to its handler and back: routing, limits, panics, `HEAD`.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};

use super::{Answer, Call, Context, Outcome, Rejection, Router, media};
use crate::operation::{Lookup, Operation, Operations};
use crate::violation::Violations;

/// What a router needs to know beside its service.
#[derive(Clone)]
pub struct RouterOptions {
    /// Largest request body in bytes. Default 2 MiB.
    pub body_limit: usize,
    /// Whether answers are checked by their schema as well; one that breaks it is not sent,
    /// the caller gets [`Rejection::Internal`]. Costs time: default in debug builds only.
    pub check_answers: bool,
    /// Told what the caller is not told.
    pub on_event: Option<Hook>,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self { body_limit: 2 * 1024 * 1024, check_answers: cfg!(debug_assertions), on_event: None }
    }
}

impl fmt::Debug for RouterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { body_limit, check_answers, on_event } = self;
        f.debug_struct("RouterOptions")
            .field("body_limit", body_limit)
            .field("check_answers", check_answers)
            .field("on_event", &on_event.is_some())
            .finish()
    }
}

/// Told of an [`Event`] and the call in which it happened.
pub type Hook = Arc<dyn Fn(&Context, Event<'_>) + Send + Sync>;

/// What went wrong on this side.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A handler, or `reject`, panicked. The message is the panic hook's.
    Panicked,
    /// An answer broke its schema and was not sent.
    BrokenAnswer(&'a Violations),
}

/// A call on its way.
pub type Handling = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Reads a request, calls the service's method, writes the answer.
pub type Handler<S> = fn(Arc<S>, Call) -> Handling;

/// The service's `reject`.
pub type Reject<S> = fn(&S, &Context, Rejection) -> Response;

/// The operations of a service with their handlers; [`Endpoints::into_router`] serves them.
pub struct Endpoints<S> {
    service: Arc<S>,
    operations: Operations,
    options: RouterOptions,
    reject: Reject<S>,
    handlers: HashMap<&'static str, Handler<S>>,
    /// For webhooks: the path of each, by its id.
    addresses: Option<HashMap<&'static str, String>>,
}

impl<S> fmt::Debug for Endpoints<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Endpoints<S> {
    /// No handlers yet: every operation is [`Rejection::NotImplemented`].
    #[must_use]
    pub fn new(service: Arc<S>, operations: Operations, options: RouterOptions, reject: Reject<S>) -> Self {
        Self { service, operations, options, reject, handlers: HashMap::new(), addresses: None }
    }

    /// The same with one more handler.
    #[must_use]
    pub fn on(mut self, operation: &'static Operation, handler: Handler<S>) -> Self {
        self.handlers.insert(operation.id, handler);
        self
    }

    /// The same for webhooks: each at the path that `path` gives for it, compared as a whole,
    /// since the contract names them and leaves their addresses to whoever receives them.
    #[must_use]
    pub fn at(mut self, path: impl Fn(&'static Operation) -> String) -> Self {
        let all = self.operations.all().iter();
        self.addresses = Some(all.map(|operation| (operation.id, path(operation))).collect());
        self
    }

    /// A router whose fallback serves every operation, so that templates mean what the
    /// contract says (`/files/{name}.json`) and unknown paths reach `reject` too. Routes of
    /// your own may be added to it; they come first.
    pub fn into_router(self) -> Router {
        let endpoints = Arc::new(self);
        Router::new().fallback(move |request: axum::extract::Request| {
            let endpoints = Arc::clone(&endpoints);
            async move { endpoints.serve(request).await }
        })
    }

    /// Answers one request. The response carries the `&'static Operation` among its
    /// extensions, for layers that log or count.
    pub async fn serve(&self, request: http::Request<Body>) -> Response {
        let (parts, body) = request.into_parts();
        let mut context = Context::new(Arc::new(parts), None, Bytes::new());
        let mut response = match self.handle(&mut context, body).await {
            Ok(response) => response,
            Err(rejection) => self.rejected(&context, rejection),
        };
        if let Some(operation) = context.operation() {
            response.extensions_mut().insert(operation);
        }
        if context.method() == Method::HEAD { without_body(response) } else { response }
    }

    async fn handle(&self, context: &mut Context, body: Body) -> Result<Response, Rejection> {
        let operation = self.route(context.parts())?;
        *context = context.routed(operation);
        let bytes = self.body(operation, context.parts(), body).await?;
        *context = context.with_body(bytes);
        let call = Call::new(operation, context.clone())?;
        let handler = self.handlers.get(operation.id).ok_or(Rejection::NotImplemented)?;
        let call = call.checking_answers(self.options.check_answers);
        let answer = match caught(handler(Arc::clone(&self.service), call)).await {
            Some(outcome) => outcome?,
            None => {
                self.report(context, Event::Panicked);
                return Err(Rejection::Internal);
            }
        };
        if let Some(violations) = &answer.violations {
            self.report(context, Event::BrokenAnswer(violations));
            return Err(Rejection::Internal);
        }
        Ok(written(answer))
    }

    fn route(&self, parts: &Parts) -> Result<&'static Operation, Rejection> {
        if let Some(addresses) = &self.addresses {
            return self.webhook(addresses, parts);
        }
        match self.operations.find(parts.method.as_str(), parts.uri.path()) {
            Lookup::Found(operation) => Ok(operation),
            Lookup::WrongMethod(allowed) => {
                Err(Rejection::MethodNotAllowed { allowed: allowed.methods().collect() })
            }
            Lookup::Nothing => Err(Rejection::NotFound),
        }
    }

    fn webhook(
        &self,
        addresses: &HashMap<&'static str, String>,
        parts: &Parts,
    ) -> Result<&'static Operation, Rejection> {
        let here =
            |operation: &&Operation| addresses.get(operation.id).is_some_and(|path| path == parts.uri.path());
        let all: Vec<&'static Operation> = self.operations.all().iter().filter(here).collect();
        let found = all.iter().find(|operation| operation.method == parts.method.as_str());
        match found {
            Some(operation) => Ok(operation),
            None if all.is_empty() => Err(Rejection::NotFound),
            None => {
                let allowed = all.iter().map(|operation| operation.method).collect();
                Err(Rejection::MethodNotAllowed { allowed })
            }
        }
    }

    async fn body(&self, operation: &Operation, parts: &Parts, body: Body) -> Result<Bytes, Rejection> {
        let Some(expected) = &operation.body else { return Ok(Bytes::new()) };
        let is_empty = HttpBody::is_end_stream(&body);
        let untyped = !parts.headers.contains_key(header::CONTENT_TYPE);
        let is_missing = is_empty && untyped && !expected.required;
        if !is_missing && !media::accepts(expected, &parts.headers) {
            let expected = expected.content.iter().map(|content| content.media_type).collect();
            return Err(Rejection::UnsupportedMediaType { expected });
        }
        read(body, self.options.body_limit).await
    }

    fn rejected(&self, context: &Context, rejection: Rejection) -> Response {
        let reject = || (self.reject)(&self.service, context, rejection);
        catch_unwind(AssertUnwindSafe(reject)).unwrap_or_else(|_| {
            self.report(context, Event::Panicked);
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        })
    }

    fn report(&self, context: &Context, event: Event<'_>) {
        if let Some(hook) = &self.options.on_event {
            hook(context, event);
        }
    }
}

/// Reads a body of at most `limit` bytes; what is announced as larger is not read at all.
async fn read(mut body: Body, limit: usize) -> Result<Bytes, Rejection> {
    let too_large = Err(Rejection::TooLarge { limit });
    let announced = HttpBody::size_hint(&body).lower();
    if announced > u64::try_from(limit).unwrap_or(u64::MAX) {
        return too_large;
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| Rejection::Incomplete)?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return too_large;
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Runs a call to its end; `None` when it panicked. What it held is dropped, so nothing is
/// seen half-changed but what the service itself shares.
async fn caught(mut handling: Handling) -> Option<Outcome> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => std::task::Poll::Ready(None),
    })
    .await
}

fn written(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    if !answer.media_type.is_empty() {
        // A media range names no type; the handler's own header is asked for there.
        let media_type =
            if answer.media_type.contains('*') { "application/octet-stream" } else { answer.media_type };
        if let Ok(value) = HeaderValue::from_str(media_type) {
            response.headers_mut().entry(header::CONTENT_TYPE).or_insert(value);
        }
    }
    response
}

/// RFC 9110, 9.3.2: the headers of `GET`, its length included, without the content.
fn without_body(mut response: Response) -> Response {
    let body = std::mem::take(response.body_mut());
    if let Some(length @ 1..) = HttpBody::size_hint(&body).exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
    response
}
