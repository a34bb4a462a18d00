//! Conversions from and to the types of the `http` crate (feature `http`), for use with axum, hyper, reqwest,
//! tonic and other libraries that use these types.
//!
//! ```
//! use dpop_bound::http::{DPOP, DPOP_NONCE, parse_credentials};
//!
//! let mut headers = http::HeaderMap::new();
//! headers.insert(http::header::AUTHORIZATION, "DPoP Kz~8mXK1EalYznwH".parse()?);
//! headers.insert(DPOP, "eyJ0eXAi.eyJqdGki.c2lnbmVk".parse()?);
//! let presented = parse_credentials(&headers)?;
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
    credentials::{CredentialsError, PresentedCredentials},
    session::{ResponseHead, Transmission},
    target::UrlError,
};

/// The header `DPoP`, which contains a proof (RFC 9449, 4.1).
pub const DPOP: HeaderName = HeaderName::from_static("dpop");
/// The header `DPoP-Nonce`, which contains a nonce (RFC 9449, 8.1).
pub const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Parses token and proof of a request ([`crate::parse_credentials`]).
///
/// # Errors
/// Returns the errors of [`crate::parse_credentials`].
pub fn parse_credentials(headers: &HeaderMap) -> Result<PresentedCredentials<'_>, CredentialsError> {
    crate::parse_credentials(header_values(headers, &AUTHORIZATION), header_values(headers, &DPOP))
}

/// Parses the proof of a request without a token ([`crate::credentials::parse_proof_header`]).
///
/// # Errors
/// Returns the errors of [`crate::credentials::parse_proof_header`].
pub fn parse_proof_header(headers: &HeaderMap) -> Result<&str, CredentialsError> {
    crate::credentials::parse_proof_header(header_values(headers, &DPOP))
}

fn header_values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).into_iter().map(HeaderValue::as_bytes)
}

/// Reads status and headers of a response head.
impl<'a> From<&'a Parts> for ResponseHead<'a> {
    fn from(head: &'a Parts) -> Self {
        Self::from_headers(head.status.as_u16(), &head.headers)
    }
}

/// Reads status and headers of a response. Add the body with [`ResponseHead::with_body`] if needed.
impl<'a, B> From<&'a Response<B>> for ResponseHead<'a> {
    fn from(response: &'a Response<B>) -> Self {
        Self::from_headers(response.status().as_u16(), response.headers())
    }
}

impl<'a> ResponseHead<'a> {
    /// Reads the headers of a response.
    pub fn from_headers(status: u16, headers: &'a HeaderMap) -> Self {
        Self::new(status, headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
    }
}

impl Transmission {
    /// Sets the proof and, if there is one, the token in the headers of a request. Existing values are
    /// replaced, because servers reject a second value of either header.
    pub fn apply_headers(&self, token: Option<&AccessToken>, headers: &mut HeaderMap) {
        headers.insert(DPOP, self.proof().into());
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.into());
        }
    }
}

/// Creates the header value, marked as sensitive: HTTP/2 does not index it, and `Debug` does not show it.
impl From<&Proof> for HeaderValue {
    fn from(proof: &Proof) -> Self {
        sensitive_value(proof.as_str())
    }
}

/// Creates the value of `Authorization`, marked as sensitive.
impl From<&AccessToken> for HeaderValue {
    fn from(token: &AccessToken) -> Self {
        sensitive_value(&token.authorization())
    }
}

/// Creates the value of `DPoP-Nonce`.
impl From<&Nonce> for HeaderValue {
    fn from(nonce: &Nonce) -> Self {
        visible_value(nonce.as_str())
    }
}

/// Creates the value of `WWW-Authenticate`. Never fails for a challenge of
/// [`crate::VerificationError::challenge`]. A challenge that was parsed from another header may contain a tab
/// or a character outside ASCII.
impl TryFrom<&DpopChallenge> for HeaderValue {
    type Error = InvalidHeaderValue;

    fn try_from(challenge: &DpopChallenge) -> Result<Self, Self::Error> {
        Self::from_bytes(challenge.to_string().as_bytes())
    }
}

/// Creates the `htu` of a request to this URI, which has to be absolute.
impl TryFrom<&Uri> for Htu {
    type Error = UrlError;

    fn try_from(uri: &Uri) -> Result<Self, Self::Error> {
        Self::from_url(&uri.to_string())
    }
}

fn sensitive_value(text: &str) -> HeaderValue {
    let mut value = visible_value(text);
    value.set_sensitive(true);
    value
}

/// Creates a header value from a nonce, a token or a proof, which consist of visible ASCII characters.
fn visible_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-20, ERR-06: several header lines with the same name count as several values.
    #[test]
    fn request_header_values() {
        let mut headers = HeaderMap::new();
        assert_eq!(parse_credentials(&headers).err(), Some(CredentialsError::NoToken));
        let token = AccessToken::new("abc").unwrap();
        headers.insert(AUTHORIZATION, (&token).into());
        assert_eq!(parse_credentials(&headers).err(), Some(CredentialsError::NoProof));
        headers.insert(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(parse_credentials(&headers).map(|both| (both.token, both.proof)), Ok(("abc", "a.b.c")));
        assert_eq!(parse_proof_header(&headers), Ok("a.b.c"));
        headers.append(DPOP, HeaderValue::from_static("a.b.c"));
        assert_eq!(parse_credentials(&headers).err(), Some(CredentialsError::SeveralProofs));
        assert_eq!(parse_proof_header(&headers), Err(CredentialsError::SeveralProofs));
    }

    /// DPP-08, DPP-13: header values are created from proofs, tokens, nonces and challenges.
    #[test]
    fn header_values_are_written() {
        let token = AccessToken::new("secret").unwrap();
        assert_eq!(HeaderValue::from(&token), "DPoP secret");
        assert_eq!(format!("{:?}", HeaderValue::from(&token)), "Sensitive");
        assert_eq!(HeaderValue::from(&Nonce::new("n-1").unwrap()), "n-1");
        let challenge = HeaderValue::try_from(&DpopChallenge::use_nonce()).unwrap();
        assert_eq!(challenge, r#"DPoP algs="ES256", error="use_dpop_nonce""#);
        let uri: Uri = "https://API.example/a%2fb?c=d".parse().unwrap();
        assert_eq!(Htu::try_from(&uri).unwrap().as_str(), "https://api.example/a%2fb");
        assert_eq!(Htu::try_from(&Uri::from_static("/a")).err(), Some(UrlError::Scheme));
    }

    #[test]
    fn response_head_from_http_response() {
        let response =
            Response::builder().status(401).header(DPOP_NONCE, "n").header("x", "y").body(()).unwrap();
        let here = ResponseHead::from(&response);
        let same = ResponseHead::new(401, [("DPoP-Nonce", &b"n"[..])]);
        assert_eq!(here, same);
        let (parts, ()) = response.into_parts();
        assert_eq!(ResponseHead::from(&parts), same);
    }
}
