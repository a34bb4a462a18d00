//! A generated server. The input is an HTTP request: `METHOD target`, header lines, an empty line, and the
//! body.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context as Task, Poll, Waker},
};

use axum::body::Body;
use contract_runtime::server::{Rejection, RequestContext, Response, RouterOptions};
use exchange_api::server::{Service, router};
use http::Request;
use tower::ServiceExt;

struct NoBody;

impl Service for NoBody {
    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        // Also formats the errors, because a service does that when it rejects a request.
        let text = format!("{rejection} {:?} {:?}", rejection.violations(), context.uri());
        Response::new(Body::from(text))
    }
}

/// Sends a request to the router, which parses parameters and bodies before it calls a handler.
pub fn run(data: &[u8]) {
    let Some(request) = request(data) else { return };
    let router = router(Arc::new(NoBody), RouterOptions::default());
    let mut call = pin!(router.oneshot(request));
    // The future never waits for other events, so polling it repeatedly completes it.
    for _ in 0..10_000 {
        if let Poll::Ready(response) = call.as_mut().poll(&mut Task::from_waker(Waker::noop())) {
            response.expect("the router is infallible");
            return;
        }
    }
    panic!("no response");
}

fn request(data: &[u8]) -> Option<Request<Body>> {
    let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
    let (head, rest) = data.split_at(end);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let (method, target) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(target);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name, value.trim());
    }
    request.body(Body::from(rest.get(2..).unwrap_or_default().to_vec())).ok()
}
