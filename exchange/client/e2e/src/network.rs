//! The way to the network, on which an answer can be lost after the request arrived.

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
        transport::{Delivery, Sending, TransportFault},
    },
};
use http::Request;

/// The network. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Network(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    below: ReqwestTransport,
    sent: AtomicU32,
    loses: Mutex<Option<&'static str>>,
}

impl Network {
    /// This machine's.
    ///
    /// # Panics
    /// When TLS cannot be set up.
    #[must_use]
    pub fn new() -> Self {
        let below = ReqwestTransport::new().expect("a machine with a network");
        Self(Arc::new(Inner { below, sent: AtomicU32::new(0), loses: Mutex::default() }))
    }

    /// How many requests were sent since the last time that somebody asked.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.0.sent.swap(0, Ordering::SeqCst)
    }

    /// The next answer of success to this operation is lost: only what was done is worth losing.
    pub fn lose(&self, operation: &'static str) {
        *self.loses() = Some(operation);
    }

    fn loses(&self) -> MutexGuard<'_, Option<&'static str>> {
        self.0.loses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Network {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            self.0.sent.fetch_add(1, Ordering::SeqCst);
            let answer = self.0.below.send(operation, request).await?;
            let succeeded = answer.status().is_success();
            match self.loses().take_if(|lost| succeeded && *lost == operation.id) {
                Some(_) => Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown)),
                None => Ok(answer),
            }
        })
    }
}
