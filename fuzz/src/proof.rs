//! DPoP proofs: what the gateway reads before it knows anybody.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use dpop_bound::{
    Binding, Es256, Expected, Htu, PublicKey, Signature, SignedProof, Target, TokenHash, UnixTime, Verifier,
    Window, form::Limits,
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
    if let Some((header, claims)) = text.split_once('\n') {
        read(&[header, claims, &"1".repeat(64)].map(|part| URL_SAFE_NO_PAD.encode(part)).join("."));
    }
}

fn read(proof: &str) {
    let Ok(signed) = SignedProof::read(proof, &Trusting) else {
        assert!(SignedProof::read(proof, &Es256).is_err(), "what is no proof for one is none for any");
        return;
    };
    assert!(proof.len() <= Limits::default().proof && proof.split('.').count() == 3);
    let own = *signed.thumbprint();
    let url = Htu::of("https://gateway.example/a").expect("a URL");
    let expected = Expected {
        method: "GET",
        target: Target::Url(&url),
        now: UnixTime::from_secs(1_790_000_000),
        window: Window::seconds(30, 30),
        binding: Binding::Token { hash: &TokenHash::of("token"), jkt: Some(&own) },
    };
    if let Ok(checked) = signed.check(&expected) {
        assert!((16..=256).contains(&checked.jti().len()));
        assert!(checked.iat().abs_diff(1_790_000_000) <= 30);
    }
}
