//! Decodes `text/event-stream` as WHATWG HTML, 9.2.6 defines.

use std::{collections::VecDeque, mem};

use super::{DecodeFault, ItemPosition, RawItem};

const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone)]
pub(super) struct EventDecoder {
    limit: usize,
    /// The bytes at the start of this connection that may belong to a BOM. `None` once the start was
    /// processed.
    start: Option<Vec<u8>>,
    /// The current line, without its line end.
    line: Vec<u8>,
    /// Whether the current line has at least one byte. The bytes of comments and those beyond the limit are
    /// not stored.
    has_line: bool,
    retention: LineRetention,
    /// Whether the last byte was a CR. If so, a following LF belongs to the same line end.
    after_cr: bool,
    event: PendingEvent,
    last_event_id: String,
    id_buffer: String,
    retry: Option<u64>,
    index: u64,
    /// The number of decoded bytes, over all connections.
    offset: u64,
}

/// The decision whether the bytes of the current line are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineRetention {
    Keep,
    Discard,
}

/// The event whose lines are being collected.
#[derive(Clone, Default)]
struct PendingEvent {
    /// The offset of its first field.
    offset: Option<u64>,
    /// The data buffer of the standard, in which each value is followed by a line feed.
    data: String,
    kind: String,
    id: Option<String>,
    retry: Option<u64>,
    too_large: bool,
}

impl EventDecoder {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            start: Some(Vec::new()),
            line: Vec::new(),
            has_line: false,
            retention: LineRetention::Keep,
            after_cr: false,
            event: PendingEvent::default(),
            last_event_id: String::new(),
            id_buffer: String::new(),
            retry: None,
            index: 0,
            offset: 0,
        }
    }

    pub(super) fn resume_after(&mut self, last_event_id: &str) {
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
        (self.has_line, self.retention, self.after_cr) = (false, LineRetention::Keep, false);
        self.event = PendingEvent::default();
        self.id_buffer.clone_from(&self.last_event_id);
    }

    pub(super) fn push(&mut self, bytes: &[u8], ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        let Some(mut start) = self.start.take() else { return self.push_lines(bytes, ready) };
        for (index, byte) in bytes.iter().enumerate() {
            if BOM[start.len()] != *byte {
                self.push_lines(&start, ready);
                return self.push_lines(&bytes[index..], ready);
            }
            start.push(*byte);
            if start.len() == BOM.len() {
                self.offset += BOM.len() as u64;
                return self.push_lines(&bytes[index + 1..], ready);
            }
        }
        self.start = Some(start);
    }

    fn push_lines(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
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
        if !self.has_line {
            self.has_line = true;
            let comment = *first == b':';
            self.retention = if comment { LineRetention::Discard } else { LineRetention::Keep };
            if !comment {
                self.event.offset.get_or_insert(self.offset);
            }
        }
        if self.retention == LineRetention::Discard {
            return;
        }
        let room = self.limit.saturating_sub(self.event.data.len() + self.event.kind.len());
        if text.len() > room.saturating_sub(self.line.len()) {
            self.retention = LineRetention::Discard;
            self.line = Vec::new();
            let offset = self.event.offset;
            self.event = PendingEvent { offset, too_large: true, ..PendingEvent::default() };
        } else {
            self.line.extend_from_slice(text);
        }
    }

    fn end_line(&mut self, ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        let line = mem::take(&mut self.line);
        let kept = mem::replace(&mut self.retention, LineRetention::Keep);
        if !mem::take(&mut self.has_line) {
            return self.dispatch(ready);
        }
        if kept == LineRetention::Keep {
            self.read_field(&line);
        }
        self.line = line;
        self.line.clear();
    }

    fn read_field(&mut self, line: &[u8]) {
        // A line end is never part of a UTF-8 sequence, so lines can be decoded separately.
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            // An oversized event is dropped, but its id still applies.
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
                // The standard has no upper bound. A number that is too large is capped.
                let retry = value.parse().unwrap_or(u64::MAX);
                (self.retry, self.event.retry) = (Some(retry), Some(retry));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        self.last_event_id.clone_from(&self.id_buffer);
        let PendingEvent { offset, mut data, kind, id, retry, too_large } = mem::take(&mut self.event);
        if data.is_empty() && !too_large {
            return;
        }
        let place = ItemPosition { index: self.index, offset: offset.unwrap_or(self.offset) };
        self.index += 1;
        if too_large {
            return ready.push_back(Err(DecodeFault::TooLarge(place)));
        }
        data.pop();
        let event = Some(kind).filter(|kind| !kind.is_empty());
        ready.push_back(Ok(RawItem { position: place, data: data.into_bytes(), event, id, retry }));
    }
}
