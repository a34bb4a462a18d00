//! How long the other side may be quiet: no piece of a body taken, none given.
//!
//! reqwest has a limit for each read, which counts from the sending of a request to the head of its
//! answer, however long its body takes; this one begins anew with every piece that leaves.

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

/// How much of a body that is whole leaves as one piece.
const PIECE: usize = 64 << 10;

/// Since when the other side is quiet; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    longest: Duration,
    /// `None` while this side makes the next piece.
    since: Arc<Mutex<Option<Instant>>>,
}

impl Quiet {
    /// From now on.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, since: Arc::new(Mutex::new(Some(Instant::now()))) }
    }

    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// When it has been so for too long.
    fn end(&self) -> Instant {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.unwrap_or_else(Instant::now) + self.longest
    }

    /// What comes of `work`; `None` when nothing moves for so long before it ends.
    pub(super) async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let mut sleeping = pin!(sleep_until(self.end()));
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            loop {
                ready!(sleeping.as_mut().poll(context));
                let end = self.end();
                if end <= Instant::now() {
                    return Poll::Ready(None);
                }
                sleeping.as_mut().reset(end);
            }
        })
        .await
    }
}

/// A body of a request, of which every piece that is taken is a sign of life.
pub(super) struct Watched<B> {
    body: B,
    quiet: Quiet,
}

impl<B> Watched<B> {
    pub(super) const fn new(body: B, quiet: Quiet) -> Self {
        Self { body, quiet }
    }
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.quiet.set(frame.is_ready().then(Instant::now));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that is there, piece by piece.
pub(super) struct Whole(Bytes);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.len().min(PIECE);
        Poll::Ready((piece > 0).then(|| Ok(Frame::data(self.0.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// A body that is there, as reqwest sends it: one of a few pieces tells when they leave.
pub(super) fn whole(bytes: Bytes, quiet: Option<&Quiet>) -> reqwest::Body {
    match quiet {
        Some(quiet) if bytes.len() > PIECE => reqwest::Body::wrap(Watched::new(Whole(bytes), quiet.clone())),
        _ => bytes.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Takes a body with so much time before each piece, as a slow connection does, and says how long
    /// all of it took, then waits for an answer.
    async fn sent(
        quiet: &Quiet,
        body: impl Body<Error = Infallible> + Unpin,
        slow: Duration,
        answer: Duration,
    ) -> Option<u64> {
        let mut body = Watched::new(body, quiet.clone());
        let start = Instant::now();
        let sending = async {
            while poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_some() {
                sleep(slow).await;
            }
            sleep(answer).await;
            start.elapsed().as_secs()
        };
        quiet.bound(sending).await
    }

    /// What moves takes as long as it takes; what does not move ends.
    #[tokio::test(start_paused = true)]
    async fn only_silence_ends_an_upload() {
        let whole = |pieces: usize| Whole(Bytes::from(vec![0; pieces * PIECE]));
        let soon = Duration::from_secs(1);
        let slow = Duration::from_secs(50);
        assert_eq!(sent(&Quiet::new(MINUTE), whole(10), slow, soon).await, Some(501));
        assert_eq!(sent(&Quiet::new(MINUTE), whole(10), Duration::from_secs(61), soon).await, None);
        assert_eq!(sent(&Quiet::new(MINUTE), whole(1), soon, Duration::from_secs(58)).await, Some(59));
        assert_eq!(sent(&Quiet::new(MINUTE), whole(1), soon, Duration::from_secs(61)).await, None);
    }

    /// A piece that this side has yet to make is no silence of the other.
    #[tokio::test(start_paused = true)]
    async fn a_slow_maker_is_waited_for() {
        struct Slow(Pin<Box<tokio::time::Sleep>>, u8);

        impl Body for Slow {
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
        let body = || Slow(Box::pin(sleep(5 * MINUTE)), 2);
        let quick = Duration::ZERO;
        assert_eq!(sent(&Quiet::new(MINUTE), body(), quick, quick).await, Some(600));
        assert_eq!(sent(&Quiet::new(MINUTE), body(), quick, 2 * MINUTE).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_at_all_is_silence() {
        let start = Instant::now();
        assert!(Quiet::new(MINUTE).bound(pending::<()>()).await.is_none());
        assert_eq!(start.elapsed(), MINUTE);
    }

    /// Its length is known, so that it is sent with one.
    #[test]
    fn a_large_body_keeps_its_length() {
        let quiet = Quiet::new(MINUTE);
        let large = whole(Bytes::from(vec![0; PIECE + 1]), Some(&quiet));
        assert_eq!((large.size_hint().exact(), large.as_bytes()), (Some(PIECE as u64 + 1), None));
        assert_eq!(whole(Bytes::from_static(b"small"), Some(&quiet)).as_bytes(), Some(&b"small"[..]));
    }
}
