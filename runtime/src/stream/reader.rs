//! Pieces become items, connections become one stream.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream as _;
use http::StatusCode;

use super::{Checks, ItemFault, Reconnection, Source, StreamError};
use crate::{
    Json,
    contract::Rejected,
    depth,
    operation::{Content, Format, Framing, Items},
    read::{self, Read},
    schema::Validator,
    sequence::{Decoder, Item, Place},
    transport::{ByteStream, Delivery, Sleeping, Timer, TransportError, TransportFault},
};

/// What [`Reopen::reopen`] gives.
pub(crate) type Reopening =
    Pin<Box<dyn Future<Output = Result<http::Response<ByteStream>, TransportError>> + Send>>;

/// Connects again.
pub(crate) trait Reopen: Send {
    /// Sends the same request, with this `Last-Event-ID`; without one where the id is empty.
    fn reopen(&self, last_event_id: &str) -> Reopening;

    /// Whether an answer is the stream.
    fn continues(&self, answer: &http::Response<ByteStream>) -> bool;
}

pub(super) struct Reader {
    state: State,
    decoder: Decoder,
    items: Items,
    validator: Option<Validator<'static>>,
    checks: Checks,
    /// How many bytes may still come.
    left: u64,
    place: Place,
    complete: bool,
    reopen: Option<Box<dyn Reopen>>,
    timer: Option<(Arc<dyn Timer>, Reconnection)>,
    /// Connections in a row that gave nothing.
    idle: u32,
}

enum State {
    Reading(ByteStream),
    Waiting(Sleeping),
    Opening(Reopening),
    Over,
}

impl Reader {
    pub(super) fn new(source: Source) -> Self {
        let Source { body, content, limits, checks, reopen, last_event_id } = source;
        let items = match content.format {
            Format::Items(items) => items,
            _ => Items::new(Framing::Lines),
        };
        let decoder = Decoder::new(items.framing, limits.item).behind(&last_event_id);
        Self {
            state: State::Reading(body),
            decoder,
            items,
            validator: content.validator,
            checks,
            left: limits.total,
            place: Place::default(),
            complete: false,
            reopen,
            timer: None,
            idle: 0,
        }
    }

    pub(super) fn reconnect(&mut self, timer: Arc<dyn Timer>, how: Reconnection) {
        self.timer = Some((timer, how));
    }

    pub(super) fn last_event_id(&self) -> &str {
        self.decoder.last_event_id()
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) const fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Item, StreamError>>> {
        loop {
            if self.complete {
                return Poll::Ready(None);
            }
            if let Some(item) = self.decoder.pop() {
                match item {
                    Ok(item) if self.items.is_end(&item) => self.complete(),
                    Ok(item) => {
                        self.place = item.place;
                        if self.items.is_last(item.event.as_deref()) {
                            self.complete();
                        }
                        return Poll::Ready(Some(Ok(item)));
                    }
                    Err(fault) => {
                        self.place = fault.place();
                        return Poll::Ready(Some(Err(fault.into())));
                    }
                }
                continue;
            }
            let error = match &mut self.state {
                State::Over => return Poll::Ready(None),
                State::Reading(body) => match Pin::new(body).poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(piece))) => self.take(&piece),
                    Poll::Ready(Some(Err(error))) => self.lost(Some(error)),
                    Poll::Ready(None) => {
                        self.decoder.finish();
                        self.lost(None)
                    }
                },
                State::Waiting(sleeping) => match sleeping.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => self.open(),
                },
                State::Opening(opening) => match opening.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(answer)) => self.opened(answer),
                    Poll::Ready(Err(error)) => self.lost(Some(error)),
                },
            };
            if let Some(error) = error {
                self.state = State::Over;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn complete(&mut self) {
        (self.complete, self.state) = (true, State::Over);
    }

    fn take(&mut self, piece: &[u8]) -> Option<StreamError> {
        match self.left.checked_sub(piece.len() as u64) {
            Some(left) => {
                self.left = left;
                // A comment is a sign of life, too (WHATWG HTML, 9.2.7).
                if !piece.is_empty() {
                    self.idle = 0;
                }
                self.decoder.push(piece);
                None
            }
            None => Some(TransportError::new(TransportFault::TooLarge, Delivery::Unknown).into()),
        }
    }

    /// The connection is gone: another one after a while, or the end. That is an error where the
    /// connection was lost, or where too many in a row gave nothing.
    fn lost(&mut self, error: Option<TransportError>) -> Option<StreamError> {
        let passing = error.as_ref().is_none_or(|error| {
            let fault = error.fault();
            matches!(fault, TransportFault::Connect | TransportFault::Timeout | TransportFault::Interrupted)
        });
        let again = self.timer.as_ref().filter(|_| passing && self.reopen.is_some());
        let Some((timer, how)) = again.filter(|(_, how)| how.attempts > 0) else {
            self.state = State::Over;
            return error.map(StreamError::Transport);
        };
        if self.idle >= how.attempts {
            self.state = State::Over;
            return Some(error.map_or(StreamError::Silent(how.attempts), StreamError::Transport));
        }
        let wait = wait(self.decoder.retry(), how, self.idle);
        self.idle += 1;
        self.state = State::Waiting(timer.sleep(wait));
        None
    }

    fn open(&mut self) -> Option<StreamError> {
        self.state = match &self.reopen {
            Some(reopen) => State::Opening(reopen.reopen(self.decoder.last_event_id())),
            None => State::Over,
        };
        None
    }

    fn opened(&mut self, answer: http::Response<ByteStream>) -> Option<StreamError> {
        let status = answer.status();
        self.state = State::Over;
        if status == StatusCode::NO_CONTENT {
            return None;
        }
        if !self.reopen.as_ref().is_some_and(|reopen| reopen.continues(&answer)) {
            return Some(StreamError::Answer(status));
        }
        self.decoder.restart();
        self.state = State::Reading(answer.into_body());
        None
    }
}

/// The server's word or the usual wait, if it is one, doubled for each connection that gave nothing.
fn wait(retry: Option<Duration>, how: &Reconnection, idle: u32) -> Duration {
    let first = retry.unwrap_or(how.wait).max(how.shortest);
    let factor = 1_u32.checked_shl(idle).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(how.longest.max(first))
}

/// Reads an item as its type.
pub(super) fn read<T: for<'de> Read<'de> + Send>(reader: &Reader, item: &Item) -> Result<T, StreamError> {
    document(&reader.items.form.document(item), reader.validator, reader.checks)
        .map_err(|rejected| StreamError::Item { place: item.place, fault: ItemFault::Rejected(rejected) })
}

fn document<T: for<'de> Read<'de> + Send>(
    bytes: &[u8],
    validator: Option<Validator<'static>>,
    checks: Checks,
) -> Result<T, Rejected> {
    if let (Checks::Strict, Some(validator)) = (checks, validator) {
        let json = Json::parse(bytes).map_err(Rejected::of_text)?;
        validator.validate(&json).map_err(Rejected::Invalid)?;
    }
    read::document(bytes, depth::DEFAULT).map_err(|error| {
        let reads = |json: &Json| read::document::<T>(json.to_string().as_bytes(), depth::DEFAULT).is_ok();
        Rejected::of(bytes, depth::DEFAULT, validator, &error, &reads)
    })
}

/// The format of a content that is handed on as it comes.
#[cfg(feature = "client")]
pub(crate) fn is_streamed(content: &Content) -> bool {
    matches!(content.format, Format::Pieces | Format::Items(_))
}
