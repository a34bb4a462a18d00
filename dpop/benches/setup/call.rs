//! One call, as a client makes it and a gateway checks it: what the benchmarks of proofs share.

use dpop_bound::{
    AccessToken, Binding, Expected, Htu, Nonce, Origin, ProofRequest, SignedProof, Target, Thumbprint,
    UnixTime, Verifier, Window,
    nonce::{NonceIssuer, NonceKey},
};

const NOW: UnixTime = UnixTime::from_secs(1_790_000_000);
const ORIGIN: &str = "https://gateway.example";
const PATH: &str = "/exchange/v1/me/stock/changes";

/// What a call brings along: a token of 1.2 kB, a nonce; and where it goes.
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
            htu: Htu::of(&format!("{ORIGIN}{PATH}")).unwrap(),
            origin: Origin::of(ORIGIN).unwrap(),
            nonce: issuer.issue(NOW),
            issuer,
        }
    }

    /// What the proof is made for.
    pub(crate) fn request(&self) -> ProofRequest<'_> {
        ProofRequest {
            method: "POST",
            htu: &self.htu,
            iat: NOW,
            nonce: Some(&self.nonce),
            token: Some(self.token.hash()),
        }
    }

    /// The whole verification: form, signature, nonce, claims.
    pub(crate) fn verify(&self, proof: &str, key: &Thumbprint, verifier: &impl Verifier) {
        let signed = SignedProof::read(proof, verifier).unwrap();
        self.issuer.check(signed.nonce(), NOW).unwrap();
        let expected = Expected {
            method: "POST",
            target: Target::Request(&self.origin, PATH),
            now: NOW,
            window: Window::default(),
            binding: Binding::Token { hash: self.token.hash(), jkt: Some(key) },
        };
        let _ = signed.check(&expected).unwrap();
    }
}

/// A message of the length of what a proof signs.
pub(crate) fn message() -> Vec<u8> {
    vec![b'a'; 560]
}
