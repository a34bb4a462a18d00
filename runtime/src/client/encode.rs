//! Percent-encoding (RFC 3986, 2.1): everything but unreserved characters.

use std::fmt::{self, Write};

/// Writes what `Display` gives, encoded, so that one value is one segment, name or value.
pub(super) fn encode(value: &impl fmt::Display, out: &mut String) {
    // Writing to a `String` fails only when `Display` itself does, which is then a value cut
    // short: the same that `to_string` would panic for.
    let _ = write!(Encoder(out), "{value}");
}

struct Encoder<'a>(&'a mut String);

impl fmt::Write for Encoder<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const HEX: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    self.0.push(char::from(byte));
                }
                _ => {
                    self.0.push('%');
                    self.0.push(HEX[usize::from(byte >> 4)]);
                    self.0.push(HEX[usize::from(byte & 15)]);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        let check = |input: &str, expect: &str| {
            let mut out = String::new();
            encode(&input, &mut out);
            assert_eq!(out, expect);
        };
        check("aZ09-._~", "aZ09-._~");
        check("a/b?c#d&e=f+g %", "a%2Fb%3Fc%23d%26e%3Df%2Bg%20%25");
        check("é", "%C3%A9");
    }
}
