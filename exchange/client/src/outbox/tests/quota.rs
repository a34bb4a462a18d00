//! Tests of the daily quota of org stock, which counts ops: the size of change sets, and the areas that an
//! exceeded quota affects.

use exchange_api::types::StockOp;

use super::*;

/// Returns changes that set a note on each of these entries.
fn notes(entries: impl IntoIterator<Item = usize>) -> OrgStockChanges {
    let mut changes = OrgStockChanges::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let op = json!({
            "op": "note", "unit": "u-1", "entry": format!("e-{entry}"), "version": index + 1, "note": "of it",
        });
        changes.push(OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
    }
    changes
}

/// OST-18, ERR-34: each op of org stock counts, so a refused change set of org stock delays only org stock.
#[tokio::test(start_paused = true)]
async fn org_stock_quota_stops_only_org_stock() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("3000"));
    let first = fixture.outbox.enqueue(org_stock()).await.unwrap()[0];
    fixture.flush().await;
    fixture.enqueue("bp-1").await;
    assert!(matches!(&fixture.flush().await[..], [events] if decided(events)));
    fixture.outbox.discard(first).await.unwrap();
    fixture.outbox.enqueue(org_stock()).await.unwrap();
    fixture.run_for(seconds(2999)).await;
    assert_eq!(fixture.server.request_count(), 2);
    fixture.run_for(seconds(400)).await;
    assert_eq!(fixture.server.request_count(), 3);
}

/// OST-18, LIM-19, A3: a change set of org stock counts once for each op, and the same number again when it
/// is sent again. Both fit into one day. Tied ops may use the quota of a whole day, and larger change sets
/// are rejected locally.
#[tokio::test(start_paused = true)]
async fn org_stock_sets_fit_into_the_daily_quota() {
    let fixture = OutboxFixture::new();
    let policy = OutboxPolicy { writes_per_day: 100, ..OutboxPolicy::default() };
    let small = outbox(&fixture.machine, &fixture.server, &fixture.store, "me", policy);
    small.enqueue(notes(0..150)).await.unwrap();
    let entry = small.enqueue(notes([7; 60])).await.unwrap()[0];
    let sizes: Vec<_> = small.entries().await.unwrap().iter().map(OutboxEntry::ops).collect();
    assert_eq!(sizes, [40, 40, 40, 30, 60]);
    for refused in [
        small.enqueue(notes([7; 101])).await.map(|_| ()),
        small.replace_changes(entry, notes([7; 101])).await,
    ] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TooLarge);
        assert!(
            refused.to_string().contains("101 ops in one change set exceed the daily limit of 100"),
            "{refused}"
        );
    }
    // A change set of another area counts once, whatever its size.
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

/// OST-18, ERR-34: a stored change set that exceeds a reduced daily quota is never sent, because the exchange
/// would refuse it every day.
#[tokio::test(start_paused = true)]
async fn org_stock_set_above_the_daily_quota_is_rejected() {
    let fixture = OutboxFixture::new();
    let entry = fixture.outbox.enqueue(notes(0..150)).await.unwrap()[0];
    let policy = OutboxPolicy { writes_per_day: 100, ..OutboxPolicy::default() };
    let small = outbox(&fixture.machine, &fixture.server, &fixture.store, "me", policy);
    let events = small.flush().await.unwrap();
    let [OutboxEvent::Refused { error, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((error.kind(), error.advice()), (ErrorKind::TooLarge, Advice::SendLess));
    assert_eq!((fixture.state(entry).await, fixture.server.request_count()), (EntryState::Refused, 0));
    // A change set that may have been applied is first compared with the feed.
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(applied().then_lost());
    let entry = fixture.outbox.enqueue(notes(0..150)).await.unwrap()[0];
    fixture.flush().await;
    let policy = OutboxPolicy { writes_per_day: 100, ..OutboxPolicy::default() };
    let small = outbox(&fixture.machine, &fixture.server, &fixture.store, "me", policy);
    let _ = tokio::time::timeout(seconds(200), small.run()).await;
    assert_eq!((fixture.state(entry).await, fixture.server.request_count()), (EntryState::Unknown, 1));
}
