//! A client that encodes requests as generated clients do, and never sends them.

use contract_runtime::{
    client::ApiClient,
    operation::Operation,
    server::Bytes,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault},
};
use http::Request;

/// Returns a client that only encodes requests.
pub(crate) fn request_encoder() -> ApiClient {
    ApiClient::new("https://a.example", UnusedTransport)
}

/// The transport of the client. It is never used.
#[derive(Debug)]
struct UnusedTransport;

impl Transport for UnusedTransport {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        let error = TransportError::new(TransportFault::Request, Delivery::NotSent);
        Box::pin(std::future::ready(Err(error)))
    }
}
