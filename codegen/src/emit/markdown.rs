//! Text from a contract as Markdown that rustdoc takes as it is meant: without warnings, links
//! that lead nowhere, HTML, or tests of what only looks like code.

use crate::words::printable;

/// The characters between which, and at whose end, an address stands.
const BEHIND_ADDRESS: [char; 6] = ['<', '>', '"', '`', ')', ']'];

/// Blocks of code are marked as text, since rustdoc would compile them, and indentation makes
/// none. Elsewhere signs that would make HTML or links are escaped, code and links to addresses
/// are kept, and bare addresses become links.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = printable(text.trim());
    let mut out: Vec<String> = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        match (fence, opening(line)) {
            (Some(open), end) => {
                let closes =
                    end.is_some_and(|mark| mark.starts_with(open) && mark.len() == line.trim().len());
                out.push(if closes { open } else { line }.to_owned());
                fence = fence.filter(|_| !closes);
            }
            (None, Some(mark)) => {
                inline(&mut paragraph, &mut out);
                out.push(format!("{mark}text"));
                fence = Some(mark);
            }
            (None, None) if line.is_empty() => {
                inline(&mut paragraph, &mut out);
                out.push(String::new());
            }
            (None, None) => paragraph.push(line),
        }
    }
    inline(&mut paragraph, &mut out);
    out.extend(fence.map(str::to_owned));
    out.join("\n")
}

/// A text that is a title or a summary, which often end without a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let fenced = text.lines().next_back().is_some_and(|line| opening(line).is_some());
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

/// Text up to a blank line or a block of code. Code marks pair up within it.
fn inline(paragraph: &mut Vec<&str>, out: &mut Vec<String>) {
    let lines = paragraph.drain(..).map(|line| {
        let text = line.trim_start();
        // Four spaces would begin a block of code.
        format!("{}{text}", &"   "[..(line.len() - text.len()).min(3)])
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        out.push(escape(&text));
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
