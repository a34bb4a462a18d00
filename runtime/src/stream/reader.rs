//! Decodes chunks into items, over one or several connections.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream as _;
use http::StatusCode;

use super::{ItemChecks, ItemFault, ReconnectOptions, StreamError, StreamSource};
use crate::{
    Json,
    contract::DocumentError,
    depth,
    operation::{BodyFormat, ItemFormat, ItemFraming},
    read::{self, ReadJson},
    schema::Validator,
    sequence::{ItemDecoder, ItemPosition, RawItem},
    transport::{ByteStream, Delivery, SleepFuture, Timer, TransportError, TransportFault},
};

/// The future that [`StreamReopener::reopen`] returns.
pub(crate) type ReopenFuture =
    Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send>>;

/// A handle that repeats the request of a stream.
pub(crate) trait StreamReopener: Send {
    /// Sends the request again with this `Last-Event-ID`, or without one if the id is empty.
    fn reopen(&self, last_event_id: &str) -> ReopenFuture;

    /// Returns true if the response continues the stream.
    fn is_continuation(&self, answer: &http::Response<ByteStream>) -> bool;
}

pub(super) struct StreamReader {
    state: StreamState,
    decoder: ItemDecoder,
    items: ItemFormat,
    validator: Option<Validator<'static>>,
    checks: ItemChecks,
    /// The number of bytes that may still be received.
    remaining_bytes: u64,
    position: ItemPosition,
    is_complete: bool,
    reopener: Option<Box<dyn StreamReopener>>,
    reconnection: Option<(Arc<dyn Timer>, ReconnectOptions)>,
    idle_connections: u32,
}

enum StreamState {
    Reading(ByteStream),
    Waiting(SleepFuture),
    Opening(ReopenFuture),
    Ended,
}

impl StreamReader {
    pub(super) fn new(source: StreamSource) -> Self {
        let StreamSource { body, content, limits, checks, reopener: reopen, last_event_id } = source;
        let items = match content.format {
            BodyFormat::Items(items) => items,
            _ => ItemFormat::new(ItemFraming::Lines),
        };
        let decoder = ItemDecoder::new(items.framing, limits.max_item_bytes).resume_after(&last_event_id);
        Self {
            state: StreamState::Reading(body),
            decoder,
            items,
            validator: content.validator,
            checks,
            remaining_bytes: limits.max_total_bytes,
            position: ItemPosition::default(),
            is_complete: false,
            reopener: reopen,
            reconnection: None,
            idle_connections: 0,
        }
    }

    pub(super) fn enable_reconnection(&mut self, timer: Arc<dyn Timer>, options: ReconnectOptions) {
        self.reconnection = Some((timer, options));
    }

    pub(super) fn last_event_id(&self) -> &str {
        self.decoder.last_event_id()
    }

    pub(super) const fn position(&self) -> ItemPosition {
        self.position
    }

    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn poll_item(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RawItem, StreamError>>> {
        loop {
            if self.is_complete {
                return Poll::Ready(None);
            }
            if let Some(item) = self.decoder.next_item() {
                match item {
                    Ok(item) if self.items.is_end_marker(&item) => self.mark_complete(),
                    Ok(item) => {
                        self.position = item.position;
                        if self.items.is_last_event(item.event.as_deref()) {
                            self.mark_complete();
                        }
                        return Poll::Ready(Some(Ok(item)));
                    }
                    Err(fault) => {
                        self.position = fault.position();
                        return Poll::Ready(Some(Err(fault.into())));
                    }
                }
                continue;
            }
            let error = match &mut self.state {
                StreamState::Ended => return Poll::Ready(None),
                StreamState::Reading(body) => match Pin::new(body).poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(piece))) => self.accept_chunk(&piece),
                    Poll::Ready(Some(Err(error))) => self.handle_disconnect(Some(error)),
                    Poll::Ready(None) => {
                        self.decoder.finish();
                        self.handle_disconnect(None)
                    }
                },
                StreamState::Waiting(sleeping) => match sleeping.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => self.start_reconnect(),
                },
                StreamState::Opening(opening) => match opening.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(answer)) => self.accept_connection(answer),
                    Poll::Ready(Err(error)) => self.handle_disconnect(Some(error)),
                },
            };
            if let Some(error) = error {
                self.state = StreamState::Ended;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn mark_complete(&mut self) {
        (self.is_complete, self.state) = (true, StreamState::Ended);
    }

    fn accept_chunk(&mut self, piece: &[u8]) -> Option<StreamError> {
        match self.remaining_bytes.checked_sub(piece.len() as u64) {
            Some(left) => {
                self.remaining_bytes = left;
                // A comment counts as data (WHATWG HTML, 9.2.7).
                if !piece.is_empty() {
                    self.idle_connections = 0;
                }
                self.decoder.push(piece);
                None
            }
            None => Some(TransportError::new(TransportFault::TooLarge, Delivery::Unknown).into()),
        }
    }

    /// Handles the end of a connection: schedules a reconnection, or ends the stream. Returns an error if the
    /// stream ends because of a failure, or because too many consecutive connections had no data.
    fn handle_disconnect(&mut self, error: Option<TransportError>) -> Option<StreamError> {
        let passing = error.as_ref().is_none_or(|error| {
            let fault = error.fault();
            matches!(fault, TransportFault::Connect | TransportFault::Timeout | TransportFault::Interrupted)
        });
        let again = self.reconnection.as_ref().filter(|_| passing && self.reopener.is_some());
        let Some((timer, options)) = again.filter(|(_, options)| options.max_idle_connections > 0) else {
            self.state = StreamState::Ended;
            return error.map(StreamError::Transport);
        };
        if self.idle_connections >= options.max_idle_connections {
            self.state = StreamState::Ended;
            return Some(
                error.map_or(
                    StreamError::IdleConnections(options.max_idle_connections),
                    StreamError::Transport,
                ),
            );
        }
        let wait = backoff_delay(self.decoder.reconnection_delay(), options, self.idle_connections);
        self.idle_connections += 1;
        self.state = StreamState::Waiting(timer.sleep(wait));
        None
    }

    fn start_reconnect(&mut self) -> Option<StreamError> {
        self.state = match &self.reopener {
            Some(reopen) => StreamState::Opening(reopen.reopen(self.decoder.last_event_id())),
            None => StreamState::Ended,
        };
        None
    }

    fn accept_connection(&mut self, answer: http::Response<ByteStream>) -> Option<StreamError> {
        let status = answer.status();
        self.state = StreamState::Ended;
        if status == StatusCode::NO_CONTENT {
            return None;
        }
        if !self.reopener.as_ref().is_some_and(|reopen| reopen.is_continuation(&answer)) {
            return Some(StreamError::Reconnect(status));
        }
        self.decoder.restart();
        self.state = StreamState::Reading(answer.into_body());
        None
    }
}

/// Returns the delay that the server requested, or else the default delay, doubled for each connection
/// without data.
fn backoff_delay(retry: Option<Duration>, options: &ReconnectOptions, idle: u32) -> Duration {
    let first = retry.unwrap_or(options.default_delay).max(options.min_delay);
    let factor = 1_u32.checked_shl(idle).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(options.max_delay.max(first))
}

/// Parses an item into its type.
pub(super) fn read_item<T: for<'de> ReadJson<'de> + Send>(
    reader: &StreamReader,
    item: &RawItem,
) -> Result<T, StreamError> {
    read_document(&reader.items.encoding.read_document(item), reader.validator, reader.checks)
        .map_err(|rejected| StreamError::Item { place: item.position, fault: ItemFault::Rejected(rejected) })
}

fn read_document<T: for<'de> ReadJson<'de> + Send>(
    bytes: &[u8],
    validator: Option<Validator<'static>>,
    checks: ItemChecks,
) -> Result<T, DocumentError> {
    if let (ItemChecks::Strict, Some(validator)) = (checks, validator) {
        let json = Json::parse(bytes).map_err(DocumentError::from_json_error)?;
        validator.validate(&json).map_err(DocumentError::Invalid)?;
    }
    read::read_document(bytes, depth::DEFAULT_DEPTH).map_err(|error| {
        let reads =
            |json: &Json| read::read_document::<T>(json.to_string().as_bytes(), depth::DEFAULT_DEPTH).is_ok();
        DocumentError::diagnose(bytes, depth::DEFAULT_DEPTH, validator, &error, &reads)
    })
}

/// Returns true if bodies of this media type are streamed.
#[cfg(feature = "client")]
pub(crate) fn is_streamed(content: &crate::operation::ContentSpec) -> bool {
    matches!(content.format, BodyFormat::Stream | BodyFormat::Items(_))
}
