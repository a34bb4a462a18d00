//! A gateway for tests of the areas: answers in order, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use exchange_api::{
    Client, Transport, TransportError,
    runtime::{
        operation::Operation,
        transport::{Delivery, Sending, TransportFault},
    },
};

/// Answers in order; a status of 0 is a lost answer.
#[derive(Clone)]
pub(crate) struct Double(Arc<Mutex<State>>);

struct State {
    answers: VecDeque<(u16, String)>,
    requests: Vec<http::Request<Bytes>>,
}

impl Double {
    pub(crate) fn answering<T: Into<String>>(answers: impl IntoIterator<Item = (u16, T)>) -> Self {
        let answers = answers.into_iter().map(|(status, body)| (status, body.into())).collect();
        Self(Arc::new(Mutex::new(State { answers, requests: Vec::new() })))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new("https://exchange.example", self.clone())
    }

    /// Method, path and body of each.
    pub(crate) fn requests(&self) -> Vec<String> {
        let line = |request: &http::Request<Bytes>| {
            let body = String::from_utf8_lossy(request.body()).into_owned();
            format!("{} {} {body}", request.method(), request.uri().path()).trim_end().to_owned()
        };
        self.0.lock().unwrap().requests.iter().map(line).collect()
    }

    /// The idempotency key of each.
    pub(crate) fn keys(&self) -> Vec<String> {
        let key = |request: &http::Request<Bytes>| {
            request.headers()["idempotency-key"].to_str().unwrap().to_owned()
        };
        self.0.lock().unwrap().requests.iter().map(key).collect()
    }
}

impl Transport for Double {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            // Calls of one moment are under way together.
            tokio::task::yield_now().await;
            let mut state = self.0.lock().unwrap();
            state.requests.push(request);
            let (status, body) = state.answers.pop_front().expect("an answer for every request");
            if status == 0 {
                return Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown));
            }
            let media = if status < 400 { "application/json" } else { "application/problem+json" };
            let answer = http::Response::builder().status(status).header("content-type", media);
            Ok(answer.body(body.into()).unwrap())
        })
    }
}

/// A problem with this code and status.
pub(crate) fn problem(status: u16, code: &str) -> (u16, String) {
    let body = format!(
        r#"{{"status": {status}, "code": "{code}", "title": "t", "detail": "d", "correlationId": "c-1"}}"#
    );
    (status, body)
}
