//! Implements one operation of the server trait, leaves the other operations unimplemented, and calls the
//! router without a socket.
//!
//! `cargo run -p exchange-api --features server --example serve`

#![allow(clippy::print_stdout, reason = "the example prints its results")]

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use contract_runtime::server::{Rejection, RequestContext, Response, RouterOptions};
use exchange_api::{
    calls::OrgStockMembersCall,
    error_responses::PlainCode,
    server::{ErrorResponse, Service, router},
    types::{CorrelationId, OrgStockMembers, Problem},
};
use http::Request;
use tower::ServiceExt;

struct Exchange;

fn correlation_id(context: &RequestContext) -> CorrelationId {
    let own = context.header("X-Correlation-Id").and_then(|id| CorrelationId::new(id).ok());
    own.unwrap_or_else(|| CorrelationId::new("made-here").expect("a valid id"))
}

impl Service for Exchange {
    /// Returns the members of a unit: this caller is Logistician of none (OST-15).
    async fn org_stock_members(
        &self,
        _: OrgStockMembersCall,
        context: RequestContext,
    ) -> Result<OrgStockMembers, ErrorResponse> {
        Err(Problem::error_response(PlainCode::NotPermitted, correlation_id(&context), context.uri().path()))
    }

    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        Problem::rejection_response(&rejection, correlation_id(context), context)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let router = router(Arc::new(Exchange), RouterOptions::default());
    for path in [
        "/exchange/v1/org-stock/members?unit=unit-3",
        "/exchange/v1/org-stock/members",
        "/exchange/v1/nothing",
    ] {
        let request = Request::get(path).header("DPoP", "proof").body(Body::empty())?;
        let response = router.clone().oneshot(request).await?;
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await?;
        println!("GET {path}\n{status} {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
