//! Adds a step of its own before all handlers: middleware around the router that verifies tokens.
//!
//! `cargo run -p exchange-api --features server --example middleware`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::HeaderValue,
    middleware::{Next, from_fn_with_state},
};
use contract_runtime::{
    operation::OperationLookup,
    server::{Bytes, Rejection, RequestContext, Response, RouterOptions},
};
use exchange_api::{
    calls::OrgStockMembersCall,
    error_responses::PlainCode,
    operations,
    server::{ErrorResponse, Service, router},
    types::{CorrelationId, OrgStockMembers, Problem},
};
use tower::ServiceExt;

struct Exchange;

/// The caller, as the middleware found it.
#[derive(Clone)]
struct Member(String);

fn correlation_id(context: &RequestContext) -> CorrelationId {
    let own = context.header("X-Correlation-Id").and_then(|id| CorrelationId::new(id).ok());
    own.unwrap_or_else(|| CorrelationId::new("made-here").expect("a valid id"))
}

impl Service for Exchange {
    async fn org_stock_members(
        &self,
        _: OrgStockMembersCall,
        context: RequestContext,
    ) -> Result<OrgStockMembers, ErrorResponse> {
        // Handlers read what the middleware inserted.
        if let Some(Member(name)) = context.extensions().get() {
            println!("the caller is {name}");
        }
        Err(Problem::error_response(PlainCode::NotPermitted, correlation_id(&context), context.uri().path()))
    }

    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        Problem::rejection_response(&rejection, correlation_id(context), context)
    }
}

/// Requires a token for each request whose operation requires one.
async fn authenticate(State(service): State<Arc<Exchange>>, mut request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().as_str(), request.uri());
    let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    // As the router does: several operations of one path may differ in their query or headers.
    let query = uri.query().unwrap_or_default();
    let operation = match operations::TABLE.find_request(method, uri.path(), query, header) {
        OperationLookup::Found(operation) if !operation.anonymous => operation,
        // The router rejects unknown paths.
        _ => return next.run(request).await,
    };
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    // A service verifies the token here; this example takes it as the name of the caller.
    if let Some(member) = token.map(|token| Member(token.to_owned())) {
        request.extensions_mut().insert(member);
        return next.run(request).await;
    }
    let (parts, _) = request.into_parts();
    let context = RequestContext::new(Arc::new(parts), Some(operation), Bytes::new());
    service.reject(&context, Rejection::Unauthorized { challenge: "Bearer".to_owned() })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Arc::new(Exchange);
    let router = router(Arc::clone(&service), RouterOptions::default())
        .layer(from_fn_with_state(service, authenticate));
    for token in [None, Some("Bearer ada")] {
        let mut request = Request::get("/exchange/v1/org-stock/members?unit=unit-3").header("DPoP", "proof");
        if let Some(token) = token {
            request = request.header("Authorization", token);
        }
        let response = router.clone().oneshot(request.body(Body::empty())?).await?;
        println!("{} {:?}", response.status(), response.headers().get("www-authenticate"));
    }
    Ok(())
}
