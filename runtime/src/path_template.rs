//! Path templates: `/pets/{id}`, `/files/{name}.json`, `/compare/{base}...{head}`.
//!
//! Templates and paths are compared segment by segment. Both are normalized first: characters that a path
//! must not contain are percent-encoded in upper case (RFC 3986, 6.2.2.1). `%2F` does not match `/`. `%61` in
//! a path does not match `a`, because no client needs to encode it, and a proxy that routes by path would see
//! a different path. A placeholder matches the shortest non-empty string with which the rest of its segment
//! matches. Query pairs after the last segment (`/pets?kind=cat`) are not part of the path template.

use std::{borrow::Cow, fmt::Write as _};

/// Characters that may appear unencoded in a path, and the delimiters that end it (RFC 3986, 3.3).
const PATH_BYTES: &[u8] = b"-._~!$&'()*+,;=:@/?#";

/// Returns the template with its literal parts in normal form (RFC 3986, 6.2.2), as clients send them.
/// Unreserved characters are decoded, and characters that a path must not contain are percent-encoded.
#[must_use]
pub fn normalize_template(template: &str) -> Cow<'_, str> {
    percent_normalize(template, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Normalizes a request path for comparison with normalized templates.
pub(crate) fn normalize_path(path: &str) -> Cow<'_, str> {
    percent_normalize(path, |_| false)
}

/// Percent-encodes all characters for which a path requires it. Existing percent-encoded bytes are kept,
/// unless `is_decoded` returns true for the byte.
fn percent_normalize(template: &str, is_decoded: impl Fn(u8) -> bool) -> Cow<'_, str> {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || PATH_BYTES.contains(&byte) || b"{}".contains(&byte);
    if template.bytes().all(is_plain) {
        return Cow::Borrowed(template);
    }
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    loop {
        let (literal, behind) = match rest.find('{') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let mut bytes = literal.as_bytes();
        while let Some((sign, length)) = next_byte(bytes) {
            match sign {
                PathByte::Plain(byte) => out.push(char::from(byte)),
                PathByte::Encoded(byte) if is_decoded(byte) => out.push(char::from(byte)),
                PathByte::Encoded(byte) => drop(write!(out, "%{byte:02X}")),
            }
            bytes = &bytes[length..];
        }
        if behind.is_empty() {
            return Cow::Owned(out);
        }
        let end = behind.find('}').map_or(behind.len(), |at| at + 1);
        out.push_str(&behind[..end]);
        rest = &behind[end..];
    }
}

/// One byte of a path, with its encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathByte {
    Plain(u8),
    Encoded(u8),
}

/// Returns the first byte of a path and the number of input bytes that it occupies (3 if it is
/// percent-encoded).
fn next_byte(text: &[u8]) -> Option<(PathByte, usize)> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let encoded = match (text.first()?, digit(1), digit(2)) {
        (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    Some(match (encoded, *text.first()?) {
        (Some(byte), _) => (PathByte::Encoded(byte), 3),
        (None, byte) if byte.is_ascii_alphanumeric() || PATH_BYTES.contains(&byte) => {
            (PathByte::Plain(byte), 1)
        }
        (None, byte) => (PathByte::Encoded(byte), 1),
    })
}

/// Returns the length of the prefix of `text` that matches `literal`, or `None` if there is no match.
fn literal_match_len(text: &str, literal: &str) -> Option<usize> {
    let (mut at, mut literal) = (0, literal.as_bytes());
    while let Some((wanted, length)) = next_byte(literal) {
        let (found, width) = next_byte(text.as_bytes().get(at..)?)?;
        if found != wanted {
            return None;
        }
        at += width;
        literal = &literal[length..];
    }
    text.is_char_boundary(at).then_some(at)
}

/// Finds the first match of `literal` after the first character of `text`, and returns its start and end.
fn find_literal(text: &str, literal: &str, must_end: bool) -> Option<(usize, usize)> {
    let mut at = 0;
    while let Some((_, width)) = next_byte(text.as_bytes().get(at..)?) {
        at += width;
        if let Some(taken) = text.get(at..).and_then(|rest| literal_match_len(rest, literal))
            && (!must_end || at + taken == text.len())
        {
            return Some((at, at + taken));
        }
    }
    None
}

/// Returns true if the path matches the template.
pub(crate) fn matches_path(template: &str, path: &str) -> bool {
    match_segments(template, path, |_, _| {})
}

/// Returns the part of `path` that matches the placeholder `name`.
pub(crate) fn placeholder_value<'p>(template: &str, path: &'p str, name: &str) -> Option<&'p str> {
    let mut found = None;
    let fits = match_segments(template, path, |placeholder, value| {
        if placeholder == name && found.is_none() {
            found = Some(value);
        }
    });
    found.filter(|_| fits)
}

/// Splits a template into the path and the query pairs after `?`.
pub(crate) fn split_query(template: &str) -> (&str, &str) {
    let mut inside = false;
    let begins = template.bytes().position(|each| {
        inside = each == b'{' || (inside && each != b'}');
        each == b'?' && !inside
    });
    begins.map_or((template, ""), |at| (&template[..at], &template[at + 1..]))
}

/// Returns true if two templates differ only in the names of their placeholders.
pub(crate) fn same_shape(one: &str, other: &str) -> bool {
    let ((mut one, _), (mut other, _)) = (split_query(one), split_query(other));
    loop {
        let ((literal, rest), (literal2, rest2)) = (split_at_placeholder(one), split_at_placeholder(other));
        if literal != literal2 {
            return false;
        }
        match (rest, rest2) {
            (None, None) => return true,
            (Some((_, rest)), Some((_, rest2))) => (one, other) = (rest, rest2),
            _ => return false,
        }
    }
}

fn match_segments<'t, 'p>(template: &'t str, path: &'p str, mut take: impl FnMut(&'t str, &'p str)) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if match_segment(split_query(pattern).0, segment, &mut take) => {}
            _ => return false,
        }
    }
}

fn match_segment<'t, 'p>(
    pattern: &'t str,
    segment: &'p str,
    take: &mut impl FnMut(&'t str, &'p str),
) -> bool {
    let (literal, mut placeholder) = split_at_placeholder(pattern);
    let Some(mut segment) = literal_match_len(segment, literal).and_then(|at| segment.get(at..)) else {
        return false;
    };
    while let Some((name, rest)) = placeholder {
        let (literal, following) = split_at_placeholder(rest);
        // The last literal must end the segment. A literal in between matches at its first occurrence.
        let Some((end, behind)) = find_literal(segment, literal, following.is_none()) else { return false };
        take(name, &segment[..end]);
        segment = &segment[behind..];
        placeholder = following;
    }
    segment.is_empty()
}

/// Splits a segment into the literal before the first `{`, and the name of the placeholder with the rest.
fn split_at_placeholder(pattern: &str) -> (&str, Option<(&str, &str)>) {
    match pattern.split_once('{') {
        Some((literal, rest)) => (literal, rest.split_once('}').or(Some((rest, "")))),
        None => (pattern, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_match_their_segment() {
        for (template, path, name, expect) in [
            ("/pets/{id}", "/pets/7", "id", Some("7")),
            ("/pets/{id}", "/pets/a%2Fb", "id", Some("a%2Fb")),
            ("/pets/{id}", "/pets/", "id", None),
            ("/pets/{id}", "/pets/7/x", "id", None),
            ("/f/{name}.schema.json", "/f/small-pet.schema.json", "name", Some("small-pet")),
            ("/f/{name}.schema.json", "/f/.schema.json", "name", None),
            ("/c/{a}...{b}", "/c/x.y...z", "a", Some("x.y")),
            ("/c/{a}...{b}", "/c/x.y...z", "b", Some("z")),
            ("/c/{a}...{b}", "/c/...z", "a", None),
            ("/v{n}/x", "/vé/x", "n", Some("é")),
            ("/pets", "/pets", "id", None),
            ("/pets/{id}?kind=cat", "/pets/7", "id", Some("7")),
            ("/pets/{id?}", "/pets/7", "id?", Some("7")),
            ("/%C3%A4/{id}", "/%c3%a4/x", "id", Some("x")),
            ("/%C3%A4/{id}", "/ä/x", "id", Some("x")),
            ("/ä/{id}", "/%C3%A4/x", "id", Some("x")),
            // Characters that need no encoding have only one spelling.
            ("/a/{id}", "/%61/%41", "id", None),
            ("/a/{id}", "/a/%41", "id", Some("%41")),
            ("/{id}.x", "/%78%2e%78", "id", None),
            ("/{a}-{b}", "/%2D-%2D", "b", Some("%2D")),
            ("/{id}41", "/%41", "id", None),
            ("/a%7Cb/{id}", "/a|b/x", "id", Some("x")),
            ("/a%2Fb/{id}", "/a/b/x", "id", None),
            ("/a%2Fb/{id}", "/a%2fb/x", "id", Some("x")),
        ] {
            assert_eq!(placeholder_value(template, path, name), expect, "{template} {path}");
        }
    }

    /// Literal parts are normalized, and normalizing them again does not change them (RFC 3986, 2.1, 3.3,
    /// 6.2.2).
    #[test]
    fn literals_are_encoded_once() {
        for (template, expect) in [
            ("/a-b/{id}/c:d@e", "/a-b/{id}/c:d@e"),
            ("/a b/{na me}", "/a%20b/{na me}"),
            ("/ä/{ä}.ä", "/%C3%A4/{ä}.%C3%A4"),
            (r#"/a|b"c<d>^`\"#, "/a%7Cb%22c%3Cd%3E%5E%60%5C"),
            ("/a%20b%2f%41", "/a%20b%2FA"),
            ("/a%zz/100%", "/a%25zz/100%25"),
            ("/[a]?x=1", "/%5Ba%5D?x=1"),
        ] {
            assert_eq!(normalize_template(template), expect);
            assert_eq!(normalize_template(expect), expect, "{template}");
        }
    }

    #[test]
    fn placeholder_names_do_not_affect_the_shape() {
        assert!(same_shape("/a/{x}/b", "/a/{y}/b"));
        assert!(same_shape("/a", "/a"));
        assert!(same_shape("/a?x=1", "/a?x=2"));
        assert!(!same_shape("/a/{x}", "/a/x"));
        assert!(!same_shape("/a/{x}", "/a/{x}.json"));
    }
}
