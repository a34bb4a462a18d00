//! The cost of a call compared to the bare transport: the proof, which is mostly its signature, and the rest.
//!
//! Run `cargo bench -p exchange-client --all-features --bench overhead`. All benchmarks use the same response, so
//! that the results can be subtracted: `signed_call` minus `unsigned_call` minus `proof` is the overhead of the
//! transport, in process and over loopback; `unsigned_call` minus `bare_reqwest` is the overhead of the generated
//! client.

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

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// Returns a response body of about this many bytes.
fn body(size: usize) -> Bytes {
    let unit = r#"{"id": "ou_17", "name": "Mining Squadron", "shorthand": "MS", "kind": "SQUADRON"}"#;
    let units = vec![unit; size / unit.len()].join(",");
    format!(r#"{{"items": [{units}]}}"#).into()
}

/// A transport that responds at once.
struct Bare(Bytes);

impl Transport for Bare {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        let response = Response::builder().header(CONTENT_TYPE, "application/json").body(self.0.clone());
        let response = response.expect("an answer");
        Box::pin(async { Ok(response) })
    }
}

/// Starts a server on the loopback interface that returns the same response to every request, until the
/// process ends.
fn serve(size: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
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

/// Serves a connection until the client closes it. Requests have no bodies and are not pipelined.
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

/// Returns a client with the configuration that `exchange-client` uses.
fn network() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.retry(reqwest::retry::never()).build().expect("a client")
}

fn signed(origin: &str, below: impl Transport + 'static) -> Exchange {
    let mut settings = TransportSettings::default();
    settings.rate_limit = RateLimit { per_minute: u32::MAX, burst: u32::MAX };
    signed_in_exchange(origin, below, &Environment::system(), settings)
}

const SIZES: [usize; 2] = [100, 80_000];

/// Measures the generated client only.
#[divan::bench(args = SIZES)]
fn unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(ORIGIN, Bare(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).map(drop));
}

/// Measures a call with signing and evaluation.
#[divan::bench(args = SIZES)]
fn signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(ORIGIN, Bare(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).map(drop));
}

/// Measures a request over loopback with its response body.
#[divan::bench(args = SIZES)]
fn loopback_bare_reqwest(bencher: Bencher<'_, '_>, size: usize) {
    let (url, client) = (serve(size) + PATH, network());
    bencher.bench_local(|| {
        RUNTIME.block_on(async {
            let response =
                client.get(&url).header("Accept", "application/json").send().await.expect("an answer");
            response.bytes().await.expect("a body").len()
        })
    });
}

/// Measures the same request by the generated client.
#[divan::bench(args = SIZES)]
fn loopback_unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(&serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).expect("an answer"));
}

/// Measures the same request with signing and evaluation.
#[divan::bench(args = SIZES)]
fn loopback_signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(&serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).expect("an answer"));
}

/// Measures the creation of one proof.
#[divan::bench]
fn proof(bencher: Bencher<'_, '_>) {
    let environment = Environment::system();
    let key = KeyPair::generate().expect("a key");
    let session = Session::new(key, environment.clone());
    let token = AccessToken::new("token-of-a-test").expect("a token");
    let htu = Htu::from_url(&format!("{ORIGIN}{PATH}")).expect("an address");
    let call = DpopRequest::new("GET", htu).with_token(token.hash()).without_waiting();
    bencher.bench_local(|| match session.prepare_now(&call, environment.now()) {
        Ok(PrepareOutcome::Send(transmission)) => transmission.proof().as_str().len(),
        _ => unreachable!("a key in memory, and nobody to wait for"),
    });
}

fn main() {
    divan::main();
}
