//! Tests that call the generated server with the generated client in one process.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context as Task, Poll, Waker},
};

use axum::body::{Body, to_bytes};
use contract_runtime::{
    Contract,
    client::Bytes,
    operation::Operation,
    server::{Rejection, RequestContext, Response, Router, RouterOptions, TypedResponse},
    transport::{ResponseFuture, Transport},
};
use tower::ServiceExt;

use crate::apis::operations_apart as apart;

use crate::apis::operations::{
    calls::{AddShipCall, ReadShipCall, ReadShipOptions},
    client::{Client, Error},
    operations::OperationId,
    response_headers::ReadShipResponseHeaders,
    server::{ErrorResponse, Service, router},
    types::{NewShip, Problem, ProblemCode, ReadShipWithItem, Ship, ShipId},
};

struct Fleet;

fn ship(id: &str) -> Ship {
    let json = format!(r#"{{"id":"{id}","name":"n","built":2950}}"#);
    Ship::parse_valid(json.as_bytes()).unwrap()
}

impl Service for Fleet {
    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        let operation = context.operation().map_or("none", |o| o.id);
        let text = format!(r#"{{"type":"{operation}: {rejection:?}","status":400}}"#);
        let response =
            http::Response::builder().status(400).header("Content-Type", "application/problem+json");
        response.body(Body::from(text.replace('\\', "").replace("\"{", "{"))).unwrap()
    }

    async fn read_ship(
        &self,
        call: ReadShipCall,
        _: RequestContext,
    ) -> Result<TypedResponse<Ship, ReadShipResponseHeaders>, ErrorResponse> {
        assert_eq!(call.options, options());
        if call.ship_id == "none" {
            let problem = br#"{"type":"about:blank","status":404,"code":"NOT_FOUND"}"#;
            return Err(ErrorResponse::new(
                http::StatusCode::NOT_FOUND,
                Problem::parse_valid(problem).unwrap(),
            ));
        }
        let headers = ReadShipResponseHeaders::new("\"1\"");
        Ok(TypedResponse::with_headers(ship(call.ship_id.as_str()), headers))
    }

    async fn add_ship(&self, call: AddShipCall, _: RequestContext) -> Result<Ship, ErrorResponse> {
        assert_eq!(contract_runtime::server::FromIncomingRequest::undeclared_members(&call, 9), ["/colour"]);
        Ok(ship("new"))
    }
}

/// A transport that passes requests to a router.
struct Direct(Router);

impl Transport for Direct {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        let router = self.0.clone();
        Box::pin(async move {
            let response = router.oneshot(request.map(Body::from)).await.unwrap();
            let (head, body) = response.into_parts();
            Ok(http::Response::from_parts(head, to_bytes(body, usize::MAX).await.unwrap()))
        })
    }
}

fn client() -> Client {
    Client::new(
        "https://fleet.example/v1",
        Direct(Router::new().nest("/v1", router(Arc::new(Fleet), RouterOptions::default()))),
    )
}

/// Polls a call to completion. No test waits for I/O.
fn run<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    for _ in 0..1000 {
        if let Poll::Ready(value) = call.as_mut().poll(&mut Task::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("pending")
}

fn id(text: &str) -> ShipId {
    ShipId::new(text).unwrap()
}

fn options() -> ReadShipOptions {
    ReadShipOptions::new()
        .x_trace("trace")
        .depth(2)
        .with(vec![ReadShipWithItem::Crew, ReadShipWithItem::Cargo])
}

#[test]
fn parameters_and_responses_round_trip() {
    let response = run(client().read_ship(&id("a"), options())).unwrap();
    assert_eq!(response.header("etag"), Some("\"1\""));
    assert_eq!(*response, ship("a"));
    assert_eq!(response.undeclared_members(9), ["/built"]);
}

#[test]
fn error_responses_are_typed() {
    let error = run(client().read_ship(&id("none"), options())).unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 404);
    assert_eq!(error.body().unwrap().code, Some(ProblemCode::NotFound));
}

#[test]
fn invalid_requests_are_not_sent() {
    let error = run(client().read_ship(&id("a"), options().x_trace("longer than 8"))).unwrap_err();
    assert!(matches!(error, Error::InvalidRequest { .. }), "{error:?}");
    let error = run(client().read_ship(&id("a"), ReadShipOptions::new().depth(4))).unwrap_err();
    assert!(matches!(error, Error::InvalidRequest { .. }), "{error:?}");
}

#[test]
fn unimplemented_operations_are_rejected() {
    let error = run(client().scrap_ship(&id("a"))).unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 400);
    assert!(error.body().unwrap().type_.starts_with("scrapShip: NotImplemented"), "{error:?}");
}

#[test]
fn undeclared_members_of_bodies_arrive() {
    let body = NewShip::parse_valid(br#"{"name":"n","colour":"red"}"#).unwrap();
    assert_eq!(run(client().add_ship(&body)).unwrap().into_body(), ship("new"));
}

#[test]
fn operations_list_their_scopes() {
    let scopes = |id: OperationId| id.operation().scopes.to_vec();
    assert_eq!(scopes(OperationId::ReadShip), [["fleet.read"]]);
    assert_eq!(scopes(OperationId::ScrapShip), [["fleet.read", "fleet.write"]]);
    assert!(!OperationId::AddShip.operation().anonymous);
}

/// A service that returns the matched operation in a response header.
struct Machines;

impl apart::server::Service for Machines {
    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        let operation = context.operation().map_or("none", |operation| operation.id);
        let response = http::Response::builder().status(rejection.status()).header("X-Found", operation);
        response.body(Body::empty()).unwrap()
    }
}

/// The client sends the constants that distinguish operations with the same path and method.
#[test]
fn operations_of_one_path_are_distinguished_by_constants() {
    let router = apart::server::router(Arc::new(Machines), RouterOptions::default());
    let client = apart::client::Client::new("https://machines.example", Direct(router));
    let found = |error: Option<apart::client::Error<()>>| {
        let error = error.unwrap();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(501), "{error:?}");
        error.header("X-Found").unwrap().to_owned()
    };
    let found_operations = [
        found(run(client.run(3)).err()),
        found(run(client.stop()).err()),
        found(run(client.list()).err()),
        found(run(client.drop()).err()),
        found(run(client.drop_key("a", &["b"])).err()),
        found(run(client.drop_all("a")).err()),
        found(run(client.rest_get("a")).err()),
        found(run(client.rest_count()).err()),
        found(run(client.near(apart::types::NearTo::Km, &1.into())).err()),
    ];
    let expected = ["run", "stop", "list", "drop", "dropKey", "dropAll", "restGet", "restCount", "near"];
    assert_eq!(found_operations, expected);
}
