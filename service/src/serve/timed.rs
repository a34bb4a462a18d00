//! A request's body that has to come within its time, whoever reads it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

/// Fails when it has not ended in time; then nothing more of its connection is read.
pub(super) struct Timed {
    body: Incoming,
    /// None for a body that has ended with the head.
    ends: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(super) fn new(body: Incoming, longest: Duration) -> Self {
        let ends = (!body.is_end_stream()).then(|| Box::pin(sleep(longest)));
        Self { body, ends }
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let own = self.get_mut();
        let poll = Pin::new(&mut own.body).poll_frame(cx).map_err(io::Error::other);
        if poll.is_pending() && own.ends.as_mut().is_some_and(|ends| ends.as_mut().poll(cx).is_ready()) {
            // A timer that has ended is not asked again.
            own.ends = None;
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
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
