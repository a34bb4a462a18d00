//! `text/event-stream`, as WHATWG HTML, 9.2.6 reads it.

use std::{collections::VecDeque, mem};

use super::{Fault, Item, Place};

const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone)]
pub(super) struct Events {
    limit: usize,
    /// The bytes of this connection so far that a BOM may begin with; `None` behind the beginning.
    start: Option<Vec<u8>>,
    /// The line that has begun, without its end.
    line: Vec<u8>,
    /// Whether it has any byte: of a comment, or behind the limit, none are kept.
    begun: bool,
    kept: Kept,
    /// The last byte was a CR, so that an LF belongs to the same line end.
    after_cr: bool,
    event: Event,
    last_event_id: String,
    id_buffer: String,
    retry: Option<u64>,
    index: u64,
    /// Bytes taken, over all connections.
    offset: u64,
}

/// What of the line is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Bytes,
    Nothing,
}

/// The event that has begun.
#[derive(Clone, Default)]
struct Event {
    /// Where its first field stands.
    offset: Option<u64>,
    /// The data buffer: each value with a line feed behind it.
    data: String,
    kind: String,
    id: Option<String>,
    retry: Option<u64>,
    too_large: bool,
}

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            start: Some(Vec::new()),
            line: Vec::new(),
            begun: false,
            kept: Kept::Bytes,
            after_cr: false,
            event: Event::default(),
            last_event_id: String::new(),
            id_buffer: String::new(),
            retry: None,
            index: 0,
            offset: 0,
        }
    }

    pub(super) fn behind(&mut self, last_event_id: &str) {
        last_event_id.clone_into(&mut self.last_event_id);
        self.id_buffer.clone_from(&self.last_event_id);
    }

    pub(super) fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    pub(super) const fn retry(&self) -> Option<u64> {
        self.retry
    }

    pub(super) fn restart(&mut self) {
        self.start = Some(Vec::new());
        self.line.clear();
        (self.begun, self.kept, self.after_cr) = (false, Kept::Bytes, false);
        self.event = Event::default();
        self.id_buffer.clone_from(&self.last_event_id);
    }

    pub(super) fn push(&mut self, bytes: &[u8], ready: &mut VecDeque<Result<Item, Fault>>) {
        let Some(mut start) = self.start.take() else { return self.lines(bytes, ready) };
        for (at, byte) in bytes.iter().enumerate() {
            if BOM[start.len()] != *byte {
                self.lines(&start, ready);
                return self.lines(&bytes[at..], ready);
            }
            start.push(*byte);
            if start.len() == BOM.len() {
                self.offset += BOM.len() as u64;
                return self.lines(&bytes[at + 1..], ready);
            }
        }
        self.start = Some(start);
    }

    fn lines(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Result<Item, Fault>>) {
        while let Some(first) = bytes.first() {
            if mem::take(&mut self.after_cr) && *first == b'\n' {
                self.offset += 1;
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.continue_line(text);
            self.offset += text.len() as u64;
            let Some(end) = rest.first() else { return };
            self.after_cr = *end == b'\r';
            self.offset += 1;
            self.end_line(ready);
            bytes = &rest[1..];
        }
    }

    fn continue_line(&mut self, text: &[u8]) {
        let Some(first) = text.first() else { return };
        if !self.begun {
            self.begun = true;
            let comment = *first == b':';
            self.kept = if comment { Kept::Nothing } else { Kept::Bytes };
            if !comment {
                self.event.offset.get_or_insert(self.offset);
            }
        }
        if self.kept == Kept::Nothing {
            return;
        }
        let room = self.limit.saturating_sub(self.event.data.len() + self.event.kind.len());
        if text.len() > room.saturating_sub(self.line.len()) {
            self.kept = Kept::Nothing;
            self.line = Vec::new();
            let offset = self.event.offset;
            self.event = Event { offset, too_large: true, ..Event::default() };
        } else {
            self.line.extend_from_slice(text);
        }
    }

    fn end_line(&mut self, ready: &mut VecDeque<Result<Item, Fault>>) {
        let line = mem::take(&mut self.line);
        let kept = mem::replace(&mut self.kept, Kept::Bytes);
        if !mem::take(&mut self.begun) {
            return self.dispatch(ready);
        }
        if kept == Kept::Bytes {
            self.field(&line);
        }
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        // A line end is never part of a character, so that lines decode as the whole would.
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            // What is not to be had; its id counts all the same.
            "event" | "data" if self.event.too_large => {}
            "event" => value.clone_into(&mut self.event.kind),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "id" if !value.contains('\0') => {
                value.clone_into(&mut self.id_buffer);
                self.event.id = Some(value.to_owned());
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // The standard sets no bound; what no clock can hold is the longest wait there is.
                let retry = value.parse().unwrap_or(u64::MAX);
                (self.retry, self.event.retry) = (Some(retry), Some(retry));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, ready: &mut VecDeque<Result<Item, Fault>>) {
        self.last_event_id.clone_from(&self.id_buffer);
        let Event { offset, mut data, kind, id, retry, too_large } = mem::take(&mut self.event);
        if data.is_empty() && !too_large {
            return;
        }
        let place = Place { index: self.index, offset: offset.unwrap_or(self.offset) };
        self.index += 1;
        if too_large {
            return ready.push_back(Err(Fault::TooLarge(place)));
        }
        data.pop();
        let event = Some(kind).filter(|kind| !kind.is_empty());
        ready.push_back(Ok(Item { place, data: data.into_bytes(), event, id, retry }));
    }
}
