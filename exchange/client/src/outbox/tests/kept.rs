//! What stays in an outbox, for how long, and what of it can be read.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::outbox::Keeping;

const DAY: Duration = Duration::from_secs(86_400);

/// A store that counts how often it is rewritten.
#[derive(Clone, Default)]
struct Counting {
    rows: MemoryOutbox,
    settled: Arc<AtomicUsize>,
}

impl OutboxStore for Counting {
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        self.rows.append(rows)
    }

    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        self.rows.replace(row)
    }

    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        self.rows.remove(number, revision)
    }

    fn settle(&self) -> Keeping<'_, ()> {
        self.settled.fetch_add(1, Ordering::SeqCst);
        self.rows.settle()
    }

    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        self.rows.row(number)
    }

    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        self.rows.first(owner, lane)
    }

    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        self.rows.rows(owner)
    }
}

/// OST-14: what was decided about stock of the organisation goes before it is 7 days old, whether it was told or not; of other areas
/// until it was told.
#[tokio::test(start_paused = true)]
async fn what_is_not_the_organisation_s_is_kept_until_it_is_told() {
    let bench = Bench::new();
    let own = bench.enqueue("bp-1").await;
    let pool = bench.outbox.enqueue(org_stock()).await.unwrap()[0];
    bench.flush().await;
    let kept = async || bench.outbox.entries().await.unwrap().iter().map(Entry::number).collect::<Vec<_>>();
    bench.pass(7 * DAY - seconds(3 * 3600));
    bench.flush().await;
    assert_eq!(kept().await, [own, pool]);
    // What waits is no matter of days.
    let waits = bench.outbox.enqueue(org_stock()).await.unwrap()[0];
    bench.pass(8 * DAY);
    let expire = async |owner: &'static str| {
        let now = bench.machine.environment().now().wall;
        expire(&bench.store, owner, now, &Policy::default()).await.unwrap()
    };
    assert_eq!(expire("somebody else").await, []);
    assert_eq!(expire("me").await, [pool]);
    assert_eq!(kept().await, [own, waits]);
    bench.flush().await;
    bench.pass(365 * DAY);
    bench.flush().await;
    assert_eq!(kept().await, [own], "sending forgets too");
    assert!(bench.outbox.outcome(own).await.unwrap().unwrap().is_as_asked());
}

/// OST-14: what this version cannot read goes before it is 7 days old too, and at once where nobody can tell how old it is.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_kept_no_longer() {
    let bench = Bench::new();
    let [told, old] = [(); 2].map(|()| bench.outbox.enqueue(org_stock()));
    let (later, garbled) = (told.await.unwrap()[0], old.await.unwrap()[0]);
    bench.flush().await;
    for (number, spoil) in [(later, false), (garbled, true)] {
        let mut row = bench.store.row(number.0).await.unwrap().unwrap();
        row.head =
            if spoil { "{".to_owned() } else { row.head.replace("\"done\"", "\"of-a-later-version\"") };
        assert!(bench.store.replace(row).await.unwrap());
    }
    let expire = async || {
        let now = bench.machine.environment().now().wall;
        expire(&bench.store, "me", now, &Policy::default()).await.unwrap()
    };
    bench.pass(7 * DAY - seconds(3 * 3600));
    assert_eq!(expire().await, [garbled]);
    bench.pass(seconds(2 * 3600));
    assert_eq!(expire().await, [later]);
}

/// However many sets are forgotten, the store is rewritten once; what is not decided or not there stays or is no matter.
#[tokio::test(start_paused = true)]
async fn what_was_told_is_forgotten_at_once() {
    let bench = Bench::new();
    let store = Counting::default();
    let client = Client::new(bench.server.origin(), bench.server.clone());
    let environment = bench.machine.environment();
    let outbox = Outbox::new(client.core(), store.clone(), environment, "me", Policy::default()).unwrap();
    let mut numbers = Vec::new();
    for product in ["bp-1", "bp-2", "bp-3"] {
        numbers.extend(outbox.enqueue(blueprint(product)).await.unwrap());
    }
    outbox.flush().await.unwrap();
    numbers.extend(outbox.enqueue(stock()).await.unwrap());
    numbers.push(EntryNumber(99));
    let before = store.settled.load(Ordering::SeqCst);
    assert_eq!(outbox.forget(&numbers).await.unwrap(), 3);
    assert_eq!(store.settled.load(Ordering::SeqCst), before + 1);
    assert_eq!(outbox.entries().await.unwrap().len(), 1);
    assert_eq!(outbox.forget(&numbers).await.unwrap(), 0);
    assert_eq!(store.settled.load(Ordering::SeqCst), before + 1, "nothing to rewrite");
}

/// GW-12: a set with ops that this version does not know, of a later one that was taken back, is sent once and decided, and
/// nobody is asked to compare what nobody can read.
#[tokio::test(start_paused = true)]
async fn what_a_later_version_enqueued_is_decided() {
    let bench = Bench::new();
    let (first, behind) = (bench.enqueue("bp-1").await, bench.enqueue("bp-2").await);
    let mut row = bench.store.row(first.0).await.unwrap().unwrap();
    row.body = r#"{"ops":[{"op":"of-a-later-version"}]}"#.into();
    assert!(bench.store.replace(row).await.unwrap());
    let told = bench.flush().await;
    assert!(
        matches!(told[0], OutboxEvent::Decided { entry, written: None, .. } if entry == first),
        "{told:?}"
    );
    assert_eq!((told.len(), bench.server.count()), (2, 2));
    assert_eq!((bench.state(first).await, bench.state(behind).await), (State::Done, State::Done));
    assert_eq!(bench.outbox.outcome(first).await.unwrap_err().kind(), ErrorKind::Storage);
}

/// What cannot be read hides nothing else: it is named, others of its area wait for it, and whoever gives it up goes on.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_named_and_given_up() {
    let bench = Bench::new();
    let first = bench.enqueue("bp-1").await;
    let behind = bench.enqueue("bp-2").await;
    let mut row = bench.store.row(first.0).await.unwrap().unwrap();
    row.head = row.head.replace("\"pending\"", "\"of-a-later-version\"");
    assert!(bench.store.replace(row).await.unwrap());
    let other = bench.outbox.enqueue(stock()).await.unwrap()[0];
    let told = bench.flush().await;
    assert!(
        matches!(told[..], [OutboxEvent::Decided { entry, .. }, OutboxEvent::Stuck { .. }] if entry == other)
    );
    assert_eq!(bench.outbox.entries().await.unwrap_err().kind(), ErrorKind::Storage);
    let contents = bench.outbox.contents().await.unwrap();
    assert_eq!(contents.entries.iter().map(Entry::number).collect::<Vec<_>>(), [behind, other]);
    assert_eq!(contents.unreadable, [Unreadable { number: first, lane: Lane::Blueprints, done: false }]);
    assert_eq!(bench.outbox.resume().await.unwrap(), 0);
    assert_eq!(bench.outbox.forget_decided().await.unwrap(), 1);
    bench.outbox.discard(first).await.unwrap();
    bench.flush().await;
    assert_eq!(bench.state(behind).await, State::Done);
    assert!(bench.outbox.contents().await.unwrap().unreadable.is_empty());
}
