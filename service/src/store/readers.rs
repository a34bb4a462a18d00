//! Readers: a few connections, each on a thread of its own, one snapshot per read.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{OpenError, StoreError, step};

/// One read; never panics.
pub(super) type Read = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// Starts them.
///
/// # Errors
/// When a connection or a thread cannot be had.
pub(super) fn start(path: &Path, count: usize, room: usize) -> Result<Sender<Read>, OpenError> {
    let (sender, receiver) = channel(room);
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..count {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
        connection.set_prepared_statement_cache_capacity(64);
        let receiver = Arc::clone(&receiver);
        std::thread::Builder::new()
            .name(format!("reader-{number}"))
            .spawn(move || run(&connection, &receiver))
            .map_err(OpenError::Thread)?;
    }
    Ok(sender)
}

fn run(connection: &Connection, queue: &Mutex<Receiver<Read>>) {
    loop {
        let next = match queue.lock() {
            Ok(mut queue) => queue.blocking_recv(),
            Err(_) => return,
        };
        let Some(read) = next else { return };
        // Several statements of one read see the same moment.
        match step(connection, "BEGIN") {
            Ok(()) => read(Ok(connection)),
            Err(error) => read(Err(error.into())),
        }
        if !connection.is_autocommit() {
            let _ = step(connection, "ROLLBACK");
        }
    }
}
