//! Links to confirm what is held: had when the member asks, and not otherwise.

use super::*;

/// WRT-11: a link that cannot be had now changes nothing: the entry is held, is not sent unasked, and why there is no link
/// is said with its wait.
#[tokio::test(start_paused = true)]
async fn a_link_that_cannot_be_had_leaves_the_entry_held() {
    let bench = Bench::new();
    bench.server.then(held());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    let sent = |count| assert_eq!(bench.server.count(), count);

    // Nobody is listened to: not at once, and then not before the exchange asked.
    bench.server.then(Reply::refused());
    assert_eq!(bench.outbox.confirmation(entry).await.unwrap_err().kind(), ErrorKind::Unreachable);
    bench.server.then(Reply::problem(Code::RelayBusy).retry_after("100"));
    assert_eq!(bench.outbox.confirmation(entry).await.unwrap_err().kind(), ErrorKind::Busy);
    let refused = bench.outbox.confirmation(entry).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry_after()), (ErrorKind::Busy, Some(seconds(100))));
    bench.server.then(Reply::problem(Code::ClientSuspended));
    tokio::time::sleep(seconds(100)).await;
    let refused = bench.outbox.confirmation(entry).await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Halted(_)));
    bench.outbox.resume().await.unwrap();

    // The quota of the day, which another area used up.
    bench.server.then_for("stock_write", Reply::problem(Code::QuotaExceeded).retry_after("3000"));
    bench.outbox.enqueue(stock()).await.unwrap();
    bench.flush().await;
    let refused = bench.outbox.confirmation(entry).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    assert!(refused.retry_after().unwrap() >= seconds(3000));
    sent(5);
    assert_eq!(bench.state(entry).await, State::Held);
    bench.run_for(seconds(4000)).await;
    // That of stock alone.
    sent(6);
    assert_eq!(bench.state(entry).await, State::Held);

    // An answer that was lost may have ended the link: it is asked for until there is another.
    bench.server.then(held().and_is_lost());
    bench.server.then(held());
    assert_eq!(bench.outbox.confirmation(entry).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let mut events = bench.outbox.events();
    bench.run_for(seconds(60)).await;
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Confirm { link: Some(_), .. }));
    sent(8);
}

/// GW-12, WRT-11: what the exchange holds may be confirmed by the link that the member has, so it is not said anew in its
/// place, wherever it stands here; that it is refused or put off when it is sent again changes nothing.
#[tokio::test(start_paused = true)]
async fn what_may_still_be_confirmed_is_not_edited() {
    for reply in [
        Reply::problem(Code::RelayBusy).retry_after("100"),
        Reply::refused(),
        Reply::problem(Code::ClientSuspended),
        Reply::problem(Code::NotPermitted),
    ] {
        let bench = Bench::new();
        bench.server.then(held());
        let entry = bench.enqueue("bp-1").await;
        bench.flush().await;
        bench.outbox.retry(entry).await.unwrap();
        let edited = bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap_err();
        assert!(edited.to_string().contains("may still confirm"), "{edited}");
        bench.server.then(reply);
        bench.flush().await;
        assert_eq!(bench.state(entry).await, State::Held);
        assert_eq!(bench.outbox.edit(entry, blueprint("bp-2")).await.unwrap_err().kind(), ErrorKind::Invalid);
        bench.run_for(seconds(4000)).await;
        assert_eq!(bench.server.count(), 2, "not unasked");
        // What somebody compared is another matter.
        bench.outbox.resolve(entry, Found::Missing).await.unwrap();
        bench.flush().await;
        assert_eq!(bench.state(entry).await, State::Done);
    }
}

/// CLI-02: a wait that begins anew after the clock was set back does so once, however often the link is asked for.
#[tokio::test(start_paused = true)]
async fn a_link_is_waited_for_once() {
    let bench = Bench::new();
    bench.server.then(held());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.server.then(Reply::problem(Code::RelayBusy).retry_after("3000"));
    bench.outbox.confirmation(entry).await.unwrap_err();
    bench.machine.set_wrong_by(-86_400);
    for left in [3000, 2000, 1000] {
        let refused = bench.outbox.confirmation(entry).await.unwrap_err();
        assert_eq!(refused.retry_after(), Some(seconds(left)));
        tokio::time::sleep(seconds(1000)).await;
    }
    bench.server.then(held());
    assert!(bench.outbox.confirmation(entry).await.unwrap().is_some());
}
