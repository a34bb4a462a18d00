//! Two alphabets of HTTP that several headers share: RFC 9110, 5.6.2 and 11.2.

/// Whether the whole text is a token: a method, a scheme, the name of a parameter.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Whether a byte can stand in a token (RFC 9110, 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether the whole text is a `token68`: an access token, for one.
pub(crate) fn is_token68(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|&&byte| is_token68_byte(byte)).count();
    letters > 0 && text.iter().skip(letters).all(|&byte| byte == b'=')
}

/// Whether a byte can stand in a `token68`, before the `=` at its end (RFC 9110, 11.2).
pub(crate) fn is_token68_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte)
}
