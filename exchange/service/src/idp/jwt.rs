//! Verifies access tokens that are JWTs (RFC 9068): header, signature, issuer and time.
//!
//! Both the built-in and the external verifier use this module. They differ in the source of the keys.

use std::collections::BTreeSet;
use std::time::Duration;

use dpop_bound::Thumbprint;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::{Deserialize, Deserializer};

use super::tokens::{TokenClaims, TokenError};
use crate::ids::{ClientId, MemberId};
use crate::time::Moment;

/// The maximum length of an accepted token, in bytes. A token must fit into a header.
const MAX_TOKEN_BYTES: usize = 8 << 10;
/// The tolerated difference between the clock of the issuer and the clock of this service.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5);

/// A token whose header was parsed, but whose signature and claims were not verified yet.
pub(super) struct UnverifiedToken<'a> {
    text: &'a str,
    header: Header,
}

impl<'a> UnverifiedToken<'a> {
    /// Parses the header of a token. Requires that its `typ` is one of `types`.
    pub(super) fn parse_header(text: &'a str, types: &[impl AsRef<str>]) -> Result<Self, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed);
        }
        let header = jsonwebtoken::decode_header(text).map_err(|_| TokenError::Malformed)?;
        // RFC 9068, section 4: `typ` is case-insensitive, with or without `application/`.
        let actual_type = header.typ.as_deref().unwrap_or_default();
        let actual_type = strip_prefix(actual_type, "application/").unwrap_or(actual_type);
        if !types.iter().any(|each| each.as_ref().eq_ignore_ascii_case(actual_type)) {
            return Err(TokenError::WrongType);
        }
        // RFC 7515, section 4.1.11: a token with a critical extension is rejected, because none is supported.
        if header.crit.is_some() {
            return Err(TokenError::Malformed);
        }
        Ok(Self { text, header })
    }

    /// Returns the id of the signing key in the header.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        self.header.alg
    }

    /// Verifies the signature, the issuer and the time, and returns the claims.
    pub(super) fn verify_claims(
        &self,
        key: &DecodingKey,
        algorithms: &[Algorithm],
        issuer: &str,
        now: Moment,
    ) -> Result<TokenClaims, TokenError> {
        if !algorithms.contains(&self.header.alg) {
            return Err(TokenError::Algorithm);
        }
        let mut validation = Validation::new(self.header.alg);
        // The time is checked below with the clock of the service, and the audience in a later stage (GW-01).
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        validation.required_spec_claims.clear();
        let token = jsonwebtoken::decode::<JwtClaims>(self.text, key, &validation).map_err(|error| {
            match error.kind() {
                jsonwebtoken::errors::ErrorKind::InvalidSignature => TokenError::Signature,
                jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => TokenError::Algorithm,
                _ => TokenError::Malformed,
            }
        })?;
        token.claims.validate_claims(issuer, now)
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The claims of RFC 9068 (section 2.2) and RFC 9449 (section 6.1). Keycloak stores the client id in `azp`.
#[derive(Deserialize)]
struct JwtClaims {
    iss: String,
    sub: String,
    #[serde(default)]
    aud: AudienceClaim,
    client_id: Option<String>,
    azp: Option<String>,
    #[serde(default)]
    scope: String,
    exp: NumericDate,
    iat: NumericDate,
    nbf: Option<NumericDate>,
    auth_time: Option<NumericDate>,
    cnf: Option<JwtConfirmation>,
}

#[derive(Deserialize)]
struct JwtConfirmation {
    jkt: Option<Thumbprint>,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum AudienceClaim {
    #[default]
    None,
    One(String),
    Several(BTreeSet<String>),
}

impl JwtClaims {
    fn validate_claims(self, issuer: &str, now: Moment) -> Result<TokenClaims, TokenError> {
        if self.iss != issuer {
            return Err(TokenError::Issuer);
        }
        if now >= self.exp.0 {
            return Err(TokenError::Expired);
        }
        let begins = self.nbf.map_or(self.iat.0, |nbf| nbf.0.max(self.iat.0));
        if begins > now.plus(MAX_CLOCK_SKEW) {
            return Err(TokenError::NotYetValid);
        }
        let client = self.client_id.or(self.azp).filter(|id| !id.is_empty());
        let client = client.ok_or(TokenError::Malformed)?;
        if self.sub.is_empty() {
            return Err(TokenError::Malformed);
        }
        Ok(TokenClaims {
            client: ClientId::new(client),
            member: MemberId::new(self.sub),
            scopes: self.scope.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
            jkt: self.cnf.and_then(|cnf| cnf.jkt).map(|jkt| jkt.to_string()),
            audiences: match self.aud {
                AudienceClaim::None => BTreeSet::new(),
                AudienceClaim::One(one) => BTreeSet::from([one]),
                AudienceClaim::Several(several) => several,
            },
            // Without `auth_time`, the time of the sign-in is unknown. Every disconnect of the client then
            // revokes the token, even if the token was renewed since (ERR-12).
            auth_time: self.auth_time.map_or(Moment::default(), |time| time.0),
            expires_at: self.exp.0,
        })
    }
}

/// Seconds since the Unix epoch, with an optional fraction (RFC 7519, section 2).
struct NumericDate(Moment);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..1e12).contains(&seconds) {
            return Err(serde::de::Error::custom("not a time in seconds since the epoch"));
        }
        // The value is below 10^15 and therefore exact.
        Ok(Self(Moment::from_millis((seconds * 1000.0).floor() as i64)))
    }
}
