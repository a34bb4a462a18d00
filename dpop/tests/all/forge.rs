//! A builder of valid and invalid proofs.
//!
//! A [`Draft`] is an unsigned proof: tests can change or replace its header and claims, encode its parts
//! incorrectly, and sign it with any key.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use dpop_bound::{
    KeyPair, SyncSigner as _, TokenHash, UnixTime,
    nonce::{NonceIssuer, NonceKey},
};
use serde_json::{Value, json};

/// The gateway's time in all cases.
pub(crate) const NOW: u64 = 1_790_000_000;
pub(crate) const METHOD: &str = "POST";
pub(crate) const ORIGIN: &str = "https://gateway.example";
pub(crate) const PATH: &str = "/exchange/v1/me/stock/changes";
pub(crate) const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";

/// Returns the client's key, which is the same in all runs.
pub(crate) fn client() -> KeyPair {
    key(1)
}

/// Returns the key with this number.
pub(crate) fn key(number: u8) -> KeyPair {
    let mut secret = [0x42; 32];
    secret[31] = number;
    let secret = p256::SecretKey::from_slice(&secret).unwrap();
    KeyPair::from_pkcs8(p256::pkcs8::EncodePrivateKey::to_pkcs8_der(&secret).unwrap().as_bytes()).unwrap()
}

/// Returns the issuer of the gateway's nonces.
pub(crate) fn issuer() -> NonceIssuer {
    NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "gateway")
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn unbase64(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// A proof that is not signed yet.
pub(crate) struct Draft {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    /// The edited JSON strings of header and claims, if any.
    header_text: Option<String>,
    claims_text: Option<String>,
    signer: KeyPair,
}

impl Draft {
    /// Creates a draft that the gateway accepts.
    pub(crate) fn good() -> Self {
        let key = client();
        let jwk: Value = key.public_key().to_jwk().parse().unwrap();
        let nonce = issuer().issue(UnixTime::from_secs(NOW));
        Self {
            header: json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk }),
            claims: json!({
                "jti": "e1j3V_bKic8-LAEB_gccD8G",
                "htm": METHOD,
                "htu": format!("{ORIGIN}{PATH}"),
                "iat": NOW,
                "ath": TokenHash::from_token(TOKEN).to_string(),
                "nonce": nonce.as_str(),
            }),
            header_text: None,
            claims_text: None,
            signer: key,
        }
    }

    /// Sets a claim.
    pub(crate) fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims[name] = value.into();
        self
    }

    pub(crate) fn without_claim(mut self, name: &str) -> Self {
        self.claims.as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header[name] = value.into();
        self
    }

    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.header.as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    /// Sets a member of `jwk`.
    pub(crate) fn jwk(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header["jwk"][name] = value.into();
        self
    }

    pub(crate) fn without_jwk(mut self, name: &str) -> Self {
        self.header["jwk"].as_object_mut().unwrap().remove(name).unwrap();
        self
    }

    /// Edits the serialized header.
    pub(crate) fn header_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.header_text = Some(change(self.header.to_string()));
        self
    }

    /// Edits the serialized claims.
    pub(crate) fn claims_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.claims_text = Some(change(self.claims.to_string()));
        self
    }

    /// Sets the signing key, and its public half in the header.
    pub(crate) fn signed_with(mut self, key: KeyPair) -> Self {
        self.header["jwk"] = key.public_key().to_jwk().parse().unwrap();
        self.signer = key;
        self
    }

    /// Sets the signing key, but leaves the public key in the header unchanged.
    pub(crate) fn signed_by(mut self, key: KeyPair) -> Self {
        self.signer = key;
        self
    }

    /// Returns the three encoded parts of the signed proof.
    pub(crate) fn parts(&self) -> [String; 3] {
        let header = self.header_text.clone().unwrap_or_else(|| self.header.to_string());
        let claims = self.claims_text.clone().unwrap_or_else(|| self.claims.to_string());
        self.encoded(base64(header), base64(claims))
    }

    /// Returns the signed proof.
    pub(crate) fn proof(&self) -> String {
        self.parts().join(".")
    }

    /// Changes the encoded header and claims before signing.
    pub(crate) fn spelt(&self, change: impl FnOnce(&mut String, &mut String)) -> String {
        let [mut header, mut claims, _] = self.parts();
        change(&mut header, &mut claims);
        self.encoded(header, claims).join(".")
    }

    /// Replaces the signature bytes.
    pub(crate) fn signature(&self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
        let [header, claims, signature] = self.parts();
        [header, claims, base64(change(unbase64(&signature)))].join(".")
    }

    fn encoded(&self, header: String, claims: String) -> [String; 3] {
        let signature = self.signer.sign_now(format!("{header}.{claims}").as_bytes()).unwrap();
        [header, claims, base64(signature.as_bytes())]
    }
}
