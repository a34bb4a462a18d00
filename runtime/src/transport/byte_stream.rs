//! The transport interface for streaming requests and responses.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::{Body, Frame, SizeHint};

use super::{Delivery, TransportError, TransportFault};
use crate::operation::Operation;

/// The future that [`StreamTransport::open_stream`] returns.
pub type StreamResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send + 'a>>;

/// A transport for requests with streaming responses or streaming bodies.
///
/// Until the head of the response arrives, the rules of [`Transport`](super::Transport) apply: an error
/// contains whether the request may have arrived. A later failure is an error of the [`ByteStream`], which
/// then ends.
pub trait StreamTransport: Send + Sync {
    /// Sends a request and waits for the head of its response, regardless of its status.
    ///
    /// Dropping the future, or later the body, cancels the request. The transport decides how long a peer may
    /// be idle, both before the head and between two chunks.
    ///
    /// # Errors
    /// Returns an error if no response was received.
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<RequestBody>,
    ) -> StreamResponseFuture<'a>;
}

/// The body of a request for a [`StreamTransport`].
#[derive(Debug)]
pub enum RequestBody {
    /// A complete body, which can be sent again.
    Buffered(Bytes),
    /// A stream of chunks, which can be sent only once.
    Streaming(ByteStream),
}

impl RequestBody {
    /// Returns a copy for another attempt, or `None` for a stream.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        match self {
            Self::Buffered(bytes) => Some(Self::Buffered(bytes.clone())),
            Self::Streaming(_) => None,
        }
    }
}

/// A stream of bytes in chunks of any size. A stream that is created from bytes has a known length, which HTTP
/// libraries send as `Content-Length`.
///
/// ```
/// use contract_runtime::transport::ByteStream;
///
/// # async fn example() -> Result<(), contract_runtime::transport::TransportError> {
/// let mut body = ByteStream::from(&b"abc"[..]);
/// while let Some(chunk) = body.next().await {
///     println!("{} bytes", chunk?.len());
/// }
/// # Ok(())
/// # }
/// ```
// The mutex is never contended. It makes the stream `Sync`, which HTTP clients require of bodies.
pub struct ByteStream(Mutex<ChunkSource>);

type ChunkStream = dyn Stream<Item = Result<Bytes, TransportError>> + Send;

/// The source of the chunks of a stream.
enum ChunkSource {
    /// All bytes as one chunk; empty after it was read.
    Whole(Bytes),
    Chunks(Pin<Box<ChunkStream>>),
}

impl ByteStream {
    /// Creates a stream from chunks, such as those of a file, a channel or another body. The stream ends
    /// after the first error.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, TransportError>> + Send + 'static) -> Self {
        Self(Mutex::new(ChunkSource::Chunks(Box::pin(pieces))))
    }

    /// Creates a stream from an HTTP body. `failed` converts the errors of the body.
    pub fn from_body<B>(body: B, failed: impl Fn(B::Error) -> TransportError + Send + 'static) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        Self::new(BodyChunks { body: Box::pin(body), map_error: Box::new(failed) })
    }

    /// Returns the next chunk, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Bytes, TransportError>> {
        poll_fn(|context| self.poll_chunk(context)).await
    }

    /// Limits the size of the stream in bytes. Beyond the limit, it ends with [`TransportFault::TooLarge`].
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> Self {
        Self::new(LimitedStream { stream: self, remaining: Some(bytes) })
    }

    /// Collects all chunks.
    ///
    /// # Errors
    /// Returns the first error of the stream, or [`TransportFault::TooLarge`] beyond `limit` bytes.
    pub async fn collect(self, limit: usize) -> Result<Bytes, TransportError> {
        match self.collect_partial(limit).await {
            (whole, None) => Ok(whole),
            (_, Some(error)) => Err(error),
        }
    }

    /// Collects chunks until the end or the first error. Returns the bytes that arrived, and the reason if
    /// they are incomplete: an error of the stream, or [`TransportFault::TooLarge`] beyond `limit` bytes.
    pub async fn collect_partial(mut self, limit: usize) -> (Bytes, Option<TransportError>) {
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

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransportError>>> {
        match self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            ChunkSource::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            ChunkSource::Whole(bytes) => Poll::Ready(Some(Ok(std::mem::take(bytes)))),
            ChunkSource::Chunks(pieces) => pieces.as_mut().poll_next(context),
        }
    }

    /// Returns the number of bytes that remain, if it is known.
    fn remaining_length(&self) -> Option<u64> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            ChunkSource::Whole(bytes) => Some(bytes.len() as u64),
            ChunkSource::Chunks(_) => None,
        }
    }
}

impl<T: Into<Bytes>> From<T> for ByteStream {
    /// Creates a stream of one chunk, or an empty stream for empty bytes.
    fn from(bytes: T) -> Self {
        Self(Mutex::new(ChunkSource::Whole(bytes.into())))
    }
}

/// Hides the content, which may be secret.
impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_chunk(context)
    }
}

impl Body for ByteStream {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        self.poll_chunk(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining_length() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining_length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

struct BodyChunks<B: Body> {
    body: Pin<Box<B>>,
    map_error: Box<dyn Fn(B::Error) -> TransportError + Send>,
}

impl<B: Body<Data = Bytes>> Stream for BodyChunks<B> {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match self.body.as_mut().poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => None,
                Poll::Ready(Some(Err(error))) => Some(Err((self.map_error)(error))),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    // Frames without data are trailers.
                    Err(_) => continue,
                },
            });
        }
    }
}

struct LimitedStream {
    stream: ByteStream,
    /// `None` after an error.
    remaining: Option<u64>,
}

impl Stream for LimitedStream {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.remaining else { return Poll::Ready(None) };
        let piece = std::task::ready!(self.stream.poll_chunk(context));
        Poll::Ready(piece.map(|piece| {
            let piece = piece?;
            self.remaining = left.checked_sub(piece.len() as u64);
            match self.remaining {
                Some(_) => Ok(piece),
                None => Err(TransportError::new(TransportFault::TooLarge, Delivery::Unknown)),
            }
        }))
    }
}
