//! DPoP proofs: what the gateway reads before it knows anybody.

use exchange_dpop::{
    Es256, Expected, Htu, PublicKey, Signature, SignedProof, Target, TokenHash, UnixTime, Verifier, Window,
    form::MAX_BYTES,
};

/// Takes every signature, so that what is behind it is reached.
struct Trusting;

impl Verifier for Trusting {
    fn verify(&self, _: &PublicKey, _: &[u8], _: &Signature) -> bool {
        true
    }
}

/// Reads the bytes as a proof; then their lines as header, claims and signature of one.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    read(&text);
    let mut lines = text.splitn(2, '\n');
    if let (Some(header), Some(claims)) = (lines.next(), lines.next()) {
        read(
            &[&base64(header), &base64(claims), &base64("1".repeat(64).as_str())]
                .map(String::as_str)
                .join("."),
        );
    }
}

fn read(proof: &str) {
    let Ok(signed) = SignedProof::read(proof, &Trusting) else {
        assert!(SignedProof::read(proof, &Es256).is_err(), "what is no proof for one is none for any");
        return;
    };
    assert!(proof.len() <= MAX_BYTES && proof.split('.').count() == 3);
    let url = Htu::of("https://gateway.example/a").expect("a URL");
    let expected = Expected {
        method: "GET",
        target: Target::Url(&url),
        now: UnixTime::from_secs(1_790_000_000),
        window: Window::GATEWAY,
        key: None,
        token: Some(&TokenHash::of("token")),
    };
    if let Ok(checked) = signed.check(&expected) {
        assert!((16..=256).contains(&checked.jti().len()));
        assert!(checked.iat().abs_diff(1_790_000_000) <= 30);
    }
}

/// Base64url, slow and obvious: this crate has no dependency for it.
fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            out.push(char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]));
        }
    }
    out
}
