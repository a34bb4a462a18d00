//! Decodes JSON lines and JSON text sequences (RFC 7464).

use std::{collections::VecDeque, mem};

use super::{DecodeFault, ItemPosition, RawItem};

/// The byte before each document of a JSON text sequence.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone)]
pub(super) struct LineDecoder {
    limit: usize,
    /// The byte between documents, which is a line feed or a record separator.
    separator: u8,
    item: Vec<u8>,
    too_large: bool,
    /// The offset of the current item. `offset` is the number of decoded bytes.
    from: u64,
    offset: u64,
    index: u64,
    /// Whether the first item of this connection is still incomplete.
    first: bool,
    nesting: NestingTracker,
}

/// A tracker of brackets and quotes, which finds the end of a document in a sequence.
#[derive(Clone, Copy, Debug, Default)]
struct NestingTracker {
    begun: bool,
    depth: u64,
    text: bool,
    escaped: bool,
}

impl NestingTracker {
    /// Processes the next byte. Returns true for a line feed after a complete document.
    fn ends(&mut self, byte: u8) -> bool {
        match byte {
            _ if mem::take(&mut self.escaped) => {}
            b'\\' if self.text => self.escaped = true,
            b'"' => (self.begun, self.text) = (true, !self.text),
            _ if self.text => {}
            b'\n' => return self.begun && self.depth == 0,
            b' ' | b'\t' | b'\r' => {}
            b'{' | b'[' => (self.begun, self.depth) = (true, self.depth + 1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => self.begun = true,
        }
        false
    }
}

impl LineDecoder {
    pub(super) const fn new(limit: usize, separator: u8) -> Self {
        Self {
            limit,
            separator,
            item: Vec::new(),
            too_large: false,
            from: 0,
            offset: 0,
            index: 0,
            first: true,
            nesting: NestingTracker { begun: false, depth: 0, text: false, escaped: false },
        }
    }

    pub(super) fn restart(&mut self) {
        self.item.clear();
        (self.too_large, self.first, self.from) = (false, true, self.offset);
        self.nesting = NestingTracker::default();
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        while let Some(end) = bytes.iter().position(|byte| self.is_end(*byte)) {
            let separated = bytes[end] == self.separator;
            self.continue_item(&bytes[..end + usize::from(!separated)]);
            self.offset += u64::from(separated);
            self.end_item(ready);
            bytes = &bytes[end + 1..];
        }
        self.continue_item(bytes);
    }

    /// Returns true if an item ends at this byte. A document in a sequence is followed by a line feed (RFC
    /// 7464, 2.2), so the decoder need not wait for the separator of the next document.
    fn is_end(&mut self, byte: u8) -> bool {
        byte == self.separator || (self.separator == RECORD_SEPARATOR && self.nesting.ends(byte))
    }

    pub(super) fn finish(&mut self, ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        self.end_item(ready);
        self.restart();
    }

    fn continue_item(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        // One more byte is allowed for a trailing CR, or for the LF in a sequence.
        let room = self.limit.saturating_add(1).saturating_sub(self.item.len());
        if self.too_large || bytes.len() > room {
            self.too_large = true;
            self.item = Vec::new();
        } else {
            self.item.extend_from_slice(bytes);
        }
    }

    fn end_item(&mut self, ready: &mut VecDeque<Result<RawItem, DecodeFault>>) {
        self.nesting = NestingTracker::default();
        let mut data = mem::take(&mut self.item);
        let place = ItemPosition { index: self.index, offset: mem::replace(&mut self.from, self.offset) };
        if mem::take(&mut self.first) && data.starts_with(BOM) {
            data.drain(..BOM.len());
        }
        let text = data.trim_ascii();
        let too_large = mem::take(&mut self.too_large) || text.len() > self.limit;
        if text.is_empty() && !too_large {
            return;
        }
        self.index += 1;
        let scalar = !matches!(text.first(), Some(b'{' | b'[' | b'"'));
        let kept = data.trim_ascii_end().len();
        let cut = self.separator == RECORD_SEPARATOR && scalar && kept == data.len();
        ready.push_back(if too_large {
            Err(DecodeFault::TooLarge(place))
        } else if cut {
            Err(DecodeFault::Truncated(place))
        } else {
            data.truncate(kept);
            Ok(RawItem { position: place, data, ..RawItem::default() })
        });
    }
}
