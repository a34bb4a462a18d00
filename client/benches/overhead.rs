//! What a call costs on top of the bare transport: the proof, which is its signature, and everything else.
//!
//! `cargo bench -p exchange-client --all-features --bench overhead`. All in one run and against the same answer in the same
//! process, so that the rows can be subtracted: `signed call` less `unsigned call` less `proof` is what the
//! transport adds.

use std::sync::LazyLock;

use bytes::Bytes;
use divan::Bencher;
use dpop_bound::{
    AccessToken, Htu, KeyPair, Session,
    session::{Call, Turn},
};
use exchange_client::{
    Budget, Environment, Exchange, Settings,
    api::{Client, Transport, runtime::operation::Operation, runtime::transport::Sending},
    testkit::signed_in,
};
use http::{Request, Response, header::CONTENT_TYPE};
use tokio::runtime::Runtime;

const ORIGIN: &str = "https://gateway.test";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// Answers at once.
struct Bare(Bytes);

impl Bare {
    /// About so many bytes.
    fn of(size: usize) -> Self {
        let unit = r#"{"id": "ou_17", "name": "Mining Squadron", "shorthand": "MS", "kind": "SQUADRON"}"#;
        let units = vec![unit; size / unit.len()].join(",");
        Self(format!(r#"{{"items": [{units}]}}"#).into())
    }
}

impl Transport for Bare {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> Sending<'a> {
        let answer = Response::builder().header(CONTENT_TYPE, "application/json").body(self.0.clone());
        let answer = answer.expect("an answer");
        Box::pin(async { Ok(answer) })
    }
}

const SIZES: [usize; 2] = [100, 80_000];

/// The generated client alone.
#[divan::bench(args = SIZES)]
fn unsigned_call(bencher: Bencher<'_, '_>, size: usize) {
    let api = Client::new(ORIGIN, Bare::of(size));
    bencher.bench_local(|| RUNTIME.block_on(api.org_units_read()).map(drop));
}

/// The same, signed and judged.
#[divan::bench(args = SIZES)]
fn signed_call(bencher: Bencher<'_, '_>, size: usize) {
    let mut settings = Settings::default();
    settings.budget = Budget { per_minute: u32::MAX, burst: u32::MAX };
    let exchange: Exchange = signed_in(ORIGIN, Bare::of(size), &Environment::system(), settings);
    bencher.bench_local(|| RUNTIME.block_on(exchange.api().org_units_read()).map(drop));
}

/// One proof.
#[divan::bench]
fn proof(bencher: Bencher<'_, '_>) {
    let environment = Environment::system();
    let key = KeyPair::generate().expect("a key");
    let session = Session::new(key, environment.clone());
    let token = AccessToken::new("token-of-a-test").expect("a token");
    let htu = Htu::of("https://gateway.test/exchange/v1/me/org-units").expect("an address");
    let call = Call::new("GET", htu).with_token(token.hash()).without_waiting();
    bencher.bench_local(|| match session.prepare_now(&call, environment.now()) {
        Ok(Turn::Go(transmission)) => transmission.proof().as_str().len(),
        _ => unreachable!("a key in memory, and nobody to wait for"),
    });
}

fn main() {
    divan::main();
}
