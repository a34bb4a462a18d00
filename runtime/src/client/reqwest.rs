//! A transport over reqwest for contracts that require no request signatures.

mod idle_timeout;
#[cfg(feature = "stream")]
mod streaming;
mod upgrade;

use std::{error::Error as StdError, future::Future, iter::successors, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode, header::USER_AGENT};
use tokio::time::timeout;

use self::idle_timeout::IdleTimeout;
pub use self::upgrade::ReqwestUpgrade;
use crate::{
    operation::Operation,
    transport::{
        Delivery, ResponseFuture, Transport, TransportError, TransportFault, UserAgent, from_partial_body,
    },
};

/// A transport that sends each request once and unchanged. It follows no redirects, does not retry, stores no
/// cookies, and limits the size of response bodies.
///
/// A response with an error status is returned even if its body is truncated, too large or too slow. It then
/// contains the bytes that arrived, and [`PartialBody`](crate::transport::PartialBody) among its extensions.
/// A `Retry-After` header is therefore never lost.
///
/// A response with status `101` has [`ReqwestUpgrade`] among its extensions, from which the caller takes the
/// connection.
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    client: reqwest::Client,
    max_body_size: usize,
    idle_timeout: Option<Duration>,
    call_timeout: Option<Duration>,
    error_body_timeout: Option<Duration>,
    /// True if requests without `User-Agent` get that of the generated client.
    sends_user_agent: bool,
}

impl ReqwestTransport {
    /// The default limit for the size of a response body: 64 MiB.
    pub const DEFAULT_MAX_BODY_SIZE: usize = 64 << 20;
    /// The default idle timeout: one minute.
    pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

    /// Creates a transport with a connect timeout of ten seconds and an idle timeout of one minute
    /// ([`with_idle_timeout`](Self::with_idle_timeout)). The duration of a call is not limited unless
    /// [`with_call_timeout`](Self::with_call_timeout) sets a limit.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up on this platform.
    pub fn new() -> Result<Self, TransportError> {
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            // reqwest would resend refused streams unchanged, which is wrong for requests that contain
            // single-use values such as nonces.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| to_transport_error(error, TransportFault::Request, Delivery::NotSent))?;
        Ok(Self {
            idle_timeout: Some(Self::DEFAULT_IDLE_TIMEOUT),
            sends_user_agent: true,
            ..Self::from_client(client)
        })
    }

    /// Creates a transport from a configured client. The client's redirect, retry, cookie and timeout
    /// settings apply; the transport adds no timeouts and no `User-Agent`.
    ///
    /// The total timeout of the client also ends streams, and its read timeout runs from the start of an
    /// upload to the head of the response. For long uploads use
    /// [`with_idle_timeout`](Self::with_idle_timeout) instead of both.
    #[must_use]
    pub const fn from_client(client: reqwest::Client) -> Self {
        Self {
            client,
            max_body_size: Self::DEFAULT_MAX_BODY_SIZE,
            idle_timeout: None,
            call_timeout: None,
            error_body_timeout: None,
            sends_user_agent: false,
        }
    }

    /// Ends a call when no chunk of the request is sent and no part of the response arrives for this long.
    /// The time in which the caller produces the next chunk of a request body does not count.
    ///
    /// A chunk counts as sent when the operating system accepts it into its buffer, so very slow connections
    /// need a longer timeout. Requires tokio's timer, like the timeouts of reqwest.
    #[must_use]
    pub const fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Ends a call whose response is not complete after this time, even if data is still being transferred.
    /// Does not apply to streams.
    #[must_use]
    pub const fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Sets the maximum size of a response body, in bytes.
    #[must_use]
    pub const fn with_max_body_size(mut self, bytes: usize) -> Self {
        self.max_body_size = bytes;
        self
    }

    /// Limits the time for reading the body of an error response, including error responses to streaming
    /// calls. After that time the response is returned with the bytes that arrived.
    ///
    /// Without this limit the idle timeout applies, and a caller with a shorter deadline never receives the
    /// head of the response. Requires tokio's timer.
    #[must_use]
    pub const fn with_error_body_timeout(mut self, timeout: Duration) -> Self {
        self.error_body_timeout = Some(timeout);
        self
    }

    fn add_user_agent<B>(&self, request: &mut http::Request<B>) {
        let Some(UserAgent(user_agent)) = request.extensions().get().filter(|_| self.sends_user_agent) else {
            return;
        };
        if let Ok(value) = HeaderValue::try_from(*user_agent) {
            request.headers_mut().entry(USER_AGENT).or_insert(value);
        }
    }

    async fn send_request(
        &self,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        self.add_user_agent(&mut request);
        let quiet = self.idle_timeout.map(IdleTimeout::new);
        let request = request.map(|body| idle_timeout::buffered_body(body, quiet.as_ref()));
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| to_transport_error(error, TransportFault::Request, Delivery::NotSent))?;
        *request.timeout_mut() = self.call_timeout;
        let mut response = self.send_for_head(request, quiet.as_ref()).await?;
        let status = response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(upgrade::upgraded_response(response));
        }
        let mut body = BodyBuffer::default();
        let reading = self.read_body(&mut response, &mut body);
        let read = match self.error_body_timeout.filter(|_| !status.is_success()) {
            Some(limit) => timeout(limit, reading).await.unwrap_or_else(|_| Err(idle_timeout_error())),
            None => reading.await,
        };
        let mut answer = http::Response::new(body.into_bytes());
        *answer.status_mut() = status;
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        from_partial_body(answer, read.err())
    }

    /// Reads a body to its end or to the first error.
    async fn read_body(
        &self,
        response: &mut reqwest::Response,
        body: &mut BodyBuffer,
    ) -> Result<(), TransportError> {
        while let Some(piece) =
            self.with_idle_limit(response.chunk()).await.and_then(|read| read.map_err(classify_body_error))?
        {
            if piece.len() > self.max_body_size - body.len() {
                return Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown));
            }
            body.push(piece);
        }
        Ok(())
    }

    /// Sends a request and returns when the head of the response arrives.
    async fn send_for_head(
        &self,
        request: reqwest::Request,
        quiet: Option<&IdleTimeout>,
    ) -> Result<reqwest::Response, TransportError> {
        let sending = self.client.execute(request);
        let response = match quiet {
            Some(quiet) => quiet.run(sending).await.ok_or_else(idle_timeout_error)?,
            None => sending.await,
        };
        response.map_err(classify_send_error)
    }

    /// Runs a future with the idle timeout.
    async fn with_idle_limit<T>(&self, work: impl Future<Output = T>) -> Result<T, TransportError> {
        match self.idle_timeout {
            Some(limit) => IdleTimeout::new(limit).run(work).await.ok_or_else(idle_timeout_error),
            None => Ok(work.await),
        }
    }
}

/// A buffer that collects a body. A body that consists of one chunk, as small ones do, is not copied.
#[derive(Default)]
struct BodyBuffer {
    first: Bytes,
    all: BytesMut,
}

impl BodyBuffer {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

fn idle_timeout_error() -> TransportError {
    TransportError::new(TransportFault::Timeout, Delivery::Unknown)
}

impl Transport for ReqwestTransport {
    fn send<'a>(
        &'a self,
        _operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(self.send_request(request))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        Some(self)
    }
}

/// Classifies an error that occurred before the head of a response arrived.
fn classify_send_error(error: reqwest::Error) -> TransportError {
    if let Some(fault) = request_body_fault(&error) {
        to_transport_error(error, fault, Delivery::Unknown)
    } else if error.is_builder() {
        to_transport_error(error, TransportFault::Request, Delivery::NotSent)
    } else if error.is_connect() {
        let host = error.url().and_then(host_of);
        let error = to_transport_error(error, TransportFault::Connect, Delivery::NotSent);
        match host {
            Some(host) => error.with_host(host),
            None => error,
        }
    } else if error.is_timeout() {
        to_transport_error(error, TransportFault::Timeout, Delivery::Unknown)
    } else if is_head_too_large(&error) {
        to_transport_error(error, TransportFault::TooLarge, Delivery::Unknown)
    } else {
        to_transport_error(error, TransportFault::Interrupted, Delivery::Unknown)
    }
}

/// Returns the host of a URL, with its port if it is not the default one of the scheme.
fn host_of(url: &reqwest::Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Returns true if the head of the response exceeds the limits of hyper. The message is compared because
/// hyper offers a predicate only with its server feature, which clients do not enable.
fn is_head_too_large(error: &reqwest::Error) -> bool {
    let mut causes = successors(error.source(), |&cause| cause.source());
    causes.any(|cause| cause.to_string() == "message head is too large")
}

/// Returns the fault if the request body itself failed. The sources of that error are not examined, because
/// they may concern another connection.
fn request_body_fault(error: &reqwest::Error) -> Option<TransportFault> {
    let mut causes = successors(error.source(), |&cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<TransportError>()).map(TransportError::fault)
}

/// Classifies an error that occurred while the body of a response was read.
fn classify_body_error(error: reqwest::Error) -> TransportError {
    let fault = if error.is_timeout() { TransportFault::Timeout } else { TransportFault::Interrupted };
    to_transport_error(error, fault, Delivery::Unknown)
}

/// Removes the URL from the error, because the query may contain secrets.
fn to_transport_error(error: reqwest::Error, fault: TransportFault, delivery: Delivery) -> TransportError {
    TransportError::new(fault, delivery).with_source(error.without_url())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        sync::mpsc,
        thread,
    };

    use super::*;
    use crate::transport::PartialBody;

    /// The behavior of the test server at the end of its response.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum ResponseEnd {
        Closed,
        /// The connection stays open without further data.
        Silent,
    }

    /// The method by which the test client reads the response.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum ResponseMode {
        Whole,
        #[cfg(feature = "stream")]
        Pieces,
    }

    type ObservedResponse = Result<(u16, Option<String>, usize, Option<PartialBody>), TransportFault>;

    /// The `User-Agent` of the generated client does not replace that of the caller or of a configured client.
    #[test]
    fn user_agent_of_the_generated_client_is_a_default() {
        let sent = |transport: &ReqwestTransport, own: Option<&str>| {
            let mut request = http::Request::get("http://a.example").extension(UserAgent("ships/1.2.3"));
            if let Some(own) = own {
                request = request.header(USER_AGENT, own);
            }
            let mut request = request.body(()).unwrap();
            transport.add_user_agent(&mut request);
            request.headers().get(USER_AGENT).map(|value| value.to_str().unwrap().to_owned())
        };
        let transport = ReqwestTransport::new().unwrap();
        assert_eq!(sent(&transport, None).as_deref(), Some("ships/1.2.3"));
        assert_eq!(sent(&transport, Some("own")).as_deref(), Some("own"));
        let configured = ReqwestTransport::from_client(reqwest::Client::new());
        assert_eq!(sent(&configured, None), None);
    }

    /// Requests a response that consists of `head` and of only the first `body` of 100 body bytes, once
    /// buffered and once as a stream. Checks that both results agree.
    async fn answered(
        head: &str,
        body: usize,
        end: ResponseEnd,
        set: impl Fn(ReqwestTransport) -> ReqwestTransport,
    ) -> ObservedResponse {
        let transport = set(ReqwestTransport::from_client(reqwest::Client::new()));
        let buffered = answered_by(ResponseMode::Whole, head, body, end, &transport).await;
        #[cfg(feature = "stream")]
        assert_eq!(
            answered_by(ResponseMode::Pieces, head, body, end, &transport).await,
            buffered,
            "in pieces"
        );
        buffered
    }

    async fn answered_by(
        way: ResponseMode,
        head: &str,
        body: usize,
        end: ResponseEnd,
        transport: &ReqwestTransport,
    ) -> ObservedResponse {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let response = format!(
            "HTTP/1.1 {head}\r\nRetry-After: 3600\r\nContent-Length: 100\r\n\r\n{}",
            "x".repeat(body)
        );
        let (over, is_over) = mpsc::channel::<()>();
        let server = thread::spawn(move || {
            let mut stream: TcpStream = listener.accept().unwrap().0;
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(response.as_bytes()).unwrap();
            if end == ResponseEnd::Silent {
                let _ = is_over.recv();
            }
        });
        let request = http::Request::get(uri).body(Bytes::new()).unwrap();
        let response = match way {
            ResponseMode::Whole => transport.send(&Operation::EMPTY, request).await,
            #[cfg(feature = "stream")]
            ResponseMode::Pieces => {
                use crate::transport::{RequestBody, StreamTransport as _, collect_response};

                match transport.open_stream(&Operation::EMPTY, request.map(RequestBody::Buffered)).await {
                    Ok(response) => collect_response(response, transport.max_body_size).await,
                    Err(error) => Err(error),
                }
            }
        };
        drop(over);
        server.join().unwrap();
        response.map_err(|error| error.fault()).map(|response| {
            let after = response.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
            let partial = response.extensions().get::<PartialBody>().copied();
            (response.status().as_u16(), after, response.body().len(), partial)
        })
    }

    /// The head of an error response determines the status and the `Retry-After` delay even if the body is
    /// incomplete. A success response needs its complete body.
    #[tokio::test]
    async fn error_response_is_valid_without_its_body() {
        let refused = |body, why| Ok((503, Some("3600".to_owned()), body, why));
        let error = "503 Service Unavailable";
        let cut = Some(PartialBody(TransportFault::Interrupted));
        assert_eq!(answered(error, 100, ResponseEnd::Closed, |all| all).await, refused(100, None));
        assert_eq!(answered(error, 7, ResponseEnd::Closed, |all| all).await, refused(7, cut));
        let large = answered(error, 100, ResponseEnd::Closed, |all| all.with_max_body_size(99)).await;
        assert_eq!(large, refused(0, Some(PartialBody(TransportFault::TooLarge))));
        let soon = Duration::from_millis(20);
        let slow = answered(error, 7, ResponseEnd::Silent, |all| all.with_error_body_timeout(soon)).await;
        assert_eq!(slow, refused(7, Some(PartialBody(TransportFault::Timeout))));

        let success = "200 OK";
        let many = success.to_owned() + &"\r\nX-Many: and many more".repeat(200);
        assert_eq!(answered(&many, 100, ResponseEnd::Closed, |all| all).await, Err(TransportFault::TooLarge));
        assert_eq!(
            answered(success, 7, ResponseEnd::Closed, |all| all).await,
            Err(TransportFault::Interrupted)
        );
        let large = answered(success, 100, ResponseEnd::Closed, |all| all.with_max_body_size(99)).await;
        assert_eq!(large, Err(TransportFault::TooLarge));
    }

    #[test]
    fn body_chunks_are_concatenated() {
        for pieces in [&["abc"][..], &["ab", "c"], &["", "a", "b", "c"], &[]] {
            let mut body = BodyBuffer::default();
            pieces.iter().for_each(|piece| body.push(Bytes::copy_from_slice(piece.as_bytes())));
            assert_eq!(
                (body.len(), body.into_bytes()),
                (pieces.concat().len(), Bytes::from(pieces.concat()))
            );
        }
    }
}
