//! The credentials of a request: one `Authorization` header with the DPoP scheme and one `DPoP` header.
//!
//! RFC 9449, 4.3 (1), 7.1 and 7.2. This module reads only the headers; [`crate::signed_proof`] verifies the
//! proof.

use std::fmt;

use crate::grammar::is_token68;

/// The token and the proof in the headers of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PresentedCredentials<'a> {
    /// The access token, without its scheme.
    pub token: &'a str,
    /// The unverified value of the `DPoP` header.
    pub proof: &'a str,
}

/// Shows only the lengths.
impl fmt::Debug for PresentedCredentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Presented({} and {} bytes)", self.token.len(), self.proof.len())
    }
}

/// The reason why the headers do not contain one token and one proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// There is no `Authorization` header: the request is anonymous.
    #[error("there is no Authorization header")]
    NoToken,
    /// There is more than one `Authorization` header.
    #[error("there is more than one Authorization header")]
    SeveralTokens,
    /// The request uses the Bearer scheme. A stolen bearer token could be used without its key.
    #[error("the Bearer scheme is not accepted, only DPoP")]
    Bearer,
    /// The scheme is neither DPoP nor Bearer.
    #[error("the scheme is not DPoP")]
    Scheme,
    /// The DPoP scheme is not followed by exactly one `token68` (RFC 9449, 7.1).
    #[error("Authorization contains no valid token")]
    Token,
    /// The request has the DPoP scheme, but no `DPoP` header.
    #[error("there is no DPoP header")]
    NoProof,
    /// There is more than one `DPoP` header (RFC 9449, 4.3 (1)).
    #[error("there is more than one DPoP header")]
    SeveralProofs,
}

impl CredentialsError {
    /// Returns true if the server should respond that a proof is required: a bearer token, or no `DPoP`
    /// header.
    // ERR-06
    #[must_use]
    pub const fn is_proof_required(self) -> bool {
        matches!(self, Self::Bearer | Self::NoProof)
    }
}

/// Parses token and proof of a request to a resource server.
///
/// The arguments are the values of all `Authorization` and of all `DPoP` headers.
///
/// # Errors
/// Returns an error if there is not exactly one header of each name, or if `Authorization` does not have the
/// DPoP scheme (compared case-insensitively: RFC 9110, 11.1) and a `token68`.
pub fn parse_credentials<'a>(
    authorization: impl IntoIterator<Item = &'a [u8]>,
    proofs: impl IntoIterator<Item = &'a [u8]>,
) -> Result<PresentedCredentials<'a>, CredentialsError> {
    let value = match expect_single_value(authorization) {
        Ok(value) => value,
        Err(HeaderCount::None) => return Err(CredentialsError::NoToken),
        Err(HeaderCount::Several) => return Err(CredentialsError::SeveralTokens),
    };
    let value = str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t']);
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    if scheme.eq_ignore_ascii_case("Bearer") {
        return Err(CredentialsError::Bearer);
    }
    if !scheme.eq_ignore_ascii_case("DPoP") {
        return Err(CredentialsError::Scheme);
    }
    let token = rest.trim_start_matches(' ');
    if !is_token68(token.as_bytes()) {
        return Err(CredentialsError::Token);
    }
    Ok(PresentedCredentials { token, proof: parse_proof_header(proofs)? })
}

/// Parses the proof of a request without a token, such as one to the token or revocation endpoint.
///
/// A value that is not UTF-8 becomes an empty string, which [`SignedProof`](crate::SignedProof) rejects.
///
/// # Errors
/// [`CredentialsError::NoProof`] or [`CredentialsError::SeveralProofs`], if there is not exactly one header.
pub fn parse_proof_header<'a>(
    proofs: impl IntoIterator<Item = &'a [u8]>,
) -> Result<&'a str, CredentialsError> {
    match expect_single_value(proofs) {
        Ok(value) => Ok(str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t'])),
        Err(HeaderCount::None) => Err(CredentialsError::NoProof),
        Err(HeaderCount::Several) => Err(CredentialsError::SeveralProofs),
    }
}

/// The reason why there is not exactly one header value.
enum HeaderCount {
    None,
    Several,
}

fn expect_single_value<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<&'a [u8], HeaderCount> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(HeaderCount::None),
        (Some(_), Some(_)) => Err(HeaderCount::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::{CredentialsError::*, *};

    fn check(authorization: &[&str], proofs: &[&str], expect: Result<(&str, &str), CredentialsError>) {
        let presented = parse_credentials(
            authorization.iter().map(|text| text.as_bytes()),
            proofs.iter().map(|text| text.as_bytes()),
        );
        assert_eq!(presented.map(|both| (both.token, both.proof)), expect, "{authorization:?} {proofs:?}");
    }

    /// ERR-06: a request needs exactly one token with the DPoP scheme and exactly one proof.
    #[test]
    fn one_token_and_one_proof() {
        check(&["DPoP abc"], &["p"], Ok(("abc", "p")));
        check(&["dpop   a+/b=="], &[" p\t"], Ok(("a+/b==", "p")));
        check(&["DPOP abc"], &[""], Ok(("abc", "")));
        check(&[], &["p"], Err(NoToken));
        check(&["DPoP abc", "DPoP abc"], &["p"], Err(SeveralTokens));
        check(&["DPoP abc", "Bearer abc"], &["p"], Err(SeveralTokens));
        check(&["Bearer abc"], &["p"], Err(Bearer));
        check(&["bearer abc"], &[], Err(Bearer));
        check(&["Basic abc"], &["p"], Err(Scheme));
        check(&[""], &["p"], Err(Scheme));
        check(&["DPoPabc"], &["p"], Err(Scheme));
        check(&["DPoP"], &["p"], Err(Token));
        check(&["DPoP "], &["p"], Err(Token));
        check(&["DPoP a b"], &["p"], Err(Token));
        check(&["DPoP abc, DPoP def"], &["p"], Err(Token));
        check(&["DPoP\tabc"], &["p"], Err(Scheme));
        check(&["DPoP abc"], &[], Err(NoProof));
        check(&["DPoP abc"], &["p", "p"], Err(SeveralProofs));
    }

    #[test]
    fn missing_proof_errors_require_a_proof() {
        let all = [NoToken, SeveralTokens, Bearer, Scheme, Token, NoProof, SeveralProofs];
        let required: Vec<_> = all.into_iter().filter(|each| each.is_proof_required()).collect();
        assert_eq!(required, [Bearer, NoProof]);
    }

    #[test]
    fn debug_output_hides_the_token() {
        let presented = parse_credentials([&b"DPoP secret"[..]], [&b"proof"[..]]);
        assert_eq!(format!("{presented:?}"), "Ok(Presented(6 and 5 bytes))");
    }

    #[test]
    fn non_ascii_header_values_are_rejected() {
        assert_eq!(parse_credentials([&b"DPoP \xff"[..]], [&b"p"[..]]).err(), Some(Scheme));
        assert_eq!(parse_proof_header([&b"\xff"[..]]), Ok(""));
    }
}
