//! Tests of the clients of tags in the case `client_by_tag`.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[path = "cases/client_by_tag/expected"]
pub mod api {
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod headers;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod responses;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod servers;
    #[rustfmt::skip]
    pub mod types;
}

use std::sync::{Arc, Mutex};

use api::{
    client::{Bytes, Client, Error},
    servers,
    types::NewIssue,
};
use contract_runtime::{
    operation::Operation,
    transport::{ResponseFuture, Transport},
};
use http::{Request, Response};

/// A server that creates one issue, and records the operations that it receives.
#[derive(Clone, Default)]
struct Tracker(Arc<Mutex<Vec<String>>>);

impl Transport for Tracker {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        self.0.lock().unwrap().push(format!("{} {}", operation.id, request.uri().path()));
        let (status, body) = match operation.id {
            "issues/create" => (201, r#"{"id":7,"title":"Broken lamp"}"#),
            _ => (204, ""),
        };
        let response = Response::builder().status(status).header("content-type", "application/json");
        let response = response.body(body.into()).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

/// Clients of tags send the same requests as the main client, through the same transport.
#[tokio::test]
async fn operations_of_a_tag_are_methods_of_its_client() {
    let tracker = Tracker::default();
    let client = Client::new(servers::DEFAULT, tracker.clone());
    let issues = client.issues();
    let created = issues.create(&NewIssue::new("Broken lamp")).await.unwrap();
    issues.move_(created.id).await.unwrap();
    client.users_teams().users_get().await.unwrap();
    // The call of a temporary client can be sent later.
    let pending = client.status_operations().list();
    pending.await.unwrap();
    client.status().await.unwrap();
    assert_eq!(
        *tracker.0.lock().unwrap(),
        [
            "issues/create /issues",
            "issues/move /issues/7/move",
            "users/get /users",
            "status/list /statuses",
            "status /status"
        ]
    );
}

/// A gateway that limits the number of requests, which the contract does not declare.
struct BusyGateway;

impl Transport for BusyGateway {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        let response = Response::builder().status(429).header("content-type", "application/json");
        let response = response.body(r#"{"message":"too many requests"}"#.into()).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

async fn describe_failure(client: &Client) -> String {
    match client.status().await {
        Ok(_) => "available".to_owned(),
        // The contract does not declare this error: its body is bytes.
        Err(Error::UnexpectedResponse(response)) => {
            let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
            format!("{}: {}", response.status(), body["message"].as_str().unwrap_or("no message"))
        }
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn undeclared_errors_have_their_body() {
    let client = Client::new("https://tracker.example", BusyGateway);
    assert_eq!(describe_failure(&client).await, "429 Too Many Requests: too many requests");
}
