//! Tests of the case `optional_bodies`: bodies that the contract does not require.

#![deny(warnings)]
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[path = "cases/optional_bodies/expected"]
pub mod api {
    #[rustfmt::skip]
    pub mod bodies;
    #[rustfmt::skip]
    pub mod calls;
    #[rustfmt::skip]
    pub mod client;
    #[rustfmt::skip]
    pub mod models;
    #[rustfmt::skip]
    pub mod operations;
    #[rustfmt::skip]
    pub mod schemas;
    #[rustfmt::skip]
    pub mod server;
    #[rustfmt::skip]
    pub mod types;
}

use std::sync::{Arc, Mutex};

use api::{
    bodies::AddPhotoForm,
    calls::{
        AddPhotoCall, CreateItemCall, CreateItemOptions, DeleteItemCall, DeleteItemOptions, ReplaceItemCall,
        ReplaceItemOptions, UpdateItemCall,
    },
    client::Client,
    server::{Service, router},
    types::{Item, UpdateItemBody},
};
use axum::response::IntoResponse;
use contract_runtime::{
    Contract as _,
    layers::TowerTransport,
    server::{ErrorResponse, Rejection, RequestContext, Response, RouterOptions, StatusCode},
};

/// A service that records the raw bodies of requests, and whether they were parsed.
#[derive(Clone, Default)]
struct Shop(Arc<Mutex<Vec<String>>>);

impl Shop {
    fn record<T>(&self, body: Option<T>, context: &RequestContext) -> Result<(), ErrorResponse<()>> {
        let raw = String::from_utf8_lossy(context.body()).into_owned();
        self.0.lock().unwrap().push(format!("{}{raw}", if body.is_some() { "+" } else { "-" }));
        Ok(())
    }

    fn last(&self) -> String {
        self.0.lock().unwrap().pop().unwrap()
    }
}

impl Service for Shop {
    fn reject(&self, _: &RequestContext, rejection: Rejection) -> Response {
        StatusCode::from_u16(rejection.status()).unwrap().into_response()
    }

    async fn create_item(
        &self,
        call: CreateItemCall,
        context: RequestContext,
    ) -> Result<(), ErrorResponse<()>> {
        self.record(call.body, &context)
    }

    async fn update_item(
        &self,
        call: UpdateItemCall,
        context: RequestContext,
    ) -> Result<(), ErrorResponse<()>> {
        self.record(call.body, &context)
    }

    async fn replace_item(
        &self,
        call: ReplaceItemCall,
        context: RequestContext,
    ) -> Result<(), ErrorResponse<()>> {
        self.record(call.options.body, &context)
    }

    async fn delete_item(
        &self,
        call: DeleteItemCall,
        context: RequestContext,
    ) -> Result<(), ErrorResponse<()>> {
        self.record(call.options.body, &context)
    }

    async fn add_photo(&self, call: AddPhotoCall, context: RequestContext) -> Result<(), ErrorResponse<()>> {
        self.record(call.body.map(|form| assert_eq!(form.title, "front")), &context)
    }
}

fn client() -> (Client, Shop) {
    let shop = Shop::default();
    let router = router(Arc::new(shop.clone()), RouterOptions::default());
    (Client::new("http://localhost", TowerTransport::new(router)), shop)
}

/// An optional body with required properties is an argument of the method. If the argument is `None`, no body
/// is sent.
#[tokio::test]
async fn bodies_with_required_properties_are_arguments() {
    let (client, shop) = client();
    let item = Item::new("bolt");
    client.create_item(&item, CreateItemOptions::new()).await.unwrap();
    assert_eq!(shop.last(), r#"+{"name":"bolt"}"#);
    client.create_item(Some(&item), CreateItemOptions::new().dry(true)).await.unwrap();
    assert_eq!(shop.last(), r#"+{"name":"bolt"}"#);
    client.create_item(None, CreateItemOptions::new()).await.unwrap();
    assert_eq!(shop.last(), "-");
    let call = CreateItemCall { body: Some(item), options: CreateItemOptions::new() };
    client.api_client().call(&call).await.unwrap();
    assert_eq!(shop.last(), r#"+{"name":"bolt"}"#);
}

/// A union whose branches all have a required property is an argument as well. The compiler infers its type if
/// it is the result of `into`. The same applies to forms and multipart bodies.
#[tokio::test]
async fn unions_and_forms_are_arguments() {
    let (client, shop) = client();
    let body = UpdateItemBody::parse(br#"{"price": 3}"#).unwrap();
    client.update_item("1", &body).await.unwrap();
    assert_eq!(shop.last(), "+price=3");
    let item = Item::new("bolt");
    client.update_item("1", &item.clone().into()).await.unwrap();
    assert_eq!(shop.last(), "+name=bolt");
    client.update_item("1", Some(&item.into())).await.unwrap();
    assert_eq!(shop.last(), "+name=bolt");
    client.update_item("1", None).await.unwrap();
    assert_eq!(shop.last(), "-");
    client.add_photo(&AddPhotoForm::new("front".to_owned())).await.unwrap();
    assert!(shop.last().contains("front"));
    client.add_photo(None).await.unwrap();
    assert_eq!(shop.last(), "-");
}

/// Other optional bodies are passed in the options of the method.
#[tokio::test]
async fn other_bodies_are_options() {
    let (client, shop) = client();
    client.replace_item("1", ReplaceItemOptions::new()).await.unwrap();
    assert_eq!(shop.last(), "-");
    client.delete_item("1", DeleteItemOptions::new().body(Item::new("bolt"))).await.unwrap();
    assert_eq!(shop.last(), r#"+{"name":"bolt"}"#);
}
