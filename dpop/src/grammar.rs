//! The characters of tokens (RFC 9110, 5.6.2) and of `token68` (11.2), which several HTTP headers use.

/// Returns true if the whole string is a token: a method, a scheme or the name of a parameter.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns true if a byte is allowed in a token (RFC 9110, 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns true if all bytes form a `token68`, such as an access token.
pub(crate) fn is_token68(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|&&byte| is_token68_byte(byte)).count();
    letters > 0 && text.iter().skip(letters).all(|&byte| byte == b'=')
}

/// Returns true if a byte is allowed in a `token68`, before the `=` at its end (RFC 9110, 11.2).
pub(crate) fn is_token68_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte)
}
