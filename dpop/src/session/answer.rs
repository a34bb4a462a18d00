//! What a session reads of an answer.

/// An answer, as far as proofs are concerned: its status, four of its headers, and where the errors of a token
/// endpoint stand in it, its body.
#[derive(Clone, Debug, Default)]
pub struct Answer<'a> {
    pub(super) status: u16,
    pub(super) nonces: Vec<&'a [u8]>,
    pub(super) challenges: Vec<&'a [u8]>,
    pub(super) dates: Vec<&'a [u8]>,
    /// Whether a cache gave it: its date is then no date of the server's clock (RFC 9111, 5.1).
    pub(super) aged: bool,
    pub(super) body: &'a [u8],
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
