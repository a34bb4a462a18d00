//! Converts descriptions of a contract to Markdown that rustdoc accepts without warnings: broken links and
//! HTML are escaped, and code blocks are not compiled as doc tests.

use std::collections::HashMap;

use super::html::html_to_markdown;
use crate::{constraint_text::sanitize_comment, load::uri::strip_http_scheme};

/// Characters that end a URL.
const URL_TERMINATORS: [char; 6] = ['<', '>', '"', '`', ')', ']'];

/// Converts a description to Markdown that is safe for rustdoc.
///
/// Common HTML becomes Markdown. Fenced code blocks are marked as `text`, because rustdoc would compile them.
/// Indentation creates no code block, not even in quotes and list items. Elsewhere, characters of HTML and
/// links are escaped, code spans and links to URLs are kept, and bare URLs become links.
#[must_use]
pub fn rustdoc_markdown(text: &str) -> String {
    let text = html_to_markdown(text.trim());
    let text = sanitize_comment(&text);
    let mut out: Vec<String> = Vec::new();
    let mut paragraph: Vec<String> = Vec::new();
    // The marker of the code block that is open, and the prefix of its lines.
    let mut fence: Option<(&str, String)> = None;
    let mut is_quoted = false;
    for line in text.lines().map(str::trim_end) {
        if let Some((open, front)) = &fence {
            if line.is_empty() && !is_quoted {
                out.push(String::new());
                continue;
            }
            let within = strip_block_prefix(line, front);
            // A code block also ends where its quote or list item ends.
            let last = within.is_none_or(|inner| {
                let end = fence_opening(inner).filter(|end| end.len() == inner.trim().len());
                end.is_some_and(|end| end.starts_with(*open))
            });
            let inner = if last { *open } else { within.unwrap_or_default() };
            out.push(format!("{front}{inner}").trim_end().to_owned());
            if last {
                fence = None;
            }
            if within.is_some() {
                continue;
            }
        }
        let (front, text) = split_prefix(line);
        let marks = front.trim_end();
        if !marks.is_empty() || text.is_empty() {
            flush_paragraph(&mut paragraph, &mut out);
        }
        if let Some(mark) = fence_opening(text) {
            flush_paragraph(&mut paragraph, &mut out);
            // A numbered item must not interrupt a paragraph (CommonMark 0.31, 5.3).
            let numbered = marks.contains(|c: char| c.is_ascii_digit());
            if numbered && out.last().is_some_and(|line| !line.is_empty()) {
                out.push(String::new());
            }
            let front = if marks.is_empty() { String::new() } else { format!("{marks} ") };
            out.push(format!("{front}{mark}text"));
            is_quoted = front.contains('>');
            fence = Some((mark, front.chars().map(|c| if c == '>' { c } else { ' ' }).collect()));
        } else if line.is_empty() {
            out.push(String::new());
        } else {
            paragraph.push((front + text).trim_end().to_owned());
        }
    }
    flush_paragraph(&mut paragraph, &mut out);
    out.extend(fence.map(|(mark, front)| front + mark));
    out.join("\n")
}

/// Splits off the prefix of a line: markers of quotes and list items, and up to three spaces, because four
/// would start a code block.
pub(super) fn split_prefix(line: &str) -> (String, &str) {
    let mut front = String::new();
    let mut rest = line;
    loop {
        let text = rest.trim_start();
        front.push_str(&"   "[..(rest.len() - text.len()).min(3)]);
        let Some(length) = list_marker_length(text) else { return (front, text) };
        let (mark, behind) = text.split_at(length);
        front.push_str(mark);
        // The space after the marker belongs to it. It is optional after `>`.
        front.push(' ');
        rest = behind.strip_prefix(' ').unwrap_or(behind);
    }
}

/// Returns the length of the quote or list marker at the start of a string, or `None` if there is none
/// (CommonMark 0.31, 5).
fn list_marker_length(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = match text.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    text[length..].starts_with(' ').then_some(length)
}

/// Removes the prefix `front` of a code block from a line. Returns `None` if the line is outside the quote or
/// list item of the block.
fn strip_block_prefix<'t>(line: &'t str, front: &str) -> Option<&'t str> {
    let mut rest = line;
    let mut quoted = false;
    for c in front.chars() {
        rest = match rest.strip_prefix(c) {
            Some(next) => next,
            None if c == ' ' && (quoted || rest.is_empty()) => rest,
            None => return None,
        };
        quoted = c == '>';
    }
    Some(rest)
}

/// Adds a period to a title or summary, unless it ends with other punctuation or a code block.
pub(crate) fn end_sentence(text: &str) -> String {
    let text = text.trim();
    let fenced = text.lines().next_back().is_some_and(|line| fence_opening(split_prefix(line).1).is_some());
    let ended = fenced || text.ends_with(['.', '!', '?', ':']);
    if ended { text.to_owned() } else { format!("{text}.") }
}

/// Returns the marker of a fenced code block (CommonMark 0.31, 4.5).
pub(super) fn fence_opening(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.find(|c| c != mark).unwrap_or(line.len());
    let (marks, info) = line.split_at(length);
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(marks)
}

/// Escapes the lines that were collected for a paragraph and appends them to `out`. Code spans may extend
/// over several lines of a paragraph.
fn flush_paragraph(paragraph: &mut Vec<String>, out: &mut Vec<String>) {
    if !paragraph.is_empty() {
        out.push(escape_inline(&paragraph.join("\n")));
        paragraph.clear();
    }
}

fn escape_inline(text: &str) -> String {
    let spans = CodeSpans::find(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = match c {
            '`' => match spans.end_of(text.len() - rest.len()) {
                Some(end) => end - (text.len() - rest.len()),
                None => {
                    let marks = back_tick_count(rest);
                    out.push_str(&"\\`".repeat(marks));
                    rest = &rest[marks..];
                    continue;
                }
            },
            // An existing escape is not escaped again.
            '\\' if rest[1..].starts_with(['<', '[', ']', '`', '\\']) => 2,
            '<' => autolink_length(rest),
            '[' => link_length(rest),
            'h' if !out.ends_with(char::is_alphanumeric) => {
                let length = url_length(rest);
                if length > 0 {
                    out.push_str(&format!("<{}>", &rest[..length]));
                    rest = &rest[length..];
                    continue;
                }
                1
            }
            ']' => 0,
            c => c.len_utf8(),
        };
        if kept == 0 {
            out.push('\\');
        }
        let (taken, left) = rest.split_at(kept.max(c.len_utf8()));
        out.push_str(taken);
        rest = left;
    }
    out
}

/// The code spans of a text (CommonMark 0.31, 6.1). A code span ends within its paragraph or list item.
pub(super) struct CodeSpans {
    /// The end of each code span by its start.
    ends: HashMap<usize, usize>,
}

impl CodeSpans {
    /// Finds the code spans of a text, in linear time.
    pub(super) fn find(text: &str) -> Self {
        let mut spans = Self { ends: HashMap::new() };
        if !text.contains('`') {
            return spans;
        }
        let mut runs = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let (front, inner) = split_prefix(line.trim_end());
            if inner.is_empty() || !front.trim().is_empty() || fence_opening(inner).is_some() {
                spans.match_runs(text, &mut runs);
            }
            let mut at = 0;
            while let Some(next) = line[at..].find('`') {
                let length = back_tick_count(&line[at + next..]);
                runs.push((start + at + next, length));
                at += next + length;
            }
            start += line.len();
        }
        spans.match_runs(text, &mut runs);
        spans
    }

    /// Matches each back-tick string of a block with the next one of the same length. The strings are listed
    /// as start and length.
    fn match_runs(&mut self, text: &str, runs: &mut Vec<(usize, usize)>) {
        let mut next: HashMap<usize, usize> = HashMap::new();
        for (start, length) in runs.drain(..).rev() {
            self.ends.extend(next.get(&length).map(|end| (start, *end)));
            // A backslash before the string escapes its first back-tick.
            if text[..start].ends_with('\\') {
                self.ends.extend(next.get(&(length - 1)).map(|end| (start + 1, *end)));
            }
            next.insert(length, start + length);
        }
    }

    /// Returns the end of the code span at a position, or `None` if no code span starts there.
    pub(super) fn end_of(&self, start: usize) -> Option<usize> {
        self.ends.get(&start).copied()
    }
}

/// Returns the number of back-ticks at the start of a string.
pub(super) fn back_tick_count(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Returns the length of the URL at the start of a string, or 0 if there is none.
pub(super) fn url_length(text: &str) -> usize {
    let Some(address) = strip_http_scheme(text) else { return 0 };
    let scheme = text.len() - address.len();
    let end = text.find(|c: char| c.is_whitespace() || URL_TERMINATORS.contains(&c)).unwrap_or(text.len());
    let length = text[..end].trim_end_matches(['.', ',', ';', ':']).len();
    if length > scheme { length } else { 0 }
}

/// Returns the length of an autolink `<https://…>` at the start of a string, or 0 if there is none.
fn autolink_length(text: &str) -> usize {
    let length = url_length(&text[1..]);
    if length > 0 && text[1 + length..].starts_with('>') { length + 2 } else { 0 }
}

/// Returns the length of a link `[words](https://…)` at the start of a string, or 0 if there is none. A
/// relative link counts as none, because it would not resolve in rustdoc.
fn link_length(text: &str) -> usize {
    let Some(end) = text[1..].find(['[', ']', '<', '`', '\n']).map(|at| at + 1) else { return 0 };
    let Some(target) = text[end..].strip_prefix("](") else { return 0 };
    let length = url_length(target);
    if length > 0 && target[length..].starts_with(')') { end + 2 + length + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_safe_for_rustdoc() {
        for (text, expect) in [
            ("plain", "plain"),
            ("a <b> [c]", "a \\<b> \\[c\\]"),
            ("`Vec<u8>` and [x]", "`Vec<u8>` and \\[x\\]"),
            ("a\nline of `code\n<x>` over two", "a\nline of `code\n<x>` over two"),
            ("see https://example.org/a.", "see <https://example.org/a>."),
            ("(https://a.example/b) <https://a.example/c>", "(<https://a.example/b>) <https://a.example/c>"),
            (
                "[here](https://a.example/b), [there](b.html)",
                "[here](https://a.example/b), \\[there\\](b.html)",
            ),
            ("https:// http", "https:// http"),
            ("one ` mark", "one \\` mark"),
            // A backtick without a partner is escaped and does not affect the code spans before it.
            ("`<b>` or `x", "`<b>` or \\`x"),
            ("``a`<b>`` and `<c>", "``a`<b>`` and \\`\\<c>"),
            ("a ` mark\n\nand `<b>`", "a \\` mark\n\nand `<b>`"),
            // A backtick without a partner does not affect another list item.
            ("- a ` mark\n- and `<b>`", "- a \\` mark\n- and `<b>`"),
            ("> a <b>\n-1 and 2.5", "> a \\<b>\n-1 and 2.5"),
            ("an escaped \\< and \\`", "an escaped \\< and \\`"),
            ("two\r\nlines, a\rreturn, \u{202e}back", "two\nlines, a\\rreturn, \\u{202e}back"),
            ("a\tb", "a    b"),
        ] {
            assert_eq!(rustdoc_markdown(text), expect);
        }
    }

    /// Code blocks in descriptions are marked as `text`, because rustdoc would otherwise compile and run them
    /// as Rust.
    #[test]
    fn descriptions_never_become_doctests() {
        for (text, expect) in [
            ("    fn main() {}", "fn main() {}"),
            ("a\n\n        b\n\tc", "a\n\n   b\n   c"),
            ("like:\n```\nx[0] <b>\n```\nso", "like:\n```text\nx[0] <b>\n```\nso"),
            ("```rust\nunclosed", "```text\nunclosed\n```"),
            ("~~~~json\n```\n~~~\n~~~~", "~~~~text\n```\n~~~\n~~~~"),
            ("```not``` a block", "```not``` a block"),
            // A code block in a quote or list item ends with it.
            ("> ```\n> curl x\n>\n> ```\nso", "> ```text\n> curl x\n>\n> ```\nso"),
            (">```\n>x\ny\n```\nz\n```", "> ```text\n> x\n> ```\ny\n```text\nz\n```"),
            (">     curl x", ">    curl x"),
            ("-     curl x", "-    curl x"),
            ("12)     curl x\n- - *     y", "12)    curl x\n- - *    y"),
            ("- ```\n  x\n\n  ```\n- y", "- ```text\n  x\n\n  ```\n- y"),
            ("a\n- > ~~~\n  > x\n- y", "a\n- > ~~~text\n  > x\n  > ~~~\n- y"),
            ("- a:\n  ```\n  x\n  ```", "- a:\n```text\n  x\n```"),
            ("1. ```", "1. ```text\n   ```"),
            ("a\n2. ```\n   x", "a\n\n2. ```text\n   x\n   ```"),
            (">- ```\n>   x", "> - ```text\n>   x\n>   ```"),
        ] {
            assert_eq!(rustdoc_markdown(text), expect);
        }
    }

    #[test]
    fn sentence_ends_are_recognized() {
        for (text, expect) in
            [("Reads", "Reads."), (" Reads: ", "Reads:"), ("a\n```\nb\n```", "a\n```\nb\n```")]
        {
            assert_eq!(end_sentence(text), expect);
        }
    }
}
