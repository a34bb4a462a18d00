//! Converts the HTML in descriptions to Markdown: paragraphs, line breaks, links, code, lists, emphasis, tables
//! as text, and character references. Other tags stay in the text, which `rustdoc_markdown` escapes.

use std::borrow::Cow;

use super::markdown::{code_span_length, fence_opening, split_prefix, url_length};

/// Depth up to which nested inline tags are converted.
const MAX_INLINE_DEPTH: usize = 8;
/// Longest name of a character reference, with `&` and `;`.
const MAX_REFERENCE_BYTES: usize = 12;

/// Converts the HTML in a string of Markdown. Code spans and fenced code blocks stay unchanged.
pub(super) fn html_to_markdown(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let mut writer = Writer::default();
    writer.write_html(text, 0);
    Cow::Owned(writer.out.trim().to_owned())
}

/// A start or end tag.
struct Tag<'t> {
    name: String,
    is_end: bool,
    attributes: &'t str,
    /// The length of the tag in bytes.
    length: usize,
}

impl<'t> Tag<'t> {
    /// Parses the tag at the start of a string.
    fn parse(text: &'t str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        let is_end = inner.starts_with('/');
        let inner = inner.trim_start_matches('/');
        let length = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(length);
        let mut quote = None;
        let end = attributes.find(|c: char| {
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                _ => {}
            }
            quote.is_none() && matches!(c, '<' | '>')
        })?;
        let is_closed = attributes[end..].starts_with('>');
        let is_separate = attributes.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        let length = text.len() - attributes.len() + end + 1;
        (is_closed && is_separate && !name.is_empty()).then(|| Self {
            name: name.to_ascii_lowercase(),
            is_end,
            attributes: &attributes[..end],
            length,
        })
    }

    /// Returns the value of an attribute.
    fn attribute(&self, name: &str) -> Option<String> {
        let lower = self.attributes.to_ascii_lowercase();
        let start = lower.find(&format!(" {name}="))? + name.len() + 2;
        let value = &self.attributes[start..];
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = match quote {
            Some(quote) => value[1..].split(quote).next(),
            None => value.split(|c: char| c.is_ascii_whitespace() || c == '/').next(),
        };
        value.map(decode_references)
    }
}

/// A list that is not closed.
enum List {
    Bullets,
    /// The number of the last item.
    Numbers(usize),
}

/// Writes Markdown; the state is that of the block around the next text.
#[derive(Default)]
struct Writer {
    out: String,
    lists: Vec<List>,
    /// True if white space before the next text belongs to the HTML source.
    is_block_start: bool,
}

impl Writer {
    fn write_html(&mut self, text: &str, depth: usize) {
        let mut rest = text;
        let mut is_line_start = true;
        while let Some(c) = rest.chars().next() {
            if is_line_start && let Some(length) = fenced_block_length(rest) {
                self.out.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            let taken = match c {
                '<' => self.write_tag(rest, depth),
                '`' => self.copy_code_span(rest),
                '&' => self.write_reference(rest),
                _ => 0,
            };
            is_line_start = c == '\n';
            if taken == 0 {
                self.push_char(c);
            }
            rest = &rest[if taken == 0 { c.len_utf8() } else { taken }..];
        }
    }

    /// Writes a character of text. Continued lines of list items are indented.
    fn push_char(&mut self, c: char) {
        if self.is_block_start && c.is_ascii_whitespace() {
            return;
        }
        self.is_block_start = false;
        if c == '\n' && !self.lists.is_empty() {
            self.out.push('\n');
            self.out.push_str(&self.indentation(self.lists.len()));
            // The indentation of the source is dropped.
            self.is_block_start = true;
        } else {
            self.out.push(c);
        }
    }

    fn push_text(&mut self, text: &str) {
        self.is_block_start &= text.is_empty();
        self.out.push_str(text);
    }

    fn copy_code_span(&mut self, text: &str) -> usize {
        let paragraph = text.find("\n\n").map_or(text, |end| &text[..end]);
        let length = code_span_length(paragraph).unwrap_or_else(|marks| marks);
        self.push_text(&text[..length]);
        length
    }

    fn write_reference(&mut self, text: &str) -> usize {
        let Some((c, length)) = character_reference(text) else { return 0 };
        // A decoded back-tick or bracket is no Markdown.
        if matches!(c, '`' | '[' | ']' | '<' | '*' | '_' | '\\') {
            self.push_text("\\");
        }
        self.push_char(c);
        length
    }

    /// Writes the tag at the start, and for an inline tag its content. Returns the length that was converted,
    /// or 0 if the tag stays in the text.
    fn write_tag(&mut self, text: &str, depth: usize) -> usize {
        let Some(tag) = Tag::parse(text) else { return 0 };
        match tag.name.as_str() {
            "p" | "div" | "table" | "thead" | "tbody" | "tfoot" => self.end_paragraph(),
            "tr" if tag.is_end => {
                self.out.truncate(self.out.trim_end_matches([' ', '|', '\n']).len());
                self.end_paragraph();
            }
            "tr" => self.end_paragraph(),
            "td" | "th" if tag.is_end => {
                self.out.truncate(self.out.trim_end().len());
                self.out.push_str(" | ");
                self.is_block_start = true;
            }
            "td" | "th" => self.is_block_start = true,
            "br" => self.break_line(&text[tag.length..]),
            "ul" | "ol" => self.write_list(&tag),
            "li" if !self.lists.is_empty() => self.write_item(&tag),
            _ if tag.is_end => return 0,
            "span" | "a" | "code" | "tt" | "b" | "strong" | "i" | "em" | "pre" => {
                return self.write_element(&tag, text, depth);
            }
            _ => return 0,
        }
        tag.length
    }

    /// Starts a paragraph, within the item of a list if there is one.
    fn end_paragraph(&mut self) {
        if self.is_item_start() {
            return;
        }
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
            self.out.push_str(&self.indentation(self.lists.len()));
        }
        self.is_block_start = true;
    }

    /// Returns true directly behind the marker of a list item.
    fn is_item_start(&self) -> bool {
        let line = self.out.rsplit('\n').next().unwrap_or_default().trim();
        !self.lists.is_empty() && (line == "-" || line.strip_suffix('.').is_some_and(is_number))
    }

    fn break_line(&mut self, behind: &str) {
        self.out.truncate(self.out.trim_end_matches([' ', '\n']).len());
        let behind = behind.trim_start();
        let is_last = behind.is_empty() || Tag::parse(behind).is_some_and(|tag| is_block(&tag.name));
        if !is_last && !self.out.is_empty() {
            match self.out.ends_with('\\') {
                // Two line breaks end a paragraph.
                true => {
                    self.out.pop();
                    self.end_paragraph();
                }
                false => {
                    self.out.push_str("\\\n");
                    self.out.push_str(&self.indentation(self.lists.len()));
                }
            }
        }
        self.is_block_start = true;
    }

    fn write_list(&mut self, tag: &Tag<'_>) {
        match (tag.is_end, tag.name.as_str()) {
            (true, _) => drop(self.lists.pop()),
            (false, "ol") => self.lists.push(List::Numbers(0)),
            (false, _) => self.lists.push(List::Bullets),
        }
        // An inner list directly follows the text of its item.
        if tag.is_end && self.lists.is_empty() || !tag.is_end && self.lists.len() == 1 {
            self.end_paragraph();
        }
        self.is_block_start = true;
    }

    fn write_item(&mut self, tag: &Tag<'_>) {
        self.out.truncate(self.out.trim_end().len());
        self.is_block_start = true;
        if tag.is_end {
            return;
        }
        let marker = match self.lists.last_mut() {
            Some(List::Numbers(last)) => {
                *last += 1;
                format!("{last}. ")
            }
            _ => "- ".to_owned(),
        };
        if !self.out.is_empty() {
            // The first item follows a blank line, the others follow the item before them.
            let is_first = self.lists.len() == 1 && !is_item_text(&self.out);
            self.out.push_str(if is_first { "\n\n" } else { "\n" });
        }
        self.out.push_str(&self.indentation(self.lists.len() - 1));
        self.out.push_str(&marker);
    }

    /// Returns the indentation of the content of the first lists.
    fn indentation(&self, depth: usize) -> String {
        let widths = self.lists.iter().take(depth).map(|list| match list {
            List::Bullets => 2,
            List::Numbers(_) => 3,
        });
        " ".repeat(widths.sum())
    }

    /// Writes an inline element or a block of code with its content. Returns 0 if it has no end tag.
    fn write_element(&mut self, tag: &Tag<'_>, text: &str, depth: usize) -> usize {
        if depth >= MAX_INLINE_DEPTH {
            return 0;
        }
        let Some((length, end)) = find_end(text, tag) else { return 0 };
        let inner = &text[tag.length..length];
        match tag.name.as_str() {
            "pre" => self.write_code_block(inner),
            "code" | "tt" => self.push_text(&code_span(&plain_text(inner))),
            "a" => self.write_link(tag, inner, depth),
            "b" | "strong" => self.write_emphasis("**", inner, depth),
            "i" | "em" => self.write_emphasis("*", inner, depth),
            _ => self.write_html(inner, depth + 1),
        }
        end
    }

    fn write_code_block(&mut self, inner: &str) {
        let code = plain_text(inner);
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(3.max(longest + 1));
        self.end_paragraph();
        let front = self.indentation(self.lists.len());
        self.push_text(&fence);
        for line in code.trim_matches('\n').lines().chain([fence.as_str()]) {
            self.out.push_str(format!("\n{front}{line}").trim_end_matches(' '));
        }
        self.end_paragraph();
    }

    fn write_link(&mut self, tag: &Tag<'_>, inner: &str, depth: usize) {
        let target = tag.attribute("href").filter(|url| url_length(url) == url.len() && !url.is_empty());
        let Some(url) = target else { return self.write_html(inner, depth + 1) };
        let text = plain_text(inner).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text == url {
            self.push_text(&format!("<{url}>"));
        } else if text.contains(['[', ']', '<', '`']) {
            self.write_html(inner, depth + 1);
            self.push_text(&format!(" (<{url}>)"));
        } else {
            self.push_text(&format!("[{text}]({url})"));
        }
    }

    fn write_emphasis(&mut self, mark: &str, inner: &str, depth: usize) {
        let mut content = Self::default();
        content.write_html(inner.trim(), depth + 1);
        let content = content.out.trim();
        let is_inline = !content.is_empty() && !content.contains("\n\n") && !content.contains('*');
        let mark = if is_inline { mark } else { "" };
        let space = |is_space: bool| if is_space { " " } else { "" };
        let before = space(inner.starts_with(char::is_whitespace) && !self.is_block_start);
        let after = space(inner.ends_with(char::is_whitespace) && inner.trim() != "");
        self.push_text(&format!("{before}{mark}{content}{mark}{after}"));
    }
}

/// Returns true if the last line starts an item of a list, or continues one.
fn is_item_text(out: &str) -> bool {
    let line = out.rsplit('\n').next().unwrap_or_default();
    let start = line.trim_start();
    let number = start.split_once(". ").is_some_and(|(number, _)| is_number(number));
    line.starts_with("  ") || start.starts_with("- ") || number
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_block(name: &str) -> bool {
    ["p", "div", "ul", "ol", "li", "pre", "table", "thead", "tbody", "tr", "td", "th"].contains(&name)
}

/// Returns the position of the end tag, and the position behind it.
fn find_end(text: &str, tag: &Tag<'_>) -> Option<(usize, usize)> {
    let end = format!("</{}", tag.name);
    let mut at = tag.length;
    while let Some(next) = text[at..].find("</") {
        let start = at + next;
        let is_name = text.get(start..start + end.len()).is_some_and(|t| t.eq_ignore_ascii_case(&end));
        if let Some(found) = Tag::parse(&text[start..]).filter(|found| is_name && found.name == tag.name) {
            return Some((start, start + found.length));
        }
        at = start + 2;
    }
    None
}

/// Returns the text of HTML code, without tags and with decoded character references.
fn plain_text(html: &str) -> String {
    const INLINE: [&str; 10] = ["a", "b", "strong", "i", "em", "code", "tt", "span", "p", "br"];
    let mut out = String::new();
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        let tag = Tag::parse(rest).filter(|tag| INLINE.contains(&tag.name.as_str()));
        let length = match (tag, character_reference(rest)) {
            (Some(tag), _) => {
                out.push_str(if tag.name == "br" { "\n" } else { "" });
                tag.length
            }
            (None, Some((c, length))) => {
                out.push(c);
                length
            }
            (None, None) => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// Encloses code in as many back-ticks as it requires.
fn code_span(code: &str) -> String {
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    if code.is_empty() {
        return code;
    }
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let marks = "`".repeat(longest + 1);
    let space = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{marks}{space}{code}{space}{marks}")
}

/// Returns the length of the fenced code block at the start of a line, with its end or all of the text.
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

fn decode_references(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (c, length) = character_reference(rest).unwrap_or((c, c.len_utf8()));
        out.push(c);
        rest = &rest[length..];
    }
    out
}

/// Returns the character of the reference at the start, and the length of the reference.
fn character_reference(text: &str) -> Option<(char, usize)> {
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

#[cfg(test)]
mod tests {
    use crate::emit::markdown::rustdoc_markdown;

    #[test]
    fn html_becomes_markdown() {
        for (html, expect) in [
            ("<p>One.</p>", "One."),
            ("<p>One.</p><p>Two &amp; three.</p>", "One.\n\nTwo & three."),
            ("<P class='x'>One.\n <p>Two.", "One.\n\nTwo."),
            ("one<br>two<br/>\n three<br />", "one\\\ntwo\\\nthree"),
            ("one<br><br>two", "one\n\ntwo"),
            ("<p>one<br></p><p>two", "one\n\ntwo"),
            ("Use <code>Vec&lt;u8&gt;</code>.", "Use `Vec<u8>`."),
            ("<code>a`b</code> <code>`</code> <code></code>x", "``a`b`` `` ` `` x"),
            ("<b>bold</b>, <strong> wide </strong>x", "**bold**,  **wide** x"),
            ("<i>a</i> <em>b <code>c</code></em>", "*a* *b `c`*"),
            ("<a href=\"https://a.example/b?c=1&amp;d=2\">here</a>", "[here](https://a.example/b?c=1&d=2)"),
            ("<a href='https://a.example/'><code>Get</code>\n it</a>", "[Get it](https://a.example/)"),
            ("<a href=\"https://a.example/\">a [b]</a>", "a \\[b\\] (<https://a.example/>)"),
            ("<a href=\"https://a.example\">https://a.example</a>", "<https://a.example>"),
            ("<a href=\"#there\">there</a> <a>here</a>", "there here"),
            ("<ul><li>a</li><li><p>b</p><p>c</p></li></ul>d", "- a\n- b\n\n  c\n\nd"),
            ("Any:\n<ul>\n  <li>a\n    b</li>\n  <li>c</li>\n</ul>\n<p>d", "Any:\n\n- a\n  b\n- c\n\nd"),
            ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
            ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
            ("<pre><code class=\"x\">a &lt; b\n  c</code></pre>then", "```text\na < b\n  c\n```\n\nthen"),
            (
                "<table><tr><th>Name</th><th>Use</th></tr>\n<tr><td>a</td>\n<td>b</td></tr></table>end",
                "Name | Use\n\na | b\n\nend",
            ),
            ("&quot;x&quot;&#160;&#x41;&mdash;", "\"x\" A\u{2014}"),
            ("&lt;p&gt; is not a tag, nor is &#96;", "\\<p> is not a tag, nor is \\`"),
        ] {
            assert_eq!(rustdoc_markdown(html), expect, "{html}");
        }
    }

    /// Markdown, and what only resembles HTML, stays unchanged or is escaped.
    #[test]
    fn other_text_is_escaped() {
        for (text, expect) in [
            ("<blink>x</blink> <id>", "\\<blink>x\\</blink> \\<id>"),
            ("a < b & c > d &unknown; &", "a \\< b & c > d &unknown; &"),
            ("<b>never closed, <a href=x", "\\<b>never closed, \\<a href=x"),
            ("</code> <pre", "\\</code> \\<pre"),
            ("`<p>&lt;` and <https://a.example/>", "`<p>&lt;` and <https://a.example/>"),
            ("a\n```html\n<p>&amp;\n```\n<p>b", "a\n```text\n<p>&amp;\n```\n\nb"),
            ("<li>alone</li>", "\\<li>alone\\</li>"),
            ("* a <b>b</b>\n* c", "* a **b**\n* c"),
        ] {
            assert_eq!(rustdoc_markdown(text), expect, "{text}");
        }
        // Deep nesting does not exhaust the stack.
        let deep = format!("{}x{}", "<span>".repeat(1_000), "</span>".repeat(1_000));
        assert!(rustdoc_markdown(&deep).contains('x'));
    }
}
