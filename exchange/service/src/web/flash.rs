//! Messages about a finished action, which the page after the redirect shows once.
//!
//! The message is in a cookie with a MAC under a key that is derived from the session's secret. A link or
//! another site therefore cannot make a page show a message.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::secrets;

/// The maximum length of a message, in bytes. Browsers limit a cookie to 4096 bytes.
const MAX_MESSAGE_BYTES: usize = 1500;

/// The key with which the messages of a session are signed.
#[derive(Clone)]
pub(super) struct FlashKey(hmac::Key);

/// The key is not printed.
impl fmt::Debug for FlashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlashKey(…)")
    }
}

impl FlashKey {
    /// Derives the key from the secret of a session.
    pub(super) fn from_secret(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
    }

    /// Returns a MAC for a purpose and a value. It cannot be used for another purpose.
    pub(super) fn sign(&self, purpose: &str, value: &str) -> String {
        secrets::hmac_base64(&self.0, &["signed", purpose, value])
    }

    /// Returns true if the MAC belongs to the purpose and the value. The comparison takes constant time.
    pub(super) fn verify(&self, purpose: &str, value: &str, mac: &str) -> bool {
        secrets::constant_time_eq(self.sign(purpose, value).as_bytes(), mac.as_bytes())
    }

    /// Encodes a message as the value of a cookie. A message that is too long is cut.
    pub(super) fn encode_message(&self, message: &str) -> String {
        let value = URL_SAFE_NO_PAD.encode(cut(message));
        let mac = self.sign("flash", &value);
        format!("{value}.{mac}")
    }

    /// Decodes the value of a cookie. Returns `None` if this key did not sign it.
    pub(super) fn decode_message(&self, cookie: &str) -> Option<String> {
        let (value, mac) = cookie.split_once('.')?;
        if !self.verify("flash", value, mac) {
            return None;
        }
        String::from_utf8(URL_SAFE_NO_PAD.decode(value).ok()?).ok()
    }
}

fn cut(message: &str) -> &str {
    let mut end = message.len().min(MAX_MESSAGE_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bound_to_the_session() {
        let (one, other) = (FlashKey::from_secret("one"), FlashKey::from_secret("other"));
        let cookie = one.encode_message("Saved – “it”.");
        assert_eq!(one.decode_message(&cookie).as_deref(), Some("Saved – “it”."));
        assert_eq!(other.decode_message(&cookie), None);
        let (value, mac) = cookie.split_once('.').expect("two parts");
        for forged in [format!("{value}x.{mac}"), format!("{value}."), value.to_owned(), String::new()] {
            assert_eq!(one.decode_message(&forged), None, "{forged}");
        }
        assert!(!one.verify("consent", value, mac), "a MAC has one purpose");
        assert_eq!(format!("{one:?}"), "FlashKey(…)");
        let long = one.encode_message(&"ä".repeat(5000));
        assert!(long.len() < 2200, "{}", long.len());
        assert!(one.decode_message(&long).is_some_and(|text| text.starts_with('ä')));
    }
}
