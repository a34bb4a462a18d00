//! Text from a contract as Markdown that rustdoc takes as it is meant: without warnings, links
//! that lead nowhere, HTML, or tests of what only looks like code.

use crate::words::printable;

/// The characters between which, and at whose end, an address stands.
const BEHIND_ADDRESS: [char; 6] = ['<', '>', '"', '`', ')', ']'];

/// Blocks of code are marked as text, since rustdoc would compile them, and indentation makes
/// none, in quotes and list items neither. Elsewhere signs that would make HTML or links are
/// escaped, code and links to addresses are kept, and bare addresses become links.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = printable(text.trim());
    let mut out: Vec<String> = Vec::new();
    let mut paragraph: Vec<String> = Vec::new();
    // The marks of a block of code, and what its lines have in front.
    let mut fence: Option<(&str, String)> = None;
    for line in text.lines().map(str::trim_end) {
        if let Some((open, front)) = &fence {
            let within = behind(line, front);
            // Where the quote or the item ends, so does the block, without marks of its own.
            let last = within.is_none_or(|inner| {
                let end = opening(inner).filter(|end| end.len() == inner.trim().len());
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
        let (front, text) = beginning(line);
        let marks = front.trim_end();
        if !marks.is_empty() || text.is_empty() {
            inline(&mut paragraph, &mut out);
        }
        if let Some(mark) = opening(text) {
            inline(&mut paragraph, &mut out);
            // A number within a paragraph begins no item (CommonMark 0.31, 5.3).
            let numbered = marks.contains(|c: char| c.is_ascii_digit());
            if numbered && out.last().is_some_and(|line| !line.is_empty()) {
                out.push(String::new());
            }
            let front = if marks.is_empty() { String::new() } else { format!("{marks} ") };
            out.push(format!("{front}{mark}text"));
            fence = Some((mark, front.chars().map(|c| if c == '>' { c } else { ' ' }).collect()));
        } else if line.is_empty() {
            out.push(String::new());
        } else {
            paragraph.push((front + text).trim_end().to_owned());
        }
    }
    inline(&mut paragraph, &mut out);
    out.extend(fence.map(|(mark, front)| front + mark));
    out.join("\n")
}

/// What a line has before its text: the marks of quotes and list items, and blanks, of which four
/// would begin a block of code.
fn beginning(line: &str) -> (String, &str) {
    let mut front = String::new();
    let mut rest = line;
    loop {
        let text = rest.trim_start();
        front.push_str(&"   "[..(rest.len() - text.len()).min(3)]);
        let Some(length) = marker(text) else { return (front, text) };
        let (mark, behind) = text.split_at(length);
        front.push_str(mark);
        // One blank belongs to the mark; behind `>` it may be left out.
        front.push(' ');
        rest = behind.strip_prefix(' ').unwrap_or(behind);
    }
}

/// The length of the mark of a quote or a list item that a text begins with (CommonMark 0.31, 5).
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = match text.as_bytes().get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    text[length..].starts_with(' ').then_some(length)
}

/// What a line of a block of code has behind the quotes and the indentation that the block stands
/// in; `None` where those end.
fn behind<'t>(line: &'t str, front: &str) -> Option<&'t str> {
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

/// A text that is a title or a summary, which often end without a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let fenced = text.lines().next_back().is_some_and(|line| opening(beginning(line).1).is_some());
    let ended = fenced || text.ends_with(['.', '!', '?', ':']);
    if ended { text.to_owned() } else { format!("{text}.") }
}

/// The marks with which a block of code begins (CommonMark 0.31, 4.5).
fn opening(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.find(|c| c != mark).unwrap_or(line.len());
    let (marks, info) = line.split_at(length);
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(marks)
}

/// Text up to a blank line, a mark or a block of code. Code marks pair up within it.
fn inline(paragraph: &mut Vec<String>, out: &mut Vec<String>) {
    if !paragraph.is_empty() {
        out.push(escape(&paragraph.join("\n")));
        paragraph.clear();
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = match c {
            '`' => match code(rest) {
                Ok(length) => length,
                Err(marks) => {
                    out.push_str(&"\\`".repeat(marks));
                    rest = &rest[marks..];
                    continue;
                }
            },
            // What is escaped already stays so.
            '\\' if rest[1..].starts_with(['<', '[', ']', '`', '\\']) => 2,
            '<' => linked(rest),
            '[' => link(rest),
            'h' if !out.ends_with(char::is_alphanumeric) => {
                let length = address(rest);
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

/// The length of the code that begins here with its marks; of the marks, where no others end it
/// (CommonMark 0.31, 6.1).
fn code(text: &str) -> Result<usize, usize> {
    let run = |text: &str| text.find(|c| c != '`').unwrap_or(text.len());
    let marks = run(text);
    let mut at = marks;
    while let Some(next) = text[at..].find('`') {
        let end = at + next + run(&text[at + next..]);
        if end - (at + next) == marks {
            return Ok(end);
        }
        at = end;
    }
    Err(marks)
}

/// The length of the address that begins here, or 0.
fn address(text: &str) -> usize {
    let Some(scheme) = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme)) else {
        return 0;
    };
    let end = text.find(|c: char| c.is_whitespace() || BEHIND_ADDRESS.contains(&c)).unwrap_or(text.len());
    let length = text[..end].trim_end_matches(['.', ',', ';', ':']).len();
    if length > scheme.len() { length } else { 0 }
}

/// The length of `<https://…>`, or 0.
fn linked(text: &str) -> usize {
    let length = address(&text[1..]);
    if length > 0 && text[1 + length..].starts_with('>') { length + 2 } else { 0 }
}

/// The length of `[words](https://…)`, or 0. A link to anything else would lead nowhere from here.
fn link(text: &str) -> usize {
    let Some(end) = text[1..].find(['[', ']', '<', '`', '\n']).map(|at| at + 1) else { return 0 };
    let Some(target) = text[end..].strip_prefix("](") else { return 0 };
    let length = address(target);
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
            // A mark without another takes none of the pairs with it.
            ("`<b>` or `x", "`<b>` or \\`x"),
            ("``a`<b>`` and `<c>", "``a`<b>`` and \\`\\<c>"),
            ("a ` mark\n\nand `<b>`", "a \\` mark\n\nand `<b>`"),
            // Nor does one of another item.
            ("- a ` mark\n- and `<b>`", "- a \\` mark\n- and `<b>`"),
            ("> a <b>\n-1 and 2.5", "> a \\<b>\n-1 and 2.5"),
            ("an escaped \\< and \\`", "an escaped \\< and \\`"),
            ("two\r\nlines, a\rreturn, \u{202e}back", "two\nlines, a\\rreturn, \\u{202e}back"),
            ("a\tb", "a    b"),
        ] {
            assert_eq!(markdown(text), expect);
        }
    }

    /// rustdoc compiles and runs what it takes for Rust.
    #[test]
    fn no_description_becomes_a_test() {
        for (text, expect) in [
            ("    fn main() {}", "fn main() {}"),
            ("a\n\n        b\n\tc", "a\n\n   b\n   c"),
            ("like:\n```\nx[0] <b>\n```\nso", "like:\n```text\nx[0] <b>\n```\nso"),
            ("```rust\nunclosed", "```text\nunclosed\n```"),
            ("~~~~json\n```\n~~~\n~~~~", "~~~~text\n```\n~~~\n~~~~"),
            ("```not``` a block", "```not``` a block"),
            // In quotes and list items, at whose end a block ends too.
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
            assert_eq!(markdown(text), expect);
        }
    }

    #[test]
    fn a_sentence_ends() {
        for (text, expect) in
            [("Reads", "Reads."), (" Reads: ", "Reads:"), ("a\n```\nb\n```", "a\n```\nb\n```")]
        {
            assert_eq!(sentence(text), expect);
        }
    }
}
