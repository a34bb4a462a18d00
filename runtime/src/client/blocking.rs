//! Blocking calls, for programs without an async runtime.
//!
//! The entry points are [`PendingCall::send_blocking`], [`PendingStreamCall::open_blocking`] and
//! [`PageStream::into_blocking_iter`]. The transport of a blocking call runs on a thread of the client, which
//! also drives connections and timers, so that connections stay open between calls. The first blocking call
//! starts this thread; it ends when the last clone of the client is dropped.
//!
//! [`PendingCall::send_blocking`]: super::PendingCall::send_blocking
//! [`PendingStreamCall::open_blocking`]: super::PendingStreamCall::open_blocking
//! [`PageStream::into_blocking_iter`]: super::pages::PageStream::into_blocking_iter

#[cfg(any(feature = "pages", feature = "stream"))]
mod iter;

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker, ready},
    thread::{self, Thread},
};

use bytes::Bytes;
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::{JoinHandle, unconstrained},
};

#[cfg(any(feature = "pages", feature = "stream"))]
pub use self::iter::BlockingIter;
use super::ApiClient;
use crate::{
    operation::Operation,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault},
};

/// A tokio runtime on a thread of its own. Clones share the thread, which ends when the last clone is dropped.
#[derive(Clone, Default)]
pub(super) struct BackgroundRuntime(Arc<Mutex<Option<RuntimeThread>>>);

struct RuntimeThread {
    handle: Handle,
    /// The thread ends when this sender is dropped.
    _stop: oneshot::Sender<()>,
}

impl BackgroundRuntime {
    /// Runs a future on the calling thread, with the timers of the other thread.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        // If the thread cannot be started, the transport of the call returns the error.
        let handle = self.start().ok();
        let _context = handle.as_ref().map(Handle::enter);
        // Inside a task of another runtime, the budget of that task would apply, and is never renewed here.
        park_until_ready(unconstrained(future))
    }

    /// Runs a future on the other thread.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, TransportError>> + Send + 'static,
    ) -> BackgroundTask<T> {
        BackgroundTask(self.start().map(|handle| handle.spawn(future)).map_err(Some))
    }

    /// Returns the runtime. Starts its thread unless it is running.
    fn start(&self) -> io::Result<Handle> {
        let mut thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*thread {
            return Ok(thread.handle.clone());
        }
        let (stop, stopped) = oneshot::channel();
        let (started, result) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name("blocking-client".to_owned())
            .spawn(move || run_thread(&started, stopped))?;
        let handle = result.recv().map_err(io::Error::other)??;
        *thread = Some(RuntimeThread { handle: handle.clone(), _stop: stop });
        Ok(handle)
    }
}

/// Drives a new runtime until the other end of `stopped` is dropped.
fn run_thread(started: &mpsc::SyncSender<io::Result<Handle>>, stopped: oneshot::Receiver<()>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(error))),
    };
    let _ = started.send(Ok(runtime.handle().clone()));
    // Nothing is sent: the channel closes.
    let _ = runtime.block_on(stopped);
    // Dropping the runtime would wait for name resolutions of cancelled calls.
    runtime.shutdown_background();
}

/// A task on the other thread, or the error of starting that thread. Dropping it cancels the task.
struct BackgroundTask<T>(Result<JoinHandle<Result<T, TransportError>>, Option<io::Error>>);

impl<T> Future for BackgroundTask<T> {
    type Output = Result<T, TransportError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match &mut self.0 {
            Ok(task) => ready!(Pin::new(task).poll(context)).unwrap_or_else(|error| {
                Err(TransportError::new(TransportFault::Other, Delivery::Unknown).with_source(error))
            }),
            Err(error) => {
                let refused = TransportError::new(TransportFault::Declined, Delivery::NotSent);
                Err(match error.take() {
                    Some(error) => refused.with_source(error),
                    None => refused,
                })
            }
        })
    }
}

impl<T> Drop for BackgroundTask<T> {
    fn drop(&mut self) {
        if let Ok(task) = &self.0 {
            task.abort();
        }
    }
}

/// A transport whose requests are sent by the other thread.
struct BackgroundTransport {
    transport: Arc<dyn Transport>,
    runtime: BackgroundRuntime,
}

impl Transport for BackgroundTransport {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        let transport = Arc::clone(&self.transport);
        Box::pin(self.runtime.spawn(async move { transport.send(operation, request).await }))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as _)
    }
}

#[cfg(feature = "stream")]
impl crate::transport::StreamTransport for BackgroundTransport {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        let transport = Arc::clone(&self.transport);
        Box::pin(self.runtime.spawn(async move {
            let streams = transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            streams.open_stream(operation, request).await
        }))
    }
}

impl ApiClient {
    /// Returns the client with a transport that runs on the thread of blocking calls.
    pub(super) fn to_background(&self) -> Self {
        let (transport, runtime) = (Arc::clone(&self.transport), self.background.clone());
        Self { transport: Arc::new(BackgroundTransport { transport, runtime }), ..self.clone() }
    }
}

/// Wakes a thread that waits for a future. The flag keeps a wake-up whose token another `park` consumes.
struct ThreadWaker {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Polls a future until it completes. Parks the thread between polls.
fn park_until_ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waiting = Arc::new(ThreadWaker { thread: thread::current(), is_woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&waiting));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !waiting.is_woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use tokio::task::consume_budget;

    use super::*;

    #[test]
    fn timers_work_without_a_runtime_of_the_caller() {
        let runtime = BackgroundRuntime::default();
        let time = Duration::from_millis(1);
        runtime.block_on(async move { tokio::time::sleep(time).await });
    }

    /// A task of another runtime may poll only a limited number of resources before it must yield. Blocking
    /// calls in this task have no such limit.
    #[tokio::test]
    async fn budget_of_the_calling_task_does_not_apply() {
        let runtime = BackgroundRuntime::default();
        let calls = async {
            for _ in 0..1000 {
                consume_budget().await;
            }
        };
        runtime.block_on(calls);
    }

    /// A future that blocks in `poll` consumes the token of a wake-up that arrived before. The flag keeps it.
    #[test]
    fn wake_up_before_a_nested_park_is_kept() {
        let mut is_second = false;
        park_until_ready(poll_fn(|context| {
            if std::mem::replace(&mut is_second, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            thread::park();
            Poll::Pending
        }));
    }

    /// The thread ends with the last clone, and cancels the tasks that it drives.
    #[test]
    fn thread_ends_with_the_last_clone() {
        let runtime = BackgroundRuntime::default();
        let (task, task_end) = mpsc::channel::<()>();
        let _running = runtime.spawn(async move {
            let _task = task;
            std::future::pending::<Result<(), TransportError>>().await
        });
        let clone = runtime.clone();
        drop(runtime);
        assert_eq!(task_end.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(clone);
        assert!(task_end.recv().is_err());
    }
}
