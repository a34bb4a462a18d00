//! Removes comments and trailing commas, which JSON does not allow but many editors accept.

use crate::{
    diagnostics::Diagnostic,
    load::span,
    tree::{DocumentLocation, SourceId},
};

/// Replaces comments and trailing commas by spaces, so that all other bytes keep their offsets. Returns the
/// new text with one fault if there are comments and one if there are trailing commas, or `None` if the text
/// contains neither.
pub(super) fn remove_extensions(source: SourceId, text: &str) -> Option<(String, Vec<Diagnostic>)> {
    let mut bytes = text.as_bytes().to_vec();
    let mut comments: Vec<(usize, usize)> = Vec::new();
    let mut commas: Vec<(usize, usize)> = Vec::new();
    // The offset of the last comma, if only whitespace and comments have followed it so far, and the byte
    // before the comma.
    let mut comma: Option<(usize, u8)> = None;
    let mut previous = b' ';
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match (byte, bytes.get(at + 1)) {
            (b'"', _) => string_length(&bytes, at),
            (b'/', Some(b'/' | b'*')) => {
                let length = comment_length(&bytes, at);
                comments.push((at, at + length));
                at += length;
                continue;
            }
            _ => 1,
        };
        if matches!(byte, b']' | b'}')
            && let Some((comma, before)) = comma
            && !matches!(before, b'[' | b'{' | b',' | b':' | b' ')
        {
            commas.push((comma, comma + 1));
        }
        if !byte.is_ascii_whitespace() {
            comma = (byte == b',').then_some((at, previous));
            previous = byte;
        }
        at += length;
    }
    for (start, end) in comments.iter().chain(&commas) {
        let removed = bytes.get_mut(*start..*end)?.iter_mut();
        removed.filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    let fault = |found: Vec<(usize, usize)>, message: &str, fallback: &str| {
        let place = |(start, end): &(usize, usize)| DocumentLocation {
            source,
            pointer: String::new(),
            span: span(*start, *end),
        };
        let places: Vec<DocumentLocation> = found.iter().map(place).collect();
        let (first, others) = places.split_first()?;
        let problem = Diagnostic::error("syntax", message).with_place(first.clone());
        Some(problem.with_fallback(fallback).with_related_places(others))
    };
    let commas = fault(commas, "JSON does not allow trailing commas", "they are ignored");
    let comments = fault(comments, "JSON has no comments; use `$comment`", "they are ignored");
    let faults: Vec<Diagnostic> = commas.into_iter().chain(comments).collect();
    let plain = String::from_utf8(bytes).ok()?;
    (!faults.is_empty()).then_some((plain, faults))
}

/// Returns the length of a string literal in bytes, including its quotes.
fn string_length(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'\\' => 2,
            b'"' => return at + 1 - start,
            _ => 1,
        };
    }
    bytes.len() - start
}

/// Returns the length of a comment in bytes; the line break after a line comment is not included.
fn comment_length(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.get(1) {
        Some(b'*') => {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            end.map_or(rest.len(), |end| end + 4)
        }
        _ => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        let check = |text: &str, expected: Option<&str>, codes: usize| {
            let found = remove_extensions(SourceId(0), text);
            let plain = found.as_ref().map(|(plain, faults)| (plain.as_str(), faults.len()));
            assert_eq!(plain, expected.map(|expected| (expected, codes)), "{text}");
        };
        check(r#"{"a": [1, 2,], }"#, Some(r#"{"a": [1, 2 ]  }"#), 1);
        check("[1, // one, \n 2 /* two, */, /**/ ]", Some("[1,         \n 2                  ]"), 2);
        check(r#"{"a": ",]", "b\\": "// no"}"#, None, 0);
        check("[,]", None, 0);
        check("[1,,]", None, 0);
        check(r#"["open"#, None, 0);
        check("[1] /* open", Some("[1]        "), 1);
    }
}
