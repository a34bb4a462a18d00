//! Tests of the credentials of the case `credentials` with a server that verifies them.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

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
#[path = "cases/credentials/expected/security_requirements.rs"]
pub mod security_requirements;
#[rustfmt::skip]
#[path = "cases/credentials/expected/types.rs"]
pub mod types;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use calls::BothOptions;
use client::{Bytes, Client, Error};
use contract_runtime::{
    client::ReqwestTransport,
    operation::Operation,
    transport::{Delivery, ResponseFuture, Transport, TransportFault},
};
use credentials::{ClientCredentials, Credentials, MissingCredentials};
use http::{Request, Response};

/// A server that returns 204 for valid credentials and 401 otherwise. Of the tokens that it issues, it
/// accepts only the second token.
#[derive(Clone, Default)]
struct Vault(Arc<Mutex<Vec<String>>>);

impl Vault {
    fn record(&self, request: &Request<Bytes>) -> (u16, &'static str) {
        self.0.lock().unwrap().push(request.uri().path().to_owned());
        self.respond(request)
    }

    fn respond(&self, request: &Request<Bytes>) -> (u16, &'static str) {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap());
        let authorization = header("authorization").unwrap_or("-");
        let is_valid = match request.uri().path() {
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
                // If the request is sent over a connection, the request target contains no host.
                assert!(matches!(request.uri().host(), None | Some("vault.example")));
                assert_eq!(authorization, "Basic YXBwOmhpZGRlbg==");
                assert_eq!(request.body(), "grant_type=client_credentials&scope=read");
                let issued = self.0.lock().unwrap().iter().filter(|path| *path == "/oauth/token").count();
                let token = r#"{"access_token":"first","token_type":"bearer","expires_in":3600}"#;
                let second = r#"{"access_token":"second","token_type":"bearer","expires_in":3600}"#;
                return (200, if issued == 1 { token } else { second });
            }
            path => panic!("{path}"),
        };
        (if is_valid { 204 } else { 401 }, "")
    }

    fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Transport for Vault {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let (status, body) = self.record(&request);
        Box::pin(async move { Ok(Response::builder().status(status).body(body.into()).unwrap()) })
    }
}

fn client(credentials: Credentials) -> (Client, Vault) {
    let vault = Vault::default();
    (Client::new("https://vault.example", credentials.wrap(vault.clone())), vault)
}

/// Starts the server on a socket for the given number of requests.
fn serve(requests: usize) -> (String, Vault, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let vault = Vault::default();
    let server_vault = vault.clone();
    let server = std::thread::spawn(move || {
        for _ in 0..requests {
            let (mut connection, _) = listener.accept().unwrap();
            let (status, body) = server_vault.record(&read_request(&connection));
            let length = body.len();
            let response = match status {
                204 => "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned(),
                _ => format!(
                    "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{body}"
                ),
            };
            connection.write_all(response.as_bytes()).unwrap();
        }
    });
    (address, vault, server)
}

fn read_request(connection: &TcpStream) -> Request<Bytes> {
    let mut lines = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let mut parts = first.split(' ');
    let mut request = Request::builder().method(parts.next().unwrap()).uri(parts.next().unwrap());
    let mut length = 0;
    loop {
        let header = line();
        let Some((name, value)) = header.split_once(": ") else { break };
        if name == "content-length" {
            length = value.parse().unwrap();
        }
        request = request.header(name, value);
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    request.body(body.into()).unwrap()
}

/// A server accepts the credentials that the reqwest transport sends over TCP.
#[tokio::test]
async fn credentials_are_accepted_over_tcp() {
    let (address, vault, server) = serve(9);
    let machine = ClientCredentials::new("app", "hidden").with_scopes(["read"]);
    let all = Credentials::new()
        .api_key("k")
        .sid("c")
        .new_key("a/b")
        .person("t")
        .machine_client(machine.with_token_url(format!("{address}/oauth/token")));
    let client = Client::new(&address, all.wrap(ReqwestTransport::new().unwrap()));
    client.open().await.unwrap();
    client.keyed().await.unwrap();
    client.both(BothOptions::new().page(2)).await.unwrap();
    client.with_token().await.unwrap();
    client.machine().await.unwrap();
    let basic = Credentials::new().basic("me", "pw").wrap(ReqwestTransport::new().unwrap());
    Client::new(&address, basic).keyed().await.unwrap();
    server.join().unwrap();
    let machine = ["/oauth/token", "/machine", "/oauth/token", "/machine"];
    assert_eq!(vault.paths()[4..8], machine);
}

#[tokio::test]
async fn each_operation_sends_its_required_credentials() {
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
    client.both(BothOptions::new()).await.unwrap();
    client.both(BothOptions::new().page(2)).await.unwrap();
    client.with_token().await.unwrap();
    // The server rejects the first token, so the client requests a second one and caches it.
    client.machine().await.unwrap();
    client.machine().await.unwrap();
    let paths = vault.paths();
    let machine = ["/oauth/token", "/machine", "/oauth/token", "/machine", "/machine"];
    assert_eq!(paths[paths.len() - 5..], machine);
}

#[tokio::test]
async fn alternative_credentials_are_sent() {
    let (client, _) = client(Credentials::new().basic("me", "pw"));
    client.keyed().await.unwrap();
}

#[tokio::test]
async fn missing_credentials_are_reported_before_sending() {
    let (client, vault) = client(Credentials::new().sid("c"));
    client.maybe().await.unwrap();
    match client.keyed().await.unwrap_err() {
        Error::Transport(error) => {
            assert_eq!((error.fault(), error.delivery()), (TransportFault::Declined, Delivery::NotSent));
            assert_eq!(error.downcast_source::<MissingCredentials>().unwrap().operation, "keyed");
            assert!(error.to_string().ends_with("not set: `api-key`, or `basic`"), "{error}");
        }
        other => panic!("{other}"),
    }
    assert!(client.both(BothOptions::new()).await.unwrap_err().to_string().ends_with("not set: `new`"));
    assert_eq!(vault.paths(), ["/maybe"]);
}
