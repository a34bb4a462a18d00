//! Tests of the confirmation links of held change sets, which are requested only for the member.

use super::*;

/// WRT-11: if a request for a link fails, the entry stays held and is not sent again later. The error
/// contains the remaining `Retry-After` time.
#[tokio::test(start_paused = true)]
async fn failed_link_request_leaves_the_entry_held() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(held());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    let sent = |count| assert_eq!(fixture.server.request_count(), count);

    // The server cannot be reached, then requests a wait. Before the wait has ended, the link is not
    // requested again.
    fixture.server.enqueue_reply(ScriptedReply::refused());
    assert_eq!(
        fixture.outbox.request_confirmation_link(entry).await.unwrap_err().kind(),
        ErrorKind::Unreachable
    );
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("100"));
    assert_eq!(fixture.outbox.request_confirmation_link(entry).await.unwrap_err().kind(), ErrorKind::Busy);
    let refused = fixture.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry_after()), (ErrorKind::Busy, Some(seconds(100))));
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::ClientSuspended));
    tokio::time::sleep(seconds(100)).await;
    let refused = fixture.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Halted(_)));
    fixture.outbox.resume_parked().await.unwrap();

    // The daily quota is exhausted by a write of another area.
    fixture.server.enqueue_reply_for(
        "stock_write",
        ScriptedReply::problem(Code::QuotaExceeded).with_retry_after("3000"),
    );
    fixture.outbox.enqueue(stock()).await.unwrap();
    fixture.flush().await;
    let refused = fixture.outbox.request_confirmation_link(entry).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    assert!(refused.retry_after().unwrap() >= seconds(3000));
    sent(5);
    assert_eq!(fixture.state(entry).await, EntryState::Held);
    fixture.run_for(seconds(4000)).await;
    // The waiting write of the other area was sent, but the held entry was not.
    sent(6);
    assert_eq!(fixture.state(entry).await, EntryState::Held);

    // A lost response may have invalidated the link, so the request is repeated until a new link arrives.
    fixture.server.enqueue_reply(held().then_lost());
    fixture.server.enqueue_reply(held());
    assert_eq!(
        fixture.outbox.request_confirmation_link(entry).await.unwrap_err().kind(),
        ErrorKind::OutcomeUnknown
    );
    let mut events = fixture.outbox.events();
    fixture.run_for(seconds(60)).await;
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
        let fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(held());
        let entry = fixture.enqueue("bp-1").await;
        fixture.flush().await;
        fixture.outbox.retry(entry).await.unwrap();
        let edited = fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err();
        assert!(edited.to_string().contains("may still confirm"), "{edited}");
        fixture.server.enqueue_reply(reply);
        fixture.flush().await;
        assert_eq!(fixture.state(entry).await, EntryState::Held);
        assert_eq!(
            fixture.outbox.replace_changes(entry, blueprint("bp-2")).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        fixture.run_for(seconds(4000)).await;
        assert_eq!(fixture.server.request_count(), 2, "the entry is not sent without a request");
        // After a comparison, the change set may be replaced.
        fixture.outbox.resolve_unknown(entry, ComparisonResult::Missing).await.unwrap();
        fixture.flush().await;
        assert_eq!(fixture.state(entry).await, EntryState::Done);
    }
}

/// CLI-02: after the clock was set back, a `Retry-After` time starts again once, however often a link is
/// requested.
#[tokio::test(start_paused = true)]
async fn link_wait_restarts_once() {
    let fixture = OutboxFixture::new();
    fixture.server.enqueue_reply(held());
    let entry = fixture.enqueue("bp-1").await;
    fixture.flush().await;
    fixture.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy).with_retry_after("3000"));
    fixture.outbox.request_confirmation_link(entry).await.unwrap_err();
    fixture.machine.set_clock_offset(-86_400);
    for left in [3000, 2000, 1000] {
        let refused = fixture.outbox.request_confirmation_link(entry).await.unwrap_err();
        assert_eq!(refused.retry_after(), Some(seconds(left)));
        tokio::time::sleep(seconds(1000)).await;
    }
    fixture.server.enqueue_reply(held());
    assert!(fixture.outbox.request_confirmation_link(entry).await.unwrap().is_some());
}
