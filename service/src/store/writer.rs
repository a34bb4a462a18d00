//! The writer's thread: takes what waits, runs it in one transaction, commits once, then answers.

use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

use super::StoreError;
use super::checkpoint::Checkpoints;

/// One write, or one read that takes its turn here.
pub(super) trait Job: Send {
    /// Runs inside its own savepoint, and never panics; says whether what it did is to be kept.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Told once the transaction is committed, or why it is not.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

/// How many jobs share one commit at most: more would only make the first one wait.
const GROUP: usize = 64;

/// Runs until the queue is closed and empty.
pub(super) fn run(connection: &Connection, mut queue: Receiver<Box<dyn Job>>, checkpoints: &Checkpoints) {
    let mut group: Vec<Box<dyn Job>> = Vec::with_capacity(GROUP);
    while let Some(first) = queue.blocking_recv() {
        group.push(first);
        while group.len() < GROUP {
            let Ok(next) = queue.try_recv() else { break };
            group.push(next);
        }
        commit(connection, &mut group);
        checkpoints.committed(connection);
    }
}

fn commit(connection: &Connection, group: &mut Vec<Box<dyn Job>>) {
    let outcome = in_one_transaction(connection, group);
    if outcome.is_err() && !connection.is_autocommit() {
        // What the commit could not write is undone before anybody is told; if even that fails, the
        // next `BEGIN` does.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let failure = outcome.err();
    for job in group.drain(..) {
        job.finish(failure.as_ref().map_or(Ok(()), |error| Err(error.again())));
    }
}

fn in_one_transaction(connection: &Connection, group: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for job in group {
        connection.execute_batch("SAVEPOINT job")?;
        let keep = job.run(connection);
        // A full disk and a failing one end the whole transaction, whatever its savepoints.
        if connection.is_autocommit() {
            return Err(StoreError::Undone);
        }
        connection.execute_batch(if keep { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" })?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}
