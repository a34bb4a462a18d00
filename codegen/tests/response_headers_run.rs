//! Tests of the case `response_headers`: headers that a server sends and a client reads.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[path = "cases/response_headers/expected"]
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
    pub mod response_headers;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod server;
    #[rustfmt::skip]
    pub mod types;
}

use std::sync::Arc;

use api::{
    calls::{ListItemsCall, ReadImageCall, ReadImageOptions, ReadItemCall},
    client::{Bytes, Client, Error},
    headers::{ErrorHeaders, ListItemsHeaders},
    response_headers::{
        ErrorResponseHeaders, ListItemsResponseHeaders, ReadImageResponseHeaders, ReadItemResponseHeaders,
    },
    server::{ErrorResponse, Service, router},
    types::Item,
};
use axum::{
    body::{Body, HttpBody as _},
    response::IntoResponse,
};
use contract_runtime::{
    client::ResponseHeaders as _,
    layers::TowerTransport,
    server::{
        ErrorResponse as AnyErrorResponse, HeaderName, HeaderValue, Rejection, RequestContext, Response,
        RouterOptions, StatusCode, TypedResponse,
    },
    transport::ByteStream,
};
use http::Request;
use tower::ServiceExt;

/// A service whose state selects the response.
struct Items(&'static str);

impl Service for Items {
    fn reject(&self, _: &RequestContext, rejection: Rejection) -> Response {
        StatusCode::from_u16(rejection.status()).unwrap().into_response()
    }

    async fn list_items(
        &self,
        _: ListItemsCall,
        _: RequestContext,
    ) -> Result<TypedResponse<Vec<Item>, ListItemsResponseHeaders>, ErrorResponse> {
        if self.0 == "busy" {
            let error = AnyErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, Item::new("later"));
            return Err(error.with_headers(&ErrorResponseHeaders::new().retry_after(7)));
        }
        let headers = ListItemsResponseHeaders::new(2).x_ids(vec![1, 2]).link(self.0);
        Ok(TypedResponse::with_headers(vec![Item::new("bolt"), Item::new("nut")], headers))
    }

    async fn read_item(
        &self,
        _: ReadItemCall,
        _: RequestContext,
    ) -> Result<TypedResponse<Item, ReadItemResponseHeaders>, AnyErrorResponse<()>> {
        match self.0 {
            // Without required headers, a body is sufficient.
            "plain" => Ok(Item::new("bolt").into()),
            _ => {
                let headers = ReadItemResponseHeaders::new().etag("declared");
                let tag = (HeaderName::from_static("etag"), HeaderValue::from_static("own"));
                Ok(TypedResponse::with_headers(Item::new("bolt"), headers).with_header(tag.0, tag.1))
            }
        }
    }

    async fn read_image(
        &self,
        call: ReadImageCall,
        _: RequestContext,
    ) -> Result<TypedResponse<ByteStream, ReadImageResponseHeaders>, AnyErrorResponse<()>> {
        let whole = ByteStream::from(&b"image"[..]);
        let body = match call.options.in_chunks {
            Some(true) => ByteStream::new(whole),
            _ => whole,
        };
        Ok(TypedResponse::with_headers(body, ReadImageResponseHeaders::new("tag")))
    }
}

fn client(state: &'static str) -> Client {
    let router = router(Arc::new(Items(state)), RouterOptions::default());
    Client::new("http://localhost", TowerTransport::new(router))
}

#[tokio::test]
async fn declared_headers_are_sent_and_read() {
    let items = client("<next>").list_items().await.unwrap();
    let headers = items.typed_headers();
    assert_eq!((headers.x_total(), headers.x_ids()), (Ok(2), Ok(Some(vec![1, 2]))));
    assert_eq!(headers.link().unwrap().as_deref(), Some("<next>"));
    let image = client("").read_image(ReadImageOptions::new()).await.unwrap();
    assert_eq!((image.header("etag"), image.body()), (Some("tag"), &Bytes::from("image")));
}

#[tokio::test]
async fn optional_headers_may_be_omitted_and_replaced() {
    let etag = async |state| {
        let item = client(state).read_item().await.unwrap();
        item.typed_headers().etag().unwrap()
    };
    assert_eq!(etag("plain").await, None);
    // A header that the handler sets by name has precedence.
    assert_eq!(etag("tagged").await.as_deref(), Some("own"));
}

#[tokio::test]
async fn error_responses_have_declared_headers() {
    let Err(Error::ErrorResponse(error)) = client("busy").list_items().await else { unreachable!() };
    assert_eq!(ErrorHeaders::from_headers(error.headers()).retry_after(), Ok(Some(7)));
}

/// If the value of a header is invalid in HTTP, the server responds with status 500.
#[tokio::test]
async fn headers_with_line_breaks_are_not_sent() {
    let error = client("a\nb").list_items().await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(500));
}

/// Each header reports its own error; an invalid header does not affect other headers.
#[test]
fn an_invalid_header_affects_no_other() {
    let mut headers = http::HeaderMap::new();
    headers.insert("x-ids", HeaderValue::from_static("1,two"));
    headers.insert("link", HeaderValue::from_static("<next>"));
    let headers = ListItemsHeaders::from_headers(&headers);
    assert!(headers.x_total().unwrap_err().is_missing());
    assert!(!headers.x_ids().unwrap_err().is_missing());
    assert_eq!(headers.link().unwrap().as_deref(), Some("<next>"));
}

/// A response body of bytes has a `Content-Length`; a response body of chunks has none.
#[tokio::test]
async fn length_of_bytes_is_known() {
    let length = async |method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let router = router(Arc::new(Items("")), RouterOptions::default());
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let header = response.headers().get("content-length").map(|value| value.to_str().unwrap().to_owned());
        (header, response.body().size_hint().exact())
    };
    assert_eq!(length("GET", "/image").await, (Some("5".to_owned()), Some(5)));
    assert_eq!(length("GET", "/image?in-chunks=true").await, (None, None));
    assert_eq!(length("HEAD", "/image").await, (Some("5".to_owned()), Some(0)));
}
