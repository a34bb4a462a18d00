//! A network transport that can lose a response after the request has arrived.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use exchange_client::api::{
    Transport, TransportError,
    runtime::{
        client::ReqwestTransport,
        operation::Operation,
        transport::{Delivery, ResponseFuture, TransportFault},
    },
};
use http::Request;

/// A network transport. Clones share its counters and its lost response.
#[derive(Clone, Debug)]
pub struct LossyNetwork(Arc<NetworkInner>);

#[derive(Debug)]
struct NetworkInner {
    inner_transport: ReqwestTransport,
    sent: AtomicU32,
    loses: Mutex<Option<&'static str>>,
}

impl LossyNetwork {
    /// Creates a transport that uses this machine's network.
    ///
    /// # Panics
    /// Panics if TLS cannot be initialized.
    #[must_use]
    pub fn new() -> Self {
        let inner_transport = ReqwestTransport::new().expect("TLS can be initialized");
        Self(Arc::new(NetworkInner { inner_transport, sent: AtomicU32::new(0), loses: Mutex::default() }))
    }

    /// Returns the number of requests since the last call of this method.
    #[must_use]
    pub fn take_request_count(&self) -> u32 {
        self.0.sent.swap(0, Ordering::SeqCst)
    }

    /// Loses the next successful response to this operation.
    pub fn lose_next_response(&self, operation: &'static str) {
        *self.lost_operation() = Some(operation);
    }

    fn lost_operation(&self) -> MutexGuard<'_, Option<&'static str>> {
        self.0.loses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for LossyNetwork {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for LossyNetwork {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            self.0.sent.fetch_add(1, Ordering::SeqCst);
            let response = self.0.inner_transport.send(operation, request).await?;
            let succeeded = response.status().is_success();
            match self.lost_operation().take_if(|lost| succeeded && *lost == operation.id) {
                Some(_) => Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown)),
                None => Ok(response),
            }
        })
    }
}
