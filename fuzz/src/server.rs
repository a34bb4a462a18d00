//! A generated server: `METHOD target`, header lines, an empty line, the body.

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

struct Nothing;

impl Service for Nothing {
    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        // Formatting the errors is part of a rejection.
        let text = format!("{rejection} {:?} {:?}", rejection.violations(), context.uri());
        Response::new(Body::from(text))
    }
}

/// Responds to a request; parameters and bodies are parsed before the handler is called.
pub fn run(data: &[u8]) {
    let Some(request) = request(data) else { return };
    let router = router(Arc::new(Nothing), RouterOptions::default());
    let mut call = pin!(router.oneshot(request));
    // Nothing waits for anything but itself.
    for _ in 0..10_000 {
        if let Poll::Ready(response) = call.as_mut().poll(&mut Task::from_waker(Waker::noop())) {
            response.expect("a router never fails");
            return;
        }
    }
    panic!("no answer");
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
