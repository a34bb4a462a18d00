//! The credentials of the case `credentials`, tried against a server that checks them.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "what these tests do not ask for is part of the output all the same")]

#[rustfmt::skip]
#[path = "cases/credentials/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/credentials/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/credentials/expected/credentials.rs"]
pub mod credentials;
#[rustfmt::skip]
#[path = "cases/credentials/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/credentials/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/credentials/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/credentials/expected/types.rs"]
pub mod types;

use std::sync::{Arc, Mutex};

use calls::Both;
use client::{Bytes, Client, Error};
use contract_runtime::{
    operation::Operation,
    transport::{Delivery, Sending, Transport, TransportFault},
};
use credentials::{ClientCredentials, Credentials, Missing};
use http::{Request, Response};

/// Answers 204 to who is known, 401 to who is not, and gives tokens of which only the second is good.
#[derive(Clone, Default)]
struct Vault(Arc<Mutex<Vec<String>>>);

impl Vault {
    fn answer(&self, request: &Request<Bytes>) -> (u16, &'static str) {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap());
        let authorization = header("authorization").unwrap_or("-");
        let known = match request.uri().path() {
            "/open" => header("x-key").is_none() && authorization == "-",
            "/keyed" => header("x-key") == Some("k") || authorization == "Basic bWU6cHc=",
            "/maybe" => true,
            "/both" => {
                header("cookie") == Some("sid=c")
                    && matches!(request.uri().query(), Some("page=2&key=a%2Fb" | "key=a%2Fb"))
            }
            "/machine" => authorization == "Bearer second",
            "/token" => authorization == "Bearer t",
            "/oauth/token" => {
                assert_eq!(request.uri(), "https://vault.example/oauth/token");
                assert_eq!(authorization, "Basic YXBwOmhpZGRlbg==");
                assert_eq!(request.body(), "grant_type=client_credentials&scope=read");
                let asked = self.0.lock().unwrap().iter().filter(|path| *path == "/oauth/token").count();
                let token = r#"{"access_token":"first","token_type":"bearer","expires_in":3600}"#;
                let second = r#"{"access_token":"second","token_type":"bearer","expires_in":3600}"#;
                return (200, if asked == 1 { token } else { second });
            }
            path => panic!("{path}"),
        };
        (if known { 204 } else { 401 }, "")
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Transport for Vault {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        self.0.lock().unwrap().push(request.uri().path().to_owned());
        let (status, body) = self.answer(&request);
        Box::pin(async move { Ok(Response::builder().status(status).body(body.into()).unwrap()) })
    }
}

fn client(credentials: Credentials) -> (Client, Vault) {
    let vault = Vault::default();
    (Client::new("https://vault.example", credentials.over(vault.clone())), vault)
}

#[tokio::test]
async fn each_operation_is_shown_what_it_asks_for() {
    let all = Credentials::new()
        .api_key("k")
        .sid("c")
        .new_key("a/b")
        .person("t")
        .machine_client(ClientCredentials::new("app", "hidden").with_scopes(["read"]));
    assert!(!format!("{all:?}").contains("hidden"));
    let (client, vault) = client(all);
    client.open().await.unwrap();
    client.keyed().await.unwrap();
    client.maybe().await.unwrap();
    client.both(Both::new()).await.unwrap();
    client.both(Both::new().page(2)).await.unwrap();
    client.with_token().await.unwrap();
    // The first token is refused, a second one fetched, and kept.
    client.machine().await.unwrap();
    client.machine().await.unwrap();
    let asked = vault.asked();
    let machine = ["/oauth/token", "/machine", "/oauth/token", "/machine", "/machine"];
    assert_eq!(asked[asked.len() - 5..], machine);
}

#[tokio::test]
async fn an_alternative_is_as_good() {
    let (client, _) = client(Credentials::new().basic("me", "pw"));
    client.keyed().await.unwrap();
}

#[tokio::test]
async fn what_is_missing_is_said_before_anything_is_sent() {
    let (client, vault) = client(Credentials::new().sid("c"));
    client.maybe().await.unwrap();
    match client.keyed().await.unwrap_err() {
        Error::Transport(error) => {
            assert_eq!((error.fault(), error.delivery()), (TransportFault::Declined, Delivery::NotSent));
            assert_eq!(error.cause::<Missing>().unwrap().operation, "keyed");
            assert!(error.to_string().ends_with("not set: `api-key`, or `basic`"), "{error}");
        }
        other => panic!("{other}"),
    }
    assert!(client.both(Both::new()).await.unwrap_err().to_string().ends_with("not set: `new`"));
    assert_eq!(vault.asked(), ["/maybe"]);
}
