//! The writer's thread. It runs queued jobs in one transaction, commits once, then reports the results.

use std::cell::RefCell;

use metrics::{counter, histogram};
use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

use super::StoreError;
use super::checkpoint::CheckpointControl;
use super::run_statement;
use crate::time::Stopwatch;

/// The durability for which a commit waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The log is synced to disk, so that the commit survives a power failure.
    Disk,
    /// The log is written to the operating system, so that the commit survives a crash of the process.
    System,
}

/// A queued write or, for a store in memory, a queued read.
pub(super) trait WriterJob: Send {
    /// Returns the durability that the job requires. A group of jobs uses the highest one.
    fn durability(&self) -> Durability;

    /// Runs the job inside a transaction or savepoint. Must not panic. Returns false if the changes must be
    /// rolled back.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Reports the result of the job after the commit, or the error that prevented the commit.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

impl Durability {
    /// Returns the pragma that sets the durability. With a write-ahead log, `NORMAL` syncs only before a
    /// checkpoint. SQLite recovers the log in order, so a later synced commit makes all earlier ones durable.
    const fn pragma(self) -> &'static str {
        match self {
            Self::Disk => "PRAGMA synchronous = FULL",
            Self::System => "PRAGMA synchronous = NORMAL",
        }
    }
}

thread_local! {
    /// The actions that [`on_commit`] has added since the transaction began.
    static ON_COMMIT: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Runs an action after the transaction of the current thread was committed, such as logging a change. If the write
/// is rolled back, the action is dropped.
pub(crate) fn on_commit(action: impl FnOnce() + 'static) {
    ON_COMMIT.with_borrow_mut(|actions| actions.push(Box::new(action)));
}

/// Returns the number of actions that wait for the commit.
fn action_count() -> usize {
    ON_COMMIT.with_borrow(Vec::len)
}

/// Drops the actions that a write has added.
fn drop_actions(before: usize) {
    ON_COMMIT.with_borrow_mut(|actions| actions.truncate(before));
}

/// Ends the transaction of the current thread: runs the waiting actions after a commit, and drops them otherwise.
pub(super) fn finish_actions(is_committed: bool) {
    let actions = ON_COMMIT.take();
    if is_committed {
        actions.into_iter().for_each(|action| action());
    }
}

/// The maximum number of jobs in one commit. More jobs would delay the first one too long.
const MAX_GROUP: usize = 64;

/// Runs jobs until the queue is closed and empty, then stops the checkpoint thread.
pub(super) fn run_writer(
    connection: &Connection,
    mut queue: Receiver<Box<dyn WriterJob>>,
    checkpoints: CheckpointControl,
) {
    let mut group: Vec<Box<dyn WriterJob>> = Vec::with_capacity(MAX_GROUP);
    // The connection was opened with this setting.
    let mut waits = Durability::Disk;
    while let Some(first) = queue.blocking_recv() {
        group.push(first);
        while group.len() < MAX_GROUP {
            let Ok(next) = queue.try_recv() else { break };
            group.push(next);
        }
        commit_group(connection, &mut group, &mut waits);
        checkpoints.after_commit(connection);
    }
    checkpoints.stop_thread(connection);
}

fn commit_group(connection: &Connection, group: &mut Vec<Box<dyn WriterJob>>, waits: &mut Durability) {
    let stopwatch = Stopwatch::start();
    let outcome = in_one_transaction(connection, group, waits);
    histogram!("exchange_store_commit_seconds").record(stopwatch.elapsed().as_secs_f64());
    counter!("exchange_store_writes_total").increment(group.len() as u64);
    if let Err(error) = &outcome {
        counter!("exchange_store_failures_total", "reason" => error.reason()).increment(1);
    }
    if outcome.is_err() && !connection.is_autocommit() {
        // The transaction is rolled back before results are reported. If this fails, the next `BEGIN` also
        // fails.
        let _ = connection.execute_batch("ROLLBACK");
    }
    finish_actions(outcome.is_ok());
    let failure = outcome.err();
    for job in group.drain(..) {
        job.finish(failure.as_ref().map_or(Ok(()), |error| Err(error.duplicate())));
    }
}

fn in_one_transaction(
    connection: &Connection,
    group: &mut [Box<dyn WriterJob>],
    waits: &mut Durability,
) -> Result<(), StoreError> {
    let for_disk = group.iter().any(|job| job.durability() == Durability::Disk);
    let wait = if for_disk { Durability::Disk } else { Durability::System };
    if *waits != wait {
        connection.execute_batch(wait.pragma())?;
        *waits = wait;
    }
    run_statement(connection, "BEGIN IMMEDIATE")?;
    if let [alone] = group {
        // A single job runs without a savepoint, which would copy every page that the job changes.
        let keep = run_job(&mut **alone, connection)?;
        run_statement(connection, if keep { "COMMIT" } else { "ROLLBACK" })?;
        return Ok(());
    }
    for job in group {
        run_statement(connection, "SAVEPOINT job")?;
        if !run_job(&mut **job, connection)? {
            run_statement(connection, "ROLLBACK TO job")?;
        }
        run_statement(connection, "RELEASE job")?;
    }
    run_statement(connection, "COMMIT")?;
    Ok(())
}

/// Runs a job. Returns true if its changes must be kept.
///
/// # Errors
/// Returns [`StoreError::RolledBack`] if SQLite has ended the whole transaction.
fn run_job(job: &mut dyn WriterJob, connection: &Connection) -> Result<bool, StoreError> {
    let before = action_count();
    let keep = job.run(connection);
    if !keep {
        drop_actions(before);
    }
    // If the disk is full or fails, SQLite ends the whole transaction, regardless of savepoints.
    if connection.is_autocommit() { Err(StoreError::RolledBack) } else { Ok(keep) }
}
