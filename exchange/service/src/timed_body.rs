//! A request body with a timeout.
//!
//! [`Server`](crate::serve::Server) sets a timeout on every body. The gateway does so as well, because its
//! router may be used by other servers. Both timers start when the body is first polled.

use std::error::Error;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A body that fails with [`BodyTimeout`] if it does not end before the timeout.
pub(crate) struct TimedBody<B> {
    body: B,
    timeout: Duration,
    timer: BodyTimer,
}

enum BodyTimer {
    NotStarted,
    Running(Pin<Box<Sleep>>),
    /// The timer has fired and must not be polled again.
    Elapsed,
}

/// The error of a body that did not end before its timeout.
#[derive(Debug, thiserror::Error)]
#[error("the body took too long")]
pub(crate) struct BodyTimeout;

/// Returns true if an error or one of its sources is [`BodyTimeout`].
pub(crate) fn is_body_timeout(error: &(dyn Error + 'static)) -> bool {
    error.is::<BodyTimeout>() || error.source().is_some_and(is_body_timeout)
}

impl<B: Body> TimedBody<B> {
    /// Creates a body with a timeout that starts at the first poll.
    pub(crate) fn new(body: B, timeout: Duration) -> Self {
        Self { body, timeout, timer: BodyTimer::NotStarted }
    }

    /// Starts the timer if necessary. Returns true once the timer has fired.
    fn has_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        if matches!(self.timer, BodyTimer::NotStarted) {
            self.timer = BodyTimer::Running(Box::pin(sleep(self.timeout)));
        }
        let BodyTimer::Running(ends) = &mut self.timer else { return true };
        let over = ends.as_mut().poll(cx).is_ready();
        if over {
            self.timer = BodyTimer::Elapsed;
        }
        over
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.body).poll_frame(cx).map_err(Into::into);
        if poll.is_pending() && this.has_timed_out(cx) {
            return Poll::Ready(Some(Err(BodyTimeout.into())));
        }
        poll
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::time::{Instant, advance};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A body with a single chunk that is available after a delay.
    struct Piece(Option<Pin<Box<Sleep>>>);

    impl Body for Piece {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            let this = self.get_mut();
            let Some(comes) = &mut this.0 else { return Poll::Ready(None) };
            std::task::ready!(comes.as_mut().poll(cx));
            this.0 = None;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece")))))
        }
    }

    /// Creates a body whose chunk is available after `seconds`.
    fn comes_in(seconds: u64) -> Piece {
        Piece(Some(Box::pin(sleep(Duration::from_secs(seconds)))))
    }

    /// The timer starts at the first poll, so the time before that does not count.
    #[tokio::test(start_paused = true)]
    async fn timer_starts_at_the_first_poll() {
        let body = TimedBody::new(comes_in(75), TIMEOUT);
        advance(Duration::from_secs(60)).await;
        assert_eq!(body.collect().await.unwrap().to_bytes(), "piece");
    }

    /// A body that is not complete at the timeout fails then, and every later poll fails as well.
    /// [`is_body_timeout`] also finds the error among the sources of another error.
    #[tokio::test(start_paused = true)]
    async fn late_body_fails() {
        let before = Instant::now();
        let inner = axum::body::Body::new(TimedBody::new(comes_in(21), TIMEOUT));
        let mut body = TimedBody::new(inner, Duration::from_secs(60));
        for _ in 0..2 {
            let error = body.frame().await.unwrap().unwrap_err();
            assert!(is_body_timeout(error.as_ref()), "{error}");
            assert_eq!(before.elapsed(), TIMEOUT);
        }
        assert!(!is_body_timeout(&std::io::Error::from(std::io::ErrorKind::TimedOut)));
    }
}
