//! A minimal gateway that checks headers, format, nonce, claims and replay, in this order.

use std::sync::Mutex;

use dpop_bound::{
    CheckedProof, Es256, ExpectedRequest, KeyBinding, Origin, ProofHolder, ProofWindow, ReplayCache,
    RequestTarget, SignedProof, Thumbprint, TokenHash, UnixTime,
    claims::ClaimError,
    credentials::{CredentialsError, parse_credentials},
    nonce::{NonceError, NonceIssuer},
    replay::{ReplayError, ReplayLimits},
    signed_proof::ProofFormatError,
};

use crate::forge::{self, METHOD, NOW, ORIGIN, PATH, TOKEN};

/// The window of the exchange's gateway (LIM-10): 30 s in each direction.
pub(crate) const WINDOW: ProofWindow = ProofWindow::from_secs(30, 30);
/// The limits of the exchange's gateway (LIM-06).
pub(crate) const CAPS: ReplayLimits = ReplayLimits { per_account: 600, per_source: 600, total: 100_000 };

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayVerdict {
    Accepted,
    Presented(CredentialsError),
    Form(ProofFormatError),
    Nonce(NonceError),
    Claim(ClaimError),
    Live(ReplayError),
}

/// A request, as the gateway sees it.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) authorization: Vec<String>,
    pub(crate) proofs: Vec<String>,
}

impl Request<'_> {
    /// Creates a valid request with this proof.
    pub(crate) fn with_proof(proof: impl Into<String>) -> Self {
        Self {
            method: METHOD,
            path: PATH,
            authorization: vec![format!("DPoP {TOKEN}")],
            proofs: vec![proof.into()],
        }
    }
}

/// The gateway, and the key to which the token is bound.
pub(crate) struct Gateway {
    pub(crate) now: UnixTime,
    /// The `cnf.jkt` of the token.
    pub(crate) bound: Option<Thumbprint>,
    pub(crate) issuer: NonceIssuer,
    pub(crate) live: Mutex<ReplayCache>,
    origin: Origin,
}

impl Gateway {
    pub(crate) fn new() -> Self {
        Self {
            now: UnixTime::from_secs(NOW),
            bound: Some(forge::client().public_key().thumbprint()),
            issuer: forge::issuer(),
            live: Mutex::new(ReplayCache::new(WINDOW, CAPS)),
            origin: Origin::from_url(ORIGIN).unwrap(),
        }
    }

    /// Runs all checks except replay detection.
    pub(crate) fn verify(&self, request: &Request<'_>) -> GatewayVerdict {
        match self.check(request) {
            Ok(_) => GatewayVerdict::Accepted,
            Err(refused) => refused,
        }
    }

    /// Runs all checks; the proof counts against the limit of this member.
    pub(crate) fn serve(&self, request: &Request<'_>, member: &str) -> GatewayVerdict {
        let checked = match self.check(request) {
            Ok(checked) => checked,
            Err(refused) => return refused,
        };
        let candidate = checked.replay_candidate(ProofHolder::Account(member));
        match self.live.lock().unwrap().admit(&candidate, self.now) {
            Ok(()) => GatewayVerdict::Accepted,
            Err(refused) => GatewayVerdict::Live(refused),
        }
    }

    fn check(&self, request: &Request<'_>) -> Result<CheckedProof, GatewayVerdict> {
        let presented = parse_credentials(
            request.authorization.iter().map(String::as_bytes),
            request.proofs.iter().map(String::as_bytes),
        );
        let presented = presented.map_err(GatewayVerdict::Presented)?;
        let signed = SignedProof::verify_signature(presented.proof, &Es256).map_err(GatewayVerdict::Form)?;
        self.issuer.check_nonce(signed.nonce(), self.now).map_err(GatewayVerdict::Nonce)?;
        let expected = ExpectedRequest {
            method: request.method,
            target: RequestTarget::Request(&self.origin, request.path),
            now: self.now,
            window: self.live.lock().unwrap().window(),
            binding: KeyBinding::Token {
                hash: &TokenHash::from_token(presented.token),
                jkt: self.bound.as_ref(),
            },
        };
        signed.check_claims(&expected).map_err(GatewayVerdict::Claim)
    }
}

/// Returns the gateway's result for this proof.
pub(crate) fn verdict(proof: impl Into<String>) -> GatewayVerdict {
    Gateway::new().verify(&Request::with_proof(proof))
}

/// A name, a proof, and its expected result.
pub(crate) type Case = (&'static str, String, GatewayVerdict);

/// Checks all cases and reports those with an unexpected result.
pub(crate) fn check(cases: Vec<Case>) {
    let unexpected: Vec<_> = cases
        .into_iter()
        .filter_map(|(name, proof, expect)| {
            let response = verdict(proof);
            (response != expect).then(|| format!("{name}: {response:?}, not {expect:?}"))
        })
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// Defines a test for each function, and a list of all their cases.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        mod checked {
            $(#[test]
            fn $name() {
                crate::gateway::check(super::$name());
            })*
        }

        pub(crate) fn all() -> Vec<Case> {
            [$($name()),*].concat()
        }
    };
}
pub(crate) use cases;
