//! The grammar of HTTP tokens.

/// Returns true if the string is a token (RFC 9110, 5.6.2). Methods, header names and both parts of a media
/// type are tokens.
pub(crate) fn is_token(text: &str) -> bool {
    let good = |each: u8| each.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&each);
    !text.is_empty() && text.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::is_token;

    #[test]
    fn tokens_are_visible_ascii() {
        for (text, expected) in
            [("GET", true), ("x-a.b~1", true), ("", false), ("a b", false), ("a/b", false), ("\u{e9}", false)]
        {
            assert_eq!(is_token(text), expected, "{text}");
        }
    }
}
