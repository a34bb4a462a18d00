//! User codes: short enough to type, hard to mistake (RFC 8628, 6.1).
//!
//! Eight of nineteen consonants: no vowels, so no words; no `Q`, which looks like `O`. That is 34 bits,
//! which ten minutes and the limits on guessing make enough (RFC 8628, 5.1).

use std::fmt;

use dpop_bound::random::RandomError;

use crate::environment::Environment;

const ALPHABET: &[u8; 19] = b"BCDFGHJKLMNPRSTVWXZ";
const LENGTH: usize = 8;

/// A user code in its one spelling: eight letters, without a dash.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

/// Shows nothing of it: for its ten minutes it is a secret between a device and its member.
impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(…)")
    }
}

impl UserCode {
    /// A new one.
    ///
    /// # Errors
    /// When there are no random numbers to be had.
    pub fn generate(environment: &Environment) -> Result<Self, RandomError> {
        let mut text = String::with_capacity(LENGTH);
        while text.len() < LENGTH {
            for byte in environment.bytes::<16>()? {
                // Every letter 13 times among the bytes below 247, so none is likelier than another.
                if text.len() < LENGTH && byte < 247 {
                    text.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
                }
            }
        }
        Ok(Self(text))
    }

    /// What somebody typed: in any case, with dashes and blanks or without, and with what looks like one
    /// of the letters. None when it cannot be a code.
    #[must_use]
    pub fn typed(text: &str) -> Option<Self> {
        if text.len() > 64 {
            return None;
        }
        let mut code = String::with_capacity(LENGTH);
        for character in text.chars() {
            if is_filler(character) {
                continue;
            }
            let letter = match character.to_ascii_uppercase() {
                '0' | 'O' | 'Q' => 'D',
                '1' | 'I' => 'L',
                '2' => 'Z',
                '5' => 'S',
                '6' => 'G',
                '8' => 'B',
                'U' => 'V',
                other => other,
            };
            if !letter.is_ascii() || !ALPHABET.contains(&(letter as u8)) {
                return None;
            }
            code.push(letter);
        }
        (code.len() == LENGTH).then_some(Self(code))
    }

    /// The letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a person reads it: two groups of four.
    #[must_use]
    pub fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        format!("{first}-{second}")
    }
}

/// What people put between letters: blanks, and dashes of every length.
fn is_filler(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '-' | '_' | '.' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// List F: normalisation (`wdjb-mjht`).
    #[test]
    fn what_people_type() {
        let check = |typed: &str, expect: Option<&str>| {
            assert_eq!(UserCode::typed(typed).as_ref().map(UserCode::as_str), expect, "{typed:?}");
        };
        check("WDJB-MJHT", Some("WDJBMJHT"));
        check("wdjb-mjht", Some("WDJBMJHT"));
        check(" wd jb – mj ht\n", Some("WDJBMJHT"));
        check("wdjbmjht", Some("WDJBMJHT"));
        check("0o1i2568", Some("DDLLZSGB"));
        check("uuvv-qqdd", Some("VVVVDDDD"));
        check("WDJB-MJH", None);
        check("WDJB-MJHTT", None);
        check("WDJB-MJHA", None);
        check("WDJB-MJHТ", None);
        check("", None);
        check(&"-".repeat(100), None);
    }

    /// IDP-10: what a device shows is what the page takes, and no code is made of what looks alike.
    #[test]
    fn what_is_shown_can_be_typed() {
        let environment = Environment::system();
        let mut seen = BTreeSet::new();
        for _ in 0..400 {
            let code = UserCode::generate(&environment).unwrap();
            assert_eq!(UserCode::typed(&code.shown().to_lowercase()).unwrap(), code);
            assert_eq!(code.shown().len(), LENGTH + 1);
            seen.extend(code.as_str().bytes());
        }
        assert_eq!(seen, ALPHABET.iter().copied().collect());
        assert!(ALPHABET.iter().all(|letter| !b"AEIOUQ0123456789".contains(letter)));
    }

    #[test]
    fn nothing_prints_a_code() {
        assert_eq!(format!("{:?}", UserCode::typed("wdjb-mjht")), "Some(UserCode(…))");
    }
}
