//! Bytes that are no text, as text: some stores keep text alone.

use std::fmt::Write as _;

use exchange_client::SecretBytes;

/// What stands before bytes that are no text.
const MARK: &str = "hex:";

/// Text stays as it is; what is none, such as a key, is written in hexadecimal digits.
pub(crate) fn encoded(secret: &SecretBytes) -> SecretBytes {
    match std::str::from_utf8(secret) {
        Ok(text) if !text.starts_with(MARK) => secret.clone(),
        _ => {
            // Of its full size from the start: what grows leaves copies behind.
            let mut text = String::with_capacity(MARK.len() + 2 * secret.len());
            text.push_str(MARK);
            for byte in secret.iter() {
                // Writing to a string does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            SecretBytes::new(text.into_bytes())
        }
    }
}

/// The reverse; `None` of what was not written so.
pub(crate) fn decoded(kept: SecretBytes) -> Option<SecretBytes> {
    let Some(digits) = kept.strip_prefix(MARK.as_bytes()) else { return Some(kept) };
    if digits.len() % 2 != 0 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = SecretBytes::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.chunks_exact(2) {
        bytes.push((digit(pair[0])? << 4) | digit(pair[1])?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(bytes: &[u8]) -> SecretBytes {
        SecretBytes::new(bytes.to_vec())
    }

    #[test]
    fn whatever_is_kept_is_text_and_comes_back() {
        for bytes in [&b"{}"[..], b"", b"hex:00", b"\0\xff\x30\x81", b"hex:"] {
            let kept = encoded(&secret(bytes));
            assert!(std::str::from_utf8(&kept).is_ok());
            assert_eq!(decoded(kept).unwrap().as_slice(), bytes);
        }
        assert_eq!(encoded(&secret(b"\0\xff")).as_slice(), b"hex:00ff");
        for other in [&b"hex:0"[..], b"hex:0g", b"hex:\xff\xff"] {
            assert!(decoded(secret(other)).is_none());
        }
    }
}
