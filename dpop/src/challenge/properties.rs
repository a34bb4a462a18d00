//! Property tests of challenges: formatted challenges parse to the same challenges, in every notation that
//! the grammar allows.

use proptest::{collection::vec, prelude::*};

use super::{Challenge, token::CaseInsensitiveToken};
use crate::grammar::is_token;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() }
}

fn token() -> impl Strategy<Value = String> {
    "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,6}"
}

fn challenge() -> impl Strategy<Value = Challenge> {
    let value = prop_oneof![
        token(),
        "[\t -~]{0,12}",
        "[\t -~\u{80}-\u{ff}]{0,6}",
        "[ \"\\\\,=\u{80}\u{fc}\u{7ff}\u{4e00}\u{1f600}]{0,6}"
    ];
    prop_oneof![
        token().prop_map(|scheme| Challenge::bare(&scheme)),
        (token(), "[A-Za-z0-9._~+/-]{1,8}={0,3}").prop_map(|(s, text)| Challenge::with_token68(&s, &text)),
        (token(), vec((token(), value), 1..5)).prop_map(|(scheme, mut list)| {
            let mut seen = std::collections::HashSet::new();
            list.retain(|(name, _)| seen.insert(CaseInsensitiveToken::new(name)));
            Challenge::with_parameters(&scheme, list.iter().map(|(name, value)| (&**name, &**value)))
        }),
    ]
    .prop_map(Result::unwrap)
}

/// Random formatting choices, derived from a cycled list of random bytes.
struct RandomChoices<'a> {
    bytes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl RandomChoices<'_> {
    /// Returns a random number below `count`.
    fn below(&mut self, count: u8) -> u8 {
        self.bytes.next().unwrap() % count
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn whitespace(&mut self) -> &'static str {
        ["", "", " ", "\t", " \t "][usize::from(self.below(5))]
    }

    fn commas(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..=self.below(3) {
            out.extend_from_slice(self.whitespace().as_bytes());
            out.push(b',');
        }
        out.extend_from_slice(self.whitespace().as_bytes());
        out
    }

    fn random_case(&mut self, text: &str) -> Vec<u8> {
        text.bytes()
            .map(|b| if self.coin() { b.to_ascii_uppercase() } else { b.to_ascii_lowercase() })
            .collect()
    }

    fn format_value(&mut self, value: &str) -> Vec<u8> {
        if is_token(value) && self.coin() {
            return value.into();
        }
        let latin: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(c).ok()).collect();
        // ISO 8859-1 that is also valid UTF-8 would be parsed as UTF-8.
        let latin = latin.filter(|bytes| std::str::from_utf8(bytes).is_err());
        let bytes = latin.filter(|_| self.coin()).unwrap_or_else(|| value.into());
        let mut out = vec![b'"'];
        for byte in bytes {
            if matches!(byte, b'"' | b'\\') || self.below(4) == 0 {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
        out
    }

    /// Formats the challenges as several header lines, with random whitespace, commas, case and quoting. The
    /// result is valid.
    fn format_randomly(&mut self, list: &[Challenge]) -> Vec<Vec<u8>> {
        let mut lines = vec![Vec::new()];
        for challenge in list {
            if self.coin() {
                lines.push(if self.coin() { self.commas() } else { self.whitespace().into() });
            }
            let line = lines.last_mut().unwrap();
            if line.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b',')) {
                line.extend(self.commas());
            }
            line.extend(self.random_case(challenge.scheme()));
            if let Some(text) = challenge.token68() {
                line.extend_from_slice([" ", "  ", " \t"][usize::from(self.below(3))].as_bytes());
                line.extend_from_slice(text.as_bytes());
            }
            for (place, (name, value)) in challenge.parameters().enumerate() {
                if place == 0 {
                    line.push(b' ');
                }
                if place > 0 || self.below(4) == 0 {
                    line.extend(self.commas());
                }
                line.extend(self.random_case(name));
                line.extend_from_slice(self.whitespace().as_bytes());
                line.push(b'=');
                line.extend_from_slice(self.whitespace().as_bytes());
                line.extend(self.format_value(value));
            }
            if self.below(4) == 0 {
                line.extend(self.commas());
            }
        }
        lines
    }
}

/// Generates byte strings that resemble challenges.
fn arbitrary_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..40),
        vec(prop::sample::select(b"aaA10=, \t\"\\/\x7f\xc3\xbc".to_vec()), 0..40),
        vec(prop::sample::select(vec!["DPoP ", "a=", "b=", "=", ",", " ", "\"", "\\", "x", "A "]), 0..12)
            .prop_map(|parts| parts.concat().into_bytes()),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn challenges_round_trip(list in vec(challenge(), 0..5)) {
        let line = list.iter().map(Challenge::to_string).collect::<Vec<_>>().join(", ");
        prop_assert_eq!(Challenge::parse_line(line.as_bytes()), Ok(list.clone()));
        prop_assert_eq!(Challenge::parse_lines([line.as_bytes()]), list);
    }

    /// DPP-13: every notation of a list of challenges parses to this list.
    #[test]
    fn all_spellings_parse_to_the_same_challenges(list in vec(challenge(), 0..5), bytes in vec(any::<u8>(), 1..200)) {
        let lines = RandomChoices { bytes: bytes.iter().cycle() }.format_randomly(&list);
        let mut read = Vec::new();
        for line in &lines {
            read.extend(Challenge::parse_line(line).unwrap());
        }
        prop_assert_eq!(&read, &list);
        prop_assert_eq!(Challenge::parse_lines(lines.iter().map(Vec::as_slice)), list);
    }

    #[test]
    fn random_bytes_are_rejected_or_round_trip(line in arbitrary_bytes()) {
        let tolerant = Challenge::parse_lines([line.as_slice()]);
        match Challenge::parse_line(&line) {
            Ok(list) => {
                prop_assert_eq!(&tolerant, &list);
                let again = list.iter().map(Challenge::to_string).collect::<Vec<_>>().join(",");
                prop_assert_eq!(Challenge::parse_line(again.as_bytes()), Ok(list));
            }
            Err(malformed) => prop_assert!(malformed.at <= line.len()),
        }
        let again = tolerant.iter().map(Challenge::to_string).collect::<Vec<_>>().join(",");
        prop_assert_eq!(Challenge::parse_line(again.as_bytes()), Ok(tolerant));
    }

    #[test]
    fn malformed_line_does_not_hide_other_lines(before in arbitrary_bytes(), list in vec(challenge(), 1..3), after in arbitrary_bytes()) {
        let line = list.iter().map(Challenge::to_string).collect::<Vec<_>>().join(", ");
        let mut expect = Challenge::parse_lines([before.as_slice()]);
        expect.extend(list);
        expect.extend(Challenge::parse_lines([after.as_slice()]));
        prop_assert_eq!(Challenge::parse_lines([&before, line.as_bytes(), &after]), expect);
    }
}
