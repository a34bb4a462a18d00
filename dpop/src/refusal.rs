//! All refusals under one roof: which error they are on the wire, and a word for logs and counters.
//!
//! A refusal says which rule was broken and nothing of what broke it, so it can be logged as it is.

use crate::{
    challenge::{DpopChallenge, DpopError},
    claims::ClaimRefusal,
    form::FormRefusal,
    key::KeyRefusal,
    live::LiveRefusal,
    nonce::NonceRefusal,
    presented::PresentedRefusal,
    token_error::TokenError,
};

/// Why a request with a proof is refused, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its headers do not bring one token and one proof.
    #[error(transparent)]
    Presented(#[from] PresentedRefusal),
    /// What it brings is no proof.
    #[error(transparent)]
    Form(#[from] FormRefusal),
    /// The proof has not this server's nonce.
    #[error(transparent)]
    Nonce(#[from] NonceRefusal),
    /// The proof is for another request.
    #[error(transparent)]
    Claim(#[from] ClaimRefusal),
    /// The proof was seen before, there is no room for it, or nobody can tell.
    #[error(transparent)]
    Live(#[from] LiveRefusal),
}

/// What a refusal blames, whoever says it.
enum Blame {
    NoProof,
    Nonce,
    Proof,
}

impl Refusal {
    /// A word for each refusal, of lower-case letters, digits and `-`: it never changes.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Presented(refusal) => presented(*refusal),
            Self::Form(refusal) => form(*refusal),
            Self::Nonce(NonceRefusal::Missing) => "nonce-missing",
            Self::Nonce(NonceRefusal::Foreign) => "nonce-foreign",
            Self::Claim(refusal) => claim(*refusal),
            Self::Live(LiveRefusal::Replayed) => "replayed",
            Self::Live(LiveRefusal::Expired) => "expired",
            Self::Live(LiveRefusal::TooFarAhead) => "too-far-ahead",
            Self::Live(LiveRefusal::AccountFull { .. }) => "account-full",
            Self::Live(LiveRefusal::SourceFull { .. }) => "source-full",
            Self::Live(LiveRefusal::Full { .. }) => "full",
            Self::Live(LiveRefusal::Unavailable) => "store-unavailable",
        }
    }

    /// The challenge of a resource server (RFC 9449, 7.1 and 9): without an error where no proof came or the
    /// token asks for none, for a nonce where only that is missing, else `invalid_dpop_proof` and which rule was
    /// broken. `None` where the proof is good and there is no room for it, or nobody knows, which is no matter
    /// of authentication.
    // DPP-13, DPP-15, DPP-16, ERR-06 to ERR-10
    #[must_use]
    pub fn challenge(&self) -> Option<DpopChallenge> {
        match self.blame()? {
            Blame::NoProof => Some(DpopChallenge::required()),
            Blame::Nonce => Some(DpopChallenge::use_nonce()),
            Blame::Proof => Some(self.invalid()),
        }
    }

    /// The error of a token endpoint (RFC 6749, 5.2; RFC 9449, 5 and 8), status 400; `None` as for
    /// [`challenge`](Self::challenge).
    #[must_use]
    pub fn token_error(&self) -> Option<TokenError> {
        let (error, description) = match self.blame()? {
            Blame::Nonce => (DpopError::UseDpopNonce, None),
            Blame::NoProof | Blame::Proof => (DpopError::InvalidDpopProof, Some(self.to_string())),
        };
        Some(TokenError::new(error, description.as_deref()))
    }

    /// Whether the request could have brought a token that is bound to a key, and a proof, and did not: the
    /// Bearer scheme, no `DPoP` header, a token that is bound to no key.
    // ERR-06
    #[must_use]
    pub const fn is_proof_required(&self) -> bool {
        match self {
            Self::Presented(refusal) => refusal.is_proof_required(),
            Self::Claim(refusal) => matches!(refusal, ClaimRefusal::NotBound),
            Self::Form(_) | Self::Nonce(_) | Self::Live(_) => false,
        }
    }

    /// What to blame; nothing about the request where there is only no room.
    const fn blame(&self) -> Option<Blame> {
        match self {
            Self::Presented(PresentedRefusal::SeveralProofs) | Self::Form(_) => Some(Blame::Proof),
            Self::Presented(_) | Self::Claim(ClaimRefusal::NotBound) => Some(Blame::NoProof),
            Self::Nonce(_) => Some(Blame::Nonce),
            Self::Live(
                LiveRefusal::AccountFull { .. }
                | LiveRefusal::SourceFull { .. }
                | LiveRefusal::Full { .. }
                | LiveRefusal::Unavailable,
            ) => None,
            Self::Claim(_) | Self::Live(_) => Some(Blame::Proof),
        }
    }

    fn invalid(&self) -> DpopChallenge {
        // A text that cannot be written, which none is, would leave the plain challenge.
        DpopChallenge::invalid_proof(&self.to_string()).unwrap_or_else(|_| DpopChallenge::required())
    }
}

const fn presented(refusal: PresentedRefusal) -> &'static str {
    match refusal {
        PresentedRefusal::NoToken => "token-missing",
        PresentedRefusal::SeveralTokens => "token-several",
        PresentedRefusal::Bearer => "scheme-bearer",
        PresentedRefusal::Scheme => "scheme",
        PresentedRefusal::Token => "token-malformed",
        PresentedRefusal::NoProof => "proof-missing",
        PresentedRefusal::SeveralProofs => "proof-several",
    }
}

const fn form(refusal: FormRefusal) -> &'static str {
    match refusal {
        FormRefusal::TooLong => "proof-too-long",
        FormRefusal::Parts => "proof-parts",
        FormRefusal::HeaderEncoding => "header-encoding",
        FormRefusal::ClaimsEncoding => "claims-encoding",
        FormRefusal::SignatureEncoding => "signature-encoding",
        FormRefusal::HeaderJson => "header-json",
        FormRefusal::HeaderRepeated => "header-repeated",
        FormRefusal::TypMissing => "typ-missing",
        FormRefusal::Typ => "typ",
        FormRefusal::AlgMissing => "alg-missing",
        FormRefusal::Alg => "alg",
        FormRefusal::Critical => "crit",
        FormRefusal::Unencoded => "b64",
        FormRefusal::JwkMissing => "jwk-missing",
        FormRefusal::Jwk(refusal) => match refusal {
            KeyRefusal::Json => "jwk-json",
            KeyRefusal::Repeated => "jwk-repeated",
            KeyRefusal::Private => "jwk-private",
            KeyRefusal::Kty => "jwk-kty",
            KeyRefusal::Curve => "jwk-crv",
            KeyRefusal::Coordinate => "jwk-coordinate",
            KeyRefusal::OffCurve => "jwk-off-curve",
        },
        FormRefusal::SignatureLength => "signature-length",
        FormRefusal::Signature => "signature",
        FormRefusal::ClaimsJson => "claims-json",
        FormRefusal::ClaimsRepeated => "claims-repeated",
    }
}

const fn claim(refusal: ClaimRefusal) -> &'static str {
    match refusal {
        ClaimRefusal::HtmMissing => "htm-missing",
        ClaimRefusal::Htm => "htm",
        ClaimRefusal::HtuMissing => "htu-missing",
        ClaimRefusal::Htu => "htu",
        ClaimRefusal::IatMissing => "iat-missing",
        ClaimRefusal::IatMalformed => "iat-malformed",
        ClaimRefusal::Old => "iat-old",
        ClaimRefusal::Early => "iat-early",
        ClaimRefusal::NotBound => "not-bound",
        ClaimRefusal::Key => "key",
        ClaimRefusal::AthMissing => "ath-missing",
        ClaimRefusal::Ath => "ath",
        ClaimRefusal::JtiMissing => "jti-missing",
        ClaimRefusal::Jti => "jti",
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, time::Duration};

    use super::*;

    /// One of each.
    fn all() -> Vec<Refusal> {
        use ClaimRefusal::{
            Ath, AthMissing, Early, Htm, HtmMissing, Htu, HtuMissing, IatMalformed, IatMissing, Jti,
            JtiMissing, Key, NotBound, Old,
        };
        use FormRefusal::{
            Alg, AlgMissing, ClaimsEncoding, ClaimsJson, ClaimsRepeated, Critical, HeaderEncoding,
            HeaderJson, HeaderRepeated, Jwk, JwkMissing, Parts, Signature, SignatureEncoding,
            SignatureLength, TooLong, Typ, TypMissing, Unencoded,
        };
        use KeyRefusal::{Coordinate, Curve, Json, Kty, OffCurve, Private, Repeated};
        use PresentedRefusal::{Bearer, NoProof, NoToken, Scheme, SeveralProofs, SeveralTokens, Token};
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
            LiveRefusal::Replayed,
            LiveRefusal::Expired,
            LiveRefusal::TooFarAhead,
            LiveRefusal::AccountFull { wait },
            LiveRefusal::SourceFull { wait },
            LiveRefusal::Full { wait },
            LiveRefusal::Unavailable,
        ];
        let nonces = [NonceRefusal::Missing, NonceRefusal::Foreign];
        let mut all: Vec<Refusal> = presented.map(Refusal::from).to_vec();
        all.extend(form.map(Refusal::from));
        all.extend(keys.map(|key| Refusal::from(Jwk(key))));
        all.extend(nonces.map(Refusal::from));
        all.extend(claims.map(Refusal::from));
        all.extend(live.map(Refusal::from));
        all
    }

    #[test]
    fn every_refusal_has_a_word_and_a_sentence_of_its_own() {
        let all = all();
        let words: HashSet<_> = all.iter().map(Refusal::reason).collect();
        let sentences: HashSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!((all.len(), words.len(), sentences.len()), (55, 55, 55));
        for word in words {
            assert!(
                word.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
            );
        }
    }

    /// DPP-13, DPP-15, DPP-16, ERR-06, ERR-07, ERR-08.
    #[test]
    fn each_has_its_challenge() {
        let check = |refusal: Refusal, expect: Option<&str>| {
            let challenge = refusal.challenge().map(|challenge| challenge.to_string());
            assert_eq!(challenge.as_deref(), expect, "{refusal:?}");
        };
        let wait = Duration::from_secs(1);
        check(PresentedRefusal::Bearer.into(), Some(r#"DPoP algs="ES256""#));
        check(PresentedRefusal::NoProof.into(), Some(r#"DPoP algs="ES256""#));
        check(
            PresentedRefusal::SeveralProofs.into(),
            Some(
                r#"DPoP algs="ES256", error="invalid_dpop_proof", error_description="there is more than one DPoP header""#,
            ),
        );
        check(NonceRefusal::Missing.into(), Some(r#"DPoP algs="ES256", error="use_dpop_nonce""#));
        check(NonceRefusal::Foreign.into(), Some(r#"DPoP algs="ES256", error="use_dpop_nonce""#));
        check(
            LiveRefusal::Replayed.into(),
            Some(
                r#"DPoP algs="ES256", error="invalid_dpop_proof", error_description="this jti was used before""#,
            ),
        );
        check(ClaimRefusal::NotBound.into(), Some(r#"DPoP algs="ES256""#));
        check(LiveRefusal::AccountFull { wait }.into(), None);
        check(LiveRefusal::SourceFull { wait }.into(), None);
        check(LiveRefusal::Full { wait }.into(), None);
        check(LiveRefusal::Unavailable.into(), None);
        for refusal in all() {
            let not_bound = Refusal::from(ClaimRefusal::NotBound);
            let invalid = matches!(refusal, Refusal::Form(_) | Refusal::Claim(_)) && refusal != not_bound;
            let text = refusal.challenge().map(|challenge| challenge.to_string()).unwrap_or_default();
            let sentence = format!(r#"error="invalid_dpop_proof", error_description="{refusal}""#);
            assert_eq!(text.contains(&sentence), invalid || text.contains("invalid"), "{refusal:?}");
        }
    }

    /// ERR-06: `DPOP_REQUIRED`.
    #[test]
    fn which_of_them_ask_for_a_bound_token_and_a_proof() {
        let required: Vec<_> = all().into_iter().filter(Refusal::is_proof_required).collect();
        let expect: [Refusal; 3] = [
            PresentedRefusal::Bearer.into(),
            PresentedRefusal::NoProof.into(),
            ClaimRefusal::NotBound.into(),
        ];
        assert_eq!(required, expect);
    }

    /// DPP-17: what a token endpoint says is what a client reads, and as much as a challenge would say.
    #[test]
    fn each_has_its_error_at_the_token_endpoint() {
        for refusal in all() {
            let error = refusal.token_error();
            assert_eq!(error.is_some(), refusal.challenge().is_some(), "{refusal:?}");
            let Some(error) = error else { continue };
            assert_eq!(TokenError::read(error.to_json().as_bytes()).as_ref(), Some(&error));
            let (nonce, said) = (matches!(refusal, Refusal::Nonce(_)), error.description());
            let expect = if nonce {
                (DpopError::UseDpopNonce, None)
            } else {
                (DpopError::InvalidDpopProof, Some(refusal.to_string()))
            };
            assert_eq!((error.error(), said), (&expect.0, expect.1.as_deref()), "{refusal:?}");
        }
    }
}
