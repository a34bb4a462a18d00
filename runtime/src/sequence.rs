//! Sequences of documents in one body: server-sent events, JSON lines and JSON text sequences. This module
//! performs no I/O. It accepts bytes in chunks of any size and returns complete items.
//!
//! ```
//! use contract_runtime::sequence::{ItemDecoder, ItemFraming};
//!
//! let mut decoder = ItemDecoder::new(ItemFraming::Events, 1 << 20);
//! decoder.push(b"event: delta\nda");
//! decoder.push(b"ta: {\"text\":\"Hi\"}\r\n\r\n");
//! let item = decoder.next_item().ok_or("an item")??;
//! assert_eq!((item.event.as_deref(), item.data.as_slice()), (Some("delta"), &br#"{"text":"Hi"}"#[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod encode;
mod events;
mod lines;

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, time::Duration};

pub use self::encode::{ItemEncodingError, OutgoingItem, write_event_fields, write_item};

use self::{events::EventDecoder, lines::LineDecoder};
use crate::media_type::MediaType;

/// The framing of items in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFraming {
    /// `text/event-stream` (WHATWG HTML, 9.2.6).
    Events,
    /// One JSON document per line: `application/jsonl`, `application/x-ndjson`.
    Lines,
    /// `application/json-seq` (RFC 7464): each document is between a record separator and a line feed.
    Sequence,
}

impl ItemFraming {
    /// Returns the framing of a media type, or `None` for a single document.
    ///
    /// Structured suffixes (RFC 8091) are recognized as well, such as `application/geo+json-seq`.
    #[must_use]
    pub fn from_media_type(media_type: &MediaType<'_>) -> Option<Self> {
        let essence = media_type.essence().to_ascii_lowercase();
        match essence.as_str() {
            "text/event-stream" => Some(Self::Events),
            "application/jsonl"
            | "application/jsonlines"
            | "application/json-lines"
            | "application/x-jsonl"
            | "application/x-jsonlines"
            | "application/ndjson"
            | "application/x-ndjson"
            | "text/jsonl"
            | "application/x-json-stream" => Some(Self::Lines),
            "application/json-seq" => Some(Self::Sequence),
            _ if essence.ends_with("+json-seq") => Some(Self::Sequence),
            _ if essence.ends_with("+jsonl") || essence.ends_with("+ndjson") => Some(Self::Lines),
            _ => None,
        }
    }
}

/// The position of an item. Index and offset count from 0 over all connections of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ItemPosition {
    /// The number of earlier items, including unreadable ones.
    pub index: u64,
    /// The byte offset of the start of the item.
    pub offset: u64,
}

impl fmt::Display for ItemPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} at byte {}", self.index, self.offset)
    }
}

/// An item with undecoded data. Only events have fields other than the data.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RawItem {
    /// The position in the stream.
    pub position: ItemPosition,
    /// The document. For an event, the joined `data` lines, which are always UTF-8.
    pub data: Vec<u8>,
    /// `event`. `None` if it is missing or empty, which means `message`.
    pub event: Option<String>,
    /// `id`, if this event has one.
    pub id: Option<String>,
    /// `retry` in milliseconds, if this event has one.
    pub retry: Option<u64>,
}

/// Shows only the position and the size, because the data may be secret.
impl fmt::Debug for RawItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawItem")
            .field("position", &self.position)
            .field("bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}

/// An item that cannot be decoded. Decoding continues with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeFault {
    /// The item exceeds the size limit.
    TooLarge(ItemPosition),
    /// The item is truncated. In a JSON text sequence, this is a number, `true`, `false` or `null` without
    /// white space after it (RFC 7464, 2.4).
    Truncated(ItemPosition),
}

impl DecodeFault {
    /// Returns the position of the item.
    #[must_use]
    pub const fn position(self) -> ItemPosition {
        match self {
            Self::TooLarge(place) | Self::Truncated(place) => place,
        }
    }
}

impl fmt::Display for DecodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(place) => write!(f, "{place} is too large"),
            Self::Truncated(place) => write!(f, "{place} is truncated"),
        }
    }
}

impl std::error::Error for DecodeFault {}

/// A decoder that splits chunks of any size into items.
#[derive(Clone)]
pub struct ItemDecoder {
    state: DecoderState,
    ready: VecDeque<Result<RawItem, DecodeFault>>,
}

/// Shows only the number of decoded items.
impl fmt::Debug for ItemDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemDecoder").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

#[derive(Clone)]
enum DecoderState {
    Events(EventDecoder),
    Lines(LineDecoder),
}

impl ItemDecoder {
    /// Creates a decoder. An item of more than `limit` bytes is reported as [`DecodeFault::TooLarge`], and
    /// about `limit` bytes of it are buffered at most.
    #[must_use]
    pub fn new(framing: ItemFraming, limit: usize) -> Self {
        let state = match framing {
            ItemFraming::Events => DecoderState::Events(EventDecoder::new(limit)),
            ItemFraming::Lines => DecoderState::Lines(LineDecoder::new(limit, b'\n')),
            ItemFraming::Sequence => DecoderState::Lines(LineDecoder::new(limit, lines::RECORD_SEPARATOR)),
        };
        Self { state, ready: VecDeque::new() }
    }

    /// Sets the last event id of a resumed stream. It applies until an event has another id.
    #[must_use]
    pub fn resume_after(mut self, last_event_id: &str) -> Self {
        if let DecoderState::Events(events) = &mut self.state {
            events.resume_after(last_event_id);
        }
        self
    }

    /// Decodes the next chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.state {
            DecoderState::Events(events) => events.push(bytes, &mut self.ready),
            DecoderState::Lines(lines) => lines.push(bytes, &mut self.ready),
        }
    }

    /// Ends the body after its last byte and completes a pending item. An event without a terminating blank
    /// line is dropped, as the standard defines.
    pub fn finish(&mut self) {
        match &mut self.state {
            DecoderState::Events(events) => events.restart(),
            DecoderState::Lines(lines) => lines.finish(&mut self.ready),
        }
    }

    /// Continues on a new connection. A pending item is dropped. The item count and the last event id are
    /// kept.
    pub fn restart(&mut self) {
        match &mut self.state {
            DecoderState::Events(events) => events.restart(),
            DecoderState::Lines(lines) => lines.restart(),
        }
    }

    /// Returns the next decoded item, or `None` if more bytes are needed.
    pub fn next_item(&mut self) -> Option<Result<RawItem, DecodeFault>> {
        self.ready.pop_front()
    }

    /// Returns the id for `Last-Event-ID`, after which the stream can be resumed. Empty if there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        match &self.state {
            DecoderState::Events(events) => events.last_event_id(),
            DecoderState::Lines(_) => "",
        }
    }

    /// Returns the reconnection delay that the server sent, if any.
    #[must_use]
    pub fn reconnection_delay(&self) -> Option<Duration> {
        match &self.state {
            DecoderState::Events(events) => events.retry().map(Duration::from_millis),
            DecoderState::Lines(_) => None,
        }
    }
}
