//! The thread on which a store is called: what it does blocks, for as long as a member is asked for a password.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use exchange_client::CredentialError;
use keyring_core::Error;
use tokio::sync::oneshot;

use crate::{Store, platform};

type Connect = dyn Fn() -> keyring_core::Result<Store> + Send + Sync;
type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Why there is no answer.
const BROKEN: &str = "the call of it broke off";

/// Begins with the first call, and ends when nobody can call any more.
pub(crate) struct Thread {
    connect: Arc<Connect>,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Thread {
    pub(crate) fn new(connect: impl Fn() -> keyring_core::Result<Store> + Send + Sync + 'static) -> Self {
        Self { connect: Arc::new(connect), jobs: Mutex::new(None) }
    }

    /// Does this with the store when its turn comes, whether or not somebody still waits for it.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl Fn(&Store) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let (answer, answered) = oneshot::channel();
        self.begin(Box::new(move |connection| {
            // Whoever asked may be gone.
            let _ = answer.send(connection.call(work));
        }))?;
        answered.await.unwrap_or_else(|_| Err(CredentialError::Failed(BROKEN.to_owned())))
    }

    fn begin(&self, job: Job) -> Result<(), CredentialError> {
        let ended = |_| CredentialError::Failed(BROKEN.to_owned());
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            return jobs.send(job).map_err(ended);
        }
        let (new, due) = channel();
        let connection = Connection { connect: Arc::clone(&self.connect), store: None };
        // It is not waited for at the end of the program, as tokio would wait for threads of its own.
        thread::Builder::new()
            .name("secret-store".to_owned())
            .spawn(|| run(connection, due))
            .map_err(|error| CredentialError::Failed(error.to_string()))?;
        new.send(job).map_err(ended)?;
        *jobs = Some(new);
        Ok(())
    }
}

fn run(mut connection: Connection, due: Receiver<Job>) {
    for job in due {
        // A store that panics takes its call with it, and its connection: that is out of its place meanwhile.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}

struct Connection {
    connect: Arc<Connect>,
    /// Forgotten when a call fails: a session bus that went away, a keyring that was unlocked since.
    store: Option<Store>,
}

impl Connection {
    fn call<T>(&mut self, work: impl Fn(&Store) -> keyring_core::Result<T>) -> Result<T, CredentialError> {
        if let Some(store) = self.store.take() {
            match work(&store) {
                // The store's service may have begun anew since.
                Err(Error::PlatformFailure(_)) => {}
                done => return self.done(store, done),
            }
        }
        let store = (self.connect)().map_err(platform::missing)?;
        let done = work(&store);
        self.done(store, done)
    }

    fn done<T>(&mut self, store: Store, done: keyring_core::Result<T>) -> Result<T, CredentialError> {
        if done.is_ok() {
            self.store = Some(store);
        }
        done.map_err(platform::refused)
    }
}
