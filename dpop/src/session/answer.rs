//! What a session reads of an answer.

use std::fmt;

/// An answer, as far as proofs are concerned: its status, four of its headers, and where the errors of a token
/// endpoint stand in it, its body.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Answer<'a> {
    pub(super) status: u16,
    pub(super) nonces: Vec<&'a [u8]>,
    pub(super) challenges: Vec<&'a [u8]>,
    pub(super) dates: Vec<&'a [u8]>,
    /// Whether a cache gave it: its date is then no date of the server's clock (RFC 9111, 5.1).
    pub(super) aged: bool,
    pub(super) body: &'a [u8],
}

/// The status and counts: a nonce is between two parties, and the body of a token endpoint holds tokens.
impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("nonces", &self.nonces.len())
            .field("challenges", &self.challenges.len())
            .field("dates", &self.dates.len())
            .field("aged", &self.aged)
            .field("body", &self.body.len())
            .finish()
    }
}

impl<'a> Answer<'a> {
    /// An answer with these headers: name and value, each line by itself. Names in any case.
    pub fn new(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut answer = Self { status, ..Self::default() };
        for (name, value) in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("DPoP-Nonce") {
                answer.nonces.push(value);
            } else if is("WWW-Authenticate") {
                answer.challenges.push(value);
            } else if is("Date") {
                answer.dates.push(value);
            } else if is("Age") {
                answer.aged = true;
            }
        }
        answer
    }

    /// With its body: for token and revocation endpoints, which say there what was wrong. Elsewhere, and for
    /// success, none is needed.
    #[must_use]
    pub const fn with_body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// The one date that says when it was made.
    pub(super) fn date(&self) -> Option<&'a [u8]> {
        match self.dates[..] {
            [date] if !self.aged => Some(date),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_an_answer_holds_is_printed() {
        let headers = ["DPoP-Nonce", "WWW-Authenticate", "Date"].map(|name| (name, &b"hush"[..]));
        let printed = format!("{:?}", Answer::new(401, headers).with_body(b"hush"));
        assert_eq!(
            printed,
            "Answer { status: 401, nonces: 1, challenges: 1, dates: 1, aged: false, body: 4 }"
        );
    }
}
