//! A transport over any service of tower: a client of hyper, a stack of somebody's layers, a router.

use std::{error::Error as StdError, fmt, future::poll_fn, pin::pin};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use tower_service::Service;

use crate::{
    operation::Operation,
    transport::{Delivery, Sending, Transport, TransportError, TransportFault, of_what_came},
};

/// Sends requests through a clone of a service, and reads bodies up to a limit. The service finds the
/// `&'static Operation` among the extensions of the request.
/// Bodies are sent and read whole: methods that stream need a transport that does.
///
/// What a service fails with is [`TransportFault::Other`] and [`Delivery::Unknown`], unless it is a
/// [`TransportError`] itself, or `failed` says better.
#[derive(Clone)]
pub struct TowerTransport<S> {
    service: S,
    max_body: usize,
    failed: fn(&(dyn StdError + Send + Sync + 'static)) -> (TransportFault, Delivery),
}

impl<S> TowerTransport<S> {
    /// Largest body that is read unless told otherwise: 64 MiB.
    pub const MAX_BODY: usize = 64 << 20;

    /// A transport over a service.
    pub const fn new(service: S) -> Self {
        Self { service, max_body: Self::MAX_BODY, failed: |_| (TransportFault::Other, Delivery::Unknown) }
    }

    /// Reads bodies up to so many bytes.
    #[must_use]
    pub const fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Says what the service's errors mean, and whether the request may have arrived.
    #[must_use]
    pub const fn with_faults(
        mut self,
        failed: fn(&(dyn StdError + Send + Sync + 'static)) -> (TransportFault, Delivery),
    ) -> Self {
        self.failed = failed;
        self
    }

    fn error(&self, error: Box<dyn StdError + Send + Sync>) -> TransportError {
        match error.downcast::<TransportError>() {
            Ok(own) => *own,
            Err(error) => {
                let (fault, delivery) = (self.failed)(&*error);
                // Its text may hold an address or more.
                TransportError::new(fault, delivery)
            }
        }
    }

    /// What comes of a body, and why it is not all of it.
    async fn read<B>(&self, body: B) -> (Bytes, Option<TransportFault>)
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let mut body = pin!(body);
        let mut came = BytesMut::new();
        let fault = loop {
            match poll_fn(|context| body.as_mut().poll_frame(context)).await {
                None => break None,
                Some(Err(error)) => {
                    break Some(match self.error(error.into()).fault() {
                        TransportFault::Other => TransportFault::Interrupted,
                        fault => fault,
                    });
                }
                Some(Ok(frame)) => {
                    // Others are trailers.
                    let data = frame.into_data().unwrap_or_default();
                    if data.len() > self.max_body - came.len() {
                        break Some(TransportFault::TooLarge);
                    }
                    came.extend_from_slice(&data);
                }
            }
        };
        (came.freeze(), fault)
    }
}

impl<S> fmt::Debug for TowerTransport<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerTransport").field("max_body", &self.max_body).finish_non_exhaustive()
    }
}

impl<S, B> Transport for TowerTransport<S>
where
    S: Service<http::Request<Bytes>, Response = http::Response<B>> + Clone + Send + Sync,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    fn send<'a>(&'a self, operation: &'static Operation, mut request: http::Request<Bytes>) -> Sending<'a> {
        request.extensions_mut().insert(operation);
        let mut service = self.service.clone();
        Box::pin(async move {
            let not_sent = |error: S::Error| match self.error(error.into()) {
                error if error.fault() == TransportFault::Other => {
                    TransportError::new(TransportFault::Connect, Delivery::NotSent)
                }
                error => error,
            };
            poll_fn(|context| service.poll_ready(context)).await.map_err(not_sent)?;
            let answer = service.call(request).await.map_err(|error| self.error(error.into()))?;
            let (parts, body) = answer.into_parts();
            let (came, fault) = self.read(body).await;
            // An answer has begun: whatever the error says of it, the request arrived.
            let error = fault.map(|fault| TransportError::new(fault, Delivery::Unknown));
            of_what_came(http::Response::from_parts(parts, came), error)
        })
    }
}
