//! Calls an operation through a transport that signs requests. A real transport sends them over the network
//! and handles nonce challenges, whereas this one responds from memory.
//!
//! `cargo run -p exchange-api --features client --example call`

#![allow(clippy::print_stdout, reason = "the example prints its results")]

use bytes::Bytes;
use contract_runtime::{operation::Operation, transport::ResponseFuture};
use exchange_api::{Client, Error, Transport, calls::ShipsReadOptions, codes::Action};
use http::{Request, Response, header::AUTHORIZATION};

/// A transport that signs every request with a new proof.
struct Signing {
    access_token: String,
}

impl Signing {
    /// Returns an outline of a DPoP proof for one request (RFC 9449, 4.2).
    fn proof(&self, request: &Request<Bytes>) -> String {
        format!("proof.for.{}.{}", request.method(), request.uri().path())
    }
}

impl Transport for Signing {
    fn send<'a>(&'a self, operation: &'static Operation, mut request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let proof = self.proof(&request).parse().expect("visible ASCII");
            let token = format!("DPoP {}", self.access_token).parse().expect("visible ASCII");
            request.headers_mut().insert("DPoP", proof);
            request.headers_mut().insert(AUTHORIZATION, token);
            println!("{} {} ({})", request.method(), request.uri(), operation.id);
            println!("  DPoP: {}", request.headers()["DPoP"].to_str().unwrap_or_default());
            Ok(answer(operation))
        })
    }
}

/// Returns an example response of the exchange.
fn answer(operation: &Operation) -> Response<Bytes> {
    let (status, kind, body) = match operation.id {
        "catalog_locations" => {
            (200, "application/json", r#"{"items": [{"name": "Area 18"}, {"name": "Lorville"}]}"#)
        }
        _ => (
            403,
            "application/problem+json",
            r#"{"status": 403, "code": "SCOPE_MISSING", "title": "Scope missing", "detail": "The scope is missing.", "correlationId": "c-1"}"#,
        ),
    };
    let response = Response::builder().status(status).header("Content-Type", kind);
    response.body(Bytes::from_static(body.as_bytes())).expect("a valid response")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = Signing { access_token: "token".to_owned() };
    let client = Client::new("https://exchange.example", transport);

    let locations = client.catalog_locations().await?;
    for location in locations.items.iter().flatten() {
        println!("  a place: {}", location.name);
    }

    match client.ships_read(ShipsReadOptions::new().limit(100)).await {
        Ok(page) => println!("  {} ships", page.items.iter().flatten().count()),
        Err(Error::ErrorResponse(problem)) if problem.code.action() == Some(Action::NewLoginWithScope) => {
            println!("  sign in again with the scope: {}", problem.detail.as_deref().unwrap_or_default());
        }
        Err(other) => return Err(other.into()),
    }

    // Invalid arguments are not sent.
    match client.ships_read(ShipsReadOptions::new().limit(5000)).await {
        Err(Error::InvalidRequest(violations)) => println!("not sent: {violations}"),
        other => println!("unexpected: {:?}", other.map(|page| page.items.iter().flatten().count())),
    }
    Ok(())
}
