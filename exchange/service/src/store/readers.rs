//! Readers: a few connections, each on a thread of its own, and some at hand for reads in place; one snapshot
//! per read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{OpenError, StoreError, plan_once, step};

/// One read; never panics.
pub(super) type Read = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// Starts them; they end with the queue.
///
/// # Errors
/// When a connection or a thread cannot be had.
pub(super) fn start(
    path: &Path,
    count: usize,
    room: usize,
) -> Result<(Sender<Read>, Vec<JoinHandle<()>>), OpenError> {
    let (sender, receiver) = channel(room);
    let receiver = Arc::new(Mutex::new(receiver));
    let mut threads = Vec::with_capacity(count);
    for number in 0..count {
        let connection = open(path)?;
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new()
            .name(format!("reader-{number}"))
            .spawn(move || run(&connection, &receiver))
            .map_err(OpenError::Thread)?;
        threads.push(thread);
    }
    Ok((sender, threads))
}

fn run(connection: &Connection, queue: &Mutex<Receiver<Read>>) {
    loop {
        let next = match queue.lock() {
            Ok(mut queue) => queue.blocking_recv(),
            Err(_) => return,
        };
        let Some(read) = next else { return };
        snapshot(connection, read);
    }
}

/// Connections for whoever reads in place: as many as ever did so at once.
pub(super) struct AtHand {
    path: PathBuf,
    connections: Mutex<Connections>,
    returned: Condvar,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Connection>,
    /// How many are being read with.
    lent: usize,
    is_closed: bool,
}

impl AtHand {
    /// Of a database that is there.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, connections: Mutex::default(), returned: Condvar::new() }
    }

    /// Reads over one snapshot, on the caller's thread. What reads never panics.
    pub(super) fn read<T>(&self, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
        self.with(|connection| match connection {
            Ok(connection) => snapshot(connection, read),
            Err(error) => read(Err(error)),
        })
    }

    /// The same with a snapshot for each statement.
    pub(super) fn with<T>(&self, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
        let idle = match self.lend() {
            Ok(idle) => idle,
            Err(closed) => return read(Err(closed)),
        };
        let connection = match idle.map_or_else(|| open(&self.path), Ok) {
            Ok(connection) => connection,
            Err(error) => {
                self.take_back(None);
                return read(Err(error.into()));
            }
        };
        let found = read(Ok(&connection));
        self.take_back(Some(connection));
        found
    }

    /// Lends nobody a connection any more, and waits until all are back and closed.
    pub(super) fn close(&self) {
        let mut own = self.own();
        own.is_closed = true;
        own.idle.clear();
        while own.lent > 0 {
            own = self.returned.wait(own).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One that rests; none when a new one is to be opened.
    fn lend(&self) -> Result<Option<Connection>, StoreError> {
        let mut own = self.own();
        if own.is_closed {
            return Err(StoreError::Closed);
        }
        own.lent += 1;
        Ok(own.idle.pop())
    }

    fn take_back(&self, connection: Option<Connection>) {
        let mut own = self.own();
        own.lent -= 1;
        if own.is_closed {
            // Closed before anybody hears that it is back.
            drop(connection);
            self.returned.notify_all();
        } else {
            own.idle.extend(connection);
        }
    }

    fn own(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
    connection.set_prepared_statement_cache_capacity(64);
    plan_once(&connection)?;
    Ok(connection)
}

/// Several statements of one read see the same moment.
fn snapshot<T>(connection: &Connection, read: impl FnOnce(Result<&Connection, StoreError>) -> T) -> T {
    let found = match step(connection, "BEGIN") {
        Ok(()) => read(Ok(connection)),
        Err(error) => read(Err(error.into())),
    };
    if !connection.is_autocommit() {
        let _ = step(connection, "ROLLBACK");
    }
    found
}
