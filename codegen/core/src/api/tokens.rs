//! The token grammar of HTTP.

/// Returns true for a token of RFC 9110, 5.6.2: a method, a header name, or one half of a media type.
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
