//! Tests of the upkeep of an in-memory store with a manual clock.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::sync::Arc;
use std::time::Duration;

use dpop_bound::SystemRandom;
use exchange_service::Environment;
use exchange_service::config::Config;
use exchange_service::store::{Store, StoreError, StoreLocation, StoreOptions};
use exchange_service::time::{ManualClock, Moment};
use exchange_service::upkeep::{TASKS, TaskOutcome, Upkeep};

const NOW: Moment = Moment::from_secs(1_790_000_000);
const DAY: Duration = Duration::from_secs(86_400);

struct UpkeepHarness {
    clock: ManualClock,
    store: Store,
    upkeep: Upkeep,
}

impl UpkeepHarness {
    fn new() -> Self {
        let clock = ManualClock::fixed_at(NOW);
        Self::from_store(Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap(), clock)
    }

    /// Creates an upkeep over a store that other instances may also use.
    fn from_store(store: Store, clock: ManualClock) -> Self {
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        let upkeep = Upkeep::new(store.clone(), environment, Arc::new(Config::default())).unwrap();
        Self { clock, store, upkeep }
    }

    async fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        let work =
            move |connection: &rusqlite::Connection| Ok::<(), StoreError>(connection.execute_batch(&sql)?);
        self.store.write(work).await.unwrap();
    }

    async fn text(&self, sql: &'static str) -> String {
        let work = move |connection: &rusqlite::Connection| {
            Ok::<String, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
        };
        self.store.read(work).await.unwrap()
    }

    /// Runs the due tasks and returns the outcome of this task, or `None` if it was not due.
    async fn run_round(&self, task: &str) -> Option<TaskOutcome> {
        self.upkeep.run_due_tasks().await.into_iter().find(|done| done.task == task)
    }
}

/// For each task, SQL that inserts one expired row and one that expires a moment later. `:now` stands for the
/// current time in milliseconds.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "tombstones",
        "INSERT INTO feed_entry (stream, key, seq, gone, changed_at, channel) VALUES
         (1, 'old', 1, 1, :now - 90 * 86400000 - 1, 'web'), (1, 'kept', 2, 1, :now - 90 * 86400000, 'web')",
        "SELECT group_concat(key) FROM feed_entry",
    ),
    (
        "cursors",
        "INSERT INTO cursor_vector (hash, vector, used_at) VALUES
         (x'01', x'', :now - 90 * 86400000 - 1), (x'02', x'', :now - 90 * 86400000)",
        "SELECT CASE group_concat(hex(hash)) WHEN '02' THEN 'kept' END FROM cursor_vector",
    ),
    (
        "held-batches",
        "INSERT INTO held_batch (client, member, handoff_hash, operation, caller, body, created_at, expires_at)
         VALUES ('old', 'm', x'01', '', '', x'', 0, :now), ('kept', 'm', x'02', '', '', x'', 0, :now + 1)",
        "SELECT group_concat(client) FROM held_batch",
    ),
    (
        "drafts",
        "INSERT INTO draft (handoff_hash, client, member, content, size, expires_at) VALUES
         (x'01', 'c', 'old', '', 0, :now), (x'02', 'c', 'kept', '', 0, :now + 1)",
        "SELECT group_concat(member) FROM draft",
    ),
    (
        "handled-requests",
        "INSERT INTO handled_request (id, member, outcome, expires_at) VALUES
         ('1', 'old', '', :now), ('2', 'kept', '', :now + 1)",
        "SELECT group_concat(member) FROM handled_request",
    ),
    (
        "reviews",
        "INSERT INTO review (id, member, content, expires_at) VALUES ('1', 'old', '', :now), ('2', 'kept', '', :now + 1)",
        "SELECT group_concat(member) FROM review",
    ),
    (
        "idempotency-keys",
        "INSERT INTO idempotency
         (client, member, key_hash, request_hash, fence, lease_until, status, created_at) VALUES
         ('c', 'm', 'old', x'', 1, 0, 200, :now - 86400000), ('c', 'm', 'kept', x'', 1, 0, 200, :now - 86400000 + 1)",
        "SELECT group_concat(key_hash) FROM idempotency",
    ),
    (
        "quotas",
        "INSERT INTO write_quota (client, member, day, used) VALUES
         ('old', 'm', :now / 86400000 - 2, 1), ('kept', 'm', :now / 86400000 - 1, 1)",
        "SELECT group_concat(client) FROM write_quota",
    ),
    (
        "device-logins",
        "INSERT INTO device_login
         (device_hash, user_code_hash, client, scopes, created_at, expires_at, interval_s, state) VALUES
         (x'01', x'01', 'old', '', 0, :now - 86400000, 5, 'pending'),
         (x'02', x'02', 'kept', '', 0, :now - 86400000 + 1, 5, 'pending')",
        "SELECT group_concat(client) FROM device_login",
    ),
    (
        "sessions",
        "INSERT INTO session (hash, member, auth_time, expires_at) VALUES
         (x'01', 'old', 0, :now - 86400000), (x'02', 'kept', 0, :now - 86400000 + 1)",
        "SELECT group_concat(member) FROM session",
    ),
    (
        "password-resets",
        "INSERT INTO member (id, name, state, created_at) VALUES ('old', 'O', 'active', 0), ('kept', 'K', 'active', 0);
         INSERT INTO password_reset (hash, member, expires_at) VALUES
         (x'01', 'old', :now), (x'02', 'kept', :now + 1)",
        "SELECT group_concat(member) FROM password_reset",
    ),
    (
        "connections-over",
        "INSERT INTO member (id, name, state, created_at) VALUES ('m', 'M', 'active', 0);
         INSERT INTO connection
         (id, client, member, jkt, scopes, auth_time, current_hash, created_at, used_at) VALUES
         ('unused', 'c', 'm', 'j', 'offline_access', 0, zeroblob(32), :now - 60 * 86400000, :now - 30 * 86400000),
         ('longest', 'c', 'm', 'j', 'offline_access', 0, x'02', :now - 90 * 86400000, :now),
         ('kept', 'c', 'm', 'j', 'offline_access', 0, x'03', :now - 60 * 86400000, :now - 30 * 86400000 + 1);
         UPDATE connection SET current_hash = randomblob(32)",
        "SELECT CASE WHEN (SELECT group_concat(id || ' ' || end_reason) FROM
                           (SELECT * FROM connection WHERE ended_at IS NOT NULL ORDER BY id)) =
                          'longest longest,unused unused'
                      AND (SELECT count(*) FROM audit WHERE action = 'end-connection') = 2
         THEN (SELECT id FROM connection WHERE ended_at IS NULL) END",
    ),
    (
        "connections",
        "INSERT INTO connection
         (id, client, member, jkt, scopes, auth_time, current_hash, created_at, used_at, ended_at) VALUES
         ('old', 'c', 'm', 'j', '', 0, x'01', 0, 0, :now - 90 * 86400000),
         ('kept', 'c', 'm', 'j', '', 0, x'02', 0, 0, :now - 90 * 86400000 + 1)",
        "SELECT group_concat(id) FROM connection",
    ),
    (
        "signing-keys",
        "INSERT INTO signing_key (kid, pkcs8, created_at, retired_at) VALUES
         ('old', x'', 0, :now - 30 * 86400000), ('kept', x'', 0, :now - 30 * 86400000 + 1)",
        "SELECT group_concat(kid) FROM signing_key",
    ),
    (
        "journal",
        "INSERT INTO journal_set (first, last, at, member, area, change_set, channel) VALUES
         (1, 1, :now - 90 * 86400000 - 1, 'm', 'stock', 's', 'web'),
         (2, 2, :now - 90 * 86400000, 'm', 'stock', 's', 'web');
         INSERT INTO journal_entry (id, key) VALUES (1, 'old'), (2, 'kept')",
        "SELECT group_concat(key) FROM journal",
    ),
    (
        "audit",
        "INSERT INTO audit (at, actor, action, subject) VALUES
         (:now - 365 * 86400000 - 1, 'service', 'a', 'old'), (:now - 365 * 86400000, 'service', 'a', 'kept')",
        "SELECT group_concat(subject) FROM audit",
    ),
    (
        "notices",
        "INSERT INTO notice (member, at, kind, subject, acknowledged_at) VALUES
         ('m', 0, 'k', 'old', :now - 90 * 86400000 - 1), ('m', 0, 'k', 'kept', :now - 90 * 86400000),
         ('m', :now - 365 * 86400000 - 1, 'k', 'never read', NULL), ('m', :now - 365 * 86400000, 'k', 'unread', NULL)",
        "SELECT group_concat(subject) FROM notice WHERE subject <> 'unread'
         AND EXISTS (SELECT 1 FROM notice WHERE subject = 'unread')",
    ),
];

/// LIM-08, LIM-09, LIM-13, LIM-19, LIM-22, LIM-35, WRT-13: each task deletes the rows that have expired, and
/// no row too early.
#[tokio::test]
async fn expired_rows_are_deleted() {
    let tested: Vec<_> = PAIRS.iter().map(|(task, _, _)| *task).collect();
    assert_eq!(tested, TASKS.each_ref().map(|task| task.name));
    for (task, rows, left) in PAIRS {
        let harness = UpkeepHarness::new();
        harness.sql(&rows.replace(":now", &NOW.as_millis().to_string())).await;
        let removed = if matches!(*task, "connections-over" | "notices") { 2 } else { 1 };
        let done = harness.run_round(task).await;
        assert_eq!(done, Some(TaskOutcome { task, removed, more: false }), "{task}");
        assert_eq!(harness.text(left).await, "kept", "{task}");
    }
}

/// A round deletes a limited number of rows, and the next one continues, also in another process.
#[tokio::test]
async fn round_is_bounded_and_the_next_one_continues() {
    let harness = UpkeepHarness::new();
    let many = "INSERT INTO session (hash, member, auth_time, expires_at)
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
                SELECT randomblob(32), 'm', 0, 0 FROM n";
    harness.sql(many).await;
    let first = harness.run_round("sessions").await.unwrap();
    assert_eq!((first.removed, first.more), (10_000, true));
    let second = harness.run_round("sessions").await.expect("the task is due at once");
    assert_eq!((second.removed, second.more), (2000, false));
    assert_eq!(harness.run_round("sessions").await, None, "all tasks are done");
}

/// A task is due again after its interval on the service's clock, also if the clock was set back.
#[tokio::test]
async fn tasks_are_scheduled_by_the_injected_clock() {
    let harness = UpkeepHarness::new();
    assert_eq!(harness.upkeep.run_due_tasks().await.len(), TASKS.len(), "all tasks are due at the start");
    assert!(harness.upkeep.run_due_tasks().await.is_empty());
    harness.clock.advance(Duration::from_secs(60));
    let minutes: Vec<_> = harness.upkeep.run_due_tasks().await.iter().map(|done| done.task).collect();
    assert_eq!(minutes, ["held-batches", "drafts", "idempotency-keys", "device-logins", "sessions"]);
    harness.clock.advance(Duration::from_secs(3540));
    assert_eq!(harness.upkeep.run_due_tasks().await.len(), TASKS.len());
    harness.clock.step_back(DAY);
    assert_eq!(harness.upkeep.run_due_tasks().await.len(), TASKS.len());
}

/// A failed task is due again and does not affect other tasks; successes and failures are counted.
#[test]
fn failed_task_is_counted_and_blocks_no_other() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let harness = UpkeepHarness::new();
            harness.sql("INSERT INTO session (hash, member, auth_time, expires_at, ended_at) VALUES (x'01', 'm', 0, 0, NULL)").await;
            harness.sql("ALTER TABLE cursor_vector RENAME TO gone").await;
            assert_eq!(harness.upkeep.run_due_tasks().await.len(), TASKS.len() - 1);
            assert!(harness.run_round("cursors").await.is_none());
            harness.sql("ALTER TABLE gone RENAME TO cursor_vector").await;
            assert!(harness.run_round("cursors").await.is_some());
        });
    });
    let page = handle.render();
    for line in [
        r#"exchange_upkeep_removed_total{task="sessions"} 1"#,
        r#"exchange_upkeep_failures_total{task="cursors"} 2"#,
        r#"exchange_upkeep_ended_seconds{task="sessions"} 1790000000"#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

/// The journal is deleted from its start, and its floor rises. An entry with an earlier timestamp than its
/// predecessor is deleted after it.
#[tokio::test]
async fn journal_floor_follows_deletion() {
    let harness = UpkeepHarness::new();
    let floor = "SELECT coalesce(max(value), '-') FROM setting WHERE name = 'journal-floor'";
    harness.run_round("journal").await.unwrap();
    assert_eq!(harness.text(floor).await, "-");
    let ages = [100, 95, 89, 99];
    for (number, age) in ages.into_iter().enumerate() {
        let time = NOW.as_millis() - age * 86_400_000;
        harness
            .sql(&format!(
                "INSERT INTO journal_set (first, last, at, member, area, change_set, channel) \
                 VALUES ({number} + 1, {number} + 1, {time}, 'm', 'stock', 's', 'web'); \
                 INSERT INTO journal_entry (id, key) VALUES ({number} + 1, 'k{number}')"
            ))
            .await;
    }
    let keys = "SELECT coalesce(group_concat(key), '') FROM journal";
    for (days, left, oldest) in [(1, "k2,k3", 95), (1, "", 89)] {
        harness.clock.advance(days * DAY);
        harness.run_round("journal").await.unwrap();
        let time = NOW.as_millis() - oldest * 86_400_000;
        assert_eq!(
            (harness.text(keys).await, harness.text(floor).await),
            (left.to_owned(), time.to_string())
        );
    }
}

/// Of two processes over one store, one runs the upkeep; the other takes over when the first one ends.
#[tokio::test]
async fn one_of_two_processes_runs_the_upkeep() {
    let one = UpkeepHarness::new();
    let other = UpkeepHarness::from_store(one.store.clone(), one.clock.clone());
    assert_eq!(one.upkeep.run_due_tasks().await.len(), TASKS.len());
    assert!(
        other.upkeep.run_due_tasks().await.is_empty(),
        "the tasks are due, but the other process holds the lease"
    );
    // Each step of the work renews the lease.
    one.clock.advance(Duration::from_secs(59));
    assert!(other.upkeep.run_due_tasks().await.is_empty());
    one.clock.advance(Duration::from_secs(1));
    assert_eq!(one.upkeep.run_due_tasks().await.len(), 5);
    one.clock.advance(Duration::from_secs(59));
    assert!(other.upkeep.run_due_tasks().await.is_empty());
    // The first process has ended.
    one.clock.advance(Duration::from_secs(1));
    assert_eq!(other.upkeep.run_due_tasks().await.len(), TASKS.len());
    assert!(one.upkeep.run_due_tasks().await.is_empty());
    // A lease from before the clock was set back does not block the upkeep.
    one.clock.step_back(DAY);
    assert_eq!(one.upkeep.run_due_tasks().await.len(), TASKS.len());
    assert!(other.upkeep.run_due_tasks().await.is_empty());
}

/// A process that loses the lease during a round leaves the remaining tasks to the new holder.
#[tokio::test]
async fn lost_lease_stops_the_round() {
    let harness = UpkeepHarness::new();
    harness
        .sql(
            "INSERT INTO session (hash, member, auth_time, expires_at, ended_at) VALUES (x'01', 'm', 0, 0, NULL);
             INSERT INTO cursor_vector (hash, vector, used_at) VALUES (x'01', x'', 0);
             CREATE TRIGGER taken AFTER DELETE ON cursor_vector BEGIN
             UPDATE lease SET holder = 'somebody else'; END",
        )
        .await;
    let done: Vec<_> = harness.upkeep.run_due_tasks().await.iter().map(|done| done.task).collect();
    assert_eq!(done, ["tombstones", "cursors"]);
    assert_eq!(harness.text("SELECT count(*) || '' FROM session").await, "1");
    harness.clock.advance(Duration::from_secs(60));
    assert_eq!(harness.run_round("sessions").await.unwrap().removed, 1);
}
