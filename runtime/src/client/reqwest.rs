//! A plain transport, for contracts that need no signatures of their own.

#[cfg(feature = "stream")]
mod pieces;
mod quiet;

use std::{error::Error as StdError, future::Future, iter::successors, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::time::timeout;

use self::quiet::Quiet;
use crate::{
    operation::Operation,
    transport::{Delivery, Sending, Transport, TransportError, TransportFault, of_what_came},
};

/// Sends each request once, as it is. Follows no redirect (the answer is the caller's),
/// repeats nothing, keeps no cookies, and reads bodies up to a limit.
///
/// An answer that is no success is one as soon as its head is there: of a body that is cut, too
/// large or slow it has what came, and [`Partial`](crate::transport::Partial) among its extensions. So
/// nobody loses what `Retry-After` asked for.
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    client: reqwest::Client,
    max_body: usize,
    quiet_time: Option<Duration>,
    call_time: Option<Duration>,
    refusal_time: Option<Duration>,
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
        Self { client, max_body: Self::MAX_BODY, quiet_time: None, call_time: None, refusal_time: None }
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

    /// Hears the body of an answer that is no success out for so long, also where a stream was asked for:
    /// what came of it by then is all of it. Without this a server that stalls there is waited for as
    /// everywhere else, and who gives the call up from outside never sees the head of its answer. Asks
    /// for tokio's timer.
    #[must_use]
    pub const fn with_refusal_time(mut self, longest: Duration) -> Self {
        self.refusal_time = Some(longest);
        self
    }

    async fn exchange(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let quiet = self.quiet_time.map(Quiet::new);
        let request = request.map(|body| quiet::whole(body, quiet.as_ref()));
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        *request.timeout_mut() = self.call_time;
        let mut response = self.head(request, quiet.as_ref()).await?;
        let status = response.status();
        let mut body = Received::default();
        let reading = self.read(&mut response, &mut body);
        let read = match self.refusal_time.filter(|_| !status.is_success()) {
            Some(longest) => timeout(longest, reading).await.unwrap_or_else(|_| Err(quiet_too_long())),
            None => reading.await,
        };
        let mut answer = http::Response::new(body.whole());
        *answer.status_mut() = status;
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        of_what_came(answer, read.err())
    }

    /// Reads a body to its end, or as far as it comes.
    async fn read(
        &self,
        response: &mut reqwest::Response,
        body: &mut Received,
    ) -> Result<(), TransportError> {
        while let Some(piece) = self.patiently(response.chunk()).await.and_then(|read| read.map_err(cut))? {
            if piece.len() > self.max_body - body.len() {
                return Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown));
            }
            body.add(piece);
        }
        Ok(())
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

/// What came of a body. One that came as one piece, as small ones do, is not copied.
#[derive(Default)]
struct Received {
    first: Bytes,
    all: BytesMut,
}

impl Received {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn add(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    fn whole(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
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
    } else if has_too_large_a_head(&error) {
        failed(error, TransportFault::TooLarge, Delivery::Unknown)
    } else {
        failed(error, TransportFault::Interrupted, Delivery::Unknown)
    }
}

/// Whether the answer has more headers, or longer ones, than are read. hyper has a predicate for that with its server
/// alone, which no client brings along: it is known by hyper's words.
fn has_too_large_a_head(error: &reqwest::Error) -> bool {
    let mut causes = successors(error.source(), |&cause| cause.source());
    causes.any(|cause| cause.to_string() == "message head is too large")
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

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        sync::mpsc,
        thread,
    };

    use super::*;
    use crate::transport::Partial;

    /// How an answer ends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum End {
        Closed,
        /// The connection stays, and nothing comes.
        Silent,
    }

    /// How an answer is asked for.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Way {
        Whole,
        #[cfg(feature = "stream")]
        Pieces,
    }

    type Answered = Result<(u16, Option<String>, usize, Option<Partial>), TransportFault>;

    /// What comes of an answer with this head and so much of its body of 100 bytes, by all ways the same.
    async fn answered(
        head: &str,
        body: usize,
        end: End,
        set: impl Fn(ReqwestTransport) -> ReqwestTransport,
    ) -> Answered {
        let transport = set(ReqwestTransport::from_client(reqwest::Client::new()));
        let whole = answered_by(Way::Whole, head, body, end, &transport).await;
        #[cfg(feature = "stream")]
        assert_eq!(answered_by(Way::Pieces, head, body, end, &transport).await, whole, "in pieces");
        whole
    }

    async fn answered_by(
        way: Way,
        head: &str,
        body: usize,
        end: End,
        transport: &ReqwestTransport,
    ) -> Answered {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let answer = format!(
            "HTTP/1.1 {head}\r\nRetry-After: 3600\r\nContent-Length: 100\r\n\r\n{}",
            "x".repeat(body)
        );
        let (over, is_over) = mpsc::channel::<()>();
        let server = thread::spawn(move || {
            let mut stream: TcpStream = listener.accept().unwrap().0;
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            if end == End::Silent {
                let _ = is_over.recv();
            }
        });
        let request = http::Request::get(uri).body(Bytes::new()).unwrap();
        let answer = match way {
            Way::Whole => transport.send(&Operation::NONE, request).await,
            #[cfg(feature = "stream")]
            Way::Pieces => {
                use crate::transport::{RequestBody, StreamTransport as _, whole};

                match transport.open(&Operation::NONE, request.map(RequestBody::Whole)).await {
                    Ok(answer) => whole(answer, transport.max_body).await,
                    Err(error) => Err(error),
                }
            }
        };
        drop(over);
        server.join().unwrap();
        answer.map_err(|error| error.fault()).map(|answer| {
            let after = answer.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
            let partial = answer.extensions().get::<Partial>().copied();
            (answer.status().as_u16(), after, answer.body().len(), partial)
        })
    }

    /// A refusal says what it is and how long to wait in its head, whatever becomes of its body; a success does not
    /// without it.
    #[tokio::test]
    async fn a_refusal_is_one_without_its_body() {
        let refused = |body, why| Ok((503, Some("3600".to_owned()), body, why));
        let refusal = "503 Service Unavailable";
        let cut = Some(Partial(TransportFault::Interrupted));
        assert_eq!(answered(refusal, 100, End::Closed, |all| all).await, refused(100, None));
        assert_eq!(answered(refusal, 7, End::Closed, |all| all).await, refused(7, cut));
        let large = answered(refusal, 100, End::Closed, |all| all.with_max_body(99)).await;
        assert_eq!(large, refused(0, Some(Partial(TransportFault::TooLarge))));
        let soon = Duration::from_millis(20);
        let slow = answered(refusal, 7, End::Silent, |all| all.with_refusal_time(soon)).await;
        assert_eq!(slow, refused(7, Some(Partial(TransportFault::Timeout))));

        let success = "200 OK";
        let many = success.to_owned() + &"\r\nX-Many: and many more".repeat(200);
        assert_eq!(answered(&many, 100, End::Closed, |all| all).await, Err(TransportFault::TooLarge));
        assert_eq!(answered(success, 7, End::Closed, |all| all).await, Err(TransportFault::Interrupted));
        let large = answered(success, 100, End::Closed, |all| all.with_max_body(99)).await;
        assert_eq!(large, Err(TransportFault::TooLarge));
    }

    #[test]
    fn what_comes_in_pieces_is_put_together() {
        for pieces in [&["abc"][..], &["ab", "c"], &["", "a", "b", "c"], &[]] {
            let mut body = Received::default();
            pieces.iter().for_each(|piece| body.add(Bytes::copy_from_slice(piece.as_bytes())));
            assert_eq!((body.len(), body.whole()), (pieces.concat().len(), Bytes::from(pieces.concat())));
        }
    }
}
