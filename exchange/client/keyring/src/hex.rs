//! The encoding of binary secrets as strings, because some stores support only strings.

use std::fmt::Write as _;

use exchange_client::SecretBytes;

/// The prefix of an encoded secret.
const MARK: &str = "hex:";

/// Returns valid UTF-8 unchanged, and encodes other bytes, such as a key, as a prefix and hexadecimal digits.
pub(crate) fn encode_secret(secret: &SecretBytes) -> SecretBytes {
    match std::str::from_utf8(secret) {
        Ok(text) if !text.starts_with(MARK) => secret.clone(),
        _ => {
            // The full capacity is allocated at once, because a growing buffer leaves copies in memory.
            let mut text = String::with_capacity(MARK.len() + 2 * secret.len());
            text.push_str(MARK);
            for byte in secret.iter() {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
            SecretBytes::new(text.into_bytes())
        }
    }
}

/// Decodes the result of [`encode_secret`]; `None` if the encoding is invalid.
pub(crate) fn decode_secret(stored: SecretBytes) -> Option<SecretBytes> {
    let Some(digits) = stored.strip_prefix(MARK.as_bytes()) else { return Some(stored) };
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
    fn stored_secrets_are_text_and_round_trip() {
        for bytes in [&b"{}"[..], b"", b"hex:00", b"\0\xff\x30\x81", b"hex:"] {
            let stored = encode_secret(&secret(bytes));
            assert!(std::str::from_utf8(&stored).is_ok());
            assert_eq!(decode_secret(stored).unwrap().as_slice(), bytes);
        }
        assert_eq!(encode_secret(&secret(b"\0\xff")).as_slice(), b"hex:00ff");
        for other in [&b"hex:0"[..], b"hex:0g", b"hex:\xff\xff"] {
            assert!(decode_secret(secret(other)).is_none());
        }
    }
}
