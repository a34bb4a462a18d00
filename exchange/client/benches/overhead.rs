//! The overhead of a call compared to the bare transport: the proof, which consists mostly of its signature,
//! and the rest of the client.
//!
//! Run `cargo bench -p exchange-client --all-features --bench overhead`. All benchmarks use the same
//! response, so that the results can be subtracted. `signed_call` minus `unsigned_call` minus `proof` is the
//! overhead of the client's transport, in process and over loopback. `unsigned_call` minus `bare_reqwest` is
//! the overhead of the generated client.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::LazyLock,
    thread,
};

use bytes::Bytes;
use divan::Bencher;
use dpop_bound::{
    AccessToken, Htu, KeyPair, Session,
    session::{DpopRequest, PrepareOutcome},
};
use exchange_client::{
    Environment, Exchange, RateLimit, TransportSettings,
    api::{
        Client, Transport,
        runtime::{client::ReqwestTransport, operation::Operation, transport::ResponseFuture},
    },
    testkit::signed_in_exchange,
};
use http::{Request, Response, header::CONTENT_TYPE};
use tokio::runtime::Runtime;

const ORIGIN: &str = "https://gateway.test";
const PATH: &str = "/exchange/v1/me/org-units";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("the runtime starts")
});

/// Returns a response body with approximately this many bytes.
fn body(size: usize) -> Bytes {
    let unit = r#"{"id": "ou_17", "name": "Mining Squadron", "shorthand": "MS", "kind": "SQUADRON"}"#;
    let units = vec![unit; size / unit.len()].join(",");
    format!(r#"{{"items": [{units}]}}"#).into()
}

/// A transport that returns the same response immediately.
struct BareTransport(Bytes);

impl Transport for BareTransport {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        let response = Response::builder().header(CONTENT_TYPE, "application/json").body(self.0.clone());
        let response = response.expect("the response is valid");
        Box::pin(async { Ok(response) })
    }
}

/// Starts a server on the loopback interface. It returns the same response to every request until the process
/// ends.
fn serve(size: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let origin = format!("http://{}", listener.local_addr().expect("the listener has an address"));
    let body = body(size);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let response = Bytes::from([head.as_bytes(), &body].concat());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let response = response.clone();
            thread::spawn(move || keep_answering(stream, &response));
        }
    });
    origin
}

/// Serves a connection until the client closes it. Requests must not have bodies or be pipelined.
fn keep_answering(mut stream: TcpStream, response: &[u8]) {
    let _ = stream.set_nodelay(true);
    let (mut request, mut used) = ([0; 16 << 10], 0);
    loop {
        match stream.read(&mut request[used..]) {
            Ok(read @ 1..) => used += read,
            _ => return,
        }
        if request[..used].ends_with(b"\r\n\r\n") {
            used = 0;
            if stream.write_all(response).is_err() {
                return;
            }
        }
    }
}

/// Returns an HTTP client with the same configuration as the default transport of `exchange-client`.
fn network() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.retry(reqwest::retry::never()).build().expect("the client can be built")
}

fn signed(origin: &str, below: impl Transport + 'static) -> Exchange {
    let mut settings = TransportSettings::default();
    settings.rate_limit = RateLimit { per_minute: u32::MAX, burst: u32::MAX };
    signed_in_exchange(origin, below, &Environment::system(), settings)
}

const SIZES: [usize; 2] = [100, 80_000];

/// Measures the generated client without a network.
#[divan::bench(args = SIZES)]
fn unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(ORIGIN, BareTransport(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).map(drop));
}

/// Measures a call with signing and evaluation of the response, without a network.
#[divan::bench(args = SIZES)]
fn signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(ORIGIN, BareTransport(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).map(drop));
}

/// Measures a request over loopback, including reading the response body.
#[divan::bench(args = SIZES)]
fn loopback_bare_reqwest(bencher: Bencher<'_, '_>, size: usize) {
    let (url, client) = (serve(size) + PATH, network());
    bencher.bench_local(|| {
        RUNTIME.block_on(async {
            let response = client
                .get(&url)
                .header("Accept", "application/json")
                .send()
                .await
                .expect("the server responds");
            response.bytes().await.expect("the body can be read").len()
        })
    });
}

/// Measures the same request with the generated client.
#[divan::bench(args = SIZES)]
fn loopback_unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).expect("the call succeeds"));
}

/// Measures the same request with the generated client, signing, and evaluation of the response.
#[divan::bench(args = SIZES)]
fn loopback_signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(&serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).expect("the call succeeds"));
}

/// Measures the creation of one proof.
#[divan::bench]
fn proof(bencher: Bencher<'_, '_>) {
    let environment = Environment::system();
    let key = KeyPair::generate().expect("a key can be generated");
    let session = Session::new(key, environment.clone());
    let token = AccessToken::new("token-of-a-test").expect("the token is valid");
    let htu = Htu::from_url(&format!("{ORIGIN}{PATH}")).expect("the URL is valid");
    let call = DpopRequest::new("GET", htu).with_token(token.hash()).without_waiting();
    bencher.bench_local(|| match session.prepare_now(&call, environment.now()) {
        Ok(PrepareOutcome::Send(transmission)) => transmission.proof().as_str().len(),
        _ => unreachable!("signing in memory succeeds, and no other request is in flight"),
    });
}

fn main() {
    divan::main();
}
