//! Encoding of forms (`application/x-www-form-urlencoded`) for the provider's endpoints.

use bytes::Bytes;
use zeroize::Zeroizing;

/// Encodes a form. The form may contain a token, so its bytes are zeroed when the last clone is dropped.
pub(super) fn encode_form(fields: &[(&str, &str)]) -> Bytes {
    // The capacity is three bytes per character, so that the buffer never grows and no copies remain in
    // memory.
    let capacity = fields.iter().map(|(name, value)| 3 * (name.len() + value.len()) + 2).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(capacity));
    for (name, value) in fields {
        if !bytes.is_empty() {
            bytes.push(b'&');
        }
        encode_component(name, &mut bytes);
        bytes.push(b'=');
        encode_component(value, &mut bytes);
    }
    Bytes::from_owner(bytes)
}

/// Percent-encodes a component (URL Standard, 5.2).
fn encode_component(text: &str, bytes: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => bytes.push(byte),
            b' ' => bytes.push(b'+'),
            _ => bytes.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_encoded() {
        let form = encode_form(&[("a", "b c"), ("d", "e&f=g/+~%\u{e4}"), ("h", "")]);
        assert_eq!(form, "a=b+c&d=e%26f%3Dg%2F%2B%7E%25%C3%A4&h=");
    }
}
