//! Upkeep: deletes expired data, a limited number of rows at a time.
//!
//! [`TASKS`] lists the tasks and their intervals. A round runs the tasks that are due by the clock of the
//! service. A task runs in pieces, and each piece is a short write, so that requests are not delayed.
//! Remaining rows are left for the next round, and no state must survive a restart. Metrics report the number
//! of deleted rows.
//!
//! If several processes share a store, only the process that has the lease runs tasks. Each piece renews the
//! lease in its own transaction.

mod lease;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dpop_bound::random::RandomError;
use metrics::{counter, gauge};
use rusqlite::Connection;

use crate::config::Config;
use crate::environment::Environment;
use crate::idempotency::{self, KeyRetention};
use crate::store::{Store, StoreError};
use crate::time::Moment;
use crate::{backend, feed, idp, quota, records};

/// The maximum number of rows per piece, which is one transaction.
const MAX_PIECE: usize = 500;
/// The maximum number of pieces per task and round.
const MAX_PIECES: usize = 20;
/// The interval between checks for due tasks.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A task that runs repeatedly.
pub struct UpkeepTask {
    /// The name of the data that the task deletes. It is a label of the metrics.
    pub name: &'static str,
    /// The interval between runs.
    pub interval: Duration,
    run: TaskFn,
}

/// A function that deletes or ends at most the given number of rows, and returns their number.
type TaskFn = fn(&Connection, &Config, Moment, usize) -> Result<usize, StoreError>;

impl fmt::Debug for UpkeepTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpkeepTask")
            .field("name", &self.name)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

const fn new_task(name: &'static str, interval: Duration, run: TaskFn) -> UpkeepTask {
    UpkeepTask { name, interval, run }
}

const TASK_COUNT: usize = 17;

/// All tasks, in the order in which a round runs them.
pub static TASKS: [UpkeepTask; TASK_COUNT] = [
    // LIM-13: removed entries are kept as tombstones for a limited time.
    new_task("tombstones", HOUR, |store, _, now, limit| feed::retention::prune_tombstones(store, now, limit)),
    // FED-08: stored positions of cursors are kept for a limited time.
    new_task("cursors", HOUR, |store, _, now, limit| feed::retention::prune_cursors(store, now, limit)),
    // WRT-13: held batches expire.
    new_task("held-batches", MINUTE, |store, _, now, limit| backend::prune_held(store, now, limit)),
    // LIM-35: staged drafts expire.
    new_task("drafts", MINUTE, |store, _, now, limit| backend::prune_drafts(store, now, limit)),
    new_task("handled-requests", HOUR, |store, _, now, limit| backend::prune_outcomes(store, now, limit)),
    new_task("reviews", HOUR, |store, _, now, limit| backend::prune_reviews(store, now, limit)),
    // LIM-22: stored responses expire.
    new_task("idempotency-keys", MINUTE, |store, config, now, limit| {
        idempotency::expire_keys(store, &KeyRetention::from_config(&config.limits), now, limit)
    }),
    // LIM-19: only the counts of current days are needed.
    new_task("quotas", HOUR, |store, _, now, limit| quota::prune_days(store, now.utc_day(), limit)),
    // LIM-09: device logins expire.
    new_task("device-logins", MINUTE, |store, _, now, limit| idp::prune_logins(store, now, limit)),
    new_task("sessions", MINUTE, |store, _, now, limit| idp::sessions::prune_expired(store, now, limit)),
    new_task("password-resets", HOUR, |store, _, now, limit| {
        idp::password_resets::prune_expired(store, now, limit)
    }),
    // LIM-08: unused connections end even if no client presents their tokens again.
    new_task("connections-over", HOUR, |store, config, now, limit| {
        idp::end_connections(store, &config.idp, now, limit)
    }),
    new_task("connections", HOUR, |store, _, now, limit| idp::prune_connections(store, now, limit)),
    new_task("signing-keys", HOUR, |store, _, now, limit| idp::prune_keys(store, now, limit)),
    new_task("journal", HOUR, |store, config, now, limit| {
        backend::prune_journal(store, config.retention.journal_cutoff(now), limit)
    }),
    new_task("audit", HOUR, |store, config, now, limit| {
        records::prune_audit(store, config.retention.audit_cutoff(now), limit)
    }),
    new_task("notices", HOUR, |store, config, now, limit| {
        records::prune_notices(store, config.retention.notice_cutoffs(now), limit)
    }),
];

/// The outcome of one task in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskOutcome {
    /// The name of the task.
    pub task: &'static str,
    /// The number of rows that the task deleted or ended.
    pub removed: usize,
    /// Whether rows are left for the next round.
    pub more: bool,
}

/// The upkeep of one store by one process.
pub struct Upkeep {
    store: Store,
    environment: Environment,
    config: Arc<Config>,
    /// The name of this process in the lease.
    holder: Arc<str>,
    /// The time at which each task was last completed.
    ended: Mutex<[Option<Moment>; TASK_COUNT]>,
}

impl fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upkeep").finish_non_exhaustive()
    }
}

impl Upkeep {
    /// Creates the upkeep. All tasks are due.
    ///
    /// # Errors
    /// Returns a [`RandomError`] if the random number generator fails.
    pub fn new(store: Store, environment: Environment, config: Arc<Config>) -> Result<Self, RandomError> {
        let holder = environment.random_token::<16>()?.into();
        Ok(Self { store, environment, config, holder, ended: Mutex::default() })
    }

    /// Runs due tasks repeatedly, without end.
    pub async fn run(self) {
        let mut turns = tokio::time::interval(POLL_INTERVAL);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.run_due_tasks().await;
        }
    }

    /// Runs all due tasks once and returns their outcomes. A task that fails is logged, does not affect the
    /// others, and is due again in the next round. Does nothing while another process has the lease.
    pub async fn run_due_tasks(&self) -> Vec<TaskOutcome> {
        let mut all = Vec::new();
        if self.is_elsewhere().await {
            gauge!("exchange_upkeep_leading").set(0);
            return all;
        }
        gauge!("exchange_upkeep_leading").set(1);
        for (index, task) in TASKS.iter().enumerate() {
            if !self.is_due(index, task) {
                continue;
            }
            match self.run_task(task).await {
                // In the meantime, another process has taken the lease.
                Ok(None) => return all,
                Ok(Some(done)) => {
                    counter!("exchange_upkeep_removed_total", "task" => task.name)
                        .increment(done.removed as u64);
                    if !done.more {
                        self.mark_ended(index, task);
                    }
                    all.push(done);
                }
                Err(error) => {
                    counter!("exchange_upkeep_failures_total", "task" => task.name).increment(1);
                    tracing::warn!(task = task.name, %error, "upkeep.failed");
                }
            }
        }
        all
    }

    fn is_due(&self, index: usize, task: &UpkeepTask) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.environment.now();
        // After the clock was set back, the elapsed time is unknown, so the task is due.
        ended.get(index).copied().flatten().is_none_or(|last| now < last || now.since(last) >= task.interval)
    }

    fn mark_ended(&self, index: usize, task: &UpkeepTask) {
        let now = self.environment.now();
        gauge!("exchange_upkeep_ended_seconds", "task" => task.name).set(now.as_secs() as f64);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = ended.get_mut(index) {
            *ended = Some(now);
        }
    }

    /// Returns true if another process has the lease. Returns false if the lease cannot be read.
    async fn is_elsewhere(&self) -> bool {
        let (holder, now) = (Arc::clone(&self.holder), self.environment.now());
        let looked =
            self.store.read_inline(move |connection| lease::is_held_elsewhere(connection, &holder, now));
        looked.await.unwrap_or(false)
    }

    /// Runs some pieces of a task. Returns `Ok(None)` if another process has the lease.
    async fn run_task(&self, task: &UpkeepTask) -> Result<Option<TaskOutcome>, StoreError> {
        let mut done = TaskOutcome { task: task.name, removed: 0, more: true };
        for _ in 0..MAX_PIECES {
            let (config, holder) = (Arc::clone(&self.config), Arc::clone(&self.holder));
            let (now, run) = (self.environment.now(), task.run);
            let piece = move |connection: &Connection| {
                let leads = lease::acquire_lease(connection, &holder, now)?;
                if leads { run(connection, &config, now, MAX_PIECE).map(Some) } else { Ok(None) }
            };
            let Some(removed) = self.store.write(piece).await? else { return Ok(None) };
            done.removed += removed;
            if removed < MAX_PIECE {
                done.more = false;
                break;
            }
        }
        Ok(Some(done))
    }
}
