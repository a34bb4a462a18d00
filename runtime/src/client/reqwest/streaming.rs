//! Streaming requests and responses over reqwest.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::{
    ReqwestTransport, classify_body_error,
    idle_timeout::{ActivityBody, IdleTimeout, buffered_body},
    idle_timeout_error, to_transport_error,
    upgrade::upgraded_response,
};
use crate::{
    operation::Operation,
    transport::{
        ByteStream, Delivery, RequestBody, StreamResponseFuture, StreamTransport, TransportError,
        TransportFault,
    },
};

impl ReqwestTransport {
    async fn send_streaming(
        &self,
        mut request: http::Request<RequestBody>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        self.add_user_agent(&mut request);
        let quiet = self.idle_timeout.map(IdleTimeout::new);
        let request = request.map(|body| match (body, &quiet) {
            (RequestBody::Buffered(bytes), quiet) => buffered_body(bytes, quiet.as_ref()),
            (RequestBody::Streaming(pieces), Some(quiet)) => {
                reqwest::Body::wrap(ActivityBody::new(pieces, quiet.clone()))
            }
            (RequestBody::Streaming(pieces), None) => reqwest::Body::wrap(pieces),
        });
        let request = reqwest::Request::try_from(request)
            .map_err(|error| to_transport_error(error, TransportFault::Request, Delivery::NotSent))?;
        let response = self.send_for_head(request, quiet.as_ref()).await?;
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Ok(upgraded_response(response));
        }
        let (mut parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        // reqwest stores the URL, which may contain secrets, among the extensions.
        parts.extensions.clear();
        let mut pieces = ByteStream::from_body(body, classify_body_error);
        if let Some(longest) = self.idle_timeout {
            pieces = ByteStream::new(ReadTimeout::new(pieces, TimeoutScope::PerChunk, longest));
        }
        if let Some(longest) = self.error_body_timeout.filter(|_| !parts.status.is_success()) {
            pieces = ByteStream::new(ReadTimeout::new(pieces, TimeoutScope::WholeBody, longest));
        }
        Ok(http::Response::from_parts(parts, pieces))
    }
}

/// A stream of chunks that ends with a timeout error if the server is too slow. With
/// [`TimeoutScope::PerChunk`], the time in which the reader does not poll does not count.
struct ReadTimeout {
    /// `None` after an error.
    pieces: Option<ByteStream>,
    scope: TimeoutScope,
    limit: Duration,
    sleeping: Option<Pin<Box<Sleep>>>,
}

/// The part of a body that a timeout applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeoutScope {
    /// Each chunk.
    PerChunk,
    /// The whole body, from the first poll.
    WholeBody,
}

impl ReadTimeout {
    const fn new(pieces: ByteStream, time: TimeoutScope, limit: Duration) -> Self {
        Self { pieces: Some(pieces), scope: time, limit, sleeping: None }
    }

    /// Starts the timer on the first call. Returns true once the limit has passed.
    fn is_elapsed(&mut self, context: &mut Context<'_>) -> bool {
        let limit = self.limit;
        let sleeping = self.sleeping.get_or_insert_with(|| Box::pin(sleep(limit)));
        sleeping.as_mut().poll(context).is_ready()
    }
}

impl Stream for ReadTimeout {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Checked before reading, because a server that sends without end must not evade the limit.
        let is_late =
            self.scope == TimeoutScope::WholeBody && self.pieces.is_some() && self.is_elapsed(context);
        let Some(pieces) = self.pieces.as_mut() else { return Poll::Ready(None) };
        if !is_late {
            let piece = Pin::new(pieces).poll_next(context);
            if piece.is_ready() {
                if self.scope == TimeoutScope::PerChunk {
                    self.sleeping = None;
                }
                return piece;
            }
            if !self.is_elapsed(context) {
                return Poll::Pending;
            }
        }
        self.pieces = None;
        Poll::Ready(Some(Err(idle_timeout_error())))
    }
}

impl StreamTransport for ReqwestTransport {
    fn open_stream<'a>(
        &'a self,
        _operation: &'static Operation,
        request: http::Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        Box::pin(self.send_streaming(request))
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, task::ready};

    use tokio::time::Instant;

    use super::*;

    /// A body of one chunk, followed by an error whose source concerns another connection.
    struct BrokenBody(u8);

    impl Stream for BrokenBody {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0 += 1;
            Poll::Ready(Some(match self.0 {
                1 => Ok(Bytes::from_static(b"piece")),
                _ => Err(TransportError::new(TransportFault::Request, Delivery::NotSent)),
            }))
        }
    }

    /// A failure of the request body is reported as its own fault, with `Delivery::Unknown`.
    #[tokio::test]
    async fn failing_request_body_is_reported() {
        // No call of `accept` is needed, because the operating system accepts the connection.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let body = RequestBody::Streaming(ByteStream::new(BrokenBody(0)));
        let request = http::Request::post(uri).body(body).unwrap();
        let error =
            ReqwestTransport::new().unwrap().open_stream(&Operation::EMPTY, request).await.unwrap_err();
        assert_eq!((error.fault(), error.delivery()), (TransportFault::Request, Delivery::Unknown));
    }

    /// A stream of chunks, each after a delay of the given number of seconds. It is pending forever after the
    /// last.
    struct SlowBody(std::vec::IntoIter<u64>, Option<Pin<Box<Sleep>>>);

    impl Stream for SlowBody {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            if self.1.is_none() {
                let Some(seconds) = self.0.next() else { return Poll::Pending };
                self.1 = Some(Box::pin(sleep(Duration::from_secs(seconds))));
            }
            if let Some(sleeping) = &mut self.1 {
                ready!(sleeping.as_mut().poll(context));
            }
            self.1 = None;
            Poll::Ready(Some(Ok(Bytes::from_static(b"piece"))))
        }
    }

    /// The timeout applies to each chunk and excludes the time in which the reader does not poll.
    #[tokio::test(start_paused = true)]
    async fn stalled_stream_times_out() {
        let slow = SlowBody(vec![50, 50, 50].into_iter(), None);
        let patient = ReadTimeout::new(
            ByteStream::new(slow),
            TimeoutScope::PerChunk,
            ReqwestTransport::DEFAULT_IDLE_TIMEOUT,
        );
        let (mut patient, start) = (ByteStream::new(patient), Instant::now());
        for _ in 0..3 {
            assert_eq!(patient.next().await.unwrap().unwrap(), "piece");
            sleep(Duration::from_secs(600)).await;
        }
        let error = patient.next().await.unwrap().unwrap_err();
        assert_eq!(error.fault(), TransportFault::Timeout);
        assert!(patient.next().await.is_none());
        assert_eq!(start.elapsed().as_secs(), 3 * 650 + 60);
    }

    /// Chunks that arrive now and then do not extend the timeout of an error response's body.
    #[tokio::test(start_paused = true)]
    async fn error_response_body_has_one_timeout() {
        let slow = ByteStream::new(SlowBody(vec![2; 100].into_iter(), None));
        let start = Instant::now();
        let (came, error) =
            ByteStream::new(ReadTimeout::new(slow, TimeoutScope::WholeBody, Duration::from_secs(5)))
                .collect_partial(1000)
                .await;
        assert_eq!((came, error.unwrap().fault()), ("piecepiece".into(), TransportFault::Timeout));
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    /// Chunks that are available immediately do not extend the timeout either.
    #[tokio::test(start_paused = true)]
    async fn available_chunks_do_not_extend_the_timeout() {
        let patient =
            ReadTimeout::new(ByteStream::new(BrokenBody(0)), TimeoutScope::WholeBody, Duration::from_secs(5));
        let mut patient = ByteStream::new(patient);
        assert_eq!(patient.next().await.unwrap().unwrap(), "piece");
        sleep(Duration::from_secs(6)).await;
        assert_eq!(patient.next().await.unwrap().unwrap_err().fault(), TransportFault::Timeout);
        assert!(patient.next().await.is_none());
    }
}
