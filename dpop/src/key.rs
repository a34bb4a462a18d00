//! Public keys: JWK (RFC 7517, RFC 7518, 6.2.1) and its thumbprint (RFC 7638).
//!
//! A [`PublicKey`] is always a valid point on P-256. Private keys are in [`crate::backend`].

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

use crate::{
    base64url,
    json::{self, JsonMembers, JsonObjectError, JsonValue},
};

/// The JWK members of private and symmetric keys: RFC 7518, 6.2.2, 6.3.2 and 6.4.1.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key for ES256: a point on the curve P-256.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    /// `04 ‖ x ‖ y` (SEC 1, 2.3.3), the input format of every backend.
    point: [u8; 65],
}

/// The reason why a JWK or a point is not a public key for ES256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PublicKeyError {
    /// The JWK is not a JSON object.
    #[error("the key is not a JSON object")]
    Json,
    /// A member of the JWK is repeated.
    #[error("a member of the key is repeated")]
    Repeated,
    /// The JWK has a member of private or symmetric keys, such as `d`.
    #[error("the key contains private members")]
    Private,
    /// `kty` is missing or not `EC`.
    #[error("`kty` is not EC")]
    Kty,
    /// `crv` is missing or not `P-256`.
    #[error("`crv` is not P-256")]
    Curve,
    /// `x` or `y` is missing, or not 32 bytes in base64url without padding: RFC 7518, 6.2.1.2 requires the
    /// full length, including leading zeros.
    #[error("a coordinate is not 32 bytes in base64url")]
    Coordinate,
    /// The point is not on the curve.
    #[error("the point is not on P-256")]
    OffCurve,
}

impl PublicKey {
    /// Creates a key from its coordinates, most significant byte first.
    ///
    /// # Errors
    /// Returns [`PublicKeyError::OffCurve`] if the point is not on the curve.
    pub fn from_coordinates(x: &[u8; 32], y: &[u8; 32]) -> Result<Self, PublicKeyError> {
        if !crate::curve::is_on_curve(x, y) {
            return Err(PublicKeyError::OffCurve);
        }
        let mut point = [4; 65];
        point[1..33].copy_from_slice(x);
        point[33..].copy_from_slice(y);
        Ok(Self { point })
    }

    /// Creates a key from an uncompressed point: `04 ‖ x ‖ y` (SEC 1, 2.3.3).
    ///
    /// # Errors
    /// Returns [`PublicKeyError::Coordinate`] for another format and [`PublicKeyError::OffCurve`] if the
    /// point is not on the curve.
    pub fn from_point(point: &[u8]) -> Result<Self, PublicKeyError> {
        let (Some((4, rest)), 65) = (point.split_first(), point.len()) else {
            return Err(PublicKeyError::Coordinate);
        };
        let (x, y) = rest.split_at(32);
        match (x.try_into(), y.try_into()) {
            (Ok(x), Ok(y)) => Self::from_coordinates(x, y),
            _ => Err(PublicKeyError::Coordinate),
        }
    }

    /// Parses a JWK. Ignores members that RFC 7518 does not define for public EC keys (`kid`, `use`, …), but
    /// rejects those of private keys.
    ///
    /// # Errors
    /// Returns the first error in the JWK.
    pub fn from_jwk(jwk: &str) -> Result<Self, PublicKeyError> {
        let members = json::parse_object(jwk.as_bytes()).map_err(|error| match error {
            JsonObjectError::Malformed => PublicKeyError::Json,
            JsonObjectError::Repeated => PublicKeyError::Repeated,
        })?;
        Self::from_members(&members)
    }

    pub(crate) fn from_members(members: &JsonMembers<'_>) -> Result<Self, PublicKeyError> {
        let text = |name| match json::get_member(members, name) {
            Some(JsonValue::String(text)) => Some(text.as_ref()),
            _ => None,
        };
        if PRIVATE.iter().any(|name| json::get_member(members, name).is_some()) {
            return Err(PublicKeyError::Private);
        }
        if text("kty") != Some("EC") {
            return Err(PublicKeyError::Kty);
        }
        if text("crv") != Some("P-256") {
            return Err(PublicKeyError::Curve);
        }
        let coordinate = |name| text(name).and_then(base64url::decode_array::<32>);
        let (Some(x), Some(y)) = (coordinate("x"), coordinate("y")) else {
            return Err(PublicKeyError::Coordinate);
        };
        Self::from_coordinates(&x, &y)
    }

    /// Serializes the JWK with only its required members, in the order and spelling of the [`Thumbprint`]
    /// input: RFC 7638, 3.2 and 3.3.
    #[must_use]
    pub fn to_jwk(&self) -> String {
        let (x, y) = (base64url::encode(self.x()), base64url::encode(self.y()));
        format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
    }

    /// Returns the SHA-256 of [`to_jwk`](Self::to_jwk), which identifies a client instance and to which a
    /// token is bound (`cnf.jkt`, RFC 9449, 6.1).
    #[must_use]
    pub fn thumbprint(&self) -> Thumbprint {
        Thumbprint::from_canonical_jwk(&self.to_jwk())
    }

    /// Returns the uncompressed point: `04 ‖ x ‖ y`.
    #[must_use]
    pub const fn point(&self) -> &[u8; 65] {
        &self.point
    }

    fn x(&self) -> &[u8] {
        &self.point[1..33]
    }

    fn y(&self) -> &[u8] {
        &self.point[33..]
    }
}

/// Shows the thumbprint of the key.
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

/// The SHA-256 thumbprint of a key (RFC 7638). Formatted as 43 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thumbprint([u8; 32]);

/// The error for a string that is not a thumbprint of 43 characters of base64url without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid thumbprint: expected 43 characters of base64url")]
pub struct MalformedThumbprint;

impl Thumbprint {
    /// Hashes a key's required members: JSON without whitespace, sorted by member name (RFC 7638, 3.3). Does
    /// not validate the JSON.
    #[must_use]
    pub fn from_canonical_jwk(json: &str) -> Self {
        Self(Sha256::digest(json).into())
    }

    /// Creates a thumbprint from the bytes of the hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Parses the form of `cnf.jkt`: base64url without padding.
impl FromStr for Thumbprint {
    type Err = MalformedThumbprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        base64url::decode_array(text).map(Self).ok_or(MalformedThumbprint)
    }
}

/// Serializes the thumbprint as a string in the form of `cnf.jkt`.
impl Serialize for Thumbprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deserializes a string in the form of `cnf.jkt`.
impl<'de> Deserialize<'de> for Thumbprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&base64url::encode(&self.0))
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Thumbprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-21: every kind of serializer and deserializer represents a thumbprint as the string of `cnf.jkt`.
    #[test]
    fn thumbprint_serializes_as_a_string() {
        let text = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
        let (jkt, json): (Thumbprint, _) = (text.parse().unwrap(), format!("\"{text}\""));
        assert_eq!(serde_json::to_string(&jkt).unwrap(), json);
        assert_eq!(serde_json::from_str::<Thumbprint>(&json).unwrap(), jkt);
        assert_eq!(serde_json::from_reader::<_, Thumbprint>(json.as_bytes()).unwrap(), jkt);
        assert_eq!(serde_json::from_value::<Thumbprint>(text.into()).unwrap(), jkt);
        for bad in [format!("\"{text}=\""), "\"\"".to_owned(), "1".to_owned(), "null".to_owned()] {
            assert!(serde_json::from_str::<Thumbprint>(&bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Option<Thumbprint>>("null").unwrap(), None);
    }
}
