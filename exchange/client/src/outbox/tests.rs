//! Tests of the outbox with a scripted server, in virtual time.

mod codes;
mod links;
mod model;
mod ownership;
mod quota;
mod results;
mod retention;

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
    changes::{ChangeOp, Changes, Lane, LotSpec, known::KnownItem, location_by_name, quantity},
    error::{Error, ErrorKind},
    session::LocalData as _,
    state::Advice,
    testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
};

const LINK: &str = "https://web.test/confirm/planted-secret";

/// A test fixture: a machine in virtual time, a server, a store and an outbox.
struct OutboxFixture {
    machine: VirtualEnvironment,
    server: ScriptedServer,
    store: MemoryOutbox,
    outbox: Outbox,
}

impl OutboxFixture {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(7);
        let server = ScriptedServer::gateway(&machine).unsigned();
        server.set_script(|_| applied());
        let store = MemoryOutbox::new();
        let outbox = outbox(&machine, &server, &store, "me", OutboxPolicy::default());
        Self { machine, server, store, outbox }
    }

    /// Simulates a restart of the process, which keeps the store.
    fn restarted(mut self) -> Self {
        self.outbox = self.another();
        self
    }

    /// Creates the outbox of another process that uses the same store.
    fn another(&self) -> Outbox {
        outbox(&self.machine, &self.server, &self.store, "me", OutboxPolicy::default())
    }

    async fn flush(&self) -> Vec<OutboxEvent> {
        self.outbox.flush().await.unwrap()
    }

    async fn enqueue(&self, product: &str) -> EntryNumber {
        self.outbox.enqueue(blueprint(product)).await.unwrap()[0]
    }

    async fn state(&self, entry: EntryNumber) -> EntryState {
        self.outbox.entry(entry).await.unwrap().state()
    }

    /// Runs the outbox in the background for this time.
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
    policy: OutboxPolicy,
) -> Outbox {
    let client = Client::new(server.origin(), server.clone());
    Outbox::new(client.api_client(), store.clone(), machine.environment(), owner, policy).unwrap()
}

fn blueprint(product: &str) -> BlueprintChanges {
    let known = KnownItem { bt: Some(product.parse().unwrap()), ..KnownItem::default() };
    let mut changes = BlueprintChanges::new();
    changes.add(known.item_ref().unwrap()).unwrap();
    changes
}

fn stock() -> StockChanges {
    let known = KnownItem { bt: Some("ore".parse().unwrap()), ..KnownItem::default() };
    let lot = LotSpec::new(known.item_ref().unwrap(), location_by_name("Here").unwrap());
    let mut changes = StockChanges::new();
    changes.set_quantity(lot.expecting_nothing(), quantity::scu("1").unwrap()).unwrap();
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

fn applied() -> ScriptedReply {
    let body = json!({
        "dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []
    });
    ScriptedReply::json(200, body)
}

fn held() -> ScriptedReply {
    let body = json!({
        "status": 409, "code": "MASS_CHANGE_CONFIRMATION_REQUIRED", "title": "t", "detail": "d",
        "correlationId": "c-1", "confirmationUrl": LINK
    });
    ScriptedReply::new(409, "application/problem+json", body.to_string())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn decided(event: &OutboxEvent) -> bool {
    matches!(event, OutboxEvent::Decided { written: Some(written), .. } if written.is_satisfied())
}

/// WRT-08, GW-12: a change set is sent once under a random key, and its event requests a pull of the feed.
#[tokio::test(start_paused = true)]
async fn set_is_sent_and_its_feed_pulled() {
    let fixture = OutboxFixture::new();
    let first = fixture.enqueue("bp-1").await;
    fixture.enqueue("bp-2").await;
    let published = fixture.flush().await;
    assert_eq!(
        published.iter().map(OutboxEvent::lane_to_pull).collect::<Vec<_>>(),
        [Some(Lane::Blueprints); 2]
    );
    assert!(published.iter().all(decided));
    assert_eq!(fixture.state(first).await, EntryState::Done);
    let keys = fixture.keys();
    assert_ne!(keys[0], keys[1]);
    assert!(keys.iter().all(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit())));
    assert!(fixture.outbox.load_outcome(first).await.unwrap().unwrap().is_satisfied());
    assert_eq!(fixture.outbox.forget_decided().await.unwrap(), 2);
    assert!(fixture.outbox.entries().await.unwrap().is_empty());
}

/// GW-12: after a lost response or the page of a proxy, the same bytes are sent again under the same key,
/// even after a restart.
#[tokio::test(start_paused = true)]
async fn lost_response_is_requested_again() {
    for reply in [
        applied().then_lost(),
        applied().truncated_to(20),
        ScriptedReply::interrupted(),
        ScriptedReply::html(502),
        ScriptedReply::html(520),
    ] {
        let mut fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(reply);
        let entry = fixture.enqueue("bp-1").await;
        let published = fixture.flush().await;
        assert!(matches!(published[..], [OutboxEvent::Waiting { .. }]), "{published:?}");
        assert!(fixture.outbox.entry(entry).await.unwrap().may_be_applied());
        fixture = fixture.restarted();
        assert!(fixture.flush().await.is_empty(), "the entry was sent again too early");
        fixture.run_for(seconds(10)).await;
        assert_eq!(fixture.state(entry).await, EntryState::Done);
        let seen = fixture.server.requests();
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].idempotency_key(), &seen[0].body), (seen[1].idempotency_key(), &seen[1].body));
        assert_eq!(fixture.server.applied_keys().len(), 1);
    }
}

/// A change set whose response stays unreadable has to be compared with the feed.
#[tokio::test(start_paused = true)]
async fn unreadable_response_requires_a_comparison() {
    for (reply, requests) in [
        // The exchange would send the same response again.
        (ScriptedReply::garbage(), 1),
        (ScriptedReply::json(200, "[]"), 1),
        (ScriptedReply::json(200, r#"{"outcome": "applied"}"#), 1),
        (ScriptedReply::redirect("/elsewhere"), 4),
    ] {
        let fixture = OutboxFixture::new();
        fixture.server.set_script(move |_| reply.clone());
        let entry = fixture.enqueue("bp-1").await;
        fixture.run_for(seconds(600)).await;
        assert_eq!(
            (fixture.state(entry).await, fixture.server.request_count()),
            (EntryState::Unknown, requests)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn replayed_response_is_marked() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().then_lost());
    let entry = fixture.enqueue("bp-1").await;
    let mut events = fixture.outbox.events();
    fixture.run_for(seconds(10)).await;
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Waiting { .. }));
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Decided { replayed: true, .. }));
    assert!(fixture.outbox.entry(entry).await.unwrap().was_replayed());
}

/// GW-12: if the future is dropped or the process ends during a request, the change set is sent again under
/// its key.
#[tokio::test(start_paused = true)]
async fn dropped_request_is_resent() {
    for restart in [false, true] {
        let mut fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(applied().then_stalled());
        let entry = fixture.enqueue("bp-1").await;
        let flushed = tokio::time::timeout(seconds(30), fixture.outbox.flush()).await;
        assert!(flushed.is_err());
        assert_eq!(fixture.state(entry).await, EntryState::Sending);
        if restart {
            fixture = fixture.restarted();
            assert!(fixture.flush().await.is_empty(), "another process may still be sending it");
            fixture.pass(seconds(120));
        }
        assert!(matches!(fixture.flush().await[..], [OutboxEvent::Decided { replayed: true, .. }]));
        let keys = fixture.keys();
        assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
    }
}

/// ERR-36, GW-12: the change set is sent again under the same key after `Retry-After`. Later change sets are
/// smaller.
#[tokio::test(start_paused = true)]
async fn busy_relay_delays_the_set() {
    let fixture = OutboxFixture::new();
    for _ in 0..3 {
        fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    }
    fixture.enqueue("bp-1").await;
    fixture.run_for(seconds(60)).await;
    let seen = fixture.server.requests();
    assert_eq!(seen.len(), 4);
    assert!(seen.windows(2).all(|two| two[0].idempotency_key() == two[1].idempotency_key()));
    let waits: Vec<_> = seen.windows(2).map(|two| two[1].received_at - two[0].received_at).collect();
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
    assert_eq!(fixture.outbox.enqueue(many.clone()).await.unwrap().len(), 3);
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(fixture.outbox.enqueue(many).await.unwrap().len(), 1);
}

/// `IDEMPOTENCY_IN_PROGRESS`: the first request is still being processed, so the change set cannot be edited.
#[tokio::test(start_paused = true)]
async fn set_in_progress_cannot_be_edited() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::IdempotencyInProgress));
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    assert_eq!(
        fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
    fixture.run_for(seconds(10)).await;
    assert_eq!(fixture.state(entry).await, EntryState::Done);
    let keys = fixture.keys();
    assert_eq!(keys[0], keys[1]);
}

/// ERR-26: after a conflict, the change set waits for a merge, which is sent under a new key. Only its own
/// area is blocked.
#[tokio::test(start_paused = true)]
async fn conflict_is_merged_under_a_new_key() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply_for("blueprints_write", ScriptedReply::problem(Code::VersionConflict));
    let first = fixture.enqueue("bp-1").await;
    let second = fixture.enqueue("bp-2").await;
    fixture.outbox.enqueue(stock()).await.unwrap();
    let published = fixture.flush().await;
    let [OutboxEvent::Rebase { entry, error, .. }, OutboxEvent::Decided { lane: Lane::Stock, .. }] =
        &published[..]
    else {
        panic!("{published:?}")
    };
    assert_eq!((*entry, error.advice()), (first, Advice::Synchronise));
    assert_eq!(published[0].lane_to_pull(), Some(Lane::Blueprints));
    assert_eq!(
        (fixture.state(first).await, fixture.state(second).await),
        (EntryState::NeedsRebase, EntryState::Pending)
    );
    assert!(fixture.flush().await.is_empty());
    fixture.outbox.replace_changes(first, blueprint("bp-merged")).await.unwrap();
    assert!(fixture.flush().await.iter().all(decided));
    let seen = fixture.server.requests();
    let product_at = |at: usize| seen[at].json()["ops"][0]["ref"]["bt"].clone();
    assert_eq!(
        (product_at(0), product_at(2), product_at(3)),
        (json!("bp-1"), json!("bp-merged"), json!("bp-2"))
    );
    assert_ne!(seen[0].idempotency_key(), seen[2].idempotency_key());
}

/// ERR-27, WRT-11: a held change set waits for the member, even after restarts. The confirmation link is
/// contained in one event, and is neither stored nor printed; another link can be requested under the same
/// key. The feed shows the outcome.
#[tokio::test(start_paused = true)]
async fn held_set_waits_for_the_member() {
    let mut fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(held());
    fixture.server.enqueue_reply(held());
    let entry = fixture.enqueue("bp-1").await;
    let published = fixture.flush().await;
    let [OutboxEvent::Confirm { link: Some(link), .. }] = &published[..] else { panic!("{published:?}") };
    assert_eq!(link.expose(), LINK);
    fixture = fixture.restarted();
    assert!(fixture.flush().await.is_empty());
    assert_eq!(fixture.state(entry).await, EntryState::Held);
    assert_eq!(
        fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let link = fixture.outbox.request_confirmation_link(entry).await.unwrap().unwrap();
    let keys = fixture.keys();
    assert_eq!(keys[0], keys[1]);
    let rows = fixture.store.list_rows("me").await.unwrap();
    let stored_text: String = rows.iter().map(|row| format!("{}{:?}", row.head, row.body)).collect();
    for text in [
        stored_text,
        format!("{published:?} {link:?} {rows:?} {:?} {:?}", fixture.outbox, fixture.outbox.entries().await),
    ] {
        assert!(!text.contains("planted-secret"), "{text}");
    }
    fixture.outbox.resolve_unknown(entry, ComparisonResult::Applied).await.unwrap();
    assert_eq!(fixture.state(entry).await, EntryState::Done);
    assert_eq!(fixture.outbox.load_outcome(entry).await.unwrap(), None);
    assert_eq!(fixture.outbox.request_confirmation_link(entry).await.unwrap_err().kind(), ErrorKind::Invalid);
}

/// If the exchange has stored the key for a different write, the program has a bug: the change set gets a new
/// key only by an explicit retry.
#[tokio::test(start_paused = true)]
async fn reused_key_parks_the_set() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::IdempotencyKeyReused));
    let entry = fixture.enqueue("bp-1").await;
    let published = fixture.flush().await;
    assert!(
        matches!(published[..], [OutboxEvent::Parked { why: ParkReason::KeyReused, .. }]),
        "{published:?}"
    );
    assert_eq!(fixture.outbox.resume_parked().await.unwrap(), 0);
    fixture.run_for(seconds(7200)).await;
    assert_eq!(fixture.server.request_count(), 1);
    fixture.outbox.retry(entry).await.unwrap();
    fixture.flush().await;
    let keys = fixture.keys();
    assert_ne!(keys[0], keys[1]);
    assert_eq!(fixture.state(entry).await, EntryState::Done);
}

/// A change set with an unknown outcome is sent again three times with back-off, and then compared with the
/// feed. If the change was applied, the entry is done; if it is missing, it is sent as a new write.
#[tokio::test(start_paused = true)]
async fn unknown_outcome_is_resolved_by_the_feed() {
    for found in [ComparisonResult::Applied, ComparisonResult::Missing] {
        let fixture = OutboxFixture::new();
        for _ in 0..4 {
            fixture.server.enqueue_reply(ScriptedReply::problem(Code::BackendRelayFailed));
        }
        let entry = fixture.enqueue("bp-1").await;
        let mut events = fixture.outbox.events();
        fixture.run_for(seconds(600)).await;
        assert_eq!(fixture.state(entry).await, EntryState::Unknown);
        let seen = fixture.server.requests();
        assert_eq!(seen.len(), 4);
        let waits: Vec<_> = seen.windows(2).map(|two| two[1].received_at - two[0].received_at).collect();
        assert!(waits[0] >= seconds(5) && waits[1] >= seconds(10) && waits[2] >= seconds(20), "{waits:?}");
        let mut last = None;
        while let Ok(event) = events.try_recv() {
            last = Some(event);
        }
        let last = last.unwrap();
        assert!(matches!(last, OutboxEvent::CompareAfterPull { .. }), "{last:?}");
        assert_eq!(last.lane_to_pull(), Some(Lane::Blueprints));
        assert_eq!(
            fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        fixture.outbox.resolve_unknown(entry, found).await.unwrap();
        fixture.flush().await;
        assert_eq!(fixture.state(entry).await, EntryState::Done);
        let keys = fixture.keys();
        match found {
            ComparisonResult::Applied => assert_eq!(keys.len(), 4),
            ComparisonResult::Missing => assert_ne!(keys[0], keys[4]),
        }
    }
}

/// GW-12: a change that was sent recently cannot be reported as missing, because it may still arrive and
/// would then be applied twice.
#[tokio::test(start_paused = true)]
async fn recently_sent_set_is_not_missing() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().then_lost());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    tokio::time::sleep(seconds(59)).await;
    let refused = fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap_err();
    assert_eq!((refused.kind(), fixture.server.request_count()), (ErrorKind::Busy, 1));
    tokio::time::sleep(seconds(1)).await;
    fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap();
    fixture.flush().await;
    let keys = fixture.keys();
    assert_ne!(keys[0], keys[1]);
}

/// GW-12: setting a clock forward does not shorten the quiet period.
#[tokio::test(start_paused = true)]
async fn clock_set_forward_does_not_expire_waits() {
    let fixture = OutboxFixture::new();
    fixture.server.set_script(|_| ScriptedReply::interrupted());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    // The key counts as expired, but the comparison has to wait.
    fixture.machine.set_clock_offset(30 * 3600);
    fixture.flush().await;
    assert_ne!(fixture.state(entry).await, EntryState::Unknown);
    let refused = fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    tokio::time::sleep(seconds(60)).await;
    fixture.flush().await;
    assert_eq!(fixture.state(entry).await, EntryState::Unknown);
    fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap();
}

/// GW-12: the quiet period starts when the call is dropped, because a call may wait before its request is
/// sent and be dropped right after.
#[tokio::test(start_paused = true)]
async fn quiet_period_starts_when_the_request_is_dropped() {
    let fixture = OutboxFixture::new();
    fixture.server.set_script(|_| ScriptedReply::stalled());
    let entry = fixture.enqueue("bp-1").await;
    fixture.run_for(seconds(39)).await;
    // The key counts as expired, so the entry is compared as soon as the request can no longer arrive.
    fixture.machine.set_clock_offset(30 * 3600);
    for (wait, state) in [(59, EntryState::Sending), (1, EntryState::Unknown)] {
        tokio::time::sleep(seconds(wait)).await;
        fixture.flush().await;
        assert_eq!(fixture.state(entry).await, state);
    }
    fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap();
}

/// GW-12, LIM-22: setting a clock back neither renews a key nor prolongs a wait.
#[tokio::test(start_paused = true)]
async fn clock_set_back_is_detected() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().then_lost());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    fixture.machine.set_clock_offset(-100 * 86_400);
    fixture.pass(seconds(86_400));
    assert!(fixture.flush().await.is_empty());
    assert_eq!(fixture.server.request_count(), 1, "the key has expired");
    tokio::time::sleep(seconds(26 * 3600)).await;
    assert!(matches!(fixture.flush().await[..], [OutboxEvent::CompareAfterPull { .. }]));
    assert_eq!((fixture.state(entry).await, fixture.server.request_count()), (EntryState::Unknown, 1));

    // The clock is set back by months, by hours, or by so little that only the recorded start of the wait
    // shows it.
    for (code, back) in [
        (Code::QuotaExceeded, 100 * 86_400),
        (Code::QuotaExceeded, 10 * 3600),
        (Code::RelayBusy, 10 * 3600),
        (Code::RelayBusy, 120),
    ] {
        let fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(ScriptedReply::problem(code).with_retry_after("3000"));
        let entry = fixture.enqueue("bp-1").await;
        fixture.flush().await;
        fixture.machine.set_clock_offset(-back);
        fixture.flush().await;
        let _ = fixture.outbox.retry(entry).await;
        fixture.run_for(seconds(2990)).await;
        assert_eq!(fixture.server.request_count(), 1);
        fixture.run_for(seconds(500)).await;
        assert_eq!(fixture.server.request_count(), 2, "{back}");
    }

    // Clocks are often corrected by a second, which must not make new entries count as old.
    for (back, left) in [(1, 1), (100 * 86_400, 0)] {
        let fixture = OutboxFixture::new();
        fixture.outbox.enqueue(org_stock()).await.unwrap();
        fixture.flush().await;
        fixture.pass(seconds(2 * 3600));
        fixture.enqueue("bp-2").await;
        fixture.machine.set_clock_offset(-2 * 3600 - back);
        fixture.flush().await;
        let decided = fixture.outbox.entries().await.unwrap();
        assert_eq!(decided.iter().filter(|entry| entry.number() == EntryNumber(1)).count(), left);
    }
}

/// CLI-02: a retry by the member ends the back-off, but not the exchange's `Retry-After` time.
#[tokio::test(start_paused = true)]
async fn retry_respects_retry_after() {
    let fixture = OutboxFixture::new();
    for _ in 0..3 {
        fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("100"));
    }
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    fixture.outbox.retry(entry).await.unwrap();
    fixture.pass(seconds(99));
    fixture.flush().await;
    fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap();
    fixture.flush().await;
    assert_eq!(fixture.server.request_count(), 1);
    fixture.pass(seconds(1));
    fixture.flush().await;
    assert_eq!(fixture.server.request_count(), 2);
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::refused());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    assert!(fixture.flush().await.is_empty());
    fixture.outbox.retry(entry).await.unwrap();
    assert!(fixture.flush().await.iter().all(decided));
    assert_eq!(fixture.state(entry).await, EntryState::Done);
}

/// An outbox cannot be created without an owner.
#[tokio::test(start_paused = true)]
async fn outbox_requires_an_owner() {
    let fixture = OutboxFixture::new();
    let client = Client::new(fixture.server.origin(), fixture.server.clone());
    let nobodys = Outbox::new(
        client.api_client(),
        fixture.store.clone(),
        fixture.machine.environment(),
        "",
        OutboxPolicy::default(),
    );
    assert_eq!(nobodys.unwrap_err().kind(), ErrorKind::Invalid);
}

/// If a change set that may have been applied is refused later, its outcome is still unknown.
#[tokio::test(start_paused = true)]
async fn late_rejection_decides_nothing() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::BackendRelayFailed));
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
    let entry = fixture.enqueue("bp-1").await;
    fixture.run_for(seconds(300)).await;
    assert_eq!(fixture.state(entry).await, EntryState::Unknown);
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::NotPermitted));
    let entry = fixture.enqueue("bp-1").await;
    assert!(matches!(fixture.flush().await[..], [OutboxEvent::Refused { .. }]));
    assert_eq!(fixture.state(entry).await, EntryState::Refused);
}

/// LIM-22: the exchange deletes a key after a day. A change set that may have been applied under the key is
/// not sent again.
#[tokio::test(start_paused = true)]
async fn expired_key_is_not_sent_again() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().then_lost());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    tokio::time::sleep(seconds(23 * 3600)).await;
    assert!(matches!(fixture.flush().await[..], [OutboxEvent::CompareAfterPull { .. }]));
    assert_eq!((fixture.state(entry).await, fixture.server.request_count()), (EntryState::Unknown, 1));
    // A change set that was never applied may wait for any length of time.
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::refused());
    fixture.enqueue("bp-1").await;
    fixture.flush().await;
    fixture.pass(seconds(48 * 3600));
    assert!(fixture.flush().await.iter().all(decided));
}

/// ERR-05, ERR-15: a change set that is refused because of the session is parked, and later resumed under the
/// same key.
#[tokio::test(start_paused = true)]
async fn parked_sets_are_resumed() {
    for (code, why) in [
        (Code::Unauthenticated, ParkReason::SignedOut),
        (Code::ClientRevoked, ParkReason::SignedOut),
        (Code::ClientSuspended, ParkReason::Halted),
        (Code::ScopeMissing, ParkReason::Scope),
    ] {
        let fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(ScriptedReply::problem(code.clone()));
        let entry = fixture.enqueue("bp-1").await;
        fixture.run_for(seconds(3600)).await;
        assert_eq!(
            (fixture.state(entry).await, fixture.server.request_count()),
            (EntryState::Parked(why), 1),
            "{code}"
        );
        assert_eq!(fixture.outbox.resume_parked().await.unwrap(), 1);
        assert!(fixture.flush().await.iter().all(decided));
        let keys = fixture.keys();
        assert_eq!(keys[0], keys[1], "{code}");
    }
}

/// When the daily quota is exhausted, no area sends before it is renewed.
#[tokio::test(start_paused = true)]
async fn exhausted_quota_stops_all_areas() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("3000"));
    fixture.enqueue("bp-1").await;
    fixture.flush().await;
    fixture.outbox.enqueue(stock()).await.unwrap();
    fixture.run_for(seconds(2999)).await;
    assert_eq!(fixture.server.request_count(), 1);
    fixture.run_for(seconds(400)).await;
    assert_eq!(fixture.server.request_count(), 3);
}

/// If two processes share a store, only one of them sends at a time. The other takes over after the first has
/// ended.
#[tokio::test(start_paused = true)]
async fn two_processes_send_one_set_once() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().delayed_by(seconds(300)));
    let other = fixture.another();
    fixture.enqueue("bp-1").await;
    fixture.enqueue("bp-2").await;
    let (one, two) = (fixture.outbox.clone(), other.clone());
    let both = async { tokio::join!(one.run(), two.run()) };
    let _ = tokio::time::timeout(seconds(700), both).await;
    assert_eq!(fixture.server.request_count(), 2);
    assert_eq!(
        other.entries().await.unwrap().iter().filter(|entry| entry.state() == EntryState::Done).count(),
        2
    );
}

/// CLI-02: `Retry-After` is never shortened, neither by a restart nor by the member. An endless one is not an
/// error.
#[tokio::test(start_paused = true)]
async fn wait_of_days_is_respected() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("259200"));
    let entry = fixture.enqueue("late").await;
    fixture.run_for(seconds(2 * 86_400)).await;
    let fixture = fixture.restarted();
    fixture.outbox.retry(entry).await.unwrap();
    fixture.run_for(seconds(86_400 - 10)).await;
    assert_eq!(fixture.server.request_count(), 1);
    fixture.run_for(seconds(2 * 86_400)).await;
    assert_eq!((fixture.server.request_count(), fixture.state(entry).await), (2, EntryState::Done));

    fixture
        .server
        .enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("99999999999999999999"));
    let entry = fixture.enqueue("never").await;
    fixture.pass(seconds(400 * 86_400));
    fixture.run_for(seconds(3600)).await;
    assert_eq!((fixture.server.request_count(), fixture.state(entry).await), (3, EntryState::Pending));
}

/// OST-14: decided change sets of org stock are deleted after seven days at the latest, undecided ones never.
#[tokio::test(start_paused = true)]
async fn decided_sets_are_deleted() {
    let fixture = OutboxFixture::new();
    fixture.outbox.enqueue(org_stock()).await.unwrap();
    fixture.flush().await;
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::VersionConflict));
    fixture.outbox.enqueue(org_stock()).await.unwrap();
    fixture.run_for(seconds(6 * 86_400)).await;
    assert_eq!(fixture.outbox.entries().await.unwrap().len(), 2);
    fixture.run_for(seconds(86_400)).await;
    let left = fixture.outbox.entries().await.unwrap();
    assert_eq!(left.iter().map(OutboxEntry::state).collect::<Vec<_>>(), [EntryState::NeedsRebase]);
}

/// The retention period starts with the decision, so that the response of a change set that waited for a long
/// time can be read.
#[tokio::test(start_paused = true)]
async fn retention_starts_with_the_decision() {
    let fixture = OutboxFixture::new();
    let entry = fixture.outbox.enqueue(org_stock()).await.unwrap()[0];
    fixture.pass(seconds(8 * 86_400));
    assert!(fixture.flush().await.iter().all(decided));
    assert!(fixture.outbox.load_outcome(entry).await.unwrap().is_some());
    fixture.pass(seconds(6 * 86_400));
    fixture.flush().await;
    assert_eq!(fixture.state(entry).await, EntryState::Done);
    fixture.pass(seconds(86_400));
    fixture.flush().await;
    assert!(fixture.outbox.entries().await.unwrap().is_empty());
}

/// Entries of other owners are neither sent nor returned.
#[tokio::test(start_paused = true)]
async fn sets_of_other_owners_are_untouched() {
    let fixture = OutboxFixture::new();
    let entry = fixture.enqueue("bp-1").await;
    let other =
        outbox(&fixture.machine, &fixture.server, &fixture.store, "somebody else", OutboxPolicy::default());
    assert!(other.flush().await.unwrap().is_empty() && other.entries().await.unwrap().is_empty());
    for refused in
        [other.discard(entry).await, other.retry(entry).await, other.load_outcome(entry).await.map(|_| ())]
    {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(fixture.server.request_count(), 0);
}

/// A waiting change set can be edited and discarded; a change set that is being sent cannot.
#[tokio::test(start_paused = true)]
async fn waiting_set_can_be_edited_and_discarded() {
    let fixture = OutboxFixture::new();
    let entry = fixture.enqueue("bp-1").await;
    let changes: Changes<BlueprintOp> = fixture.outbox.load_changes(entry).await.unwrap();
    assert_eq!(changes.ops(), blueprint("bp-1").ops());
    assert_eq!(fixture.outbox.replace_changes(entry, stock()).await.unwrap_err().kind(), ErrorKind::Invalid);
    fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap();
    fixture.server.enqueue_reply(applied().delayed_by(seconds(20)));
    let sending = fixture.outbox.flush();
    let meddling = async {
        tokio::time::sleep(seconds(10)).await;
        for refused in [fixture.outbox.discard(entry).await, fixture.another().discard(entry).await] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Busy);
        }
        assert!(fixture.outbox.replace_changes(entry, blueprint("bp-3")).await.is_err());
        assert!(fixture.outbox.retry(entry).await.is_err());
    };
    let (published, ()) = tokio::join!(sending, meddling);
    assert!(published.unwrap().iter().all(decided));
    assert_eq!(fixture.server.requests()[0].json()["ops"][0]["ref"]["bt"], "bp-2");
    let next = fixture.enqueue("bp-4").await;
    fixture.outbox.discard(next).await.unwrap();
    assert!(fixture.flush().await.is_empty());
    assert_eq!(fixture.outbox.entry(next).await.unwrap_err().kind(), ErrorKind::Invalid);
}

/// WRT-04: a preview sends a dry run and stores nothing.
#[tokio::test(start_paused = true)]
async fn preview_stores_nothing() {
    let fixture = OutboxFixture::new();
    let response = json!({
        "dryRun": true, "applied": 0, "unchanged": 1, "notApplied": 0, "warnings": [],
        "results": [{"index": 0, "opId": "1", "result": "unchanged"}]
    });
    fixture.server.enqueue_reply(ScriptedReply::json(200, response));
    let outcomes = fixture.outbox.preview_changes(blueprint("bp-1")).await.unwrap();
    assert!(outcomes[0].dry_run && outcomes[0].is_satisfied());
    assert_eq!(fixture.server.requests()[0].json()["dryRun"], true);
    assert!(fixture.outbox.entries().await.unwrap().is_empty());
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::ScopeMissing));
    let error: Error = fixture.outbox.preview_changes(blueprint("bp-1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ScopeMissing);
}

/// Each area has a name, and its op type has the call of the area.
#[test]
fn areas_have_names() {
    for lane in Lane::ALL {
        assert_eq!(Lane::from_name(lane.as_str()), Some(lane));
        assert!(lane.operation().operation().path.ends_with("/changes"));
    }
    assert_eq!(<BlueprintOp as ChangeOp>::LANE, Lane::Blueprints);
    assert_eq!(Lane::from_name("demand"), None);
}
