//! All refusals under one roof: which error they are on the wire, and a word for logs and counters.
//!
//! A refusal says which rule was broken and nothing of what broke it, so it can be logged as it is.

use crate::{
    challenge::DpopChallenge, claims::ClaimRefusal, form::FormRefusal, key::KeyRefusal, live::LiveRefusal,
    nonce::NonceRefusal, presented::PresentedRefusal,
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
    /// The proof was seen before, or there is no room for it.
    #[error(transparent)]
    Live(#[from] LiveRefusal),
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
            Self::Live(LiveRefusal::MemberFull { .. }) => "member-full",
            Self::Live(LiveRefusal::Full { .. }) => "full",
        }
    }

    /// The challenge to answer with (RFC 9449, 7.1 and 9; DPP-13, DPP-15, DPP-16, ERR-06 to ERR-08): without an
    /// error where no proof came, for a nonce where only that is missing, else `invalid_dpop_proof` and which rule
    /// was broken. `None` where the proof is good and there is no room for it, which is no matter of
    /// authentication (ERR-09, ERR-10).
    #[must_use]
    pub fn challenge(&self) -> Option<DpopChallenge> {
        match self {
            Self::Presented(PresentedRefusal::SeveralProofs) | Self::Form(_) | Self::Claim(_) => {
                Some(self.invalid())
            }
            Self::Live(LiveRefusal::MemberFull { .. } | LiveRefusal::Full { .. }) => None,
            Self::Live(_) => Some(self.invalid()),
            Self::Presented(_) => Some(DpopChallenge::required()),
            Self::Nonce(_) => Some(DpopChallenge::use_nonce()),
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
            JtiMissing, Key, Old,
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
            LiveRefusal::MemberFull { wait },
            LiveRefusal::Full { wait },
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
        assert_eq!((all.len(), words.len(), sentences.len()), (52, 52, 52));
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
        check(LiveRefusal::MemberFull { wait }.into(), None);
        check(LiveRefusal::Full { wait }.into(), None);
        for refusal in all() {
            let invalid = matches!(refusal, Refusal::Form(_) | Refusal::Claim(_));
            let text = refusal.challenge().map(|challenge| challenge.to_string()).unwrap_or_default();
            let sentence = format!(r#"error="invalid_dpop_proof", error_description="{refusal}""#);
            assert_eq!(text.contains(&sentence), invalid || text.contains("invalid"), "{refusal:?}");
        }
    }
}
