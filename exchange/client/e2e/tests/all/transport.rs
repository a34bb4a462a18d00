//! Calls through the whole transport, over real sockets, to the real gateway.

use std::time::Duration;

use exchange_client::{
    Effort, Error, ErrorKind, Exchange, Halt, InMemory, Patience, Session, SessionState,
    api::{Contract as _, calls::BlueprintsRead, scopes::Scope, types::BlueprintChangeSet},
};
use exchange_client_e2e::{Network, SandboxClock, Waiting, identity, place, sign_in};
use exchange_service::sandbox::Sandbox;

/// A member of a sandbox who is signed in.
struct Desk {
    sandbox: Sandbox,
    clock: SandboxClock,
    network: Network,
    session: Session,
    exchange: Exchange,
}

impl Desk {
    async fn of(client: &str, scopes: &[Scope]) -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let clock = SandboxClock::of(&sandbox, Waiting::MovesOn);
        let (place, identity) = (place(&sandbox), identity(client));
        let session = Session::builder(&place, &identity).credentials(InMemory::new());
        let session = session.environment(clock.environment()).open().await.unwrap();
        sign_in(&session, &sandbox, scopes).await.unwrap();
        let network = Network::new();
        let exchange = Exchange::builder(place, identity).transport(network.clone()).build(&session).unwrap();
        Self { sandbox, clock, network, session, exchange }
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
    let _ = desk.network.sent();
    assert_eq!(desk.units().await.unwrap().attempts, 1);
    assert!(desk.network.sent() <= 2);
    let exchange = &desk.exchange;
    let calls = (0..10).map(|_| {
        let exchange = exchange.clone();
        tokio::spawn(async move { exchange.api().org_units_read().await.unwrap().items.len() })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 2);
    }
    assert_eq!(desk.network.sent(), 10);
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
    desk.network.lose("blueprints_write");
    let _ = desk.network.sent();
    let answer = api.blueprints_write("key-of-one-write", &set).with(Patience::BACKGROUND).await.unwrap();
    assert_eq!((answer.applied, answer.header("Idempotency-Replayed")), (1, Some("true")));
    assert_eq!(desk.network.sent(), 2);
    let after = api.blueprints_read(BlueprintsRead::new()).await.unwrap().items.len();
    assert_eq!(after, before + 1);
}

/// DPP-09, DPP-10: the exchange's clock is suddenly two minutes ahead: one request more, and none after it.
#[tokio::test]
async fn a_clock_that_went_wrong_is_corrected() {
    let desk = Desk::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    desk.units().await.unwrap();
    let _ = desk.network.sent();
    desk.sandbox.advance(Duration::from_secs(120));
    desk.clock.set_ahead(-120);
    desk.units().await.unwrap();
    assert_eq!(desk.network.sent(), 2);
    desk.units().await.unwrap();
    assert_eq!(desk.network.sent(), 1);
}

/// ERR-15, CLI-04: a suspended client hears of it once, and sends nothing more.
#[tokio::test]
async fn a_suspended_client_stops() {
    let desk = Desk::of("sandbox-suspended-client", &[Scope::ExchangeOrgunitsRead]).await;
    let error = desk.units().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Halted(Halt::Suspended));
    assert!(error.to_string().starts_with("this program is suspended at the exchange"), "{error}");
    assert_eq!(desk.session.state(), SessionState::Halted(Halt::Suspended));
    let _ = desk.network.sent();
    assert_eq!(desk.units().await.unwrap_err().kind(), ErrorKind::Halted(Halt::Suspended));
    assert_eq!(desk.network.sent(), 0);
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
