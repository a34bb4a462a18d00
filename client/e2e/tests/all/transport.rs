//! Calls through the whole transport, over real sockets, to the real gateway.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use exchange_client::{
    Clock, Effort, Environment, Error, ErrorKind, Exchange, Halt, Identity, InMemory, Patience, Place,
    Session, SessionState, Sleep,
    api::{
        Contract as _, Transport, TransportError,
        calls::BlueprintsRead,
        runtime::{
            client::ReqwestTransport,
            operation::Operation,
            transport::{Delivery, Sending, TransportFault},
        },
        scopes::Scope,
        types::BlueprintChangeSet,
    },
    dpop::{SystemRandom, clock::Reading},
};
use exchange_service::sandbox::Sandbox;

/// The network, with a way to lose answers, and a count of what was sent.
#[derive(Clone)]
struct Wire {
    inner: ReqwestTransport,
    sent: Arc<AtomicU32>,
    lose: Arc<Mutex<Option<&'static str>>>,
}

impl Wire {
    fn new() -> Self {
        let inner = ReqwestTransport::new().unwrap();
        Self { inner, sent: Arc::default(), lose: Arc::default() }
    }

    /// How many requests were sent since the last time.
    fn sent(&self) -> u32 {
        self.sent.swap(0, Ordering::SeqCst)
    }

    /// The next answer to this operation is lost.
    fn lose(&self, operation: &'static str) {
        *self.lose.lock().unwrap() = Some(operation);
    }
}

impl Transport for Wire {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            self.sent.fetch_add(1, Ordering::SeqCst);
            let answer = self.inner.send(operation, request).await?;
            let succeeded = answer.status().is_success();
            let lost = self.lose.lock().unwrap().take_if(|lost| succeeded && *lost == operation.id);
            match lost {
                Some(_) => Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown)),
                None => Ok(answer),
            }
        })
    }
}

/// The machine's clocks, and the exchange's with them: a short wait, between polls or before a resend, moves both;
/// a long one, which gives up on an answer, is as long as it is.
struct Impatient {
    system: Environment,
    sandbox: Arc<Sandbox>,
    ahead: Mutex<Duration>,
}

impl Clock for Impatient {
    fn now(&self) -> Reading {
        let (now, ahead) = (self.system.now(), *self.ahead.lock().unwrap());
        Reading { wall: now.wall.saturating_add(ahead), monotonic: now.monotonic + ahead }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        if time >= Duration::from_secs(15) {
            return self.system.sleep(time);
        }
        Box::pin(async move {
            *self.ahead.lock().unwrap() += time;
            self.sandbox.advance(time);
        })
    }
}

/// A member of a sandbox who is signed in.
struct Desk {
    sandbox: Arc<Sandbox>,
    wire: Wire,
    session: Session,
    exchange: Exchange,
}

impl Desk {
    async fn of(client: &str, scopes: &[Scope]) -> Self {
        let sandbox = Arc::new(Sandbox::start().await.unwrap());
        let clock = Impatient {
            system: Environment::system(),
            sandbox: Arc::clone(&sandbox),
            ahead: Mutex::default(),
        };
        let environment = Environment::new(clock, SystemRandom);
        let origin = sandbox.origin();
        let place = Place::of_developer(|_| Some(origin)).unwrap().unwrap();
        let identity = Identity::new(client, "Desk", "1.0.0", "https://desk.example").unwrap();
        let session = Session::builder(&place, &identity).credentials(InMemory::new());
        let session = session.environment(environment).open().await.unwrap();
        let login = session.sign_in(scopes).await.unwrap();
        sandbox.approve(login.user_code(), "sandbox-member").await.unwrap();
        login.finish().await.unwrap();
        let wire = Wire::new();
        let exchange = Exchange::builder(place, identity).transport(wire.clone()).build(&session).unwrap();
        Self { sandbox, wire, session, exchange }
    }

    async fn units(&self) -> Result<Effort, Error> {
        let answer = self.exchange.api().org_units_read().await?;
        Ok(answer.extensions.get::<Effort>().cloned().unwrap())
    }
}

/// CON-01, CLI-01, DPP-05, DPP-08, DPP-20: a first call costs one challenge, and no other does; twenty at once neither.
#[tokio::test]
async fn calls_get_through() {
    let desk = Desk::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    desk.wire.sent();
    assert_eq!(desk.units().await.unwrap().attempts, 1);
    assert!(desk.wire.sent() <= 2);
    let exchange = &desk.exchange;
    let calls = (0..10).map(|_| {
        let exchange = exchange.clone();
        tokio::spawn(async move { exchange.api().org_units_read().await.unwrap().items.len() })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 2);
    }
    assert_eq!(desk.wire.sent(), 10);
    // The exchange itself says who calls.
    let document = exchange.api().service_document().await.unwrap();
    assert_eq!(document.status, 200);
}

/// GW-12: the answer to a write is lost: it is sent again under its key, and was done once.
#[tokio::test]
async fn a_lost_answer_is_had_again() {
    let scopes = [Scope::ExchangeBlueprintsRead, Scope::ExchangeBlueprintsWrite];
    let desk = Desk::of("sandbox-client", &scopes).await;
    let api = desk.exchange.api();
    let body = br#"{"ops": [{"op": "add", "ref": {"bt": "bp-sandbox-knife"}}]}"#;
    let set = BlueprintChangeSet::parse(body).unwrap();
    let before = api.blueprints_read(BlueprintsRead::new()).await.unwrap().items.len();
    desk.wire.lose("blueprints_write");
    desk.wire.sent();
    let answer = api.blueprints_write("key-of-one-write", &set).with(Patience::BACKGROUND).await.unwrap();
    assert_eq!((answer.applied, answer.header("Idempotency-Replayed")), (1, Some("true")));
    assert_eq!(desk.wire.sent(), 2);
    let after = api.blueprints_read(BlueprintsRead::new()).await.unwrap().items.len();
    assert_eq!(after, before + 1);
}

/// DPP-09, DPP-10: the exchange's clock is suddenly two minutes ahead: one request more, and none after it.
#[tokio::test]
async fn a_clock_that_went_wrong_is_corrected() {
    let desk = Desk::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    desk.units().await.unwrap();
    desk.wire.sent();
    desk.sandbox.advance(Duration::from_secs(120));
    desk.units().await.unwrap();
    assert_eq!(desk.wire.sent(), 2);
    desk.units().await.unwrap();
    assert_eq!(desk.wire.sent(), 1);
}

/// ERR-15, CLI-04: a suspended client hears of it once, and sends nothing more.
#[tokio::test]
async fn a_suspended_client_stops() {
    let desk = Desk::of("sandbox-suspended-client", &[Scope::ExchangeOrgunitsRead]).await;
    let error = desk.units().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Halted(Halt::Suspended));
    assert!(error.to_string().starts_with("this program is suspended at the exchange"), "{error}");
    assert_eq!(desk.session.state(), SessionState::Halted(Halt::Suspended));
    desk.wire.sent();
    assert_eq!(desk.units().await.unwrap_err().kind(), ErrorKind::Halted(Halt::Suspended));
    assert_eq!(desk.wire.sent(), 0);
}

/// ERR-11: what was not asked for when the member signed in is missing, and nothing else is wrong.
#[tokio::test]
async fn a_missing_scope_is_no_end() {
    let desk = Desk::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    let refused = desk.exchange.api().blueprints_read(BlueprintsRead::new()).await.unwrap_err();
    assert_eq!(Error::from(refused).kind(), ErrorKind::ScopeMissing);
    desk.units().await.unwrap();
    assert_eq!(desk.session.state(), SessionState::Active);
}
