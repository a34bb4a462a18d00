//! Tests of exhausted budgets of the whole exchange, which requests alone exhaust.

use std::time::Duration;

use exchange_service::config::Config;
use exchange_service::sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};

use super::{knife, signed_in};

/// Starts a sandbox with changed limits.
async fn start_limited(change: impl FnOnce(&mut Config)) -> Sandbox {
    let mut config = Config::default();
    (config.idp.password_kib, config.idp.password_passes) = (64, 1);
    change(&mut config);
    Sandbox::with_options(SandboxOptions { config: Some(config), ..SandboxOptions::default() }).await.unwrap()
}

/// ERR-35, LIM-20, GW-11: a stored response counts towards its budget for a day. If the budget is exhausted,
/// writes are rejected before they start, and stored responses are still returned.
#[tokio::test]
async fn stored_responses_use_the_budget() {
    // One further response of the maximum size fits into the budget.
    let sandbox = start_limited(|config| {
        config.limits.kept_bytes_of_member = config.limits.kept_answer_bytes as u64 + 600;
    });
    let sandbox = sandbox.await;
    let mut client = signed_in(&sandbox).await;
    let first = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!((first.status.as_u16(), &first.body["applied"]), (200, &json!(1)), "{}", first.body);
    let removal = || json!([{ "op": "remove", "key": "bp-sandbox-knife" }]);
    let refused = client.write(removal(), "key-of-the-second-write").await;
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "EXCHANGE_BUDGET_EXHAUSTED"));
    assert_eq!(refused.headers["retry-after"], "3600");
    let replayed = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!(
        (&replayed.headers["idempotency-replayed"], &replayed.body),
        (&"true".parse().unwrap(), &first.body)
    );
    let held = client.read(None).await.body.to_string();
    assert!(held.contains("bp-sandbox-knife"), "{held}");
    sandbox.advance(Duration::from_secs(86_401));
    assert_eq!(client.renew().await.0, 200);
    let done = client.write(removal(), "key-of-the-second-write").await;
    assert_eq!((done.status.as_u16(), &done.body["applied"]), (200, &json!(1)), "{}", done.body);
}

/// ERR-36, LIM-02: a change set of more than 100 ops needs a slot. Without a slot, it is rejected and does
/// not count, and smaller change sets are still accepted.
#[tokio::test]
async fn large_sets_need_a_slot() {
    let sandbox =
        start_limited(|config| (config.limits.large_sets, config.limits.writes_per_day) = (0, 1)).await;
    let mut client = signed_in(&sandbox).await;
    let ops = |count: usize| Value::from(vec![json!({ "op": "remove", "key": "bp-of-nobody" }); count]);
    for _ in 0..3 {
        let refused = client.write(ops(101), "key-of-the-large-set").await;
        assert_eq!((refused.status.as_u16(), refused.code()), (503, "RELAY_BUSY"));
        assert_eq!(refused.headers["retry-after"], "10");
    }
    let done = client.write(ops(100), "key-of-the-small-one").await;
    assert_eq!(done.status, 200, "one write of the daily quota is left: {}", done.body);
    assert_eq!(client.write(ops(100), "key-of-one-more").await.code(), "QUOTA_EXCEEDED");
}
