//! The error type of the whole verification, with its representation on the wire and a stable code for logs
//! and metrics.
//!
//! An error names the violated rule and contains no part of the request, so it can be logged as it is.

use crate::{
    challenge::{DpopChallenge, DpopError},
    claims::ClaimError,
    credentials::CredentialsError,
    key::PublicKeyError,
    nonce::NonceError,
    replay::ReplayError,
    signed_proof::ProofFormatError,
    token_error::TokenError,
};

/// The reason why a request with a proof is rejected, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum VerificationError {
    /// The headers do not contain one token and one proof.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The format or the signature of the proof is invalid.
    #[error(transparent)]
    Format(#[from] ProofFormatError),
    /// The proof has no accepted nonce of this server.
    #[error(transparent)]
    Nonce(#[from] NonceError),
    /// A claim of the proof does not match the request.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The proof is a replay, a limit is reached, or the replay store is unavailable.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// The part of the request that an error concerns, independent of the response format.
enum ErrorCause {
    NoProof,
    Nonce,
    Proof,
}

impl VerificationError {
    /// Returns a stable code for each error, of lower-case letters, digits and `-`.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Credentials(error) => credentials_reason(*error),
            Self::Format(error) => format_reason(*error),
            Self::Nonce(NonceError::Missing) => "nonce-missing",
            Self::Nonce(NonceError::Foreign) => "nonce-foreign",
            Self::Claim(error) => claim_reason(*error),
            Self::Replay(ReplayError::Replayed) => "replayed",
            Self::Replay(ReplayError::Expired) => "expired",
            Self::Replay(ReplayError::TooFarAhead) => "too-far-ahead",
            Self::Replay(ReplayError::AccountFull { .. }) => "account-full",
            Self::Replay(ReplayError::SourceFull { .. }) => "source-full",
            Self::Replay(ReplayError::Full { .. }) => "full",
            Self::Replay(ReplayError::Unavailable) => "store-unavailable",
        }
    }

    /// Returns the challenge of a resource server (RFC 9449, 7.1 and 9). The challenge has no error code if
    /// the request has no proof or no bound token; the code `use_dpop_nonce` if only the nonce is wrong; and
    /// otherwise the code `invalid_dpop_proof`, with the violated rule as its description. Returns `None` if
    /// the proof is valid but a limit is reached or the store is unavailable, which are not authentication
    /// errors.
    // DPP-13, DPP-15, DPP-16, ERR-06 to ERR-10
    #[must_use]
    pub fn challenge(&self) -> Option<DpopChallenge> {
        match self.error_cause()? {
            ErrorCause::NoProof => Some(DpopChallenge::required()),
            ErrorCause::Nonce => Some(DpopChallenge::use_nonce()),
            ErrorCause::Proof => Some(self.invalid_proof_challenge()),
        }
    }

    /// Returns the error for the body of a token endpoint's 400 response (RFC 6749, 5.2; RFC 9449, 5 and 8).
    /// Returns `None` in the same cases as [`challenge`](Self::challenge).
    #[must_use]
    pub fn token_error(&self) -> Option<TokenError> {
        let (error, description) = match self.error_cause()? {
            ErrorCause::Nonce => (DpopError::UseDpopNonce, None),
            ErrorCause::NoProof | ErrorCause::Proof => (DpopError::InvalidDpopProof, Some(self.to_string())),
        };
        Some(TokenError::new(error, description.as_deref()))
    }

    /// Returns true if the server should respond that a bound token and a proof are required: the request has
    /// the Bearer scheme, no `DPoP` header, or a token that is bound to no key.
    // ERR-06
    #[must_use]
    pub const fn is_proof_required(&self) -> bool {
        match self {
            Self::Credentials(error) => error.is_proof_required(),
            Self::Claim(error) => matches!(error, ClaimError::NotBound),
            Self::Format(_) | Self::Nonce(_) | Self::Replay(_) => false,
        }
    }

    /// Returns the part of the request that is wrong, or `None` if the request is valid but cannot be
    /// admitted.
    const fn error_cause(&self) -> Option<ErrorCause> {
        match self {
            Self::Credentials(CredentialsError::SeveralProofs) | Self::Format(_) => Some(ErrorCause::Proof),
            Self::Credentials(_) | Self::Claim(ClaimError::NotBound) => Some(ErrorCause::NoProof),
            Self::Nonce(_) => Some(ErrorCause::Nonce),
            Self::Replay(
                ReplayError::AccountFull { .. }
                | ReplayError::SourceFull { .. }
                | ReplayError::Full { .. }
                | ReplayError::Unavailable,
            ) => None,
            Self::Claim(_) | Self::Replay(_) => Some(ErrorCause::Proof),
        }
    }

    fn invalid_proof_challenge(&self) -> DpopChallenge {
        // Building the challenge cannot fail, because no message contains a forbidden character. The fallback
        // has no error code.
        DpopChallenge::invalid_proof(&self.to_string()).unwrap_or_else(|_| DpopChallenge::required())
    }
}

const fn credentials_reason(error: CredentialsError) -> &'static str {
    match error {
        CredentialsError::NoToken => "token-missing",
        CredentialsError::SeveralTokens => "token-several",
        CredentialsError::Bearer => "scheme-bearer",
        CredentialsError::Scheme => "scheme",
        CredentialsError::Token => "token-malformed",
        CredentialsError::NoProof => "proof-missing",
        CredentialsError::SeveralProofs => "proof-several",
    }
}

const fn format_reason(error: ProofFormatError) -> &'static str {
    match error {
        ProofFormatError::TooLong => "proof-too-long",
        ProofFormatError::Parts => "proof-parts",
        ProofFormatError::HeaderEncoding => "header-encoding",
        ProofFormatError::ClaimsEncoding => "claims-encoding",
        ProofFormatError::SignatureEncoding => "signature-encoding",
        ProofFormatError::HeaderJson => "header-json",
        ProofFormatError::HeaderRepeated => "header-repeated",
        ProofFormatError::TypMissing => "typ-missing",
        ProofFormatError::Typ => "typ",
        ProofFormatError::AlgMissing => "alg-missing",
        ProofFormatError::Alg => "alg",
        ProofFormatError::Critical => "crit",
        ProofFormatError::Unencoded => "b64",
        ProofFormatError::JwkMissing => "jwk-missing",
        ProofFormatError::Jwk(error) => match error {
            PublicKeyError::Json => "jwk-json",
            PublicKeyError::Repeated => "jwk-repeated",
            PublicKeyError::Private => "jwk-private",
            PublicKeyError::Kty => "jwk-kty",
            PublicKeyError::Curve => "jwk-crv",
            PublicKeyError::Coordinate => "jwk-coordinate",
            PublicKeyError::OffCurve => "jwk-off-curve",
        },
        ProofFormatError::SignatureLength => "signature-length",
        ProofFormatError::Signature => "signature",
        ProofFormatError::ClaimsJson => "claims-json",
        ProofFormatError::ClaimsRepeated => "claims-repeated",
    }
}

const fn claim_reason(error: ClaimError) -> &'static str {
    match error {
        ClaimError::HtmMissing => "htm-missing",
        ClaimError::Htm => "htm",
        ClaimError::HtuMissing => "htu-missing",
        ClaimError::Htu => "htu",
        ClaimError::IatMissing => "iat-missing",
        ClaimError::IatMalformed => "iat-malformed",
        ClaimError::Old => "iat-old",
        ClaimError::Early => "iat-early",
        ClaimError::NotBound => "not-bound",
        ClaimError::Key => "key",
        ClaimError::AthMissing => "ath-missing",
        ClaimError::Ath => "ath",
        ClaimError::JtiMissing => "jti-missing",
        ClaimError::Jti => "jti",
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, time::Duration};

    use super::*;

    /// Returns one value of each error variant.
    fn all() -> Vec<VerificationError> {
        use ClaimError::{
            Ath, AthMissing, Early, Htm, HtmMissing, Htu, HtuMissing, IatMalformed, IatMissing, Jti,
            JtiMissing, Key, NotBound, Old,
        };
        use CredentialsError::{Bearer, NoProof, NoToken, Scheme, SeveralProofs, SeveralTokens, Token};
        use ProofFormatError::{
            Alg, AlgMissing, ClaimsEncoding, ClaimsJson, ClaimsRepeated, Critical, HeaderEncoding,
            HeaderJson, HeaderRepeated, Jwk, JwkMissing, Parts, Signature, SignatureEncoding,
            SignatureLength, TooLong, Typ, TypMissing, Unencoded,
        };
        use PublicKeyError::{Coordinate, Curve, Json, Kty, OffCurve, Private, Repeated};
        let wait = Duration::from_secs(1);
        let presented = [NoToken, SeveralTokens, Bearer, Scheme, Token, NoProof, SeveralProofs];
        let form = [
            TooLong,
            Parts,
            HeaderEncoding,
            ClaimsEncoding,
            SignatureEncoding,
            HeaderJson,
            HeaderRepeated,
            TypMissing,
            Typ,
            AlgMissing,
            Alg,
            Critical,
            Unencoded,
            JwkMissing,
            SignatureLength,
            Signature,
            ClaimsJson,
            ClaimsRepeated,
        ];
        let keys = [Json, Repeated, Private, Kty, Curve, Coordinate, OffCurve];
        let claims = [
            HtmMissing,
            Htm,
            HtuMissing,
            Htu,
            IatMissing,
            IatMalformed,
            Old,
            Early,
            NotBound,
            Key,
            AthMissing,
            Ath,
            JtiMissing,
            Jti,
        ];
        let live = [
            ReplayError::Replayed,
            ReplayError::Expired,
            ReplayError::TooFarAhead,
            ReplayError::AccountFull { wait },
            ReplayError::SourceFull { wait },
            ReplayError::Full { wait },
            ReplayError::Unavailable,
        ];
        let nonces = [NonceError::Missing, NonceError::Foreign];
        let mut all: Vec<VerificationError> = presented.map(VerificationError::from).to_vec();
        all.extend(form.map(VerificationError::from));
        all.extend(keys.map(|key| VerificationError::from(Jwk(key))));
        all.extend(nonces.map(VerificationError::from));
        all.extend(claims.map(VerificationError::from));
        all.extend(live.map(VerificationError::from));
        all
    }

    #[test]
    fn every_error_has_its_own_reason_and_message() {
        let all = all();
        let words: HashSet<_> = all.iter().map(VerificationError::reason).collect();
        let sentences: HashSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!((all.len(), words.len(), sentences.len()), (55, 55, 55));
        for word in words {
            assert!(
                word.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
            );
        }
    }

    /// DPP-13, DPP-15, DPP-16, ERR-06, ERR-07, ERR-08: each error has its challenge.
    #[test]
    fn each_error_has_its_challenge() {
        let check = |error: VerificationError, expect: Option<&str>| {
            let challenge = error.challenge().map(|challenge| challenge.to_string());
            assert_eq!(challenge.as_deref(), expect, "{error:?}");
        };
        let wait = Duration::from_secs(1);
        check(CredentialsError::Bearer.into(), Some(r#"DPoP algs="ES256""#));
        check(CredentialsError::NoProof.into(), Some(r#"DPoP algs="ES256""#));
        check(
            CredentialsError::SeveralProofs.into(),
            Some(
                r#"DPoP algs="ES256", error="invalid_dpop_proof", error_description="there is more than one DPoP header""#,
            ),
        );
        check(NonceError::Missing.into(), Some(r#"DPoP algs="ES256", error="use_dpop_nonce""#));
        check(NonceError::Foreign.into(), Some(r#"DPoP algs="ES256", error="use_dpop_nonce""#));
        check(
            ReplayError::Replayed.into(),
            Some(
                r#"DPoP algs="ES256", error="invalid_dpop_proof", error_description="this jti was used before""#,
            ),
        );
        check(ClaimError::NotBound.into(), Some(r#"DPoP algs="ES256""#));
        check(ReplayError::AccountFull { wait }.into(), None);
        check(ReplayError::SourceFull { wait }.into(), None);
        check(ReplayError::Full { wait }.into(), None);
        check(ReplayError::Unavailable.into(), None);
        for error in all() {
            let not_bound = VerificationError::from(ClaimError::NotBound);
            let invalid = matches!(error, VerificationError::Format(_) | VerificationError::Claim(_))
                && error != not_bound;
            let text = error.challenge().map(|challenge| challenge.to_string()).unwrap_or_default();
            let sentence = format!(r#"error="invalid_dpop_proof", error_description="{error}""#);
            assert_eq!(text.contains(&sentence), invalid || text.contains("invalid"), "{error:?}");
        }
    }

    /// ERR-06: exactly these errors are reported as `DPOP_REQUIRED`.
    #[test]
    fn errors_that_require_a_proof() {
        let required: Vec<_> = all().into_iter().filter(VerificationError::is_proof_required).collect();
        let expect: [VerificationError; 3] =
            [CredentialsError::Bearer.into(), CredentialsError::NoProof.into(), ClaimError::NotBound.into()];
        assert_eq!(required, expect);
    }

    /// DPP-17: a client parses the error of a token endpoint, which has the same content as the challenge.
    #[test]
    fn each_error_maps_to_a_token_endpoint_error() {
        for rejection in all() {
            let error = rejection.token_error();
            assert_eq!(error.is_some(), rejection.challenge().is_some(), "{rejection:?}");
            let Some(error) = error else { continue };
            assert_eq!(TokenError::from_body(error.to_json().as_bytes()).as_ref(), Some(&error));
            let (nonce, description) =
                (matches!(rejection, VerificationError::Nonce(_)), error.description());
            let expect = if nonce {
                (DpopError::UseDpopNonce, None)
            } else {
                (DpopError::InvalidDpopProof, Some(rejection.to_string()))
            };
            assert_eq!((error.error(), description), (&expect.0, expect.1.as_deref()), "{rejection:?}");
        }
    }
}
