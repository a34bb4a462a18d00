//! Splits Markdown with HTML into tokens, and matches each start tag with its end tag.

use std::{collections::HashMap, ops::Range};

use super::count_steps;
use crate::emit::markdown::{CodeSpans, back_tick_count, fence_opening, split_prefix};

/// The maximum length in bytes of a character reference, including `&` and `;`.
const MAX_REFERENCE_BYTES: usize = 12;

/// A part of the input.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) range: Range<usize>,
    /// True if the token is in a Markdown table, each row of which is one line.
    pub(super) is_in_table: bool,
}

#[derive(Debug)]
pub(super) enum TokenKind<'t> {
    Text,
    CodeSpan,
    /// A fenced code block with its last line break.
    FencedBlock,
    /// A backslash and the character that it escapes.
    Escape,
    /// A character reference and its character.
    Reference(char),
    Tag {
        tag: Tag<'t>,
        /// The index of the end tag. `None` for an end tag, and for an element that is not closed.
        end: Option<usize>,
    },
}

/// A start or end tag.
#[derive(Debug)]
pub(super) struct Tag<'t> {
    /// The name in lower case.
    pub(super) name: String,
    pub(super) is_end: bool,
    attributes: &'t str,
    /// The length of the tag in bytes.
    pub(super) length: usize,
}

impl<'t> Tag<'t> {
    /// Parses the tag at the start of a string.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let is_end = inner.starts_with('/');
        let inner = inner.trim_start_matches('/');
        let length = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(length);
        let is_separate = attributes.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        if name.is_empty() || !is_separate {
            return None;
        }
        let mut quote = None;
        // The end of a quoted value is searched beyond other tags. Nevertheless, the time to parse all tags is
        // linear: of the searches that continue at one position, no two can be in the same state, of which
        // there are three.
        let end = attributes.find(|c: char| {
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                _ => {}
            }
            quote.is_none() && matches!(c, '<' | '>')
        });
        count_steps(text.len() - attributes.len() + end.unwrap_or(attributes.len()));
        let end = end?;
        let length = text.len() - attributes.len() + end + 1;
        attributes[end..].starts_with('>').then(|| Self {
            name: name.to_ascii_lowercase(),
            is_end,
            attributes: &attributes[..end],
            length,
        })
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            let length = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/'));
            let (found, behind) = rest.split_at(length.unwrap_or(rest.len()));
            rest = behind.trim_ascii_start();
            let mut value = "";
            if let Some(assigned) = rest.strip_prefix('=') {
                let assigned = assigned.trim_ascii_start();
                let quote = assigned.chars().next().filter(|c| matches!(c, '"' | '\''));
                (value, rest) = match quote {
                    Some(quote) => assigned[1..].split_once(quote).unwrap_or((&assigned[1..], "")),
                    None => {
                        let end = assigned.find(|c: char| c.is_ascii_whitespace());
                        assigned.split_at(end.unwrap_or(assigned.len()))
                    }
                };
            } else if found.is_empty() {
                return None;
            }
            if found.eq_ignore_ascii_case(name) {
                return Some(decode_references(value));
            }
        }
    }
}

/// Splits a string into tokens.
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokenizer = Tokenizer { text, ..Tokenizer::default() };
    let spans = CodeSpans::find(text);
    let code_ends = code_element_ends(text);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if at == 0 || text[..at].ends_with('\n') {
            if let Some(length) = fenced_block_length(rest) {
                at = tokenizer.push(TokenKind::FencedBlock, at, length);
                continue;
            }
            tokenizer.start_line(at);
        }
        at = match c {
            '<' => match Tag::parse(rest) {
                Some(tag) => tokenizer.push_tag(tag, at, &code_ends),
                None => at + 1,
            },
            '`' => match spans.end_of(at) {
                Some(end) => tokenizer.push(TokenKind::CodeSpan, at, end - at),
                None => at + back_tick_count(rest),
            },
            '&' => match character_reference(rest) {
                Some((c, length)) => tokenizer.push(TokenKind::Reference(c), at, length),
                None => at + 1,
            },
            '\\' if is_escape(rest) => tokenizer.push(TokenKind::Escape, at, 2),
            c => at + c.len_utf8(),
        };
    }
    tokenizer.push_text(text.len());
    tokenizer.tokens
}

#[derive(Default)]
struct Tokenizer<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    /// The end of the last token.
    end: usize,
    /// The end of the last Markdown table.
    table_end: usize,
    /// The elements that are not closed, outermost first: the name and the index of the start tag.
    open: Vec<(String, usize)>,
    /// The number of open elements of each name.
    open_names: HashMap<String, usize>,
}

impl<'t> Tokenizer<'t> {
    /// Adds a token, preceded by a token for the characters since the last one. Returns the end of the token.
    fn push(&mut self, kind: TokenKind<'t>, start: usize, length: usize) -> usize {
        self.push_text(start);
        self.end = start + length;
        let is_in_table = start < self.table_end;
        self.tokens.push(Token { kind, range: start..self.end, is_in_table });
        self.end
    }

    fn push_text(&mut self, end: usize) {
        if self.end < end {
            let is_in_table = self.end < self.table_end;
            self.tokens.push(Token { kind: TokenKind::Text, range: self.end..end, is_in_table });
            self.end = end;
        }
    }

    fn start_line(&mut self, at: usize) {
        if at >= self.table_end {
            self.table_end = at + table_length(&self.text[at..]);
        }
    }

    /// Adds a tag. For the start tag of a code element, also adds its content and end tag. Returns the end of
    /// the last token.
    fn push_tag(&mut self, tag: Tag<'t>, at: usize, code_ends: &HashMap<usize, usize>) -> usize {
        let length = tag.length;
        let (name, is_end) = (tag.name.clone(), tag.is_end);
        let behind = self.push(TokenKind::Tag { tag, end: None }, at, length);
        let index = self.tokens.len() - 1;
        if let Some(&end) = code_ends.get(&at)
            && let Some(tag) = self.text.get(end..).and_then(Tag::parse)
        {
            let length = tag.length;
            let behind = self.push(TokenKind::Tag { tag, end: None }, end, length);
            self.close(index);
            return behind;
        }
        if !is_end {
            *self.open_names.entry(name.clone()).or_default() += 1;
            self.open.push((name, index));
        } else if self.open_names.get(&name).is_some_and(|count| *count > 0) {
            // Elements that were opened later are not closed.
            while let Some((open, start)) = self.open.pop() {
                self.open_names.entry(open.clone()).and_modify(|count| *count -= 1);
                if open == name {
                    self.close(start);
                    break;
                }
            }
        }
        behind
    }

    /// Matches the start tag at an index with the last tag.
    fn close(&mut self, start: usize) {
        let last = self.tokens.len() - 1;
        if let Some(Token { kind: TokenKind::Tag { end, .. }, .. }) = self.tokens.get_mut(start) {
            *end = Some(last);
        }
    }
}

/// Maps the position of each start tag of `code`, `tt` and `pre` to the position of its end tag. The content
/// of these elements is not Markdown: back-ticks in it do not delimit code spans.
fn code_element_ends(text: &str) -> HashMap<usize, usize> {
    let mut ends = HashMap::new();
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, _) in text.match_indices('<') {
        let tag = Tag::parse(&text[at..]).filter(|tag| matches!(tag.name.as_str(), "code" | "tt" | "pre"));
        let Some(tag) = tag else { continue };
        let open = open.entry(tag.name).or_default();
        if !tag.is_end {
            open.push(at);
        } else if let Some(start) = open.pop() {
            ends.insert(start, at);
        }
    }
    ends
}

/// Returns true if the backslash at the start of a string escapes the next character. A backslash before
/// `<br>` is not an escape, because a line of HTML may end with a Windows path.
fn is_escape(text: &str) -> bool {
    let escaped = &text[1..];
    let is_break = || Tag::parse(escaped).is_some_and(|tag| tag.name == "br");
    escaped.starts_with(['<', '`', '&', '\\']) && !is_break()
}

/// Returns the length of the Markdown table at the start of a line, or 0 if there is none.
fn table_length(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let is_header = lines.next().is_some_and(|line| line.contains('|'));
    let is_delimiter = |line: &str| {
        line.contains('|')
            && line.contains('-')
            && line.trim().chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
    };
    if !is_header || !lines.next().is_some_and(is_delimiter) {
        return 0;
    }
    text.split_inclusive('\n').take_while(|line| !line.trim().is_empty()).map(str::len).sum()
}

/// Returns the length of the fenced code block at the start of a line. A block without an end extends to the
/// end of the input.
fn fenced_block_length(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    let mark = fence_opening(split_prefix(first.trim_end()).1)?;
    let mut length = first.len();
    for line in lines {
        length += line.len();
        let inner = split_prefix(line.trim_end()).1;
        if fence_opening(inner).is_some_and(|end| end.len() == inner.len() && end.starts_with(mark)) {
            break;
        }
    }
    Some(length)
}

pub(super) fn decode_references(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (c, length) = character_reference(rest).unwrap_or((c, c.len_utf8()));
        out.push(c);
        rest = &rest[length..];
    }
    out
}

/// Parses the character reference at the start of a string. Returns the character, and the length of the
/// reference.
pub(super) fn character_reference(text: &str) -> Option<(char, usize)> {
    let inner = text.strip_prefix('&')?;
    let end = inner.bytes().take(MAX_REFERENCE_BYTES).position(|byte| byte == b';')?;
    let name = &inner[..end];
    let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" | "rsquo" | "lsquo" => '\'',
        "ldquo" | "rdquo" => '"',
        "nbsp" => ' ',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        "hellip" => '\u{2026}',
        "bull" | "middot" => '\u{b7}',
        "copy" => '\u{a9}',
        "reg" => '\u{ae}',
        "trade" => '\u{2122}',
        "times" => '\u{d7}',
        "le" => '\u{2264}',
        "ge" => '\u{2265}',
        "rarr" => '\u{2192}',
        "larr" => '\u{2190}',
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']);
            let c = hex.map_or_else(|| code(number, 10), |digits| code(digits, 16))?;
            if c == '\u{a0}' { ' ' } else { c }
        }
    };
    Some((c, end + 2)).filter(|(c, _)| !c.is_control() || *c == '\n')
}
