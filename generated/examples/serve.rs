//! Implement one operation of the exchange through the server trait, refuse the others, and
//! call it without a socket.
//!
//! `cargo run -p exchange-api --features server --example serve`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use contract_runtime::server::{Context, Rejection, Response, RouterOptions};
use exchange_api::{
    calls::OrgStockMembersCall,
    codes::Code,
    server::{Refusal, Service, router},
    types::{CorrelationId, OrgStockMembers, Problem},
};
use http::{Request, header::CONTENT_TYPE};
use tower::ServiceExt;

struct Exchange;

fn correlation_id(context: &Context) -> CorrelationId {
    let own = context.header("X-Correlation-Id").and_then(|id| CorrelationId::new(id).ok());
    own.unwrap_or_else(|| CorrelationId::new("made-here").expect("a valid id"))
}

impl Service for Exchange {
    /// The roster of a unit: this member is Logistician of none (OST-15).
    async fn org_stock_members(
        &self,
        _: OrgStockMembersCall,
        context: Context,
    ) -> Result<OrgStockMembers, Refusal> {
        Err(Problem::new(Code::NotPermitted, correlation_id(&context)).refuse())
    }

    fn reject(&self, context: &Context, rejection: Rejection) -> Response {
        let problem = Problem::of_rejection(&rejection, correlation_id(context));
        let status = u16::try_from(problem.status).unwrap_or(500);
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(body.into());
        *response.status_mut() = status.try_into().unwrap_or_default();
        response
            .headers_mut()
            .insert(CONTENT_TYPE, "application/problem+json".parse().expect("a media type"));
        response
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
