//! Tests of the outbox with the real transport and with sessions of different members.

use super::*;
use crate::test_members::{TestMembers, service_document_reply, test_connection};

/// A fixture with the outbox of installation `i-1`, which is signed in.
struct OwnershipFixture {
    machine: VirtualEnvironment,
    server: ScriptedServer,
    members: TestMembers,
    store: MemoryOutbox,
    api: Client,
    outbox: Outbox,
}

impl OwnershipFixture {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(7);
        let server = ScriptedServer::gateway(&machine);
        server.set_script(|_| applied());
        Self::with_store(machine, server, MemoryOutbox::new())
    }

    /// Simulates a restart, after which the clock offset is unknown.
    fn restarted(self) -> Self {
        Self::with_store(self.machine, self.server, self.store)
    }

    fn with_store(machine: VirtualEnvironment, server: ScriptedServer, store: MemoryOutbox) -> Self {
        let members = TestMembers::new(&machine);
        let exchange = members.exchange_for(&machine, &server);
        let connection = test_connection("i-1", &["connect"]);
        let outbox = exchange.outbox(store.clone(), &connection).unwrap();
        let api = exchange.api().clone();
        Self { machine, server, members, store, api, outbox }
    }

    async fn enqueue(&self) -> EntryNumber {
        self.outbox.enqueue(blueprint("bp-1")).await.unwrap()[0]
    }

    async fn state(&self, entry: EntryNumber) -> EntryState {
        self.outbox.entry(entry).await.unwrap().state()
    }

    fn tokens(&self) -> Vec<String> {
        self.server.requests().iter().map(|seen| seen.token().unwrap().to_owned()).collect()
    }
}

/// GW-12, CLI-03: changes of one member are never sent with the token of another member. They keep their key
/// and wait until their member signs in.
#[tokio::test(start_paused = true)]
async fn set_is_sent_only_for_its_member() {
    let fixture = OwnershipFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("100"));
    let entry = fixture.enqueue().await;
    fixture.outbox.flush().await.unwrap();
    fixture.members.sign_in(&[Some("i-2")]);
    let _ = tokio::time::timeout(seconds(3600), fixture.outbox.run()).await;
    assert_eq!(fixture.state(entry).await, EntryState::Parked(ParkReason::SignedOut));
    assert_eq!(fixture.outbox.resume_parked().await.unwrap(), 1);
    let events = fixture.outbox.flush().await.unwrap();
    let [OutboxEvent::Parked { why: ParkReason::SignedOut, error, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((error.kind(), fixture.tokens().len()), (ErrorKind::SignInNeeded, 1));
    assert!(
        !fixture.outbox.entry(entry).await.unwrap().may_be_applied(),
        "a request was sent with the other member's token"
    );

    fixture.members.sign_in(&[Some("i-1")]);
    fixture.outbox.resume_parked().await.unwrap();
    assert!(fixture.outbox.flush().await.unwrap().iter().all(decided));
    assert_eq!(fixture.tokens(), ["token-of-i-1", "token-of-i-1"]);
    let seen = fixture.server.requests();
    assert_eq!(seen[0].idempotency_key(), seen[1].idempotency_key());
}

/// A preview is sent only for its member, because it counts towards the member's quota.
#[tokio::test(start_paused = true)]
async fn preview_is_sent_only_for_its_member() {
    let fixture = OwnershipFixture::new();
    fixture.members.sign_in(&[Some("i-2")]);
    let error = fixture.outbox.preview_changes(blueprint("bp-1")).await.unwrap_err();
    assert_eq!((error.kind(), fixture.server.request_count()), (ErrorKind::SignInNeeded, 0));
}

/// If another member signs in between the check of the session and the signature, the change set is not sent,
/// even if it has to wait before it is signed.
#[tokio::test(start_paused = true)]
async fn set_is_signed_with_the_checked_grant() {
    for (waits, expect) in [(false, [0, 1, 1]), (true, [0, 0, 1])] {
        let sent = sent_after_checks(waits).await;
        assert_eq!([sent[0], sent[1], sent[5]], expect, "{waits}");
    }
}

/// Returns the number of change sets that are sent if another member signs in after a number of checks of the
/// session, for each number from 0 to 5.
async fn sent_after_checks(waits: bool) -> Vec<usize> {
    let mut sent = Vec::new();
    for checks in 0..6 {
        let fixture = OwnershipFixture::new();
        if waits {
            // These requests use up the burst of the rate limit.
            for _ in 0..20 {
                let _ = fixture.api.org_units_read().await;
            }
        }
        let before = fixture.server.request_count();
        let mut grants = vec![Some("i-1"); checks];
        grants.push(Some("i-2"));
        fixture.members.sign_in(&grants);
        fixture.enqueue().await;
        fixture.outbox.flush().await.unwrap();
        assert!(fixture.tokens().iter().all(|token| token == "token-of-i-1"));
        sent.push(fixture.server.request_count() - before);
    }
    sent
}

/// SVC-07: while the owner of a new connection is unknown, change sets wait. Reading the connection ends the
/// wait.
#[tokio::test(start_paused = true)]
async fn set_waits_until_the_owner_is_known() {
    let fixture = OwnershipFixture::new();
    let entry = fixture.enqueue().await;
    fixture.members.sign_in(&[None]);
    fixture.server.enqueue_reply_for(
        "service_document",
        ScriptedReply::problem(Code::ServiceUnavailable).with_retry_after("30"),
    );
    let events = fixture.outbox.flush().await.unwrap();
    assert!(matches!(events[..], [OutboxEvent::Waiting { .. }]), "{events:?}");
    assert_eq!(
        (fixture.state(entry).await, fixture.tokens()),
        (EntryState::Pending, vec!["token-of-somebody".to_owned()])
    );
    // Another process may have signed in, so the outbox reads the connection itself.
    fixture.server.enqueue_reply_for("service_document", service_document_reply("i-1", &[]));
    fixture.machine.suspend(seconds(600));
    let events = fixture.outbox.flush().await.unwrap();
    assert!(events.iter().all(decided), "{events:?}");
}

/// GW-12, DPP-18: a change set whose proof was rejected may have been applied, because the message may have
/// been duplicated. It is sent again under its key. If the identity provider rejects a proof, the change set
/// was never sent.
#[tokio::test(start_paused = true)]
async fn rejected_proof_is_no_outcome() {
    let fixture = OwnershipFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::challenge("DPoP error=invalid_dpop_proof", None));
    let entry = fixture.enqueue().await;
    let events = fixture.outbox.flush().await.unwrap();
    assert_eq!(fixture.state(entry).await, EntryState::Parked(ParkReason::Fault));
    let [OutboxEvent::Parked { error, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(error.advice(), crate::Advice::WaitForOutcome, "the error is not a fault to report");
    assert!(fixture.outbox.entry(entry).await.unwrap().may_be_applied());
    assert!(fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.is_err());
    fixture.outbox.resume_parked().await.unwrap();
    assert!(fixture.outbox.flush().await.unwrap().iter().all(decided));
    let seen = fixture.server.requests();
    assert_eq!(seen[0].idempotency_key(), seen[1].idempotency_key());

    for kind in [ErrorKind::Proof, ErrorKind::Clock, ErrorKind::Protocol, ErrorKind::Cancelled] {
        let fixture = OwnershipFixture::new();
        *fixture.members.rejection.lock().unwrap() = Some(kind);
        let entry = fixture.enqueue().await;
        fixture.outbox.flush().await.unwrap();
        assert!(!fixture.outbox.entry(entry).await.unwrap().may_be_applied(), "{kind:?}");
        fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap();
        assert_eq!(fixture.server.request_count(), 0);
    }
}

/// LIM-22: the age of a key is measured by the exchange's clock. If a wrong local clock is corrected, the key
/// does not become valid again, neither in this process nor in another.
#[tokio::test(start_paused = true)]
async fn clock_correction_does_not_rejuvenate_a_key() {
    const HOUR: i64 = 3600;
    for (wrong_at_first, wrong_then, restarts) in
        [(10, 0, false), (10, 0, true), (10, -20, false), (0, -20, true), (30, 2, true)]
    {
        let mut fixture = OwnershipFixture::new();
        fixture.machine.set_clock_offset(wrong_at_first * HOUR);
        fixture.server.enqueue_reply(applied().then_lost());
        let entry = fixture.enqueue().await;
        while fixture.server.applied_keys().is_empty() {
            let _ = tokio::time::timeout(seconds(1), fixture.outbox.run()).await;
        }
        assert!(fixture.outbox.entry(entry).await.unwrap().may_be_applied());
        if restarts {
            fixture = fixture.restarted();
        }
        fixture.machine.suspend(seconds(30 * 3600));
        fixture.machine.set_clock_offset(wrong_then * HOUR);
        let _ = tokio::time::timeout(seconds(600), fixture.outbox.run()).await;
        assert_eq!(
            fixture.state(entry).await,
            EntryState::Unknown,
            "{wrong_at_first} {wrong_then} {restarts}"
        );
    }
}

/// LIM-22: the correction of a wrong local clock does not expire a key that the exchange still stores.
#[tokio::test(start_paused = true)]
async fn clock_correction_does_not_age_a_key() {
    for (wrong_at_first, wrong_then) in [(-30, 0), (10, 0), (-3, 12)] {
        let fixture = OwnershipFixture::new();
        fixture.machine.set_clock_offset(wrong_at_first * 3600);
        fixture.server.enqueue_reply(applied().then_lost());
        let entry = fixture.enqueue().await;
        while fixture.server.applied_keys().is_empty() {
            let _ = tokio::time::timeout(seconds(1), fixture.outbox.run()).await;
        }
        // The response to another request shows that the clock was set.
        fixture.machine.set_clock_offset(wrong_then * 3600);
        let _ = fixture.outbox.preview_changes(blueprint("bp-9")).await;
        let _ = tokio::time::timeout(seconds(600), fixture.outbox.run()).await;
        assert_eq!(fixture.state(entry).await, EntryState::Done, "{wrong_at_first} {wrong_then}");
    }
}

/// CLI-06: a disconnection deletes all entries of the owner and no other entries.
#[tokio::test(start_paused = true)]
async fn disconnecting_deletes_the_outbox() {
    let fixture = OutboxFixture::new();
    let other =
        outbox(&fixture.machine, &fixture.server, &fixture.store, "somebody else", OutboxPolicy::default());
    other.enqueue(blueprint("theirs")).await.unwrap();
    fixture.enqueue("sent").await;
    fixture.flush().await;
    fixture.enqueue("not sent").await;
    assert_eq!(fixture.outbox.entries().await.unwrap().len(), 2);
    fixture.outbox.delete().await.unwrap();
    assert!(fixture.outbox.entries().await.unwrap().is_empty());
    assert_eq!(other.entries().await.unwrap().len(), 1);
    fixture.flush().await;
    assert_eq!(fixture.server.request_count(), 1);
}
