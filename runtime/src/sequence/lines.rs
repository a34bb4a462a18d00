//! JSON documents of one line each, and JSON text sequences (RFC 7464).

use std::{collections::VecDeque, mem};

use super::{Fault, Item, Place};

/// What each document of a JSON text sequence begins with.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone)]
pub(super) struct Lines {
    limit: usize,
    /// What stands between documents: the end of a line, or a record separator.
    separator: u8,
    item: Vec<u8>,
    too_large: bool,
    /// Where the item begins, and how far the bytes are.
    from: u64,
    offset: u64,
    index: u64,
    /// Whether no item of this connection has ended yet.
    first: bool,
    nesting: Nesting,
}

/// How far a document of a sequence is, as its brackets and quotes say it.
#[derive(Clone, Copy, Debug, Default)]
struct Nesting {
    begun: bool,
    depth: u64,
    text: bool,
    escaped: bool,
}

impl Nesting {
    /// Takes the next byte: whether it is the line feed behind a whole document.
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

impl Lines {
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
            nesting: Nesting { begun: false, depth: 0, text: false, escaped: false },
        }
    }

    pub(super) fn restart(&mut self) {
        self.item.clear();
        (self.too_large, self.first, self.from) = (false, true, self.offset);
        self.nesting = Nesting::default();
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Result<Item, Fault>>) {
        while let Some(end) = bytes.iter().position(|byte| self.is_end(*byte)) {
            let separated = bytes[end] == self.separator;
            self.continue_item(&bytes[..end + usize::from(!separated)]);
            self.offset += u64::from(separated);
            self.end(ready);
            bytes = &bytes[end + 1..];
        }
        self.continue_item(bytes);
    }

    /// Whether an item ends at the next byte. One of a sequence has a line feed behind it (RFC 7464,
    /// 2.2), so that nobody waits for the separator of the next, which may be long in coming.
    fn is_end(&mut self, byte: u8) -> bool {
        byte == self.separator || (self.separator == RECORD_SEPARATOR && self.nesting.ends(byte))
    }

    pub(super) fn finish(&mut self, ready: &mut VecDeque<Result<Item, Fault>>) {
        self.end(ready);
        self.restart();
    }

    fn continue_item(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        // One more: the CR, or the LF of a sequence, that the item may end with.
        let room = self.limit.saturating_add(1).saturating_sub(self.item.len());
        if self.too_large || bytes.len() > room {
            self.too_large = true;
            self.item = Vec::new();
        } else {
            self.item.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, ready: &mut VecDeque<Result<Item, Fault>>) {
        self.nesting = Nesting::default();
        let mut data = mem::take(&mut self.item);
        let place = Place { index: self.index, offset: mem::replace(&mut self.from, self.offset) };
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
            Err(Fault::TooLarge(place))
        } else if cut {
            Err(Fault::Truncated(place))
        } else {
            data.truncate(kept);
            Ok(Item { place, data, ..Item::default() })
        });
    }
}
