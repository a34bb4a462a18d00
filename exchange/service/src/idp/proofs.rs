//! Checks the DPoP proofs at the token and revocation endpoints, before the grant is read (IDP-22).

use std::sync::Arc;

use dpop_bound::claims::ClaimError;
use dpop_bound::nonce::{Nonce, NonceKey};
use dpop_bound::replay::ReplayError;
use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, NonceIssuer, ProofHolder, ReplayStore, RequestTarget,
    SignedProof, Thumbprint,
};
use exchange_api::oauth_errors::OauthError;
use http::HeaderMap;

use super::oauth_error_response::OauthErrorResponse;
use crate::config::ProofProfile;
use crate::peer::PeerAddr;
use crate::time::Moment;

/// A checker of the proofs at the endpoints of the provider.
pub(super) struct ProofChecker {
    profile: ProofProfile,
    live: Arc<dyn ReplayStore>,
    nonces: NonceIssuer,
}

/// The endpoint and the sender of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofContext<'a> {
    /// The URL of the endpoint, which the claim `htu` must equal (DPP-08).
    pub(super) endpoint: &'a Htu,
    pub(super) peer: PeerAddr,
    /// The id of the client. It must be that of a registered client, because arbitrary ids would not bound
    /// the number of stored proofs.
    pub(super) client: &'a str,
}

impl ProofChecker {
    /// Creates a checker. Processes that share the store of used proofs must share the key for nonces.
    pub(super) fn new(profile: ProofProfile, live: Arc<dyn ReplayStore>, key: &NonceKey) -> Self {
        Self { profile, live, nonces: NonceIssuer::new(key, "idp") }
    }

    /// Issues a nonce for a response if the profile uses nonces.
    pub(super) fn issue_nonce(&self, now: Moment) -> Option<Nonce> {
        match self.profile {
            ProofProfile::Keycloak => None,
            ProofProfile::Rfc9449 => Some(self.nonces.issue(now.to_unix_time())),
        }
    }

    /// Verifies the proof of a request, records it as used, and returns the thumbprint of its key.
    pub(super) async fn check_proof(
        &self,
        headers: &HeaderMap,
        context: ProofContext<'_>,
        now: Moment,
    ) -> Result<Thumbprint, OauthErrorResponse> {
        let checked =
            self.verify_proof(headers, context.endpoint, now).map_err(|error| self.to_oauth_error(error))?;
        let holder = ProofHolder::Source { address: context.peer.0, client: context.client };
        let admitted = self.live.admit(&checked.replay_candidate(holder), now.to_unix_time()).await;
        admitted.map_err(|error| self.to_oauth_error(error.into()))?;
        Ok(*checked.thumbprint())
    }

    fn verify_proof(
        &self,
        headers: &HeaderMap,
        endpoint: &Htu,
        now: Moment,
    ) -> Result<dpop_bound::claims::CheckedProof, dpop_bound::VerificationError> {
        let signed = SignedProof::verify_signature(dpop_bound::http::parse_proof_header(headers)?, &Es256)?;
        if self.profile == ProofProfile::Rfc9449 {
            self.nonces.check_nonce(signed.nonce(), now.to_unix_time())?;
        }
        Ok(signed.check_claims(&ExpectedRequest {
            method: "POST",
            target: RequestTarget::Url(endpoint),
            now: now.to_unix_time(),
            window: self.live.window(),
            binding: KeyBinding::AnyKey,
        })?)
    }

    /// Converts a verification error into the OAuth error that the profile requires.
    fn to_oauth_error(&self, error: dpop_bound::VerificationError) -> OauthErrorResponse {
        if let dpop_bound::VerificationError::Replay(live) = error {
            match live {
                ReplayError::AccountFull { wait } | ReplayError::SourceFull { wait } => {
                    return OauthErrorResponse::Wait(wait);
                }
                ReplayError::Full { wait } => return OauthErrorResponse::Unavailable(wait),
                ReplayError::Unavailable => {
                    return OauthErrorResponse::Unavailable(std::time::Duration::from_secs(60));
                }
                _ => {}
            }
        }
        let code = match error {
            dpop_bound::VerificationError::Nonce(_) => OauthError::UseDpopNonce,
            _ if self.profile == ProofProfile::Keycloak && is_about_time(&error) => {
                OauthError::InvalidRequest
            }
            _ => OauthError::InvalidDpopProof,
        };
        OauthErrorResponse::new(code, format!("DPoP: {error}"))
    }
}

const fn is_about_time(error: &dpop_bound::VerificationError) -> bool {
    matches!(
        error,
        dpop_bound::VerificationError::Claim(ClaimError::Old | ClaimError::Early)
            | dpop_bound::VerificationError::Replay(ReplayError::Expired | ReplayError::TooFarAhead)
    )
}
