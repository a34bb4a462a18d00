//! Members who sign in one after another, in several processes: what is known of one is never taken for another's.

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

/// Processes of one machine that call this gateway.
async fn process(machine: &Machine, gateway: &ScriptedServer) -> (Session, Exchange) {
    let mut builder = machine.builder();
    builder.address = ExchangeAddress::new(ISSUER, gateway.origin()).unwrap();
    let session = builder.open().await.unwrap();
    let exchange = exchange(&session, gateway);
    (session, exchange)
}

/// SVC-07, OST-14: a process that still has the connection before notes nothing over what is noted of the new one.
#[tokio::test(start_paused = true)]
async fn a_process_of_before_notes_nothing_of_the_connection_there_is() {
    let machine = Machine::new();
    let one = machine.signed_in().await;
    let before = one.current_grant().await.unwrap();
    let other = machine.process().await;
    machine.sign_in(&other).await;
    named(&other, "i-2").await;
    one.record_note(&before.owner, ConnectionNote::Installation("i-1")).await.unwrap();
    one.record_note(&before.owner, ConnectionNote::Label("desk")).await.unwrap();
    let noted = machine.builder().connection_summary().await.unwrap();
    assert_eq!(noted, ConnectionSummary { installation_id: Some("i-2".to_owned()), was_connected: true });
    let next = machine.process().await;
    assert_eq!((next.installation_id().as_deref(), next.label()), (Some("i-2"), None));
    assert!(!next.scopes().is_empty());
    // Its own connection has its name, for as long as it signs with that.
    assert_eq!(one.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-1"));
}

/// SVC-12: a label is noted with the connection that it was set for, not with the one there is when the answer comes.
#[tokio::test(start_paused = true)]
async fn a_label_is_of_the_connection_that_it_was_set_for() {
    let machine = Machine::new();
    let gateway = ScriptedServer::gateway(&machine.time);
    gateway.set_script(|_| {
        let answer = r#"{"label": "Gaming PC", "installationId": "i-1", "firstSeenAt": "2026-01-01T00:00:00Z",
            "lastSeenAt": "2026-01-01T00:00:00Z"}"#;
        ScriptedReply::json(200, answer).delayed_by(Duration::from_secs(20))
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

/// SVC-07: a process that went over to another's connection before it had a name learns the name with the next token.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_noted_late_is_learnt() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    named(&session, "i-1").await;
    let other = machine.process().await;
    machine.sign_in(&other).await;
    machine.pass(250).await;
    assert_eq!(session.current_grant().await.unwrap().owner.installation, None);
    named(&other, "i-1").await;
    machine.pass(250).await;
    assert_eq!(session.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-1"));
}

/// IDP-17: what one member granted is not taken for what another did, whose token comes without saying it.
#[tokio::test(start_paused = true)]
async fn each_connection_has_its_own_capabilities() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let other = machine.process().await;
    machine.fake.state().scope = Some("exchange.connect exchange.hangar.read offline_access".to_owned());
    machine.sign_in(&other).await;
    machine.pass(301).await;
    let answer = serde_json::json!({ "access_token": "a-2", "token_type": "DPoP", "expires_in": 300 });
    machine.fake.enqueue_reply("oauth.token", FakeReply::Answer(200, answer));
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

/// LIM-19, CLI-02: the writes that one member used up hold back nobody else: not in a process that was open over the
/// sign-in, nor in one that comes after that process wrote down what it knows. The same member they hold back under every
/// connection.
#[tokio::test(start_paused = true)]
async fn what_one_member_used_up_holds_back_nobody_else_in_any_process() {
    let machine = Machine::new();
    let gateway = ScriptedServer::gateway(&machine.time);
    gateway.set_script(|_| ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("30000"));
    let (first, at_first) = process(&machine, &gateway).await;
    machine.sign_in(&first).await;
    named(&first, "i-1").await;
    assert_eq!((write(&at_first).await.kind(), gateway.request_count()), (ErrorKind::QuotaExceeded, 1));
    machine.pass(1).await;
    let (other, at_other) = process(&machine, &gateway).await;
    for (installation, asked) in [("i-1", 1), ("i-2", 2)] {
        machine.sign_in(&other).await;
        // As long as it may be the same member nobody is asked too early.
        assert_eq!((write(&at_other).await.kind(), gateway.request_count()), (ErrorKind::QuotaExceeded, 1));
        named(&other, installation).await;
        if asked == 2 {
            gateway.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
        }
        write(&at_other).await;
        assert_eq!(gateway.request_count(), asked, "{installation}");
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
