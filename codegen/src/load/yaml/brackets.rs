//! Lines within brackets that begin too far out for the parser: they are joined to the line that
//! opens the bracket, where a line's end is a blank. Texts stay as long as they were.

use std::{collections::BTreeSet, ops::Range};

use super::fold::fold;

/// A text with lines that were joined.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub(super) text: String,
    /// Where they began, and by whom they were found.
    pub(super) at: BTreeSet<(usize, By)>,
}

/// Who found a line that is too far out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// The parser, which knows.
    Parser,
    /// Its look: it may stand in a text.
    Look,
    /// The parser again: a quoted text with such lines begins here.
    Fold,
}

impl Joined {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: BTreeSet::new() }
    }

    /// Joins the lines behind `at`, where the parser stopped, up to the next closing bracket; and those
    /// of brackets further on that look alike, so that not each of them is a reading of its own.
    /// Whether anything changed.
    pub(super) fn join(&mut self, at: usize, ahead: Ahead) -> bool {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let joined = flatten(&mut bytes, at);
        if let Some(end) = joined {
            self.at.insert((at, By::Parser));
            if ahead == Ahead::Look {
                self.at.extend(shallow(&mut bytes, end).into_iter().map(|at| (at, By::Look)));
            }
        }
        // Line ends and whole comments are blanks now: what was UTF-8 is.
        self.text = String::from_utf8(bytes).unwrap_or_default();
        joined.is_some()
    }

    /// Folds the quoted text at `at`, where the parser stopped. Whether anything changed.
    pub(super) fn fold(&mut self, at: usize) -> bool {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let changed = fold(&mut bytes, at);
        if changed {
            self.at.insert((at, By::Fold));
        }
        // Line ends and blanks are blanks and fillers now: what was UTF-8 is.
        self.text = String::from_utf8(bytes).unwrap_or_default();
        changed
    }

    /// Whether a text that was folded begins within a span.
    pub(super) fn is_folded(&self, span: Range<usize>) -> bool {
        self.at.range((span.start, By::Parser)..(span.end, By::Parser)).any(|(_, by)| *by == By::Fold)
    }
}

/// Whether more is joined than the parser asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Brackets further on, too.
    Look,
    /// What it asks for alone.
    Wait,
}

/// Puts the line at `at`, and those behind it up to the next closing bracket, on the line before.
/// Where that ends; `None` where it changes nothing.
fn flatten(bytes: &mut [u8], at: usize) -> Option<usize> {
    let before = bytes.get(..at)?;
    let end = before.trim_ascii_end().len();
    let line = before.get(..end)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    // A comment would take what follows with it.
    let bare = line + comment(before.get(line..end)?).unwrap_or(end - line);
    let mut changed = blank(bytes.get_mut(bare..at)?);
    let mut walk = Walk::new(at);
    while let Some(step) = walk.next(bytes) {
        match step {
            Step::LineEnd(at) => changed |= blank(bytes.get_mut(at..=at)?),
            Step::Comment(from, to) => changed |= blank(bytes.get_mut(from..to)?),
            Step::Close(end) => return changed.then_some(end),
        }
    }
    changed.then_some(bytes.len())
}

/// Joins what stands too far out in brackets that a line behind `from` ends with. Where it began.
fn shallow(bytes: &mut [u8], from: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = line_end(bytes, from);
    // Lines further in than this are those of a text in block style.
    let mut text: Option<usize> = None;
    while at < bytes.len() {
        let start = at;
        at = line_end(bytes, start);
        let Some(line) = Line::of(bytes.get(start..at).unwrap_or_default()) else { continue };
        if text.is_some_and(|key| line.indent > key) {
            continue;
        }
        text = line.is_text.then_some(line.key);
        let Some(open) = line.open else { continue };
        match too_far_out(bytes, start + open + 1, line.key) {
            (Some(place), _) => match flatten(bytes, place) {
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

/// Where the first line within the bracket that opened before `at` begins too far out for a key at
/// this column, and where the bracket closes.
fn too_far_out(bytes: &[u8], at: usize, key: usize) -> (Option<usize>, usize) {
    let mut walk = Walk::new(at);
    let mut found = None;
    while let Some(step) = walk.next(bytes) {
        match step {
            Step::Close(end) => return (found, end),
            Step::Comment(..) => {}
            Step::LineEnd(end) => {
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
    // A bracket that never closes is none.
    (None, bytes.len())
}

/// Behind the end of the line that a byte stands in.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1)
}

/// Whether there was anything but blanks.
fn blank(bytes: &mut [u8]) -> bool {
    let changes = bytes.iter().any(|byte| *byte != b' ');
    bytes.fill(b' ');
    changes
}

/// A line of a document in block style.
#[derive(Debug)]
struct Line {
    indent: usize,
    /// The column of its last key, or of the dash before a value without one.
    key: usize,
    /// Whether a text in block style begins behind it.
    is_text: bool,
    /// Where the bracket stands that it ends with.
    open: Option<usize>,
}

impl Line {
    /// `None` for an empty line and a comment.
    fn of(line: &[u8]) -> Option<Self> {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        if line.get(indent) == Some(&b'#') {
            return None;
        }
        let line = line.get(..comment(line).unwrap_or(line.len()))?.trim_ascii_end();
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

/// The column of the last dash of a list that a line begins with, and of what stands behind it; that of
/// the line's first word where there is none.
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

/// Where the comment of a line begins, which is none within quotes.
fn comment(line: &[u8]) -> Option<usize> {
    let mut walk = Walk::new(behind_dashes(line).1);
    while let Some(step) = walk.next(line) {
        match step {
            Step::Comment(at, _) => return Some(at),
            Step::Close(end) => walk = Walk::new(end),
            Step::LineEnd(_) => {}
        }
    }
    None
}

/// What is met on the way to the end of a bracket.
enum Step {
    /// A line's end that is none of a text.
    LineEnd(usize),
    /// A comment: from, to.
    Comment(usize, usize),
    /// Behind the bracket that closes what was open at the beginning.
    Close(usize),
}

/// Goes through what stands in brackets.
struct Walk {
    at: usize,
    depth: usize,
    /// The last byte that is no blank.
    last: u8,
    /// Whether a blank stands before.
    is_apart: bool,
    /// Which quotes are known to open no text any more: what one of them does not find, no later one
    /// of its kind does.
    open: [bool; 2],
    is_done: bool,
}

impl Walk {
    const fn new(at: usize) -> Self {
        Self { at, depth: 0, last: b'[', is_apart: true, open: [false; 2], is_done: false }
    }

    fn next(&mut self, bytes: &[u8]) -> Option<Step> {
        while let Some(byte) = bytes.get(self.at).copied().filter(|_| !self.is_done) {
            let start = self.at;
            self.at += 1;
            let is_apart = std::mem::replace(&mut self.is_apart, byte.is_ascii_whitespace());
            match byte {
                b'\n' | b'\r' => return Some(Step::LineEnd(start)),
                b'#' if is_apart => {
                    let rest = bytes.get(start..)?;
                    self.at =
                        rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| start + end);
                    return Some(Step::Comment(start, self.at));
                }
                // A quote within a word is a letter of it.
                b'"' | b'\'' if b"[{,:".contains(&self.last) => {
                    self.at = start + self.quoted(bytes.get(start..)?, byte);
                }
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' if self.depth == 0 => {
                    self.is_done = true;
                    return Some(Step::Close(self.at));
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

    /// How long the quoted text at the beginning is; that of the quote alone where it has no end.
    fn quoted(&mut self, text: &[u8], quote: u8) -> usize {
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
