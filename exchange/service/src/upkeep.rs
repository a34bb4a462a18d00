//! Upkeep: what has had its time goes, a bounded piece at a time.
//!
//! [`TASKS`] says what there is to do and how often. A turn runs what is due by the service's own clock, each
//! piece in a short write of its own, so that no request waits long; what is left over is still there at the
//! next turn, and nothing has to be remembered over a restart. How much went is told to whoever runs the
//! service.
//!
//! Of several processes over one store one does it: the one that has the lease, which each piece renews in its
//! own transaction.

mod lease;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dpop_bound::random::RandomError;
use metrics::{counter, gauge};
use rusqlite::Connection;

use crate::config::Config;
use crate::environment::Environment;
use crate::idempotency::{self, Terms};
use crate::store::{Store, StoreError};
use crate::time::Moment;
use crate::{backend, feed, idp, quota, records};

/// How much of one task is done in one transaction.
const PIECE: usize = 500;
/// How many pieces of one task are done in one turn.
const PIECES: usize = 20;
/// How often somebody looks whether a task is due.
const TURN: Duration = Duration::from_secs(10);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// One thing that is done again and again.
pub struct Task {
    /// What goes: a label of the counters.
    pub name: &'static str,
    /// How often.
    pub every: Duration,
    run: Run,
}

/// Removes, or ends, at most so much; says how much.
type Run = fn(&Connection, &Config, Moment, usize) -> Result<usize, StoreError>;

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("name", &self.name).field("every", &self.every).finish_non_exhaustive()
    }
}

const fn task(name: &'static str, every: Duration, run: Run) -> Task {
    Task { name, every, run }
}

/// How many tasks there are.
const COUNT: usize = 15;

/// Everything that has its time.
pub static TASKS: [Task; COUNT] = [
    // LIM-13
    task("tombstones", HOUR, |store, _, now, most| feed::retention::tombstones(store, now, most)),
    // FED-08
    task("cursors", HOUR, |store, _, now, most| feed::retention::cursors(store, now, most)),
    // WRT-13
    task("held-batches", MINUTE, |store, _, now, most| backend::prune_held(store, now, most)),
    // LIM-35
    task("drafts", MINUTE, |store, _, now, most| backend::prune_drafts(store, now, most)),
    task("reviews", HOUR, |store, _, now, most| backend::prune_reviews(store, now, most)),
    // LIM-22
    task("idempotency-keys", MINUTE, |store, config, now, most| {
        idempotency::expire(store, &Terms::of(&config.limits), now, most)
    }),
    // LIM-19
    task("quotas", HOUR, |store, _, now, most| quota::prune(store, now.day(), most)),
    // LIM-09
    task("device-logins", MINUTE, |store, _, now, most| idp::prune_logins(store, now, most)),
    task("sessions", MINUTE, |store, _, now, most| idp::sessions::prune(store, now, most)),
    // LIM-08: what nobody uses any more is over, whether or not somebody comes to hear it.
    task("connections-over", HOUR, |store, config, now, most| {
        idp::end_connections(store, &config.idp, now, most)
    }),
    task("connections", HOUR, |store, _, now, most| idp::prune_connections(store, now, most)),
    task("signing-keys", HOUR, |store, _, now, most| idp::prune_keys(store, now, most)),
    task("journal", HOUR, |store, config, now, most| {
        backend::prune_journal(store, config.retention.journal(now), most)
    }),
    task("audit", HOUR, |store, config, now, most| {
        records::prune_audit(store, config.retention.audit(now), most)
    }),
    task("notices", HOUR, |store, config, now, most| {
        records::prune_notices(store, config.retention.notices(now), most)
    }),
];

/// What one turn did of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The task's name.
    pub task: &'static str,
    /// How much went.
    pub removed: usize,
    /// Whether more is left for the next turn.
    pub more: bool,
}

/// Does the upkeep of one store.
pub struct Upkeep {
    store: Store,
    environment: Environment,
    config: Arc<Config>,
    /// What the lease calls this one.
    holder: Arc<str>,
    /// When each task came to its end last.
    ended: Mutex<[Option<Moment>; COUNT]>,
}

impl fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upkeep").finish_non_exhaustive()
    }
}

impl Upkeep {
    /// Nothing was done yet, so everything is due.
    ///
    /// # Errors
    /// When there are no random numbers to be had.
    pub fn new(store: Store, environment: Environment, config: Arc<Config>) -> Result<Self, RandomError> {
        let holder = environment.token::<16>()?.into();
        Ok(Self { store, environment, config, holder, ended: Mutex::default() })
    }

    /// Does what is due, for as long as it is awaited.
    pub async fn run(self) {
        let mut turns = tokio::time::interval(TURN);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.turn().await;
        }
    }

    /// Does once what is due, and says what came of it. A task that fails is in the log, holds up no other, and
    /// is due again at the next turn. Nothing is done while another process has the lease.
    pub async fn turn(&self) -> Vec<Done> {
        let mut all = Vec::new();
        if self.is_elsewhere().await {
            gauge!("exchange_upkeep_leading").set(0);
            return all;
        }
        gauge!("exchange_upkeep_leading").set(1);
        for (at, task) in TASKS.iter().enumerate() {
            if !self.is_due(at, task) {
                continue;
            }
            match self.some_of(task).await {
                // The lease went to another process meanwhile.
                Ok(None) => return all,
                Ok(Some(done)) => {
                    counter!("exchange_upkeep_removed_total", "task" => task.name)
                        .increment(done.removed as u64);
                    if !done.more {
                        self.end(at, task);
                    }
                    all.push(done);
                }
                Err(error) => {
                    counter!("exchange_upkeep_failures_total", "task" => task.name).increment(1);
                    tracing::warn!(task = task.name, %error, "upkeep failed");
                }
            }
        }
        all
    }

    fn is_due(&self, at: usize, task: &Task) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.environment.now();
        // By a clock that stepped back nobody knows how long ago it was.
        ended.get(at).copied().flatten().is_none_or(|last| now < last || now.since(last) >= task.every)
    }

    fn end(&self, at: usize, task: &Task) {
        let now = self.environment.now();
        gauge!("exchange_upkeep_ended_seconds", "task" => task.name).set(now.secs() as f64);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = ended.get_mut(at) {
            *ended = Some(now);
        }
    }

    /// Whether another process has the lease; one that cannot be read is none.
    async fn is_elsewhere(&self) -> bool {
        let (holder, now) = (Arc::clone(&self.holder), self.environment.now());
        let looked = self.store.look(move |connection| lease::is_elsewhere(connection, &holder, now));
        looked.await.unwrap_or(false)
    }

    /// Some pieces of a task; none when the lease is another process's.
    async fn some_of(&self, task: &Task) -> Result<Option<Done>, StoreError> {
        let mut done = Done { task: task.name, removed: 0, more: true };
        for _ in 0..PIECES {
            let (config, holder) = (Arc::clone(&self.config), Arc::clone(&self.holder));
            let (now, run) = (self.environment.now(), task.run);
            let piece = move |connection: &Connection| {
                let leads = lease::take(connection, &holder, now)?;
                if leads { run(connection, &config, now, PIECE).map(Some) } else { Ok(None) }
            };
            let Some(removed) = self.store.write(piece).await? else { return Ok(None) };
            done.removed += removed;
            if removed < PIECE {
                done.more = false;
                break;
            }
        }
        Ok(Some(done))
    }
}
