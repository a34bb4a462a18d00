//! Tests of calls through the complete transport, over real sockets, to the real gateway.

use std::time::Duration;

use exchange_client::{
    CallStats, Error, ErrorKind, Exchange, HaltReason, MemoryCredentials, RetryPolicy, Session, SessionState,
    api::{Contract as _, calls::BlueprintsReadOptions, scopes::Scope, types::BlueprintChangeSet},
};
use exchange_client_e2e::{LossyNetwork, SandboxClock, SleepMode, exchange_address, identity, sign_in};
use exchange_service::sandbox::{Sandbox, SandboxAction};

/// A fixture: a sandbox with a signed-in member.
struct TransportFixture {
    sandbox: Sandbox,
    clock: SandboxClock,
    network: LossyNetwork,
    session: Session,
    exchange: Exchange,
}

impl TransportFixture {
    async fn of(client: &str, scopes: &[Scope]) -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::AdvanceClock);
        let (address, identity) = (exchange_address(&sandbox), identity(client));
        let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new());
        let session = session.environment(clock.environment()).open().await.unwrap();
        sign_in(&session, &sandbox, scopes).await.unwrap();
        let network = LossyNetwork::new();
        let exchange =
            Exchange::builder(address, identity).transport(network.clone()).build(&session).unwrap();
        Self { sandbox, clock, network, session, exchange }
    }

    async fn units(&self) -> Result<CallStats, Error> {
        let response = self.exchange.api().org_units_read().await?;
        Ok(response.extensions().get::<CallStats>().cloned().unwrap())
    }
}

/// CON-01, CLI-01, DPP-05, DPP-08, DPP-20: the first call costs at most one challenge, and ten concurrent
/// calls after it cost none.
#[tokio::test]
async fn calls_succeed() {
    let fixture = TransportFixture::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    let _ = fixture.network.take_request_count();
    assert_eq!(fixture.units().await.unwrap().attempts, 1);
    assert!(fixture.network.take_request_count() <= 2);
    let exchange = &fixture.exchange;
    let calls = (0..10).map(|_| {
        let exchange = exchange.clone();
        tokio::spawn(async move {
            exchange.api().org_units_read().await.unwrap().into_body().items.unwrap().len()
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 2);
    }
    assert_eq!(fixture.network.take_request_count(), 10);
    // The exchange accepts the call, so it recognizes the caller.
    let document = exchange.api().service_document().await.unwrap();
    assert_eq!(document.status(), 200);
}

/// GW-12: if the response to a write is lost, the write is sent again under its key and applied once.
#[tokio::test]
async fn lost_response_is_recovered() {
    let scopes = [Scope::ExchangeBlueprintsRead, Scope::ExchangeBlueprintsWrite];
    let fixture = TransportFixture::of("sandbox-client", &scopes).await;
    let api = fixture.exchange.api();
    let body = br#"{"ops": [{"op": "add", "ref": {"bt": "bp-sandbox-knife"}}]}"#;
    let set = BlueprintChangeSet::parse(body).unwrap();
    let before =
        api.blueprints_read(BlueprintsReadOptions::new()).await.unwrap().into_body().items.unwrap().len();
    fixture.network.lose_next_response("blueprints_write");
    let _ = fixture.network.take_request_count();
    let response =
        api.blueprints_write("key-of-one-write", &set).with_extension(RetryPolicy::BACKGROUND).await.unwrap();
    assert_eq!((response.applied, response.header("Idempotency-Replayed")), (Some(1), Some("true")));
    assert_eq!(fixture.network.take_request_count(), 2);
    let after =
        api.blueprints_read(BlueprintsReadOptions::new()).await.unwrap().into_body().items.unwrap().len();
    assert_eq!(after, before + 1);
}

/// DPP-09, DPP-10: if the exchange's clock is suddenly two minutes ahead, one additional request is sent, and
/// none later.
#[tokio::test]
async fn wrong_clock_is_corrected() {
    let fixture = TransportFixture::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    fixture.units().await.unwrap();
    let _ = fixture.network.take_request_count();
    fixture.sandbox.advance(Duration::from_secs(120));
    fixture.clock.set_ahead(-120);
    fixture.units().await.unwrap();
    assert_eq!(fixture.network.take_request_count(), 2);
    fixture.units().await.unwrap();
    assert_eq!(fixture.network.take_request_count(), 1);
}

/// ERR-15, CLI-04: a suspended client gets one rejection and sends no further request.
#[tokio::test]
async fn suspended_client_stops() {
    let fixture = TransportFixture::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    // A suspended client cannot be connected, so the client is suspended after the sign-in.
    let suspend = SandboxAction::Suspend { client: "sandbox-client".to_owned(), suspended: true };
    fixture.sandbox.act("sandbox-admin", suspend).await.unwrap();
    let error = fixture.units().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Halted(HaltReason::Suspended));
    assert!(error.to_string().starts_with("this program is suspended at the exchange"), "{error}");
    assert_eq!(fixture.session.state(), SessionState::Halted(HaltReason::Suspended));
    let _ = fixture.network.take_request_count();
    assert_eq!(fixture.units().await.unwrap_err().kind(), ErrorKind::Halted(HaltReason::Suspended));
    assert_eq!(fixture.network.take_request_count(), 0);
}

/// ERR-11: a call fails if its scope was not requested at sign-in, and the session continues.
#[tokio::test]
async fn missing_scope_does_not_end_the_session() {
    let fixture = TransportFixture::of("sandbox-client", &[Scope::ExchangeOrgunitsRead]).await;
    let refused = fixture.exchange.api().blueprints_read(BlueprintsReadOptions::new()).await.unwrap_err();
    assert_eq!(Error::from(refused).kind(), ErrorKind::ScopeMissing);
    fixture.units().await.unwrap();
    assert_eq!(fixture.session.state(), SessionState::Active);
}
