//! A timeout for each call.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::Bytes;

use super::retry::AttemptTally;
use crate::{
    operation::Operation,
    transport::{Delivery, ResponseFuture, Timer, Transport, TransportError, TransportFault},
};

/// A transport that ends a call if no response is received in time. For a stream, the timeout applies until
/// the head of the response arrives.
#[derive(Clone)]
pub struct Timeout<T> {
    transport: T,
    duration: Duration,
    timer: Arc<dyn Timer>,
}

impl<T> Timeout<T> {
    /// Creates a transport with this timeout for each call.
    pub fn new(transport: T, time: Duration, timer: impl Timer + 'static) -> Self {
        Self { transport, duration: time, timer: Arc::new(timer) }
    }

    async fn run_with_timeout<A>(
        &self,
        tally: AttemptTally,
        sending: impl Future<Output = Result<A, TransportError>>,
    ) -> Result<A, TransportError> {
        let mut sending = pin!(sending);
        let mut sleeping = self.timer.sleep(self.duration);
        poll_fn(|context| {
            if let Poll::Ready(response) = sending.as_mut().poll(context) {
                return Poll::Ready(response);
            }
            // Without a response, it is unknown whether the request arrived.
            let late = || TransportError::new(TransportFault::Timeout, Delivery::Unknown);
            sleeping.as_mut().poll(context).map(|()| Err(tally.annotate_error(late())))
        })
        .await
    }
}

impl<T> fmt::Debug for Timeout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout").field("duration", &self.duration).finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for Timeout<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        let tally = AttemptTally::from_extensions(request.extensions_mut());
        Box::pin(self.run_with_timeout(tally, self.transport.send(operation, request)))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Timeout<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        mut request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        Box::pin(async move {
            let streams =
                self.transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            let tally = AttemptTally::from_extensions(request.extensions_mut());
            self.run_with_timeout(tally, streams.open_stream(operation, request)).await
        })
    }
}
