//! Forms (`application/x-www-form-urlencoded`), as the provider's endpoints take them.

use bytes::Bytes;
use zeroize::Zeroizing;

/// A form of these fields. It may hold a token: its bytes are cleared when the last of the request is dropped.
pub(super) fn form(fields: &[(&str, &str)]) -> Bytes {
    // Three bytes for each: it does not grow, so that nothing of it stays behind elsewhere.
    let most = fields.iter().map(|(name, value)| 3 * (name.len() + value.len()) + 2).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(most));
    for (name, value) in fields {
        if !bytes.is_empty() {
            bytes.push(b'&');
        }
        encode(name, &mut bytes);
        bytes.push(b'=');
        encode(value, &mut bytes);
    }
    Bytes::from_owner(bytes)
}

/// URL Standard, 5.2.
fn encode(text: &str, bytes: &mut Vec<u8>) {
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
    fn what_means_something_is_encoded() {
        let form = form(&[("a", "b c"), ("d", "e&f=g/+~%\u{e4}"), ("h", "")]);
        assert_eq!(form, "a=b+c&d=e%26f%3Dg%2F%2B%7E%25%C3%A4&h=");
    }
}
