//! Tests of members who sign in one after another in several processes. Data of one member is never
//! attributed to another.

use exchange_api::codes::Code;

use super::*;
use crate::{
    ComputerNames, Exchange, Label, RetryPolicy,
    oauth::fake_provider::FakeReply,
    session::ConnectionSummary,
    testkit::{ScriptedReply, ScriptedServer},
};

fn exchange(session: &Session, gateway: &ScriptedServer) -> Exchange {
    let builder = Exchange::builder(session.address().clone(), session.identity().clone());
    builder.transport(gateway.clone()).build(session).unwrap()
}

/// Starts a process of the machine, with a client of this gateway.
async fn process(machine: &Machine, gateway: &ScriptedServer) -> (Session, Exchange) {
    let mut builder = machine.builder();
    builder.address = ExchangeAddress::new(ISSUER, gateway.origin()).unwrap();
    let session = builder.open().await.unwrap();
    let exchange = exchange(&session, gateway);
    (session, exchange)
}

/// SVC-07, OST-14: a process with the previous connection does not overwrite the notes of the new connection.
#[tokio::test(start_paused = true)]
async fn outdated_process_does_not_overwrite_notes() {
    let machine = Machine::new();
    let one = machine.signed_in().await;
    let before = one.current_grant().await.unwrap();
    let other = machine.process().await;
    machine.sign_in(&other).await;
    store_installation_id(&other, "i-2").await;
    one.record_note(&before.owner, ConnectionNote::Installation("i-1")).await.unwrap();
    one.record_note(&before.owner, ConnectionNote::Label("desk")).await.unwrap();
    let noted = machine.builder().connection_summary().await.unwrap();
    assert_eq!(noted, ConnectionSummary { installation_id: Some("i-2".to_owned()), was_connected: true });
    let next = machine.process().await;
    assert_eq!((next.installation_id().as_deref(), next.label()), (Some("i-2"), None));
    assert!(!next.scopes().is_empty());
    // For its own connection, the process uses the id that the exchange returned for it.
    assert_eq!(one.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-1"));
}

/// SVC-12: a label is recorded for the connection for which it was set, even if another connection exists
/// when the response arrives.
#[tokio::test(start_paused = true)]
async fn label_belongs_to_its_connection() {
    let machine = Machine::new();
    let gateway = ScriptedServer::gateway(&machine.time);
    gateway.set_script(|_| {
        let response = r#"{"label": "Gaming PC", "installationId": "i-1", "firstSeenAt": "2026-01-01T00:00:00Z",
            "lastSeenAt": "2026-01-01T00:00:00Z"}"#;
        ScriptedReply::json(200, response).delayed_by(Duration::from_secs(20))
    });
    let (session, exchange) = process(&machine, &gateway).await;
    machine.sign_in(&session).await;
    let label = Label::new("Gaming PC", &ComputerNames::none()).unwrap();
    let late = tokio::spawn({
        let (exchange, label) = (exchange.clone(), label.clone());
        async move { exchange.set_label(&label).await }
    });
    machine.pass(1).await;
    machine.sign_in(&session).await;
    late.await.unwrap().unwrap();
    assert_eq!((session.label(), machine.process().await.label()), (None, None));
    exchange.set_label(&label).await.unwrap();
    assert_eq!(session.label().as_deref(), Some("Gaming PC"));
}

/// SVC-07: if a process switched to the connection of another process before its installation id was known,
/// it reads the id with its next token.
#[tokio::test(start_paused = true)]
async fn late_installation_id_is_picked_up() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    let other = machine.process().await;
    machine.sign_in(&other).await;
    machine.pass(250).await;
    assert_eq!(session.current_grant().await.unwrap().owner.installation, None);
    store_installation_id(&other, "i-1").await;
    machine.pass(250).await;
    assert_eq!(session.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-1"));
}

/// IDP-17: the scopes granted by one member are not attributed to another member whose token response
/// contains none.
#[tokio::test(start_paused = true)]
async fn each_connection_has_its_own_capabilities() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let other = machine.process().await;
    machine.fake.state().scope = Some("exchange.connect exchange.hangar.read offline_access".to_owned());
    machine.sign_in(&other).await;
    machine.pass(301).await;
    let response = serde_json::json!({ "access_token": "a-2", "token_type": "DPoP", "expires_in": 300 });
    machine.fake.enqueue_reply("oauth.token", FakeReply::Json(200, response));
    session.current_grant().await.unwrap();
    assert_eq!(&*session.scopes(), [Scope::ExchangeConnect, Scope::ExchangeHangarRead]);
    let next = machine.process().await;
    assert_eq!(next.scopes(), session.scopes());
}

async fn write(exchange: &Exchange) -> Error {
    use exchange_api::{Contract as _, types::BlueprintChangeSet};
    let set = BlueprintChangeSet::parse(br#"{"ops": [{"op": "add", "ref": {"bt": "bp-quartz-lens"}}]}"#);
    let call = exchange
        .api()
        .blueprints_write("key-12345678", &set.unwrap())
        .with_extension(RetryPolicy::INTERACTIVE);
    Error::from(call.await.unwrap_err())
}

/// LIM-19, CLI-02: the exhausted write quota of one member does not delay other members, neither in a process
/// that was open during the sign-in, nor in a process that starts after the wait was saved. It delays the
/// same member under every connection.
#[tokio::test(start_paused = true)]
async fn quota_of_one_member_delays_no_other_in_any_process() {
    let machine = Machine::new();
    let gateway = ScriptedServer::gateway(&machine.time);
    gateway.set_script(|_| ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("30000"));
    let (first, at_first) = process(&machine, &gateway).await;
    machine.sign_in(&first).await;
    store_installation_id(&first, "i-1").await;
    assert_eq!((write(&at_first).await.kind(), gateway.request_count()), (ErrorKind::QuotaExceeded, 1));
    machine.pass(1).await;
    let (other, at_other) = process(&machine, &gateway).await;
    for (installation, request_count) in [("i-1", 1), ("i-2", 2)] {
        machine.sign_in(&other).await;
        // While the connection may belong to the same member, no request is sent too early.
        assert_eq!((write(&at_other).await.kind(), gateway.request_count()), (ErrorKind::QuotaExceeded, 1));
        store_installation_id(&other, installation).await;
        if request_count == 2 {
            gateway.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
        }
        write(&at_other).await;
        assert_eq!(gateway.request_count(), request_count, "{installation}");
    }
    first.save_state().await.unwrap();
    machine.pass(250).await;
    first.current_grant().await.unwrap();
    let (_third, at_third) = process(&machine, &gateway).await;
    for (exchange, count) in [(at_first, 3), (at_third, 4)] {
        gateway.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
        assert_eq!(
            (write(&exchange).await.kind(), gateway.request_count()),
            (ErrorKind::NotPermitted, count)
        );
    }
}
