//! A mock gateway for unit tests, which returns prepared responses and records requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use exchange_api::{
    Client, Transport, TransportError,
    runtime::{
        operation::Operation,
        transport::{Delivery, ResponseFuture, TransportFault},
    },
};

/// A transport that returns prepared responses in order. A status of 0 stands for a lost response.
#[derive(Clone)]
pub(crate) struct MockGateway(Arc<Mutex<MockGatewayState>>);

struct MockGatewayState {
    answers: VecDeque<(u16, String)>,
    requests: Vec<http::Request<Bytes>>,
}

impl MockGateway {
    pub(crate) fn with_responses<T: Into<String>>(responses: impl IntoIterator<Item = (u16, T)>) -> Self {
        let responses = responses.into_iter().map(|(status, body)| (status, body.into())).collect();
        Self(Arc::new(Mutex::new(MockGatewayState { answers: responses, requests: Vec::new() })))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new("https://exchange.example", self.clone())
    }

    /// Returns method, path, and body of each request.
    pub(crate) fn requests(&self) -> Vec<String> {
        let line = |request: &http::Request<Bytes>| {
            let body = String::from_utf8_lossy(request.body()).into_owned();
            format!("{} {} {body}", request.method(), request.uri().path()).trim_end().to_owned()
        };
        self.0.lock().unwrap().requests.iter().map(line).collect()
    }

    /// Returns the idempotency key of each request.
    pub(crate) fn idempotency_keys(&self) -> Vec<String> {
        let key = |request: &http::Request<Bytes>| {
            request.headers()["idempotency-key"].to_str().unwrap().to_owned()
        };
        self.0.lock().unwrap().requests.iter().map(key).collect()
    }
}

impl Transport for MockGateway {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            // Concurrent calls are all in flight before the first of them receives a response.
            tokio::task::yield_now().await;
            let mut state = self.0.lock().unwrap();
            state.requests.push(request);
            let (status, body) = state.answers.pop_front().expect("a response for every request");
            if status == 0 {
                return Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown));
            }
            let media = if status < 400 { "application/json" } else { "application/problem+json" };
            let response = http::Response::builder().status(status).header("content-type", media);
            Ok(response.body(body.into()).unwrap())
        })
    }
}

/// Returns a problem response with this code and status.
pub(crate) fn problem_response(status: u16, code: &str) -> (u16, String) {
    let body = format!(
        r#"{{"status": {status}, "code": "{code}", "title": "t", "detail": "d", "correlationId": "c-1"}}"#
    );
    (status, body)
}
