//! DPoP proofs, which the gateway parses before it identifies a client.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, ProofWindow, PublicKey, RequestTarget, Signature, SignedProof,
    TokenHash, UnixTime, Verifier, signed_proof::ProofLimits,
};

/// A verifier that accepts every signature, so that the checks after the verification are reached.
struct AcceptAllVerifier;

impl Verifier for AcceptAllVerifier {
    fn verify(&self, _: &PublicKey, _: &[u8], _: &Signature) -> bool {
        true
    }
}

/// Parses the bytes as a proof, and then the first line as the header and the rest as the claims of a proof.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    read(&text);
    if let Some((header, claims)) = text.split_once('\n') {
        read(&[header, claims, &"1".repeat(64)].map(|part| URL_SAFE_NO_PAD.encode(part)).join("."));
    }
}

fn read(proof: &str) {
    let Ok(signed) = SignedProof::verify_signature(proof, &AcceptAllVerifier) else {
        assert!(
            SignedProof::verify_signature(proof, &Es256).is_err(),
            "a malformed proof is rejected with every verifier"
        );
        return;
    };
    assert!(proof.len() <= ProofLimits::default().max_proof_bytes && proof.split('.').count() == 3);
    let thumbprint = *signed.thumbprint();
    let url = Htu::from_url("https://gateway.example/a").expect("the URL is valid");
    let expected = ExpectedRequest {
        method: "GET",
        target: RequestTarget::Url(&url),
        now: UnixTime::from_secs(1_790_000_000),
        window: ProofWindow::from_secs(30, 30),
        binding: KeyBinding::Token { hash: &TokenHash::from_token("token"), jkt: Some(&thumbprint) },
    };
    if let Ok(checked) = signed.check_claims(&expected) {
        assert!((16..=256).contains(&checked.jti().len()));
        assert!(checked.iat().abs_diff(1_790_000_000) <= 30);
    }
}
