//! Creates JWTs, valid and invalid ones, with keys of every kind, as input for verifiers.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Creates a signed JWT with any header and any claims.
pub(crate) fn jws(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = sign(message.as_bytes());
    format!("{message}.{}", encode(signature))
}

/// A signing key of an issuer.
pub(crate) enum Key {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    pub(crate) fn p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn p384() -> Self {
        Self::P384(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn from_pkcs8(pkcs8: &[u8]) -> Self {
        Self::P256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8).unwrap())
    }

    /// Returns the public key as a JWK with additional members.
    pub(crate) fn jwk(&self, extra_fields: &[(&str, &str)]) -> Value {
        let point = |curve: &str, public: &[u8]| {
            let (x, y) = public[1..].split_at((public.len() - 1) / 2);
            json!({ "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) })
        };
        let mut jwk = match self {
            Self::P256(pair) => point("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => point("P-384", pair.public_key().as_ref()),
            Self::Rsa(pair) => {
                let public = pair.public_key();
                let (n, e) = (public.modulus(), public.exponent());
                json!({
                    "kty": "RSA",
                    "n": encode(n.big_endian_without_leading_zero()),
                    "e": encode(e.big_endian_without_leading_zero()),
                })
            }
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) })
            }
        };
        for (name, value) in extra_fields {
            jwk[*name] = (*value).into();
        }
        jwk
    }

    /// Signs with this algorithm, if the key supports it.
    pub(crate) fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) | Self::P384(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                if algorithm == "PS256" {
                    pair.sign(&RSA_PSS_SHA256, &random, message, &mut signature).unwrap();
                } else {
                    pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                }
                signature
            }
        }
    }

    /// Returns the bytes of the public key, which an attacker would use as a shared secret.
    pub(crate) fn public_bytes(&self) -> Vec<u8> {
        match self {
            Self::P256(pair) | Self::P384(pair) => pair.public_key().as_ref().to_vec(),
            Self::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.public_key().as_der().unwrap().as_ref().to_vec(),
        }
    }
}

/// Computes HMAC-SHA-256, for tokens that use a public key as a shared secret.
pub(crate) fn hs256(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret);
    aws_lc_rs::hmac::sign(&key, message).as_ref().to_vec()
}
