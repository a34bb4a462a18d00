//! The thread that calls the store. A call blocks while the member types a password.

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

type ConnectFn = dyn Fn() -> keyring_core::Result<Store> + Send + Sync;
type StoreJob = Box<dyn FnOnce(&mut StoreConnection) + Send>;

/// The message if the store thread ends, or the call panics, before the call returns a result.
const CALL_ABORTED: &str = "the call was aborted";

/// A thread that starts with the first call, and ends when the last handle is dropped.
pub(crate) struct StoreThread {
    connect: Arc<ConnectFn>,
    jobs: Mutex<Option<Sender<StoreJob>>>,
}

impl StoreThread {
    pub(crate) fn new(connect: impl Fn() -> keyring_core::Result<Store> + Send + Sync + 'static) -> Self {
        Self { connect: Arc::new(connect), jobs: Mutex::new(None) }
    }

    /// Runs a function with the store, after all earlier calls. It runs even if the caller stops waiting.
    pub(crate) async fn run_job<T: Send + 'static>(
        &self,
        work: impl Fn(&Store) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let (response, answered) = oneshot::channel();
        self.enqueue_job(Box::new(move |connection| {
            // The receiver has been dropped if the caller stopped waiting.
            let _ = response.send(connection.call_store(work));
        }))?;
        answered.await.unwrap_or_else(|_| Err(CredentialError::Other(CALL_ABORTED.to_owned())))
    }

    fn enqueue_job(&self, job: StoreJob) -> Result<(), CredentialError> {
        let ended = |_| CredentialError::Other(CALL_ABORTED.to_owned());
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            return jobs.send(job).map_err(ended);
        }
        let (new, due) = channel();
        let connection = StoreConnection { connect: Arc::clone(&self.connect), store: None };
        // This is not a tokio thread, because tokio waits for its threads when the program ends.
        thread::Builder::new()
            .name("secret-store".to_owned())
            .spawn(|| run_jobs(connection, due))
            .map_err(|error| CredentialError::Other(error.to_string()))?;
        new.send(job).map_err(ended)?;
        *jobs = Some(new);
        Ok(())
    }
}

fn run_jobs(mut connection: StoreConnection, due: Receiver<StoreJob>) {
    for job in due {
        // A panic aborts only its own call. The connection of that call was taken out of its slot, and is
        // dropped.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| job(&mut connection)));
    }
}

struct StoreConnection {
    connect: Arc<ConnectFn>,
    /// The connected store; `None` after a call failed, for example because the session bus was restarted.
    store: Option<Store>,
}

impl StoreConnection {
    fn call_store<T>(
        &mut self,
        work: impl Fn(&Store) -> keyring_core::Result<T>,
    ) -> Result<T, CredentialError> {
        if let Some(store) = self.store.take() {
            match work(&store) {
                // The service may have restarted, so connect again.
                Err(Error::PlatformFailure(_)) => {}
                done => return self.keep_if_ok(store, done),
            }
        }
        let store = (self.connect)().map_err(platform::map_connect_error)?;
        let done = work(&store);
        self.keep_if_ok(store, done)
    }

    fn keep_if_ok<T>(&mut self, store: Store, done: keyring_core::Result<T>) -> Result<T, CredentialError> {
        if done.is_ok() {
            self.store = Some(store);
        }
        done.map_err(platform::map_call_error)
    }
}
