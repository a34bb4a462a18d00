//! The idle timeout: the maximum time without progress of a request or response body.
//!
//! The read timeout of reqwest includes the upload, because it runs from the start of a request to the head
//! of the response. This timeout restarts with every chunk that is sent.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

/// The size of the chunks of a buffered body, in bytes.
const CHUNK_SIZE: usize = 64 << 10;

/// An idle timeout. Clones share the time of the last progress.
#[derive(Clone, Debug)]
pub(super) struct IdleTimeout {
    limit: Duration,
    /// `None` while the caller produces the next chunk.
    idle_since: Arc<Mutex<Option<Instant>>>,
}

impl IdleTimeout {
    /// Creates a timeout that starts now.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, idle_since: Arc::new(Mutex::new(Some(Instant::now()))) }
    }

    fn set_idle_since(&self, since: Option<Instant>) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns the time at which the timeout expires if there is no further progress.
    fn deadline(&self) -> Instant {
        let since = *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.unwrap_or_else(Instant::now) + self.limit
    }

    /// Runs `work`. Returns `None` if the timeout expires first.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let mut sleeping = pin!(sleep_until(self.deadline()));
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            loop {
                ready!(sleeping.as_mut().poll(context));
                let end = self.deadline();
                if end <= Instant::now() {
                    return Poll::Ready(None);
                }
                sleeping.as_mut().reset(end);
            }
        })
        .await
    }
}

/// A request body that counts every chunk taken from it as progress.
pub(super) struct ActivityBody<B> {
    body: B,
    timeout: IdleTimeout,
}

impl<B> ActivityBody<B> {
    pub(super) const fn new(body: B, quiet: IdleTimeout) -> Self {
        Self { body, timeout: quiet }
    }
}

impl<B: Body + Unpin> Body for ActivityBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.timeout.set_idle_since(frame.is_ready().then(Instant::now));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A buffered body that is sent in chunks.
pub(super) struct ChunkedBytes(Bytes);

impl Body for ChunkedBytes {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.len().min(CHUNK_SIZE);
        Poll::Ready((piece > 0).then(|| Ok(Frame::data(self.0.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// Converts a buffered body for reqwest. A body of more than one chunk resets the timeout with each chunk.
pub(super) fn buffered_body(bytes: Bytes, quiet: Option<&IdleTimeout>) -> reqwest::Body {
    match quiet {
        Some(quiet) if bytes.len() > CHUNK_SIZE => {
            reqwest::Body::wrap(ActivityBody::new(ChunkedBytes(bytes), quiet.clone()))
        }
        _ => bytes.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Reads a body with this delay after each chunk, like a slow connection, and then waits for the
    /// response. Returns the total number of seconds, or `None` for a timeout.
    async fn sent(
        quiet: &IdleTimeout,
        body: impl Body<Error = Infallible> + Unpin,
        slow: Duration,
        response: Duration,
    ) -> Option<u64> {
        let mut body = ActivityBody::new(body, quiet.clone());
        let start = Instant::now();
        let sending = async {
            while poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_some() {
                sleep(slow).await;
            }
            sleep(response).await;
            start.elapsed().as_secs()
        };
        quiet.run(sending).await
    }

    /// Progress keeps a call alive regardless of its duration, and a stall ends it.
    #[tokio::test(start_paused = true)]
    async fn only_a_stall_ends_an_upload() {
        let whole = |pieces: usize| ChunkedBytes(Bytes::from(vec![0; pieces * CHUNK_SIZE]));
        let soon = Duration::from_secs(1);
        let slow = Duration::from_secs(50);
        assert_eq!(sent(&IdleTimeout::new(MINUTE), whole(10), slow, soon).await, Some(501));
        assert_eq!(sent(&IdleTimeout::new(MINUTE), whole(10), Duration::from_secs(61), soon).await, None);
        assert_eq!(sent(&IdleTimeout::new(MINUTE), whole(1), soon, Duration::from_secs(58)).await, Some(59));
        assert_eq!(sent(&IdleTimeout::new(MINUTE), whole(1), soon, Duration::from_secs(61)).await, None);
    }

    /// The time in which the caller produces a chunk does not count.
    #[tokio::test(start_paused = true)]
    async fn slow_body_producer_is_awaited() {
        struct SlowBody(Pin<Box<tokio::time::Sleep>>, u8);

        impl Body for SlowBody {
            type Data = Bytes;
            type Error = Infallible;

            fn poll_frame(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
                if self.1 == 0 {
                    return Poll::Ready(None);
                }
                ready!(self.0.as_mut().poll(context));
                self.0 = Box::pin(sleep(5 * MINUTE));
                self.1 -= 1;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece")))))
            }
        }
        let body = || SlowBody(Box::pin(sleep(5 * MINUTE)), 2);
        let quick = Duration::ZERO;
        assert_eq!(sent(&IdleTimeout::new(MINUTE), body(), quick, quick).await, Some(600));
        assert_eq!(sent(&IdleTimeout::new(MINUTE), body(), quick, 2 * MINUTE).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_activity_times_out() {
        let start = Instant::now();
        assert!(IdleTimeout::new(MINUTE).run(pending::<()>()).await.is_none());
        assert_eq!(start.elapsed(), MINUTE);
    }

    /// A large body has a known length, so that `Content-Length` is sent.
    #[test]
    fn large_body_keeps_its_length() {
        let quiet = IdleTimeout::new(MINUTE);
        let large = buffered_body(Bytes::from(vec![0; CHUNK_SIZE + 1]), Some(&quiet));
        assert_eq!((large.size_hint().exact(), large.as_bytes()), (Some(CHUNK_SIZE as u64 + 1), None));
        assert_eq!(buffered_body(Bytes::from_static(b"small"), Some(&quiet)).as_bytes(), Some(&b"small"[..]));
    }
}
