//! Headers, requests and answers as the `http` crate has them (feature `http`): for axum, hyper, reqwest, tonic
//! and whatever else stands on it.
//!
//! ```
//! use dpop_bound::http::{DPOP, DPOP_NONCE, presented};
//!
//! let mut headers = http::HeaderMap::new();
//! headers.insert(http::header::AUTHORIZATION, "DPoP Kz~8mXK1EalYznwH".parse()?);
//! headers.insert(DPOP, "eyJ0eXAi.eyJqdGki.c2lnbmVk".parse()?);
//! let presented = presented(&headers)?;
//! assert_eq!(presented.token, "Kz~8mXK1EalYznwH");
//! assert_eq!(DPOP_NONCE, "dpop-nonce");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::http::{
    HeaderMap, HeaderName, HeaderValue, Response, Uri,
    header::{AUTHORIZATION, InvalidHeaderValue},
    response::Parts,
};

use crate::{
    AccessToken, DpopChallenge, Htu, Nonce, Proof,
    presented::{Presented, PresentedRefusal},
    session::{Answer, Transmission},
    target::UrlRefusal,
};

/// `DPoP`: a proof (RFC 9449, 4.1).
pub const DPOP: HeaderName = HeaderName::from_static("dpop");
/// `DPoP-Nonce`: a nonce (RFC 9449, 8.1).
pub const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Token and proof of a request ([`crate::presented()`]).
///
/// # Errors
/// As there.
pub fn presented(headers: &HeaderMap) -> Result<Presented<'_>, PresentedRefusal> {
    crate::presented(values(headers, &AUTHORIZATION), values(headers, &DPOP))
}

/// The proof of a request that brings no token ([`crate::presented::proof`]).
///
/// # Errors
/// As there.
pub fn proof(headers: &HeaderMap) -> Result<&str, PresentedRefusal> {
    crate::presented::proof(values(headers, &DPOP))
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).into_iter().map(HeaderValue::as_bytes)
}

/// What proofs need of an answer's head.
impl<'a> From<&'a Parts> for Answer<'a> {
    fn from(head: &'a Parts) -> Self {
        Self::of_headers(head.status.as_u16(), &head.headers)
    }
}

/// What proofs need of an answer; its body is not looked at ([`Answer::with_body`]).
impl<'a, B> From<&'a Response<B>> for Answer<'a> {
    fn from(answer: &'a Response<B>) -> Self {
        Self::of_headers(answer.status().as_u16(), answer.headers())
    }
}

impl<'a> Answer<'a> {
    /// An answer with these headers.
    pub fn of_headers(status: u16, headers: &'a HeaderMap) -> Self {
        Self::new(status, headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }
}

impl Transmission {
    /// Puts the proof into a request's headers, and the token, where there is one: in place of whatever was
    /// there, since a second of either is refused.
    pub fn apply(&self, token: Option<&AccessToken>, headers: &mut HeaderMap) {
        headers.insert(DPOP, self.proof().into());
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.into());
        }
    }
}

/// A header's value, marked as sensitive: HTTP/2 does not index it, and `Debug` does not show it.
impl From<&Proof> for HeaderValue {
    fn from(proof: &Proof) -> Self {
        sensitive(proof.as_str())
    }
}

/// The value of `Authorization`, marked as sensitive.
impl From<&AccessToken> for HeaderValue {
    fn from(token: &AccessToken) -> Self {
        sensitive(&token.authorization())
    }
}

/// The value of `DPoP-Nonce`.
impl From<&Nonce> for HeaderValue {
    fn from(nonce: &Nonce) -> Self {
        visible(nonce.as_str())
    }
}

/// The value of `WWW-Authenticate`. What a server writes by [`crate::Refusal::challenge`] always is one; what
/// was read from a header of others may hold a tab or a character outside of ASCII.
impl TryFrom<&DpopChallenge> for HeaderValue {
    type Error = InvalidHeaderValue;

    fn try_from(challenge: &DpopChallenge) -> Result<Self, Self::Error> {
        Self::from_bytes(challenge.to_string().as_bytes())
    }
}

/// The `htu` of a request to this URI, which has to be absolute.
impl TryFrom<&Uri> for Htu {
    type Error = UrlRefusal;

    fn try_from(uri: &Uri) -> Result<Self, Self::Error> {
        Self::of(&uri.to_string())
    }
}

fn sensitive(text: &str) -> HeaderValue {
    let mut value = visible(text);
    value.set_sensitive(true);
    value
}

/// Nonces, tokens and proofs are visible ASCII, which every header takes.
fn visible(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-20, ERR-06: several lines of one header are several.
    #[test]
    fn headers_of_a_request() {
        let mut headers = HeaderMap::new();
        assert_eq!(presented(&headers).err(), Some(PresentedRefusal::NoToken));
        let token = AccessToken::new("abc").unwrap();
        headers.insert(AUTHORIZATION, (&token).into());
        assert_eq!(presented(&headers).err(), Some(PresentedRefusal::NoProof));
        headers.insert(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(presented(&headers).map(|both| (both.token, both.proof)), Ok(("abc", "a.b.c")));
        assert_eq!(proof(&headers), Ok("a.b.c"));
        headers.append(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(presented(&headers).err(), Some(PresentedRefusal::SeveralProofs));
        assert_eq!(proof(&headers), Err(PresentedRefusal::SeveralProofs));
    }

    /// DPP-08, DPP-13
    #[test]
    fn what_is_written() {
        let token = AccessToken::new("secret").unwrap();
        assert_eq!(HeaderValue::from(&token), "DPoP secret");
        assert_eq!(format!("{:?}", HeaderValue::from(&token)), "Sensitive");
        assert_eq!(HeaderValue::from(&Nonce::new("n-1").unwrap()), "n-1");
        let challenge = HeaderValue::try_from(&DpopChallenge::use_nonce()).unwrap();
        assert_eq!(challenge, r#"DPoP algs="ES256", error="use_dpop_nonce""#);
        let uri: Uri = "https://API.example/a%2fb?c=d".parse().unwrap();
        assert_eq!(Htu::try_from(&uri).unwrap().as_str(), "https://api.example/a%2fb");
        assert_eq!(Htu::try_from(&Uri::from_static("/a")).err(), Some(UrlRefusal::Scheme));
    }

    #[test]
    fn headers_of_an_answer() {
        let answer =
            Response::builder().status(401).header(DPOP_NONCE, "n").header("x", "y").body(()).unwrap();
        let here = Answer::from(&answer);
        let same = Answer::new(401, [("DPoP-Nonce", &b"n"[..])]);
        assert_eq!(here, same);
        let (parts, ()) = answer.into_parts();
        assert_eq!(Answer::from(&parts), same);
    }
}
