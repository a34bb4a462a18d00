//! A plain transport, for contracts that need no signatures of their own.

#[cfg(feature = "stream")]
mod pieces;

use std::{error::Error as StdError, iter::successors, time::Duration};

use bytes::{Bytes, BytesMut};

use crate::{
    operation::Operation,
    transport::{Delivery, Sending, Transport, TransportError, TransportFault},
};

/// Sends each request once, as it is. Follows no redirect (the answer is the caller's),
/// repeats nothing, keeps no cookies, and reads bodies up to a limit.
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    client: reqwest::Client,
    max_body: usize,
    /// For a whole call; none where the client has its own.
    timeout: Option<Duration>,
}

impl ReqwestTransport {
    /// Largest body that is read unless told otherwise: 64 MiB.
    pub const MAX_BODY: usize = 64 << 20;

    /// Ten seconds to connect, sixty for a whole call. A stream has no such end: of it, sixty for
    /// the head, and between two pieces. A body in pieces is sent before the head comes: who sends
    /// for longer has a client of their own ([`from_client`](Self::from_client)).
    ///
    /// # Errors
    /// When the platform's TLS cannot be set up.
    pub fn new() -> Result<Self, TransportError> {
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(60))
            .redirect(reqwest::redirect::Policy::none())
            // reqwest would resend refused streams unchanged, which is wrong for requests
            // that carry anything used once.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        Ok(Self { timeout: Some(Duration::from_secs(60)), ..Self::from_client(client) })
    }

    /// Sends through a client that was set up elsewhere (headers, proxies, time limits). Its
    /// redirects, retries and cookies are whatever they were set to. A time limit for whole calls
    /// ends streams too; a client for those has one for each read instead.
    #[must_use]
    pub const fn from_client(client: reqwest::Client) -> Self {
        Self { client, max_body: Self::MAX_BODY, timeout: None }
    }

    /// Reads bodies up to so many bytes.
    #[must_use]
    pub const fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    async fn exchange(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        *request.timeout_mut() = self.timeout;
        let mut response = self.client.execute(request).await.map_err(unanswered)?;
        let too_large = || TransportError::new(TransportFault::TooLarge, Delivery::Unknown);
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(cut)? {
            if chunk.len() > self.max_body - body.len() {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = http::Response::new(body.freeze());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        Ok(answer)
    }
}

impl Transport for ReqwestTransport {
    fn send<'a>(&'a self, _operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(self.exchange(request))
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        Some(self)
    }
}

/// Before there is an answer.
fn unanswered(error: reqwest::Error) -> TransportError {
    if let Some(fault) = of_own_body(&error) {
        failed(error, fault, Delivery::Unknown)
    } else if error.is_builder() {
        failed(error, TransportFault::Request, Delivery::NotSent)
    } else if error.is_connect() {
        failed(error, TransportFault::Connect, Delivery::NotSent)
    } else if error.is_timeout() {
        failed(error, TransportFault::Timeout, Delivery::Unknown)
    } else {
        failed(error, TransportFault::Interrupted, Delivery::Unknown)
    }
}

/// What the body of the request itself failed with. What lies behind that may be about another
/// connection, and says nothing of this one.
fn of_own_body(error: &reqwest::Error) -> Option<TransportFault> {
    let mut causes = successors(error.source(), |&cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<TransportError>()).map(TransportError::fault)
}

/// In the middle of an answer.
fn cut(error: reqwest::Error) -> TransportError {
    let fault = if error.is_timeout() { TransportFault::Timeout } else { TransportFault::Interrupted };
    failed(error, fault, Delivery::Unknown)
}

/// Without the address: queries may hold what no log may show.
fn failed(error: reqwest::Error, fault: TransportFault, delivery: Delivery) -> TransportError {
    TransportError::new(fault, delivery).with_source(error.without_url())
}
