//! Tests that `Retry-After` times also apply in later and concurrent processes (CLI-02).

use exchange_api::codes::Code;

use super::*;
use crate::{
    Exchange, RetryPolicy,
    oauth::fake_provider::FakeReply,
    testkit::{ScriptedReply, ScriptedServer},
};

/// Starts a process of this machine, with a client of a gateway.
async fn process(machine: &Machine, gateway: &ScriptedServer) -> (Session, Exchange) {
    let mut builder = machine.builder();
    builder.address = ExchangeAddress::new(ISSUER, gateway.origin()).unwrap();
    let session = builder.open().await.unwrap();
    let exchange = exchange(&session, gateway);
    (session, exchange)
}

fn exchange(session: &Session, gateway: &ScriptedServer) -> Exchange {
    let builder = Exchange::builder(session.address().clone(), session.identity().clone());
    builder.transport(gateway.clone()).build(session).unwrap()
}

/// Returns a machine, its gateway, and a process with a signed-in session and a client.
async fn signed_in_process() -> (Machine, ScriptedServer, Session, Exchange) {
    let machine = Machine::new();
    let gateway = ScriptedServer::gateway(&machine.time);
    gateway.set_script(|seen| match seen.operation {
        "org_units_read" => ScriptedReply::json(200, r#"{"items": []}"#),
        _ => ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("30000"),
    });
    let (session, exchange) = process(&machine, &gateway).await;
    machine.sign_in(&session).await;
    (machine, gateway, session, exchange)
}

async fn read(exchange: &Exchange, patience: RetryPolicy) -> Result<(), Error> {
    exchange.api().org_units_read().with_extension(patience).await.map(drop).map_err(Error::from)
}

async fn write(exchange: &Exchange, key: &str) -> Error {
    use exchange_api::{Contract as _, types::BlueprintChangeSet};
    let set = BlueprintChangeSet::parse(br#"{"ops": [{"op": "add", "ref": {"bt": "bp-quartz-lens"}}]}"#);
    let call = exchange.api().blueprints_write(key, &set.unwrap()).with_extension(RetryPolicy::INTERACTIVE);
    Error::from(call.await.unwrap_err())
}

/// Returns the `Retry-After` of an error in whole seconds.
fn wait(error: &Error) -> u64 {
    error.retry_after().unwrap().as_secs()
}

/// CLI-02: if the process that received a `Retry-After` is killed, neither the next process nor a later one
/// sends earlier.
#[tokio::test(start_paused = true)]
async fn next_process_respects_the_gateways_wait() {
    let (machine, gateway, session, exchange) = signed_in_process().await;
    gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("600"));
    let error = read(&exchange, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!((error.code(), wait(&error)), (Some(&Code::ServiceUnavailable), 600));
    drop((session, exchange));
    let mut waits = Vec::new();
    for _ in 0..2 {
        machine.pass(100).await;
        let (_session, next) = process(&machine, &gateway).await;
        let failure = read(&next, RetryPolicy::INTERACTIVE).await.unwrap_err();
        assert_eq!((failure.kind(), failure.code()), (ErrorKind::Busy, Some(&Code::ServiceUnavailable)));
        waits.push(wait(&failure));
    }
    assert_eq!((waits, gateway.request_count()), (vec![500, 400], 1));
    // A call with the background policy waits for the remaining time.
    let (_session, next) = process(&machine, &gateway).await;
    read(&next, RetryPolicy::BACKGROUND).await.unwrap();
    let at = gateway.requests()[1].received_at - gateway.requests()[0].received_at;
    assert!((600..602).contains(&at.as_secs()), "{at:?}");
}

/// CLI-02: a wait that one `Exchange` received also applies to the other `Exchange`s of the session, and to
/// the next process after a normal exit.
#[tokio::test(start_paused = true)]
async fn exchanges_of_one_session_share_waits() {
    let (machine, gateway, session, first) = signed_in_process().await;
    let second = exchange(&session, &gateway);
    gateway.enqueue_reply(ScriptedReply::problem(Code::RateLimited).with_retry_after("60"));
    read(&first, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert_eq!(
        (wait(&read(&second, RetryPolicy::INTERACTIVE).await.unwrap_err()), gateway.request_count()),
        (60, 1)
    );
    session.save_state().await.unwrap();
    let (_session, next) = process(&machine, &gateway).await;
    assert_eq!(wait(&read(&next, RetryPolicy::INTERACTIVE).await.unwrap_err()), 60);
    // Waits are not shared between clients with different clocks, because their times are not comparable.
    let builder = Exchange::builder(session.address().clone(), session.identity().clone());
    let elsewhere = ScriptedServer::gateway(&machine.time);
    elsewhere.set_script(|_| ScriptedReply::json(200, r#"{"items": []}"#));
    let separate = builder.environment(machine.time.environment()).transport(elsewhere.clone());
    let separate = separate.build(&session).unwrap();
    assert!(!separate.environment().shares_clock_with(session.environment()));
    read(&separate, RetryPolicy::INTERACTIVE).await.unwrap();
    assert_eq!(elsewhere.request_count(), 1, "a wait of the session applies to a client with another clock");
}

/// LIM-18, LIM-16: two `Exchange`s of one session share one rate limit, and an outage that one of them
/// detects also stops the other.
#[tokio::test(start_paused = true)]
async fn exchanges_of_one_session_share_budget_and_breaker() {
    let (machine, gateway, session, first) = signed_in_process().await;
    machine.pass(60).await;
    for _ in 0..20 {
        read(&first, RetryPolicy::INTERACTIVE).await.unwrap();
    }
    let second = exchange(&session, &gateway);
    read(&second, RetryPolicy::INTERACTIVE).await.unwrap();
    let requests = gateway.requests();
    assert!(
        requests[20].received_at - requests[0].received_at >= Duration::from_millis(599),
        "the second client has a separate rate limit"
    );

    machine.pass(60).await;
    let once = RetryPolicy::new(1, Duration::from_secs(1), crate::CallInitiator::Program);
    for _ in 0..2 {
        gateway.enqueue_reply(ScriptedReply::refused());
        read(&first, once).await.unwrap_err();
    }
    let failure = read(&second, once).await.unwrap_err();
    assert_eq!((failure.kind(), gateway.request_count()), (ErrorKind::Unreachable, 23));
}

/// CLI-02: a wait that one process received also applies to concurrent processes, including a process that is
/// already waiting for a different reason.
#[tokio::test(start_paused = true)]
async fn concurrent_processes_share_waits() {
    let (machine, gateway, session, first) = signed_in_process().await;
    let (_second, second) = process(&machine, &gateway).await;
    let (_third, third) = process(&machine, &gateway).await;
    read(&second, RetryPolicy::INTERACTIVE).await.unwrap();
    gateway.enqueue_reply(ScriptedReply::html(502));
    let waiting = read(&third, RetryPolicy::BACKGROUND);
    let events = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("600"));
        read(&first, RetryPolicy::INTERACTIVE).await.unwrap_err();
        session.wait_until_idle().await;
        machine.pass(2).await;
        let failure = read(&second, RetryPolicy::INTERACTIVE).await.unwrap_err();
        assert_eq!((failure.kind(), failure.code()), (ErrorKind::Busy, Some(&Code::ServiceUnavailable)));
        assert!((597..=598).contains(&wait(&failure)), "{failure}");
        assert_eq!(gateway.request_count(), 3);
    };
    let (waiting, ()) = tokio::join!(waiting, events);
    waiting.unwrap();
    let requests = gateway.requests();
    assert!(
        requests.len() == 4 && requests[3].received_at - requests[2].received_at >= Duration::from_secs(600)
    );
}

/// CLI-02: if the wall clock is set back by days, before or after the wait is saved, the wait does not become
/// longer. A wait that has ended delays no call.
#[tokio::test(start_paused = true)]
async fn clock_set_back_prolongs_no_wait() {
    let (machine, gateway, session, exchange) = signed_in_process().await;
    gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("600"));
    read(&exchange, RetryPolicy::INTERACTIVE).await.unwrap_err();
    session.save_state().await.unwrap();
    drop((session, exchange));
    machine.time.set_clock_offset(-3 * 86_400);
    let (_killed, _) = process(&machine, &gateway).await;
    machine.pass(300).await;
    let (_session, next) = process(&machine, &gateway).await;
    // The rest may be shorter by the time that it took to obtain a token while the clock was still correct.
    let left = wait(&read(&next, RetryPolicy::INTERACTIVE).await.unwrap_err());
    assert!((299..=300).contains(&left), "{left}");
    machine.pass(301).await;
    let (_session, next) = process(&machine, &gateway).await;
    read(&next, RetryPolicy::INTERACTIVE).await.unwrap();
}

/// LIM-19, CLI-02: the exhausted daily quota also applies to the next process, but not to the next member. A
/// wait for all calls applies to every member.
#[tokio::test(start_paused = true)]
async fn exhausted_quota_applies_to_one_member() {
    let (machine, gateway, session, exchange) = signed_in_process().await;
    assert_eq!(write(&exchange, "key-12345678").await.kind(), ErrorKind::QuotaExceeded);
    drop((session, exchange));
    machine.pass(1).await;
    let (session, next) = process(&machine, &gateway).await;
    let failure = write(&next, "key-87654321").await;
    assert_eq!((failure.kind(), gateway.request_count()), (ErrorKind::QuotaExceeded, 1));
    assert!((29_990..30_000).contains(&wait(&failure)), "{failure:?}");
    gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("20"));
    read(&next, RetryPolicy::INTERACTIVE).await.unwrap();
    gateway.enqueue_reply(ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("9000"));
    read(&next, RetryPolicy::INTERACTIVE).await.unwrap_err();
    assert!(session.disconnect().await.is_complete());
    for exchange in [next, process(&machine, &gateway).await.1] {
        let session = exchange.session().unwrap();
        machine.sign_in(session).await;
        let failure = write(&exchange, "key-of-another").await;
        assert_eq!((failure.kind(), failure.code()), (ErrorKind::Busy, Some(&Code::ServiceUnavailable)));
    }
    assert_eq!(gateway.request_count(), 4);
}

/// CLI-02: the next process, a login and a logout also respect the provider's `Retry-After`. Requests to
/// other endpoints are not delayed.
#[tokio::test(start_paused = true)]
async fn next_process_respects_the_providers_wait() {
    let busy = |status| FakeReply::Headers(status, vec![("retry-after", "100".into())]);
    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(301).await;
    machine.fake.enqueue_reply("oauth.token", busy(429));
    assert_eq!(kind(&session).await, ErrorKind::Busy);
    drop(session);
    machine.pass(50).await;
    let next = machine.process().await;
    let failure = next.current_grant().await.err().unwrap();
    assert_eq!((failure.kind(), wait(&failure), machine.refreshes()), (ErrorKind::Busy, 49, 1));
    machine.pass(60).await;
    token(&next).await;
    assert_eq!(machine.refreshes(), 2);

    // After status 429 for refreshes, a revocation is not delayed; during an outage of the provider, it is.
    for (status, revoked) in [(429, 1), (503, 0)] {
        machine.pass(301).await;
        machine.fake.enqueue_reply("oauth.token", busy(status));
        let (session, before) = (machine.process().await, machine.fake.count_requests("oauth.revoke"));
        assert_eq!(kind(&session).await, ErrorKind::Busy);
        let report = session.disconnect().await;
        assert!(report.is_complete() && report.revoked.is_done() == (revoked == 1), "{report:?}");
        assert_eq!(machine.fake.count_requests("oauth.revoke") - before, revoked);
        let session = machine.process().await;
        if status == 503 {
            assert_eq!(session.sign_in(&[]).await.unwrap_err().kind(), ErrorKind::Busy);
        }
        machine.pass(101).await;
        machine.sign_in(&session).await;
    }
}
