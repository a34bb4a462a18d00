//! Path templates: `/pets/{id}`, `/files/{name}.json`, `/compare/{base}...{head}`.
//!
//! A template is compared with a path segment by segment, both with what no path holds percent-encoded, in upper
//! case (RFC 3986, 6.2.2.1). `%2F` is no `/`, and `%61` in a path is no `a`: nobody has to encode it, and whoever
//! stands before a server and decides by paths would see another one.
//! A placeholder takes as little as lets the rest of its segment match, never nothing.
//! Pairs of a query behind its last segment (`/pets?kind=cat`) are none of it.

use std::{borrow::Cow, fmt::Write as _};

/// Characters that stand in a path for themselves, and those that end it (RFC 3986, 3.3).
const KEPT: &[u8] = b"-._~!$&'()*+,;=:@/?#";

/// The literal parts of a template in their normal form (RFC 3986, 6.2.2), as a client sends them: unreserved
/// characters stand for themselves, and what no path holds is percent-encoded.
#[must_use]
pub fn normal(template: &str) -> Cow<'_, str> {
    spelled(template, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// A path as it is compared with such templates.
pub(crate) fn asked(path: &str) -> Cow<'_, str> {
    spelled(path, |_| false)
}

/// Percent-encoded where a path must be, and where it is but for what is decoded.
fn spelled(template: &str, is_decoded: impl Fn(u8) -> bool) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || KEPT.contains(&byte) || b"{}".contains(&byte);
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
        while let Some((sign, length)) = sign(bytes) {
            match sign {
                Sign::Plain(byte) => out.push(char::from(byte)),
                Sign::Encoded(byte) if is_decoded(byte) => out.push(char::from(byte)),
                Sign::Encoded(byte) => drop(write!(out, "%{byte:02X}")),
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

/// A byte of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plain(u8),
    Encoded(u8),
}

/// The first one, and how many bytes it takes.
fn sign(text: &[u8]) -> Option<(Sign, usize)> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let encoded = match (text.first()?, digit(1), digit(2)) {
        (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    Some(match (encoded, *text.first()?) {
        (Some(byte), _) => (Sign::Encoded(byte), 3),
        (None, byte) if byte.is_ascii_alphanumeric() || KEPT.contains(&byte) => (Sign::Plain(byte), 1),
        (None, byte) => (Sign::Encoded(byte), 1),
    })
}

/// How much of a text the literal takes where it begins with it.
fn taken(text: &str, literal: &str) -> Option<usize> {
    let (mut at, mut literal) = (0, literal.as_bytes());
    while let Some((wanted, length)) = sign(literal) {
        let (found, width) = sign(text.as_bytes().get(at..)?)?;
        if found != wanted {
            return None;
        }
        at += width;
        literal = &literal[length..];
    }
    text.is_char_boundary(at).then_some(at)
}

/// Where the literal first stands in a text behind its first character, and where it ends.
fn next(text: &str, literal: &str, must_end: bool) -> Option<(usize, usize)> {
    let mut at = 0;
    while let Some((_, width)) = sign(text.as_bytes().get(at..)?) {
        at += width;
        if let Some(taken) = text.get(at..).and_then(|rest| taken(rest, literal))
            && (!must_end || at + taken == text.len())
        {
            return Some((at, at + taken));
        }
    }
    None
}

/// Whether the path fits.
pub(crate) fn matches(template: &str, path: &str) -> bool {
    walk(template, path, |_, _| {})
}

/// What stands in a placeholder's place.
pub(crate) fn value<'p>(template: &str, path: &'p str, name: &str) -> Option<&'p str> {
    let mut found = None;
    let fits = walk(template, path, |placeholder, value| {
        if placeholder == name && found.is_none() {
            found = Some(value);
        }
    });
    found.filter(|_| fits)
}

/// The template of the path alone, and the pairs of a query behind it, which hold no `/`.
pub(crate) fn parts(template: &str) -> (&str, &str) {
    let mut inside = false;
    let begins = template.bytes().position(|each| {
        inside = each == b'{' || (inside && each != b'}');
        each == b'?' && !inside
    });
    begins.map_or((template, ""), |at| (&template[..at], &template[at + 1..]))
}

/// Whether two templates differ in the names of placeholders at most.
pub(crate) fn same_shape(one: &str, other: &str) -> bool {
    let ((mut one, _), (mut other, _)) = (parts(one), parts(other));
    loop {
        let ((literal, rest), (literal2, rest2)) = (before_placeholder(one), before_placeholder(other));
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

fn walk<'t, 'p>(template: &'t str, path: &'p str, mut take: impl FnMut(&'t str, &'p str)) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if fits(parts(pattern).0, segment, &mut take) => {}
            _ => return false,
        }
    }
}

fn fits<'t, 'p>(pattern: &'t str, segment: &'p str, take: &mut impl FnMut(&'t str, &'p str)) -> bool {
    let (literal, mut placeholder) = before_placeholder(pattern);
    let Some(mut segment) = taken(segment, literal).and_then(|at| segment.get(at..)) else { return false };
    while let Some((name, rest)) = placeholder {
        let (literal, following) = before_placeholder(rest);
        // The last literal must end the segment; one in between is taken where it first stands.
        let Some((end, behind)) = next(segment, literal, following.is_none()) else { return false };
        take(name, &segment[..end]);
        segment = &segment[behind..];
        placeholder = following;
    }
    segment.is_empty()
}

/// The literal text up to the first `{`, and the placeholder's name with what follows it.
fn before_placeholder(pattern: &str) -> (&str, Option<(&str, &str)>) {
    match pattern.split_once('{') {
        Some((literal, rest)) => (literal, rest.split_once('}').or(Some((rest, "")))),
        None => (pattern, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_take_what_stands_in_their_place() {
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
            // What needs no encoding has one spelling.
            ("/a/{id}", "/%61/%41", "id", None),
            ("/a/{id}", "/a/%41", "id", Some("%41")),
            ("/{id}.x", "/%78%2e%78", "id", None),
            ("/{a}-{b}", "/%2D-%2D", "b", Some("%2D")),
            ("/{id}41", "/%41", "id", None),
            ("/a%7Cb/{id}", "/a|b/x", "id", Some("x")),
            ("/a%2Fb/{id}", "/a/b/x", "id", None),
            ("/a%2Fb/{id}", "/a%2fb/x", "id", Some("x")),
        ] {
            assert_eq!(value(template, path, name), expect, "{template} {path}");
        }
    }

    /// RFC 3986, 2.1, 3.3, 6.2.2.
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
            assert_eq!(normal(template), expect);
            assert_eq!(normal(expect), expect, "{template}");
        }
    }

    #[test]
    fn names_of_placeholders_do_not_make_a_shape() {
        assert!(same_shape("/a/{x}/b", "/a/{y}/b"));
        assert!(same_shape("/a", "/a"));
        assert!(same_shape("/a?x=1", "/a?x=2"));
        assert!(!same_shape("/a/{x}", "/a/x"));
        assert!(!same_shape("/a/{x}", "/a/{x}.json"));
    }
}
