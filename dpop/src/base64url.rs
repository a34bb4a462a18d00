//! Strict base64url without padding (RFC 4648, section 5; RFC 7515, section 2).
//!
//! The decoder rejects padding, whitespace, the standard alphabet and non-zero trailing bits. Every decodable
//! string is therefore the only encoding of its bytes, and a signed value has no second spelling.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Returns the number of characters that encode `bytes` bytes.
pub(crate) const fn encoded_len(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Appends the encoding of `bytes` to `out`. Allocates only if the capacity of `out` is too small.
pub(crate) fn encode_into(out: &mut String, bytes: &[u8]) {
    URL_SAFE_NO_PAD.encode_string(bytes, out);
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Decodes exactly `N` bytes. Returns `None` for any other length and for invalid input.
pub(crate) fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != encoded_len(N) {
        return None;
    }
    let mut bytes = [0; N];
    let written = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    (written == N).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_canonical() {
        for (text, bytes) in
            [("", Some(&b""[..])), ("Zg", Some(b"f")), ("Zm8", Some(b"fo")), ("-_8", Some(b"\xfb\xff"))]
        {
            assert_eq!(decode(text).as_deref(), bytes, "{text}");
            assert_eq!(encode(bytes.unwrap()), text);
            assert_eq!(encoded_len(bytes.unwrap().len()), text.len());
        }
        for text in ["Zg==", "Zh", "Zm9", "Z", "Zm 8", "Zm8\n", "+/8", "Zm8.", "Zm\u{fc}"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn fixed_arrays_require_their_length() {
        assert_eq!(decode_array::<2>("Zm8"), Some(*b"fo"));
        for text in ["", "Zg", "Zm9v", "Zm9", "Zm8=", "Zm8A"] {
            assert_eq!(decode_array::<2>(text), None, "{text}");
        }
    }
}
