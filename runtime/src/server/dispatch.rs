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

use super::{BrokenAnswer, Call, Context, Outcome, Rejection, Router, media};
use crate::operation::{self, Lookup, Operation, Operations};
#[cfg(feature = "stream")]
use crate::stream::KeepAlive;

/// What a router needs to know beside its service.
#[derive(Clone)]
pub struct RouterOptions {
    /// Largest request body in bytes. Default 2 MiB.
    pub body_limit: usize,
    /// Which answers are checked by the contract as well; one that breaks it is not sent, the
    /// caller gets [`Rejection::BrokenAnswer`]. Costs time: default in debug builds only.
    pub check_answers: CheckAnswers,
    /// Largest body in bytes of an operation that takes it in pieces. Default 1 GiB.
    #[cfg(feature = "stream")]
    pub stream_limit: u64,
    /// What event streams say while there is no event. Default a comment every 15 seconds with the
    /// feature `tokio`, nothing without it.
    #[cfg(feature = "stream")]
    pub keep_alive: Option<KeepAlive>,
    /// Told what the caller is not told.
    pub on_event: Option<Hook>,
}

impl Default for RouterOptions {
    fn default() -> Self {
        let check_answers = if cfg!(debug_assertions) { CheckAnswers::All } else { CheckAnswers::None };
        Self {
            body_limit: 2 * 1024 * 1024,
            check_answers,
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
            .field("check_answers", &self.check_answers)
            .field("on_event", &self.on_event.is_some())
            .finish_non_exhaustive()
    }
}

/// Which answers are checked.
#[derive(Clone)]
pub enum CheckAnswers {
    /// None.
    None,
    /// Every one.
    All,
    /// Those of calls that this says: one in a hundred, those of one operation.
    Of(Arc<dyn Fn(&Context) -> bool + Send + Sync>),
}

impl CheckAnswers {
    fn of(&self, context: &Context) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Of(decide) => decide(context),
        }
    }
}

impl fmt::Debug for CheckAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::All => "All",
            Self::Of(_) => "Of",
        })
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
    /// An answer broke the contract and was not sent.
    BrokenAnswer(&'a BrokenAnswer),
    /// An item of an answer in pieces cannot be written, or breaks the contract where answers are
    /// checked; the answer ended with those before it.
    #[cfg(feature = "stream")]
    BrokenItem(&'a crate::stream::BrokenItem),
}

/// A call on its way.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Reads a request, calls the service's method, writes the answer.
pub type Handler<S> = for<'a> fn(&'a S, &'a Call) -> Handling<'a>;

/// The service's `reject`.
pub type Reject<S> = fn(&S, &Context, Rejection) -> Response;

/// The operations of a service; [`Endpoints::into_router`] serves them, and whoever puts steps of
/// its own between has each step by itself: [`Endpoints::route`], [`Endpoints::body`],
/// [`Call::new`], the generated `Incoming`, [`Endpoints::answer`], [`Endpoints::rejected`]. An answer
/// in pieces is behind `Context::take_answer`.
pub struct Endpoints<S> {
    service: Arc<S>,
    operations: Operations,
    options: RouterOptions,
    reject: Reject<S>,
    handler: Handler<S>,
    /// For webhooks: the path of each, by its id.
    addresses: Option<HashMap<&'static str, String>>,
}

impl<S> fmt::Debug for Endpoints<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> Endpoints<S> {
    /// All operations of a table, which `handler` tells apart.
    #[must_use]
    pub fn new(
        service: Arc<S>,
        operations: Operations,
        options: RouterOptions,
        reject: Reject<S>,
        handler: Handler<S>,
    ) -> Self {
        Self { service, operations, options, reject, handler, addresses: None }
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &S {
        &self.service
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
        let bytes = self.bytes(operation, context, body).await?;
        *context = context.with_body(bytes);
        let call = Call::new(operation, context.clone())?;
        let handling = catch_unwind(AssertUnwindSafe(|| (self.handler)(&self.service, &call))).ok();
        let answer = self.answer(context, handling).await?;
        #[cfg(feature = "stream")]
        if let Some(write) = context.take_write() {
            return Ok(answer.into_response_of(write(self.writing(context))));
        }
        Ok(answer.into_response())
    }

    /// The bytes of a body; of one that the operation reads in pieces none, and the body passes
    /// beside them.
    async fn bytes(&self, operation: &Operation, context: &Context, body: Body) -> Result<Bytes, Rejection> {
        #[cfg(feature = "stream")]
        if let Some(expected) = &operation.body
            && super::pieces::reads_pieces(expected, context.headers())
        {
            accepted(expected, context.parts(), &body)?;
            context.pass_body(body, self.options.stream_limit);
            return Ok(Bytes::new());
        }
        self.body(operation, context.parts(), body).await
    }

    #[cfg(feature = "stream")]
    fn writing(&self, context: &Context) -> super::Writing {
        let check = self.options.check_answers.of(context);
        let (hook, context) = (self.options.on_event.clone(), context.clone());
        let told: super::BrokenItems = Box::new(move |broken| {
            if let Some(hook) = &hook {
                hook(&context, Event::BrokenItem(broken));
            }
        });
        super::Writing { check, keep_alive: self.options.keep_alive.clone(), told }
    }

    /// The answer of a call that is on its way: a panic is [`Rejection::Internal`], an answer that
    /// is checked and breaks the contract [`Rejection::BrokenAnswer`]. `None` is a panic too.
    ///
    /// # Errors
    /// Those, and what the handler itself rejects.
    pub async fn answer(&self, context: &Context, handling: Option<Handling<'_>>) -> Outcome {
        let outcome = match handling {
            Some(handling) => caught(handling).await,
            None => None,
        };
        let Some(outcome) = outcome else {
            self.report(context, Event::Panicked);
            return Err(Rejection::Internal);
        };
        let answer = outcome.inspect_err(|rejection| {
            if let Rejection::BrokenAnswer(broken) = rejection {
                self.report(context, Event::BrokenAnswer(broken));
            }
        })?;
        if let Some(operation) = context.operation().filter(|_| self.options.check_answers.of(context))
            && let Err(broken) = answer.check(operation)
        {
            self.report(context, Event::BrokenAnswer(&broken));
            return Err(Rejection::BrokenAnswer(Box::new(broken)));
        }
        Ok(answer)
    }

    /// The operation of a request.
    ///
    /// # Errors
    /// [`Rejection::NotFound`] or [`Rejection::MethodNotAllowed`].
    pub fn route(&self, parts: &Parts) -> Result<&'static Operation, Rejection> {
        if let Some(addresses) = &self.addresses {
            return self.webhook(addresses, parts);
        }
        let header = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
        let query = parts.uri.query().unwrap_or_default();
        match self.operations.find_asked(parts.method.as_str(), parts.uri.path(), query, header) {
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

    /// The bytes of a body, as far as the operation reads one.
    ///
    /// # Errors
    /// [`Rejection::UnsupportedMediaType`], [`Rejection::TooLarge`] or [`Rejection::Incomplete`].
    pub async fn body(&self, operation: &Operation, parts: &Parts, body: Body) -> Result<Bytes, Rejection> {
        let Some(expected) = &operation.body else { return Ok(Bytes::new()) };
        accepted(expected, parts, &body)?;
        read(body, self.options.body_limit).await
    }

    /// The service's answer to what failed, whatever it does itself.
    pub fn rejected(&self, context: &Context, rejection: Rejection) -> Response {
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

/// Refuses a body of a media type that is not read; one that is missing may have none.
fn accepted(expected: &operation::Body, parts: &Parts, body: &Body) -> Result<(), Rejection> {
    let untyped = !parts.headers.contains_key(header::CONTENT_TYPE);
    let is_missing = HttpBody::is_end_stream(body) && untyped && !expected.required;
    if is_missing || media::accepts(expected, &parts.headers) {
        return Ok(());
    }
    let expected = expected.content.iter().map(|content| content.media_type).collect();
    Err(Rejection::UnsupportedMediaType { expected })
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
async fn caught(mut handling: Handling<'_>) -> Option<Outcome> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => std::task::Poll::Ready(None),
    })
    .await
}

/// RFC 9110, 9.3.2: the headers of `GET`, its length included, without the content.
#[must_use]
pub fn without_body(mut response: Response) -> Response {
    let body = std::mem::take(response.body_mut());
    if let Some(length @ 1..) = HttpBody::size_hint(&body).exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
    response
}
