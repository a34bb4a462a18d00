//! The writer's thread: runs queued jobs in one transaction, commits once, then reports the results.

use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

use super::StoreError;
use super::checkpoint::CheckpointControl;
use super::run_statement;

/// The durability that a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// The log is synced to disk and survives a power failure.
    Disk,
    /// The operating system has the log, which survives a crash of the process.
    System,
}

/// A queued write, or a read of a store in memory.
pub(super) trait WriterJob: Send {
    /// Returns the durability that the job needs; a group uses the highest of its jobs.
    fn durability(&self) -> Durability;

    /// Runs inside its own transaction or savepoint. Must not panic. Returns false to roll the changes back.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Reports the result after the commit of the transaction, or the error that prevented it.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

impl Durability {
    /// Returns the pragma. With a write-ahead log, `NORMAL` syncs only before a checkpoint. Frames are
    /// recovered in order, so a later synced commit makes all earlier ones durable.
    const fn pragma(self) -> &'static str {
        match self {
            Self::Disk => "PRAGMA synchronous = FULL",
            Self::System => "PRAGMA synchronous = NORMAL",
        }
    }
}

/// Maximum number of jobs in one commit; more would only delay the first one.
const MAX_GROUP: usize = 64;

/// Runs jobs until the queue is closed and empty, then stops the checkpoints.
pub(super) fn run_writer(
    connection: &Connection,
    mut queue: Receiver<Box<dyn WriterJob>>,
    checkpoints: CheckpointControl,
) {
    let mut group: Vec<Box<dyn WriterJob>> = Vec::with_capacity(MAX_GROUP);
    // The setting with which the connection was opened.
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
    let outcome = in_one_transaction(connection, group, waits);
    if outcome.is_err() && !connection.is_autocommit() {
        // Rolled back before results are reported. If that fails, the next `BEGIN` fails, too.
        let _ = connection.execute_batch("ROLLBACK");
    }
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
        // A single job needs no savepoint, which would copy every page that it changes.
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

/// Runs a job. Returns whether its changes are to be kept.
///
/// # Errors
/// [`StoreError::RolledBack`] if SQLite ended the whole transaction.
fn run_job(job: &mut dyn WriterJob, connection: &Connection) -> Result<bool, StoreError> {
    let keep = job.run(connection);
    // SQLite ends the whole transaction on a full or failing disk, regardless of savepoints.
    if connection.is_autocommit() { Err(StoreError::RolledBack) } else { Ok(keep) }
}
