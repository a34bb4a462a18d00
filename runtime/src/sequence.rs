//! Documents that arrive one after another in one body: server-sent events, lines of JSON, JSON
//! text sequences. No I/O: bytes go in, however they were cut, and whole items come out.
//!
//! ```
//! use contract_runtime::sequence::{Decoder, Framing};
//!
//! let mut decoder = Decoder::new(Framing::Events, 1 << 20);
//! decoder.push(b"event: delta\nda");
//! decoder.push(b"ta: {\"text\":\"Hi\"}\r\n\r\n");
//! let item = decoder.pop().ok_or("an item")??;
//! assert_eq!((item.event.as_deref(), item.data.as_slice()), (Some("delta"), &br#"{"text":"Hi"}"#[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod events;
mod lines;
mod write;

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, time::Duration};

pub use self::write::{Inexpressible, Outgoing, write, write_fields};

use self::{events::Events, lines::Lines};
use crate::media::MediaType;

/// How items follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `text/event-stream` (WHATWG HTML, 9.2.6).
    Events,
    /// A JSON document a line: `application/jsonl`, `application/x-ndjson`.
    Lines,
    /// `application/json-seq` (RFC 7464): each document between a record separator and a line feed.
    Sequence,
}

impl Framing {
    /// How the items of a media type follow one another; `None` for one that is a single document.
    ///
    /// A structured suffix says it as well (RFC 8091): `application/geo+json-seq`.
    #[must_use]
    pub fn of(media_type: &MediaType<'_>) -> Option<Self> {
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

/// Where an item stands. Both are counted from 0, over all the connections that a stream took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// How many items came before it, unreadable ones too.
    pub index: u64,
    /// The byte that it begins at.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} at byte {}", self.index, self.offset)
    }
}

/// One item, its bytes not looked at. Events have fields of their own, other items the data alone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// Where it stands.
    pub place: Place,
    /// The document. Of an event the text of its `data` lines, always UTF-8.
    pub data: Vec<u8>,
    /// `event`, unless it is missing or empty, which both mean `message`.
    pub event: Option<String>,
    /// `id`, where this event has one.
    pub id: Option<String>,
    /// `retry` in milliseconds, where this event has one.
    pub retry: Option<u64>,
}

/// Place and size: what it holds may be secret.
impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("place", &self.place)
            .field("bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}

/// An item that is not to be had; those behind it are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It has more bytes than the reader accepts.
    TooLarge(Place),
    /// It was cut off: a number, `true`, `false` or `null` of a JSON text sequence without white
    /// space behind it (RFC 7464, 2.4).
    Truncated(Place),
}

impl Fault {
    /// Where the item stands.
    #[must_use]
    pub const fn place(self) -> Place {
        match self {
            Self::TooLarge(place) | Self::Truncated(place) => place,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(place) => write!(f, "{place} is too large"),
            Self::Truncated(place) => write!(f, "{place} was cut off"),
        }
    }
}

impl std::error::Error for Fault {}

/// Finds the items in bytes that arrive in pieces of any size.
#[derive(Clone)]
pub struct Decoder {
    state: State,
    ready: VecDeque<Result<Item, Fault>>,
}

/// How many items are there.
impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

#[derive(Clone)]
enum State {
    Events(Events),
    Lines(Lines),
}

impl Decoder {
    /// Items of more than `limit` bytes are [`Fault::TooLarge`], and no more than about as many are
    /// kept of them.
    #[must_use]
    pub fn new(framing: Framing, limit: usize) -> Self {
        let state = match framing {
            Framing::Events => State::Events(Events::new(limit)),
            Framing::Lines => State::Lines(Lines::new(limit, b'\n')),
            Framing::Sequence => State::Lines(Lines::new(limit, lines::RECORD_SEPARATOR)),
        };
        Self { state, ready: VecDeque::new() }
    }

    /// The same for a stream that continues behind an event: its id is the last one until there is
    /// another.
    #[must_use]
    pub fn behind(mut self, last_event_id: &str) -> Self {
        if let State::Events(events) = &mut self.state {
            events.behind(last_event_id);
        }
        self
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Events(events) => events.push(bytes, &mut self.ready),
            State::Lines(lines) => lines.push(bytes, &mut self.ready),
        }
    }

    /// The body is over, and was whole: what has begun ends here. An event that no blank line
    /// ended is dropped, as the standard says.
    pub fn finish(&mut self) {
        match &mut self.state {
            State::Events(events) => events.restart(),
            State::Lines(lines) => lines.finish(&mut self.ready),
        }
    }

    /// Another connection continues the stream: what has begun is dropped, items are counted on,
    /// the last event id stays.
    pub fn restart(&mut self) {
        match &mut self.state {
            State::Events(events) => events.restart(),
            State::Lines(lines) => lines.restart(),
        }
    }

    /// The next item.
    pub fn pop(&mut self) -> Option<Result<Item, Fault>> {
        self.ready.pop_front()
    }

    /// The id to continue behind, for `Last-Event-ID`; empty while there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        match &self.state {
            State::Events(events) => events.last_event_id(),
            State::Lines(_) => "",
        }
    }

    /// How long the server wants a reader to wait before it connects again, when it said so.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        match &self.state {
            State::Events(events) => events.retry().map(Duration::from_millis),
            State::Lines(_) => None,
        }
    }
}
