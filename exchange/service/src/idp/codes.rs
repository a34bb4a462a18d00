//! User codes, which are short enough to type and hard to misread (RFC 8628, section 6.1).
//!
//! A code consists of eight letters from nineteen consonants. It contains no vowels, so it forms no words,
//! and no `Q`, which resembles `O`. Its 34 bits suffice for ten minutes, given the limits on guessing (RFC
//! 8628, section 5.1).

use std::fmt;

use dpop_bound::random::RandomError;

use crate::environment::Environment;

const ALPHABET: &[u8; 19] = b"BCDFGHJKLMNPRSTVWXZ";
const CODE_LENGTH: usize = 8;

/// A user code in normalized form: eight letters, without a dash.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

/// The code is omitted, because it is a secret between a device and its member.
impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(…)")
    }
}

impl UserCode {
    /// Generates a random code.
    ///
    /// # Errors
    /// Returns a [`RandomError`] if the random number generator fails.
    pub fn generate(environment: &Environment) -> Result<Self, RandomError> {
        let mut text = String::with_capacity(CODE_LENGTH);
        while text.len() < CODE_LENGTH {
            for byte in environment.random_bytes::<16>()? {
                // The bytes below 247 contain each letter 13 times, so that all letters are equally likely.
                if text.len() < CODE_LENGTH && byte < 247 {
                    text.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
                }
            }
        }
        Ok(Self(text))
    }

    /// Parses a typed code, in upper or lower case, with or without dashes and spaces. Characters that
    /// resemble a letter of the alphabet are replaced with that letter. Returns `None` if the string cannot
    /// be a code.
    #[must_use]
    pub fn from_input(text: &str) -> Option<Self> {
        if text.len() > 64 {
            return None;
        }
        let mut code = String::with_capacity(CODE_LENGTH);
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
        (code.len() == CODE_LENGTH).then_some(Self(code))
    }

    /// Returns the eight letters, without a dash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Formats the code for display, as two groups of four letters.
    #[must_use]
    pub fn to_display(&self) -> String {
        let (first, second) = self.0.split_at(CODE_LENGTH / 2);
        format!("{first}-{second}")
    }
}

/// Returns true for characters that people type between letters: whitespace, dots and dashes of every length.
fn is_filler(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '-' | '_' | '.' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A user code is normalized when it is entered: `wdjb-mjht` becomes `WDJBMJHT`, and characters that look
    /// similar are replaced.
    #[test]
    fn typed_codes_are_normalized() {
        let check = |typed: &str, expect: Option<&str>| {
            assert_eq!(UserCode::from_input(typed).as_ref().map(UserCode::as_str), expect, "{typed:?}");
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

    /// IDP-10: the page accepts every code that a device shows, and codes contain no characters that are
    /// easily confused.
    #[test]
    fn displayed_codes_can_be_typed() {
        let environment = Environment::system();
        let mut seen = BTreeSet::new();
        for _ in 0..400 {
            let code = UserCode::generate(&environment).unwrap();
            assert_eq!(UserCode::from_input(&code.to_display().to_lowercase()).unwrap(), code);
            assert_eq!(code.to_display().len(), CODE_LENGTH + 1);
            seen.extend(code.as_str().bytes());
        }
        assert_eq!(seen, ALPHABET.iter().copied().collect());
        assert!(ALPHABET.iter().all(|letter| !b"AEIOUQ0123456789".contains(letter)));
    }

    #[test]
    fn codes_are_not_printed() {
        assert_eq!(format!("{:?}", UserCode::from_input("wdjb-mjht")), "Some(UserCode(…))");
    }
}
