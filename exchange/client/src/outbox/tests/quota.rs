//! Org stock counts by its ops: how its sets are cut, and whom a refusal of one holds back.

use exchange_api::types::StockOp;

use super::*;

/// A note on each of these entries, one after the other.
fn notes(entries: impl IntoIterator<Item = usize>) -> OrgStockChanges {
    let mut changes = OrgStockChanges::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let op = json!({
            "op": "note", "unit": "u-1", "entry": format!("e-{entry}"), "version": at + 1, "note": "of it",
        });
        changes.push(OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
    }
    changes
}

/// OST-18, ERR-34: each op on org stock counts, so a day that has no room for a set of it may have room for others: org
/// stock waits for the next, and no other area does.
#[tokio::test(start_paused = true)]
async fn a_quota_without_room_for_org_stock_stops_it_alone() {
    let bench = Bench::new();
    bench.server.then(Reply::problem(Code::QuotaExceeded).retry_after("3000"));
    let first = bench.outbox.enqueue(org_stock()).await.unwrap()[0];
    bench.flush().await;
    bench.enqueue("bp-1").await;
    assert!(matches!(&bench.flush().await[..], [told] if decided(told)));
    bench.outbox.discard(first).await.unwrap();
    bench.outbox.enqueue(org_stock()).await.unwrap();
    bench.run_for(seconds(2999)).await;
    assert_eq!(bench.server.count(), 2);
    bench.run_for(seconds(400)).await;
    assert_eq!(bench.server.count(), 3);
}

/// OST-18, LIM-19, A3: a set of org stock counts by its ops, and so once more when it is sent again: both have room in a
/// day. What belongs together may take up a whole one, and what is more is refused here.
#[tokio::test(start_paused = true)]
async fn sets_of_org_stock_fit_into_a_day() {
    let bench = Bench::new();
    let policy = Policy { writes_per_day: 100, ..Policy::default() };
    let small = outbox(&bench.machine, &bench.server, &bench.store, "me", policy);
    small.enqueue(notes(0..150)).await.unwrap();
    let entry = small.enqueue(notes([7; 60])).await.unwrap()[0];
    let sizes: Vec<_> = small.entries().await.unwrap().iter().map(Entry::ops).collect();
    assert_eq!(sizes, [40, 40, 40, 30, 60]);
    for refused in
        [small.enqueue(notes([7; 101])).await.map(|_| ()), small.edit(entry, notes([7; 101])).await]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TooLarge);
        assert!(refused.to_string().contains("101 in one set are more than the 100 of a day"), "{refused}");
    }
    // Of other areas a set counts once, whatever its size.
    let mut many = StockChanges::new();
    for quality in 0..150 {
        let op = json!({
            "op": "set-quantity", "material": {"bt": "ore"}, "location": {"name": "Here"}, "quality": quality,
            "stolen": false, "expectedQuantity": {"amount": 0, "unit": "SCU"}, "quantity": {"amount": 1, "unit": "SCU"},
        });
        many.push(StockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
    }
    assert_eq!(small.enqueue(many).await.unwrap().len(), 1);
}

/// OST-18, ERR-34: one that was kept when a day had more writes is never sent, as each day would refuse it.
#[tokio::test(start_paused = true)]
async fn a_set_of_org_stock_that_no_day_has_room_for_is_refused() {
    let bench = Bench::new();
    let entry = bench.outbox.enqueue(notes(0..150)).await.unwrap()[0];
    let policy = Policy { writes_per_day: 100, ..Policy::default() };
    let small = outbox(&bench.machine, &bench.server, &bench.store, "me", policy);
    let told = small.flush().await.unwrap();
    let [OutboxEvent::Refused { error, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((error.kind(), error.advice()), (ErrorKind::TooLarge, Advice::SendLess));
    assert_eq!((bench.state(entry).await, bench.server.count()), (State::Refused, 0));
    // What may have been carried out is compared first.
    let bench = Bench::new();
    bench.server.then(applied().and_is_lost());
    let entry = bench.outbox.enqueue(notes(0..150)).await.unwrap()[0];
    bench.flush().await;
    let policy = Policy { writes_per_day: 100, ..Policy::default() };
    let small = outbox(&bench.machine, &bench.server, &bench.store, "me", policy);
    let _ = tokio::time::timeout(seconds(200), small.run()).await;
    assert_eq!((bench.state(entry).await, bench.server.count()), (State::Unknown, 1));
}
