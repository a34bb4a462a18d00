//! The seam for what does not wait for its end: a request or an answer in pieces.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::{Body, Frame};

use super::{Delivery, TransportError, TransportFault};
use crate::operation::Operation;

/// What [`StreamTransport::open`] gives.
pub type Opening<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send + 'a>>;

/// Carries requests whose answers are handed on as they come, and requests that are sent so.
///
/// What a [`Transport`](super::Transport) promises holds here up to the head of the answer: until
/// then an error says whether the request may have arrived. What goes wrong later is an error of
/// the [`ByteStream`], after which nothing comes.
pub trait StreamTransport: Send + Sync {
    /// Sends a request and waits for the head of its answer, whatever its status.
    ///
    /// Dropping the future, and later the body, gives the request up. How long a peer may be
    /// silent is the transport's to say, both before the head and between two pieces.
    ///
    /// # Errors
    /// When there is no answer.
    fn open<'a>(&'a self, operation: &'static Operation, request: http::Request<RequestBody>) -> Opening<'a>;
}

/// The body of a request that goes through a [`StreamTransport`].
#[derive(Debug)]
pub enum RequestBody {
    /// All of it, which can be sent again.
    Whole(Bytes),
    /// Pieces, which can be sent once.
    Pieces(ByteStream),
}

impl RequestBody {
    /// The same once more; `None` for pieces.
    #[must_use]
    pub fn again(&self) -> Option<Self> {
        match self {
            Self::Whole(bytes) => Some(Self::Whole(bytes.clone())),
            Self::Pieces(_) => None,
        }
    }
}

/// Bytes that arrive, or leave, in pieces. What is between two pieces means nothing.
///
/// ```
/// use contract_runtime::transport::ByteStream;
///
/// # async fn example() -> Result<(), contract_runtime::transport::TransportError> {
/// let mut body = ByteStream::from(&b"abc"[..]);
/// while let Some(piece) = body.next().await {
///     println!("{} bytes", piece?.len());
/// }
/// # Ok(())
/// # }
/// ```
// In a lock that nobody ever waits for: HTTP clients ask bodies to be `Sync`.
pub struct ByteStream(Mutex<Pin<Box<Pieces>>>);

type Pieces = dyn Stream<Item = Result<Bytes, TransportError>> + Send;

impl ByteStream {
    /// Whatever gives pieces: a file, a channel, another body. An error ends it.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, TransportError>> + Send + 'static) -> Self {
        Self(Mutex::new(Box::pin(pieces)))
    }

    /// The body of a message of HTTP; `failed` says what its errors are.
    pub fn of_body<B>(body: B, failed: impl Fn(B::Error) -> TransportError + Send + 'static) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        Self::new(OfBody { body: Box::pin(body), failed: Box::new(failed) })
    }

    /// The next piece; `None` behind the last.
    pub async fn next(&mut self) -> Option<Result<Bytes, TransportError>> {
        poll_fn(|context| self.poll(context)).await
    }

    /// The same up to so many bytes: behind them [`TransportFault::TooLarge`].
    #[must_use]
    pub fn limited(self, bytes: u64) -> Self {
        Self::new(Limited { pieces: self, left: Some(bytes) })
    }

    /// All pieces as one.
    ///
    /// # Errors
    /// That of the first piece that is one, and [`TransportFault::TooLarge`] beyond so many bytes.
    pub async fn collect(self, limit: usize) -> Result<Bytes, TransportError> {
        match self.gather(limit).await {
            (whole, None) => Ok(whole),
            (_, Some(error)) => Err(error),
        }
    }

    /// What comes of all pieces, and why it is not all of them: the error of one, or
    /// [`TransportFault::TooLarge`] beyond so many bytes.
    pub async fn gather(mut self, limit: usize) -> (Bytes, Option<TransportError>) {
        let mut came = BytesMut::new();
        let error = loop {
            match self.next().await {
                None => break None,
                Some(Err(error)) => break Some(error),
                Some(Ok(piece)) if piece.len() > limit - came.len() => {
                    break Some(TransportError::new(TransportFault::TooLarge, Delivery::Unknown));
                }
                Some(Ok(piece)) => came.extend_from_slice(&piece),
            }
        };
        (came.freeze(), error)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransportError>>> {
        let pieces = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        pieces.as_mut().poll_next(context)
    }
}

impl<T: Into<Bytes>> From<T> for ByteStream {
    /// One piece.
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self::new(Once(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }
}

/// Nothing: what passes may be secret, and has not passed yet.
impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl Body for ByteStream {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        self.poll(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

struct Once(Option<Bytes>);

impl Stream for Once {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}

struct OfBody<B: Body> {
    body: Pin<Box<B>>,
    failed: Box<dyn Fn(B::Error) -> TransportError + Send>,
}

impl<B: Body<Data = Bytes>> Stream for OfBody<B> {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match self.body.as_mut().poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => None,
                Poll::Ready(Some(Err(error))) => Some(Err((self.failed)(error))),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    // Trailers.
                    Err(_) => continue,
                },
            });
        }
    }
}

struct Limited {
    pieces: ByteStream,
    /// `None` behind an error.
    left: Option<u64>,
}

impl Stream for Limited {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.left else { return Poll::Ready(None) };
        let piece = std::task::ready!(self.pieces.poll(context));
        Poll::Ready(piece.map(|piece| {
            let piece = piece?;
            self.left = left.checked_sub(piece.len() as u64);
            match self.left {
                Some(_) => Ok(piece),
                None => Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown)),
            }
        }))
    }
}
