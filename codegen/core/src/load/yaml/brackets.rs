//! Joins shallow lines of flow collections, which are indented less than the parser allows, with the line
//! that opens the bracket. Line breaks become blanks, so that all byte offsets stay valid.

use std::{collections::BTreeSet, ops::Range};

use super::fold::fold_quoted_scalar;

/// The text of a document in which shallow lines were joined with the lines before them.
#[derive(Clone, Debug)]
pub(super) struct JoinedText {
    pub(super) text: String,
    /// The offsets of the joined lines and of the folded scalars, with the reason for each.
    pub(super) at: BTreeSet<(usize, JoinReason)>,
}

/// The reason why a line was joined with the line before it, or a scalar was folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JoinReason {
    /// The parser rejected the indentation of the line.
    Parser,
    /// The lookahead found that the line has the form of a line that the parser rejected. It may nevertheless
    /// be part of a block scalar.
    Look,
    /// The parser rejected the indentation of a quoted scalar. The offset is that of the opening quote.
    Fold,
}

impl JoinedText {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: BTreeSet::new() }
    }

    /// Joins the lines from `at`, where the parser stopped, up to the next closing bracket. With lookahead,
    /// it also joins the lines of later shallow brackets, which saves one parse for each of them. Returns
    /// true if the text changed.
    pub(super) fn join_lines(&mut self, at: usize, ahead: Lookahead) -> bool {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let joined = flatten_bracket(&mut bytes, at);
        if let Some(end) = joined {
            self.at.insert((at, JoinReason::Parser));
            if ahead == Lookahead::Enabled {
                self.at.extend(
                    join_shallow_brackets(&mut bytes, end).into_iter().map(|at| (at, JoinReason::Look)),
                );
            }
        }
        // Only line breaks and whole comments were replaced, so the result is still UTF-8.
        self.text = String::from_utf8(bytes).unwrap_or_default();
        joined.is_some()
    }

    /// Folds the quoted scalar that begins at `at`, where the parser stopped. Returns true if the text
    /// changed.
    pub(super) fn fold_quoted(&mut self, at: usize) -> bool {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let changed = fold_quoted_scalar(&mut bytes, at);
        if changed {
            self.at.insert((at, JoinReason::Fold));
        }
        // Only line breaks and blanks were replaced, so the result is still UTF-8.
        self.text = String::from_utf8(bytes).unwrap_or_default();
        changed
    }

    /// Returns true if a folded scalar begins within the span.
    pub(super) fn is_folded(&self, span: Range<usize>) -> bool {
        self.at
            .range((span.start, JoinReason::Parser)..(span.end, JoinReason::Parser))
            .any(|(_, by)| *by == JoinReason::Fold)
    }
}

/// Whether the lines of brackets are joined before the parser rejects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookahead {
    Enabled,
    Disabled,
}

/// Joins the line at `at` and the lines up to the next closing bracket with the previous line. Returns the
/// end of the joined part, or `None` if nothing changed.
fn flatten_bracket(bytes: &mut [u8], at: usize) -> Option<usize> {
    let before = bytes.get(..at)?;
    let end = before.trim_ascii_end().len();
    let line = before.get(..end)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    // A comment before the joined lines is removed, because the joined lines would become part of it.
    let bare = line + comment_start(before.get(line..end)?).unwrap_or(end - line);
    let mut changed = blank_out(bytes.get_mut(bare..at)?);
    let mut walk = BracketScanner::new(at);
    while let Some(step) = walk.next_token(bytes) {
        match step {
            BracketToken::LineEnd(at) => changed |= blank_out(bytes.get_mut(at..=at)?),
            BracketToken::Comment(from, to) => changed |= blank_out(bytes.get_mut(from..to)?),
            BracketToken::Close(end) => return changed.then_some(end),
        }
    }
    changed.then_some(bytes.len())
}

/// Joins the lines of all shallow brackets after `from` that are opened at the end of a line. Returns the
/// offsets of the shallow lines.
fn join_shallow_brackets(bytes: &mut [u8], from: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = line_end(bytes, from);
    // The key column of the current block scalar: lines with a deeper indentation belong to the scalar.
    let mut text: Option<usize> = None;
    while at < bytes.len() {
        let start = at;
        at = line_end(bytes, start);
        let Some(line) = BlockLine::parse_line(bytes.get(start..at).unwrap_or_default()) else { continue };
        if text.is_some_and(|key| line.indent > key) {
            continue;
        }
        text = line.is_text.then_some(line.key);
        let Some(open) = line.open else { continue };
        match find_shallow_line(bytes, start + open + 1, line.key) {
            (Some(place), _) => match flatten_bracket(bytes, place) {
                Some(end) => {
                    found.push(place);
                    at = line_end(bytes, end);
                }
                None => break,
            },
            (None, end) => at = line_end(bytes, end).max(at),
        }
    }
    found
}

/// Searches the bracket that is opened before `at` for a line that is not indented more than `key`, the
/// column of the bracket's key. Returns the offset of the first such line, if there is one, and of the end of
/// the bracket.
fn find_shallow_line(bytes: &[u8], at: usize, key: usize) -> (Option<usize>, usize) {
    let mut walk = BracketScanner::new(at);
    let mut found = None;
    while let Some(step) = walk.next_token(bytes) {
        match step {
            BracketToken::Close(end) => return (found, end),
            BracketToken::Comment(..) => {}
            BracketToken::LineEnd(end) => {
                let line = bytes.get(end + 1..).unwrap_or_default();
                let indent = line.iter().take_while(|byte| **byte == b' ').count();
                let is_word = |byte: &u8| !b"]}[{\"',\r\n#".contains(byte);
                let is_blank = |byte: &u8| b"\r\n#".contains(byte);
                let first = line.get(indent);
                let is_out = (indent < key && !first.is_none_or(is_blank))
                    || (indent == key && first.is_some_and(is_word));
                if is_out && found.is_none() {
                    found = Some(end + 1 + indent);
                }
            }
        }
    }
    // An unclosed bracket is treated as ordinary characters.
    (None, bytes.len())
}

/// Returns the offset after the line break of the line that contains `at`.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1)
}

/// Overwrites all bytes with blanks, and returns true if there were other characters.
fn blank_out(bytes: &mut [u8]) -> bool {
    let changes = bytes.iter().any(|byte| *byte != b' ');
    bytes.fill(b' ');
    changes
}

/// The parts of a line in block style, that is, outside flow collections.
#[derive(Debug)]
struct BlockLine {
    indent: usize,
    /// The column of the last key, or of the dash before a value without a key.
    key: usize,
    /// True if a block scalar begins after the line, which then ends with `|` or `>`.
    is_text: bool,
    /// The offset of the opening bracket at the end of the line, if there is one.
    open: Option<usize>,
}

impl BlockLine {
    /// Parses a line. Returns `None` if it is empty or a comment.
    fn parse_line(line: &[u8]) -> Option<Self> {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        if line.get(indent) == Some(&b'#') {
            return None;
        }
        let line = line.get(..comment_start(line).unwrap_or(line.len()))?.trim_ascii_end();
        let (dash, key) = behind_dashes(line);
        let rest = line.get(key..).filter(|rest| !rest.is_empty())?;
        let value = rest.windows(2).rposition(|pair| pair == b": ").map_or(0, |colon| colon + 2);
        let word = rest.get(value..)?.trim_ascii_start();
        let is_text = matches!(word.first(), Some(b'|' | b'>')) && word.len() <= 3;
        let is_open = matches!(word, [b'[' | b'{']);
        let key = if value == 0 { dash } else { key };
        Some(Self { indent, key, is_text, open: is_open.then(|| line.len() - 1) })
    }
}

/// Returns the columns of the last sequence dash and of the content after it. Without a dash, both are the
/// column of the first word.
fn behind_dashes(line: &[u8]) -> (usize, usize) {
    let blanks = |from: usize| line.iter().skip(from).take_while(|byte| **byte == b' ').count();
    let mut key = blanks(0);
    let mut dash = key;
    while line.get(key) == Some(&b'-') && line.get(key + 1) == Some(&b' ') {
        dash = key;
        key += 1 + blanks(key + 1);
    }
    (dash, key)
}

/// Returns the offset of the comment in a line. A `#` in quotes does not start a comment.
fn comment_start(line: &[u8]) -> Option<usize> {
    let mut walk = BracketScanner::new(behind_dashes(line).1);
    while let Some(step) = walk.next_token(line) {
        match step {
            BracketToken::Comment(at, _) => return Some(at),
            BracketToken::Close(end) => walk = BracketScanner::new(end),
            BracketToken::LineEnd(_) => {}
        }
    }
    None
}

/// A token at which the scanner of a flow collection stops.
enum BracketToken {
    /// A line break outside quotes, with its offset.
    LineEnd(usize),
    /// A comment, with the offsets of its start and end.
    Comment(usize, usize),
    /// The closing bracket of the outermost collection, with the offset after it.
    Close(usize),
}

/// A scanner for the content of a flow collection.
struct BracketScanner {
    at: usize,
    depth: usize,
    /// The last byte that is not whitespace.
    last: u8,
    /// True if whitespace precedes the current byte.
    is_apart: bool,
    /// For each kind of quote, true if an unclosed quote was found, so that later quotes are not searched
    /// again.
    open: [bool; 2],
    is_done: bool,
}

impl BracketScanner {
    const fn new(at: usize) -> Self {
        Self { at, depth: 0, last: b'[', is_apart: true, open: [false; 2], is_done: false }
    }

    fn next_token(&mut self, bytes: &[u8]) -> Option<BracketToken> {
        while let Some(byte) = bytes.get(self.at).copied().filter(|_| !self.is_done) {
            let start = self.at;
            self.at += 1;
            let is_apart = std::mem::replace(&mut self.is_apart, byte.is_ascii_whitespace());
            match byte {
                b'\n' | b'\r' => return Some(BracketToken::LineEnd(start)),
                b'#' if is_apart => {
                    let rest = bytes.get(start..)?;
                    self.at =
                        rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| start + end);
                    return Some(BracketToken::Comment(start, self.at));
                }
                // A quote inside a plain scalar is an ordinary character.
                b'"' | b'\'' if b"[{,:".contains(&self.last) => {
                    self.at = start + self.quoted_length(bytes.get(start..)?, byte);
                }
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' if self.depth == 0 => {
                    self.is_done = true;
                    return Some(BracketToken::Close(self.at));
                }
                b']' | b'}' => self.depth -= 1,
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
        }
        None
    }

    /// Returns the length of the quoted scalar at the start of a string, or 1 if the scalar has no closing
    /// quote.
    fn quoted_length(&mut self, text: &[u8], quote: u8) -> usize {
        let [double, single] = &mut self.open;
        let is_open = if quote == b'"' { double } else { single };
        if *is_open {
            return 1;
        }
        let mut escaped = false;
        for (at, each) in text.iter().enumerate().skip(1) {
            if *each == quote && !escaped {
                return at + 1;
            }
            escaped = *each == b'\\' && quote == b'"' && !escaped;
        }
        *is_open = true;
        1
    }
}
