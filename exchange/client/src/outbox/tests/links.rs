//! Tests of the confirmation links of held change sets, which are requested only for the member.

use super::*;

/// WRT-11: if a request for a link fails, the entry stays held and is not sent again later. The error
/// contains the remaining `Retry-After` time.
#[tokio::test(start_paused = true)]
async fn failed_link_request_leaves_the_entry_held() {
    let bench = Bench::new();
    bench.server.enqueue_reply(held());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    let sent = |count| assert_eq!(bench.server.request_count(), count);

    // The server cannot be reached, then requests a wait. Before the wait has ended, the link is not
    // requested again.
    bench.server.enqueue_reply(ScriptedReply::refused());
    assert_eq!(
        bench.outbox.request_confirmation_link(entry).await.unwrap_err().kind(),
        ErrorKind::Unreachable
    );
    bench.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("100"));
    assert_eq!(bench.outbox.request_confirmation_link(entry).await.unwrap_err().kind(), ErrorKind::Busy);
    let refused = bench.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry_after()), (ErrorKind::Busy, Some(seconds(100))));
    bench.server.enqueue_reply(ScriptedReply::problem(Code::ClientSuspended));
    tokio::time::sleep(seconds(100)).await;
    let refused = bench.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Halted(_)));
    bench.outbox.resume_parked().await.unwrap();

    // The daily quota is exhausted by a write of another area.
    bench.server.enqueue_reply_for(
        "stock_write",
        ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("3000"),
    );
    bench.outbox.enqueue(stock()).await.unwrap();
    bench.flush().await;
    let refused = bench.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    assert!(refused.retry_after().unwrap() >= seconds(3000));
    sent(5);
    assert_eq!(bench.state(entry).await, EntryState::Held);
    bench.run_for(seconds(4000)).await;
    // The waiting write of the other area was sent, but the held entry was not.
    sent(6);
    assert_eq!(bench.state(entry).await, EntryState::Held);

    // A lost response may have invalidated the link, so the request is repeated until a new link arrives.
    bench.server.enqueue_reply(held().then_lost());
    bench.server.enqueue_reply(held());
    assert_eq!(
        bench.outbox.request_confirmation_link(entry).await.unwrap_err().kind(),
        ErrorKind::OutcomeUnknown
    );
    let mut events = bench.outbox.events();
    bench.run_for(seconds(60)).await;
    assert!(matches!(events.recv().await.unwrap(), OutboxEvent::Confirm { link: Some(_), .. }));
    sent(8);
}

/// GW-12, WRT-11: a held change set cannot be edited in any state, because the member may still confirm it by
/// its link. A refused or delayed second request does not change this.
#[tokio::test(start_paused = true)]
async fn confirmable_set_cannot_be_edited() {
    for reply in [
        ScriptedReply::problem(Code::RelayBusy).with_retry_after("100"),
        ScriptedReply::refused(),
        ScriptedReply::problem(Code::ClientSuspended),
        ScriptedReply::problem(Code::NotPermitted),
    ] {
        let bench = Bench::new();
        bench.server.enqueue_reply(held());
        let entry = bench.enqueue("bp-1").await;
        bench.flush().await;
        bench.outbox.retry(entry).await.unwrap();
        let edited = bench.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err();
        assert!(edited.to_string().contains("may still confirm"), "{edited}");
        bench.server.enqueue_reply(reply);
        bench.flush().await;
        assert_eq!(bench.state(entry).await, EntryState::Held);
        assert_eq!(
            bench.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        bench.run_for(seconds(4000)).await;
        assert_eq!(bench.server.request_count(), 2, "the entry is not sent without a request");
        // After a comparison, the change set may be replaced.
        bench.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap();
        bench.flush().await;
        assert_eq!(bench.state(entry).await, EntryState::Done);
    }
}

/// CLI-02: after the clock was set back, a `Retry-After` time starts again once, however often a link is
/// requested.
#[tokio::test(start_paused = true)]
async fn link_wait_restarts_once() {
    let bench = Bench::new();
    bench.server.enqueue_reply(held());
    let entry = bench.enqueue("bp-1").await;
    bench.flush().await;
    bench.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("3000"));
    bench.outbox.request_confirmation_link(entry).await.unwrap_err();
    bench.machine.set_clock_offset(-86_400);
    for left in [3000, 2000, 1000] {
        let refused = bench.outbox.request_confirmation_link(entry).await.unwrap_err();
        assert_eq!(refused.retry_after(), Some(seconds(left)));
        tokio::time::sleep(seconds(1000)).await;
    }
    bench.server.enqueue_reply(held());
    assert!(bench.outbox.request_confirmation_link(entry).await.unwrap().is_some());
}
