//! Outboxes over the real transport, and the session of whoever is signed in.

use super::*;
use crate::members::{Members, connection, service_document};

/// The outbox of installation `i-1`, which is signed in.
struct Desk {
    machine: VirtualEnvironment,
    server: ScriptedServer,
    members: Members,
    store: MemoryOutbox,
    api: Client,
    outbox: Outbox,
}

impl Desk {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(7);
        let server = ScriptedServer::gateway(&machine);
        server.answer(|_| applied());
        Self::over(machine, server, MemoryOutbox::new())
    }

    /// The same after the process ended and was started again: what it knew of clocks is lost.
    fn restarted(self) -> Self {
        Self::over(self.machine, self.server, self.store)
    }

    fn over(machine: VirtualEnvironment, server: ScriptedServer, store: MemoryOutbox) -> Self {
        let members = Members::new(&machine);
        let exchange = members.exchange(&machine, &server);
        let connection = connection("i-1", &["connect"]);
        let outbox = exchange.outbox(store.clone(), &connection).unwrap();
        let api = exchange.api().clone();
        Self { machine, server, members, store, api, outbox }
    }

    async fn enqueue(&self) -> EntryNumber {
        self.outbox.enqueue(blueprint("bp-1")).await.unwrap()[0]
    }

    async fn state(&self, entry: EntryNumber) -> State {
        self.outbox.entry(entry).await.unwrap().state()
    }

    fn tokens(&self) -> Vec<String> {
        self.server.requests().iter().map(|seen| seen.token().unwrap().to_owned()).collect()
    }
}

/// GW-12, CLI-03: what one member wrote is never sent with another's token, whenever the other signs in: it waits for
/// its own member, under its key.
#[tokio::test(start_paused = true)]
async fn a_set_is_sent_for_nobody_but_its_member() {
    let desk = Desk::new();
    desk.server.then(Reply::problem(Code::RelayBusy).retry_after("100"));
    let entry = desk.enqueue().await;
    desk.outbox.flush().await.unwrap();
    desk.members.sign_in(&[Some("i-2")]);
    let _ = tokio::time::timeout(seconds(3600), desk.outbox.run()).await;
    assert_eq!(desk.state(entry).await, State::Parked(Why::SignedOut));
    assert_eq!(desk.outbox.resume().await.unwrap(), 1);
    let told = desk.outbox.flush().await.unwrap();
    let [OutboxEvent::Parked { why: Why::SignedOut, error, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((error.kind(), desk.tokens().len()), (ErrorKind::SignInNeeded, 1));
    assert!(
        !desk.outbox.entry(entry).await.unwrap().may_be_applied(),
        "nothing left under the other's token"
    );

    desk.members.sign_in(&[Some("i-1")]);
    desk.outbox.resume().await.unwrap();
    assert!(desk.outbox.flush().await.unwrap().iter().all(decided));
    assert_eq!(desk.tokens(), ["token-of-i-1", "token-of-i-1"]);
    let seen = desk.server.requests();
    assert_eq!(seen[0].idempotency_key(), seen[1].idempotency_key());
}

/// The same for a preview, which is counted in somebody's quota.
#[tokio::test(start_paused = true)]
async fn a_preview_is_for_nobody_but_its_member() {
    let desk = Desk::new();
    desk.members.sign_in(&[Some("i-2")]);
    let error = desk.outbox.preview(blueprint("bp-1")).await.unwrap_err();
    assert_eq!((error.kind(), desk.server.count()), (ErrorKind::SignInNeeded, 0));
}

/// A sign-in between the look at the session and the signature, which are one unless the set has to wait for leave, is no
/// way around that.
#[tokio::test(start_paused = true)]
async fn a_set_is_signed_with_the_grant_that_was_looked_at() {
    for (waits, expect) in [(false, [0, 1, 1]), (true, [0, 0, 1])] {
        let sent = sent_after_looks(waits).await;
        assert_eq!([sent[0], sent[1], sent[5]], expect, "{waits}");
    }
}

/// How many sets are sent when somebody else signs in after so many looks at the session.
async fn sent_after_looks(waits: bool) -> Vec<usize> {
    let mut sent = Vec::new();
    for looks in 0..6 {
        let desk = Desk::new();
        if waits {
            // All that may leave at once.
            for _ in 0..20 {
                let _ = desk.api.org_units_read().await;
            }
        }
        let before = desk.server.count();
        let mut grants = vec![Some("i-1"); looks];
        grants.push(Some("i-2"));
        desk.members.sign_in(&grants);
        desk.enqueue().await;
        desk.outbox.flush().await.unwrap();
        assert!(desk.tokens().iter().all(|token| token == "token-of-i-1"));
        sent.push(desk.server.count() - before);
    }
    sent
}

/// SVC-07: while it is not known whose a new connection is, sets wait; reading it ends that.
#[tokio::test(start_paused = true)]
async fn a_set_waits_until_it_is_known_who_signed_in() {
    let desk = Desk::new();
    let entry = desk.enqueue().await;
    desk.members.sign_in(&[None]);
    desk.server.then_for("service_document", Reply::problem(Code::ServiceUnavailable).retry_after("30"));
    let told = desk.outbox.flush().await.unwrap();
    assert!(matches!(told[..], [OutboxEvent::Waiting { .. }]), "{told:?}");
    assert_eq!(
        (desk.state(entry).await, desk.tokens()),
        (State::Pending, vec!["token-of-somebody".to_owned()])
    );
    // Nobody else has to read it: it may be another process that signed in.
    desk.server.then_for("service_document", service_document("i-1", &[]));
    desk.machine.suspend(seconds(600));
    let told = desk.outbox.flush().await.unwrap();
    assert!(told.iter().all(decided), "{told:?}");
}

/// GW-12, DPP-18: a set whose proof the exchange refused may have been carried out, as its message may have been doubled:
/// it waits to be sent again under its key. One that a refusal of the identity provider kept here never left.
#[tokio::test(start_paused = true)]
async fn a_refused_proof_is_no_outcome() {
    let desk = Desk::new();
    desk.server.then(Reply::challenge("DPoP error=invalid_dpop_proof", None));
    let entry = desk.enqueue().await;
    let told = desk.outbox.flush().await.unwrap();
    assert_eq!(desk.state(entry).await, State::Parked(Why::Fault));
    let [OutboxEvent::Parked { error, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(error.advice(), crate::Advice::LeaveItRunning, "not to be reported as a fault");
    assert!(desk.outbox.entry(entry).await.unwrap().may_be_applied());
    assert!(desk.outbox.edit(entry, blueprint("bp-2")).await.is_err());
    desk.outbox.resume().await.unwrap();
    assert!(desk.outbox.flush().await.unwrap().iter().all(decided));
    let seen = desk.server.requests();
    assert_eq!(seen[0].idempotency_key(), seen[1].idempotency_key());

    for kind in [ErrorKind::Proof, ErrorKind::Clock, ErrorKind::Protocol, ErrorKind::Cancelled] {
        let desk = Desk::new();
        *desk.members.refuses.lock().unwrap() = Some(kind);
        let entry = desk.enqueue().await;
        desk.outbox.flush().await.unwrap();
        assert!(!desk.outbox.entry(entry).await.unwrap().may_be_applied(), "{kind:?}");
        desk.outbox.edit(entry, blueprint("bp-2")).await.unwrap();
        assert_eq!(desk.server.count(), 0);
    }
}

/// LIM-22: a key is as old as the exchange's clock says, which forgets it: a clock of this machine that was wrong by hours
/// and is set right makes none younger, in the same process or in another.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_right_makes_no_key_younger() {
    const HOUR: i64 = 3600;
    for (wrong_at_first, wrong_then, restarts) in
        [(10, 0, false), (10, 0, true), (10, -20, false), (0, -20, true), (30, 2, true)]
    {
        let mut desk = Desk::new();
        desk.machine.set_wrong_by(wrong_at_first * HOUR);
        desk.server.then(applied().and_is_lost());
        let entry = desk.enqueue().await;
        while desk.server.carried_out().is_empty() {
            let _ = tokio::time::timeout(seconds(1), desk.outbox.run()).await;
        }
        assert!(desk.outbox.entry(entry).await.unwrap().may_be_applied());
        if restarts {
            desk = desk.restarted();
        }
        desk.machine.suspend(seconds(30 * 3600));
        desk.machine.set_wrong_by(wrong_then * HOUR);
        let _ = tokio::time::timeout(seconds(600), desk.outbox.run()).await;
        assert_eq!(desk.state(entry).await, State::Unknown, "{wrong_at_first} {wrong_then} {restarts}");
    }
}

/// LIM-22: nor does it make one older that the exchange still knows.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_right_makes_no_key_older() {
    for (wrong_at_first, wrong_then) in [(-30, 0), (10, 0), (-3, 12)] {
        let desk = Desk::new();
        desk.machine.set_wrong_by(wrong_at_first * 3600);
        desk.server.then(applied().and_is_lost());
        let entry = desk.enqueue().await;
        while desk.server.carried_out().is_empty() {
            let _ = tokio::time::timeout(seconds(1), desk.outbox.run()).await;
        }
        // By another answer it is known that the clock was set.
        desk.machine.set_wrong_by(wrong_then * 3600);
        let _ = desk.outbox.preview(blueprint("bp-9")).await;
        let _ = tokio::time::timeout(seconds(600), desk.outbox.run()).await;
        assert_eq!(desk.state(entry).await, State::Done, "{wrong_at_first} {wrong_then}");
    }
}
