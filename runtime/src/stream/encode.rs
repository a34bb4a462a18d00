//! Encodes streams of items into chunks.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;

use super::ServerSentEvent;
use crate::{
    contract::to_json,
    operation::{ItemFormat, ItemFraming},
    schema::Validator,
    sequence::OutgoingItem,
    transport::{ByteStream, Delivery, SleepFuture, Timer, TransportError, TransportFault},
    violation::Violations,
};

/// The error of an item that could not be encoded, which ended its stream. It does not contain the item.
#[derive(Debug)]
#[non_exhaustive]
pub struct InvalidItem {
    /// The number of items that were sent before it.
    pub index: u64,
    /// The violations of the schema. `None` if the framing cannot represent the item.
    pub violations: Option<Violations>,
}

impl fmt::Display for InvalidItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.violations {
            Some(violations) => write!(f, "item {} violates its schema:\n{violations}", self.index),
            None => write!(f, "item {} cannot be written", self.index),
        }
    }
}

impl std::error::Error for InvalidItem {}

/// Comments that keep an idle event stream open, because proxies close idle connections. Clients ignore
/// comments (WHATWG HTML, 9.2.7).
#[derive(Clone)]
pub struct KeepAlive {
    interval: Duration,
    timer: Arc<dyn Timer>,
}

impl KeepAlive {
    /// Creates a setting that sends a comment after each interval without an event.
    pub fn new(interval: Duration, timer: impl Timer + 'static) -> Self {
        Self { interval, timer: Arc::new(timer) }
    }
}

#[cfg(feature = "tokio")]
impl Default for KeepAlive {
    /// Sends a comment every 15 seconds, as the standard recommends, with tokio's timer. Outside a tokio
    /// runtime no comments are sent.
    fn default() -> Self {
        Self::new(Duration::from_secs(15), crate::transport::timer::OptionalTokioTimer)
    }
}

impl fmt::Debug for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepAlive").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// A comment, which is a line that begins with a colon.
const COMMENT: &[u8] = b":\n";

/// Encodes events as a body, followed by the configured end marker ([`ItemFormat::end_marker`]).
///
/// Each item is validated if there is a validator. The first item that is invalid or cannot be encoded is
/// passed to `broken`, and the body ends with an error.
pub(crate) fn encode_items<T: Serialize + 'static>(
    events: impl Stream<Item = ServerSentEvent<T>> + Send + 'static,
    items: ItemFormat,
    validator: Option<Validator<'static>>,
    keep_alive: Option<KeepAlive>,
    broken: impl Fn(&InvalidItem) + Send + 'static,
) -> ByteStream {
    ByteStream::new(EncodedItems {
        events: Some(Box::pin(events)),
        items,
        validator,
        index: 0,
        // Only event streams can have comments.
        keep_alive: keep_alive.filter(|_| items.framing == ItemFraming::Events),
        sleeping: None,
        on_invalid: Box::new(broken),
    })
}

struct EncodedItems<T> {
    /// `None` after the end or an error.
    events: Option<Pin<Box<dyn Stream<Item = ServerSentEvent<T>> + Send>>>,
    items: ItemFormat,
    validator: Option<Validator<'static>>,
    index: u64,
    keep_alive: Option<KeepAlive>,
    /// The timer since the last output.
    sleeping: Option<SleepFuture>,
    on_invalid: Box<dyn Fn(&InvalidItem) + Send>,
}

impl<T> EncodedItems<T> {
    /// Returns a comment once the keep-alive interval has passed.
    fn poll_comment(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let Some(KeepAlive { interval: every, timer }) = &self.keep_alive else { return Poll::Pending };
        let sleeping = self.sleeping.get_or_insert_with(|| timer.sleep(*every));
        ready!(sleeping.as_mut().poll(context));
        self.sleeping = None;
        Poll::Ready(Bytes::from_static(COMMENT))
    }
}

impl<T: Serialize> Stream for EncodedItems<T> {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let Poll::Ready(event) = events.as_mut().poll_next(context) else {
            return self.poll_comment(context).map(|comment| Some(Ok(comment)));
        };
        self.sleeping = None;
        let Some(event) = event else {
            self.events = None;
            let mut end = Vec::new();
            self.items.write_end_marker(&mut end);
            return Poll::Ready(Some(end).filter(|end| !end.is_empty()).map(|end| Ok(end.into())));
        };
        let bytes = encode_event(&event, self.items, self.validator);
        Poll::Ready(Some(match bytes {
            Ok(bytes) => {
                self.index += 1;
                if self.items.is_last_event(Some(&event.event)) {
                    // This event is itself the end of the stream, so no end marker follows.
                    self.items.end_markers = &[];
                }
                Ok(bytes.into())
            }
            Err(violations) => {
                let broken = InvalidItem { index: self.index, violations };
                (self.on_invalid)(&broken);
                self.events = None;
                Err(TransportError::new(TransportFault::Request, Delivery::Unknown).with_source(broken))
            }
        }))
    }
}

fn encode_event<T: Serialize>(
    event: &ServerSentEvent<T>,
    items: ItemFormat,
    validator: Option<Validator<'static>>,
) -> Result<Vec<u8>, Option<Violations>> {
    let json = to_json(&event.data).map_err(|_| None)?;
    if let Some(validator) = validator {
        validator.validate(&json).map_err(Some)?;
    }
    let mut out = Vec::new();
    let defaults = OutgoingItem {
        data: "",
        // `message` is the name of events without an explicit name.
        event: if event.event == "message" { "" } else { &event.event },
        id: event.id.as_deref(),
        retry: event.retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)),
    };
    let written = items.encoding.write_document(items.framing, &json, &defaults, &mut out);
    written.map(|()| out).map_err(|_| None)
}

/// A stream that converts documents into events without a name or id.
pub(crate) struct DataEvents<S>(pub(crate) Pin<Box<S>>);

impl<T, S: Stream<Item = T>> Stream for DataEvents<S> {
    type Item = ServerSentEvent<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSentEvent<T>>> {
        self.0.as_mut().poll_next(context).map(|item| item.map(ServerSentEvent::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, operation::ItemEncoding, sequence::ItemDecoder};

    const ITEMS: ItemFormat =
        ItemFormat { encoding: ItemEncoding::Event, ..ItemFormat::new(ItemFraming::Events) };

    fn event(item: &str) -> ServerSentEvent<Json> {
        ServerSentEvent::new(Json::parse(item.as_bytes()).unwrap())
    }

    /// An event with empty `data` is dispatched, but an event without `data` is not (WHATWG HTML, 9.2.6).
    #[test]
    fn event_data_is_preserved() {
        for (event, expected) in [
            (event(r#"{"event": "ping", "retry": 5}"#), "event: ping\nretry: 5\n\n"),
            (event(r#"{"id": "7", "data": ""}"#), "id: 7\ndata: \n\n"),
        ] {
            let written = encode_event(&event, ITEMS, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }

    /// Fields of an event that have no member in the type are taken from the event. If both have a value, the
    /// value of the type is used, because it is validated.
    #[test]
    fn event_fields_beside_the_type_are_written() {
        let retry = Duration::from_millis(5);
        for (item, expected) in [
            (r#"{"data": "a"}"#, "event: left\nid: 41\nretry: 5\ndata: a\n\n"),
            (r#"{"data": "a", "id": null}"#, "event: left\nid: 41\nretry: 5\ndata: a\n\n"),
            (
                r#"{"data": "a", "event": "joined", "id": "7", "retry": 9}"#,
                "event: joined\nid: 7\nretry: 9\ndata: a\n\n",
            ),
        ] {
            let event = event(item).with_name("left").with_id("41").with_retry(retry);
            let written = encode_event(&event, ITEMS, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }

    /// Event data is written as JSON, and strings without quotes, unless they would be parsed as a different
    /// value. An event name in the type is written, even if it is the default name.
    #[test]
    fn the_data_of_an_event_is_json() {
        let items = ItemFormat { encoding: ItemEncoding::EventJson, ..ITEMS };
        for (item, expected) in [
            (r#"{"event": "message", "data": {"a": [1.50]}}"#, "event: message\ndata: {\"a\":[1.50]}\n\n"),
            (r#"{"event": "done", "data": "[DONE]"}"#, "event: done\ndata: [DONE]\n\n"),
            (r#"{"data": "a\nb"}"#, "data: a\ndata: b\n\n"),
            (r#"{"data": "a\rb"}"#, "data: \"a\\rb\"\n\n"),
            (r#"{"data": "5"}"#, "data: \"5\"\n\n"),
            (r#"{"data": null}"#, "data: null\n\n"),
            (r#"{"id": "7"}"#, "id: 7\n\n"),
        ] {
            let written = encode_event(&event(item), items, None).unwrap();
            assert_eq!(String::from_utf8_lossy(&written), expected);
            let mut decoder = ItemDecoder::new(ItemFraming::Events, 100);
            decoder.push(&written);
            let Some(read) = decoder.next_item() else { continue };
            let read = Json::parse(&items.encoding.read_document(&read.unwrap())).unwrap();
            assert_eq!(read, Json::parse(item.as_bytes()).unwrap());
        }
        assert!(matches!(encode_event(&event("[]"), items, None), Err(None)));
    }

    #[test]
    fn field_of_another_type_is_rejected() {
        for item in [
            r#"{"data": {"a": 1}}"#,
            r#"{"data": null}"#,
            r#"{"data": "a", "id": 7}"#,
            r#"{"data": "a", "event": true}"#,
            r#"{"data": "a", "retry": "5"}"#,
            r#""a""#,
        ] {
            assert!(matches!(encode_event(&event(item), ITEMS, None), Err(None)), "{item}");
        }
    }
}
