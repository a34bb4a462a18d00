//! What a request has to bring: one `Authorization` with the DPoP scheme and one `DPoP` header.
//!
//! RFC 9449, 4.3 (1), 7.1 and 7.2. This is the look at the headers; whether the proof is any
//! good is asked in [`crate::form`].

use std::fmt;

use crate::grammar::is_token68;

/// Token and proof of a request, as they stand in its headers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Presented<'a> {
    /// The access token.
    pub token: &'a str,
    /// The proof.
    pub proof: &'a str,
}

/// Shows the lengths alone.
impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Presented({} and {} bytes)", self.token.len(), self.proof.len())
    }
}

/// Why a request brings no token with a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PresentedRefusal {
    /// No `Authorization`: the request is anonymous.
    #[error("there is no Authorization header")]
    NoToken,
    /// More than one `Authorization`.
    #[error("there is more than one Authorization header")]
    SeveralTokens,
    /// The Bearer scheme: a token that was stolen would do.
    #[error("the Bearer scheme is not taken, only DPoP")]
    Bearer,
    /// Another scheme.
    #[error("the scheme is not DPoP")]
    Scheme,
    /// The DPoP scheme without a single token68 behind it (RFC 9449, 7.1).
    #[error("Authorization holds no token")]
    Token,
    /// The DPoP scheme without a `DPoP` header.
    #[error("there is no DPoP header")]
    NoProof,
    /// More than one `DPoP` header (RFC 9449, 4.3 (1)).
    #[error("there is more than one DPoP header")]
    SeveralProofs,
}

impl PresentedRefusal {
    /// Whether the request could have brought a proof and did not.
    // ERR-06
    #[must_use]
    pub const fn is_proof_required(self) -> bool {
        matches!(self, Self::Bearer | Self::NoProof)
    }
}

/// Token and proof of a request to the API.
///
/// Takes the values of all `Authorization` and of all `DPoP` headers, however their names are written.
///
/// # Errors
/// When there is not exactly one of each, the first is not of the DPoP scheme (in any case of letters: RFC
/// 9110, 11.1), or holds no token68.
pub fn presented<'a>(
    authorization: impl IntoIterator<Item = &'a [u8]>,
    proofs: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Presented<'a>, PresentedRefusal> {
    let value = match one(authorization) {
        Ok(value) => value,
        Err(Count::None) => return Err(PresentedRefusal::NoToken),
        Err(Count::Several) => return Err(PresentedRefusal::SeveralTokens),
    };
    let value = str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t']);
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    if scheme.eq_ignore_ascii_case("Bearer") {
        return Err(PresentedRefusal::Bearer);
    }
    if !scheme.eq_ignore_ascii_case("DPoP") {
        return Err(PresentedRefusal::Scheme);
    }
    let token = rest.trim_start_matches(' ');
    if !is_token68(token.as_bytes()) {
        return Err(PresentedRefusal::Token);
    }
    Ok(Presented { token, proof: proof(proofs)? })
}

/// The proof of a request that brings no token: to the token or the revocation endpoint.
///
/// A value that is no text comes back empty, and is refused by its form.
///
/// # Errors
/// [`PresentedRefusal::NoProof`], [`PresentedRefusal::SeveralProofs`].
pub fn proof<'a>(proofs: impl IntoIterator<Item = &'a [u8]>) -> Result<&'a str, PresentedRefusal> {
    match one(proofs) {
        Ok(value) => Ok(str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t'])),
        Err(Count::None) => Err(PresentedRefusal::NoProof),
        Err(Count::Several) => Err(PresentedRefusal::SeveralProofs),
    }
}

/// How many there are, when not one.
enum Count {
    None,
    Several,
}

fn one<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<&'a [u8], Count> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(Count::None),
        (Some(_), Some(_)) => Err(Count::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::{PresentedRefusal::*, *};

    fn check(authorization: &[&str], proofs: &[&str], expect: Result<(&str, &str), PresentedRefusal>) {
        let presented = presented(
            authorization.iter().map(|text| text.as_bytes()),
            proofs.iter().map(|text| text.as_bytes()),
        );
        assert_eq!(presented.map(|both| (both.token, both.proof)), expect, "{authorization:?} {proofs:?}");
    }

    /// ERR-06; list A: no proof, more than one, the Bearer scheme.
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
    fn which_of_them_ask_for_a_proof() {
        let all = [NoToken, SeveralTokens, Bearer, Scheme, Token, NoProof, SeveralProofs];
        let required: Vec<_> = all.into_iter().filter(|each| each.is_proof_required()).collect();
        assert_eq!(required, [Bearer, NoProof]);
    }

    #[test]
    fn nothing_prints_a_token() {
        let presented = presented([&b"DPoP secret"[..]], [&b"proof"[..]]);
        assert_eq!(format!("{presented:?}"), "Ok(Presented(6 and 5 bytes))");
    }

    #[test]
    fn values_that_are_no_text() {
        assert_eq!(presented([&b"DPoP \xff"[..]], [&b"p"[..]]).err(), Some(Scheme));
        assert_eq!(proof([&b"\xff"[..]]), Ok(""));
    }
}
