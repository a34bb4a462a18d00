//! JWTs that are access tokens (RFC 9068): header, signature, issuer, time.
//!
//! Both verifiers, the provider's own and the one for an external issuer, judge tokens here; they differ
//! in where the keys come from.

use std::collections::BTreeSet;
use std::time::Duration;

use dpop_bound::Thumbprint;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};
use serde::{Deserialize, Deserializer};

use super::tokens::{TokenClaims, TokenRefusal};
use crate::ids::{ClientId, MemberId};
use crate::time::Moment;

/// The longest token that is looked at, in bytes: it has to fit into a header.
const LONGEST: usize = 8 << 10;
/// How far another machine's clock may be ahead of this one's.
const AHEAD: Duration = Duration::from_secs(5);

/// A token's header, and its text.
pub(super) struct Unverified<'a> {
    text: &'a str,
    header: Header,
}

impl<'a> Unverified<'a> {
    /// Reads the header of a token of one of these types.
    pub(super) fn read(text: &'a str, types: &[impl AsRef<str>]) -> Result<Self, TokenRefusal> {
        if text.len() > LONGEST {
            return Err(TokenRefusal::Malformed);
        }
        let header = jsonwebtoken::decode_header(text).map_err(|_| TokenRefusal::Malformed)?;
        // RFC 9068, 4: without regard to case, and with or without `application/`.
        let given = header.typ.as_deref().unwrap_or_default();
        let given = strip_prefix(given, "application/").unwrap_or(given);
        if !types.iter().any(|each| each.as_ref().eq_ignore_ascii_case(given)) {
            return Err(TokenRefusal::Type);
        }
        // RFC 7515, 4.1.11: what has to be understood is not.
        if header.crit.is_some() {
            return Err(TokenRefusal::Malformed);
        }
        Ok(Self { text, header })
    }

    /// The key that it says it is signed with.
    pub(super) fn kid(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// The algorithm that it says it is signed by.
    pub(super) const fn algorithm(&self) -> Algorithm {
        self.header.alg
    }

    /// Checks signature, issuer and time.
    pub(super) fn judge(
        &self,
        key: &DecodingKey,
        algorithms: &[Algorithm],
        issuer: &str,
        now: Moment,
    ) -> Result<TokenClaims, TokenRefusal> {
        if !algorithms.contains(&self.header.alg) {
            return Err(TokenRefusal::Algorithm);
        }
        let mut validation = Validation::new(self.header.alg);
        // Time is asked of our own clock, the audience later (GW-01).
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        validation.required_spec_claims.clear();
        let token =
            jsonwebtoken::decode::<Claims>(self.text, key, &validation).map_err(|error| {
                match error.kind() {
                    jsonwebtoken::errors::ErrorKind::InvalidSignature => TokenRefusal::Signature,
                    jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => TokenRefusal::Algorithm,
                    _ => TokenRefusal::Malformed,
                }
            })?;
        token.claims.judge(issuer, now)
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The claims of RFC 9068, 2.2, and those of RFC 9449, 6.1; `azp` is where Keycloak names the client.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    #[serde(default)]
    aud: Audiences,
    client_id: Option<String>,
    azp: Option<String>,
    #[serde(default)]
    scope: String,
    exp: NumericDate,
    iat: NumericDate,
    nbf: Option<NumericDate>,
    auth_time: Option<NumericDate>,
    cnf: Option<Confirmation>,
}

#[derive(Deserialize)]
struct Confirmation {
    jkt: Option<Thumbprint>,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Audiences {
    #[default]
    None,
    One(String),
    Several(BTreeSet<String>),
}

impl Claims {
    fn judge(self, issuer: &str, now: Moment) -> Result<TokenClaims, TokenRefusal> {
        if self.iss != issuer {
            return Err(TokenRefusal::Issuer);
        }
        if now >= self.exp.0 {
            return Err(TokenRefusal::Expired);
        }
        let begins = self.nbf.map_or(self.iat.0, |nbf| nbf.0.max(self.iat.0));
        if begins > now.plus(AHEAD) {
            return Err(TokenRefusal::Early);
        }
        let client = self.client_id.or(self.azp).filter(|id| !id.is_empty());
        let client = client.ok_or(TokenRefusal::Malformed)?;
        if self.sub.is_empty() {
            return Err(TokenRefusal::Malformed);
        }
        Ok(TokenClaims {
            client: ClientId::new(client),
            member: MemberId::new(self.sub),
            scopes: self.scope.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
            jkt: self.cnf.and_then(|cnf| cnf.jkt).map(|jkt| jkt.to_string()),
            audiences: match self.aud {
                Audiences::None => BTreeSet::new(),
                Audiences::One(one) => BTreeSet::from([one]),
                Audiences::Several(several) => several,
            },
            // A token that does not say when its member signed in may be of any sign-in: whoever disconnects
            // its client revokes it, however often it is renewed (ERR-12).
            auth_time: self.auth_time.map_or(Moment::default(), |time| time.0),
            expires_at: self.exp.0,
        })
    }
}

/// Seconds since the epoch, which may have a fraction (RFC 7519, 2).
struct NumericDate(Moment);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..1e12).contains(&seconds) {
            return Err(serde::de::Error::custom("no moment"));
        }
        // Below 10^15, so exact.
        Ok(Self(Moment::from_millis((seconds * 1000.0).floor() as i64)))
    }
}
