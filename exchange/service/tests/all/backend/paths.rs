//! Tests of the write path: a write that fails at any step has no effect, a dry run writes nothing, and a
//! repetition returns the same bytes.

use std::sync::atomic::{AtomicUsize, Ordering};

use exchange_service::backend::{FaultInjector, WriteStep};
use exchange_service::idempotency::{ClaimOutcome, ClaimRequest, KeyRetention, claim_key, request_hash};

use super::*;

/// Claims an idempotency key for a change set, as the gateway does.
async fn claimed(fixture: &BackendFixture, key: &'static str, body: &Value, fence: i64) -> ClaimOutcome {
    let now = fixture.clock.now();
    let request = request_hash("blueprints_write", body.to_string().as_bytes());
    let claim = fixture.store.write(move |connection| {
        let (client, member) = ("c-1".into(), "m-1".into());
        let request_to_claim = ClaimRequest { client: &client, member: &member, key, request, fence };
        claim_key(connection, &request_to_claim, &KeyRetention::from_config(&Config::default().limits), now)
    });
    claim.await.expect("the claim succeeds")
}

fn with_claim(found: ClaimOutcome) -> Caller {
    let ClaimOutcome::Claimed(claim) = found else { panic!("no claim: {found:?}") };
    Caller { claim: Some(claim), ..first() }
}

/// WRT-03, ERR-10: a write that fails at any step has no effect and can be repeated.
#[tokio::test]
async fn interrupted_write_leaves_nothing() {
    let cut = Arc::new(AtomicUsize::new(0));
    let failing_step = Arc::clone(&cut);
    let fault_injector = FaultInjector::new(move |step| {
        let number = WriteStep::ALL.iter().position(|one| *one == step).expect("a known step") + 1;
        if number == failing_step.load(Ordering::SeqCst) { Err(StoreError::Full) } else { Ok(()) }
    });
    let fixture =
        BackendFixture::with_config(Config::default(), |backend| backend.with_fault_injector(fault_injector))
            .await;
    fixture.change(&first(), vec![add("BP_KNIFE")]).await;
    let body = json!({ "ops": [add("BP_RIFLE"), remove("BP_KNIFE")] });
    let caller = with_claim(claimed(&fixture, "key-cut", &body, 1).await);
    let before = fixture.everything().await;
    for number in 1..=WriteStep::ALL.len() {
        cut.store(number, Ordering::SeqCst);
        let refused = fixture.post(&caller, WRITE, body.clone()).await;
        assert_eq!((refused.status, refused.code()), (503, "SERVICE_UNAVAILABLE"), "{number}");
        assert_eq!(refused.headers["retry-after"], "60");
        assert_eq!(fixture.everything().await, before, "{:?}", WriteStep::ALL[number - 1]);
    }
    cut.store(0, Ordering::SeqCst);
    assert_eq!(fixture.post(&caller, WRITE, body).await.counts(), (2, 0, 0));
}

/// WRT-04, A42: a dry run decides every op and writes nothing, even if the guard would hold the batch.
#[tokio::test]
async fn dry_run_writes_nothing() {
    let fixture = BackendFixture::new().await;
    let own: Vec<Value> = (0..10).map(|number| add(&format!("BP_MANY_{number:03}"))).collect();
    fixture.change(&first(), own).await;
    let mut ops: Vec<Value> = (0..10).map(|number| remove(&format!("BP_MANY_{number:03}"))).collect();
    ops.extend([add("BP_MANY_000"), add("BP_RIFLE"), add("BP_CORE"), remove("BP_CORE"), add("BP_NONE")]);
    let before = fixture.everything().await;
    let response = fixture.post(&first(), WRITE, json!({ "ops": ops, "dryRun": true })).await;
    assert_eq!((&response.body["dryRun"], response.counts()), (&json!(true), (12, 1, 2)));
    let outcomes: Vec<String> = response.outcomes().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(outcomes, ["unchanged -", "rejected DEFAULT_NOT_REMOVABLE", "unmatched UNMATCHED"]);
    assert_eq!(fixture.everything().await, before);
}

/// WRT-03: a write is in the member's journal, and in the audit log under the client's name.
#[tokio::test]
async fn write_is_journalled_and_audited() {
    let fixture = BackendFixture::new().await;
    fixture.change(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")]).await;
    fixture.change(&second(), vec![remove("BP_RIFLE"), remove("BP_HELMET")]).await;
    let journal = "SELECT key, channel, client, installation, removal, before IS NULL, after IS NULL FROM journal ORDER BY id";
    let row = |key: &str, installation: &str, rest: &str| {
        format!("Text(\"{key}\") Text(\"client\") Text(\"c-1\") Text(\"{installation}\") {rest}")
    };
    let expected = [
        row("BP_KNIFE", "i-1", "Integer(0) Integer(1) Integer(0)"),
        row("BP_RIFLE", "i-1", "Integer(0) Integer(1) Integer(0)"),
        row("BP_RIFLE", "i-2", "Integer(1) Integer(0) Integer(1)"),
    ];
    assert_eq!(fixture.rows(journal).await, expected);
    let audit = fixture.rows("SELECT actor, client, action, detail FROM audit ORDER BY id").await;
    let row = |detail: &str| {
        format!(
            "Text(\"member:m-1\") Text(\"c-1\") Text(\"blueprints.write\") Text(\"First client: {detail}\")"
        )
    };
    assert_eq!(audit, [row("2 written, 0 removed"), row("0 written, 1 removed")]);
    fixture.change(&first(), vec![add("BP_KNIFE")]).await;
    assert_eq!(fixture.rows("SELECT id FROM audit").await.len(), 2, "a write without changes is not audited");
}

/// GW-10, A2: the bytes of the response are stored in the transaction of the write, also if the server
/// rejects the content.
#[tokio::test]
async fn response_is_stored_byte_for_byte() {
    let fixture = BackendFixture::new().await;
    for (key, body, status) in [
        ("key-1", json!({ "ops": [add("BP_RIFLE"), add("BP_CORE")] }), 200),
        ("key-2", json!({ "ops": [add("BP_KNIFE")], "dryRun": true }), 200),
        (
            "key-3",
            json!({ "ops": [{ "op": "add", "ref": { "bt": "BP_KNIFE" }, "acquiredAt": "2026-02-30T00:00:00Z" }] }),
            400,
        ),
    ] {
        let caller = with_claim(claimed(&fixture, key, &body, 7).await);
        let response = fixture.post(&caller, WRITE, body.clone()).await;
        assert_eq!(response.status, status);
        let ClaimOutcome::Answered(stored) = claimed(&fixture, key, &body, 8).await else {
            panic!("no response is stored")
        };
        assert_eq!((stored.status.as_u16(), &stored.body[..]), (status, &response.bytes[..]));
        assert_eq!(stored.headers["content-type"], response.headers["content-type"]);
    }
    assert_eq!(fixture.held(&first()).await.len(), 3);
}

/// WRT-10, GW-11: the response to a held batch is not stored, so the same key can be used again.
#[tokio::test]
async fn response_to_a_held_batch_is_not_stored() {
    let fixture = BackendFixture::new().await;
    fixture.change(&first(), products().into_iter().map(add).collect()).await;
    let body = json!({ "ops": products().iter().map(|key| remove(key)).collect::<Vec<_>>() });
    let caller = with_claim(claimed(&fixture, "key-held", &body, 1).await);
    assert_eq!(fixture.post(&caller, WRITE, body.clone()).await.status, 409);
    assert!(matches!(claimed(&fixture, "key-held", &body, 2).await, ClaimOutcome::Claimed(_)));
}

/// ERR-25: a write is rolled back if another attempt has taken over its claim.
#[tokio::test]
async fn write_without_its_claim_is_rolled_back() {
    let fixture = BackendFixture::new().await;
    let body = json!({ "ops": [add("BP_RIFLE")] });
    let slow = with_claim(claimed(&fixture, "key-slow", &body, 1).await);
    fixture.clock.advance(KeyRetention::from_config(&Config::default().limits).lease);
    let retry = with_claim(claimed(&fixture, "key-slow", &body, 2).await);
    let refused = fixture.post(&slow, WRITE, body.clone()).await;
    assert_eq!((refused.status, refused.code()), (409, "IDEMPOTENCY_IN_PROGRESS"));
    assert_eq!(fixture.held(&first()).await.len(), 2);
    assert_eq!(fixture.post(&retry, WRITE, body).await.counts(), (1, 0, 0));
}

/// TYP-15: removals record an installation, so a write is rejected if the key has none.
#[tokio::test]
async fn unknown_installation_cannot_write() {
    let fixture = BackendFixture::new().await;
    let caller = Caller { installation: None, jkt: "jkt-unknown".to_owned(), ..first() };
    let refused = fixture.change(&caller, vec![add("BP_RIFLE")]).await;
    assert_eq!((refused.status, refused.code()), (503, "REGISTRY_UNAVAILABLE"));
    let unknown = Caller { installation: None, ..second() };
    assert_eq!(fixture.change(&unknown, vec![add("BP_RIFLE")]).await.counts(), (1, 0, 0));
    let installations = fixture.rows("SELECT installation FROM journal").await;
    assert_eq!(installations, ["Text(\"i-2\")"]);
}
