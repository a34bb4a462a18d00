//! The parts of a response that a session needs.

use std::fmt;

/// The parts of a response that concern proofs: its status, four of its headers, and the body, in which token
/// endpoints report errors.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    pub(super) status: u16,
    pub(super) nonces: Vec<&'a [u8]>,
    pub(super) challenges: Vec<&'a [u8]>,
    pub(super) dates: Vec<&'a [u8]>,
    /// True if the response has an `Age` header: its date is then not the current time of the server (RFC
    /// 9111, 5.1).
    pub(super) aged: bool,
    pub(super) body: &'a [u8],
}

/// Shows only the status and the number of headers, because nonces are private and the body of a token
/// endpoint contains tokens.
impl fmt::Debug for ResponseHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHead")
            .field("status", &self.status)
            .field("nonces", &self.nonces.len())
            .field("challenges", &self.challenges.len())
            .field("dates", &self.dates.len())
            .field("aged", &self.aged)
            .field("body", &self.body.len())
            .finish()
    }
}

impl<'a> ResponseHead<'a> {
    /// Creates a response from its status and its header lines. Names are compared case-insensitively.
    pub fn new(status: u16, headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut response = Self { status, ..Self::default() };
        for (name, value) in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("DPoP-Nonce") {
                response.nonces.push(value);
            } else if is("WWW-Authenticate") {
                response.challenges.push(value);
            } else if is("Date") {
                response.dates.push(value);
            } else if is("Age") {
                response.aged = true;
            }
        }
        response
    }

    /// Adds the body. Needed only for error responses of token and revocation endpoints.
    #[must_use]
    pub const fn with_body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// Returns the `Date` if there is exactly one and the response does not come from a cache.
    pub(super) fn origin_date(&self) -> Option<&'a [u8]> {
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
    fn debug_output_hides_response_headers() {
        let headers = ["DPoP-Nonce", "WWW-Authenticate", "Date"].map(|name| (name, &b"hush"[..]));
        let printed = format!("{:?}", ResponseHead::new(401, headers).with_body(b"hush"));
        assert_eq!(
            printed,
            "ResponseHead { status: 401, nonces: 1, challenges: 1, dates: 1, aged: false, body: 4 }"
        );
    }
}
