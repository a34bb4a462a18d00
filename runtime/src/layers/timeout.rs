//! A time for each call.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;

use super::retry::Tally;
use crate::{
    operation::Operation,
    transport::{Delivery, Sending, Timer, Transport, TransportError, TransportFault},
};

/// Gives a call up that has no answer in time. Of a stream, the time is for the head of its answer.
#[derive(Clone)]
pub struct Timeout<T> {
    transport: T,
    time: Duration,
    timer: Arc<dyn Timer>,
}

impl<T> Timeout<T> {
    /// So much time for each call.
    pub fn new(transport: T, time: Duration, timer: impl Timer + 'static) -> Self {
        Self { transport, time, timer: Arc::new(timer) }
    }

    async fn within<A>(
        &self,
        tally: Tally,
        sending: impl Future<Output = Result<A, TransportError>>,
    ) -> Result<A, TransportError> {
        let mut sending = pin!(sending);
        let mut sleeping = self.timer.sleep(self.time);
        poll_fn(|context| {
            if let Poll::Ready(answer) = sending.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            // Whether it arrived, nobody can know who does not wait for the answer.
            let late = || TransportError::new(TransportFault::Timeout, Delivery::Unknown);
            sleeping.as_mut().poll(context).map(|()| Err(tally.count(late())))
        })
        .await
    }
}

impl<T> fmt::Debug for Timeout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout").field("time", &self.time).finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for Timeout<T> {
    fn send<'a>(&'a self, operation: &'static Operation, mut request: http::Request<Bytes>) -> Sending<'a> {
        let tally = Tally::of(request.extensions_mut());
        Box::pin(self.within(tally, self.transport.send(operation, request)))
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.streams().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Timeout<T> {
    fn open<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::Opening<'a> {
        Box::pin(async move {
            let streams = self.transport.streams().ok_or_else(crate::transport::no_streams)?;
            let tally = Tally::of(request.extensions_mut());
            self.within(tally, streams.open(operation, request)).await
        })
    }
}
