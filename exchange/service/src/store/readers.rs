//! Readers: a few threads with one connection each, and a pool of connections for reads on the caller's
//! thread. Each read sees one snapshot.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{OpenError, StoreError, plan_once, run_statement};

/// A queued read. It must not panic.
pub(super) type ReadJob = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// Starts the reader threads. They end when the queue is closed.
///
/// # Errors
/// Returns an error if a connection or a thread cannot be created.
pub(super) fn start_readers(
    path: &Path,
    count: usize,
    room: usize,
) -> Result<(Sender<ReadJob>, Vec<JoinHandle<()>>), OpenError> {
    let (sender, receiver) = channel(room);
    let receiver = Arc::new(Mutex::new(receiver));
    let mut threads = Vec::with_capacity(count);
    for number in 0..count {
        let connection = open_reader(path)?;
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new()
            .name(format!("reader-{number}"))
            .spawn(move || run_reader(&connection, &receiver))
            .map_err(OpenError::Thread)?;
        threads.push(thread);
    }
    Ok((sender, threads))
}

fn run_reader(connection: &Connection, queue: &Mutex<Receiver<ReadJob>>) {
    loop {
        let next = match queue.lock() {
            Ok(mut queue) => queue.blocking_recv(),
            Err(_) => return,
        };
        let Some(read) = next else { return };
        with_snapshot(connection, read);
    }
}

/// A pool of connections for reads on the caller's thread. It grows to the highest number of concurrent
/// reads.
pub(super) struct InlineReaders {
    path: PathBuf,
    connections: Mutex<ConnectionPool>,
    returned: Condvar,
}

#[derive(Default)]
struct ConnectionPool {
    idle: Vec<Connection>,
    /// The number of connections in use.
    in_use: usize,
    is_closed: bool,
}

impl InlineReaders {
    /// Creates an empty pool for an existing database.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, connections: Mutex::default(), returned: Condvar::new() }
    }

    /// Runs a closure over one snapshot on the caller's thread. The closure must not panic.
    pub(super) fn read_snapshot<T>(&self, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
        self.with_connection(|connection| match connection {
            Ok(connection) => with_snapshot(connection, read),
            Err(error) => read(Err(error)),
        })
    }

    /// Runs a closure with a connection on the caller's thread. Each statement sees its own snapshot.
    pub(super) fn with_connection<T>(&self, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
        let idle = match self.check_out() {
            Ok(idle) => idle,
            Err(closed) => return read(Err(closed)),
        };
        let connection = match idle.map_or_else(|| open_reader(&self.path), Ok) {
            Ok(connection) => connection,
            Err(error) => {
                self.check_in(None);
                return read(Err(error.into()));
            }
        };
        let found = read(Ok(&connection));
        self.check_in(Some(connection));
        found
    }

    /// Closes the pool and waits until all connections are returned and closed.
    pub(super) fn close(&self) {
        let mut pool = self.lock_pool();
        pool.is_closed = true;
        pool.idle.clear();
        while pool.in_use > 0 {
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes an idle connection. Returns `Ok(None)` if the caller has to open a new one.
    fn check_out(&self) -> Result<Option<Connection>, StoreError> {
        let mut pool = self.lock_pool();
        if pool.is_closed {
            return Err(StoreError::Closed);
        }
        pool.in_use += 1;
        Ok(pool.idle.pop())
    }

    fn check_in(&self, connection: Option<Connection>) {
        let mut pool = self.lock_pool();
        pool.in_use -= 1;
        if pool.is_closed {
            // The connection is closed before the waiting `close` is notified.
            drop(connection);
            self.returned.notify_all();
        } else {
            pool.idle.extend(connection);
        }
    }

    fn lock_pool(&self) -> MutexGuard<'_, ConnectionPool> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
    connection.set_prepared_statement_cache_capacity(64);
    plan_once(&connection)?;
    Ok(connection)
}

/// Runs a closure in a transaction, so that all of its statements see the same snapshot.
fn with_snapshot<T>(connection: &Connection, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
    let found = match run_statement(connection, "BEGIN") {
        Ok(()) => read(Ok(connection)),
        Err(error) => read(Err(error.into())),
    };
    if !connection.is_autocommit() {
        let _ = run_statement(connection, "ROLLBACK");
    }
    found
}
