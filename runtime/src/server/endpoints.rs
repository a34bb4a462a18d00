//! Serves requests: routing, limits, panics, `HEAD`.

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

use super::{HandlerResult, IncomingRequest, InvalidResponse, Rejection, RequestContext, Router, media};
use crate::operation::{self, Operation, OperationLookup, OperationTable};
#[cfg(feature = "stream")]
use crate::stream::KeepAlive;

/// Settings of a router.
#[derive(Clone)]
pub struct RouterOptions {
    /// The maximum size of a request body in bytes. The default is 2 MiB.
    pub body_limit: usize,
    /// Selects the responses that are validated against the contract. An invalid response is not sent; the
    /// service's `reject` receives [`Rejection::InvalidResponse`]. Validation takes time, so by default it is
    /// on in debug builds only.
    pub response_checks: ResponseChecks,
    /// The maximum size in bytes of a request body that an operation streams. The default is 1 GiB.
    #[cfg(feature = "stream")]
    pub stream_limit: u64,
    /// Comments that keep idle event streams open. By default, one is sent every 15 seconds with the feature
    /// `tokio`, and none without it.
    #[cfg(feature = "stream")]
    pub keep_alive: Option<KeepAlive>,
    /// Called for server-side errors that clients do not see.
    pub on_event: Option<EventHook>,
}

impl Default for RouterOptions {
    fn default() -> Self {
        let check_answers = if cfg!(debug_assertions) { ResponseChecks::All } else { ResponseChecks::None };
        Self {
            body_limit: 2 * 1024 * 1024,
            response_checks: check_answers,
            #[cfg(feature = "stream")]
            stream_limit: 1 << 30,
            #[cfg(all(feature = "stream", feature = "tokio"))]
            keep_alive: Some(KeepAlive::default()),
            #[cfg(all(feature = "stream", not(feature = "tokio")))]
            keep_alive: None,
            on_event: None,
        }
    }
}

impl fmt::Debug for RouterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterOptions")
            .field("body_limit", &self.body_limit)
            .field("check_answers", &self.response_checks)
            .field("on_event", &self.on_event.is_some())
            .finish_non_exhaustive()
    }
}

/// Selects the responses that are validated.
#[derive(Clone)]
pub enum ResponseChecks {
    /// No response.
    None,
    /// Every response.
    All,
    /// Responses to requests for which the predicate returns true, such as one in a hundred or those of one
    /// operation.
    Where(Arc<dyn Fn(&RequestContext) -> bool + Send + Sync>),
}

impl ResponseChecks {
    fn applies_to(&self, context: &RequestContext) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Where(decide) => decide(context),
        }
    }
}

impl fmt::Debug for ResponseChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::All => "All",
            Self::Where(_) => "Of",
        })
    }
}

/// A hook that receives server-side errors and the request in which they occurred.
pub type EventHook = Arc<dyn Fn(&RequestContext, ServerEvent<'_>) + Send + Sync>;

/// A server-side error.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ServerEvent<'a> {
    /// A handler or `reject` panicked. The message goes to the panic hook.
    Panicked,
    /// A response violates the contract and was not sent.
    InvalidResponse(&'a InvalidResponse),
    /// An item of a streaming response cannot be encoded, or violates the contract while responses are
    /// validated. The response ended before this item.
    #[cfg(feature = "stream")]
    InvalidItem(&'a crate::stream::InvalidItem),
}

/// The future of a handler with its encoded result.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = HandlerResult> + Send + 'a>>;

/// A function that parses the arguments of a request, calls the service's method and encodes its result.
pub type OperationHandler<S> = for<'a> fn(&'a S, &'a IncomingRequest) -> HandlerFuture<'a>;

/// The `reject` method of a service.
pub type RejectionHandler<S> = fn(&S, &RequestContext, Rejection) -> Response;

/// The operations of a service. [`Endpoints::into_router`] serves them.
///
/// Code that adds its own steps calls these functions one by one: [`Endpoints::find_operation`],
/// `Endpoints::authenticate`, [`Endpoints::read_body`], [`IncomingRequest::new`], the generated `AnyCall`,
/// [`Endpoints::finish_handler`] and [`Endpoints::reject_request`]. `RequestContext::take_response_body`
/// returns the body of a streaming response.
pub struct Endpoints<S> {
    service: Arc<S>,
    operations: OperationTable,
    options: RouterOptions,
    reject: RejectionHandler<S>,
    handler: OperationHandler<S>,
    /// The path of each webhook, by operation id.
    addresses: Option<HashMap<&'static str, String>>,
    #[cfg(feature = "authentication")]
    authentication: Option<super::authentication::Authentication>,
}

impl<S> fmt::Debug for Endpoints<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Endpoints<S> {
    /// Creates the endpoints of all operations of a table. `handler` dispatches by operation.
    #[must_use]
    pub fn new(
        service: Arc<S>,
        operations: OperationTable,
        options: RouterOptions,
        reject: RejectionHandler<S>,
        handler: OperationHandler<S>,
    ) -> Self {
        Self {
            service,
            operations,
            options,
            reject,
            handler,
            addresses: None,
            #[cfg(feature = "authentication")]
            authentication: None,
        }
    }

    /// Returns the service.
    #[must_use]
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Serves each webhook at exactly the path that `path` returns for it. The contract names webhooks, but
    /// the receiver chooses their addresses.
    #[must_use]
    pub fn with_webhook_paths(mut self, path: impl Fn(&'static Operation) -> String) -> Self {
        let all = self.operations.all().iter();
        self.addresses = Some(all.map(|operation| (operation.id, path(operation))).collect());
        self
    }

    /// Verifies the credentials of each request directly after its operation is found, before the body is
    /// read. Handlers get the caller by [`RequestContext::principal`].
    #[cfg(feature = "authentication")]
    #[must_use]
    pub fn with_authentication(mut self, authentication: super::authentication::Authentication) -> Self {
        self.authentication = Some(authentication);
        self
    }

    /// Returns a router that serves every operation as its fallback, so that path templates such as
    /// `/files/{name}.json` work and unknown paths reach `reject`. Routes that are added to it take
    /// precedence.
    pub fn into_router(self) -> Router {
        let endpoints = Arc::new(self);
        Router::new().fallback(move |request: axum::extract::Request| {
            let endpoints = Arc::clone(&endpoints);
            async move { endpoints.serve_request(request).await }
        })
    }

    /// Serves one request. The response has the `&'static Operation` among its extensions, for layers that
    /// log or count.
    pub async fn serve_request(&self, request: http::Request<Body>) -> Response {
        let (parts, body) = request.into_parts();
        let mut context = RequestContext::new(Arc::new(parts), None, Bytes::new());
        let mut response = match self.try_serve(&mut context, body).await {
            Ok(response) => response,
            Err(rejection) => self.reject_request(&context, rejection),
        };
        if let Some(operation) = context.operation() {
            response.extensions_mut().insert(operation);
        }
        if context.method() == Method::HEAD { without_body(response) } else { response }
    }

    async fn try_serve(&self, context: &mut RequestContext, body: Body) -> Result<Response, Rejection> {
        let operation = self.find_operation(context.parts())?;
        *context = context.with_operation(operation);
        #[cfg(feature = "authentication")]
        {
            *context = self.authenticate(context.clone()).await?;
        }
        let bytes = self.read_bytes(operation, context, body).await?;
        *context = context.with_body(bytes);
        let call = IncomingRequest::new(operation, context.clone())?;
        let handling = catch_unwind(AssertUnwindSafe(|| (self.handler)(&self.service, &call))).ok();
        let response = self.finish_handler(context, handling).await?;
        #[cfg(feature = "stream")]
        if let Some(write) = context.take_writer() {
            return Ok(response.into_streaming_response(write(self.stream_options(context))));
        }
        Ok(response.into_response())
    }

    /// Reads the body. For an operation that streams it, returns no bytes and puts the stream into the
    /// context.
    async fn read_bytes(
        &self,
        operation: &Operation,
        context: &RequestContext,
        body: Body,
    ) -> Result<Bytes, Rejection> {
        #[cfg(feature = "stream")]
        if let Some(expected) = &operation.body
            && super::streaming::reads_stream(expected, context.headers())
        {
            check_media_type(expected, context.parts(), &body)?;
            context.set_body(body, self.options.stream_limit);
            return Ok(Bytes::new());
        }
        self.read_body(operation, context.parts(), body).await
    }

    #[cfg(feature = "stream")]
    fn stream_options(&self, context: &RequestContext) -> super::StreamOptions {
        let check = self.options.response_checks.applies_to(context);
        let (hook, context) = (self.options.on_event.clone(), context.clone());
        let on_invalid_item: super::InvalidItemHook = Box::new(move |broken| {
            if let Some(hook) = &hook {
                hook(&context, ServerEvent::InvalidItem(broken));
            }
        });
        super::StreamOptions {
            check_items: check,
            keep_alive: self.options.keep_alive.clone(),
            on_invalid_item,
        }
    }

    /// Awaits a handler and validates its result.
    ///
    /// # Errors
    /// [`Rejection::Internal`] if the handler panicked, or if `handling` is `None` because the handler panicked
    /// before it returned a future. [`Rejection::InvalidResponse`] if the response violates the contract. Other
    /// rejections come from the handler.
    pub async fn finish_handler(
        &self,
        context: &RequestContext,
        handling: Option<HandlerFuture<'_>>,
    ) -> HandlerResult {
        let outcome = match handling {
            Some(handling) => catch_panic(handling).await,
            None => None,
        };
        let Some(outcome) = outcome else {
            self.report_event(context, ServerEvent::Panicked);
            return Err(Rejection::Internal);
        };
        let response = outcome.inspect_err(|rejection| {
            if let Rejection::InvalidResponse(broken) = rejection {
                self.report_event(context, ServerEvent::InvalidResponse(broken));
            }
        })?;
        if let Some(operation) =
            context.operation().filter(|_| self.options.response_checks.applies_to(context))
            && let Err(broken) = response.check_contract(operation)
        {
            self.report_event(context, ServerEvent::InvalidResponse(&broken));
            return Err(Rejection::InvalidResponse(Box::new(broken)));
        }
        Ok(response)
    }

    /// Finds the operation of a request.
    ///
    /// # Errors
    /// [`Rejection::NotFound`] or [`Rejection::MethodNotAllowed`].
    pub fn find_operation(&self, parts: &Parts) -> Result<&'static Operation, Rejection> {
        if let Some(addresses) = &self.addresses {
            return self.find_webhook(addresses, parts);
        }
        let header = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
        let query = parts.uri.query().unwrap_or_default();
        match self.operations.find_request(parts.method.as_str(), parts.uri.path(), query, header) {
            OperationLookup::Found(operation) => Ok(operation),
            OperationLookup::MethodNotAllowed(allowed) => {
                Err(Rejection::MethodNotAllowed { allowed: allowed.methods().collect() })
            }
            OperationLookup::NotFound => Err(Rejection::NotFound),
        }
    }

    fn find_webhook(
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

    /// Verifies the credentials of a request whose operation is known, and returns the context with the
    /// principal. Returns the context unchanged if the endpoints have no authentication.
    ///
    /// # Errors
    /// [`Rejection::Unauthorized`] or [`Rejection::Forbidden`]; [`Rejection::Internal`] after a panic. Other
    /// rejections come from the methods that verify credentials.
    #[cfg(feature = "authentication")]
    pub async fn authenticate(&self, context: RequestContext) -> Result<RequestContext, Rejection> {
        let Some(authentication) = &self.authentication else { return Ok(context) };
        let future = catch_unwind(AssertUnwindSafe(|| authentication.authenticate(&context))).ok();
        let outcome = match future {
            Some(future) => catch_panic(future).await,
            None => None,
        };
        let Some(outcome) = outcome else {
            self.report_event(&context, ServerEvent::Panicked);
            return Err(Rejection::Internal);
        };
        let outcome = outcome?;
        Ok(context.with_authentication(outcome))
    }

    /// Reads the body, if the operation has one.
    ///
    /// # Errors
    /// [`Rejection::UnsupportedMediaType`], [`Rejection::PayloadTooLarge`] or [`Rejection::IncompleteBody`].
    pub async fn read_body(
        &self,
        operation: &Operation,
        parts: &Parts,
        body: Body,
    ) -> Result<Bytes, Rejection> {
        let Some(expected) = &operation.body else { return Ok(Bytes::new()) };
        check_media_type(expected, parts, &body)?;
        read_limited(body, self.options.body_limit).await
    }

    /// Returns the service's response to a rejection, or `500` if `reject` panics. Adds the challenge to a
    /// response `401` or `403` without one.
    pub fn reject_request(&self, context: &RequestContext, rejection: Rejection) -> Response {
        let status = rejection.status();
        let header = rejection.header().filter(|(name, _)| *name == header::WWW_AUTHENTICATE);
        let reject = || (self.reject)(&self.service, context, rejection);
        let mut response = catch_unwind(AssertUnwindSafe(reject)).unwrap_or_else(|_| {
            self.report_event(context, ServerEvent::Panicked);
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        });
        if let Some((name, value)) = header.filter(|_| response.status().as_u16() == status) {
            response.headers_mut().entry(name).or_insert(value);
        }
        response
    }

    fn report_event(&self, context: &RequestContext, event: ServerEvent<'_>) {
        if let Some(hook) = &self.options.on_event {
            hook(context, event);
        }
    }
}

/// Rejects a body of an unsupported media type. An optional body that is missing needs no media type.
fn check_media_type(expected: &operation::BodySpec, parts: &Parts, body: &Body) -> Result<(), Rejection> {
    let untyped = !parts.headers.contains_key(header::CONTENT_TYPE);
    let is_missing = HttpBody::is_end_stream(body) && untyped && !expected.required;
    if is_missing || media::accepts(expected, &parts.headers) {
        return Ok(());
    }
    let expected = expected.content.iter().map(|content| content.media_type).collect();
    Err(Rejection::UnsupportedMediaType { expected, part: None })
}

/// Reads a body of at most `limit` bytes. A body with a larger `Content-Length` is not read at all.
async fn read_limited(mut body: Body, limit: usize) -> Result<Bytes, Rejection> {
    let too_large = Err(Rejection::PayloadTooLarge { limit });
    let announced = HttpBody::size_hint(&body).lower();
    if announced > u64::try_from(limit).unwrap_or(u64::MAX) {
        return too_large;
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| Rejection::IncompleteBody)?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - whole.len() {
            return too_large;
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Runs a future of the service; returns `None` if it panics. Its state is dropped, so only state shared by
/// the service could be left inconsistent.
async fn catch_panic<T>(mut handling: Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Option<T> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => std::task::Poll::Ready(None),
    })
    .await
}

/// Removes the body and keeps the headers of `GET`, including `Content-Length` (RFC 9110, 9.3.2).
#[must_use]
pub fn without_body(mut response: Response) -> Response {
    let body = std::mem::take(response.body_mut());
    if let Some(length @ 1..) = HttpBody::size_hint(&body).exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
    response
}
