//! The writer's thread: takes what waits, runs it in one transaction, commits once, then answers.

use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

use super::StoreError;
use super::checkpoint::Checkpoints;
use super::step;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The log is on the disk: no loss of power undoes it.
    ForDisk,
    /// The system has the log: the end of the process does not undo it.
    ForSystem,
}

/// One write, or one read that takes its turn here.
pub(super) trait Job: Send {
    /// What its commit waits for; that of a group waits for whatever one of them does.
    fn wait(&self) -> Wait;

    /// Runs inside a transaction of its own, or inside its own savepoint where others share one, and never panics; says
    /// whether what it did is to be kept.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Told once the transaction is committed, or why it is not.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

impl Wait {
    /// In a log that is written ahead, `NORMAL` forces it to the disk before a checkpoint alone, and frames
    /// are read back in their order: what a later commit forced, those before it are part of.
    const fn pragma(self) -> &'static str {
        match self {
            Self::ForDisk => "PRAGMA synchronous = FULL",
            Self::ForSystem => "PRAGMA synchronous = NORMAL",
        }
    }
}

/// How many jobs share one commit at most: more would only make the first one wait.
const GROUP: usize = 64;

/// Works until the queue is closed and empty, and leaves nothing in the log.
pub(super) fn work(connection: &Connection, mut queue: Receiver<Box<dyn Job>>, checkpoints: Checkpoints) {
    let mut group: Vec<Box<dyn Job>> = Vec::with_capacity(GROUP);
    // As the connection was opened.
    let mut waits = Wait::ForDisk;
    while let Some(first) = queue.blocking_recv() {
        group.push(first);
        while group.len() < GROUP {
            let Ok(next) = queue.try_recv() else { break };
            group.push(next);
        }
        commit(connection, &mut group, &mut waits);
        checkpoints.committed(connection);
    }
    checkpoints.end(connection);
}

fn commit(connection: &Connection, group: &mut Vec<Box<dyn Job>>, waits: &mut Wait) {
    let outcome = in_one_transaction(connection, group, waits);
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

fn in_one_transaction(
    connection: &Connection,
    group: &mut [Box<dyn Job>],
    waits: &mut Wait,
) -> Result<(), StoreError> {
    let for_disk = group.iter().any(|job| job.wait() == Wait::ForDisk);
    let wait = if for_disk { Wait::ForDisk } else { Wait::ForSystem };
    if *waits != wait {
        connection.execute_batch(wait.pragma())?;
        *waits = wait;
    }
    step(connection, "BEGIN IMMEDIATE")?;
    if let [alone] = group {
        // A savepoint keeps a copy of every page that is written: the transaction is all that there is to undo.
        let keep = run(&mut **alone, connection)?;
        step(connection, if keep { "COMMIT" } else { "ROLLBACK" })?;
        return Ok(());
    }
    for job in group {
        step(connection, "SAVEPOINT job")?;
        if !run(&mut **job, connection)? {
            step(connection, "ROLLBACK TO job")?;
        }
        step(connection, "RELEASE job")?;
    }
    step(connection, "COMMIT")?;
    Ok(())
}

/// Says whether what it did is to be kept.
fn run(job: &mut dyn Job, connection: &Connection) -> Result<bool, StoreError> {
    let keep = job.run(connection);
    // A full disk and a failing one end the whole transaction, whatever its savepoints.
    if connection.is_autocommit() { Err(StoreError::Undone) } else { Ok(keep) }
}
