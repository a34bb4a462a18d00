//! All refusals under one roof: which error they are on the wire, and a word for logs and counters.
//!
//! A refusal says which rule was broken and nothing of what broke it, so it can be logged as it is.

use crate::{claims::ClaimRefusal, form::FormRefusal, key::KeyRefusal, nonce::NonceRefusal, presented::PresentedRefusal};

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
        }
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
