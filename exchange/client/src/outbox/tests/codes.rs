//! Tests of the state of an entry after each error code.

use super::*;

/// After an error with any code, an entry is either retried or waits for an action.
#[tokio::test(start_paused = true)]
async fn every_code_maps_to_a_state() {
    for code in Code::ALL.iter().filter(|code| code.retired() == Some(false)) {
        let fixture = OutboxFixture::new();
        fixture.server.enqueue_reply(ScriptedReply::problem(code.clone()));
        let entry = fixture.enqueue("bp-1").await;
        let published = fixture.flush().await;
        let entry = fixture.outbox.entry(entry).await.unwrap();
        let expected = match code.action().unwrap().as_str() {
            "wait-and-resend" | "outcome-unknown" => EntryState::Pending,
            "pull-and-merge" => EntryState::NeedsRebase,
            "confirm" => EntryState::Held,
            "stop-area" if *code == Code::QuotaExceeded => EntryState::Pending,
            "stop-area" => EntryState::Refused,
            _ if *code == Code::IdempotencyKeyReused => EntryState::Parked(ParkReason::KeyReused),
            "stop-client" => EntryState::Parked(ParkReason::Halted),
            "new-login-with-scope" => EntryState::Parked(ParkReason::Scope),
            "refresh-once" | "end-connection" | "end-connection-and-key" => {
                EntryState::Parked(ParkReason::SignedOut)
            }
            _ => EntryState::Parked(ParkReason::Fault),
        };
        assert_eq!((published.len(), entry.state()), (1, expected), "{code}");
        assert_eq!(entry.code(), Some(code.as_str()));
        let unsure =
            matches!(code, Code::BackendRelayFailed | Code::InternalError | Code::IdempotencyInProgress);
        assert_eq!(entry.may_be_applied(), unsure, "{code}");
    }
}
