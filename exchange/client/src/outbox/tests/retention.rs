//! Tests of the retention of entries, and of entries that cannot be parsed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::outbox::StoreFuture;

const DAY: Duration = Duration::from_secs(86_400);

/// A store that counts how often its file would be rewritten.
#[derive(Clone, Default)]
struct CountingStore {
    rows: MemoryOutbox,
    settled: Arc<AtomicUsize>,
}

impl OutboxStore for CountingStore {
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        self.rows.append(rows)
    }

    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        self.rows.replace(row)
    }

    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        self.rows.remove(number, revision)
    }

    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        self.settled.fetch_add(1, Ordering::SeqCst);
        self.rows.purge_removed()
    }

    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        self.rows.get_row(number)
    }

    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        self.rows.first_pending(owner, lane)
    }

    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        self.rows.list_rows(owner)
    }
}

/// OST-14: decided change sets of org stock are deleted before they are 7 days old, whether or not they were
/// read. Those of other areas are kept.
#[tokio::test(start_paused = true)]
async fn own_outcomes_are_retained_until_reported() {
    let fixture = OutboxFixture::new();
    let blueprint_entry = fixture.enqueue("bp-1").await;
    let pool = fixture.outbox.enqueue(org_stock()).await.unwrap()[0];
    fixture.flush().await;
    let entry_numbers =
        async || fixture.outbox.entries().await.unwrap().iter().map(OutboxEntry::number).collect::<Vec<_>>();
    fixture.pass(7 * DAY - seconds(3 * 3600));
    fixture.flush().await;
    assert_eq!(entry_numbers().await, [blueprint_entry, pool]);
    // Undecided entries have no maximum age.
    let waits = fixture.outbox.enqueue(org_stock()).await.unwrap()[0];
    fixture.pass(8 * DAY);
    let expire = async |owner: &'static str| {
        let now = fixture.machine.environment().now().wall;
        expire_decided(&fixture.store, owner, now, &OutboxPolicy::default()).await.unwrap()
    };
    assert_eq!(expire("somebody else").await, []);
    assert_eq!(expire("me").await, [pool]);
    assert_eq!(entry_numbers().await, [blueprint_entry, waits]);
    fixture.flush().await;
    fixture.pass(365 * DAY);
    fixture.flush().await;
    assert_eq!(entry_numbers().await, [blueprint_entry], "sending also deletes expired entries");
    assert!(fixture.outbox.load_outcome(blueprint_entry).await.unwrap().unwrap().is_satisfied());
}

/// OST-14: unreadable entries are deleted before they are 7 days old, or immediately if their age is unknown.
#[tokio::test(start_paused = true)]
async fn unreadable_entries_expire_too() {
    let fixture = OutboxFixture::new();
    let [events, old] = [(); 2].map(|()| fixture.outbox.enqueue(org_stock()));
    let (later, garbled) = (events.await.unwrap()[0], old.await.unwrap()[0]);
    fixture.flush().await;
    for (number, spoil) in [(later, false), (garbled, true)] {
        let mut row = fixture.store.get_row(number.0).await.unwrap().unwrap();
        row.head =
            if spoil { "{".to_owned() } else { row.head.replace("\"done\"", "\"of-a-later-version\"") };
        assert!(fixture.store.replace(row).await.unwrap());
    }
    let expire = async || {
        let now = fixture.machine.environment().now().wall;
        expire_decided(&fixture.store, "me", now, &OutboxPolicy::default()).await.unwrap()
    };
    fixture.pass(7 * DAY - seconds(3 * 3600));
    assert_eq!(expire().await, [garbled]);
    fixture.pass(seconds(2 * 3600));
    assert_eq!(expire().await, [later]);
}

/// Deleting several change sets rewrites the store once. Undecided and missing entries are skipped.
#[tokio::test(start_paused = true)]
async fn reported_sets_are_deleted_together() {
    let fixture = OutboxFixture::new();
    let store = CountingStore::default();
    let client = Client::new(fixture.server.origin(), fixture.server.clone());
    let environment = fixture.machine.environment();
    let outbox =
        Outbox::new(client.api_client(), store.clone(), environment, "me", OutboxPolicy::default()).unwrap();
    let mut numbers = Vec::new();
    for product in ["bp-1", "bp-2", "bp-3"] {
        numbers.extend(outbox.enqueue(blueprint(product)).await.unwrap());
    }
    outbox.flush().await.unwrap();
    numbers.extend(outbox.enqueue(stock()).await.unwrap());
    numbers.push(EntryNumber(99));
    let before = store.settled.load(Ordering::SeqCst);
    assert_eq!(outbox.forget_entries(&numbers).await.unwrap(), 3);
    assert_eq!(store.settled.load(Ordering::SeqCst), before + 1);
    assert_eq!(outbox.entries().await.unwrap().len(), 1);
    assert_eq!(outbox.forget_entries(&numbers).await.unwrap(), 0);
    assert_eq!(
        store.settled.load(Ordering::SeqCst),
        before + 1,
        "the store is not rewritten if nothing is removed"
    );
}

/// GW-12: a change set with ops that a later version added is sent once, and decided without a comparison.
#[tokio::test(start_paused = true)]
async fn set_of_a_later_version_is_decided() {
    let fixture = OutboxFixture::new();
    let (first, behind) = (fixture.enqueue("bp-1").await, fixture.enqueue("bp-2").await);
    let mut row = fixture.store.get_row(first.0).await.unwrap().unwrap();
    row.body = r#"{"ops":[{"op":"of-a-later-version"}]}"#.into();
    assert!(fixture.store.replace(row).await.unwrap());
    let events = fixture.flush().await;
    assert!(
        matches!(events[0], OutboxEvent::Decided { entry, written: None, .. } if entry == first),
        "{events:?}"
    );
    assert_eq!((events.len(), fixture.server.request_count()), (2, 2));
    assert_eq!(
        (fixture.state(first).await, fixture.state(behind).await),
        (EntryState::Done, EntryState::Done)
    );
    assert_eq!(fixture.outbox.load_outcome(first).await.unwrap_err().kind(), ErrorKind::Storage);
}

/// An unreadable entry is reported and blocks its area until it is discarded. It does not hide other entries.
#[tokio::test(start_paused = true)]
async fn unreadable_entry_is_reported_and_discardable() {
    let fixture = OutboxFixture::new();
    let first = fixture.enqueue("bp-1").await;
    let behind = fixture.enqueue("bp-2").await;
    let mut row = fixture.store.get_row(first.0).await.unwrap().unwrap();
    row.head = row.head.replace("\"pending\"", "\"of-a-later-version\"");
    assert!(fixture.store.replace(row).await.unwrap());
    let other = fixture.outbox.enqueue(stock()).await.unwrap()[0];
    let events = fixture.flush().await;
    assert!(
        matches!(events[..], [OutboxEvent::Decided { entry, .. }, OutboxEvent::StoreError { .. }] if entry == other)
    );
    assert_eq!(fixture.outbox.entries().await.unwrap_err().kind(), ErrorKind::Storage);
    let contents = fixture.outbox.contents().await.unwrap();
    assert_eq!(contents.entries.iter().map(OutboxEntry::number).collect::<Vec<_>>(), [behind, other]);
    assert_eq!(contents.unreadable, [UnreadableEntry { number: first, lane: Lane::Blueprints, done: false }]);
    assert_eq!(fixture.outbox.resume_parked().await.unwrap(), 0);
    assert_eq!(fixture.outbox.forget_decided().await.unwrap(), 1);
    fixture.outbox.discard(first).await.unwrap();
    fixture.flush().await;
    assert_eq!(fixture.state(behind).await, EntryState::Done);
    assert!(fixture.outbox.contents().await.unwrap().unreadable.is_empty());
}
