//! Streams as blocking iterators.

use std::{fmt, future::poll_fn, pin::Pin};

use futures_core::Stream;

use super::BackgroundRuntime;

/// The items of a stream as an iterator that blocks the thread until the next item arrives.
///
/// [`get_ref`](Self::get_ref) returns the stream, for example for its position.
#[must_use = "items are requested only when the iterator advances"]
pub struct BlockingIter<S> {
    stream: S,
    runtime: BackgroundRuntime,
}

impl<S> BlockingIter<S> {
    pub(in crate::client) const fn new(stream: S, runtime: BackgroundRuntime) -> Self {
        Self { stream, runtime }
    }

    /// Returns the stream.
    #[must_use]
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Returns the stream for changes of its settings, or to continue after an error.
    #[must_use]
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Converts the stream, for example to enable reconnection.
    pub fn map_stream<U>(self, convert: impl FnOnce(S) -> U) -> BlockingIter<U> {
        BlockingIter { stream: convert(self.stream), runtime: self.runtime }
    }
}

impl<S: Stream + Unpin> Iterator for BlockingIter<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        let stream = &mut self.stream;
        self.runtime.block_on(poll_fn(|context| Pin::new(&mut *stream).poll_next(context)))
    }
}

impl<S: fmt::Debug> fmt::Debug for BlockingIter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockingIter").field(&self.stream).finish()
    }
}
