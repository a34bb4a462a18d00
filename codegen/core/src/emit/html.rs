//! Converts the HTML in descriptions to Markdown: paragraphs, line breaks, links, code, lists, emphasis, tables
//! as lines, and character references. Other tags are kept; `rustdoc_markdown` escapes them.
//!
//! `tokens` splits the input and matches the tags. Both steps take time linear in the length of the input.

mod tokens;

use std::{borrow::Cow, ops::Range};

use self::tokens::{Tag, Token, TokenKind, character_reference, tokenize};
use super::markdown::url_length;

/// The maximum depth of nested inline tags that are converted.
const MAX_INLINE_DEPTH: usize = 8;
/// The maximum depth of nested lists that are indented. The items of deeper lists become items of the list
/// around them.
const MAX_LIST_DEPTH: usize = 16;

#[cfg(test)]
thread_local! {
    /// The number of bytes that were read, so that tests can check the complexity without measuring time.
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
fn count_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

#[cfg(not(test))]
const fn count_steps(_: usize) {}

/// Converts the HTML in a string of Markdown. Code spans and fenced code blocks stay unchanged.
pub(super) fn html_to_markdown(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let tokens = tokenize(text);
    let mut writer = Writer { source: text, tokens: &tokens, ..Writer::default() };
    writer.write_tokens(0..tokens.len(), 0);
    Cow::Owned(writer.out.trim().to_owned())
}

/// A list that is not closed.
enum List {
    Bullets,
    /// The number of the last item.
    Numbers(usize),
}

/// A writer of Markdown. Its state describes the block around the next text.
#[derive(Default)]
struct Writer<'t> {
    source: &'t str,
    tokens: &'t [Token<'t>],
    out: String,
    lists: Vec<List>,
    /// The number of open lists beyond [`MAX_LIST_DEPTH`].
    deeper_lists: usize,
    /// The number of cells in the row of an HTML table, or `None` outside of rows. A row is one line.
    row_cells: Option<usize>,
    /// The number of `<br>` tags since the last text.
    pending_breaks: usize,
    /// True if the block does not contain text yet.
    is_block_start: bool,
    /// True if white space before the next text is skipped, because it only formats the HTML source.
    skips_space: bool,
    /// True if the line contains text that is not the marker of a quote or list item.
    has_line_text: bool,
}

impl<'t> Writer<'t> {
    fn write_tokens(&mut self, range: Range<usize>, depth: usize) {
        let tokens = self.tokens;
        let mut at = range.start;
        while at < range.end
            && let Some(token) = tokens.get(at)
        {
            let text = &self.source[token.range.clone()];
            count_steps(text.len());
            match &token.kind {
                TokenKind::Text => text.chars().for_each(|c| self.push_char(c)),
                TokenKind::CodeSpan | TokenKind::Escape => self.push_text(text),
                TokenKind::FencedBlock => {
                    self.push_text(text);
                    self.has_line_text = false;
                }
                TokenKind::Reference(c) => self.write_reference(*c, token),
                TokenKind::Tag { tag, end } => match self.write_tag(tag, at, *end, depth) {
                    Some(last) => at = last,
                    None => text.chars().for_each(|c| self.push_char(c)),
                },
            }
            at += 1;
        }
    }

    /// Writes one character. Continued lines of list items are indented.
    fn push_char(&mut self, c: char) {
        if self.skips_space && c.is_ascii_whitespace() {
            return;
        }
        if c == '\n' && self.row_cells.is_some() {
            return self.push_space();
        }
        if !c.is_ascii_whitespace() {
            self.write_breaks();
            self.is_block_start = false;
        }
        self.skips_space = false;
        if c == '\n' {
            self.out.push('\n');
            if !self.lists.is_empty() {
                self.out.push_str(&self.indentation(self.lists.len()));
                // The indentation of the source is dropped.
                self.skips_space = true;
            }
            self.has_line_text = false;
        } else {
            self.out.push(c);
            self.has_line_text |= !matches!(c, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9');
        }
    }

    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.write_breaks();
            self.is_block_start = false;
            self.skips_space = false;
            self.has_line_text = true;
            self.out.push_str(text);
        }
    }

    /// Writes the space that replaces a line break or a paragraph where a line must not end.
    fn push_space(&mut self) {
        if !self.skips_space && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.skips_space = true;
    }

    /// Writes a decoded character, with a backslash if Markdown would interpret it.
    fn write_reference(&mut self, c: char, token: &Token<'_>) {
        let next = self.source[token.range.end..].chars().next();
        let is_line_start = !self.has_line_text || self.pending_breaks > 0;
        let is_markup = match c {
            '`' | '[' | ']' | '<' | '*' | '_' | '~' | '\\' => true,
            '>' | '#' | '-' | '+' | '=' => is_line_start,
            '|' => token.is_in_table,
            '&' => next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '#'),
            _ => false,
        };
        if is_markup {
            self.push_text("\\");
        }
        self.push_char(c);
    }

    /// Writes the tag at an index of the tokens, and for an inline tag its content. Returns the index of the
    /// last token that was written, or `None` if the tag is kept as it is.
    fn write_tag(&mut self, tag: &Tag<'_>, at: usize, end: Option<usize>, depth: usize) -> Option<usize> {
        let is_in_table = self.tokens.get(at).is_some_and(|token| token.is_in_table);
        let name = tag.name.as_str();
        match name {
            "span" | "a" | "code" | "tt" | "b" | "strong" | "i" | "em" | "pre" => {
                let end = end.filter(|_| !tag.is_end)?;
                return self.write_element(tag, at, end, depth).then_some(end);
            }
            _ if !is_block(name) => return None,
            // A row of a Markdown table is one line.
            _ if is_in_table => self.push_space(),
            "table" | "thead" | "tbody" | "tfoot" | "tr" => {
                self.row_cells = Some(0).filter(|_| name == "tr" && !tag.is_end);
                self.end_paragraph();
            }
            "td" | "th" => self.write_cell(tag),
            _ if self.row_cells.is_some() => self.push_space(),
            "br" => {
                self.pending_breaks += usize::from(!self.is_block_start);
                self.skips_space = true;
            }
            "ul" | "ol" => self.write_list(tag),
            "li" if self.lists.is_empty() => return None,
            "li" => self.write_item(tag),
            _ => self.end_paragraph(),
        }
        Some(at)
    }

    /// Starts a paragraph, within the item of a list if there is one.
    fn end_paragraph(&mut self) {
        self.start_block();
        if self.is_item_start() {
            return;
        }
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
            self.out.push_str(&self.indentation(self.lists.len()));
        }
    }

    /// Sets the state for the start of a block. Line breaks at the end of a block have no effect.
    fn start_block(&mut self) {
        self.pending_breaks = 0;
        self.is_block_start = true;
        self.skips_space = true;
        self.has_line_text = false;
    }

    /// Returns true directly behind the marker of a list item.
    fn is_item_start(&self) -> bool {
        if self.lists.is_empty() {
            return false;
        }
        let line = self.out.rsplit('\n').next().unwrap_or_default().trim();
        line == "-" || line.strip_suffix('.').is_some_and(is_number)
    }

    /// Writes the line breaks between the last text and the next. Two line breaks end a paragraph.
    fn write_breaks(&mut self) {
        let breaks = std::mem::take(&mut self.pending_breaks);
        if breaks == 0 {
            return;
        }
        let length = self.out.trim_end_matches([' ', '\n']).len();
        if breaks > 1 || self.out[length..].matches('\n').count() > 1 {
            return self.end_paragraph();
        }
        self.out.truncate(length);
        // A single backslash at the end of the text would escape that of the line break.
        let slashes = self.out.len() - self.out.trim_end_matches('\\').len();
        self.out.push_str(if slashes % 2 == 1 { "\\\\\n" } else { "\\\n" });
        self.out.push_str(&self.indentation(self.lists.len()));
        self.has_line_text = false;
    }

    /// Separates the cell of a table from the cell before it.
    fn write_cell(&mut self, tag: &Tag<'_>) {
        if !tag.is_end {
            match self.row_cells {
                None => self.end_paragraph(),
                Some(0) => {}
                Some(_) => {
                    self.out.truncate(self.out.trim_end_matches(' ').len());
                    self.out.push_str(if self.is_block_start { "| " } else { " | " });
                    self.is_block_start = false;
                    self.has_line_text = true;
                }
            }
            self.row_cells = Some(self.row_cells.unwrap_or_default() + 1);
        }
        self.skips_space = true;
    }

    fn write_list(&mut self, tag: &Tag<'_>) {
        if tag.is_end && self.deeper_lists > 0 {
            self.deeper_lists -= 1;
        } else if tag.is_end {
            self.lists.pop();
        } else if self.lists.len() >= MAX_LIST_DEPTH {
            self.deeper_lists += 1;
        } else {
            self.lists.push(if tag.name == "ol" { List::Numbers(0) } else { List::Bullets });
        }
        // An inner list directly follows the text of its item.
        if tag.is_end && self.lists.is_empty() || !tag.is_end && self.lists.len() == 1 {
            self.end_paragraph();
        }
        self.start_block();
    }

    fn write_item(&mut self, tag: &Tag<'_>) {
        self.out.truncate(self.out.trim_end().len());
        self.start_block();
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

    /// Returns the indentation of text inside the `depth` outermost lists.
    fn indentation(&self, depth: usize) -> String {
        let widths = self.lists.iter().take(depth).map(|list| match list {
            List::Bullets => 2,
            List::Numbers(_) => 3,
        });
        " ".repeat(widths.sum())
    }

    /// Writes an inline element or a block of code, whose tags are at the indices `start` and `end`, with its
    /// content. Returns false if the element is nested too deeply.
    fn write_element(&mut self, tag: &Tag<'_>, start: usize, end: usize, depth: usize) -> bool {
        let (Some(first), Some(last)) = (self.tokens.get(start), self.tokens.get(end)) else { return false };
        let inner = &self.source[first.range.end..last.range.start];
        let content = start + 1..end;
        match tag.name.as_str() {
            "code" | "tt" | "pre" if first.is_in_table => {
                self.push_text(&code_span(&plain_text(inner).replace('|', "\\|")));
            }
            "pre" if self.row_cells.is_none() => self.write_code_block(inner),
            "code" | "tt" | "pre" => self.push_text(&code_span(&plain_text(inner))),
            _ if depth >= MAX_INLINE_DEPTH => return false,
            "a" => self.write_link(tag, inner, content, depth),
            "b" | "strong" => self.write_emphasis("**", inner, content, depth),
            "i" | "em" => self.write_emphasis("*", inner, content, depth),
            _ => self.write_tokens(content, depth + 1),
        }
        true
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

    fn write_link(&mut self, tag: &Tag<'_>, inner: &str, content: Range<usize>, depth: usize) {
        let target = tag.attribute("href").filter(|url| url_length(url) == url.len() && !url.is_empty());
        let Some(url) = target else { return self.write_tokens(content, depth + 1) };
        let text = plain_text(inner).split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || text == url {
            self.push_text(&format!("<{url}>"));
        } else if text.contains(['[', ']', '<', '`']) {
            self.write_tokens(content, depth + 1);
            self.push_text(&format!(" (<{url}>)"));
        } else {
            self.push_text(&format!("[{text}]({url})"));
        }
    }

    fn write_emphasis(&mut self, mark: &str, inner: &str, content: Range<usize>, depth: usize) {
        let before = (self.is_block_start, self.skips_space, self.has_line_text, self.pending_breaks);
        let outer = std::mem::take(&mut self.out);
        self.start_block();
        self.has_line_text = true;
        self.write_tokens(content, depth + 1);
        let written = std::mem::replace(&mut self.out, outer);
        let last_breaks = self.pending_breaks;
        (self.is_block_start, self.skips_space, self.has_line_text, self.pending_breaks) = before;
        let content = written.trim();
        let is_inline = !content.is_empty() && !content.contains("\n\n") && !content.contains('*');
        let mark = if is_inline { mark } else { "" };
        let space = |is_space: bool| if is_space { " " } else { "" };
        let front = space(inner.starts_with(char::is_whitespace) && !self.skips_space);
        let back = space(inner.ends_with(char::is_whitespace) && !content.is_empty());
        self.push_text(&format!("{front}{mark}{content}{mark}{back}"));
        // The line breaks at the end of the content follow the mark.
        self.pending_breaks += last_breaks;
        self.skips_space |= last_breaks > 0;
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

/// Returns true for the tags that end a line.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div" | "br" | "ul" | "ol" | "li" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th"
    )
}

/// Removes the inline tags of an HTML string and decodes its character references.
fn plain_text(html: &str) -> String {
    const INLINE: [&str; 10] = ["a", "b", "strong", "i", "em", "code", "tt", "span", "p", "br"];
    count_steps(html.len());
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

/// Converts code to a Markdown code span, which is enclosed in more back-ticks than the code contains in a
/// row.
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

#[cfg(test)]
mod tests {
    use super::STEPS;
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
            ("<b>a <b>b</b> c</b> <span>d <span>e</span> f</span>", "a **b** c d e f"),
            ("<code>a <code>b</code></code> <b><i>never</b>", "`a b` **\\<i>never**"),
            ("<code>`</code> and <code>`</code>, \\`<b>x</b>\\`", "`` ` `` and `` ` ``, \\`**x**\\`"),
            ("<a\n  class=x\n  href=\"https://a.example/b\">here</a>", "[here](https://a.example/b)"),
            ("<a title=\" href=x\" HREF = https://a.example/b/c>here</a>", "[here](https://a.example/b/c)"),
            ("<a data-href='x' href>here</a>", "here"),
            ("C:\\temp\\<br>next", "C:\\temp\\\\\\\nnext"),
            ("C:\\temp\\<br><br>next", "C:\\temp\\\n\nnext"),
            ("<b>a<br></b>b<p><br>c</p>", "**a**\\\nb\n\nc"),
            ("<p>&gt; a &gt; b</p>&#35; c<br>&#45; d", "\\> a > b\n\n\\# c\\\n\\- d"),
            ("<ul><li>&gt; a</li></ul>&#126;&#126;&#126;", "- \\> a\n\n\\~\\~\\~"),
            ("&amp;lt; &amp; &amp;#60;", "\\&lt; & \\&#60;"),
            ("<pre><code class=\"x\">a &lt; b\n  c</code></pre>then", "```text\na < b\n  c\n```\n\nthen"),
            (
                "<table><tr><th>Name</th><th>Use</th></tr>\n<tr><td>a</td>\n<td>b</td></tr></table>end",
                "Name | Use\n\na | b\n\nend",
            ),
            // Every row is one line, and an empty cell keeps its place.
            (
                "<table><tr><td></td><td>a|</td></tr><tr><td><p>b\nc</p><ul><li>d</li></ul><td>e<br>f</table>g",
                "| a|\n\nb c d | e f\n\ng",
            ),
            ("<tr><td><pre>a\n  b</pre></td><td></td></tr>", "`a b` |"),
            // A row of a Markdown table stays one line.
            (
                "| a | b |\n|---|:--|\n| c<br>d | <p>e</p> <code>f|g</code> &#124; |\n\nh<br>i | j",
                "| a | b |\n|---|:--|\n| c d | e `f\\|g` \\| |\n\nh\\\ni | j",
            ),
            ("&quot;x&quot;&#160;&#x41;&mdash;", "\"x\" A\u{2014}"),
            ("&lt;p&gt; is not a tag, nor is &#96;", "\\<p> is not a tag, nor is \\`"),
        ] {
            assert_eq!(rustdoc_markdown(html), expect, "{html}");
        }
    }

    /// Markdown, and text that only resembles HTML, stays unchanged or is escaped.
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
            ("\\<b>x\\</b> \\&lt; \\\\<b>y</b>", "\\<b>x\\</b> \\&lt; \\\\**y**"),
            // A back-tick without a partner does not affect another item or block.
            ("- a ` b\n- <b>c</b> ` d", "- a \\` b\n- **c** \\` d"),
            ("a ` b\n```\n`<p>\n```\n<b>c</b>", "a \\` b\n```text\n`<p>\n```\n**c**"),
        ] {
            assert_eq!(rustdoc_markdown(text), expect, "{text}");
        }
        // Deep nesting does not exhaust the stack.
        let deep = format!("{}x{}", "<span>".repeat(1_000), "</span>".repeat(1_000));
        assert!(rustdoc_markdown(&deep).contains('x'));
    }

    /// No mixture of markup causes a panic or repeats its content.
    #[test]
    fn mixtures_are_converted() {
        const PARTS: [&str; 32] = [
            "<b>",
            "</b>",
            "<i>",
            "</i>",
            "<code>",
            "</code>",
            "<pre>",
            "</pre>",
            "<a href='https://a.b/'>",
            "</a>",
            "<ul>",
            "</ul>",
            "<li>",
            "</li>",
            "<table>",
            "</table>",
            "<tr>",
            "<td>",
            "</td>",
            "<br>",
            "<p>",
            "`",
            "``",
            "\n",
            "\n\n",
            "| a |\n|---|\n",
            "```\n",
            "- ",
            "> ",
            "\\",
            "&gt;",
            "\u{e9}",
        ];
        let mut state = 1_u64;
        for _ in 0..5_000 {
            let text: String = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                PARTS[(state >> 59) as usize]
            })
            .take(12)
            .collect();
            assert!(rustdoc_markdown(&text).len() <= 16 * text.len() + 64, "{text}");
        }
    }

    /// Conversion takes linear time: the rest of the text is not searched again for the end of each tag or
    /// code span, and the indentation of nested lists is limited.
    #[test]
    fn large_input_is_converted_in_linear_time() {
        const COUNT: usize = 5_000;
        for part in [
            "<b>",
            "<code>",
            "<b><i></b>",
            "</b>",
            "<ul><li>",
            "<ul><li>a</li></ul>",
            "<td>a",
            "<b \"",
            "<b \"\"",
            "<b '\"",
            "`a` ",
            "<br>",
            "<p><br>a",
            "&gt; ",
            "|-|\n",
            "- ",
            "<a href=x>",
            "[<b>x</b>",
        ] {
            STEPS.set(0);
            let text = part.repeat(COUNT);
            let converted = rustdoc_markdown(&text);
            assert!(converted.len() <= 8 * text.len(), "{part}: {}", converted.len());
            assert!(STEPS.get() <= 16 * text.len(), "{part}: {}", STEPS.get());
        }
        // Back-tick strings of different lengths have no partners.
        let marks: String = (1..2_000).map(|length| format!("{} ", "`".repeat(length))).collect();
        assert_eq!(rustdoc_markdown(&marks).len(), 2 * marks.len() - 1_999 - 1);
        // The prefix of a code block is not repeated on empty lines.
        let fence = format!("{}```{}", "- ".repeat(COUNT), "\n".repeat(COUNT));
        assert!(rustdoc_markdown(&fence).len() <= 4 * fence.len());
    }
}
