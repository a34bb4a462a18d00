//! A request's body that has to come within its time, whoever reads it.
//!
//! [`Server`](crate::serve::Server) gives every body a time, and so does the gateway, whose router others may serve:
//! both clocks start together, when the body is awaited for the first time.

use std::error::Error;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Fails with [`TooSlow`] when it has not ended in time; then nothing more of its connection is read.
pub(crate) struct Timed<B> {
    body: B,
    longest: Duration,
    clock: Clock,
}

enum Clock {
    /// Nobody has waited for it yet.
    Unstarted,
    Runs(Pin<Box<Sleep>>),
    /// A timer that has ended is not asked again.
    Over,
}

/// The body has taken too long.
#[derive(Debug, thiserror::Error)]
#[error("the body took too long")]
pub(crate) struct TooSlow;

/// Whether an error of a body, or what it came from, is [`TooSlow`].
pub(crate) fn is_too_slow(error: &(dyn Error + 'static)) -> bool {
    error.is::<TooSlow>() || error.source().is_some_and(is_too_slow)
}

impl<B: Body> Timed<B> {
    /// A body that may take so long, from when it is awaited.
    pub(crate) fn new(body: B, longest: Duration) -> Self {
        Self { body, longest, clock: Clock::Unstarted }
    }

    /// Whether its time is over; starts the clock.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if matches!(self.clock, Clock::Unstarted) {
            self.clock = Clock::Runs(Box::pin(sleep(self.longest)));
        }
        let Clock::Runs(ends) = &mut self.clock else { return true };
        let over = ends.as_mut().poll(cx).is_ready();
        if over {
            self.clock = Clock::Over;
        }
        over
    }
}

impl<B> Body for Timed<B>
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
        let own = self.get_mut();
        let poll = Pin::new(&mut own.body).poll_frame(cx).map_err(Into::into);
        if poll.is_pending() && own.is_over(cx) {
            return Poll::Ready(Some(Err(TooSlow.into())));
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

    const LONGEST: Duration = Duration::from_secs(20);

    /// One piece, when its time has come.
    struct Piece(Option<Pin<Box<Sleep>>>);

    impl Body for Piece {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            let own = self.get_mut();
            let Some(comes) = &mut own.0 else { return Poll::Ready(None) };
            std::task::ready!(comes.as_mut().poll(cx));
            own.0 = None;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece")))))
        }
    }

    /// A body that comes so many seconds from now.
    fn comes_in(seconds: u64) -> Piece {
        Piece(Some(Box::pin(sleep(Duration::from_secs(seconds)))))
    }

    /// The clock starts when the body is awaited: what happens before is not the sender's time.
    #[tokio::test(start_paused = true)]
    async fn the_time_is_the_senders() {
        let body = Timed::new(comes_in(75), LONGEST);
        advance(Duration::from_secs(60)).await;
        assert_eq!(body.collect().await.unwrap().to_bytes(), "piece");
    }

    /// What comes too late is cut when its time is over, and stays cut; whoever wraps it, it is known.
    #[tokio::test(start_paused = true)]
    async fn what_comes_too_late_is_cut() {
        let before = Instant::now();
        let inner = axum::body::Body::new(Timed::new(comes_in(21), LONGEST));
        let mut body = Timed::new(inner, Duration::from_secs(60));
        for _ in 0..2 {
            let error = body.frame().await.unwrap().unwrap_err();
            assert!(is_too_slow(error.as_ref()), "{error}");
            assert_eq!(before.elapsed(), LONGEST);
        }
        assert!(!is_too_slow(&std::io::Error::from(std::io::ErrorKind::TimedOut)));
    }
}
