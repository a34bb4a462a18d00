//! What a call costs on top of the bare transport: the proof, which is its signature, and everything else.
//!
//! `cargo bench -p exchange-client --all-features --bench overhead`. All in one run and against the same answer, so that the
//! rows can be subtracted: `signed call` less `unsigned call` less `proof` is what the transport adds, in the same process
//! and over loopback; `unsigned call` less `bare reqwest` is what the generated client does.

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
    session::{Call, Turn},
};
use exchange_client::{
    Budget, Environment, Exchange, Settings,
    api::{
        Client, Transport,
        runtime::{client::ReqwestTransport, operation::Operation, transport::Sending},
    },
    testkit::signed_in,
};
use http::{Request, Response, header::CONTENT_TYPE};
use tokio::runtime::Runtime;

const ORIGIN: &str = "https://gateway.test";
const PATH: &str = "/exchange/v1/me/org-units";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// An answer of about so many bytes.
fn body(size: usize) -> Bytes {
    let unit = r#"{"id": "ou_17", "name": "Mining Squadron", "shorthand": "MS", "kind": "SQUADRON"}"#;
    let units = vec![unit; size / unit.len()].join(",");
    format!(r#"{{"items": [{units}]}}"#).into()
}

/// Answers at once.
struct Bare(Bytes);

impl Transport for Bare {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> Sending<'a> {
        let answer = Response::builder().header(CONTENT_TYPE, "application/json").body(self.0.clone());
        let answer = answer.expect("an answer");
        Box::pin(async { Ok(answer) })
    }
}

/// A server on the loopback interface that gives this answer to every request, and does nothing else. It ends with the
/// process.
fn serve(size: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    let body = body(size);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = Bytes::from([head.as_bytes(), &body].concat());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || keep_answering(stream, &answer));
        }
    });
    origin
}

/// Until the client goes away. Requests have no bodies, and one comes when the one before was answered.
fn keep_answering(mut stream: TcpStream, answer: &[u8]) {
    let _ = stream.set_nodelay(true);
    let (mut request, mut used) = ([0; 16 << 10], 0);
    loop {
        match stream.read(&mut request[used..]) {
            Ok(read @ 1..) => used += read,
            _ => return,
        }
        if request[..used].ends_with(b"\r\n\r\n") {
            used = 0;
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// As the client sets it up.
fn network() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.retry(reqwest::retry::never()).build().expect("a client")
}

fn signed(origin: &str, below: impl Transport + 'static) -> Exchange {
    let mut settings = Settings::default();
    settings.budget = Budget { per_minute: u32::MAX, burst: u32::MAX };
    signed_in(origin, below, &Environment::system(), settings)
}

const SIZES: [usize; 2] = [100, 80_000];

/// The generated client alone.
#[divan::bench(args = SIZES)]
fn unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(ORIGIN, Bare(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).map(drop));
}

/// The same, signed and judged.
#[divan::bench(args = SIZES)]
fn signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(ORIGIN, Bare(body(size)));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).map(drop));
}

/// A request over loopback, and the bytes of its answer.
#[divan::bench(args = SIZES)]
fn loopback_bare_reqwest(bencher: Bencher<'_, '_>, size: usize) {
    let (url, client) = (serve(size) + PATH, network());
    bencher.bench_local(|| {
        RUNTIME.block_on(async {
            let answer =
                client.get(&url).header("Accept", "application/json").send().await.expect("an answer");
            answer.bytes().await.expect("a body").len()
        })
    });
}

/// The same request by the generated client.
#[divan::bench(args = SIZES)]
fn loopback_unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(&serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).expect("an answer"));
}

/// The same, signed and judged.
#[divan::bench(args = SIZES)]
fn loopback_signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let exchange = signed(&serve(size), ReqwestTransport::from_client(network()));
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).expect("an answer"));
}

/// One proof.
#[divan::bench]
fn proof(bencher: Bencher<'_, '_>) {
    let environment = Environment::system();
    let key = KeyPair::generate().expect("a key");
    let session = Session::new(key, environment.clone());
    let token = AccessToken::new("token-of-a-test").expect("a token");
    let htu = Htu::of(&format!("{ORIGIN}{PATH}")).expect("an address");
    let call = Call::new("GET", htu).with_token(token.hash()).without_waiting();
    bencher.bench_local(|| match session.prepare_now(&call, environment.now()) {
        Ok(Turn::Go(transmission)) => transmission.proof().as_str().len(),
        _ => unreachable!("a key in memory, and nobody to wait for"),
    });
}

fn main() {
    divan::main();
}
