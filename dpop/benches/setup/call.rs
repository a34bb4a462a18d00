//! The shared setup of the proof benchmarks: the content of a client's proof, and the gateway's verification.

use dpop_bound::{
    AccessToken, ExpectedRequest, Htu, KeyBinding, Nonce, Origin, ProofRequest, ProofWindow, RequestTarget,
    SignedProof, Thumbprint, UnixTime, Verifier,
    nonce::{NonceIssuer, NonceKey},
};

const NOW: UnixTime = UnixTime::from_secs(1_790_000_000);
const ORIGIN: &str = "https://gateway.example";
const PATH: &str = "/exchange/v1/me/stock/changes";

/// The content of a call: a token of 1.2 kB, a nonce, and the URL.
pub(crate) struct Call {
    token: AccessToken,
    htu: Htu,
    origin: Origin,
    issuer: NonceIssuer,
    nonce: Nonce,
}

impl Call {
    pub(crate) fn new() -> Self {
        let issuer = NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "gateway");
        Self {
            token: AccessToken::new("a".repeat(1200)).unwrap(),
            htu: Htu::from_url(&format!("{ORIGIN}{PATH}")).unwrap(),
            origin: Origin::from_url(ORIGIN).unwrap(),
            nonce: issuer.issue(NOW),
            issuer,
        }
    }

    /// Returns the content of the proof.
    pub(crate) fn request(&self) -> ProofRequest<'_> {
        ProofRequest {
            method: "POST",
            htu: &self.htu,
            iat: NOW,
            nonce: Some(&self.nonce),
            token: Some(self.token.hash()),
        }
    }

    /// Verifies format, signature, nonce and claims.
    pub(crate) fn verify(&self, proof: &str, key: &Thumbprint, verifier: &impl Verifier) {
        let signed = SignedProof::verify_signature(proof, verifier).unwrap();
        self.issuer.check_nonce(signed.nonce(), NOW).unwrap();
        let expected = ExpectedRequest {
            method: "POST",
            target: RequestTarget::Request(&self.origin, PATH),
            now: NOW,
            window: ProofWindow::default(),
            binding: KeyBinding::Token { hash: self.token.hash(), jkt: Some(key) },
        };
        let _ = signed.check_claims(&expected).unwrap();
    }
}

/// Returns a message with the length of a proof's signed part.
pub(crate) fn message() -> Vec<u8> {
    vec![b'a'; 560]
}
