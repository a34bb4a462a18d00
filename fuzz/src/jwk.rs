//! Public keys, thumbprints and signatures in the encodings that other programs use.

use dpop_bound::{PublicKey, Signature, Thumbprint};

/// Parses the bytes as a JWK, as a curve point, as a thumbprint, and as a signature in DER.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for key in [PublicKey::from_jwk(&text), PublicKey::from_point(data)].into_iter().flatten() {
        let written = key.to_jwk();
        assert_eq!(PublicKey::from_jwk(&written).as_ref(), Ok(&key), "{written}");
        assert_eq!(PublicKey::from_point(key.point()).as_ref(), Ok(&key), "{written}");
        let thumbprint = key.thumbprint();
        assert_eq!(thumbprint.to_string().parse(), Ok(thumbprint));
    }
    if let Ok(thumbprint) = text.parse::<Thumbprint>() {
        assert_eq!(thumbprint.to_string(), text);
    }
    if let Ok(signature) = Signature::from_der(data) {
        assert!(data.len() <= 72 && signature.as_bytes()[..32] != [0; 32]);
    }
}
