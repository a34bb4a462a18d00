//! The outbox over a scripted server, in virtual time.

mod kept;
mod links;
mod model;
mod quota;
mod whose;

use std::time::Duration;

use exchange_api::{
    Client, Contract as _,
    codes::Code,
    types::{BlueprintOp, OrgStockOp},
};
use serde_json::json;

use super::*;
use crate::{
    BlueprintChanges, OrgStockChanges, StockChanges,
    changes::{Changes, Lane, Lot, Op, known::Known, place, quantity},
    error::{Error, ErrorKind},
    session::LocalData as _,
    state::Advice,
    testkit::{Reply, ScriptedServer, VirtualEnvironment},
};

const LINK: &str = "https://web.test/confirm/planted-secret";

/// A machine, a server, a store, and an outbox over them.
struct Bench {
    machine: VirtualEnvironment,
    server: ScriptedServer,
    store: MemoryOutbox,
    outbox: Outbox,
}

impl Bench {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(7);
        let server = ScriptedServer::gateway(&machine).unsigned();
        server.answer(|_| applied());
        let store = MemoryOutbox::new();
        let outbox = outbox(&machine, &server, &store, "me", Policy::default());
        Self { machine, server, store, outbox }
    }

    /// The same after the process ended and was started again.
    fn restarted(mut self) -> Self {
        self.outbox = self.another();
        self
    }

    /// Another process over the same store.
    fn another(&self) -> Outbox {
        outbox(&self.machine, &self.server, &self.store, "me", Policy::default())
    }

    async fn flush(&self) -> Vec<OutboxEvent> {
        self.outbox.flush().await.unwrap()
    }

    async fn enqueue(&self, product: &str) -> EntryNumber {
        self.outbox.enqueue(blueprint(product)).await.unwrap()[0]
    }

    async fn state(&self, entry: EntryNumber) -> State {
        self.outbox.entry(entry).await.unwrap().state()
    }

    /// Runs in the background for so long.
    async fn run_for(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.outbox.run()).await;
    }

    fn keys(&self) -> Vec<String> {
        self.server.requests().iter().map(|seen| seen.idempotency_key().unwrap().to_owned()).collect()
    }

    fn pass(&self, time: Duration) {
        self.machine.suspend(time);
    }
}

fn outbox(
    machine: &VirtualEnvironment,
    server: &ScriptedServer,
    store: &MemoryOutbox,
    owner: &str,
    policy: Policy,
) -> Outbox {
    let client = Client::new(server.origin(), server.clone());
    Outbox::new(client.core(), store.clone(), machine.environment(), owner, policy).unwrap()
}

fn blueprint(product: &str) -> BlueprintChanges {
    let known = Known { bt: Some(product.parse().unwrap()), ..Known::default() };
    let mut changes = BlueprintChanges::new();
    changes.add(known.item_ref().unwrap()).unwrap();
    changes
}

fn stock() -> StockChanges {
    let known = Known { bt: Some("ore".parse().unwrap()), ..Known::default() };
    let lot = Lot::new(known.item_ref().unwrap(), place("Here").unwrap());
    let mut changes = StockChanges::new();
    changes.set(lot.empty(), quantity::scu("1").unwrap()).unwrap();
    changes
}

fn org_stock() -> OrgStockChanges {
    let mut changes = OrgStockChanges::new();
    let op = json!({
        "op": "note", "unit": "u-1", "entry": "e-1", "version": 1, "note": "of the organisation",
    });
    changes.push(OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
    changes
}

fn applied() -> Reply {
    let body = json!({
        "dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []
    });
    Reply::json(200, body)
}

fn held() -> Reply {
    let body = json!({
        "status": 409, "code": "MASS_CHANGE_CONFIRMATION_REQUIRED", "title": "t", "detail": "d",
        "correlationId": "c-1", "confirmationUrl": LINK
    });
    Reply::new(409, "application/problem+json", body.to_string())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn decided(event: &OutboxEvent) -> bool {
    matches!(event, OutboxEvent::Decided { written: Some(written), .. } if written.is_as_asked())
}

/// WRT-08, GW-12: a set is sent once, under a random key of its own, and the feed is to be pulled after it.
#[tokio::test(start_paused = true)]
async fn a_set_is_sent_and_its_feed_pulled() {
    let bench = Bench::new();
    let first = bench.enqueue("bp-1").await;
    bench.enqueue("bp-2").await;
    let told = bench.flush().await;
    assert_eq!(told.iter().map(OutboxEvent::pulls).collect::<Vec<_>>(), [Some(Lane::Blueprints); 2]);
    assert!(told.iter().all(decided));
    assert_eq!(bench.state(first).await, State::Done);
    let keys = bench.keys();
    assert_ne!(keys[0], keys[1]);
    assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit())));
    assert!(bench.outbox.outcome(first).await.unwrap().unwrap().is_as_asked());
    assert_eq!(bench.outbox.forget_decided().await.unwrap(), 2);
    assert!(bench.outbox.entries().await.unwrap().is_empty());
}

/// GW-12: a lost answer and a proxy's page in its place are asked for again under the same key with the same
/// bytes, over a restart too.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again() {
    for reply in
        [applied().and_is_lost(), applied().cut_to(20), Reply::unheard(), Reply::html(502), Reply::html(520)]
    {
        let mut bench = Bench::new();
        bench.server.then(reply);
        let entry = bench.enqueue("bp-1").await;
        let told = bench.flush().await;
        assert!(matches!(told[..], [OutboxEvent::Waiting { .. }]), "{told:?}");
        assert!(bench.outbox.entry(entry).await.unwrap().may_be_applied());
        bench = bench.restarted();
        assert!(bench.flush().await.is_empty(), "not before its time");
        bench.run_for(seconds(10)).await;
        assert_eq!(bench.state(entry).await, State::Done);
        let seen = bench.server.requests();
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].idempotency_key(), &seen[0].body), (seen[1].idempotency_key(), &seen[1].body));
        assert_eq!(bench.server.carried_out().len(), 1);
    }
}

/// An answer that cannot be read, however often it is asked for, leaves it to the feed.
#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_is_compared() {
    for reply in [Reply::garbage(), Reply::json(200, "[]"), Reply::redirect("/elsewhere")] {
        let bench = Bench::new();
        bench.server.answer(move |_| reply.clone());
        let entry = bench.enqueue("bp-1").await;
        bench.run_for(seconds(600)).await;
        assert_eq!((bench.state(entry).await, bench.server.count()), (State::Unknown, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn a_repetition_is_known_as_one() {
    let bench = Bench::new();
    bench.server.then(applied().and_is_lost());
    let entry = bench.enqueue("bp-1").await;
    let mut events = bench.outbox.events();
    bench.run_for(seconds(10)).await;
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Waiting { .. }));
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Decided { replayed: true, .. }));
    assert!(bench.outbox.entry(entry).await.unwrap().was_replayed());
}

/// GW-12: a future that is dropped while an answer is awaited, and a process that ends there, lose nothing: the
/// set is sent again under its key.
#[tokio::test(start_paused = true)]
async fn a_dropped_sending_is_taken_up() {
    for restart in [false, true] {
        let mut bench = Bench::new();
        bench.server.then(applied().and_stalls());
        let entry = bench.enqueue("bp-1").await;
        let flushed = tokio::time::timeout(seconds(30), bench.outbox.flush()).await;
        assert!(flushed.is_err());
        assert_eq!(bench.state(entry).await, State::Sending);
        if restart {
            bench = bench.restarted();
            assert!(bench.flush().await.is_empty(), "another process may still be sending it");
            bench.pass(seconds(120));
        }
        assert!(matches!(bench.flush().await[..], [OutboxEvent::Decided { replayed: true, .. }]));
        let keys = bench.keys();
        assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
    }
}

/// ERR-36, GW-12: the same key until the exchange has room for it, never before it asked; what is enqueued next is
/// cut smaller, which is always taken.
#[tokio::test(start_paused = true)]
async fn a_busy_relay_is_waited_for() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.server.then(Reply::problem(Code::RelayBusy));
    }
    bench.enqueue("bp-1").await;
    bench.run_for(seconds(60)).await;
    let seen = bench.server.requests();
    assert_eq!(seen.len(), 4);
    assert!(seen.windows(2).all(|two| two[0].idempotency_key() == two[1].idempotency_key()));
    let waits: Vec<_> = seen.windows(2).map(|two| two[1].at - two[0].at).collect();
    assert!(waits.iter().all(|wait| *wait >= seconds(10)), "{waits:?}");
    let mut many = BlueprintChanges::new();
    for number in 0..250 {
        for op in blueprint(&format!("bp-{number}")).ops() {
            let BlueprintOp::Add(op) = op else { continue };
            let mut op = op.clone();
            op.op_id = None;
            many.push(op).unwrap();
        }
    }
    assert_eq!(bench.outbox.enqueue(many.clone()).await.unwrap().len(), 3);
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(bench.outbox.enqueue(many).await.unwrap().len(), 1);
}

/// `IDEMPOTENCY_IN_PROGRESS`: the first sending is still being carried out, so the set is not edited.
#[tokio::test(start_paused = true)]
async fn a_set_in_progress_is_not_edited() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::IdempotencyInProgress));
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    assert_eq!(bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap_err().kind(), ErrorKind::Invalid);
    bench.run_for(seconds(10)).await;
    assert_eq!(bench.state(entry).await, State::Done);
    let keys = bench.keys();
    assert_eq!(keys[0], keys[1]);
}

/// ERR-26: a conflict waits for the feed and a merge, which is sent under a new key; its area waits for it, and
/// no other.
#[tokio::test(start_paused = true)]
async fn a_conflict_is_merged_under_a_new_key() {
    let bench = Bench::new();
    bench.server.then_for("blueprints_write", Reply::problem(Code::VersionConflict));
    let first = bench.enqueue("bp-1").await;
    let second = bench.enqueue("bp-2").await;
    bench.outbox.enqueue(stock()).await.unwrap();
    let told = bench.flush().await;
    let [OutboxEvent::Rebase { entry, error, .. }, OutboxEvent::Decided { lane: Lane::Stock, .. }] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((*entry, error.advice()), (first, Advice::Synchronise));
    assert_eq!(told[0].pulls(), Some(Lane::Blueprints));
    assert_eq!((bench.state(first).await, bench.state(second).await), (State::NeedsRebase, State::Pending));
    assert!(bench.flush().await.is_empty());
    bench.outbox.edit(first, blueprint("bp-merged")).await.unwrap();
    assert!(bench.flush().await.iter().all(decided));
    let seen = bench.server.requests();
    let said = |at: usize| seen[at].json()["ops"][0]["ref"]["bt"].clone();
    assert_eq!((said(0), said(2), said(3)), (json!("bp-1"), json!("bp-merged"), json!("bp-2")));
    assert_ne!(seen[0].idempotency_key(), seen[2].idempotency_key());
}

/// ERR-27, WRT-11: a held set waits for the member, over a restart; its link is told once, kept and printed
/// nowhere, and had anew by the same key. Then the feed tells.
#[tokio::test(start_paused = true)]
async fn a_held_set_waits_for_the_member() {
    let mut bench = Bench::new();
    bench.server.then(held());
    bench.server.then(held());
    let entry = bench.enqueue("bp-1").await;
    let told = bench.flush().await;
    let [OutboxEvent::Confirm { link: Some(link), .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(link.expose(), LINK);
    bench = bench.restarted();
    assert!(bench.flush().await.is_empty());
    assert_eq!(bench.state(entry).await, State::Held);
    assert_eq!(bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap_err().kind(), ErrorKind::Invalid);
    let link = bench.outbox.confirmation(entry).await.unwrap().unwrap();
    let keys = bench.keys();
    assert_eq!(keys[0], keys[1]);
    let rows = bench.store.rows("me").await.unwrap();
    let kept: String = rows.iter().map(|row| format!("{}{:?}", row.head, row.body)).collect();
    for text in
        [kept, format!("{told:?} {link:?} {rows:?} {:?} {:?}", bench.outbox, bench.outbox.entries().await)]
    {
        assert!(!text.contains("planted-secret"), "{text}");
    }
    bench.outbox.resolve(entry, Found::Applied).await.unwrap();
    assert_eq!(bench.state(entry).await, State::Done);
    assert_eq!(bench.outbox.outcome(entry).await.unwrap(), None);
    assert_eq!(bench.outbox.confirmation(entry).await.unwrap_err().kind(), ErrorKind::Invalid);
}

/// A key that the exchange knows for another write is a fault of this program: no new key without a word.
#[tokio::test(start_paused = true)]
async fn a_key_of_another_write_is_parked() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::IdempotencyKeyReused));
    let entry = bench.enqueue("bp-1").await;
    let told = bench.flush().await;
    assert!(matches!(told[..], [OutboxEvent::Parked { why: Why::KeyReused, .. }]), "{told:?}");
    assert_eq!(bench.outbox.resume().await.unwrap(), 0);
    bench.run_for(seconds(7200)).await;
    assert_eq!(bench.server.count(), 1);
    bench.outbox.retry(entry).await.unwrap();
    bench.flush().await;
    let keys = bench.keys();
    assert_ne!(keys[0], keys[1]);
    assert_eq!(bench.state(entry).await, State::Done);
}

/// An outcome that nobody knows is asked for three times more, no earlier than the back-off allows; then the feed
/// tells: what is there is done, what is not is a new write.
#[tokio::test(start_paused = true)]
async fn the_feed_tells_what_nobody_knows() {
    for found in [Found::Applied, Found::Missing] {
        let bench = Bench::new();
        for _ in 0..4 {
            bench.server.then(Reply::problem(Code::BackendRelayFailed));
        }
        let entry = bench.enqueue("bp-1").await;
        let mut events = bench.outbox.events();
        bench.run_for(seconds(600)).await;
        assert_eq!(bench.state(entry).await, State::Unknown);
        let seen = bench.server.requests();
        assert_eq!(seen.len(), 4);
        let waits: Vec<_> = seen.windows(2).map(|two| two[1].at - two[0].at).collect();
        assert!(waits[0] >= seconds(5) && waits[1] >= seconds(10) && waits[2] >= seconds(20), "{waits:?}");
        let mut last = None;
        while let Ok(event) = events.try_recv() {
            last = Some(event);
        }
        let last = last.unwrap();
        assert!(matches!(last, OutboxEvent::CompareAfterPull { .. }), "{last:?}");
        assert_eq!(last.pulls(), Some(Lane::Blueprints));
        assert_eq!(bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap_err().kind(), ErrorKind::Invalid);
        bench.outbox.resolve(entry, found).await.unwrap();
        bench.flush().await;
        assert_eq!(bench.state(entry).await, State::Done);
        let keys = bench.keys();
        match found {
            Found::Applied => assert_eq!(keys.len(), 4),
            Found::Missing => assert_ne!(keys[0], keys[4]),
        }
    }
}

/// GW-12: what is missing so soon after it was sent may still arrive, and would be carried out twice.
#[tokio::test(start_paused = true)]
async fn what_may_still_arrive_is_not_missing() {
    let bench = Bench::new();
    bench.server.then(applied().and_is_lost());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    tokio::time::sleep(seconds(59)).await;
    let refused = bench.outbox.resolve(entry, Found::Missing).await.unwrap_err();
    assert_eq!((refused.kind(), bench.server.count()), (ErrorKind::Busy, 1));
    tokio::time::sleep(seconds(1)).await;
    bench.outbox.resolve(entry, Found::Missing).await.unwrap();
    bench.flush().await;
    let keys = bench.keys();
    assert_ne!(keys[0], keys[1]);
}

/// GW-12: a clock that is set forward makes nothing arrive that is on its way.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_is_no_time_that_passed() {
    let bench = Bench::new();
    bench.server.answer(|_| Reply::unheard());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    // The key counts as forgotten, and it is to be compared: not yet.
    bench.machine.set_wrong_by(30 * 3600);
    bench.flush().await;
    assert_ne!(bench.state(entry).await, State::Unknown);
    let refused = bench.outbox.resolve(entry, Found::Missing).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    tokio::time::sleep(seconds(60)).await;
    bench.flush().await;
    assert_eq!(bench.state(entry).await, State::Unknown);
    bench.outbox.resolve(entry, Found::Missing).await.unwrap();
}

/// GW-12: a call may wait for long before its request leaves, and be dropped when it just did: what is quiet is quiet
/// since then.
#[tokio::test(start_paused = true)]
async fn a_dropped_sending_may_have_left_at_its_very_end() {
    let bench = Bench::new();
    bench.server.answer(|_| Reply::stalled());
    let entry = bench.enqueue("bp-1").await;
    bench.run_for(seconds(39)).await;
    // The key counts as forgotten: it is to be compared, once nothing of it can arrive any more.
    bench.machine.set_wrong_by(30 * 3600);
    for (wait, state) in [(59, State::Sending), (1, State::Unknown)] {
        tokio::time::sleep(seconds(wait)).await;
        bench.flush().await;
        assert_eq!(bench.state(entry).await, state);
    }
    bench.outbox.resolve(entry, Found::Missing).await.unwrap();
}

/// GW-12, LIM-22: a clock that is set back makes no key younger, and no wait longer than it was.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_is_seen_through() {
    let bench = Bench::new();
    bench.server.then(applied().and_is_lost());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.machine.set_wrong_by(-100 * 86_400);
    bench.pass(seconds(86_400));
    assert!(bench.flush().await.is_empty());
    assert_eq!(bench.server.count(), 1, "the exchange forgot its key a day ago");
    tokio::time::sleep(seconds(26 * 3600)).await;
    assert!(matches!(bench.flush().await[..], [OutboxEvent::CompareAfterPull { .. }]));
    assert_eq!((bench.state(entry).await, bench.server.count()), (State::Unknown, 1));

    // By months, by hours, and by so little that only what was noted beside it tells.
    for (code, back) in [
        (Code::QuotaExceeded, 100 * 86_400),
        (Code::QuotaExceeded, 10 * 3600),
        (Code::RelayBusy, 10 * 3600),
        (Code::RelayBusy, 120),
    ] {
        let bench = Bench::new();
        bench.server.then(Reply::problem(code).retry_after("3000"));
        let entry = bench.enqueue("bp-1").await;
        bench.flush().await;
        bench.machine.set_wrong_by(-back);
        bench.flush().await;
        let _ = bench.outbox.retry(entry).await;
        bench.run_for(seconds(2990)).await;
        assert_eq!(bench.server.count(), 1);
        bench.run_for(seconds(500)).await;
        assert_eq!(bench.server.count(), 2, "{back}");
    }

    // A second is how clocks are corrected all day: what was just decided is not taken for old.
    for (back, left) in [(1, 1), (100 * 86_400, 0)] {
        let bench = Bench::new();
        bench.outbox.enqueue(org_stock()).await.unwrap();
        bench.flush().await;
        bench.pass(seconds(2 * 3600));
        bench.enqueue("bp-2").await;
        bench.machine.set_wrong_by(-2 * 3600 - back);
        bench.flush().await;
        let decided = bench.outbox.entries().await.unwrap();
        assert_eq!(decided.iter().filter(|entry| entry.number() == EntryNumber(1)).count(), left);
    }
}

/// CLI-02: the member's word ends the own back-off, and not the wait that the exchange asked for.
#[tokio::test(start_paused = true)]
async fn a_retry_is_no_earlier_than_the_exchange_asked() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.server.then(Reply::problem(Code::RelayBusy).retry_after("100"));
    }
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.outbox.retry(entry).await.unwrap();
    bench.pass(seconds(99));
    bench.flush().await;
    bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap();
    bench.flush().await;
    assert_eq!(bench.server.count(), 1);
    bench.pass(seconds(1));
    bench.flush().await;
    assert_eq!(bench.server.count(), 2);
    let bench = Bench::new();
    bench.server.then(Reply::refused());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    assert!(bench.flush().await.is_empty());
    bench.outbox.retry(entry).await.unwrap();
    assert!(bench.flush().await.iter().all(decided));
    assert_eq!(bench.state(entry).await, State::Done);
}

/// While nobody knows whose an outbox is, none is sent.
#[tokio::test(start_paused = true)]
async fn an_outbox_is_somebodys() {
    let bench = Bench::new();
    let client = Client::new(bench.server.origin(), bench.server.clone());
    let nobodys =
        Outbox::new(client.core(), bench.store.clone(), bench.machine.environment(), "", Policy::default());
    assert_eq!(nobodys.unwrap_err().kind(), ErrorKind::Invalid);
}

/// A refusal of what may have been carried out says nothing about that: the feed does.
#[tokio::test(start_paused = true)]
async fn a_late_refusal_decides_nothing() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::BackendRelayFailed));
    bench.server.then(Reply::problem(Code::NotPermitted));
    let entry = bench.enqueue("bp-1").await;
    bench.run_for(seconds(300)).await;
    assert_eq!(bench.state(entry).await, State::Unknown);
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::NotPermitted));
    let entry = bench.enqueue("bp-1").await;
    assert!(matches!(bench.flush().await[..], [OutboxEvent::Refused { .. }]));
    assert_eq!(bench.state(entry).await, State::Refused);
}

/// LIM-22: the exchange forgets a key after a day: what may have been carried out under it is not sent again.
#[tokio::test(start_paused = true)]
async fn an_old_key_is_not_sent_again() {
    let bench = Bench::new();
    bench.server.then(applied().and_is_lost());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    tokio::time::sleep(seconds(23 * 3600)).await;
    assert!(matches!(bench.flush().await[..], [OutboxEvent::CompareAfterPull { .. }]));
    assert_eq!((bench.state(entry).await, bench.server.count()), (State::Unknown, 1));
    // What was never carried out may wait as long as it likes.
    let bench = Bench::new();
    bench.server.then(Reply::refused());
    bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.pass(seconds(48 * 3600));
    assert!(bench.flush().await.iter().all(decided));
}

/// ERR-05, ERR-15: what the session refuses is parked, and taken up under the same key when it is over.
#[tokio::test(start_paused = true)]
async fn parked_sets_are_taken_up() {
    for (code, why) in [
        (Code::Unauthenticated, Why::SignedOut),
        (Code::ClientRevoked, Why::SignedOut),
        (Code::ClientSuspended, Why::Halted),
        (Code::ScopeMissing, Why::Scope),
    ] {
        let bench = Bench::new();
        bench.server.then(Reply::problem(code.clone()));
        let entry = bench.enqueue("bp-1").await;
        bench.run_for(seconds(3600)).await;
        assert_eq!((bench.state(entry).await, bench.server.count()), (State::Parked(why), 1), "{code}");
        assert_eq!(bench.outbox.resume().await.unwrap(), 1);
        assert!(bench.flush().await.iter().all(decided));
        let keys = bench.keys();
        assert_eq!(keys[0], keys[1], "{code}");
    }
}

/// The day's quota is one for all areas: none of them writes before it is there again.
#[tokio::test(start_paused = true)]
async fn a_used_up_quota_stops_all_areas() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::QuotaExceeded).retry_after("3000"));
    bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.outbox.enqueue(stock()).await.unwrap();
    bench.run_for(seconds(2999)).await;
    assert_eq!(bench.server.count(), 1);
    bench.run_for(seconds(400)).await;
    assert_eq!(bench.server.count(), 3);
}

/// Two processes over one store: one sends at a time, and the other takes over when the first is gone.
#[tokio::test(start_paused = true)]
async fn two_processes_send_one_set_once() {
    let bench = Bench::new();
    bench.server.then(applied().after(seconds(300)));
    let other = bench.another();
    bench.enqueue("bp-1").await;
    bench.enqueue("bp-2").await;
    let (one, two) = (bench.outbox.clone(), other.clone());
    let both = async { tokio::join!(one.run(), two.run()) };
    let _ = tokio::time::timeout(seconds(700), both).await;
    assert_eq!(bench.server.count(), 2);
    assert_eq!(other.entries().await.unwrap().iter().filter(|entry| entry.state() == State::Done).count(), 2);
}

/// CLI-02: what the exchange asks for is never cut, nor by a start anew, nor when the member asks; for ever is no fault.
#[tokio::test(start_paused = true)]
async fn a_wait_of_days_is_waited() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::RelayBusy).retry_after("259200"));
    let entry = bench.enqueue("late").await;
    bench.run_for(seconds(2 * 86_400)).await;
    let bench = bench.restarted();
    bench.outbox.retry(entry).await.unwrap();
    bench.run_for(seconds(86_400 - 10)).await;
    assert_eq!(bench.server.count(), 1);
    bench.run_for(seconds(2 * 86_400)).await;
    assert_eq!((bench.server.count(), bench.state(entry).await), (2, State::Done));

    bench.server.then(Reply::problem(Code::RelayBusy).retry_after("99999999999999999999"));
    let entry = bench.enqueue("never").await;
    bench.pass(seconds(400 * 86_400));
    bench.run_for(seconds(3600)).await;
    assert_eq!((bench.server.count(), bench.state(entry).await), (3, State::Pending));
}

/// OST-14: what was decided is forgotten after seven days at the latest; what is not decided never is.
#[tokio::test(start_paused = true)]
async fn decided_sets_are_forgotten() {
    let bench = Bench::new();
    bench.outbox.enqueue(org_stock()).await.unwrap();
    bench.flush().await;
    bench.server.then(Reply::problem(Code::VersionConflict));
    bench.outbox.enqueue(org_stock()).await.unwrap();
    bench.run_for(seconds(6 * 86_400)).await;
    assert_eq!(bench.outbox.entries().await.unwrap().len(), 2);
    bench.run_for(seconds(86_400)).await;
    let left = bench.outbox.entries().await.unwrap();
    assert_eq!(left.iter().map(Entry::state).collect::<Vec<_>>(), [State::NeedsRebase]);
}

/// The seven days of what waited for long begin when it is decided, so that its answer can be looked at.
#[tokio::test(start_paused = true)]
async fn what_is_decided_late_is_kept_from_then_on() {
    let bench = Bench::new();
    let entry = bench.outbox.enqueue(org_stock()).await.unwrap()[0];
    bench.pass(seconds(8 * 86_400));
    assert!(bench.flush().await.iter().all(decided));
    assert!(bench.outbox.outcome(entry).await.unwrap().is_some());
    bench.pass(seconds(6 * 86_400));
    bench.flush().await;
    assert_eq!(bench.state(entry).await, State::Done);
    bench.pass(seconds(86_400));
    bench.flush().await;
    assert!(bench.outbox.entries().await.unwrap().is_empty());
}

/// What others left in the store is neither sent nor shown.
#[tokio::test(start_paused = true)]
async fn the_sets_of_others_stay_where_they_are() {
    let bench = Bench::new();
    let entry = bench.enqueue("bp-1").await;
    let other = outbox(&bench.machine, &bench.server, &bench.store, "somebody else", Policy::default());
    assert!(other.flush().await.unwrap().is_empty() && other.entries().await.unwrap().is_empty());
    for refused in
        [other.discard(entry).await, other.retry(entry).await, other.outcome(entry).await.map(|_| ())]
    {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(bench.server.count(), 0);
}

/// A set that waits can be changed and taken out; one that is being sent cannot.
#[tokio::test(start_paused = true)]
async fn a_waiting_set_is_the_members_own() {
    let bench = Bench::new();
    let entry = bench.enqueue("bp-1").await;
    let kept: Changes<BlueprintOp> = bench.outbox.changes(entry).await.unwrap();
    assert_eq!(kept.ops(), blueprint("bp-1").ops());
    assert_eq!(bench.outbox.edit(entry, stock()).await.unwrap_err().kind(), ErrorKind::Invalid);
    bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap();
    bench.server.then(applied().after(seconds(20)));
    let sending = bench.outbox.flush();
    let meddling = async {
        tokio::time::sleep(seconds(10)).await;
        for refused in [bench.outbox.discard(entry).await, bench.another().discard(entry).await] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Busy);
        }
        assert!(bench.outbox.edit(entry, blueprint("bp-3")).await.is_err());
        assert!(bench.outbox.retry(entry).await.is_err());
    };
    let (told, ()) = tokio::join!(sending, meddling);
    assert!(told.unwrap().iter().all(decided));
    assert_eq!(bench.server.requests()[0].json()["ops"][0]["ref"]["bt"], "bp-2");
    let next = bench.enqueue("bp-4").await;
    bench.outbox.discard(next).await.unwrap();
    assert!(bench.flush().await.is_empty());
    assert_eq!(bench.outbox.entry(next).await.unwrap_err().kind(), ErrorKind::Invalid);
}

/// WRT-04: a preview asks the exchange and keeps nothing.
#[tokio::test(start_paused = true)]
async fn a_preview_keeps_nothing() {
    let bench = Bench::new();
    let answer = json!({
        "dryRun": true, "applied": 0, "unchanged": 1, "notApplied": 0, "warnings": [],
        "results": [{"index": 0, "opId": "1", "result": "unchanged"}]
    });
    bench.server.then(Reply::json(200, answer));
    let outcomes = bench.outbox.preview(blueprint("bp-1")).await.unwrap();
    assert!(outcomes[0].dry_run && outcomes[0].is_as_asked());
    assert_eq!(bench.server.requests()[0].json()["dryRun"], true);
    assert!(bench.outbox.entries().await.unwrap().is_empty());
    bench.server.then(Reply::problem(Code::ScopeMissing));
    let error: Error = bench.outbox.preview(blueprint("bp-1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ScopeMissing);
}

/// Every outcome of every kind of error leaves an entry that is either sent again, or waits for somebody.
#[tokio::test(start_paused = true)]
async fn every_code_has_its_place() {
    for code in Code::ALL.iter().filter(|code| code.retired() == Some(false)) {
        let bench = Bench::new();
        bench.server.then(Reply::problem(code.clone()));
        let entry = bench.enqueue("bp-1").await;
        let told = bench.flush().await;
        let entry = bench.outbox.entry(entry).await.unwrap();
        let expected = match code.action().unwrap().as_str() {
            "wait-and-resend" | "outcome-unknown" => State::Pending,
            "pull-and-merge" => State::NeedsRebase,
            "confirm" => State::Held,
            "stop-area" if *code == Code::QuotaExceeded => State::Pending,
            "stop-area" => State::Refused,
            _ if *code == Code::IdempotencyKeyReused => State::Parked(Why::KeyReused),
            "stop-client" => State::Parked(Why::Halted),
            "new-login-with-scope" => State::Parked(Why::Scope),
            "refresh-once" | "end-connection" | "end-connection-and-key" => State::Parked(Why::SignedOut),
            _ => State::Parked(Why::Fault),
        };
        assert_eq!((told.len(), entry.state()), (1, expected), "{code}");
        assert_eq!(entry.code(), Some(code.as_str()));
        let unsure =
            matches!(code, Code::BackendRelayFailed | Code::InternalError | Code::IdempotencyInProgress);
        assert_eq!(entry.may_be_applied(), unsure, "{code}");
    }
}

/// An op type's area and its call are the same.
#[test]
fn areas_have_names() {
    for lane in Lane::ALL {
        assert_eq!(Lane::named(lane.as_str()), Some(lane));
        assert!(lane.operation().operation().path.ends_with("/changes"));
    }
    assert_eq!(<BlueprintOp as Op>::LANE, Lane::Blueprints);
    assert_eq!(Lane::named("demand"), None);
}

/// CLI-06: what an outbox holds goes with the connection, decided or not, and nobody else's does.
#[tokio::test(start_paused = true)]
async fn an_outbox_goes_with_the_connection() {
    let bench = Bench::new();
    let other = outbox(&bench.machine, &bench.server, &bench.store, "somebody else", Policy::default());
    other.enqueue(blueprint("theirs")).await.unwrap();
    bench.enqueue("sent").await;
    bench.flush().await;
    bench.enqueue("not sent").await;
    assert_eq!(bench.outbox.entries().await.unwrap().len(), 2);
    bench.outbox.delete().await.unwrap();
    assert!(bench.outbox.entries().await.unwrap().is_empty());
    assert_eq!(other.entries().await.unwrap().len(), 1);
    bench.flush().await;
    assert_eq!(bench.server.count(), 1);
}
