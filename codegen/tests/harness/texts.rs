//! Random strings and JSON values with characters that are special in some part of a request.

use contract_runtime::{Json, Map};

use super::split_mix::SplitMix64;

/// Pieces of strings that are special in URIs, headers, forms or JSON.
const PIECES: [&str; 30] = [
    "a",
    "B",
    "7",
    "-",
    "1.5",
    "true",
    "null",
    ",",
    ";",
    "=",
    "&",
    "/",
    "?",
    "#",
    "%",
    "%41",
    "+",
    " ",
    "é",
    "\u{1F600}",
    ".",
    "|",
    "[",
    "]",
    "\"",
    "\\",
    "\n",
    "~",
    ":",
    "@",
];

/// A generator of strings and JSON values. The seed is its initial state.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        let mut generator = SplitMix64(self.0);
        let number = generator.next_number();
        self.0 = generator.0;
        number % limit
    }

    pub(crate) fn text(&mut self) -> String {
        let pieces = self.below(4) + 1;
        (0..pieces).map(|_| PIECES[usize::try_from(self.below(30)).unwrap()]).collect()
    }

    pub(crate) fn whole(&mut self) -> i64 {
        i64::try_from(self.below(2000)).unwrap() - 1000
    }

    /// Returns a random JSON value with at most `depth` levels of nesting.
    pub(crate) fn json(&mut self, depth: u8) -> Json {
        let inside = depth.saturating_sub(1);
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Json::Null,
            1 => Json::Bool(self.below(2) == 0),
            2 => Json::parse(format!("{}.{:02}", self.whole(), self.below(100)).as_bytes()).unwrap(),
            3 | 4 => Json::String(self.text()),
            5 => Json::Array((0..self.below(4)).map(|_| self.json(inside)).collect()),
            _ => Json::Object(self.members(inside)),
        }
    }

    /// Returns random members of an object.
    pub(crate) fn members(&mut self, depth: u8) -> Map<Json> {
        (0..self.below(4)).map(|_| (self.text(), self.json(depth))).collect()
    }
}
