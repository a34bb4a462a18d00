//! Requests and answers in pieces over reqwest.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::{
    ReqwestTransport, cut, failed,
    quiet::{Quiet, Watched, whole},
    quiet_too_long,
};
use crate::{
    operation::Operation,
    transport::{
        ByteStream, Delivery, Opening, RequestBody, StreamTransport, TransportError, TransportFault,
    },
};

impl ReqwestTransport {
    async fn begin(
        &self,
        request: http::Request<RequestBody>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        let quiet = self.quiet_time.map(Quiet::new);
        let request = request.map(|body| match (body, &quiet) {
            (RequestBody::Whole(bytes), quiet) => whole(bytes, quiet.as_ref()),
            (RequestBody::Pieces(pieces), Some(quiet)) => {
                reqwest::Body::wrap(Watched::new(pieces, quiet.clone()))
            }
            (RequestBody::Pieces(pieces), None) => reqwest::Body::wrap(pieces),
        });
        let request = reqwest::Request::try_from(request)
            .map_err(|error| failed(error, TransportFault::Request, Delivery::NotSent))?;
        let response = self.head(request, quiet.as_ref()).await?;
        let (mut parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        // reqwest's own: what it remembers of the address is nobody's to read.
        parts.extensions.clear();
        let mut pieces = ByteStream::of_body(body, cut);
        if let Some(longest) = self.quiet_time {
            pieces = ByteStream::new(Patient::new(pieces, Time::Each, longest));
        }
        if let Some(longest) = self.refusal_time.filter(|_| !parts.status.is_success()) {
            pieces = ByteStream::new(Patient::new(pieces, Time::All, longest));
        }
        Ok(http::Response::from_parts(parts, pieces))
    }
}

/// Pieces of an answer, as long as they are not waited for too long. A reader who does not ask for the
/// next one is nobody's silence.
struct Patient {
    /// `None` behind an error.
    pieces: Option<ByteStream>,
    time: Time,
    longest: Duration,
    sleeping: Option<Pin<Box<Sleep>>>,
}

/// What a time is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Time {
    /// One piece.
    Each,
    /// All of them, from when the first is asked for.
    All,
}

impl Patient {
    const fn new(pieces: ByteStream, time: Time, longest: Duration) -> Self {
        Self { pieces: Some(pieces), time, longest, sleeping: None }
    }

    /// Whether the time is over, which begins when this is first asked.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let longest = self.longest;
        let sleeping = self.sleeping.get_or_insert_with(|| Box::pin(sleep(longest)));
        sleeping.as_mut().poll(context).is_ready()
    }
}

impl Stream for Patient {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Also where the next piece is there already: a server that never stops talking is not heard out.
        let is_late = self.time == Time::All && self.pieces.is_some() && self.is_over(context);
        let Some(pieces) = self.pieces.as_mut() else { return Poll::Ready(None) };
        if !is_late {
            let piece = Pin::new(pieces).poll_next(context);
            if piece.is_ready() {
                if self.time == Time::Each {
                    self.sleeping = None;
                }
                return piece;
            }
            if !self.is_over(context) {
                return Poll::Pending;
            }
        }
        self.pieces = None;
        Poll::Ready(Some(Err(quiet_too_long())))
    }
}

impl StreamTransport for ReqwestTransport {
    fn open<'a>(
        &'a self,
        _operation: &'static Operation,
        request: http::Request<RequestBody>,
    ) -> Opening<'a> {
        Box::pin(self.begin(request))
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, task::ready};

    use tokio::time::Instant;

    use super::*;

    /// One piece, and then an error with a cause that is about another connection.
    struct Broken(u8);

    impl Stream for Broken {
        type Item = Result<Bytes, TransportError>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0 += 1;
            Poll::Ready(Some(match self.0 {
                1 => Ok(Bytes::from_static(b"piece")),
                _ => Err(TransportError::new(TransportFault::Request, Delivery::NotSent)),
            }))
        }
    }

    /// The connection that was in the middle of it is not to blame, and had bytes of it.
    #[tokio::test]
    async fn a_body_that_breaks_says_so() {
        // Nobody accepts: that the system does is enough to send to.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let body = RequestBody::Pieces(ByteStream::new(Broken(0)));
        let request = http::Request::post(uri).body(body).unwrap();
        let error = ReqwestTransport::new().unwrap().open(&Operation::NONE, request).await.unwrap_err();
        assert_eq!((error.fault(), error.delivery()), (TransportFault::Request, Delivery::Unknown));
    }

    /// Pieces with so many seconds before each, and then nothing ever.
    struct Slow(std::vec::IntoIter<u64>, Option<Pin<Box<Sleep>>>);

    impl Stream for Slow {
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

    /// Each piece has its time, however many there are; the reader's own time is not counted.
    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_nothing_comes_for_too_long() {
        let slow = Slow(vec![50, 50, 50].into_iter(), None);
        let patient = Patient::new(ByteStream::new(slow), Time::Each, ReqwestTransport::QUIET_TIME);
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

    /// A server that says a little now and then is heard out no longer than one that is silent.
    #[tokio::test(start_paused = true)]
    async fn all_pieces_of_a_refusal_have_one_time() {
        let slow = ByteStream::new(Slow(vec![2; 100].into_iter(), None));
        let start = Instant::now();
        let (came, error) =
            ByteStream::new(Patient::new(slow, Time::All, Duration::from_secs(5))).gather(1000).await;
        assert_eq!((came, error.unwrap().fault()), ("piecepiece".into(), TransportFault::Timeout));
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    /// Nor is one that never stops talking.
    #[tokio::test(start_paused = true)]
    async fn pieces_that_are_there_come_too_late_behind_the_time_of_all() {
        let patient = Patient::new(ByteStream::new(Broken(0)), Time::All, Duration::from_secs(5));
        let mut patient = ByteStream::new(patient);
        assert_eq!(patient.next().await.unwrap().unwrap(), "piece");
        sleep(Duration::from_secs(6)).await;
        assert_eq!(patient.next().await.unwrap().unwrap_err().fault(), TransportFault::Timeout);
        assert!(patient.next().await.is_none());
    }
}
