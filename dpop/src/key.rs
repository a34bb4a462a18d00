//! Public keys: JWK (RFC 7517, RFC 7518, 6.2.1) and its thumbprint (RFC 7638).
//!
//! A [`PublicKey`] is a point on P-256; there is no way to hold anything else in it. Private keys
//! are in [`crate::backend`].

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

use crate::{
    base64url,
    json::{self, Json, Members, NotAnObject},
};

/// Members of a JWK that hold private or symmetric keys: RFC 7518, 6.2.2, 6.3.2 and 6.4.1.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key for ES256: a point on the curve P-256.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    /// `04 ‖ x ‖ y` (SEC 1, 2.3.3), the form in which every backend takes it.
    point: [u8; 65],
}

/// Why a JWK or a point is no public key for ES256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRefusal {
    /// The JWK is no JSON object.
    #[error("the key is no JSON object")]
    Json,
    /// A member of the JWK stands there twice.
    #[error("a member of the key is repeated")]
    Repeated,
    /// A member that belongs to private or symmetric keys, such as `d`.
    #[error("the key holds private members")]
    Private,
    /// `kty` is missing or not `EC`.
    #[error("`kty` is not EC")]
    Kty,
    /// `crv` is missing or not `P-256`.
    #[error("`crv` is not P-256")]
    Curve,
    /// `x` or `y` is missing, or not 32 bytes in base64url without padding: RFC 7518, 6.2.1.2 wants
    /// all of them, leading zeros too, and no more.
    #[error("a coordinate is not 32 bytes in base64url")]
    Coordinate,
    /// The point is not on the curve.
    #[error("the point is not on P-256")]
    OffCurve,
}

impl PublicKey {
    /// The key with these coordinates, the highest byte first.
    ///
    /// # Errors
    /// [`KeyRefusal::OffCurve`].
    pub fn from_coordinates(x: &[u8; 32], y: &[u8; 32]) -> Result<Self, KeyRefusal> {
        if !crate::curve::holds(x, y) {
            return Err(KeyRefusal::OffCurve);
        }
        let mut point = [4; 65];
        point[1..33].copy_from_slice(x);
        point[33..].copy_from_slice(y);
        Ok(Self { point })
    }

    /// The key of an uncompressed point: `04 ‖ x ‖ y` (SEC 1, 2.3.3).
    ///
    /// # Errors
    /// [`KeyRefusal::Coordinate`] when it has another form, [`KeyRefusal::OffCurve`].
    pub fn from_point(point: &[u8]) -> Result<Self, KeyRefusal> {
        let (Some((4, rest)), 65) = (point.split_first(), point.len()) else {
            return Err(KeyRefusal::Coordinate);
        };
        let (x, y) = rest.split_at(32);
        match (x.try_into(), y.try_into()) {
            (Ok(x), Ok(y)) => Self::from_coordinates(x, y),
            _ => Err(KeyRefusal::Coordinate),
        }
    }

    /// Reads a JWK. Members that RFC 7518 does not give to public EC keys (`kid`, `use`, …) are not
    /// looked at, but private ones are refused.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_jwk(jwk: &str) -> Result<Self, KeyRefusal> {
        let members = json::object(jwk.as_bytes()).map_err(|error| match error {
            NotAnObject::Malformed => KeyRefusal::Json,
            NotAnObject::Repeated => KeyRefusal::Repeated,
        })?;
        Self::from_members(&members)
    }

    pub(crate) fn from_members(members: &Members<'_>) -> Result<Self, KeyRefusal> {
        let text = |name| match json::member(members, name) {
            Some(Json::Text(text)) => Some(text.as_ref()),
            _ => None,
        };
        if PRIVATE.iter().any(|name| json::member(members, name).is_some()) {
            return Err(KeyRefusal::Private);
        }
        if text("kty") != Some("EC") {
            return Err(KeyRefusal::Kty);
        }
        if text("crv") != Some("P-256") {
            return Err(KeyRefusal::Curve);
        }
        let coordinate = |name| text(name).and_then(base64url::decode_array::<32>);
        let (Some(x), Some(y)) = (coordinate("x"), coordinate("y")) else {
            return Err(KeyRefusal::Coordinate);
        };
        Self::from_coordinates(&x, &y)
    }

    /// The JWK with its required members alone, in the order and spelling whose hash is the
    /// [`Thumbprint`]: RFC 7638, 3.2 and 3.3.
    #[must_use]
    pub fn to_jwk(&self) -> String {
        let (x, y) = (base64url::encode(self.x()), base64url::encode(self.y()));
        format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
    }

    /// SHA-256 of [`to_jwk`](Self::to_jwk): what a token is bound to (`cnf.jkt`, RFC 9449, 6.1) and a
    /// client's instance is known by.
    #[must_use]
    pub fn thumbprint(&self) -> Thumbprint {
        Thumbprint::of_members(&self.to_jwk())
    }

    /// The uncompressed point: `04 ‖ x ‖ y`.
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

/// Shows the thumbprint.
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.thumbprint())
    }
}

/// The SHA-256 thumbprint of a key (RFC 7638), written in base64url: 43 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thumbprint([u8; 32]);

/// The text is no thumbprint: 43 characters of base64url without padding are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a thumbprint: 43 characters of base64url are")]
pub struct MalformedThumbprint;

impl Thumbprint {
    /// The hash of a key's required members: JSON without blanks, the members in the order of their names
    /// (RFC 7638, 3.3).
    #[must_use]
    pub fn of_members(json: &str) -> Self {
        Self(Sha256::digest(json).into())
    }

    /// The thumbprint with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// As it stands in `cnf.jkt`.
impl FromStr for Thumbprint {
    type Err = MalformedThumbprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        base64url::decode_array(text).map(Self).ok_or(MalformedThumbprint)
    }
}

/// As it stands in `cnf.jkt`.
impl Serialize for Thumbprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// As it stands in `cnf.jkt`.
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

    /// DPP-21: in JSON it is the text of `cnf.jkt`, whatever form the reader has the JSON in.
    #[test]
    fn a_thumbprint_in_json() {
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
