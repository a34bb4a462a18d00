//! Builds, escapes and splits JSON Pointers (RFC 6901) in string form.

use std::borrow::Cow;

/// Appends an object key to a pointer and escapes it.
pub fn push_token(pointer: &mut String, name: &str) {
    pointer.push('/');
    if !name.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        return pointer.push_str(name);
    }
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Appends an array index to a pointer.
pub fn push_index_token(pointer: &mut String, index: usize) {
    // The longest index has 20 digits.
    let mut digits = [b'0'; 20];
    let (mut first, mut rest) = (digits.len() - 1, index);
    digits[first] += (rest % 10) as u8;
    while rest > 9 {
        rest /= 10;
        first -= 1;
        digits[first] += (rest % 10) as u8;
    }
    pointer.push('/');
    pointer.extend(digits[first..].iter().map(|digit| char::from(*digit)));
}

/// Returns a copy of `pointer` with an object key appended and escaped.
#[must_use]
pub fn join_token(pointer: &str, name: &str) -> String {
    let mut longer = String::with_capacity(pointer.len() + name.len() + 1);
    longer.push_str(pointer);
    push_token(&mut longer, name);
    longer
}

/// Escapes an object key for use as a reference token: `~` becomes `~0`, `/` becomes `~1` (RFC 6901, 3).
#[must_use]
pub fn escape_token(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        let mut pointer = String::with_capacity(name.len() + 2);
        push_token(&mut pointer, name);
        pointer.remove(0);
        Cow::Owned(pointer)
    } else {
        Cow::Borrowed(name)
    }
}

/// Decodes a reference token into an object key. Returns `None` if a tilde is not followed by `0` or `1` (RFC
/// 6901, 3).
#[must_use]
pub fn unescape_token(token: &str) -> Option<Cow<'_, str>> {
    let Some(first) = token.find('~') else { return Some(Cow::Borrowed(token)) };
    let (plain, rest) = token.split_at(first);
    let mut name = String::with_capacity(token.len());
    name.push_str(plain);
    for part in rest.split('~').skip(1) {
        name.push(match part.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        name.push_str(&part[1..]);
    }
    Some(Cow::Owned(name))
}

/// Parses a reference token as an array index, which consists of digits without a leading zero (RFC 6901, 4).
#[must_use]
pub fn parse_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9'));
    if canonical { token.parse().ok() } else { None }
}

/// Splits a pointer into its reference tokens, which are still escaped. The empty pointer has none. Returns
/// `None` if `pointer` is not empty and does not start with `/`.
pub fn split_tokens(pointer: &str) -> Option<impl Iterator<Item = &str>> {
    let rest = match pointer {
        "" => None,
        _ => Some(pointer.strip_prefix('/')?),
    };
    Some(rest.into_iter().flat_map(|rest| rest.split('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_through_tokens() {
        for name in ["", "a", "a/b", "~", "~1", "~01", "a~b/c", "/", "//~~", "ü/€"] {
            assert_eq!(unescape_token(&escape_token(name)).as_deref(), Some(name), "{name}");
            let pointer = join_token("/x", name);
            let all: Vec<&str> = split_tokens(&pointer).unwrap().collect();
            assert_eq!(all.len(), 2, "{pointer}");
            assert_eq!(unescape_token(all[1]).as_deref(), Some(name), "{pointer}");
        }
        assert_eq!(escape_token("a/b~c"), "a~1b~0c");
    }

    #[test]
    fn invalid_pointers_are_rejected() {
        assert!(split_tokens("a").is_none());
        assert_eq!(split_tokens("").unwrap().count(), 0);
        assert_eq!(split_tokens("/").unwrap().collect::<Vec<_>>(), [""]);
        for token in ["~", "~2", "a~", "~a"] {
            assert_eq!(unescape_token(token), None, "{token}");
        }
    }

    #[test]
    fn indices_are_canonical() {
        assert_eq!((parse_index("0"), parse_index("10")), (Some(0), Some(10)));
        for token in ["", "00", "01", "+1", "-1", "1a", "99999999999999999999"] {
            assert_eq!(parse_index(token), None, "{token}");
        }
        let mut pointer = String::new();
        push_index_token(&mut pointer, 12);
        assert_eq!(pointer, "/12");
    }
}
