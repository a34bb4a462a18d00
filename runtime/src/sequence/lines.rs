//! JSON documents of one line each, and JSON text sequences (RFC 7464).

use std::{collections::VecDeque, mem};

use super::{Fault, Item, Place};

/// What each document of a JSON text sequence begins with.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

const BOM: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone, Debug)]
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
        }
    }

    pub(super) fn restart(&mut self) {
        self.item.clear();
        (self.too_large, self.first, self.from) = (false, true, self.offset);
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], ready: &mut VecDeque<Result<Item, Fault>>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == self.separator) {
            self.continue_item(&bytes[..end]);
            self.offset += 1;
            self.end(ready);
            bytes = &bytes[end + 1..];
        }
        self.continue_item(bytes);
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
