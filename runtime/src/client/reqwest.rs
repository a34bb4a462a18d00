//! A plain transport, for contracts that need no signatures of their own.

#[cfg(feature = "stream")]
mod pieces;
mod quiet;

use std::{error::Error as StdError, future::Future, iter::successors, time::Duration};

use bytes::{Bytes, BytesMut};

use self::quiet::Quiet;
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
    quiet_time: Option<Duration>,
    call_time: Option<Duration>,
}

impl ReqwestTransport {
    /// Largest body that is read unless told otherwise: 64 MiB.
    pub const MAX_BODY: usize = 64 << 20;
    /// How long a server may be quiet unless told otherwise: a minute.
    pub const QUIET_TIME: Duration = Duration::from_secs(60);

    /// Ten seconds to connect, and a minute in which the server may be quiet
    /// ([`with_quiet_time`](Self::with_quiet_time)). A call as a whole takes as long as it takes, an
    /// upload as a stream, unless it is bounded ([`with_call_time`](Self::with_call_time)).
    ///
    /// # Errors
    /// When the platform's TLS cannot be set up.
    pub fn new() -> Result<Self, TransportError> {
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            // reqwest would resend refused streams unchanged, which is wrong for requests
            // that carry anything used once.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        Ok(Self { quiet_time: Some(Self::QUIET_TIME), ..Self::from_client(client) })
    }

    /// Sends through a client that was set up elsewhere (headers, proxies, time limits). Its
    /// redirects, retries and cookies are whatever they were set to, and there are no time limits but
    /// its own. One for whole calls ends streams too, one for reads counts from the sending of a
    /// request to the head of its answer: long uploads need [`with_quiet_time`](Self::with_quiet_time)
    /// instead of both.
    #[must_use]
    pub const fn from_client(client: reqwest::Client) -> Self {
        Self { client, max_body: Self::MAX_BODY, quiet_time: None, call_time: None }
    }

    /// Gives a call up when nothing moves for so long: no piece of the request leaves, the head of the
    /// answer does not come, no piece of its body does. While this side makes the next piece of a
    /// request, the server is not quiet.
    ///
    /// What leaves is known as far as the system takes it, which keeps some of it: very slow
    /// connections need more time. Asks for tokio's timer, as reqwest's own limits do.
    #[must_use]
    pub const fn with_quiet_time(mut self, longest: Duration) -> Self {
        self.quiet_time = Some(longest);
        self
    }

    /// Gives a call up that has no whole answer after so long, whatever moves. Streams have no such
    /// end.
    #[must_use]
    pub const fn with_call_time(mut self, longest: Duration) -> Self {
        self.call_time = Some(longest);
        self
    }

    /// Reads bodies up to so many bytes.
    #[must_use]
    pub const fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    async fn exchange(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let quiet = self.quiet_time.map(Quiet::new);
        let request = request.map(|body| quiet::whole(body, quiet.as_ref()));
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        *request.timeout_mut() = self.call_time;
        let mut response = self.head(request, quiet.as_ref()).await?;
        let too_large = || TransportError::new(TransportFault::TooLarge, Delivery::Unknown);
        let mut body = BytesMut::new();
        while let Some(chunk) = self.patiently(response.chunk()).await?.map_err(cut)? {
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

    /// Sends a request; comes back with the head of its answer.
    async fn head(
        &self,
        request: reqwest::Request,
        quiet: Option<&Quiet>,
    ) -> Result<reqwest::Response, TransportError> {
        let sending = self.client.execute(request);
        let answer = match quiet {
            Some(quiet) => quiet.bound(sending).await.ok_or_else(quiet_too_long)?,
            None => sending.await,
        };
        answer.map_err(unanswered)
    }

    /// Waits for something for as long as the server may be quiet.
    async fn patiently<T>(&self, work: impl Future<Output = T>) -> Result<T, TransportError> {
        match self.quiet_time {
            Some(longest) => Quiet::new(longest).bound(work).await.ok_or_else(quiet_too_long),
            None => Ok(work.await),
        }
    }
}

fn quiet_too_long() -> TransportError {
    TransportError::new(TransportFault::Timeout, Delivery::Unknown)
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
