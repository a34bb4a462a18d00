//! Tests of the servers of the case `servers`: the address of a request for each of them.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[rustfmt::skip]
#[path = "cases/servers/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/servers/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/servers/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/servers/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/servers/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/servers/expected/servers.rs"]
pub mod servers;
#[rustfmt::skip]
#[path = "cases/servers/expected/types.rs"]
pub mod types;

use std::sync::{Arc, Mutex};

use client::{Bytes, Client};
use contract_runtime::{
    operation::Operation,
    transport::{ResponseFuture, Transport},
};
use http::{Request, Response};
use servers::RegionalServerRegion;

/// A transport that records the URL of each request and returns an empty list.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Transport for Recorder {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        self.0.lock().unwrap().push(request.uri().to_string());
        let response =
            Response::builder().header("content-type", "application/json").body("[]".into()).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

impl Recorder {
    fn last_url(&self) -> String {
        self.0.lock().unwrap().last().unwrap().clone()
    }
}

#[tokio::test]
async fn servers_of_the_contract_are_base_urls() {
    let transport = Recorder::default();
    let client = Client::new(servers::PRODUCTION, transport.clone());
    client.list().await.unwrap();
    assert_eq!(transport.last_url(), "https://api.places.example/v1/places");

    let client = Client::new(servers::SANDBOX_PLACES_EXAMPLE, transport.clone());
    client.list().await.unwrap();
    assert_eq!(transport.last_url(), "https://sandbox.places.example/places");

    let client = Client::new(servers::RegionalServer::default(), transport.clone());
    client.list().await.unwrap();
    assert_eq!(transport.last_url(), "https://demo.eu.places.example:443/v1/places");
}

#[tokio::test]
async fn variables_of_a_server_are_typed() {
    let transport = Recorder::default();
    let server = servers::RegionalServer {
        region: RegionalServerRegion::Us,
        tenant: "acme".to_owned(),
        ..Default::default()
    };
    let client = Client::new(server, transport.clone());
    client.list().await.unwrap();
    assert_eq!(transport.last_url(), "https://acme.us.places.example:443/v1/places");
    let ports: Vec<&str> = servers::RegionalServerPort::ALL.iter().map(|port| port.as_str()).collect();
    assert_eq!(ports, ["443", "8443"]);
}

/// An operation with its own server is sent there from each server of the contract, and from no other base URL.
#[tokio::test]
async fn servers_of_operations_belong_to_servers_of_the_contract() {
    let transport = Recorder::default();
    let own = "https://demo.pictures.example/up/pictures";
    let regional = servers::RegionalServer {
        region: RegionalServerRegion::ApSouth,
        base_path: "api/v2".to_owned(),
        ..Default::default()
    };
    for (base_url, expected) in [
        (servers::PRODUCTION.to_owned(), own),
        (String::from(regional), own),
        ("https://acme.pictures.example/up".to_owned(), own),
        ("http://127.0.0.1:4010".to_owned(), "http://127.0.0.1:4010/pictures"),
        ("https://api.places.example.org/v1".to_owned(), "https://api.places.example.org/v1/pictures"),
    ] {
        Client::new(base_url.clone(), transport.clone()).pictures().await.unwrap();
        assert_eq!(transport.last_url(), expected, "{base_url}");
    }
    let only = Client::new(servers::PRODUCTION, transport.clone()).with_base_url_only();
    only.pictures().await.unwrap();
    assert_eq!(transport.last_url(), "https://api.places.example/v1/pictures");
}

/// A value that contains separators does not reach another host: the URL is invalid, and nothing is sent.
#[tokio::test]
async fn variables_cannot_change_the_host() {
    let transport = Recorder::default();
    let server = servers::RegionalServer { tenant: "elsewhere.example/?".to_owned(), ..Default::default() };
    Client::new(server, transport.clone()).list().await.unwrap_err();
    assert_eq!(*transport.0.lock().unwrap(), [""; 0]);
}
