//! Reads the attributes of HTML tags, with their positions.
//!
//! This is not a parser of HTML: it covers the output of mdBook and rustdoc, and does not build a tree.

use std::ops::Range;

/// An attribute with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagAttribute<'a> {
    pub(super) tag: &'a str,
    pub(super) name: &'a str,
    /// The value without quotes, with character references as written.
    pub(super) value: &'a str,
    /// The bytes of the value in the document.
    pub(super) range: Range<usize>,
}

/// Elements whose content is text.
const TEXT_ELEMENTS: [&str; 4] = ["script", "style", "textarea", "title"];

/// Returns the attributes of all tags, in the order of the document.
pub(super) fn read_attributes(html: &str) -> Vec<TagAttribute<'_>> {
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(start) = find_after(html, position, "<") {
        let name_start = start + 1;
        if html[start..].starts_with("<!--") {
            position = find_after(html, start + 4, "-->").map_or(html.len(), |end| end + 3);
            continue;
        }
        if !html[name_start..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            position = name_start;
            continue;
        }
        let name_end = find_byte(html, name_start, |byte| !byte.is_ascii_alphanumeric() && byte != b'-');
        let tag = &html[name_start..name_end];
        position = read_tag(html, tag, name_end, &mut found);
        if TEXT_ELEMENTS.contains(&tag) {
            position = find_after(html, position, &format!("</{tag}")).unwrap_or(html.len());
        }
    }
    found
}

/// Reads the attributes of one tag. Returns the position after the tag.
fn read_tag<'a>(
    html: &'a str,
    tag: &'a str,
    mut position: usize,
    found: &mut Vec<TagAttribute<'a>>,
) -> usize {
    let bytes = html.as_bytes();
    loop {
        position = find_byte(html, position, |byte| !byte.is_ascii_whitespace() && byte != b'/');
        match bytes.get(position) {
            None => return position,
            Some(b'>') => return position + 1,
            Some(_) => {}
        }
        let start = position;
        // The first byte belongs to the name, so that every round makes progress.
        position = find_byte(html, start + 1, |byte| byte.is_ascii_whitespace() || b"=>/".contains(&byte));
        let name = &html[start..position];
        if bytes.get(position) != Some(&b'=') {
            continue;
        }
        let range = value_range(html, position + 1);
        let quoted = bytes.get(range.end).is_some_and(|byte| b"\"'".contains(byte));
        position = range.end + usize::from(quoted);
        found.push(TagAttribute { tag, name, value: &html[range.clone()], range });
    }
}

/// Returns the range of an attribute's value, without its quotes.
fn value_range(html: &str, start: usize) -> Range<usize> {
    match html.as_bytes().get(start).copied() {
        Some(quote @ (b'"' | b'\'')) => start + 1..find_byte(html, start + 1, |byte| byte == quote),
        _ => start..find_byte(html, start, |byte| byte.is_ascii_whitespace() || byte == b'>'),
    }
}

/// Returns the position of the first byte that satisfies the condition, or the length of the document. The
/// condition must hold only for bytes of ASCII, or for none of a character, so that positions are boundaries.
fn find_byte(html: &str, start: usize, condition: impl Fn(u8) -> bool) -> usize {
    let rest = html.as_bytes().get(start..).unwrap_or_default();
    rest.iter().position(|byte| condition(*byte)).map_or(html.len(), |at| start + at)
}

fn find_after(html: &str, start: usize, text: &str) -> Option<usize> {
    html.get(start..)?.find(text).map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> Vec<(&str, &str, &str)> {
        let found = read_attributes(html);
        for attribute in &found {
            assert_eq!(html.get(attribute.range.clone()), Some(attribute.value));
        }
        found.into_iter().map(|attribute| (attribute.tag, attribute.name, attribute.value)).collect()
    }

    #[test]
    fn values_are_read_with_and_without_quotes() {
        let html = "<a href=\"x.html#é\" hidden title='>'>é</a><h2 id=one class = x><br/><img src=a.svg>";
        let expected =
            [("a", "href", "x.html#é"), ("a", "title", ">"), ("h2", "id", "one"), ("img", "src", "a.svg")];
        assert_eq!(read(html), expected);
    }

    #[test]
    fn comments_and_text_elements_are_skipped() {
        let html = "<!-- <a href=1> --><script src=s.js>'<a href=2>'</script><style><a href=3></style>1 < 2<a href=4>";
        assert_eq!(read(html), [("script", "src", "s.js"), ("a", "href", "4")]);
    }

    #[test]
    fn truncated_documents_are_read_to_their_end() {
        for html in ["<", "<a", "<a href", "<a href=", "<a href=\"x", "<a =", "<!-- ", "<script>"] {
            let found = read(html);
            assert!(found.len() <= 1, "{html}: {found:?}");
        }
    }
}
