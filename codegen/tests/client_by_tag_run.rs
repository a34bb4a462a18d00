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
    client::{Bytes, Client},
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
